/* SPDX-License-Identifier: MIT */
/* module.c: the parts of a bundle's functions that depend on the model, as LLVM IR for runtime_stub/net.ll.in. */
#include "../lower/lower.h"
#include "bundle.h"
#include <string.h>

/* Loads the pointer to input or output i, a number or a value: %in.2.K. Each use has its own load. */
static void put_load(Sb *s, const char *from, const char *i, const char *name) {
  sb_printf(s, "  %s.at = getelementptr ptr, ptr %%%s, i64 %s\n  %s = load ptr, ptr %s.at\n", name, from, i, name, name);
}

static void put_nulls(Ctx *c, Sb *s, const char *from, const GIO *v, int n, const char **so_far) {
  for (int i = 0; i < n; i++) {
    if (!dims_elems(v[i].dims, v[i].rank)) continue;
    const char *name = arena_printf(&c->model, "%%%s.%d", from, i), *any = arena_printf(&c->model, "%s.any", name);
    put_load(s, from, arena_printf(&c->model, "%d", i), name);
    sb_printf(s, "  %s.null = icmp eq ptr %s, null\n  %s = or i1 %s, %s.null\n", name, name, any, *so_far, name);
    *so_far = any;
  }
}

const char *module_nulls(const Rendering *r) {
  const Plan *p = r->p;
  const Graph *g = p->g;
  const char *any = "false";
  Sb s = { 0 };
  put_nulls(p->ir->ctx, &s, "in", g->inputs.p, (int)graph_nin(g), &any);
  put_nulls(p->ir->ctx, &s, "out", g->outputs.p, (int)graph_nout(g), &any);
  sb_printf(&s, "  %%null = or i1 %s, false\n", any);
  return sb_keep(&s, &p->ir->ctx->model);
}

/* A call: its kernel, and its repeat. */
typedef struct Call { const Plan *p; const Repeat *s; int k; Sb *o; } Call;

/* A number that is `first` in iteration 0 and grows by `by` with %i, as an operand: "128", or the name of a value */
static const char *put_round(const Call *c, int64_t first, int64_t by, const char *name) {
  Arena *m = &c->p->ir->ctx->model;
  if (!by) return arena_printf(m, "%lld", (long long)first);
  sb_printf(c->o, "  %s.moved = mul i64 %%i, %lld\n", name, (long long)by);
  sb_printf(c->o, "  %s = add i64 %s.moved, %lld\n", name, name, (long long)first);
  return name;
}

/* The number of an input, output or state, in the same form */
static const char *put_slot(const Call *c, const Buf *b, const CallMoves *m, const char *name) {
  return put_round(c, b->slot, m->by.slot, arena_printf(&c->p->ir->ctx->model, "%s.number", name));
}

/* The byte offset of buffer i in its memory, in the same form */
static const char *put_at(const Call *c, size_t buffer, const CallMoves *m, const char *name) {
  name = arena_printf(&c->p->ir->ctx->model, "%s.bytes", name);
  if (m->turns) {
    sb_printf(c->o, "  %s.odd = and i64 %%i, 1\n  %s.moved = mul i64 %s.odd, %lld\n  %s = add i64 %s.moved, %lld\n", name, name,
              name, (long long)m->by.at, name, name, (long long)call_place(c->p, (size_t)c->k, buffer).at);
    return name;
  }
  if (!m->table) return put_round(c, call_place(c->p, (size_t)c->k, buffer).at, m->by.at, name);
  const bool wide = call_table_wide(c->p, c->s, (size_t)c->k, buffer);
  sb_printf(c->o, "  %s.entry = getelementptr i%d, ptr @at.%d.%zu, i64 %%i\n", name, wide ? 64 : 32, c->k, buffer);
  sb_printf(c->o, "  %s%s = load i%d, ptr %s.entry\n", name, wide ? "" : ".narrow", wide ? 64 : 32, name);
  if (!wide) sb_printf(c->o, "  %s = zext i32 %s.narrow to i64\n", name, name);
  return name;
}

/* A state is at its cursor; its next value is in the other of two slots. */
static void put_state(const Call *c, const Buf *b, const CallMoves *m, const char *at, const char *name) {
  const StatePlace *place = &c->p->memory.states.p[b->slot];
  Sb *s = c->o;
  sb_printf(s, "  %s%s = getelementptr i8, ptr %%s, i64 %s\n", name, place->slots > 1 ? ".first" : "", at);
  if (place->slots < 2) return;
  const char *next = b->kind == BUF_NEXT ? ".next" : "";
  const char *slot = put_slot(c, b, m, name);
  sb_printf(s, "  %s.to = getelementptr i64, ptr %%s, i64 %s\n  %s.slot = load i64, ptr %s.to\n", name, slot, name, name);
  if (*next) sb_printf(s, "  %s.slot.next = sub i64 1, %s.slot\n", name, name);
  sb_printf(s, "  %s.by = mul i64 %s.slot%s, %lld\n", name, name, next, (long long)place->step);
  sb_printf(s, "  %s = getelementptr i8, ptr %s.first, i64 %s.by\n", name, name, name);
}

static void put_buffer(const Call *c, size_t buffer) {
  const Buf *b = &c->p->ir->bufs.p[c->p->kernels.p[c->k].bufs.p[buffer]];
  const CallMoves m = call_moves(c->p, c->s, (size_t)c->k, buffer);
  const char *name = arena_printf(&c->p->ir->ctx->model, "%%k%d.%zu", c->k, buffer);
  Sb *s = c->o;
  switch (b->kind) {
  case BUF_LOCAL: case BUF_SHARED: case BUF_KINDS: BUG("a kernel is given what is its own");
  case BUF_INPUT: case BUF_OUTPUT: {
    const char *field = arena_printf(&c->p->ir->ctx->model, "%s.field", name), *at = put_at(c, buffer, &m, name);
    put_load(s, b->kind == BUF_INPUT ? "in" : "out", put_slot(c, b, &m, name), field);
    sb_printf(s, "  %s = getelementptr i8, ptr %s, i64 %s\n", name, field, at);
    break;
  }
  case BUF_WEIGHT: sb_printf(s, "  %s = getelementptr i8, ptr %%w, i64 %s\n", name, put_at(c, buffer, &m, name)); break;
  case BUF_ARENA: case BUF_GUARD: {
    const char *at = put_at(c, buffer, &m, name);
    sb_printf(s, "  %s%s = getelementptr i8, ptr %%a, i64 %s\n", name, b->piece ? ".first" : "", at);
    if (b->piece)
      sb_printf(s, "  %s.by = mul %s %%begin, %lld\n  %s = getelementptr i8, ptr %s.first, %s %s.by\n", name, module_count(c->p),
                (long long)b->piece, name, name, module_count(c->p), name);
    break;
  }
  case BUF_STATE: case BUF_NEXT: put_state(c, b, &m, put_at(c, buffer, &m, name), name); break;
  }
}

/* A call of a kernel: pointers to its buffers, then the call; from, to: names of the chunk bounds. */
static void put_call(const Plan *p, const Repeats *repeats, int k, const char *from, const char *to, Sb *s) {
  const char *count = module_count(p);
  const Kernel *kernel = &p->kernels.p[k];
  const Call c = { p, repeat_of(repeats, (size_t)k), k, s };
  for (size_t i = 0; i < kernel->bufs.n; i++) put_buffer(&c, i);
  sb_printf(s, "  call void @k%d(", kernel->code);
  for (size_t i = 0; i < kernel->bufs.n; i++) sb_printf(s, "%sptr %%k%d.%zu", i ? ", " : "", k, i);
  const bool sized = kernel_sized(p->ir, kernel);
  if (sized) sb_printf(s, "%sptr %%n", kernel->bufs.n ? ", " : "");
  if (kernel->chunks > 1) sb_printf(s, "%s%s %s, %s %s", kernel->bufs.n || sized ? ", " : "", count, from, count, to);
  sb_puts(s, ")\n");
}

/* The kernels of a group for one chunk after another, in the pieces of memory of the first share. */
static void put_group(const Plan *p, const Repeats *repeats, int k, Sb *s) {
  const Kernel *first = &p->kernels.p[k];
  const char *c = arena_printf(&p->ir->ctx->model, "%%c%d", k);
  const char *count = module_count(p);
  sb_printf(s, "case%d:\n  %s.begin = mul %s %%begin, %d\n  %s.end = mul %s %%end, %d\n", k, c, count, first->chunks_per_task, c,
            count, first->chunks_per_task);
  sb_printf(s, "  br label %%chain%d\n", k);
  sb_printf(s, "chain%d:\n  %s = phi %s [ %s.begin, %%case%d ], [ %s.next, %%chain%d ]\n", k, c, count, c, k, c, k);
  sb_printf(s, "  %s.next = add %s %s, 1\n", c, count, c);
  for (int i = k; i < k + first->group_size; i++) put_call(p, repeats, i, c, arena_printf(&p->ir->ctx->model, "%s.next", c), s);
  sb_printf(s, "  %s.more = icmp slt %s %s.next, %s.end\n  br i1 %s.more, label %%chain%d, label %%done\n", c, count, c, c, c, k);
}

static bool is_case(const Plan *p, const Repeats *repeats, size_t k) {
  return p->kernels.p[k].group_size && in_first_iteration(repeat_of(repeats, k), k);
}

const char *module_tables(const Rendering *r) {
  const Plan *p = r->p;
  const Repeats *repeats = &r->repeats;
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Repeat *x = repeat_of(repeats, k);
    if (!x || !in_first_iteration(x, k)) continue;
    for (size_t b = 0; b < p->kernels.p[k].bufs.n; b++) {
      if (!call_moves(p, x, k, b).table) continue;
      const char *type = call_table_wide(p, x, k, b) ? "i64" : "i32";
      sb_printf(&s, "@at.%zu.%zu = private unnamed_addr constant [%zu x %s] [", k, b, x->times, type);
      for (size_t i = 0; i < x->times; i++)
        sb_printf(&s, "%s%s %lld", i ? ", " : "", type, (long long)call_place(p, k + i * x->period, b).at);
      sb_puts(&s, "]\n");
    }
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *module_rows(const Plan *p, const Repeats *folded) {
  Sb s = { 0 };
  const char *row = "%kernel";
  for (size_t n = 0; n < folded->n; n++) {
    const Repeat *x = &folded->p[n];
    const size_t calls = x->period * x->times;
    const char *name = arena_printf(&p->ir->ctx->model, "%%row%zu", n);
    sb_printf(&s, "  %s.off = sub i32 %s, %zu\n  %s.here = icmp ult i32 %s.off, %zu\n", name, row, x->first, name, name, calls);
    sb_printf(&s, "  %s.j = urem i32 %s.off, %zu\n  %s.first = add i32 %s.j, %zu\n", name, name, x->period, name, name, x->first);
    sb_printf(&s, "  %s.past = icmp uge i32 %s, %zu\n  %s.gone = sub i32 %s, %zu\n", name, row, x->first + calls, name, row,
              calls - x->period);
    sb_printf(&s, "  %s.rest = select i1 %s.past, i32 %s.gone, i32 %s\n", name, name, name, row);
    row = n + 1 < folded->n ? name : "%row";
    sb_printf(&s, "  %s = select i1 %s.here, i32 %s.first, i32 %s.rest\n", row, name, name, name);
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *module_iterations(const Rendering *r) {
  const Plan *p = r->p;
  const Repeats *repeats = &r->repeats;
  Sb s = { 0 };
  const char *iteration = "0", *call = "%kernel";
  for (size_t n = 0; n < repeats->n; n++) {
    const Repeat *x = &repeats->p[n];
    const char *name = arena_printf(&p->ir->ctx->model, "%%rolled%zu", n);
    sb_printf(&s, "  %s.off = sub i32 %%kernel, %zu\n", name, x->first);
    sb_printf(&s, "  %s.here = icmp ult i32 %s.off, %zu\n", name, name, x->period * x->times);
    sb_printf(&s, "  %s.i = udiv i32 %s.off, %zu\n  %s.j = urem i32 %s.off, %zu\n", name, name, x->period, name, name, x->period);
    sb_printf(&s, "  %s.k = add i32 %s.j, %zu\n", name, name, x->first);
    sb_printf(&s, "  %s.round = select i1 %s.here, i32 %s.i, i32 %s\n", name, name, name, iteration);
    sb_printf(&s, "  %s = select i1 %s.here, i32 %s.k, i32 %s\n", n + 1 < repeats->n ? name : "%call", name, name, call);
    iteration = arena_printf(&p->ir->ctx->model, "%s.round", name);
    call = name;
  }
  if (repeats->n) sb_printf(&s, "  %%i = zext i32 %s to i64\n", iteration);
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *module_cases(const Rendering *r) {
  const Plan *p = r->p;
  const Repeats *repeats = &r->repeats;
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++)
    if (is_case(p, repeats, k)) sb_printf(&s, " i32 %zu, label %%case%zu", k, k);
  return sb_keep(&s, &p->ir->ctx->model);
}

/* While kernels run, denormals are zero, rounding is to nearest, and nothing traps. Then the caller's mode is restored. */
static const char *float_mode(const Target *t, bool enters) {
  switch (t->arch) {
  case ARCH_X86_64:
    return enters ? "  %was = alloca i32\n  %now = alloca i32\n  store i32 40896, ptr %now\n" /* 0x9fc0 */
                    "  call void @llvm.x86.sse.stmxcsr(ptr %was)\n  call void @llvm.x86.sse.ldmxcsr(ptr %now)\n"
                  : "  call void @llvm.x86.sse.ldmxcsr(ptr %was)\n";
  case ARCH_AARCH64:
    return enters ? "  %was = call i64 @llvm.aarch64.get.fpcr()\n  call void @llvm.aarch64.set.fpcr(i64 16777216)\n"
                  : "  call void @llvm.aarch64.set.fpcr(i64 %was)\n";
  default: return "";
  }
}

const char *module_float_enter(const Rendering *r) { return r->o->keep_denormals ? "" : float_mode(r->p->in->target, true); }
const char *module_float_leave(const Rendering *r) { return r->o->keep_denormals ? "" : float_mode(r->p->in->target, false); }

const char *module_calls(const Rendering *r) {
  const Plan *p = r->p;
  const Repeats *repeats = &r->repeats;
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    if (!is_case(p, repeats, k)) continue;
    if (p->kernels.p[k].chunks_per_task) {
      put_group(p, repeats, (int)k, &s);
      continue;
    }
    sb_printf(&s, "case%zu:\n", k);
    put_call(p, repeats, (int)k, "%begin", "%end", &s);
    sb_puts(&s, "  br label %done\n");
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *module_size(const Plan *p) { return p->in->target->pointer_bits == 32 ? "i32" : "i64"; }
const char *module_count(const Plan *p) { return dt_bytes(target_count(p->in->target)) == 4 ? "i32" : "i64"; }

const char *module_section(const Plan *p, const char *begins, const char *name) {
  const bool elf = strstr(p->in->target->triple, "linux") || strstr(p->in->target->triple, "none");
  if (!elf) return "";
  return arena_printf(&p->ir->ctx->model, "%s section \"%s.%s\"", strcmp(begins, ".text") ? "," : "", begins, name);
}

/* The number of bytes is constant, and so is the padding of the last block. */
const char *module_check_weights(const Rendering *r) {
  const Plan *p = r->p;
  const BundleOptions *o = r->o;
  Arena *m = &p->ir->ctx->model;
  const uint64_t bytes = (uint64_t)p->weights.bytes, rest = bytes % 64;
  const bool embed = o->weights != WEIGHTS_FILE, two = rest >= 56;
  Sb digest = { 0 }, out = { 0 };
  for (int i = 0; i < 8; i++) sb_printf(&digest, "%si32 u0x%.8s", i ? ", " : "", r->weights_sha256 + 8 * i);
  const Word words[] = {
    { "net", o->name },
    { "ir_size", module_size(p) },
    { "weight_bytes", arena_printf(m, "%llu", (unsigned long long)bytes) },
    { "ir_embedded", embed ? "true" : "false" },
    { "ir_weights", embed ? arena_printf(m, "@%s_weights", o->name) : "null" },
    { "ir_sha256", sb_keep(&digest, m) },
    { "sha_whole", arena_printf(m, "%llu", (unsigned long long)(bytes - rest)) },
    { "sha_rest", arena_printf(m, "%llu", (unsigned long long)rest) },
    { "sha_two", word_if(two) },
    { "sha_bits_at", two ? "120" : "56" },
    { "sha_bits", arena_printf(m, "u0x%016llx", (unsigned long long)__builtin_bswap64(bytes * 8)) },
    { "sha_code", module_section(p, ".text", "sha256") },
    { "sha_data", module_section(p, ".rodata", "sha256") },
    { NULL, NULL },
  };
  template_expand("sha256.ll.in", words, &out);
  return sb_keep(&out, m);
}

/* tgcrt_strerror, as a weak symbol. The texts are constants that need no relocation. */
const char *module_messages(const Rendering *r) {
  Sb texts = { 0 }, labels = { 0 }, blocks = { 0 };
  int n = 0;
  const int last = graph_may_overflow(r->p->g) ? TGCRT_CAPACITY + 1 : TGCRT_SIZE; /* ranges of sizes have no such bundles */
  for (; n < last; n++) {
    sb_printf(&labels, " i32 %d, label %%s%d", n, n);
    sb_printf(&blocks, "s%d:\n  ret ptr @status.%d\n", n, n);
  }
  for (int i = 0; i <= n; i++) {
    const char *text = tgcrt_strerror(i < n ? i : -1);
    sb_printf(&texts, "@status.%d = private unnamed_addr constant [%zu x i8] c\"%s\\00\"\n", i, strlen(text) + 1, text);
  }
  sb_printf(&texts,
            "define weak ptr @tgcrt_strerror(i32 %%status) #3 {\n"
            "  switch i32 %%status, label %%other [%s ]\n%sother:\n  ret ptr @status.%d\n}\n",
            labels.p, blocks.p, n);
  sb_free(&labels);
  sb_free(&blocks);
  return sb_keep(&texts, &r->p->ir->ctx->model);
}

const char *module_states(const Plan *p, const char *size) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const StatePlace *t = &p->memory.states.p[k];
    const int64_t field[] = { t->at, t->outer, t->block, t->keep, t->step, t->slots, t->init < 0 ? -1 : t->init };
    sb_printf(&s, "  [7 x %s] [", size);
    for (int i = 0; i < 7; i++) sb_printf(&s, "%s%s %lld", i ? ", " : "", size, (long long)field[i]);
    sb_puts(&s, k + 1 < p->memory.states.n ? "],\n" : "]\n");
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

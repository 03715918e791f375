/* module.c: what of a bundle's functions varies with the model, as LLVM IR for runtime_stub/net.ll.in. */
#include "bundle.h"
#include <string.h>

/* The pointer to input or output number i, loaded once for each use: %in.2.K */
static void put_load(Sb *s, const char *from, int64_t i, const char *name) {
  sb_printf(s, "  %s.at = getelementptr ptr, ptr %%%s, i32 %lld\n  %s = load ptr, ptr %s.at\n", name, from, (long long)i, name,
            name);
}

static void put_nulls(Ctx *c, Sb *s, const char *from, const GIO *v, int n, const char **so_far) {
  for (int i = 0; i < n; i++) {
    if (!dims_elems(v[i].dims, v[i].rank)) continue;
    const char *name = arena_printf(&c->model, "%%%s.%d", from, i), *any = arena_printf(&c->model, "%s.any", name);
    put_load(s, from, i, name);
    sb_printf(s, "  %s.null = icmp eq ptr %s, null\n  %s = or i1 %s, %s.null\n", name, name, any, *so_far, name);
    *so_far = any;
  }
}

const char *module_nulls(const Plan *p) {
  const Graph *g = p->g;
  const char *any = "false";
  Sb s = { 0 };
  put_nulls(p->ir->ctx, &s, "in", g->inputs.p, (int)graph_nin(g), &any);
  put_nulls(p->ir->ctx, &s, "out", g->outputs.p, (int)graph_nout(g), &any);
  sb_printf(&s, "  %%null = or i1 %s, false\n", any);
  return sb_keep(&s, &p->ir->ctx->model);
}

/* A state is where its cursor says; the next one is in the other of two slots. */
static void put_state(const StatePlace *at, const Buf *b, const char *name, Sb *s) {
  sb_printf(s, "  %s%s = getelementptr i8, ptr %%s, i64 %lld\n", name, at->slots > 1 ? ".first" : "", (long long)at->at);
  if (at->slots < 2) return;
  const char *next = b->kind == BUF_NEXT ? ".next" : "";
  sb_printf(s, "  %s.to = getelementptr i64, ptr %%s, i64 %lld\n  %s.slot = load i64, ptr %s.to\n", name, (long long)b->slot,
            name, name);
  if (*next) sb_printf(s, "  %s.slot.next = sub i64 1, %s.slot\n", name, name);
  sb_printf(s, "  %s.by = mul i64 %s.slot%s, %lld\n", name, name, next, (long long)at->step);
  sb_printf(s, "  %s = getelementptr i8, ptr %s.first, i64 %s.by\n", name, name, name);
}

/* One call of a kernel: its buffers as pointers, then the call, for chunks from and to by these names. */
static void put_call(const Plan *p, int k, const char *from, const char *to, Sb *s) {
  const Kernel *kernel = &p->kernels.p[k];
  for (size_t i = 0; i < kernel->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[kernel->bufs.p[i]];
    const char *name = arena_printf(&p->ir->ctx->model, "%%k%d.%zu", k, i);
    switch (b->kind) {
    case BUF_LOCAL: BUG("a kernel is given what is its own");
    case BUF_INPUT: put_load(s, "in", b->slot, name); break;
    case BUF_OUTPUT: put_load(s, "out", b->slot, name); break;
    case BUF_WEIGHT: sb_printf(s, "  %s = getelementptr i8, ptr %%w, i64 %lld\n", name, (long long)b->offset); break;
    case BUF_ARENA: case BUF_GUARD:
      sb_printf(s, "  %s%s = getelementptr i8, ptr %%a, i64 %lld\n", name, b->piece ? ".first" : "", (long long)b->offset);
      if (b->piece)
        sb_printf(s, "  %s.by = mul i64 %%begin, %lld\n  %s = getelementptr i8, ptr %s.first, i64 %s.by\n", name,
                  (long long)b->piece, name, name, name);
      break;
    case BUF_STATE: case BUF_NEXT: put_state(&p->states.p[b->slot], b, name, s); break;
    }
  }
  sb_printf(s, "  call void @k%d(", kernel->code);
  for (size_t i = 0; i < kernel->bufs.n; i++) sb_printf(s, "%sptr %%k%d.%zu", i ? ", " : "", k, i);
  if (kernel->chunks > 1) sb_printf(s, "%si64 %s, i64 %s", kernel->bufs.n ? ", " : "", from, to);
  sb_puts(s, ")\n");
}

/* The kernels of a chain for one chunk after another, in the pieces of memory that belong to the first share. */
static void put_chain(const Plan *p, int k, Sb *s) {
  const Kernel *first = &p->kernels.p[k];
  const char *c = arena_printf(&p->ir->ctx->model, "%%c%d", k);
  sb_printf(s, "case%d:\n  %s.begin = mul i64 %%begin, %d\n  %s.end = mul i64 %%end, %d\n", k, c, first->each, c, first->each);
  sb_printf(s, "  br label %%chain%d\n", k);
  sb_printf(s, "chain%d:\n  %s = phi i64 [ %s.begin, %%case%d ], [ %s.next, %%chain%d ]\n", k, c, c, k, c, k);
  sb_printf(s, "  %s.next = add i64 %s, 1\n", c, c);
  for (int i = k; i < k + first->together; i++) put_call(p, i, c, arena_printf(&p->ir->ctx->model, "%s.next", c), s);
  sb_printf(s, "  %s.more = icmp slt i64 %s.next, %s.end\n  br i1 %s.more, label %%chain%d, label %%done\n", c, c, c, c, k);
}

const char *module_cases(const Plan *p) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].together) sb_printf(&s, " i32 %zu, label %%case%zu", k, k);
  return sb_keep(&s, &p->ir->ctx->model);
}

/* Denormals are zero while kernels run, rounding is to nearest, and nothing traps; the caller's mode comes back after. */
const char *module_float(const Target *t, bool enters) {
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

const char *module_calls(const Plan *p) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    if (p->kernels.p[k].together > 1) put_chain(p, (int)k, &s);
    if (p->kernels.p[k].together != 1) continue;
    sb_printf(&s, "case%zu:\n", k);
    put_call(p, (int)k, "%begin", "%end", &s);
    sb_puts(&s, "  br label %done\n");
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

/* tgcrt_strerror, weak: texts as constants, which need no relocation. */
const char *module_messages(Ctx *c) {
  Sb texts = { 0 }, labels = { 0 }, blocks = { 0 };
  const char *unknown = tgcrt_strerror(-1);
  int n = 0;
  for (; strcmp(tgcrt_strerror(n), unknown); n++) {
    sb_printf(&labels, " i32 %d, label %%s%d", n, n);
    sb_printf(&blocks, "s%d:\n  ret ptr @status.%d\n", n, n);
  }
  for (int i = 0; i <= n; i++)
    sb_printf(&texts, "@status.%d = private unnamed_addr constant [%zu x i8] c\"%s\\00\"\n", i, strlen(tgcrt_strerror(i)) + 1,
              tgcrt_strerror(i));
  sb_printf(&texts,
            "define weak ptr @tgcrt_strerror(i32 %%status) #3 {\n"
            "  switch i32 %%status, label %%other [%s ]\n%sother:\n  ret ptr @status.%d\n}\n",
            labels.p, blocks.p, n);
  sb_free(&labels);
  sb_free(&blocks);
  return sb_keep(&texts, &c->model);
}

const char *module_states(const Plan *p, const char *size) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->states.n; k++) {
    const StatePlace *t = &p->states.p[k];
    const int64_t field[] = { t->at, t->outer, t->block, t->keep, t->step, t->slots, t->init < 0 ? -1 : t->init };
    sb_printf(&s, "  [7 x %s] [", size);
    for (int i = 0; i < 7; i++) sb_printf(&s, "%s%s %lld", i ? ", " : "", size, (long long)field[i]);
    sb_puts(&s, k + 1 < p->states.n ? "],\n" : "]\n");
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

/* SPDX-License-Identifier: MIT */
/* kernels.c: kernels of a plan as text, their origins, and the C function that calls a kernel by its number. Repeated calls
 * (reroll.c) share one case for all iterations. */
#include "../lower/lower.h"
#include "bundle.h"
#include <string.h>

static int by_index(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

size_t earlier_call(const Plan *p, size_t k) {
  size_t again = p->kernels.p[k].named ? k : 0;
  while (again && p->kernels.p[again - 1].sink != p->kernels.p[k].sink) again--;
  return again;
}

/* Walks the nodes below each sink. A stamp per node and per origin tells for which kernel it was last seen. So the time does
 * not depend on the size of the node table. */
KernelOrigins *kernel_origins(const Plan *p) {
  const IR *ir = p->ir;
  Arena *m = &ir->ctx->model;
  KernelOrigins *all = ARENA_NEW(m, KernelOrigins, p->kernels.n + 1);
  uint32_t *node_stamp = ARENA_NEW(m, uint32_t, ir->n), *origin_stamp = ARENA_NEW(m, uint32_t, ir->origins.n + 1);
  Refs todo = { 0 };
  VEC(uint32_t) found = { 0 };
  for (uint32_t k = 0; k < p->kernels.n; k++) {
    found.n = 0;
    const size_t again = earlier_call(p, k);
    if (again) {
      all[k] = all[again - 1];
      continue;
    }
    VEC_PUSH(&todo, p->kernels.p[k].sink);
    while (todo.n) {
      const Node *x = node(ir, todo.p[--todo.n]);
      bool names_nothing = x->op == OP_CONST || x->op == OP_BUFFER || x->op == OP_RANGE;
      if (x->origin && !names_nothing && origin_stamp[x->origin] != k + 1) {
        origin_stamp[x->origin] = k + 1;
        VEC_PUSH(&found, x->origin);
      }
      for (int i = 0; i < x->nsrc; i++) {
        if (node_stamp[x->src[i]] == k + 1) continue;
        node_stamp[x->src[i]] = k + 1;
        VEC_PUSH(&todo, x->src[i]);
      }
    }
    VEC_SORT(&found, by_index);
    all[k] = (KernelOrigins){ arena_dup(m, found.p, found.n * sizeof *found.p), (int)found.n };
  }
  VEC_FREE(&todo);
  VEC_FREE(&found);
  return all;
}

static void put_origins(const Plan *p, const KernelOrigins *o, Sb *s) {
  const int shown = tunable(p->ir->ctx, shown_nodes);
  for (int i = 0; i < o->n && i < shown; i++)
    sb_printf(s, "%s%s", i ? "; " : "", text_words(p->ir->ctx, p->ir->origins.p[o->origin[i]].text));
  if (o->n > shown) sb_printf(s, "; and %d more", o->n - shown);
}

static bool writes(const Kernel *k, int buf) {
  for (size_t i = 0; i < k->written.n; i++)
    if (k->written.p[i] == buf) return true;
  return false;
}

/* Describes the parameters of a kernel's function: "b0: f32[784] of input x; b1: f32[200] of the weights; b2: f32[640],
 * written" */
static void put_parameters(const Plan *p, const Kernel *k, Sb *s) {
  static const char *const of[BUF_KINDS] = {
    [BUF_INPUT] = " of input ",   [BUF_OUTPUT] = " of output ",     [BUF_WEIGHT] = " of the weights",
    [BUF_STATE] = " of a state", [BUF_NEXT] = " of a state to come",
  };
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->bufs.p[i]];
    sb_printf(s, "%sb%zu: %s[%lld]", i ? "; " : "", i, dtype_info[b->dt].text, (long long)b->elems);
    if (of[b->kind]) sb_puts(s, of[b->kind]);
    if (b->kind == BUF_INPUT) sb_puts(s, text_words(p->ir->ctx, p->g->inputs.p[b->slot].name));
    if (b->kind == BUF_OUTPUT) sb_puts(s, text_words(p->ir->ctx, p->g->outputs.p[b->slot].name));
    else if (writes(k, k->bufs.p[i])) sb_puts(s, ", written");
  }
}

/* The calls of a plan as C text: source and destination. */
typedef struct Calls {
  const Plan *p;
  const Repeats *repeats;
  const JobForm *form;
  const char **function;   /* by Kernel.code */
  Sb *o;
} Calls;

/* The type in which code numbers chunks. The numbers of an executor's tasks are int64_t on all machines. */
static const char *count_type(const Plan *p) { return dtype_info[target_count(p->in->target)].ctype; }

/* A number that is `first` in iteration 0 and grows by `by`. */
static void put_round(int64_t first, int64_t by, Sb *o) {
  sb_printf(o, "%lld", (long long)first);
  if (by) sb_puts(o, " + i");
  if (by && by != 1) sb_printf(o, " * %lld", (long long)by);
}

/* " + 128": byte offset of the buffer in its memory */
static void put_at(const Calls *c, int k, size_t buffer, const CallMoves *m) {
  sb_puts(c->o, " + ");
  const int64_t at = call_place(c->p, (size_t)k, buffer).at;
  if (m->table) sb_printf(c->o, "at%d_%zu[i]", k, buffer);
  else if (m->turns) sb_printf(c->o, "%lld + (i & 1) * %lld", (long long)at, (long long)m->by.at);
  else put_round(at, m->by.at, c->o);
}

/* A pointer from the caller. If its number varies, it is indexed from the first one in the structure. */
static void put_pointer(const Calls *c, const Buf *b, const CallMoves *m, const char *type) {
  const bool out = b->kind == BUF_OUTPUT;
  const char *of = out ? "out" : "in", *field = (out ? c->form->out : c->form->in)[b->slot];
  if (!m->by.slot) {
    sb_printf(c->o, "%s->%s", of, field);
    return;
  }
  sb_printf(c->o, "*(%s%s *const *)(const void *)((const char *)%s + ", out ? "" : "const ", type, of);
  sb_printf(c->o, "offsetof(%s_%sputs, %s) + i * %lld * (int64_t)sizeof %s->%s)", c->form->net, of, field,
            (long long)m->by.slot, of, field);
}

/* The same, moved by the offset at which the kernel's data begins. */
static void put_field(const Calls *c, int k, size_t buffer, const CallMoves *m) {
  const Buf *b = &c->p->ir->bufs.p[c->p->kernels.p[k].bufs.p[buffer]];
  const char *type = dtype_info[b->dt].ctype, *access = b->kind == BUF_OUTPUT ? "" : "const ";
  const bool moves = m->table || m->by.at || call_place(c->p, (size_t)k, buffer).at;
  if (moves) sb_printf(c->o, "(%s%s *)(%svoid *)((%schar *)", access, type, access, access);
  if (moves && m->by.slot) sb_puts(c->o, "(");
  put_pointer(c, b, m, type);
  if (moves && m->by.slot) sb_puts(c->o, ")");
  if (!moves) return;
  put_at(c, k, buffer, m);
  sb_puts(c->o, ")");
}

static void put_buffer(const Calls *c, const Repeat *s, int k, size_t buffer) {
  const Kernel *kernel = &c->p->kernels.p[k];
  const Buf *b = &c->p->ir->bufs.p[kernel->bufs.p[buffer]];
  const CallMoves m = call_moves(c->p, s, (size_t)k, buffer);
  const char *type = dtype_info[b->dt].ctype, *access = writes(kernel, kernel->bufs.p[buffer]) ? "" : "const ";
  switch (b->kind) {
  case BUF_LOCAL: case BUF_SHARED: case BUF_KINDS: BUG("a kernel is given what is its own");
  case BUF_INPUT: case BUF_OUTPUT: put_field(c, k, buffer, &m); return;
  case BUF_WEIGHT:
    sb_printf(c->o, "(const %s *)(const void *)(w", type);
    put_at(c, k, buffer, &m);
    break;
  case BUF_ARENA: case BUF_GUARD:
    sb_printf(c->o, "(%s%s *)(void *)(a", access, type);
    put_at(c, k, buffer, &m);
    if (b->piece) sb_printf(c->o, " + (size_t)begin * %lld", (long long)b->piece);
    break;
  case BUF_STATE: case BUF_NEXT: {
    const StatePlace *at = &c->p->memory.states.p[b->slot];
    sb_printf(c->o, "(%s%s *)(void *)(s", access, type);
    put_at(c, k, buffer, &m);
    if (at->slots < 2) break;
    sb_puts(c->o, b->kind == BUF_NEXT ? " + (size_t)(1 - cursor[" : " + (size_t)cursor[");
    put_round(b->slot, m.by.slot, c->o);
    sb_printf(c->o, b->kind == BUF_NEXT ? "]) * %lld" : "] * %lld", (long long)at->step);
    break;
  }
  }
  sb_puts(c->o, ")");
}

/* The call of kernel k; from, to: names of the chunk bounds. */
static void put_call(const Calls *c, int k, const char *from, const char *to) {
  const Kernel *kernel = &c->p->kernels.p[k];
  const Repeat *s = repeat_of(c->repeats, (size_t)k);
  sb_printf(c->o, "%s(", c->function[kernel->code]);
  for (size_t i = 0; i < kernel->bufs.n; i++) {
    if (i) sb_puts(c->o, ", ");
    put_buffer(c, s, k, i);
  }
  const bool sized = kernel_sized(c->p->ir, kernel);
  if (sized) sb_puts(c->o, kernel->bufs.n ? ", n" : "n");
  if (kernel->chunks > 1) sb_printf(c->o, "%s%s, %s", kernel->bufs.n || sized ? ", " : "", from, to);
  sb_puts(c->o, ");");
}

/* A kernel, or a group: all kernels of the group for one chunk after another, in the pieces of memory of the first share. */
static void put_case(const Calls *c, int k) {
  const Kernel *first = &c->p->kernels.p[k];
  const Repeat *s = repeat_of(c->repeats, (size_t)k);
  sb_printf(c->o, "  case %d:", k);
  if (!first->chunks_per_task) {
    sb_puts(c->o, " ");
    put_call(c, k, "begin", "end");
    sb_puts(c->o, " break;\n");
    return;
  }
  sb_printf(c->o, "\n    for (%s c = begin * %d; c < end * %d; c++) {\n", count_type(c->p), first->chunks_per_task,
            first->chunks_per_task);
  for (int i = k; i < k + first->group_size; i++) {
    Sb number = { 0 };
    put_round(i, s ? (int64_t)s->period : 0, &number);
    sb_printf(c->o, "      { TGC_BEGIN(%s) ", number.p);
    put_call(c, i, "c", "c + 1");
    sb_printf(c->o, " TGC_END(%s) }\n", number.p);
    sb_free(&number);
  }
  sb_puts(c->o, "    }\n    break;\n");
}

/* The text of a kernel's function with another name. Without one, as on a device, the text stays. */
static void put_named(const Kernel *k, const char *name, Sb *s) {
  const char *open = strchr(k->text, '('), *from = open;
  while (from && from > k->text && from[-1] != ' ' && from[-1] != '@') from--;
  if (!from || *from != 'k' || strspn(from + 1, "0123456789") + 1 != (size_t)(open - from)) {
    sb_puts(s, k->text);
    return;
  }
  sb_put(s, k->text, (size_t)(from - k->text));
  sb_printf(s, "%s%s", name, open);
}

const char *kernels_text(const Plan *p, const Repeats *repeats) {
  Sb s = { 0 };
  const KernelOrigins *from = kernel_origins(p);
  const char **function = kernel_functions(p, from);
  const Layout **layout = kernel_layouts(p);
  const char *const *comment = p->in->backend->comment;
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *kernel = &p->kernels.p[k];
    const bool own = kernel->code == (int)k; /* otherwise it calls the function of an earlier kernel */
    const Repeat *again = repeat_of(repeats, k);
    if (!kernel->text) continue;             /* a variant's baseline has it */
    if (!in_first_iteration(again, k)) {
      const size_t end = again->first + again->period * again->times - 1;
      sb_printf(&s, "%skernels %zu to %zu: %zu to %zu again, %zu times%s\n", comment[0], k, end, again->first, k - 1,
                again->times - 1, comment[1]);
      k = end;
      continue;
    }
    sb_printf(&s, "%skernel %zu", comment[0], k);
    if (!own) sb_printf(&s, " runs %s", function[kernel->code]);
    sb_puts(&s, ": ");
    put_origins(p, &from[k], &s);
    sb_printf(&s, "%s\n", comment[1]);
    if (!own) continue;
    sb_puts(&s, comment[0]);
    put_kernel_facts(p, kernel, layout[k], &s);
    sb_printf(&s, "%s\n%s", comment[1], comment[0]);
    put_parameters(p, kernel, &s);
    sb_printf(&s, "%s\n", comment[1]);
    put_named(kernel, function[k], &s);
    sb_puts(&s, "\n");
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

/* Tables of the buffers' offsets in repeated calls, where offsets are not equidistant. */
static void put_tables(const Calls *c) {
  for (size_t k = 0; k < c->p->kernels.n; k++) {
    const Repeat *s = repeat_of(c->repeats, k);
    if (!s || !in_first_iteration(s, k)) continue;
    for (size_t b = 0; b < c->p->kernels.p[k].bufs.n; b++) {
      if (!call_moves(c->p, s, k, b).table) continue;
      sb_printf(c->o, "static const uint%d_t at%zu_%zu[] = { ", call_table_wide(c->p, s, k, b) ? 64 : 32, k, b);
      for (size_t i = 0; i < s->times; i++) sb_printf(c->o, "%lld, ", (long long)call_place(c->p, k + i * s->period, b).at);
      sb_puts(c->o, "};\n");
    }
  }
}

/* Computes the call and the iteration from the kernel's number. */
static const char *iterations_text(const Plan *p, const Repeats *repeats) {
  Sb s = { 0 };
  for (size_t i = 0; i < repeats->n; i++) {
    const Repeat *x = &repeats->p[i];
    sb_printf(&s, "  if (k >= %zu && k < %zu) i = (k - %zu) / %zu, k -= (int)i * %zu;\n", x->first,
              x->first + x->period * x->times, x->first, x->period, x->period);
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

static void put_cases(const Calls *c, size_t from, size_t to) {
  for (size_t k = from; k < to && k < c->p->kernels.n; k++)
    if (c->p->kernels.p[k].text && c->p->kernels.p[k].group_size && in_first_iteration(repeat_of(c->repeats, k), k))
      put_case(c, (int)k);
}

/* A function with calls: with all of them, with those of one block, or with the blocks' functions. */
typedef struct Function { const char *linkage, *name, *per, *calls; bool block; } Function;

static void put_function(const Calls *c, const Function *f, Sb *o) {
  const bool repeats = c->repeats->n;
  const Word words[] = {
    { "net", c->form->net },
    { "linkage", f->linkage },
    { "count", count_type(c->p) },
    { "run_kernel", f->name },
    { "states", word_if(c->p->memory.states.n) },
    { "sizes", word_if(c->p->ir->symbols.n > 0) },
    { "call", repeats && f->block ? "int k, int64_t i, " : "" },
    { "number", repeats ? "k" : "job->kernel" },
    { "iterations", repeats && !f->block ? iterations_text(c->p, c->repeats) : "" },
    { "repeats", word_if(repeats) },
    { "per", f->per },
    { "calls", f->calls },
    { NULL, NULL },
  };
  template_expand("calls.c.in", words, o);
}

const char *job_text(const Plan *p, const Repeats *repeats, const JobForm *f) {
  Arena *m = &p->ir->ctx->model;
  const bool sizes = p->ir->symbols.n > 0;
  const Word words[] = {
    { "net", f->net },
    { "fat", word_if(f->fat) },
    { "sizes", word_if(sizes) },
    { "stepped", word_if(f->stepped) },
    { "count", count_type(p) },
    { NULL, NULL },
  };
  const size_t most = (size_t)tunable(p->ir->ctx, calls_of_function);
  const size_t blocks = p->kernels.n ? (p->kernels.n + most - 1) / most : 1;
  Sb s = { 0 }, calls = { 0 }, cases = { 0 };
  const char **function = kernel_functions(p, kernel_origins(p));
  const Calls c = { p, repeats, f, function, &cases }, tables = { p, repeats, f, function, &s };
  template_expand("job.c.in", words, &s);
  put_tables(&tables);
  for (size_t b = 0; b < blocks; b++) {
    const char *name = blocks > 1 ? arena_printf(m, "%s_%zu", f->name, b) : f->name;
    put_cases(&c, b * most, (b + 1) * most);
    if (blocks > 1 && !cases.n) continue; /* the whole block repeats earlier calls */
    const Function block = { blocks > 1 ? "TGC_KERNEL " : f->linkage, name, "", sb_keep(&cases, m), blocks > 1 };
    put_function(&c, &block, &s);
    sb_printf(&calls, "  case %zu: %s(p, %sbegin, end); break;\n", b, name, repeats->n ? "k, i, " : "");
  }
  const Function whole = { f->linkage, f->name, arena_printf(m, " / %zu", most), sb_keep(&calls, m), false };
  if (blocks > 1) put_function(&c, &whole, &s);
  sb_free(&calls);
  sb_free(&cases);
  return sb_keep(&s, m);
}

static int kernel_shares(const Kernel *k) { return k->chunks_per_task ? k->chunks / k->chunks_per_task : k->chunks; }

const char *rows_text(const Plan *p, const Repeats *folded) {
  Sb s = { 0 };
  for (size_t i = 0; i < folded->n; i++) {
    const Repeat *x = &folded->p[i];
    sb_printf(&s, "  if (k >= %zu) k = k < %zu ? %zu + (k - %zu) %% %zu : k - %zu;\n", x->first, x->first + x->period * x->times,
              x->first, x->first, x->period, x->period * (x->times - 1));
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *chunks_text(const Plan *p, const Repeats *repeats, const char *type) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++)
    if (has_row(p, repeats, k)) sb_printf(&s, "%s%d, ", type, p->kernels.p[k].text ? kernel_shares(&p->kernels.p[k]) : 0);
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *groups_text(const Plan *p, const Repeats *repeats, const char *type) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++)
    if (has_row(p, repeats, k)) sb_printf(&s, "%s%d, ", type, p->kernels.p[k].group_size);
  return sb_keep(&s, &p->ir->ctx->model);
}

/* ---- work ---- */

/* Work of kernel k, or of its group, in thousands, rounded up: operations, and bytes that it moves. 0: inside a group */
static int64_t kernel_work(const Plan *p, size_t k) {
  enum { UNIT = 1000 };
  const int n = p->kernels.p[k].group_size;
  int64_t sum = 0;
  for (size_t i = k; i < k + (size_t)n; i++) {
    const Kernel *x = &p->kernels.p[i];
    if (!i64_add(sum, x->flops, &sum) || !i64_add(sum, x->bytes_read, &sum) || !i64_add(sum, x->bytes_written, &sum))
      return UINT32_MAX;
  }
  const int64_t units = sum / UNIT + (sum % UNIT > 0);
  return !n ? 0 : units < 1 ? 1 : units < UINT32_MAX ? units : UINT32_MAX;
}

const char *works_text(const Plan *p) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) sb_printf(&s, "%lldu, ", (long long)kernel_work(p, k));
  return sb_keep(&s, &p->ir->ctx->model);
}

int64_t work_whole(const Plan *p) {
  int64_t sum = 0;
  for (size_t k = 0; k < p->kernels.n; k++) sum += kernel_work(p, k);
  return sum;
}

/* Fewest chunks into which the plan and its variants cut a kernel */
static int fewest_shares(const Plan *p, size_t k) {
  int least = kernel_shares(&p->kernels.p[k]);
  for (size_t v = 0; v < p->variants.n; v++) {
    const Kernel *x = &p->variants.p[v]->kernels.p[k];
    if (x->text && kernel_shares(x) < least) least = kernel_shares(x);
  }
  return least < 1 ? 1 : least;
}

int64_t work_part(const Plan *p) {
  int64_t most = 0;
  for (size_t k = 0; k < p->kernels.n; k++) {
    const int64_t shares = fewest_shares(p, k), part = (kernel_work(p, k) + shares - 1) / shares;
    if (part > most) most = part;
  }
  return most;
}

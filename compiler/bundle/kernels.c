/* kernels.c: the kernels of a plan as text, where they come from, and the function that calls them by their number, as C. */
#include "bundle.h"
#include <stdlib.h>

enum {
  SHOWN_NODES = 6, /* of the nodes a kernel came from, in comments */
  CALLS = 512      /* in one function: what gcc takes for a switch grows with its square */
};

static int by_index(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Walks what each sink reaches; a stamp per node and per origin says for which kernel it was last seen,
 * so the cost is that of the kernels and not their number times the size of the table. */
KernelOrigins *kernel_origins(const Plan *p) {
  const IR *ir = p->ir;
  Arena *m = &ir->ctx->model;
  KernelOrigins *all = ARENA_NEW(m, KernelOrigins, p->kernels.n + 1);
  uint32_t *node_stamp = ARENA_NEW(m, uint32_t, ir->n), *origin_stamp = ARENA_NEW(m, uint32_t, ir->origins.n + 1);
  Refs todo = { 0 };
  VEC(uint32_t) found = { 0 };
  for (uint32_t k = 0; k < p->kernels.n; k++) {
    found.n = 0;
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
    if (found.n) qsort(found.p, found.n, sizeof *found.p, by_index);
    all[k] = (KernelOrigins){ arena_dup(m, found.p, found.n * sizeof *found.p), (int)found.n };
  }
  VEC_FREE(&todo);
  VEC_FREE(&found);
  return all;
}

static void put_origins(const Plan *p, const KernelOrigins *o, Sb *s) {
  for (int i = 0; i < o->n && i < SHOWN_NODES; i++)
    sb_printf(s, "%s%s", i ? "; " : "", text_words(p->ir->ctx, p->ir->origins.p[o->origin[i]].text));
  if (o->n > SHOWN_NODES) sb_printf(s, "; and %d more", o->n - SHOWN_NODES);
}

static bool writes(const Kernel *k, int buf) {
  for (size_t i = 0; i < k->written.n; i++)
    if (k->written.p[i] == buf) return true;
  return false;
}

/* What the parameters of a kernel's function are: "b0: f32[784] of input x; b1: f32[200] of the weights; b2: f32[640],
 * written" */
static void put_parameters(const Plan *p, const Kernel *k, Sb *s) {
  static const char *const of[BUF_LOCAL + 1] = {
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

/* The call of kernel k, for chunks from and to by these names. */
static void put_call(const Plan *p, int k, const char **in, const char **out, const char *from, const char *to, Sb *s) {
  const Kernel *kernel = &p->kernels.p[k];
  sb_printf(s, "k%d(", kernel->code);
  for (size_t i = 0; i < kernel->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[kernel->bufs.p[i]];
    const char *type = dtype_info[b->dt].ctype;
    const char *access = writes(kernel, kernel->bufs.p[i]) ? "" : "const ";
    if (i) sb_puts(s, ", ");
    switch (b->kind) {
    case BUF_LOCAL: BUG("a kernel is given what is its own");
    case BUF_INPUT: sb_printf(s, "in->%s", in[b->slot]); break;
    case BUF_OUTPUT: sb_printf(s, "out->%s", out[b->slot]); break;
    case BUF_WEIGHT: sb_printf(s, "(const %s *)(const void *)(w + %lld)", type, (long long)b->offset); break;
    case BUF_ARENA: case BUF_GUARD:
      sb_printf(s, "(%s%s *)(void *)(a + %lld", access, type, (long long)b->offset);
      if (b->piece) sb_printf(s, " + (size_t)begin * %lld", (long long)b->piece);
      sb_puts(s, ")");
      break;
    case BUF_STATE: case BUF_NEXT: {
      const StatePlace *at = &p->states.p[b->slot];
      sb_printf(s, "(%s%s *)(void *)(s + %lld", access, type, (long long)at->at);
      if (at->slots > 1)
        sb_printf(s, " + (size_t)%s[%lld]) * %lld", b->kind == BUF_NEXT ? "(1 - cursor" : "(cursor", (long long)b->slot,
                  (long long)at->step);
      sb_puts(s, ")");
      break;
    }
    }
  }
  if (kernel->chunks > 1) sb_printf(s, "%s%s, %s", kernel->bufs.n ? ", " : "", from, to);
  sb_puts(s, ");");
}

/* A kernel, or a chain: all of its kernels for one chunk after another, in the pieces of memory that belong to the first
 * share. */
static void put_case(const Plan *p, int k, const char **in, const char **out, Sb *s) {
  const Kernel *first = &p->kernels.p[k];
  sb_printf(s, "  case %d:", k);
  if (first->together == 1) {
    sb_puts(s, " ");
    put_call(p, k, in, out, "begin", "end", s);
    sb_puts(s, " break;\n");
    return;
  }
  sb_printf(s, "\n    for (int64_t c = begin * %d; c < end * %d; c++) {\n", first->each, first->each);
  for (int i = k; i < k + first->together; i++) {
    sb_printf(s, "      { TGC_BEGIN(%d) ", i);
    put_call(p, i, in, out, "c", "c + 1", s);
    sb_printf(s, " TGC_END(%d) }\n", i);
  }
  sb_puts(s, "    }\n    break;\n");
}

const char *kernels_text(const Plan *p) {
  Sb s = { 0 };
  const KernelOrigins *from = kernel_origins(p);
  const char *const *comment = p->backend->comment;
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *kernel = &p->kernels.p[k];
    const bool own = kernel->code == (int)k; /* else it runs the function of one before it */
    if (!kernel->text) continue;             /* a variant's baseline has it */
    sb_printf(&s, "%skernel %zu", comment[0], k);
    if (!own) sb_printf(&s, " runs k%d", kernel->code);
    sb_puts(&s, ": ");
    put_origins(p, &from[k], &s);
    sb_printf(&s, "%s\n", comment[1]);
    if (!own) continue;
    sb_puts(&s, comment[0]);
    put_parameters(p, kernel, &s);
    sb_printf(&s, "%s\n%s\n", comment[1], kernel->text);
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

static void put_cases(const Plan *p, size_t from, size_t to, const char **in, const char **out, Sb *s) {
  for (size_t k = from; k < to && k < p->kernels.n; k++)
    if (p->kernels.p[k].text && p->kernels.p[k].together) put_case(p, (int)k, in, out, s);
}

static void put_calls(const char *net, bool states, const char *linkage, const char *name, const char *per, const char *calls,
                      Sb *s) {
  const Word words[] = {
    { "net", net }, { "linkage", linkage }, { "run_kernel", name }, { "states", word_if(states) },
    { "per", per }, { "calls", calls },     { NULL, NULL },
  };
  template_expand("calls.c.in", words, s);
}

const char *job_text(const Plan *p, const char *net, const char **in, const char **out, bool fat, const char *linkage,
                     const char *name) {
  Arena *m = &p->ir->ctx->model;
  const Word words[] = { { "net", net }, { "fat", word_if(fat) }, { NULL, NULL } };
  const bool states = p->states.n;
  const size_t blocks = p->kernels.n ? (p->kernels.n + CALLS - 1) / CALLS : 1;
  Sb s = { 0 }, calls = { 0 };
  template_expand("job.c.in", words, &s);
  for (size_t b = 0; b < blocks; b++) {
    Sb cases = { 0 };
    const char *block = blocks > 1 ? arena_printf(m, "%s_%zu", name, b) : name;
    put_cases(p, b * CALLS, (b + 1) * CALLS, in, out, &cases);
    put_calls(net, states, blocks > 1 ? "TGC_KERNEL " : linkage, block, "", sb_keep(&cases, m), &s);
    sb_printf(&calls, "  case %zu: %s(p, begin, end); break;\n", b, block);
  }
  if (blocks > 1) put_calls(net, states, linkage, name, arena_printf(m, " / %d", CALLS), sb_keep(&calls, m), &s);
  sb_free(&calls);
  return sb_keep(&s, m);
}

static int kernel_shares(const Kernel *k) { return k->each ? k->chunks / k->each : k->chunks; }

const char *chunks_text(const Plan *p, const char *type) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++)
    sb_printf(&s, "%s%d, ", type, p->kernels.p[k].text ? kernel_shares(&p->kernels.p[k]) : 0);
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *chains_text(const Plan *p, const char *type) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) sb_printf(&s, "%s%d, ", type, p->kernels.p[k].together);
  return sb_keep(&s, &p->ir->ctx->model);
}

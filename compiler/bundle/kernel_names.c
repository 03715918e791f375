/* SPDX-License-Identifier: MIT */
/* kernel_names.c: names of kernels' functions in C, by operators and layout, and a line about each kernel.
 *
 * needs: the plan's kernels with their origins; layouts, if the plan has them    gives: texts in the model's arena */
#include "bundle.h"
#include <string.h>

enum { MOST_OPS = 3, MOST_NAME = 48, MOST_TILE = 60 };

/* The operator in the text of an origin: "node 1 'c1' (Conv, opset 8)". -> its length; 0: the text names none */
static size_t operator_in(const char *text, const char **op) {
  const char *open = strrchr(text, '('), *end = open ? strchr(open, ',') : NULL;
  if (!end) return 0;
  *op = open + 1;
  return (size_t)(end - open - 1);
}

/* Appends "_conv", unless the word is there already. -> whether the text has changed */
static bool put_operator(Sb *s, const char *op, size_t n) {
  Sb word = { 0 };
  for (size_t i = 0; i < n; i++) {
    const char c = op[i];
    if (c >= 'A' && c <= 'Z') sb_printf(&word, "%c", c | 0x20);
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) sb_put(&word, &c, 1);
  }
  const bool is_new = word.n && !(s->n && strstr(s->p, word.p));
  if (is_new) sb_printf(s, "_%s", word.p);
  sb_free(&word);
  return is_new;
}

/* "_conv_relu", "_copy" or, if no operator is known, "_map" */
static void put_operators(const Plan *p, const Kernel *k, const KernelOrigins *o, Sb *s) {
  Sb ops = { 0 };
  int found = 0;
  for (int i = 0; i < o->n && found < MOST_OPS; i++) {
    const char *op = NULL;
    const size_t n = operator_in(p->ir->origins.p[o->origin[i]].text, &op);
    if (n) found += put_operator(&ops, op, n);
  }
  if (k->moves) sb_puts(s, "_copy");
  if (ops.n) sb_put(s, ops.p, ops.n < MOST_NAME ? ops.n : MOST_NAME);
  else if (!k->moves) sb_puts(s, "_map");
  sb_free(&ops);
}

const Layout **kernel_layouts(const Plan *p) {
  Arena *m = &p->ir->ctx->model;
  const Layout **of_buffer = ARENA_NEW(m, const Layout *, p->ir->bufs.n + 1);
  const Layout **of_kernel = ARENA_NEW(m, const Layout *, p->kernels.n + 1);
  bool *several = ARENA_NEW(m, bool, p->ir->bufs.n + 1);
  for (size_t i = 0; i < p->layouts.n; i++) {
    const Layout *l = &p->layouts.p[i];
    several[l->buf] = of_buffer[l->buf] != NULL;
    of_buffer[l->buf] = l;
  }
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    if (x->written.n == 1 && !several[x->written.p[0]]) of_kernel[k] = of_buffer[x->written.p[0]];
  }
  return of_kernel;
}

/* Axes with more than one element, in the order of their strides, the largest first. Rank 4 has the axes n, c, h and w: "hwc".
 * Other ranks have letters from a on: "ba". */
static void put_axes(const Plan *p, const Layout *l, Sb *s) {
  const Node *x = node(p->ir, l->value);
  int axes[MAX_RANK], n = 0;
  for (int a = 0; a < x->rank; a++)
    if (x->dims[a] > 1) axes[n++] = a;
  for (int i = 0; i < n; i++) {
    int best = -1, letter = 0;
    for (int k = 0; k < n; k++)
      if (axes[k] >= 0 && (best < 0 || l->stride[axes[k]] > l->stride[axes[best]])) best = letter = k;
    sb_printf(s, "%c", x->rank == 4 ? "nchw"[axes[best]] : 'a' + letter);
    axes[best] = -1;
  }
}

const char **kernel_functions(const Plan *p, const KernelOrigins *from) {
  Arena *m = &p->ir->ctx->model;
  const Layout **layout = kernel_layouts(p);
  const char **names = ARENA_NEW(m, const char *, p->kernels.n + 1);
  for (size_t i = 0; i < p->kernels.n; i++) {
    const Kernel *k = &p->kernels.p[i];
    if (k->code != (int)i) continue; /* it calls the function of another */
    Sb s = { 0 };
    sb_printf(&s, "k%zu", i);
    if (p->in->backend->is_c) {
      put_operators(p, k, &from[i], &s);
      if (layout[i]) sb_puts(&s, "_"), put_axes(p, layout[i], &s);
      if (s.p[s.n - 1] == '_') s.p[--s.n] = 0;
    }
    names[i] = sb_keep(&s, m);
  }
  return names;
}

void put_kernel_facts(const Plan *p, const Kernel *k, const Layout *l, Sb *s) {
  if (l) {
    const Node *x = node(p->ir, l->value);
    sb_printf(s, "%s[", dtype_info[x->dt].text);
    for (int a = 0; a < x->rank; a++) sb_printf(s, "%s%lld", a ? "," : "", (long long)x->dims[a]);
    sb_puts(s, "] stored as ");
    const size_t at = s->n;
    put_axes(p, l, s);
    sb_puts(s, s->n == at ? "a scalar; " : "; ");
  }
  sb_printf(s, "%.3g Mflop", (double)k->flops / 1e6);
  const char *tile = k->nests.n && k->nests.p[0].opts ? k->nests.p[0].opts : "";
  tile += strspn(tile, "{ ");
  const char *end = strpbrk(tile, "{}"), *rest = strstr(tile, " rest");
  size_t n = rest && (!end || rest < end) ? (size_t)(rest - tile) : end ? (size_t)(end - tile) : strlen(tile);
  while (n && tile[n - 1] == ' ') n--;
  if (n) sb_printf(s, "; tile %.*s%s", n < MOST_TILE ? (int)n : MOST_TILE, tile, n < MOST_TILE ? "" : " ...");
}

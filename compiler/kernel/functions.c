/* functions.c: the backend's text of every kernel. Kernels that differ in nothing but the memory they are given share one
 * function; so do those that differ in where in their buffers they begin, once calls move the pointers there (shift.c). Where
 * that makes none the same, pointers stay at the first element.
 *
 * needs: programs, the memory plan    gives: Kernel.code, .text and .shift    breaks: nothing */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

static void put_function(const Plan *p, size_t k, const Refs *prog, Sb *s) {
  Kernel *kn = &p->kernels.p[k];
  const Refs own = kn->prog;
  kn->prog = *prog;
  p->backend->kernel(p, (int)k, p->target, s);
  kn->prog = own;
}

/* A function but for its name, interned. */
static uint32_t words_of(const Plan *p, size_t k, const Refs *prog) {
  Sb s = { 0 };
  put_function(p, k, prog, &s);
  const char *body = strchr(s.p, '('); /* after the name */
  const uint32_t id = intern(p->ir->ctx, body, s.n - (size_t)(body - s.p));
  sb_free(&s);
  return id;
}

typedef struct Forms {
  uint32_t plain, moved;   /* words of a kernel as it is, and with its pointers moved */
  int64_t *shift;          /* NULL: the same */
} Forms;

static Forms forms_of(const Plan *p, size_t k) {
  const Kernel *kn = &p->kernels.p[k];
  int64_t *shift = ARENA_NEW(&p->ir->ctx->model, int64_t, kn->bufs.n + 1);
  Refs prog = { 0 };
  Forms f = { .plain = words_of(p, k, &kn->prog) };
  f.moved = f.plain;
  if (kernel_shift(p->ir, kn, &prog, shift)) {
    f.moved = words_of(p, k, &prog);
    f.shift = shift;
  }
  VEC_FREE(&prog);
  return f;
}

static const char *text_of(const Plan *p, size_t k, bool moved) {
  int64_t *shift = ARENA_NEW(&p->ir->ctx->model, int64_t, p->kernels.p[k].bufs.n + 1);
  Refs prog = { 0 };
  Sb s = { 0 };
  if (moved) kernel_shift(p->ir, &p->kernels.p[k], &prog, shift);
  put_function(p, k, moved ? &prog : &p->kernels.p[k].prog, &s);
  VEC_FREE(&prog);
  return sb_keep(&s, &p->ir->ctx->model);
}

typedef VEC(uint32_t) Words;

static uint32_t *word_at(Words *by, uint32_t id) {
  while (by->n <= id) VEC_PUSH(by, 0);
  return &by->p[id];
}

void kernel_functions(Plan *p) {
  Forms *forms = xcalloc(p->kernels.n + 1, sizeof *forms);
  Words plain = { 0 }, several = { 0 }, first = { 0 }; /* by moved words: those as it is, there are others; kernel + 1 */
  for (size_t k = 0; k < p->kernels.n; k++) {
    if (!p->kernels.p[k].prog.n && p->base) continue;
    forms[k] = forms_of(p, k);
    uint32_t *only = word_at(&plain, forms[k].moved);
    if (*only && *only != forms[k].plain) *word_at(&several, forms[k].moved) = 1;
    *only = forms[k].plain;
  }
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    if (!kn->prog.n && p->base) continue;
    const bool moved = forms[k].shift && *word_at(&several, forms[k].moved);
    uint32_t *of = word_at(&first, moved ? forms[k].moved : forms[k].plain);
    if (!*of) *of = (uint32_t)k + 1;
    kn->code = (int)*of - 1;
    kn->shift = moved ? forms[k].shift : NULL;
    kn->text = kn->code == (int)k ? text_of(p, k, moved) : p->kernels.p[kn->code].text;
  }
  free(forms);
  VEC_FREE(&plain);
  VEC_FREE(&several);
  VEC_FREE(&first);
}

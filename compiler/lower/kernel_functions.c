/* kernel_functions.c: the backend's text of every kernel. Kernels that differ in nothing but the memory they are given share one
 * function; so do those that differ in where in their buffers they begin, once calls move the pointers there (rebase.c). Where
 * that makes none the same, pointers stay at the first element.
 *
 * needs: programs, the memory plan    gives: Kernel.code, .text and .shift    breaks: nothing */
#include "lower.h"
#include <stdlib.h>
#include <string.h>

/* A function but for its name, interned; *head: what stands before that, and the name. */
static uint32_t signature_of(const Plan *p, size_t k, const Refs *prog, const char **head) {
  Kernel *kn = &p->kernels.p[k];
  const Refs own = kn->prog;
  Sb s = { 0 };
  kn->prog = *prog;
  p->in->backend->kernel(p, (int)k, p->in->target, &s);
  kn->prog = own;
  const size_t at = (size_t)(strchr(s.p, '(') - s.p);
  const uint32_t id = intern(p->ir->ctx, s.p + at, s.n - at);
  *head = arena_str(&p->ir->ctx->model, s.p, at);
  sb_free(&s);
  return id;
}

typedef struct Forms {
  const char *head;
  uint32_t plain, moved;   /* words of a kernel as it is, and with its pointers moved */
  int64_t *shift;          /* NULL: the same */
} Forms;

static Forms forms_of(const Plan *p, size_t k, Bounds *bounds) {
  const Kernel *kn = &p->kernels.p[k];
  int64_t *shift = ARENA_NEW(&p->ir->ctx->model, int64_t, kn->bufs.n + 1);
  Refs prog = { 0 };
  Forms f = { 0 };
  f.moved = f.plain = signature_of(p, k, &kn->prog, &f.head);
  bounds_note(bounds, &kn->prog);
  if (kernel_rebase(p->ir, kn, &prog, shift) && bounds_moved(bounds, kn, &prog, shift)) {
    f.moved = signature_of(p, k, &prog, &f.head);
    f.shift = shift;
  }
  VEC_FREE(&prog);
  return f;
}

typedef VEC(uint32_t) Words;

static uint32_t *word_at(Words *by, uint32_t id) {
  while (by->n <= id) VEC_PUSH(by, 0);
  return &by->p[id];
}

void kernel_functions(Plan *p) {
  Forms *forms = xcalloc(p->kernels.n + 1, sizeof *forms);
  Bounds *bounds = bounds_open(p);
  Words plain = { 0 }, several = { 0 }, first = { 0 }; /* by moved words: those as it is, there are others; kernel + 1 */
  for (size_t k = 0; k < p->kernels.n; k++) {
    if (!p->kernels.p[k].prog.n && p->base) continue;
    forms[k] = forms_of(p, k, bounds);
    uint32_t *only = word_at(&plain, forms[k].moved);
    if (*only && *only != forms[k].plain) *word_at(&several, forms[k].moved) = 1;
    *only = forms[k].plain;
  }
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    if (!kn->prog.n && p->base) continue;
    const bool moved = forms[k].shift && *word_at(&several, forms[k].moved);
    const uint32_t words = moved ? forms[k].moved : forms[k].plain;
    uint32_t *of = word_at(&first, words);
    if (!*of) *of = (uint32_t)k + 1;
    kn->code = (int)*of - 1;
    kn->shift = moved ? forms[k].shift : NULL;
    if (kn->code != (int)k) kn->text = p->kernels.p[kn->code].text;
    else kn->text = arena_printf(&p->ir->ctx->model, "%s%s", forms[k].head, intern_text(p->ir->ctx, words));
  }
  bounds_close(bounds);
  free(forms);
  VEC_FREE(&plain);
  VEC_FREE(&several);
  VEC_FREE(&first);
}

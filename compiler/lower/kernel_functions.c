/* kernel_functions.c: the backend's text of every function.
 *
 * needs: programs, Kernel.code    gives: Kernel.text    breaks: nothing */
#include "lower.h"
#include <string.h>

uint32_t kernel_signature(const Plan *p, size_t k) {
  Kernel *kn = &p->kernels.p[k];
  Sb s = { 0 };
  if (kn->head) return kn->signature;
  p->in->backend->kernel(p, (int)k, p->in->target, &s);
  const size_t at = (size_t)(strchr(s.p, '(') - s.p);
  kn->signature = intern(p->ir->ctx, s.p + at, s.n - at);
  kn->head = arena_str(&p->ir->ctx->model, s.p, at);
  sb_free(&s);
  return kn->signature;
}

void plan_render(Plan *p) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    if (kn->code < 0) continue;
    const uint32_t id = kernel_signature(p, k);
    if (kn->code != (int)k) kn->text = p->kernels.p[kn->code].text;
    else kn->text = arena_printf(&p->ir->ctx->model, "%s%s", kn->head, intern_text(p->ir->ctx, id));
  }
}

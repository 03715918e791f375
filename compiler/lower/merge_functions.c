/* SPDX-License-Identifier: MIT */
/* merge_functions.c: kernels that differ in nothing but the memory they are given share the function of the first of them. The
 * texts that the backend prints decide, without the names of the functions.
 *
 * needs: programs, the memory plan    gives: Kernel.code    keeps: programs    breaks: nothing */
#include "lower.h"

void plan_merge_functions(Plan *p) {
  VEC(uint32_t) first = { 0 }; /* by signature: kernel + 1 */
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    if (!kn->prog.n && p->base) continue;
    const uint32_t id = kernel_signature(p, k);
    while (first.n <= id) VEC_PUSH(&first, 0);
    if (!first.p[id]) first.p[id] = (uint32_t)k + 1;
    kn->code = (int)first.p[id] - 1;
  }
  VEC_FREE(&first);
}

bool plan_functions_equal(const Plan *p) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *kn = &p->kernels.p[k];
    if (!kn->prog.n && p->base ? kn->code >= 0 : kn->code < 0 || (size_t)kn->code > k) return false;
    if (kn->code >= 0 && p->kernels.p[kn->code].code != kn->code) return false;
    if (kn->code >= 0 && kernel_signature(p, k) != kernel_signature(p, (size_t)kn->code)) return false;
  }
  return true;
}

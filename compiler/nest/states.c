/* SPDX-License-Identifier: MIT */
/* states.c: visits a kernel's nests between two steps.
 *
 * needs: Kernel.states   gives: the nests one by one, and as a list
 * keeps: the nests    breaks: nothing */
#include "nest.h"

void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s)) {
  for (size_t i = 0; i < k->states.n; i++) {
    p->ir->origin = node(p->ir, k->states.p[i].nest)->origin;
    f(p, &k->states.p[i]);
  }
}

void states_nests(const Kernel *k, Refs *out) {
  for (size_t i = 0; i < k->states.n; i++) VEC_PUSH(out, k->states.p[i].nest);
}

void states_put(Kernel *k, Refs *nests) {
  for (size_t i = 0; i < k->states.n; i++) k->states.p[i].nest = nests->p[i];
  VEC_FREE(nests);
}

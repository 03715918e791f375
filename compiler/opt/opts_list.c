/* SPDX-License-Identifier: MIT */
/* opts_list.c: the opts of a nest as a list, and nests that a schedule leaves as a list.
 *
 * needs: opts   gives: opts about other ranges; states of rests   keeps: nests   breaks: nothing */
#include "opts.h"
#include <string.h>

void opts_replace(Opts *o, Ref r, Ref now) {
  for (int i = 0; i < o->n; i++)
    if (o->opt[i].range == r) o->opt[i].range = now;
  for (int i = 0; i < o->nmoved; i++)
    if (o->moved[i].range == r) o->moved[i].range = now;
  for (int i = 0; i < o->npeeled; i++)
    if (o->peeled[i] == r) o->peeled[i] = now;
  if (o->staged == r) o->staged = now;
  for (int i = 0; i < 2; i++)
    if (o->side[i] == r) o->side[i] = now;
}

void opts_drop(Opts *o, int i) {
  for (o->n--; i < o->n; i++) o->opt[i] = o->opt[i + 1];
}

int unit_side(const Opts *o, Ref range) {
  return !o->unit ? 1 : o->side[0] == range ? o->unit->m : o->side[1] == range ? o->unit->n : 1;
}

size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *text) {
  const Opts o = opts_read(p->ir, nest, text);
  const NestState rest = { .nest = nest,
                           .depth = k->states.p[at].depth + 1,
                           .opts = arena_dup(&p->ir->ctx->model, &o, sizeof o) };
  size_t end = at + 1;
  while (end < k->states.n && k->states.p[end].depth > k->states.p[at].depth) end++;
  VEC_PUSH(&k->states, rest);
  memmove(&k->states.p[end + 1], &k->states.p[end], (k->states.n - 1 - end) * sizeof rest);
  k->states.p[end] = rest;
  return end;
}

/* SPDX-License-Identifier: MIT */
/* warp_mma.c: the meaning of WMMA. The threads of a warp put their fragments together by the unit's order of bits
 * (matrix_units.h). Each of them gets its part of the sum. Terms are added one after another. Devices add them in an order of
 * their own.
 *
 * needs: values of all threads of a warp    gives: a fragment of the sum in each    breaks: nothing */
#include "../target/matrix_units.h"
#include "machine.h"
#include <stdlib.h>

/* The matrix whose fragments the threads have at place `at`: row by row */
static int64_t *assemble(const MatrixUnit *u, Matrix x, int64_t *const *v, uint32_t at) {
  const char *of = matrix_dimensions(x);
  const int width = unit_extent(u, of[1]);
  int64_t *to = xcalloc((size_t)(unit_extent(u, of[0]) * width), sizeof *to);
  for (int t = 0; t < u->threads; t++)
    for (int e = 0; e < unit_elements(u, x); e++)
      to[unit_place(u, x, of[0], t, e) * width + unit_place(u, x, of[1], t, e)] = v[t][at + (uint32_t)e];
  return to;
}

static void multiply(const MatrixUnit *u, const int64_t *a, const int64_t *b, int64_t *c) {
  for (int i = 0; i < u->m; i++)
    for (int j = 0; j < u->n; j++)
      for (int k = 0; k < u->k; k++) {
        const int64_t p = machine_product(u->c, u->a, &a[i * u->k + k], u->b, &b[k * u->n + j]);
        int64_t *sum = &c[i * u->n + j];
        *sum = interp_scalar(OP_ADD, u->c, u->c, (int64_t[]){ *sum, p });
      }
}

static bool fits(const IR *ir, const Node *x, const MatrixUnit *u) {
  bool yes = wmma_m(x) == u->m && wmma_n(x) == u->n && wmma_k(x) == u->k && !unit_is_whole(u);
  for (Matrix i = 0; i < MATRICES; i++) {
    const Node *s = node(ir, i == MATRIX_C ? wmma_sum(x) : i == MATRIX_A ? wmma_x(x) : wmma_y(x));
    yes &= s->dt == unit_type(u, i) && s->lanes == unit_elements(u, i);
  }
  return yes;
}

const char *machine_wmma(const Machine *m, const Step *s, int64_t *const *v) {
  const char *name = intern_text(m->ir->ctx, (uint32_t)wmma_unit(s->x));
  const MatrixUnit *u = matrix_unit_named(name, strlen(name));
  const uint32_t *from = &m->from.p[s->first];
  if (!u || !fits(m->ir, s->x, u)) return "no matrix unit takes such fragments";
  int64_t *c = assemble(u, MATRIX_C, v, from[0]), *a = assemble(u, MATRIX_A, v, from[1]), *b = assemble(u, MATRIX_B, v, from[2]);
  multiply(u, a, b, c);
  for (int t = 0; t < u->threads; t++)
    for (int e = 0; e < unit_elements(u, MATRIX_C); e++)
      v[t][s->to + (uint32_t)e] = c[unit_place(u, MATRIX_C, 'm', t, e) * u->n + unit_place(u, MATRIX_C, 'n', t, e)];
  free(a);
  free(b);
  free(c);
  return NULL;
}

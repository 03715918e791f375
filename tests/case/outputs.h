/* SPDX-License-Identifier: MIT */
/* outputs.h: compares the outputs of a graph with the expected outputs. */
#ifndef TGC_TESTS_OUTPUTS_H
#define TGC_TESTS_OUTPUTS_H
#include "../../compiler/schedule/schedule.h"
#include <math.h>

/* Returns element i of the array `data`, whose elements have t's type. If `data` is NULL, all elements are t->splat. */
static inline double output_element(const Tensor *t, const void *data, int64_t i) {
  Tensor at = *t;
  at.data = data;
  return bits_to_double(t->dt, tensor_bits(&at, i));
}

/* got: as many elements as `want` has, of want's type. Returns the index of the first element in which `got` and `want` differ,
 * or -1 if there is none. A NaN equals any NaN. Two floats count as equal if their difference is at most part * M + room. M is
 * the largest finite magnitude in `want`, or `least` if `least` is larger. */
static inline int64_t outputs_far(const Tensor *want, const void *got, double part, double least, double room) {
  double most = least;
  for (int64_t i = 0; i < want->elems; i++) {
    const double a = fabs(output_element(want, want->data, i));
    if (isfinite(a)) most = fmax(most, a);
  }
  for (int64_t i = 0; i < want->elems; i++) {
    const double a = output_element(want, want->data, i), b = output_element(want, got, i);
    if (a != b && !(isnan(a) && isnan(b)) && !(dt_float(want->dt) && fabs(a - b) <= part * most + room)) return i;
  }
  return -1;
}

/* Does what outputs_far does with room 0. */
static inline int64_t outputs_differ(const Tensor *want, const void *got, double part, double least) {
  return outputs_far(want, got, part, least, 0);
}
#endif

/* SPDX-License-Identifier: MIT */
/* matrix_units.c: the table of matrix units, and what their orders of bits mean.
 *
 * needs: nothing    gives: rows; places and indices of elements    breaks: nothing */
#include "matrix_units.h"
#include <string.h>

/* clang-format off */
const MatrixUnit matrix_unit_table[] = {
  /* name            m   n  k   a       b       c       threads products cuda a: threads, elements               b                             c */
  /* PTX, mma.m16n8k16, row.col. A100: 312 teraflops, and 19.5 by its 32-bit units */
  { "mma_16816f16",  16, 8, 16, DT_F16, DT_F16, DT_F32, 32, 512, 80, { { "k1 k2 m0 m1 m2", "k0 m3 k3" }, { "k1 k2 n0 n1 n2", "k0 k3" }, { "n1 n2 m0 m1 m2", "n0 m3" } } },
  /* Metal, simdgroup_float8x8 of simdgroup_half8x8: the language does not say which thread holds what. As fast as the threads
   * multiply by themselves, for want of other figures: it spares loads */
  { "simdgroup_f16",  8, 8, 8,  DT_F16, DT_F16, DT_F32, 32, 32, 0, { { NULL, NULL }, { NULL, NULL }, { "n1 n2 m0 m1 m2", "n0" } } },
  { "simdgroup_f32",  8, 8, 8,  DT_F32, DT_F32, DT_F32, 32, 32, 0, { { NULL, NULL }, { NULL, NULL }, { "n1 n2 m0 m1 m2", "n0" } } },
  { NULL,             0, 0, 0,  0,      0,      0,      0,  0, 0, { { NULL, NULL }, { NULL, NULL }, { NULL, NULL } } },
};
/* clang-format on */

const MatrixUnit *matrix_unit_named(const char *s, size_t n) {
  for (const MatrixUnit *u = matrix_unit_table; u->name; u++)
    if (strlen(u->name) == n && !memcmp(u->name, s, n)) return u;
  return NULL;
}

const MatrixUnit *device_matrix_unit(const Device *d, int i) {
  for (const char *s = d->matrix_units; s && *s; i--) {
    const size_t n = strcspn(s, " ");
    if (!i) return matrix_unit_named(s, n);
    s += n;
    s += *s == ' ';
  }
  return NULL;
}

bool device_multiplies(const Device *d, DType factor) {
  const MatrixUnit *u;
  for (int i = 0; d && (u = device_matrix_unit(d, i)); i++)
    if (u->a == factor) return true;
  return false;
}

bool unit_is_whole(const MatrixUnit *u) { return !u->order[MATRIX_A].threads; }

int unit_extent(const MatrixUnit *u, char dimension) { return dimension == 'm' ? u->m : dimension == 'n' ? u->n : u->k; }

const char *matrix_dimensions(Matrix x) {
  static const char *const dimensions[MATRICES] = { [MATRIX_A] = "mk", [MATRIX_B] = "kn", [MATRIX_C] = "mn" };
  return dimensions[x];
}

int unit_elements(const MatrixUnit *u, Matrix x) {
  const char *of = matrix_dimensions(x);
  return unit_extent(u, of[0]) * unit_extent(u, of[1]) / u->threads;
}

DType unit_type(const MatrixUnit *u, Matrix x) { return x == MATRIX_A ? u->a : x == MATRIX_B ? u->b : u->c; }

/* ---- orders of bits ---- */
typedef struct Bit { char dimension; int number; } Bit;

static bool next_bit(const char **at, Bit *out) {
  while (**at == ' ') ++*at;
  if (!**at) return false;
  *out = (Bit){ (*at)[0], (*at)[1] - '0' };
  *at += 2;
  return true;
}

static int gather_bits(const char *order, char dimension, int value) {
  int place = 0, bit = 0;
  for (Bit b; next_bit(&order, &b); bit++)
    if (b.dimension == dimension) place |= (value >> bit & 1) << b.number;
  return place;
}

int unit_place(const MatrixUnit *u, Matrix x, char dimension, int thread, int e) {
  return gather_bits(u->order[x].threads, dimension, thread) | gather_bits(u->order[x].elements, dimension, e);
}

/* Bits that follow each other in both numbers are one quotient and one remainder. */
static Ref index_of_bits(IR *ir, const char *order, char dimension, Ref value) {
  Ref at = ix_const(ir, 0);
  Bit b;
  bool more = next_bit(&order, &b);
  for (int bit = 0; more;) {
    const Bit first = b;
    const int from = bit;
    do {
      bit++;
      more = next_bit(&order, &b);
    } while (more && b.dimension == first.dimension && b.number == first.number + bit - from);
    if (first.dimension != dimension) continue;
    const Ref bits = ix_mod(ir, ix_div(ir, value, INT64_C(1) << from), INT64_C(1) << (bit - from));
    at = ix_add(ir, at, ix_mul(ir, bits, INT64_C(1) << first.number));
  }
  return at;
}

Ref unit_index(IR *ir, const MatrixUnit *u, Matrix x, char dimension, Ref thread, Ref e) {
  return ix_add(ir, index_of_bits(ir, u->order[x].threads, dimension, thread),
                index_of_bits(ir, u->order[x].elements, dimension, e));
}

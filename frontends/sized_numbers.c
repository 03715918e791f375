/* SPDX-License-Identifier: MIT */
/* sized_numbers.c: elements of constants that follow from numbers of entries, as values that serve all sizes.
 *
 * Such an element is a number of entries, its inverse, a share of it, or the number less a half. The number has a sample at
 * each probe. A formula is found for the samples: an extent, or a product, sum or difference of extents. sized_proof.c tries the
 * formula for all sizes.
 *
 * needs: the extents that sized_fit.c has found    gives: nodes that compute the element    keeps: Sizing */
#include "sized_parts.h"
#include <math.h>

/* A multiple of the sizes of several symbols; 0: the samples are none */
static Ref product_of_sizes(const Sizing *z, const Samples *s, uint32_t symbols) {
  IR *ir = z->ir;
  int64_t all = 1;
  for (int k = 0; k < ir->symbols.n; k++)
    if (symbols >> k & 1) all *= ir->symbols.p[k].high;
  bool good = s->most >= all && s->most % all == 0;
  for (int p = 0; p < z->n && good; p++) {
    const Probe *at = &z->probe[p];
    if (s->known >> p & 1 & symbols >> at->symbol) good = s->at[p] == s->most / ir->symbols.p[at->symbol].high * at->size;
  }
  Ref product = 0;
  for (int k = 0; k < ir->symbols.n && good; k++) {
    if (!(symbols >> k & 1)) continue;
    const Ref size = size_value(ir, size_number(ir, size_all(product ? 1 : s->most / all, k)));
    product = product ? g_binary(ir, OP_MUL, product, size) : size;
  }
  return product;
}

/* A multiple of the product of two extents of different symbols, such as the number of elements of a picture behind a convolution
 * with steps; 0: the samples are none */
static Ref product_of_extents(const Sizing *z, const Samples *s, uint32_t symbols) {
  IR *ir = z->ir;
  const int n = (int)ir->extents.n;
  for (int i = 0; i < n * n; i++) {
    const int a = i / n, b = i % n;
    const Extent *x = &ir->extents.p[a], *y = &ir->extents.p[b];
    if (extent_is_product(x) || extent_is_product(y) || x->symbol >= y->symbol) continue;
    if (y->symbol < ir->symbols.n && (1u << x->symbol | 1u << y->symbol) != symbols) continue;
    const int64_t most = greatest_extent(ir, a) * greatest_extent(ir, b), times = most > 0 ? s->most / most : 0;
    bool all = times > 0 && times * most == s->most;
    for (int p = 0; p < z->n && all; p++)
      all = !(s->known >> p & 1) || s->at[p] == times * extent_at_probe(z, a, p) * extent_at_probe(z, b, p);
    if (all) return g_binary(ir, OP_MUL, size_value(ir, size_number(ir, size_all(times, a))), graph_size_plus(ir, b, 0));
  }
  return 0;
}

/* The sum or difference of two extents of one symbol or of their doubles, and a constant; 0: the samples are none */
static Ref two_sizes(const Sizing *z, const Samples *s) {
  static const int times[][2] = { { 1, 1 }, { 1, -1 }, { 1, 2 }, { 1, -2 }, { 2, 1 }, { 2, -1 } };
  enum { FORMS = sizeof times / sizeof *times };
  IR *ir = z->ir;
  const int n = (int)ir->extents.n;
  for (int i = 0; i < FORMS * n * n; i++) {
    const int a = i / FORMS / n, b = i / FORMS % n, one = times[i % FORMS][0], two = times[i % FORMS][1];
    const Extent *x = &ir->extents.p[a], *y = &ir->extents.p[b];
    if (extent_is_product(x) || extent_is_product(y) || x->symbol != y->symbol) continue;
    const int64_t plus = s->most - one * greatest_extent(ir, a) - two * greatest_extent(ir, b);
    bool all = true;
    for (int p = 0; p < z->n && all; p++)
      all = !(s->known >> p & 1) || s->at[p] == one * extent_at_probe(z, a, p) + two * extent_at_probe(z, b, p) + plus;
    if (!all) continue;
    const Ref other = g_binary(ir, OP_MUL, graph_size_plus(ir, b, 0), c_int(ir, DT_I64, two));
    const Ref size = g_binary(ir, OP_MUL, graph_size_plus(ir, a, 0), c_int(ir, DT_I64, one));
    return g_binary(ir, OP_ADD, g_binary(ir, OP_ADD, size, other), c_int(ir, DT_I64, plus));
  }
  return 0;
}

/* A number of entries of several symbols; 0: the samples are none */
static Ref count_of_several(const Sizing *z, const Samples *s, uint32_t symbols) {
  IR *ir = z->ir;
  int extent;
  int64_t times, plus = 0;
  Ref product = product_of_sizes(z, s, symbols);
  if (!product && fit_samples(z, s, &extent, &times, &plus) && times > 0)
    product = size_value(ir, size_number(ir, size_all(times, extent)));
  if (product && plus) product = g_binary(ir, OP_ADD, product, c_int(ir, DT_I64, plus));
  return product ? product : product_of_extents(z, s, symbols);
}

/* A number of entries of one symbol; 0: the samples are none */
static Ref count_of_one(const Sizing *z, const Samples *s) {
  IR *ir = z->ir;
  int extent;
  int64_t times, plus;
  if (!fit_samples(z, s, &extent, &times, &plus)) return two_sizes(z, s);
  Ref size = size_value(ir, size_number(ir, size_all(times > 0 ? times : 1, extent)));
  if (times < 0) size = g_binary(ir, OP_MUL, size, c_int(ir, DT_I64, times));
  return plus ? g_binary(ir, OP_ADD, size, c_int(ir, DT_I64, plus)) : size;
}

/* An element of a constant is a number of entries, its inverse, or half of it. */
typedef enum Share { WHOLE, INVERSE, HALF, SHARES } Share;

static double share_of(Share share, double x) { return share == INVERSE ? 1 / x : share == HALF ? x / 2 : x; }
static double number_of(Share share, double x) { return share == INVERSE ? 1 / x : share == HALF ? x * 2 : x; }

/* The bits of an element of a constant as samples, if all are such shares of whole numbers */
static bool samples_of_bits(const Sizing *z, DType d, Share share, const int64_t *bits, uint32_t known, Samples *s) {
  *s = (Samples){ .known = known };
  bool good = true;
  for (int p = -1; p < z->n && good; p++) {
    if (p >= 0 && !(known >> p & 1)) continue;
    const double whole = nearbyint(number_of(share, bits_to_double(d, bits[p + 1])));
    good = fabs(whole) < 1e15 && double_to_bits(d, share_of(share, whole)) == bits[p + 1];
    if (good) *(p < 0 ? &s->most : &s->at[p]) = (int64_t)whole;
  }
  return good;
}

Ref sized_element(const Sizing *z, DType d, const int64_t *bits, uint32_t known) {
  IR *ir = z->ir;
  Samples s;
  for (Share share = WHOLE; share < (dt_float(d) ? SHARES : INVERSE) && d != DT_BOOL; share++) {
    if (!samples_of_bits(z, d, share, bits, known, &s)) continue;
    const uint32_t symbols = samples_vary(z, &s);
    if (!symbols) return 0;
    const Ref count = symbols & (symbols - 1) ? count_of_several(z, &s, symbols) : count_of_one(z, &s);
    if (!count) continue;
    const Ref value = g_cast(ir, count, d);
    if (share == HALF) return g_binary(ir, OP_MUL, value, c_float(ir, d, 0.5));
    return share == INVERSE ? g_unary(ir, OP_RECIP, value) : value;
  }
  return 0;
}

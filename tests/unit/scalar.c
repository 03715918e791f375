/* SPDX-License-Identifier: MIT */
/* scalar.c (unit test): the meaning of elementwise ops where implementations differ: NaN, infinities,
 * -0, overflow, division by zero, wide shifts, saturation, halves; casts over all small values. */
#include "../../compiler/interp/interp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

typedef struct Row { Op op; DType d; double x[3], want; } Row; /* exact small numbers, as doubles */

static void check(const Row *row, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const Row *r = &row[i];
    DType result = op_info[r->op].type[0] == 'b' ? DT_BOOL : r->d;
    int64_t v[3];
    for (int k = 0; k < 3; k++) v[k] = double_to_bits(r->op == OP_WHERE && !k ? DT_BOOL : r->d, r->x[k]);
    double got = bits_to_double(result, interp_scalar(r->op, result, r->d, v));
    bool same = isnan(r->want) ? isnan(got) : got == r->want && !signbit(got) == !signbit(r->want);
    if (!same) fail_msg("row %zu: %s %s of %g %g: %g, expected %g", i, op_info[r->op].name, dtype_info[r->d].text, r->x[0], r->x[1], got, r->want);
  }
}
#define CHECK_ROWS(rows) check(rows, sizeof rows / sizeof *rows)

static void floats(void **state) {
  static const Row rows[] = {
    { OP_MAX, DT_F32, { NAN, 1 }, NAN },         { OP_MAX, DT_F32, { 1, NAN }, NAN },      { OP_MIN, DT_F16, { NAN, -INFINITY }, NAN },
    { OP_MIN, DT_BF16, { 1, NAN }, NAN },        { OP_MAX, DT_F32, { -0.0, 0 }, 0 },       { OP_MAX, DT_F32, { 0, -0.0 }, 0 },
    { OP_MIN, DT_F32, { 0, -0.0 }, -0.0 },       { OP_MIN, DT_F32, { -0.0, 0 }, -0.0 },    { OP_NEG, DT_F32, { 0 }, -0.0 },
    { OP_ABS, DT_F16, { -0.0 }, 0 },             { OP_ABS, DT_F32, { -INFINITY }, INFINITY },
    { OP_ROUND, DT_F32, { 0.5 }, 0 },            { OP_ROUND, DT_F32, { 1.5 }, 2 },         { OP_ROUND, DT_F32, { 2.5 }, 2 },
    { OP_ROUND, DT_F32, { -2.5 }, -2 },          { OP_ROUND, DT_F32, { -0.4 }, -0.0 },     { OP_FLOOR, DT_F32, { -0.5 }, -1 },
    { OP_CEIL, DT_F32, { -0.5 }, -0.0 },         { OP_TRUNC, DT_F64, { -1.7 }, -1 },       { OP_TRUNC, DT_F32, { INFINITY }, INFINITY },
    { OP_RECIP, DT_F32, { -0.0 }, -INFINITY },   { OP_DIV, DT_F32, { 0, 0 }, NAN },        { OP_DIV, DT_F32, { 1, -0.0 }, -INFINITY },
    { OP_SQRT, DT_F32, { -1 }, NAN },            { OP_SQRT, DT_F32, { -0.0 }, -0.0 },      { OP_MUL, DT_F32, { INFINITY, 0 }, NAN },
    { OP_SUB, DT_F32, { INFINITY, INFINITY }, NAN }, { OP_ADD, DT_F16, { 65504, 16 }, INFINITY }, { OP_ADD, DT_F16, { 65504, 15 }, 65504 },
    { OP_ADD, DT_F16, { 2048, 1 }, 2048 },       { OP_ADD, DT_F16, { 2050, 1 }, 2052 },    { OP_ADD, DT_BF16, { 256, 1 }, 256 },
    { OP_MUL, DT_F16, { 0x1p-24, 0.5 }, 0 },     { OP_MUL, DT_F16, { 0x1p-24, 0.75 }, 0x1p-24 }, { OP_MUL, DT_F32, { 0x1p-149, 0.5 }, 0 },
    { OP_MOD, DT_F32, { -7, 3 }, -1 },           { OP_MOD, DT_F32, { 7, -3 }, 1 },         { OP_MOD, DT_F32, { -6, 3 }, -0.0 },
    { OP_MOD, DT_F32, { 1, 0 }, NAN },           { OP_MOD, DT_F32, { 1, INFINITY }, 1 },   { OP_POW, DT_F32, { -8, 1.0 / 3 }, NAN },
    { OP_POW, DT_F32, { NAN, 0 }, 1 },           { OP_POW, DT_F32, { 0, -1 }, INFINITY },  { OP_EXP, DT_F32, { 89 }, INFINITY },
    { OP_EXP, DT_F32, { -INFINITY }, 0 },        { OP_LOG, DT_F32, { 0 }, -INFINITY },     { OP_LOG, DT_F32, { -1 }, NAN },
    { OP_TANH, DT_F32, { -0.0 }, -0.0 },         { OP_ERF, DT_F32, { INFINITY }, 1 },      { OP_SIN, DT_F32, { INFINITY }, NAN },
    { OP_CMPLT, DT_F32, { NAN, 1 }, 0 },         { OP_CMPLE, DT_F32, { 1, NAN }, 0 },      { OP_CMPEQ, DT_F32, { NAN, NAN }, 0 },
    { OP_CMPNE, DT_F32, { NAN, NAN }, 1 },       { OP_CMPEQ, DT_F32, { 0, -0.0 }, 1 },     { OP_CMPLE, DT_F64, { 2, 2 }, 1 },
    { OP_WHERE, DT_F32, { 0, 1, -0.0 }, -0.0 },  { OP_WHERE, DT_F32, { 1, NAN, 2 }, NAN },
    { OP_MULACC, DT_F32, { 0x1.001p0, 0x1.001p0, -0x1.002p0 }, 0x1p-24 }, /* rounds once */
  };
  (void)state;
  CHECK_ROWS(rows);
}

static void integers(void **state) {
  static const Row rows[] = {
    { OP_ADD, DT_I8, { 127, 1 }, -128 },       { OP_SUB, DT_U8, { 0, 1 }, 255 },          { OP_MUL, DT_I16, { 256, 128 }, -32768 },
    { OP_NEG, DT_I8, { -128 }, -128 },         { OP_NEG, DT_U8, { 1 }, 255 },             { OP_ABS, DT_I32, { INT32_MIN }, INT32_MIN },
    { OP_DIV, DT_I32, { -7, 2 }, -3 },         { OP_DIV, DT_I32, { 7, 0 }, 0 },           { OP_DIV, DT_I32, { INT32_MIN, -1 }, INT32_MIN },
    { OP_DIV, DT_U32, { 4294967295.0, 2 }, 2147483647 }, { OP_MOD, DT_I32, { -7, 2 }, -1 }, { OP_MOD, DT_I32, { 7, -2 }, 1 },
    { OP_MOD, DT_I32, { 7, 0 }, 0 },           { OP_MOD, DT_I64, { -9223372036854775808.0, -1 }, 0 },
    { OP_DIV, DT_I64, { -9223372036854775808.0, -1 }, -9223372036854775808.0 },
    { OP_FLDIV, DT_I32, { -7, 2 }, -4 },       { OP_FLDIV, DT_I32, { 7, -2 }, -4 },       { OP_FLDIV, DT_I32, { -8, 2 }, -4 },
    { OP_FLDIV, DT_I8, { -128, -1 }, -128 },   { OP_FLDIV, DT_I32, { 5, 0 }, 0 },         { OP_FLMOD, DT_I32, { -7, 2 }, 1 },
    { OP_FLMOD, DT_I32, { 7, -2 }, -1 },       { OP_FLMOD, DT_I32, { -8, 2 }, 0 },        { OP_FLMOD, DT_I32, { 5, 0 }, 0 },
    { OP_FLMOD, DT_U8, { 200, 7 }, 4 },        { OP_MAX, DT_U8, { 200, 100 }, 200 },      { OP_MIN, DT_I8, { -1, 1 }, -1 },
    { OP_CMPLT, DT_U32, { 1, 4294967295.0 }, 1 }, { OP_CMPLT, DT_I32, { 1, -1 }, 0 },
    { OP_SHL, DT_U8, { 1, 7 }, 128 },          { OP_SHL, DT_U8, { 1, 8 }, 0 },            { OP_SHL, DT_I32, { 1, 31 }, INT32_MIN },
    { OP_SHL, DT_I32, { 1, -1 }, 0 },          { OP_SHR, DT_U8, { 128, 7 }, 1 },          { OP_SHR, DT_U8, { 128, 8 }, 0 },
    { OP_SHR, DT_I8, { -128, 7 }, -1 },        { OP_SHR, DT_I8, { -2, 200 }, -1 },        { OP_SHR, DT_I32, { 5, 99 }, 0 },
    { OP_NOT, DT_BOOL, { 1 }, 0 },             { OP_NOT, DT_U8, { 0 }, 255 },             { OP_NOT, DT_I32, { 0 }, -1 },
    { OP_MUL, DT_BOOL, { 1, 0 }, 0 },          { OP_MAX, DT_BOOL, { 1, 0 }, 1 },          { OP_XOR, DT_BOOL, { 1, 1 }, 0 },
    { OP_AND, DT_I8, { -1, 15 }, 15 },         { OP_OR, DT_U16, { 1, 32768 }, 32769 },    { OP_ROUND, DT_I32, { 5 }, 5 },
    { OP_RECIP, DT_I32, { 0 }, 0 },            { OP_RECIP, DT_I32, { 1 }, 1 },            { OP_SQRT, DT_I32, { 10 }, 3 },
    { OP_POW, DT_I32, { 3, 4 }, 81 },          { OP_POW, DT_I32, { 2, -1 }, 0 },          { OP_POW, DT_I8, { 2, 10 }, 127 },
    { OP_MULACC, DT_U8, { 16, 16, 3 }, 3 },    { OP_WHERE, DT_I64, { 1, -5, 7 }, -5 },
  };
  (void)state;
  CHECK_ROWS(rows);
}

static double cast(DType to, DType from, double x) {
  int64_t v = double_to_bits(from, x);
  return bits_to_double(to, interp_scalar(OP_CAST, to, from, &v));
}

static void casts_saturate_wrap_and_round_to_even(void **state) {
  (void)state;
  assert_true(cast(DT_I8, DT_F32, 300) == 127 && cast(DT_I8, DT_F32, -300) == -128 && cast(DT_U8, DT_F32, -5) == 0);
  assert_true(cast(DT_I32, DT_F32, NAN) == 0 && cast(DT_U64, DT_F32, INFINITY) == 18446744073709551616.0);
  assert_true(cast(DT_I64, DT_F64, 1e300) == 9223372036854775808.0 && cast(DT_I32, DT_F32, -1.9) == -1);
  assert_true(cast(DT_I8, DT_I16, 200) == -56 && cast(DT_U8, DT_I32, -1) == 255 && cast(DT_I64, DT_U32, 4294967295.0) == 4294967295.0);
  assert_true(cast(DT_BOOL, DT_F32, NAN) == 1 && cast(DT_BOOL, DT_F32, 0.1) == 1 && cast(DT_BOOL, DT_F32, -0.0) == 0);
  assert_true(cast(DT_BOOL, DT_I32, 256) == 1 && cast(DT_F32, DT_BOOL, 1) == 1);
  assert_true(isnan(cast(DT_F16, DT_F32, NAN)) && isnan(cast(DT_BF16, DT_F32, NAN)) && isinf(cast(DT_F16, DT_F32, 65520)));
  assert_true(cast(DT_F16, DT_F32, 65519.996) == 65504 && cast(DT_F16, DT_F64, 2049.0000001) == 2050);
  int64_t near = (1 << 24) + 1, v = ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1; /* through f64 this would round down */
  assert_true(bits_to_double(DT_F32, interp_scalar(OP_CAST, DT_F32, DT_I64, &near)) == 1 << 24);
  assert_true(bits_to_double(DT_F32, interp_scalar(OP_CAST, DT_F32, DT_I64, &v)) == 0x1p60 + 0x1p37);
  v = -v;
  assert_true(bits_to_double(DT_F32, interp_scalar(OP_CAST, DT_F32, DT_I64, &v)) == -0x1p60 - 0x1p37);
  v = -1;
  assert_true(bits_to_double(DT_F32, interp_scalar(OP_CAST, DT_F32, DT_U64, &v)) == 0x1p64);
}

static void small_floats_survive_wider_ones(void **state) {
  static const DType small[] = { DT_F16, DT_BF16 }, wide[] = { DT_F32, DT_F64 };
  (void)state;
  for (int s = 0; s < 2; s++)
    for (int w = 0; w < 2; w++)
      for (int64_t h = 0; h < 65536; h++) {
        double x = bits_to_double(small[s], h);
        int64_t up = interp_scalar(OP_CAST, wide[w], small[s], &h), down = interp_scalar(OP_CAST, small[s], wide[w], &up);
        if (isnan(x)) assert_true(isnan(bits_to_double(wide[w], up)) && isnan(bits_to_double(small[s], down)));
        else assert_true(bits_to_double(wide[w], up) == x && down == h);
      }
}

/* between neighbours: below the middle down, above it up, the middle to the even one */
static void rounding_is_to_the_nearest(void **state) {
  static const DType small[] = { DT_F16, DT_BF16 };
  (void)state;
  for (int s = 0; s < 2; s++)
    for (int64_t h = 0; h < 0x7fff; h++) {
      double x = bits_to_double(small[s], h), y = bits_to_double(small[s], h + 1), middle = x + (y - x) / 2;
      if (!isfinite(y) || !isfinite(x)) continue;
      double even = h & 1 ? y : x;
      assert_true(round_to_type(small[s], middle) == even && round_to_type(small[s], -middle) == -even);
      assert_true(round_to_type(small[s], nextafter(middle, 0)) == x && round_to_type(small[s], nextafter(middle, INFINITY)) == y);
      assert_int_equal(double_to_bits(small[s], middle), h + (h & 1));
      assert_int_equal(double_to_bits(small[s], nextafter(middle, INFINITY)), h + 1);
    }
}

static void casts_agree_over_small_types(void **state) { /* with plain C */
  (void)state;
  for (int x = -128; x < 128; x++) {
    assert_true(cast(DT_U8, DT_I8, x) == (uint8_t)x && cast(DT_I16, DT_I8, x) == x && cast(DT_F16, DT_I8, x) == x);
    assert_true(cast(DT_U64, DT_I8, x) == (double)(uint64_t)(int64_t)x && cast(DT_BOOL, DT_I8, x) == (x != 0));
  }
  for (int64_t h = 0; h < 65536; h++) {
    double x = bits_to_double(DT_F16, h);
    int64_t i = interp_scalar(OP_CAST, DT_I8, DT_F16, &h), u = interp_scalar(OP_CAST, DT_U16, DT_F16, &h);
    assert_int_equal(i, isnan(x) ? 0 : x > 127 ? 127 : x < -128 ? -128 : (int)x);
    assert_int_equal(u, isnan(x) || x < 0 ? 0 : x > 65535 ? 65535 : (int)x);
  }
}

static void bits_are_kept_by_bitcast(void **state) {
  int64_t v = 0xffc00001, back;
  (void)state;
  assert_int_equal(back = interp_scalar(OP_BITCAST, DT_I32, DT_F32, &v), (int32_t)0xffc00001);
  assert_int_equal(interp_scalar(OP_BITCAST, DT_F32, DT_I32, &back), 0xffc00001);
}

static void every_op_is_defined_on_what_it_takes(void **state) {
  (void)state;
  for (int op = OP_CAST; op <= OP_MULACC; op++)
    for (int d = 1; d < DT_COUNT; d++) {
      bool bitwise = op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_SHL || op == OP_SHR || op == OP_NOT || op == OP_FLDIV || op == OP_FLMOD;
      int64_t v[3] = { double_to_bits((DType)d, 1), double_to_bits((DType)d, 1), double_to_bits((DType)d, 1) };
      if (dt_float((DType)d) && bitwise) continue;
      DType result = op_info[op].type[0] == 'b' ? DT_BOOL : (DType)d;
      int64_t r = interp_scalar((Op)op, result, (DType)d, v);
      assert_int_equal(r, (int64_t)dt_wrap(result, (uint64_t)r)); /* in its type's form */
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(floats),
    cmocka_unit_test(integers),
    cmocka_unit_test(casts_saturate_wrap_and_round_to_even),
    cmocka_unit_test(small_floats_survive_wider_ones),
    cmocka_unit_test(rounding_is_to_the_nearest),
    cmocka_unit_test(casts_agree_over_small_types),
    cmocka_unit_test(bits_are_kept_by_bitcast),
    cmocka_unit_test(every_op_is_defined_on_what_it_takes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

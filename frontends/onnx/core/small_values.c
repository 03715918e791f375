/* SPDX-License-Identifier: MIT */
/* small_values.c: values of ONNX's small types (small_types.c). It rounds to such a type, and converts from and to the bytes that
 * the caller of a bundle gives and takes. A byte is one element: an integer's value, or the bits of a float in its low bits. */
#include "build.h"
#include <math.h>

/* Rounds x to a multiple of the step at x. Between two powers of two a float has as many steps as its mantissa says; a mask
 * isolates x's power of two. Values too large become the greatest value, NaN or infinity. */
static Ref narrow_float(Build *b, const SmallType *t, Ref x, bool saturate) {
  IR *ir = b->ir;
  x = g_cast(ir, x, DT_F32);
  Ref top = num(b, x, t->greatest), mask = c_int(ir, DT_I32, 0x7f800000);
  if (saturate) x = clamped(b, x, -t->greatest, t->greatest);
  Ref power = bitcast(b, g_binary(ir, OP_AND, bitcast(b, x, DT_I32), mask), DT_F32);
  power = times(b, at_least(b, power, ldexp(1, t->least)), ldexp(1, -t->mantissa));
  Ref y = mul(b, g_unary(ir, OP_ROUND, g_binary(ir, OP_DIV, x, power)), power), size = g_unary(ir, OP_ABS, x);
  y = g_where(ir, g_binary(ir, OP_CMPNE, x, x), t->special == SMALL_NONE ? num(b, x, -0.0) : x, y); /* ml_dtypes has -0, too */
  Ref over = g_binary(ir, OP_OR, g_binary(ir, OP_CMPLT, top, g_unary(ir, OP_ABS, y)),
                      g_binary(ir, OP_CMPEQ, size, num(b, x, INFINITY)));
  if (!saturate) y = g_where(ir, over, t->special == SMALL_INF ? mul(b, x, num(b, x, INFINITY)) : num(b, x, NAN), y);
  if (t->special == SMALL_UNSIGNED) y = plus(b, y, 0); /* the type has no -0 */
  return g_cast(ir, y, t->kept);
}

Ref narrow_range(Build *b, const SmallType *t, Ref x) {
  return clamped(b, x, t->kept == DT_I8 ? -t->greatest - 1 : 0, t->greatest);
}

Ref narrowed(Build *b, const SmallType *t, Ref x, bool saturate) {
  IR *ir = b->ir;
  if (dt_float(t->kept)) return narrow_float(b, t, x, saturate || t->special == SMALL_NONE);
  x = g_binary(ir, OP_AND, g_cast(ir, x, DT_I32), c_int(ir, DT_I32, (1 << t->bits) - 1)); /* only the low bits matter */
  Ref sign = c_int(ir, DT_I32, t->kept == DT_I8 ? 1 << (t->bits - 1) : 0);
  return g_cast(ir, g_binary(ir, OP_SUB, g_binary(ir, OP_XOR, x, sign), sign), t->kept);
}

/* The exponent of x, as the type without sign and mantissa keeps it: 255 is NaN. Adding half of a step or all but one unit of it
 * rounds to nearest, halves up, or up. The greatest number is a limit when the cast saturates. */
static Ref power_code(Build *b, Ref x, bool saturate, int64_t add_bits) {
  IR *ir = b->ir;
  Ref bits = g_binary(ir, OP_AND, bitcast(b, g_cast(ir, x, DT_F32), DT_I32), c_int(ir, DT_I32, 0x7fffffff));
  Ref code = g_binary(ir, OP_SHR, g_binary(ir, OP_ADD, bits, c_int(ir, DT_I32, add_bits)), c_int(ir, DT_I32, 23));
  Ref is_number = g_binary(ir, OP_CMPLT, bits, c_int(ir, DT_I32, 0x7f800000));
  if (saturate) code = g_binary(ir, OP_MIN, code, c_int(ir, DT_I32, 254));
  return g_where(ir, is_number, code, c_int(ir, DT_I32, 255));
}

/* 2 to the (code - 127) of an i32; NaN for 255. The least power has bits of its own, because it is a denormal. */
static Ref power_value(Build *b, Ref code) {
  IR *ir = b->ir;
  Ref bits = g_binary(ir, OP_SHL, code, c_int(ir, DT_I32, 23));
  bits = g_where(ir, g_binary(ir, OP_CMPEQ, code, c_int(ir, DT_I32, 255)), c_int(ir, DT_I32, 0x7fc00000), bits);
  bits = g_where(ir, g_binary(ir, OP_CMPEQ, code, c_int(ir, DT_I32, 0)), c_int(ir, DT_I32, 0x00400000), bits);
  return bitcast(b, bits, DT_F32);
}

Ref narrowed_power(Build *b, Ref x, bool saturate) {
  const int64_t add_bits = attr_is(b, "round_mode", "up") ? 0x7fffff : attr_is(b, "round_mode", "nearest") ? 0x400000 : 0;
  return power_value(b, power_code(b, x, saturate, add_bits));
}

Ref narrow_from_bytes(Build *b, const SmallType *t, Ref bytes) {
  IR *ir = b->ir;
  double values[256];
  if (!dt_float(t->kept)) return narrowed(b, t, bytes, false);
  if (t->special == SMALL_POWERS) return power_value(b, g_cast(ir, bytes, DT_I32));
  for (unsigned v = 0; v < 1u << t->bits; v++) values[v] = small_value(t, v);
  if (t->bits < 8) bytes = g_binary(ir, OP_AND, bytes, c_int(ir, DT_U8, (1 << t->bits) - 1));
  const Node *n = node(ir, bytes);
  const int64_t elems = dims_elems(n->dims, n->rank);
  Ref index = g_reshape(ir, g_cast(ir, bytes, DT_I64), 1, &elems);
  Ref value = g_gather(ir, floats_ref(b, t->kept, 1, (int64_t[]){ 1 << t->bits }, values), index, 0);
  return g_reshape(ir, value, n->rank, n->dims);
}

/* x is a half float with a value of the type. A number below twice the least normal one is a multiple of the smallest number. The
 * bits of a greater one are those of the half float without the lowest digits, and with another bias of the exponent. */
Ref narrow_to_bytes(Build *b, const SmallType *t, Ref x) {
  IR *ir = b->ir;
  if (!dt_float(t->kept)) return x;
  if (t->special == SMALL_POWERS) return g_cast(ir, power_code(b, x, true, 0), DT_U8);
  const int sign_bit = t->bits - 1;
  const int64_t nan = t->special == SMALL_UNSIGNED ? 1 << sign_bit : t->special == SMALL_INF ? 0x7e : 0x7f;
  Ref half = g_cast(ir, bitcast(b, x, DT_U16), DT_I32), size = g_binary(ir, OP_AND, half, c_int(ir, DT_I32, 0x7fff));
  Ref value = g_unary(ir, OP_ABS, g_cast(ir, x, DT_F32)), few = times(b, value, ldexp(1, t->mantissa - t->least));
  Ref many = g_binary(ir, OP_SUB, g_binary(ir, OP_SHR, size, c_int(ir, DT_I32, 10 - t->mantissa)),
                      c_int(ir, DT_I32, (int64_t)(14 + t->least) << t->mantissa));
  Ref code = g_where(ir, g_binary(ir, OP_CMPLT, value, num(b, value, ldexp(1, t->least + 1))), g_cast(ir, few, DT_I32), many);
  Ref sign = g_binary(ir, OP_SHL, g_binary(ir, OP_SHR, half, c_int(ir, DT_I32, 15)), c_int(ir, DT_I32, sign_bit));
  code = g_binary(ir, OP_OR, code, sign);
  if (t->special != SMALL_NONE)
    code = g_where(ir, g_binary(ir, OP_CMPNE, value, value), c_int(ir, DT_I32, nan), code);
  return g_cast(ir, code, DT_U8);
}

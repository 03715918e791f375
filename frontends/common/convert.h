/* SPDX-License-Identifier: MIT */
/* convert.h: a --convert option for an input or an output. convert.c parses it; pictures.c and answers.c build its graph. */
#ifndef TGC_CONVERT_H
#define TGC_CONVERT_H
#include "compose.h"
#include "interface.h"

enum { NUMBERS_MOST = 16 }; /* most numbers of a key, and most channels of a picture */
typedef struct Numbers { double v[NUMBERS_MOST]; int n; } Numbers; /* n 0: not given */

/* Words of --convert. At most one word of each enum may be given; 0: none was */
typedef enum { LAYOUT_NONE, LAYOUT_NHWC, LAYOUT_NCHW } Layout;
typedef enum { ORDER_NONE, ORDER_RGB, ORDER_BGR, ORDER_RGBA, ORDER_BGRA, ORDER_GRAY } Order;
typedef enum { MATRIX_NONE, MATRIX_601, MATRIX_709 } Matrix;
typedef enum { RANGE_NONE, RANGE_LIMITED, RANGE_FULL } Range;
typedef enum { SAMPLE_NONE, SAMPLE_BILINEAR, SAMPLE_AREA, SAMPLE_LETTERBOX, SAMPLE_CROP, SAMPLE_WARP } Sampling;

typedef struct Form Form;
typedef struct Spec {
  Ctx *c;
  const char *what;        /* the whole option, for messages */
  const Form *form;
  int layout, order, matrix, range, sampling, yuv6, replicate, round, model_nhwc, model_bgr; /* words */
  Numbers mean, std, size, fill, axis, k, threshold, high, scale, zero;                            /* keys */
} Spec;

typedef Ref ConvertFn(const Spec *s, Graph *g, const GIO *v); /* returns the converted value; adds its inputs to g */
struct Form {
  const char *name;
  DType dt;                /* element type of the new input, or of the new output */
  double mean, std;        /* defaults */
  int groups;              /* the groups of words and keys that the form takes, as bits */
  ConvertFn *build;
  /* where chroma lies: in one plane of pairs (TWO), in two planes (THREE), or beside brightness in four bytes (PACKED) */
  enum { PLANES_NONE, PLANES_TWO, PLANES_THREE, PLANES_PACKED } planes;
  int u, v, y;             /* TWO: place of U and V in a pair. PACKED: places of U, V and the first brightness in four bytes */
};

/* ---- convert_values.c ---- */
#define refuse(s, ...) refuse_at((s)->c, (s)->what, __VA_ARGS__)
_Noreturn void refuse_at(Ctx *c, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The key's numbers as f32: one for all elements of x, or one for each channel of the axis; axis -1: x has no channels.
 * otherwise: the number if the key is not given */
Ref along(const Spec *s, IR *ir, const Numbers *n, double otherwise, const char *key, Ref x, int axis);
/* (x - mean) * (1 / std), with one value for all elements or one for each channel of the axis */
Ref normalised(const Spec *s, IR *ir, Ref x, int axis);
Ref rounded_to(IR *ir, Ref x, DType d); /* integers: rounded to nearest, halves to even, and saturated */
Ref f32_const(IR *ir, double v);

/* ---- pictures.c ---- */
ConvertFn picture_in, picture_yuv_in, picture_out;
/* ---- answers.c ---- */
ConvertFn answer_argmax, answer_topk, answer_mask, answer_float;
#endif

/* SPDX-License-Identifier: MIT */
/* convert.h: a --convert option for an input or an output of a model (docs/pictures.md): NAME=FORM, then words and KEY=VALUE,
 * separated by commas. The form says which data the caller passes or gets. convert.c parses the option; pictures.c and answers.c
 * build the graph that converts. */
#ifndef TGC_CONVERT_H
#define TGC_CONVERT_H
#include "compose.h"
#include "interface.h"

enum { NUMBERS_MOST = 16 }; /* most numbers after a key such as mean=, and most channels of a picture */
typedef struct Numbers { double v[NUMBERS_MOST]; int n; } Numbers; /* the n numbers after a key; n 0: the key is not given */

/* Words that may follow the form. At most one word of each enum may be given; 0: no word is given */
typedef enum { LAYOUT_NONE, LAYOUT_NHWC, LAYOUT_NCHW } Layout;
typedef enum { ORDER_NONE, ORDER_RGB, ORDER_BGR, ORDER_RGBA, ORDER_BGRA, ORDER_GRAY } Order;
typedef enum { MATRIX_NONE, MATRIX_601, MATRIX_709 } Matrix;
typedef enum { RANGE_NONE, RANGE_LIMITED, RANGE_FULL } Range;
typedef enum { SAMPLE_NONE, SAMPLE_BILINEAR, SAMPLE_AREA, SAMPLE_LETTERBOX, SAMPLE_CROP, SAMPLE_WARP } Sampling;

typedef struct Form Form;
typedef struct Spec {      /* a parsed option */
  Ctx *c;
  const char *what;        /* the whole option, for messages */
  const Form *form;
  int layout, order, matrix, range, sampling; /* for each enum: the word that is given, or 0 */
  int yuv6, replicate, round, model_nhwc, model_bgr; /* further words; 1: the word is given */
  Numbers mean, std, size, fill, axis, k, threshold, high, scale, zero; /* keys */
} Spec;

/* Builds the conversion for the model's input or output v in the empty graph g. Adds the inputs of g. Returns the converted
 * value, which the caller makes the output of g. 0: the function has added the outputs itself. */
typedef Ref ConvertFn(const Spec *s, Graph *g, const GIO *v);
struct Form {
  const char *name;
  DType dt;                /* element type of the new input, or of the new output */
  double mean, std;        /* defaults of these keys */
  int groups;              /* bits of convert.c: the words and keys that the form takes */
  ConvertFn *build;
  /* Where U and V (chroma) lie. TWO: in one plane of pairs. THREE: in two planes. PACKED: with Y (brightness), four bytes for two
   * pixels. NONE: the form has no chroma */
  enum { PLANES_NONE, PLANES_TWO, PLANES_THREE, PLANES_PACKED } planes;
  /* TWO: u and v are the places of U and V in a pair. PACKED: u, v and y are the places of U, V and the first Y in the four
   * bytes */
  int u, v, y;
};

/* ---- convert_values.c ---- */
/* refuse and refuse_at fail with EX_USAGE_. The message is the whole option, `what`, followed by the text of fmt. */
#define refuse(s, ...) refuse_at((s)->c, (s)->what, __VA_ARGS__)
_Noreturn void refuse_at(Ctx *c, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The numbers `n` of the key named `key`, as a value of type f32 that broadcasts with x. `n` must have one number for all
 * elements of x, or one for each channel; else the function fails. axis: the axis of x along which the channels lie; -1: x has no
 * channels. otherwise: the number to take if the key is not given */
Ref along(const Spec *s, IR *ir, const Numbers *n, double otherwise, const char *key, Ref x, int axis);
/* (x - mean) * (1 / std), where mean and std are as in `along` */
Ref normalised(const Spec *s, IR *ir, Ref x, int axis);
Ref rounded_to(IR *ir, Ref x, DType d); /* x as type d; to an integer type: rounded to nearest, ties to even, and saturated */
Ref f32_const(IR *ir, double v);        /* a constant of type f32 and rank 0 */

/* ---- pictures.c: forms of pictures, as inputs in RGB and in YUV, and as outputs ---- */
ConvertFn picture_in, picture_yuv_in, picture_out;
/* ---- answers.c: other forms of outputs ---- */
ConvertFn answer_argmax, answer_topk, answer_mask, answer_float;
#endif

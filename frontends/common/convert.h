/* SPDX-License-Identifier: MIT */
/* convert.h: the option --convert for an input or an output of a model (docs/pictures.md). The option's value is
 * NAME=FORM,ITEM,ITEM,... and an ITEM is a word or KEY=VALUE. The form says which data the caller passes or gets. convert.c
 * parses the option. pictures.c and answers.c build the graph of the conversion. */
#ifndef TGC_CONVERT_H
#define TGC_CONVERT_H
#include "compose.h"
#include "interface.h"

enum { NUMBERS_MOST = 16 }; /* most numbers after a key such as mean= */
typedef struct Numbers { double v[NUMBERS_MOST]; int n; } Numbers; /* the n numbers after a key; n 0: the key is not given */

/* Words that may follow the form. An option may have at most one word of each enum. 0: the option has no word of this enum */
typedef enum { LAYOUT_NONE, LAYOUT_NHWC, LAYOUT_NCHW } Layout;
typedef enum { ORDER_NONE, ORDER_RGB, ORDER_BGR, ORDER_RGBA, ORDER_BGRA, ORDER_GRAY } Order;
typedef enum { MATRIX_NONE, MATRIX_601, MATRIX_709 } Matrix;
typedef enum { RANGE_NONE, RANGE_LIMITED, RANGE_FULL } Range;
typedef enum { SAMPLE_NONE, SAMPLE_BILINEAR, SAMPLE_AREA, SAMPLE_LETTERBOX, SAMPLE_CROP, SAMPLE_WARP } Sampling;

typedef struct Form Form;
typedef struct Spec {      /* a parsed option --convert */
  Ctx *c;
  const char *what;        /* the option as given, for messages */
  const Form *form;
  int layout, order, matrix, range, sampling; /* values of the enums above */
  int yuv6, replicate, round, model_nhwc, model_bgr; /* further words: 1 if the word is given */
  Numbers mean, std, size, fill, axis, k, threshold, high, scale, zero; /* the keys with these names */
} Spec;

/* Builds the conversion for the model's input or output v. g: an empty graph, to which the function adds inputs and nodes.
 * Returns the converted value, which the caller makes the output of g. Returns 0 if the function adds the outputs itself. */
typedef Ref ConvertFn(const Spec *s, Graph *g, const GIO *v);
struct Form {
  const char *name;
  DType dt;                /* element type of the new input, or of the new output */
  double mean, std;        /* the numbers for mean= and std= if the option lacks these keys */
  int groups;              /* which words and keys the form takes, as bits of an enum in convert.c */
  ConvertFn *build;
  /* Where Y (brightness), U and V (chroma) lie. TWO: a plane of Y, and a plane in which U and V form pairs. THREE: planes of Y, U
   * and V. PACKED: a single plane, with four bytes for every two pixels. NONE: the form has no chroma */
  enum { PLANES_NONE, PLANES_TWO, PLANES_THREE, PLANES_PACKED } planes;
  /* TWO: u and v are the indices of U and V in a pair. PACKED: u, v and y are the indices, among the four bytes, of U, V and the
   * first Y. Otherwise u, v and y are not used */
  int u, v, y;
};

/* ---- convert_values.c ---- */
/* refuse and refuse_at fail with EX_USAGE_. The message begins with the option as given, which is s->what or `what`. Then follows
 * the text that fmt and the further arguments give. */
#define refuse(s, ...) refuse_at((s)->c, (s)->what, __VA_ARGS__)
_Noreturn void refuse_at(Ctx *c, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Returns a constant of type f32 that broadcasts with x. The constant has the numbers in *n, which the option gives for the key
 * named `key`. If *n has no number, the constant is `otherwise`. If *n has several numbers, there must be one for each channel of
 * x; else the function fails. axis: the axis of x with the channels; -1: x has no channels */
Ref along(const Spec *s, IR *ir, const Numbers *n, double otherwise, const char *key, Ref x, int axis);
/* Returns (x - mean) * (1 / std), with the numbers of the keys mean= and std=. axis: as for `along` */
Ref normalised(const Spec *s, IR *ir, Ref x, int axis);
Ref rounded_to(IR *ir, Ref x, DType d); /* x as type d. If d is an integer type, x is rounded (ties to even) and saturated */
Ref f32_const(IR *ir, double v);        /* a constant of type f32 and rank 0 */

/* ---- pictures.c: forms of pictures: as inputs without chroma, as inputs with chroma, and as outputs ---- */
ConvertFn picture_in, picture_yuv_in, picture_out;
/* ---- answers.c: other forms of outputs ---- */
ConvertFn answer_argmax, answer_topk, answer_mask, answer_float;
#endif

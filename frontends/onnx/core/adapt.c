/* adapt.c: adapters, which rewrite a node of an old form into the newest form before it is built. Attributes become constant
 * inputs, and old defaults are spelled out. So builders only know one form. Each adapter ends in build_newest, or builds the
 * operator that the node became. */
#include "build.h"
#include <string.h>
#include <strings.h>

static void set_input(Build *b, int k, Ref r) {
  while (b->nin <= k) b->in[b->nin++] = 0;
  b->in[k] = r;
}

static bool ints_to_input(Build *b, const char *name, int k) {
  int n;
  const int64_t *v = attr_ints(b, name, &n);
  if (v) set_input(b, k, ints_ref(b, n, v));
  return v;
}

void adapt_plain(Build *b) { build_newest(b); } /* only the attributes differ */

void adapt_axes(Build *b) {
  ints_to_input(b, "axes", 1);
  build_newest(b);
}

void adapt_reshape(Build *b) {
  ints_to_input(b, "shape", 1);
  build_newest(b);
}

void adapt_split(Build *b) {
  ints_to_input(b, "split", 1);
  if (b->nin == 1) { /* equal parts only; the newest form allows a smaller last part */
    const Node *x = in_node(b, 0);
    int64_t extent = x->dims[axis_of(b, attr_int(b, "axis"), x->rank)];
    if (extent % b->nout) bad(b, "an axis of %lld elements does not split into %d equal parts", (long long)extent, b->nout);
  }
  build_newest(b);
}

/* The attribute `to` is the name of a type. */
void adapt_cast(Build *b) {
  AttrVal *to = attr_find(b, "to");
  int onnx = 1;
  while (onnx_type_name(onnx) && strcasecmp(to->s, onnx_type_name(onnx))) onnx++;
  if (!onnx_type_name(onnx)) bad(b, "attribute 'to' is '%.100s', which is not the name of a type", to->s);
  to->kind = 'i';
  to->i = onnx;
  build_newest(b);
}

/* Inputs: a number of tiles, and one axis */
void adapt_tile(Build *b) {
  int n, m, rank = in_node(b, 0)->rank;
  const double *tiles = const_floats(b, 1, "tiles", &n), *axis = const_floats(b, 2, "axis", &m);
  if (n != 1 || m != 1) bad(b, "inputs 'tiles' and 'axis' have %d and %d entries, expected one each", n, m);
  int64_t times[MAX_RANK];
  int along = axis_of(b, (int64_t)*axis, rank);
  for (int i = 0; i < rank; i++) times[i] = i == along ? (int64_t)*tiles : 1;
  set_input(b, 1, ints_ref(b, rank, times));
  b->nin = 2;
  build_newest(b);
}

void adapt_slice(Build *b) {
  ints_to_input(b, "starts", 1);
  ints_to_input(b, "ends", 2);
  ints_to_input(b, "axes", 3);
  build_newest(b);
}

void adapt_pad(Build *b) {
  ints_to_input(b, b->row->until == 1 ? "paddings" : "pads", 1);
  set_input(b, 2, c_float(b->ir, in_dt(b, 0), attr_float(b, "value")));
  build_newest(b);
}

void adapt_clip(Build *b) {
  static const char *const names[] = { "min", "max" };
  for (int k = 0; k < 2; k++)
    if (attr_set(b, names[k])) set_input(b, k + 1, c_float(b->ir, in_dt(b, 0), attr_float(b, names[k])));
  build_newest(b);
}

/* Before opset 13, softmax runs over all axes from the given one on, as if they were one. */
void adapt_softmax(Build *b) {
  const Node *x = in_node(b, 0);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  int64_t dims[2] = { dims_elems(x->dims, axis), dims_elems(x->dims + axis, x->rank - axis) };
  bool last = axis == x->rank - 1;
  if (!last) b->in[0] = g_reshape(b->ir, b->in[0], 2, dims);
  attr_find(b, "axis")->i = -1;
  build_newest(b);
  if (!last) b->out[0] = g_reshape(b->ir, b->out[0], x->rank, x->dims);
}

/* Before opset 7, the axes of the second input start at an axis of the first. */
void adapt_broadcast(Build *b) {
  const Node *x = in_node(b, 0), *y = in_node(b, 1);
  if (attr_set(b, "axis") && y->rank <= x->rank) {
    int axis = axis_of(b, attr_int(b, "axis"), x->rank + 1);
    int64_t dims[MAX_RANK];
    if (axis + y->rank > x->rank)
      bad(b, "the second input has rank %d, which from axis %d on does not fit the first input of rank %d", y->rank, axis,
          x->rank);
    for (int i = 0; i < x->rank - axis; i++) dims[i] = i < y->rank ? y->dims[i] : 1;
    b->in[1] = g_reshape(b->ir, b->in[1], x->rank - axis, dims);
  }
  build_newest(b);
}

/* The slope has one entry per channel, for axis 1. */
void adapt_prelu(Build *b) {
  const Node *x = in_node(b, 0), *slope = in_node(b, 1);
  if (slope->rank == 1 && slope->dims[0] != 1 && x->rank > 2) {
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank - 1; i++) dims[i] = i ? 1 : slope->dims[0];
    b->in[1] = g_reshape(b->ir, b->in[1], x->rank - 1, dims);
  }
  build_newest(b);
}

void adapt_batch_norm(Build *b) {
  if (!attr_int(b, "spatial")) bad(b, "attribute 'spatial' is 0, which is not supported");
  build_newest(b);
}

/* Scale and bias have one entry per group, not per channel. */
void adapt_group_norm(Build *b) {
  const Node *x = in_node(b, 0);
  int64_t groups = attr_int(b, "num_groups");
  if (x->rank < 2 || x->dims[1] % groups)
    bad(b, "attribute 'num_groups' is %lld, which does not divide the channels", (long long)groups);
  for (int k = 1; k <= 2; k++) {
    const Node *v = in_node(b, k);
    if (v->rank != 1 || v->dims[0] != groups)
      bad(b, "input %d must be a vector of %lld elements, one for each group", k, (long long)groups);
    Ref each = g_expand(b->ir, g_reshape(b->ir, b->in[k], 2, (int64_t[]){ groups, 1 }), 2,
                        (int64_t[]){ groups, x->dims[1] / groups });
    b->in[k] = g_reshape(b->ir, each, 1, &x->dims[1]);
  }
  build_newest(b);
}

void adapt_top_k(Build *b) {
  set_input(b, 1, c_int(b->ir, DT_I64, attr_int(b, "k")));
  build_newest(b);
}

void adapt_dft(Build *b) {
  set_input(b, 2, c_int(b->ir, DT_I64, attr_int(b, "axis")));
  build_newest(b);
}

void adapt_scatter(Build *b) {
  become(b, "ScatterElements");
  b->row->build(b);
}

/* Upsample, and Resize in opset 10: the position is index / scale, rounded down; exporters that shrink round up. */
void adapt_upsample(Build *b) {
  int n;
  Ref scales = b->nin > 1 ? b->in[1] : 0;
  if (!scales) {
    const AttrVal *a = attr_find(b, "scales");
    scales = tensor_ref(b, DT_F32, 1, (int64_t[]){ (int64_t)a->n }, a->floats);
  }
  if (attr_is(b, "mode", "bilinear")) set_string(b, "mode", "linear");
  set_input(b, 1, 0);
  set_input(b, 2, scales);
  become(b, "Resize");
  const double *v = const_floats(b, 2, "scales", &n);
  bool smaller = false;
  for (int i = 0; i < n; i++) smaller |= v[i] < 1;
  set_string(b, "coordinate_transformation_mode", "asymmetric");
  set_string(b, "nearest_mode", smaller ? "ceil" : "floor");
  b->row->build(b);
}

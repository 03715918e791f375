/* SPDX-License-Identifier: MIT */
/* region_ops.c: regions of an image, whose position is data, pooled to a grid of cells: RoiAlign, MaxRoiPool. */
#include "../core/build.h"
#include <math.h>

/* Column k of the regions as [regions, 1] */
static Ref column(Build *b, Ref rois, int64_t k) { return shrink_axis(b->ir, rois, 1, k, 1, 1); }

static void check_regions(Build *b, int64_t columns) {
  const Node *x = in_node(b, 0), *r = in_node(b, 1);
  if (x->rank != 4 || !dims_elems(x->dims + 2, 2) || !x->dims[0])
    bad(b, "the input must be [images,channels,height,width], with at least one image and one pixel");
  if (r->rank != 2 || r->dims[1] != columns) bad(b, "input 'rois' must be a matrix of %lld columns", (long long)columns);
}

/* ---- RoiAlign ---- */
/* Samples along one axis: the two neighbouring elements, and the weight of the second */
typedef struct Samples {
  int64_t n;       /* cells times samples per cell */
  Ref low, high;   /* i64[regions, n] */
  Ref part, inside;
} Samples;

static Samples samples_of(Build *b, Ref begin, Ref end, int64_t cells, int64_t each, int64_t extent) {
  IR *ir = b->ir;
  const bool half = attr_is(b, "coordinate_transformation_mode", "half_pixel");
  const double scale = attr_float(b, "spatial_scale"), shift = half ? -0.5 : 0;
  Samples s = { .n = cells * each };
  begin = plus(b, times(b, begin, scale), shift);
  Ref size = g_binary(ir, OP_SUB, plus(b, times(b, end, scale), shift), begin);
  if (!half) size = at_least(b, size, 1);
  Ref cell = times(b, size, 1 / (double)cells);
  Ref at = times(b, plus(b, iota_axis(ir, (DType)node(ir, begin)->dt, s.n, 1, 2), 0.5), 1 / (double)each); /* in units of cells */
  at = add(b, begin, mul(b, cell, at));
  s.inside = g_binary(ir, OP_AND, g_binary(ir, OP_CMPLE, num(b, at, -1), at),
                      g_binary(ir, OP_CMPLE, at, num(b, at, (double)extent)));
  at = clamped(b, at, 0, (double)(extent - 1));
  Ref floor = g_unary(ir, OP_FLOOR, at);
  s.part = g_binary(ir, OP_SUB, at, floor);
  s.low = clamp_index(b, g_cast(ir, floor, DT_I64), extent);
  s.high = clamp_index(b, g_cast(ir, plus(b, floor, 1), DT_I64), extent);
  return s;
}

/* Each cell is the mean of bilinear samples, or the maximum of their weighted corners. All corners of all samples are one
 * gather. It reads the channels of all images, by image, row and column. */
void op_roi_align(Build *b) {
  IR *ir = b->ir;
  check_regions(b, 4);
  const Node *x = in_node(b, 0);
  int64_t regions = in_node(b, 1)->dims[0], each = attr_int(b, "sampling_ratio"), channels = x->dims[1], h = x->dims[2],
          w = x->dims[3];
  int64_t cells[] = { attr_int(b, "output_height"), attr_int(b, "output_width") };
  int64_t samples = elems_mul(b, elems_mul(b, cells[0], each), elems_mul(b, cells[1], each));
  if (!each)
    bad(b, "attribute 'sampling_ratio' is 0: a number of samples that grows with the region is not supported, since it "
           "depends on the data");
  if (in_node(b, 2)->rank != 1 || in_node(b, 2)->dims[0] != regions)
    bad(b, "input 'batch_indices' must be a vector of %lld elements, one for each region", (long long)regions);
  DType acc = acc_type(in_dt(b, 0));
  Ref rois = g_cast(ir, b->in[1], acc);
  Samples rows = samples_of(b, column(b, rois, 1), column(b, rois, 3), cells[0], each, h);
  Samples cols = samples_of(b, column(b, rois, 0), column(b, rois, 2), cells[1], each, w);
  const int64_t of_row[] = { regions, rows.n, 1 }, of_col[] = { regions, 1, cols.n }, places = elems_mul(b, regions, samples);
  check_dims(b, 2, (int64_t[]){ channels, places });
  Ref picture = g_reshape(ir, clamp_index(b, wrap_index(b, b->in[2], x->dims[0]), x->dims[0]), 3, (int64_t[]){ regions, 1, 1 });
  Ref image = g_reshape(ir, g_permute(ir, g_cast(ir, b->in[0], acc), (int64_t[]){ 1, 0, 2, 3 }), 2,
                        (int64_t[]){ channels, x->dims[0] * h * w });
  Ref inside = g_binary(ir, OP_AND, g_reshape(ir, rows.inside, 3, of_row), g_reshape(ir, cols.inside, 3, of_col)), all = 0;
  const bool mean = attr_is(b, "mode", "avg");
  for (int corner = 0; corner < 4; corner++) {
    const bool down = corner >> 1, right = corner & 1;
    Ref r = g_reshape(ir, down ? rows.high : rows.low, 3, of_row), c = g_reshape(ir, right ? cols.high : cols.low, 3, of_col);
    Ref wr = g_reshape(ir, rows.part, 3, of_row), wc = g_reshape(ir, cols.part, 3, of_col);
    if (!down) wr = g_binary(ir, OP_SUB, num(b, wr, 1), wr);
    if (!right) wc = g_binary(ir, OP_SUB, num(b, wc, 1), wc);
    Ref at = add(b, mul(b, add(b, mul(b, picture, c_int(ir, DT_I64, h)), r), c_int(ir, DT_I64, w)), c);
    Ref weight = g_where(ir, inside, mul(b, wr, wc), num(b, wr, 0));
    Ref v = g_gather(ir, image, g_reshape(ir, at, 2, (int64_t[]){ 1, places }), 1);
    v = mul(b, v, g_reshape(ir, weight, 2, (int64_t[]){ 1, places }));
    all = all ? g_binary(ir, mean ? OP_ADD : OP_MAX, all, v) : v;
  }
  all = g_reduce(ir, mean ? OP_ADD : OP_MAX,
                 g_reshape(ir, all, 6, (int64_t[]){ channels, regions, cells[0], each, cells[1], each }), 1u << 3 | 1u << 5);
  if (mean) all = times(b, all, 1 / (double)(each * each));
  all = g_reshape(ir, all, 4, (int64_t[]){ channels, regions, cells[0], cells[1] });
  b->out[0] = g_cast(ir, g_permute(ir, all, (int64_t[]){ 1, 0, 2, 3 }), in_dt(b, 0));
}

void adapt_roi_align(Build *b) {
  become(b, "RoiAlign");
  set_string(b, "coordinate_transformation_mode", "output_half_pixel");
  b->row->build(b);
}

/* ---- MaxRoiPool: borders of cells are integers; a mask over the axis selects a cell's elements ---- */
/* Rounds halves away from 0. */
static Ref rounded(Build *b, Ref x) {
  Ref below = g_binary(b->ir, OP_CMPLT, x, num(b, x, 0));
  return g_where(b->ir, below, g_unary(b->ir, OP_CEIL, plus(b, x, -0.5)), g_unary(b->ir, OP_FLOOR, plus(b, x, 0.5)));
}

/* Whether cell k of a region covers element i: bool[regions, cells, extent] */
static Ref covers(Build *b, Ref begin, Ref end, int64_t cells, int64_t extent) {
  IR *ir = b->ir;
  double scale = attr_float(b, "spatial_scale");
  begin = rounded(b, times(b, begin, scale));
  end = rounded(b, times(b, end, scale));
  Ref size = times(b, at_least(b, plus(b, g_binary(ir, OP_SUB, end, begin), 1), 1), 1 / (double)cells);
  Ref k = iota_axis(ir, (DType)node(ir, begin)->dt, cells, 1, 2), i = iota_axis(ir, (DType)node(ir, begin)->dt, extent, 2, 3);
  Ref from = add(b, begin, g_unary(ir, OP_FLOOR, mul(b, size, k))),
      to = add(b, begin, g_unary(ir, OP_CEIL, mul(b, size, plus(b, k, 1))));
  const int64_t dims[] = { node(ir, from)->dims[0], cells, 1 };
  return g_binary(ir, OP_AND, g_binary(ir, OP_CMPLE, g_reshape(ir, from, 3, dims), i),
                  g_binary(ir, OP_CMPLT, i, g_reshape(ir, to, 3, dims)));
}

/* regions: image, x and y of the first corner, x and y of the last */
void op_max_roi_pool(Build *b) {
  IR *ir = b->ir;
  check_regions(b, 5);
  const Node *x = in_node(b, 0);
  int64_t cells[2], regions = in_node(b, 1)->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
  DType d = in_dt(b, 0), acc = acc_type(d);
  ints_into(b, "pooled_shape", 2, 1, cells);
  Ref rois = g_cast(ir, b->in[1], acc), which = g_reshape(ir, wrap_index(b, g_cast(ir, column(b, rois, 0), DT_I64), x->dims[0]),
                                                          4, (int64_t[]){ regions, 1, 1, 1 });
  Ref low = type_limit(ir, acc, false), v = g_gather(ir, g_cast(ir, b->in[0], acc), which, 0); /* [regions, c, h, w] */
  Ref in_row = g_reshape(ir, covers(b, column(b, rois, 2), column(b, rois, 4), cells[0], h), 5,
                         (int64_t[]){ regions, 1, cells[0], h, 1 });
  Ref in_col = g_reshape(ir, covers(b, column(b, rois, 1), column(b, rois, 3), cells[1], w), 5,
                         (int64_t[]){ regions, 1, 1, cells[1], w });
  v = g_reduce(ir, OP_MAX, g_where(ir, in_row, g_reshape(ir, v, 5, (int64_t[]){ regions, c, 1, h, w }), low), 1u << 3);
  v = g_reduce(ir, OP_MAX, g_where(ir, in_col, v, low), 1u << 4);
  v = g_where(ir, g_binary(ir, OP_CMPEQ, v, low), num(b, v, 0), v); /* a cell that covers nothing */
  b->out[0] = g_cast(ir, g_reshape(ir, v, 4, (int64_t[]){ regions, c, cells[0], cells[1] }), d);
}

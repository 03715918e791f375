/* SPDX-License-Identifier: MIT */
/* window_ops.c: the geometry of sliding windows, and Conv. There is no convolution op. The input is padded, WINDOW splits each
 * spatial axis into (out, tap), and channels become (group, channel of the group). A convolution is then REDUCE(ADD, MUL(view of
 * x, view of w)) over channels and taps, which the scheduler recognises as a contraction. */
#include "windows.h"
#include <string.h>

/* ---- geometry ---- */
void ints_into(Build *b, const char *name, int want, int64_t fill, int64_t *to) {
  int n;
  const int64_t *v = attr_ints(b, name, &n);
  if (v && n != want) bad(b, "attribute '%s' has %d entries, expected %d", name, n, want);
  for (int i = 0; i < want; i++) {
    to[i] = v ? v[i] : fill;
    if (to[i] > MAX_ELEMS || to[i] < -MAX_ELEMS)
      bad(b, "attribute '%s' has the entry %lld, which is out of range", name, (long long)to[i]);
  }
}

void window_read(Build *b, Window *w, const Node *x, const int64_t *kernel) {
  int64_t pads[2 * SPATIAL];
  w->n = x->rank - 2;
  if (w->n < 1 || w->n > SPATIAL) bad(b, "the input has rank %d, expected 3 to %d", x->rank, SPATIAL + 2);
  ints_into(b, "kernel_shape", w->n, 0, w->k);
  ints_into(b, "strides", w->n, 1, w->stride);
  ints_into(b, "dilations", w->n, 1, w->dilation);
  ints_into(b, "pads", 2 * w->n, 0, pads);
  for (int i = 0; i < w->n; i++) {
    w->in[i] = x->dims[2 + i];
    w->lo[i] = pads[i];
    w->hi[i] = pads[w->n + i];
    w->over[i] = 0;
    if (kernel && w->k[i] && w->k[i] != kernel[i])
      bad(b, "attribute 'kernel_shape' is %lld on spatial axis %d, but the weights have %lld", (long long)w->k[i], i,
          (long long)kernel[i]);
    if (kernel) w->k[i] = kernel[i];
    if (w->k[i] < 1) bad(b, "the kernel is empty on spatial axis %d", i);
    int64_t r;
    if (!i64_mul(w->k[i] - 1, w->dilation[i], &r) || r > MAX_ELEMS) bad(b, "the kernel is too large on spatial axis %d", i);
  }
}

void window_place(Build *b, Window *w, bool ceil_mode) {
  bool valid = attr_is(b, "auto_pad", "VALID"), upper = attr_is(b, "auto_pad", "SAME_UPPER"),
       lower = attr_is(b, "auto_pad", "SAME_LOWER");
  w->ceils = ceil_mode;
  for (int i = 0; i < w->n; i++) {
    if (valid) w->lo[i] = w->hi[i] = 0;
    if (upper || lower) {
      int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i],
              total = (out - 1) * w->stride[i] + window_reach(w, i) - w->in[i];
      if (total < 0) total = 0;
      w->lo[i] = upper ? total / 2 : total - total / 2;
      w->hi[i] = total - w->lo[i];
    }
    int64_t room = w->in[i] + w->lo[i] + w->hi[i] - window_reach(w, i);
    if (ceil_mode ? room <= -w->stride[i] : room < 0)
      bad(b, "the kernel covers %lld elements on spatial axis %d, but the padded input has %lld", (long long)window_reach(w, i),
          i, (long long)(w->in[i] + w->lo[i] + w->hi[i]));
    w->out[i] = room < 0 ? 0 : room / w->stride[i] + 1;
    if (ceil_mode && room % w->stride[i] && w->out[i] * w->stride[i] < w->in[i] + w->lo[i]) {
      w->over[i] = (w->out[i] * w->stride[i]) - room;
      w->out[i]++;
    }
  }
}

/* padded x[a,c,d...] to x[a,c,out...,k...] */
static Ref windows(IR *ir, Ref x, int first, int n, const int64_t *out, const int64_t *k, const int64_t *stride,
                   const int64_t *dilation) {
  for (int i = 0; i < n; i++) x = g_window(ir, x, first + i, out[i], k[i], stride[i], dilation[i]);
  return x;
}

/* A width of padding that depends on the extent may be 0 at some size of a range. There must be a padding at each size, so it
 * gets elements that no window takes. */
bool window_padding_varies(const Build *b, const Window *w, int i) {
  const bool same = attr_is(b, "auto_pad", "SAME_UPPER") || attr_is(b, "auto_pad", "SAME_LOWER");
  return b->sized && w->stride[i] > 1 && ((same && window_reach(w, i) >= w->stride[i]) || w->ceils);
}

int64_t window_padding_behind(const Build *b, const Window *w, int i) {
  return w->hi[i] + w->over[i] + (window_padding_varies(b, w, i) ? w->stride[i] - 1 : 0);
}

Ref window_padded(Build *b, const Window *w, Ref x, Ref fill) {
  int64_t hi[SPATIAL] = { 0 };
  for (int i = 0; i < w->n; i++) hi[i] = window_padding_behind(b, w, i);
  return windows(b->ir, pad_axes(b->ir, x, 2, w->n, w->lo, hi, fill), 2, w->n, w->out, w->k, w->stride, w->dilation);
}

/* ---- convolution ---- */
Ref window_sum(IR *ir, Ref x, Ref w, Ref inside, int64_t group, const int64_t *stride, const int64_t *dilation) {
  const Node *xn = node(ir, x), *wn = node(ir, w);
  int n = xn->rank - 2;
  int64_t out[SPATIAL], channels = wn->dims[1], maps = wn->dims[0];
  for (int i = 0; i < n; i++) out[i] = (xn->dims[2 + i] - (wn->dims[2 + i] - 1) * dilation[i] - 1) / stride[i] + 1;
  int64_t xd[MAX_RANK] = { xn->dims[0], group, 1, channels }, wd[MAX_RANK] = { 1, group, maps / group, channels },
          yd[MAX_RANK] = { xn->dims[0], maps };
  uint32_t axes = 1u << 3;
  for (int i = 0; i < n; i++) {
    xd[4 + i] = yd[2 + i] = out[i];
    wd[4 + i] = 1;
    xd[4 + n + i] = wd[4 + n + i] = wn->dims[2 + i];
    axes |= 1u << (4 + n + i);
  }
  x = g_reshape(ir, windows(ir, x, 2, n, out, wn->dims + 2, stride, dilation), 4 + 2 * n, xd);
  Ref product = g_binary(ir, OP_MUL, x, g_reshape(ir, w, 4 + 2 * n, wd));
  if (inside) {
    xd[0] = xd[1] = xd[3] = 1;
    inside = g_reshape(ir, windows(ir, inside, 2, n, out, wn->dims + 2, stride, dilation), 4 + 2 * n, xd);
    product = g_where(ir, inside, product, c_int(ir, (DType)node(ir, product)->dt, 0));
  }
  return g_reshape(ir, g_reduce(ir, OP_ADD, product, axes), 2 + n, yd);
}

Ref add_bias(Build *b, Ref y, int k) {
  IR *ir = b->ir;
  const Node *n = node(ir, y), *bias = in_node(b, k);
  int64_t dims[MAX_RANK];
  if (bias->rank != 1 || bias->dims[0] != n->dims[1]) bad(b, "the bias must be a vector of %lld elements", (long long)n->dims[1]);
  for (int i = 0; i < n->rank; i++) dims[i] = i == 1 ? n->dims[1] : 1;
  return g_binary(ir, OP_ADD, y, g_reshape(ir, g_cast(ir, b->in[k], (DType)n->dt), n->rank, dims));
}

void window_check_weights(Build *b, const Node *x, const Node *w, bool transposed) {
  int64_t group = attr_int(b, "group");
  if (x->rank < 3) bad(b, "the input has rank %d, expected at least 3", x->rank);
  if (w->rank != x->rank) bad(b, "the weights have rank %d, but the input has rank %d", w->rank, x->rank);
  if (x->dims[1] % group)
    bad(b, "attribute 'group' is %lld, which does not divide %lld channels", (long long)group, (long long)x->dims[1]);
  if (w->dims[0] % group)
    bad(b, "attribute 'group' is %lld, which does not divide %lld filters", (long long)group, (long long)w->dims[0]);
  int64_t channels = transposed ? w->dims[0] : elems_mul(b, w->dims[1], group);
  if (channels != x->dims[1])
    bad(b, "the weights have %lld channels in %lld groups, but the input has %lld", (long long)channels, (long long)group,
        (long long)x->dims[1]);
}

Ref conv(Build *b, Ref x, Ref weights) {
  Window w;
  const Node *xn = node(b->ir, x), *wn = node(b->ir, weights);
  window_check_weights(b, xn, wn, false);
  window_read(b, &w, xn, wn->dims + 2);
  for (int i = 0; i < w.n; i++)
    if (w.lo[i] < 0 || w.hi[i] < 0) bad(b, "attribute 'pads' is negative on spatial axis %d", i);
  window_place(b, &w, false);
  for (int i = 0; i < w.n; i++) w.hi[i] = window_padding_behind(b, &w, i);
  x = pad_axes(b->ir, x, 2, w.n, w.lo, w.hi, c_int(b->ir, (DType)xn->dt, 0));
  return window_sum(b->ir, x, weights, 0, attr_int(b, "group"), w.stride, w.dilation);
}

void op_conv(Build *b) {
  DType acc = acc_type(in_dt(b, 0));
  Ref y = conv(b, g_cast(b->ir, b->in[0], acc), g_cast(b->ir, b->in[1], acc));
  b->out[0] = g_cast(b->ir, has_in(b, 2) ? add_bias(b, y, 2) : y, in_dt(b, 0));
}

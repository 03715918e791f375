/* SPDX-License-Identifier: MIT */
/* windows.h: the geometry of operators that slide a window (window_ops.c), for convolutions, transposed ones and pools. */
#ifndef TGC_WINDOWS_H
#define TGC_WINDOWS_H
#include "../core/build.h"

enum { SPATIAL = (MAX_RANK - 4) / 2 }; /* most spatial axes: window_sum needs 4 axes, and two for each spatial one */

typedef struct Window {
  int n; /* number of spatial axes, which are axes 2 .. 1 + n of the input */
  int64_t in[SPATIAL], out[SPATIAL], k[SPATIAL], stride[SPATIAL], dilation[SPATIAL];
  int64_t lo[SPATIAL], hi[SPATIAL]; /* padding of the model */
  int64_t over[SPATIAL];            /* elements that ceil_mode reads beyond the padding */
  bool ceils;                       /* ceil_mode */
} Window;

static inline int64_t window_reach(const Window *w, int i) { /* extent that a window covers along spatial axis i */
  return (w->k[i] - 1) * w->dilation[i] + 1;
}
static inline uint32_t window_tap_axes(const Window *w) { return ((1u << w->n) - 1) << (2 + w->n); } /* in a view by windows */

/* Reads input, strides, dilations and pads. kernel: extents of the weights, or of kernel_shape */
void window_read(Build *b, Window *w, const Node *x, const int64_t *kernel);
/* Applies auto_pad and computes the number of positions. With ceil_mode the last window must start within the input or its
 * leading padding, and may reach beyond the end; it may be the only one. */
void window_place(Build *b, Window *w, bool ceil_mode);
bool window_padding_varies(const Build *b, const Window *w, int i);     /* a padding of axis i depends on its extent */
int64_t window_padding_behind(const Build *b, const Window *w, int i); /* padding at the end of spatial axis i */
Ref window_padded(Build *b, const Window *w, Ref x, Ref fill);         /* the view of the padded input by windows */
/* Checks the weights of a convolution. Axis 0 counts filters, axis 1 the channels of a group. Transposed: axis 0 counts the
 * input's channels. */
void window_check_weights(Build *b, const Node *x, const Node *w, bool transposed);
/* Sum over the channels of a group and the taps: weights w[M,C/group,k...] times the padded x[N,C,d...]. inside: bools
 * [1,1,d...], true for elements that are terms; 0: all are */
Ref window_sum(IR *ir, Ref x, Ref w, Ref inside, int64_t group, const int64_t *stride, const int64_t *dilation);
#endif

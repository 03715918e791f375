/* SPDX-License-Identifier: MIT */
/* bytes.h: for programs that run a bundle with ranges of sizes; include it behind net.h. */
#ifndef BYTES_H
#define BYTES_H
#include <stdlib.h>

/* Returns how many bytes input or output i has at the current sizes of ctx. out: whether it is an output. Exits with 9 if ctx
 * does not tell the dimensions. */
static size_t bytes_at(const net_ctx *ctx, size_t i, int out) {
  int64_t dims[16];
  size_t bytes = out ? net_output_bytes(i) : net_input_bytes(i);
  const int rank = out ? net_output_rank(i) : net_input_rank(i);
  const int64_t *shape = out ? net_output_shape(i) : net_input_shape(i);
  if (out ? net_output_dims(ctx, i, dims) : net_input_dims(ctx, i, dims)) exit(9);
  for (int a = 0; a < rank; a++) bytes = bytes / (size_t)shape[a] * (size_t)dims[a];
  return bytes;
}
#endif

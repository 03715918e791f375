/* SPDX-License-Identifier: MIT */
/* net.metal: kernels of the small network that tests/metal-runtime runs; device.c.in's tables for it are in fill.py. */
kernel void scale(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]], device float *t [[buffer(2)]],
                  uint3 g [[threadgroup_position_in_grid]], uint3 l [[thread_position_in_threadgroup]]) {
  threadgroup float all[4];
  const int i = l.x, j = g.x * 4;
  all[i] = x[j + i] * w[j + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  t[j + 3 - i] = all[3 - i];
}
kernel void add(device const float *total [[buffer(0)]], device float *next [[buffer(1)]], device const float *t [[buffer(2)]],
                device float *y [[buffer(3)]], uint3 at [[thread_position_in_grid]]) {
  next[at.y] = total[at.y] + t[at.y];
  y[at.y] = 2.0f * next[at.y];
}
/* two histories of three, in rooms for five: the oldest value goes */
kernel void append(device float *past [[buffer(0)]], device const float *t [[buffer(1)]], device float *h [[buffer(2)]],
                   uint3 at [[thread_position_in_grid]]) {
  const int i = at.x;
  past[5 * i + 3] = t[i];
  h[i] = past[5 * i + 1] + 10.0f * past[5 * i + 2] + 100.0f * past[5 * i + 3];
}
kernel void pick(device const int *at [[buffer(0)]], device const float *w [[buffer(1)]], device const float *none [[buffer(2)]],
                 device float *v [[buffer(3)]], device uchar *guard [[buffer(4)]]) {
  *v = w[*at < 0 ? 0 : *at > 15 ? 15 : *at];
  *guard = *at < 0 || *at > 15;
}

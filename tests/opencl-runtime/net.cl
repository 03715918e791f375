/* SPDX-License-Identifier: MIT */
/* net.cl: kernels of the small network that tests/opencl-runtime runs; device.c.in's tables for it are in run. */
__kernel void scale(__global const float *b0, ulong o0, __global const float *b1, ulong o1, __global float *b2, ulong o2) {
  __global const float *x = (__global const float *)((__global const char *)b0 + o0);
  __global const float *w = (__global const float *)((__global const char *)b1 + o1);
  __global float *t = (__global float *)((__global char *)b2 + o2);
  __local float all[4];
  const int i = (int)get_local_id(0), j = (int)get_group_id(0) * 4;
  all[i] = x[j + i] * w[j + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  t[j + 3 - i] = all[3 - i];
}
__kernel void add(__global const float *b0, ulong o0, __global float *b1, ulong o1, __global const float *b2, ulong o2,
                  __global float *b3, ulong o3) {
  __global const float *total = (__global const float *)((__global const char *)b0 + o0);
  __global float *next = (__global float *)((__global char *)b1 + o1);
  __global const float *t = (__global const float *)((__global const char *)b2 + o2);
  __global float *y = (__global float *)((__global char *)b3 + o3);
  const int i = (int)get_global_id(1);
  next[i] = total[i] + t[i];
  y[i] = 2.0f * next[i];
}
/* two histories of three, in rooms for five: the oldest value goes */
__kernel void append(__global float *b0, ulong o0, __global const float *b1, ulong o1, __global float *b2, ulong o2) {
  __global float *past = (__global float *)((__global char *)b0 + o0);
  __global const float *t = (__global const float *)((__global const char *)b1 + o1);
  __global float *h = (__global float *)((__global char *)b2 + o2);
  const int i = (int)get_global_id(0);
  past[5 * i + 3] = t[i];
  h[i] = past[5 * i + 1] + 10.0f * past[5 * i + 2] + 100.0f * past[5 * i + 3];
}
__kernel void pick(__global const int *b0, ulong o0, __global const float *b1, ulong o1, __global const float *b2, ulong o2,
                   __global float *b3, ulong o3, __global uchar *b4, ulong o4) {
  const int at = *(__global const int *)((__global const char *)b0 + o0);
  __global const float *w = (__global const float *)((__global const char *)b1 + o1);
  __global float *v = (__global float *)((__global char *)b3 + o3);
  (void)b2;
  (void)o2;
  *v = w[clamp(at, 0, 15)];
  b4[o4] = at < 0 || at > 15;
}

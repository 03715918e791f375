/* SPDX-License-Identifier: MIT */
/* net.cu: kernels of the small network that tests/cuda-runtime runs; device.c.in's tables for it are in fill.py. */
extern "C" __global__ void __launch_bounds__(4) scale(const float *__restrict__ x, const float *__restrict__ w, float *t) {
  __shared__ float all[4];
  const int i = threadIdx.x, j = blockIdx.x * 4;
  all[i] = x[j + i] * w[j + i];
  __syncthreads();
  t[j + 3 - i] = all[3 - i];
}
extern "C" __global__ void __launch_bounds__(8) add(const float *total, float *next, const float *__restrict__ t, float *__restrict__ y) {
  const int i = blockIdx.y * 8 + threadIdx.y;
  next[i] = total[i] + t[i];
  y[i] = 2.0f * next[i];
}
/* two histories of three, in rooms for five: the oldest value goes */
extern "C" __global__ void append(float *past, const float *__restrict__ t, float *__restrict__ h) {
  const int i = blockIdx.x;
  past[5 * i + 3] = t[i];
  h[i] = past[5 * i + 1] + 10.0f * past[5 * i + 2] + 100.0f * past[5 * i + 3];
}
extern "C" __global__ void pick(const int *at, const float *__restrict__ w, const float *none, float *v, unsigned char *guard) {
  (void)none;
  *v = w[*at < 0 ? 0 : *at > 15 ? 15 : *at];
  *guard = *at < 0 || *at > 15;
}

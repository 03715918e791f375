/* SPDX-License-Identifier: MIT */
/* fibers.cu: kernels for fibers.c, right and wrong ones. */
static __device__ __forceinline__ float warp_sum(float x) {
  for (int n = 16; n; n /= 2) x += __shfl_xor_sync(0xffffffffu, x, n);
  return x;
}
extern "C" __global__ void __launch_bounds__(96) sums(const float *x, float *y) {
  __shared__ float part[3];
  const float sum = warp_sum(x[blockIdx.x * 96 + threadIdx.x]);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2];
}
extern "C" __global__ void plain(float *y) { y[blockIdx.z * 6 + blockIdx.y * 3 + threadIdx.x] += 1.0f; }
extern "C" __global__ void leaves(float *y) { /* some threads end before the barrier */
  if (threadIdx.x < 4) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}
extern "C" __global__ void differ(float *y) { /* threads wait at two places */
  if (threadIdx.x < 4)
    __syncthreads();
  else
    __syncthreads();
  y[threadIdx.x] = 1;
}

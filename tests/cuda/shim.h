/* SPDX-License-Identifier: MIT */
/* shim.h: defines the words of CUDA that kernels use, so that kernels can run on the CPU (../case/fibers.h). shim.py compiles
 * three things together: this file, a file of kernels such as a bundle's net.cu, and a table of these kernels. The result is a
 * library. */
#include "../case/fibers.h"
#include <math.h>
#undef INT32_MAX
#undef INT32_MIN
#undef INT64_MAX
#undef INT64_MIN
#undef UINT32_MAX
#undef UINT64_MAX
#undef NAN
#undef INFINITY

#define __global__
#define __device__
#define __constant__ const
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() shim::wait(shim::BLOCK, __LINE__)
#define __syncwarp(...) shim::wait(shim::WARP, __LINE__)

static inline int shim_lane() { return shim::current % shim::LANES; } /* the current thread's number in its warp */
#define __shfl_sync(mask, v, lane, ...) shim::exchanged(v, (lane) % shim::LANES, __LINE__)
#define __shfl_xor_sync(mask, v, bits, ...) shim::exchanged(v, shim_lane() ^ (bits), __LINE__)
#define __shfl_down_sync(mask, v, n, ...) shim::exchanged(v, shim_lane() + (int)(n), __LINE__)
#define __shfl_up_sync(mask, v, n, ...) shim::exchanged(v, shim_lane() - (int)(n), __LINE__)

template <class To, class From> static inline To shim_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y, "");
  memcpy(&y, &x, sizeof y);
  return y;
}
static inline float __int_as_float(int x) { return shim_bits<float>(x); }
static inline int __float_as_int(float x) { return shim_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return shim_bits<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return shim_bits<float>(x); }
static inline double __longlong_as_double(long long x) { return shim_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return shim_bits<long long>(x); }

/* ---- calls of kernels. apply calls f. p[i] is the address of parameter i. count returns the number of parameters ---- */
namespace shim {
template <class... A, size_t... I> static void apply(void (*f)(A...), void **p, std::index_sequence<I...>) {
  f(*(A *)p[I]...);
}
template <class... A> static void apply(void (*f)(A...), void **p) { apply(f, p, std::index_sequence_for<A...>{}); }
template <class... A> static constexpr size_t count(void (*)(A...)) { return sizeof...(A); }
} // namespace shim
/* The row for kernel k in the library's table of kernels. barriers: 1 if the kernel has barriers or shuffles, else 0 */
#define SHIM_KERNEL(k, barriers) { #k, [](void **p) { shim::apply(k, p); }, shim::count(k), barriers }

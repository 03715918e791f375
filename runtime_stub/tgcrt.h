/* SPDX-License-Identifier: 0BSD */
/* tgcrt.h: declarations that all bundles share: status codes, the version of the interface, a helper that maps a weights file,
 * and threads. C99, usable from C++. Several bundles in one program need one tgcrt.c, and one tgcrt_pool.c if they use its
 * threads. */
#ifndef TGCRT_H
#define TGCRT_H
#include <stddef.h>
#include <stdint.h>
/* A compiler for a machine without an operating system defines none of these: then there are no files and no threads. */
#if !defined TGCRT_FREESTANDING && !defined __unix__ && !defined __APPLE__ && !defined _WIN32 && !defined __wasi__
#define TGCRT_FREESTANDING
#endif
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights are little-endian; there is no form of a bundle for big-endian machines"
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TGCRT_ABI_MAJOR 1 /* changes if old callers break */
#define TGCRT_ABI_MINOR 5 /* grows with each addition */

/* The numbers never change; new ones are added at the end. */
enum {
  TGCRT_OK = 0,
  TGCRT_ARGUMENT = 1, /* a pointer is null */
  TGCRT_ARENA = 2,    /* the arena is too small or not aligned to TGCRT_ALIGN */
  TGCRT_WEIGHTS = 3,  /* the weights have another size, or are not aligned to TGCRT_ALIGN */
  TGCRT_UNREADY = 4,  /* the context was not initialised by this model */
  TGCRT_INDEX = 5,    /* a value used as an index was out of range and has been clamped */
  TGCRT_FILE = 6,     /* a file cannot be read, or is not what was expected */
  TGCRT_CPU = 7,      /* the CPU, or its operating system, lacks instructions the model was compiled for */
  TGCRT_STATE = 8,    /* no state has that number, or the saved state is not of this model */
  TGCRT_THREADS = 9,  /* a thread cannot be started */
  TGCRT_DIGEST = 10,  /* the weights have another SHA-256 than those that the model was compiled with */
  /* bundles for devices: tgcrt_device.h */
  TGCRT_DRIVER = 11,  /* the driver's library is missing, or lacks a needed function */
  TGCRT_DEVICE = 12,  /* there is no such device, or it lacks what the model needs */
  TGCRT_MEMORY = 13,  /* the device has too little memory */
  TGCRT_BUILD = 14,   /* the driver's compiler refuses the kernels */
  TGCRT_LOST = 15,    /* the device or its queue failed: the context is unusable until NAME_close and NAME_init */
  TGCRT_BUSY = 16,    /* the time limit has passed, and the work goes on */
  TGCRT_SIZE = 17,    /* a size is outside of the range that the model was compiled for */
  TGCRT_CAPACITY = 18 /* a result has more rows than the model was compiled for: the outputs have the first ones */
};
#define TGCRT_ALIGN 64 /* alignment of the arena and of the weights, in bytes */
/* the next aligned address after p; the memory at p must be TGCRT_ALIGN bytes larger than needed */
#define TGCRT_ALIGNED(p) ((unsigned char *)(p) + (TGCRT_ALIGN - (uintptr_t)(p) % TGCRT_ALIGN))

const char *tgcrt_strerror(int status); /* never null */

/* Types of elements, with ONNX's numbers, which never change. */
enum {
  TGCRT_F32 = 1,
  TGCRT_U8 = 2,
  TGCRT_I8 = 3,
  TGCRT_U16 = 4,
  TGCRT_I16 = 5,
  TGCRT_I32 = 6,
  TGCRT_I64 = 7,
  TGCRT_BOOL = 9,  /* a byte, 0 or 1 */
  TGCRT_F16 = 10,  /* IEEE 754 half precision */
  TGCRT_F64 = 11,
  TGCRT_U32 = 12,
  TGCRT_U64 = 13,
  TGCRT_BF16 = 16  /* the upper half of an F32 */
};

/* SHA-256 (FIPS 180-4) as 64 hexadecimal digits in lower case and a zero */
void tgcrt_sha256(const void *data, size_t bytes, char hex[65]);
int tgcrt_check_sha256(const void *data, size_t bytes, const char *hex); /* TGCRT_DIGEST if it differs from hex */
#ifdef TGCRT_DEBUG
/* tgcrt_check_sha256 for models in LLVM IR, which call it if it is linked */
int tgcrt_debug_weights(const void *data, size_t bytes, const char *hex);
#endif

/* Features beyond the baseline of an architecture that generated code may use. The bits never change. */
enum {
  TGCRT_CPU_AVX2 = 1 << 0,        /* all of x86-64-v3: AVX2, FMA, BMI2, F16C, ... */
  TGCRT_CPU_AVX512 = 1 << 1,      /* F, BW, DQ and VL */
  TGCRT_CPU_AVX512VBMI = 1 << 2,
  TGCRT_CPU_AVX512VNNI = 1 << 3,
  TGCRT_CPU_AVX512BF16 = 1 << 4,
  TGCRT_CPU_AVX512FP16 = 1 << 5,
  TGCRT_CPU_AVXVNNI = 1 << 6,
  TGCRT_CPU_AMX_INT8 = 1 << 7,
  TGCRT_CPU_AMX_BF16 = 1 << 8,
  TGCRT_CPU_FP16 = 1L << 16,      /* aarch64: arithmetic; all CPUs have conversions */
  TGCRT_CPU_DOTPROD = 1L << 17,
  TGCRT_CPU_I8MM = 1L << 18,
  TGCRT_CPU_BF16 = 1L << 19,
  TGCRT_CPU_DSP = 1L << 20,       /* 32-bit Arm: halves of a register */
  TGCRT_CPU_RVV = 1L << 24,       /* riscv64: V 1.0 */
  TGCRT_CPU_SIMD128 = 1L << 25,   /* WebAssembly */
  TGCRT_CPU_KNOWN = 1L << 30      /* the other bits are known; freestanding code knows them on x86-64 only */
};
uint32_t tgcrt_cpu(void);
/* TGCRT_CPU if some of these features are known to be missing. Compile this function, like all of tgcrt.c, for the baseline. */
int tgcrt_cpu_check(uint32_t wanted);

/* A state, which a model keeps from one run to the next. The memory of all states begins with a cursor for each of them. A state
 * has `outer` blocks. In each block, the state's value is `keep` bytes that begin at cursor * step. Each run adds 1 to the
 * cursor. When it reaches `slots`, it becomes 0. A window (each run appends entries) is then moved to the beginning of each
 * block. */
typedef struct tgcrt_state {
  size_t at, outer, block, keep, step, slots; /* in bytes, except outer and slots */
  size_t init;        /* offset in the weights of the value before the first run; (size_t)-1: zeros */
} tgcrt_state;

/* For the model's own functions, which check their arguments. t has n rows; s is the memory of the states. */
void tgcrt_state_reset(const tgcrt_state *t, size_t n, unsigned char *s, const unsigned char *weights);
void tgcrt_state_advance(const tgcrt_state *t, size_t n, unsigned char *s);
int tgcrt_state_load(const tgcrt_state *t, size_t n, unsigned char *s, const void *saved, size_t bytes);
int tgcrt_state_get(const tgcrt_state *t, size_t n, const unsigned char *s, size_t k, void *value);
int tgcrt_state_put(const tgcrt_state *t, size_t n, unsigned char *s, size_t k, const void *value);

/* Maps a file, which must be a regular one of exactly this many bytes; *data is valid until tgcrt_unmap. It needs an operating
 * system; compile with -DTGCRT_FREESTANDING to omit it. */
#ifndef TGCRT_FREESTANDING
int tgcrt_map(const char *path, size_t bytes, const void **data);
/* The same for a file in the folder of the running program, else in the current folder. An absolute path is taken as it is. */
int tgcrt_map_beside(const char *name, size_t bytes, const void **data);
void tgcrt_unmap(const void *data, size_t bytes);
#endif

/* An executor shares the work of a kernel among threads; NAME_set_executor gives a context one. run calls task for the chunks 0
 * .. chunks - 1, each of them once, in ranges [begin, end) of any size. Ranges may run in any order, on any threads and at the
 * same time. run returns when all are done. Results have the same bits in all cases. */
typedef void tgcrt_task(void *job, int64_t begin, int64_t end);
typedef struct tgcrt_executor {
  void (*run)(void *self, tgcrt_task *task, void *job, int64_t chunks);
  void *self;
} tgcrt_executor;

/* An executor of this runtime (tgcrt_pool.c; threads of POSIX or of Windows): threads - 1 workers and the caller. The caller provides
 * TGCRT_POOL_BYTES(threads) of memory for the pool, until it is stopped. Contexts may share a pool. A run uses only its own
 * thread if the pool is busy with another run. So does a run that a task of this pool starts. Compile with
 * -DTGCRT_SINGLE to omit threads. */
#if !defined TGCRT_FREESTANDING && !defined TGCRT_SINGLE
#define TGCRT_POOL_BYTES(threads) (640 + 64 * (size_t)(threads))
typedef struct tgcrt_pool tgcrt_pool;
typedef struct tgcrt_pool_options {
  int threads;     /* including the caller; at least 1 */
  int spin_us;     /* how long an idle thread looks for work before it sleeps; 0: 200; < 0: not at all */
  const int *cpus; /* the CPU of each thread; [0] is the caller, and ignored; NULL: any */
} tgcrt_pool_options;

int tgcrt_pool_start(tgcrt_pool **pool, void *memory, size_t bytes, const tgcrt_pool_options *options);
void tgcrt_pool_stop(tgcrt_pool *pool); /* not during a run; a fork's child has no workers, and its runs use none */
const tgcrt_executor *tgcrt_pool_executor(const tgcrt_pool *pool); /* valid until tgcrt_pool_stop */
int tgcrt_cpus(void); /* number of CPUs that this process may use: a good number of threads */
#endif

#ifdef __cplusplus
}
#endif
#endif

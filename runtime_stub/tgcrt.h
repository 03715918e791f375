/* tgcrt.h: what every bundle shares: status codes, the version of the interface, a helper that maps a
 * weights file, and threads. C99, usable from C++. Several bundles in one program need one tgcrt.c, and
 * one tgcrt_pool.c if they use its threads. */
#ifndef TGCRT_H
#define TGCRT_H
#include <stddef.h>
#include <stdint.h>
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights are little-endian; there is no form of a bundle for big-endian machines"
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TGCRT_ABI_MAJOR 1 /* changes when old callers break */
#define TGCRT_ABI_MINOR 3 /* grows when something is added */

/* Pinned numbers; new ones are added at the end. */
enum {
  TGCRT_OK = 0,
  TGCRT_ARGUMENT = 1, /* a pointer is null */
  TGCRT_ARENA = 2,    /* the arena is too small or not aligned to TGCRT_ALIGN */
  TGCRT_WEIGHTS = 3,  /* the weights have another size, or are not aligned to TGCRT_ALIGN */
  TGCRT_UNREADY = 4,  /* the context was not initialised by this model */
  TGCRT_INDEX = 5,    /* an index in the data was out of range and has been clamped */
  TGCRT_FILE = 6,     /* a file cannot be read, or is not what was expected */
  TGCRT_CPU = 7,      /* the CPU, or its operating system, lacks instructions the model was compiled for */
  TGCRT_STATE = 8,    /* a state of that number does not exist, or the saved state is not of this model */
  TGCRT_THREADS = 9,  /* a thread cannot be started */
  TGCRT_DIGEST = 10,  /* the weights have another SHA-256 than those that the model was compiled with */
  /* of bundles for devices; tgcrt_device.h */
  TGCRT_DRIVER = 11,  /* the driver's library is missing, or lacks a function that is needed */
  TGCRT_DEVICE = 12,  /* there is no such device, or it lacks what the model needs */
  TGCRT_MEMORY = 13,  /* the device has not enough memory */
  TGCRT_BUILD = 14,   /* the driver's compiler refuses the kernels */
  TGCRT_LOST = 15,    /* the device or its queue failed: the context is of no use until NAME_close and NAME_init */
  TGCRT_BUSY = 16     /* the time limit has passed, and the work goes on */
};
#define TGCRT_ALIGN 64 /* of the arena and of the weights, in bytes */

const char *tgcrt_strerror(int status); /* never null */

/* Types of elements, with the numbers that ONNX gives them. Pinned too. */
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

/* SHA-256 (FIPS 180-4) as 64 hexadecimal digits in small letters and a zero */
void tgcrt_sha256(const void *data, size_t bytes, char hex[65]);
int tgcrt_check_sha256(const void *data, size_t bytes, const char *hex); /* TGCRT_DIGEST if it is another */
#ifdef TGCRT_DEBUG
int tgcrt_debug_weights(const void *data, size_t bytes, const char *hex); /* the same; models in LLVM IR ask whether it is there */
#endif

/* What CPUs may have above the baseline of their architecture, as far as generated code uses it. Pinned too. */
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
  TGCRT_CPU_FP16 = 1 << 16,       /* aarch64: arithmetic, not conversion, which all have */
  TGCRT_CPU_DOTPROD = 1 << 17,
  TGCRT_CPU_I8MM = 1 << 18,
  TGCRT_CPU_BF16 = 1 << 19,
  TGCRT_CPU_RVV = 1 << 24,        /* riscv64: V 1.0 */
  TGCRT_CPU_SIMD128 = 1 << 25,    /* WebAssembly */
  TGCRT_CPU_KNOWN = 1 << 30       /* the other bits were found out; freestanding code can on x86-64 only */
};
uint32_t tgcrt_cpu(void);
/* TGCRT_CPU if some of these are known to be missing. Compile it, as all of tgcrt.c, for the baseline. */
int tgcrt_cpu_check(uint32_t wanted);

/* What a model keeps from one run to the next. Its memory begins with a cursor for each state. A state's
 * value lies in `outer` blocks, `keep` bytes in each from cursor * step on; a run moves the cursor one on, and
 * from slots to 0, where what is kept of a window is moved to the beginning. */
typedef struct tgcrt_state {
  size_t at, outer, block, keep, step, slots; /* bytes, but for outer and slots */
  size_t init;        /* where its first value lies in the weights; (size_t)-1: zeros */
} tgcrt_state;

/* For the model's own functions, which check their arguments. t has n rows, s is the memory. */
void tgcrt_state_reset(const tgcrt_state *t, size_t n, unsigned char *s, const unsigned char *weights);
void tgcrt_state_advance(const tgcrt_state *t, size_t n, unsigned char *s);
int tgcrt_state_load(const tgcrt_state *t, size_t n, unsigned char *s, const void *saved, size_t bytes);
int tgcrt_state_get(const tgcrt_state *t, size_t n, const unsigned char *s, size_t k, void *value);
int tgcrt_state_put(const tgcrt_state *t, size_t n, unsigned char *s, size_t k, const void *value);

/* Needs an operating system; compile with -DTGCRT_FREESTANDING to leave it out. Maps a file that must
 * have exactly this many bytes and be a regular one; *data is valid until tgcrt_unmap. */
#ifndef TGCRT_FREESTANDING
int tgcrt_map(const char *path, size_t bytes, const void **data);
void tgcrt_unmap(const void *data, size_t bytes);
#endif

/* What shares the work of a kernel: NAME_set_executor gives a context one. run calls task for every one of
 * the chunks 0 .. chunks - 1 once, in ranges [begin, end) of any size, in any order, on any threads and
 * at once, and returns when all are done. Results are the same bits whatever it does. */
typedef void tgcrt_task(void *job, int64_t begin, int64_t end);
typedef struct tgcrt_executor {
  void (*run)(void *self, tgcrt_task *task, void *job, int64_t chunks);
  void *self;
} tgcrt_executor;

/* An executor of this runtime's own (tgcrt_pool.c; POSIX threads): threads - 1 workers and the caller. The pool lies
 * in memory of the caller's, TGCRT_POOL_BYTES(threads) of it, until it is stopped. Contexts may share a pool;
 * a run that begins while the pool is in another one, or inside of it, is done by its own thread alone.
 * Compile with -DTGCRT_SINGLE to leave threads out. */
#if !defined TGCRT_FREESTANDING && !defined TGCRT_SINGLE
#define TGCRT_POOL_BYTES(threads) (640 + 64 * (size_t)(threads))
typedef struct tgcrt_pool tgcrt_pool;
typedef struct tgcrt_pool_options {
  int threads;     /* with the caller's: from 1 */
  int spin_us;     /* how long a thread that has nothing to do looks for work before it sleeps; 0: 200; < 0: not at all */
  const int *cpus; /* the CPU of each thread, [0] being the caller's and ignored; NULL: any */
} tgcrt_pool_options;

int tgcrt_pool_start(tgcrt_pool **pool, void *memory, size_t bytes, const tgcrt_pool_options *options);
void tgcrt_pool_stop(tgcrt_pool *pool); /* not while it runs; after a fork the child has no workers, and its runs none either */
const tgcrt_executor *tgcrt_pool_executor(const tgcrt_pool *pool); /* valid until the stop */
int tgcrt_cpus(void); /* that this process may use: a good number of threads */
#endif

#ifdef __cplusplus
}
#endif
#endif

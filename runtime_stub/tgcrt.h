/* SPDX-License-Identifier: 0BSD */
/* tgcrt.h: the runtime that all bundles share: status codes, element types, functions for weights files and states, and a pool
 * of threads. A bundle is the code and the weights that the compiler tgc makes from a model. NAME stands for the name of a
 * bundle. The bundle's functions have names such as NAME_run. A context is a NAME_ctx, which NAME_init initialises for runs.
 * The arena is memory that the caller gives to NAME_init.
 *
 * C99, usable from C++. A program contains tgcrt.c once, even if the program has several bundles. A program that starts a pool
 * also contains tgcrt_pool.c once. Sizes are in bytes. Functions of type int return a status, unless their comment says
 * otherwise. */
#ifndef TGCRT_H
#define TGCRT_H
#include <stddef.h>
#include <stdint.h>
/* The macro TGCRT_FREESTANDING leaves out the functions for files and threads. The next lines define this macro if the compiler
 * defines none of the macros that name a known operating system. */
#if !defined TGCRT_FREESTANDING && !defined __unix__ && !defined __APPLE__ && !defined _WIN32 && !defined __wasi__
#define TGCRT_FREESTANDING
#endif
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights are little-endian; there is no form of a bundle for big-endian machines"
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TGCRT_ABI_MAJOR 1 /* changes if older callers no longer work */
#define TGCRT_ABI_MINOR 5 /* grows with each addition */

/* The status codes. The numbers never change; new codes are added at the end. */
enum {
  TGCRT_OK = 0,
  TGCRT_ARGUMENT = 1, /* a pointer is null, or a number is out of range */
  TGCRT_ARENA = 2,    /* the arena is too small or not aligned to TGCRT_ALIGN, or the memory for a pool is too small */
  TGCRT_WEIGHTS = 3,  /* the weights do not have the size that the model needs, or are not aligned to TGCRT_ALIGN */
  TGCRT_UNREADY = 4,  /* NAME_init of this model has not initialised the context */
  TGCRT_INDEX = 5,    /* a value that is used as an index was out of range and has been clamped */
  TGCRT_FILE = 6,     /* a file cannot be read, or is not what was expected */
  TGCRT_CPU = 7,      /* the CPU, or its operating system, lacks instructions that the model was compiled for */
  TGCRT_STATE = 8,    /* no state has this number, or the saved states belong to another model */
  TGCRT_THREADS = 9,  /* a thread cannot be started */
  TGCRT_DIGEST = 10,  /* the SHA-256 shows that these are not the weights that the model was compiled with */
  /* only bundles for devices return the next six codes (tgcrt_device.h) */
  TGCRT_DRIVER = 11,  /* the driver's library is missing, or lacks a needed function */
  TGCRT_DEVICE = 12,  /* there is no such device, or the device lacks a feature that the model needs */
  TGCRT_MEMORY = 13,  /* the device has too little memory */
  TGCRT_BUILD = 14,   /* the driver's compiler refuses the kernels */
  TGCRT_LOST = 15,    /* the device or a queue failed. To use the context again, call NAME_close and then NAME_init */
  TGCRT_BUSY = 16,    /* the time limit has passed, and the device is still busy */
  TGCRT_SIZE = 17,    /* a size is outside of the range that the model was compiled for */
  TGCRT_CAPACITY = 18 /* a result has more rows than the model was compiled for; the outputs contain the first rows */
};
#define TGCRT_ALIGN 64 /* alignment of the arena and of the weights, in bytes */
/* The first address after p that is a multiple of TGCRT_ALIGN. So the memory at p must have TGCRT_ALIGN bytes more than are
 * needed. */
#define TGCRT_ALIGNED(p) ((unsigned char *)(p) + (TGCRT_ALIGN - (uintptr_t)(p) % TGCRT_ALIGN))

const char *tgcrt_strerror(int status); /* a text about a status; never null */

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

/* Writes the SHA-256 (FIPS 180-4) of the data to hex, as 64 hexadecimal digits in lower case and a zero byte. */
void tgcrt_sha256(const void *data, size_t bytes, char hex[65]);
/* Returns TGCRT_OK if `hex` is the SHA-256 of the data, as 64 digits in lower case; else TGCRT_DIGEST. */
int tgcrt_check_sha256(const void *data, size_t bytes, const char *hex);
#ifdef TGCRT_DEBUG
/* Does what tgcrt_check_sha256 does. If tgcrt.c is compiled with TGCRT_DEBUG, and LLVM has made the bundle's code, NAME_init
 * calls this function. */
int tgcrt_debug_weights(const void *data, size_t bytes, const char *hex);
#endif

/* Features of CPUs that generated code may use beyond the baseline of the architecture. The bits never change. */
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
  TGCRT_CPU_FP16 = 1L << 16,      /* aarch64: arithmetic with halves; conversions belong to the baseline */
  TGCRT_CPU_DOTPROD = 1L << 17,
  TGCRT_CPU_I8MM = 1L << 18,
  TGCRT_CPU_BF16 = 1L << 19,
  TGCRT_CPU_DSP = 1L << 20,       /* 32-bit Arm: instructions that multiply the two 16-bit parts of a register */
  TGCRT_CPU_RVV = 1L << 24,       /* riscv64: V 1.0 */
  TGCRT_CPU_SIMD128 = 1L << 25,   /* WebAssembly */
  TGCRT_CPU_KNOWN = 1L << 30      /* set if tgcrt_cpu can find out the other bits: with GCC or Clang on x86-64, and with Linux
                                     on aarch64 and riscv64 */
};
uint32_t tgcrt_cpu(void); /* the features of this CPU, as TGCRT_CPU_ bits */
/* Returns TGCRT_CPU if this CPU is known to lack one of the wanted features; else TGCRT_OK. If AMX is wanted, the function
 * also asks Linux for permission to use AMX's tiles, and returns TGCRT_CPU if Linux refuses. Compile all of tgcrt.c for the
 * baseline of the architecture, so that this check runs on every CPU. */
int tgcrt_cpu_check(uint32_t wanted);

/* A state is a value that a model keeps from one run to the next. The memory of all states begins with a cursor for each state, a
 * uint64_t. The memory of one state consists of `outer` blocks of `block` bytes each. The first block begins `at` bytes from the
 * beginning of the memory of all states. The `keep` bytes of each block from byte cursor * step on are the state's value.
 *
 * Some states are windows, to which runs append elements. A bundle may have several entries, which are run functions such as
 * NAME_run_ENTRY. In a bundle without entries, a run adds 1 to each cursor. In a bundle with entries, a run of an entry changes
 * only the cursors of the states that the entry changes. If the run appends n times `step` bytes to each block of a window, the
 * run adds n to the window's cursor. To the cursor of any other state that the entry changes, the run adds 1.
 *
 * A cursor that has reached or passed `slots` is set to 0. Before that, in each block of a window with step < block, the `keep`
 * bytes of the value are copied to the beginning of the block. */
typedef struct tgcrt_state {
  size_t at, outer, block, keep, step, slots; /* bytes, except outer and slots */
  size_t init;        /* offset in the weights of the value before the first run; (size_t)-1: this value is zeros */
} tgcrt_state;

/* Functions of a bundle, such as NAME_state_get, check their arguments, and then call these functions. t: the n states of the
 * model; s: the memory of all states; k: number of a state. tgcrt_state_reset sets all states to their values before the first
 * run. tgcrt_state_advance changes all cursors after a run. tgcrt_state_load copies `bytes` bytes from `saved` to s; `saved` has
 * an earlier copy of the memory of all states. tgcrt_state_get copies the value of state k to `value`, and tgcrt_state_put copies
 * `value` to state k. */
void tgcrt_state_reset(const tgcrt_state *t, size_t n, unsigned char *s, const unsigned char *weights);
void tgcrt_state_advance(const tgcrt_state *t, size_t n, unsigned char *s);
int tgcrt_state_load(const tgcrt_state *t, size_t n, unsigned char *s, const void *saved, size_t bytes);
int tgcrt_state_get(const tgcrt_state *t, size_t n, const unsigned char *s, size_t k, void *value);
int tgcrt_state_put(const tgcrt_state *t, size_t n, unsigned char *s, size_t k, const void *value);

/* Maps a regular file into memory, and sets *data to the address of the file's contents. The address is valid until tgcrt_unmap.
 * Returns TGCRT_FILE if the file does not have exactly `bytes` bytes. If `bytes` is 0, the size is not checked, and *data becomes
 * null. Except on Windows, the function also returns TGCRT_FILE if `path` is a symbolic link. */
#ifndef TGCRT_FREESTANDING
int tgcrt_map(const char *path, size_t bytes, const void **data);
/* Like tgcrt_map, but looks for the file in the folder of the running program, and then in the current folder. An absolute path
 * is taken as it is. */
int tgcrt_map_beside(const char *name, size_t bytes, const void **data);
void tgcrt_unmap(const void *data, size_t bytes);
#endif

/* A kernel is a part of a run. An executor shares the work of a kernel among threads. NAME_set_executor gives an executor to a
 * context. A kernel's work consists of chunks with the numbers 0 to chunks - 1. The executor's function `run` calls `task` with
 * ranges of chunks, begin to end - 1, until each chunk has been in exactly one range. Ranges may have any size. Calls of `task`
 * may come in any order, on any threads, and several at a time. The results always have the same bits. `run` returns when all
 * chunks are done. job: data that `run` passes on to `task`. self: the executor's own data, which NAME_run passes to `run`. */
typedef void tgcrt_task(void *job, int64_t begin, int64_t end);
typedef struct tgcrt_executor {
  void (*run)(void *self, tgcrt_task *task, void *job, int64_t chunks);
  void *self;
} tgcrt_executor;

/* A pool is an executor of this runtime (tgcrt_pool.c, for POSIX and Windows). The threads of a pool are the thread that calls
 * NAME_run and `threads` - 1 workers. The caller provides TGCRT_POOL_BYTES(threads) bytes of memory, which the pool uses until
 * tgcrt_pool_stop. Several contexts may share a pool. While the workers share a kernel of one run, a kernel of another run uses
 * only the thread that called NAME_run for the other run. If a task of a pool starts a run with this pool, the run uses only the
 * thread of the task. The macro TGCRT_SINGLE leaves pools out. */
#if !defined TGCRT_FREESTANDING && !defined TGCRT_SINGLE
#define TGCRT_POOL_BYTES(threads) (640 + 64 * (size_t)(threads))
typedef struct tgcrt_pool tgcrt_pool;
typedef struct tgcrt_pool_options {
  int threads;     /* number of threads, including the thread that calls NAME_run; at least 1 */
  int spin_us;     /* microseconds that an idle worker looks for work before it sleeps. 0 stands for 200, and a negative number
                      stands for no time */
  const int *cpus; /* cpus[i]: number of the CPU for worker i, where i is 1 to threads - 1; cpus[0] is not read. NULL: any
                      CPUs. Systems other than Linux and Windows ignore the numbers */
} tgcrt_pool_options;

/* Starts a pool, and sets *pool. memory: `bytes` bytes, which need not be aligned. Returns TGCRT_ARENA if `bytes` is too small,
 * and TGCRT_THREADS if a thread cannot be started. */
int tgcrt_pool_start(tgcrt_pool **pool, void *memory, size_t bytes, const tgcrt_pool_options *options);
/* Ends the workers. Do not call this function during a run. After fork() the child process has no workers, so runs in the child
 * use only the calling thread. */
void tgcrt_pool_stop(tgcrt_pool *pool);
const tgcrt_executor *tgcrt_pool_executor(const tgcrt_pool *pool); /* valid until tgcrt_pool_stop */
int tgcrt_cpus(void); /* returns the number of CPUs that this process may use: a good number of threads */
#endif

#ifdef __cplusplus
}
#endif
#endif

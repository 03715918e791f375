/* tgcrt.h: what every bundle shares: status codes, the version of the interface, and a helper that
 * maps a weights file. C99, usable from C++. Several bundles in one program need one tgcrt.c. */
#ifndef TGCRT_H
#define TGCRT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define TGCRT_ABI_MAJOR 1 /* changes when old callers break */
#define TGCRT_ABI_MINOR 1 /* grows when something is added */

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
  TGCRT_STATE = 8     /* a state of that number does not exist, or the saved state is not of this model */
};
#define TGCRT_ALIGN 64 /* of the arena and of the weights, in bytes */

const char *tgcrt_strerror(int status); /* never null */

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

#ifdef __cplusplus
}
#endif
#endif

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
#define TGCRT_ABI_MINOR 0 /* grows when something is added */

/* Pinned numbers; new ones are added at the end. */
enum {
  TGCRT_OK = 0,
  TGCRT_ARGUMENT = 1, /* a pointer is null */
  TGCRT_ARENA = 2,    /* the arena is too small or not aligned to TGCRT_ALIGN */
  TGCRT_WEIGHTS = 3,  /* the weights have another size, or are not aligned to TGCRT_ALIGN */
  TGCRT_UNREADY = 4,  /* the context was not initialised by this model */
  TGCRT_INDEX = 5,    /* an index in the data was out of range and has been clamped */
  TGCRT_FILE = 6      /* a file cannot be read, or is not what was expected */
};
#define TGCRT_ALIGN 64 /* of the arena and of the weights, in bytes */

const char *tgcrt_strerror(int status); /* never null */

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

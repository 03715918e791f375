/* SPDX-License-Identifier: MIT */
/* probe.h: definitions for the programs of this folder that measure a machine. tgc compiles them with the compiler flags of a
 * bundle for the machine. On the compiler's command line, tgc also defines LANES, the number of floats in a vector of the
 * machine. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if LANES > 1
typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef uint32_t Words __attribute__((vector_size(LANES * 4)));
#else
typedef float Vec;
typedef uint32_t Words;
#endif

static volatile float x = 0.9999f, y = 0.0001f; /* operands whose values the compiler cannot know */

static double now(void) { /* seconds since some fixed time */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

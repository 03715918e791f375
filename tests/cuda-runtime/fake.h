/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and fake.c, which is made into a library that takes the place of libcuda, the CUDA
 * driver. "The library" is this library. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails, counted from 1; 0: no call fails */
  int32_t error;                 /* the result of this call */
  int32_t init;                  /* the result of cuInit */
  int devices;                   /* number of devices */
  int32_t event_state;           /* state of all events. 0: done. 600: running. Other values: failed */
  int32_t refused;               /* the result of loading an image that is not PTX; 0: success */
  int capability;                /* compute capability of the devices: 90 is 9.0 */
  int max_threads, max_dim;      /* max_threads: most threads of a block. max_dim: most threads of a block in one dimension */
  int shared_bytes;              /* most bytes of shared memory of a block */
  int kernel_threads;            /* most threads of a block that a compiled kernel allows */
  uint64_t memory;               /* bytes of a device's memory */
  const char *name;              /* first words of the devices' names */
  const char *no_function;       /* name of a function that the library lacks; NULL: the library has all functions */
  unsigned char guard;           /* if the library runs no kernels: the byte that each copy of one byte to the host gets.
                                    Guards have one byte */
  /* read by tests */
  int calls, live;               /* calls: number of calls so far. live: number of objects that exist */
  int launches, replays;         /* launches: number of launches that ran. replays: number of runs of recorded graphs */
  int changes, captured;         /* changes: how often a launch in a graph was changed. captured: launches recorded into graphs */
  char image[16];                /* the first bytes of the last image that was loaded */
  const char *failed;            /* name of the function that failed because of fail_at; NULL: none */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
void fake_note(const char *text); /* appends a line to the file that the environment variable FAKE_CUDA_LOG names */
#endif

/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and the library that is made from fake.c. In the tests, this library takes the place of
 * libcuda, the CUDA driver. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call of the library that fails, counted from 1; 0: no call fails */
  int32_t error;                 /* the result of the call that fails */
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
  unsigned char guard;           /* if the library runs no kernels: each copy of a single byte to the host gives this byte.
                                    The runtime copies a single byte only to read a guard */
  /* read by tests */
  int calls, live;               /* calls: number of calls of the library so far. live: number of CUDA objects that exist now */
  int launches, replays;         /* launches: number of launches that ran. replays: number of runs of recorded graphs */
  int changes, captured;         /* changes: how often a launch in a recorded graph was changed. captured: number of launches
                                    that were recorded into graphs */
  char image[16];                /* the first bytes of the last image that was loaded */
  const char *failed;            /* name of the function that failed because of fail_at; NULL: no function has failed so */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* sets all fields of `fake`, except `live`, to their defaults */
void fake_note(const char *text); /* appends a line to the file that the environment variable FAKE_CUDA_LOG names */
#endif

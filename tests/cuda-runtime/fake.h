/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and fake.c, a library that takes the place of the CUDA driver, libcuda. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* the call with this number fails, counted from 1; 0: no call fails */
  int32_t error;                 /* the result of the call that fails */
  int32_t init;                  /* the result of cuInit */
  int devices;                   /* number of devices */
  int32_t event_state;           /* state of every event: 0 done, 600 running, else failed */
  int32_t refused;               /* the result of loading a cubin; 0: success */
  int capability;                /* compute capability of the devices: 90 is 9.0 */
  int max_threads, max_dim;      /* most threads of a block, and of a block in one dimension */
  int shared_bytes;              /* most bytes of shared memory of a block */
  int kernel_threads;            /* most threads of a block that a compiled kernel allows */
  uint64_t memory;               /* bytes of a device's memory */
  const char *name;              /* name of the devices */
  const char *no_function;       /* name of a function that the library lacks; NULL: the library has all functions */
  unsigned char guard;           /* if the library runs no kernels: each copy of a single byte, as of a guard, yields this byte */
  /* read by tests */
  int calls, live;               /* number of calls so far; number of objects that exist */
  int launches, replays;         /* numbers of launches, and of runs of a recorded graph */
  int changes, captured;         /* number of changes of a launch in a graph; number of launches recorded into graphs */
  char image[16];                /* the first bytes of the last image that was loaded */
  const char *failed;            /* name of the function whose call failed */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
void fake_note(const char *text); /* appends a line to the file that the variable FAKE_CUDA_LOG names */
#endif

/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and the libcuda of fake.c. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails, from 1 on; 0: none */
  int32_t error;                 /* the result of that call */
  int32_t init;                  /* the result of cuInit */
  int devices;                   /* number of devices */
  int32_t event_state;           /* state of every event: 0 done, 600 running, else failed */
  int32_t refused;               /* the result of loading a cubin; 0: it is loaded */
  int capability, max_threads, max_dim, shared_bytes, kernel_threads;
  uint64_t memory;               /* bytes of a device */
  const char *name;
  const char *no_function;       /* name of a missing function of the library; NULL: none is missing */
  unsigned char guard;           /* if no kernels run: a copied byte. Only a run's guard is copied as one byte */
  /* seen by tests */
  int calls, live;               /* calls of functions; objects that are alive */
  int launches, replays;         /* launches; replays of a graph */
  int changes, captured;         /* changed launches of a graph; launches captured into a graph */
  char image[16];                /* the beginning of the last image that was loaded */
  const char *failed;            /* the function of the call that failed */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
void fake_note(const char *text); /* writes a line to the log (FAKE_CUDA_LOG) */
#endif

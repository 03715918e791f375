/* SPDX-License-Identifier: MIT */
/* fake.h: what the tests ask of the libcuda of fake.c. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* this call, counted from 1 on, fails */
  int32_t error;                 /* so */
  int32_t init;                  /* the result of cuInit */
  int devices;                   /* how many there are */
  int32_t event_state;           /* all events': 0 done, 600 running, else failed */
  int32_t refused;               /* the result of loading a cubin */
  int capability, max_threads, max_dim, shared_bytes, kernel_threads;
  uint64_t memory;               /* bytes of a device */
  const char *name;
  const char *no_function;       /* which is missing */
  unsigned char guard;           /* the byte that a run's guard reads as, where no kernels run; it is the only read of one byte */
  /* seen by tests */
  int calls, live, launches, replays, changes, captured;
  char image[16];                /* the beginning of the last that was loaded */
  const char *failed;            /* the function of that call */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* all but what is alive */
void fake_note(const char *text); /* a line of the log */
#endif

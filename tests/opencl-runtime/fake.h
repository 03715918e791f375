/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and the libOpenCL of fake.c. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails, from 1 on */
  int32_t error;                 /* the result of that call */
  int platforms, devices;        /* numbers of platforms, and of devices of each */
  int gpu;                       /* number of the device that is a GPU; -1: none */
  int32_t event_state;           /* state of every event: 0 done, 1 running, < 0 failed */
  int32_t each_binary;           /* the status of a program's binary */
  int program_devices;
  uint64_t max_group, max_size, local_bytes, max_alloc, global_bytes, little, available, compiler, doubles, kernel_group;
  uint64_t subgroup;             /* threads of a subgroup */
  const char *name, *version, *driver, *extensions;
  uint64_t queue_needs;          /* properties that queues need to run recordings */
  const char *no_function;       /* name of a missing extension function */
  unsigned char guard;           /* the value that a run's guard reads as; only guards are reads of one byte */
  /* seen by tests */
  int calls, live, sources, binaries, launches, waits, replays;
  const char *failed;            /* the function that failed */
  char last[64];                 /* the last call */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
#endif

/* fake.h: what the tests ask of the libOpenCL of fake.c. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* this call, counted from 1 on, fails */
  int32_t error;                 /* so */
  int platforms, devices;        /* how many there are; of each platform */
  int gpu;                       /* the number of the device that is a GPU, -1: none */
  int32_t event_state;           /* of all events: 0 done, 1 running, < 0 failed */
  int32_t each_binary;           /* the status of a program's binary */
  int program_devices;
  uint64_t max_group, max_size, local_bytes, max_alloc, global_bytes, little, available, compiler, doubles, kernel_group;
  uint64_t subgroup;             /* threads of one */
  const char *name, *version, *driver, *extensions;
  uint64_t queue_needs;          /* properties of queues that run what was recorded */
  const char *no_function;       /* of an extension, which is missing */
  unsigned char guard;           /* the byte that a run's guard reads as; it is the only read of one byte */
  /* seen by tests */
  int calls, live, sources, binaries, launches, waits, replays;
  const char *failed;            /* the function of that call */
  char last[64];                 /* the last call */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* all but what is alive */
#endif

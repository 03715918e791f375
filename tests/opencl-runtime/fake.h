/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and fake.c, a library that takes the place of an OpenCL driver. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails; 0: no call fails. Calls are counted from 1 */
  int32_t error;                 /* the result of the call that fails */
  int platforms, devices;        /* number of platforms; number of devices of each platform */
  int gpu;                       /* number of the device that is a GPU; -1: no device is */
  int32_t event_state;           /* state of every event: 0 done, 1 running, < 0 failed */
  int32_t each_binary;           /* the status that the library gives for each binary of a program */
  int program_devices;           /* number of devices of a program */
  /* Facts about the devices, as clGetDeviceInfo gives them. max_group: most threads of a block. max_size: most threads of a block
   * in one dimension. local_bytes, max_alloc, global_bytes: bytes of shared memory, of the largest buffer and of all memory. The
   * other fields are 1 if a device is little-endian, is available, has a compiler or has doubles */
  uint64_t max_group, max_size, local_bytes, max_alloc, global_bytes, little, available, compiler, doubles;
  uint64_t kernel_group;         /* most threads of a block that a compiled kernel allows */
  uint64_t subgroup;             /* threads of a subgroup (warp) */
  const char *name, *version, *driver, *extensions; /* texts that clGetDeviceInfo gives */
  uint64_t queue_needs;          /* bits of the properties that a queue must have to run recorded commands */
  const char *no_function;       /* name of an extension's function that the library lacks; NULL: the library has all functions */
  unsigned char guard;           /* the result of each read of a single byte. The runtime makes such reads only for guards */
  /* read by tests: number of calls so far; number of objects that exist now; numbers of compiled sources, loaded binaries,
   * launches, waits, and runs of recorded commands */
  int calls, live, sources, binaries, launches, waits, replays;
  const char *failed;            /* name of the function whose call failed */
  char last[64];                 /* name of the function that was called last */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
#endif

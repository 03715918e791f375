/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and fake.c, a library that takes the place of an OpenCL driver. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* calls are numbered from 1; the call with this number fails; 0: none fails */
  int32_t error;                 /* the result of the call that fails */
  int platforms, devices;        /* number of platforms, and of devices of each platform */
  int gpu;                       /* number of the device that is a GPU; -1: none */
  int32_t event_state;           /* state of every event: 0 done, 1 running, < 0 failed */
  int32_t each_binary;           /* the status that the library gives for each binary of a program */
  int program_devices;           /* number of devices of a program */
  /* Facts about the devices, as clGetDeviceInfo gives them. In the order of the fields: most threads of a block, and of a block
   * in one dimension; bytes of shared memory, of the largest buffer and of all memory; whether a device is little-endian, is
   * available, has a compiler, has doubles */
  uint64_t max_group, max_size, local_bytes, max_alloc, global_bytes, little, available, compiler, doubles;
  uint64_t kernel_group;         /* most threads of a block that a compiled kernel allows */
  uint64_t subgroup;             /* threads of a subgroup (warp) */
  const char *name, *version, *driver, *extensions; /* texts of clGetDeviceInfo */
  uint64_t queue_needs;          /* bits of properties that a queue needs to run recorded commands */
  const char *no_function;       /* name of a function of an extension that the library lacks; NULL: the library has all */
  unsigned char guard;           /* the byte that a read of one byte yields. The runtime reads one byte only for a run's guard */
  /* read by tests: numbers of calls, objects that exist, compiled sources, binaries, launches, waits, and runs of recordings */
  int calls, live, sources, binaries, launches, waits, replays;
  const char *failed;            /* name of the function whose call failed */
  char last[64];                 /* name of the function that was called last */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
#endif

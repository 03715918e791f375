/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and the library that is made from fake.c. In the tests, this library takes the place of
 * an OpenCL driver. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call of the library that fails, counted from 1; 0: no call fails */
  int32_t error;                 /* the result of the call that fails */
  int platforms, devices;        /* number of platforms; number of devices of each platform */
  int gpu;                       /* number of the device that is a GPU; -1: there is no GPU */
  int32_t event_state;           /* state of every event: 0 done, 1 running, < 0 failed */
  int32_t each_binary;           /* the status that clCreateProgramWithBinary gives for a binary; 0: the binary is accepted */
  int program_devices;           /* number of devices of a program, for clGetProgramInfo */
  /* Facts about the devices, for clGetDeviceInfo. max_group: most threads of a block. max_size: most threads of a block in one
   * dimension. local_bytes: most bytes of shared memory of a block. max_alloc: most bytes of a buffer. global_bytes: bytes of a
   * device's memory. little: 1 if the devices are little-endian. available: 1 if the devices are available. compiler: 1 if the
   * devices have a compiler. doubles: 1 if the devices have doubles. */
  uint64_t max_group, max_size, local_bytes, max_alloc, global_bytes, little, available, compiler, doubles;
  uint64_t kernel_group;         /* most threads of a block that a compiled kernel allows */
  uint64_t subgroup;             /* threads of a subgroup (warp) */
  const char *name, *version, *driver, *extensions; /* texts for clGetDeviceInfo. name: first words of the devices' names */
  uint64_t queue_needs;          /* bits of the properties that a queue must have to run recorded commands */
  const char *no_function;       /* name of an extension's function that the library lacks; NULL: the library has all functions */
  unsigned char guard;           /* each read of a single byte gives this byte. The runtime reads a single byte only to read a
                                    guard */
  /* read by tests. calls: number of calls of the library so far. live: number of objects that exist now. sources: number of calls
   * that make a program from source. binaries: number of calls that make a program from a binary. launches: number of launches.
   * waits: number of calls of clWaitForEvents. replays: number of runs of recorded commands. */
  int calls, live, sources, binaries, launches, waits, replays;
  const char *failed;            /* name of the function that failed because of fail_at; NULL: no function has failed so */
  char last[64];                 /* name of the function that was called last */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* sets all fields of `fake`, except `live`, to their defaults */
#endif

/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and the library that is made from fake.c. In the tests, this library takes the place of
 * Apple's Metal. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails; 0: no call fails. The library counts from 1, and counts only
                                    calls that can fail */
  int32_t error;                 /* if the call that fails asks for the status of a command buffer: this command buffer's error */
  int hang;                      /* 1: command buffers are never done */
  int broken;                    /* the error that all command buffers get; 0: no error */
  int devices;                   /* number of devices */
  int old;                       /* 1: the system lacks newer functions, such as setMathMode, that choose a mode of arithmetic */
  int family;                    /* number of the newest family of GPUs to which the devices belong: 1007 is Apple7; 0: none */
  uint64_t max_threads;          /* most threads of a block */
  uint64_t shared_bytes;         /* most bytes of shared memory of a block */
  uint64_t max_buffer, working_set; /* max_buffer: most bytes of a buffer. working_set: most bytes of all buffers together; 0: the
                                       devices do not tell this number */
  uint64_t kernel_threads;       /* most threads of a block that a compiled kernel allows */
  const char *name;              /* first words of the devices' names */
  /* read by tests */
  int calls, live;               /* calls: number of calls so far that can fail. live: number of objects that exist now */
  int launches;                  /* number of launches */
  int sources, libraries;        /* sources: number of calls that compile a source. libraries: number of calls that load a file of
                                    kernels */
  int no_copy, commits;          /* no_copy: number of buffers that use the caller's memory. commits: number of command buffers
                                    that were committed */
  int safe;                      /* options of the last compilation. Bit 0: safe mode of arithmetic; bit 1: precise functions */
  const char *failed;            /* name of the call that failed because of fail_at; NULL: no call has failed so */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* sets all fields of `fake`, except `live`, to their defaults */
void *fake_buffer(uint64_t n);   /* makes a buffer of n bytes on the first device; the test releases it */
void *fake_queue(void);          /* makes a queue on the first device; the test releases it */
void fake_release(void *object); /* releases an object, such as a buffer or a queue */
void *fake_contents(void *buffer); /* returns the address of the buffer's bytes */
int fake_number(const void *device); /* returns the device's number; the first device has the number 0 */
int fake_pools(void);            /* returns 0 if no autorelease pool is open in this thread */
#endif

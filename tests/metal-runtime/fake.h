/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and fake.c, a library that takes the place of Apple's Metal. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails; 0: none. Only calls that can fail are counted, from 1 */
  int32_t error;                 /* if the call that fails asks for the status of a command buffer: the error of this buffer */
  int hang;                      /* 1: command buffers are never done */
  int broken;                    /* the error that all command buffers get; 0: no error */
  int devices;                   /* number of devices */
  int old;                       /* 1: the system lacks the newer functions for modes of arithmetic */
  int family;                    /* the newest family of GPUs to which the devices belong, such as 1007 for Apple7; 0: none */
  uint64_t max_threads;          /* most threads of a block */
  uint64_t shared_bytes;         /* most bytes of shared memory of a block */
  uint64_t max_buffer, working_set; /* most bytes of one buffer, and of all buffers together */
  uint64_t kernel_threads;       /* most threads of a block that a compiled kernel allows */
  const char *name;              /* name of the devices */
  /* read by tests */
  int calls, live;               /* calls: number of calls so far that can fail. live: number of objects that exist now */
  int launches;                  /* number of launches */
  int sources, libraries;        /* number of sources that were compiled; number of library files that were loaded */
  int no_copy, commits;          /* number of buffers that use the caller's memory; number of committed command buffers */
  int safe;                      /* 1: the last source was compiled in the safe mode of arithmetic */
  const char *failed;            /* name of the call that failed */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
void *fake_buffer(uint64_t n);   /* makes a buffer of n bytes on the first device; the test releases it */
void *fake_queue(void);          /* makes a queue on the first device; the test releases it */
void fake_release(void *object);
void *fake_contents(void *buffer); /* address of the buffer's bytes */
int fake_number(const void *device); /* the device's number; the first device has the number 0 */
int fake_pools(void);            /* number of autorelease pools that are open in this thread */
#endif

/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and fake.c, a library that takes the place of Apple's Metal. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* calls that can fail are numbered from 1; the call with this number fails; 0: none fails */
  int32_t error;                 /* the error that a command buffer gets, if the call that fails asks for the buffer's status */
  int hang;                      /* 1: command buffers are never done */
  int broken;                    /* the error of all command buffers; 0: none */
  int devices;                   /* number of devices */
  int old;                       /* 1: the system lacks the newer functions for modes of arithmetic */
  int family;                    /* the newest family of GPUs that the devices belong to: 1007 for Apple7; 0: none */
  uint64_t max_threads;          /* most threads of a block */
  uint64_t shared_bytes;         /* most bytes of shared memory of a block */
  uint64_t max_buffer, working_set; /* most bytes of a buffer, and of all buffers together */
  uint64_t kernel_threads;       /* most threads of a block that a compiled kernel allows */
  const char *name;              /* name of the devices */
  /* read by tests */
  int calls, live;               /* number of calls that can fail; number of objects that exist */
  int launches;                  /* number of launches */
  int sources, libraries;        /* numbers of sources that were compiled, and of library files that were loaded */
  int no_copy, commits;          /* numbers of buffers made of the caller's memory, and of committed command buffers */
  int safe;                      /* 1: the last source was compiled in the safe mode of arithmetic */
  const char *failed;            /* name of the call that failed */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
void *fake_buffer(uint64_t n);   /* makes a buffer of n bytes on the first device; the test releases it */
void *fake_queue(void);          /* makes a queue on the first device; the test releases it */
void fake_release(void *object);
void *fake_contents(void *buffer); /* address of the buffer's bytes */
int fake_number(const void *device); /* the device's number, from 0 */
int fake_pools(void);            /* number of autorelease pools still open in this thread */
#endif

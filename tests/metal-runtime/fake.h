/* SPDX-License-Identifier: MIT */
/* fake.h: the interface between the tests and the Metal of fake.c. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* number of the call that fails, from 1 on, among the calls that can fail; 0: none */
  int32_t error;                 /* if that call asks for a command buffer's status: the buffer's error */
  int hang;                      /* 1: command buffers are never done */
  int broken;                    /* the error of all command buffers; 0: none */
  int devices;                   /* number of devices */
  int old;                       /* 1: the system lacks the newer functions for modes of arithmetic and for the list of devices */
  int family;                    /* the device's family of GPUs, 1007 for Apple7; 0: none */
  uint64_t max_threads, shared_bytes, max_buffer, working_set, kernel_threads;
  const char *name;
  /* seen by tests */
  int calls, live;               /* calls that can fail; objects that are alive */
  int launches;                  /* launches of kernels */
  int sources, libraries;        /* compiled texts; library files that were loaded */
  int no_copy, commits;          /* buffers made of the caller's memory; command buffers handed over */
  int safe;                      /* the last text was compiled in the safe mode of arithmetic */
  const char *failed;            /* the call that failed */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* resets all fields except `live` */
void *fake_buffer(uint64_t n);   /* a buffer of n bytes on the first device; the test releases it */
void *fake_queue(void);          /* a queue, likewise */
void fake_release(void *object);
void *fake_contents(void *buffer);
int fake_number(const void *device);
int fake_pools(void);            /* number of autorelease pools still open in this thread */
#endif

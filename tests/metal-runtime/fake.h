/* SPDX-License-Identifier: MIT */
/* fake.h: what the tests ask of the Metal of fake.c. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct Fake {
  /* set by tests */
  int fail_at;                   /* this call of those that can fail, counted from 1 on, fails */
  int32_t error;                 /* a command buffer's, if that call asks for its status */
  int hang;                      /* command buffers are not done */
  int broken;                    /* the error of all command buffers; 0: none */
  int devices;                   /* how many there are */
  int old;                       /* a system without the newer functions for modes of arithmetic and for all devices */
  int family;                    /* 1007: Apple7; 0: none */
  uint64_t max_threads, shared_bytes, max_buffer, working_set, kernel_threads;
  const char *name;
  /* seen by tests */
  int calls, live, launches, sources, libraries, no_copy, commits;
  int safe;                      /* the last text was compiled in the safe mode of arithmetic */
  const char *failed;            /* the call that failed */
} Fake;
extern Fake fake;
void fake_defaults(void);        /* all but what is alive */
void *fake_buffer(uint64_t n);   /* on the first device; the test releases it */
void *fake_queue(void);          /* likewise */
void fake_release(void *object);
void *fake_contents(void *buffer);
int fake_number(const void *device);
int fake_pools(void);            /* still open in this thread */
#endif

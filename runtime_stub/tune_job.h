/* SPDX-License-Identifier: 0BSD */
/* tune_job.h: the tables in a folder that `tgc tune --job` writes. They describe nests of a model, each with its candidates. A
 * candidate is code that computes the nest by one schedule. The program tune_job.c of the folder times the candidates. */
#ifndef TUNE_JOB_H
#define TUNE_JOB_H
#include "tgcrt_device.h"

typedef struct tune_packed { /* a buffer that has a weight's elements in the order in which a candidate reads them */
  /* The index i of an element of the buffer is a number of n digits in a mixed radix. Digit k has extent[k] values, and the last
   * digit is the lowest. Let sum(x) be the sum of digit k times x[k], over all k. Element i is 0 if closed + sum(gate) >= 0.
   * Otherwise it is element base + sum(coef) of the weight. */
  int64_t base, closed;
  int n;
  int64_t extent[24], coef[24], gate[24];
} tune_packed;

typedef struct tune_buffer {
  char type;                 /* type of the elements: b bool, i signed integers, u unsigned integers, f floats */
  uint8_t bytes, exponent;   /* bytes of an element; bits of a float's exponent */
  uint8_t weight, written;   /* weight: 1 if the buffer holds a weight; written: 1 if the nest writes the buffer */
  int64_t elems;             /* number of elements */
  int64_t from;              /* for a weight: offset in bytes of its tensor in the nest's file; -1: filled with random numbers */
  const tune_packed *packed; /* for a weight: the order of the elements; NULL: the order of the tensor */
} tune_buffer;

typedef struct tune_candidate {
  const char *opts;                 /* the schedule, as text */
  void (*run)(void *const *memory); /* on a CPU: the code; memory[i] is the address of the buffer with index buffers[i] */
  const uint32_t *buffers;          /* on a CPU: the nbuffers buffers of the candidate, as indices into tune_nest.buffers */
  uint32_t nbuffers;
  /* On a device: the fields of a tgcrt_net that describe the candidate's launches. The fields of a launch index the tables
   * `functions` and `places` below. tgcrt_place.number is an index into tune_nest.buffers. */
  const char *const *text;
  const char *const *functions;
  const tgcrt_launch *launches;
  const tgcrt_place *places;
  uint32_t ntext, nfunctions, nlaunches, nplaces;
  uint32_t needs, block, shared_bytes; /* TGCRT_NEEDS_ bits; threads of the largest block; bytes of shared memory of a block */
} tune_candidate;

typedef struct tune_nest {
  const char *key;           /* the nest's key in lock files */
  double known;              /* microseconds of the first candidate on the machine that tune_known names; 0: not known */
  const char *file;          /* path of the file with the nest's weights; NULL: the nest has none */
  const tune_buffer *buffers;
  uint32_t nbuffers, n;      /* n: number of candidates. The candidates' results are compared with those of candidates[n], the
                                reference, which is not timed */
  const tune_candidate *candidates; /* the first one is the incumbent, the best schedule so far: the others race against it */
  const char *const *head;   /* on a device: nhead pieces of text, with which the source of every candidate begins */
  uint32_t nhead;
  const char *options;       /* on a device: options for the driver's compiler */
  const tgcrt_image *const *images; /* by candidate: its compiled kernels, if the device's driver takes no text; else NULL */
  const uint32_t *nimages;   /* by candidate: number of its images */
} tune_nest;

extern const tune_nest *const tune_nests[]; /* NULL ends the list */
extern const char tune_known[];             /* the machine on which tune_nest.known was measured; "": no time is known */
#endif

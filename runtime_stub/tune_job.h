/* SPDX-License-Identifier: 0BSD */
/* tune_job.h: the tables of a job. A job is a folder that `tgc tune --job` writes. Its tables describe nests of a model, and the
 * candidates of each nest. A candidate is code that computes the nest by one schedule. The folder's program tune_job.c times the
 * candidates. */
#ifndef TUNE_JOB_H
#define TUNE_JOB_H
#include "tgcrt_device.h"

typedef struct tune_packed { /* describes a buffer that has the elements of a weight in the order in which a candidate reads
                                them */
  /* The index i of an element of the buffer is a number of n digits in a mixed radix. Digit k has extent[k] values, and the last
   * digit is the lowest. Let sum(x) be the sum of digit k times x[k], over all k. If closed + sum(gate) >= 0, element i of the
   * buffer is 0. Otherwise element i is the weight's element number base + sum(coef). */
  int64_t base, closed;
  int n;
  int64_t extent[24], coef[24], gate[24];
} tune_packed;

typedef struct tune_buffer {
  char type;                 /* type of the elements: b bool, i signed integers, u unsigned integers, f floats */
  uint8_t bytes, exponent;   /* bytes: bytes of an element; exponent: for floats, number of bits of the exponent */
  uint8_t weight, written;   /* weight: 1 if the buffer holds a weight; written: 1 if the nest writes the buffer */
  int64_t elems;             /* number of elements */
  int64_t from;              /* for a weight: offset in bytes of the weight's tensor in tune_nest.file. -1: the buffer is filled
                                with random numbers */
  const tune_packed *packed; /* for a weight: the order of the elements; NULL: the order of the tensor */
} tune_buffer;

typedef struct tune_candidate {
  const char *opts;                 /* the schedule, as text */
  void (*run)(void *const *memory); /* on a CPU: the code; memory[i] is the address of buffer number buffers[i] */
  const uint32_t *buffers;          /* on a CPU: the buffers of the candidate, as nbuffers indices into tune_nest.buffers */
  uint32_t nbuffers;
  /* On a device: the fields of a tgcrt_net that describe the candidate's launches. In a launch, `function` is an index into
   * `functions`, and `first` is an index into `places`. tgcrt_place.number is an index into tune_nest.buffers. */
  const char *const *text;
  const char *const *functions;
  const tgcrt_launch *launches;
  const tgcrt_place *places;
  uint32_t ntext, nfunctions, nlaunches, nplaces;
  uint32_t needs, block, shared_bytes; /* needs: TGCRT_NEEDS_ bits. block: number of threads of the largest block. shared_bytes:
                                          greatest number of bytes of shared memory of a block */
} tune_candidate;

typedef struct tune_nest {
  const char *key;           /* the nest's key in lock files */
  double known;              /* time of the first candidate in microseconds, on the machine that tune_known names; 0: not known */
  const char *file;          /* path of the file with the nest's weights; NULL: the nest has no weights */
  const tune_buffer *buffers;
  uint32_t nbuffers, n;      /* nbuffers: length of `buffers`. n: number of candidates. candidates[n] is the reference: the
                                results of the candidates are compared with the reference's results. The reference is not timed */
  const tune_candidate *candidates; /* candidates[0] is the incumbent, which has the best schedule so far. The other candidates
                                       race against the incumbent */
  const char *const *head;   /* on a device: nhead pieces of text, with which the source of every candidate begins */
  uint32_t nhead;
  const char *options;       /* on a device: options for the driver's compiler */
  const tgcrt_image *const *images; /* if the device's driver takes no text: *images is an array of *nimages images, which have
                                       the compiled kernels of all candidates; else NULL */
  const uint32_t *nimages;
} tune_nest;

extern const tune_nest *const tune_nests[]; /* NULL ends the list */
extern const char tune_known[];             /* name of the machine on which tune_nest.known was measured; "": no times are
                                               known */
#endif

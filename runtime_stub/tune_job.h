/* SPDX-License-Identifier: 0BSD */
/* tune_job.h: tables of a folder that `tgc tune --job` writes: nests of a model, each with candidates. A candidate is code for
 * one schedule of the nest. tune_job.c times the candidates. */
#ifndef TUNE_JOB_H
#define TUNE_JOB_H
#include "tgcrt_device.h"

typedef struct tune_packed { /* a weight in the order in which a candidate reads it */
  /* The digits of i are its n digits in the mixed radix `extent`. Element i is 0 if closed + sum of digit * gate >= 0. Else it is
   * the tensor's element at base + sum of digit * coef. */
  int64_t base, closed;
  int n;
  int64_t extent[24], coef[24], gate[24];
} tune_packed;

typedef struct tune_buffer {
  char type;                 /* b: its elements are bool, i: signed, u: unsigned, f: floats */
  uint8_t bytes, exponent;   /* bytes of an element; bits of a float's exponent */
  uint8_t weight, written;
  int64_t elems;
  int64_t from;              /* for a weight: offset of the weight's tensor in the nest's file; -1: any numbers will do */
  const tune_packed *packed; /* for a weight; NULL: as the tensor is */
} tune_buffer;

typedef struct tune_candidate {
  const char *opts;                 /* the schedule */
  void (*run)(void *const *memory); /* on a CPU: the code; memory[i] is the address of buffer buffers[i] */
  const uint32_t *buffers;          /* on a CPU: the candidate's buffers, as indices in the nest's `buffers` */
  uint32_t nbuffers;
  /* on a device: the candidate's part of a tgcrt_net. Functions, places and buffers (`number` of a place) count from 0. */
  const char *const *text;
  const char *const *functions;
  const tgcrt_launch *launches;
  const tgcrt_place *places;
  uint32_t ntext, nfunctions, nlaunches, nplaces;
  uint32_t needs, block, shared_bytes;
} tune_candidate;

typedef struct tune_nest {
  const char *key;
  double known;              /* microseconds of the first candidate on the machine that tune_known names; 0: not known */
  const char *file;          /* file with the nest's weights; NULL: the nest has none */
  const tune_buffer *buffers;
  uint32_t nbuffers, n;      /* n: number of candidates; candidates[n] is the reference, which is not timed */
  const tune_candidate *candidates; /* the first is the incumbent: the others are timed in turn with it */
  const char *const *head;   /* beginning of a device's text, for all candidates */
  uint32_t nhead;
  const char *options;
  const tgcrt_image *const *images; /* the compiled text, if the device's driver takes no text; else NULL */
  const uint32_t *nimages;
} tune_nest;

extern const tune_nest *const tune_nests[]; /* NULL ends it */
extern const char tune_known[];             /* the machine on which tune_nest.known was measured; "": nothing is known */
#endif

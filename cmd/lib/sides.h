/* SPDX-License-Identifier: MIT */
/* sides.h: variants of a model whose bundles run in turn. */
#ifndef TGC_SIDES_H
#define TGC_SIDES_H
#include "../cmd.h"

typedef struct Side { /* one variant */
  const char *dir, *so;
  Interface f;
  Worker worker;
  Stamps stamps;
  size_t stamped;
  Reals runs, *kernels;    /* ms; runs: whole runs; kernels: each kernel */
} Side;

typedef struct Races {     /* the common data of a comparison's sides */
  const Options *o;
  const char *scratch;
  Tensor *in;              /* inputs of the model; NULL: not made yet */
  double seconds;          /* run time of each side */
} Races;

Side side_open(Ctx *c, Races *r, const Plan *p); /* builds the plan */
void side_close(Side *x);
/* Drops earlier measurements, and measures n sides anew, each in `lives` processes, which run in turn */
void sides_measure(Ctx *c, const Races *r, Side *const *side, int n, int lives, int threads);
bool side_stamped(const Side *x);                /* the times of its kernels are known */
double side_kernel_ms(const Side *x, size_t k);
double side_ms(const Side *x);                   /* a run: the sum of its kernels, if these are known */
#endif

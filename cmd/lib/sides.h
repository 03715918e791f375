/* SPDX-License-Identifier: MIT */
/* sides.h: compares variants of a model, called sides. Their bundles run in turn. A life is one process of a side. */
#ifndef TGC_SIDES_H
#define TGC_SIDES_H
#include "../cmd.h"

typedef struct Side {
  const char *dir, *so;
  Interface f;
  Worker worker;
  Stamps stamps;
  size_t stamped;
  Reals runs, *kernels;    /* ms; runs: whole runs; kernels: each kernel */
  Reals *of_life;          /* ms in each life: of each kernel, then of whole runs */
} Side;

struct Races {             /* the common data of all comparisons, and what they have cost */
  const Options *o;
  const char *scratch;
  const Target *target;    /* with the facts that the store has of this machine */
  Tensor *in;              /* inputs of the model; NULL: not made yet */
  int jobs;                /* compilers that run at a time; 0: a bundle is compiled as a whole */
  Texts built, objects;    /* side_build.c: symbols of the kernels compiled so far; the object files */
  double seconds;          /* run time of each side, divided among its lives; a life's least number of runs may take longer */
  double begin, end;       /* times by clock_ms: when the command began, and when it shall end */
  double plan, build, life; /* seconds that a plan, the next build of a side, and the shortest life of a side will take */
  bool again;              /* a side was built before */
};
/* How many lives each side has. The lives of all sides take turns. */
typedef struct Lives {
  int most, least;
  double end;              /* time by clock_ms: after `least` lives, none begins that would probably end later */
} Lives;

Side side_open(Ctx *c, Races *r, const Plan *p); /* builds the plan */
void side_close(Side *x);
/* Drops earlier measurements, and measures n sides anew */
void sides_measure(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
/* seconds that `lives` lives of each of n sides take, if the run time is divided among `most` lives */
double sides_seconds(const Races *r, int n, int lives, int most);
double races_left(const Races *r);               /* seconds until the end */
/* with -v: prints the seconds since r->begin, and a text */
void races_note(const Races *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool side_stamped(const Side *x);                /* the times of x's kernels are known */
double side_kernel_ms(const Side *x, size_t k);
double side_ms(const Side *x);                   /* ms of a run: the sum of its kernels' times, if these are known */
size_t side_lives(const Side *x);
double side_kernel_life_ms(const Side *x, size_t k, size_t life);
double side_life_ms(const Side *x, size_t life);
Paired sides_paired(const Side *without, const Side *with); /* times of the model with a change, and without */

/* ---- side_build.c ---- */
/* Builds the bundle in dir as a shared object. hooks: header for TGC_HOOKS, or NULL */
const char *side_build(Ctx *c, Races *r, const char *dir, const Interface *f, const char *hooks);
void sides_close(Races *r);                      /* after the last build */
#endif

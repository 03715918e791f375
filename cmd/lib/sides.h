/* SPDX-License-Identifier: MIT */
/* sides.h: compares several compilations of a model, called sides. Their bundles run in turn. Each side runs in several
 * processes, one after another. A life is the time from the start of a process to the end of the process. */
#ifndef TGC_SIDES_H
#define TGC_SIDES_H
#include "../cmd.h"

typedef struct Side {
  const char *dir, *so;    /* paths of the bundle, and of the shared object built from it */
  Interface f;
  Worker worker;           /* the process of the current life */
  Stamps stamps;
  size_t stamped;          /* runs of the current life so far */
  Reals runs, *kernels;    /* times in ms. runs: of whole runs. kernels: by kernel, the kernel's times in these runs */
  Reals *of_life;          /* for each kernel, then for whole runs: the 10th percentile of the times of each life, in ms */
} Side;

struct Races {             /* the common data of all comparisons, and estimates of their time */
  const Options *o;
  const char *scratch;
  const Target *target;    /* the machine, with the facts about it that are in the tuner's store */
  Tensor *in;              /* inputs of the model; NULL: not made yet */
  int jobs;                /* number of C compilers that run at a time; 0: one compiler compiles all of a bundle */
  Texts built, objects;    /* side_build.c: symbols of the kernels compiled so far; paths of their object files */
  double seconds;          /* run time of each side, divided among its lives. A life has at least two blocks of runs, so it may
                              take longer than its part */
  double begin, end;       /* times in ms by clock_ms: when the command began, and when it shall end */
  double plan, build, life; /* estimates in seconds: making a plan; building the next side; the shortest life of a side */
  double whole;            /* seconds that the first build took; later builds may use most of its objects again */
  bool again;              /* a side was built before, so the next build can use its objects */
};
/* Number of lives that each side gets, from `least` to `most`. All sides begin and end a life together, and blocks of their runs
 * alternate. end: time in ms by clock_ms. After `least` lives, no life begins that would probably go on beyond `end`. */
typedef struct Lives {
  int most, least;
  double end;
} Lives;

Side side_open(Ctx *c, Races *r, const Plan *p); /* writes the bundle of p and builds it */
void side_close(Side *x);                        /* ends the side's process and frees its memory */
/* Drops earlier times of these n sides, and measures the sides with this number of threads */
void sides_measure(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
/* Measures n sides in further lives, and keeps the earlier times. threads: as before */
void sides_go_on(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
/* Seconds that `lives` lives of each of n sides take, if Races.seconds is divided among `most` lives */
double sides_seconds(const Races *r, int n, int lives, int most);
double races_left(const Races *r);               /* seconds until r->end */
/* With -v: prints on stderr the seconds since r->begin, and a text */
void races_note(const Races *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The time of a kernel is the 10th percentile of its samples. */
bool side_stamped(const Side *x);                /* whether the times of x's kernels are known */
double side_kernel_ms(const Side *x, size_t k);  /* ms of kernel k */
double side_ms(const Side *x);                   /* ms of a run: the sum of the kernels' times; if these are not known, the 10th
                                                    percentile of the times of runs */
size_t side_lives(const Side *x);                /* number of lives so far */
double side_kernel_life_ms(const Side *x, size_t k, size_t life); /* ms of kernel k in the life with this number */
double side_life_ms(const Side *x, size_t life); /* ms of a run in this life, as in side_ms */
Paired sides_paired(const Side *without, const Side *with); /* ratio of side_life_ms, of `with` to `without`, over all lives */
/* Measures both sides with sides_measure, and returns sides_paired. If the ratio is below `worth`, but the upper end of the
 * ratio's interval is not below `most`, up to lives.most further lives follow. This happens twice at most, and only before
 * lives.end. */
Paired sides_decide(Ctx *c, Races *r, Side *without, Side *with, Lives lives, int threads, double worth, double most);

/* ---- side_build.c ---- */
/* Builds the bundle in dir as a shared object, and returns the object's path. hooks: path of a header that becomes TGC_HOOKS
 * (docs/bundle.md); NULL: none */
const char *side_build(Ctx *c, Races *r, const char *dir, const Interface *f, const char *hooks);
void sides_close(Races *r);                      /* frees the lists of side_build; call it after the last build */
#endif

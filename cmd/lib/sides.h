/* SPDX-License-Identifier: MIT */
/* sides.h: compares several compilations of a model by their run times. Each compilation is called a side. The bundles of the
 * sides run in turn. Each side runs in several processes, one after another. A life of a side is one of these processes, from its
 * start to its end. A block is several runs of one side, one directly after another. */
#ifndef TGC_SIDES_H
#define TGC_SIDES_H
#include "../cmd.h"

typedef struct Side {
  const char *dir, *so;    /* dir: path of the bundle; so: path of the shared object built from the bundle */
  Interface f;
  Worker worker;           /* the process of the current life */
  Stamps stamps;
  size_t stamped;          /* number of runs in the current life so far */
  Reals runs, *kernels;    /* times in ms. runs: of whole runs. kernels: for each kernel, its times in these runs */
  Reals *of_life;          /* an element for each kernel, then an element for whole runs. Each element has a number for
                              each life: the 10th percentile of the times in this life, in ms */
} Side;

struct Races {             /* data that all comparisons share, and estimates of how long comparisons take */
  const Options *o;
  const char *scratch;
  const Target *target;    /* the machine, with the facts about it that are in the tuner's store */
  Tensor *in;              /* inputs of the model; NULL: not made yet */
  int jobs;                /* greatest number of C compilers that run at the same time; 0: one C compiler compiles the whole
                              bundle */
  Texts built, objects;    /* side_build.c: symbols of the kernels compiled so far; paths of the object files so far */
  double seconds;          /* run time of a side. Each of its lives gets an equal part. A life may take longer than this part,
                              because a life has at least two blocks */
  double begin, end;       /* times in ms by clock_ms: when the command began, and when it shall end */
  double plan, build, life; /* estimates in seconds: making a plan; building the next side; a life of only two blocks */
  double whole;            /* seconds that the first build of a side took. Later builds can be faster, since they may use object
                              files of earlier builds again */
  bool again;              /* a side was built before */
};
/* One measurement (sides_measure or sides_go_on) gives each side at least `least` and at most `most` lives. All sides begin and
 * end their lives together, and their blocks alternate. end: a time in ms by clock_ms. After `least` lives, a further life begins
 * only if it will probably end before `end`. */
typedef struct Lives {
  int most, least;
  double end;
} Lives;

Side side_open(Ctx *c, Races *r, const Plan *p); /* writes the bundle of p and builds it */
void side_close(Side *x);                        /* ends the side's process and frees its memory */
/* Drops the earlier times of these n sides, and measures the sides. threads: number of threads of each run */
void sides_measure(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
/* Measures these n sides in further lives, and keeps the earlier times. threads: as in sides_measure */
void sides_go_on(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
/* Estimate in seconds of the time that n sides take for `lives` lives each, if each life gets Races.seconds / `most` */
double sides_seconds(const Races *r, int n, int lives, int most);
double races_left(const Races *r);               /* seconds until r->end */
/* With -v, prints the seconds since r->begin, and the text of fmt, on stderr */
void races_note(const Races *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The time of a kernel is the 10th percentile of its times in all runs. */
bool side_stamped(const Side *x);                /* whether the times of x's kernels are known */
double side_kernel_ms(const Side *x, size_t k);  /* ms of kernel k */
double side_ms(const Side *x);                   /* ms of a run: the sum of the kernels' times. If these are not known, the 10th
                                                    percentile of the times of whole runs */
size_t side_lives(const Side *x);                /* number of lives so far */
double side_kernel_life_ms(const Side *x, size_t k, size_t life); /* ms of kernel k in the life with this index */
double side_life_ms(const Side *x, size_t life); /* as side_ms, for the runs of one life */
/* Compares two sides. Each life gives a pair (tune.h): the pair's ratio is side_life_ms of `with` divided by that of
 * `without`. */
Paired sides_paired(const Side *without, const Side *with);
/* Measures two sides with sides_measure, and returns the result of sides_paired. If Paired.ratio is below `worth`, but
 * Paired.high is not below `most`, the function measures up to lives.most further lives. It does so at most twice, and only
 * before lives.end. */
Paired sides_decide(Ctx *c, Races *r, Side *without, Side *with, Lives lives, int threads, double worth, double most);

/* ---- side_build.c ---- */
/* Builds the bundle in dir as a shared object, and returns the object's path. hooks: path of a header for TGC_HOOKS
 * (docs/bundle.md), or NULL */
const char *side_build(Ctx *c, Races *r, const char *dir, const Interface *f, const char *hooks);
void sides_close(Races *r);                      /* frees r->built and r->objects; to be called after the last build */
#endif

/* SPDX-License-Identifier: MIT */
/* sides.h: compares several compilations of a model by their run times. Each compilation is called a side. A side runs in several
 * processes, one after another. Each of these processes, from start to end, is called a life of the side. A block is several runs
 * of one side, without a pause between them. Blocks of different sides alternate. A model may have ranges of sizes. Then a
 * side has lives for each timed run (TunedRuns in tune.h). Such a life runs the model with the sizes of one timed run. The times
 * of the side are the means of its times in all timed runs. */
#ifndef TGC_SIDES_H
#define TGC_SIDES_H
#include "../cmd.h"

typedef struct Side {
  const char *dir, *so;    /* dir: path of the bundle; so: path of the shared object built from the bundle */
  Interface f;
  Worker worker;           /* the process of the current life */
  Stamps stamps;
  size_t stamped;          /* number of timed runs in the current life so far */
  Reals runs, *kernels;    /* times in ms. runs: the time of each run. kernels: a list for each kernel, with one time for each
                              run */
  Reals *of_life;          /* a list for each kernel, then a list for whole runs. Each list has one number for each life: the
                              10th percentile of the times in this life, in ms */
  const TunedRuns *timed;  /* for ranges of sizes: the timed runs; NULL: the model has no range */
  struct Side *in_run;     /* by timed run: a Side with the lives and times in this timed run. If in_run is set, the Side that
                              has in_run has no lives and no times. NULL: the model has no range */
  Tensor *in;              /* for an element of in_run: the inputs of the timed run; NULL: Races.in has the inputs */
} Side;

struct Races {             /* data that all comparisons share, and estimates of how long comparisons take */
  const Options *o;
  const char *scratch;
  const Target *target;    /* the target of all compilations */
  Tensor *in;              /* inputs of the model; NULL: not made yet */
  const TunedRuns *runs;   /* the timed runs of a model with ranges of sizes. NULL, or runs->n is 0: the model has no range */
  Tensor *in_run[TIMED_RUNS]; /* in_run[k]: inputs of timed run k */
  int jobs;                /* greatest number of C compilers that run at the same time; 0: one C compiler compiles the whole
                              bundle */
  Texts built, objects;    /* for side_build.c. built: symbols of the kernels that are compiled; objects: paths of the object
                              files that the next builds can use again */
  double seconds;          /* seconds that a side is to run in one measurement (Lives). Each life of the side gets an equal part.
                              A life has at least two blocks, and further ones until there are enough runs. So a life may take
                              longer than its part */
  double begin, end;       /* times in ms by clock_ms: when the command began, and when it shall end */
  double plan, build, life; /* estimates in seconds. plan: for making a plan; build: for the next call of side_open; life: for
                              a life that ends as soon as it has enough runs */
  double whole;            /* seconds that the first call of side_open took. Later calls can be faster, since they can use object
                              files of earlier builds again */
  double quickest;         /* estimate in seconds for a call of side_open that has no new kernels: the least time of a call */
  bool again;              /* side_open was called before */
  bool bare;               /* side_open builds without hooks, so the times of kernels are not known */
};
/* One measurement is one call of sides_measure or sides_go_on. The measurement gives each side at least `least` and at most
 * `most` lives. The lives of all sides begin together and end together. end: a time in ms by clock_ms. After `least` lives of
 * each side, further lives begin only if they will probably end before `end`. */
typedef struct Lives {
  int most, least;
  double end;
} Lives;

/* Compiles the model of r->o once more, without messages and without the store. Ignores decisions that are not legal there.
 * Notes the time in r->plan. schedule: path of the lock file to read, or "none". lock: path of the lock file to write; NULL:
 * none */
const Plan *plan_quietly(Ctx *c, Races *r, const char *schedule, const char *lock);
Side side_open(Ctx *c, Races *r, const Plan *p); /* writes the bundle of p, and builds this bundle */
Side side_open_at(Ctx *c, Races *r, const Plan *p, const char *dir); /* builds the bundle of p, which is in dir already */
void side_close(Side *x);                        /* ends the side's process and frees its memory */
/* Drops the earlier times of the n sides, and measures the sides anew. threads: number of threads that share each run */
void sides_measure(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
/* Measures the n sides in further lives, and keeps the earlier times. threads: as in sides_measure */
void sides_go_on(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads);
double side_life_seconds(const Races *r); /* estimate for a life of a side in all timed runs, as short as Races.life */
/* Estimates how many seconds n sides need for `lives` lives each. most: Lives.most of the measurement */
double sides_seconds(const Races *r, int n, int lives, int most);
/* Returns the number of lives of a side for one measurement: as many as Races.seconds suffices for, but at least `few` and at most
 * `many` */
int sides_lives(const Races *r, int few, int many);
double races_left(const Races *r);               /* seconds until r->end */
/* With -v, prints the seconds since r->begin, and the text of fmt, on stderr */
void races_note(const Races *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The following functions take the 10th percentile of measured times: of the times in all lives, or in one life. */
bool side_stamped(const Side *x);                /* whether the times of x's kernels are known */
double side_kernel_ms(const Side *x, size_t k);  /* ms of kernel k in a run */
double side_ms(const Side *x);                   /* ms of a run: the sum of the times of all kernels. If side_stamped is false,
                                                    the time of whole runs */
size_t side_lives(const Side *x);                /* number of lives whose times x has */
double side_kernel_life_ms(const Side *x, size_t k, size_t life); /* as side_kernel_ms, for the life with this index */
double side_life_ms(const Side *x, size_t life); /* as side_ms, for the life with this index */
/* Returns the element of x->in_run for timed run `run`, or x itself if the model has no range */
const Side *side_in_run(const Side *x, int run);
int side_runs(const Side *x);                    /* number of timed runs; 1 if the model has no range */
/* Compares two sides, which must have equally many lives. Life i of `without` and life i of `with` are a pair (tune.h). The ratio
 * of the pair is side_life_ms(with, i) / side_life_ms(without, i). */
Paired sides_paired(const Side *without, const Side *with);

/* ---- side_pair.c ---- */
typedef struct SidePair {  /* a comparison of two sides */
  Side *without, *with;
  const Plan *plan, *changed; /* the plans of `without` and `with`. If the times of kernels are known, only kernels that
                              differ count. NULL: whole runs count */
  Paired earlier;          /* the ratio by other measurements, which is pooled with the result; n 0: none */
} SidePair;
Paired side_pair_ratio(const SidePair *x);       /* the time of `with`, as a part of the time of `without` */
/* A comparison passes if x->ratio is below `worth`, and x->high is below `most`. Returns whether the comparison does not pass,
 * but might pass after further measurements, because x->low is below `worth`. */
bool is_open(const Paired *x, double worth, double most);
/* Measures two sides with sides_measure, and compares them with side_pair_ratio. As long as is_open returns true, measures up to
 * lives.most further lives, and compares again. There are at most two repetitions, and no repetition begins after lives.end.
 * Returns the result of the last comparison. */
Paired sides_decide(Ctx *c, Races *r, const SidePair *pair, Lives lives, int threads, double worth, double most);
/* Whether the kernels have the same nests. schedules: and the same schedules and chunks */
bool kernels_alike(const Kernel *x, const Kernel *y, bool schedules);

/* ---- side_build.c ---- */
/* Builds the bundle in dir as a shared object, and returns the object's path. hooks: path of a header for TGC_HOOKS
 * (docs/bundle.md), or NULL */
const char *side_build(Ctx *c, Races *r, const char *dir, const Interface *f, const char *hooks);
void sides_close(Races *r);                      /* frees r->built and r->objects; to be called after the last build */
#endif

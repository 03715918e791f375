/* SPDX-License-Identifier: MIT */
/* batch.h: internals of the tuner's batches. A batch is a child process with some candidates of a task. candidate_lower.c makes
 * programs of them and prices those; candidate_build.c makes code. race.c times it, candidate_verify.c compares its results,
 * and batch.c controls the steps. For devices, candidate_device.c makes the code and runs it, and candidate_images.c
 * compiles it for drivers that take no text. A batch talks to the tuner by lines on its standard output. */
#ifndef TGC_BATCH_H
#define TGC_BATCH_H
#include "../target/device_driver.h"
#include "tune.h"

typedef void (*RunFn)(void *const *);
typedef struct Given {
  ScheduleSource source;
  const char *opts;
  PlanInputs in;
} Given;                                                 /* a source that gives each nest the schedule `opts` */
typedef struct Time { double warm, cold, spread; } Time; /* microseconds; spread is relative */

typedef struct Batch {
  Lab *lab;
  const Task *task;
  VEC(int) which;          /* candidates of the task; the first is the incumbent */
  const char *stem;        /* start of file names */
  bool compares;           /* the batch has two candidates; the first is the reference for the results of the second */
  Child child;
  double best;             /* seconds of the fastest run so far */
  Given given;
  /* the current candidates, by kernel */
  Plan plan;
  VEC(int) kept;           /* the candidate's index in the list `which` */
  VEC(RunFn) run;          /* functions in the timing process */
  VEC(const char *) libs;
  VEC(int) lib_of, at_in;  /* library, and index in its table */
  bool *bad;               /* failed: not to be run again */
  bool *in_program;        /* on a device: the driver accepts it */
  Time *time;              /* measured times; warm 0: not measured */
} Batch;

static inline int place_in_task(const Batch *b, int kernel) { return b->which.p[b->kept.p[kernel]]; }

/* ---- candidate_lower.c ---- */
void plan_begin(const Lab *b, const Backend *backend, Given *g, Plan *p);
const Kernel *plan_add(Plan *p, Ref nest, const char *opts);
double program_cycles(const Lab *b, const Refs *prog, const CacheState *state); /* estimated; state: of its data; NULL: near */

/* ---- candidate_build.c ---- */
void read_headers(Lab *lab);       /* precompiles the C headers of candidates, such as immintrin.h, once enough files included them */
void ready_incumbent(Lab *lab, const Task *t); /* in the tuner, before it forks: Lab.screen compiles the incumbent once */
const Ready *find_ready(const Batch *b); /* the compiled incumbent; NULL: it is not compiled */
/* prints kernels first to first+n-1 as C. For kernel I it also prints a function cI that calls it. All cI have
 * one type, and a table lists them */
void write_source(Batch *b, int first, int n, Sb *out);
/* builds all candidates that Lab.built does not have; reports those that the compiler refuses, and marks them as bad */
void build_all(Batch *b);
bool take_built(Batch *b, const char *line); /* in the tuner: a line of build_all, which the lab remembers */
void load_libraries(Batch *b);     /* in the process that runs the code */

/* ---- job_nest.c ---- */
void job_put(Batch *b, int number); /* files of nest `number` of a job, in the lab's scratch folder */

/* ---- candidate_memory.c ---- */
void *memory(int64_t bytes);       /* allocates; ends the process if there is too little memory */
/* hard: some values are infinities, NaN, denormals and the like */
void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard);

/* ---- candidate_caches.c ---- */
typedef struct Placed { /* a buffer of a candidate */
  void *p;
  int64_t bytes;
  MemoryLevel level;
  bool written;            /* other kernels write it */
} Placed;
int64_t caches_other(const Target *t); /* bytes of other memory that caches_place needs */
void caches_place(const Target *t, void *other, const Placed *x, int n); /* each buffer at its level */

/* ---- race.c ---- */
/* Runs candidates in the timing process, which ends if one cannot run. */
typedef struct Course {
  void *(*begin)(Batch *b);
  double (*once)(void *self, int kernel, int repeat); /* seconds of one run; repeat: number of runs */
  void (*sample)(void *self, int kernel, int repeat, double *warm, double *cold);
} Course;
void race_all(Batch *b, bool quick); /* times candidates that are not bad; reports those that crash or hang */

/* ---- candidate_device.c ---- */
extern const Course device_course;
void device_build(Batch *b);       /* all work before the race: the driver compiles the candidates */
/* most seconds in which the driver makes a program, or runs a kernel for the first time; more for the incumbent */
double driver_limit(const Batch *b, bool incumbent);
/* Call it if the driver refuses the program. Reports candidates that the driver refuses even alone, and marks them as bad. */
void device_refused(Batch *b, const char *why);
void device_pass_on(const char *line); /* a child's line; if it says that device or compiler is gone, this batch ends */
void device_ask(const Batch *b);   /* ends this batch, and then the search, if the device is gone; a CPU is never gone */
void *device_compare_open(Batch *b); /* a session for comparing two candidates; it ends with the process */
/* runs a kernel in that session; for each buffer i that kernel 0 writes, mem[i] becomes the contents of buffer i */
void device_outputs(Batch *b, void *session, int kernel, int seed, bool hard, void **mem);

/* ---- candidate_images.c ---- */
typedef VEC(tgcrt_image) NetImages;
ImageOrder candidate_order(const Lab *lab, const char *file, Bytes text); /* file: name of the text, for messages */
/* Makes the images of a text; call it in a child, because the process ends if there is no compiler. NULL: the images are in out;
 * else why not */
const char *candidate_images(const Lab *lab, const char *text, NetImages *out);
#endif

/* batch.h: internal to the tuner's batches. A batch is a child process with some candidates of a task: candidate_lower.c makes
 * programs of them and prices those, candidate_build.c code, race.c times it, candidate_verify.c compares its results, and
 * batch.c says when. For devices candidate_device.c makes the code and runs it. A batch talks to the tuner by lines on its standard output. */
#ifndef TGC_BATCH_H
#define TGC_BATCH_H
#include "tune.h"

typedef void (*RunFn)(void *const *);
typedef struct Given {
  ScheduleSource source;
  const char *opts;
  PlanInputs in;
} Given;                                                 /* one schedule for whoever asks */
typedef struct Time { double warm, cold, spread; } Time; /* microseconds; relative */

typedef struct Batch {
  Lab *lab;
  const Task *task;
  VEC(int) which;          /* candidates of the task; the first is the incumbent */
  const char *stem;        /* of file names */
  bool compares;           /* the first is the reference for the other one */
  Child child;
  double best;             /* seconds of the fastest run so far */
  Given given;
  /* those in work, by kernel */
  Plan plan;
  VEC(int) kept;           /* place in which */
  VEC(RunFn) run;          /* in the process that times */
  VEC(const char *) libs;
  VEC(int) lib_of, at_in;  /* library, place in its table */
  bool *bad;               /* not to be run again */
  bool *in_program;        /* of a device: the driver takes it */
  Time *time;              /* as measured; warm 0: not */
} Batch;

static inline int place_in_task(const Batch *b, int kernel) { return b->which.p[b->kept.p[kernel]]; }

/* ---- candidate_lower.c ---- */
void plan_begin(const Lab *b, const Backend *backend, Given *g, Plan *p);
const Kernel *plan_add(Plan *p, Ref nest, const char *opts);
double program_cycles(const IR *ir, const Refs *prog, const Target *t); /* by counting */

/* ---- candidate_build.c ---- */
void read_headers(Lab *lab);       /* once, when it pays */
void ready_incumbent(Lab *lab, const Task *t); /* in the tuner, before it forks: the screen makes code of it, once */
const Ready *find_ready(const Batch *b); /* NULL: it was not */
void build_all(Batch *b);          /* but what the lab has; those that no compiler takes are bad, and told */
bool take_built(Batch *b, const char *line); /* a line of build_all's, in the tuner: the lab knows it now */
void load_libraries(Batch *b);     /* in the process that runs the code */

/* ---- candidate_memory.c ---- */
void *memory(int64_t bytes);       /* ends the process when there is none */
void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard); /* hard: now and then what arithmetic trips over */

/* ---- race.c ---- */
/* How candidates are run in the process that times them. What it cannot run ends the process. */
typedef struct Course {
  void *(*begin)(Batch *b);
  double (*once)(void *self, int kernel, int repeat); /* seconds of one of so many runs */
  void (*sample)(void *self, int kernel, int repeat, double *warm, double *cold);
} Course;
void race_all(Batch *b, bool quick); /* times what is not bad; what crashes or hangs becomes so, and is told */

/* ---- candidate_device.c ---- */
extern const Course device_course;
void device_build(Batch *b);       /* all that is to be done before they race: the driver makes code there */
double driver_limit(const Batch *b, bool incumbent); /* seconds for a program, and for the first run of a kernel */
/* the driver does not take all of them: those that it refuses alone are bad, and told */
void device_refused(Batch *b, const char *why);
/* what two kernels store, in a process of their own: the memory of each buffer that the first one writes */
void *device_compare_open(Batch *b);
void device_outputs(Batch *b, void *session, int kernel, int seed, bool hard, void **mem);
#endif

/* SPDX-License-Identifier: MIT */
/* batch.h: internals of the tuner's batches. A batch is a child process that tries some candidates of a task. A task (tune.h) is
 * a nest with candidates: schedules to try for this nest. The batch's plan has a kernel for each candidate.
 * candidate_lower.c makes programs of the kernels, and estimates the time of the programs. candidate_build.c makes code. race.c
 * times the code, candidate_verify.c compares results, and batch.c controls the steps. For devices, candidate_device.c makes and
 * runs the code. Some drivers take no text; for these drivers, candidate_images.c compiles the code. A batch talks to the tuner
 * by lines on the batch's standard output. */
#ifndef TGC_BATCH_H
#define TGC_BATCH_H
#include "../target/device_driver.h"
#include "tune.h"

typedef void (*RunFn)(void *const *); /* the function of a candidate; its argument has the addresses of the buffers */
typedef struct Given {
  ScheduleSource source;
  const char *opts;
  PlanInputs in;
} Given; /* source: gives each nest the schedule `opts`. in: Plan.in of a plan that uses this source */
/* Microseconds of a run. warm: with the data in the caches. cold: after a flush of the caches. If Task.state is set, both are the
 * time of a run with the data where Task.state says. On a device, both are the least time of some runs. spread, at: as in
 * Trial (tune.h) */
typedef struct Time { double warm, cold, spread, at[TIMED_RUNS]; } Time;

typedef struct Batch {
  Lab *lab;                /* the state that all batches share (tune.h) */
  const Task *task;
  VEC(int) which;          /* indices in Task.cand of the batch's candidates. The first candidate is the incumbent or, if
                              `compares` is set, the reference, which has the empty schedule */
  const char *stem;        /* start of the names of the batch's files */
  bool compares;           /* the batch has two candidates, and only compares their results */
  Child child;
  double best;             /* seconds of the fastest run so far. If Task.sized is set: the least number of seconds that all timed
                              runs of a candidate took together */
  Given given;
  /* The plan has a kernel for each candidate that is tried now. All arrays below, except for libs and sizes_here, have an
   * element for each kernel of the plan. */
  Plan plan;
  VEC(int) kept;           /* index of the kernel's candidate in `which` */
  VEC(RunFn) run;          /* the candidate's function, in the process that times the candidate */
  VEC(const int64_t *) sizes; /* for ranges of sizes: a table in the candidate's library (candidate_sizes.c). For each run of
                              Lab.runs, the table has the value of each row of IR.sizes. NULL: the candidate uses sizes_here */
  VEC(size_t) rows;        /* if the candidate has such a table: number of values for each run */
  const struct Course *course; /* if Task.sized is set: the functions by which sizes_course runs candidates */
  const int64_t *sizes_here[TUNED_RUNS]; /* by run of Lab.runs: the value of each row of IR.sizes of this process; NULL: not
                              computed yet */
  VEC(const char *) libs;  /* paths of compiled libraries */
  VEC(int) lib_of, at_in;  /* lib_of: index of the candidate's library in libs; -1: none. at_in: index of the candidate's function
                              in the table of this library */
  bool *bad;               /* the candidate failed, and will not run again */
  bool *in_program;        /* on a device: the candidate is in the program that is passed to the driver */
  Time *time;              /* measured times; warm 0: not measured */
} Batch;

/* Returns the index in Task.cand of the kernel's candidate. */
static inline int place_in_task(const Batch *b, int kernel) { return b->which.p[b->kept.p[kernel]]; }

/* ---- candidate_lower.c ---- */
void plan_begin(const Lab *b, const Backend *backend, Given *g, Plan *p); /* sets *g, and sets *p to an empty plan that uses *g */
/* Adds a kernel to a plan of plan_begin: the nest with this schedule, lowered to a program. Returns the kernel. The returned
 * pointer is valid until the next call. */
const Kernel *plan_add(Plan *p, Ref nest, const char *opts);
/* Returns the estimated cycles of a program. state: where the program finds its data; NULL: all data were accessed just before.
 * If `sized` is true, returns the mean over the timed runs of Lab.runs, and `state` is an array with a state for each of them */
double program_cycles(const Lab *b, const Refs *prog, const CacheState *state, bool sized);

/* ---- candidate_build.c ---- */
void read_headers(Lab *lab);       /* precompiles headers such as immintrin.h, if enough files have included them */
/* To be called in the tuner's process before batches start. Lowers the incumbent, and compiles it with Lab.screen, so that all
 * batches inherit the code. If the incumbent is too long, leaves its compilation to the batches. Does nothing if Lab.screen is
 * NULL. */
void ready_incumbent(Lab *lab, const Task *t);
const Ready *find_ready(const Batch *b); /* returns the element of Lab.ready for b's incumbent; NULL if there is none */
/* Appends C code of kernels number first to first + n - 1. For kernel number first + I, the code also has a function cI of type
 * RunFn that calls the kernel. A table in the code lists these functions. */
void write_source(Batch *b, int first, int n, Sb *out);
/* Compiles the candidates whose code is not in Lab.built. Reports candidates that the compiler refuses, and marks them as bad. */
void build_all(Batch *b);
/* To be called in the tuner's process. If build_all has sent this line, notes what the line says. Returns false for other
 * lines. */
bool take_built(Batch *b, const char *line);
void load_libraries(Batch *b);     /* sets b->run, in the process that runs the code */

/* ---- candidate_sizes.c: sizes of runs, for code of candidates. A sized kernel takes a table as its last argument: the value of
 * each row of IR.sizes in this run. Each batch has a copy of the IR, and adds rows of its own. So code that other batches may use
 * brings its tables along ---- */
/* Appends C code for tables of all runs of Lab.runs, which take_size_table finds. Does nothing if the model has no range */
void put_size_tables(const Lab *lab, Sb *out);
/* Sets Batch.sizes and Batch.rows for the kernel. lib: handle of the library with the candidate's code; NULL: the code was made
 * in this process, or in the tuner's process */
void take_size_table(Batch *b, size_t kernel, void *lib);
const int64_t *sizes_in_run(Batch *b, int kernel, int run); /* returns the kernel's table for run number `run` of
                                                               Lab.runs; NULL if the model has no range */
/* Sets IR.run, so that later estimates of candidate_lower.c are for timed run number `run`; run -1: for the greatest sizes */
void ir_set_run(const Lab *lab, int run);

/* ---- job_nest.c ---- */
void job_put(Batch *b, int number); /* writes the files of a job for the nest with this number to Lab.scratch */

/* ---- candidate_memory.c ---- */
void *memory(int64_t bytes);       /* allocates; ends the process if there is too little memory */
void memory_free(void *p, int64_t bytes); /* frees p, which a call memory(bytes) has returned */
/* Fills memory with random values. hard: some of the values are infinities, NaN, denormals and the like */
void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard);

/* ---- candidate_caches.c ---- */
typedef struct Placed { /* a buffer of a candidate */
  void *p;
  int64_t bytes;
  MemoryLevel level;       /* the level of cache or memory in which a run shall find the buffer */
  bool written;            /* true: caches_place writes to the buffer, as earlier kernels do, but keeps the contents. false:
                              caches_place only reads the buffer, which has weights */
} Placed;
int64_t caches_other(const Target *t); /* size in bytes of the argument `other` of caches_place */
/* Brings each of n buffers to Placed.level. other: a memory of caches_other bytes. Accesses to this memory displace other data
 * from the caches. */
void caches_place(const Target *t, void *other, const Placed *x, int n);

enum { SAMPLES_MOST = 11 }; /* most samples that a race takes of a candidate (tune_race.h) */

/* ---- race.c ---- */
/* How candidates run in the process that times them. This process ends if a candidate cannot run. kernel: number of the
 * candidate's kernel in the plan */
typedef struct Course {
  void *(*begin)(Batch *b); /* to be called first; returns `self` of the other functions */
  double (*once)(void *self, int kernel, int repeat); /* makes `repeat` runs; returns the mean time of a run in seconds, on a
                                                         device the least time */
  /* Sets *warm and *cold to the seconds of a run, as in Time. repeat: number of runs for *warm; a device ignores `repeat` */
  void (*sample)(void *self, int kernel, int repeat, double *warm, double *cold);
  void (*set_run)(void *self, int run); /* gives the following runs the sizes of run number `run` of Lab.runs; NULL: the sizes
                                           never change */
  void (*end)(void *self); /* to be called after the last sample; NULL: there is nothing to do */
} Course;
/* Times the candidates that are not bad. Reports candidates that crash or hang, and marks them as bad. quick: the code is the
 * screen's, and is timed for a short time */
void race_all(Batch *b, bool quick);

/* ---- race_sizes.c ---- */
/* Times candidates in the timed runs of Lab.runs, by the functions of Batch.course. The time of a candidate is the mean of its
 * times in these runs (mean_of_runs in tune.h). At the end, sends the tuner a line "sizes" for each candidate that has run. The
 * line has the candidate's typical time in each timed run, the lower quartile of its samples. */
extern const Course sizes_course;

/* ---- candidate_device.c ---- */
extern const Course device_course;
void device_build(Batch *b);       /* prepares the race: compiles images if the driver takes no text */
/* Returns how many seconds the driver may take to make a program, or to run a kernel for the first time. incumbent: the program
 * or kernel is the incumbent's, so the driver may take longer */
double driver_limit(const Batch *b, bool incumbent);
/* To be called if the driver refuses the program with all candidates; why: the reason. Tries programs with half of the
 * candidates. Halves each refused program again, until a program has only one candidate. Reports candidates that are refused
 * alone, and marks them as bad. If there are no such candidates, leaves out half of all candidates. */
void device_refused(Batch *b, const char *why);
/* If the line says that the device or the compiler does not answer any more: sends the line to the tuner, and ends this
 * process. */
void device_pass_on(const char *line);
void device_ask(const Batch *b);   /* if the device does not answer any more: tells the tuner, and ends this process */
void *device_compare_open(Batch *b); /* opens the driver, for comparing two candidates; returns `session` of device_outputs */
/* Runs a kernel on random inputs. Kernel 0 is the reference's. For each buffer i that kernel 0 writes, sets mem[i] to a new copy
 * of the buffer's contents after this run. seed, hard: as in fill */
void device_outputs(Batch *b, void *session, int kernel, int seed, bool hard, void **mem);

/* ---- candidate_images.c ---- */
typedef VEC(tgcrt_image) NetImages; /* images in the form that the runtime takes */
/* Returns the argument of Backend.images for compiling a text with candidates. file: the text's name in messages */
ImageOrder candidate_order(const Lab *lab, const char *file, Bytes text);
/* Compiles a text, and appends the images to *out. Must be called in a child process, since the function ends the process if
 * there is no compiler. Returns NULL, or the reason why there are no images. */
const char *candidate_images(const Lab *lab, const char *text, NetImages *out);
#endif

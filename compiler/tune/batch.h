/* SPDX-License-Identifier: MIT */
/* batch.h: internals of the tuner's batches. A batch is a child process with some candidates of a task. A task (tune.h) is one
 * nest and the candidates to try for it. Each candidate is a schedule, which becomes a kernel of the batch's plan.
 * candidate_lower.c makes programs of the kernels, and prices the programs. candidate_build.c makes code. race.c times the code,
 * candidate_verify.c compares results, and batch.c controls the steps. For devices, candidate_device.c makes and runs the code. Some
 * drivers take no text; for these, candidate_images.c compiles the code. A batch talks to the tuner by lines on its standard
 * output. */
#ifndef TGC_BATCH_H
#define TGC_BATCH_H
#include "../target/device_driver.h"
#include "tune.h"

typedef void (*RunFn)(void *const *); /* runs a candidate on buffers at these addresses */
typedef struct Given {
  ScheduleSource source;
  const char *opts;
  PlanInputs in;
} Given; /* source: gives each nest the schedule `opts`. in: the inputs of a plan that uses this source */
/* Microseconds of a run with the data in the caches (warm) and after a flush (cold). If Task.state is set, both are the time with
 * the data in that state. spread: as in Trial */
typedef struct Time { double warm, cold, spread; } Time;

typedef struct Batch {
  Lab *lab;                /* the state that all batches share (tune.h) */
  const Task *task;
  VEC(int) which;          /* the batch's candidates, by index in Task.cand; the first is the incumbent */
  const char *stem;        /* start of the names of the batch's files */
  bool compares;           /* the batch has two candidates; the first is the reference for the results of the second */
  Child child;
  double best;             /* seconds of the fastest run so far */
  Given given;
  /* the current candidates: one kernel of the plan for each. The arrays below are by the kernel's number in the plan */
  Plan plan;
  VEC(int) kept;           /* the candidate's index in the list `which` */
  VEC(RunFn) run;          /* the candidate's function, in the process that times */
  VEC(const char *) libs;  /* not by kernel: paths of compiled libraries */
  VEC(int) lib_of, at_in;  /* the candidate's library, as index in libs; index of its function in the library's table */
  bool *bad;               /* the candidate failed, and is not run again */
  bool *in_program;        /* on a device: the candidate is in the program that the driver gets */
  Time *time;              /* measured times; warm 0: not measured */
} Batch;

/* Index in Task.cand of the candidate */
static inline int place_in_task(const Batch *b, int kernel) { return b->which.p[b->kept.p[kernel]]; }

/* ---- candidate_lower.c ---- */
void plan_begin(const Lab *b, const Backend *backend, Given *g, Plan *p); /* makes an empty plan for candidates */
const Kernel *plan_add(Plan *p, Ref nest, const char *opts); /* adds the nest with this schedule, lowered to a program */
/* Estimated cycles of a program. state: where its data are; NULL: all data were accessed just before */
double program_cycles(const Lab *b, const Refs *prog, const CacheState *state);

/* ---- candidate_build.c ---- */
void read_headers(Lab *lab);       /* precompiles headers such as immintrin.h, once enough files have included them */
/* For the tuner, before it forks. Lab.screen compiles the incumbent, so that all batches inherit the code. Batches compile a long
 * incumbent themselves. */
void ready_incumbent(Lab *lab, const Task *t);
const Ready *find_ready(const Batch *b); /* the incumbent's entry in Lab.ready; NULL: there is none */
/* Appends kernels first to first + n - 1 as C. For kernel first + I there is also a function cI that calls the kernel. The
 * functions cI have the type RunFn, and a table lists them. */
void write_source(Batch *b, int first, int n, Sb *out);
/* Compiles all candidates that Lab.built lacks. Reports candidates that the compiler refuses, and marks these as bad. */
void build_all(Batch *b);
bool take_built(Batch *b, const char *line); /* in the tuner: notes a line that build_all sent; false: another line */
void load_libraries(Batch *b);     /* for the process that runs the code: sets b->run */

/* ---- job_nest.c ---- */
void job_put(Batch *b, int number); /* writes files for nest `number` of a job to the lab's scratch folder */

/* ---- candidate_memory.c ---- */
void *memory(int64_t bytes);       /* allocates; ends the process if there is too little memory */
/* Fills memory with random values. hard: some are infinities, NaN, denormals and the like */
void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard);

/* ---- candidate_caches.c ---- */
typedef struct Placed { /* a buffer of a candidate */
  void *p;
  int64_t bytes;
  MemoryLevel level;       /* the level of cache or memory in which a run is to find it */
  bool written;            /* other kernels write the buffer */
} Placed;
int64_t caches_other(const Target *t); /* bytes of further memory that caches_place accesses */
/* Accesses n buffers and the further memory `other`, so that each buffer is then in its level */
void caches_place(const Target *t, void *other, const Placed *x, int n);

/* ---- race.c ---- */
/* How candidates run in the process that times them. This process ends if a candidate cannot run. self: what `begin` returned */
typedef struct Course {
  void *(*begin)(Batch *b);
  double (*once)(void *self, int kernel, int repeat); /* seconds of a run: the mean of `repeat` runs, on a device the least */
  void (*sample)(void *self, int kernel, int repeat, double *warm, double *cold); /* seconds of a warm and of a cold run */
} Course;
void race_all(Batch *b, bool quick); /* times candidates that are not bad; reports crashes and hangs; quick: for the screen */

/* ---- candidate_device.c ---- */
extern const Course device_course;
void device_build(Batch *b);       /* the work before the race: compiles images, if the driver takes no text */
/* Most seconds that the driver may take to make a program, or to run a kernel for the first time. incumbent: the program
 * or kernel is the incumbent's, which may take longer */
double driver_limit(const Batch *b, bool incumbent);
/* To be called if the driver refuses the program of all candidates. Reports candidates that the driver refuses even alone, and
 * marks these as bad. If the driver refuses no single candidate, half of the candidates are left out. */
void device_refused(Batch *b, const char *why);
void device_pass_on(const char *line); /* if the line says that the device or the compiler is gone: tells the tuner, and
                                          ends this process */
void device_ask(const Batch *b);   /* if the device is gone: tells the tuner, and ends this process */
void *device_compare_open(Batch *b); /* a session for comparing two candidates; it ends with the process */
/* Runs a kernel on random inputs. session: from device_compare_open. For each buffer i that kernel 0 writes, mem[i] gets the
 * contents of buffer i. seed, hard: as in fill */
void device_outputs(Batch *b, void *session, int kernel, int seed, bool hard, void **mem);

/* ---- candidate_images.c ---- */
typedef VEC(tgcrt_image) NetImages; /* images as the runtime takes them */
/* The order for Backend.images to compile a text of candidates; file: the text's name in messages */
ImageOrder candidate_order(const Lab *lab, const char *file, Bytes text);
/* Appends the images of a text to *out. Only for a child: the process ends if there is no compiler. Returns NULL, or the reason
 * why there are no images */
const char *candidate_images(const Lab *lab, const char *text, NetImages *out);
#endif

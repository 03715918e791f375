/* SPDX-License-Identifier: MIT */
/* tune.h: the tuner, its store, and lock files. The tuner searches for fast schedules by measurements, and keeps the measurements
 * in its store. A session is one run of the tuner. A lock file has the schedules and decisions of one model. A candidate is a
 * schedule that the tuner tries for a nest. The incumbent is the candidate with which the tuner compares the other candidates:
 * the best schedule of the nest so far.
 *
 * machine_key.c names the place for which measurements hold: machine and compiler, or device and driver. cache_state.c tells
 * in which cache a nest finds its data in a run of the model. store.c keeps measurements. neighbours.c varies a schedule.
 * batch.c lowers, compiles and times many candidates in child processes, called batches. sandbox.c starts these processes.
 * batch.h says which source files batches use. search.c is the beam search over candidates. job.c writes candidates for another
 * machine, and import.c reads the measurements of that machine. */
#ifndef TGC_TUNE_H
#define TGC_TUNE_H
#include "../driver.h"
#include "../opt/opts.h"
#include <sys/types.h>

double tune_clock(void);                             /* returns the seconds of a monotonic clock */
double tune_work(void);                              /* returns the CPU seconds of this process and of its ended children */
/* Returns whether n is 64, and the n characters at s are hexadecimal digits in lower case. */
bool key_ok(const char *s, size_t n);

/* ---- lock.c: a text file of schedules next to a model ---- */
typedef struct LockLine {  /* the schedule of the nest with this key */
  char key[65];
  const char *opts;        /* the schedule as text */
  double micros;           /* measured microseconds of a run of the nest with this schedule; 0: not measured */
  bool partial;            /* the search for the schedule was not finished */
  bool model;              /* the cost model chose the schedule; nothing was measured */
  const char *note;        /* where the schedule comes from, in words. For a model with ranges of sizes, the note begins with the
                              times of the nest in some runs, if these are known */
  const char *measured;    /* the times with which the note begins; NULL: the note begins with no times */
  bool used;               /* the compilation has asked for the schedule of this key */
} LockLine;
typedef struct Lock {
  ScheduleSource source;   /* must be the first member: lock.c turns a pointer to `source` into a pointer to the Lock */
  const char *path;
  int version;             /* version of the file's format */
  VEC(LockLine) lines;     /* sorted by key, until lock_complete appends lines */
  Decisions *decisions;    /* decisions from the file, and decisions that passes made; lock_write writes only those that passes
                              made. NULL: no decisions */
  const Decision *chosen;  /* nchosen further decisions that lock_write writes */
  size_t nchosen;
} Lock;
enum { LOCK_LIMIT = 64 << 20 };                      /* most bytes of a lock file */
Lock *lock_read(Ctx *c, const char *path);           /* fails with EX_NOINPUT_ or EX_BADMODEL; result in c->model */
void lock_report(Ctx *c, const Lock *l);             /* warns of schedules and decisions in l that the compilation did not use */
/* Gives each nest of the plan a line with the nest's complete schedule. If the schedule came from a line of the lock file, that
 * line keeps its time and its note. */
void lock_complete(Ctx *c, Lock *l, const Plan *p);
void lock_write(Ctx *c, Lock *l, const char *path);  /* sorts the lines and writes the file, all or nothing; fails with
                                                        EX_NOWRITE */

/* ---- machine_key.c ---- */
/* The place for which times hold: machine and compiler, or device and driver. text: the place in words; id: digest of the text */
typedef struct Place { const char *text; char id[65]; } Place;
/* Name of the environment variable that says which device tgc uses by default. A bundle reads the variable NAME_DEVICE, where
 * NAME is the bundle's name in capitals. So a bundle called net reads NET_DEVICE, too. */
#define DEVICE_VARIABLE "NET_DEVICE"
typedef VEC(const char *) Words;
void split_words(Ctx *c, const char *s, Words *out); /* appends the words between spaces, tabs and newlines; s may be NULL */
void compiler_words(Ctx *c, Words *out);             /* appends the words of the environment variable CC, or "cc" */
/* Sets *p to the place of this machine, or of a device if b has a driver. device: the device's number, or a part of its name;
 * NULL: the default device. Returns false if no compiler works, or the device does not answer. */
bool place_find(Ctx *c, const Backend *b, const char *device, Place *p);
/* Returns the place that place_find finds. Where place_find returns false, place_here fails with EX_MISSING, EX_NOWRITE or
 * EX_RETRY. */
Place place_here(Ctx *c, const Backend *b, const char *device);
/* Sets *p to the place of a device that can run the plan. archs: architectures of the plan's images; NULL: the target's. device:
 * as in place_find. Returns 0. If there is no such device, returns EX_MISSING, and sets *why to the reason. */
int device_for_plan(Ctx *c, const Plan *plan, const char *archs, const char *device, Place *p, const char **why);
const char *device_missing(Ctx *c, const Backend *b, const char *device); /* returns why the device does not answer; NULL if it
                                                                             answers */

/* Returns the place for decisions. This place's text is the text of p, followed by `wanted`, which is the target and the options
 * in words. The keys of decisions do not depend on the target and the options, so the place must depend on these. */
Place place_for(Ctx *c, const Place *p, const char *wanted);
/* Returns the place for times that are measured with the data in a cache state. This place's text is the text of p, followed by
 * `state`, which is the text of the cache state (CacheState.text). */
Place place_with(Ctx *c, const Place *p, const char *state);
const char *cpu_identity(Arena *a);                  /* this CPU in words: name, features and sizes of caches; in arena `a` */

/* ---- paired.c ---- */
/* Compares the time of a program with the time of a changed program. A pair is two processes, one for each program. The
 * ratio of a pair is the time of the changed program, divided by the time of the other program. ratio: geometric mean of the
 * ratios of n pairs; 1 if n is 0. low, high: ends of the 90 % confidence interval of this mean; low is 0 and high is infinity if
 * n is 0 or 1. */
typedef struct Paired { double ratio, low, high; size_t n; } Paired;
Paired paired_of(const double *log_ratio, size_t n); /* log_ratio: the natural logarithm of the ratio of each pair */
/* As paired_of, but one disturbed process has little influence on the result. If n is 6 to 256, leaves out the k pairs with the
 * least ratios and the k pairs with the greatest ratios. k is n / 8, but at least 1 */
Paired paired_trimmed(const double *log_ratio, size_t n);
/* Returns the mean of two independent estimates of one ratio. Each counts by the inverse square of the width of
 * its interval. n is that of y. */
Paired paired_pooled(Paired x, Paired y);
/* Returns the estimate of the product of two ratios that were measured independently. n is the lesser one. */
Paired paired_product(Paired x, Paired y);
Paired paired_widened(Paired x, double by);          /* returns x; its interval allows for an error of this share of the ratio */

/* ---- store_machine.c: facts of CPUs in the store ---- */
/* path: the store's file; NULL: there is no file. cpu: a CPU, named as by cpu_identity. text: facts about this CPU, as
 * cpu_print writes them. store_machine returns the stored text in c->model, or NULL if the store has no facts about this CPU. */
const char *store_machine(Ctx *c, const char *path, const char *cpu);
bool store_put_machine(Ctx *c, const char *path, const char *cpu, const char *text); /* returns false if the store cannot be
                                                                                        written */

/* ---- tuned_runs.c: runs of a model with ranges of sizes. Candidates are timed in some of these runs, called the timed runs.
 * The results of candidates are compared in all of them ---- */
/* TIMED_RUNS: greatest number of timed runs. TUNED_RUNS: greatest number of runs in which results are compared */
enum { TIMED_RUNS = 3, TUNED_RUNS = 10 };
typedef struct TunedRun {
  RunSizes sizes;
  double weight;           /* weight of the time in this run. The weights of all timed runs add up to 1 */
  const char *text;        /* the sizes in words: "seq=128", "batch=1,seq=128" */
} TunedRun;
/* timed: number of timed runs, which come first in `run`. They have the least sizes above 0, the typical sizes and the greatest
 * sizes. For a range without a typical size, a size between the least and the greatest one is used instead. If no range has a
 * typical size, the timed runs have equal weights. Runs with the same sizes become one run. n: number of all runs; 0: the model
 * has no range */
typedef struct TunedRuns { int timed, n; TunedRun run[TUNED_RUNS]; } TunedRuns;
TunedRuns tuned_runs(Ctx *c, const IR *ir);          /* returns the runs for the ranges of ir->symbols */
int main_run(const TunedRuns *r);                    /* returns the index of a timed run with the greatest weight */
/* Returns the geometric mean of the times in the timed runs, with TunedRun.weight. at: by timed run, a time */
double mean_of_runs(const TunedRuns *r, const double *at);
/* Compares the times of two candidates. Returns the index of the first timed run in which the time in `at` is more than `most`
 * times the time in `other`; -1: there is no such run. at, other: by timed run, a time; 0: not known. Skips runs for which one of
 * the times is not known */
int run_that_loses(const TunedRuns *r, const double *at, const double *other, double most);
/* Returns the times as text: "seq=1 1.2 us, seq=512 17 us". at: by timed run, microseconds */
const char *times_of_runs(Ctx *c, const TunedRuns *r, const double *at);
bool nest_is_sized(IR *ir, Ref nest);                /* whether the time of the nest may depend on the sizes of a run */
int64_t needed_elems(const IR *ir, const Buf *b, const int64_t *run); /* number of elements of b that a run needs; run
                                                                         NULL: all elements */
/* Returns whether a run needs element `index` of buffer b, which a kernel writes. A run needs no elements of padding. `index`
 * counts the elements as they lie in memory. Memory of the caller is laid out for the run's sizes, and other memory for the
 * greatest sizes. run NULL: returns true */
bool element_counts(const IR *ir, const Buf *b, int64_t index, const int64_t *run);
const int64_t *size_values(const IR *ir, const int64_t *run); /* returns an array in ir->ctx->model: the value of each
                                                                   row of IR.sizes in the run */

/* ---- cache_state.c: where a nest finds its data in a run of the whole model ---- */
typedef enum { LEVEL_UNKNOWN, LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVELS } MemoryLevel;
extern const char *const cache_level_name[LEVELS];
typedef struct DataSeen {   /* a buffer of a nest; a model may use the nest several times */
  int buf;                 /* number of the buffer that the first use of the nest accesses */
  bool written;            /* the nest stores to the buffer */
  int at[LEVELS];          /* by level: number of uses of the nest that find the buffer at this level */
  MemoryLevel level;       /* the median of the levels of all uses; set by cache_state_close */
} DataSeen;
typedef struct CacheState {
  VEC(DataSeen) seen;      /* buffers of the nest other than weights, in the order of their first access */
  DataSeen weights;        /* all weights of the nest together */
  const char *text;        /* "inputs L2 L3, weights memory, results L2": the levels of two inputs, the weights and the results */
} CacheState;
/* Returns an array with a row for each kernel. Element i of a row is for the buffer Kernel.bufs.p[i]. The element is the smallest
 * cache of t that has the buffer when the kernel begins, or LEVEL_MEMORY if no cache has the buffer. Must be called after the
 * pass memplan. The array and its rows are in the arena p->ir->ctx->model. run: the RunSizes of the run; NULL: all sizes are the
 * greatest */
MemoryLevel **cache_levels(const Plan *p, const Target *t, const int64_t *run);
/* Counts in *s one more use of the nest: kernel number `kernel` of p uses the nest. level: this kernel's row of the result of
 * cache_levels */
void cache_state_see(CacheState *s, const Plan *p, int kernel, Ref nest, const MemoryLevel *level);
void cache_state_close(Ctx *c, CacheState *s);       /* sets DataSeen.level and the text; to be called after the last use */
/* Returns the level of a buffer in this state; LEVEL_L1 if the buffer is not in the state. */
MemoryLevel cache_state_level(const CacheState *s, const IR *ir, int buf);

/* ---- tool.c: compilers and linkers ---- */
typedef struct Tool {
  const char *what;        /* for messages: "C compiler" */
  const char *variable;    /* for messages: the environment variable by which a user chooses the tool, such as "CC" */
  const Words *argv;       /* the command, with a NULL at the end */
  const char *log;         /* file for the tool's output */
  const char *scratch;     /* folder for the tool's temporary files; NULL: the tool's default */
  const char *makes;       /* file that the tool must make; NULL: none */
  double seconds;          /* time limit, after which all processes of the tool are killed */
  int64_t memory;          /* limit of memory, in bytes; 0: no limit */
  /* A function that is called several times a second; NULL: none. second: in the first call after each full second, the number of
   * elapsed seconds; in other calls, 0. A result other than 0 ends the tool. */
  int (*tick)(void *arg, int64_t second);
  void *tick_arg;
} Tool;
typedef struct ToolEnd {
  int error;               /* errno if the tool could not run; 0: the tool ran */
  bool exec;               /* the tool could not run because exec failed */
  bool late;               /* the time limit was exceeded */
  int interrupted;         /* the result of tick that ended the tool; 0: tick did not end the tool */
  int status;              /* the tool's wait status, if error, late and interrupted are 0 */
} ToolEnd;
ToolEnd tool_run(const Tool *t);
/* Returns 0 if the tool had success. Otherwise sets *why to the tool's name and the reason, and returns an exit code:
 *   EX_MISSING  the tool is missing, or does not work
 *   EX_NOWRITE  a file cannot be written
 *   EX_RETRY    there was too little memory, time or another resource
 *   EX_BUG      the tool works, and refuses its input
 * e->interrupted must be 0. */
int tool_judge(Ctx *c, const Tool *t, const ToolEnd *e, const char **why);

/* ---- store.c: measurements in an SQLite file. A row of the store is a trial or a winner ---- */
typedef struct Trial {     /* a schedule that was tried for a nest */
  const char *opts;        /* the schedule as text */
  bool failed;
  double warm, cold;       /* microseconds of a run with warm caches and with cold caches. If Tuner.stateful is set, both are the
                              time of a run with the data where Goal.state says. Not set if `failed` is true */
  double spread;           /* interquartile range of the warm times, divided by their median; not stored */
  double at[TIMED_RUNS];   /* for ranges of sizes: microseconds in each timed run (TunedRuns); 0: not known. `warm` and `cold` are
                              means over the timed runs */
  const char *why;         /* if failed: the reason */
  bool varied;             /* in this session, a generation looked for new neighbours of the schedule, and found none */
  bool rejected;           /* in this session, another schedule made the whole model faster; or the results of this schedule were
                              wrong or not compared */
} Trial;
typedef VEC(Trial) Trials;
/* The best schedule of a nest. beam: width of the finished search (Tuner.beam); 0: the search is not finished */
typedef struct Winner { const char *opts; double warm, cold; int beam; } Winner;
typedef struct Store Store;
/* With `create`, opens the store for writing. If the file is damaged or not a store, renames the file, and begins a new file. If
 * the file cannot be written, or path is NULL, warns, and keeps rows in memory. Without `create`, opens the store for reading,
 * and returns NULL if there is no file, or if the file cannot be used. */
Store *store_open(Ctx *c, const char *path, bool create);
/* Returns `given`, or the usual path of the store's file if `given` is NULL. Returns NULL if `given` is NULL and the user's home
 * is not known. */
const char *store_path(Ctx *c, const char *given);
void store_close(Store *s);
void store_trials(Store *s, const char *key, const Place *p, Trials *out); /* appends the nest's trials at this place */
bool store_winner(Store *s, const char *key, const Place *p, Winner *out); /* returns false if there is no winner */
/* Begins a transaction, which store_commit ends. durable: after store_commit, rows survive a power cut. The texts of rows must
 * stay valid until store_close, because rows wait in memory if another process has locked the file. */
void store_begin(Store *s, bool durable);
void store_put_trial(Store *s, const char *key, const Place *p, const Trial *t);
void store_put_winner(Store *s, const char *key, const Place *p, const Winner *w);
bool store_commit(Store *s);                         /* returns false if the rows are only in memory */
/* place: Place.text. n: for a winner, Winner.beam; for a trial, 1 if the trial failed, else 0 */
typedef struct StoreRow { bool winner; const char *key, *place, *opts, *why; double warm, cold; int n; } StoreRow;
typedef void (*EachRow)(void *arg, const StoreRow *r);
void store_each(Store *s, EachRow each, void *arg);  /* calls `each` for all trials and winners, sorted by key, then by place */
/* Returns a source of schedules: the winners of s at the place that place_find finds. A call of place_find takes long. So the
 * source calls place_find only once: when a caller first asks for a nest that has a winner at any place. */
ScheduleSource *store_source(Store *s, const Backend *b, const char *device);

/* ---- store_decision.c: decisions of passes that were measured in whole models ---- */
/* Returns the stored decision of this pass about the node or kernel with this key, in c->model. Returns NULL if there is none, or
 * if s is NULL. */
const char *store_decision(Ctx *c, Store *s, const Place *p, const char *pass, const char *key);
bool store_put_decision(Store *s, const Place *p, const Decision *d); /* returns false if the store cannot be written */
bool store_drop_decision(Store *s, const Place *p, const char *pass, const char *key); /* the same; removes the decision */
/* Returns the store as a source of decisions; NULL if s is NULL, the store has no decisions, or b has a driver. The source calls
 * place_find when a pass asks for the first time. wanted: as in place_for */
DecisionSource *store_decisions(Ctx *c, Store *s, const Backend *b, const char *wanted);

/* ---- log.c: the store as text ---- */
void store_export(Store *s, Sb *out);                /* appends all rows as text */
/* path: a file with a text that store_export has made. Adds the rows of this text to the store, and warns of wrong lines.
 * Replaces a stored winner only by a faster winner. Fails with EX_BADMODEL if the file has another kind of text. */
void store_import(Store *s, Ctx *c, const char *path);

/* ---- neighbours.c ---- */
typedef void (*EachOpts)(void *arg, const char *text);
/* A neighbour of o is a legal schedule that differs from o by a small change. Calls `each` with the text of each neighbour. A
 * text is only valid during the call of `each`. `each` may get the same text several times. If t is a device that runs many
 * threads, opts_neighbours calls device_neighbours. */
void opts_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);
/* Calls `each` with the text of schedules like o whose tile of sums takes at least half of the vector registers. For each height
 * of a tile they are as wide as fits. There are none for nests without reductions, and on devices. */
void opts_full_tiles(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);

/* ---- device_neighbours.c ---- */
void device_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);

/* ---- sandbox.c ---- */
typedef struct Child {
  pid_t pid;               /* 0: there is no child process */
  int to, from;            /* pipes to the child's standard input, and from its standard output; -1: closed */
  Sb in;                   /* output that was read, but not returned by child_line yet */
} Child;
/* Starts a child process, which dies with its parent. Returns true in the child, where standard input and output are the pipes.
 * Returns false in the parent. log: path of a file for the child's standard error. Fails with EX_RETRY. */
bool child_begin(Ctx *c, Child *k, const char *log);
/* Sets *line to the next line of the child's output, without the newline. Returns false if no line comes. Then *ended says why:
 * true if the output has ended, false if `seconds` have passed. */
bool child_line(Child *k, double seconds, Sb *line, bool *ended);
int child_end(Child *k);                             /* kills the child's process group, and returns the child's wait status */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* in the child: sends a line to the parent */
const char *why_ended(Ctx *c, int status);           /* the child's wait status in words */
void child_limits(int cpu_seconds, int64_t memory);  /* limits this process; memory: in bytes; 0: no new limit */
/* To be called in the leader of a process group. After that, the group ends when the leader's parent dies. */
void child_signals(void);

/* ---- batch.c ---- */
/* In the comments below, "the compiler" is the compiler that makes the code of bundles. The screen (Lab.screen) is a backend that
 * compiles candidates faster than the compiler does. The tuner times the screen's code to find slow candidates, which the
 * compiler then need not compile. Outcomes of a candidate: OPEN: not tried yet. DROPPED: not timed, mostly because it is expected
 * to be slow. SCREENED: timed with the screen's code, and not chosen for the compiler. MEASURED: timed with the compiler's code.
 * FAILED: could not be lowered, compiled or run */
typedef enum { OUT_OPEN, OUT_DROPPED, OUT_SCREENED, OUT_MEASURED, OUT_FAILED } Outcome;
typedef enum { SPENT_LOWERING, SPENT_COMPILING, SPENT_TIMING, SPENT_CHECKING, SPENT_KINDS } Spent;
typedef struct Candidate {
  const char *opts;
  Outcome outcome;
  double warm, cold, spread, at[TIMED_RUNS]; /* as in Trial */
  const char *why;         /* if the outcome is OUT_FAILED: the reason */
} Candidate;
/* First, the screen's code of a task's candidates is timed. Then the compiler compiles the incumbent and at most this number of
 * other candidates. */
enum { SCREENED_KEEP = 2 };
/* A candidate that the compiler shall compile. place: index in Task.cand; 0: no candidate. relative: the candidate's time divided
 * by the incumbent's time, both with the screen's code */
typedef struct Quick { int place; double relative; } Quick;
typedef struct Task {       /* candidates to try for one nest. Batches run side by side, each with some of the candidates */
  Ref nest;
  const char *key;
  VEC(Candidate) cand;     /* the first candidate is the incumbent */
  double best;             /* microseconds of the incumbent with the compiler's code; 0: unknown */
  double screen_us;        /* microseconds of the incumbent with the screen's code; 0: unknown */
  bool insists;            /* if `best` is 0: the compiler compiles the incumbent, even if it compiles no other candidate */
  Quick quickest[SCREENED_KEEP]; /* the candidates that the compiler shall compile; the fastest candidate comes first */
  int number;              /* number of the nest in a job */
  const CacheState *state; /* where the nest's data are when candidates are timed. NULL: candidates are timed twice, with warm and
                              with cold caches. If `sized` is set, `state` points to an array with a state for each timed run */
  bool sized;              /* candidates are timed in each timed run of Lab.runs */
} Task;
typedef struct Built {     /* code that the compiler has made for a schedule in this session */
  const char *key, *opts;
  const char *lib;         /* path of the library with the code */
  int at;                  /* index of the function in the library's table */
  bool reference;          /* the code is only the reference for comparisons of results, so it may be slow */
} Built;
typedef struct Ready {     /* an incumbent that the tuner's process has lowered; batches inherit the result */
  const char *key, *opts;
  Kernel kernel;
  void (*run)(void *const *); /* the incumbent's function, compiled by the screen; NULL: the incumbent is too long, so each batch
                                 compiles it */
} Ready;
typedef struct Lab {       /* state that all batches share */
  Ctx *ctx;
  IR *ir;
  const Target *target;
  const Backend *backend;
  TunedRuns runs;          /* the runs in which candidates are timed and compared; runs.n is 0 if the model has no range */
  const char *device;      /* for a backend with a driver: the device's number, or a part of its name; NULL: the default device */
  bool keep_denormals;     /* the device's kernels keep denormals */
  const char *archs;       /* architectures of the device's images; NULL: the target's */
  Compiling compiler;      /* compiles images if the library that usually compiles them is missing */
  bool short_of_memory;    /* the device had too little memory for at least one candidate */
  const char *gone;        /* why the search cannot go on: the device or the compiler does not answer any more; NULL: the search
                              can go on */
  const Backend *screen;   /* the screen, which compiles without starting a compiler's process; NULL: none */
  const char *scratch;     /* folder for files of batches */
  int jobs, keep;          /* jobs: limit of the number of batches at a time. keep: limit of the number of candidates that a batch
                              compiles; the batch compiles those with the least estimated cost */
  int room, raced;         /* on a device. room: limit of the number of statements (micro-ops) that the current call of lab_run
                              compiles. raced: number of statements that this call has compiled */
  double statement_seconds; /* on a device: seconds per statement in the previous call of lab_run; 0: unknown */
  double limit;            /* time limit of a run of a candidate, in seconds */
  double cc_limit;         /* time limit in seconds: of the compiler for a file, and of a device's driver for a program */
  double deadline;         /* time at which the search ends, by tune_clock */
  double grace;            /* seconds after the deadline for which a race or a comparison may go on */
  int (*interrupted)(void *arg); /* called often; a result other than 0 stops the search */
  void *interrupted_arg;
  int batches;             /* number of batches so far, for names of files */
  const char *header;      /* path of a precompiled header that includes headers such as immintrin.h; NULL: not made yet */
  int wanted_header;       /* number of files that include headers such as immintrin.h, and were compiled without `header` */
  VEC(Built) built;        /* code that later batches use again */
  VEC(Ready) ready;
  double spent[SPENT_KINDS]; /* by kind of work: CPU seconds of all processes */
} Lab;
bool lab_run(Lab *b, Task *t);                   /* tries the task's candidates; returns false if the search must end */
/* Drops candidates that are expected to be slow, and writes the others as files of a job to the folder Lab.scratch. If only the
 * incumbent is left, writes no files. Returns false if time was up, the search was interrupted, or tgc cannot lower a candidate.
 * A candidate that tgc cannot lower gets the outcome OUT_FAILED. */
bool lab_write(Lab *b, Task *t);

/* ---- candidate_lower.c ---- */
/* Returns the estimated cycles of a run of the nest with this schedule. */
double nest_cycles(const Lab *b, Ref nest, const char *opts);

/* ---- candidate_verify.c ---- */
/* Compares the results of a schedule with the results of the empty schedule, on random inputs and on hard inputs. Hard inputs
 * have infinities, NaN, denormals and the like. Returns NULL if the results agree up to rounding. Otherwise returns the
 * difference in words, or the reason why there was no comparison. Sets *late to true if the comparison was interrupted, or there
 * was not enough time. */
const char *lab_verify(Lab *b, Ref nest, const char *key, const char *opts, bool *late);

/* ---- search.c ---- */
typedef struct Tuner Tuner;
enum { RIVALS = 4 };        /* length of Goal.rival */
typedef struct Goal {       /* the search for the schedule of one nest */
  Ref nest;
  char key[65];
  int count;               /* number of times that a run of the model runs the nest */
  CacheState state;        /* where the nest's data are in a run of the model. If `sized` is set, only state.text is
                              used. This text then describes state_in */
  bool sized;              /* the nest's time depends on the sizes of a run */
  CacheState state_in[TIMED_RUNS]; /* if `sized` is set: where the nest's data are in each timed run of Lab.runs */
  Place place, screened_place; /* the places under which the store keeps `trials` and `screened`. If Tuner.stateful is set,
                              the texts of both places include the text of `state` */
  size_t ignored;          /* number of stored trials of the nest that the search ignores, because the text of their place
                              includes no state */
  Trials trials;           /* with times of the compiler's code */
  Trials screened;         /* with times of the screen's code. If `measured` is true, these times were multiplied by the
                              incumbent's time with the compiler's code, and divided by the incumbent's time with the screen's
                              code */
  const char *base, *best; /* base: the heuristic's schedule; best: the best schedule known */
  const char *proven;      /* the schedule that won when the whole model was last timed in this session; if the model was not
                              timed, the best schedule before this session */
  const char *rival[RIVALS]; /* nrivals schedules about as fast as `best`, the fastest one first. When the whole model is
                              timed, these schedules are tried, too */
  int nrivals;
  const char *elsewhere;   /* if the store has no winner at `place`: the store's winner at Tuner.place; NULL: none */
  double base_us, best_us; /* microseconds of `base` and `best`, the mean of warm and cold; estimates until they are measured */
  double slack;            /* in a run of the model, with `base`: microseconds that all runs of the nest take, minus their
                              roofline; 0: unknown */
  double best_warm, best_cold; /* times of `best`, in microseconds */
  double cycles;           /* estimated cycles of `base` */
  char form[65];           /* from nest_form */
  int kind;                /* similar goals have the same number (similar.c) */
  bool begun;              /* the heuristic's best schedules were tried in this session */
  int stale;               /* consecutive generations without progress */
  VEC(const char *) dropped; /* schedules that were dropped and not timed, mostly because their estimated cost is high */
  bool measured;           /* `best` was timed with the compiler's code; false: best_us is an estimate, or a time of the screen's
                              code */
  double screen_us;        /* microseconds of the incumbent with the screen's code; 0: unknown, or `measured` is true */
  const char *right;       /* the schedule whose results were compared last in this session, and were right; NULL: none */
  bool verified;           /* results of `best` were compared in this session, or need no comparison */
  bool done, dirty;        /* done: the search is finished; dirty: the store does not have the current `best` and `done` */
  bool taken;              /* tune_take has returned this goal */
  int64_t tried;           /* number of candidates tried in this session */
  double worked;           /* CPU seconds that the search for this nest took in this session, over all processes */
} Goal;

/* ---- tuned_goal.c: cache states and stored trials of goals, also for ranges of sizes. The store keeps each time of Trial.at as
 * a trial of its own. The text of the place of such a trial includes the sizes of the timed run ---- */
Goal *goal_of(const Tuner *t, const char *key);      /* returns the goal of the nest with this key; NULL if there is none */
void goals_see_states(Tuner *t, const Plan *p);      /* sets Goal.state and Goal.state_in of all goals; p: the plan from which
                                                        tune_goals makes the goals */
void goal_read_trials(Tuner *t, Goal *g);            /* appends the trials that the store has under g->place to g->trials */
/* Stores trial x under g->place, and stores the times in x->at. Must be called between store_begin and store_commit */
void goal_put_trial(Tuner *t, const Goal *g, const Trial *x);
/* Returns whether x takes much longer than `base` in one of the timed runs (tunable tune_size_loss). base: the trial of the
 * heuristic's schedule; NULL: returns false */
bool goal_loses_at_size(const Tuner *t, const Goal *g, const Trial *x, const Trial *base);
/* Returns the times of g->best in the timed runs, as text of times_of_runs; NULL if these times are not known */
const char *goal_times(const Tuner *t, const Goal *g);
void goal_free(Goal *g);                             /* frees the lists of g, but not g */

struct Tuner {
  Lab lab;
  Store *store;
  Place place;             /* place of times with the compiler's code */
  Place screened;          /* place of times with the screen's code */
  bool stateful;           /* candidates are timed with their data where Goal.state says */
  int beam;                /* width of the search: how many of the best schedules a generation varies */
  int64_t trials;          /* limit of `tried`; 0: no limit */
  VEC(Goal) goals;
  bool compared;           /* a job has compared the results of the trials, so the search does not compare them */
  int64_t tried, failed, left_out; /* numbers of candidates in this session: tried; failed; timed only with the screen's code */
  /* Callbacks, which may be NULL. progress: called after each generation. acknowledged: called when trial x is in the store; the
   * argument `screened` is true if x was timed with the screen's code. wrong: called if the results of a schedule are wrong or
   * cannot be compared; the argument `why` is the result of lab_verify */
  void (*progress)(void *arg, const Tuner *t);
  void (*acknowledged)(void *arg, const Goal *g, const Trial *x, bool screened);
  void (*wrong)(void *arg, const Goal *g, const char *opts, const char *why);
  void *progress_arg;      /* the argument `arg` of all three callbacks */
};
void tune_goals(Tuner *t, const Plan *p);            /* makes t->goals from the nests of p and the store */
void tune_slack(Tuner *t, const Plan *p, const double *us); /* sets Goal.slack; us: by kernel, microseconds of slack */
/* Searches until all goals are done, time is up, t->trials candidates were tried, or Lab.gone is set. Returns false if the search
 * was interrupted. */
bool tune_run(Tuner *t);
/* Returns the goal whose search may save most time in a run of the model, among the goals that are neither done nor taken. Sets
 * *task to candidates for this goal; the caller frees task->cand. Returns NULL if all goals are done or taken, or if the search
 * must end. */
Goal *tune_take(Tuner *t, Task *task);
void tune_imported(Tuner *t);                        /* makes the best trial of each nest the nest's winner, also in the store */
/* Sets Goal.rival and Goal.nrivals of each goal. The rivals are the fastest schedules in Goal.trials and Goal.screened, except
 * Goal.best and Goal.base. The tunable tune_rival says how slow a rival may be. A nest that takes very little of the model's time
 * has no rivals (tune_rival_share). A goal that was not begun gets the best schedules of similar goals instead (similar.c). Does
 * not compare the results of rivals: call goal_is_right. */
void tune_rivals(Tuner *t);
/* Returns whether schedule `opts` of g may be used. `opts` must be Goal.best, Goal.base or a rival. If `opts` is a rival,
 * compares the rival's results by lab_verify, and returns false if the results are wrong or cannot be compared. */
bool goal_is_right(Tuner *t, Goal *g, const char *opts);
/* opts: the schedule of g that won when the whole model was timed. Makes opts the best schedule of g, also in the store. */
void goal_validated(Tuner *t, Goal *g, const char *opts);
/* Returns the microseconds that the nests of all goals take in a run of the model: with Goal.base if `base` is true, else with
 * Goal.best */
double tune_total(const Tuner *t, bool base);
void tuner_free(Tuner *t);

/* ---- similar.c: goals of nests that do the same work with other constants ---- */
int goal_kind(const Tuner *t, Goal *g);          /* a value for g->kind; g is not among t->goals yet. Sets g->form */
bool goals_similar(const Goal *x, const Goal *y); /* whether the goals are of such nests */
/* Microseconds that goals like g take in a run of the model, if their search waits for that of g: they were not begun */
double goal_waiting_us(const Tuner *t, const Goal *g);
/* Sets g's rivals to the best schedules of goals like g that were searched. To be called for goals that were not begun */
void goal_borrow_rivals(Tuner *t, Goal *g);
/* Whether the results of the schedule `opts` were compared for a goal like g, and were right */
bool goal_is_known_right(const Tuner *t, const Goal *g, const char *opts);

/* ---- trials.c: trials of schedules. Both functions return NULL if there is none ---- */
Trial *trial_find(const Trials *t, const char *opts);
Trial *goal_trial(const Goal *g, const char *opts); /* with the compiler's code, else with the screen's code */

/* ---- job.c: candidates as a folder that another machine builds and runs ---- */
typedef struct JobOptions {
  const char *dir;         /* the folder to write */
  const char *command;     /* the tgc command that imports the job's log; the instructions in the folder mention this command */
} JobOptions;
typedef struct JobSize { int nests, left; } JobSize; /* nests: number of nests in the folder. left: number of nests that were
                                                        left out because time was up */
JobSize job_write(Tuner *t, const JobOptions *o);    /* writes no folder if there are no nests; fails with EX_NOWRITE */

/* ---- import.c: the log of a job, which has the times of the job's candidates ---- */
typedef struct Imported {
  Place place;             /* place of the last imported row; text NULL: no row was imported */
  int64_t trials, failed, wrong; /* trials: number of imported trials with times. failed: number of imported trials that failed.
                                    wrong: number of lines that were left out */
} Imported;
/* Adds the lines of the log `path` to the store, as trials. Leaves out a line, with a warning, if the plan lacks the line's nest,
 * or if the line's schedule is illegal. Also leaves out lines whose place is for another backend or another version of tgc. Fails
 * with EX_BADMODEL if the file is no log. */
Imported job_import(Ctx *c, Store *s, const Plan *p, const char *path);
#endif

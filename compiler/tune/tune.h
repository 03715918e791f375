/* SPDX-License-Identifier: MIT */
/* tune.h: schedules that were measured: lock files, the tuner and its store. A candidate is a schedule that the tuner tries for a
 * nest. The incumbent is the candidate with which the others are compared.
 *
 * machine_key.c names the place for which measurements hold: this machine and compiler. cache_state.c says in which caches data
 * are in a run of the model. store.c keeps measurements. neighbours.c varies a schedule. batch.c lowers, compiles and times many
 * candidates in child processes (sandbox.c starts them; batch.h lists the files of batches). search.c is the beam search over
 * candidates. job.c writes candidates for another machine, and import.c reads the measurements of that machine. */
#ifndef TGC_TUNE_H
#define TGC_TUNE_H
#include "../driver.h"
#include "../opt/opts.h"
#include <sys/types.h>

double tune_clock(void);                             /* seconds, monotonic */
double tune_work(void);                              /* CPU seconds of this process and its ended children */
bool key_ok(const char *s, size_t n);                /* 64 hex digits */

/* ---- lock.c: a text file of schedules next to a model ---- */
typedef struct LockLine {
  char key[65];
  const char *opts;        /* as text */
  double micros;           /* microseconds, measured on the machine where the schedule was found */
  bool partial;            /* the search was not finished */
  bool model;              /* chosen by the cost model, not measured */
  const char *note;        /* origin of the schedule, in words */
  bool used;               /* a nest of the model has this key */
} LockLine;
typedef struct Lock {
  ScheduleSource source;   /* first member: a Lock is a ScheduleSource */
  const char *path;
  int version;             /* version of the file that was read */
  VEC(LockLine) lines;     /* sorted by key */
  Decisions *decisions;    /* decisions that the file gives; for lock_write, the decisions that passes made; NULL: none */
  const Decision *chosen;  /* further decisions for lock_write */
  size_t nchosen;
} Lock;
Lock *lock_read(Ctx *c, const char *path);           /* fails with EX_NOINPUT_ or EX_BADMODEL; lives in c->model */
void lock_report(Ctx *c, const Lock *l);             /* warns of lines without a nest in the model */
/* Gives each nest of the plan a line with its complete schedule. A line whose schedule the plan uses keeps its time and note. */
void lock_complete(Ctx *c, Lock *l, const Plan *p);
void lock_write(Ctx *c, Lock *l, const char *path);  /* sorts lines; writes all or nothing; fails with EX_NOWRITE */

/* ---- machine_key.c ---- */
/* The place for which times hold: machine and compiler, or device and driver. text: in words; id: digest of the text */
typedef struct Place { const char *text; char id[65]; } Place;
#define DEVICE_VARIABLE "NET_DEVICE" /* environment variable that names the default device; bundles called net read it, too */
typedef VEC(const char *) Words;
void split_words(Ctx *c, const char *s, Words *out); /* appends the words of s, which blanks separate; s may be NULL */
void compiler_words(Ctx *c, Words *out);             /* appends the words of the environment variable CC, or "cc" */
/* The place of this machine, or of a device if b is for devices. device: its number or a part of its name; NULL: the default
 * device. False: there is no compiler, or no such device */
bool place_find(Ctx *c, const Backend *b, const char *device, Place *p);
Place place_here(Ctx *c, const Backend *b, const char *device); /* the same, but fails with EX_MISSING */
/* Finds the place of a device that can run the plan. archs: architectures of its images; NULL: the target's. Returns 0, or an
 * exit code and why there is none. */
int device_for_plan(Ctx *c, const Plan *plan, const char *archs, const char *device, Place *p, const char **why);
const char *device_missing(Ctx *c, const Backend *b, const char *device); /* why the device does not answer; NULL: it answers */

/* Place p for decisions. wanted: a text of the target and the options. The place includes `wanted`, because keys of nodes do not
 * cover the target and the options. */
Place place_for(Ctx *c, const Place *p, const char *wanted);
Place place_with(Ctx *c, const Place *p, const char *state); /* place p for times with the data in this state (CacheState.text) */
const char *cpu_identity(Arena *a);                  /* this CPU: its name, features and caches */

/* ---- paired.c ---- */
/* The quotient of times with a change and times without it. A pair is one process with the change and one without. n: number of
 * pairs. ratio: geometric mean; low, high: ends of its 90 % confidence interval, Student's for the logarithms. n 1: no interval,
 * so high is infinite */
typedef struct Paired { double ratio, low, high; size_t n; } Paired;
Paired paired_of(const double *log_ratio, size_t n); /* log_ratio: by pair, the logarithm of the quotient */

/* ---- store_machine.c: facts of CPUs in the store ---- */
/* path: the store's file; cpu: cpu_identity. store_machine returns the facts as text (cpu_print); NULL: none are stored */
const char *store_machine(Ctx *c, const char *path, const char *cpu);
bool store_put_machine(Ctx *c, const char *path, const char *cpu, const char *text); /* false: it cannot be written */

/* ---- cache_state.c: where a nest finds its data in a run of the whole model ---- */
typedef enum { LEVEL_UNKNOWN, LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVELS } MemoryLevel;
extern const char *const cache_level_name[LEVELS];
typedef struct DataSeen {   /* a buffer of a nest; a model may use the nest several times */
  int buf;                 /* number of the buffer in the first use of the nest */
  bool written;            /* the nest stores to it */
  int at[LEVELS];          /* by level: number of uses of the nest that find the buffer there */
  MemoryLevel level;       /* the median */
} DataSeen;
typedef struct CacheState {
  VEC(DataSeen) seen;      /* buffers of the nest other than weights, in the order of their first access */
  DataSeen weights;        /* all weights of the nest together */
  const char *text;        /* "inputs L2 L3, weights memory, results L2" */
} CacheState;
/* The level of each buffer of each kernel: by kernel, then by buffer, with the caches of t. Call it after memplan. */
MemoryLevel **cache_levels(const Plan *p, const Target *t);
/* Adds a use of the nest, in this kernel. level: by buffer of the kernel, as cache_levels returns it */
void cache_state_see(CacheState *s, const Plan *p, int kernel, Ref nest, const MemoryLevel *level);
void cache_state_close(Ctx *c, CacheState *s);       /* call it after the last use: sets levels and text */
MemoryLevel cache_state_level(const CacheState *s, const IR *ir, int buf); /* the level of a buffer in this state */

/* ---- tool.c: compilers and linkers ---- */
typedef struct Tool {
  const char *what;        /* for messages: "C compiler" */
  const char *variable;    /* environment variable that names another such tool: "CC"; for messages */
  const Words *argv;       /* with a NULL at the end */
  const char *log;         /* file for the tool's output */
  const char *scratch;     /* folder for the tool's temporary files; NULL: the tool's default */
  const char *makes;       /* file that the tool must make; NULL: none */
  double seconds;          /* time limit, after which all processes of the tool are killed */
  int64_t memory;          /* bytes; 0: no limit */
  /* Called several times a second. second: the number of elapsed seconds in the first call after each full second, else 0. A
   * result other than 0 ends the tool. */
  int (*tick)(void *arg, int64_t second);
  void *tick_arg;
} Tool;
typedef struct ToolEnd {
  int error;               /* errno if the tool could not run; 0: it ran */
  bool exec;               /* exec failed */
  bool late;               /* the time limit was exceeded */
  int interrupted;         /* the result of tick that ended the tool; 0: none did */
  int status;              /* if none of these holds: the tool's wait status */
} ToolEnd;
ToolEnd tool_run(const Tool *t);
/* The exit code that follows from *e; 0: success. Otherwise *why has the tool's name and the reason. EX_MISSING: there is no
 * tool that works. EX_NOWRITE, EX_RETRY: the machine is to blame, or the time limit. EX_BUG: the tool works, and refuses its
 * input. */
int tool_judge(Ctx *c, const Tool *t, const ToolEnd *e, const char **why);

/* ---- store.c: measurements in an SQLite file ---- */
typedef struct Trial {     /* a schedule of a nest that was tried */
  const char *opts;
  bool failed;
  double warm, cold;       /* microseconds, unless failed */
  double spread;           /* spread of the middle half of the samples, divided by their median; not stored */
  const char *why;         /* if failed: the reason */
  bool varied;             /* neighbours of the schedule were tried in this session */
  bool rejected;           /* in this session it did not win in the whole model, or its results were wrong or not compared */
} Trial;
typedef VEC(Trial) Trials;
/* The best schedule of a nest. beam: width of the search that found it; 0: the search is not finished */
typedef struct Winner { const char *opts; double warm, cold; int beam; } Winner;
typedef struct Store Store;
/* create: the store is for writing; if the file cannot be written, warns and keeps rows in memory. Otherwise the result is NULL
 * if there is no file, or if it cannot be used. */
Store *store_open(Ctx *c, const char *path, bool create);
const char *store_path(Ctx *c, const char *given);   /* `given`, or the usual path of the store's file; NULL: no home is known */
void store_close(Store *s);
void store_trials(Store *s, const char *key, const Place *p, Trials *out); /* appends a nest's trials; texts live in c->model */
bool store_winner(Store *s, const char *key, const Place *p, Winner *out); /* false: there is none */
/* From here on to store_commit, all rows are written or none. durable: written rows survive a power cut. */
void store_begin(Store *s, bool durable);
void store_put_trial(Store *s, const char *key, const Place *p, const Trial *t);
void store_put_winner(Store *s, const char *key, const Place *p, const Winner *w);
bool store_commit(Store *s);                         /* false: the rows are only in memory */
/* A trial or a winner. n: for a winner its beam; for a trial, 1 if it failed, else 0 */
typedef struct StoreRow { bool winner; const char *key, *place, *opts, *why; double warm, cold; int n; } StoreRow;
typedef void (*EachRow)(void *arg, const StoreRow *r);
void store_each(Store *s, EachRow each, void *arg);  /* trials and winners, in a fixed order */
/* The store as a source of schedules. place_find takes a while. So the source first calls it when it is asked
 * about a nest for which the store has a schedule, of whatever place. */
ScheduleSource *store_source(Store *s, const Backend *b, const char *device);

/* ---- store_decision.c: decisions of passes that were measured in whole models ---- */
/* Returns the value of the decision about this node or kernel, in c->model. NULL: none is stored. */
const char *store_decision(Ctx *c, Store *s, const Place *p, const char *pass, const char *key);
bool store_put_decision(Store *s, const Place *p, const Decision *d); /* false: it cannot be written */
/* The store as a source of decisions; NULL: it has none, or b has a driver. The source calls place_find when a pass first
 * asks. wanted: as in place_for */
DecisionSource *store_decisions(Ctx *c, Store *s, const Backend *b, const char *wanted);

/* ---- log.c: the store as text ---- */
void store_export(Store *s, Sb *out);
void store_import(Store *s, Ctx *c, const char *path); /* adds the rows of a text of store_export; warns of wrong lines */

/* ---- neighbours.c ---- */
typedef void (*EachOpts)(void *arg, const char *text);
/* Calls `each` with legal schedules that differ from o in one respect, as text */
void opts_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);

/* ---- device_neighbours.c: the same for a device that runs many threads ---- */
void device_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);

/* ---- sandbox.c ---- */
typedef struct Child {
  pid_t pid;               /* 0: none */
  int to, from;            /* pipes to its standard input and from its output; -1: closed */
  Sb in;                   /* output that was read, but not yet used */
} Child;
/* Starts a child process, which dies with its parent. Returns true in the child, where standard input and output are the pipes;
 * returns false in the parent. log: file for the child's standard error */
bool child_begin(Ctx *c, Child *k, const char *log);
/* The next line of the child. False: no line came within `seconds`, or the child's output has ended (*ended) */
bool child_line(Child *k, double seconds, Sb *line, bool *ended);
int child_end(Child *k);                             /* kills the child's whole group, and returns the child's wait status */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* sends a line to the parent */
const char *why_ended(Ctx *c, int status);           /* the child's wait status in words */
void child_limits(int cpu_seconds, int64_t memory);  /* limits this process; memory: bytes, 0: no new limit */
/* Call it in the leader of a process group. It sets the leader's signals so that the group ends when the leader's parent dies. */
void child_signals(void);

/* ---- batch.c ---- */
/* The screen (Lab.screen) is a backend that compiles candidates faster than the compiler of bundles does, to sort out slow ones.
 * In the comments below, "the compiler" is the latter. OPEN: not tried yet. DROPPED: not timed. SCREENED: timed with the screen's
 * code, and not chosen for the compiler. MEASURED: timed with the compiler's code */
typedef enum { OUT_OPEN, OUT_DROPPED, OUT_SCREENED, OUT_MEASURED, OUT_FAILED } Outcome;
typedef enum { SPENT_LOWERING, SPENT_COMPILING, SPENT_TIMING, SPENT_CHECKING, SPENT_KINDS } Spent;
typedef struct Candidate {
  const char *opts;
  Outcome outcome;
  double warm, cold, spread; /* as in Trial */
  const char *why;         /* if it failed: the reason */
} Candidate;
enum { SCREENED_KEEP = 2 }; /* most candidates of a task that go to the compiler after the screen */
/* A candidate by index in Task.cand (0: none), and its time divided by the incumbent's; both times are with the screen's code */
typedef struct Quick { int place; double relative; } Quick;
typedef struct Task {       /* candidates to try for one nest, in several batches */
  Ref nest;
  const char *key;
  VEC(Candidate) cand;     /* the first one is the incumbent */
  double best;             /* microseconds of the incumbent with the compiler's code; 0: unknown */
  double screen_us;        /* microseconds of the incumbent with the screen's code, from the screen's race; 0: unknown */
  bool insists;            /* the incumbent goes to the compiler, even if no other candidate does */
  Quick quickest[SCREENED_KEEP]; /* candidates for the compiler, best first */
  int number;              /* number of the nest in a job */
  const CacheState *state; /* where the nest's data are when it is timed; NULL: it is timed with them in the caches, and after a
                              flush */
} Task;
typedef struct Built {     /* a candidate that was compiled in this session */
  const char *key, *opts;
  const char *lib;         /* path of the library with its code */
  int at;                  /* index of its function in the library's table */
  bool reference;          /* compiled as a reference, not as a candidate */
} Built;
typedef struct Ready {     /* an incumbent that the screen has compiled in the tuner; children inherit its code */
  const char *key, *opts;
  Kernel kernel;
  void (*run)(void *const *); /* its function; NULL: it is too long, so each batch compiles it */
} Ready;
typedef struct Lab {       /* state that all batches share */
  Ctx *ctx;
  IR *ir;
  const Target *target;
  const Backend *backend;
  const char *device;      /* for a backend with a driver: the device's number, or a part of its name; NULL: the default */
  bool keep_denormals;     /* the device's kernels keep denormals */
  const char *archs;       /* architectures of the device's images; NULL: the target's */
  Compiling compiler;      /* compiles images if the backend's compiler library is missing */
  bool short_of_memory;    /* the device had too little memory for some candidate */
  const char *gone;        /* why the search cannot go on: no device or no compiler any more; NULL: it can */
  const Backend *screen;   /* the screen, which compiles inside of the process; NULL: none */
  const char *scratch;     /* folder for files of batches */
  int jobs, keep;          /* jobs: most processes at a time. keep: most candidates of a batch to compile, cheapest first */
  int room, raced;         /* on a device. room: most statements (micro-ops) that a call of lab_run compiles; raced: statements
                              compiled in this call */
  double statement_seconds; /* on a device: seconds per statement in the last call of lab_run; 0: unknown */
  double limit;            /* most seconds of a candidate's run */
  double cc_limit;         /* most seconds of the compiler for a file, or of a device's driver for a program */
  double deadline;         /* time at which the search ends, as tune_clock gives it */
  double grace;            /* seconds after the deadline that a race or a comparison under way may take */
  int (*interrupted)(void *arg); /* not 0: stop */
  void *interrupted_arg;
  int batches;             /* number of batches so far, for names of files */
  const char *header;      /* header file that was precompiled; it includes headers such as immintrin.h. NULL: none yet */
  int wanted_header;       /* number of files that included such headers before this one was precompiled */
  VEC(Built) built;        /* candidates and references whose code later batches use again */
  VEC(Ready) ready;        /* incumbents that the screen has compiled */
  double spent[SPENT_KINDS]; /* CPU seconds of all processes */
} Lab;
bool lab_run(Lab *b, Task *t);                   /* tries the task's candidates; false: interrupted, out of time, or Lab.gone */
/* Writes promising candidates of the task as files of a job to the scratch folder. False: time was up, the search was
 * interrupted, or tgc cannot lower a candidate. In the last case the candidate's outcome is OUT_FAILED */
bool lab_write(Lab *b, Task *t);

/* ---- candidate_lower.c ---- */
double nest_cycles(const Lab *b, Ref nest, const char *opts); /* estimated from the micro-ops of the nest's program */

/* ---- candidate_verify.c ---- */
/* Compares the results of a schedule with those of the empty schedule, on random inputs and on hard ones (infinities, NaN,
 * denormals and the like). Returns NULL if they agree up to rounding; else the difference, or why there is no comparison. *late:
 * there was not enough time */
const char *lab_verify(Lab *b, Ref nest, const char *key, const char *opts, bool *late);

/* ---- search.c ---- */
typedef struct Goal {       /* a nest whose schedule the tuner searches for, and the state of the search */
  Ref nest;
  char key[65];
  int count;               /* number of times that a run of the model runs the nest */
  CacheState state;        /* where the nest's data are in a run of the model */
  Place place, screened_place; /* places of the nest's rows in the store; they include the state */
  size_t ignored;          /* number of trials in the store whose place has no state, as an older tgc has written them */
  Trials trials;           /* with the compiler's code */
  Trials screened;         /* with the screen's code; times are scaled so that the incumbent's equals its time with the
                              compiler's code */
  const char *base, *best; /* schedules: that of the heuristic, and the best one known */
  const char *proven;      /* the best before this search, or a schedule that has since won in the whole model */
  const char *runner_up;   /* about as fast as the best, for a test in the whole model; NULL: there is none */
  const char *elsewhere;   /* if the store has no winner for this state of the data: the winner without a state, or NULL */
  double base_us, best_us; /* microseconds of `base` and `best`, the mean of warm and cold; estimates until they are measured */
  double slack;            /* microseconds that `base` takes in a run of the model above the roofline's time; 0: unknown */
  double best_warm, best_cold; /* times of `best`, in microseconds */
  double cycles;           /* estimated cycles of `base` */
  bool begun;              /* the heuristic's best schedules were tried in this session */
  int stale;               /* generations without progress */
  VEC(const char *) dropped; /* schedules dropped without being timed, mostly for their estimated cost */
  bool measured;           /* `best` was measured with the compiler's code; else its time is an estimate */
  double screen_us;        /* the incumbent's microseconds with the screen's code, by which times of `screened` are scaled; 0
                              after the incumbent was measured with the compiler's code */
  bool verified;           /* results of `best` were compared in this session */
  bool done, dirty;        /* done: the search is finished; dirty: `best` has changed since it was stored */
  bool taken;              /* tune_take has returned it */
  int64_t tried;           /* candidates in this session */
  double worked;           /* CPU seconds of all processes for them */
} Goal;
typedef struct Tuner {
  Lab lab;
  Store *store;
  Place place;             /* place of the times with the compiler's code */
  Place screened;          /* place of the times with the screen's code */
  bool stateful;           /* candidates are timed with their data where a run of the model finds them */
  int beam;                /* width of the search: how many of the best schedules a generation varies */
  int64_t trials;          /* most trials; 0: no limit */
  VEC(Goal) goals;
  bool compared;           /* a job has compared the results of the trials */
  int64_t tried, failed, left_out; /* candidates in this session: all, failed, rejected by the screen */
  /* Callbacks, which may be NULL. progress: after each generation. acknowledged: trial x is in the store. wrong: results of a
   * schedule are wrong, which is a bug of tgc */
  void (*progress)(void *arg, const struct Tuner *t);
  void (*acknowledged)(void *arg, const Goal *g, const Trial *x, bool screened);
  void (*wrong)(void *arg, const Goal *g, const char *opts, const char *why);
  void *progress_arg;      /* the argument `arg` of all three */
} Tuner;
void tune_goals(Tuner *t, const Plan *p);            /* fills in t->goals: the nests of a plan, with their rows of the store */
void tune_slack(Tuner *t, const Plan *p, const double *us); /* sets Goal.slack; us: microseconds of slack, by kernel */
bool tune_run(Tuner *t);                             /* false: interrupted */
/* Among the goals not taken yet, chooses the one that can gain most, and fills *task with its candidates. NULL: there is none, or
 * time is up */
Goal *tune_take(Tuner *t, Task *task);
void tune_imported(Tuner *t);                        /* makes the best trial of each nest its winner, also in the store */
/* Finds each nest's runner-up: the fastest trial that is neither the best nor the heuristic's schedule, if it takes little longer
 * than the best. Its results are compared with those of the empty schedule. */
void tune_runners_up(Tuner *t);
/* Makes `opts` the best schedule of g, also in the store: the one that won in the whole model, or an earlier best */
void goal_validated(Tuner *t, Goal *g, const char *opts);
/* Microseconds of one run of all goals, with `base` of each goal, or with `best` */
double tune_total(const Tuner *t, bool base);
void tuner_free(Tuner *t);

/* ---- job.c: candidates as a folder that another machine builds and runs ---- */
typedef struct JobOptions {
  const char *dir;         /* the folder to write */
  const char *command;     /* the tgc command that reads the job's log, for the folder's instructions */
} JobOptions;
typedef struct JobSize { int nests, left; } JobSize; /* nests in the folder; nests left out because time was up */
JobSize job_write(Tuner *t, const JobOptions *o);    /* fails with EX_NOWRITE, or as the device's compiler fails */

/* ---- import.c: the log of a job, which has the times of its candidates ---- */
typedef struct Imported {
  Place place;             /* place of the last imported row; text NULL: none was imported */
  int64_t trials, failed, wrong; /* imported rows of measured trials; imported rows of failed trials; lines left out */
} Imported;
/* Adds to the store the rows about nests of the plan whose schedules are legal, and warns of other lines. Fails with EX_BADMODEL
 * if the file is no log */
Imported job_import(Ctx *c, Store *s, const Plan *p, const char *path);
#endif

/* SPDX-License-Identifier: MIT */
/* tune.h: schedules that were measured: lock files, the tuner and its store.
 *
 * machine_key.c says where measurements hold: this machine and compiler. cache_state.c says where data are in a run of the model.
 * store.c keeps measurements. neighbours.c varies a schedule. batch.c lowers, compiles and times many candidates in child
 * processes (sandbox.c starts them; batch.h lists the files of batches). search.c is the beam search over candidates. job.c
 * writes candidates for another machine, and import.c reads the measurements of that machine. */
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
  double micros;           /* measured where the schedule was found */
  bool partial;            /* the search was not finished */
  bool model;              /* chosen by the model of cost, not measured */
  const char *note;        /* origin of the schedule, in words */
  bool used;
} LockLine;
typedef struct Lock {
  ScheduleSource source;   /* first member: a Lock is a ScheduleSource */
  const char *path;
  int version;             /* version of the file that was read */
  VEC(LockLine) lines;     /* by key */
  Decisions *decisions;    /* decisions that the file gives; before lock_write, those that the passes made; NULL: none */
  const Decision *chosen;  /* further decisions for lock_write */
  size_t nchosen;
} Lock;
Lock *lock_read(Ctx *c, const char *path);           /* fails with EX_NOINPUT_ or EX_BADMODEL; lives in c->model */
void lock_report(Ctx *c, const Lock *l);             /* warns of lines without a nest in the model */
/* gives each nest of the plan a line with its complete schedule; a line whose schedule the plan uses keeps its times and note */
void lock_complete(Ctx *c, Lock *l, const Plan *p);
void lock_write(Ctx *c, Lock *l, const char *path);  /* sorts; whole or not at all; fails with EX_NOWRITE */

/* ---- machine_key.c ---- */
/* machine and compiler, or device and driver, in words, and their digest */
typedef struct Place { const char *text; char id[65]; } Place;
#define DEVICE_VARIABLE "NET_DEVICE" /* environment variable that names the default device, as in bundles called net */
typedef VEC(const char *) Words;
void split_words(Ctx *c, const char *s, Words *out); /* at blanks; s may be NULL */
void compiler_words(Ctx *c, Words *out);             /* CC, or cc */
/* device: its number or a part of its name; NULL: the default, as for CPUs. false: there is no compiler, or no such device */
bool place_find(Ctx *c, const Backend *b, const char *device, Place *p);
Place place_here(Ctx *c, const Backend *b, const char *device); /* the same, but fails with EX_MISSING */
/* Finds the place of a device that can run the plan, compiled for these architectures (NULL: the target's). Returns 0, or an
 * exit code and why there is none. */
int device_for_plan(Ctx *c, const Plan *plan, const char *archs, const char *device, Place *p, const char **why);
const char *device_missing(Ctx *c, const Backend *b, const char *device); /* why the device does not answer; NULL: it answers */

/* The place of decisions. It includes `wanted`, the target and the options as text, because keys of nodes do not cover these */
Place place_for(Ctx *c, const Place *p, const char *wanted);
Place place_with(Ctx *c, const Place *p, const char *state); /* the place of times with the data in this state */
const char *cpu_identity(Arena *a);                  /* this CPU: its name, features and caches */

/* ---- paired.c ---- */
/* Times with a change over times without it, of lives side by side: the geometric mean and the ends of its interval. The
 * interval is Student's for logarithms, at 90 %. n 1: no interval, so high is infinite */
typedef struct Paired { double ratio, low, high; size_t n; } Paired;
Paired paired_of(const double *log_ratio, size_t n);

/* ---- store_machine.c: facts of CPUs in the store ---- */
const char *store_machine(Ctx *c, const char *path, const char *cpu); /* the text of cpu_facts.h; NULL: none is stored */
bool store_put_machine(Ctx *c, const char *path, const char *cpu, const char *text); /* false: it cannot be written */

/* ---- cache_state.c: where a nest finds its data in a run of the whole model ---- */
typedef enum { LEVEL_UNKNOWN, LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVELS } MemoryLevel;
extern const char *const cache_level_name[LEVELS];
typedef struct DataSeen {
  int buf;                 /* number of the buffer in the first use of the nest */
  bool written;
  int at[LEVELS];          /* by level: uses of the nest that find the buffer there */
  MemoryLevel level;       /* the median */
} DataSeen;
typedef struct CacheState {
  VEC(DataSeen) seen;      /* buffers of the nest other than weights, in the order of their first access */
  DataSeen weights;
  const char *text;        /* "inputs L2 L3, weights memory, results L2" */
} CacheState;
/* The level of each buffer of each kernel: by kernel, then by buffer, with the caches of t. Call it after memplan. */
MemoryLevel **cache_levels(const Plan *p, const Target *t);
/* adds a use of the nest, in this kernel; level: of the kernel's buffers */
void cache_state_see(CacheState *s, const Plan *p, int kernel, Ref nest, const MemoryLevel *level);
void cache_state_close(Ctx *c, CacheState *s);       /* all uses were seen: makes the text */
MemoryLevel cache_state_level(const CacheState *s, const IR *ir, int buf);

/* ---- tool.c: compilers and linkers ---- */
typedef struct Tool {
  const char *what;        /* for messages: "C compiler" */
  const char *variable;    /* environment variable that names another one: "CC" */
  const Words *argv;       /* with a NULL at the end */
  const char *log;         /* file for the tool's output */
  const char *scratch;     /* folder for the tool's temporary files; NULL: the tool's default */
  const char *makes;       /* file that the tool must make; NULL: none */
  double seconds;          /* time limit; then all processes of the tool are killed */
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
  int interrupted;         /* result of tick */
  int status;              /* otherwise: the tool's wait status */
} ToolEnd;
ToolEnd tool_run(const Tool *t);
/* 0: success. Otherwise *why has the tool's name and its last line. The code says what is to blame: EX_MISSING, EX_NOWRITE,
 * EX_RETRY, or EX_BUG if the tool works and refuses its input. */
int tool_judge(Ctx *c, const Tool *t, const ToolEnd *e, const char **why);

/* ---- store.c: measurements in an SQLite file ---- */
typedef struct Trial {     /* a schedule of a nest that was tried */
  const char *opts;
  bool failed;
  double warm, cold;       /* microseconds, unless failed */
  double spread;           /* relative spread of the middle half of the samples; not stored */
  const char *why;         /* if failed */
  bool varied;             /* neighbours of the schedule were tried in this session */
  bool rejected;           /* in this session the schedule did not win in the whole model */
} Trial;
typedef VEC(Trial) Trials;
/* beam: width of the finished search, 0: unfinished */
typedef struct Winner { const char *opts; double warm, cold; int beam; } Winner;
typedef struct Store Store;
/* NULL: there is no file, and create is false. If the file cannot be written, rows are kept in memory, with a warning */
Store *store_open(Ctx *c, const char *path, bool create);
const char *store_path(Ctx *c, const char *given);   /* path of the store's file; NULL: no home folder is known */
void store_close(Store *s);
void store_trials(Store *s, const char *key, const Place *p, Trials *out); /* appends a nest's trials; texts live in c->model */
bool store_winner(Store *s, const char *key, const Place *p, Winner *out); /* false: there is none */
/* Rows until store_commit are written completely or not at all; durable: they survive a power cut. */
void store_begin(Store *s, bool durable);
void store_put_trial(Store *s, const char *key, const Place *p, const Trial *t);
void store_put_winner(Store *s, const char *key, const Place *p, const Winner *w);
bool store_commit(Store *s);                         /* false: only in memory */
/* n: a winner's beam; for a trial, 1 if it failed, else 0 */
typedef struct StoreRow { bool winner; const char *key, *place, *opts, *why; double warm, cold; int n; } StoreRow;
typedef void (*EachRow)(void *arg, const StoreRow *r);
void store_each(Store *s, EachRow each, void *arg);  /* trials and winners, in a fixed order */
/* The store as a source of schedules. The source calls place_find, which takes a while, only if the store has a schedule for an
 * asked nest, measured in any place. */
ScheduleSource *store_source(Store *s, const Backend *b, const char *device);

/* ---- store_decision.c: decisions of passes that were measured in whole models ---- */
/* Returns what was decided about this node or kernel, in c->model. NULL: nothing is stored. */
const char *store_decision(Ctx *c, Store *s, const Place *p, const char *pass, const char *key);
bool store_put_decision(Store *s, const Place *p, const Decision *d); /* false: it cannot be written */
/* The store as a source of decisions; NULL: it has none. The source calls place_find when a pass first asks. */
DecisionSource *store_decisions(Ctx *c, Store *s, const Backend *b, const char *wanted);

/* ---- log.c: the store as text ---- */
void store_export(Store *s, Sb *out);
void store_import(Store *s, Ctx *c, const char *path); /* merges; warns of wrong lines */

/* ---- neighbours.c ---- */
typedef void (*EachOpts)(void *arg, const char *text);
void opts_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg); /* legal ones, as text */

/* ---- device_neighbours.c: the same for a device that runs many threads ---- */
void device_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);

/* ---- sandbox.c ---- */
typedef struct Child {
  pid_t pid;               /* 0: none */
  int to, from;            /* pipes; -1: closed */
  Sb in;                   /* read, but not yet used */
} Child;
/* Starts a child, which dies with its parent. In the child, returns true with standard input and output on the pipes. */
bool child_begin(Ctx *c, Child *k, const char *log);
bool child_line(Child *k, double seconds, Sb *line, bool *ended); /* the next line, within that time */
int child_end(Child *k);                             /* kills the child's whole group; -> the wait status */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* sends a line to the parent */
const char *why_ended(Ctx *c, int status);           /* in words */
void child_limits(int cpu_seconds, int64_t memory);  /* for this process; memory 0: unchanged */
void child_signals(void);                            /* for the leader of a group: it ends the group when its parent dies */

/* ---- batch.c ---- */
/* The screen is a backend that compiles candidates faster than the bundles' compiler does, to sort out slow ones (Lab.screen).
 * SCREENED: timed with the screen's code, not chosen for the compiler */
typedef enum { OUT_OPEN, OUT_DROPPED, OUT_SCREENED, OUT_MEASURED, OUT_FAILED } Outcome;
typedef enum { SPENT_LOWERING, SPENT_COMPILING, SPENT_TIMING, SPENT_CHECKING, SPENT_KINDS } Spent;
typedef struct Candidate {
  const char *opts;
  Outcome outcome;
  double warm, cold, spread;
  const char *why;
} Candidate;
enum { SCREENED_KEEP = 2 }; /* candidates of a batch for the compiler */
/* a candidate, and its time divided by the incumbent's, both with the screen's code; place 0: none */
typedef struct Quick { int place; double relative; } Quick;
typedef struct Task {
  Ref nest;
  const char *key;
  VEC(Candidate) cand;     /* the first one is the incumbent, the reference for the others */
  double best;             /* microseconds of the incumbent by the compiler's code; 0: unknown */
  double screen_us;        /* microseconds of the incumbent by the screen's code, from the screen's race; 0: unknown */
  bool insists;            /* the incumbent goes to the compiler, even if no candidate does */
  Quick quickest[SCREENED_KEEP]; /* candidates for the compiler, best first */
  int number;              /* number of the nest in a job */
  const CacheState *state; /* where the nest's data are when it is timed; NULL: in the caches, then flushed */
} Task;
typedef struct Built {   /* compiled in this session */
  const char *key, *opts;
  const char *lib;
  int at;                  /* index in the table of lib */
  bool reference;          /* compiled as a reference, not as a candidate */
} Built;
typedef struct Ready {   /* an incumbent that the screen has compiled in the tuner; children inherit its code */
  const char *key, *opts;
  Kernel kernel;
  void (*run)(void *const *); /* NULL: the batches compile it */
} Ready;
typedef struct Lab {     /* shared by batches */
  Ctx *ctx;
  IR *ir;
  const Target *target;
  const Backend *backend;
  const char *device;      /* for a backend with a driver: number or part of the name; NULL: the default */
  bool keep_denormals;     /* the device's kernels keep denormals */
  const char *archs;       /* architectures of the device's images; NULL: the target's */
  Compiling compiler;      /* compiles images if the backend's compiler library is missing */
  bool short_of_memory;    /* the device had too little for some candidate */
  const char *gone;        /* why the search cannot go on: no device or no compiler any more; NULL: it can */
  const Backend *screen;   /* compiles in the process, where the backend would take too long; NULL: none */
  const char *scratch;     /* folder for files of batches */
  int jobs, keep;          /* processes at a time; candidates of a batch to compile, of those that the model has priced */
  int room, raced;         /* on a device. room: most statements (micro-ops) that a call of lab_run compiles; raced: statements
                              compiled in this call */
  double statement_seconds; /* seconds per statement in the last call of lab_run; 0: unknown */
  double limit;            /* most seconds of a candidate's run */
  double cc_limit;         /* most seconds of the compiler for a file, or of the driver for a program */
  double deadline;         /* end of the search, by tune_clock */
  double grace;            /* seconds after the deadline that a race or a comparison under way may take */
  int (*interrupted)(void *arg); /* not 0: stop */
  void *interrupted_arg;
  int batches;             /* made so far, for names of files */
  const char *header;      /* file whose precompiled form holds the headers of instructions (immintrin.h); NULL: none yet */
  int wanted_header;       /* files that included those headers before they were precompiled */
  VEC(Built) built;        /* to be used again: incumbents and references */
  VEC(Ready) ready;
  double spent[SPENT_KINDS]; /* CPU seconds of all processes */
} Lab;
bool lab_run(Lab *b, Task *t);                   /* tries the candidates of the task; false: interrupted or out of time */
/* Writes promising candidates of the task as files of a job into the scratch folder. false: time was up, or a candidate failed,
 * as its outcome says */
bool lab_write(Lab *b, Task *t);

/* ---- candidate_lower.c ---- */
double nest_cycles(const Lab *b, Ref nest, const char *opts); /* estimated from the micro-ops of the nest's program */

/* ---- candidate_verify.c ---- */
/* Compares a schedule with the empty one on random and hard inputs. NULL: equal; otherwise the difference. */
const char *lab_verify(Lab *b, Ref nest, const char *key, const char *opts, bool *late); /* late: not enough time */

/* ---- search.c ---- */
typedef struct Goal {
  Ref nest;
  char key[65];
  int count;               /* runs in the model */
  CacheState state;        /* where the nest's data are in a run of the model */
  Place place, screened_place; /* places of the nest's rows in the store: they include the state */
  size_t ignored;          /* trials of the store without a state of the data, as an older tgc has written them */
  Trials trials;           /* by the compiler's code */
  Trials screened;         /* with the screen's code; times are scaled so that the incumbent's equals its time by the
                              compiler's code */
  const char *base, *best; /* schedules: the heuristic's, and the best known */
  const char *proven;      /* the best before this search */
  const char *elsewhere;   /* the best with the data elsewhere in the caches; NULL: none is known, or a winner in this
                              state is known, which counts instead */
  double base_us, best_us; /* microseconds, the mean of warm and cold; 0: unknown */
  double slack;            /* microseconds of the base's schedule in a run of the model beyond the roofline's; 0: unknown */
  double best_warm, best_cold;
  double cycles;           /* estimate for the base */
  bool begun;              /* the heuristic's best were tried in this session */
  int stale;               /* generations without progress */
  VEC(const char *) dropped; /* rejected by their estimated cost, without being timed */
  bool measured;           /* best was measured by the compiler's code; else its time is an estimate */
  double screen_us;        /* the incumbent's time by the screen's code: the scale of the screened trials until the compiler's
                              code is measured, then 0 */
  bool verified;           /* results of best were compared in this session */
  bool done, dirty;        /* dirty: changed since it was stored */
  bool taken;              /* by tune_take */
} Goal;
typedef struct Tuner {
  Lab lab;
  Store *store;
  Place place;
  Place screened;          /* place under which the screen's times are stored */
  bool stateful;           /* candidates are timed with their data where a run of the model finds them */
  int beam;
  int64_t trials;          /* most trials; 0: no limit */
  VEC(Goal) goals;
  bool compared;           /* a job has compared the results of the trials */
  int64_t tried, failed, left_out; /* candidates in this session: all, failed, rejected by the screen */
  void (*progress)(void *arg, const struct Tuner *t);             /* after each generation; each callback may be NULL */
  void (*acknowledged)(void *arg, const Goal *g, const Trial *x, bool screened); /* the trial is in the store */
  void (*wrong)(void *arg, const Goal *g, const char *opts, const char *why); /* a bug of tgc */
  void *progress_arg;
} Tuner;
void tune_goals(Tuner *t, const Plan *p);            /* fills in t->goals: the nests of a plan, with their rows of the store */
void tune_slack(Tuner *t, const Plan *p, const double *us); /* us: slack of each kernel of the plan */
bool tune_run(Tuner *t);                             /* false: interrupted */
/* Among the nests not taken yet, chooses the one that can gain most, and fills *task with its candidates; NULL: there is none, or
 * time is up */
Goal *tune_take(Tuner *t, Task *task);
void tune_imported(Tuner *t);                        /* the best trial of each nest becomes its winner, also in the store */
/* the schedule that won in the model, or was the best before, becomes the best, also in the store */
void goal_validated(Tuner *t, Goal *g, const char *opts);
double tune_total(const Tuner *t, bool base);        /* microseconds of one run of the model */
void tuner_free(Tuner *t);

/* ---- job.c: candidates as a folder that another machine builds and runs ---- */
typedef struct JobOptions {
  const char *dir;
  const char *command;     /* the tgc command that reads the log; shown to people */
} JobOptions;
typedef struct JobSize { int nests, left; } JobSize; /* nests in the folder; nests left out because time was up */
JobSize job_write(Tuner *t, const JobOptions *o);    /* fails with EX_NOWRITE and whatever the device's compiler fails with */

/* ---- import.c: the log of a job ---- */
typedef struct Imported {
  Place place;             /* the last row's; text NULL: nothing was imported */
  int64_t trials, failed, wrong; /* imported rows of measured trials; rows of failed trials; lines left out */
} Imported;
/* Rows of nests of the plan whose schedules are legal join the store; warns of other lines. Fails with EX_BADMODEL if the file is
 * no log */
Imported job_import(Ctx *c, Store *s, const Plan *p, const char *path);
#endif

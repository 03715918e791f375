/* tune.h: schedules that were measured: lock files, the tuner and its store.
 *
 * machine_key.c says where measurements hold: this machine and compiler. store.c keeps them. neighbours.c
 * varies a schedule. batch.c has many candidates lowered, compiled and timed in child processes
 * (sandbox.c; batch.h lists its parts). search.c is the beam over them. */
#ifndef TGC_TUNE_H
#define TGC_TUNE_H
#include "../driver.h"
#include "../opt/opts.h"
#include <sys/types.h>

double tune_clock(void);                             /* seconds, monotonic */
double tune_work(void);                              /* seconds of a CPU that this process and its ended children took */
bool key_ok(const char *s, size_t n);                /* 64 hex digits */

/* ---- lock.c: a text file of schedules next to a model ---- */
typedef struct LockLine {
  char key[65];
  const char *opts;        /* in text */
  double micros;           /* as measured where it was found */
  bool partial;            /* the search was not finished */
  bool model;              /* it was not measured */
  const char *note;        /* where it comes from, in words */
  bool used;
} LockLine;
typedef struct Lock {
  ScheduleSource source;   /* first: a Lock is one */
  const char *path;
  int version;             /* of the file that was read */
  VEC(LockLine) lines;     /* by key */
  Decisions *decisions;    /* given, and when it is written, made; NULL: none */
} Lock;
Lock *lock_read(Ctx *c, const char *path);           /* fails with EX_NOINPUT_ or EX_BADMODEL; lives in c->model */
void lock_report(Ctx *c, const Lock *l);             /* warns of lines that named no nest of the model */
/* the schedules of a plan, complete, with what the lock says of them */
void lock_complete(Ctx *c, Lock *l, const Plan *p);
void lock_write(Ctx *c, Lock *l, const char *path);  /* sorts; whole or not at all; fails with EX_NOWRITE */

/* ---- machine_key.c ---- */
/* machine and compiler, or device and driver, in words, and their digest */
typedef struct Place { const char *text; char id[65]; } Place;
#define DEVICE_VARIABLE "NET_DEVICE" /* of the environment: the device of who names none, as in bundles called net */
typedef VEC(const char *) Words;
void split_words(Ctx *c, const char *s, Words *out); /* at blanks; s may be NULL */
void compiler_words(Ctx *c, Words *out);             /* CC, or cc */
/* device: its number or a part of its name; NULL: the default, as for CPUs. false: there is no compiler, or no such device */
bool place_find(Ctx *c, const Backend *b, const char *device, Place *p);
Place place_here(Ctx *c, const Backend *b, const char *device); /* fails with EX_MISSING then */
/* the place of a device that has what the model needs: 0, or an exit code and why there is none */
int device_for_plan(Ctx *c, const Plan *plan, const char *device, Place *p, const char **why);

/* ---- tool.c: compilers and linkers ---- */
typedef struct Tool {
  const char *what;        /* for messages: "C compiler" */
  const char *variable;    /* that names another one: "CC" */
  const Words *argv;       /* with a NULL at the end */
  const char *log;         /* a file for what it says */
  const char *scratch;     /* a folder for its own temporary files; NULL: as it likes */
  const char *makes;       /* a file that it must make; NULL: none */
  double seconds;          /* then all of its processes are ended */
  int64_t memory;          /* bytes; 0: no limit */
  /* called some times a second; second: how many have passed, once for each, else 0. What is not 0 ends it. */
  int (*tick)(void *arg, int64_t second);
  void *tick_arg;
} Tool;
typedef struct ToolEnd {
  int error;               /* errno of what kept it from running; 0: it ran */
  bool exec;               /* that was the tool itself */
  bool late;               /* its time was over */
  int interrupted;         /* what tick said */
  int status;              /* else: as wait has it */
} ToolEnd;
ToolEnd tool_run(const Tool *t);
/* 0: it did its work. Else who is to blame, and *why with the tool's name and its last line: EX_MISSING, EX_NOWRITE, EX_RETRY,
 * or EX_BUG: it works, and refuses what it was given. */
int tool_judge(Ctx *c, const Tool *t, const ToolEnd *e, const char **why);

/* ---- store.c: measurements in an SQLite file ---- */
typedef struct Trial {     /* a schedule of a nest that was tried */
  const char *opts;
  bool failed;
  double warm, cold;       /* microseconds; of what did not fail */
  double spread;           /* of the middle half of the samples, relative; not stored */
  const char *why;         /* of what failed */
  bool varied;             /* its neighbours were tried in this session */
} Trial;
typedef VEC(Trial) Trials;
/* beam: width of the finished search, 0: unfinished */
typedef struct Winner { const char *opts; double warm, cold; int beam; } Winner;
typedef struct Store Store;
/* NULL: no file and not to create one. Warns, keeps rows in memory when it cannot write */
Store *store_open(Ctx *c, const char *path, bool create);
const char *store_path(Ctx *c, const char *given);   /* NULL: no place for it */
void store_close(Store *s);
void store_trials(Store *s, const char *key, const Place *p, Trials *out); /* adds those of a nest; texts live in c->model */
bool store_winner(Store *s, const char *key, const Place *p, Winner *out); /* false: there is none */
/* What is put until store_commit is there whole or not at all; durable: nor lost in a power cut. */
void store_begin(Store *s, bool durable);
void store_put_trial(Store *s, const char *key, const Place *p, const Trial *t);
void store_put_winner(Store *s, const char *key, const Place *p, const Winner *w);
bool store_commit(Store *s);                         /* false: it is in memory only */
/* n: beam, or failed */
typedef struct StoreRow { bool winner; const char *key, *place, *opts, *why; double warm, cold; int n; } StoreRow;
typedef void (*EachRow)(void *arg, const StoreRow *r);
void store_each(Store *s, EachRow each, void *arg);  /* trials and winners, in a fixed order */
/* finds out where it is when it has a schedule of some place for a nest; device: as for place_find */
ScheduleSource *store_source(Store *s, const Backend *b, const char *device);

/* ---- log.c: the store as text ---- */
void store_export(Store *s, Sb *out);
void store_import(Store *s, Ctx *c, const char *path); /* merges; warns of lines that are wrong */

/* ---- neighbours.c ---- */
typedef void (*EachOpts)(void *arg, const char *text);
void opts_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg); /* legal ones, as text */

/* ---- device_neighbours.c: the same for a device that runs many threads ---- */
void device_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg);

/* ---- sandbox.c ---- */
typedef struct Child {
  pid_t pid;               /* 0: none */
  int to, from;            /* pipes; -1: closed */
  Sb in;                   /* read and not yet taken */
} Child;
/* In the child, returns true with standard input and output on the pipes; it dies with its parent. */
bool child_begin(Ctx *c, Child *k, const char *log);
bool child_line(Child *k, double seconds, Sb *line, bool *ended); /* the next line, waiting so long at most */
int child_end(Child *k);                             /* kills its whole group; the wait status */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a line to whoever started this process */
const char *why_ended(Ctx *c, int status);           /* in words */
void child_limits(int cpu_seconds, int64_t memory);  /* of the calling process; memory 0: as it is */
void child_signals(void);                            /* a group's leader: when its parent dies, it takes the group with it */

/* ---- batch.c ---- */
/* screened: timed by the screen, and left out */
typedef enum { OUT_OPEN, OUT_DROPPED, OUT_SCREENED, OUT_MEASURED, OUT_FAILED } Outcome;
typedef enum { SPENT_LOWERING, SPENT_COMPILING, SPENT_TIMING, SPENT_CHECKING, SPENT_KINDS } Spent;
typedef struct Candidate {
  const char *opts;
  Outcome outcome;
  double warm, cold, spread;
  const char *why;
} Candidate;
enum { SCREENED_KEEP = 2 }; /* of a batch, for the compiler */
/* a candidate, and its part of the incumbent's time, by the screen's code; place 0: none */
typedef struct Quick { int place; double relative; } Quick;
typedef struct Task {
  Ref nest;
  const char *key;
  VEC(Candidate) cand;     /* the first is the incumbent, which the others are measured against */
  double best;             /* microseconds of the incumbent, 0: not known */
  Quick quickest[SCREENED_KEEP]; /* the best first: these are for the compiler */
} Task;
typedef struct Built {   /* by the compiler, in this session */
  const char *key, *opts;
  const char *lib;
  int at;                  /* in its table */
  bool reference;          /* made to compare others with, and not as a candidate */
} Built;
typedef struct Ready {   /* an incumbent by the screen's code, in the tuner and in all that it forks */
  const char *key, *opts;
  Kernel kernel;
  void (*run)(void *const *); /* NULL: left to the batches */
} Ready;
typedef struct Lab {     /* what batches share */
  Ctx *ctx;
  IR *ir;
  const Target *target;
  const Backend *backend;
  const char *device;      /* of a backend with a driver: its number or a part of its name; NULL: the default */
  bool keep_denormals;     /* of its kernels */
  const Backend *screen;   /* compiles in the process, for what backend has no time for; NULL: nothing does */
  const char *scratch;     /* a folder for their files */
  int jobs, keep;          /* processes at a time; candidates to compile of those the model has seen, a batch */
  int room, raced;         /* on a device: statements that a round may have; that this one has */
  double statement_seconds; /* the last round took for each; 0: not known */
  double limit;            /* seconds a candidate may run at most */
  double cc_limit;         /* seconds for the compiler and one file, or for the driver and one program */
  double deadline;         /* of the search, by tune_clock */
  int (*interrupted)(void *arg); /* not 0: stop */
  void *interrupted_arg;
  int batches;             /* made so far: names of files */
  const char *header;      /* of instructions, read once; NULL: not yet */
  int wanted_header;       /* files that read it themselves */
  VEC(Built) built;        /* which may be wanted again: incumbents, and what is compared */
  VEC(Ready) ready;
  double spent[SPENT_KINDS]; /* seconds of a CPU, of all processes */
} Lab;
bool lab_run(Lab *b, Task *t);                   /* tries what the task holds; false when interrupted or out of time */

/* ---- candidate_lower.c ---- */
double nest_cycles(const Lab *b, Ref nest, const char *opts); /* by counting */

/* ---- candidate_verify.c ---- */
/* Compares a schedule with the empty one on random and hard inputs. NULL: equal; else what differs. */
const char *lab_verify(Lab *b, Ref nest, const char *key, const char *opts, bool *late); /* late: there was no time for it */

/* ---- search.c ---- */
typedef struct Goal {
  Ref nest;
  char key[65];
  int count;               /* how often the model runs it */
  Trials trials;           /* by the compiler's code */
  Trials screened;         /* by the screen's: what the others would take if the incumbent is as much faster or slower */
  const char *base, *best; /* schedules: the heuristic's, the best known */
  double base_us, best_us; /* microseconds, the mean of warm and cold; 0: not known */
  double slack;            /* of a run of the model, what the base takes beyond the least that the machine allows; 0: not known */
  double best_warm, best_cold;
  double cycles;           /* of the base, by counting */
  bool begun;              /* the heuristic's best were candidates in this session */
  int stale;               /* generations without progress */
  VEC(const char *) dropped; /* not worth compiling, by the model */
  bool measured;           /* best was; else its time is an estimate */
  bool verified;           /* best computes what it should; what the store had is not believed to */
  bool done, dirty;        /* dirty: not in the store as it is */
} Goal;
typedef struct Tuner {
  Lab lab;
  Store *store;
  Place place;
  Place screened;          /* of what the lab's screen timed */
  int beam;
  int64_t trials;          /* to stop after; 0: none */
  VEC(Goal) goals;
  int64_t tried, failed, left_out; /* candidates in this session: all, those that failed, those left out by the screen */
  void (*progress)(void *arg, const struct Tuner *t);             /* after each generation; each may be NULL */
  void (*acknowledged)(void *arg, const Goal *g, const Trial *x, bool screened); /* it is in the store */
  void (*wrong)(void *arg, const Goal *g, const char *opts, const char *why); /* a bug of tgc */
  void *progress_arg;
} Tuner;
void tune_goals(Tuner *t, const Plan *p);            /* the nests of a plan, with what the store knows of them */
void tune_slack(Tuner *t, const Plan *p, const double *us); /* a kernel's, for each kernel of the plan */
bool tune_run(Tuner *t);                             /* false: interrupted */
/* the schedule that held in the model takes the best's place, in the store, too */
void goal_validated(Tuner *t, Goal *g, const char *opts);
double tune_total(const Tuner *t, bool base);        /* microseconds of one run of the model */
void tuner_free(Tuner *t);
#endif

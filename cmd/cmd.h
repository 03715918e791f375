/* cmd.h: the tgc program. options.h holds every option and verb as a row; options.c reads the
 * command line by them and prints the help and the man page; one file per verb does the rest. */
#ifndef TGC_CMD_H
#define TGC_CMD_H
#include "../frontends/frontends.h"
#include "../backends/backends.h"
#include "../compiler/bundle/bundle.h"
#include "../compiler/driver.h"
#include "../compiler/graph/graph.h"
#include "../compiler/interp/interp.h"
#include "../compiler/support/leftover.h"
#include "../compiler/tune/tune.h"
#include <sys/types.h>

enum { SCHEMA_VERSION = 1 };   /* of everything --json prints */
#if defined __x86_64__
#define DEFAULT_ISA "x86-64-v3" /* of compile: fixed, so that equal commands give equal bytes on all machines */
#else
#define DEFAULT_ISA "portable"
#endif

/* ---- the command line ---- */
typedef enum {
#define VERB(name, args, gloss) VERB_##name,
#define OPTION(letter, name, arg, kind, field, verbs, help)
#include "options.h"
#undef VERB
#undef OPTION
  VERB_COUNT
} Verb;

typedef Words Texts;
typedef struct Options {       /* zero, false and NULL: not given */
  Verb verb;
  uint64_t given[2];           /* a bit for each row of options.h */
  const char *model;           /* the model or bundle */
  const char *out;
  const char *isa, *target, *cpu, *backend, *device, *emit, *archs, *name, *embed, *precision, *weights, *denormals, *groups;
  const char *data, *format, *outputs, *schedule, *lock, *tune_db, *tune_log, *time, *cc_limit;
  Texts inputs, dims, states, results, settings;
  const char *dump, *stop_after, *start_after, *trace;
  int64_t threads, runs, steps, beam, trials; /* 0: not given */
  int64_t kernel;              /* -1: all */
  int64_t seed, capacity, max_nodes, max_unroll, max_nesting, max_decoded, max_fold, max_fold_steps;
  double rtol, atol, seconds, percentile;
  bool time_passes, self_test, no_cpu_check, no_index_status, no_store, no_validate, vs_ort, vs_untuned, hardlinks;
  bool json, explain, tunables, quiet, verbose, help, man, version;
} Options;

/* Fills in o. Returns -1 to go on, or the exit code when all is said (help, a wrong option). */
int options_parse(Options *o, int argc, char **argv);
void options_free(Options *o);
double duration(const char *text);                        /* "90", "90s", "1.5m", "1h" in seconds; negative: it is none */

/* ---- one function per verb: an exit code, or fail() ---- */
int verb_compile(Ctx *c, const Options *o);
int verb_run(Ctx *c, const Options *o);
int verb_verify(Ctx *c, const Options *o);
int verb_inspect(Ctx *c, const Options *o);
int verb_check(Ctx *c, const Options *o);
int verb_bench(Ctx *c, const Options *o);
int verb_profile(Ctx *c, const Options *o);
int verb_quantize(Ctx *c, const Options *o);
int verb_devices(Ctx *c, const Options *o);
int verb_tune(Ctx *c, const Options *o);
int verb_ops(Ctx *c, const Options *o);

/* ---- tunables.c ---- */
void tunables_apply(Ctx *c, const Options *o);            /* what --tunable says becomes the context's; fails */
int tunables_list(Ctx *c, const Options *o);

/* ---- model.c: from the command line to a plan ---- */
typedef struct Feed Feed;
const Target *target_of(Ctx *c, const Options *o, const char *otherwise);
const Backend *backend_of(const Options *o, Emit *emit);  /* NULL: there is none of that name, or it does not emit that */
Groups groups_named(const char *s); /* GROUPS_COUNT: there is no such word; NULL is the default */
bool keeps_denormals(const Options *o);                   /* --denormals=keep, or fp32-strict without --denormals */
Graph *load_graph(Ctx *c, const Options *o, const Feed *feed); /* feed: its shapes fix dynamic dimensions; may be NULL */
/* NULL: --stop-after, and what it prints is in *stopped. */
Plan *plan_of(const Options *o, Graph *g, const Target *t, Sb *stopped);
/* The same from a dump (NULL: none), and to one (NULL: to none): blob gets its long weights, which it calls blobname */
typedef struct DumpTo { Sb *blob; const char *blobname; const Sample *sample; } DumpTo;
Plan *plan_from(const Options *o, Graph *g, const Target *t, Resumed *from, Sb *stopped, const DumpTo *to);

/* ---- interpret.c ---- */
/* The outputs of `steps` runs, as exact as they get. in: for each run all inputs of the graph, of which the
 * states' are filled in; out: for each run those that the caller gets. exact false: each op rounds to its type. */
void interpret(Ctx *c, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out);
/* One run; false: it takes more than so many operations, if that is not 0. */
bool interpret_once(Ctx *c, const Graph *g, const Tensor *in, bool exact, int64_t most, Tensor *out);

/* ---- report.c ---- */
void progress_show(const Options *o, const char *stage, int64_t seconds); /* on a terminal only; stage NULL: clears */
json_t *json_report(const char *verb, const char *model); /* an object with what every report has */
void json_print(json_t *j);                               /* to stdout; takes the reference */
const char *type_text(Ctx *c, DType d, int rank, const int64_t *dims); /* "f32[1,3,224,224]" */
const char *bytes_text(Ctx *c, int64_t bytes);            /* "12.3 MB" */
void print_name(const char *s);                           /* to stdout; names may hold anything */

/* ---- resume.c: dumps ---- */
Resumed *resume_read(Ctx *c, Options *o);                 /* the model is a dump; o becomes as it was when that was made */
const Setting *settings_of(Ctx *c, const Options *o, const char *lock, int *n); /* lock: the lock file that is used; NULL: none */

/* ---- validate.c: the whole model, to see where time goes, and to try in it what a tuner found ---- */
typedef struct ValidatedAt { int threads; double untuned, tuned; } ValidatedAt; /* ms of a run; threads 0: not measured */
/* nests; on the threads asked for, and on others */
typedef struct Validated { bool done; int kept, found; ValidatedAt at, other; } Validated;
typedef struct Validation Validation;
Validation *validate_open(Ctx *c, const Options *o, Tuner *t, const char *scratch, Validated *result); /* in c->model */
int validate_survey(Ctx *c, Validation *s);                     /* the goals' slack; an exit code */
int validate_model(Ctx *c, Validation *s);                      /* the goals keep what holds there; an exit code */
void validate_close(Validation *s);

/* ---- error.c: what a precision costs, on sample inputs ---- */
/* before compiling; false: over the budget */
bool error_sample(Ctx *c, const Options *o, const Graph *g, const Feed *feed, Sample *s);
const OutputError *error_measure(Ctx *c, const Plan *p, const Sample *s); /* NULL: over the budget */
OutputError output_error(const Tensor *got, const Tensor *want);
void error_print_one(const char *output, const OutputError *e);
void error_print(const Plan *p, const OutputError *e);    /* on stdout */

/* ---- inspect.c ---- */
json_t *graph_json(const Graph *g);
void print_interface(Ctx *c, const Graph *g);
/* --explain; kernels: as a manifest lists them, with what their compiled functions take, or NULL */
void print_kernels(const Plan *p, const json_t *kernels);

/* ---- data.c: tensors from and to files; all of it lives in c->model ---- */
typedef struct NamedTensor {
  const char *name;            /* of the input or output it is for; NULL: not known */
  int number;                  /* place among them, when the name does not decide; -1: not known */
  const char *file;            /* for messages */
  Tensor t;
  bool given;                  /* by --input */
  bool named;                  /* it was in an archive under the name of an input or an output */
  bool raw;                    /* bytes whose type and shape are the model's to say */
} NamedTensor;
struct Feed { VEC(NamedTensor) inputs, outputs; };
void feed_read(Ctx *c, const Options *o, Feed *f);        /* --input and --data; of several steps, the first */
typedef struct Steps {
  const GIO *in, *out;         /* as declared, for a step */
  size_t nin, nout;
  size_t stride;               /* tensors of a step in `given`: nin, and those of states behind them */
  Tensor *given, *want;        /* want NULL: nobody asks */
  bool wanted;                 /* the data has all of want */
} Steps;
/* Fills given, from the data or from the seed, want and wanted. Returns how many inputs come from the seed. */
int feed_steps(Ctx *c, const Options *o, const Feed *first, Steps *s);
void feed_free(Feed *f);
/* One tensor for each of the n declared; those the feed lacks come from the seed. Returns how many those are. */
int feed_inputs(Ctx *c, const Feed *f, const GIO *want, int n, int64_t seed, Tensor *out);
/* the expected outputs, in order; false: the data has none */
bool feed_outputs(Ctx *c, const Feed *f, const GIO *want, int n, Tensor *out);
void tensor_save(Ctx *c, const char *path, const char *format, const char *name, const Tensor *t);
double tensor_at(const Tensor *t, int64_t i);
void tensor_summary(Ctx *c, const char *name, const Tensor *t); /* on stdout */
json_t *tensor_json(const char *name, const Tensor *t);

/* ---- npy.c: NumPy's files ---- */
Tensor npy_parse(Ctx *c, const char *what, Bytes b);
void npy_write(const Tensor *t, Sb *out);
void npz_parse(Ctx *c, const char *path, Bytes b, void (*each)(Ctx *c, void *arg, const char *name, Tensor t), void *arg);

/* ---- state_args.c: --state and what runs of several steps need ---- */
static inline size_t steps_of(const Options *o) { return o->steps ? (size_t)o->steps : 1; }
void apply_states(Ctx *c, const Options *o, Graph *g);
void state_first(Ctx *c, const Graph *g, Tensor *in);     /* in: of the graph; the states' first values */
void state_next(Ctx *c, const Graph *g, const Tensor *out, Tensor *in); /* what a run leaves for the next */

/* ---- process.c: the scratch folder and child processes ---- */
char *scratch_new(Ctx *c);                                /* a private folder in c->model; fails with EX_NOWRITE */
void scratch_remove(const char *dir);
/* fork(); the child dies with its parent and is in a group of its own. */
pid_t child_start(Ctx *c);
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage); /* its wait status; stage: for the progress */
_Noreturn void child_died(Ctx *c, int status, const char *what); /* fails as its end deserves */
int interrupt_pending(void);                              /* the signal that wants the program to end, or 0 */
void *shared_memory(Ctx *c, size_t n);                    /* with children started later */
double clock_ms(void);

/* ---- interface.c: from a bundle's manifest ---- */
typedef struct Interface {                                /* what a caller of a built bundle must know */
  const char *name;
  VEC(GIO) inputs, outputs;                               /* ref is 0 */
  int64_t arena_bytes, weight_bytes;
  bool embedded;
  const char *weights_sha256;
  const char *cflags;
  const Target *target;                                   /* of --isa */
  const char *code;                                       /* the file of the kernels */
  const char *device;                                     /* of --device; NULL: the runtime's choice */
  bool states;                                            /* which the runtime moves on */
  Texts sources;                                          /* for the C compiler, without tgcrt.c */
  Texts variants, variant_flags;                          /* sources for one machine each, and what they want */
} Interface;
/* from manifest.json; fails with EX_NOINPUT_ or EX_BADMODEL */
Interface interface_read(Ctx *c, const Options *o, const char *dir);
void interface_free(Interface *f);
bool is_bundle(const char *path);
void weights_check(Ctx *c, const char *dir, const Interface *f); /* fails unless its file has the digest of the manifest */

/* ---- bundle_build.c: bundles built on this machine ---- */
const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch); /* its bundle in a new folder of scratch */
/* What the C compiler makes of `more`, arguments that name sources for t, as scratch/NAME.so. Fails with EX_MISSING,
 * EX_NOWRITE or EX_RETRY where the compiler or the machine is to blame. */
const char *shared_object(Ctx *c, const Options *o, const char *scratch, const char *name, const char *cflags, const Target *t,
                          const Texts *more);
/* What a compiler makes of a few lines of plain C for t: 0, or an exit code and why. NULL for the compiler: CC, or cc. */
int compiler_probe(Ctx *c, const Options *o, const char *scratch, const char *compiler, const char *kind, const char *cflags,
                   const Target *t, const char **why);

/* The bundle in dir as a shared object; hooks: a header for TGC_HOOKS (docs/bundle.md), or NULL. */
const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks);
/* The bundle's example as a static program, and what runs it: 0, or an exit code and why. */
const char *example_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f);
int example_run(Ctx *c, const Options *o, const char *scratch, const char *emulator, Texts *argv, const char *makes,
                const char **why);
/* A shared library of an object; arg: Linking. Fails with EX_MISSING without a linker. */
typedef struct Linking { const Options *o; const char *scratch, *soname; } Linking;
Bytes link_shared(Ctx *c, void *arg, Bytes object);

/* Compiling.run: arg is a Linking. What refuses the text gives EX_BUG. */
int compile_text(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);

/* The kernels of a bundle's manifest, which is not kept. For backends that compile for a device */
json_t *compiled_kernels(Ctx *c, const Options *o, const Plan *p);

/* ---- toolchain.c: what builds for a machine, and what is installed of it ---- */
/* Compilers for an architecture, besides clang, which builds for all; and what of it QEMU 7.2 plays. bare:
 * without an operating system. */
typedef struct Toolchain { Arch arch; bool bare; const char *compiler, *emulator; uint32_t played; } Toolchain;
extern const Toolchain toolchains[];                      /* .compiler NULL ends it */
bool installed(Ctx *c, const char *program);              /* in the PATH, or a path itself */
bool is_bare(const Target *t);
bool is_foreign(const Target *t);                         /* of another architecture than this machine */
/* The words of CC; without it, for an architecture that is not this one's, a cross compiler that is installed; NULL: cc.
 * Fails with EX_MISSING without one. */
const char *compiler_for(Ctx *c, const Target *t);
Arch elf_arch(const char *path);                          /* of an object file's code; ARCH_ANY: none of tgc's */
void native_only(Ctx *c, const Target *t);                /* fails with EX_MISSING for code that only others run */

/* ---- drivers.c: devices that drivers of this machine report ---- */
/* why: of each interface that has no device here, or no more, what its driver says; jansson's, as the list is */
json_t *drivers_json(Ctx *c, const Options *o, json_t **why);
void drivers_print(Ctx *c, const json_t *list, const json_t *why);

/* ---- emulate.c ---- */
/* As bundle_execute, for another architecture: by an emulator, or fails with EX_MISSING. */
void bundle_emulate(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, Arch arch, size_t steps,
                    const Tensor *in, Tensor *out);

/* ---- execute.c: bundles run on this machine ---- */
/* Builds the bundle in dir and runs it `steps` times in a process of its own: in has `stride` tensors for each run, out
 * the bundle's outputs, which get data in c->model. Returns the runtime's status; fails when the compiler fails or the
 * process dies. */
int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t steps,
                   size_t stride, const Tensor *in, Tensor *out);
/* for a status that is not TGCRT_OK or TGCRT_INDEX, or -1 and why */
_Noreturn void model_failed(Ctx *c, int status, const char *why);
/* plan → bundle in a folder of scratch → outputs */
int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, size_t steps, const Tensor *in, Tensor *out);

/* A built bundle in this process, which should be a child: what is loaded may crash. */
typedef struct Loaded {
  void *so;                                               /* of dlopen */
  void *ctx;                                              /* a NAME_ctx, on the heap */
  int (*run)(void *ctx, const void *const *in, void *const *out);
  double map_ms, init_ms;                                 /* what mapping the weights and NAME_init took */
} Loaded;
/* a status, or -1 and why; threads: that share its runs; 0 and 1: this one alone */
int model_open(const char *dir, const char *so, const Interface *f, int threads, Loaded *m, char why[252]);

/* ---- measure.c: programs that time something on request, as children ---- */
typedef VEC(double) Reals;
typedef struct Worker {
  pid_t pid;
  int to, from;                                           /* pipes: a line asks, a line answers */
  const char *what;                                       /* for messages */
  Reals ready;                                            /* what it said of its start: numbers, */
  const char *version;                                    /* and text after them */
} Worker;
/* What cmd/probe/hooks.h leaves of a run: which thread did which parts of which kernel, and when. */
enum { LANES = 64, SPANS = 4096 };                        /* threads, parts of a thread; more are left out */
typedef struct Span { double begin, end; int kernel; } Span; /* ms */
typedef struct Spans { int lanes, n[LANES]; Span span[LANES][SPANS]; } Spans;
typedef struct Stamps {
  int n;                                                  /* of a run: when each kernel began and the last one ended */
  double *at;                                             /* ms, one run after another */
  size_t room;                                            /* for so many runs, then again from the start; 0: for all */
  Spans *spans;                                           /* of the last run of a block */
  const int *kernel;                                      /* of each launch of a device, which takes the times; NULL: a CPU */
  size_t launches;
} Stamps;
/* A child that opens a built bundle. ready: map, init, first run in ms, bytes of code. stamps: shared
 * memory for what the runs leave there; or NULL. */
void worker_model(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps);
const int *kernel_of_launches(const Plan *p, size_t *n);  /* of a plan for a device, for its stamps */
const char *hooks_write(Ctx *c, const char *scratch, int steps); /* a header for TGC_HOOKS that leaves stamps */
/* A program that speaks the same lines. */
void worker_program(Ctx *c, Worker *w, const char *what, const Texts *argv);
/* Asks for a block: 2 ms or a run that do not count, then runs until there are `runs`, or `seconds` have passed. Adds
 * their times in ms. */
void worker_block(Ctx *c, Worker *w, double seconds, int64_t runs, Reals *times);
void worker_end(Worker *w);
/* What the machine did besides: CPUs kept busy by other processes, as an average over the time in between. */
typedef struct Load { double at, busy, own; } Load;
Load load_now(Worker *const *own, int n);
double load_foreign(const Load *from, const Load *to);
double quantile(Reals *sorted, double q);
void reals_sort(Reals *r);
/* GFLOP/s of multiply-adds in registers, and GB/s of reading that many bytes again and again, on all threads at once */
typedef struct Peak { double gflops, read_gbs; } Peak;
Peak peak_measure(Ctx *c, const Options *o, const char *scratch, const Target *t, int threads, int64_t bytes);

/* ---- compare.c ---- */
typedef struct Diff {
  int64_t bad;                 /* elements outside atol + rtol * |expected| */
  int64_t worst;               /* the element that is furthest out */
  double max_ulp;              /* of the element type; integers: difference */
  double max_rel, max_abs;
} Diff;
Diff tensor_compare(const Tensor *got, const Tensor *want, double rtol, double atol);
/* How far reference data is off the exact result: largest absolute error, or infinity when that is more than the
 * rounding of a deep network explains (f32: 5e-5 of the largest element); precision: what it was computed in. */
double reference_error(const Tensor *want, const Tensor *exact, DType precision);
/* which node goes wrong first: prints suspects, best first */
void find_suspects(Ctx *c, const Options *o, Graph *g, const Target *t, const char *scratch, const Tensor *in, json_t *report);
#endif

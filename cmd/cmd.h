/* SPDX-License-Identifier: MIT */
/* cmd.h: the tgc program. options.h has a row for every verb and option. options.c parses the command line by these rows; help.c
 * prints the help and the manual page, completions.c the completions of shells. Each verb has a file. */
#ifndef TGC_CMD_H
#define TGC_CMD_H
#include "../frontends/frontends.h"
#include "../backends/backends.h"
#include "../compiler/bundle/bundle.h"
#include "../compiler/driver.h"
#include "../compiler/graph/graph.h"
#include "../compiler/cost/program_time.h"
#include "../compiler/interp/interp.h"
#include "../compiler/support/leftover.h"
#include "../compiler/tune/tune.h"
#include <sys/types.h>

enum { SCHEMA_VERSION = 1 };   /* version of the layout of the reports that --json prints */
/* The default --isa of all verbs depends on the architecture of this machine, not on its CPU. So equal commands give equal bytes
 * on all machines of an architecture, and the other verbs run what compile writes. */
#if defined __x86_64__
#define DEFAULT_ISA "x86-64-v3"
#elif defined __aarch64__
#define DEFAULT_ISA "neon" /* every CPU of the architecture has it */
#else
#define DEFAULT_ISA "portable"
#endif

/* ---- the command line ---- */
typedef enum {
#define VERB(name, args, gloss, examples) VERB_##name,
#include "options.h"
  VERB_COUNT
} Verb;

typedef Words Texts;
typedef struct Options {       /* zero, false or NULL: the option was not given */
  Verb verb;
  uint64_t given[3];           /* a bit for each row of options.h: the option was given */
  char *const *words;           /* the command line, with the program first */
  const char *model, *other;   /* the model or bundle; other: the second one */
  const char *out;
  const char *isa, *target, *cpu, *backend, *device, *emit, *archs, *name, *bindings, *embed, *package;
  const char *precision, *weights, *denormals, *groups;
  const char *optimize, *max_arena, *max_weights, *machine;
  const char *entry;            /* an entry of a pipeline, or of its bundle; NULL: all entries */
  const char *run_size;         /* the part of --size that is worked on: "3" or "batch=2,seq=17"; NULL: not given */
  const char *data, *format, *outputs, *schedule, *lock, *tune_db, *tune_log, *job, *import, *time, *cc_limit;
  const char *limits, *baseline, *tolerance, *cpus, *csv;
  const char *holdout_data, *metric, *layers, *save_layers; /* options of quantize */
  int64_t holdout;
  double rate;
  int64_t repeat, pairs;
  const char *original, *junit, *markdown, *dot; /* original: the model that a bundle was made from */
  Texts inputs, dims, sizes, states, results, settings, metrics, requires;
  Texts froms, consts, renames, prologues, epilogues, converts;
  const char *dump, *stop_after, *start_after, *trace;
  int64_t threads, runs, steps, beam, trials; /* 0: not given */
  int64_t kernel;              /* -1: all */
  int64_t seed, capacity, string_bytes, max_nodes, max_unroll, max_nesting, max_decoded, max_fold, max_fold_steps;
  double rtol, atol, seconds, percentile, max_drop;
  bool time_passes, self_test, run_step, no_cpu_check, no_index_status, no_store, no_validate, interpret, vs_ort, vs_untuned;
  bool ort, cold, hardlinks;
  bool json, explain, tunables, measure, predict, quiet, verbose, help, man, version, wide;
  const char *color, *messages;
  void (*say)(void *arg, const char *text); /* gets what is wrong with an option; NULL: it is printed */
  void *say_arg;
} Options;

void options_init(Options *o, Verb verb);                 /* all options at their defaults */
/* Sets an option of the verb by its name, without "--". value NULL: none was given. The text of the value must outlive
 * o. Returns -1, or EX_USAGE_ */
int option_set(Options *o, const char *name, const char *value);
int options_check(const Options *o);                      /* values and their combinations: -1, or EX_USAGE_ */
/* Fills in o. Returns -1 when a verb is to be run. Else the exit code: the help was printed, or the command line is wrong. */
int options_parse(Options *o, int argc, char **argv);
void options_free(Options *o);
bool option_given(const Options *o, const char *name);
bool parse_size(const char *s, int64_t *out);             /* "4096", "4k", "4M", "4G"; false: not a size */
/* Parses an option's value into a limit of CompileOptions: 1 + bytes, or 0 if s is NULL. false: s is no size */
bool parse_limit(const char *s, int64_t *limit);
double duration(const char *text);                        /* "90", "90s", "1.5m", "1h" in seconds; negative: not a duration */

/* ---- one function per verb: returns an exit code, or calls fail() ---- */
int verb_compile(Ctx *c, const Options *o);
int verb_run(Ctx *c, const Options *o);
int verb_verify(Ctx *c, const Options *o);
int verify_model(Ctx *c, const Options *o, json_t **report); /* verify, without printing; the caller releases *report */
int verb_inspect(Ctx *c, const Options *o);
int verb_check(Ctx *c, const Options *o);
int verb_bench(Ctx *c, const Options *o);
int verb_profile(Ctx *c, const Options *o);
int verb_quantize(Ctx *c, const Options *o);
int verb_report(Ctx *c, const Options *o);
int verb_audit(Ctx *c, const Options *o);
int verb_diff(Ctx *c, const Options *o);
int verb_devices(Ctx *c, const Options *o);
int verb_tune(Ctx *c, const Options *o);
int verb_ops(Ctx *c, const Options *o);
int verb_completions(Ctx *c, const Options *o);

/* ---- option_rows.c: the rows of options.h ---- */
typedef enum { FLAG, TEXT, LIST, SIZE, COUNT, REAL, MAYBE } Kind; /* COUNT: a SIZE of at least 1 */
typedef enum {
#define GROUP(name, title) GROUP_##name,
#include "options.h"
  GROUP_COUNT
} Group;
typedef struct OptionRow {
  char letter;                                            /* 0: none */
  const char *name, *arg;
  Kind kind;
  size_t field;                                           /* offset in Options */
  const char *verbs;
  Group group;
  const char *help;
} OptionRow;
typedef struct VerbRow { const char *name, *args, *gloss, *examples; } VerbRow;
extern const OptionRow option_rows[];                     /* .name NULL ends it */
extern const VerbRow verb_rows[VERB_COUNT];
extern const char *const group_titles[GROUP_COUNT];
bool option_of(const OptionRow *r, Verb v);               /* the verb takes the option */
bool option_of_bundle(const OptionRow *r, Verb v);        /* the verb takes the option for a bundle, too */

/* ---- choices.c ---- */
/* Adds the words that the option takes as its value, if they are known, as for --backend and --isa. */
void option_choices(Arena *a, const char *option, Texts *words);
const char *choice_near(Arena *a, const char *option, const char *word); /* did_you_mean for `word` among the option's words */

/* ---- help.c ---- */
void print_help(const Options *o);                        /* for o->verb, or for tgc as a whole */
void print_man(void);

/* ---- terminal.c: width, colours, units, tables and the progress line ---- */
int terminal_width(FILE *f);                              /* columns; 0: f is not a terminal */
bool terminal_colored(const Options *o, FILE *f);         /* by --color, NO_COLOR, TERM and whether f is a terminal */
typedef enum { PAINT_OK, PAINT_WARNING, PAINT_ERROR, PAINT_TITLE, PAINT_COUNT } Paint;
const char *paint(const Options *o, FILE *f, Paint p, const char *text, Arena *a); /* text in a colour for f, if it has colours */
int terminal_room(const Options *o);                      /* columns for a line on stdout; 0: any number, also with --wide */
const char *bytes_text(Ctx *c, int64_t bytes);            /* "12.3 MiB": powers of 1024 */
const char *time_text(Ctx *c, double ms);                 /* "12.3 µs" */
const char *count_text(Ctx *c, double n, const char *unit); /* "1.23 Mflop": powers of 1000 */
/* A table: rows of cells. format has a letter for each column, '<' or '>' for its side, as "<>><". headed: the first row has the
 * names of the columns. The last column is cut at the width of a terminal, unless --wide is given. */
typedef struct Table { Ctx *c; const Options *o; const char *format; bool headed; VEC(const char *) cells, under; } Table;
void table_row(Table *t, ...);                            /* adds a row: one text per column; the texts must outlive the table */
void table_under(Table *t, const char *text);             /* a line below the last row, from its second column on */
void table_print(Table *t);                               /* prints the table and frees it */
void table_free(Table *t);
void print_cut(const Options *o, const char *line);       /* prints a line, cut in the same way */
/* Prints the words of a text in lines of `width` columns, 0 for one line. at: the current column. Further lines begin at column
 * `left`, and so does the first line unless `at` is already behind `left`. at -1: the first line begins at column 0. A tab
 * becomes a blank; other control characters become '?'. */
void print_words(const char *s, int left, int at, int width);
/* Prints lines of text at the terminal's width. A line that is too long continues at column `left` of the next one. */
void print_lines(const char *s, int left);
bool terminal_has_progress(const Options *o);             /* stderr is a terminal that can rewrite a line, and -q is not given */
/* Rewrites the progress line. share: part of the work that is done, which gives the time left; negative: not known. stage NULL:
 * clears the line */
void progress_show(const Options *o, const char *stage, double share, int64_t seconds);

/* ---- progress.c ---- */
/* From one second after work_begin until work_end, a terminal shows `what` and the progress that c->progress reports. After a
 * failure work_end may be left out: the next work_begin, or the end of the program, calls it. */
void work_begin(Ctx *c, const Options *o, const char *what);
void work_end(Ctx *c);

/* ---- tunables.c ---- */
void tunables_apply(Ctx *c, const Options *o);            /* applies --tunable to the context; fails on a wrong name or value */
int tunables_list(Ctx *c, const Options *o);

/* ---- machine.c: the CPU that costs are for ---- */
struct CpuFacts;
const struct CpuFacts *machine_given(Ctx *c, const Options *o);  /* NULL: --machine was not given */
const struct CpuFacts *machine_stored(Ctx *c, const Options *o); /* this CPU as it was measured; NULL: it was not */
const struct CpuFacts *machine_measured(Ctx *c, const Options *o); /* the same, for reports: also with --no-tune-store */
const char *machine_line(Ctx *c, const struct CpuFacts *f);      /* as --machine takes it, on one line; f NULL: NULL */
int machine_print(const Options *o, const struct CpuFacts *f);

/* ---- floor.c: the least time of a run ---- */
typedef struct Floor {
  const char *machine;
  double ms, multiply_ms, read_ms; /* the longer one of both others */
  double multiply_adds, bytes;     /* products that are added up; bytes that are read once at least */
} Floor;
/* run: its sizes. NULL: it is not known */
const Floor *floor_of(Ctx *c, const Options *o, const Plan *p, int threads, const int64_t *run);

/* ---- machine_measure.c ---- */
const struct CpuFacts *machine_measure(Ctx *c, const Options *o); /* measures this CPU and keeps the facts in the store */
/* Prints a line on standard error if the target is DEFAULT_ISA by default, and this CPU differs from it. The verb `run` prints
 * the line only if this CPU lacks features of the target. */
void machine_tell_default(Ctx *c, const Options *o);
/* For verbs that time code: calls machine_tell_default, and measures this CPU if its facts are needed and not stored yet */
void machine_prepare(Ctx *c, const Options *o);

/* ---- model.c: from the command line to a plan ---- */
typedef struct Feed Feed;
typedef struct Interface Interface;
const Target *target_of(Ctx *c, const Options *o); /* by --isa, else --machine, --target, the backend, or DEFAULT_ISA */
const Backend *backend_of(const Options *o, Emit *emit);  /* NULL: no such backend, or it cannot emit what --emit asks for */
Groups groups_named(const char *s); /* GROUPS_COUNT: no such word; NULL gives the default */
unsigned bindings_of(const Options *o);                   /* --bindings as bits of bundle.h; options_check has checked it */
bool keeps_denormals(const Options *o);                   /* --denormals=keep, or fp32-strict without --denormals */
/* changes.c: the options that change a model's inputs and outputs */
enum { CHANGES = 6 };
Texts *change_texts(Options *o, int i);                   /* values of the i-th of these options */
Setting *changes_of(Ctx *c, const Options *o, int *n);    /* all of these options that were given */
const char *first_change(const Options *o);               /* NULL: none was given */
void changes_resume(Ctx *c, Options *o, const Setting *s, size_t n); /* takes these options from a dump's settings s[0..n) */
const IoOptions *io_options(Ctx *c, const Options *o);    /* NULL: none was given */
/* ---- load.c ---- */
bool is_pipeline(const char *path);                       /* a .tgp text */
const char *pipeline_text(Ctx *c, const Options *o);      /* the pipeline as pipeline_print has it */
Graph *load_graph(Ctx *c, const Options *o, const Feed *feed); /* feed: fixes dynamic dimensions by its shapes; may be NULL */
/* the target and the options under which decisions are stored */
const char *decisions_wanted(Ctx *c, const Options *o, const Target *t);
/* Compiles g. Returns NULL when --stop-after was given; *stopped then holds the text to print. */
Plan *plan_of(const Options *o, Graph *g, const Target *t, Sb *stopped);
/* The same, but continues from the dump `from`; NULL: starts from the model. If `to` is not NULL, *stopped becomes a dump. The
 * dump's long weights go to to->blob, a file that the dump calls to->blobname. */
typedef struct DumpTo { Sb *blob; const char *blobname; const Sample *sample; } DumpTo;
Plan *plan_from(const Options *o, Graph *g, const Target *t, Resumed *from, Sb *stopped, const DumpTo *to);

/* ---- sizes.c: sizes of runs, where a model serves a range of them ---- */
enum { SIZES_OF_DIM = 4096 };                          /* the end of the longest range: front ends try each size */
const char *parse_range(const char *value, Symbol *s); /* "1:512:8@128", without a name. Returns what is wrong with it, or NULL */
const char *first_range(const Options *o);             /* the first --dim with a range; NULL: none */
Symbols ranges_of_dims(Ctx *c, const Options *o);
int runs_of_size(const char *text); /* runs that a --size asks for; 0: it is wrong */
/* Calls `one` for each run that --size asks for, with Options.run_size. Without --size, verify takes usual_runs. Returns the last
 * exit code that is not 0. */
int over_sizes(Ctx *c, const Options *o, int (*one)(Ctx *c, const Options *o));
void usual_runs(Ctx *c, const Symbols *all, Texts *runs); /* the least, middle, typical and greatest sizes, and corners */
/* Gets the sizes that Options.run_size gives; the others are 0. Fails if it has no effect. false: there is no range */
bool sizes_asked(Ctx *c, const Options *o, const Symbols *all, int64_t *run);
/* Sets sizes that are 0 to the greatest ones. Fails if another one is outside of its range. Returns the text of the sizes; NULL:
 * there is no range */
const char *sizes_complete(Ctx *c, const Symbols *all, int64_t *run);
/* Sets the extents that sizes decide. extents: those that follow from sizes, behind `symbols` of them; NULL: no value has one */
void values_at(GIO *v, size_t n, const Extents *extents, int symbols, const int64_t *run);
const GIO *values_of_run(Ctx *c, const GIO *v, size_t n, const int64_t *run);       /* a copy with these extents */
Options one_size(Ctx *c, const Options *o, const Symbols *all, const int64_t *run); /* o with these sizes in place of ranges */

/* ---- interpret.c ---- */
/* Evaluates `steps` runs in the interpreter. in: all inputs of the graph for each run; the states among them are filled in
 * here. out: for each run the outputs that the caller gets. exact: floats are computed in double; else each op rounds to its
 * type. */
void interpret(Ctx *c, const Options *o, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out);
/* One run. most: limit of operations, 0 for none. Returns false if the run needs more. */
bool interpret_once(Ctx *c, const Options *o, const Graph *g, const Tensor *in, bool exact, int64_t most, Tensor *out);

/* ---- interpret_device.c ---- */
/* Makes `steps` runs of a plan for a device in the interpreter. in and out are those of plan_execute. Returns an array with the
 * report of each launch that has a fault. */
json_t *plan_interpret(Ctx *c, const Options *o, const Plan *p, size_t steps, const Tensor *in, Tensor *out);

/* ---- report.c ---- */
json_t *json_number(double v);                            /* null unless it is finite */
json_t *json_report(const char *verb, const char *model); /* an object with the fields that every report has */
void json_print(json_t *j);                               /* to stdout; takes the reference */
const char *type_text(Ctx *c, DType d, int rank, const int64_t *dims); /* "f32[1,3,224,224]" */
void print_name(const char *s);                           /* to stdout, escaped: names may hold any bytes */

/* ---- resume.c: dumps ---- */
Resumed *resume_read(Ctx *c, Options *o);                 /* reads a dump in place of the model; restores in o the options the
                                                             dump was made with */
/* lock: the lock file in use; NULL: none */
const Setting *settings_of(Ctx *c, const Options *o, const Target *t, const char *lock, int *n);

/* ---- validate.c: runs the whole model, to see where time goes and to test the tuner's schedules in it ---- */
/* ms per run; low, high: the ends of the interval of tuned / untuned; threads 0: not measured */
typedef struct ValidatedAt { int threads; double untuned, tuned, low, high; } ValidatedAt;
/* done: the model was validated. found: nests for which the tuner found a schedule; kept: those that keep this schedule. at:
 * times with the requested number of threads; other: times with another number */
typedef struct Validated { bool done; int kept, found; ValidatedAt at, other; } Validated;
typedef struct Validation Validation;
typedef struct GraphChoices GraphChoices;                       /* lib/graph_choices.h */
typedef struct Races Races;                                     /* lib/sides.h */
/* choices: decisions that all compared bundles share. choices->side was built with them; the Validation takes it over. The
 * Validation lives in c->model */
Validation *validate_open(Ctx *c, Races *r, Tuner *t, GraphChoices *choices, Validated *result);
/* Seconds that validate_model needs; call it after validate_survey. least: without repetitions that may be left out */
double validate_seconds(const Validation *s, bool least);
bool validate_needed(const Validation *s);                      /* there is something to test */
/* tells the tuner by how much each nest's time in the model exceeds the roofline's (Goal.slack); returns an exit code */
int validate_survey(Ctx *c, Validation *s);
/* each nest (Goal) keeps its schedule if the whole model is faster with it; returns an exit code */
int validate_model(Ctx *c, Validation *s);
void validate_close(Validation *s);

/* ---- error.c: the error that a precision causes, on sample inputs ---- */
/* Call it before compiling. Computes the exact outputs in the interpreter; false: this would exceed the budget of error.c. */
bool error_sample(Ctx *c, const Options *o, const Graph *g, const Feed *feed, Sample *s);
const OutputError *error_measure(Ctx *c, const Options *o, const Plan *p, const Sample *s); /* NULL: it would exceed the budget */
OutputError output_error(const Tensor *got, const Tensor *want);
void error_print_one(const char *output, const OutputError *e);
void error_print(const Plan *p, const OutputError *e);    /* on stdout */

/* ---- inspect.c ---- */
json_t *graph_json(const Graph *g);
void print_interface(Ctx *c, const Options *o, const Graph *g);
/* --explain. kernels: the manifest's list, with registers and local memory of compiled functions; NULL: without these */
void print_kernels(const Options *o, const Plan *p, const json_t *kernels);

/* ---- data.c: tensors from and to files; all of it lives in c->model ---- */
typedef struct NamedTensor {
  const char *name;            /* name of the input or output; NULL: not known */
  int number;                  /* place among the inputs or outputs, if it has no name; -1: not known */
  const char *file;            /* where the tensor comes from, for messages */
  Tensor t;
  bool given;                  /* comes from --input */
  bool named;                  /* an archive holds it under the name of an input or output */
  bool raw;                    /* plain bytes; the model gives type and shape */
} NamedTensor;
/* A sequence or an optional among the inputs: its name or its place, and its number of tensors; -1: an optional without an
 * element */
typedef struct GivenList { const char *name; int place, n; } GivenList;
struct Feed { VEC(NamedTensor) inputs, outputs; VEC(GivenList) lists; };
/* Gets the sizes of the run: from --size, else from the shapes of the data, else the greatest ones. Returns their text; NULL: the
 * model has no ranges */
const char *feed_size(Ctx *c, const Options *o, const Symbols *all, const Feed *f, const GIO *in, size_t n, int64_t *run);
void feed_read(Ctx *c, const Options *o, Feed *f);        /* reads --input, and the first step of --data */
typedef struct Steps {
  const GIO *in, *out;         /* inputs and outputs of one step, as declared */
  size_t nin, nout;
  size_t stride;               /* tensors per step in `given`: nin, then one per state */
  Tensor *given, *want;        /* want NULL: the caller needs no expected outputs */
  bool wanted;                 /* the data has all expected outputs */
} Steps;
/* Fills given (from the data, or from the seed), want and wanted. Returns the number of inputs made from the seed. */
int feed_steps(Ctx *c, const Options *o, const Feed *first, Steps *s);
void feed_free(Feed *f);
/* Makes one tensor for each of the n declared inputs; inputs missing in the feed are made from the seed. Returns the number of
 * these. */
int feed_inputs(Ctx *c, const Feed *f, const GIO *want, int n, int64_t seed, Tensor *out);
/* expected outputs, in order; false: the data has none */
bool feed_outputs(Ctx *c, const Feed *f, const GIO *want, int n, Tensor *out);
void tensor_save(Ctx *c, const char *path, const char *format, const char *name, const Tensor *t);
double tensor_at(const Tensor *t, int64_t i);             /* value of element i; bytes with float8 and the like are decoded */
Tensor tensor_like(const GIO *v);                         /* a tensor with type, shape and name of v, without data */
void tensor_summary(Ctx *c, const char *name, const Tensor *t); /* on stdout */
json_t *tensor_json(const char *name, const Tensor *t);

/* ---- sets.c: data sets ---- */
/* The folders test_data_set_0, test_data_set_1, ... in --data, by number; without them one entry, --data itself or NULL. */
void find_sets(Ctx *c, const Options *o, Texts *sets);
/* A feed with the shapes of a bundle's inputs and no data: it fixes the dynamic dimensions of the bundle's model. */
void feed_shapes(const Interface *f, Feed *feed);
const char *ort_script(Ctx *c, const char *name);         /* a script of cmd/probe for ONNX Runtime, as python -c takes it */
const char *ort_type(Ctx *c, const GIO *v);              /* type and dimensions as these scripts read them: "f32:1,3" */
void ort_needs_onnx(Ctx *c, const char *model, const char *option); /* fails for a model in text form */
/* ONNX Runtime makes `runs` runs on the inputs in s->given. s->want receives the outputs, s->nout for each run. */
void ort_references(Ctx *c, const Options *o, const char *model, const char *scratch, const Steps *s, size_t runs);

/* ---- npy.c: NumPy's files ---- */
Tensor npy_parse(Ctx *c, const char *what, Bytes b);
void npy_write(const Tensor *t, Sb *out);
void npz_parse(Ctx *c, const char *path, Bytes b, void (*each)(Ctx *c, void *arg, const char *name, Tensor t), void *arg);

/* ---- state_args.c: --state, and the states of runs of several steps ---- */
static inline size_t steps_of(const Options *o) { return o->steps ? (size_t)o->steps : 1; }
void apply_states(Ctx *c, const Options *o, Graph *g);
void state_first(Ctx *c, const Graph *g, Tensor *in);     /* in: all inputs of the graph; sets the first values of the states */
void state_next(Ctx *c, const Graph *g, const Tensor *out, Tensor *in); /* passes the states that a run leaves to the next run */

/* ---- process.c: the scratch folder and child processes ---- */
char *scratch_new(Ctx *c);                                /* a new private folder; the path lives in c->model; fails with
                                                             EX_NOWRITE */
void scratch_remove(const char *dir);
/* fork(). The child has a process group of its own and dies with its parent. */
pid_t child_start(Ctx *c);
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage); /* the child's wait status; stage: text for the
                                                                           progress line */
_Noreturn void child_died(Ctx *c, int status, const char *what); /* fails with the exit code that fits how the child ended */
int interrupt_pending(void);                              /* the pending signal that asks the program to end; 0: none */
void *shared_memory(Ctx *c, size_t n);                    /* shared with children that are started later */
double clock_ms(void);

/* ---- interface.c: reads a bundle's manifest ---- */
struct Interface {                                        /* facts that a caller of a built bundle needs */
  const char *name;
  VEC(GIO) inputs, outputs;                               /* GIO.ref is 0 */
  int64_t arena_bytes, weight_bytes;
  size_t kernels;
  bool embedded, pool;                                    /* pool: it has the runtime's pool of threads */
  const char *weights_sha256;
  const char *cflags;
  const Target *target;                                   /* parsed from the bundle's --isa */
  const char *code;                                       /* name of the file with the kernels */
  const char *device;                                     /* value of --device; NULL: the runtime chooses a device */
  Symbols symbols;                                        /* the ranges of sizes that the bundle serves */
  Extents extents;                                        /* the symbols and extents that follow; no Extent.at */
  RunSizes sizes;                                         /* the sizes of its runs, and of the shapes above */
  bool states;                                            /* the bundle has states, which the runtime advances */
  const char *part;                                       /* entry whose inputs and outputs these are; NULL: the bundle's own */
  const char *run;                                        /* end of the run function's name: "_run_v", "_run_step_v" */
  Texts sources;                                          /* all sources for the C compiler except tgcrt.c */
  Texts variants, variant_flags;                          /* sources that serve one machine each, and the compiler flags they
                                                             need */
};
/* from manifest.json; fails with EX_NOINPUT_ or EX_BADMODEL */
Interface interface_read(Ctx *c, const Options *o, const char *dir);
void interface_at(Interface *f, const int64_t *run); /* sets the sizes of its runs */
void interface_free(Interface *f);
bool is_bundle(const char *path);
void weights_check(Ctx *c, const char *dir, const Interface *f); /* fails unless the weights file has the digest that the
                                                                    manifest states */
json_t *manifest_read(Ctx *c, const char *dir);           /* fails unless it is JSON; the caller releases it */
/* Warns about each file that differs from the manifest. */
void files_compare(Ctx *c, const char *dir);
/* Says how the first file differs from the manifest, and sets *code to the exit code for that; NULL: no file differs. */
const char *files_changed(Ctx *c, const char *dir, int *code);

/* ---- bundle_build.c: builds bundles on this machine ---- */
/* writes the plan's bundle into a new folder of scratch; returns its path */
const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch);
/* Compiles the sources named by the arguments `more` for t into scratch/NAME.so. Fails with EX_MISSING, EX_NOWRITE or EX_RETRY
 * if the compiler or the machine is to blame. */
const char *shared_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const char *name, const char *cflags,
                          const Target *t, const Texts *more);
/* Tries the compiler on a few lines of plain C for t. Returns 0, or an exit code and why. compiler NULL: CC, or else cc. */
int compiler_probe(Ctx *c, const Options *o, const char *scratch, const char *compiler, const char *kind, const char *cflags,
                   const Target *t, const char **why);

/* Compiles a source of a bundle into the object `out`; more: the last arguments of the compiler */
void object_build(Ctx *c, const Options *o, const char *scratch, const char *out, const Interface *f, const Texts *more);
/* Builds the bundle in dir as a shared object. hooks: header for TGC_HOOKS (docs/bundle.md), or NULL. */
const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks);
/* example_build: the bundle's example as a static program. example_run: runs it, by an emulator if one is needed. Returns 0, or
 * an exit code and why. */
const char *example_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f);
int example_run(Ctx *c, const Options *o, const char *scratch, const char *emulator, Texts *argv, const char *makes,
                const char **why);
/* Compiles a source of the bundle. gcc writes beside the object: the calls of its functions, their stack
 * bytes, and the assembly. Fails with EX_MISSING without gcc. */
const char *audited_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f,
                           const char *source);
/* Writes the symbols that an object needs to a file. Returns 0, or an exit code and why. */
int symbols_list(Ctx *c, const Options *o, const char *scratch, const char *object, const char *to, const char **why);
/* Lets Graphviz draw a graph as SVG. Returns 0, or an exit code and why. */
int graph_draw(Ctx *c, const Options *o, const char *scratch, const char *from, const char *to, const char **why);
/* Links an object into a shared library or a module of WebAssembly. arg is a Linking. Fails with EX_MISSING without a linker. */
typedef struct Linking { const Options *o; const char *scratch, *soname; bool module; } Linking;
Bytes link_shared(Ctx *c, void *arg, Bytes object);

/* A function for Compiling.run; its arg is a Linking. Returns EX_BUG if the compiler refuses the text. */
int compile_text(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);

/* Writes a bundle, reads the kernels of its manifest and removes the bundle. For backends that compile for a device. */
json_t *compiled_kernels(Ctx *c, const Options *o, const Plan *p);

/* ---- toolchain.c: compilers and emulators for a machine, and which of them are installed ---- */
/* Cross compilers of an architecture (clang builds for all of them) and its emulator. bare: without an operating system.
 * played: CPU features that QEMU 7.2 emulates, as FEAT_ bits. */
typedef struct Toolchain { Arch arch; bool bare; const char *compiler, *emulator; uint32_t played; } Toolchain;
extern const Toolchain toolchains[];                      /* .compiler NULL ends it */
bool installed(Ctx *c, const char *program);              /* program: a name looked up in the PATH, or a path */
bool is_foreign(const Target *t);                         /* t has another architecture than this machine */
/* The compiler command: CC if set; for a foreign architecture an installed cross compiler; NULL: use cc. Fails with EX_MISSING
 * if no cross compiler is installed. */
const char *compiler_for(Ctx *c, const Target *t);
Arch elf_arch(const char *path);                          /* architecture of an object file's code; ARCH_ANY: unknown to tgc */
const CpuFacts *predict_facts(Ctx *c, const Target *t); /* the CPU that predictions are for */
const ProgramTime *predict_ms(Ctx *c, const Plan *p); /* predicted time of each kernel on one core; lives in c->model */
json_t *predicted_json(const ProgramTime *ms);
void native_only(Ctx *c, const Target *t);                /* fails with EX_MISSING if this machine cannot run code for t */

/* ---- drivers.c: devices that drivers of this machine report ---- */
/* A list of devices. *why gets messages, such as why an interface has no devices. The caller releases both. */
json_t *drivers_json(Ctx *c, const Options *o, json_t **why);
void drivers_print(Ctx *c, const Options *o, const json_t *list, const json_t *why);

/* ---- emulate.c ---- */
/* Like bundle_execute for another architecture: runs the bundle in an emulator. Fails with EX_MISSING without one. */
void bundle_emulate(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, Arch arch, size_t steps,
                    const Tensor *in, Tensor *out);

/* ---- execute.c: runs bundles on this machine ---- */
/* Builds the bundle in dir and runs it `steps` times in a child process. States begin again after each `per` runs. in has
 * `stride` tensors per run; out receives the outputs, with data in c->model. Returns the runtime's status. Fails if the compiler
 * fails or the child dies. */
int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t steps, size_t per,
                   size_t stride, const Tensor *in, Tensor *out);
/* bytes of a value, rounded up to a multiple of TGCRT_ALIGN */
static inline size_t value_room(const GIO *v) { return ((size_t)gio_bytes(v) + TGCRT_ALIGN - 1) / TGCRT_ALIGN * TGCRT_ALIGN; }
/* Whether the status is a warning: the run has written all outputs, but an index was clamped, or rows were cut off */
static inline bool run_is_complete(int status) { return status == TGCRT_INDEX || status == TGCRT_CAPACITY; }
/* Fails with a message about a run. status: neither TGCRT_OK nor one of run_is_complete; -1: `why` says what went wrong */
_Noreturn void model_failed(Ctx *c, int status, const char *why);
/* writes the plan's bundle into scratch and runs it; the other arguments are those of bundle_execute */
int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, size_t steps, size_t per, const Tensor *in,
                 Tensor *out);

/* A built bundle loaded into this process. Use it in a child only: loaded code may crash. */
typedef struct Loaded {
  void *so;                                               /* handle of dlopen */
  void *ctx;                                              /* a NAME_ctx on the heap */
  int (*run)(void *ctx, const void *const *in, void *const *out);
  double map_ms, init_ms;                                 /* time to map the weights, and time in NAME_init */
} Loaded;
/* Returns a status, or -1 with why. threads: number of threads that share a run; 0 and 1: the calling thread only. */
int model_open(const char *dir, const char *so, const Interface *f, int threads, Loaded *m, char why[252]);

/* ---- measure.c: child processes that time something on request ---- */
typedef VEC(double) Reals;
typedef struct Worker {
  pid_t pid;
  int to, from;                                           /* pipes: the parent writes a request line, the child writes an
                                                             answer line */
  const char *what;                                       /* name for messages */
  Reals ready;                                            /* the numbers that begin the child's first line */
  const char *version;                                    /* the text after these numbers */
} Worker;
/* Timeline of a run, as cmd/probe/hooks.h records it: which thread ran which chunk of which kernel, and when. */
enum { LANES = 64, SPANS = 4096 };                        /* most threads; most spans of a thread. More are not recorded. */
typedef struct Span { double begin, end; int kernel; } Span; /* ms */
typedef struct Spans { int lanes, n[LANES]; Span span[LANES][SPANS]; } Spans;
typedef struct Stamps {
  int n;                                                  /* stamps per run: each kernel's start, and the last kernel's end */
  double *at;                                             /* ms, run after run */
  size_t room;                                            /* number of runs that fit; later ones overwrite from the start; 0:
                                                             all runs fit */
  Spans *spans;                                           /* timeline of the last run of the latest worker_block() */
  const int *kernel;                                      /* kernel of each launch, where a device takes the times; NULL: on a
                                                             CPU */
  size_t launches;
} Stamps;
/* Starts a child that opens a built bundle. w->ready gets the ms of map, init and first run, then the bytes of code. stamps:
 * shared memory that the runs write to, or NULL. */
void worker_model(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps);
/* rate: runs per second, 0: one after another. cold: with cold caches. cpus: CPUs that may run it; none set: all. With a rate
 * or with cold caches a block has two times for each run: how long it took, and how late it began. */
enum { PACE_CPUS = 1024 };
typedef struct Pace { double rate; bool cold, cpus[PACE_CPUS]; } Pace;
bool pace_cpus(const char *text, Pace *p);                /* "0,2-3"; false: not of this form */
void worker_paced(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps, const Pace *pace);
const int *kernel_of_launches(const Plan *p, size_t *n);  /* kernel of each launch of a device plan, for its stamps */
const char *hooks_write(Ctx *c, const char *scratch, int steps); /* writes a header for TGC_HOOKS that records stamps; returns
                                                                    its path */
/* Starts a program that speaks the same protocol. */
void worker_program(Ctx *c, Worker *w, const char *what, const Texts *argv);
/* Requests a block of runs: a warm-up of 2 ms or one run, then timed runs. They end when `runs` are done or `seconds` have
 * passed. Appends the times of the timed runs in ms. */
void worker_block(Ctx *c, Worker *w, double seconds, int64_t runs, Reals *times);
void worker_end(Worker *w);
/* CPU time in seconds, to see whether other processes disturbed a measurement. at: when it was read; busy: used by all
 * processes; own: used by this one and its workers. */
typedef struct Load { double at, busy, own; } Load;
Load load_now(Worker *const *own, int n);
double load_foreign(const Load *from, const Load *to);
double quantile(Reals *sorted, double q);
void reals_sort(Reals *r);
/* Builds the text `head` and cmd/probe/NAME.c behind it, for t. Returns the shared object in scratch. flags: more flags of the
 * compiler */
const char *probe_build(Ctx *c, const Options *o, const char *scratch, const char *name, const char *head, const Target *t,
                        const Texts *flags);
/* gflops: peak of multiply-adds in registers. read_gbs: GB/s when `bytes` bytes are read again and again. All threads run at
 * once. */
typedef struct Peak { double gflops, read_gbs; } Peak;
Peak peak_measure(Ctx *c, const Options *o, const char *scratch, const Target *t, int threads, int64_t bytes);

/* ---- layers.c: the kernels of a plan or a bundle, for reports ---- */
typedef struct Layer {
  int64_t flops, read, written;                           /* read, written: bytes */
  const char *schedule;
  const char *const *nodes;                               /* "node 17 'conv1' (Conv, opset 11)" */
  size_t nnodes, launches;                                /* launches: on a device */
} Layer;
typedef struct Layers { Layer *p; size_t n; bool loops; } Layers; /* loops: some kernels run several times */
Layers layers_of_plan(const Plan *p);
Layers layers_of_manifest(Ctx *c, const json_t *manifest);
const char *layer_nodes(Ctx *c, const Layer *l, size_t most); /* the layer's nodes as one text */
json_t *layer_nodes_json(const Layer *l);

typedef struct Life { int first, last; } Life;            /* kernels that access a buffer; -1: none */
Life *buffer_lives(const Plan *p);

/* ---- timing.c: the time of each kernel ---- */
/* roof: least time that the machine allows, divided by the time taken. least: ms of the fastest run, which other processes
 * disturbed least */
typedef struct KernelTime { int kernel; double ms, gflops, gbs, roof, least; } KernelTime;
enum { TIMING_EXTRA = 20 };                               /* further runs that the stamps have room for */
typedef struct Timing {
  Layers layers;                                          /* set by the caller, and so are f and device */
  Interface f;
  bool device;
  Worker worker;
  Stamps stamps;
  size_t runs;
  KernelTime *rows;                                       /* by kernel */
  double total, foreign; /* total: ms; foreign: load by other processes during the runs, in CPUs */
  Peak peak;                                              /* 0: not known */
} Timing;
void timing_run(Ctx *c, const Options *o, Timing *t, const char *dir, const char *scratch, const Tensor *in);
const double *stamps_of(const Timing *t, size_t run);
void timing_end(Timing *t);

/* ---- compare.c ---- */
typedef struct Diff {
  int64_t bad;                 /* elements outside atol + rtol * |expected| */
  int64_t worst;               /* element furthest outside the tolerance */
  double max_ulp;              /* in units of the last place of the element type; integers: difference */
  double max_rel, max_abs;
} Diff;
Diff tensor_compare(const Tensor *got, const Tensor *want, double rtol, double atol);
/* The largest absolute error of reference data against the exact result. Infinity if it exceeds the rounding errors of a deep
 * network (f32: 5e-5 of the largest element). precision: the type in which the reference was computed. */
double reference_error(const Tensor *want, const Tensor *exact, DType precision);

/* ---- rounding.c: by how much roundings may move an output ---- */
Graph *graph_copy(Ctx *c, const Graph *g); /* compiling changes lists of a graph; a copy keeps its own */
DType rounding_type(const Options *o, DType output); /* the type that an output is computed in */
/* By output of one run: the variance of each element. NULL: not known */
Tensor *rounding_variances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in);
double rounding_cost(const Tensor *rounded, const Tensor *exact); /* an error that the rounded interpretation explains */
double rounding_cap(const Tensor *want, double fallback);         /* largest error that the model can explain */
double rounding_room(const Tensor *variance, int64_t element, double cap);
/* out: by output its tolerances as f32, an absolute one for each element. from_data: want is not exact. Plans made before are
 * lost. */
void rounding_tolerances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in, const Tensor *want,
                         bool from_data, Tensor *out);
/* Adds the error of a precision, or of weights in few bits, which the compiled graph shows. */
void rounding_widen(Ctx *c, const Options *o, const Graph *compiled, const Tensor *in, const Tensor *want, Tensor *out);

/* ---- metrics.c ---- */
enum { METRIC_MAX_ULP, METRIC_MAX_RELATIVE, METRIC_MAX_ABSOLUTE, METRIC_RMS, METRIC_COSINE, METRIC_SNR, METRIC_TOP1,
       METRIC_OUTSIDE, METRIC_COUNT };
const char *metric_name(int m);
int metric_named(const char *name, size_t n);             /* METRIC_COUNT: no such built-in metric */
bool metric_falls(int m);                                  /* less is better; false for a command, METRIC_COUNT */
/* "cosine>=0.99" or "cosine@OUTPUT>=0.99". least: the limit is the least value that passes. false: not of this form */
typedef struct RequireParts { size_t metric_n, output_n; const char *output; bool least; double limit; } RequireParts;
bool requirement_parse(const char *text, RequireParts *r);
bool metric_known(const Options *o, const char *name, size_t n);
void metric_choices(const Options *o, Arena *a, Texts *words);
/* All metrics of an output. got, want, d: the output's value, its reference and their Diff, for run r at index r * stride */
void metrics_measure(const Tensor *got, const Tensor *want, size_t runs, size_t stride, const Diff *d, double out[METRIC_COUNT]);
/* The number that the command of --metric NAME=COMMAND prints for an output */
double metric_command(Ctx *c, const Options *o, const char *scratch, const char *metric, const char *output, const Tensor *got,
                      const Tensor *want, size_t runs, size_t stride);

/* ---- checks.c ---- */
typedef struct Finding { const char *name, *text; bool passed; } Finding;
typedef struct Checks { VEC(Finding) list; int failed; } Checks;
void checks_add(Ctx *c, Checks *k, bool passed, const char *name, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void checks_print(Ctx *c, const Options *o, const Checks *k, size_t from); /* prints checks from number `from` on */
json_t *checks_json(const Checks *k);
void checks_write(Ctx *c, const Options *o, const Checks *k, double seconds); /* the files of --junit and --markdown */
void checks_free(Checks *k);
/* Appends the text with XML entities for & < > " '. Control characters, and bytes that are no UTF-8, become '?'. */
void xml_text(Sb *s, const char *text);

/* ---- dot.c: a plan as text for Graphviz ---- */
/* numbers of origins: node `to` of the model reads a value of node `from` */
typedef struct NodeEdge { uint32_t from, to; } NodeEdge;
typedef VEC(NodeEdge) NodeEdges;
void node_edges(const Graph *g, NodeEdges *out);
/* ms: time by kernel, or NULL. nodes: also draws the model's nodes */
void dot_print(const Plan *p, const NodeEdges *edges, const double *ms, bool nodes, Sb *out);

/* ---- plots.c: drawings as SVG ---- */
void plot_roofline(Ctx *c, const Timing *t, Sb *s);
void plot_memory(Ctx *c, const Plan *p, Sb *s);

/* ---- callgraph.c: calls and stacks, as gcc writes them ---- */
/* bytes: the function's own frame; -1: not known. deepest: bytes of all frames on the deepest path that begins with the function.
 * next: the function that it calls on this path; -1: none. assumed: audit's bytes for a function of another file. aligned: the
 * part of bytes that aligns the frame. unbounded: the frame has no bound. reached: a run may reach it. state, for callgraph.c: 0
 * not visited, 1 on the current path, 2 done */
typedef struct Function {
  const char *name;
  int64_t bytes, deepest, assumed, aligned;
  bool unbounded, reached;
  int state, next;
} Function;
typedef struct FunctionCall { size_t from, to; } FunctionCall;
typedef struct CallGraph { VEC(Function) functions; VEC(FunctionCall) calls; bool recursive, unbounded, follow; } CallGraph;
void callgraph_read(Ctx *c, CallGraph *g, const char *path);
void callgraph_read_code(Ctx *c, CallGraph *g, const char *path); /* adds what the assembly of x86-64 skips to align frames */
/* Bytes of the deepest path from `entry`; -1: no such function. follow: a call by pointer may reach each callback */
int64_t callgraph_bound(CallGraph *g, const char *entry, bool follow);
bool is_indirect(const Function *f);                      /* gcc's stand-in for calls by pointer */
void callgraph_free(CallGraph *g);

/* ---- limits.c: --limit and --baseline ---- */
enum { LIMIT_LATENCY, LIMIT_ARENA, LIMIT_WEIGHTS, LIMIT_CODE, LIMIT_KERNELS, LIMIT_COUNT };
/* latency in ms; note: how it was measured */
typedef struct Measures { double value[LIMIT_COUNT]; bool known[LIMIT_COUNT]; const char *note; } Measures;
/* Reads "latency=5ms,arena=1MB" into limits. Returns a message if it is wrong, else NULL. tolerance: the values are percents */
const char *limits_parse(Arena *a, const char *text, bool tolerance, Measures *limits);
/* The limits of --limit, the values of --baseline, and the machine that the baseline names. false: neither option is given */
bool limits_read(Ctx *c, const Options *o, Measures *limits, Measures *old, const char **machine);
bool limits_hold(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, int quantity);
void limits_check(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, Checks *k);

/* ---- compare.c ---- */
/* Prints the nodes that may have caused a wrong output, the likeliest first. */
void find_suspects(Ctx *c, const Options *o, Graph *g, const Target *t, const char *scratch, const Tensor *in, json_t *report);
#endif

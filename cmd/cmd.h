/* SPDX-License-Identifier: MIT */
/* cmd.h: the tgc program. options.h has a row for every verb and option. options.c parses the command line by these rows, and
 * help.c prints the help and the manual page from them. Each verb, such as `tgc run`, has a file in cmd/verbs. The other
 * functions are in cmd/lib; headings name their files. The following holds for all functions:
 *
 * - c is the context of a compilation. A function that fails calls fail(), which sets an exit code, EX_..., and does not return.
 * - Texts and other results live in c->model, the context's arena, and are freed with it. Comments name the exceptions.
 * - o holds the options of the command line. scratch is the path of a folder for temporary files. */
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
 * on all machines of an architecture. */
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

typedef Words Texts;           /* a list of texts; VEC_FREE frees it */
/* The options of a command. Each row of options.h names the field that holds its option's value. Zero, false or NULL: the option
 * was not given, and has no default. */
typedef struct Options {
  Verb verb;
  uint64_t given[3];           /* a bit for each row of options.h: the option was given */
  char *const *words;           /* the command line, with the program first */
  const char *model, *other;   /* the arguments that are no options: a model or a bundle; other: the second one */
  const char *out;
  const char *isa, *target, *cpu, *backend, *device, *emit, *archs, *name, *bindings, *embed, *package;
  const char *precision, *weights, *denormals, *groups;
  const char *optimize, *max_arena, *max_weights, *machine;
  const char *entry;            /* an entry of a pipeline, or of its bundle; NULL: all entries */
  const char *run_size;         /* set by over_sizes: the sizes of the run to make, "3" or "batch=2,seq=17"; NULL: not given */
  const char *data, *format, *outputs, *schedule, *lock, *tune_db, *tune_log, *job, *import, *time, *cc_limit;
  const char *limits, *baseline, *tolerance, *cpus, *csv;
  const char *holdout_data, *metric, *layers, *save_layers; /* options of quantize */
  int64_t holdout;
  double rate;
  int64_t repeat, pairs;
  const char *original, *junit, *markdown, *dot; /* original: the model that a bundle was made from, from --model */
  Texts inputs, dims, sizes, states, results, settings, metrics, requires;
  Texts froms, consts, renames, prologues, epilogues, converts;
  const char *dump, *stop_after, *start_after, *trace;
  int64_t threads, runs, steps, beam, trials; /* 0: not given */
  int64_t kernel;              /* -1: all kernels */
  int64_t seed, capacity, string_bytes, max_nodes, max_unroll, max_nesting, max_decoded, max_fold, max_fold_steps;
  double rtol, atol, seconds, percentile, max_drop;
  bool time_passes, self_test, run_step, no_cpu_check, no_index_status, no_store, no_validate, interpret, vs_ort, vs_untuned;
  bool ort, ort_unfused, cold, hardlinks;
  bool json, explain, tunables, measure, predict, quiet, verbose, help, man, version, wide;
  const char *color, *messages;
  void (*say)(void *arg, const char *text); /* called with a message if an option is wrong; NULL: the message is printed */
  void *say_arg;
} Options;

void options_init(Options *o, Verb verb);                 /* sets all options to their defaults */
/* Sets an option of the verb by its name, without "--". value NULL: the option is given without a value. The text of the value
 * must outlive o. Returns -1, or EX_USAGE_ if the option is wrong. */
int option_set(Options *o, const char *name, const char *value);
int options_check(const Options *o); /* checks the values and their combinations; returns -1, or EX_USAGE_ if one is wrong */
/* Fills in o from the command line. Returns -1 if the verb is to be run. Otherwise the result is an exit code: tgc has printed
 * the help, the manual page or its version, or the command line is wrong. */
int options_parse(Options *o, int argc, char **argv);
void options_free(Options *o);                            /* frees the lists of o */
bool option_given(const Options *o, const char *name);    /* name: without "--" */
bool parse_size(const char *s, int64_t *out);             /* "4096", "4k", "4M", "4G"; false: not a size */
/* Parses an option's value s into a limit of CompileOptions: the bytes plus 1, or 0 if s is NULL. false: s is not a size */
bool parse_limit(const char *s, int64_t *limit);
double duration(const char *text);                        /* "90", "90s", "1.5m", "1h" in seconds; negative: not a duration */

/* ---- one function per verb: returns an exit code, or calls fail() ---- */
int verb_compile(Ctx *c, const Options *o);
int verb_run(Ctx *c, const Options *o);
int verb_verify(Ctx *c, const Options *o);
int verify_model(Ctx *c, const Options *o, json_t **report); /* the same without printing; the caller releases *report */
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
typedef enum { FLAG, TEXT, LIST, SIZE, COUNT, REAL, MAYBE } Kind; /* the value that an option takes; options.h explains them */
typedef enum {
#define GROUP(name, title) GROUP_##name,
#include "options.h"
  GROUP_COUNT
} Group;
typedef struct OptionRow {
  char letter;                                            /* the option's short form, as in -q; 0: none */
  const char *name, *arg;                                 /* name without "--"; arg: the value as the help names it, or NULL */
  Kind kind;
  size_t field;                                           /* offset of the option's field in Options */
  const char *verbs;                                      /* letters of the verbs that take it, as options.h lists them */
  Group group;                                            /* heading in the help under which the option stands */
  const char *help;
} OptionRow;
typedef struct VerbRow { const char *name, *args, *gloss, *examples; } VerbRow; /* gloss: one line of help */
extern const OptionRow option_rows[];                     /* a row whose name is NULL ends it */
extern const VerbRow verb_rows[VERB_COUNT];
extern const char *const group_titles[GROUP_COUNT];
bool option_of(const OptionRow *r, Verb v);               /* whether the verb takes the option */
bool option_of_bundle(const OptionRow *r, Verb v);        /* whether the verb takes the option for a bundle, too */

/* ---- choices.c ---- */
/* Adds to `words` the words that the option takes as its value, for options such as --backend and --isa that have such words */
void option_choices(Arena *a, const char *option, Texts *words);
/* "; did you mean ...?" for the option's word that is most like `word`, or "" */
const char *choice_near(Arena *a, const char *option, const char *word);

/* ---- help.c ---- */
void print_help(const Options *o);                        /* for o->verb, or for tgc as a whole */
void print_man(void);

/* ---- terminal.c: width, colours, units, tables and the progress line ---- */
int terminal_width(FILE *f);                              /* columns; 0: f is not a terminal */
bool terminal_colored(const Options *o, FILE *f);         /* whether f gets colours: by --color, NO_COLOR, TERM, and what f is */
typedef enum { PAINT_OK, PAINT_WARNING, PAINT_ERROR, PAINT_TITLE, PAINT_COUNT } Paint;
/* The text with the codes of colour p before and behind it. If f gets no colours: the text itself */
const char *paint(const Options *o, FILE *f, Paint p, const char *text, Arena *a);
int terminal_room(const Options *o);                      /* columns for a line on stdout; 0: any number, as with --wide */
const char *bytes_text(Ctx *c, int64_t bytes);            /* "12.3 MiB": powers of 1024 */
const char *time_text(Ctx *c, double ms);                 /* "12.3 µs" */
const char *count_text(Ctx *c, double n, const char *unit); /* "1.23 Mflop": powers of 1000 */
/* A table: rows of cells. format has a sign for each column: '<' aligns it on the left, '>' on the right. headed: the first row
 * has the names of the columns. The last column is cut at the width of a terminal, unless --wide is given. */
typedef struct Table { Ctx *c; const Options *o; const char *format; bool headed; VEC(const char *) cells, under; } Table;
void table_row(Table *t, ...);                            /* adds a row: one text per column; the texts must outlive the table */
void table_under(Table *t, const char *text);             /* adds a line below the latest row, from the second column on */
void table_print(Table *t);                               /* prints the table on stdout and frees it */
void table_free(Table *t);
void print_cut(const Options *o, const char *line);       /* prints a line on stdout, cut at terminal_room columns */
/* Prints the words of s on stdout, in lines of at most `width` columns; width 0: in one line. at: the column of the terminal's
 * cursor. The first word is printed at column `left`, or at `at` if `at` is larger; at -1: at column 0. Further lines begin at
 * column `left`. A tab becomes a blank; other control characters become '?'. */
void print_words(const char *s, int left, int at, int width);
/* Prints the lines of s on stdout. A line longer than the terminal's width continues at column `left` of the next one. */
void print_lines(const char *s, int left);
bool terminal_has_progress(const Options *o);             /* stderr is a terminal that can rewrite a line, and -q is not given */
/* Rewrites the progress line. stage: the text that says what is being done; NULL: the line is cleared. share: the part of the
 * work that is done, 0 to 1, from which the time left is estimated; negative: not known. seconds: time so far */
void progress_show(const Options *o, const char *stage, double share, int64_t seconds);

/* ---- progress.c ---- */
/* From one second after work_begin until work_end, a terminal shows the text `what` and the progress that c->progress reports.
 * After a failure work_end need not be called: the next work_begin, or the end of the program, calls it. */
void work_begin(Ctx *c, const Options *o, const char *what);
void work_end(Ctx *c);

/* ---- tunables.c ---- */
void tunables_apply(Ctx *c, const Options *o);            /* applies --tunable to the context; fails on a wrong name or value */
int tunables_list(Ctx *c, const Options *o);              /* prints the report of --tunables; returns an exit code */

/* ---- machine.c: the facts of the CPU for which the cost model computes costs ---- */
struct CpuFacts;
const struct CpuFacts *machine_given(Ctx *c, const Options *o);  /* the CPU that --machine names; NULL: the option is not given */
const struct CpuFacts *machine_stored(Ctx *c, const Options *o); /* this CPU's facts in the tuner's store; NULL: there are none */
/* The same for reports, which show the facts in the store even if --no-tune-store is given */
const struct CpuFacts *machine_measured(Ctx *c, const Options *o);
const char *machine_line(Ctx *c, const struct CpuFacts *f);      /* f as text on one line, which --machine takes; f NULL: NULL */
int machine_print(const Options *o, const struct CpuFacts *f);   /* prints f on stdout; returns an exit code */

/* ---- floor.c: the least time of a run ---- */
typedef struct Floor {
  const char *machine;     /* name of the CPU */
  double multiply_ms;      /* ms of all products at the CPU's peak rate */
  double read_ms;          /* ms to read the weights, inputs and states that the CPU's caches cannot keep */
  double ms;               /* the longer one of these two times */
  double multiply_adds, bytes; /* number of products; bytes of weights, inputs and states */
} Floor;
/* run: the sizes of the run. Returns NULL if the floor is not known: on a device, without facts of the CPU, and for other sizes
 * than the greatest ones */
const Floor *floor_of(Ctx *c, const Options *o, const Plan *p, int threads, const int64_t *run);

/* ---- machine_measure.c ---- */
const struct CpuFacts *machine_measure(Ctx *c, const Options *o); /* measures this CPU; its facts go to the tuner's store, too */
/* If neither --isa nor --machine is given, and this CPU differs from DEFAULT_ISA, prints a line on stderr that says so. The verb
 * `run` prints the line only if this CPU lacks features of DEFAULT_ISA. */
void machine_tell_default(Ctx *c, const Options *o);
/* For verbs that time code: calls machine_tell_default. Measures this CPU if --isa=native needs its facts and the store lacks
 * them */
void machine_prepare(Ctx *c, const Options *o);

/* ---- model.c: from the command line to a plan ---- */
typedef struct Feed Feed;
typedef struct Interface Interface;
/* The machine that --isa names; without --isa, the one of --machine, of --target or of the backend; else DEFAULT_ISA */
const Target *target_of(Ctx *c, const Options *o);
/* The first backend that makes the form of code of --emit; without --emit the backend of --backend, or the first one. Sets *emit
 * to the form. NULL: there is no such backend. */
const Backend *backend_of(const Options *o, Emit *emit);
Groups groups_named(const char *s);                       /* s: a value of --kernel-groups, or NULL; GROUPS_COUNT: no such word */
unsigned bindings_of(const Options *o);                   /* --bindings as bits of bundle.h; options_check has checked it */
bool keeps_denormals(const Options *o);                   /* --denormals=keep, or fp32-strict without --denormals */
/* ---- changes.c: the changes: options --from to --convert, which change a model's inputs and outputs ---- */
enum { CHANGES = 6 };                                     /* number of these options */
Texts *change_texts(Options *o, int i);                   /* the values of option number i, 0 to CHANGES - 1 */
Setting *changes_of(Ctx *c, const Options *o, int *n);    /* the *n changes that were given, each with its value */
const char *first_change(const Options *o);               /* name of the first of them; NULL: none was given */
void changes_resume(Ctx *c, Options *o, const Setting *s, size_t n); /* sets the changes of o from a dump's n settings */
const IoOptions *io_options(Ctx *c, const Options *o);    /* the changes as front ends take them; NULL: none was given */
/* ---- load.c ---- */
bool is_pipeline(const char *path);                       /* whether the path is that of a .tgp text */
const char *pipeline_text(Ctx *c, const Options *o);      /* the text that pipeline_print writes for the pipeline o->model */
/* Loads the model. feed: data of the user, whose shapes fix dynamic dimensions; NULL: there is none */
Graph *load_graph(Ctx *c, const Options *o, const Feed *feed);
/* ---- model.c: compiles a graph ---- */
/* A text that names the target and the options of a compilation. The store keeps decisions under this text. */
const char *decisions_wanted(Ctx *c, const Options *o, const Target *t);
/* Compiles g for t. If --stop-after is given, returns NULL, and *stopped holds the text to print. */
Plan *plan_of(const Options *o, Graph *g, const Target *t, Sb *stopped);
/* As plan_of. from: a dump from which the compilation continues; NULL: it starts from g. to: if it is NULL, *stopped is a text
 * for people only. Else *stopped is a dump that can be read back, and the bytes of long weights are appended to to->blob. The
 * caller writes them to a file, which the dump calls to->blobname. to->sample: sample inputs and exact outputs, which the dump
 * records, or NULL */
typedef struct DumpTo { Sb *blob; const char *blobname; const Sample *sample; } DumpTo;
Plan *plan_from(const Options *o, Graph *g, const Target *t, Resumed *from, Sb *stopped, const DumpTo *to);

/* ---- sizes.c: the sizes of dimensions for which --dim gives a range. A Symbol is such a dimension with its range. Symbols is
 * the list of them for a whole model, and arguments of this type are called `all`. Each run has a size for each Symbol; `run` is
 * the array of these sizes. ---- */
enum { SIZES_OF_DIM = 4096 };                          /* greatest end of a range; it is limited since front ends try each size */
/* Parses a range such as "1:512:8@128" into s. Returns NULL, or a message if it is wrong. */
const char *parse_range(const char *value, Symbol *s);
const char *first_range(const Options *o);             /* value of the first --dim that gives a range; NULL: none does */
Symbols ranges_of_dims(Ctx *c, const Options *o);      /* all ranges that --dim gives */
int runs_of_size(const char *text);                    /* number of runs that a value of --size asks for; 0: it is wrong */
/* Calls `one` for each run that --size asks for, with Options.run_size set. Without --size there is one call, except for the verb
 * `verify` of a model with a range. It makes usual_runs, unless --data, --input, --outputs or --json is given. Returns the last
 * exit code that is not 0; 0 if all are 0. */
int over_sizes(Ctx *c, const Options *o, int (*one)(Ctx *c, const Options *o));
/* Adds runs to the list, as values of --size. In one run all sizes are the least of their ranges, in others the middle, typical
 * or greatest ones. With several ranges there is one more run for each range: its size is the least, and the others are the
 * greatest. */
void usual_runs(Ctx *c, const Symbols *all, Texts *runs);
/* Gets the sizes that Options.run_size gives; the others become -1. Fails if run_size is given and there is no range. Returns
 * whether there is a range. */
bool sizes_asked(Ctx *c, const Options *o, const Symbols *all, int64_t *run);
/* Sets each size that is -1: to the least one of its range if the size counts the elements of states, else to the greatest one.
 * Fails if another size is not one of its range. Returns the sizes as text; NULL: there is no range */
const char *sizes_complete(Ctx *c, const Symbols *all, int64_t *run);
/* Sets the extents that depend on sizes (GIO.open) in n values. extents: how each extent follows from sizes; the first `symbols`
 * extents are the sizes themselves. */
void values_at(GIO *v, size_t n, const Extents *extents, int symbols, const int64_t *run);
const GIO *values_of_run(Ctx *c, const IR *ir, const GIO *v, size_t n, const int64_t *run); /* a copy with these extents */
Options one_size(Ctx *c, const Options *o, const Symbols *all, const int64_t *run); /* o with sizes in place of the ranges */

/* ---- interpret.c ---- */
/* Evaluates `steps` runs of g in the interpreter of graphs, one after another. in: run after run, the inputs and then the states;
 * the caller fills in the inputs, and this function the states. out: run after run, the outputs without the states. exact: floats
 * are computed in double; else each op rounds to its type. */
void interpret(Ctx *c, const Options *o, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out);
/* Evaluates one run. in: inputs, then states. out: outputs, then the states' next values. most: limit of operations, 0 for none.
 * Returns false if the run needs more operations. */
bool interpret_once(Ctx *c, const Options *o, const Graph *g, const Tensor *in, bool exact, int64_t most, Tensor *out);

/* ---- interpret_device.c ---- */
/* Makes `steps` runs of a plan for a device in the interpreter of programs. in and out are those of plan_execute. Returns an
 * array with a report for each launch that has a fault; the caller releases it. */
json_t *plan_interpret(Ctx *c, const Options *o, const Plan *p, size_t steps, const Tensor *in, Tensor *out);

/* ---- report.c ---- */
json_t *json_number(double v);                            /* v as a number; JSON's null if v is not finite */
json_t *json_report(const char *verb, const char *model); /* an object with the fields that every report has */
void json_print(json_t *j);                               /* prints j on stdout and releases it */
const char *type_text(Ctx *c, DType d, int rank, const int64_t *dims); /* "f32[1,3,224,224]" */
const char *strings_text(Ctx *c, int rank, const int64_t *dims); /* "string[2,3]": without the last extent, of bytes */
const char *string_text(Ctx *c, const Tensor *t, int64_t i);  /* string i of t in quotes, for people; long ones are cut */
void print_name(const char *s);                           /* prints s on stdout, escaped, since names may have any bytes */

/* ---- resume.c: dumps ---- */
/* Reads the dump o->model, and sets the options of o with which the dump was made */
Resumed *resume_read(Ctx *c, Options *o);
/* The *n options that a dump records. lock: path of the lock file in use; NULL: none */
const Setting *settings_of(Ctx *c, const Options *o, const Target *t, const char *lock, int *n);

/* ---- validate.c: runs the whole model, to see where time goes and to test the tuner's schedules in it ---- */
/* Times with one number of threads; threads 0: not measured. untuned, tuned: ms of a run without and with the schedules. low,
 * high: ends of the confidence interval of tuned / untuned */
typedef struct ValidatedAt { int threads; double untuned, tuned, low, high; } ValidatedAt;
/* done: the model was validated. found: number of nests for which the tuner found a schedule; kept: number of those that keep it.
 * at: times with the requested number of threads; other: times with another number */
typedef struct Validated { bool done; int kept, found; ValidatedAt at, other; } Validated;
typedef struct Validation Validation;
typedef struct GraphChoices GraphChoices;                       /* lib/graph_choices.h */
typedef struct Races Races;                                     /* lib/sides.h */
/* choices: decisions that all compared bundles share. choices->side is the bundle built with them; from now on it belongs to the
 * Validation. *result gets the times. The Validation lives in c->model; validate_close frees the rest. */
Validation *validate_open(Ctx *c, Races *r, Tuner *t, GraphChoices *choices, Validated *result);
/* Seconds that validate_model will take; call it after validate_survey. least: with the fewest repetitions of measurements */
double validate_seconds(const Validation *s, bool least);
bool validate_needed(const Validation *s);                      /* whether schedules were found, or runs use several threads */
/* Runs the model. Tells the tuner how much longer each nest takes there than the roofline allows (Goal.slack in tune.h). Returns
 * an exit code. */
int validate_survey(Ctx *c, Validation *s);
/* Decides for each nest (Goal) whether it keeps the schedule found: only if the whole model is faster with it. Returns an exit
 * code. */
int validate_model(Ctx *c, Validation *s);
void validate_close(Validation *s);

/* ---- error.c: the error that a precision causes, on sample inputs ---- */
/* Fills in s before the compilation: makes inputs from the data and the seed, and computes the exact outputs in the interpreter.
 * false: this would take more operations than the budget of error.c, or g has several entries */
bool error_sample(Ctx *c, const Options *o, const Graph *g, const Feed *feed, Sample *s);
/* The errors of the compiled graph, by output; NULL: this would exceed the same budget */
const OutputError *error_measure(Ctx *c, const Options *o, const Plan *p, const Sample *s);
OutputError output_error(const Tensor *got, const Tensor *want);        /* the error of one output; want: the reference */
void error_print_one(const char *output, const OutputError *e);         /* a line on stdout for the output of that name */
void error_print(const Plan *p, const OutputError *e);                  /* the same for all outputs; e NULL: says why not */

/* ---- inspect.c ---- */
json_t *graph_json(const Graph *g);                             /* the graph as a JSON report has it; the caller releases it */
void print_interface(Ctx *c, const Options *o, const Graph *g); /* inputs, outputs and states, on stdout */
/* Prints the text of --explain. kernels: the list of kernels in the manifest, which has the registers and the local memory of
 * compiled functions; NULL: these are not printed */
void print_kernels(const Options *o, const Plan *p, const json_t *kernels);

/* ---- data.c: tensors from and to files; all of it lives in c->model ---- */
typedef struct NamedTensor {
  const char *name;            /* name of the input or output; NULL: not known */
  int number;                  /* place among the inputs or outputs, from 0, if it has no name; -1: not known */
  const char *file;            /* the file of the tensor, for messages */
  Tensor t;
  bool given;                  /* comes from --input */
  bool named;                  /* an archive holds it under the name of an input or output */
  bool raw;                    /* plain bytes; the model gives type and shape */
} NamedTensor;
/* A sequence or an optional among the inputs. name: NULL if the data does not name it; then place is its place among the inputs.
 * n: number of its tensors; -1: an optional without an element */
typedef struct GivenList { const char *name; int place, n; } GivenList;
struct Feed { VEC(NamedTensor) inputs, outputs; VEC(GivenList) lists; }; /* the data that the user gives for one run */
/* Gets the sizes of the run: from --size, else from the shapes of the data, else the greatest ones. in: the n inputs of the
 * model. Returns the sizes as text; NULL: the model has no ranges */
const char *feed_size(Ctx *c, const Options *o, const Symbols *all, const Feed *f, const GIO *in, size_t n, int64_t *run);
void feed_read(Ctx *c, const Options *o, Feed *f);        /* reads --input, and the first step of --data; feed_free frees f */
typedef struct Steps {         /* the data of --steps runs, one after another */
  const GIO *in, *out;         /* inputs and outputs of one step, as declared */
  size_t nin, nout;
  size_t stride;               /* tensors of a step in `given`: nin inputs, then one for each state */
  Tensor *given, *want;        /* step after step: inputs and states; expected outputs. want NULL: the caller needs none */
  bool wanted;                 /* the data has all expected outputs */
} Steps;
/* Fills in the inputs of s->given (from the data, or from the seed), s->want and s->wanted. first: the data of step 0, and of
 * each later step for which --data has no folder. Returns the number of inputs made from the seed. */
int feed_steps(Ctx *c, const Options *o, const Feed *first, Steps *s);
void feed_free(Feed *f);
/* Makes a tensor for each of the n inputs that `want` declares. Inputs that the feed lacks are made from the seed. Returns the
 * number of inputs made so. */
int feed_inputs(Ctx *c, const Feed *f, const GIO *want, int n, int64_t seed, Tensor *out);
/* Gets the expected values of the n outputs that `want` declares, in this order. Fails if some are missing. false: the data has
 * no outputs at all */
bool feed_outputs(Ctx *c, const Feed *f, const GIO *want, int n, Tensor *out);
/* Writes a file in this format: "npy", "pb" or "raw". name: the tensor's name, for "pb" */
void tensor_save(Ctx *c, const char *path, const char *format, const char *name, const Tensor *t);
double tensor_at(const Tensor *t, int64_t i);             /* value of element i; small types such as float8 are decoded */
Tensor tensor_like(const GIO *v);                         /* a tensor with the type and the shape of v, without data */
void tensor_summary(Ctx *c, const char *name, const Tensor *t); /* prints type, shape and some values on stdout */
json_t *tensor_json(const char *name, const Tensor *t);   /* the same for a JSON report; the caller releases it */

/* ---- sets.c: data sets ---- */
/* Adds the folders test_data_set_0, test_data_set_1, ... in --data, by number. If there are none, adds --data itself, or NULL
 * without --data */
void find_sets(Ctx *c, const Options *o, Texts *sets);
/* Fills in a feed that has the shapes of a bundle's inputs but no data. It fixes the dynamic dimensions of the bundle's model. */
void feed_shapes(const Interface *f, Feed *feed);
const char *ort_script(Ctx *c, const char *name);         /* the script `name` of cmd/probe for ONNX Runtime, for python -c */
const char *ort_type(Ctx *c, const GIO *v);               /* type and dimensions as these scripts read them: "f32:1,3";
                                                             of strings, the last dimension is their bytes */
void ort_needs_onnx(Ctx *c, const char *model, const char *option); /* fails if the model is a .tg file */
/* ONNX Runtime makes `runs` runs on the inputs in s->given. s->want receives the outputs, s->nout for each run. */
void ort_references(Ctx *c, const Options *o, const char *model, const char *scratch, const Steps *s, size_t runs);

/* ---- npy.c: NumPy's files ---- */
Tensor npy_parse(Ctx *c, const char *what, Bytes b);      /* reads the bytes of an .npy file, which messages call `what` */
void npy_write(const Tensor *t, Sb *out);                 /* appends the bytes of an .npy file to out */
/* reads the bytes of an .npz archive, and calls `each` for each of its arrays */
void npz_parse(Ctx *c, const char *path, Bytes b, void (*each)(Ctx *c, void *arg, const char *name, Tensor t), void *arg);

/* ---- state_args.c: --state, and the states of runs of several steps ---- */
static inline size_t steps_of(const Options *o) { return o->steps ? (size_t)o->steps : 1; }
void apply_states(Ctx *c, const Options *o, Graph *g);    /* makes inputs and outputs of g the states that --state names */
/* in: the inputs of the graph, then the states, of one run. Sets the states to their first values */
void state_first(Ctx *c, const Graph *g, Tensor *in);
/* out: the outputs of a run, then the states after it. in: the inputs of the next run, then its states. Sets each state of `in`
 * to the one of `out`; if a state has an axis, to the last elements along this axis */
void state_next(Ctx *c, const Graph *g, const Tensor *out, Tensor *in);

/* ---- process.c: the scratch folder and child processes ---- */
char *scratch_new(Ctx *c);                                /* makes a private folder; its path lives in c->model; may fail with
                                                             EX_NOWRITE */
void scratch_remove(const char *dir);                     /* removes the folder with its files */
/* Calls fork(). The child has a process group of its own and dies with its parent. */
pid_t child_start(Ctx *c);
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage); /* the child's wait status; stage: text for the
                                                                           progress line */
/* Fails with the exit code that fits the wait status of a dead child. The text `what` is the message's subject: "the compiled
 * model" */
_Noreturn void child_died(Ctx *c, int status, const char *what);
int interrupt_pending(void);                              /* the pending signal that asks the program to end; 0: none */
void *shared_memory(Ctx *c, size_t n);                    /* n bytes of zeros, shared with children that are started later */
double clock_ms(void);                                    /* ms of a monotonic clock */

/* ---- interface.c: reads a bundle's manifest ---- */
struct Interface {                                        /* facts that a caller of a built bundle needs */
  const char *name;                                       /* prefix of the bundle's files and symbols */
  VEC(GIO) inputs, outputs;                               /* GIO.ref is 0 */
  int64_t arena_bytes, weight_bytes;
  size_t kernels;                                         /* number of kernels */
  bool embedded, pool;                                    /* embedded: the weights are in the program; pool: the bundle has the
                                                             runtime's pool of threads */
  const char *weights_sha256;                             /* SHA-256 of the weights file, in hexadecimal digits */
  const char *cflags;                                     /* flags that the C compiler needs for the bundle's target */
  const Target *target;                                   /* parsed from the bundle's --isa */
  const char *code;                                       /* name of the file with the kernels */
  const char *device;                                     /* value of --device; NULL: the runtime chooses a device */
  Symbols symbols;                                        /* the ranges of sizes that the bundle serves */
  Extents extents;                                        /* these sizes, then the extents that follow from them; Extent.at is
                                                             not set */
  RunSizes sizes;                                         /* the sizes of the bundle's runs; `inputs` and `outputs` have them */
  bool states;                                            /* the bundle has states, which the runtime advances */
  const char *part;                                       /* name of the entry whose inputs and outputs are listed; NULL: those
                                                             of the whole bundle are */
  const char *run;                                        /* end of the run function's name: "_run_v", "_run_step_v" */
  Texts sources;                                          /* sources for the C compiler, without `variants`, tgcrt.c and
                                                             tgcrt_pool.c */
  Texts variants, variant_flags;                          /* sources that serve one machine each, and the compiler flags they
                                                             need */
};
/* Reads manifest.json of the bundle in dir. Fails with EX_NOINPUT_ or EX_BADMODEL. */
Interface interface_read(Ctx *c, const Options *o, const char *dir);
void interface_at(Interface *f, const int64_t *run); /* sets f->sizes, and the extents that depend on them */
void interface_free(Interface *f);
bool is_bundle(const char *path);                    /* whether the path is a folder, since only bundles are folders */
/* Fails if the weights file differs from the digest in the manifest. Embedded weights are not checked. */
void weights_check(Ctx *c, const char *dir, const Interface *f);
json_t *manifest_read(Ctx *c, const char *dir);      /* fails unless manifest.json is JSON; the caller releases the result */
/* Warns about each file that differs from the manifest. */
void files_compare(Ctx *c, const char *dir);
/* Says how the first file differs from the manifest, and sets *code to the exit code for that; NULL: no file differs. */
const char *files_changed(Ctx *c, const char *dir, int *code);

/* ---- bundle_build.c: builds bundles on this machine ---- */
/* Writes the plan's bundle into a new folder inside of the folder scratch. Returns the new folder's path. */
const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch);
/* Compiles and links scratch/NAME.so for t, and returns its path. more: the last arguments of the compiler, with the sources.
 * dir: folder of the bundle that has the sources, or NULL. Fails with EX_MISSING, EX_NOWRITE or EX_RETRY if the compiler or the
 * machine is to blame. */
const char *shared_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const char *name, const char *cflags,
                          const Target *t, const Texts *more);
/* Tries the compiler on a few lines of plain C for t. compiler NULL: the one that the variable CC names, or else cc. kind:
 * options for the kind of output, such as "-c -fPIC". Returns 0, or else an exit code, and *why gets the reason. */
int compiler_probe(Ctx *c, const Options *o, const char *scratch, const char *compiler, const char *kind, const char *cflags,
                   const Target *t, const char **why);

/* Compiles a source of a bundle into the object file `out`. more: the last arguments of the compiler, with the source */
void object_build(Ctx *c, const Options *o, const char *scratch, const char *out, const Interface *f, const Texts *more);
/* Builds the bundle in dir as a shared object, and returns its path. hooks: path of a header for TGC_HOOKS (docs/bundle.md), or
 * NULL */
const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks);
/* Builds the test program check.c of the bundle in dir as a static program, and returns its path. */
const char *example_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f);
/* Runs such a program by an emulator. argv: the command, with the emulator first. makes: path of the file that the program
 * writes. Returns 0, or else an exit code, and *why gets the reason. */
int example_run(Ctx *c, const Options *o, const char *scratch, const char *emulator, Texts *argv, const char *makes,
                const char **why);
/* Compiles the file `source` of the bundle in dir, and returns the path of the object file. In the same folder gcc writes further
 * files: one with the calls between functions and each function's bytes of stack, and one with the assembly. Fails with
 * EX_MISSING if gcc is not installed. */
const char *audited_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f,
                           const char *source);
/* Lets nm list the symbols that an object file needs, and writes the list into the file `to`. Returns 0, or else an exit code,
 * and *why gets the reason. */
int symbols_list(Ctx *c, const Options *o, const char *scratch, const char *object, const char *to, const char **why);
/* Lets Graphviz draw the graph in the file `from` as SVG into the file `to`. Returns as symbols_list does. */
int graph_draw(Ctx *c, const Options *o, const char *scratch, const char *from, const char *to, const char **why);
/* Links the bytes of an object file into a shared library named soname, or (module) into a module of WebAssembly. arg is a
 * Linking. Fails with EX_MISSING if no linker is installed. */
typedef struct Linking { const Options *o; const char *scratch, *soname; bool module; } Linking;
Bytes link_shared(Ctx *c, void *arg, Bytes object);

/* A function for Compiling.run (target/backend.h). arg is a Linking. Runs the command argv: in it "<" stands for a file with the
 * text, and ">" for the file that the command makes. *made gets the bytes of this file. Returns as symbols_list does; EX_BUG: the
 * compiler refuses the text */
int compile_text(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);

/* Compiles the plan's kernels for a device. Returns the list of kernels as a manifest has it; the caller releases it. */
json_t *compiled_kernels(Ctx *c, const Options *o, const Plan *p);

/* ---- toolchain.c: compilers and emulators for a machine, and which of them are installed ---- */
/* The cross compiler of an architecture, and its emulator. bare: for machines without an operating system. played: the FEAT_ bits
 * of CPU features that the emulator, QEMU 7.2, has. */
typedef struct Toolchain { Arch arch; bool bare; const char *compiler, *emulator; uint32_t played; } Toolchain;
extern const Toolchain toolchains[];                      /* a row whose compiler is NULL ends it */
bool installed(Ctx *c, const char *program);              /* program: a name looked up in the PATH, or a path */
bool is_foreign(const Target *t);                         /* whether t has another architecture than this machine */
/* The cross compiler to use for t. NULL if t is not foreign or the variable CC is set: then use the compiler that CC names, or
 * else cc. Fails with EX_MISSING if a cross compiler is needed and none is installed. */
const char *compiler_for(Ctx *c, const Target *t);
Arch elf_arch(const char *path);                          /* architecture of an object file's code; ARCH_ANY: unknown to tgc */
const CpuFacts *predict_facts(Ctx *c, const Target *t);   /* predict.c: facts of the CPU for which times are predicted */
const ProgramTime *predict_ms(Ctx *c, const Plan *p);     /* predict.c: by kernel, predicted ms on one core */
json_t *predicted_json(const ProgramTime *ms);            /* predict.c: one kernel's prediction, which the caller frees */
void native_only(Ctx *c, const Target *t);                /* fails with EX_MISSING if t is foreign, so nothing can be timed */

/* ---- drivers.c: devices that drivers of this machine report ---- */
/* A list of devices. *why gets messages, such as the reason why the driver of an interface (OpenCL, CUDA) shows no devices. The
 * caller releases both. */
json_t *drivers_json(Ctx *c, const Options *o, json_t **why);
void drivers_print(Ctx *c, const Options *o, const json_t *list, const json_t *why); /* prints both on stdout */

/* ---- emulate.c ---- */
/* Like bundle_execute, but runs a bundle for another architecture in an emulator. Fails with EX_MISSING if there is none. */
void bundle_emulate(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, Arch arch, size_t steps,
                    const Tensor *in, Tensor *out);

/* ---- execute.c: runs bundles on this machine ---- */
/* Builds the bundle in dir and runs it `steps` times in a child process. After each `per` runs the states get their first values
 * again. in: run after run, `stride` tensors, of which the first ones are the inputs. out: run after run, the outputs; their data
 * live in c->model. Returns a status of tgcrt.h. Fails if the compiler fails or the child dies. */
int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t steps, size_t per,
                   size_t stride, const Tensor *in, Tensor *out);
/* bytes of a value v, rounded up to a multiple of TGCRT_ALIGN */
static inline size_t value_room(const GIO *v) { return ((size_t)gio_bytes(v) + TGCRT_ALIGN - 1) / TGCRT_ALIGN * TGCRT_ALIGN; }
/* Whether the status is a warning: the run has written all outputs, but an index was clamped, or rows were cut off */
static inline bool run_is_complete(int status) { return status == TGCRT_INDEX || status == TGCRT_CAPACITY; }
/* Fails with a message about a run that returned this status, neither TGCRT_OK nor one of run_is_complete. Status -1: the text
 * `why` says what went wrong. */
_Noreturn void model_failed(Ctx *c, int status, const char *why);
/* Writes the plan's bundle into scratch and runs it. The other arguments are those of bundle_execute, with a stride of all inputs
 * and states of the graph. */
int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, size_t steps, size_t per, const Tensor *in,
                 Tensor *out);

/* A built bundle loaded into this process. Use it in a child process only, since loaded code may crash. */
typedef struct Loaded {
  void *so;                                               /* handle of dlopen */
  void *ctx;                                              /* the bundle's NAME_ctx, on the heap */
  int (*run)(void *ctx, const void *const *in, void *const *out); /* returns a status of tgcrt.h */
  int (*set_sizes)(void *ctx, const int64_t *sizes);      /* NULL: a bundle for one size */
  const int64_t *again; /* the sizes to set before each run that is measured, since states grow; NULL: none are set */
  double map_ms, init_ms;                                 /* ms to map the weights, and ms in NAME_init */
} Loaded;
int model_again(const Loaded *m, const void *const *in, void *const *out); /* a run that is measured */
/* Loads the shared object `so` of the bundle in dir. threads: number of threads that share a run; 0 and 1: the calling thread
 * only. Returns a status of tgcrt.h, or -1, and then `why` has the reason. */
int model_open(const char *dir, const char *so, const Interface *f, int threads, Loaded *m, char why[252]);

/* ---- measure.c: child processes that time something on request ---- */
typedef VEC(double) Reals;                                /* a list of numbers; VEC_FREE frees it */
typedef struct Worker {                                   /* such a child process */
  pid_t pid;
  int to, from;                                           /* pipes. to: for the parent's request lines; from: for the child's
                                                             answer lines */
  const char *what;                                       /* name of the child's program, for messages */
  Reals ready;                                            /* the numbers that begin the child's first line */
  const char *version;                                    /* the text after these numbers */
} Worker;
/* The timeline of a run, as cmd/probe/hooks.h records it: which thread ran which chunk of which kernel, and when */
enum { LANES = 64, SPANS = 4096 };                        /* threads, and spans of a thread, that are recorded; others are not */
typedef struct Span { double begin, end; int kernel; } Span; /* begin, end: ms. A thread ran chunks of the kernel between them */
typedef struct Spans { int lanes, n[LANES]; Span span[LANES][SPANS]; } Spans; /* lanes: threads; n: spans of each thread */
/* Times of runs. Stamp 0 of a run is the time of its begin. Stamp k + 1 is stamp k plus the time that kernel k took. */
typedef struct Stamps {
  int n;                                                  /* number of stamps of a run: kernels plus one */
  double *at;                                             /* run after run, its stamps in ms */
  size_t room;                                            /* number of runs that fit; later ones overwrite from the start; 0:
                                                             all runs fit */
  Spans *spans;                                           /* timeline of the last run of the latest worker_block() */
  const int *kernel;                                      /* by launch, the number of its kernel, if a device takes the times;
                                                             NULL: a CPU takes them */
  size_t launches;                                        /* number of launches */
} Stamps;
/* Starts a child that opens the shared object `so` of the bundle in dir. threads: number of threads of a run. in: its inputs.
 * stamps: shared memory in which the runs leave their stamps, or NULL. w->ready gets four numbers: the ms to map the weights, the
 * ms of NAME_init and of the first run, and the bytes of code. */
void worker_model(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps);
/* How a block runs. rate: runs per second; 0: one run begins when the one before ends. cold: the caches are emptied before each
 * run. cpus: for each CPU, whether it may run the model; none: all may. If rate or cold is set, a block yields two numbers for
 * each run, in ms: how long it took, and how late it began. */
enum { PACE_CPUS = 1024 };
typedef struct Pace { double rate; bool cold, cpus[PACE_CPUS]; } Pace;
bool pace_cpus(const char *text, Pace *p);                /* sets p->cpus from a text such as "0,2-3"; false: not of this form */
/* the same as worker_model, with this pace; NULL: none */
void worker_paced(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps, const Pace *pace);
const int *kernel_of_launches(const Plan *p, size_t *n);  /* the kernel of each of the *n launches of a plan for a device */
/* Writes a header for TGC_HOOKS that records stamps, and returns its path. steps: stamps of a run */
const char *hooks_write(Ctx *c, const char *scratch, int steps);
/* Starts a program in place of the child of worker_model; it reads and writes such lines as that child. Messages call it by
 * the text `what`. argv: its command, with NULL at the end */
void worker_program(Ctx *c, Worker *w, const char *what, const Texts *argv);
/* Requests a block of runs. First the child warms up: it makes at least one run, for at least 2 ms. Then it times runs, until
 * `runs` of them are done or `seconds` have passed, whichever is earlier. Appends their times in ms to `times`. */
void worker_block(Ctx *c, Worker *w, double seconds, int64_t runs, Reals *times);
void worker_end(Worker *w);                               /* kills the child and frees w */
/* CPU time, by which one sees whether other processes disturbed a measurement. All in seconds. at: the clock. busy: time used by
 * all processes of the machine. own: time used by this process and its workers. */
typedef struct Load { double at, busy, own; } Load;
Load load_now(Worker *const *own, int n);                 /* own: the n workers that count as own */
double load_foreign(const Load *from, const Load *to);    /* number of CPUs that other processes used between two Loads */
double quantile(Reals *sorted, double q);                 /* q: 0 to 1; 0.5 is the median */
void reals_sort(Reals *r);                                /* ascending */
/* Builds a shared object for t in scratch from the text `head`, followed by the file NAME.c of cmd/probe. Returns its path.
 * flags: further flags of the compiler */
const char *probe_build(Ctx *c, const Options *o, const char *scratch, const char *name, const char *head, const Target *t,
                        const Texts *flags);
/* gflops: peak rate of multiply-adds in registers, two operations each. read_gbs: GB/s when `bytes` bytes are read again and
 * again. Both are rates of all threads together. */
typedef struct Peak { double gflops, read_gbs; } Peak;
Peak peak_measure(Ctx *c, const Options *o, const char *scratch, const Target *t, int threads, int64_t bytes);

/* ---- layers.c: the kernels of a plan or a bundle, for reports ---- */
typedef struct Layer {                                    /* one kernel */
  int64_t flops, read, written;                           /* operations on floats; bytes read and written */
  const char *schedule;
  const char *const *nodes;                               /* "node 17 'conv1' (Conv, opset 11)" */
  size_t nnodes, launches;                                /* launches: on a device */
} Layer;
typedef struct Layers { Layer *p; size_t n; bool loops; } Layers; /* loops: a loop of the model runs some kernels several times */
Layers layers_of_plan(const Plan *p);
Layers layers_of_manifest(Ctx *c, const json_t *manifest);
const char *layer_nodes(Ctx *c, const Layer *l, size_t most); /* the first `most` nodes of the kernel as one text */
json_t *layer_nodes_json(const Layer *l);                 /* all of them as a JSON array; the caller releases it */

typedef struct Life { int first, last; } Life;            /* first and last kernel that access a buffer; -1: none does */
Life *buffer_lives(const Plan *p);                        /* by buffer of the plan */

/* ---- timing.c: the time of each kernel ---- */
/* kernel: number of the kernel. ms: median time. gflops, gbs: 10^9 operations and bytes per second. roof: the least time that the
 * machine's peak rates allow, divided by the median time. least: ms of the fastest run, which other processes disturbed least */
typedef struct KernelTime { int kernel; double ms, gflops, gbs, roof, least; } KernelTime;
enum { TIMING_EXTRA = 20 };                               /* runs that a caller may add: the stamps have room for them */
typedef struct Timing {
  /* set by the caller */
  Layers layers;
  Interface f;
  bool device;                                            /* the bundle is for a device */
  /* set by timing_run */
  Worker worker;
  Stamps stamps;
  size_t runs;                                            /* number of timed runs */
  KernelTime *rows;                                       /* by kernel */
  double total, foreign;                                  /* total: median ms of a run; foreign: as load_foreign gives it */
  Peak peak;                                              /* 0: not known */
} Timing;
/* Builds the bundle in dir and times its kernels on the inputs `in`, for --runs runs or --seconds. */
void timing_run(Ctx *c, const Options *o, Timing *t, const char *dir, const char *scratch, const Tensor *in);
const double *stamps_of(const Timing *t, size_t run);     /* the stamps of the run with this number */
void timing_end(Timing *t);                               /* ends the worker and frees t */

/* ---- compare.c ---- */
typedef struct Diff {
  int64_t bad;                 /* number of elements whose difference exceeds their tolerance, atol + rtol * |expected|; number of
                                  strings that differ */
  int64_t worst;               /* index of the element with the greatest ratio of difference to tolerance, or of the first
                                  string that differs; -1: all are equal */
  double max_ulp;              /* largest difference, in units in the last place; for integers, the plain difference */
  double max_rel, max_abs;     /* largest difference relative to the expected value (if that exceeds atol), and absolute */
} Diff;
Diff tensor_compare(const Tensor *got, const Tensor *want, double rtol, double atol);
/* The largest absolute error of the reference data `want` against the exact result. Infinity if rounding in a deep network does
 * not explain it (f32: above 5e-5 of the largest element). precision: the type in which the reference was computed. */
double reference_error(const Tensor *want, const Tensor *exact, DType precision);

/* ---- rounding.c: by how much roundings may move an output ---- */
Graph *graph_copy(Ctx *c, const Graph *g);                /* compiling changes lists of a graph; a copy has lists of its own */
DType rounding_type(const Options *o, DType output);      /* the type in which an output of type `output` is computed, by
                                                             --precision and --weights */
/* By output: a tensor with the variance of each element's rounding error, in a run on the inputs `in`. NULL: not known */
Tensor *rounding_variances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in);
/* A bound: smaller errors of an element are taken for rounding. It is 4 times the largest error in `rounded`, which has the
 * values of an evaluation that rounds after each op. */
double rounding_cost(const Tensor *rounded, const Tensor *exact);
double rounding_cap(const Tensor *want, double fallback);  /* the most that rounding_room may give: an eighth of the largest
                                                              element of `want`, or `fallback` if that is greater */
/* the error of an element that its variance excuses: 8 standard deviations, at most cap */
double rounding_room(const Tensor *variance, int64_t element, double cap);
/* out: for each output a tensor of f32 with the absolute tolerance of each element. want: the expected outputs. from_data: they
 * come from the user's data, so they are not exact. The function compiles g. */
void rounding_tolerances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in, const Tensor *want,
                         bool from_data, Tensor *out);
/* Raises the tolerances `out` where a precision, or weights in few bits, cause larger errors. An evaluation of the compiled graph
 * shows these errors. */
void rounding_widen(Ctx *c, const Options *o, const Graph *compiled, const Tensor *in, const Tensor *want, Tensor *out);

/* ---- metrics.c ---- */
enum { METRIC_MAX_ULP, METRIC_MAX_RELATIVE, METRIC_MAX_ABSOLUTE, METRIC_RMS, METRIC_COSINE, METRIC_SNR, METRIC_TOP1,
       METRIC_OUTSIDE, METRIC_COUNT };
const char *metric_name(int m);
int metric_named(const char *name, size_t n);             /* name: n bytes. METRIC_COUNT: no built-in metric has this name */
bool metric_falls(int m);                                 /* whether less is better; METRIC_COUNT stands for a command: false */
/* The parts of a text such as "cosine>=0.99" or "cosine@OUTPUT>=0.99". metric_n: bytes of the metric's name, which begins the
 * text. output: the output's name, of output_n bytes, in the text; NULL: none. least: the limit is the least value that passes,
 * else the greatest. */
typedef struct RequireParts { size_t metric_n, output_n; const char *output; bool least; double limit; } RequireParts;
bool requirement_parse(const char *text, RequireParts *r); /* false: the text is not of this form */
bool metric_known(const Options *o, const char *name, size_t n); /* whether a metric has this name, built in or of --metric */
void metric_choices(const Options *o, Arena *a, Texts *words); /* adds the names of all metrics that metric_known accepts */
/* Computes all built-in metrics of an output over `runs` runs. got, want, d: for run r, the output's value, its reference and
 * their Diff have the index r * stride. */
void metrics_measure(const Tensor *got, const Tensor *want, size_t runs, size_t stride, const Diff *d, double out[METRIC_COUNT]);
/* The number that the command of `metric`, a text NAME=COMMAND of --metric, prints for the output of this name */
double metric_command(Ctx *c, const Options *o, const char *scratch, const char *metric, const char *output, const Tensor *got,
                      const Tensor *want, size_t runs, size_t stride);

/* ---- checks.c ---- */
typedef struct Finding { const char *name, *text; bool passed; } Finding; /* the result of one check */
typedef struct Checks { VEC(Finding) list; int failed; } Checks; /* failed: number of checks that did not pass */
void checks_add(Ctx *c, Checks *k, bool passed, const char *name, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void checks_print(Ctx *c, const Options *o, const Checks *k, size_t from); /* prints checks from number `from` on */
json_t *checks_json(const Checks *k);                     /* the caller releases it */
/* Writes the files of --junit and --markdown. seconds: how long the checks took */
void checks_write(Ctx *c, const Options *o, const Checks *k, double seconds);
void checks_free(Checks *k);
/* Appends the text with XML entities for & < > " '. Control characters, and bytes that are no UTF-8, become '?'. */
void xml_text(Sb *s, const char *text);

/* ---- dot.c: a plan as text for Graphviz ---- */
/* Node `to` of the model reads a value that node `from` computes. Both are indices into IR.origins, the list of the model's
 * nodes. */
typedef struct NodeEdge { uint32_t from, to; } NodeEdge;
typedef VEC(NodeEdge) NodeEdges;
void node_edges(const Graph *g, NodeEdges *out);          /* call it before passes change g; VEC_FREE frees out */
/* Appends the drawing to out. ms: by kernel its time in ms, or NULL. nodes: also draws the model's nodes */
void dot_print(const Plan *p, const NodeEdges *edges, const double *ms, bool nodes, Sb *out);

/* ---- plots.c: drawings as SVG, appended to s ---- */
void plot_roofline(Ctx *c, const Timing *t, Sb *s);       /* the rates of kernels below the machine's peak rates */
void plot_memory(Ctx *c, const Plan *p, Sb *s);           /* the places of buffers in the arena, kernel by kernel */

/* ---- callgraph.c: the calls between functions and their bytes of stack, as gcc writes them ---- */
/* bytes: bytes of the function's own frame; -1: not known. deepest: bytes of all frames on the call path that begins with the
 * function and needs the most stack. next: index of the function that it calls on this path; -1: none. assumed: bytes that audit
 * assumes for a function of another file. aligned: the part of bytes that aligns the frame. unbounded: the frame has no bound.
 * reached: a run may reach the function. state, for callgraph.c: 0 not visited, 1 on the current path, 2 done */
typedef struct Function {
  const char *name;
  int64_t bytes, deepest, assumed, aligned;
  bool unbounded, reached;
  int state, next;
} Function;
typedef struct FunctionCall { size_t from, to; } FunctionCall; /* indices of functions */
/* recursive, unbounded: callgraph_bound met a recursion, or a frame without a bound. follow: the argument of callgraph_bound */
typedef struct CallGraph { VEC(Function) functions; VEC(FunctionCall) calls; bool recursive, unbounded, follow; } CallGraph;
void callgraph_read(Ctx *c, CallGraph *g, const char *path); /* adds the functions of a file that gcc wrote (audited_object) */
/* Reads a file of x86-64 assembly. Adds to Function.bytes the bytes that a function skips to align its frame. */
void callgraph_read_code(Ctx *c, CallGraph *g, const char *path);
/* Bytes of stack on the deepest call path from the function `entry`; -1: gcc compiled no such function. follow: a call by pointer
 * counts as a call of each static function that is not called by name; else it counts as no call */
int64_t callgraph_bound(CallGraph *g, const char *entry, bool follow);
bool is_indirect(const Function *f);                      /* whether f is gcc's stand-in for calls by pointer */
void callgraph_free(CallGraph *g);

/* ---- limits.c: --limit and --baseline ---- */
enum { LIMIT_LATENCY, LIMIT_ARENA, LIMIT_WEIGHTS, LIMIT_CODE, LIMIT_KERNELS, LIMIT_COUNT };
/* Values of the quantities: latency in ms; arena, weights and code in bytes; number of kernels. note: a text that says how the
 * latency was measured */
typedef struct Measures { double value[LIMIT_COUNT]; bool known[LIMIT_COUNT]; const char *note; } Measures;
/* Parses a text such as "latency=5ms,arena=1MB" into limits. tolerance: the values are percents. Returns NULL, or a message if
 * the text is wrong. */
const char *limits_parse(Arena *a, const char *text, bool tolerance, Measures *limits);
/* Reads the limits of --limit, and from the report of --baseline the old values and the name of the machine. false: neither
 * option is given */
bool limits_read(Ctx *c, const Options *o, Measures *limits, Measures *old, const char **machine);
/* Whether the value of one quantity (LIMIT_) in m is within its limit, and within the tolerance above its old value */
bool limits_hold(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, int quantity);
/* Adds a check for each limit, and for each old value */
void limits_check(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, Checks *k);

/* ---- compare.c ---- */
/* Call it after a run on the inputs `in` whose outputs are wrong. Prints the nodes that may be the cause, the likeliest first.
 * With --json it puts them into the report instead. */
void find_suspects(Ctx *c, const Options *o, Graph *g, const Target *t, const char *scratch, const Tensor *in, json_t *report);
#endif

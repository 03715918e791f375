/* SPDX-License-Identifier: MIT */
/* cmd.h: the tgc program. options.h has a row for every verb and option. options.c parses the command line by these rows, and
 * help.c prints the help and the manual page from these rows. Each verb, such as `tgc run`, has a file in cmd/verbs, except
 * `verify` (cmd/lib/verify.c). The headings below name the files of the other functions. These files are in cmd/lib, except
 * inspect.c, which is in cmd/verbs. The following holds for all functions:
 *
 * - c is the context of a compilation. Where a comment says that a function fails, the function calls fail(). fail() sets
 *   an exit code, EX_..., and does not return.
 * - Results that a function allocates, such as texts, live in c->model, the context's arena, and are freed with the arena.
 *   Comments name the exceptions.
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
/* The default --isa for CPUs depends only on the architecture of this machine. So equal commands write equal bundles on all
 * machines of an architecture. */
#if defined __x86_64__
#define DEFAULT_ISA "x86-64-v3"
#elif defined __aarch64__
#define DEFAULT_ISA "neon" /* every CPU of this architecture has Neon */
#else
#define DEFAULT_ISA "portable"
#endif

/* ---- options.c, option_checks.c, option_errors.c and option_rows.c: the command line ---- */
typedef enum {
#define VERB(name, args, gloss, examples) VERB_##name,
#include "options.h"
  VERB_COUNT
} Verb;

typedef Words Texts;           /* a list of texts; VEC_FREE frees it */
/* The options of a command. For each option, a row of options.h names the field that holds the value. If an option is not given
 * and has no default, the field is 0, false, NULL or an empty list. */
typedef struct Options {
  Verb verb;
  uint64_t given[3];           /* a bit for each row of an option in options.h, set if the option was given */
  char *const *words;           /* the command line, with the program first */
  const char *model, *other;   /* the words after the verb that are neither options nor values of options. model: the first of
                                  these words, such as a model or a bundle; other: the second one */
  const char *out;
  const char *isa, *target, *cpu, *backend, *device, *emit, *archs, *name, *bindings, *embed, *package;
  const char *precision, *weights, *denormals, *groups;
  const char *optimize, *max_arena, *max_weights, *machine;
  const char *entry;            /* name of an entry of the pipeline or the bundle `model`; NULL: all entries */
  const char *run_size;         /* not an option: verbs set this field to the sizes of one run, such as "3" or "batch=2,seq=17";
                                   NULL: the sizes are not given */
  const char *data, *format, *outputs, *schedule, *lock, *tune_db, *tune_log, *job, *import, *time, *cc_limit;
  const char *limits, *baseline, *tolerance, *cpus, *csv;
  const char *holdout_data, *metric, *layers, *save_layers; /* options of quantize */
  int64_t holdout;
  double rate;
  int64_t repeat, pairs;
  const char *original, *junit, *markdown, *dot; /* original: value of --model, the model that a bundle was made from */
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
/* Sets an option of the verb o->verb. name: without "--". value NULL: the option is given without a value. The text `value` must
 * outlive o. Returns -1, or EX_USAGE_ if the option is wrong. */
int option_set(Options *o, const char *name, const char *value);
/* Tell what is wrong with the command line, and return EX_USAGE_. The message for a wrong value ends with the nearest of the
 * option's choices. */
int option_wrong(const Options *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int option_wrong_value(const Options *o, const char *option, const char *value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int options_check(const Options *o); /* checks the values and their combinations; returns -1, or EX_USAGE_ if any is wrong */
/* Fills in o from the command line. Returns -1 if the verb is to be run. Otherwise the result is an exit code: tgc has printed
 * the help, the manual page or its version, or the command line is wrong. */
int options_parse(Options *o, int argc, char **argv);
void options_free(Options *o);                            /* frees the lists of o */
bool option_given(const Options *o, const char *name);    /* name: without "--" */
bool parse_size(const char *s, int64_t *out);             /* parses "4096", "4k", "4M" or "4G"; false: s is not a size */
/* Parses a size such as "4k" for a field of CompileOptions: sets *limit to the size in bytes plus 1, or to 0 if s is NULL.
 * Returns false if s is not a size. */
bool parse_limit(const char *s, int64_t *limit);
double duration(const char *text);                        /* seconds in "90", "90s", "1.5m" or "1h"; negative:
                                                             `text` is not a duration */

/* ---- one function per verb: returns an exit code, or calls fail() ---- */
int verb_compile(Ctx *c, const Options *o);
int verb_run(Ctx *c, const Options *o);
int verb_verify(Ctx *c, const Options *o);
/* The verb `verify` for runs of the sizes o->run_size. The caller releases *report. */
int verify_model(Ctx *c, const Options *o, json_t **report);
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
typedef enum { FLAG, TEXT, LIST, SIZE, COUNT, REAL, MAYBE } Kind; /* kinds of values of options; options.h explains the kinds */
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
  const char *verbs;                                      /* letters of the verbs that take the option (options.h) */
  Group group;                                            /* the option stands under the heading of this group in the help */
  const char *help;
} OptionRow;
typedef struct VerbRow { const char *name, *args, *gloss, *examples; } VerbRow; /* gloss: one line of help */
extern const OptionRow option_rows[];                     /* a row whose name is NULL ends the table */
extern const VerbRow verb_rows[VERB_COUNT];
extern const char *const group_titles[GROUP_COUNT];
bool option_of(const OptionRow *r, Verb v);               /* whether the verb takes the option */
bool option_of_bundle(const OptionRow *r, Verb v);        /* whether the verb takes the option for a bundle, too */

/* ---- choices.c ---- */
/* Adds the values of an option such as --backend or --isa to `words`. option: the option's name without "--". Adds nothing for
 * an option that takes any value. */
void option_choices(Arena *a, const char *option, Texts *words);
/* Returns "; did you mean 'X'?", where X is the value of the option that is most like `word`; "" if no value is like `word` */
const char *choice_near(Arena *a, const char *option, const char *word);

/* ---- help.c ---- */
void print_help(const Options *o);                        /* prints help for o->verb, or for tgc if that is VERB_COUNT */
void print_man(void);

/* ---- terminal.c: width, colours, units, tables and the progress line ---- */
int terminal_width(FILE *f);                              /* columns; 0: f is not a terminal */
bool terminal_colored(const Options *o, FILE *f);         /* whether f gets colours: depends on --color, NO_COLOR, TERM and f */
typedef enum { PAINT_OK, PAINT_WARNING, PAINT_ERROR, PAINT_TITLE, PAINT_COUNT } Paint;
/* Returns a copy of `text` in colour p: the code that switches p on, the text, and the code that switches p off. Returns `text`
 * itself if f gets no colours. */
const char *paint(const Options *o, FILE *f, Paint p, const char *text, Arena *a);
int terminal_room(const Options *o);                      /* most columns of a line on stdout; 0: no limit, as with --wide */
const char *bytes_text(Ctx *c, int64_t bytes);            /* "12.3 MiB": powers of 1024 */
const char *time_text(Ctx *c, double ms);                 /* "12.3 µs" */
const char *count_text(Ctx *c, double n, const char *unit); /* "1.23 Mflop": powers of 1000 */
/* A table: rows of cells. format has a character for each column: '<' aligns the column on the left, '>' on the right. headed:
 * the first row has the names of the columns. On a terminal, texts are cut to fit the width, except with --wide. */
typedef struct Table { Ctx *c; const Options *o; const char *format; bool headed; VEC(const char *) cells, under; } Table;
void table_row(Table *t, ...);                            /* adds a row: one text per column; the texts must outlive the table */
void table_under(Table *t, const char *text);             /* adds a line below the latest row, from the second column on; `text`
                                                             must outlive the table */
void table_print(Table *t);                               /* prints the table on stdout and frees it */
void table_free(Table *t);
void print_cut(const Options *o, const char *line);       /* prints a line on stdout, cut at terminal_room columns */
/* Prints the words of s on stdout, in lines of at most `width` columns; width 0: in one line. A word that is longer than a line
 * is not divided. at: the column where the cursor is. The first word is printed at column `left`, or at column `at` if `at` is
 * larger. If `at` is -1, the first word is printed at column 0. Further lines begin at column `left`. A tab becomes a blank;
 * other control characters become '?'. */
void print_words(const char *s, int left, int at, int width);
/* Prints the lines of s on stdout. If a line is too long for the terminal, its rest is printed on further lines, from
 * column `left` on. */
void print_lines(const char *s, int left);
bool terminal_has_progress(const Options *o);             /* whether stderr can rewrite a line, and -q is not given */
/* Rewrites the progress line, if terminal_has_progress. stage: a text that says what is being done; NULL: the line is cleared.
 * share: how much of the work is done, from 0 to 1; negative: not known. The line shows an estimate of the time left if `share`
 * is known. seconds: seconds that the work has taken so far */
void progress_show(const Options *o, const char *stage, double share, int64_t seconds);

/* ---- progress.c ---- */
/* Begins to show the progress of work in this process. After one second, the progress line has the text `what`, and the progress
 * that the work reports by calls of c->progress. After a failure, work_end need not be called: the next work_begin, or the end
 * of the program, calls work_end. */
void work_begin(Ctx *c, const Options *o, const char *what);
void work_end(Ctx *c);

/* ---- tunables.c ---- */
void tunables_apply(Ctx *c, const Options *o);            /* applies --tunable to the context; fails on a wrong name or value */
int tunables_list(Ctx *c, const Options *o);              /* prints the report of --tunables; returns an exit code */

/* ---- machine.c: the facts of the CPU for which the cost model computes costs ---- */
struct CpuFacts;
const struct CpuFacts *machine_given(Ctx *c, const Options *o);  /* facts of the CPU that --machine names; NULL: none is named */
/* Returns the facts about this CPU in the tuner's store; NULL if the store has none, or if --no-tune-store is given */
const struct CpuFacts *machine_stored(Ctx *c, const Options *o);
/* As machine_stored, but reads the store even if --no-tune-store is given */
const struct CpuFacts *machine_measured(Ctx *c, const Options *o);
const char *machine_line(Ctx *c, const struct CpuFacts *f);      /* f as one line of text for --machine; NULL if f is NULL */
int machine_print(const Options *o, const struct CpuFacts *f);   /* prints f on stdout; returns an exit code */

/* ---- floor.c: the least time of a run ---- */
typedef struct Floor {
  const char *machine;     /* name of the CPU */
  double multiply_ms;      /* ms for all products of the run at the CPU's peak rate */
  double read_ms;          /* ms to read the weights, inputs and states that do not fit into the CPU's caches */
  double ms;               /* the greater of multiply_ms and read_ms */
  double multiply_adds, bytes; /* multiply_adds: number of products; bytes: size of all weights, inputs and states */
} Floor;
/* Returns the least time of a run of p. threads: number of threads that share the run; run: the sizes of the run. Returns NULL
 * for a device, for a run without work, and if the facts of the CPU are not known. Also returns NULL if a size in `run` is less
 * than the greatest size of its range. */
const Floor *floor_of(Ctx *c, const Options *o, const Plan *p, int threads, const int64_t *run);

/* ---- machine_measure.c ---- */
const struct CpuFacts *machine_measure(Ctx *c, const Options *o); /* measures this CPU, and adds the facts to the tuner's store */
/* Does nothing if an option chooses the machine, if -q is given, or if DEFAULT_ISA is "portable". In all other cases, tgc
 * compiles for DEFAULT_ISA. Then this function prints a line on stderr with the features of DEFAULT_ISA that this CPU lacks. If
 * this CPU lacks none, and the verb is not `run`, the line has the features of this CPU that DEFAULT_ISA lacks. */
void machine_tell_default(Ctx *c, const Options *o);
/* For verbs that time code: calls machine_tell_default. Then, with --isa=native, measures this CPU if the store lacks the CPU's
 * facts. Does not measure if --machine or --no-tune-store is given. */
void machine_prepare(Ctx *c, const Options *o);

/* ---- model.c: from the command line to a plan ---- */
typedef struct Feed Feed;
typedef struct Interface Interface;
/* Returns the target of a compilation. The machine comes from the first of these options that is given: --isa, --machine,
 * --target, --emit=wasm. If none of them is given, the machine is Backend.isa or, if that is NULL, DEFAULT_ISA. */
const Target *target_of(Ctx *c, const Options *o);
/* Returns the first backend that makes the form of code that --emit names. Without --emit, returns the backend that --backend
 * names; without --backend, returns the first backend. Sets *emit to the form of code. Returns NULL if no backend is found. */
const Backend *backend_of(const Options *o, Emit *emit);
Groups groups_named(const char *s);                       /* s: a value of --kernel-groups; NULL: the default. Returns
                                                             GROUPS_COUNT if s is not a value of this option */
unsigned bindings_of(const Options *o);                   /* value of --bindings, as the bits that bundle.h defines */
bool keeps_denormals(const Options *o);                   /* by --denormals; without this option, true for
                                                             --precision=fp32-strict */
/* ---- changes.c: the options that change a model's inputs and outputs: --from, --const, --rename, --prologue, --epilogue and
 * --convert. Below, a change is one of these options with a value. ---- */
enum { CHANGES = 6 };                                     /* number of these options */
Texts *change_texts(Options *o, int i);                   /* the values of option number i, 0 to CHANGES - 1 */
Setting *changes_of(Ctx *c, const Options *o, int *n);    /* the *n changes that were given */
const char *first_change(const Options *o);               /* name of the first change's option; NULL: no change */
/* Sets the changes of o to those among the n settings of a dump */
void changes_resume(Ctx *c, Options *o, const Setting *s, size_t n);
const IoOptions *io_options(Ctx *c, const Options *o);    /* the changes for a front end; NULL: no change */
/* ---- load.c ---- */
bool is_pipeline(const char *path);                       /* whether the path ends with ".tgp" */
const char *pipeline_text(Ctx *c, const Options *o);      /* the pipeline o->model as text, by pipeline_print (pipeline.h) */
/* Loads the model or the pipeline o->model. feed: the user's data, whose shapes may set dynamic dimensions of a model; NULL:
 * there is no data */
Graph *load_graph(Ctx *c, const Options *o, const Feed *feed);
/* ---- model.c: compiles a graph ---- */
/* Returns a text with the target and the options on which decisions depend. The tuner's store keeps separate decisions for each
 * of these texts. */
const char *decisions_wanted(Ctx *c, const Options *o, const Target *t);
/* Compiles g for t. If --stop-after is given, returns NULL. Then the text that --stop-after asks for is appended to *stopped,
 * unless `stopped` is NULL. */
Plan *plan_of(const Options *o, Graph *g, const Target *t, Sb *stopped);
/* As plan_of. from: a dump from which the compilation continues; NULL: the compilation starts from g. If `to` is NULL, the
 * text *stopped is only for people. If `to` is not NULL, *stopped is a dump, which resume_read can read. Then the bytes of long
 * weights are appended to to->blob, and the caller writes these bytes to a file. to->blobname: name of this file, which the dump
 * records. to->sample: sample inputs and exact outputs, which the dump records; NULL: none */
typedef struct DumpTo { Sb *blob; const char *blobname; const Sample *sample; } DumpTo;
Plan *plan_from(const Options *o, Graph *g, const Target *t, Resumed *from, Sb *stopped, const DumpTo *to);

/* ---- sizes.c: the sizes of dimensions for which --dim gives a range. A Symbol is a dimension with its range. An argument `all`
 * has all Symbols of a model. A run has a size for each Symbol. An argument `run` is a RunSizes (ir.h) with these sizes. ---- */
enum { SIZES_OF_DIM = 4096 };                          /* greatest end of a range; front ends try each size of a range */
/* Parses a range such as "1:512:8@128" into s, whose name stays NULL. Returns NULL, or a message if the text is wrong. */
const char *parse_range(const char *value, Symbol *s);
const char *first_range(const Options *o);             /* value of the first --dim that gives a range; NULL: none does */
Symbols ranges_of_dims(Ctx *c, const Options *o);      /* all ranges that --dim gives */
int runs_of_size(const char *text);                    /* number of runs that a value of --size asks for; 0: the value is wrong */
/* Calls `one` for each run that --size asks for, with Options.run_size set. Without --size, calls `one` once. But if --dim has a
 * range, `verify` makes the runs of usual_runs, unless --data, --input, --outputs or --json is given. Fails if there are several
 * runs and --json is given. Returns the last exit code of `one` that is not 0; 0 if all are 0. */
int over_sizes(Ctx *c, const Options *o, int (*one)(Ctx *c, const Options *o));
/* Adds runs to `runs`, as values of --size. Four runs have the least, the middle, the typical and the greatest sizes of all
 * ranges. If there are several ranges, there is one more run for each range. In this run, the range has its least size, and all
 * other ranges have their greatest sizes. A size that counts elements of states is not 0 in these runs, but at least one step of
 * the range. Equal runs are added once. */
void usual_runs(Ctx *c, const Symbols *all, Texts *runs);
/* Fills in `run` with the sizes that Options.run_size gives. A size that run_size does not give becomes -1. Fails if run_size is
 * given but the model has no ranges, and if run_size names a dimension without a range. Also fails if the model has several
 * ranges and run_size has a size without a name. Returns whether the model has a range. */
bool sizes_asked(Ctx *c, const Options *o, const Symbols *all, int64_t *run);
/* Sets each size in `run` that is -1. A size that counts elements of states becomes the least of its range, any other size the
 * greatest. Fails if a size does not belong to its range. Returns all sizes as text; NULL if the model has no range. */
const char *sizes_complete(Ctx *c, const Symbols *all, int64_t *run);
/* In the n values of v, sets the extents that depend on sizes (GIO.open). extents: how each extent follows from sizes; the first
 * `symbols` extents are the sizes themselves. */
void values_at(GIO *v, size_t n, const Extents *extents, int symbols, const int64_t *run);
/* Sets each size in `run` that is an extent of an input. v: the n inputs of a graph of ir; in: the data of these inputs, with the
 * shapes of the run */
void sizes_of_inputs(const IR *ir, const GIO *v, const Tensor *in, size_t n, int64_t *run);
/* Returns a copy of the n values of v, with their extents for the sizes in `run` */
const GIO *values_of_run(Ctx *c, const IR *ir, const GIO *v, size_t n, const int64_t *run);
/* Returns a copy of o in which --dim gives the sizes in `run`, and no ranges */
Options one_size(Ctx *c, const Options *o, const Symbols *all, const int64_t *run);

/* ---- interpret.c ---- */
/* Evaluates `steps` successive runs of g in the interpreter of graphs. in: for each run, the inputs and then the states.
 * The caller fills in the inputs; this function fills in the states. out: for each run, the outputs without the states. exact
 * true: floats are computed in double; false: the result of each op is rounded to the op's type. */
void interpret(Ctx *c, const Options *o, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out);
/* Evaluates one run. in: inputs, then states. out: outputs, then the next values of the states. most: greatest number of
 * operations; 0: no limit. Returns false if the run needs more operations than `most`. */
bool interpret_once(Ctx *c, const Options *o, const Graph *g, const Tensor *in, bool exact, int64_t most, Tensor *out);

/* ---- interpret_device.c ---- */
/* Makes `steps` runs of p, a plan for a device, in the interpreter of programs. in, out: as for plan_execute. Returns a JSON
 * array with a report for each launch in which a fault was found, such as a race. The caller releases the array. */
json_t *plan_interpret(Ctx *c, const Options *o, const Plan *p, size_t steps, const Tensor *in, Tensor *out);

/* ---- report.c ---- */
json_t *json_number(double v);                            /* v as a number; JSON's null if v is not finite */
json_t *json_report(const char *verb, const char *model); /* an object with the fields that every report has */
void json_print(json_t *j);                               /* prints j on stdout and releases it */
const char *type_text(Ctx *c, DType d, int rank, const int64_t *dims); /* "f32[1,3,224,224]" */
const char *strings_text(Ctx *c, int rank, const int64_t *dims); /* "string[2,3]"; leaves out dims[rank - 1], the bytes */
const char *string_text(Ctx *c, const Tensor *t, int64_t i);  /* string i of t in quotes, for people; long strings are cut */
void print_name(const char *s);                           /* prints s on stdout; control characters become '?' */

/* ---- resume.c: dumps ---- */
/* Reads the dump o->model. Sets o to the options with which the dump was made. Fails if an option in o contradicts the dump. */
Resumed *resume_read(Ctx *c, Options *o);
/* Returns the *n options that a dump records. lock: path of the lock file in use; NULL: none */
const Setting *settings_of(Ctx *c, const Options *o, const Target *t, const char *lock, int *n);

/* ---- validate.c: runs the whole model, to see where time goes and to test the tuner's schedules in the model ---- */
/* Times of a run that `threads` threads share; threads 0: not measured. untuned: ms of a run without the tuner's schedules;
 * tuned: ms of a run with these schedules. low, high: ends of the confidence interval of tuned / untuned */
typedef struct ValidatedAt { int threads; double untuned, tuned, low, high; } ValidatedAt;
/* done: the model was validated. found: number of nests for which the tuner found a schedule; kept: number of nests whose
 * final schedule is not Goal.base (tune.h). at: times with the requested number of threads; other: times with another number
 * of threads. decision: ndecisions decisions of passes. The schedules were validated together with these decisions. plan: the
 * plan of the bundle that was validated */
typedef struct Validated {
  bool done;
  int kept, found;
  ValidatedAt at, other;
  Paired changed;          /* for the threads of `at`: the time with schedules, as a part of the time without, by the kernels that
                              differ; n 0: not known */
  const Plan *plan;
  const Decision *decision;
  size_t ndecisions;
} Validated;
typedef struct Validation Validation;
typedef struct GraphChoices GraphChoices;                       /* lib/graph_choices.h */
typedef struct Races Races;                                     /* lib/sides.h */
/* choices: decisions that all compared bundles share. choices->side (lib/sides.h) was built with these decisions. validate_open
 * moves this side into the Validation, and validate_close frees the side. The Validation itself lives in c->model.
 * validate_model will fill in *result. */
Validation *validate_open(Ctx *c, Races *r, Tuner *t, GraphChoices *choices, Validated *result);
/* Estimates how many seconds validate_model will take. Must be called after validate_survey. least: whether the estimate assumes
 * the fewest repetitions of measurements */
double validate_seconds(const Validation *s, bool least);
bool validate_needed(const Validation *s);                      /* whether schedules were found, or runs use several threads */
/* Runs the model. Tells the tuner how much longer each nest takes in the model than the roofline allows (Goal.slack in tune.h).
 * Returns an exit code. */
int validate_survey(Ctx *c, Validation *s);
/* Decides which nests keep the schedules that the tuner found for them. The whole model must be faster with the schedules that
 * are kept. Returns an exit code. */
int validate_model(Ctx *c, Validation *s);
void validate_close(Validation *s);

/* ---- error.c: the error that a precision causes, on sample inputs ---- */
/* Must be called before g is compiled. Makes the inputs of s from the data and the seed, and computes their exact outputs in the
 * interpreter. Returns false if the outputs need more operations than the budget of error.c, or if g has several entries. */
bool error_sample(Ctx *c, const Options *o, const Graph *g, const Feed *feed, Sample *s);
/* Returns the error of each output of the compiled graph; NULL if computing the errors would exceed the budget of error.c */
const OutputError *error_measure(Ctx *c, const Options *o, const Plan *p, const Sample *s);
OutputError output_error(const Tensor *got, const Tensor *want);        /* the error of one output; want: the reference */
void error_print_one(const char *output, const OutputError *e);         /* prints e, the error of this output, in a line */
void error_print(const Plan *p, const OutputError *e);  /* prints lines for all outputs; e NULL: prints why errors are unknown */

/* ---- inspect.c ---- */
json_t *graph_json(const Graph *g);                             /* g for a JSON report; the caller releases the result */
void print_interface(Ctx *c, const Options *o, const Graph *g); /* inputs, outputs and states, on stdout */
/* Prints the text of --explain. kernels: the manifest's list of kernels. From this list, the registers and the local memory of
 * compiled functions are printed, too. NULL: registers and local memory are not printed */
void print_kernels(const Options *o, const Plan *p, const json_t *kernels);

/* ---- data.c: tensors from and to files; the data of tensors live in c->model ---- */
typedef struct NamedTensor {
  const char *name;            /* name of the input or output; NULL: not known */
  int number;                  /* position among the inputs or outputs, from 0; -1: not known */
  const char *file;            /* the file of the tensor, for messages */
  Tensor t;
  bool given;                  /* the tensor comes from --input */
  bool named;                  /* the tensor comes from an archive, and `name` is not of the form input_N, output_N or arr_N */
  bool raw;                    /* plain bytes; the model gives type and shape */
} NamedTensor;
/* A sequence or an optional (ONNX) among the inputs. name: NULL if the data does not name the input. place: position among the
 * inputs, from 0; -1: not known. n: number of tensors; -1: an optional without an element */
typedef struct GivenList { const char *name; int place, n; } GivenList;
struct Feed { VEC(NamedTensor) inputs, outputs; VEC(GivenList) lists; }; /* the data that the user gives for one run */
/* Fills in `run` with the sizes of a run. A size comes from --size, else from the shapes of the data, else from sizes_complete.
 * in: the n inputs of the model. Returns the sizes as text; NULL if the model has no ranges. */
const char *feed_size(Ctx *c, const Options *o, const Symbols *all, const Feed *f, const GIO *in, size_t n, int64_t *run);
void feed_read(Ctx *c, const Options *o, Feed *f);        /* reads the files of --input, and the first step of --data */
typedef struct Steps {         /* the data of the runs, or steps, that --steps asks for */
  const GIO *in, *out;         /* the declared inputs and outputs of one step */
  size_t nin, nout;
  size_t stride;               /* number of tensors of a step in `given`: nin inputs, then one for each state */
  Tensor *given, *want;        /* step after step. given: inputs and states; want: expected outputs, or NULL if the caller needs
                                  none */
  bool wanted;                 /* the data has the expected outputs of all steps */
} Steps;
/* Fills in the inputs in s->given from the data or from the seed. Fills in s->want and s->wanted from the data. first: the data
 * of step 0, and of each later step for which --data has no folder. Returns the number of inputs that were made from the seed. */
int feed_steps(Ctx *c, const Options *o, const Feed *first, Steps *s);
void feed_free(Feed *f);
/* Makes a tensor for each of the n inputs that `want` declares. Inputs that the feed lacks are made from the seed. Returns the
 * number of inputs that were made from the seed. */
int feed_inputs(Ctx *c, const Feed *f, const GIO *want, int n, int64_t seed, Tensor *out);
/* Fills in `out` with the expected values of the n outputs that `want` declares. Returns false if the data has no outputs. Fails
 * if the data has some outputs, but lacks one of the n. */
bool feed_outputs(Ctx *c, const Feed *f, const GIO *want, int n, Tensor *out);
/* Writes t to a file. format: "npy", "pb" or "raw". name: the tensor's name, for "pb" */
void tensor_save(Ctx *c, const char *path, const char *format, const char *name, const Tensor *t);
double tensor_at(const Tensor *t, int64_t i);             /* value of element i; small types such as float8 are decoded */
Tensor tensor_like(const GIO *v);                         /* a tensor with the type and the shape of v, without data */
void tensor_summary(Ctx *c, const char *name, const Tensor *t); /* prints type, shape and some values on stdout */
json_t *tensor_json(const char *name, const Tensor *t);   /* as tensor_summary, for a report; the caller releases it */

/* ---- sets.c: data sets ---- */
/* Adds paths to `sets`: those of the folders test_data_set_0, test_data_set_1, ... inside of the folder --data, in the order of
 * their numbers. If there are none, adds the value of --data itself, or NULL if --data is not given. */
void find_sets(Ctx *c, const Options *o, Texts *sets);
/* Fills in a feed with the shapes of a bundle's inputs, without data. load_graph sets dynamic dimensions by these shapes. */
void feed_shapes(const Interface *f, Feed *feed);
const char *ort_script(Ctx *c, const char *name);         /* text of the script `name` of cmd/probe, for python -c */
const char *ort_type(Ctx *c, const GIO *v);               /* type and dimensions of v for these scripts: "f32:1,3";
                                                             the last dimension of strings counts bytes */
void ort_needs_onnx(Ctx *c, const char *model, const char *option); /* fails if the model is a .tg file */
/* ONNX Runtime makes `runs` runs on the inputs in s->given. s->want receives the outputs, s->nout for each run. */
void ort_references(Ctx *c, const Options *o, const char *model, const char *scratch, const Steps *s, size_t runs);

/* ---- npy.c: NumPy's files ---- */
Tensor npy_parse(Ctx *c, const char *what, Bytes b);      /* reads the bytes of an .npy file, which messages call `what` */
void npy_write(const Tensor *t, Sb *out);                 /* appends the bytes of an .npy file to out */
/* Reads the bytes of an .npz archive, and calls `each` for each array in it. name: the array's name, without ".npy" */
void npz_parse(Ctx *c, const char *path, Bytes b, void (*each)(Ctx *c, void *arg, const char *name, Tensor t), void *arg);

/* ---- state_args.c: --state, and the states of runs of several steps ---- */
static inline size_t steps_of(const Options *o) { return o->steps ? (size_t)o->steps : 1; }
void apply_states(Ctx *c, const Options *o, Graph *g);    /* turns the inputs and outputs of g that --state names into states */
/* Sets the states in `in` to their first values. in: the inputs of one run, then the states */
void state_first(Ctx *c, const Graph *g, Tensor *in);
/* Sets each state in `in` to the state's value in `out`. out: the outputs of a run, then the states after this run. in: the
 * inputs of the next run, then the states before the next run. If a state is a window, `out` may have more elements than `in`
 * along the axis of the window. Then the last elements of `out` are taken. */
void state_next(Ctx *c, const Graph *g, const Tensor *out, Tensor *in);

/* ---- process.c: the scratch folder and child processes ---- */
char *scratch_new(Ctx *c);                                /* makes a private folder and returns the folder's path; may fail with
                                                             EX_NOWRITE */
void scratch_remove(const char *dir);                     /* removes the folder with its files */
/* Calls fork(), and returns the result of fork(). Fails if fork() fails. The child has a process group of its own. If tgc
 * dies, the child is killed. */
pid_t child_start(Ctx *c);
/* Waits for the child, and returns the child's wait status. stage: text for the progress line. If a signal asks tgc to end, kills
 * the child and fails. */
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage);
/* Fails with the exit code that fits the wait status of a dead child. The subject of the message is `what`, such as "the compiled
 * model". */
_Noreturn void child_died(Ctx *c, int status, const char *what);
int interrupt_pending(void);                              /* number of a pending signal that asks tgc to end; 0: none */
void *shared_memory(Ctx *c, size_t n);                    /* n bytes of zeros, shared with children that are started later;
                                                             munmap frees the bytes */
double clock_ms(void);                                    /* ms of a monotonic clock */

/* ---- interface.c: reads a bundle's manifest ---- */
struct Interface {                                        /* facts that a caller of a built bundle needs */
  const char *name;                                       /* prefix of the bundle's files and symbols */
  VEC(GIO) inputs, outputs;                               /* GIO.ref is 0 */
  int64_t arena_bytes, weight_bytes;
  size_t kernels;                                         /* number of kernels */
  bool embedded, pool;                                    /* embedded: the code contains the weights, so there is no weights file.
                                                             pool: the bundle has the runtime's pool of threads */
  const char *weights_sha256;                             /* SHA-256 of the weights file, in hexadecimal digits */
  const char *cflags;                                     /* flags that the C compiler needs for the bundle's target */
  const Target *target;                                   /* parsed from the bundle's --isa */
  const char *code;                                       /* name of the file with the kernels */
  const char *device;                                     /* value of --device; NULL: the runtime chooses a device */
  Symbols symbols;                                        /* the ranges of sizes for which the bundle was made */
  Extents extents;                                        /* the sizes of `symbols`, then the extents that follow from them;
                                                             Extent.at is not set */
  RunSizes sizes;                                         /* by symbol: the size in the runs. `inputs` and `outputs` have the
                                                             shapes for these sizes */
  bool states;                                            /* the bundle has states, which runs change */
  const char *part;                                       /* the entry to which `inputs` and `outputs` belong; NULL: they belong
                                                             to the whole bundle */
  const char *run;                                        /* end of the run function's name: "_run_v", or "_run_ENTRY_v" if
                                                             `part` is set */
  Texts sources;                                          /* sources for the C compiler, without `variants`, tgcrt.c and
                                                             tgcrt_pool.c */
  Texts variants, variant_flags;                          /* variants: sources, each with the kernels for one machine;
                                                             variant_flags: flags of the C compiler for each variant */
};
/* Reads manifest.json of the bundle in dir. The sizes come from Options.run_size, else from sizes_complete. --entry chooses an
 * entry if dir is o->model. Fails if the manifest is not valid, or if the sizes, --entry or --device do not fit the bundle. */
Interface interface_read(Ctx *c, const Options *o, const char *dir);
void interface_at(Interface *f, const int64_t *run); /* sets f->sizes to `run`, and the shapes of f->inputs and f->outputs */
void interface_free(Interface *f);
bool is_bundle(const char *path);                    /* whether the path is a folder; models are files */
/* Fails if the weights file in dir does not have the digest f->weights_sha256. Embedded weights are not checked. */
void weights_check(Ctx *c, const char *dir, const Interface *f);
json_t *manifest_read(Ctx *c, const char *dir);      /* fails if manifest.json is missing or not JSON; the caller releases the
                                                        result */
/* Whether the files of two bundles have equal digests. The manifests themselves may differ. */
bool bundles_equal(Ctx *c, const char *x, const char *y);
/* Warns about each file in dir that is missing or was changed, according to the digests in the manifest. */
void files_compare(Ctx *c, const char *dir);
/* Returns a text about the first file that is missing or was changed, and sets *code to the exit code for this case. Returns NULL
 * if all files are as tgc wrote them. */
const char *files_changed(Ctx *c, const char *dir, int *code);

/* ---- bundle_build.c: builds bundles on this machine ---- */
/* Writes the plan's bundle into a new folder inside of the folder scratch. Returns the new folder's path. */
const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch);
/* Compiles and links the shared object scratch/NAME.so for t, and returns the path of the object. more: the last arguments of the
 * compiler, among them the sources. dir: folder of the bundle that has the sources, or NULL. Fails with EX_MISSING, EX_NOWRITE or
 * EX_RETRY if the compiler or the machine is to blame. */
const char *shared_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const char *name, const char *cflags,
                          const Target *t, const Texts *more);
/* Tries a compiler on a few lines of plain C for t. compiler NULL: the compiler that the environment variable CC names, or else
 * cc. kind: options for the kind of output, such as "-c -fPIC". Returns 0 if the compiler works. Otherwise returns an exit code,
 * and *why gets the reason. */
int compiler_probe(Ctx *c, const Options *o, const char *scratch, const char *compiler, const char *kind, const char *cflags,
                   const Target *t, const char **why);

/* Compiles a source of a bundle into the object file `out`. more: the last arguments of the compiler, among them the source */
void object_build(Ctx *c, const Options *o, const char *scratch, const char *out, const Interface *f, const Texts *more);
/* Builds the bundle in dir as a shared object, and returns the object's path. hooks: path of a header for TGC_HOOKS
 * (docs/bundle.md), or NULL */
const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks);
/* Builds the test program check.c of the bundle in dir as a static program, and returns the path of the program. */
const char *example_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f);
/* Runs a program of example_build in an emulator. argv: the command, with the emulator first. makes: path of the file that the
 * program writes. Returns as compiler_probe does. */
int example_run(Ctx *c, const Options *o, const char *scratch, const char *emulator, Texts *argv, const char *makes,
                const char **why);
/* Compiles the file `source` of the bundle in dir, and returns the path of the object file. gcc writes further files beside the
 * object file. One has the calls between functions and the bytes of stack of each function; another has the assembly. Fails with
 * EX_MISSING if the compiler is not gcc. */
const char *audited_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f,
                           const char *source);
/* Lets nm list the symbols that the file `object` needs from other files, and writes the list into the file `to`. Returns as
 * compiler_probe does. */
int symbols_list(Ctx *c, const Options *o, const char *scratch, const char *object, const char *to, const char **why);
/* Lets Graphviz draw the graph in the file `from` as SVG into the file `to`. Returns as compiler_probe does. */
int graph_draw(Ctx *c, const Options *o, const char *scratch, const char *from, const char *to, const char **why);
/* Links an object file into a shared library with the name Linking.soname. If Linking.module is true, links it into a module of
 * WebAssembly instead. arg: a Linking. object: the bytes of the object file. Returns the bytes of the library or module. Fails
 * with EX_MISSING if no linker is installed. */
typedef struct Linking { const Options *o; const char *scratch, *soname; bool module; } Linking;
Bytes link_shared(Ctx *c, void *arg, Bytes object);

/* A function for Compiling.run (target/backend.h). arg: a Linking. Runs the command argv, a compiler. In argv, "<" stands for a
 * file with the bytes of `text`, and ">" stands for the file that the command makes. *made gets the bytes of this file. Returns
 * as compiler_probe does; EX_BUG: the compiler refuses the text */
int compile_text(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);

/* Compiles the kernels of p, a plan for a device. Returns the list of kernels as in a manifest. The caller releases the list. */
json_t *compiled_kernels(Ctx *c, const Options *o, const Plan *p);

/* ---- toolchain.c: compilers and emulators for a machine, and which of them are installed ---- */
/* A cross compiler for an architecture, and an emulator of this architecture. bare: for machines without an operating system.
 * played: the CPU features that the emulator has, as bits FEAT_... The emulators are those of QEMU 7.2. */
typedef struct Toolchain { Arch arch; bool bare; const char *compiler, *emulator; uint32_t played; } Toolchain;
extern const Toolchain toolchains[];                      /* a row whose compiler is NULL ends the table */
bool installed(Ctx *c, const char *program);              /* program: a path, or a name that is looked up in PATH */
bool is_foreign(const Target *t);                         /* whether t has another architecture than this machine */
/* Returns the cross compiler to use for t. Returns NULL if t is not foreign, or if the environment variable CC is set. NULL
 * means the compiler that CC names, or else cc. Fails with EX_MISSING if a cross compiler is needed and none is installed. */
const char *compiler_for(Ctx *c, const Target *t);
Arch elf_arch(const char *path);                          /* architecture of an object file's code; ARCH_ANY: not known */
const CpuFacts *predict_facts(Ctx *c, const Target *t);   /* predict.c: facts of the CPU for which times are predicted */
const ProgramTime *predict_ms(Ctx *c, const Plan *p);     /* predict.c: predicted ms of each kernel on one core */
json_t *predicted_json(const ProgramTime *ms);            /* predict.c: `ms` of one kernel; the caller releases it */
void native_only(Ctx *c, const Target *t);                /* fails with EX_MISSING if t is foreign (is_foreign) */

/* ---- drivers.c: devices that drivers of this machine report ---- */
/* Returns a list of the devices. *why gets a list of messages, such as the reason why the driver of an interface (OpenCL, CUDA)
 * shows no devices. The caller releases both lists. */
json_t *drivers_json(Ctx *c, const Options *o, json_t **why);
void drivers_print(Ctx *c, const Options *o, const json_t *list, const json_t *why); /* prints both lists on stdout */

/* ---- emulate.c ---- */
/* Runs a bundle for another architecture in an emulator. The arguments are as for bundle_execute, below. Fails with EX_MISSING if
 * no emulator is installed, if the target has no operating system, if `steps` is above 1, or if f is for one entry. */
void bundle_emulate(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, Arch arch, size_t steps,
                    const Tensor *in, Tensor *out);

/* ---- execute.c: runs bundles on this machine ---- */
/* Builds the bundle in dir, and makes `steps` runs of the bundle in a child process. After every `per` runs, the states get their
 * first values again. in: for each run, `stride` tensors: the inputs, then tensors that are ignored. out: for each run, the
 * outputs, whose data live in c->model. Returns a status of tgcrt.h. For TGCRT_INDEX and TGCRT_CAPACITY, prints a warning and
 * returns TGCRT_OK. Fails if the compiler fails, if the child dies, or if the bundle cannot be loaded. Also fails if a run
 * returns any other status that is at least TGCRT_DRIVER. If the bundle is for another architecture, calls bundle_emulate. */
int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t steps, size_t per,
                   size_t stride, const Tensor *in, Tensor *out);
/* bytes of a value v, rounded up to a multiple of TGCRT_ALIGN */
static inline size_t value_room(const GIO *v) { return ((size_t)gio_bytes(v) + TGCRT_ALIGN - 1) / TGCRT_ALIGN * TGCRT_ALIGN; }
/* Whether the status is only a warning: the run has written the outputs, but an index was clamped, or rows were cut off */
static inline bool run_is_complete(int status) { return status == TGCRT_INDEX || status == TGCRT_CAPACITY; }
/* Fails with a message about a bundle that could not be loaded or run. status: an error of tgcrt.h, or -1 if only `why` tells the
 * error. why: a text about the error, or "" */
_Noreturn void model_failed(Ctx *c, int status, const char *why);
/* Writes the bundle of p into scratch, and runs this bundle by bundle_execute. The stride is the number of inputs and states of
 * p->g. */
int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, size_t steps, size_t per, const Tensor *in,
                 Tensor *out);

/* A bundle that was built and loaded into this process. Only child processes load bundles, since the loaded code may crash. */
typedef struct Loaded {
  void *so;                                               /* handle of dlopen */
  void *ctx;                                              /* the bundle's NAME_ctx, on the heap */
  int (*run)(void *ctx, const void *const *in, void *const *out); /* returns a status of tgcrt.h */
  int (*set_sizes)(void *ctx, const int64_t *sizes);      /* NULL: the bundle is for one size */
  const int64_t *again; /* sizes to be set before each timed run, since states grow in a run; NULL: set no sizes */
  double map_ms, init_ms;                                 /* map_ms: ms to map the weights. init_ms: ms to open the device, to run
                                                             NAME_init and to set sizes */
} Loaded;
int model_again(const Loaded *m, const void *const *in, void *const *out); /* sets m->again, runs, returns the status */
/* Loads the shared object `so` of the bundle in dir. threads: number of threads that share a run; 0 and 1: the calling thread
 * only. Returns a status of tgcrt.h, or -1 for another error. Then `why` has a text about this error. */
int model_open(const char *dir, const char *so, const Interface *f, int threads, Loaded *m, char why[252]);

/* ---- measure.c: child processes that time something on request ---- */
typedef VEC(double) Reals;                                /* a list of numbers; VEC_FREE frees it */
typedef struct Worker {                                   /* a child process that times something */
  pid_t pid;
  int to, from;                                           /* pipes. to: for lines with requests to the child; from: for lines
                                                             with the child's answers */
  const char *what;                                       /* name of the child's program, for messages */
  Reals ready;                                            /* the numbers of the child's first line */
  const char *version;                                    /* set by worker_program: the text behind the numbers of
                                                             the child's first line */
} Worker;
/* The timeline of a run, which cmd/probe/hooks.h records. A lane is the part of the timeline for one thread. A Span of a lane
 * says that the thread ran chunks of `kernel` from `begin` to `end`, in ms. */
enum { LANES = 64, SPANS = 16384 };                       /* most lanes, and most Spans of a lane, that are recorded */
typedef struct Span { double begin, end; int kernel; } Span;
/* lanes: number of threads, which may exceed LANES; n: number of Spans of each lane */
typedef struct Spans { int lanes, n[LANES]; Span span[LANES][SPANS]; } Spans;
/* Times of runs. Stamp 0 of a run is the time at which the run began; on a device, stamp 0 is 0. Stamp k + 1 is stamp k plus the
 * time that kernel k took. */
typedef struct Stamps {
  int n;                                                  /* number of stamps of a run: kernels plus one */
  double *at;                                             /* for each run, one after another, n stamps in ms */
  size_t room;                                            /* number of runs for which `at` has space; further runs overwrite
                                                             earlier ones. 0: there is space for all runs */
  Spans *spans;                                           /* timeline of the last run of the latest worker_block */
  const int *kernel;                                      /* by launch: the number of the kernel that has the launch, if the
                                                             driver of a device measures the times. NULL: the bundle's code
                                                             measures the times */
  size_t launches;                                        /* number of launches */
} Stamps;
/* Replaces the file `so`, and the file of weights in dir, by copies of themselves. Very large files stay as they are. All
 * processes that load the same file share the memory of this file. The addresses of this memory influence the times of runs. So
 * call model_renew before the start of each process whose times shall be independent of earlier processes. dir must be a folder
 * that tgc has made. */
void model_renew(const char *dir, const char *so, const Interface *f);
/* Starts a child that loads the shared object `so` of the bundle in dir and makes a first run. threads: number of threads that
 * share a run. in: the inputs of a run. stamps: where the runs leave their stamps, in shared memory; NULL: no stamps. w->ready
 * gets four numbers: Loaded.map_ms, Loaded.init_ms, the ms of the first run, and the bytes of code. */
void worker_model(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps);
/* How the runs of a worker_block begin. rate: runs per second; 0: each run begins when the run before ends. cold: the caches are
 * emptied before each run. cpus: for each CPU, whether the model may run there; if no CPU is set, all CPUs may run the model. If
 * rate or cold is set, worker_block appends two numbers for each run: its ms, and how many ms late it began. */
enum { PACE_CPUS = 1024 };
typedef struct Pace { double rate; bool cold, cpus[PACE_CPUS]; } Pace;
bool pace_cpus(const char *text, Pace *p);                /* sets p->cpus by a text such as "0,2-3"; false: the text is
                                                             wrong */
/* As worker_model. pace: how runs begin; NULL: each run begins when the run before ends */
void worker_paced(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps, const Pace *pace);
const int *kernel_of_launches(const Plan *p, size_t *n);  /* the kernel of each of the *n launches of a plan for a device */
/* Writes a header that records stamps, for TGC_HOOKS (docs/bundle.md), and returns the header's path. steps: number of stamps of
 * a run */
const char *hooks_write(Ctx *c, const char *scratch, int steps);
/* Starts another program as the child. The program reads and writes lines of the same form as the child of worker_model does.
 * The name of the program in messages is `what`. argv: the program's command, with NULL at the end */
void worker_program(Ctx *c, Worker *w, const char *what, const Texts *argv);
/* Requests a block of runs. First the child makes runs that are not timed: at least one, and for at least 2 ms. Then the child
 * times runs, until `runs` runs are done or `seconds` have passed, whichever is earlier. Appends the times in ms to `times`. */
void worker_block(Ctx *c, Worker *w, double seconds, int64_t runs, Reals *times);
void worker_end(Worker *w);                               /* kills the child and frees the lists in w */
/* CPU times, which show whether other processes disturbed a measurement. All fields are in seconds. at: when the Load was taken.
 * busy: CPU time of all processes of the machine. own: CPU time of this process and of its workers. */
typedef struct Load { double at, busy, own; } Load;
Load load_now(Worker *const *own, int n);                 /* the Load now; own: the n workers of this process */
double load_foreign(const Load *from, const Load *to);    /* mean number of CPUs that other processes used from `from` to `to` */
double quantile(Reals *sorted, double q);                 /* q: 0 to 1; 0.5 is the median. Returns NAN for an empty list */
void reals_sort(Reals *r);                                /* ascending */
/* Builds a shared object for t in scratch from the text `head`, followed by the file NAME.c of cmd/probe. Returns the path of
 * the object. flags: further flags of the compiler */
const char *probe_build(Ctx *c, const Options *o, const char *scratch, const char *name, const char *head, const Target *t,
                        const Texts *flags);
/* gflops: peak rate of multiply-adds of values in registers; a multiply-add is two operations. read_gbs: GB/s when the same
 * memory is read again and again. Both are rates of all threads together. */
typedef struct Peak { double gflops, read_gbs; } Peak;
/* bytes: size of the memory that is read for Peak.read_gbs */
Peak peak_measure(Ctx *c, const Options *o, const char *scratch, const Target *t, int threads, int64_t bytes);

/* ---- layers.c: the kernels of a plan or a bundle, for reports ---- */
typedef struct Layer {                                    /* one kernel */
  int64_t flops, read, written;                           /* arithmetic operations; bytes read and written */
  const char *schedule;
  const char *const *nodes;                               /* texts such as "node 17 'conv1' (Conv, opset 11)" */
  size_t nnodes, launches;                                /* launches: on a device, number of launches */
} Layer;
/* loops: a loop of the model runs some of the kernels several times; layers_of_plan does not set `loops` */
typedef struct Layers { Layer *p; size_t n; bool loops; } Layers;
Layers layers_of_plan(const Plan *p);
Layers layers_of_manifest(Ctx *c, const json_t *manifest);
const char *layer_nodes(Ctx *c, const Layer *l, size_t most); /* the first `most` nodes of the kernel as one text */
json_t *layer_nodes_json(const Layer *l);                 /* all nodes as a JSON array; the caller releases it */

typedef struct Life { int first, last; } Life;            /* first and last kernel that access a buffer; -1: no kernel does */
Life *buffer_lives(const Plan *p);                        /* by buffer of the plan */

/* ---- timing.c: the time of each kernel ---- */
/* kernel: number of the kernel. ms: median time of the kernel. gflops: 10^9 operations per second; gbs: 10^9 bytes per second.
 * roof: the least time that the machine's peak rates allow, divided by the median time; 0: the peak rates are not known. least:
 * the shortest time of the kernel in ms */
typedef struct KernelTime { int kernel; double ms, gflops, gbs, roof, least; } KernelTime;
enum { TIMING_EXTRA = 20 };                               /* number of runs after timing_run for which Timing.stamps has space */
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
  Peak peak;                                              /* zeros: not known */
} Timing;
/* Builds the bundle in dir and times its kernels on the inputs `in`. Makes --runs runs. Without --runs, makes as many runs as fit
 * in --seconds, but at most 1000. In both cases, the stamps of all runs together are at most about 8 million. */
void timing_run(Ctx *c, const Options *o, Timing *t, const char *dir, const char *scratch, const Tensor *in);
const double *stamps_of(const Timing *t, size_t run);     /* the stamps of the run with this number */
void timing_end(Timing *t);                               /* ends the worker and frees t->f */

/* ---- compare.c ---- */
typedef struct Diff {
  int64_t bad;                 /* number of elements that differ by more than their tolerance, atol + rtol * |expected|; for
                                  strings, number of strings that differ */
  int64_t worst;               /* index of the element with the greatest ratio of difference to tolerance, or of the first
                                  string that differs; -1: all are equal */
  double max_ulp;              /* largest difference in units in the last place; for integers, largest difference */
  double max_rel, max_abs;     /* max_rel: largest quotient of difference and |expected|, where |expected| exceeds atol;
                                  max_abs: largest difference */
} Diff;
Diff tensor_compare(const Tensor *got, const Tensor *want, double rtol, double atol);
/* Returns the largest absolute error of the reference data `want` against the exact result. Returns infinity if roundings in a
 * deep network cannot explain this error; for f32, if it exceeds 5e-5 times the largest element. Also returns infinity if only
 * one of the two has a NaN, or an infinity, at an index. precision: the type in which the reference data were computed */
double reference_error(const Tensor *want, const Tensor *exact, DType precision);

/* ---- rounding.c: by how much roundings may move an output ---- */
Graph *graph_copy(Ctx *c, const Graph *g);                /* a copy that can be compiled while g stays as it is. The copy
                                                             has its own lists of inputs, outputs and entries */
DType rounding_type(const Options *o, DType output);      /* the type whose roundings may cause errors in an output of type
                                                             `output`, by --precision and --weights */
/* Returns a tensor for each output, with the variance of each element's rounding error in a run on the inputs `in`. Returns NULL
 * if the variances are not known. */
Tensor *rounding_variances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in);
/* Returns a bound for errors that roundings explain: 4 times the largest difference of `rounded` and `exact`. rounded: the result
 * of an evaluation that rounds after each op */
double rounding_cost(const Tensor *rounded, const Tensor *exact);
double rounding_cap(const Tensor *want, double fallback);  /* value for the argument `cap` of rounding_room: an eighth of the
                                                              largest magnitude in `want`, but at least `fallback` */
/* Returns the error that this element may have: 8 standard deviations, but at most `cap`. variance: from rounding_variances */
double rounding_room(const Tensor *variance, int64_t element, double cap);
/* Computes the absolute tolerance of each element of each output, as tensors of f32 in `out`. want: the expected outputs.
 * from_data: `want` comes from the user's data, so `want` is not exact. */
void rounding_tolerances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in, const Tensor *want,
                         bool from_data, Tensor *out);
/* --precision and --weights cause errors in the compiled graph. This function evaluates the graph, and raises the tolerances of
 * each output in `out` to at least 4 times the output's largest error. want: the expected outputs */
void rounding_widen(Ctx *c, const Options *o, const Graph *compiled, const Tensor *in, const Tensor *want, Tensor *out);

/* ---- metrics.c ---- */
enum { METRIC_MAX_ULP, METRIC_MAX_RELATIVE, METRIC_MAX_ABSOLUTE, METRIC_RMS, METRIC_COSINE, METRIC_SNR, METRIC_TOP1,
       METRIC_OUTSIDE, METRIC_COUNT };
const char *metric_name(int m);
int metric_named(const char *name, size_t n);             /* name: n bytes. Returns METRIC_COUNT if no built-in metric has
                                                             this name */
bool metric_falls(int m);                                 /* whether less is better; false for METRIC_COUNT, a command */
/* The parts of a text such as "cosine>=0.99" or "cosine@OUTPUT>=0.99". metric_n: length of the metric's name, which begins the
 * text. output: start of the output's name in the text, NULL if there is none; output_n: length of this name. least: whether
 * `limit` is the least value that passes (">="); false: `limit` is the greatest value that passes ("<=") */
typedef struct RequireParts { size_t metric_n, output_n; const char *output; bool least; double limit; } RequireParts;
bool requirement_parse(const char *text, RequireParts *r); /* false: the text is not of this form */
bool metric_known(const Options *o, const char *name, size_t n); /* whether a built-in metric or a
                                                                    metric of --metric has this name */
void metric_choices(const Options *o, Arena *a, Texts *words); /* adds the names of all metrics that metric_known accepts */
/* Computes all built-in metrics of an output over `runs` runs. got: values of the output; want: reference values; d: results
 * of tensor_compare. In these three arrays, run r has the element r * stride. */
void metrics_measure(const Tensor *got, const Tensor *want, size_t runs, size_t stride, const Diff *d, double out[METRIC_COUNT]);
/* Calls the command of `metric`, a text NAME=COMMAND of --metric, with the values of the output named `output` in all runs.
 * Returns the number that the command prints. */
double metric_command(Ctx *c, const Options *o, const char *scratch, const char *metric, const char *output, const Tensor *got,
                      const Tensor *want, size_t runs, size_t stride);

/* ---- checks.c ---- */
typedef struct Finding { const char *name, *text; bool passed; } Finding; /* the result of one check */
typedef struct Checks { VEC(Finding) list; int failed; } Checks; /* failed: number of checks that did not pass */
void checks_add(Ctx *c, Checks *k, bool passed, const char *name, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void checks_print(Ctx *c, const Options *o, const Checks *k, size_t from); /* prints the checks from number `from` on */
json_t *checks_json(const Checks *k);                     /* the caller releases it */
/* Writes the files of --junit and --markdown. seconds: how long the checks took */
void checks_write(Ctx *c, const Options *o, const Checks *k, double seconds);
void checks_free(Checks *k);
/* Appends the text to s, with XML entities for & < > " '. Control characters, and bytes that are no UTF-8, become '?'. */
void xml_text(Sb *s, const char *text);

/* ---- dot.c: a plan as text for Graphviz ---- */
/* A node of the model reads a value that another node computes. to: the node that reads; from: the node that computes. Both are
 * indices into IR.origins, the list of the model's nodes. */
typedef struct NodeEdge { uint32_t from, to; } NodeEdge;
typedef VEC(NodeEdge) NodeEdges;
void node_edges(const Graph *g, NodeEdges *out);          /* appends all edges of g; to be called before passes change g */
/* Appends the drawing to out. ms: the time of each kernel in ms, or NULL. nodes: whether to draw the model's nodes, too */
void dot_print(const Plan *p, const NodeEdges *edges, const double *ms, bool nodes, Sb *out);

/* ---- plots.c: drawings as SVG, appended to s ---- */
void plot_roofline(Ctx *c, const Timing *t, Sb *s);       /* a roofline with a point for each kernel */
void plot_memory(Ctx *c, const Plan *p, Sb *s);           /* the places of buffers in the arena, kernel by kernel */

/* ---- callgraph.c: the calls between functions and their bytes of stack, as gcc writes them ---- */
/* bytes: size of the function's own frame; -1: not known. aligned: the part of `bytes` that aligns the frame. deepest: the
 * most bytes of all frames on a path of calls that begins with this function. next: index of the next function on that path; -1:
 * none. assumed: bytes that audit assumes for a function of another file. unbounded: the frame has no bound. reached: a run
 * may reach the function. state: for callgraph.c; 0 not visited, 1 on the current path, 2 done */
typedef struct Function {
  const char *name;
  int64_t bytes, deepest, assumed, aligned;
  bool unbounded, reached;
  int state, next;
} Function;
typedef struct FunctionCall { size_t from, to; } FunctionCall; /* indices of functions */
/* recursive: callgraph_bound met a recursion. unbounded: callgraph_bound met a frame without a bound. follow: the argument of
 * callgraph_bound */
typedef struct CallGraph { VEC(Function) functions; VEC(FunctionCall) calls; bool recursive, unbounded, follow; } CallGraph;
void callgraph_read(Ctx *c, CallGraph *g, const char *path); /* adds functions and calls from a file of gcc (audited_object) */
/* Reads a file of x86-64 assembly. If a function aligns its frame, adds to Function.bytes the most bytes that the alignment may
 * take. */
void callgraph_read_code(Ctx *c, CallGraph *g, const char *path);
/* Returns the most bytes of stack that a path of calls from the function `entry` needs. Returns -1 if gcc compiled no function
 * with this name. follow: if true, a call by pointer counts as a call of each static function that is not called by name. If
 * false, a call by pointer calls nothing. */
int64_t callgraph_bound(CallGraph *g, const char *entry, bool follow);
bool is_indirect(const Function *f);                      /* whether f is gcc's stand-in for calls by pointer */
void callgraph_free(CallGraph *g);

/* ---- limits.c: --limit and --baseline ---- */
enum { LIMIT_LATENCY, LIMIT_ARENA, LIMIT_WEIGHTS, LIMIT_CODE, LIMIT_KERNELS, LIMIT_COUNT };
/* Values of the quantities LIMIT_...: latency in ms; arena, weights and code in bytes; number of kernels. known: whether there is
 * a value. note: a text that says how the latency was measured */
typedef struct Measures { double value[LIMIT_COUNT]; bool known[LIMIT_COUNT]; const char *note; } Measures;
/* Parses a text such as "latency=5ms,arena=1MB" into `limits`. tolerance: the values in the text are percents, as in "code=5".
 * Returns NULL, or a message if the text is wrong. */
const char *limits_parse(Arena *a, const char *text, bool tolerance, Measures *limits);
/* Reads the limits from --limit. Reads the old values, and the name of the machine, from the report of --baseline. *machine is
 * NULL if the report does not name the machine. Returns false if neither option is given. */
bool limits_read(Ctx *c, const Options *o, Measures *limits, Measures *old, const char **machine);
/* Returns whether m->value[quantity] is at most the limit, and at most the old value plus the tolerance. A limit or an old value
 * that is not known is ignored. */
bool limits_hold(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, int quantity);
/* Adds a check to k for each limit, and for each old value whose quantity is known in m. Fails if m lacks the quantity of a
 * limit. */
void limits_check(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, Checks *k);

/* ---- compare.c ---- */
/* For a model that computes wrong outputs from the inputs `in`: finds nodes that may be the cause. Adds these nodes to the
 * report, the likeliest first. Without --json, also prints these nodes. */
void find_suspects(Ctx *c, const Options *o, Graph *g, const Target *t, const char *scratch, const Tensor *in, json_t *report);
#endif

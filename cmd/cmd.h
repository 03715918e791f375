/* cmd.h: the tgc program. options.h holds every option and verb as a row; options.c reads the
 * command line by them and prints the help and the man page; one file per verb does the rest. */
#ifndef TGC_CMD_H
#define TGC_CMD_H
#include "../frontends/frontends.h"
#include "../compiler/bundle/bundle.h"
#include "../compiler/driver.h"
#include "../compiler/interp/interp.h"

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

typedef VEC(const char *) Texts;
typedef struct Options {       /* zero, false and NULL: not given */
  Verb verb;
  const char *model;           /* the model or bundle */
  const char *out;
  const char *isa, *name, *embed, *data, *format;
  Texts inputs, dims;
  const char *dump, *stop_after;
  int64_t seed, max_nodes, max_nesting, max_decoded, max_fold, max_fold_steps;
  double rtol, atol;           /* negative: not given */
  bool self_test, hardlinks, json, explain, quiet, verbose, help, man, version;
} Options;

/* Fills in o. Returns -1 to go on, or the exit code when all is said (help, a wrong option). */
int options_parse(Options *o, int argc, char **argv);
void options_free(Options *o);
extern const char *const verb_name[VERB_COUNT];

/* ---- one function per verb: an exit code, or fail() ---- */
int verb_compile(Ctx *c, const Options *o);
int verb_run(Ctx *c, const Options *o);
int verb_verify(Ctx *c, const Options *o);
int verb_inspect(Ctx *c, const Options *o);
int verb_check(Ctx *c, const Options *o);
int verb_ops(Ctx *c, const Options *o);

/* ---- model.c: from the command line to a plan ---- */
typedef struct Feed Feed;
const Target *target_of(Ctx *c, const Options *o, const char *otherwise);
Graph *load_graph(Ctx *c, const Options *o, const Feed *feed); /* feed: its shapes fix dynamic dimensions; may be NULL */
void progress_show(const Options *o, const char *stage, int64_t seconds); /* on a terminal only; stage NULL: clears */
Plan *plan_of(const Options *o, Graph *g, const Target *t, Sb *stopped); /* NULL: --stop-after, its text is in *stopped */
json_t *json_report(const char *verb, const char *model); /* an object with what every report has */
void json_print(json_t *j);                               /* to stdout; takes the reference */
const char *type_text(Ctx *c, DType d, int rank, const int64_t *dims); /* "f32[1,3,224,224]" */
const char *bytes_text(Ctx *c, int64_t bytes);            /* "12.3 MB" */
void print_name(const char *s);                           /* to stdout; names may hold anything */
void interpret(Ctx *c, const Graph *g, const Tensor *in, Tensor *out); /* verify.c: outputs as exact as they get */

/* ---- inspect.c ---- */
json_t *graph_json(const Graph *g);
void print_interface(Ctx *c, const Graph *g);
void print_kernels(const Plan *p);                        /* --explain */

/* ---- data.c: tensors from and to files; all of it lives in c->model ---- */
typedef struct NamedTensor {
  const char *name;            /* of the input or output it is for; NULL: not known */
  int number;                  /* place among them, when the name does not decide; -1: not known */
  const char *file;            /* for messages */
  Tensor t;
  bool raw;                    /* bytes whose type and shape are the model's to say */
} NamedTensor;
struct Feed { VEC(NamedTensor) inputs, outputs; };
void feed_read(Ctx *c, const Options *o, Feed *f);        /* --input and --data */
void feed_free(Feed *f);
/* One tensor for each of the n declared; those the feed lacks come from the seed. Returns how many those are. */
int feed_inputs(Ctx *c, const Feed *f, const GIO *want, int n, int64_t seed, Tensor *out);
/* the expected outputs, in order; false: the data has none */
bool feed_outputs(Ctx *c, const Feed *f, const GIO *want, int n, Tensor *out);
void seeded_data(DType d, void *p, int64_t n, uint64_t seed); /* the same numbers as the bundle's main.c */
void tensor_save(Ctx *c, const char *path, const char *format, const char *name, const Tensor *t);
double tensor_at(const Tensor *t, int64_t i);
void tensor_summary(Ctx *c, const char *name, const Tensor *t); /* on stdout */
json_t *tensor_json(const char *name, const Tensor *t);

/* ---- npy.c: NumPy's files ---- */
Tensor npy_parse(Ctx *c, const char *what, Bytes b);
void npy_write(const Tensor *t, Sb *out);
void npz_parse(Ctx *c, const char *path, Bytes b, void (*each)(Ctx *c, void *arg, const char *name, Tensor t), void *arg);

/* ---- build.c: bundles built and run on this machine ---- */
char *scratch_new(Ctx *c);                                /* a private folder in c->model; fails with EX_NOWRITE */
void scratch_remove(const char *dir);
typedef struct Interface {                                /* what a caller of a built bundle must know */
  const char *name;
  VEC(GIO) inputs, outputs;                               /* ref is 0 */
  int64_t arena_bytes, weight_bytes;
  bool embedded;
  const char *cflags;
  Texts sources;                                          /* for the C compiler, without tgcrt.c */
} Interface;
Interface interface_read(Ctx *c, const char *dir);        /* from manifest.json; fails with EX_NOINPUT_ or EX_BADMODEL */
void interface_free(Interface *f);
bool is_bundle(const char *path);
/* Compiles the bundle in dir to a shared object in scratch and runs it once in a process of its own. out[i] get data in
 * c->model. Returns the runtime's status; fails when the compiler fails or the process dies. */
int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const Tensor *in,
                   Tensor *out);
/* plan → bundle in a folder of scratch → outputs */
int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, const Tensor *in, Tensor *out);

/* ---- compare.c ---- */
typedef struct Diff {
  int64_t bad;                 /* elements outside atol + rtol * |expected| */
  int64_t worst;               /* the element that is furthest out */
  double max_ulp;              /* of the element type; integers: difference */
  double max_rel, max_abs;
} Diff;
Diff tensor_compare(const Tensor *got, const Tensor *want, double rtol, double atol);
/* How far reference data is off the exact result: largest absolute error, or infinity when that is more than the
 * rounding of a deep network explains (f32: 5e-5 of the largest element). */
double reference_error(const Tensor *want, const Tensor *exact);
/* which node goes wrong first: prints suspects, best first */
void find_suspects(Ctx *c, const Options *o, Graph *g, const Target *t, const char *scratch, const Tensor *in, json_t *report);
#endif

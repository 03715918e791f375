/* bundle.h: from a plan to the files a user gets. Texts come from the templates in runtime_stub,
 * which are embedded in the program. docs/bundle.md describes the result. */
#ifndef TGC_BUNDLE_H
#define TGC_BUNDLE_H
#include "../cost/tunable.h"
#include "../../runtime_stub/tgcrt_device.h"
#include "../schedule/schedule.h"
#include "../target/launch.h"
#include <jansson.h>

enum { BUNDLE_FORMAT = 1, BUNDLE_ABI_MAJOR = 1, BUNDLE_ABI_MINOR = 3, BUNDLE_ALIGN = 64 }; /* ABI and ALIGN: as tgcrt.h */

typedef enum {
  WEIGHTS_FILE,            /* NAME_weights.bin, mapped or handed over by the caller */
  WEIGHTS_INCBIN,          /* in the program, by an assembler file */
  WEIGHTS_ARRAY,           /* in the program, as a C array */
  WEIGHTS_OBJECT           /* in the object that tgc makes */
} WeightsMode;

typedef struct OutputError { double max, rms, largest; } OutputError; /* against a reference: absolute; and its largest value */

typedef struct BundleOptions {
  const Backend *backend;
  const char *name;        /* prefix of files and symbols, bundle_name_ok */
  WeightsMode weights;
  Emit emit;               /* what of the code */
  Bytes (*link)(Ctx *c, void *arg, Bytes object); /* EMIT_SO: a shared library of an object */
  void *link_arg;
  const char *archs;       /* architectures to compile for, as --arch lists them; NULL: the machine's own */
  Compiling compiler;      /* for images, where the backend has no library for it; .run NULL: there is none */
  bool no_cpu_check;       /* net_init trusts that the CPU has what the code uses */
  bool keep_denormals;     /* leave the caller's floating-point mode; else denormals are flushed to zero */
  const Tensor *test_in, *test_out; /* --self-test: one for each input and output; NULL: none */
  const OutputError *errors; /* by output; NULL: not measured */
} BundleOptions;

typedef struct BundleFile {
  const char *name;        /* a plain file name */
  const void *p;           /* lives as long as the plan */
  size_t n;
  const char *sha256;      /* as text; NULL: not computed yet */
} BundleFile;
typedef struct Bundle { VEC(BundleFile) files; } Bundle;

/* ---- identifiers.c ---- */
bool bundle_name_ok(const char *s);            /* a C identifier of at most 40 letters, digits and _ that is no keyword */
/* A field name for each of the n values, made of letters, digits and _ only: the model's own name
 * where that is a unique, harmless identifier, else kind_J. Lives in c->model. */
const char **bundle_fields(Ctx *c, const GIO *v, int n, const char *kind);
const char *text_words(Ctx *c, const char *s); /* s with everything but [A-Za-z0-9_] made blanks: for comments */
/* file and prefix of symbols of one machine's kernels: "net_x86_64_v4" */
const char *bundle_variant(const Plan *v, const char *net);

/* ---- template.c ---- */
typedef struct Word { const char *name, *text; } Word; /* tables end with a name of NULL */
static inline const char *word_if(bool is) { return is ? "yes" : ""; } /* of a word that only conditions ask for */
/* Words that are made where a template mentions them, each time. A template thus decides what is computed for it. */
typedef struct Rendering Rendering;
typedef struct MadeWord { const char *name; const char *(*make)(const Rendering *r); } MadeWord;
typedef struct WordSet {
  const Word *fixed;
  const MadeWord *made;    /* NULL: there are none */
  const Rendering *from;
} WordSet;
void template_fill(const char *name, const WordSet *words, Sb *out);
void template_expand(const char *name, const Word *words, Sb *out); /* words that are known beforehand */

/* ---- reroll.c ---- */
/* Calls that repeat: call j of iteration i, both from 0 on, runs kernel first + i * period + j. */
typedef struct Repeat { size_t first, period, times; } Repeat;
typedef VEC(Repeat) Repeats;
typedef struct CallPlace { int64_t slot, at; } CallPlace; /* of a buffer: the number of an input, output or state; bytes */
typedef struct CallMoves {
  CallPlace by;                /* from one iteration to the next */
  bool table, leaps;       /* bytes, the number: not by as much each time */
} CallMoves;
Repeats reroll_calls(const Plan *p);           /* to be freed */
const Repeat *repeat_of(const Repeats *s, size_t kernel); /* NULL: it is called once */
bool starts_iteration(const Repeat *s, size_t kernel); /* it is a call of the first iteration, or of no repeat */
CallPlace call_place(const Plan *p, size_t kernel, size_t buffer);
/* of a kernel of the first iteration; s NULL: none */
CallMoves call_moves(const Plan *p, const Repeat *s, size_t kernel, size_t buffer);
bool call_table_wide(const Plan *p, const Repeat *s, size_t kernel, size_t buffer); /* its bytes need 64 bits */

/* ---- places.c ---- */
void check_places(const Plan *p, const Repeats *repeats, int64_t weight_bytes); /* what calls point to holds their buffers */

/* ---- kernels.c; texts live in the model's arena ---- */
typedef struct KernelOrigins { const uint32_t *origin; int n; } KernelOrigins; /* indices into ir->origins, ascending */
KernelOrigins *kernel_origins(const Plan *p);  /* what each kernel came from; lives in the model's arena */
const char *kernels_text(const Plan *p, const Repeats *repeats); /* all of them */
/* a list of the parts into which an executor may divide each; 0: it is not here */
const char *chunks_text(const Plan *p, const char *type);
const char *groups_text(const Plan *p, const char *type); /* a list of how many run together from each on */
typedef struct JobForm {
  const char *net, **in, **out; /* the bundle's name; names of fields */
  bool fat;
  const char *linkage, *name;
} JobForm;
/* the function that calls kernels by their number */
const char *job_text(const Plan *p, const Repeats *repeats, const JobForm *f);

/* ---- code.c ---- */
const CodeForm *code_form(const BundleOptions *o); /* a row of the backend's */
const char *code_named(Ctx *c, const char *pattern, const char *name); /* with the name for each % */
ImageOrder code_order(const Plan *p, const BundleOptions *o, Bytes text);
const char *code_file(Ctx *c, const BundleOptions *o); /* that holds the kernels: "net.c" */
/* the model's text, or what its backend and the linker make of it */
Bytes code_make(const Plan *p, const BundleOptions *o, const WordSet *words);

/* ---- device_tables.c: what the host does for a bundle of a device ---- */
typedef struct DeviceTables { /* rows of tgcrt_device.h */
  VEC(tgcrt_launch) launches;
  VEC(tgcrt_place) places;
  VEC(const char *) functions; /* in the model's arena */
  uint32_t needs;          /* TGCRT_NEEDS_ */
  int64_t block, shared_bytes; /* threads of a block, its memory: at most */
  int64_t bytes;           /* of the device's memory that a context takes: values, weights, inputs, outputs */
} DeviceTables;
const char *device_function(Ctx *c, int code, size_t launch); /* the name of a launch's function */
DeviceTables device_tables(const Plan *p);
void device_tables_free(DeviceTables *t);
void note_needs(const Plan *p, const Launch *l, DeviceTables *t); /* adds what a launch needs of the device */
const char *device_launches(Ctx *c, const DeviceTables *t); /* as rows of C; texts live in the model's arena */
const char *device_places(Ctx *c, const DeviceTables *t);
const char *device_functions(Ctx *c, const DeviceTables *t);
const char *device_needs(Ctx *c, const DeviceTables *t);    /* an expression of C */
const char *device_options(const Plan *p, bool keep_denormals); /* of the driver's compiler */
const char *device_pragmas(const Plan *p, uint32_t needs); /* what stands before the kernels */
const char *string_literals(Ctx *c, const char *text); /* a literal for each line of the text, with a comma behind */

/* ---- render.c ---- */
struct Rendering {         /* what the texts of a bundle are made from */
  const Plan *p, *base;    /* base: whose kernels are in the model's own file */
  const BundleOptions *o;
  const char *NET;         /* the bundle's name in capitals */
  const char *interface;   /* digest */
  const char *weights_sha256;
  const char **in, **out;  /* names of fields */
  int64_t arena;           /* memory of a context on the host, in bytes */
  Repeats repeats;       /* calls of base that repeat */
  bool groups;             /* some kernels run chunk by chunk together */
  DeviceTables device;     /* of a device's bundle */
  Images images;           /* the code, compiled for a device */
  Bytes code;              /* the file of code, for words of the files behind it */
};
void bundle_manifest(const Rendering *r, Bundle *b); /* manifest.c: adds manifest.json */
void bundle_render(const Plan *p, const BundleOptions *o, Bundle *b); /* all files, manifest.json last */
void bundle_free(Bundle *b);

/* ---- module.c: words in LLVM IR, for net.ll.in and what goes with it ---- */
const char *module_size(const Plan *p);        /* the type of sizes */
/* What puts a function or a constant into a section of its own, which linkers leave out where nothing refers to it; "" where
 * the kind of object has none of that name. begins: ".text" or ".rodata" */
const char *module_section(const Plan *p, const char *begins, const char *name);
const char *module_states(const Plan *p, const char *size); /* rows of tgcrt_state */
const char *module_nulls(const Rendering *r);  /* %null: a pointer that must be there is not */
const char *module_tables(const Rendering *r); /* of places in iterations */
const char *module_iterations(const Rendering *r); /* %call and %i, what %kernel is */
const char *module_calls(const Rendering *r);  /* a block for each call */
const char *module_cases(const Rendering *r);
const char *module_check_weights(const Rendering *r); /* a function, with what it needs */
const char *module_float_enter(const Rendering *r); /* the floating-point mode of a run */
const char *module_float_leave(const Rendering *r);
const char *module_messages(const Rendering *r);

/* ---- archive.c ---- */
void archive_put(Sb *out, const char *member, const char *const *symbols, int n, Bytes object); /* member ends in '/' */

/* ---- values.c: inputs, outputs and states as data, for callers that do not read the header ---- */
/* of values.ENDING.in, for each kind that there is */
const char *values_text(const Plan *p, const char *net, const char *ending);

/* ---- manifest.c ---- */
json_t *json_text(const char *s);              /* bytes that are not UTF-8 are escaped */
json_t *json_dims(int rank, const int64_t *dims);
json_t *json_kernels(const Plan *p);           /* also what reports say of them */

/* ---- write.c: all fail with EX_NOWRITE ---- */
void bundle_put(Ctx *c, const Bundle *b, const char *dir);   /* into an existing folder, as it comes */
void bundle_write(Ctx *c, const Bundle *b, const char *dir); /* atomically: dir is the old bundle or the new one */
#endif

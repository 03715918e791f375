/* SPDX-License-Identifier: MIT */
/* bundle.h: writes the files of a bundle from a plan. Texts come from the templates in runtime_stub, which are embedded in the
 * program. docs/bundle.md describes the result. */
#ifndef TGC_BUNDLE_H
#define TGC_BUNDLE_H
#include "../cost/tunable.h"
#include "../../runtime_stub/tgcrt_device.h"
#include "../schedule/schedule.h"
#include "../target/launch.h"
#include <jansson.h>

/* ABI: version of tgcrt.h that a bundle needs; ABI_SIZES: the minor version for a bundle with a range of sizes.
 * ALIGN (bytes): as in tgcrt.h; FORMAT: version of manifest.json */
enum { BUNDLE_FORMAT = 1, BUNDLE_ABI_MAJOR = 1, BUNDLE_ABI_MINOR = 4, BUNDLE_ABI_SIZES = 5, BUNDLE_ALIGN = 64 };

typedef enum {
  WEIGHTS_FILE,            /* NAME_weights.bin, which the caller maps or passes */
  WEIGHTS_INCBIN,          /* in the program, by an assembler file */
  WEIGHTS_ARRAY,           /* in the program, as a C array */
  WEIGHTS_OBJECT           /* in the object that tgc writes */
} WeightsMode;

typedef struct OutputError { double max, rms, largest; } OutputError; /* absolute error against a reference, and the
                                                                         reference's largest value */

/* A bundle with the files of another build system: a row of packages.h */
typedef struct Package {
  const char *word;        /* value of the option --package */
  bool bare;               /* without an operating system, whatever the target has */
  WeightsMode weights;     /* without --embed-weights */
  const char *stays;       /* templates of the backend's list that the package keeps, separated by blanks */
  const char *files[9];    /* template, name, template, name, ... */
  const char *next;        /* next command, with the folder as % */
} Package;

typedef struct BundleOptions {
  const Backend *backend;
  const char *name;        /* prefix of files and symbols; bundle_name_ok holds */
  WeightsMode weights;
  Emit emit;               /* form of the code */
  unsigned bindings;       /* a bit for each row of bindings[]: 1 adds the row's file to the bundle */
  Bytes (*link)(Ctx *c, void *arg, Bytes object); /* links an object into a library (EMIT_SO) or a module (EMIT_WASM) */
  void *link_arg;
  const char *archs;       /* architectures to compile for, as in --arch; NULL: the machine's own */
  Compiling compiler;      /* runs a compiler that makes images (files of compiled device kernels) where the backend's compiler
                              library is missing; .run NULL: there is no such compiler */
  const Package *package;  /* NULL: the bundle's own build files */
  bool stepped;            /* with NAME_run_step, which runs a part of a run; for C */
  bool no_cpu_check;       /* net_init does not check the CPU features that the code uses */
  bool keep_denormals;     /* keep the caller's floating-point mode; else denormals are flushed to zero */
  const Tensor *test_in, *test_out; /* for --self-test: an entry per input and output; NULL: none */
  const Tensor *test_room;          /* by output: the error that each element may have, as f32 */
  const OutputError *errors; /* by output; NULL: not measured */
  const Setting *changes;  /* options that changed the model's inputs and outputs, for the manifest */
  int nchanges;
} BundleOptions;

typedef struct BundleFile {
  const char *name;        /* a file name; in a package it may have folders */
  const void *p;           /* valid as long as the plan */
  size_t n;
  const char *sha256;      /* digest as text; NULL: not computed yet */
} BundleFile;
typedef struct Bundle { VEC(BundleFile) files; } Bundle;

/* ---- identifiers.c ---- */
bool bundle_name_ok(const char *s);            /* a C identifier of at most 40 characters, no keyword */
/* A field name for each of the n values: the model's name if that is a unique, harmless C identifier, else kind_J. Lives in
 * c->model. */
const char **bundle_fields(Ctx *c, const GIO *v, int n, const char *kind);
const char *text_words(Ctx *c, const char *s); /* s with all but [A-Za-z0-9_] replaced by blanks, for comments */
/* file name and symbol prefix of a variant's kernels: "net_x86_64_v4" */
const char *bundle_variant(const Plan *v, const char *net);

/* ---- template.c ---- */
/* A word: a template has @name@, which becomes the text, or @if name, which is true if the text is not empty. A name of NULL ends
 * a table of words. */
typedef struct Word { const char *name, *text; } Word;
static inline const char *word_if(bool is) { return is ? "yes" : ""; } /* text of a word that stands only in @if */
/* A word that is computed each time a template mentions it, and otherwise not at all. */
typedef struct Rendering Rendering;
typedef struct MadeWord { const char *name; const char *(*make)(const Rendering *r); } MadeWord;
typedef struct WordSet WordSet;
struct WordSet {
  const Word *fixed;
  const MadeWord *made;    /* NULL: none */
  const Rendering *from;
  /* Returns the words of row i of the list that a line "@each LIST" names; NULL: the list has no such row. The pointer `row` itself
   * is NULL if there are no lists. */
  const Word *(*row)(const Rendering *r, const char *list, size_t n, size_t i);
  const WordSet *outer;    /* where other words are looked up; NULL: nowhere */
};
void template_fill(const char *name, const WordSet *words, Sb *out);
void template_expand(const char *name, const Word *words, Sb *out); /* for fixed words */

/* ---- reroll.c ---- */
/* Calls that repeat. Call j of iteration i, both from 0, runs kernel first + i * period + j. */
typedef struct Repeat { size_t first, period, times; } Repeat;
typedef VEC(Repeat) Repeats;
typedef struct CallPlace { int64_t slot, at; } CallPlace; /* place of a buffer: number of its input, output or state, and byte
                                                             offset */
typedef struct CallMoves {
  CallPlace by;                /* increments from one iteration to the next */
  bool turns;              /* the place alternates: in odd iterations it is the first one plus by.at, in even ones the first */
  bool table, leaps;       /* table: byte offsets are not equidistant; leaps: slots are not */
} CallMoves;
Repeats reroll_calls(const Plan *p);           /* the caller frees it */
const Repeat *repeat_of(const Repeats *s, size_t kernel); /* NULL: the kernel is called once */
bool in_first_iteration(const Repeat *s, size_t kernel); /* the kernel runs in the first iteration, or outside of all repeats */
CallPlace call_place(const Plan *p, size_t kernel, size_t buffer);
/* for a kernel of the first iteration; s NULL: no repeat */
CallMoves call_moves(const Plan *p, const Repeat *s, size_t kernel, size_t buffer);
bool call_table_wide(const Plan *p, const Repeat *s, size_t kernel, size_t buffer); /* its table's byte offsets need 64 bits */

/* ---- places.c ---- */
/* checks that each call of a kernel passes memory that is large enough for the buffer */
void check_places(const Plan *p, const Repeats *repeats, int64_t weight_bytes);

/* ---- kernels.c; texts live in the model's arena ---- */
typedef struct KernelOrigins { const uint32_t *origin; int n; } KernelOrigins; /* indices into ir->origins, ascending */
KernelOrigins *kernel_origins(const Plan *p);  /* source nodes of each kernel; lives in the model's arena */
const char *kernels_text(const Plan *p, const Repeats *repeats); /* text of all kernels */
/* a list with the number of chunks of each kernel; 0: the file of a variant lacks this kernel, which the baseline's file has */
const char *chunks_text(const Plan *p, const char *type);
const char *groups_text(const Plan *p, const char *type); /* a list of Kernel.group_size, by kernel */
typedef struct JobForm {
  const char *net, **in, **out; /* name of the bundle; names of fields */
  bool fat, stepped;            /* fat: a bundle for several machines; stepped: as in BundleOptions */
  const char *linkage, *name;   /* linkage: "static " or ""; name: the function's name */
} JobForm;
const char *works_text(const Plan *p);         /* a list of each kernel's work, in the units of NAME_run_step */
int64_t work_whole(const Plan *p);             /* the sum of that list */
int64_t work_part(const Plan *p);              /* most work of a chunk */
/* the function that calls a kernel by its number */
const char *job_text(const Plan *p, const Repeats *repeats, const JobForm *f);

/* ---- kernel_names.c ---- */
/* Names of functions, by kernel; NULL for kernels that call another kernel's function. In C they have operators and layout:
 * "k3_conv_relu_hwc" */
const char **kernel_functions(const Plan *p, const KernelOrigins *from);
const Layout **kernel_layouts(const Plan *p);  /* the value that each kernel stores; NULL: none, or several */
void put_kernel_facts(const Plan *p, const Kernel *k, const Layout *l, Sb *s); /* the stored value, the work and the tile */

/* ---- packages.c ---- */
extern const Package packages[];               /* .word NULL ends it */
const Package *package_named(const char *word); /* NULL: there is none */
bool package_has(const Package *k, const FileRow *f); /* the package has this file of the backend's list */
const char *package_list(Ctx *c, const char *words); /* words as a list of strings in Meson and Bazel */

/* ---- lines.c ---- */
/* Most columns of a line of generated code. Code for devices also stands in string literals, which make its lines longer. */
enum { MOST_COLUMNS = 120, DEVICE_COLUMNS = 108 };
void break_lines(Sb *code, int most);          /* code in C or a language like it; tokens stay the same */

/* ---- code.c ---- */
const CodeForm *code_form(const BundleOptions *o); /* row of the backend's table */
const char *code_named(Ctx *c, const char *pattern, const char *name); /* pattern with each % replaced by the name */
ImageOrder code_order(const Plan *p, const BundleOptions *o, Bytes text); /* the order for Backend.images */
const char *code_file(Ctx *c, const BundleOptions *o); /* file that holds the kernels: "net.c" */
/* the code file: the text of the model, or what the backend and the linker make from it */
Bytes code_make(const Plan *p, const BundleOptions *o, const WordSet *words);

/* ---- device_tables.c: the host's work for a device bundle ---- */
typedef struct DeviceTables { /* rows as in tgcrt_device.h */
  VEC(tgcrt_launch) launches;
  VEC(tgcrt_place) places;
  VEC(const char *) functions; /* texts live in the model's arena */
  uint32_t needs;          /* TGCRT_NEEDS_ */
  int64_t block, shared_bytes; /* maxima over all launches: threads of a block, bytes of its shared memory */
  int64_t bytes;           /* device memory of a context: values, weights, inputs, outputs */
} DeviceTables;
/* The name of a launch's function; exchange: threads of a warp that exchange values, 0: none do */
const char *device_function(Ctx *c, int code, size_t launch, int exchange);
DeviceTables device_tables(const Plan *p);
void device_tables_free(DeviceTables *t);
void note_needs(const Plan *p, const Launch *l, DeviceTables *t); /* adds the needs of a launch to t */
const char *device_launches(Ctx *c, const DeviceTables *t); /* rows in C; texts live in the model's arena */
const char *device_places(Ctx *c, const DeviceTables *t);
const char *device_functions(Ctx *c, const DeviceTables *t);
const char *device_needs(Ctx *c, const DeviceTables *t);    /* an expression in C */
const char *device_options(const Plan *p, bool keep_denormals); /* options for the driver's compiler */
const char *device_pragmas(const Plan *p, uint32_t needs); /* lines before the kernels */
const char *string_literals(Ctx *c, const char *text); /* a string literal per line of the text, each followed by a comma */
/* Images of a program `name`. Each is a symbol: NAME_image0 and so on. Texts live in the model's arena. image_names declares the
 * symbols in C. image_rows has rows of tgcrt_image. image_symbols defines the symbols in assembly, from the images' files. */
const char *image_names(Ctx *c, const Images *images, const char *name);
const char *image_rows(Ctx *c, const Images *images, const char *name);
const char *image_symbols(Ctx *c, const Images *images, const char *name);

/* ---- render.c ---- */
struct Rendering {         /* data from which the texts of a bundle are made */
  const Plan *p, *base;    /* base: the plan whose kernels are in the model's own file */
  const BundleOptions *o;
  const char *NET;         /* the bundle's name in capitals */
  const char *interface;   /* digest of the interface */
  const char *weights_sha256;
  const char **in, **out, **state; /* names of fields */
  int64_t arena;           /* host memory of a context, in bytes */
  Repeats repeats;       /* repeated calls of base */
  Jumps jumps;             /* jumps of the plan p */
  bool groups;             /* some kernels run in groups */
  DeviceTables device;     /* for a device bundle */
  Images images;           /* the code, compiled for a device */
  Bytes code;              /* the code file, for words of later files */
};
void bundle_sbom(const Rendering *r, Bundle *b); /* sbom.c: adds sbom.cdx.json */
void bundle_manifest(const Rendering *r, Bundle *b); /* manifest.c: adds manifest.json */
const char *model_digest(const Rendering *r);  /* manifest.c: "SHA-256 ..., N bytes" for each source file */
const char *options_line(const Rendering *r);  /* manifest.c: the manifest's options, for a comment */
void bundle_render(const Plan *p, const BundleOptions *o, Bundle *b); /* all files, manifest.json last */
void bundle_free(Bundle *b);

/* ---- module.c: words in LLVM IR for net.ll.in and its parts ---- */
const char *module_size(const Plan *p);        /* LLVM type of a size_t */
const char *module_count(const Plan *p);       /* LLVM type of a chunk's number in kernels */
/* Attribute that puts a function or constant into a section of its own, which linkers drop when nothing refers to it. "" if the
 * object format has no such sections. begins: ".text" or ".rodata" */
const char *module_section(const Plan *p, const char *begins, const char *name);
const char *module_states(const Plan *p, const char *size); /* rows of tgcrt_state */
const char *module_nulls(const Rendering *r);  /* defines %null, which is true if a required pointer is NULL */
const char *module_tables(const Rendering *r); /* tables of places, by iteration */
const char *module_iterations(const Rendering *r); /* computes %call and %i from %kernel */
const char *module_calls(const Rendering *r);  /* a block of LLVM IR per call: case0, case1, ... */
const char *module_cases(const Rendering *r);  /* rows of the switch that jumps to these blocks */
const char *module_check_weights(const Rendering *r); /* the function NAME_check_weights, and its constants */
const char *module_float_enter(const Rendering *r); /* switches to the floating-point mode of a run */
const char *module_float_leave(const Rendering *r);
const char *module_messages(const Rendering *r);

/* ---- archive.c ---- */
/* member: name of the archive member; it ends in '/' */
void archive_put(Sb *out, const char *member, const char *const *symbols, int n, Bytes object);

/* ---- values.c: inputs, outputs and states as data, for callers that do not read the header ---- */
/* text of values.ENDING.in, filled in for each kind of value */
const char *values_text(const Plan *p, const char *net, const char *ending);
const char *value_name(const GIO *v, const char *field); /* the model's name; if that is too long, the field's */
/* Text of a literal in C or, with hexadecimal escapes, in LLVM IR. It stays a literal, whatever the model's name contains. */
void put_literal(Sb *s, const char *name, const char *escape);

/* ---- bindings.c: the interface in other languages than C ---- */
typedef struct Binding {
  const char *word;        /* value of --bindings; NULL ends a list */
  const char *template, *file; /* % is the bundle's name */
  const char *const *taken;/* names that a bundle with this binding must not have; NULL ends the list */
  const char *gloss;       /* "C++17" */
} Binding;
extern const Binding bindings[];
/* The bindings of a list such as "cpp,python", as bits by their row. false: *wrong is a word of the list that names none */
bool bindings_parse(const char *list, unsigned *bits, const char **wrong, int *n);
bool binding_named(unsigned bits, const char *word);   /* whether the bits contain this binding */
/* The first binding with which a bundle cannot have this name; NULL: none */
const Binding *binding_refuses(unsigned bits, const char *name);
/* Words of value i of the list "input", "output" or "state", for templates. NULL: there is no such value. */
const Word *value_row(const Rendering *r, const char *list, size_t n, size_t i);

/* ---- size_texts.c: words of templates for ranges of sizes ---- */
const char *size_names(const Rendering *r);   /* fields, between commas */
const char *size_strings(const Rendering *r); /* as strings */
const char *size_members(const Rendering *r); /* as members of *s */
const char *size_sets(const Rendering *r);    /* sets these members */
const char *size_macros(const Rendering *r);
const char *size_bounds(const Rendering *r); /* rows of the least and greatest size, and the step */
const char *size_rows(const Rendering *r);   /* rows of tgcrt_size */
const char *size_table(const Rendering *r);  /* their number */
const char *size_count(const Rendering *r);  /* number of symbols */
int size_extents(const Rendering *r); /* number of extents that follow from sizes */
const char *size_extent_rows(const Rendering *r); /* rows of tgcrt_extent */
const char *size_axes(const Rendering *r);   /* columns of the rows below */
const char *size_inputs(const Rendering *r);
const char *size_outputs(const Rendering *r);
void size_slot(Sb *s, const IR *ir, const GIO *v); /* further columns of a row of check.c.in */

/* ---- value_texts.c: inputs and outputs as C ---- */
char *text_upper(Ctx *c, const char *text);    /* in capitals */
void text_dims(Sb *s, const GIO *v, const Symbols *symbols); /* "f32[4,8]" */
/* contents of its bytes, behind a comma, if the type does not say them */
const char *text_holds(Ctx *c, const GIO *v);
/* the fields of a structure of pointers, one for each value */
const char *text_fields(Ctx *c, const GIO *v, int n, const char **name, bool is_const, const Symbols *symbols);
void text_shapes(Sb *s, const char *NAME, const char *kind, const GIO *v, int n); /* macros with the values' shapes */
const char *text_null_checks(Ctx *c, const Graph *g, const char **in, const char **out);
/* Statements that set the fields of two structures from two arrays of pointers. name: names of the structure and the array of
 * inputs, then those of outputs */
const char *text_assign(Ctx *c, const Graph *g, const char **in, const char **out, const char *const name[4]);

/* ---- entry_functions.c: functions that run one entry ---- */
/* Words of row i of a list of a template: "entry", or those of value_row. NULL: there is no such row. */
const Word *bundle_row(const Rendering *r, const char *list, size_t n, size_t i);
const char *entries_promise(const Rendering *r); /* the part of the interface that is about entries; "" without entries */
void entry_kernels(const Plan *p, size_t entry, size_t *first, size_t *end); /* the entry has kernels *first to *end - 1 */

/* ---- manifest.c ---- */
json_t *json_text(const char *s);              /* escapes bytes that are not UTF-8 */
json_t *json_dims(int rank, const int64_t *dims);
json_t *json_kernels(const Plan *p);           /* also used by reports */

/* ---- write.c: all fail with EX_NOWRITE ---- */
/* writes into an existing folder, file by file; durable: fsynced */
void bundle_put(Ctx *c, const Bundle *b, const char *dir, bool durable);
void bundle_write(Ctx *c, const Bundle *b, const char *dir); /* atomically: dir holds the old bundle or the new one */
#endif

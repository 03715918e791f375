/* SPDX-License-Identifier: MIT */
/* bundle.h: writes the files of a bundle from a plan. Texts come from the templates in runtime_stub, which are embedded in tgc.
 * docs/bundle.md describes the result. Returned texts live in the model's arena (Ctx.model), unless a comment says otherwise. */
#ifndef TGC_BUNDLE_H
#define TGC_BUNDLE_H
#include "../cost/tunable.h"
#include "../../runtime_stub/tgcrt_device.h"
#include "../schedule/schedule.h"
#include "../target/launch.h"
#include <jansson.h>

/* FORMAT: version of manifest.json. ABI_MAJOR, ABI_MINOR: version of tgcrt.h that a bundle needs. ABI_SIZES: the minor version
 * that a bundle with a range of sizes (--dim NAME=LOW:HIGH) needs. ALIGN: TGCRT_ALIGN of tgcrt.h, in bytes */
enum { BUNDLE_FORMAT = 1, BUNDLE_ABI_MAJOR = 1, BUNDLE_ABI_MINOR = 4, BUNDLE_ABI_SIZES = 5, BUNDLE_ALIGN = 64 };

typedef enum {
  WEIGHTS_FILE,            /* NAME_weights.bin, which the caller maps or passes */
  WEIGHTS_INCBIN,          /* in the user's program, by an assembler file */
  WEIGHTS_ARRAY,           /* in the user's program, as a C array */
  WEIGHTS_OBJECT           /* in the object that tgc writes */
} WeightsMode;

/* max, rms: greatest and root-mean-square absolute error of an output against its reference. largest: greatest magnitude in the
 * reference */
typedef struct OutputError { double max, rms, largest; } OutputError;

/* A bundle with the files of another build system; packages.h has a row for each */
typedef struct Package {
  const char *word;        /* value of the option --package */
  bool bare;               /* its programs run without an operating system, even if the target has one */
  WeightsMode weights;     /* form of the weights without --embed-weights */
  const char *stays;       /* files of Backend.files that the package keeps, by template or by name, separated by blanks */
  const char *files[9];    /* further files: a template, the file's name, the next template, its name, ...; NULL ends the list */
  const char *next;        /* the user's next command, or what to do next; % stands for the bundle's folder */
} Package;

typedef struct BundleOptions {
  const Backend *backend;
  const char *name;        /* the bundle's name, a prefix of its files and symbols; bundle_name_ok accepts it */
  WeightsMode weights;
  Emit emit;               /* form of the code */
  unsigned bindings;       /* a bit for each row of bindings[]: 1 adds the row's file to the bundle */
  Bytes (*link)(Ctx *c, void *arg, Bytes object); /* links an object into a library (EMIT_SO) or a module (EMIT_WASM) */
  void *link_arg;
  const char *archs;       /* architectures to compile for, as in --arch; NULL: the machine's own */
  Compiling compiler;      /* runs a compiler that makes images (files of compiled device kernels) where the backend's compiler
                              library is missing; .run NULL: there is no such compiler */
  const Package *package;  /* NULL: the bundle's own build files */
  bool stepped;            /* the bundle has NAME_run_step, which does a part of a run */
  bool no_cpu_check;       /* NAME_init does not check that the CPU has the features that the code uses */
  bool keep_denormals;     /* a run keeps the caller's floating-point mode; else it flushes denormals to zero */
  const Tensor *test_in, *test_out; /* for --self-test: an entry per input and output; NULL: none */
  const Tensor *test_room;          /* by output: a tensor of f32, the greatest error that each element may have */
  const OutputError *errors; /* by output: measured errors, for the manifest; NULL: not measured */
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
/* Whether s is a C identifier of at most 40 characters that begins with a letter. Keywords, common macros and "tgcrt" are
 * refused. */
bool bundle_name_ok(const char *s);
/* A field name for each of the n values: the value's name in the model, if it makes a unique, harmless C identifier. Otherwise
 * the field name is `kind` and the value's number, such as "input_0". */
const char **bundle_fields(Ctx *c, const GIO *v, int n, const char *kind);
const char *text_words(Ctx *c, const char *s); /* s for comments: characters other than [A-Za-z0-9_] become one blank */
/* The name of variant v's file, without its ending, and the prefix of the symbols in it: "net_x86_64_v4". net: the bundle's
 * name */
const char *bundle_variant(const Plan *v, const char *net);

/* ---- template.c ---- */
/* A word of templates. @name@ in a template becomes the text. The condition "@if name" holds if the text is not empty. A name of
 * NULL ends a table of words. */
typedef struct Word { const char *name, *text; } Word;
static inline const char *word_if(bool is) { return is ? "yes" : ""; } /* text of a word that templates use only in @if */
/* A word whose text is made only when a template mentions it, and each time anew. A name of NULL ends a table. */
typedef struct Rendering Rendering;
typedef struct MadeWord { const char *name; const char *(*make)(const Rendering *r); } MadeWord;
typedef struct WordSet WordSet;
struct WordSet {
  const Word *fixed;       /* words with their texts */
  const MadeWord *made;    /* NULL: none */
  const Rendering *from;   /* the argument of `make` and `row` */
  /* Returns the words of row i of a list. `list`: the list's name, of n characters, from a line "@each LIST". NULL: the list has
   * no such row. The pointer `row` itself is NULL if this set has no lists. */
  const Word *(*row)(const Rendering *r, const char *list, size_t n, size_t i);
  const WordSet *outer;    /* the set with the words that this set lacks, and with the lists if `row` is NULL; NULL: none */
};
/* Appends the template `name` of runtime_stub to out, with its words replaced */
void template_fill(const char *name, const WordSet *words, Sb *out);
void template_expand(const char *name, const Word *words, Sb *out); /* the same with a table of fixed words */

/* ---- reroll.c ---- */
/* Calls that the generated code makes in a loop: `times` iterations of `period` calls each. Call j of iteration i runs kernel
 * first + i * period + j, where i and j count from 0. */
typedef struct Repeat { size_t first, period, times; } Repeat;
typedef VEC(Repeat) Repeats;
/* The memory that a call passes for a buffer. slot: number of the input, output or state; 0 for the arena and the weights. at:
 * byte offset in this memory */
typedef struct CallPlace { int64_t slot, at; } CallPlace;
/* How a buffer's place changes from one iteration to the next */
typedef struct CallMoves {
  CallPlace by;            /* increments from iteration 0 to iteration 1 */
  bool turns;              /* the place alternates: odd iterations add by.at to the first place, even ones add nothing */
  bool table, leaps;       /* table: byte offsets are irregular, so the code has a table of them; leaps: slots are irregular */
} CallMoves;
Repeats reroll_calls(const Plan *p);           /* finds the repeated calls of a plan; the caller frees the list (VEC_FREE) */
const Repeat *repeat_of(const Repeats *s, size_t kernel); /* NULL: the kernel is called once */
bool in_first_iteration(const Repeat *s, size_t kernel); /* the kernel runs in the first iteration, or outside of all repeats */
/* Some tables have a row for each call. If the model loops, these tables have rows for the first iteration of the loop only.
 * repeats_folded: the repeats that are such loops; their `first` counts rows, not calls; the caller frees the list (VEC_FREE).
 * has_row: the tables have a row for this kernel. repeats NULL: the tables have a row for each kernel */
Repeats repeats_folded(const Plan *p, const Repeats *all);
bool has_row(const Plan *p, const Repeats *repeats, size_t kernel);
CallPlace call_place(const Plan *p, size_t kernel, size_t buffer); /* buffer: index into Kernel.bufs, here and below */
/* How the place of a buffer of a kernel changes. The kernel is in the first iteration of s. s NULL: its call does not repeat, so
 * nothing moves */
CallMoves call_moves(const Plan *p, const Repeat *s, size_t kernel, size_t buffer);
/* Whether the table of the buffer's byte offsets (CallMoves.table) needs 64 bits */
bool call_table_wide(const Plan *p, const Repeat *s, size_t kernel, size_t buffer);

/* ---- places.c ---- */
/* Fails with BUG unless the memory that each call passes is large enough for the buffer. weight_bytes: size of the weights */
void check_places(const Plan *p, const Repeats *repeats, int64_t weight_bytes);

/* ---- kernels.c: in C ---- */
/* The nodes of the user's model that a kernel computes: n indices into ir->origins, ascending */
typedef struct KernelOrigins { const uint32_t *origin; int n; } KernelOrigins;
KernelOrigins *kernel_origins(const Plan *p);  /* an element for each kernel, in the model's arena */
const char *kernels_text(const Plan *p, const Repeats *repeats); /* text of all kernels */
/* Two lists with a number for each row (has_row); `type` stands before each number. chunks_text: number of tasks for threads. A
 * task is Kernel.chunks_per_task chunks, or one chunk if chunks_per_task is 0. A number of 0 tasks: the file of a variant lacks
 * the kernel, and the baseline's file has it. groups_text: Kernel.group_size */
const char *chunks_text(const Plan *p, const Repeats *repeats, const char *type);
const char *groups_text(const Plan *p, const Repeats *repeats, const char *type);
/* C code that turns `k`, the number of a call, into the number of the call's row */
const char *rows_text(const Plan *p, const Repeats *folded);
typedef struct JobForm { /* how job_text makes its function */
  const char *net, **in, **out; /* name of the bundle; names of fields */
  bool fat, stepped;            /* fat: a bundle for several machines; stepped: as in BundleOptions */
  const char *linkage, *name;   /* linkage: "static " or ""; name: the function's name */
} JobForm;
/* Work in the units of NAME_run_step: 1000 operations or bytes moved, rounded up. works_text: a list with a number for each
 * kernel; a group's first kernel has the work of the group, the others have 0. work_whole: the sum of this list. work_part: most
 * work of one task */
const char *works_text(const Plan *p);
int64_t work_whole(const Plan *p);
int64_t work_part(const Plan *p);
/* Text of the function that runs some chunks of a kernel. An argument of this function is the kernel's number. */
const char *job_text(const Plan *p, const Repeats *repeats, const JobForm *f);

/* ---- kernel_names.c ---- */
/* Names of functions, by kernel; NULL for kernels that call another kernel's function. In C a name has the kernel's number, the
 * model's operators and the axis order in memory: "k3_conv_relu_hwc" */
const char **kernel_functions(const Plan *p, const KernelOrigins *from);
const Layout **kernel_layouts(const Plan *p);  /* by kernel: layout of the value that it stores; NULL: none, or several */
/* Appends what a comment says about kernel k: the stored value with its layout l (may be NULL), the work, the schedule's opts */
void put_kernel_facts(const Plan *p, const Kernel *k, const Layout *l, Sb *s);

/* ---- packages.c ---- */
extern const Package packages[];               /* .word NULL ends it */
const Package *package_named(const char *word); /* NULL: there is none */
bool package_has(const Package *k, const FileRow *f); /* the package has this file, a row of Backend.files */
const char *package_list(Ctx *c, const char *words); /* "'a', 'b'" from "a b": a list of strings in Meson and Bazel */

/* ---- lines.c ---- */
/* Most columns of a line of generated code. Code for devices also stands in string literals, which make its lines longer. */
enum { MOST_COLUMNS = 120, DEVICE_COLUMNS = 108 };
/* Breaks lines with more than `most` columns. code: C or a language like it; its tokens stay the same */
void break_lines(Sb *code, int most);

/* ---- code.c ---- */
const CodeForm *code_form(const BundleOptions *o); /* the row of Backend.forms for o->emit */
const char *code_named(Ctx *c, const char *pattern, const char *name); /* pattern with each % replaced by the name */
ImageOrder code_order(const Plan *p, const BundleOptions *o, Bytes text); /* the argument of Backend.images for this text */
const char *code_file(Ctx *c, const BundleOptions *o); /* file that holds the kernels: "net.c" */
/* The contents of the code file: the text of the model, or what the backend and the linker make from it */
Bytes code_make(const Plan *p, const BundleOptions *o, const WordSet *words);

/* ---- device_tables.c: the host's work for a device bundle ---- */
typedef struct DeviceTables { /* rows as in tgcrt_device.h */
  VEC(tgcrt_launch) launches;
  VEC(tgcrt_place) places;
  VEC(const char *) functions; /* texts live in the model's arena */
  uint32_t needs;          /* TGCRT_NEEDS_ bits: features that the kernels need */
  int64_t block, shared_bytes; /* maxima over all launches: threads of a block; bytes of a block's shared memory */
  int64_t bytes;           /* device memory of a context, which is an instance of the model: values, weights, inputs, outputs */
} DeviceTables;
/* The name of the function of a launch. code: Kernel.code; launch: its number among the kernel's launches; exchange: the threads
 * of a warp, if they exchange values without memory, else 0 */
const char *device_function(Ctx *c, int code, size_t launch, int exchange);
DeviceTables device_tables(const Plan *p);
void device_tables_free(DeviceTables *t);
void note_needs(const Plan *p, const Launch *l, DeviceTables *t); /* adds a launch to t->needs and to the maxima */
const char *device_launches(Ctx *c, const DeviceTables *t); /* rows in C */
const char *device_places(Ctx *c, const DeviceTables *t);
const char *device_functions(Ctx *c, const DeviceTables *t);
const char *device_needs(Ctx *c, const DeviceTables *t);    /* an expression in C */
const char *device_options(const Plan *p, bool keep_denormals); /* options for the driver's compiler */
const char *device_pragmas(const Plan *p, uint32_t needs); /* lines before the kernels; needs: TGCRT_NEEDS_ bits */
const char *string_literals(Ctx *c, const char *text); /* a string literal per line of the text, each followed by a comma */
/* Texts about images, which are files with compiled device kernels. Each image is a symbol: NAME_image0 and so on. image_names
 * declares the symbols in C. image_rows has rows of tgcrt_image. image_symbols defines the symbols in assembly, from the
 * files. */
const char *image_names(Ctx *c, const Images *images, const char *name);
const char *image_rows(Ctx *c, const Images *images, const char *name);
const char *image_symbols(Ctx *c, const Images *images, const char *name);

/* ---- render.c ---- */
struct Rendering {         /* data from which the texts of a bundle are made */
  const Plan *p, *base;    /* base: the plan whose kernels are in the code file; with variants it is the baseline's, else p */
  const BundleOptions *o;
  const char *NET;         /* the bundle's name in capitals */
  const char *interface;   /* digest of all that callers of the bundle see, such as names, types and shapes */
  const char *weights_sha256;
  const char **in, **out, **state; /* names of fields */
  int64_t arena;           /* host memory of a context, in bytes */
  Repeats repeats;         /* repeated calls of base */
  Repeats folded;          /* repeats_folded of them; none: tables by call have a row for each call */
  Jumps jumps;             /* jumps of a run over or back to calls (schedule.h) */
  bool groups;             /* some kernels run in groups */
  DeviceTables device;     /* for a device bundle */
  Images images;           /* the code, compiled for a device */
  Bytes code;              /* the code file, for words of later files */
};
void bundle_sbom(const Rendering *r, Bundle *b); /* sbom.c: adds sbom.cdx.json */
void bundle_manifest(const Rendering *r, Bundle *b); /* manifest.c: adds manifest.json */
const char *model_digest(const Rendering *r);  /* manifest.c: "SHA-256 ..., N bytes" for each source file */
const char *options_line(const Rendering *r);  /* manifest.c: for a comment, options that have one value */
void bundle_render(const Plan *p, const BundleOptions *o, Bundle *b); /* all files, manifest.json last */
void bundle_free(Bundle *b);

/* ---- module.c: words in LLVM IR for net.ll.in and its parts ---- */
const char *module_size(const Plan *p);        /* LLVM type of a size_t */
const char *module_count(const Plan *p);       /* LLVM type of a chunk's number in kernels */
/* Attribute that puts the function or constant `name` into a section of its own. Linkers drop a section to which nothing refers.
 * The text is "" if the object format has no such sections. begins: start of the section's name, ".text" or ".rodata" */
const char *module_section(const Plan *p, const char *begins, const char *name);
const char *module_states(const Plan *p, const char *size); /* rows of tgcrt_state */
const char *module_nulls(const Rendering *r);  /* defines %null, which is true if a required pointer is NULL */
const char *module_tables(const Rendering *r); /* tables of byte offsets, by iteration (CallMoves.table) */
/* Statements that compute two numbers from %kernel, the number of a call: %i and %call. The first is the iteration of this call,
 * and the second is the number of the corresponding call in iteration 0. */
const char *module_iterations(const Rendering *r);
/* Statements that compute %row, a row of the tables by call, from %kernel, the number of the call (rows_text for C) */
const char *module_rows(const Plan *p, const Repeats *folded);
const char *module_calls(const Rendering *r);  /* a block of LLVM IR per call: case0, case1, ... */
const char *module_cases(const Rendering *r);  /* rows of the switch that jumps to these blocks */
const char *module_check_weights(const Rendering *r); /* the function NAME_check_weights, and its constants */
const char *module_float_enter(const Rendering *r); /* switches to the floating-point mode of a run */
const char *module_float_leave(const Rendering *r); /* restores the caller's mode */
const char *module_sizes(const Rendering *r);  /* module_sizes.c: functions of sizes, for a model with ranges */
const char *module_messages(const Rendering *r); /* the function tgcrt_strerror and its texts */

/* ---- archive.c ---- */
/* Appends a static library with one member, `object`, which defines n symbols. member: its name, which ends in '/' */
void archive_put(Sb *out, const char *member, const char *const *symbols, int n, Bytes object);

/* ---- values.c: inputs, outputs and states as data, for callers that do not read the header ---- */
/* The template values.ENDING.in, filled in once for inputs, once for outputs and once for states */
const char *values_text(const Plan *p, const char *net, const char *ending);
const char *value_name(const GIO *v, const char *field); /* the name in the model; if it is too long, `field` */
/* Appends a name as the inside of a string literal of C or LLVM IR. escape: printf format for a character that may not stand for
 * itself. So the literal cannot end early, whatever the name contains. */
void put_literal(Sb *s, const char *name, const char *escape);

/* ---- bindings.c: the interface in other languages than C ---- */
typedef struct Binding {
  const char *word;        /* value of --bindings; NULL ends a list */
  const char *template, *file; /* template of runtime_stub; name of the file, in which % is the bundle's name */
  const char *const *taken;/* names that a bundle with this binding must not have; NULL ends the list */
  const char *gloss;       /* the language: "C++17" */
} Binding;
extern const Binding bindings[];
/* Parses a list such as "cpp,python": bit i of *bits stands for bindings[i]. False: the *n characters at *wrong name no
 * binding */
bool bindings_parse(const char *list, unsigned *bits, const char **wrong, int *n);
bool binding_named(unsigned bits, const char *word);   /* the bits contain this binding */
/* The first binding in `bits` with which a bundle cannot have this name; NULL: none */
const Binding *binding_refuses(unsigned bits, const char *name);
/* Words of row i of a list, for templates. `list`: its name, of n characters: "input", "output", "state" or "size" (ranges of
 * sizes). NULL: there is no such row. */
const Word *value_row(const Rendering *r, const char *list, size_t n, size_t i);

/* ---- size_texts.c: words of templates for dimensions with a range of sizes. Such a dimension is a symbol (ir.h) ---- */
const char **size_fields(const IR *ir);       /* names of the symbols as C fields */
const char *size_names(const Rendering *r);   /* these names, with commas: "batch, length" */
const char *size_strings(const Rendering *r); /* the same names, each as a string literal */
const char *size_members(const Rendering *r); /* the names as members of a structure: "s->batch, s->length" */
const char *size_sets(const Rendering *r);    /* C statements that set these members to the sizes of the run */
const char *size_macros(const Rendering *r);  /* macros NET_NAME_LOW, NET_NAME_HIGH and, if it is above 1, NET_NAME_STEP */
const char *size_bounds(const Rendering *r);  /* by symbol: a row of its least size, greatest size and step */
bool size_appends(const Symbols *all);        /* whether a symbol counts the elements of states */
const char *size_appended(const Rendering *r); /* by symbol: elements that a run appends to these states, or 0 */
const char *size_rows(const Rendering *r);    /* rows of tgcrt_size, one for each size that kernels ask for */
const char *size_table(const Rendering *r);   /* number of rows of size_rows, at least 1 */
int other_extent(const Extent *e, const int *number); /* Extent.by in the bundle's table; number: from extents_used */
const char *size_count(const Rendering *r);   /* number of symbols, at least 1 */
int size_extents(const Rendering *r);         /* number of rows of size_extent_rows */
const char *size_extent_rows(const Rendering *r); /* rows of tgcrt_extent: extents that follow from sizes by a formula */
/* size_inputs, size_outputs: a row for each value, with a number for each axis. The number is 0 if the axis has a constant
 * extent, else the extent's number plus 1. Extents are numbered from 0: first the symbols, then the rows of size_extent_rows. */
int size_most_axes(const Graph *g);           /* the most axes of a value, at least 1 */
const char *size_axes(const Rendering *r);    /* size_most_axes as text: the length of a row of these */
const char *size_inputs(const Rendering *r);
const char *size_outputs(const Rendering *r);
/* Appends columns to v's row in check.c.in: the product of the extents that are no symbols; then, for each symbol, the number of
 * axes with this extent */
void size_slot(Sb *s, const IR *ir, const GIO *v);

/* ---- value_texts.c: inputs and outputs as C ---- */
char *text_upper(Ctx *c, const char *text);    /* in capitals */
void text_dims(Sb *s, const GIO *v, const Symbols *symbols); /* "f32[4,8]" */
/* Words about v's elements if its type does not describe them: ", each an element of type float8e4m3fn". Otherwise "" */
const char *text_holds(Ctx *c, const GIO *v);
/* Fields of a structure: a pointer for each of the n values, called name[i]. is_const: pointers to const */
const char *text_fields(Ctx *c, const GIO *v, int n, const char **name, bool is_const, const Symbols *symbols);
/* Appends macros with the values' shapes. NAME: the bundle's name in capitals; kind: "INPUT" or "OUTPUT" */
void text_shapes(Sb *s, const char *NAME, const char *kind, const GIO *v, int n);
/* Statements in C that return TGCRT_ARGUMENT if a required pointer is NULL. in, out: names of fields */
const char *text_null_checks(Ctx *c, const Graph *g, const char **in, const char **out);
/* Statements that set the fields of two structures from two arrays of pointers. in, out: names of fields. name: the variables for
 * the structure of inputs, the array of inputs, the structure of outputs and the array of outputs */
const char *text_assign(Ctx *c, const Graph *g, const char **in, const char **out, const char *const name[4]);

/* ---- entry_functions.c: functions that run one entry ---- */
/* As value_row, but also for the list "entry", whose row i has the words of entry i. NULL: there is no such row. */
const Word *bundle_row(const Rendering *r, const char *list, size_t n, size_t i);
const char *entries_promise(const Rendering *r); /* text about the entries, for the digest of the interface; "" without entries */
void entry_kernels(const Plan *p, size_t entry, size_t *first, size_t *end); /* the entry has kernels *first to *end - 1 */

/* ---- manifest.c ---- */
json_t *json_text(const char *s);              /* a string; bytes that are not UTF-8 are escaped */
json_t *json_dims(int rank, const int64_t *dims);
json_t *json_kernels(const Plan *p);           /* facts of each kernel; reports use them, too */

/* ---- write.c: both fail with EX_NOWRITE ---- */
/* Writes into an existing folder, file by file. durable: each file is fsynced */
void bundle_put(Ctx *c, const Bundle *b, const char *dir, bool durable);
void bundle_write(Ctx *c, const Bundle *b, const char *dir); /* atomically: dir holds the old bundle or the new one */
#endif

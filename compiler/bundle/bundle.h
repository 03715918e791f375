/* SPDX-License-Identifier: MIT */
/* bundle.h: makes the files of a bundle from a plan, and writes these files. Most texts come from templates: files of
 * runtime_stub, embedded in tgc. docs/bundle.md describes a bundle. Returned texts live in the model's arena (Ctx.model). */
#ifndef TGC_BUNDLE_H
#define TGC_BUNDLE_H
#include "../cost/tunable.h"
#include "../../runtime_stub/tgcrt_device.h"
#include "../schedule/schedule.h"
#include "../target/launch.h"
#include <jansson.h>

/* FORMAT: version of manifest.json. ABI_MAJOR, ABI_MINOR: version of tgcrt.h that a bundle needs. ABI_SIZES: the minor version
 * that a bundle with a range of sizes needs (--dim NAME=LOW:HIGH). ALIGN: TGCRT_ALIGN of tgcrt.h, in bytes */
enum { BUNDLE_FORMAT = 1, BUNDLE_ABI_MAJOR = 1, BUNDLE_ABI_MINOR = 4, BUNDLE_ABI_SIZES = 5, BUNDLE_ALIGN = 64 };

typedef enum {
  WEIGHTS_FILE,            /* in a file NAME_weights.bin. The user's program loads this file */
  WEIGHTS_INCBIN,          /* in the user's program. An assembler file of the bundle includes NAME_weights.bin */
  WEIGHTS_ARRAY,           /* in the user's program, as a C array */
  WEIGHTS_OBJECT           /* in the object file, library or module that tgc writes */
} WeightsMode; /* where the weights are */

/* The error of an output against reference values. max: greatest absolute error; rms: root mean square of the errors; largest:
 * greatest magnitude of the reference values */
typedef struct OutputError { double max, rms, largest; } OutputError;

/* A kind of package: a bundle with the files of another build system. packages.h has a row for each kind. */
typedef struct Package {
  const char *word;        /* value of the option --package */
  bool bare;               /* programs run without an operating system; false: the target decides */
  WeightsMode weights;     /* where the weights are if --embed-weights is not given */
  const char *stays;       /* files of Backend.files that the package keeps, by the name of the template or of the file, with
                              blanks between names. The package also keeps the header, the licence, and files without template */
  const char *files[9];    /* further files: a template, the name of the file made from it, the next template, ...; NULL ends the
                              list. % stands for the bundle's name */
  const char *next;        /* the user's next step: a command, or an instruction in words; % stands for the bundle's folder */
} Package;

typedef struct BundleOptions {
  const Backend *backend;
  const char *name;        /* the bundle's name. bundle_name_ok must accept it. Names of the bundle's files and symbols begin with
                              this name */
  WeightsMode weights;
  Emit emit;               /* form of the code */
  unsigned bindings;       /* bit i: the bundle has the file of bindings[i] */
  Bytes (*link)(Ctx *c, void *arg, Bytes object); /* links an object file into a shared library (EMIT_SO) or module (EMIT_WASM) */
  void *link_arg;          /* the argument `arg` of link */
  const char *archs;       /* architectures to compile for, as in --arch; NULL: the target's own */
  Compiling compiler;      /* makes images (files of compiled device kernels) if the library that usually makes images is missing.
                              .run NULL: only the library makes images */
  const Package *package;  /* NULL: the bundle's own build files */
  bool stepped;            /* the bundle has the function NAME_run_step, which does a part of a run */
  bool no_cpu_check;       /* NAME_init does not check that the CPU has the features that the code uses */
  bool keep_denormals;     /* a run keeps the caller's floating-point mode; false: a run flushes denormals to zero */
  const Tensor *test_in, *test_out; /* for --self-test: the inputs, and the outputs expected for them; NULL: no self-test */
  const Tensor *test_room;          /* for --self-test, by output: the greatest error that each element may have, as f32 */
  const OutputError *errors; /* by output: measured errors, for the manifest; NULL: not measured */
  const Setting *changes;  /* the nchanges options that changed the model's inputs and outputs, for the manifest */
  int nchanges;
} BundleOptions;

typedef struct BundleFile {
  const char *name;        /* the file's path in the bundle's folder; only packages have files in further folders */
  const void *p;           /* the file's n bytes, valid as long as the plan */
  size_t n;
  const char *sha256;      /* the digest of the bytes, as text; NULL: not computed yet */
} BundleFile;
typedef struct Bundle { VEC(BundleFile) files; } Bundle;

/* ---- identifiers.c ---- */
/* Whether s is a C identifier of at most 40 characters that begins with a letter. Keywords, common macros and "tgcrt" are
 * refused. */
bool bundle_name_ok(const char *s);
/* Returns a name of a C field for each of the n values. The field name is made from the value's name in the model, if this gives
 * an identifier that is unique and not reserved. Otherwise the field name is `kind` and the value's number, such as "input_0". */
const char **bundle_fields(Ctx *c, const GIO *v, int n, const char *kind);
/* Returns a copy of s for comments. In the copy, a blank stands for each sequence of characters other than [A-Za-z0-9_]. The copy
 * neither begins nor ends with a blank. */
const char *text_words(Ctx *c, const char *s);
/* Returns the file name of variant v without its ending, such as "net_x86_64_v4". Names of symbols in this file begin with the
 * same text. net: the bundle's name */
const char *bundle_variant(const Plan *v, const char *net);

/* ---- template.c ---- */
/* A word of templates, and the text that replaces @name@ in a template. The condition "@if name" holds if the text is not empty.
 * A table of words ends with a name NULL. */
typedef struct Word { const char *name, *text; } Word;
static inline const char *word_if(bool is) { return is ? "yes" : ""; } /* text for a word that templates mention only in @if */
typedef struct Rendering Rendering;
/* A word with a function that returns the word's text. The function is called whenever a template mentions the word. A table
 * of MadeWords ends with a name NULL. */
typedef struct MadeWord { const char *name; const char *(*make)(const Rendering *r); } MadeWord;
typedef struct WordSet WordSet;
struct WordSet {           /* words and lists for a template */
  const Word *fixed;       /* words with their texts */
  const MadeWord *made;    /* words with functions; NULL: none */
  const Rendering *from;   /* the argument of MadeWord.make and of `row` */
  /* The lines of a template between "@each LIST" and "@end" are filled in once for each row of the list LIST. This function
   * returns the words of row i of a list, or NULL if the list has no row i. The n characters at `list` are the name of the list.
   * The pointer `row` itself is NULL if this set has no lists. */
  const Word *(*row)(const Rendering *r, const char *list, size_t n, size_t i);
  const WordSet *outer;    /* a further set, for words that this set lacks, and for lists if `row` is NULL; NULL: none */
};
/* Fills in the template `name` of runtime_stub, and appends the result to out */
void template_fill(const char *name, const WordSet *words, Sb *out);
void template_expand(const char *name, const Word *words, Sb *out); /* as template_fill, with only a table of Words */

/* ---- reroll.c ---- */
/* Calls of kernels that the generated code makes in a loop, with `times` iterations of `period` calls each. Call j of iteration i
 * runs kernel number first + i * period + j. The numbers i and j count from 0. */
typedef struct Repeat { size_t first, period, times; } Repeat;
typedef VEC(Repeat) Repeats;
/* The place of a buffer that a call passes to a kernel. slot: number of the input, output or state that contains the buffer; 0
 * for a buffer in the arena or the weights. at: offset in bytes from the start of the input, the output, the arena or the blob of
 * weights; for a state, from MemoryPlan.state_at */
typedef struct CallPlace { int64_t slot, at; } CallPlace;
/* How the place of a call's buffer changes over the iterations of a Repeat. Unless a bool below is set, each iteration adds
 * by.slot to the slot and by.at to the offset. */
typedef struct CallMoves {
  CallPlace by;            /* the place in iteration 1 minus the place in iteration 0 */
  bool turns;              /* the offset alternates: even iterations have the offset of iteration 0, odd iterations have
                              the offset of iteration 1 */
  bool table, leaps;       /* table: offsets are irregular, so the code has a table of offsets by iteration. leaps: slots are
                              irregular */
} CallMoves;
Repeats reroll_calls(const Plan *p);           /* finds the repeated calls of a plan; the caller frees the list (VEC_FREE) */
const Repeat *repeat_of(const Repeats *s, size_t kernel); /* the Repeat with the kernel's call; NULL: there is none */
/* s: the result of repeat_of for this kernel. Returns true if s is NULL or the kernel's call is in the first iteration of s */
bool in_first_iteration(const Repeat *s, size_t kernel);
/* The next two functions are about tables of the generated code with rows for kernels. If a Repeat is a loop of the model, the
 * kernels of its second and later iterations have no rows. All other kernels have rows. repeats_folded: returns the Repeats of
 * `all` that are loops of the model. In the result, Repeat.first is the number of the row of the first kernel. The caller frees
 * the list (VEC_FREE). has_row: whether the kernel has a row. all, repeats: the result of reroll_calls. If `repeats` is NULL,
 * each kernel has a row. */
Repeats repeats_folded(const Plan *p, const Repeats *all);
bool has_row(const Plan *p, const Repeats *repeats, size_t kernel);
CallPlace call_place(const Plan *p, size_t kernel, size_t buffer); /* buffer: index into Kernel.bufs, here and below */
/* Returns how the place of a kernel's buffer changes over the iterations of s. The kernel's call must be in the first iteration
 * of s. If s is NULL, the place does not change. */
CallMoves call_moves(const Plan *p, const Repeat *s, size_t kernel, size_t buffer);
/* Whether the table of the buffer's byte offsets (CallMoves.table) needs 64 bits */
bool call_table_wide(const Plan *p, const Repeat *s, size_t kernel, size_t buffer);

/* ---- places.c ---- */
/* Ends with BUG if a call passes a pointer with which a buffer would not lie inside of the memory meant for it. weight_bytes:
 * size of the blob of weights */
void check_places(const Plan *p, const Repeats *repeats, int64_t weight_bytes);

/* ---- kernels.c: texts in C ---- */
/* The nodes of the user's model that a kernel computes: n indices into ir->origins, ascending */
typedef struct KernelOrigins { const uint32_t *origin; int n; } KernelOrigins;
/* Returns 1 + the number of the last call before call k that calls the same kernel; 0: there is none. Only kernels of loops are
 * called several times (plan_loop_calls). */
size_t earlier_call(const Plan *p, size_t k);
KernelOrigins *kernel_origins(const Plan *p);  /* an element for each kernel, in the model's arena */
const char *kernels_text(const Plan *p, const Repeats *repeats); /* the functions of all kernels, with comments */
/* chunks_text and groups_text return lists with a number for each kernel that has a row (has_row). `type` stands before each
 * number. chunks_text: the number of tasks for threads. A task is Kernel.chunks_per_task chunks, or one chunk if chunks_per_task
 * is 0. The number is 0 if p is a variant that takes the kernel from the baseline. groups_text: Kernel.group_size */
const char *chunks_text(const Plan *p, const Repeats *repeats, const char *type);
const char *groups_text(const Plan *p, const Repeats *repeats, const char *type);
/* C statements that turn the variable k from the number of a kernel into the number of its row. folded: from repeats_folded */
const char *rows_text(const Plan *p, const Repeats *folded);
typedef struct JobForm { /* arguments of job_text */
  const char *net, **in, **out; /* net: the bundle's name; in, out: names of the fields for inputs and outputs */
  bool fat, stepped;            /* fat: the bundle is for several machines; stepped: as in BundleOptions */
  const char *linkage, *name;   /* linkage: "static " or ""; name: the function's name */
} JobForm;
/* The next three functions return work in the units of NAME_run_step. A unit is 1000 operations or bytes moved; the work of a
 * kernel is rounded up. works_text: a list with a number for each kernel. For the first kernel of a kernel group, the number is
 * the work of the group; for the others, it is 0. work_whole: the sum of this list. work_part: the work of the task with most
 * work */
const char *works_text(const Plan *p);
int64_t work_whole(const Plan *p);
int64_t work_part(const Plan *p);
/* The definitions of a struct Job and of a function that runs some chunks of a kernel. The function gets a Job with the number of
 * the kernel. */
const char *job_text(const Plan *p, const Repeats *repeats, const JobForm *f);

/* ---- kernel_names.c ---- */
/* Returns the name of each kernel's function, such as "k3". In C the name also has operators of the model and the order of axes
 * in memory, as in "k3_conv_relu_hwc". The name is NULL if the kernel uses the function of another kernel. */
const char **kernel_functions(const Plan *p, const KernelOrigins *from);
const Layout **kernel_layouts(const Plan *p);  /* by kernel: layout of the stored value; NULL: none, or several */
/* Appends the text of a comment about kernel k: the stored value and its layout l, the operations, and the opts of the first
 * nest. If l is NULL, the text does not mention the value. */
void put_kernel_facts(const Plan *p, const Kernel *k, const Layout *l, Sb *s);

/* ---- packages.c ---- */
extern const Package packages[];               /* .word NULL ends the table */
const Package *package_named(const char *word); /* the row for this value of --package; NULL: there is no such row */
bool package_has(const Package *k, const FileRow *f); /* whether the package has the file of f, a row of Backend.files */
const char *package_list(Ctx *c, const char *words); /* makes "'a', 'b'" from "a b", for Meson and Bazel */

/* ---- lines.c ---- */
/* Most columns of a line of generated code. DEVICE_COLUMNS: for code of devices, since bundles have it in string literals. */
enum { MOST_COLUMNS = 120, DEVICE_COLUMNS = 108 };
/* Breaks lines with more than `most` columns at blanks between tokens. code: text in C, or in a language with the tokens of C */
void break_lines(Sb *code, int most);

/* ---- code.c ---- */
const CodeForm *code_form(const BundleOptions *o); /* the row of Backend.forms for o->emit; BUG if there is no such row */
const char *code_named(Ctx *c, const char *pattern, const char *name); /* pattern with each % replaced by the name */
ImageOrder code_order(const Plan *p, const BundleOptions *o, Bytes text); /* the argument of Backend.images for this text */
const char *code_file(Ctx *c, const BundleOptions *o); /* name of the code file, which has the kernels: "net.c" */
/* Names the interface of tgcrt_device.h through which kernels run on a device; "" if they run on the CPU */
const char *device_api(const Plan *p);
const char *guard_text(const Plan *p, const char *file); /* preprocessor checks for what a code file needs from its compiler */
bool bundle_is_bare(const Plan *p, const BundleOptions *o); /* whether programs run without an operating system */
/* The contents of the code file: the text of the model; or the object, library or module that is made from this text */
Bytes code_make(const Plan *p, const BundleOptions *o, const WordSet *words);

/* ---- device_tables.c: tables from which the host of a device bundle starts kernels ---- */
typedef struct DeviceTables { /* runtime_stub/tgcrt_device.h explains the rows */
  VEC(tgcrt_launch) launches;
  VEC(tgcrt_place) places;
  VEC(const char *) functions; /* names of the functions of launches */
  uint32_t needs;          /* TGCRT_NEEDS_ bits: features of a device that the kernels need */
  int64_t block, shared_bytes; /* maxima over all launches: threads of a block; bytes of a block's shared memory */
  int64_t bytes;           /* device memory of an instance of the model: arena, weights, inputs and outputs, in bytes */
} DeviceTables;
/* The name of the function of a launch. code: Kernel.code. launch: number of the launch in its kernel. exchange: the result of
 * launch_exchange (launch.h) */
const char *device_function(Ctx *c, int code, size_t launch, int exchange);
DeviceTables device_tables(const Plan *p);
int64_t device_work(const Plan *p);           /* bytes of work memory: the arena, then the table of sizes if p has one */
int64_t device_sizes_at(const Plan *p);       /* offset of the table of sizes in work memory */
void device_tables_free(DeviceTables *t);
void note_needs(const Plan *p, const Launch *l, DeviceTables *t); /* updates t->needs, t->block and t->shared_bytes for l */
const char *device_launches(Ctx *c, const DeviceTables *t); /* t->launches as rows in C */
const char *device_places(Ctx *c, const DeviceTables *t);   /* t->places as rows in C */
const char *device_functions(Ctx *c, const DeviceTables *t); /* t->functions as rows in C */
const char *device_needs(Ctx *c, const DeviceTables *t);    /* t->needs as an expression in C */
const char *device_options(const Plan *p, bool keep_denormals); /* options for the driver's compiler */
const char *device_pragmas(const Plan *p, uint32_t needs); /* lines before the kernels; needs: DeviceTables.needs */
const char *string_literals(Ctx *c, const char *text); /* for each line of the text, a string literal and a comma */
/* Texts about images: files with compiled device kernels. The contents of each image have a symbol: NAME_image0, NAME_image1, ...
 * image_names: declarations of the symbols in C. image_rows: rows of the type tgcrt_image in C. image_symbols: assembly that
 * defines the symbols, with the contents of the files. name: the bundle's name */
const char *image_names(Ctx *c, const Images *images, const char *name);
const char *image_rows(Ctx *c, const Images *images, const char *name);
const char *image_symbols(Ctx *c, const Images *images, const char *name);

/* ---- render.c ---- */
struct Rendering {         /* data from which the texts of a bundle are made */
  const Plan *p, *base;    /* base: the plan whose kernels are in the code file. If the bundle has variants, base is the plan of
                              the baseline, else base is p */
  const BundleOptions *o;
  const char *NET;         /* the bundle's name in capitals */
  const char *interface;   /* digest of all that a caller of the bundle must know, such as names, types and shapes */
  const char *weights_sha256;
  const char *weights_source; /* name of the source that embeds the weights, if there is one */
  const char **in, **out, **state; /* names of the fields for inputs, outputs and states */
  int64_t arena;           /* host memory of an instance of the model, in bytes */
  Repeats repeats;         /* result of reroll_calls for base */
  Repeats folded;          /* result of repeats_folded for `repeats` */
  Jumps jumps;             /* jumps between calls of a run (schedule.h) */
  bool groups;             /* there are kernel groups */
  DeviceTables device;     /* for a device bundle */
  Images images;           /* for a device bundle: the compiled kernels */
  Bytes code;              /* contents of the code file */
};
void bundle_sbom(const Rendering *r, Bundle *b); /* sbom.c: adds sbom.cdx.json */
void bundle_manifest(const Rendering *r, Bundle *b); /* manifest.c: adds manifest.json */
const char *model_digest(const Rendering *r);  /* manifest.c: "SHA-256 ..., N bytes" for each file of the model */
const char *options_line(const Rendering *r);  /* manifest.c: the options in manifest.json except the tunables, for a comment */
void bundle_render(const Plan *p, const BundleOptions *o, Bundle *b); /* adds all files to b, manifest.json last */
void bundle_free(Bundle *b);

/* ---- words.c: the words of templates ---- */
WordSet bundle_words(const Rendering *r);      /* all words of a bundle's templates. r must outlive the set */

/* ---- example_texts.c: statements of the example programs ---- */
const char *example_values(const Rendering *r); /* C: memory for each input and output */
const char *example_assign(const Rendering *r); /* C: the structures of inputs and outputs */
const char *example_print(const Rendering *r); /* C: prints the first element of each output */
const char *example_pointers(const Rendering *r); /* C++: the structures of inputs and outputs */
const char *example_serial(const Rendering *r); /* Arduino: prints the first element of each output */

/* ---- state_texts.c ---- */
/* Text about the states for the header ("h"), the source ("c") or the module ("ll"); empty without states. whole: the module has
 * the functions of tgcrt.c that update states */
const char *state_text(const Plan *p, const char *net, const char *NET, const char *interface, const char *kind, bool whole);

/* ---- module.c: texts in LLVM IR for the template net.ll.in ---- */
const char *module_size(const Plan *p);        /* LLVM's type for size_t */
const char *module_count(const Plan *p);       /* LLVM's type for the numbers of chunks that kernels get */
/* An attribute that puts the function or constant `name` into a section of its own. Linkers drop a section to which nothing
 * refers. The text is "" if the object format is not ELF. begins: start of the section's name, ".text" or ".rodata" */
const char *module_section(const Plan *p, const char *begins, const char *name);
const char *module_states(const Plan *p, const char *size); /* rows of the type tgcrt_state. size: module_size */
const char *module_nulls(const Rendering *r);  /* instructions that set %null to true if a required pointer is NULL */
const char *module_tables(const Rendering *r); /* the tables of byte offsets (CallMoves.table) */
/* Instructions that set %i and %call for the kernel with the number %kernel. %i becomes the iteration that has the kernel's call.
 * The kernel with the number %call has the corresponding call in iteration 0. */
const char *module_iterations(const Rendering *r);
/* Instructions that compute %row, the number of a row, from %kernel, the number of a kernel, as rows_text does in C */
const char *module_rows(const Plan *p, const Repeats *folded);
const char *module_calls(const Rendering *r);  /* a basic block for each call: case0, case1, ... */
const char *module_cases(const Rendering *r);  /* rows of the switch that jumps to these basic blocks */
const char *module_check_weights(const Rendering *r); /* the function NAME_check_weights and its constants */
const char *module_float_enter(const Rendering *r); /* instructions that switch to the floating-point mode of a run */
const char *module_float_leave(const Rendering *r); /* instructions that restore the caller's floating-point mode */
const char *module_sizes(const Rendering *r);  /* module_sizes.c: functions about ranges of sizes */
const char *module_messages(const Rendering *r); /* the function tgcrt_strerror and the texts that it returns */

/* ---- archive.c ---- */
/* Appends a static library whose only member is `object`. symbols: the n symbols that the object defines. member: the member's
 * name, with '/' at the end */
void archive_put(Sb *out, const char *member, const char *const *symbols, int n, Bytes object);

/* ---- values.c: inputs, outputs and states as data, for callers that do not read the header ---- */
/* The template values.ENDING.in, filled in for the inputs, again for the outputs, and again for the states if there are any. net:
 * the bundle's name */
const char *values_text(const Plan *p, const char *net, const char *ending);
const char *value_name(const GIO *v, const char *field); /* v's name in the model; `field` if this name is too long */
/* Appends a name as text between the quotes of a string literal in C or LLVM IR. escape: printf format for each character that
 * must be escaped */
void put_literal(Sb *s, const char *name, const char *escape);

/* ---- bindings.c: the interface of a bundle in other languages than C ---- */
typedef struct Binding {
  const char *word;        /* a word of --bindings; NULL ends the table of bindings */
  const char *template, *file; /* template: a file of runtime_stub; file: name of the file made from it. % stands for the bundle's
                                  name */
  const char *const *taken; /* names that a bundle with this binding must not have; NULL ends the list */
  const char *gloss;       /* the language: "C++17" */
} Binding;
extern const Binding bindings[];
/* Parses a list such as "cpp,python". Sets bit i of *bits if the list has bindings[i]. Returns false if a word of the list is no
 * binding. Then *wrong is the start of this word, and *n is its length. */
bool bindings_parse(const char *list, unsigned *bits, const char **wrong, int *n);
bool binding_named(unsigned bits, const char *word);   /* whether `bits` has the binding with this word */
/* Returns the first binding in `bits` that forbids this name of a bundle (Binding.taken); NULL if all of them allow it. */
const Binding *binding_refuses(unsigned bits, const char *name);
/* Function for WordSet.row. `list` is "input", "output", "state" or "size". "size" has a row for each range of sizes. */
const Word *value_row(const Rendering *r, const char *list, size_t n, size_t i);

/* ---- size_texts.c: words of templates about dimensions with a range of sizes. Such a dimension is a symbol (ir.h) ---- */
const char **size_fields(const IR *ir);       /* names of C fields for the symbols */
const char *size_names(const Rendering *r);   /* the names of size_fields, with commas: "batch, length" */
const char *size_strings(const Rendering *r); /* the names of size_fields as string literals, with commas */
const char *size_members(const Rendering *r); /* the names of size_fields as members of a structure: "s->batch, s->length" */
const char *size_sets(const Rendering *r);    /* C statements that set the members of size_members to the sizes of a run */
const char *size_macros(const Rendering *r);  /* macros NET_NAME_LOW, NET_NAME_HIGH and, for a step above 1, NET_NAME_STEP */
const char *size_bounds(const Rendering *r);  /* by symbol: a row with least size, greatest size and step */
bool size_appends(const Symbols *all);        /* whether Symbol.appended (ir.h) is set for any symbol */
const char *size_appended(const Rendering *r); /* by symbol: Symbol.appended */
const char *size_rows(const Rendering *r);    /* rows of the type tgcrt_size: one for each row of IR.sizes, at least one */
const char *size_table(const Rendering *r);   /* number of rows of size_rows */
int64_t size_rows_count(const IR *ir);        /* the number that size_table prints */
const char *size_functions(const Rendering *r);      /* functions in C that set sizes (runtime_stub/sizes.c.in) */
const char *size_dims_functions(const Rendering *r); /* functions in C that tell shapes at the sizes of the run (dims.c.in) */
/* Threads share the kernels of a run if the product of the run's sizes is at least this number. At smaller sizes, each kernel
 * takes less time than threads need to begin and end the kernel together. */
int64_t size_share(const Rendering *r);
const char *size_share_text(const Rendering *r); /* size_share as text */
int other_extent(const Extent *e, const int *number); /* Extent.by in the rows of size_extent_rows. number: the result of
                                                       * extents_used */
const char *size_count(const Rendering *r);   /* number of symbols; 1 if there are none */
int size_extents(const Rendering *r);         /* number of rows of size_extent_rows */
const char *size_extent_rows(const Rendering *r); /* rows of the type tgcrt_extent, for extents computed from sizes */
/* size_inputs and size_outputs have a row for each value, with a number for each axis. The number is 0 if the extent of the axis
 * is constant, else 1 + the number of the extent. Extents are numbered from 0: first the symbols, then the rows of
 * size_extent_rows. */
int size_most_axes(const Graph *g);           /* most axes of an input or output, at least 1 */
const char *size_axes(const Rendering *r);    /* size_most_axes as text: length of the rows of size_inputs and size_outputs */
const char *size_inputs(const Rendering *r);
const char *size_outputs(const Rendering *r);
/* Appends two columns of v's row in the test program check.c: the product of all extents of v that are not symbols; and a list
 * that says, for each symbol, how many axes of v have this symbol as their extent */
void size_slot(Sb *s, const IR *ir, const GIO *v);

/* ---- value_texts.c: inputs and outputs as C ---- */
char *text_upper(Ctx *c, const char *text);    /* a copy of the text in capitals */
void text_dims(Sb *s, const GIO *v, const Symbols *symbols); /* appends v's type and shape: "f32[4,8]" */
/* GIO.narrow may say that v's elements stand for strings or for elements of another type. Then returns words about this, such as
 * ", each an element of type float8e4m3fn". Otherwise returns "". */
const char *text_holds(Ctx *c, const GIO *v);
/* Fields of a structure: a pointer name[i] for each of the n values. is_const: pointers to const */
const char *text_fields(Ctx *c, const GIO *v, int n, const char **name, bool is_const, const Symbols *symbols);
/* Appends macros with the shapes of the n values. Names of the macros begin with NAME, the name of the bundle or of an entry,
 * and with kind, "INPUT" or "OUTPUT" */
void text_shapes(Sb *s, const char *NAME, const char *kind, const GIO *v, int n);
/* Statements in C that return TGCRT_ARGUMENT if the pointer to an input or output is NULL, unless the value has no elements.
 * in, out: names of the fields for inputs and outputs */
const char *text_null_checks(Ctx *c, const Graph *g, const char **in, const char **out);
/* Statements in C that copy the pointers to inputs and outputs from arrays to structures. in, out: names of the fields. name:
 * names of four variables: the structure of inputs, the array of inputs, the structure of outputs, the array of outputs */
const char *text_assign(Ctx *c, const Graph *g, const char **in, const char **out, const char *const name[4]);

/* ---- entry_functions.c: functions that run one entry ---- */
/* Function for WordSet.row. It has the list "entry", with a row for each entry, and the lists of value_row. */
const Word *bundle_row(const Rendering *r, const char *list, size_t n, size_t i);
const char *entries_promise(const Rendering *r); /* Rendering.interface is the digest of a text. Returns the part
                                                    of this text that is about entries; "" if there are none */
/* Finds the kernels of the entry with number `entry`: kernels *first to *end - 1 */
void entry_kernels(const Plan *p, size_t entry, size_t *first, size_t *end);

/* ---- manifest.c ---- */
json_t *json_text(const char *s);              /* s as a string of JSON; bytes that are not UTF-8 are escaped */
json_t *json_dims(int rank, const int64_t *dims); /* an array of numbers */
json_t *json_kernels(const Plan *p);           /* an array with facts about each kernel */

/* ---- write.c: these functions fail with EX_NOWRITE if they cannot write ---- */
/* Writes the files of b into the existing folder dir, one after another. durable: syncs each file (fsync) */
void bundle_put(Ctx *c, const Bundle *b, const char *dir, bool durable);
/* Replaces the bundle in dir by b in one step. After a failure, dir has either the complete old bundle or the complete new
 * one. */
void bundle_write(Ctx *c, const Bundle *b, const char *dir);
#endif

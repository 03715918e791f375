/* SPDX-License-Identifier: MIT */
/* backend.h: a backend is a row of facts, with functions that write the text of kernels. The rest of tgc asks the row, and never
 * which backend it is. docs/adding-a-backend.md says how to add a backend. */
#ifndef TGC_BACKEND_H
#define TGC_BACKEND_H
#include "target.h"

struct Plan;
/* In a device kernel's text, the character with this code stands for the kernel's number. */
enum { KERNEL_NUMBER = 1 };
/* Form of the code in a bundle: source text, assembly, object file, static library, shared library, WebAssembly module */
typedef enum { EMIT_TEXT, EMIT_ASM, EMIT_OBJ, EMIT_LIB, EMIT_SO, EMIT_WASM } Emit;
typedef enum { OPT_FULL, OPT_FAST } OptLevel; /* FULL: as in bundles. FAST: takes less time, and makes slightly slower code */
typedef struct Code {      /* the text of a model, and the weights that it refers to */
  const char *text;        /* n bytes, and a NUL behind them */
  size_t n;
  const char *weights_name; /* a constant that the text declares and `weights` defines; NULL: none */
  const void *weights;     /* value of this constant: weight_bytes bytes */
  size_t weight_bytes;
} Code;

/* ---- code for devices whose drivers take no text ---- */
typedef struct Image {     /* a file of the bundle with compiled kernels */
  uint32_t kind, arch;     /* kind of image and architecture, with values as in tgcrt_image */
  const char *end;         /* end of the file's name: "_sm_80.cubin" */
  Bytes bytes;
} Image;
typedef struct FunctionUse { /* registers and memory of a function on one architecture */
  const char *function;
  uint32_t arch;
  int64_t registers, local_bytes, shared_bytes; /* local: memory of a thread for spills and arrays; shared: memory of a block */
} FunctionUse;
typedef struct Images {
  VEC(Image) list;
  VEC(FunctionUse) uses;   /* only from cubins, which record them */
  const char *maker;       /* the compiler, with its version: "NVRTC 13.0" */
} Images;
/* Runs a compiler on a text. argv ends with NULL. In argv, "<" stands for a file with the text and ">" for the file that the
 * compiler writes. *made gets the contents of this file. Returns 0, or an exit code for tgc; then *why gets the reason */
typedef struct Compiling {
  int (*run)(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);
  void *arg;
} Compiling;
typedef struct ImageOrder { /* a request for images of a text */
  const Target *target;
  const char *file;        /* name of the text, for messages */
  Bytes text;
  Emit emit;
  const char *archs;       /* architectures: "sm_75,sm_90"; NULL: the target's own */
  bool keep_denormals;
  bool candidates;         /* for the tuner: compiles on all processors, makes no fatbin, and does not warn about NVRTC */
  Compiling compiler;
} ImageOrder;

/* A form of the code in a bundle, and how the bundle's build files make a library and a program of this code. In all texts, %
 * stands for the bundle's name. */
typedef struct CodeForm {
  const char *word;                            /* value of --emit; NULL ends a list */
  Emit emit;
  const char *file;                            /* name of the file with the code */
  const char *rule;                            /* rule of the Makefile that makes an object of the code */
  /* for the Makefile: members of the library, start of the command that makes the library, further inputs of the linker */
  const char *object, *archive, *link;
  /* for CMake: sources of the library, properties of the code file, further libraries to link */
  const char *source, *properties, *library;
  const char *custom;                          /* CMake command that makes the object, if CMake has no rule for the code file */
} CodeForm;

typedef enum {
  FILE_END,                /* ends a list */
  FILE_COPIED,             /* a copy of a file of runtime_stub */
  FILE_TEMPLATE,           /* a template of runtime_stub, filled in */
  FILE_CODE,               /* the code, in the requested form */
  FILE_VARIANTS,           /* a file with kernels for each further machine */
  FILE_IMAGES,             /* the files that the backend's `images` makes, and a file that embeds them; none without `images` */
  FILE_RUNTIME,            /* tgcrt_DEVICE.c of runtime_stub, named by the backend's `device` */
  FILE_SCRIPT,             /* the backend's `script`, filled in */
  FILE_BINDINGS,           /* a file for each language of --bindings, with the bundle's interface */
  FILE_WEIGHTS,            /* the weights, or a file that embeds them, or both; no file if the code contains the weights */
} FileKind;
/* Which bundles have a file. HOSTED: bundles for an operating system. BARE: bundles for machines without one */
typedef enum { ANYWHERE, HOSTED, BARE } FilePlace;
typedef struct FileRow {
  FileKind kind;
  const char *from;        /* FILE_COPIED, FILE_TEMPLATE: the file of runtime_stub */
  const char *name;        /* FILE_TEMPLATE: the file's name in the bundle; % is the bundle's name */
  FilePlace where;
} FileRow;

typedef struct Backend {
  const char *name;        /* "c" */
  const char *gloss;       /* the backend in words */
  /* ---- facts about the backend's bundles ---- */
  const char *comment[2];  /* start and end of a comment in the kernels' language; end "": the end of the line */
  const char *model;       /* template of the text with the kernels: "net.c.in" */
  const CodeForm *forms;   /* forms of the code; .word NULL ends the list */
  Emit makes;              /* form of the code without --emit */
  const FileRow *files;    /* files of a bundle, in order, with one FILE_CODE; FILE_END ends the list. manifest.json comes last */
  const FileRow *module_files; /* the files of a bundle with EMIT_WASM */
  const char *variant;     /* template of a file with one machine's kernels; NULL: a bundle is for one machine */
  const char *script;      /* template of a script that builds the bundle, build.sh.in; NULL: the bundle has no script */
  const char *isa;         /* name of the machine without --isa; NULL: the command line's default */
  /* for machines with a Device; NULL: the code runs on the CPU */
  const struct DeviceDriver *driver; /* device_driver.h: functions by which tgc itself uses a device */
  const char *device;      /* word for the interface in names of tgcrt_device.h, and @device@ in templates: "opencl" */
  const char *types;       /* a line of `tgc devices`: the supported types of elements, and how they are supported */
  bool flushes;            /* results may be zero in place of denormals, even with --denormals=keep */
  const char *handle;      /* type of device memory in this interface: "cl_mem" */
  /* Compiles order->text for the requested architectures, and adds the images to *out, which the caller frees. Returns NULL, or
   * why the compiler refuses the text. The pointer `images` is NULL if the driver compiles the text. */
  const char *(*images)(Ctx *c, const ImageOrder *order, Images *out);
  const char *compilers;   /* compilers that `images` uses, for `tgc devices` */
  const char *(*flags)(Ctx *c, const ImageOrder *order); /* flags for the compiler that builds the bundle; NULL: Target.cflags */
  size_t (*host_bytes)(size_t launches, size_t inputs, size_t outputs, size_t states); /* host memory of a context */
  /* pragmas: appends lines that stand before the kernels. options: appends options of the driver's compiler. NULL: nothing to
   * append. needs: TGCRT_NEEDS_ bits */
  void (*pragmas)(const Target *t, uint32_t needs, Sb *out);
  void (*options)(const Target *t, bool keep_denormals, Sb *out);
  bool sizes;              /* loops of the kernels can end at sizes of the run (--dim NAME=LOW:HIGH) */
  bool is_c;               /* the text is C, so the tuner compiles candidates with the C compiler */
  bool schedules;          /* the backend's compiler can order instructions for the CPU that --cpu names */
  /* ---- support of operations ---- */
  const struct Dialect *dialect; /* spellings of a language like C (backends/dialect.h); NULL: another kind of language */
  /* Whether op has a form for vectors of this many lanes; otherwise legalize.c splits the vectors. d: type of the result.
   * operand: type of the first operand; for a WHERE, of the selected values; for a DOT, of the factors */
  bool (*supports)(const Target *t, Op op, DType d, DType operand, int lanes);
  /* Appends kernel number k as source text: a function whose name is the letter k and this number. Kernels whose texts are equal
   * from the first '(' on share one function. For a device: a function for each launch, with KERNEL_NUMBER in place of the
   * number. */
  void (*kernel)(const struct Plan *p, int k, const Target *t, Sb *out);
  void (*prelude)(const struct Plan *p, const Target *t, Sb *out); /* helpers that the kernels need, once */
  /* ---- functions in this process; NULL: not available ---- */
  /* Compiles the model's text to an object file or, with `assembly`, to assembly text. The bytes lie in c->model. Equal inputs
   * give equal bytes. NULL: the bundle's user compiles the text. */
  Bytes (*build)(Ctx *c, const Target *t, const Code *code, bool assembly);
  /* Compiles and loads the kernels of a plan. Kernel number I has a function void cI(void *const *buffers), which runs all of its
   * chunks; buffers[i] is the memory of Kernel.bufs[i]. If the kernel asks for sizes of a run, the last element of buffers[] is
   * the table of sizes. */
  struct LoadedCode *(*load)(Ctx *c, const struct Plan *p, const Target *t, OptLevel opt_level);
  void *(*symbol)(struct LoadedCode *code, const char *name); /* address of the function with this name, such as "c0" */
  const char *(*version)(Ctx *c); /* version of the compiler behind `load` or `images`; NULL: not available */
} Backend;
extern const Backend *const backends[]; /* ends with NULL */
#endif

/* SPDX-License-Identifier: MIT */
/* backend.h: a backend is a row of facts, with functions that write the text of kernels. The rest of tgc uses these facts and
 * functions, and never depends on a backend's name. docs/adding-a-backend.md says how to add a backend. */
#ifndef TGC_BACKEND_H
#define TGC_BACKEND_H
#include "target.h"

struct Plan;
/* In a device kernel's text, the character with this code stands for the kernel's number. */
enum { KERNEL_NUMBER = 1 };
/* Form of the code in a bundle: source text, assembly, object file, static library, shared library, WebAssembly module. In
 * bundles for CUDA: EMIT_ASM is PTX, EMIT_OBJ is cubins, and EMIT_LIB is a fatbin */
typedef enum { EMIT_TEXT, EMIT_ASM, EMIT_OBJ, EMIT_LIB, EMIT_SO, EMIT_WASM } Emit;
typedef enum { OPT_FULL, OPT_FAST } OptLevel; /* FULL: as for bundles. FAST: the compiler takes less time, and the code is
                                                 slightly slower */
typedef struct Code {      /* the text of a model, and the weights to which this text refers */
  const char *text;        /* n bytes, and a NUL behind them */
  size_t n;
  const char *weights_name; /* name of the constant that the text declares for the weights; NULL: the text declares no such
                               constant */
  const void *weights;     /* value of this constant: weight_bytes bytes */
  size_t weight_bytes;
} Code;

/* ---- code for devices whose drivers take no text ---- */
typedef struct Image {     /* a file of the bundle with compiled kernels */
  uint32_t kind, arch;     /* kind of image and architecture, with values as in tgcrt_image */
  const char *end;         /* end of the file's name, such as "_sm_80.cubin" */
  Bytes bytes;             /* no bytes: the bundle's build files make this file */
} Image;
typedef struct FunctionUse { /* registers and memory of a function on one architecture */
  const char *function;
  uint32_t arch;
  int64_t registers, local_bytes, shared_bytes; /* registers: of a thread. local_bytes: memory of a thread, for spills and arrays.
                                                   shared_bytes: memory of a block */
} FunctionUse;
typedef struct Images {
  VEC(Image) list;
  VEC(FunctionUse) uses;   /* only for cubins; other images do not record registers and memory */
  const char *maker;       /* name and version of the compiler, such as "NVRTC 13.0" */
} Images;
/* `run` runs a compiler on a text. argv: the command; NULL ends it. In argv, "<" stands for a file with the text, and ">" for the
 * file that the compiler writes. Sets *made to the contents of the written file and returns 0. If this fails, returns an exit
 * code for tgc and sets *why to the reason. `arg` is the second argument of `run`. */
typedef struct Compiling {
  int (*run)(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);
  void *arg;
} Compiling;
typedef struct ImageOrder { /* a request for images of a text */
  const Target *target;
  const char *file;        /* name of the text, for messages */
  Bytes text;
  Emit emit;
  const char *archs;       /* architectures, such as "sm_75,sm_90"; NULL: the architecture of the target */
  bool keep_denormals;
  bool candidates;         /* true for the tuner: compile on all processors, make no fatbin, and do not warn about NVRTC */
  Compiling compiler;      /* runs a compiler if the library that usually compiles is missing; .run NULL: no compiler */
} ImageOrder;

/* A form of the code in a bundle, with texts for the bundle's build files. These texts say how the build makes a library and a
 * program from the code. In all texts, % stands for the bundle's name. */
typedef struct CodeForm {
  const char *word;                            /* value of --emit; NULL ends a list */
  Emit emit;
  const char *file;                            /* name of the file with the code */
  const char *rule;                            /* rule of the Makefile that makes an object from the code */
  /* For the Makefile. object: members of the library. archive: start of the command that makes the library. link: further inputs
   * of the linker */
  const char *object, *archive, *link;
  /* For CMake. source: sources of the library. properties: properties of the code file. library: further libraries to link */
  const char *source, *properties, *library;
  const char *custom;                          /* CMake command that makes the object, if CMake has no rule for the code file */
} CodeForm;

typedef enum {
  FILE_END,                /* ends a list */
  FILE_COPIED,             /* a copy of a file of runtime_stub */
  FILE_TEMPLATE,           /* a template of runtime_stub, filled in */
  FILE_CODE,               /* the code, in the requested form */
  FILE_VARIANTS,           /* for each machine of the bundle except the baseline: a file with this machine's kernels */
  FILE_IMAGES,             /* the files that the backend's `images` makes, and a file that embeds them. Without `images`: no
                              file */
  FILE_RUNTIME,            /* a copy of tgcrt_DEVICE.c of runtime_stub, where DEVICE is the backend's `device` */
  FILE_SCRIPT,             /* the backend's `script`, filled in. Without `script`: no file */
  FILE_BINDINGS,           /* a file for each language of --bindings, with the bundle's interface */
  FILE_WEIGHTS,            /* the weights, or a file that embeds them, or both; no file if the code contains the weights */
} FileKind;
/* Which bundles have a file. ANYWHERE: all bundles. HOSTED: bundles for an operating system. BARE: bundles for machines without
 * an operating system */
typedef enum { ANYWHERE, HOSTED, BARE } FilePlace;
typedef struct FileRow {
  FileKind kind;
  const char *from;        /* FILE_COPIED, FILE_TEMPLATE: the file of runtime_stub */
  const char *name;        /* FILE_TEMPLATE: the file's name in the bundle; % is the bundle's name */
  FilePlace where;
} FileRow;

typedef struct Backend {
  const char *name;        /* such as "c" */
  const char *gloss;       /* the backend in words */
  /* ---- facts about the backend's bundles ---- */
  const char *comment[2];  /* start and end of a comment in the kernels' language. If the end is "", a comment ends with the
                              line */
  const char *model;       /* template of the text with the kernels, such as "net.c.in" */
  const CodeForm *forms;   /* forms of the code; .word NULL ends the list */
  Emit makes;              /* form of the code if --emit is not given */
  const FileRow *files;    /* files of a bundle, in order. FILE_END ends the list. Exactly one row has the kind FILE_CODE.
                              manifest.json has no row, and is written last */
  const FileRow *module_files; /* the files of a bundle with EMIT_WASM */
  const char *variant;     /* template of a file with the kernels of one machine; NULL: each bundle is for a single machine */
  const char *script;      /* template of a script that builds the bundle, such as build.sh.in; NULL: the bundle has no script */
  const char *isa;         /* name of the target if --isa is not given; NULL: the default of the command line */
  /* The fields from `driver` to `options` are for backends of devices. In backends for CPUs, they are NULL or false. */
  const struct DeviceDriver *driver; /* device_driver.h: functions by which tgc itself uses a device */
  const char *device;      /* word for the interface, such as "opencl". This word is in names of tgcrt_device.h, and replaces
                              @device@ in templates */
  const char *types;       /* a line for `tgc devices` about the supported types of elements */
  bool flushes;            /* true: a result may be zero in place of a denormal, even with --denormals=keep */
  const char *handle;      /* type of device memory in this interface, such as "cl_mem" */
  /* Compiles order->text for the requested architectures, and adds the images to *out, which the caller frees. Returns NULL, or
   * the reason why the compiler refuses the text. If the driver compiles the text, `images` itself is NULL. */
  const char *(*images)(Ctx *c, const ImageOrder *order, Images *out);
  const char *compilers;   /* text for `tgc devices`: the compilers that `images` uses */
  const char *(*flags)(Ctx *c, const ImageOrder *order); /* returns the flags of the compiler that builds the bundle. If
                                                              `flags` itself is NULL, the flags are Target.cflags */
  /* Returns the bytes of a context's memory on the host (TGCRT_OPENCL_BYTES in tgcrt_device.h), for a model with these numbers of
   * launches, inputs, outputs and states. */
  size_t (*host_bytes)(size_t launches, size_t inputs, size_t outputs, size_t states);
  /* `pragmas` appends lines that stand before the kernels. `options` appends options for the driver's compiler. Each of the two
   * is NULL if there is nothing to append. needs: TGCRT_NEEDS_ bits */
  void (*pragmas)(const Target *t, uint32_t needs, Sb *out);
  void (*options)(const Target *t, bool keep_denormals, Sb *out);
  bool sizes;              /* true: loops of the kernels can end at sizes of the run (--dim NAME=LOW:HIGH) */
  bool is_c;               /* true: the text is C, so the tuner compiles candidates with the C compiler */
  bool schedules;          /* true: the backend's compiler can order instructions for the CPU that --cpu names */
  /* ---- support of operations ---- */
  const struct Dialect *dialect; /* spellings of the language (backends/dialect.h); NULL: the language is not like C */
  /* Whether the language has the op for vectors of `lanes` lanes; if not, legalize.c splits the vectors. d: type of the result.
   * operand: type of the first operand; for a WHERE, type of the selected values; for a DOT, type of the factors. For a LOAD:
   * whether threads of a device load and store such vectors; d and operand are the type of an element */
  bool (*supports)(const Target *t, Op op, DType d, DType operand, int lanes);
  /* Appends the source text of kernel number k. For a CPU, this is a function with the number k in its name, such as k7. For a
   * device, there is a function for each launch, with KERNEL_NUMBER in place of the number. Kernels with equal texts share
   * functions. For a CPU, texts are compared from the first '(' on. */
  void (*kernel)(const struct Plan *p, int k, const Target *t, Sb *out);
  void (*prelude)(const struct Plan *p, const Target *t, Sb *out); /* appends helpers that the kernels need */
  /* ---- functions in this process; NULL: not available ---- */
  /* Compiles the model's text to an object file or, with `assembly`, to assembly text. The bytes lie in c->model. Equal inputs
   * give equal bytes. If the user of the bundle compiles the text, `build` itself is NULL. */
  Bytes (*build)(Ctx *c, const Target *t, const Code *code, bool assembly);
  /* Compiles and loads the kernels of a plan. For kernel number I, the loaded code has a function void cI(void *const *buffers),
   * which runs all chunks of the kernel. buffers[i] is the memory of the buffer Kernel.bufs.p[i]. If the kernel uses sizes of the
   * run, buffers[] has one more element, the table of sizes. */
  struct LoadedCode *(*load)(Ctx *c, const struct Plan *p, const Target *t, OptLevel opt_level);
  void *(*symbol)(struct LoadedCode *code, const char *name); /* address of the function with this name, such as "c0" */
  const char *(*version)(Ctx *c); /* returns name and version of the compiler that `load` or `images` uses; NULL if there is no
                                     such compiler */
} Backend;
extern const Backend *const backends[]; /* ends with NULL */
#endif

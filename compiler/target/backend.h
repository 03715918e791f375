/* backend.h: what a backend is: a row of facts, and the functions that write its text. The compiler, the bundle and the command
 * line ask the row; they never ask which backend it is. docs/adding-a-backend.md says how to add one. */
#ifndef TGC_BACKEND_H
#define TGC_BACKEND_H
#include "target.h"

struct Plan;
/* In the text of a device's kernel: the number of the kernel whose function it is. No language has this character. */
enum { KERNEL_NUMBER = 1 };
typedef enum { EMIT_TEXT, EMIT_ASM, EMIT_OBJ, EMIT_LIB, EMIT_SO } Emit; /* what a bundle holds of the code */
typedef enum { OPT_FULL, OPT_FAST } OptLevel; /* as in bundles; compiled in less time, and a little slower to run */
typedef struct Code {
  const char *text;        /* with a NUL behind its n bytes */
  size_t n;
  const char *weights_name; /* of a constant that the text declares and that is these bytes; NULL: none */
  const void *weights;
  size_t weight_bytes;
} Code;

/* ---- code for devices whose drivers take no text ---- */
typedef struct Image {     /* the kernels, compiled, in a file of the bundle */
  uint32_t kind, arch;     /* as in tgcrt_image */
  const char *end;         /* the file's name ends in it: "_sm_80.cubin" */
  Bytes bytes;
} Image;
typedef struct FunctionUse { /* registers and memory that a function takes on one architecture */
  const char *function;
  uint32_t arch;
  int64_t registers, local_bytes, shared_bytes; /* local: of a thread, for spills and arrays; shared: of a block */
} FunctionUse;
typedef struct Images {
  VEC(Image) list;
  VEC(FunctionUse) uses;   /* where images say it */
  const char *maker;       /* the compiler, with its version: "NVRTC 13.0" */
} Images;
/* Runs a compiler on a text. In argv, which ends with a NULL, "<" stands for a file with the text and ">" for the one that the
 * compiler makes. 0, or the exit code and *why */
typedef struct Compiling {
  int (*run)(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why);
  void *arg;
} Compiling;
typedef struct ImageOrder {
  const Target *target;
  const char *file;        /* name of the text, for messages */
  Bytes text;
  Emit emit;
  const char *archs;       /* "sm_75,sm_90"; NULL: the target's own */
  bool keep_denormals;
  Compiling compiler;
} ImageOrder;

/* One form of the code in a bundle, and how the bundle's build files come from it to a library and a program. In all texts %
 * is the bundle's name. */
typedef struct CodeForm {
  const char *word;                            /* of --emit; NULL ends a list */
  Emit emit;
  const char *file;
  const char *rule;                            /* of the Makefile, that makes an object */
  const char *object, *archive, *link;         /* what to archive, how an archive begins, what to link beside it */
  const char *source, *properties, *library;   /* the same for CMake */
  const char *custom;                          /* and how the object is made, where CMake does not know */
} CodeForm;

typedef enum {
  FILE_END,                /* of a list */
  FILE_COPIED,             /* a file of runtime_stub as it is */
  FILE_TEMPLATE,           /* one with its words filled in */
  FILE_CODE,               /* the code, in the form that was asked for */
  FILE_VARIANTS,           /* kernels for further machines, where there are any: one file a machine */
  FILE_IMAGES,             /* the code, compiled by the backend's `images`, and a file that embeds it; none without `images` */
  FILE_RUNTIME,            /* tgcrt_DEVICE.c of runtime_stub, named by the backend's `device` */
  FILE_SCRIPT,             /* the backend's `script`, filled in */
  FILE_WEIGHTS,            /* the weights, and what embeds them; none where the code holds them */
} FileKind;
typedef struct FileRow {
  FileKind kind;
  const char *from;        /* FILE_COPIED, FILE_TEMPLATE: the file of runtime_stub */
  const char *name;        /* FILE_TEMPLATE: in the bundle, % is the bundle's name */
} FileRow;

typedef struct Backend {
  const char *name;        /* "c" */
  const char *gloss;
  /* ---- facts of its bundles ---- */
  const char *comment[2];  /* how a comment begins and ends in the language of its kernels */
  const char *model;       /* template of the text that holds the kernels: "net.c.in" */
  const CodeForm *forms;   /* of the code; .word NULL ends them */
  Emit makes;              /* without --emit */
  const FileRow *files;    /* of a bundle, in order, with one FILE_CODE; FILE_END ends them. manifest.json comes last */
  const char *variant;     /* template of a file with one machine's kernels; NULL: a bundle is for one machine */
  const char *script;      /* build.sh.in, a template of build.sh; NULL: the bundle has no script */
  const char *isa;         /* the machine without --isa; NULL: the command line's */
  /* of backends for machines with a Device, whose driver takes the text where the bundle runs; NULL: the code runs on the CPU */
  const struct DeviceDriver *driver; /* device_driver.h: to time kernels with, and to say which device it has */
  const char *device;      /* the driver's interface, in names of tgcrt_device.h, and the word .name: "opencl" */
  const char *types;       /* which of the types of elements it has, and how; a line of `tgc devices` */
  bool flushes;            /* denormals may be zero, whatever --denormals says */
  const char *handle;      /* what memory of the device is in this interface: "cl_mem" */
  /* compiles for the architectures that are asked for; *out is empty before, and to be freed. NULL: the driver compiles */
  void (*images)(Ctx *c, const ImageOrder *order, Images *out);
  const char *compilers;   /* names of those that `images` asks, for `tgc devices` */
  const char *(*flags)(Ctx *c, const ImageOrder *order); /* likewise of the compiler where the bundle goes; NULL: the target's */
  size_t (*host_bytes)(size_t launches, size_t inputs, size_t outputs, size_t states); /* memory of a context on the host */
  /* lines before the kernels, and options of the driver's compiler; NULL: there are none. needs: TGCRT_NEEDS_ */
  void (*pragmas)(const Target *t, uint32_t needs, Sb *out);
  void (*options)(const Target *t, bool keep_denormals, Sb *out);
  bool is_c;               /* its text is C: where a compiler is wanted, for the tuner's candidates, it is the C compiler */
  bool schedules;          /* what makes its code orders instructions for one CPU, if it is named: --cpu */
  /* ---- what it can say ---- */
  const struct Dialect *dialect; /* spellings of a language like C (backends/dialect.h); NULL: another kind of language */
  /* op has a form for so many lanes: what has none is taken apart (legalize.c). d: the result's type */
  bool (*supports)(const Target *t, Op op, DType d, DType operand, int lanes);
  /* one kernel as source text: a function whose name is k and the kernel's number, up to the first '('. Kernels whose texts are
   * equal from there on share one function. With a device: functions whose names have KERNEL_NUMBER in the number's place */
  void (*kernel)(const struct Plan *p, int k, const Target *t, Sb *out);
  void (*prelude)(const struct Plan *p, const Target *t, Sb *out); /* helpers the kernels need, once */
  /* ---- what it can do in this process; NULL: it cannot ---- */
  /* an object file, or assembly, of the model's text: the same bytes each time, in c->model. NULL: it is compiled
   * where the bundle goes */
  Bytes (*build)(Ctx *c, const Target *t, const Code *code, bool assembly);
  /* the kernels of a plan in this process, each with a function void cI(void *const *buffers), which does all of its
   * chunks with those of Kernel.bufs */
  struct LoadedCode *(*load)(Ctx *c, const struct Plan *p, const Target *t, OptLevel opt_level);
  void *(*symbol)(struct LoadedCode *code, const char *name);
  const char *(*version)(Ctx *c); /* of what makes the code of load; NULL: it is not here */
} Backend;
extern const Backend *const backends[]; /* NULL ends it */
#endif

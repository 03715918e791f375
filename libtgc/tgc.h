/* SPDX-License-Identifier: MIT */
/* tgc.h: libtgc, the compiler as a library. The library reads a model from a file, and makes a bundle in memory or in a folder. A
 * bundle consists of the files that a compilation makes: code, a header, weights and build files. docs/libtgc.md is the manual,
 * with an example.
 *
 * A tgc is one compilation, with options, a model and a bundle. Several tgcs may exist at the same time. Different threads may
 * use different tgcs at the same time, but two threads must not use the same tgc at the same time. The library never ends the
 * process, prints nothing, and installs no signal handler.
 *
 * Functions of type int return a status, unless their comments say otherwise. A status is TGC_OK or another number of the list
 * below. Any status except TGC_OK is a failure. Before a failure other than TGC_FAILED is returned, the library passes at least
 * one error message to the listener (tgc_listen). TGC_FAILED may come without a message: the report of tgc_verify says which
 * outputs differ. A tgc may be used again after a failure, except after TGC_BUG and after a lack of memory. After either of these
 * failures, call only tgc_free, which may leave some memory allocated.
 *
 * All texts end with a zero byte. They are UTF-8, except that names in a model may be other bytes. The memory behind a pointer
 * that a function returns or fills in belongs to the tgc. The pointer is valid until tgc_free, unless the function's comment
 * names an earlier end.
 *
 * tgc_verify starts child processes and waits for them. So does tgc_compile, if the option `emit` is `so` or `wasm` or if the
 * bundle has kernels for GPUs. While tgc_verify or tgc_compile runs, no other thread may call waitpid(-1), which waits for any
 * child. Temporary files are in a new folder in $TMPDIR. */
#ifndef TGC_H
#define TGC_H
#include <stddef.h>
#include <stdint.h>
#if defined __GNUC__
#define TGC_PUBLIC __attribute__((visibility("default")))
#else
#define TGC_PUBLIC
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TGC_ABI 1 /* version of the interface; it changes if old callers break, and is a part of the library's soname */

typedef struct tgc tgc;

/* The statuses, which equal the exit codes of the program tgc. The numbers never change. */
enum {
  TGC_OK = 0,
  TGC_FAILED = 1,      /* tgc_verify found that outputs differ, or that the model returned an error status */
  TGC_USAGE = 64,      /* an option, the value of an option, or an argument is wrong */
  TGC_BAD_MODEL = 65,  /* the model is invalid, unsupported, or over a limit, or memory ran out */
  TGC_NO_INPUT = 66,   /* an input file cannot be read */
  TGC_MISSING = 69,    /* a device or tool is missing */
  TGC_BUG = 70,        /* a bug in tgc */
  TGC_NO_WRITE = 73,   /* output cannot be written */
  TGC_RETRY = 75       /* a temporary failure: try again later */
};

/* The version of the library: "0.1.0" */
TGC_PUBLIC const char *tgc_version(void);

/* tgc_new returns a compilation with all options at their defaults; NULL if memory ran out. tgc_free frees a compilation; t may
 * be NULL. */
TGC_PUBLIC tgc *tgc_new(void);
TGC_PUBLIC void tgc_free(tgc *t);

/* ---- messages ---- */
enum { TGC_ERROR = 1, TGC_WARNING = 2 };
typedef struct tgc_message {
  int level;           /* TGC_ERROR or TGC_WARNING */
  const char *file;    /* the model's path as it was given; NULL: the message is not about the model */
  const char *node;    /* node of the model: "node 17 'conv1' (Conv, opset 11)"; NULL: the message is not about a node */
  int line, column;    /* place in a text file, counted from 1; 0: the message has no such place */
  const char *text;    /* the message, without a full stop: "group 3 does not divide 64 channels" */
} tgc_message;

/* Sets the listener of t: the function f, which gets all later messages about t. The library calls f with arg and a message. *m
 * and the texts in *m are valid until f returns. f must return (no longjmp), and must not call functions of this library for t.
 * If f is NULL, which is the default, messages are dropped. */
typedef void tgc_listener(void *arg, const tgc_message *m);
TGC_PUBLIC void tgc_listen(tgc *t, tgc_listener *f, void *arg);

/* ---- input ---- */
/* Sets an option. Options have the names of the command line: tgc_set(t, "isa", "native"). `tgc help compile` and
 * `tgc help verify` list the options. value is NULL for an option without a value. If an option may be repeated, each call adds a
 * value; for any other option the last value counts. Options that say where or how the program tgc prints, such as `output`,
 * `json` and `explain`, are refused. Both texts are copied. tgc_load, tgc_compile and tgc_verify refuse options that exclude each
 * other. */
TGC_PUBLIC int tgc_set(tgc *t, const char *option, const char *value);

/* Reads a model from an .onnx or .tg file. Fails if the model is invalid or unsupported. tgc_compile, not tgc_load, checks limits
 * that depend on the generated code. The previous model and bundle of t are dropped. */
TGC_PUBLIC int tgc_load(tgc *t, const char *path);

enum { TGC_INPUT, TGC_OUTPUT, TGC_STATE };
typedef struct tgc_value {
  const char *name;    /* as in the model */
  const char *type;    /* "f32", "i64", "bool", ... */
  int rank;
  const int64_t *dims; /* rank numbers */
} tgc_value;

/* Fills in *v for an input, an output or a state of the loaded model. kind: TGC_INPUT, TGC_OUTPUT or TGC_STATE. i: number of the
 * input, output or state, from 0. The pointers in *v are valid until the next tgc_load, tgc_compile or tgc_verify. Returns 1. If
 * the model has no value with this kind and number, or if no model is loaded, returns 0 and leaves *v as it was. */
TGC_PUBLIC int tgc_describe(const tgc *t, int kind, size_t i, tgc_value *v);

/* ---- output ---- */
/* Compiles the model to a bundle in memory. The previous bundle of t is dropped. */
TGC_PUBLIC int tgc_compile(tgc *t);

typedef struct tgc_file {
  const char *name;    /* "net.c"; with the option `package`, the name may have folders: "zephyr/module.yml" */
  const void *data;
  size_t bytes;
} tgc_file;

/* Fills in *f for file number i, from 0, of the bundle. The pointers in *f are valid until the next tgc_load or tgc_compile.
 * Returns 1. If there is no such file, returns 0 and leaves *f as it was. */
TGC_PUBLIC int tgc_bundle_file(const tgc *t, size_t i, tgc_file *f);

/* Writes the bundle into a folder. A bundle that is already there stays until the new bundle is complete. Fails if the folder
 * has other files and no bundle. */
TGC_PUBLIC int tgc_write(tgc *t, const char *folder);

/* ---- check ---- */
/* Makes a separate bundle, for the machine for which tgc_compile compiles. Builds this bundle with the C compiler, and runs it in
 * a child process. Compares the outputs with the expected outputs that the option `data` gives. Without `data`, compares the
 * outputs with outputs of the interpreter. Returns TGC_FAILED if outputs differ. *report gets the text that
 * `tgc verify --json` prints, or NULL if tgc_verify fails before it builds the bundle. The text is valid until tgc_free. report
 * may be NULL. The bundle of tgc_compile stays as it is. */
TGC_PUBLIC int tgc_verify(tgc *t, const char **report);

#ifdef __cplusplus
}
#endif
#endif

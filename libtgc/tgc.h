/* SPDX-License-Identifier: MIT */
/* tgc.h: libtgc, the compiler as a library: from a model in a file to a bundle in memory or in a folder. docs/libtgc.md is its
 * manual, with an example.
 *
 * A tgc is a compilation: its options, its model, its bundle. Several may exist at the same time. Different threads may use
 * different ones at the same time, but each is for one thread at a time. The library never ends the process, prints nothing,
 * and installs no signal handler.
 *
 * Functions that can fail return a status, TGC_OK or another one of the list below. Before a function returns a failure, the
 * function that tgc_listen set gets at least one error message. A tgc may be used again after a failure. Exceptions are TGC_BUG
 * and a lack of memory: after these call tgc_free, which then may leave some memory behind.
 *
 * All texts end with a zero byte, and are UTF-8 unless a name of the model is not. A pointer that a function returns or fills in
 * belongs to the tgc. It is valid until tgc_free, or until the next call of a function that the comment names.
 *
 * tgc_verify starts child processes and waits for them, and so do options that need a C compiler or a linker (emit=so and
 * emit=wasm). Meanwhile no other thread may wait for any child (waitpid(-1)). Temporary files are in a new folder in $TMPDIR. */
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

#define TGC_ABI 1 /* changes if old callers break; the soname has it */

typedef struct tgc tgc;

/* The exit codes of the program tgc. The numbers never change. */
enum {
  TGC_OK = 0,
  TGC_FAILED = 1,      /* tgc_verify: outputs differ, or the model returned an error status */
  TGC_USAGE = 64,      /* an option, its value or an argument is wrong */
  TGC_BAD_MODEL = 65,  /* the model is invalid, unsupported, or over a limit, or memory ran out */
  TGC_NO_INPUT = 66,   /* an input file cannot be read */
  TGC_MISSING = 69,    /* a device or tool is missing */
  TGC_BUG = 70,        /* a bug in tgc */
  TGC_NO_WRITE = 73,   /* output cannot be written */
  TGC_RETRY = 75       /* a temporary failure: try again later */
};

/* The version of the library: "0.1.0" */
TGC_PUBLIC const char *tgc_version(void);

/* A compilation with all options at their defaults; NULL: memory ran out. tgc_free releases it; it takes NULL, too. */
TGC_PUBLIC tgc *tgc_new(void);
TGC_PUBLIC void tgc_free(tgc *t);

/* ---- messages ---- */
enum { TGC_ERROR = 1, TGC_WARNING = 2 };
typedef struct tgc_message {
  int level;           /* TGC_ERROR or TGC_WARNING */
  const char *file;    /* the model's path as it was given; NULL: the message is not about the model */
  const char *node;    /* "node 17 'conv1' (Conv, opset 11)"; NULL: no node */
  int line, column;    /* place in a text file, from 1; 0: none */
  const char *text;    /* without a full stop: "group 3 does not divide 64 channels" */
} tgc_message;

/* From here on f gets each message, during the call that causes it. The record and its texts are valid until f returns. f must
 * not call functions of this library for t, and must return. NULL, as at first: messages are dropped. */
typedef void tgc_listener(void *arg, const tgc_message *m);
TGC_PUBLIC void tgc_listen(tgc *t, tgc_listener *f, void *arg);

/* ---- input ---- */
/* Sets an option by its name on the command line: tgc_set(t, "isa", "native"). `tgc help compile` and `tgc help verify` list the
 * options. value: NULL for an option that takes none. An option that may be repeated gets one more value each time; any other one
 * gets a new value. Options that only print are refused, and so are `output`, `json` and `explain`. Texts are copied. Values that
 * exclude each other are found later, by tgc_load, tgc_compile and tgc_verify. */
TGC_PUBLIC int tgc_set(tgc *t, const char *option, const char *value);

/* Reads a model, .onnx or .tg, and refuses an invalid or unsupported one. Some limits can be checked only while code is made;
 * tgc_compile checks these. The previous model and bundle are dropped. */
TGC_PUBLIC int tgc_load(tgc *t, const char *path);

enum { TGC_INPUT, TGC_OUTPUT, TGC_STATE };
typedef struct tgc_value {
  const char *name;    /* as in the model */
  const char *type;    /* "f32", "i64", "bool", ... */
  int rank;
  const int64_t *dims; /* rank numbers */
} tgc_value;

/* Describes input, output or state number i, from 0, of the model that was loaded. Its pointers are valid until the next
 * tgc_load, tgc_compile or tgc_verify. Returns 1; 0: there is no such value, and *v is not changed. */
TGC_PUBLIC int tgc_describe(const tgc *t, int kind, size_t i, tgc_value *v);

/* ---- output ---- */
/* Compiles the model to a bundle in memory. It drops the previous bundle. */
TGC_PUBLIC int tgc_compile(tgc *t);

typedef struct tgc_file {
  const char *name;    /* a plain file name: "net.c" */
  const void *data;
  size_t bytes;
} tgc_file;

/* File number i, from 0, of the bundle; its pointers are valid until the next tgc_load or tgc_compile. Returns 1; 0: there is no
 * such file, and *f is not changed. */
TGC_PUBLIC int tgc_bundle_file(const tgc *t, size_t i, tgc_file *f);

/* Writes the bundle into a folder. The bundle that was there stays until the new one is complete. A folder that is neither empty
 * nor a bundle is refused. */
TGC_PUBLIC int tgc_write(tgc *t, const char *folder);

/* ---- check ---- */
/* Compiles the model, for the machine that tgc_compile would take. Builds it with the C compiler and runs it in a child
 * process. Compares its outputs with those of the option data, or of the interpreter. TGC_FAILED: they differ. *report gets the
 * report of `tgc verify --json` as text, valid until tgc_free; NULL after any other failure. report may be NULL. The bundle of
 * tgc_compile stays as it is. */
TGC_PUBLIC int tgc_verify(tgc *t, const char **report);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/* support.h: the base of all other code: arenas, vectors, interned strings, checked sizes, diagnostics, files. All state is in a
 * Ctx, with two exceptions: the state of signal handlers, and the Ctx that a thread has given to ctx_enter. */
#ifndef TGC_SUPPORT_H
#define TGC_SUPPORT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TGC_VERSION "0.1.0"

/* ---- exit codes; docs/bundle.md and the man page have this table ---- */
enum {
  EX_DONE = 0,      /* everything asked for was done */
  EX_FAILED = 1,    /* a check failed: outputs differ, or the model returned an error status */
  EX_USAGE_ = 64,   /* the command line is wrong */
  EX_BADMODEL = 65, /* invalid or unsupported model, or a limit was exceeded */
  EX_NOINPUT_ = 66, /* an input file cannot be read */
  EX_MISSING = 69,  /* a device or a tool is missing */
  EX_BUG = 70,      /* a bug in tgc */
  EX_NOWRITE = 73,  /* output cannot be written */
  EX_RETRY = 75,    /* try again later */
  EX_SIGNAL = 128   /* plus a signal's number: this signal ended tgc, after tgc had cleaned up */
};

/* ---- arenas: all memory of an arena is freed in one call (arena.c) ---- */
typedef struct ArenaBlock ArenaBlock;
typedef struct Arena {
  ArenaBlock *blocks; /* newest first */
  char *at, *end;     /* free part of the newest block */
  size_t total;       /* bytes that arena_alloc has given out */
} Arena;

void *arena_alloc(Arena *a, size_t bytes);            /* zeroed, aligned to 16 bytes; never NULL */
void *arena_dup(Arena *a, const void *p, size_t bytes); /* a copy */
char *arena_str(Arena *a, const char *s, size_t n);   /* a copy of n bytes, with a NUL at the end */
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *count_noun(Arena *a, int64_t n, const char *noun); /* "1 kernel", "2 kernels" */
void arena_free(Arena *a);                            /* frees all memory of the arena. The arena can be used again */
#define ARENA_NEW(a, T, n) ((T *)arena_alloc((a), size_mul(sizeof(T), (size_t)(n))))

/* As malloc, calloc and realloc. If memory is lacking, these functions call out_of_memory and do not return. */
void *xmalloc(size_t bytes);
void *xcalloc(size_t n, size_t bytes); /* zeroed */
void *xrealloc(void *p, size_t bytes);

/* ---- growable arrays: VEC(int) v = {0}; VEC_PUSH(&v, 3); v.p[i], v.n; VEC_FREE(&v) ---- */
#define VEC(T) struct { T *p; size_t n, cap; }
#define VEC_PUSH(v, x) (vec_grow((void **)&(v)->p, &(v)->cap, (v)->n + 1, sizeof *(v)->p), (v)->p[(v)->n++] = (x))
#define VEC_FREE(v) (vec_free((void **)&(v)->p), (v)->n = (v)->cap = 0)
int by_int64(const void *a, const void *b);  /* for sorting int64_t, ascending */
int by_double(const void *a, const void *b); /* for sorting numbers of type double, ascending */
#define VEC_SORT(v, compare) vec_sort((v)->p, (v)->n, sizeof *(v)->p, compare) /* as qsort; v may be empty */
void vec_grow(void **p, size_t *cap, size_t need, size_t elem); /* makes *cap at least `need`, in elements */
void vec_sort(void *p, size_t n, size_t elem, int (*compare)(const void *, const void *));
void vec_free(void **p);

/* ---- growable text: n bytes and a NUL, on the heap. sb_printf, sb_put and sb_puts append text. p is NULL before text is
 * appended. sb_free frees the text ---- */
typedef struct Sb { char *p; size_t n, cap; } Sb;
void sb_printf(Sb *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sb_put(Sb *s, const char *bytes, size_t n);
void sb_puts(Sb *s, const char *str);
void sb_free(Sb *s);
char *sb_keep(Sb *s, Arena *a);                        /* moves the text into an arena; s is empty afterwards, with p NULL */
bool starts_with(const char *s, const char *word);
int utf8_length(const char *s);                        /* number of bytes of the UTF-8 character at s; 0: invalid (RFC 3629) */

typedef struct Ctx Ctx;
/* ---- interned strings: equal texts have equal ids. The id of "" is 0. s may be NULL if n is 0 ---- */
typedef struct Interner Interner;
uint32_t intern(Ctx *c, const char *s, size_t n);
const char *intern_text(const Ctx *c, uint32_t id);
int word_index(const char *const *words, int n, const char *s); /* index of s in a table of n words; returns n if s is not
                                                                   there */

/* ---- suggestions (suggest.c) ---- */
const char *nearest_name(const char *word, const char *const *names, size_t n); /* the name most like word; NULL: no name is
                                                                                   similar */
const char *did_you_mean(Arena *a, const char *word, const char *const *names, size_t n); /* "; did you mean 'NAME'?", or "" */

/* ---- checked sizes: products of numbers that come from a model are computed by these functions ---- */
size_t size_mul(size_t a, size_t b);                   /* SIZE_MAX on overflow; arena_alloc refuses SIZE_MAX bytes */
bool i64_mul(int64_t a, int64_t b, int64_t *out);      /* sets *out to the product; returns false on overflow */
bool i64_add(int64_t a, int64_t b, int64_t *out);      /* sets *out to the sum; returns false on overflow */
int64_t i64_gcd(int64_t a, int64_t b);                 /* greatest common divisor, which must be less than 2^63; 0 if a and b are
                                                          0 */
static inline int64_t i64_floor_div(int64_t a, int64_t m) { return a / m - (a % m < 0); } /* m > 0 */

/* ---- the context of one compilation ---- */
typedef struct Limits {
  int64_t nodes;        /* nodes of the model, after functions are inlined */
  int64_t unroll;       /* nodes that unrolled copies add */
  int64_t nesting;      /* nesting depth of protobuf messages */
  int64_t decoded;      /* bytes of the decoded model; 0: 32 times the bytes of the file, plus 64 MiB */
  int64_t fold;         /* bytes of results of constant folding; 0: max(4 * bytes of tensors, 256 MiB) */
  int64_t fold_steps;   /* scalar evaluations of constant folding */
} Limits;

/* started: folding has begun. bytes, steps: how much of Limits.fold and Limits.fold_steps is left */
typedef struct FoldBudget { bool started; int64_t bytes, steps; } FoldBudget;

typedef struct Bytes { const uint8_t *p; size_t n; } Bytes;

/* A file that the model was read from. */
typedef struct SourceFile {
  const char *location;    /* the name that the model has for the file; NULL: the model file itself */
  Bytes all;               /* lives as long as the compilation */
  char sha256[65];         /* "": not computed yet */
} SourceFile;

/* A position in the user's input */
typedef struct Pos {
  const char *node;     /* "node 17 'conv1' (Conv, opset 11)"; NULL: none */
  int line, col;        /* line and column of a text, from 1; 0: none */
  const char *src;      /* start of the line, for the caret; NULL: none */
} Pos;

struct Ctx {
  Arena model;          /* lives as long as the compilation */
  Interner *strings;
  Limits limits;
  FoldBudget fold;
  jmp_buf *trap;        /* where fail() jumps; set by ctx_try. NULL: fail() ends the program */
  int code;             /* exit code given to fail() */
  int errors;           /* number of errors, counted by error_at */
  int warnings;
  bool quiet, verbose;
  bool records;         /* messages are lines of JSON (docs/schema/message.schema.json) */
  FILE *err;            /* diagnostics go here: stderr, unless a test redirects them */
  /* Receives warnings and errors; must not call fail(). If `say` is set, notes are dropped. If `records` is true, warnings and
   * errors go to err instead. NULL: all messages go to err */
  void (*say)(void *arg, bool warning, Pos at, const char *text);
  void *say_arg;
  bool copies;          /* files are copied, not mapped: no handler of SIGBUS is installed */
  bool over_progress;   /* err is a terminal: each message first erases the progress line */
  bool colored;         /* messages to err have colours */
  Interner *warned;     /* the warnings so far; each warning is printed once */
  /* Called often during long work; may be NULL. stage: the current part of the work, or "". share: how much of the work is
   * done, 0 to 1; negative: not known */
  void (*progress)(void *arg, const char *stage, double share);
  void *progress_arg;
  struct Mapping *maps; /* file mappings, released by ctx_free */
  const struct Tunables *tunables; /* cost/tunable.h; NULL: the defaults */
  const char *file;     /* prefix of messages: the model's path as given */
  VEC(SourceFile) sources;
};

static inline void ctx_progress(const Ctx *c, const char *stage, double share) {
  if (c->progress) c->progress(c->progress_arg, stage, share);
}
_Noreturn void out_of_memory(size_t bytes);
void ctx_init(Ctx *c);
void ctx_free(Ctx *c);

/* After this call, a bug or a lack of memory in this thread ends the innermost ctx_try of c. c NULL: a bug or a lack of memory
 * ends the program. Returns the context of the previous call in this thread, or NULL. */
Ctx *ctx_enter(Ctx *c);
/* Runs fn(c, arg). Returns 0, or the exit code given to fail(). Calls may nest. */
int ctx_try(Ctx *c, void (*fn)(Ctx *, void *), void *arg);

/* Messages begin in lower case and end without full stop. They first say what is wrong, and quote names. The functions below
 * escape control characters, so callers may print strings of the model. A warning that was given before is not printed again. If
 * c->quiet is set, warnings and notes are dropped. */
/* Prints a note: a message that is no error and not about the input. warn_at prints a warning about the input. */
void note(Ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes a message as a record: a line of JSON. fmt: the format that the text was made from. code: an exit code,
 * MESSAGE_WARNING or MESSAGE_NOTE */
enum { MESSAGE_WARNING = -1, MESSAGE_NOTE = -2 };
void message_record(FILE *f, int code, const char *file, Pos at, const char *fmt, const char *text);
void warn_at(Ctx *c, Pos at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void error_at(Ctx *c, Pos at, const char *fmt, ...) __attribute__((format(printf, 3, 4))); /* counts the error and returns */
_Noreturn void fail_at(Ctx *c, int code, Pos at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
_Noreturn void fail(Ctx *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void fail_silent(Ctx *c, int code);          /* prints nothing: error_at has reported everything */
_Noreturn void bug(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define BUG(...) bug(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(x) ((x) ? (void)0 : BUG("%s", #x))

/* ---- files (file.c) ---- */
/* The contents of a regular file, in c->model. Fails with EX_BADMODEL if the file has more than `limit` bytes (0: no limit).
 * Fails with EX_NOINPUT_ if the file is not a regular file, or cannot be read. */
Bytes file_read(Ctx *c, const char *path, size_t limit);
Bytes file_map(Ctx *c, int fd, size_t off, size_t n);    /* n bytes from offset `off` on, as a read-only mapping, which
                                                            ctx_free unmaps; if c->copies is set, as a copy */
/* Fails if a mapped file has become shorter; must be called before results are published. */
void files_check(Ctx *c);
void files_unmap(Ctx *c);                                /* for ctx_free */
int file_write(const char *path, const void *p, size_t n); /* writes and calls fsync(). Returns 0, or -1 and sets errno */
int file_write_briefly(const char *path, const void *p, size_t n); /* as file_write, but without fsync(); for files of a scratch
                                                                       folder */
void file_put(Ctx *c, const char *path, const void *p, size_t n);     /* as file_write, but fails with EX_NOWRITE */
/* Fails if path is a folder, a device that cannot be written, or a file whose folder cannot be written. Writes nothing. To be
 * called before long work, if file_replace will write the file after the work. */
void file_expect(Ctx *c, const char *path);
void file_replace(Ctx *c, const char *path, const void *p, size_t n); /* as file_put, but an old file stays until the new file is
                                                                         complete; a device is written directly */

/* ---- files embedded in the program (tools/embed.sh, from runtime_stub, cmd/probe and cmd/page) ---- */
typedef struct Embedded { const char *name, *p; size_t n; } Embedded; /* n bytes, then a NUL */
extern const Embedded embedded_files[];                 /* .name NULL ends the list */
const Embedded *embedded_file(const char *name);        /* the file with this name, which must exist */

/* ---- SHA-256 as 64 hex digits and a NUL ---- */
void sha256_hex(const void *p, size_t n, char out[65]);
void source_add(Ctx *c, const char *location, Bytes all); /* adds to c->sources; replaces the file with the same location */
const char *source_sha256(Ctx *c, size_t i);              /* digest of c->sources.p[i] */

#endif

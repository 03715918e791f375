/* SPDX-License-Identifier: MIT */
/* side_build.c: builds a variant of a model in less time than its bundle takes. Variants of a model have most kernels in common.
 * So each kernel's function is compiled apart from the code that calls it, once in all variants. The files of kernels are
 * compiled side by side. Flags are those of the bundle; a kernel is not inlined there either.
 *
 * needs: a bundle's C source in a folder    gives: a shared object    keeps: the bundle */
#include "sides.h"
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char MARK[] = "TGC_KERNEL void k"; /* begins a kernel's function; "\n}\n" ends it */
enum { SYMBOL_DIGITS = 24, LEAST_TEXT = 20000, MOST_FILES = 64 }; /* LEAST_TEXT: bytes of a file that is worth a process */

typedef struct KernelText {
  const char *text;        /* from "void" on */
  size_t n, head;          /* bytes; and of those before the body */
  char symbol[SYMBOL_DIGITS + 2];
  int file;                /* the new file that has it; -1: none */
} KernelText;
typedef VEC(KernelText) KernelTexts;

typedef struct Split {
  KernelTexts all;
  Sb main;                 /* the source, with declarations in place of functions */
  const char *source;
  size_t prelude;          /* bytes of the source before the first function */
} Split;

/* The name depends on the text without the function's name and line breaks, so equal code has equal names in all variants. */
static void name_function(KernelText *f) {
  Sb s = { 0 };
  char digest[65];
  for (const char *at = strchr(f->text, '('); at < f->text + f->n; at++)
    if (!isspace((unsigned char)*at)) sb_put(&s, at, 1);
    else if (!isspace((unsigned char)at[-1])) sb_puts(&s, " ");
  sha256_hex(s.p, s.n, digest);
  sb_free(&s);
  snprintf(f->symbol, sizeof f->symbol, "k%.*s", SYMBOL_DIGITS, digest);
}

static void put_declaration(const KernelText *f, Sb *o) {
  sb_printf(o, "__attribute__((visibility(\"hidden\"))) %.*s __asm__(\"%s\");\n", (int)f->head, f->text, f->symbol);
}

static bool split(const char *source, Split *out) {
  const char *at = source, *next;
  *out = (Split){ .source = source };
  for (; (next = strstr(at, MARK)); at = next) {
    const bool kernel = isdigit((unsigned char)next[sizeof MARK - 1]);
    const char *open = kernel ? strchr(next, ')') : NULL, *end = open ? strstr(open, "\n}\n") : NULL;
    if (kernel && !end) return false;
    if (!kernel) end = next + sizeof MARK - 3;
    sb_put(&out->main, at, (size_t)((kernel ? next : end) - at));
    if (kernel) {
      const char *text = strstr(next, "void");
      end += 3;
      KernelText f = { .text = text, .n = (size_t)(end - text), .head = (size_t)(open + 1 - text), .file = -1 };
      if (!out->all.n) out->prelude = (size_t)(next - source);
      name_function(&f);
      put_declaration(&f, &out->main);
      VEC_PUSH(&out->all, f);
    }
    next = end;
  }
  sb_puts(&out->main, at);
  return out->all.n > 0;
}

/* ---- files of functions that no variant had before ---- */
static bool is_built(const Races *r, const char *symbol) {
  for (size_t i = 0; i < r->built.n; i++)
    if (!strcmp(r->built.p[i], symbol)) return true;
  return false;
}

static int by_length(const void *a, const void *b) {
  const KernelText *x = *(KernelText *const *)a, *y = *(KernelText *const *)b;
  return (x->n < y->n) - (x->n > y->n);
}

/* Deals new functions to files, the longest first, each to the shortest file. -> number of files */
static int deal(Ctx *c, Races *r, Split *s, int jobs) {
  VEC(KernelText *) fresh = { 0 };
  size_t length[MOST_FILES] = { 0 }, all = 0;
  for (size_t i = 0; i < s->all.n; i++) {
    KernelText *f = &s->all.p[i];
    if (is_built(r, f->symbol)) continue;
    VEC_PUSH(&r->built, arena_str(&c->model, f->symbol, strlen(f->symbol)));
    VEC_PUSH(&fresh, f);
    all += f->n;
  }
  if (fresh.n) VEC_SORT(&fresh, by_length);
  size_t files = all / LEAST_TEXT + 1;
  if (files > (size_t)jobs) files = (size_t)jobs;
  if (files > MOST_FILES) files = MOST_FILES;
  for (size_t i = 0; i < fresh.n; i++) {
    size_t least = 0;
    for (size_t k = 1; k < files; k++)
      if (length[k] < length[least]) least = k;
    fresh.p[i]->file = (int)least;
    length[least] += fresh.p[i]->n;
  }
  VEC_FREE(&fresh);
  return all ? (int)files : 0;
}

static const char *functions_text(Ctx *c, const Split *s, int file) {
  Sb o = { 0 };
  sb_put(&o, s->source, s->prelude);
  for (size_t i = 0; i < s->all.n; i++) {
    const KernelText *f = &s->all.p[i];
    if (f->file != file) continue;
    put_declaration(f, &o);
    sb_printf(&o, "__attribute__((visibility(\"hidden\"), noinline)) %.*s", (int)f->n, f->text);
  }
  return sb_keep(&o, &c->model);
}

/* ---- compilers side by side ---- */
typedef struct Job {
  const Races *r;
  const char *dir, *scratch, *source, *out;
  const Interface *f;
  const char *hooks;
  pid_t pid;
} Job;

static void compile(Ctx *c, void *arg) {
  const Job *j = arg;
  Texts more = { 0 };
  VEC_PUSH(&more, arena_printf(&c->model, "-I%s", j->dir));
  if (j->hooks) VEC_PUSH(&more, arena_printf(&c->model, "-DTGC_HOOKS=\"%s\"", j->hooks));
  VEC_PUSH(&more, j->source);
  object_build(c, j->r->o, j->scratch, j->out, j->f, &more);
}

static void start(Ctx *c, Job *j) {
  j->pid = child_start(c);
  if (j->pid) return;
  FILE *quiet = fopen("/dev/null", "w");
  if (quiet) c->err = quiet;
  _exit(ctx_try(c, compile, j) != 0);
}

/* A job with a folder of its own, for a text, or for a file of the bundle */
static Job job_of(Ctx *c, const Races *r, const char *dir, const Interface *f, const char *name, const char *text) {
  const char *own = arena_printf(&c->model, "%s/%s", dir, name);
  Job j = { .r = r, .dir = dir, .f = f, .scratch = own, .out = arena_printf(&c->model, "%s/made.o", own) };
  if (mkdir(own, 0700)) fail(c, EX_NOWRITE, "cannot create the folder '%s'", own);
  j.source = text ? arena_printf(&c->model, "%s/text.c", own) : arena_printf(&c->model, "%s/%s.c", dir, name + 1);
  if (text && file_write_briefly(j.source, text, strlen(text))) fail(c, EX_NOWRITE, "cannot write '%s'", j.source);
  return j;
}

/* Runs all jobs. The machine runs `most` at a time. */
static bool run_jobs(Ctx *c, Job *j, int n, int most) {
  bool good = true;
  for (int i = 0, ended = 0; ended < n; ended++) {
    for (; i < n && i - ended < most; i++) start(c, &j[i]);
    good &= child_wait(c, j[ended].r->o, j[ended].pid, "C compiler") == 0;
  }
  return good;
}

const char *side_build(Ctx *c, Races *r, const char *dir, const Interface *f, const char *hooks) {
  const char *dot = strrchr(f->code, '.');
  const bool plain = r->jobs > 0 && dot && !strcmp(dot, ".c") && f->sources.n == 1 && !f->variants.n;
  const char *path = arena_printf(&c->model, "%s/%s", dir, f->code);
  Split s;
  Job jobs[MOST_FILES + 4];
  int n = 0;
  if (!plain || !split((const char *)file_read(c, path, (size_t)1 << 30).p, &s)) return bundle_build(c, r->o, dir, dir, f, hooks);
  const int files = deal(c, r, &s, r->jobs);
  for (int i = 0; i < files; i++)
    jobs[n++] = job_of(c, r, dir, f, arena_printf(&c->model, "file%d", i), functions_text(c, &s, i));
  if (!r->objects.n) {
    jobs[n++] = job_of(c, r, dir, f, "-tgcrt", NULL);
    if (f->pool) jobs[n++] = job_of(c, r, dir, f, "-tgcrt_pool", NULL);
  }
  const int kept = n;
  jobs[n] = job_of(c, r, dir, f, "main", sb_keep(&s.main, &c->model));
  jobs[n++].hooks = hooks;
  VEC_FREE(&s.all);
  if (!run_jobs(c, jobs, n, r->jobs)) { /* the whole bundle tells what is wrong */
    r->jobs = 0;
    return bundle_build(c, r->o, dir, dir, f, hooks);
  }
  for (int i = 0; i < kept; i++) VEC_PUSH(&r->objects, jobs[i].out);
  Texts all = { 0 };
  VEC_PUSH(&all, jobs[kept].out);
  for (size_t i = 0; i < r->objects.n; i++) VEC_PUSH(&all, r->objects.p[i]);
  const char *so = shared_object(c, r->o, dir, dir, "model", f->cflags, f->target, &all);
  VEC_FREE(&all);
  return so;
}

void sides_close(Races *r) {
  VEC_FREE(&r->built);
  VEC_FREE(&r->objects);
}

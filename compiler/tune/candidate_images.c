/* SPDX-License-Identifier: MIT */
/* candidate_images.c: candidates' kernels for a device whose driver takes no text. They are compiled as those of a bundle
 * are, all of a round as one program. A child compiles it, because a compiler may crash or take too long. The images are
 * kept in a file of the session, named by the digest of the text. So the processes that run the kernels have no compiler
 * in them.
 *
 * needs: text of the kernels    gives: images, or why the compiler refuses the text    breaks: nothing */
#include "../bundle/bundle.h"
#include "batch.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Head { uint32_t kind, arch; uint64_t n; } Head; /* before an image in the file; the image and a NUL follow */
enum { STEP = 16 }; /* bytes; an image in the file, with its NUL, takes a multiple of them */

typedef struct Making {
  const Lab *lab;
  const char *text, *path;
  const char *why;
  NetImages *out;
} Making;

static size_t bytes_of(uint64_t n) { return (size_t)(n / STEP + 1) * STEP; }

ImageOrder candidate_order(const Lab *lab, const char *file, Bytes text) {
  return (ImageOrder){ .target = lab->target,
                       .file = file,
                       .text = text,
                       .emit = lab->backend->makes,
                       .archs = lab->archs,
                       .keep_denormals = lab->keep_denormals,
                       .candidates = true,
                       .compiler = lab->compiler };
}

static void compile(Ctx *c, void *arg) {
  static const char zeros[STEP] = "";
  Making *m = arg;
  const Lab *lab = m->lab;
  const ImageOrder order = candidate_order(lab, code_named(c, lab->backend->forms->file, "net"),
                                           (Bytes){ (const uint8_t *)m->text, strlen(m->text) });
  const char *part = arena_printf(&c->model, "%s.part", m->path);
  Images images = { 0 };
  Sb file = { 0 };
  m->why = lab->backend->images(c, &order, &images);
  for (size_t i = 0; i < images.list.n && !m->why; i++) {
    const Image *x = &images.list.p[i];
    const Head head = { x->kind, x->arch, x->bytes.n };
    sb_put(&file, (const char *)&head, sizeof head);
    sb_put(&file, (const char *)x->bytes.p, x->bytes.n);
    sb_put(&file, zeros, bytes_of(x->bytes.n) - x->bytes.n);
  }
  VEC_FREE(&images.list);
  VEC_FREE(&images.uses);
  if (m->why) return;
  file_put(c, part, file.p, file.n);
  sb_free(&file);
  if (rename(part, m->path)) fail(c, EX_NOWRITE, "cannot write '%s'", m->path);
}

static void take(Ctx *c, void *arg) {
  Making *m = arg;
  const Bytes file = file_read(c, m->path, 0);
  for (size_t at = 0; at + sizeof(Head) < file.n;) {
    Head head;
    memcpy(&head, file.p + at, sizeof head);
    at += sizeof head;
    VEC_PUSH(m->out, ((tgcrt_image){ head.kind, head.arch, file.p + at, (size_t)head.n }));
    at += bytes_of(head.n);
  }
}

/* A compiler that is missing is no candidate's fault: the search cannot go on. */
static void attempt(Ctx *c, void (*step)(Ctx *, void *), Making *m) {
  char *text = NULL;
  size_t n = 0;
  FILE *err = c->err;
  c->file = NULL;
  c->err = open_memstream(&text, &n);
  if (!c->err) _exit(3);
  const int code = ctx_try(c, step, m);
  fclose(c->err);
  c->err = err;
  if (code) {
    tell("gone %.*s", (int)strcspn(text, "\n"), starts_with(text, "tgc: ") ? text + 5 : text);
    _exit(0);
  }
  free(text);
}

const char *candidate_images(const Lab *lab, const char *text, NetImages *out) {
  Ctx *c = lab->ctx;
  char digest[65];
  sha256_hex(text, strlen(text), digest);
  Making m = { .lab = lab, .text = text, .path = arena_printf(&c->model, "%s/%s.images", lab->scratch, digest), .out = out };
  if (access(m.path, R_OK)) attempt(c, compile, &m);
  if (!m.why) attempt(c, take, &m);
  return m.why;
}

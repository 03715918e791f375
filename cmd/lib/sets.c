/* SPDX-License-Identifier: MIT */
/* sets.c: data of several runs: the folders test_data_set_0, test_data_set_1, ... as the ONNX models have them, and references
 * that ONNX Runtime makes. */
#include "../cmd.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SET "test_data_set_"

static int64_t set_number(const char *path) { return strtoll(strstr(strrchr(path, '/'), SET) + strlen(SET), NULL, 10); }

static int by_number(const void *a, const void *b) {
  const int64_t x = set_number(*(const char *const *)a), y = set_number(*(const char *const *)b);
  return (x > y) - (x < y);
}

static bool is_set(const char *name) {
  const char *digits = name + strlen(SET);
  return starts_with(name, SET) && *digits && strlen(digits) < 10 && strspn(digits, "0123456789") == strlen(digits);
}

void find_sets(Ctx *c, const Options *o, Texts *sets) {
  DIR *d = o->data ? opendir(o->data) : NULL;
  for (struct dirent *e; d && (e = readdir(d));)
    if (is_set(e->d_name)) VEC_PUSH(sets, arena_printf(&c->model, "%s/%s", o->data, e->d_name));
  if (d) closedir(d);
  if (sets->n) VEC_SORT(sets, by_number);
  else VEC_PUSH(sets, o->data);
}

void feed_shapes(const Interface *f, Feed *feed) {
  for (size_t i = 0; i < f->inputs.n; i++)
    VEC_PUSH(&feed->inputs, ((NamedTensor){ .name = f->inputs.p[i].name, .number = (int)i, .t = tensor_like(&f->inputs.p[i]) }));
}

/* ---- ONNX Runtime ---- */

const char *ort_type(Ctx *c, const GIO *v) {
  Sb s = { 0 };
  sb_printf(&s, "%s:", v->narrow == ONNX_STRING ? "string" : dtype_info[v->dt].text);
  for (int k = 0; k < v->rank; k++) sb_printf(&s, "%s%lld", k ? "," : "", (long long)v->dims[k]);
  return sb_keep(&s, &c->model);
}

const char *ort_script(Ctx *c, const char *name) {
  const Embedded *head = embedded_file("ort_head.py"), *body = embedded_file(name);
  return arena_printf(&c->model, "%.*s%.*s", (int)head->n, head->p, (int)body->n, body->p);
}

/* The words of the script; the data are files in the folder. */
static void ort_words(Ctx *c, const Options *o, const char *model, const char *folder, const Steps *s, size_t runs, Texts *argv) {
  const char *python = getenv("TGC_PYTHON");
  const char *const first[] = { python && *python ? python : "python3",
                                "-c",
                                ort_script(c, "ort_run.py"),
                                model,
                                folder,
                                arena_printf(&c->model, "%zu", runs),
                                arena_printf(&c->model, "%zu", s->nin),
                                o->ort_unfused ? "unfused" : "fused" };
  for (size_t i = 0; i < sizeof first / sizeof *first; i++) VEC_PUSH(argv, first[i]);
  for (size_t i = 0; i < s->nin + s->nout; i++) {
    const GIO *v = i < s->nin ? &s->in[i] : &s->out[i - s->nin];
    VEC_PUSH(argv, v->name);
    VEC_PUSH(argv, ort_type(c, v));
  }
  VEC_PUSH(argv, NULL);
}

static const char *data_path(Ctx *c, const char *folder, const char *kind, size_t run, size_t i) {
  return arena_printf(&c->model, "%s/ort_%s_%zu_%zu", folder, kind, run, i);
}

void ort_needs_onnx(Ctx *c, const char *model, const char *option) {
  const size_t n = strlen(model);
  if (n >= 3 && !strcmp(model + n - 3, ".tg"))
    fail(c, EX_USAGE_, "--%s has no effect with '%s': ONNX Runtime reads models in ONNX, not in tgc's text form", option, model);
}

void ort_references(Ctx *c, const Options *o, const char *model, const char *scratch, const Steps *s, size_t runs) {
  Texts argv = { 0 };
  Worker w = { 0 };
  for (size_t r = 0; r < runs; r++)
    for (size_t i = 0; i < s->nin; i++) {
      const Tensor *t = &s->given[r * s->stride + i];
      file_put(c, data_path(c, scratch, "in", r, i), t->data, (size_t)(t->elems * dt_bytes(t->dt)));
    }
  ort_words(c, o, model, scratch, s, runs, &argv);
  work_begin(c, o, "running ONNX Runtime");
  worker_program(c, &w, "ONNX Runtime", &argv);
  work_end(c);
  VEC_FREE(&argv);
  worker_end(&w);
  for (size_t r = 0; r < runs; r++)
    for (size_t i = 0; i < s->nout; i++) {
      Tensor *t = &s->want[r * s->nout + i];
      const Bytes b = file_read(c, data_path(c, scratch, "out", r, i), 0);
      *t = tensor_like(&s->out[i]);
      if (b.n != (size_t)t->elems * (size_t)dt_bytes(t->dt))
        fail(c, EX_NOINPUT_, "ONNX Runtime's output '%s' has %zu bytes, not those of %s", s->out[i].name, b.n,
             type_text(c, t->dt, t->rank, t->dims));
      t->data = b.p;
    }
}

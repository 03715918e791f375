/* SPDX-License-Identifier: MIT */
/* samples.c: the samples of tgc quantize, and models that run on them in a child process. */
#include "quantize.h"
#include "../../runtime_stub/tgcrt.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD_SHARE = 5 }; /* one of so many samples is held out by default */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static bool has_sample(Ctx *c, const char *dir) {
  return !access(arena_printf(&c->model, "%s/input_0.npy", dir), F_OK) ||
         !access(arena_printf(&c->model, "%s/input_0.pb", dir), F_OK);
}

/* The folder itself if it contains inputs; else its subfolders that do */
static void find_folders(Ctx *c, const char *path, Texts *out) {
  if (has_sample(c, path)) {
    VEC_PUSH(out, path);
    return;
  }
  DIR *d = opendir(path);
  if (!d) fail(c, EX_NOINPUT_, "cannot open '%s': %s", path, strerror(errno));
  for (struct dirent *e; (e = readdir(d));) {
    const char *p = arena_printf(&c->model, "%s/%s", path, e->d_name);
    if (*e->d_name != '.' && has_sample(c, p)) VEC_PUSH(out, p);
  }
  closedir(d);
  if (!out->n) fail(c, EX_NOINPUT_, "neither '%s' nor its subfolders contain input_0.npy or input_0.pb", path);
  VEC_SORT(out, by_name);
}

/* Takes samples at equal distances, since their order may be that of classes. */
static void hold_out(Samples *s, size_t k) {
  const size_t n = s->calibrate.n;
  size_t left = 0;
  for (size_t i = 0; i < n; i++) {
    const bool held = (i + 1) * k / n > i * k / n;
    if (held) VEC_PUSH(&s->held_out, s->calibrate.p[i]);
    else s->calibrate.p[left++] = s->calibrate.p[i];
  }
  s->calibrate.n = left;
}

Samples samples_find(Ctx *c, const Options *o) {
  Samples s = { 0 };
  const bool measured = o->holdout || o->metric || option_given(o, "max-drop");
  find_folders(c, o->data, &s.calibrate);
  if (o->holdout_data) {
    find_folders(c, o->holdout_data, &s.held_out);
    return s;
  }
  const size_t n = s.calibrate.n, k = o->holdout ? (size_t)o->holdout : (n + HELD_SHARE - 1) / HELD_SHARE;
  if (!measured) return s;
  if (k >= n)
    fail(c, EX_USAGE_, "%zu of %zu sample%s in '%s' cannot be held out: calibration needs one; give --holdout-data=PATH", k, n,
         n == 1 ? "" : "s", o->data);
  hold_out(&s, k);
  return s;
}

bool sample_read(Ctx *c, const Options *o, const char *folder, const SampleShape *shape, Tensor *in, Tensor *out) {
  Feed feed = { 0 };
  Options one = *o;
  one.data = folder;
  feed_read(c, &one, &feed);
  const int seeded = feed_inputs(c, &feed, shape->in, (int)shape->nin, 0, in);
  if (seeded) fail(c, EX_NOINPUT_, "'%s' lacks %d of %zu inputs", folder, seeded, shape->nin);
  const bool has = out && feed_outputs(c, &feed, shape->out, (int)shape->nout, out);
  feed_free(&feed);
  return has;
}

QuantModel quant_model(Ctx *c, const Options *o, const char *scratch, const char *name, const Sb *text, const char *sample) {
  Feed feed = { 0 };
  Options here = *o;
  const char *folder = arena_printf(&c->model, "%s/%s", scratch, name);
  if (mkdir(folder, 0700)) fail(c, EX_NOWRITE, "cannot create '%s': %s", folder, strerror(errno));
  here.data = sample;
  here.model = arena_printf(&c->model, "%s/model.onnx", folder);
  file_put(c, here.model, text->p, text->n);
  feed_read(c, &here, &feed);
  Plan *p = plan_of(&here, load_graph(c, &here, &feed), target_of(c, &here), NULL);
  feed_free(&feed);
  c->file = o->model;
  QuantModel m = { .g = p->g, .dir = plan_put(c, o, p, folder) };
  m.f = interface_read(c, o, m.dir);
  m.so = bundle_build(c, o, m.dir, folder, &m.f, NULL);
  return m;
}

typedef struct Ended { /* in memory shared with the child */
  int status;
  char why[252];
} Ended;

static _Noreturn void run_child(const SampleRuns *r, int threads, Ended *e) {
  Loaded m;
  e->status = model_open(r->m->dir, r->m->so, &r->m->f, threads, &m, e->why);
  for (size_t s = 0; s < r->n && !e->status; s++) {
    void **out = r->out + s * r->out_stride;
    e->status = m.run(m.ctx, r->in + s * r->m->f.inputs.n, out);
    if (run_is_complete(e->status)) e->status = TGCRT_OK;
    if (!e->status && r->after) r->after(r->arg, out);
  }
  _exit(0);
}

void samples_run(Ctx *c, const Options *o, const SampleRuns *r, const char *stage) {
  Ended *e = shared_memory(c, sizeof *e);
  const pid_t pid = child_start(c);
  if (!pid) run_child(r, (int)o->threads, e);
  const int ended = child_wait(c, o, pid, stage);
  if (!WIFEXITED(ended) || WEXITSTATUS(ended)) child_died(c, ended, "the compiled model");
  if (e->status) model_failed(c, e->status, e->why);
}

/* SPDX-License-Identifier: MIT */
/* tune_lock.c: the lock file of `tgc tune`, and the decisions that its schedules need in the store. */
#include "tuning.h"
#include <string.h>

static bool is_validated_kernel(const Kernel *x, const Kernel *y) {
  bool same = x->nests.n == y->nests.n && x->chunks == y->chunks;
  for (size_t i = 0; i < x->nests.n && same; i++)
    same = !strcmp(x->nests.p[i].key, y->nests.p[i].key) && !strcmp(x->nests.p[i].opts, y->nests.p[i].opts);
  return same;
}

/* With -v: whether `tgc compile` makes the kernels that were validated, from the lock file. p: the plan that it makes */
static void compare_plans(const Tuning *u, const Plan *p) {
  const Plan *v = u->model.plan;
  size_t same = 0;
  if (!u->o->verbose || !v) return;
  for (size_t k = 0; k < p->kernels.n && k < v->kernels.n; k++) same += is_validated_kernel(&p->kernels.p[k], &v->kernels.p[k]);
  if (p->kernels.n != v->kernels.n) same = 0;
  fprintf(stderr, "the lock file gives %zu of %zu kernels that were validated\n", same, v->kernels.n);
}

/* Adds the model's other schedules and all decisions to the lock file. Returns the plan for it. */
static const Plan *complete_lock(Ctx *c, const Tuning *u, const char *path) {
  Options o = *u->o;
  o.schedule = o.lock = path;
  o.no_store = o.quiet = true;
  const bool quiet = c->quiet;
  c->quiet = true; /* a decision may leave nothing to decide for another one */
  const Plan *p = plan_of(&o, load_graph(c, &o, NULL), u->races.target, NULL);
  c->quiet = quiet;
  c->file = NULL;
  return p;
}

/* Adds the best schedule of every measured nest, and writes the lock file. */
static void put_schedules(Ctx *c, const Tuning *u, Lock *l) {
  for (size_t i = 0; i < u->t.goals.n; i++) {
    const Goal *g = &u->t.goals.p[i];
    if (!g->measured && !strcmp(g->best, g->base)) continue;
    const char *times = goal_times(&u->t, g);
    LockLine x = { .opts = g->best, .micros = g->best_us, .partial = !g->done, .note = u->t.place.text };
    if (times) x.note = arena_printf(&c->model, "%s; %s", times, u->t.place.text);
    memcpy(x.key, g->key, sizeof x.key);
    VEC_PUSH(&l->lines, x);
  }
  lock_write(c, l, l->path);
}

static const char *value_in(const Decision *d, size_t n, const Decision *like) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(d[i].pass, like->pass) && !strcmp(d[i].key, like->key)) return d[i].value;
  return "";
}

/* Schedules cost less than those that they replace, so passes might decide otherwise. Stores the decisions with which the
 * schedules were validated, where they would. */
void tune_store_validated(Ctx *c, const Tuning *u) {
  const Validated *v = &u->model;
  Lock l = u->chosen;
  size_t n;
  l.path = arena_printf(&c->model, "%s/free.tgc-lock", u->t.lab.scratch);
  put_schedules(c, u, &l);
  VEC_FREE(&l.lines);
  complete_lock(c, u, l.path);
  const Decision *other = decisions_given(lock_read(c, l.path)->decisions, &n);
  const Place place = place_for(c, &u->t.place, decisions_wanted(c, u->o, u->races.target));
  store_begin(u->t.store, true);
  for (size_t i = 0; i < v->ndecisions; i++)
    if (strcmp(value_in(other, n, &v->decision[i]), v->decision[i].value))
      store_put_decision(u->t.store, &place, &v->decision[i]);
  store_commit(u->t.store);
}

/* Writes the best schedule of every measured nest. If the model's folder is not writable, schedules are in the store only. If
 * the search was interrupted, the lock file has only these; else it is completed. */
const char *tune_write_lock(Tuning *u, bool complete) {
  const Tuner *t = &u->t;
  Ctx *c = t->lab.ctx;
  Lock l = u->chosen;
  if (u->model.kept) l.chosen = u->model.decision, l.nchosen = u->model.ndecisions;
  l.path = u->o->out ? u->o->out : arena_printf(&c->model, "%s.tgc-lock", u->o->model);
  const char *slash = strrchr(l.path, '/'), *folder = slash ? arena_str(&c->model, l.path, (size_t)(slash - l.path + 1)) : ".";
  if (u->o->out && !strcmp(u->o->out, "none")) return NULL;
  int lines = 0;
  for (size_t i = 0; i < t->goals.n; i++) lines += t->goals.p[i].measured || strcmp(t->goals.p[i].best, t->goals.p[i].base);
  const bool skip = (!lines && !l.nchosen) || (!u->o->out && access(folder, W_OK));
  if (skip && lines)
    warn_at(c, (Pos){ 0 }, "'%s' cannot be written; the schedules are in the store only (-o names another file)", l.path);
  if (!skip) put_schedules(c, u, &l);
  VEC_FREE(&l.lines);
  if (!skip && complete) compare_plans(u, complete_lock(c, u, l.path));
  return skip ? NULL : l.path;
}

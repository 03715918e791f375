/* SPDX-License-Identifier: MIT */
/* tune_keep.c: what `tgc tune` keeps: its lock file, and the decisions that its schedules need in the store. At last all that is
 * kept is compared with the untuned bundle. If it is not surely faster, nothing is kept. */
#include "tuning.h"
#include "../../compiler/cost/tunable.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

/* How many kernels of p, which `tgc compile` makes from the lock file, are those that were validated */
static size_t validated_kernels(const Tuning *u, const Plan *p) {
  const Plan *v = u->model.plan;
  size_t same = 0;
  if (!v || p->kernels.n != v->kernels.n) return 0;
  for (size_t k = 0; k < p->kernels.n; k++) same += kernels_alike(&p->kernels.p[k], &v->kernels.p[k], true);
  return same;
}

/* With -v: says how many kernels of the lock file's plan were validated */
static void compare_plans(const Tuning *u, const Plan *p) {
  const Plan *v = u->model.plan;
  if (u->o->verbose && v)
    fprintf(stderr, "the lock file gives %zu of %zu kernels that were validated\n", validated_kernels(u, p), v->kernels.n);
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

static Place decisions_place(Ctx *c, const Tuning *u) {
  return place_for(c, &u->t.place, decisions_wanted(c, u->o, u->races.target));
}

static const Decision *decisions_in(Ctx *c, const char *lock, size_t *n) {
  return decisions_given(lock_read(c, lock)->decisions, n);
}

/* Schedules cost less than those that they replace, so passes might decide otherwise. Stores the decisions with which the
 * schedules were validated, where they would. */
void tune_store_validated(Ctx *c, Tuning *u) {
  const Validated *v = &u->model;
  Lock l = u->chosen;
  size_t n;
  l.path = arena_printf(&c->model, "%s/free.tgc-lock", u->t.lab.scratch);
  put_schedules(c, u, &l);
  VEC_FREE(&l.lines);
  plan_quietly(c, &u->races, l.path, l.path);
  const Decision *other = decisions_in(c, l.path, &n);
  const Place place = decisions_place(c, u);
  store_begin(u->t.store, true);
  for (size_t i = 0; i < v->ndecisions; i++)
    if (strcmp(value_in(other, n, &v->decision[i]), v->decision[i].value))
      store_put_decision(u->t.store, &place, &v->decision[i]);
  store_commit(u->t.store);
}

/* The lock file that is to be written, without the lines of schedules */
static Lock lock_kept(const Tuning *u, const char *path) {
  Lock l = u->chosen;
  if (u->model.kept) l.chosen = u->model.decision, l.nchosen = u->model.ndecisions;
  l.path = path;
  return l;
}

static const Plan *put_complete(Ctx *c, Tuning *u, const char *path) {
  Lock l = lock_kept(u, path);
  put_schedules(c, u, &l);
  VEC_FREE(&l.lines);
  return plan_quietly(c, &u->races, path, path);
}

static void copy_file(Ctx *c, const char *from, const char *to) {
  const Bytes b = file_read(c, from, LOCK_LIMIT);
  c->file = NULL;
  file_replace(c, to, b.p, b.n);
}

/* If tune_check has made the lock file already, it is copied. */
static void put_lock(Ctx *c, Tuning *u, const char *path, bool complete) {
  Lock l = { .path = path }; /* without decisions: their comparisons may not have ended */
  if (complete && u->kept_lock) {
    copy_file(c, u->kept_lock, path);
    compare_plans(u, u->kept_plan);
  } else if (complete) compare_plans(u, put_complete(c, u, path));
  else put_schedules(c, u, &l);
  VEC_FREE(&l.lines);
}

const char *tune_write_lock(Tuning *u, bool complete) {
  const Tuner *t = &u->t;
  Ctx *c = t->lab.ctx;
  const char *path = u->o->out ? u->o->out : arena_printf(&c->model, "%s.tgc-lock", u->o->model);
  const char *slash = strrchr(path, '/'), *folder = slash ? arena_str(&c->model, path, (size_t)(slash - path + 1)) : ".";
  if (u->o->out && !strcmp(u->o->out, "none")) return NULL;
  int lines = 0;
  for (size_t i = 0; i < t->goals.n; i++) lines += t->goals.p[i].measured || strcmp(t->goals.p[i].best, t->goals.p[i].base);
  const bool skip = (!lines && !lock_kept(u, path).nchosen) || (!u->o->out && access(folder, W_OK));
  if (skip && lines)
    warn_at(c, (Pos){ 0 }, "'%s' cannot be written; the schedules are in the store only (-o names another file)", path);
  if (!skip) put_lock(c, u, path, complete);
  return skip ? NULL : path;
}

/* ---- the last comparison ---- */
static bool keeps_schedules(const Tuning *u) {
  bool any = false;
  for (size_t i = 0; i < u->t.goals.n; i++) any |= strcmp(u->t.goals.p[i].best, u->t.goals.p[i].base) != 0;
  return any;
}

/* An undecided comparison: another one may show a gain. */
static bool is_undecided(Ctx *c, const Tuning *u) {
  return u->final.all.low < tunable(c, validate_model_gain) && u->final.times.low <= 1;
}

/* Decisions in the store become those of the cost models. A decision that the untuned model does not ask for is removed. If the
 * comparison is undecided, all are removed, so that they are tried again. untuned, tuned: lock files with all decisions of both
 * models */
static void drop_decisions(Ctx *c, const Tuning *u, const char *untuned, const char *tuned) {
  size_t n[2];
  const Decision *model = decisions_in(c, untuned, &n[0]), *kept = decisions_in(c, tuned, &n[1]);
  const Place place = decisions_place(c, u);
  Store *s = u->t.store;
  bool good = true;
  store_begin(s, true);
  for (size_t i = 0; i < n[0]; i++) {
    const char *stored = store_decision(c, s, &place, model[i].pass, model[i].key);
    if (!stored || !strcmp(stored, model[i].value)) continue;
    good &= is_undecided(c, u) ? store_drop_decision(s, &place, model[i].pass, model[i].key)
                               : store_put_decision(s, &place, &model[i]);
  }
  for (size_t i = 0; i < n[1]; i++)
    if (!*value_in(model, n[0], &kept[i]) && store_decision(c, s, &place, kept[i].pass, kept[i].key))
      good &= store_drop_decision(s, &place, kept[i].pass, kept[i].key);
  store_commit(s);
  if (!good)
    warn_at(c, (Pos){ 0 },
            "decisions that did not pass stay in the store, which cannot be written; the lock file is without them");
}

static void drop_all(Ctx *c, Tuning *u, const Plan *untuned) {
  for (size_t i = 0; i < u->t.goals.n; i++) {
    Goal *g = &u->t.goals.p[i];
    g->done &= !is_undecided(c, u) || !strcmp(g->best, g->base);
    goal_validated(&u->t, g, g->base);
  }
  u->chosen = (Lock){ 0 };
  u->choices.kept = u->model.kept = 0;
  u->model.at.tuned = u->model.at.untuned;
  u->model.at.low = u->model.at.high = 1;
  u->model.other = (ValidatedAt){ 0 };
  u->model.plan = untuned;
  u->kept_lock = NULL;
}

/* The time with all that is kept, as a part of the time without, by the comparisons of schedules and of decisions. n 0: not
 * known. Decisions of an earlier command were compared in this one only if others were added. Schedules count only if the bundle
 * has exactly the kernels that were validated. */
static Paired known_gain(const Tuning *u) {
  const Paired none = { 1, 0, INFINITY, 0 }, same = { 1, 1, 1, SIZE_MAX };
  const bool older = u->chosen.nchosen && !u->choices.kept, any = keeps_schedules(u);
  if (older || (any && (!u->model.kept || validated_kernels(u, u->kept_plan) < u->kept_plan->kernels.n))) return none;
  return paired_product(u->choices.kept ? u->choices.gained : same, any ? u->model.changed : same);
}

int tune_check(Ctx *c, Tuning *u) {
  Races *r = &u->races;
  const char *kept = arena_printf(&c->model, "%s/kept.tgc-lock", r->scratch);
  const char *plain = arena_printf(&c->model, "%s/plain.tgc-lock", r->scratch);
  const double late = tunable(c, tune_late) * (u->end - r->begin);
  if (!u->chosen.nchosen && !keeps_schedules(u)) return 0;
  if (clock_ms() + 1e3 * final_seconds(c, r) > u->end + 2 * late) {
    warn_at(c, (Pos){ 0 }, "--time is too short to compare all that is kept with the bundle without tuning");
    return 0;
  }
  u->kept_plan = put_complete(c, u, kept);
  u->kept_lock = kept;
  if (u->t.lab.interrupted(u->t.lab.interrupted_arg)) return 0;
  const Plan *untuned = plan_quietly(c, &u->races, "none", plain);
  const FinalAsk ask = { .untuned = untuned,
                         .tuned = u->kept_plan,
                         .earlier = known_gain(u),
                         .threads = u->o->threads ? (int)u->o->threads : 1,
                         .end = u->end + late };
  const int code = final_check(c, r, &ask, &u->final);
  if (code > EX_SIGNAL || u->final.passed) return code;
  drop_decisions(c, u, plain, kept);
  drop_all(c, u, untuned);
  return code;
}

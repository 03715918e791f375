/* SPDX-License-Identifier: MIT */
/* tune_report.c: what `tgc tune` prints when it ends. */
#include "tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_goals(Ctx *c, const Tuning *u) {
  const Tuner *t = &u->t;
  double total = tune_total(t, false);
  Table table = { c, u->o, "<>>>><", .headed = true };
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    if (!g->measured || (g->count * g->best_us < 0.01 * total && !u->o->verbose)) continue;
    if (!table.cells.n) table_row(&table, "nest", "uses", "share", "time", "before", "schedule");
    table_row(&table, arena_printf(&c->model, "%.16s", g->key), arena_printf(&c->model, "%d", g->count),
              arena_printf(&c->model, "%.1f %%", 100 * g->count * g->best_us / total), time_text(c, g->best_us / 1e3),
              time_text(c, g->base_us / 1e3), arena_printf(&c->model, "%s%s", g->best, g->done ? "" : " ..."));
  }
  table_print(&table);
}

static json_t *goals_json(const Tuner *t) {
  json_t *j = json_array();
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    json_array_append_new(j, json_pack("{s:s, s:i, s:s, s:f, s:s, s:f, s:b, s:b}", "key", g->key, "count", g->count, "base_opts",
                                       g->base, "base_us", g->base_us, "opts", g->best, "us", g->best_us, "measured", g->measured,
                                       "done", g->done));
  }
  return j;
}

static void print_rate(const Tuning *u) {
  static const char *const names[SPENT_KINDS] = { "lowering", "compiling", "timing", "checking" };
  const Tuner *t = &u->t;
  double rest = u->worked;
  Sb s = { 0 };
  if (!t->tried || u->worked <= 0 || u->searched <= 0) return;
  sb_printf(&s, "%.0f candidates a second, %.0f a CPU second:", (double)t->tried / u->searched, (double)t->tried / u->worked);
  for (int i = 0; i < SPENT_KINDS; i++) {
    sb_printf(&s, " %s %.0f %%,", names[i], 100 * t->lab.spent[i] / u->worked);
    rest -= t->lab.spent[i];
  }
  sb_printf(&s, " the rest %.0f %%", 100 * fmax(rest, 0) / u->worked);
  if (t->lab.screen)
    sb_printf(&s, "; %s timed all of them, %s the best %lld", t->lab.screen->name, t->lab.backend->name,
              (long long)(t->tried - t->left_out));
  print_words(s.p, 2, -1, terminal_width(stdout));
  sb_free(&s);
}

typedef struct KernelKind { const char *name; int nests; int64_t tried; double worked; } KernelKind; /* worked: CPU seconds */

/* The op of the nest's first reduction, else of its result, from the name of its node: "node 4 'conv1' (Conv, opset 17)" */
static const char *kind_of(Ctx *c, const Tuner *t, const Goal *g) {
  const IR *ir = t->lab.ir;
  Refs all = { 0 };
  ir_toposort(ir, &g->nest, 1, &all);
  Ref of = nest_body(node(ir, g->nest));
  for (size_t i = all.n; i-- > 0;)
    if (node(ir, all.p[i])->op == OP_RED) of = all.p[i];
  VEC_FREE(&all);
  const char *text = ir->origins.p[node(ir, of)->origin].text, *open = text ? strrchr(text, '(') : NULL;
  return open ? arena_printf(&c->model, "%.*s", (int)strcspn(open + 1, ",)"), open + 1) : "other";
}

/* Candidates in each CPU second, for each kind of kernel */
static void print_kinds(Ctx *c, const Tuning *u) {
  const Tuner *t = &u->t;
  Table table = { c, u->o, "<>>>>", .headed = true };
  VEC(KernelKind) all = { 0 };
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    const char *name = g->tried ? kind_of(c, t, g) : "";
    size_t k = 0;
    while (k < all.n && strcmp(all.p[k].name, name)) k++;
    if (g->tried && k == all.n) VEC_PUSH(&all, ((KernelKind){ .name = name }));
    if (g->tried) all.p[k].nests++, all.p[k].tried += g->tried, all.p[k].worked += g->worked;
  }
  for (size_t k = 0; k < all.n; k++) {
    const KernelKind *x = &all.p[k];
    if (!k) table_row(&table, "kind", "nests", "candidates", "CPU s", "a CPU second");
    table_row(&table, x->name, arena_printf(&c->model, "%d", x->nests), arena_printf(&c->model, "%lld", (long long)x->tried),
              arena_printf(&c->model, "%.1f", x->worked),
              arena_printf(&c->model, "%.0f", (double)x->tried / fmax(x->worked, 1e-3)));
  }
  VEC_FREE(&all);
  table_print(&table);
}

static void print_check(Ctx *c, const Tuning *u, const ValidatedAt *x) {
  if (u->t.lab.backend->driver) printf("the model on the device");
  else printf("the model, %d thread%s", x->threads, x->threads > 1 ? "s" : "");
  printf(": tuned %s, untuned %s", time_text(c, x->tuned), time_text(c, x->untuned));
  if (x->high > x->low) printf(" (%.3f to %.3f times)", x->low, x->high);
}

/* Whether an earlier comparison of kernels was known */
static bool is_pooled(const FinalCheck *x) { return x->all.low > x->times.low || x->all.high < x->times.high; }

static void print_final(Ctx *c, const FinalCheck *x) {
  if (!x->done) return;
  if (x->same) puts("the bundle: the same code and weights as without tuning");
  else {
    printf("the bundle, %s: tuned %s, untuned %s (%.3f to %.3f times in %zu pairs", count_noun(&c->model, x->threads, "thread"),
           time_text(c, x->tuned), time_text(c, x->untuned), x->times.low, x->times.high, x->times.n);
    if (is_pooled(x)) printf("; with the comparison of kernels %.3f to %.3f", x->all.low, x->all.high);
    printf("): %s\n", x->passed ? "kept" : "nothing is kept");
  }
}

static json_t *final_json(const FinalCheck *x) {
  json_t *j = json_pack("{s:b, s:b, s:i}", "same", x->same, "kept", x->passed, "threads", x->threads);
  if (x->same) return j;
  json_object_update_new(j, json_pack("{s:f, s:f, s:f, s:o, s:I}", "untuned_ms", x->untuned, "tuned_ms", x->tuned, "low",
                                      x->times.low, "high", json_number(x->times.high), "pairs", (json_int_t)x->times.n));
  if (is_pooled(x))
    json_object_update_new(j, json_pack("{s:f, s:o}", "pooled_low", x->all.low, "pooled_high", json_number(x->all.high)));
  return j;
}

static void print_sum(Ctx *c, const Tuner *t) {
  printf("sum of kernels: %s, was %s\n", time_text(c, tune_total(t, false) / 1e3), time_text(c, tune_total(t, true) / 1e3));
}

static void print_choices(Ctx *c, const Tuning *u) {
  const GraphChoices *g = &u->choices;
  printf("%s of passes tried in %s of the model: changed %d", count_noun(&c->model, g->tried, "decision"),
         count_noun(&c->model, g->sides, "variant"), g->kept);
  if (g->kept) printf("; the model %s, was %s", time_text(c, g->with), time_text(c, g->without));
  putchar('\n');
}

void tune_report(Tuning *u, const char *lock) {
  const Tuner *t = &u->t;
  Ctx *c = t->lab.ctx;
  const Validated *m = &u->model;
  int open = 0;
  double seconds = tune_clock() - u->start;
  for (size_t i = 0; i < t->goals.n; i++) open += !t->goals.p[i].done;
  if (u->o->json) {
    json_t *j = json_report("tune", u->o->model);
    json_object_update_new(j, json_pack("{s:s, s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:b, s:o}", "isa", t->lab.target->isa, "place",
                                        t->place.text, "seconds", seconds, "busy_seconds", u->worked, "candidates",
                                        (json_int_t)t->tried, "failed", (json_int_t)t->failed, "base_us", tune_total(t, true),
                                        "us", tune_total(t, false), "partial", open > 0, "nests", goals_json(t)));
    if (u->choices.sides)
      json_object_set_new(j, "decisions", json_pack("{s:i, s:i, s:i}", "variants", u->choices.sides, "tried", u->choices.tried,
                                                    "changed", u->choices.kept));
    if (m->done)
      json_object_set_new(j, "model_check",
                          json_pack("{s:i, s:f, s:f, s:f, s:o, s:i, s:i}", "threads", m->at.threads, "untuned_ms", m->at.untuned,
                                    "tuned_ms", m->at.tuned, "low", m->at.low, "high", json_number(m->at.high), "kept", m->kept,
                                    "found", m->found));
    if (m->other.threads)
      json_object_set_new(
          j, "other_check",
          json_pack("{s:i, s:f, s:f, s:f, s:o}", "threads", m->other.threads, "untuned_ms", m->other.untuned, "tuned_ms",
                    m->other.tuned, "low", m->other.low, "high", json_number(m->other.high)));
    if (u->final.done) json_object_set_new(j, "bundle_check", final_json(&u->final));
    json_print(j);
    return;
  }
  print_goals(c, u);
  printf("%s, %d still open; %s in %.1f s, of which %lld failed\n", count_noun(&c->model, (int64_t)t->goals.n, "nest"), open,
         count_noun(&c->model, t->tried, "candidate"), seconds, (long long)t->failed);
  print_rate(u);
  if (u->o->verbose) print_kinds(c, u);
  if (u->choices.sides) print_choices(c, u);
  print_sum(c, t);
  if (m->done) {
    print_check(c, u, &m->at);
    printf("; kept %d of %s\n", m->kept, count_noun(&c->model, m->found, "schedule"));
  }
  if (m->other.threads) print_check(c, u, &m->other), putchar('\n');
  print_final(c, &u->final);
  if (lock) printf("schedules: %s\n", lock);
}
void tune_report_job(Ctx *c, const Tuning *u, const Imported *m, const JobSize *size, const char *lock) {
  const Tuner *t = &u->t;
  const Options *o = u->o;
  if (o->json) {
    json_t *j = json_report("tune", o->model);
    json_object_set_new(j, "isa", json_string(t->lab.target->isa));
    if (o->import)
      json_object_update_new(j, json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:o}", "place", t->place.text, "candidates",
                                          (json_int_t)m->trials, "failed", (json_int_t)m->failed, "left_out",
                                          (json_int_t)m->wrong, "base_us", tune_total(t, true), "us", tune_total(t, false), "nests",
                                          goals_json(t)));
    if (o->job)
      json_object_set_new(j, "job", json_pack("{s:s, s:i, s:i}", "folder", o->job, "nests", size->nests, "no_time", size->left));
    json_print(j);
    return;
  }
  if (o->import) {
    print_goals(c, u);
    printf("%s: %s measured, %lld failed, %s left out\n", o->import, count_noun(&c->model, m->trials, "candidate"),
           (long long)m->failed, count_noun(&c->model, m->wrong, "line"));
    printf("place: %s\n", t->place.text);
    print_sum(c, t);
    if (lock) printf("schedules: %s\n", lock);
  }
  if (o->job && !size->nests) printf("nothing %s to try, so there is no job\n", size->left ? "was found in time" : "is left");
  else if (o->job)
    printf("job: %s, candidates for %s; build and run it on the other machine: make -C %s run\n", o->job,
           count_noun(&c->model, size->nests, "nest"), o->job);
  if (o->job && size->left)
    printf("there was no time for %s (--time allows more)\n", count_noun(&c->model, size->left, "nest"));
}

/* SPDX-License-Identifier: MIT */
/* sizes.c: the sizes of runs, for models and bundles that serve ranges of them (--dim NAME=LOW:HIGH[:STEP][@TYPICAL], --size). */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */
static bool take_number(const char **at, int64_t *n) {
  char text[24];
  const size_t length = strcspn(*at, ":@");
  if (length >= sizeof text) return false;
  memcpy(text, *at, length);
  text[length] = 0;
  *at += length;
  return parse_size(text, n) && *n >= 0;
}

const char *parse_range(const char *value, Symbol *s) {
  *s = (Symbol){ .step = 1 };
  if (!take_number(&value, &s->low) || *value++ != ':' || !take_number(&value, &s->high) || s->high <= s->low ||
      (*value == ':' && (value++, !take_number(&value, &s->step) || s->step < 1)) ||
      (*value == '@' && (value++, !take_number(&value, &s->typical))) || *value)
    return "a range is LOW:HIGH, LOW:HIGH:STEP or either with @TYPICAL, in whole numbers with LOW < HIGH";
  if (s->high > SIZES_OF_DIM) return "a range must end at 4096 or before";
  if ((s->high - s->low) % s->step) return "steps from LOW on must end at HIGH";
  if (s->typical && !size_is_allowed(s, s->typical)) return "the typical size must be one of the range";
  return NULL;
}

const char *first_range(const Options *o) {
  for (size_t i = 0; i < o->dims.n; i++)
    if (strchr(strrchr(o->dims.p[i], '='), ':')) return o->dims.p[i];
  return NULL;
}

Symbols ranges_of_dims(Ctx *c, const Options *o) {
  Symbols all = { 0 };
  for (size_t i = 0; i < o->dims.n; i++) {
    const char *text = o->dims.p[i], *eq = strrchr(text, '=');
    if (!strchr(eq, ':')) continue;
    Symbol *s = &all.p[all.n++];
    if (all.n > SYMBOLS_MOST || parse_range(eq + 1, s)) BUG("--dim was not checked");
    s->name = arena_str(&c->model, text, (size_t)(eq - text));
  }
  return all;
}

/* ---- sizes ---- */
/* The next part of a text between commas: NAME=N or N. name: not ended by 0, and 0 long for N. Returns where the next one begins;
 * NULL: it is wrong */
static const char *next_size(const char *text, size_t *name, int64_t *size) {
  char one[24];
  const size_t n = strcspn(text, ",");
  *name = 0;
  for (size_t i = 0; i < n; i++)
    if (text[i] == '=') *name = i;
  const size_t from = *name ? *name + 1 : 0;
  if (n - from >= sizeof one) return NULL;
  memcpy(one, text + from, n - from);
  one[n - from] = 0;
  return parse_size(one, size) && *size >= 0 ? text + n + (text[n] == ',') : NULL;
}

int runs_of_size(const char *text) {
  int runs = 0, named = 0;
  size_t name;
  int64_t size;
  if (!*text || text[strlen(text) - 1] == ',') return 0;
  for (const char *at = text; *at;) {
    if (!(at = next_size(at, &name, &size))) return 0;
    *(name ? &named : &runs) += 1;
  }
  return named && runs ? 0 : named ? 1 : runs;
}

bool sizes_asked(Ctx *c, const Options *o, const Symbols *all, int64_t *run) {
  size_t name;
  for (int k = 0; k < SYMBOLS_MOST + SUMS_MOST; k++) run[k] = k < all->n ? -1 : 0; /* sums follow from other sizes */
  if (!all->n && o->run_size)
    fail(c, EX_USAGE_, "--size %s has no effect: the model is for one size; --dim NAME=LOW:HIGH makes it serve a range",
         o->run_size);
  for (const char *at = o->run_size; at && *at;) {
    const char *text = at;
    int64_t size;
    int k = 0;
    if (!(at = next_size(at, &name, &size))) BUG("--size was not checked");
    if (!name && all->n > 1)
      fail(c, EX_USAGE_, "--size %s: the model has %d ranges of sizes, so each size needs its name: --size %s=N,%s=N",
           o->run_size, all->n, all->p[0].name, all->p[1].name);
    while (name && k < all->n && (strlen(all->p[k].name) != name || strncmp(all->p[k].name, text, name))) k++;
    if (k == all->n) {
      Names names = { 0 };
      for (k = 0; k < all->n; k++) names_add(c, &names, all->p[k].name);
      fail(c, EX_USAGE_, "--size %s: '%.*s' has no range; the dimensions with a range are%s", o->run_size, (int)name, text,
           names_text(c, &names));
    }
    run[k] = size;
  }
  return all->n > 0;
}

const char *sizes_complete(Ctx *c, const Symbols *all, int64_t *run) {
  Sb text = { 0 };
  for (int k = 0; k < all->n; k++) {
    const Symbol *s = &all->p[k];
    if (run[k] < 0) run[k] = s->appended ? s->low : s->high;
    if (!size_is_allowed(s, run[k]))
      fail(c, EX_USAGE_, "size %lld of '%s' is outside of its range, %lld to %lld%s", (long long)run[k], s->name,
           (long long)s->low, (long long)s->high,
           s->step > 1 ? arena_printf(&c->model, " in steps of %lld", (long long)s->step) : "");
    if (all->n > 1) sb_printf(&text, "%s%s=", k ? "," : "", s->name);
    sb_printf(&text, "%lld", (long long)run[k]);
  }
  return all->n ? sb_keep(&text, &c->model) : NULL;
}

/* ---- several runs ---- */
typedef enum { LEAST, MIDDLE, GREATEST, USUAL } PlaceInRange;

static int64_t size_at(const Symbol *s, PlaceInRange p) {
  if (p == USUAL && s->typical) return s->typical;
  if (p == LEAST && !s->low && s->appended) return s->step; /* the model for one size has no states without elements */
  return p == LEAST ? s->low : p == MIDDLE ? s->low + (s->high - s->low) / s->step / 2 * s->step : s->high;
}

/* Adds the run in which the size of symbol k has one place in its range, and those of the others another one. */
static void add_run(Ctx *c, const Symbols *all, int k, PlaceInRange one, PlaceInRange others, Texts *runs) {
  RunSizes run = { 0 };
  for (int i = 0; i < all->n; i++) run[i] = size_at(&all->p[i], i == k ? one : others);
  const char *text = sizes_complete(c, all, run);
  for (size_t i = 0; i < runs->n; i++)
    if (!strcmp(runs->p[i], text)) return;
  VEC_PUSH(runs, text);
}

void usual_runs(Ctx *c, const Symbols *all, Texts *runs) {
  add_run(c, all, -1, LEAST, LEAST, runs);
  for (int k = 0; k < all->n && all->n > 1; k++) add_run(c, all, k, LEAST, GREATEST, runs);
  add_run(c, all, -1, MIDDLE, MIDDLE, runs);
  add_run(c, all, -1, USUAL, USUAL, runs);
  add_run(c, all, -1, GREATEST, GREATEST, runs);
}

/* The runs that --size asks for */
static void asked_runs(Ctx *c, const Options *o, Texts *runs) {
  for (size_t i = 0; i < o->sizes.n; i++) {
    const char *text = o->sizes.p[i];
    if (strchr(text, '=')) VEC_PUSH(runs, text);
    else
      for (; *text; text += strcspn(text, ","), text += *text == ',')
        VEC_PUSH(runs, arena_str(&c->model, text, strcspn(text, ",")));
  }
}

int over_sizes(Ctx *c, const Options *o, int (*one)(Ctx *c, const Options *o)) {
  Texts runs = { 0 };
  int worst = EX_DONE;
  asked_runs(c, o, &runs);
  const bool free = !o->sizes.n && !o->json && !o->data && !o->inputs.n && !o->outputs;
  if (free && o->verb == VERB_verify && first_range(o)) {
    Symbols all = ranges_of_dims(c, o);
    for (int k = 0; k < all.n; k++) all.p[k].appended = o->states.n > 0;
    usual_runs(c, &all, &runs);
  }
  if (runs.n > 1 && o->json) fail(c, EX_USAGE_, "--json reports one run, but --size asks for %zu", runs.n);
  for (size_t i = 0; i < runs.n || !i; i++) {
    Options then = *o;
    then.run_size = runs.n ? runs.p[i] : NULL;
    if (runs.n > 1) printf("size %s\n", runs.p[i]);
    fflush(stdout);
    const int code = one(c, &then);
    if (code) worst = code;
  }
  VEC_FREE(&runs);
  return worst;
}

/* ---- values and options of a run ---- */
void values_at(GIO *v, size_t n, const Extents *extents, int symbols, const int64_t *run) {
  for (size_t i = 0; i < n; i++)
    for (int a = 0; a < v[i].rank; a++)
      if (v[i].open[a])
        v[i].dims[a] = extent_of_formulas(extents, symbols, v[i].open[a] - 1, run);
}

void sizes_of_inputs(const IR *ir, const GIO *v, const Tensor *in, size_t n, int64_t *run) {
  for (size_t i = 0; i < n; i++)
    for (int a = 0; a < v[i].rank; a++)
      if (v[i].open[a] && v[i].open[a] <= ir->symbols.n) run[v[i].open[a] - 1] = in[i].dims[a];
}

const GIO *values_of_run(Ctx *c, const IR *ir, const GIO *v, size_t n, const int64_t *run) {
  GIO *copy = n ? arena_dup(&c->model, v, n * sizeof *v) : NULL; /* a model may have no inputs */
  values_at(copy, n, &ir->extents, ir->symbols.n, run);
  return copy;
}

Options one_size(Ctx *c, const Options *o, const Symbols *all, const int64_t *run) {
  Options then = *o;
  memset(&then.dims, 0, sizeof then.dims);
  for (size_t i = 0; i < o->dims.n; i++) {
    const char *text = o->dims.p[i], *eq = strrchr(text, '=');
    const size_t name = (size_t)(eq - text);
    for (int k = 0; k < all->n && strchr(eq, ':'); k++)
      if (strlen(all->p[k].name) == name && !strncmp(all->p[k].name, text, name))
        text = arena_printf(&c->model, "%s=%lld", all->p[k].name, (long long)run[k]), eq = strrchr(text, '=');
    VEC_PUSH(&then.dims, text);
  }
  then.dims.p = arena_dup(&c->model, then.dims.p, then.dims.n * sizeof *then.dims.p);
  return then;
}

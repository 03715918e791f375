/* SPDX-License-Identifier: MIT */
/* state_args.c: --state IN=OUT[:KEY=VALUE,...], and the states where tgc itself makes several runs. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

/* ---- the option ---- */
static const char *const key_name[] = { "axis", "capacity", "init", "grow" };
enum { AXIS, CAPACITY, INIT, GROW, KEYS };

static int key_of(const char *s, size_t n) {
  int k = 0;
  while (k < KEYS && (strlen(key_name[k]) != n || memcmp(key_name[k], s, n))) k++;
  return k;
}

/* The beginning of the keys: a colon followed by a key, since names may contain colons. */
static const char *keys_of(const char *text) {
  for (const char *colon = strrchr(text, ':'); colon; colon = NULL)
    if (key_of(colon + 1, strcspn(colon + 1, "=,")) < KEYS) return colon;
  return text + strlen(text);
}

static int64_t number_of(Ctx *c, const char *text, const char *value) {
  char *end;
  long long v = strtoll(value, &end, 10);
  if (end == value || *end || v < 0)
    fail(c, EX_USAGE_, "--state needs numbers that are not negative, not '%s' in '%s'", value, text);
  return v;
}

static void set_key(Ctx *c, const char *text, const char *item, StateSpec *s) {
  size_t n = strcspn(item, "=");
  const char *value = item[n] ? item + n + 1 : NULL;
  int key = key_of(item, n);
  if (key == KEYS || !value != (key == GROW))
    fail(c, EX_USAGE_, "--state: unknown key '%s' in '%s'; the keys are axis=N, capacity=N, init=FILE and grow%s", item, text,
         did_you_mean(&c->model, arena_str(&c->model, item, n), key_name, KEYS));
  switch (key) {
  case AXIS: s->axis = (int)number_of(c, text, value); return;
  case CAPACITY: s->capacity = number_of(c, text, value); return;
  case GROW: s->grow = true; return;
  default: {
    Tensor t = npy_parse(c, value, file_read(c, value, 0));
    s->init = arena_dup(&c->model, &t, sizeof t);
  }
  }
}

static StateSpec parse_state(Ctx *c, const char *text) {
  StateSpec s = { .axis = -1 };
  const char *eq = strchr(text, '='), *keys = keys_of(text);
  if (!eq || eq == text || eq + 1 >= keys) fail(c, EX_USAGE_, "--state needs INPUT=OUTPUT, not '%s'", text);
  s.past = arena_str(&c->model, text, (size_t)(eq - text));
  s.present = arena_str(&c->model, eq + 1, (size_t)(keys - eq - 1));
  while (*keys) {
    size_t n = strcspn(++keys, ",");
    set_key(c, text, arena_str(&c->model, keys, n), &s);
    keys += n;
  }
  return s;
}

void apply_states(Ctx *c, const Options *o, Graph *g) {
  StateSpec *s = ARENA_NEW(&c->model, StateSpec, o->states.n + 1);
  for (size_t i = 0; i < o->states.n; i++) s[i] = parse_state(c, o->states.p[i]);
  graph_states(g, s, (int)o->states.n);
}

/* ---- values ---- */
static Tensor like(Ctx *c, const GIO *v) {
  Tensor t = { .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank), .name = v->name };
  memcpy(t.dims, v->dims, sizeof t.dims);
  t.data = arena_alloc(&c->model, (size_t)t.elems * (size_t)dt_bytes(t.dt)); /* zeros */
  return t;
}

void state_first(Ctx *c, const Graph *g, Tensor *in) {
  for (size_t k = 0, i = graph_nin(g); k < g->states.n; k++, i++) {
    in[i] = like(c, &g->inputs.p[i]);
    if (g->states.p[k].init) in[i].data = g->states.p[k].init->data;
  }
}

/* The last part of each output, as long as the first input. */
void state_next(Ctx *c, const Graph *g, const Tensor *out, Tensor *in) {
  for (size_t k = 0, i = graph_nin(g), o = graph_nout(g); k < g->states.n; k++, i++, o++) {
    const GIO *v = &g->inputs.p[i];
    int axis = g->states.p[k].axis;
    in[i] = like(c, v);
    size_t outer = axis < 0 ? 1 : (size_t)dims_elems(v->dims, axis), all = (size_t)out[o].elems * (size_t)dt_bytes(v->dt) / outer;
    size_t kept = (size_t)in[i].elems * (size_t)dt_bytes(v->dt) / outer;
    for (size_t b = 0; b < outer; b++)
      memcpy((char *)(uintptr_t)in[i].data + b * kept, (const char *)out[o].data + (b + 1) * all - kept, kept);
  }
}

/* SPDX-License-Identifier: MIT */
/* pipeline_build.c: graphs from a pipeline.
 *
 * Each stage is loaded once, as any model is, with the options below it. An entry becomes one graph: its stages are copied behind
 * each other, and the inputs of one are outputs of another. So the compiler sees what it would see of a single model, and fuses
 * over the borders. With several entries, each has a graph of its own in one IR, and the whole graph lists the values of all of
 * them. A state that several entries use is one state of the whole graph. */
#include "../../frontends/common/compose.h"
#include "pipeline.h"
#include <string.h>

typedef struct Use { Graph *g; int *state; } Use; /* an entry's graph; state: by state of the pipeline, 1 + its number in g */
typedef struct Build {
  Ctx *c;
  const Options *o;
  Pipeline *p;
  LoadModel *load;
  Graph **stage;           /* by stage: its model */
  Use *entries;            /* by entry */
} Build;

_Noreturn static void refuse(const Build *b, Pos at, const char *text) {
  b->c->file = b->p->path;
  fail_at(b->c, EX_BADMODEL, at, "%s", text);
}
#define REFUSE_AT(b, at, ...) refuse(b, at, arena_printf(&(b)->c->model, __VA_ARGS__))

/* ---- files ---- */
/* A path in the text is relative to the folder of the text. */
static const char *beside(const Build *b, const char *path) {
  const char *slash = strrchr(b->p->path, '/');
  if (*path == '/' || !slash) return path;
  return arena_printf(&b->c->model, "%.*s%s", (int)(slash + 1 - b->p->path), b->p->path, path);
}

static const char *option_value(const Build *b, const PipeOption *o) {
  const char *at = strstr(o->value, "=@");
  if (strstr(o->name, "logue")) return beside(b, o->value);
  if (strcmp(o->name, "const") || !at) return o->value;
  return arena_printf(&b->c->model, "%.*s%s", (int)(at + 2 - o->value), o->value, beside(b, at + 2));
}

/* ---- stages ---- */
typedef struct Saying { const Build *b; Pos at; } Saying;

static void say_option(void *arg, const char *text) {
  const Saying *s = arg;
  refuse(s->b, s->at, text);
}

typedef struct Loading { Options *o; LoadModel *load; Graph *g; } Loading;

static void load_stage(Ctx *c, void *arg) {
  Loading *l = arg;
  l->g = l->load(c, l->o, NULL);
}

/* The manifest lists the text as the model, and the stages' files by their names. */
static void name_source(Ctx *c, const char *file) {
  for (size_t i = 0; i < c->sources.n; i++)
    if (!c->sources.p[i].location) c->sources.p[i].location = file;
}

static Graph *stage_graph(const Build *b, const PipeStage *s) {
  Ctx *c = b->c;
  Options o;
  Saying saying = { b, s->at };
  Loading l = { &o, b->load, NULL };
  options_init(&o, VERB_compile);
  o.say = say_option;
  o.say_arg = &saying;
  o.hardlinks = b->o->hardlinks;
  o.no_index_status = b->o->no_index_status;
  o.model = beside(b, s->file);
  for (size_t i = 0; i < s->options.n; i++) {
    saying.at = s->options.p[i].at;
    option_set(&o, s->options.p[i].name, option_value(b, &s->options.p[i]));
    options_check(&o);
  }
  if (first_range(&o)) REFUSE_AT(b, saying.at, "a stage has one size: a range does not go with a pipeline");
  const char *end = strrchr(s->file, '.');
  if (end && !strcmp(end, ".tgp")) REFUSE_AT(b, s->at, "a stage is a model, and '%s' is a pipeline", s->file);
  const int code = ctx_try(c, load_stage, &l);
  options_free(&o);
  c->file = b->p->path;
  if (code) fail_at(c, code, s->at, "stage '%s' cannot be loaded", s->name);
  name_source(c, s->file);
  return l.g;
}

static Graph *graph_of(const Build *b, const PipeEnd *e) { return b->stage[pipeline_stage(b->p, e->stage)]; }

static GIO *end_value(const Build *b, const PipeEnd *e, bool output) {
  Graph *g = graph_of(b, e);
  GIO *all = output ? g->outputs.p : g->inputs.p;
  const size_t n = output ? graph_nout(g) : g->inputs.n;
  GIO *v = graph_find(all, n, e->value);
  if (v) return v;
  REFUSE_AT(b, e->at, "stage '%s' has no %s '%s'; there are%s", e->stage, output ? "output" : "input", e->value,
            graph_names(b->c, all, n, e->value));
}

static bool is_end(const PipeEnd *e, const PipeStage *s, const char *value) {
  return !strcmp(e->stage, s->name) && !strcmp(e->value, value);
}

static bool among(const PipeEnds *list, const PipeStage *s, const char *value) {
  bool any = false;
  for (size_t i = 0; i < list->n; i++) any |= is_end(&list->p[i], s, value);
  return any;
}

/* ---- states whose names have a star ---- */
static PipeEnds ends_filled(Ctx *c, const PipeEnds *list, const char *with) {
  PipeEnds all = { 0 };
  for (size_t i = 0; i < list->n; i++) {
    PipeEnd e = list->p[i];
    e.value = star_filled(c, e.value, with);
    VEC_PUSH(&all, e);
  }
  return all;
}

/* One state for each input that the first reader's pattern matches */
static void expand_state(const Build *b, const PipeState *s, Pipeline *to) {
  const PipeEnd *first = &s->to.p[0];
  const Graph *g = graph_of(b, first);
  const size_t before = to->states.n;
  if (!strchr(s->name, '*') || !strchr(first->value, '*'))
    REFUSE_AT(b, s->at, "a state with * needs one in its name and in the name of each input and output");
  for (size_t i = 0; i < g->inputs.n; i++) {
    const char *with = star_matched(b->c, first->value, g->inputs.p[i].name);
    PipeState one = *s;
    if (!with) continue;
    one.name = star_filled(b->c, s->name, with);
    one.from = ends_filled(b->c, &s->from, with);
    one.to = ends_filled(b->c, &s->to, with);
    VEC_PUSH(&to->states, one);
  }
  if (to->states.n == before) REFUSE_AT(b, first->at, "no input of stage '%s' matches '%s'", first->stage, first->value);
}

static bool has_star(const PipeState *s) {
  bool any = strchr(s->name, '*');
  for (size_t i = 0; i < s->from.n; i++) any |= strchr(s->from.p[i].value, '*') != NULL;
  for (size_t i = 0; i < s->to.n; i++) any |= strchr(s->to.p[i].value, '*') != NULL;
  return any;
}

static void expand_states(const Build *b) {
  Pipeline then = { 0 };
  for (size_t i = 0; i < b->p->states.n; i++) {
    PipeState *s = &b->p->states.p[i];
    if (!has_star(s)) {
      VEC_PUSH(&then.states, *s);
      continue;
    }
    expand_state(b, s, &then);
    VEC_FREE(&s->from);
    VEC_FREE(&s->to);
  }
  VEC_FREE(&b->p->states);
  b->p->states.p = then.states.p;
  b->p->states.n = then.states.n;
  b->p->states.cap = then.states.cap;
}

/* ---- names in the text ---- */
static void check_ends(const Build *b, const PipeEnds *list, bool output) {
  for (size_t i = 0; i < list->n; i++) end_value(b, &list->p[i], output);
}

/* An input gets its value from one place. */
static void check_once(const Build *b) {
  VEC(const PipeEnd *) to = { 0 };
  const Pipeline *p = b->p;
  for (size_t i = 0; i < p->links.n; i++) VEC_PUSH(&to, &p->links.p[i].to);
  for (size_t i = 0; i < p->states.n; i++)
    for (size_t k = 0; k < p->states.p[i].to.n; k++) VEC_PUSH(&to, &p->states.p[i].to.p[k]);
  for (size_t i = 0; i < p->inputs.n; i++)
    for (size_t k = 0; k < p->inputs.p[i].ends.n; k++) VEC_PUSH(&to, &p->inputs.p[i].ends.p[k]);
  for (size_t i = 0; i < to.n; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(to.p[i]->stage, to.p[k]->stage) && !strcmp(to.p[i]->value, to.p[k]->value))
        REFUSE_AT(b, to.p[i]->at, "'%s.%s' gets a value from line %d already", to.p[i]->stage, to.p[i]->value, to.p[k]->at.line);
  VEC_FREE(&to);
}

static void check_names(const Build *b) {
  const Pipeline *p = b->p;
  for (size_t i = 0; i < p->links.n; i++) {
    const PipeLink *l = &p->links.p[i];
    const GIO *from = end_value(b, &l->from, true), *to = end_value(b, &l->to, false);
    if (!graph_same_type(from, to))
      REFUSE_AT(b, l->from.at, "'%s.%s' is %s, but '%s.%s' is %s", l->from.stage, l->from.value, graph_type(b->c, from),
                l->to.stage, l->to.value, graph_type(b->c, to));
  }
  for (size_t i = 0; i < p->states.n; i++) {
    check_ends(b, &p->states.p[i].from, true);
    check_ends(b, &p->states.p[i].to, false);
    const PipeEnd *first = &p->states.p[i].to.p[0];
    for (size_t k = 1; k < p->states.p[i].to.n; k++)
      if (!graph_same_type(end_value(b, first, false), end_value(b, &p->states.p[i].to.p[k], false)))
        REFUSE_AT(b, p->states.p[i].to.p[k].at, "state '%s' is %s for one reader and %s for this one", p->states.p[i].name,
                  graph_type(b->c, end_value(b, first, false)),
                  graph_type(b->c, end_value(b, &p->states.p[i].to.p[k], false)));
  }
  for (size_t i = 0; i < p->inputs.n; i++) check_ends(b, &p->inputs.p[i].ends, false);
  for (size_t i = 0; i < p->outputs.n; i++) check_ends(b, &p->outputs.p[i].ends, true);
  check_once(b);
}

/* ---- the graph of an entry ---- */
typedef struct Entry {
  const Build *b;
  const PipeEntry *e;
  Graph *g;
  Ref **out;               /* by stage: its outputs; NULL: it did not run yet */
  Ref *state;              /* by state: its PARAM; 0: nobody reads it yet */
  const PipeEnd **renews;  /* by state: the output that renews it; NULL: none */
} Entry;

static bool has_stage(const PipeEntry *e, int stage) {
  bool any = false;
  for (size_t i = 0; i < e->stages.n; i++) any |= e->stages.p[i] == stage;
  return any;
}

/* The value that a connection gives an input; 0: none does in this entry */
static Ref linked(const Entry *x, const PipeStage *s, const char *name) {
  const Pipeline *p = x->b->p;
  for (size_t i = 0; i < p->links.n; i++) {
    const PipeLink *l = &p->links.p[i];
    const int from = pipeline_stage(p, l->from.stage);
    if (!is_end(&l->to, s, name) || !has_stage(x->e, from)) continue;
    if (!x->out[from])
      REFUSE_AT(x->b, x->e->at, "in entry '%s', stage '%s' stands before '%s', whose output '%s' it reads (line %d)", x->e->name,
                s->name, l->from.stage, l->from.value, l->to.at.line);
    return x->out[from][end_value(x->b, &l->from, true) - x->b->stage[from]->outputs.p];
  }
  return 0;
}

static Ref state_value(Entry *x, const PipeStage *s, const GIO *v) {
  const Pipeline *p = x->b->p;
  for (size_t i = 0; i < p->states.n; i++) {
    if (!among(&p->states.p[i].to, s, v->name)) continue;
    if (!x->state[i]) x->state[i] = graph_input(x->g, v, p->states.p[i].name);
    return x->state[i];
  }
  return 0;
}

static const char *input_name(const Entry *x, const PipeStage *s, const char *name, bool *shared) {
  const Pipeline *p = x->b->p;
  for (size_t i = 0; i < p->inputs.n; i++)
    if (among(&p->inputs.p[i].ends, s, name)) return *shared = true, p->inputs.p[i].name;
  return name;
}

static Ref own_input(Entry *x, const PipeStage *s, const GIO *v) {
  bool shared = false;
  const char *name = input_name(x, s, v->name, &shared);
  const GIO *other = graph_find(x->g->inputs.p, x->g->inputs.n, name);
  if (!other) return graph_input(x->g, v, name);
  if (!shared)
    REFUSE_AT(x->b, s->at,
              "entry '%s' has another input '%s' before that of stage '%s'; `input NAME = ...` gives both one value, and "
              "`rename` tells them apart", x->e->name, name, s->name);
  if (!graph_same_type(other, v))
    REFUSE_AT(x->b, s->at, "input '%s' of entry '%s' is %s, but '%s.%s' is %s", name, x->e->name, graph_type(x->b->c, other),
              s->name, v->name, graph_type(x->b->c, v));
  return other->ref;
}

static void add_stage(Entry *x, int stage) {
  const PipeStage *s = &x->b->p->stages.p[stage];
  const Graph *g = x->b->stage[stage];
  Arena *m = &x->b->c->model;
  Ref *in = ARENA_NEW(m, Ref, g->inputs.n + 1), *out = ARENA_NEW(m, Ref, g->outputs.n + 1);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *v = &g->inputs.p[i];
    in[i] = linked(x, s, v->name);
    if (!in[i]) in[i] = state_value(x, s, v);
    if (!in[i]) in[i] = own_input(x, s, v);
  }
  graph_graft(x->g, g, x->b->p->stages.n > 1 ? s->name : NULL, in, out);
  x->out[stage] = out;
}

/* Whether a connection of this entry, or a state, takes the output */
static bool is_taken(Entry *x, const PipeStage *s, const char *name) {
  const Pipeline *p = x->b->p;
  bool taken = false;
  for (size_t i = 0; i < p->links.n; i++)
    taken |= is_end(&p->links.p[i].from, s, name) && has_stage(x->e, pipeline_stage(p, p->links.p[i].to.stage));
  for (size_t i = 0; i < p->states.n; i++) {
    const PipeState *state = &p->states.p[i];
    for (size_t k = 0; k < state->from.n; k++) {
      if (!is_end(&state->from.p[k], s, name)) continue;
      if (x->renews[i])
        REFUSE_AT(x->b, state->from.p[k].at, "in entry '%s', both '%s.%s' and '%s.%s' renew state '%s'", x->e->name,
                  x->renews[i]->stage, x->renews[i]->value, s->name, name, state->name);
      x->renews[i] = &state->from.p[k];
      taken = true;
    }
  }
  return taken;
}

static void put_output(Entry *x, const PipeStage *s, const GIO *like, Ref r, const char *name) {
  GIO io = *like;
  io.ref = r;
  io.name = name;
  if (graph_find(x->g->outputs.p, x->g->outputs.n, name))
    REFUSE_AT(x->b, s->at, "entry '%s' has another output '%s' before that of stage '%s'; `output NAME = %s.%s` renames it",
              x->e->name, name, s->name, s->name, like->name);
  VEC_PUSH(&x->g->outputs, io);
}

static void stage_outputs(Entry *x, int stage) {
  const Pipeline *p = x->b->p;
  const PipeStage *s = &p->stages.p[stage];
  const Graph *g = x->b->stage[stage];
  for (size_t i = 0; i < graph_nout(g); i++) {
    const GIO *v = &g->outputs.p[i];
    bool taken = is_taken(x, s, v->name);
    for (size_t k = 0; k < p->outputs.n; k++)
      if (among(&p->outputs.p[k].ends, s, v->name)) {
        put_output(x, s, v, x->out[stage][i], p->outputs.p[k].name);
        taken = true;
      }
    if (!taken) put_output(x, s, v, x->out[stage][i], v->name);
  }
}

/* Each state that the entry touches has an input and an output of its name. */
static void state_outputs(Entry *x) {
  const Build *b = x->b;
  for (size_t i = 0; i < b->p->states.n; i++) {
    const PipeState *s = &b->p->states.p[i];
    const PipeEnd *from = x->renews[i];
    if (!from && !x->state[i]) continue;
    const GIO *past = end_value(b, &s->to.p[0], false), *next = from ? end_value(b, from, true) : past;
    const int stage = from ? pipeline_stage(b->p, from->stage) : 0;
    if (!x->state[i]) x->state[i] = graph_input(x->g, past, s->name);
    const Ref r = from ? x->out[stage][next - b->stage[stage]->outputs.p] : x->state[i];
    put_output(x, &b->p->stages.p[stage], next, r, s->name);
  }
}

static void put_guards(Entry *x) {
  GIO guard = { 0 };
  for (size_t i = 0; i < x->e->stages.n; i++) {
    const int stage = x->e->stages.p[i];
    const Graph *g = x->b->stage[stage];
    if (!g->guarded) continue;
    const Ref r = x->out[stage][g->outputs.n - 1], before = guard.ref;
    guard = g->outputs.p[g->outputs.n - 1];
    guard.ref = before ? guards_joined(x->g->ir, before, r) : r;
    guard.dt = (DType)node(x->g->ir, guard.ref)->dt;
  }
  if (!guard.ref) return;
  VEC_PUSH(&x->g->outputs, guard);
  x->g->guarded = true;
}

static const Tensor *first_value(const Build *b, const PipeState *s) {
  if (!s->init) return NULL;
  const char *path = beside(b, s->init);
  const Tensor t = npy_parse(b->c, path, file_read(b->c, path, 0));
  return arena_dup(&b->c->model, &t, sizeof t);
}

typedef struct Making { Graph *g; const StateSpec *specs; int n; } Making;

static void make_states(Ctx *c, void *arg) {
  const Making *m = arg;
  (void)c;
  graph_states(m->g, m->specs, m->n);
}

/* The states at the ends of the lists, in the order of the text */
static int *entry_states(Entry *x, Graph *g) {
  const Build *b = x->b;
  const size_t n = b->p->states.n;
  StateSpec *specs = ARENA_NEW(&b->c->model, StateSpec, n + 1);
  int *number = ARENA_NEW(&b->c->model, int, n + 1), used = 0;
  const PipeState *last = NULL;
  for (size_t i = 0; i < n; i++) {
    const PipeState *s = &b->p->states.p[i];
    if (!x->state[i]) continue;
    const bool renewed = x->renews[i] != NULL;
    specs[used] = (StateSpec){ .past = s->name, .present = s->name, .axis = -1, .init = first_value(b, s) };
    if (renewed) specs[used].axis = (int)s->axis, specs[used].capacity = s->capacity, specs[used].grow = s->grow;
    number[i] = ++used;
    last = s;
  }
  Making making = { g, specs, used };
  const int code = ctx_try(b->c, make_states, &making);
  if (code) fail_at(b->c, code, last->at, "the states of entry '%s' cannot be made", x->e->name);
  for (size_t i = 0; i < n; i++)
    if (number[i] && !x->renews[i]) g->states.p[number[i] - 1].only_read = true;
  return number;
}

static Use entry_graph(const Build *b, const PipeEntry *e) {
  Arena *m = &b->c->model;
  Entry x = { b, e, graph_new(b->c, e->name), ARENA_NEW(m, Ref *, b->p->stages.n + 1), ARENA_NEW(m, Ref, b->p->states.n + 1),
              ARENA_NEW(m, const PipeEnd *, b->p->states.n + 1) };
  for (size_t i = 0; i < e->stages.n; i++) add_stage(&x, e->stages.p[i]);
  for (size_t i = 0; i < e->stages.n; i++) stage_outputs(&x, e->stages.p[i]);
  state_outputs(&x);
  put_guards(&x);
  if (!graph_nout(x.g)) REFUSE_AT(b, e->at, "entry '%s' has no output and renews no state", e->name);
  Graph *g = ir_compact(x.g);
  graph_free(x.g);
  int *number = entry_states(&x, g);
  return (Use){ g, number };
}

/* ---- the whole graph ---- */
/* A copy of an entry's graph in the whole graph's IR */
static Graph *entry_copy(const Build *b, const Graph *from, IR *ir) {
  Graph *g = ARENA_NEW(&b->c->model, Graph, 1);
  Ref *in = ARENA_NEW(&b->c->model, Ref, from->inputs.n + 1), *out = ARENA_NEW(&b->c->model, Ref, from->outputs.n + 1);
  *g = *from;
  g->ir = ir;
  g->inputs.p = arena_dup(&b->c->model, from->inputs.p, from->inputs.n * sizeof *from->inputs.p);
  g->outputs.p = arena_dup(&b->c->model, from->outputs.p, from->outputs.n * sizeof *from->outputs.p);
  for (size_t i = 0; i < from->inputs.n; i++) {
    const GIO *v = &from->inputs.p[i];
    g->inputs.p[i].ref = in[i] = g_param(ir, v->dt, v->rank, v->dims, (int)i);
  }
  graph_graft(g, from, NULL, in, out);
  for (size_t i = 0; i < from->outputs.n; i++) g->outputs.p[i].ref = out[i];
  return g;
}

/* Entries that share a window agree on its memory. */
static void share_window(const Build *b, size_t state) {
  const Pipeline *p = b->p;
  int64_t step = 0, most = 0, capacity = 0;
  int axis = -1;
  for (size_t e = 0; e < p->entries.n; e++) {
    const int k = b->entries[e].state[state];
    const GState *s = k ? &b->entries[e].g->states.p[k - 1] : NULL;
    if (!s || s->axis < 0) continue;
    if (axis >= 0 && s->axis != axis)
      REFUSE_AT(b, p->states.p[state].at, "state '%s' grows along axis %d in one entry and along axis %d in '%s'",
                p->states.p[state].name, axis, s->axis, p->entries.p[e].name);
    axis = s->axis;
    step = i64_gcd(s->taken, step);
    if (s->taken > most) most = s->taken;
    if (s->capacity > capacity) capacity = s->capacity;
  }
  for (size_t e = 0; e < p->entries.n && axis >= 0; e++) {
    const int k = b->entries[e].state[state];
    GState *s = k ? &b->entries[e].g->states.p[k - 1] : NULL;
    if (s && s->axis < 0)
      REFUSE_AT(b, p->states.p[state].at,
                "state '%s' is a window that other entries append to; entry '%s' must append to it, too",
                p->states.p[state].name, p->entries.p[e].name);
    if (s) s->step = step, s->most = most, s->capacity = capacity;
  }
}

typedef struct Whole {
  const Build *b;
  Graph *g;
  int *state;              /* by state of the pipeline, then the length: 1 + its number in g; 0: no entry has it */
  VEC(GIO) past, next;     /* values of the states */
} Whole;

/* The state of the whole graph for state k of an entry; a state of the whole has a value that some entry renews. */
static int whole_state(Whole *w, size_t state, const Graph *g, size_t k) {
  const GState *s = &g->states.p[k];
  if (!w->state[state]) {
    VEC_PUSH(&w->g->states, *s);
    VEC_PUSH(&w->past, g->inputs.p[graph_nin(g) + k]);
    VEC_PUSH(&w->next, g->outputs.p[graph_nout(g) + k]);
    w->state[state] = (int)w->g->states.n;
  }
  const int at = w->state[state] - 1;
  if (w->g->states.p[at].only_read && !s->only_read) {
    w->g->states.p[at] = *s;
    w->next.p[at] = g->outputs.p[graph_nout(g) + k];
  }
  return at;
}

static int *add_values(Whole *w, const char *entry, const GIO *v, size_t n, bool output) {
  int *number = ARENA_NEW(&w->b->c->model, int, n + 1);
  for (size_t i = 0; i < n; i++) {
    GIO io = v[i];
    io.name = arena_printf(&w->b->c->model, "%s_%s", entry, io.name);
    number[i] = (int)(output ? w->g->outputs.n : w->g->inputs.n);
    if (output) VEC_PUSH(&w->g->outputs, io);
    else VEC_PUSH(&w->g->inputs, io);
  }
  return number;
}

static void add_entry(Whole *w, size_t e) {
  const Build *b = w->b;
  const size_t n = b->p->states.n;
  const char *name = b->p->entries.p[e].name;
  Graph *g = entry_copy(b, b->entries[e].g, w->g->ir);
  GEntry x = { .name = name, .g = g, .state = ARENA_NEW(&b->c->model, int, g->states.n + 1) };
  x.input = add_values(w, name, g->inputs.p, graph_nin(g), false);
  x.output = add_values(w, name, g->outputs.p, graph_nout(g), true);
  for (size_t i = 0; i < n; i++) {
    const int k = b->entries[e].state[i];
    if (k) x.state[k - 1] = whole_state(w, i, g, (size_t)k - 1);
  }
  w->g->grows |= g->grows;
  VEC_PUSH(&w->g->entries, x);
}

/* The length of the windows is the last state of each entry that has it, and of the whole. */
static void add_lengths(Whole *w) {
  for (size_t e = 0; e < w->g->entries.n; e++) {
    GEntry *x = &w->g->entries.p[e];
    if (x->g->grows) x->state[x->g->states.n - 1] = whole_state(w, w->b->p->states.n, x->g, x->g->states.n - 1);
  }
}

static void end_lists(Whole *w) {
  const GIO *guard = NULL;
  for (size_t k = 0; k < w->past.n; k++) {
    VEC_PUSH(&w->g->inputs, w->past.p[k]);
    VEC_PUSH(&w->g->outputs, w->next.p[k]);
  }
  for (size_t e = 0; e < w->g->entries.n; e++) {
    const Graph *g = w->g->entries.p[e].g;
    if (g->guarded) guard = &g->outputs.p[g->outputs.n - 1];
  }
  if (guard) VEC_PUSH(&w->g->outputs, *guard);
  w->g->guarded = guard != NULL;
}

static Graph *whole_graph(const Build *b, const char *name) {
  Whole w = { .b = b, .g = graph_new(b->c, name) };
  w.state = ARENA_NEW(&b->c->model, int, b->p->states.n + 2);
  for (size_t i = 0; i < b->p->states.n; i++) share_window(b, i);
  for (size_t e = 0; e < b->p->entries.n; e++) add_entry(&w, e);
  add_lengths(&w);
  end_lists(&w);
  VEC_FREE(&w.past);
  VEC_FREE(&w.next);
  return w.g;
}

/* ---- all of it ---- */
static void default_entry(Pipeline *p) {
  PipeEntry e = { .name = "all", .at = p->stages.p[0].at };
  for (size_t i = 0; i < p->stages.n; i++) VEC_PUSH(&e.stages, (int)i);
  VEC_PUSH(&p->entries, e);
}

/* A stage that no entry runs is a mistake. */
static void check_stages(const Build *b) {
  for (size_t i = 0; i < b->p->stages.n; i++) {
    bool runs = false;
    for (size_t e = 0; e < b->p->entries.n; e++) runs |= has_stage(&b->p->entries.p[e], (int)i);
    if (!runs) REFUSE_AT(b, b->p->stages.p[i].at, "no entry runs stage '%s'", b->p->stages.p[i].name);
  }
}

static size_t entry_named(const Build *b, const char *name) {
  const Pipeline *p = b->p;
  const char **names = ARENA_NEW(&b->c->model, const char *, p->entries.n + 1);
  Names list = { 0 };
  for (size_t e = 0; e < p->entries.n; e++) {
    if (!strcmp(p->entries.p[e].name, name)) return e;
    names[e] = p->entries.p[e].name;
    names_add(b->c, &list, names[e]);
  }
  fail(b->c, EX_USAGE_, "--entry: the pipeline has no entry '%s'; there are%s%s", name, names_text(b->c, &list),
       did_you_mean(&b->c->model, name, names, p->entries.n));
}

Graph *pipeline_build(Ctx *c, const Options *o, Pipeline *p, LoadModel *load) {
  const char *only = o->entry;
  Arena *m = &c->model;
  if (!p->entries.n) default_entry(p);
  Build b = { c, o, p, load, ARENA_NEW(m, Graph *, p->stages.n + 1), ARENA_NEW(m, Use, p->entries.n + 1) };
  check_stages(&b);
  const size_t one = only ? entry_named(&b, only) : 0;
  for (size_t i = 0; i < p->stages.n; i++) b.stage[i] = stage_graph(&b, &p->stages.p[i]);
  expand_states(&b);
  check_names(&b);
  for (size_t e = 0; e < p->entries.n; e++) b.entries[e] = entry_graph(&b, &p->entries.p[e]);
  c->file = p->path;
  const char *slash = strrchr(p->path, '/'), *name = slash ? slash + 1 : p->path;
  const bool whole = !only && p->entries.n > 1;
  Graph *g = whole ? whole_graph(&b, arena_str(m, name, strcspn(name, "."))) : b.entries[one].g;
  for (size_t i = 0; i < p->stages.n; i++) graph_free(b.stage[i]);
  for (size_t e = 0; e < p->entries.n; e++)
    if (b.entries[e].g != g) graph_free(b.entries[e].g);
  return g;
}

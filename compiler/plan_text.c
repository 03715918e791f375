/* SPDX-License-Identifier: MIT */
/* plan_text.c: dumps: the state between two passes as text, and back.
 *
 * A dump is the graph (compiler/ir/print.c), with decisions about its values as attributes of their lines. Buffers follow, then
 * kernels: their computations, their nests with schedules, and their programs. A record is a list of fields "name=value". One
 * table gives the place of each field, its value when absent, and its limits. A statement is a row with a function that writes
 * it and one that reads it, so everything that is written can be read.
 *
 * A dump may be hostile, as any model. Each line is checked as it is read, by the tables here and by the verifier; plan_check.c
 * checks the rest.
 *
 * Buffers and ranges keep their numbers, since later passes order by them. Nodes and tensors get new numbers. */
#include "plan_parts.h"

/* ---- statements ---- */
typedef struct Statement {
  const char *word;        /* NULL: lines of IR */
  const char *since;       /* first pass after which the statement occurs; NULL: always */
  void (*put)(Writer *);   /* writes all statements of this kind; NULL: another row writes them */
  void (*read)(Parser *);
} Statement;

/* clang-format off */
static const Statement statements[] = { /* in the order of the text */
  { "after",   NULL,       put_after,    read_after },
  { "option",  NULL,       put_settings, read_setting },
  { "source",  NULL,       put_sources,  read_source },
  { "ranges",  NULL,       NULL,         read_ranges },
  { "origin",  NULL,       put_origins,  read_origin },
  { NULL,      NULL,       put_graph,    NULL },
  { "state",   NULL,       put_states,   read_state },
  { "grows",   NULL,       NULL,         read_grows },
  { "sample",  NULL,       put_sample,   read_sample },
  { "cost",    "layout",   put_cost,     read_cost },
  { NULL,      "layout",   put_buffers,  NULL },
  { "packed",  "pack",     put_packed,   read_packed },
  { "kernel",  "kernels",  put_kernels,  read_kernel },
  { "nest",    "even",     NULL,         read_nest },
  { "pending", "schedule", NULL,         read_pending },
  { "opts",    "schedule", NULL,         read_opts },
  { "opt",     "schedule", NULL,         read_opt },
  { "move",    "schedule", NULL,         read_move },
  { "peel",    "schedule", NULL,         read_peel },
  { "part",    "schedule", NULL,         read_part },
  { "isomorphic", "match", NULL,         read_isomorphic },
  { "shift",   "rebase",   NULL,         read_shift },
  { "program", "programs", NULL,         read_program },
  { "variant", "variants", NULL,         read_variant },
  { "arena",   "memplan",  put_memory,   read_arena },
  { "memory",  "memplan",  NULL,         read_memory },
};
/* clang-format on */
enum { STATEMENTS = sizeof statements / sizeof *statements };

static bool is_given(const Statement *s, int pass) { return !s->since || pass >= pass_named(s->since); }

void plan_print_graph(const Sched *s, const Plan *p, Sb *out) {
  Writer w = { .s = s, .p = p, .out = out };
  printer_init(&w.graph, s->ir, L_GRAPH, out);
  w.graph.attributes = put_place;
  w.graph.attributed = is_placed;
  w.graph.arg = &w;
  print_header("graph", s->g->name, out);
  if (p->layouts.cost[0] > 0)
    sb_printf(out, "# layout: cost %.4g instructions, %.4g if layouts were chosen value by value\n", p->layouts.cost[1],
              p->layouts.cost[0]);
  print_graph(&w.graph, s->g, NULL, NULL);
  printer_free(&w.graph);
}

void plan_print(const Sched *s, const Plan *p, int pass, const CompileOptions *o, Sb *out) {
  Writer w = { .s = s, .p = p, .pass = pass, .o = o, .out = out };
  printer_init(&w.graph, s->ir, L_GRAPH, out);
  printer_init(&w.inner, s->ir, L_KERNEL, out);
  w.graph.table = w.inner.table = true;
  w.graph.attributes = put_place;
  w.graph.attributed = is_placed;
  w.graph.arg = &w;
  print_header("plan", s->g->name, out);
  for (int i = 0; i < STATEMENTS; i++)
    if (statements[i].put && is_given(&statements[i], pass)) statements[i].put(&w);
  printer_free(&w.graph);
  printer_free(&w.inner);
  refmap_free(&w.tensor);
}

/* ---- reading, continued ---- */
static void resolve_names(Parser *p) {
  Reader *rd = reader_of(p);
  for (size_t i = 0; i < rd->later.n; i++) {
    const Later *l = &rd->later.p[i];
    *(Ref *)(void *)((char *)&rd->placed.p[l->owner].place + l->at) = parse_graph_name(p, l->name, l->n);
  }
}

static void keep_places(Parser *p) {
  Reader *rd = reader_of(p);
  Resumed *r = rd->r;
  r->nplace = p->ir->n;
  r->place = ARENA_NEW(&p->c->model, Place, r->nplace);
  for (uint32_t i = 0; i < r->nplace; i++) r->place[i].buf = r->place[i].inner = -1;
  for (size_t i = 0; i < rd->placed.n; i++) r->place[rd->placed.p[i].value] = rd->placed.p[i].place;
}

static void read_end(Parser *p) {
  Reader *rd = reader_of(p);
  end_kernel(p);
  if (!rd->r->after) fail(p->c, EX_BADMODEL, "the dump does not name its pass; expected 'after PASS'");
  if (rd->placed.n && rd->r->pass < pass_named("materialize"))
    fail(p->c, EX_BADMODEL, "a value is marked as materialized, but the pass materialize has not run");
  if (!rd->arena && rd->r->pass >= pass_named("memplan")) fail(p->c, EX_BADMODEL, "the memory plan is missing");
  resolve_names(p);
  *p->where = (Pos){ 0 }; /* later errors belong to no single line */
  if (rd->r->pass >= pass_named("materialize")) keep_places(p);
  for (size_t i = 0; i < rd->packed.n; i++) VEC_PUSH(&rd->r->plan->weights.packed, rd->packed.p[i]);
}

static bool read_statement(Parser *p, const char *at, size_t n) {
  Reader *rd = reader_of(p);
  if (!n) {
    read_end(p);
    return true;
  }
  for (int i = 0; i < STATEMENTS; i++) {
    const Statement *s = &statements[i];
    if (!s->read || !is_word(at, n, s->word)) continue;
    if ((s->read == read_after) == (rd->r->after != NULL))
      scan_bad(p, at, rd->r->after ? "the pass is given already" : "expected 'after PASS' before all else");
    if (rd->r->after && !is_given(s, rd->r->pass))
      scan_bad(p, at, "'%s' is not known after %s, only after %s", s->word, rd->r->after, s->since);
    s->read(p);
    return true;
  }
  return false;
}

typedef struct Reading {
  Reader rd;
  const char *text, *path;
  size_t n;
  const TextHooks *hooks;
} Reading;

static void read_text(Ctx *c, void *arg) {
  Reading *x = arg;
  const PlanReader plan = { &x->rd, read_statement, read_place, read_buffer_key };
  Graph *g = parse_plan(c, x->text, x->n, x->path, x->hooks, &plan);
  x->rd.r->g = g;
}

Resumed *plan_read(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks) {
  Resumed *r = ARENA_NEW(&c->model, Resumed, 1);
  r->plan = ARENA_NEW(&c->model, Plan, 1);
  Reading x = { .rd = { .r = r, .into = r->plan }, .text = text, .path = path, .n = n, .hooks = hooks };
  const int code = ctx_try(c, read_text, &x);
  c->sources.n = 0; /* replaces the dump's own files by the model's */
  for (size_t i = 0; i < x.rd.sources.n; i++) VEC_PUSH(&c->sources, x.rd.sources.p[i]);
  VEC_FREE(&x.rd.sources);
  VEC_FREE(&x.rd.placed);
  VEC_FREE(&x.rd.later);
  VEC_FREE(&x.rd.packed);
  VEC_FREE(&x.rd.shift);
  if (code) fail_silent(c, code);
  return r;
}

const char *resumed_after(const Resumed *r) { return r->after; }
Graph *resumed_graph(const Resumed *r) { return r->g; }

bool resumed_sample(const Resumed *r, Sample *s) {
  const size_t nin = r->g->inputs.n, nout = graph_nout(r->g);
  if (!r->in.n && !r->exact.n) return false;
  bool fits = r->in.n == nin && r->exact.n == nout;
  for (size_t i = 0; fits && i < nin; i++) {
    const GIO *io = &r->g->inputs.p[i];
    fits = r->in.p[i].dt == io->dt && r->in.p[i].elems == dims_elems(io->dims, io->rank);
  }
  for (size_t i = 0; fits && i < nout; i++) {
    const GIO *io = &r->g->outputs.p[i];
    fits = r->exact.p[i].elems == dims_elems(io->dims, io->rank);
  }
  if (!fits) fail(r->g->ir->ctx, EX_BADMODEL, "the sample must have a row for each input and output, with its type and size");
  *s = (Sample){ r->in.p, r->exact.p };
  return true;
}

const Setting *resumed_settings(const Resumed *r, size_t *n) {
  *n = r->settings.n;
  return r->settings.p;
}

const char *resumed_setting(const Resumed *r, const char *name) {
  for (size_t i = 0; i < r->settings.n; i++)
    if (!strcmp(r->settings.p[i].name, name)) return r->settings.p[i].value;
  return NULL;
}

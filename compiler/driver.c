/* driver.c: walks the table of passes.h from a graph to a plan. */
#include "driver.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "schedule/sched.h"
#include <stdlib.h>
#include <string.h>

typedef struct State {
  Sched s;
  Plan *plan;
  const CompileOptions *o;
} State;

static void pass_integer(State *st) { graph_integer(st->s.g, st->plan->target); }
static void pass_simplify(State *st) { graph_simplify(st->s.g, st->o->precision != PREC_STRICT); }
static void pass_widen(State *st) { graph_widen(st->s.g, st->o->precision == PREC_STRICT); }
static void pass_fold(State *st) {
  graph_fold(st->s.g);
  graph_simplify(st->s.g, st->o->precision != PREC_STRICT);
}

static void pass_place(State *st) { graph_place(st->s.g); }

static void pass_siblings(State *st) {
  if (graph_siblings(st->s.g)) pass_fold(st);
}

static void pass_winograd(State *st) { graph_winograd(st->s.g, st->o->precision, st->plan->target); }

static void pass_border(State *st) {
  if (graph_border(st->s.g, st->plan->target)) graph_simplify(st->s.g, false);
}

static void pass_store(State *st) { graph_store(st->s.g, st->o->weights); }

static void pass_split(State *st) { graph_split(st->s.g, st->o->precision, st->plan->target, st->o->keep_denormals); }

static void pass_narrow(State *st) { graph_narrow(st->s.g, st->o->precision, st->plan->target); }

static void pass_fuse(State *st) {
  Refs roots = { 0 };
  Sched *s = &st->s;
  for (size_t i = 0; i < s->g->outputs.n; i++) VEC_PUSH(&roots, s->g->outputs.p[i].ref);
  ir_toposort(s->ir, roots.p, roots.n, &s->order);
  VEC_FREE(&roots);
  s->nplace = s->ir->n;
  s->place = ARENA_NEW(&s->ir->ctx->model, Place, s->nplace);
  for (uint32_t i = 0; i < s->nplace; i++) s->place[i].buf = s->place[i].inner = -1;
  sched_fuse(s);
}

static void pass_layout(State *st) { sched_layout(&st->s); }
static void pass_kernels(State *st) { sched_lower(&st->s); }

static void pass_chains(State *st) {
  kernel_chains(st->plan, st->o->chains);
}

static void pass_programs(State *st) {
  owners_begin(st->plan);
  alike_begin(st->plan);
  for (size_t k = 0; k < st->plan->kernels.n; k++) {
    kernel_lower(st->plan, (int)k);
    if (st->o->progress) st->o->progress(st->o->progress_arg, "kernels", (int)k + 1, (int)st->plan->kernels.n);
  }
  owners_end(st->plan);
  alike_end(st->plan);
  if (st->plan->target->variants) fat_variants(st->plan);
}

static void pass_bounds(State *st) {
  plan_bounds(st->plan);
  for (size_t i = 0; i < st->plan->variants.n; i++) plan_bounds(st->plan->variants.p[i]);
}

/* The weights blob: every constant that a kernel names, once, on 64-byte lines. The table of buffers may
 * hold those of another plan of the same graph, placed in another blob. */
typedef VEC(const Buf *) Placed;

static int64_t place_weights_of(const Plan *p, int64_t at, Placed *placed) {
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      Buf *b = &p->ir->bufs.p[p->kernels.p[k].bufs.p[i]];
      if (b->kind != BUF_WEIGHT || b->offset >= 0) continue;
      b->offset = at;
      at += (b->elems * dt_bytes(b->dt) + 63) / 64 * 64;
      VEC_PUSH(placed, b);
    }
  return at;
}

static void place_weights(Plan *p) {
  IR *ir = p->ir;
  Placed placed = { 0 };
  int64_t at = p->variants.n ? 0 : place_weights_of(p, 0, &placed); /* with variants, p itself is not code */
  for (size_t i = 0; i < p->variants.n; i++) at = place_weights_of(p->variants.p[i], at, &placed);
  for (size_t k = 0; k < p->states.n; k++) {
    const Tensor *t = p->g->states.p[k].init;
    if (!t) continue;
    p->states.p[k].init = at;
    at += (t->elems * dt_bytes(t->dt) + 63) / 64 * 64;
  }
  p->weight_bytes = at;
  p->weights = arena_alloc(&ir->ctx->model, (size_t)at);
  for (size_t i = 0; i < placed.n; i++) {
    const Buf *b = placed.p[i];
    if (b->packed) packed_gather(ir, &p->packed.p[b->packed - 1], p->weights + b->offset);
    else memcpy(p->weights + b->offset, ir->tensors.p[b->slot].data, (size_t)(b->elems * dt_bytes(b->dt)));
  }
  for (size_t k = 0; k < p->states.n; k++) {
    const Tensor *t = p->g->states.p[k].init;
    if (t) memcpy(p->weights + p->states.p[k].init, t->data, (size_t)(t->elems * dt_bytes(t->dt)));
  }
  VEC_FREE(&placed);
}

static void pass_memplan(State *st) {
  sched_states(st->plan);
  sched_memplan(st->plan);
  place_weights(st->plan);
  for (size_t i = 0; i < st->plan->variants.n; i++) {
    Plan *v = st->plan->variants.p[i];
    v->states = st->plan->states;
    v->state_at = st->plan->state_at;
    v->guard_at = st->plan->guard_at;
    for (size_t k = 0; k < v->kernels.n; k++) v->kernels.p[k].may_alias = st->plan->kernels.p[k].may_alias;
  }
}

static void pass_render(State *st) {
  kernel_functions(st->plan);
  for (size_t i = 0; i < st->plan->variants.n; i++) kernel_functions(st->plan->variants.p[i]);
}

typedef struct Pass { char letter; const char *name; void (*run)(State *); Level level; const char *gloss; } Pass;
static const Pass passes[] = {
#define PASS(letter, name, run, level, gloss) { letter, #name, run, level, gloss },
#include "passes.h"
#undef PASS
};

int pass_count(void) { return (int)(sizeof passes / sizeof *passes); }
PassInfo pass_info(int i) { return (PassInfo){ passes[i].letter, passes[i].name, passes[i].gloss }; }

static void print_stored(const IR *ir, Ref r, Sb *out) {
  const Node *x = node(ir, r);
  sb_printf(out, "; stored: %s %s[", op_info[x->op].name, dtype_info[x->dt].text);
  for (int a = 0; a < x->rank; a++) sb_printf(out, "%s%lld", a ? "," : "", (long long)x->dims[a]);
  sb_puts(out, "]");
}

static void print_origin(const IR *ir, Ref r, Sb *out) {
  const char *from = ir->origins.p[node(ir, r)->origin].text;
  sb_printf(out, "%s%s\n", from ? " from " : "", from ? from : "");
}

/* The text of the two passes whose result is not IR: what is stored, and where. */
static void print_places(const State *st, Sb *out) {
  const Sched *s = &st->s;
  for (size_t i = 0; i < s->order.n; i++) {
    if (!s->place[s->order.p[i]].stored) continue;
    print_stored(s->ir, s->order.p[i], out);
    print_origin(s->ir, s->order.p[i], out);
  }
}

static void print_layouts(const Plan *p, Sb *out) {
  for (size_t i = 0; i < p->nlayouts; i++) {
    const Layout *l = &p->layouts[i];
    print_stored(p->ir, l->value, out);
    layout_print(p->ir, l, out);
    print_origin(p->ir, l->value, out);
  }
  if (p->layout_cost[0] > 0)
    sb_printf(out, "; orders of axes: cost %.4g, %.4g with what each value wants by itself\n", p->layout_cost[1],
              p->layout_cost[0]);
}

static void print_state(const State *st, const Pass *pass, Sb *out) {
  const Plan *p = st->plan;
  if (pass->level == L_GRAPH) {
    if (pass->run == pass_layout) print_layouts(p, out);
    else if (st->s.place) print_places(st, out);
    ir_print_graph(st->s.g, out);
  } else if (pass->level == L_KERNEL) {
    Refs sinks = { 0 };
    for (size_t k = 0; k < p->kernels.n; k++) {
      if (p->kernels.p[k].together > 1) sb_printf(out, "; together: k%zu to k%zu\n", k, k + (size_t)p->kernels.p[k].together - 1);
      VEC_PUSH(&sinks, p->kernels.p[k].sink);
    }
    ir_print_nodes(p->ir, sinks.p, sinks.n, out);
    VEC_FREE(&sinks);
  } else
    for (size_t k = 0; k < p->kernels.n; k++) {
      if (pass->run == pass_render) {
        if (p->kernels.p[k].code == (int)k) sb_puts(out, p->kernels.p[k].text);
        continue;
      }
      sb_printf(out, "; kernel %zu:%s\n", k, p->kernels.p[k].schedule);
      ir_print_program(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n, out);
    }
}

Plan *compile_graph(Graph *g, const CompileOptions *o) {
  Ctx *c = g->ir->ctx;
  Plan *p = ARENA_NEW(&c->model, Plan, 1);
  State st = { .s = { .g = g, .ir = g->ir, .plan = p }, .plan = p, .o = o };
  p->g = g;
  p->ir = g->ir;
  p->target = o->target;
  if (o->precision == PREC_STRICT) p->target = target_in_order(&c->model, o->target);
  else if (!o->keep_denormals) p->target = target_flushing(&c->model, o->target);
  p->precision = o->precision;
  p->weights_as = o->weights;
  p->backend = o->backend;
  p->schedules = o->schedules;
  g->ir->bufs.n = 0; /* of a graph that was compiled before */
  g->ir->decisions = o->decisions;
  if (o->decisions) decisions_begin(o->decisions);
  bool stopped = false;
  for (size_t i = 0; i < sizeof passes / sizeof *passes && !stopped; i++) {
    if (o->progress) o->progress(o->progress_arg, passes[i].name, (int)i, (int)(sizeof passes / sizeof *passes));
    passes[i].run(&st);
#ifndef NDEBUG
    if (passes[i].level == L_GRAPH) ir_verify_graph(g);
    for (size_t k = 0; k < p->kernels.n && passes[i].level == L_KERNEL; k++) ir_verify_kernel(p->ir, p->kernels.p[k].sink);
    for (size_t k = 0; k < p->kernels.n && passes[i].level == L_PROG; k++)
      ir_verify_program(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n);
#endif
    if (o->dump && strchr(o->dump, passes[i].letter)) {
      Sb text = { 0 };
      print_state(&st, &passes[i], &text);
      fprintf(c->err, "; after %s\n%s", passes[i].name, text.p ? text.p : "");
      sb_free(&text);
    }
    if (o->stop_after && !strcmp(o->stop_after, passes[i].name)) {
      if (o->stopped) print_state(&st, &passes[i], o->stopped);
      stopped = true;
    }
  }
  g->ir->decisions = NULL;
  VEC_FREE(&st.s.order);
  VEC_FREE(&p->packed);
  return stopped ? NULL : p;
}

/* SPDX-License-Identifier: MIT */
/* driver.c: walks the table of passes.h from a graph to a plan. */
#include "plan_text.h"
#include "graph/graph.h"
#include "driver.h"
#include "group/group.h"
#include "lower/lower.h"
#include "memory_limits.h"
#include "plan_entries.h"
#include "schedule/sched.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct State {
  Sched s;
  Plan *plan;
  const CompileOptions *o;
} State;

static void pass_loops(State *st) { graph_loops(st->s.g, st->plan->in->target, st->o->stepped || st->plan->whole); }
static void pass_integer(State *st) { graph_integer(st->s.g, st->plan->in->target); }
static void pass_simplify(State *st) { graph_simplify(st->s.g, st->o->precision != PREC_STRICT); }
static void pass_promote_half(State *st) {
  const Device *dev = st->plan->in->target->dev;
  if (graph_promote_half(st->s.g, st->o->precision == PREC_STRICT, dev)) graph_half_factors(st->s.g, dev);
}
static void pass_fold(State *st) {
  graph_fold(st->s.g, st->plan->in->target->dev);
  graph_simplify(st->s.g, st->o->precision != PREC_STRICT);
}

static void pass_sink_concat(State *st) { graph_sink_concat(st->s.g); }

static void pass_merge_gemms(State *st) {
  if (graph_merge_gemms(st->s.g)) pass_fold(st);
}

static void pass_winograd(State *st) { graph_winograd(st->s.g, st->o->precision, st->plan->in->target); }

static void pass_padding_split(State *st) {
  if (graph_padding_split(st->s.g, st->plan->in->target)) graph_simplify(st->s.g, false);
}

static void pass_quantize_weights(State *st) { graph_quantize_weights(st->s.g, st->o->weights); }

static void pass_bf16_split(State *st) {
  graph_bf16_split(st->s.g, st->o->precision, st->plan->in->target, st->o->keep_denormals);
}

static void pass_weights_to_half(State *st) {
  graph_weights_to_half(st->s.g, st->o->precision, st->plan->in->target);
  graph_half_sums(st->s.g, st->o->precision, st->plan->in->target);
}

static void order_nodes(Sched *s) {
  Refs roots = { 0 };
  for (size_t i = 0; i < s->g->outputs.n; i++) VEC_PUSH(&roots, s->g->outputs.p[i].ref);
  ir_toposort(s->ir, roots.p, roots.n, &s->order);
  order_bodies(s->ir, &s->order);
  s->guards = find_guards(s->ir, &s->order, roots.p, roots.n);
  order_branches(s->ir, &s->guards, &s->order);
  VEC_FREE(&roots);
}

static void forget_order(Sched *s) {
  VEC_FREE(&s->order);
  guards_free(&s->guards);
}

/* Refuses values of type f64 where the device has no such type. */
static void check_types(const Sched *s, const Target *t) {
  for (size_t i = 0; i < s->order.n && t->dev && t->dev->no_f64; i++)
    if (node(s->ir, s->order.p[i])->dt == DT_F64)
      fail_at(s->ir->ctx, EX_BADMODEL, ir_pos(s->ir, s->order.p[i]),
              "the device '%s' has no f64: use a model in f32, or compile for a device or CPU with f64", t->isa);
}

static void pass_materialize(State *st) {
  Sched *s = &st->s;
  order_nodes(s);
  check_types(s, st->plan->in->target);
  s->nplace = s->ir->n;
  s->place = ARENA_NEW(&s->ir->ctx->model, Place, s->nplace);
  for (uint32_t i = 0; i < s->nplace; i++) s->place[i].buf = s->place[i].inner = -1;
  sched_materialize(s);
}

static void pass_layout(State *st) { sched_layout(&st->s); }

static void pass_kernels(State *st) {
  sched_lower(&st->s);
  const size_t n = st->plan->kernels.n;
  if (st->o->kernel > (int64_t)n)
    fail(st->s.ir->ctx, EX_USAGE_, "--kernel=%lld: no such kernel; the number of kernels is %zu, and the first is 0",
         (long long)st->o->kernel - 1, n);
}

static void of_all_variants(const State *st, void (*f)(Plan *p)) {
  f(st->plan);
  for (size_t i = 0; i < st->plan->variants.n; i++) f(st->plan->variants.p[i]);
}

static void pass_bounds(State *st) { of_all_variants(st, plan_bounds); }

/* The weights blob: every constant that a kernel uses, once, each aligned to 64 bytes. The buffer table may hold buffers of
 * another plan of the graph, placed in another blob. */
typedef VEC(const Buf *) Placed;

static int64_t weight_size(const Buf *b) { return b->elems * dt_bytes(b->dt); }

static void weight_write(const Plan *p, const Buf *b, void *to) {
  if (b->packed) packed_gather(p->ir, &p->weights.packed.p[b->packed - 1], to);
  else memcpy(to, p->ir->tensors.p[b->slot].data, (size_t)weight_size(b));
}

/* Entries that are made from the same weights have buffers of equal bytes. */
typedef struct Twin { char sha256[65]; int64_t offset; } Twin;
typedef VEC(Twin) Twins;

/* The offset of a weight with the same bytes; -1: there is none, and this one is now the last of the list */
static int64_t twin_of(const Plan *p, Twins *twins, const Buf *b) {
  Twin t = { .offset = -1 };
  uint8_t *bytes = xmalloc((size_t)weight_size(b) + 1);
  weight_write(p, b, bytes);
  sha256_hex(bytes, (size_t)weight_size(b), t.sha256);
  free(bytes);
  for (size_t i = 0; i < twins->n; i++)
    if (!strcmp(twins->p[i].sha256, t.sha256)) return twins->p[i].offset;
  VEC_PUSH(twins, t);
  return -1;
}

static int64_t place_weights_of(const Plan *p, int64_t at, Placed *placed, Twins *twins) {
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      Buf *b = &p->ir->bufs.p[p->kernels.p[k].bufs.p[i]];
      if (b->kind != BUF_WEIGHT || b->offset >= 0) continue;
      b->offset = twins ? twin_of(p, twins, b) : -1;
      if (b->offset >= 0) continue;
      b->offset = at;
      at += (weight_size(b) + 63) / 64 * 64;
      VEC_PUSH(placed, b);
      if (twins) twins->p[twins->n - 1].offset = b->offset;
    }
  return at;
}

static void place_weights(Plan *p) {
  IR *ir = p->ir;
  Placed placed = { 0 };
  Twins twins = { 0 }, *many = p->g->entries.n ? &twins : NULL;
  int64_t at = p->variants.n ? 0 : place_weights_of(p, 0, &placed, many); /* with variants, p itself is not code */
  for (size_t i = 0; i < p->variants.n; i++) at = place_weights_of(p->variants.p[i], at, &placed, many);
  VEC_FREE(&twins);
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const Tensor *t = p->g->states.p[k].init;
    if (!t) continue;
    p->memory.states.p[k].init = at;
    at += (t->elems * dt_bytes(t->dt) + 63) / 64 * 64;
  }
  p->weights.bytes = at;
  p->weights.p = arena_alloc(&ir->ctx->model, (size_t)at);
  for (size_t i = 0; i < placed.n; i++) weight_write(p, placed.p[i], p->weights.p + placed.p[i]->offset);
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const Tensor *t = p->g->states.p[k].init;
    if (t) memcpy(p->weights.p + p->memory.states.p[k].init, t->data, (size_t)(t->elems * dt_bytes(t->dt)));
  }
  VEC_FREE(&placed);
}

static void pass_memplan(State *st) {
  sched_states(st->plan);
  sched_memplan(st->plan);
  place_weights(st->plan);
  for (size_t i = 0; i < st->plan->variants.n; i++) {
    Plan *v = st->plan->variants.p[i];
    v->memory.states = st->plan->memory.states;
    v->memory.state_at = st->plan->memory.state_at;
    v->memory.guard_at = st->plan->memory.guard_at;
    for (size_t k = 0; k < v->kernels.n; k++) v->kernels.p[k].may_alias = st->plan->kernels.p[k].may_alias;
  }
}

/* On devices, launches pass the first elements of buffers. */
static void pass_rebase(State *st) {
  if (!target_has_threads(st->plan->in->target)) of_all_variants(st, plan_rebase);
}
static void pass_merge_functions(State *st) { of_all_variants(st, plan_merge_functions); }
static void pass_render(State *st) { of_all_variants(st, plan_render); }

/* Functions of passes by row of the table; NULL: the row is a step of kernels */
static void (*const runs[])(State *) = {
#define PASS(letter, name, run, level, gloss) run,
#define STEP(letter, name, scope, kind, level, needs, gives, gloss) NULL,
#include "passes.h"
#undef PASS
#undef STEP
};
enum { PASSES = sizeof runs / sizeof *runs };

/* Nodes and programs verified before; nodes do not change. */
typedef struct Known {
  RefMap roots;            /* nests and sinks */
  VEC(uint64_t) programs;  /* by kernel: a digest of its program */
} Known;

static void print_kernel(const Plan *p, int pass, int k, Sb *out) {
  const Kernel *x = &p->kernels.p[k];
  if (runs[pass] == pass_render) {
    if (x->code == k) sb_puts(out, x->text);
  } else if (pass_info(pass).level == L_NEST) {
    step_print(p, k, out);
  } else {
    const bool shares = x->code >= 0 && x->code != k;
    if (shares) sb_printf(out, "; kernel %d: the function of kernel %d\n", k, x->code);
    else sb_printf(out, "; kernel %d:%s\n", k, x->schedule);
    for (size_t i = 0; x->shift && i < x->bufs.n; i++)
      if (x->shift[i]) sb_printf(out, "; b%d from element %lld on\n", x->bufs.p[i], (long long)x->shift[i]);
    if (!shares) ir_print_program(p->ir, x->prog.p, x->prog.n, out);
  }
}

static void print_kernels(const State *st, size_t from, size_t to, Sb *out) {
  const Plan *p = st->plan;
  Refs sinks = { 0 };
  for (size_t k = from; k < to; k++) {
    const size_t n = (size_t)p->kernels.p[k].group_size;
    if (n > 1) sb_printf(out, "; group: k%zu to k%zu\n", k, k + n - 1);
    VEC_PUSH(&sinks, p->kernels.p[k].sink);
  }
  ir_print_nodes(p->ir, sinks.p, sinks.n, out);
  VEC_FREE(&sinks);
}

static void print_state(const State *st, int pass, Sb *out) {
  const Plan *p = st->plan;
  for (PassInfo i = pass_info(pass); i.step && !step_serves(p, i.step); i = pass_info(pass)) pass--; /* it was skipped */
  const Level level = pass_info(pass).level;
  size_t from = 0, to = p->kernels.n;
  if (st->o->kernel && level != L_GRAPH) {
    from = (size_t)st->o->kernel - 1;
    to = from + 1;
  }
  if (level == L_GRAPH) {
    plan_print_graph(&st->s, p, out);
  } else if (level == L_KERNEL) {
    print_kernels(st, from, to, out);
  } else {
    for (size_t k = from; k < to; k++) print_kernel(p, pass, (int)k, out);
  }
}

/* If a pass changes no program, there is nothing to verify. */
static bool program_changed(Known *known, size_t k, const Refs *prog) {
  uint64_t words = UINT64_C(1469598103934665603); /* FNV-1a over Refs */
  for (size_t i = 0; i < prog->n; i++) words = (words ^ prog->p[i]) * UINT64_C(1099511628211);
  while (known->programs.n <= k) VEC_PUSH(&known->programs, 0);
  const bool changed = known->programs.p[k] != words;
  known->programs.p[k] = words;
  return changed;
}

static void verify(const State *st, int pass, Known *known) {
  const Plan *p = st->plan;
  const PassInfo info = pass_info(pass);
  if (info.level == L_GRAPH) ir_verify_graph(p->g);
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    if (info.level == L_KERNEL && !refmap_get(&known->roots, x->sink)) {
      ir_verify_kernel(p->ir, x->sink);
      refmap_set(&known->roots, x->sink, 1);
    }
    if (info.level == L_NEST) step_verify(p, info.step, x, &known->roots);
    if (info.level == L_PROG && program_changed(known, k, &x->prog)) ir_verify_program(p->ir, x->prog.p, x->prog.n);
  }
}

static double now(void) { /* milliseconds */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void print_times(Ctx *c, const double *took) {
  double all = 0;
  for (int i = 0; i < PASSES; i++) all += took[i] > 0 ? took[i] : 0;
  fprintf(c->err, "%-18s%10s%8s\n", "pass", "ms", "share");
  for (int i = 0; i < PASSES; i++) {
    const int indent = pass_info(i).step ? 2 : 0;
    if (took[i] >= 0)
      fprintf(c->err, "%*s%-*s%10.2f%7.1f%%\n", indent, "", 18 - indent, pass_info(i).name, took[i],
              all > 0 ? 100 * took[i] / all : 0);
  }
  fprintf(c->err, "%-18s%10.2f\n", "all", all);
}

static void run_pass(State *st, int i) {
  const PassInfo pass = pass_info(i);
  const double begin = (double)i / PASSES, end = (double)(i + 1) / PASSES;
  ctx_progress(st->s.ir->ctx, pass.name, begin);
  if (pass.step) step_run(st->plan, pass.step, begin, end);
  else runs[i](st);
}

static void dump(const State *st, int pass) {
  Ctx *c = st->plan->ir->ctx;
  Sb text = { 0 };
  print_state(st, pass, &text);
  fprintf(c->err, "; after %s\n%s", pass_info(pass).name, text.p ? text.p : "");
  sb_free(&text);
}

static void stop_here(const State *st, int pass) {
  if (st->o->blob) plan_print(&st->s, st->plan, pass, st->o, st->o->stopped);
  else print_state(st, pass, st->o->stopped);
}

/* Recomputes the blob, whose order follows from the kernels; the dump must agree. */
static void check_weights(Plan *p) {
  IR *ir = p->ir;
  int64_t *then = ARENA_NEW(&ir->ctx->model, int64_t, ir->bufs.n + 1);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    Buf *b = &ir->bufs.p[i];
    then[i] = b->offset;
    if (b->kind == BUF_WEIGHT) b->offset = -1;
  }
  place_weights(p);
  for (size_t i = 0; i < ir->bufs.n; i++)
    if (ir->bufs.p[i].offset != then[i])
      fail(ir->ctx, EX_BADMODEL, "buffer %zu is at offset %lld of the weights, but the dump says %lld", i,
           (long long)ir->bufs.p[i].offset, (long long)then[i]);
}

/* Completes a variant of the plan, of which the dump only has the kernels. */
static void resume_variant(Plan *p, size_t i) {
  Plan *v = p->variants.p[i];
  const Plan read = *v;
  *v = *p;
  v->kernels.p = read.kernels.p;
  v->kernels.n = read.kernels.n;
  v->kernels.cap = read.kernels.cap;
  memset(&v->variants, 0, sizeof v->variants);
  v->base = p;
  v->in = variant_inputs(p, p->in->target->variants[i]);
  for (size_t k = 0; k < v->kernels.n; k++) kernel_buffers(p->ir, &v->kernels.p[k]);
}

/* Recomputes what a dump omits: the order of nodes, reports, and the bytes of weights. */
static void resume(State *st) {
  Plan *p = st->plan;
  const Resumed *r = st->o->resumed;
  st->s.place = r->place;
  st->s.nplace = r->nplace;
  if (r->place) order_nodes(&st->s);
  for (size_t i = 0; i < p->variants.n; i++) resume_variant(p, i);
  for (size_t k = 0; k < p->kernels.n; k++) kernel_buffers(p->ir, &p->kernels.p[k]);
  plan_check(&st->s, p, r->pass);
  if (r->pass >= pass_named("affinity") && r->pass < pass_named("threads")) step_affinity(p, NULL);
  if (r->pass >= pass_named("layout")) sched_layouts(&st->s);
  for (size_t i = 0; i < p->variants.n; i++) p->variants.p[i]->layouts = p->layouts;
  if (r->pass >= pass_named("memplan")) check_weights(p);
}

static void check_variants(const Plan *p, const Resumed *r) {
  size_t n = 0;
  for (const Target *const *t = r->pass >= pass_named("variants") ? p->in->target->variants : NULL; t && *t; t++) n++;
  if (p->variants.n != n)
    fail(p->ir->ctx, EX_BADMODEL, "the dump has %s, but '%s' has %zu",
         count_noun(&p->ir->ctx->model, (int64_t)p->variants.n, "variant"), p->in->target->isa, n);
  for (size_t i = 0; i < n; i++)
    if (p->variants.p[i]->kernels.n != p->kernels.n)
      fail(p->ir->ctx, EX_BADMODEL, "variant %zu has %s, not %zu", i,
           count_noun(&p->ir->ctx->model, (int64_t)p->variants.p[i]->kernels.n, "kernel"), p->kernels.n);
}

/* A run of any size of a range needs a backend whose kernels take sizes. */
static void check_symbols(const Graph *g, const CompileOptions *o) {
  Ctx *c = g->ir->ctx;
  if (!g->ir->symbols.n) return;
  const char *name = g->ir->symbols.p[0].name;
  if (!o->backend->sizes)
    fail(c, EX_USAGE_, "--dim %s: --backend=%s makes bundles for one size; only C or LLVM serves a range", name,
         o->backend->name);
  for (int k = 0; k < g->ir->symbols.n && o->backend->device; k++)
    if (g->ir->symbols.p[k].appended)
      fail(c, EX_USAGE_, "--dim %s: --backend=%s has no states of that size; C and LLVM have", g->ir->symbols.p[k].name,
           o->backend->name);
  if (o->blob) fail(c, EX_USAGE_, "--dim %s: a range does not go with a dump from which to go on", name);
}

static const PlanInputs *plan_inputs(const Graph *g, const CompileOptions *o) {
  Ctx *c = g->ir->ctx;
  PlanInputs *in = ARENA_NEW(&c->model, PlanInputs, 1);
  *in = (PlanInputs){ .target = o->target,
                      .optimize = optimize_for(o->optimize, o->target),
                      .max_arena = o->max_arena,
                      .max_weights = o->max_weights,
                      .backend = o->backend,
                      .precision = o->precision,
                      .weights_as = o->weights,
                      .schedules = o->schedules,
                      .groups = o->groups };
  g->ir->half_steps = half_sums(o->precision, o->target);
  if (o->precision == PREC_STRICT) in->target = target_in_order(&c->model, o->target);
  else if (!o->keep_denormals) in->target = target_flushing(&c->model, o->target);
  return in;
}

/* A compilation: the passes that have run, and their times */
typedef struct Run {
  const CompileOptions *o;
  int first, last;         /* passes of this compilation */
  double took[PASSES];     /* ms by pass; -1: it did not run */
  bool stopped;            /* by --stop-after */
} Run;

/* Runs the passes from `from` to before `end` on a plan. */
static void run_passes(Run *r, State *st, Known *known, int from, int end) {
  const CompileOptions *o = r->o;
  for (int i = from; i < end && i <= r->last && !r->stopped; i++) {
    const double start = now();
    if (i < r->first) continue;
    run_pass(st, i);
    r->took[i] = (r->took[i] < 0 ? 0 : r->took[i]) + now() - start;
#ifndef NDEBUG
    verify(st, i, known);
#endif
    if (o->dump && strchr(o->dump, pass_info(i).letter)) dump(st, i);
    r->stopped = o->stop_after && !strcmp(o->stop_after, pass_info(i).name);
    if (r->stopped && o->stopped) stop_here(st, i);
  }
}

static void known_free(Known *k) {
  refmap_free(&k->roots);
  VEC_FREE(&k->programs);
}

/* Runs the passes before the memory plan on each entry, as if it were the only one, and joins the plans. */
static void plan_entries(Run *r, Plan *p, int memplan) {
  Graph *g = p->g;
  const int *order = plan_order(g);
  for (size_t i = 0; i < g->entries.n; i++) {
    const int e = order[i];
    Plan *q = ARENA_NEW(&p->ir->ctx->model, Plan, 1);
    State st = { .s = { .g = g->entries.p[e].g, .ir = p->ir, .plan = q }, .plan = q, .o = r->o };
    Known known = { 0 };
    const size_t first_buffer = p->ir->bufs.n;
    q->g = st.s.g;
    q->ir = p->ir;
    q->in = p->in;
    q->whole = p;
    run_passes(r, &st, &known, 0, memplan);
    steps_end(q);
    known_free(&known);
    forget_order(&st.s);
    if (r->last >= memplan && !r->stopped) plan_join(p, q, e, first_buffer);
    VEC_FREE(&q->weights.packed);
    VEC_FREE(&q->kernels);
  }
  plan_sort(p);
}

/* Compiles g within the goal, up to a pass. The graph becomes that of the plan. */
static Plan *compile_once(Graph *g, const CompileOptions *o, MemoryGoal *m, int last) {
  Ctx *c = g->ir->ctx;
  Plan *p = o->resumed ? o->resumed->plan : ARENA_NEW(&c->model, Plan, 1);
  State st = { .s = { .g = g, .ir = g->ir, .plan = p }, .plan = p, .o = o };
  Known known = { 0 };
  Run r = { .o = o, .first = o->resumed ? o->resumed->pass + 1 : 0, .last = last };
  const int memplan = pass_named("memplan");
  for (int i = 0; i < PASSES; i++) r.took[i] = -1;
  p->g = g;
  p->ir = g->ir;
  check_symbols(g, o);
  p->in = plan_inputs(g, o);
  m->optimize = p->in->optimize;
  g->ir->memory = m;
  if (!o->resumed) g->ir->bufs.n = 0; /* remove buffers of an earlier compilation of the graph */
  g->ir->decisions = o->decisions;
  if (o->decisions) decisions_begin(o->decisions);
  if (o->resumed) {
    check_variants(p, o->resumed);
    resume(&st);
    r.stopped = o->stop_after && !strcmp(o->stop_after, o->resumed->after);
    if (r.stopped && o->stopped) stop_here(&st, r.first - 1);
  }
  if (g->entries.n) plan_entries(&r, p, memplan);
  run_passes(&r, &st, &known, g->entries.n ? memplan : 0, PASSES);
  g->ir->decisions = NULL;
  g->ir->memory = NULL;
  if (o->time_passes) print_times(c, r.took);
  steps_end(p);
  known_free(&known);
  forget_order(&st.s);
  return r.stopped ? NULL : p;
}

/* ---- limits of memory ---- */
/* The parts of a graph that passes change */
typedef struct Saved { GIO **outputs; FoldBudget fold; } Saved; /* outputs: of each entry, then of the whole graph */

static Saved graph_save(const Graph *g) {
  Ctx *c = g->ir->ctx;
  Saved s = { ARENA_NEW(&c->model, GIO *, g->entries.n + 1), c->fold };
  for (size_t e = 0; e <= g->entries.n; e++) {
    const Graph *h = e < g->entries.n ? g->entries.p[e].g : g;
    s.outputs[e] = arena_dup(&c->model, h->outputs.p, h->outputs.n * sizeof *h->outputs.p);
  }
  return s;
}

static void graph_restore(Graph *g, const Saved *s) {
  for (size_t e = 0; e <= g->entries.n; e++) {
    Graph *h = e < g->entries.n ? g->entries.p[e].g : g;
    memcpy(h->outputs.p, s->outputs[e], h->outputs.n * sizeof *h->outputs.p);
  }
  g->ir->ctx->fold = s->fold;
}

/* Bytes of the arena if no layer has a form that takes more memory. Passes run only until kernels name their buffers. */
static int64_t arena_without_growth(Graph *g, const CompileOptions *o, const Saved *before) {
  IR *ir = g->ir;
  const Saved after = graph_save(g);
  const CompileOptions plain = { .target = o->target,
                                 .backend = o->backend,
                                 .precision = o->precision,
                                 .optimize = OPTIMIZE_SMALL,
                                 .keep_denormals = o->keep_denormals,
                                 .stepped = o->stepped,
                                 .weights = o->weights };
  MemoryGoal none = { .optimize = OPTIMIZE_SMALL };
  const size_t n = ir->bufs.n;
  Buf *bufs = arena_dup(&ir->ctx->model, ir->bufs.p, n * sizeof *bufs);
  graph_restore(g, before);
  Plan *p = compile_once(g, &plain, &none, pass_named("kernels"));
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *x = &p->kernels.p[k];
    ir_toposort(ir, &x->sink, 1, &x->prog);
    kernel_buffers(ir, x);
  }
  sched_states(p);
  sched_memplan(p);
  graph_restore(g, &after);
  ir->bufs.n = 0;
  for (size_t i = 0; i < n; i++) VEC_PUSH(&ir->bufs, bufs[i]);
  growth_free(&none);
  return p->memory.arena_bytes;
}

/* While the plan exceeds a limit, it is compiled again without some of the forms that made it grow. */
Plan *compile_graph(Graph *g, const CompileOptions *o) {
  enum { BY_SIZE = 2, BY_LAYER = 6 }; /* attempts that withdraw forms so; later ones withdraw all */
  const Saved before = graph_save(g);
  MemoryGoal m = { 0 };
  Plan *p = compile_once(g, o, &m, PASSES);
  for (int i = 1; p && !o->resumed; i++) {
    const double weights = (double)memory_excess(p->weights.bytes, o->max_weights),
                 arena = (double)memory_excess(p->memory.arena_bytes, o->max_arena);
    const Withdrawal how = i <= BY_SIZE ? WITHDRAW_SIZE : i <= BY_LAYER ? WITHDRAW_LAYER : WITHDRAW_ALL;
    if ((weights <= 0 && arena <= 0) || !growth_withdraw(&m, weights, arena, how)) break;
    VEC_FREE(&p->weights.packed);
    graph_restore(g, &before);
    p = compile_once(g, o, &m, PASSES);
  }
  Ref at = 0;
  const char *problem = p ? memory_problem(p, o->max_arena, o->max_weights, &at) : NULL;
  if (p) growth_report(p, &m);
  if (p) VEC_FREE(&p->weights.packed);
  if (p) plan_loop_calls(p);
  growth_free(&m);
  if (problem) fail_at(g->ir->ctx, EX_BADMODEL, at ? ir_pos(g->ir, at) : (Pos){ 0 }, "%s", problem);
  if (p && o->tell_growth && p->growth.layers && !o->resumed && !g->entries.n)
    p->growth.arena = arena_without_growth(g, o, &before);
  return p;
}

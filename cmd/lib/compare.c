/* SPDX-License-Identifier: MIT */
/* compare.c: the difference of two tensors, and the node of a graph that causes it. */
#include "../cmd.h"
#include <math.h>
#include <string.h>

/* ---- distance ---- */

/* Floats as integers in the order of their values: neighbours differ by one, -0 and 0 by none. */
static double ordered(DType d, const Tensor *t, int64_t i) {
  int bits = dtype_info[d].bits;
  uint64_t v = 0, sign = (uint64_t)1 << (bits - 1);
  memcpy(&v, (const char *)t->data + i * (bits / 8), (size_t)(bits / 8));
  return v & sign ? -(double)(v & (sign - 1)) : (double)v;
}

/* The distance of strings that differ is 1. */
static Diff strings_compare(const Tensor *got, const Tensor *want) {
  Diff r = { .worst = -1 };
  const int64_t width = want->dims[want->rank - 1], n = dims_elems(want->dims, want->rank - 1);
  for (int64_t i = 0; i < n; i++) {
    if (!memcmp((const char *)got->data + i * width, (const char *)want->data + i * width, (size_t)width)) continue;
    if (!r.bad++) r.worst = i;
    r.max_ulp = r.max_abs = r.max_rel = 1;
  }
  return r;
}

Diff tensor_compare(const Tensor *got, const Tensor *want, double rtol, double atol) {
  Diff r = { .worst = -1 };
  double worst = -1;
  if (want->narrow == ONNX_STRING) return strings_compare(got, want);
  for (int64_t i = 0; i < want->elems; i++) {
    double x = tensor_at(got, i), y = tensor_at(want, i), d = fabs(x - y), room = atol + rtol * fabs(y), out;
    if (x == y || (isnan(x) && isnan(y))) continue;
    bool wild = !isfinite(x) || !isfinite(y);
    out = wild ? INFINITY : room > 0 ? d / room : INFINITY;
    if (wild || d > room) r.bad++;
    if (out > worst) worst = out, r.worst = i;
    double ulp = wild ? INFINITY : dt_float(want->dt) ? fabs(ordered(want->dt, got, i) - ordered(want->dt, want, i)) : d;
    r.max_ulp = fmax(r.max_ulp, ulp);
    r.max_abs = fmax(r.max_abs, wild ? INFINITY : d);
    if (fabs(y) > atol || wild) r.max_rel = fmax(r.max_rel, wild ? INFINITY : d / fabs(y));
  }
  return r;
}

double reference_error(const Tensor *want, const Tensor *exact, DType precision) {
  static const double room[DT_COUNT] = { [DT_F64] = 1e-12, [DT_F32] = 5e-5, [DT_F16] = 2e-2, [DT_BF16] = 1e-1 };
  double error = 0, largest = 0;
  for (int64_t i = 0; i < want->elems; i++) {
    double x = tensor_at(want, i), y = tensor_at(exact, i);
    if (isnan(x) != isnan(y) || (isinf(x) != 0) != (isinf(y) != 0)) return INFINITY;
    if (!isfinite(x) || !isfinite(y)) continue;
    error = fmax(error, fabs(x - y));
    largest = fmax(largest, fabs(y));
  }
  return error <= room[precision] * largest ? error : INFINITY;
}

/* ---- suspects ---- */
enum { MAX_POINTS = 400, SHOWN = 5 };
#define MAX_POINT_BYTES ((int64_t)1 << 28) /* limit of all stored values together */

typedef struct Point {
  Ref ref;
  double error;  /* largest, in units of the tolerance; above 1: wrong */
  double before; /* largest error of the points it is computed from */
} Point;
typedef VEC(Point) Points;

/* Values that pass from one node of the user's model to another, sources first. */
static void find_points(const Graph *g, Points *out) {
  const IR *ir = g->ir;
  Refs order = { 0 }, roots = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  uint8_t *crosses = ARENA_NEW(&ir->ctx->model, uint8_t, ir->n), *varies = ARENA_NEW(&ir->ctx->model, uint8_t, ir->n);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    varies[order.p[i]] = x->op == OP_PARAM;
    for (int k = 0; k < x->nsrc; k++) {
      varies[order.p[i]] |= varies[x->src[k]];
      if (node(ir, x->src[k])->origin != x->origin) crosses[x->src[k]] = 1;
    }
  }
  for (size_t i = 0; i < roots.n; i++) crosses[roots.p[i]] = 1;
  int64_t bytes = 0;
  for (size_t i = 0; i < order.n && out->n < MAX_POINTS; i++) {
    const Node *x = node(ir, order.p[i]);
    int64_t n = dims_elems(x->dims, x->rank);
    if (!crosses[order.p[i]] || !varies[order.p[i]] || !x->nsrc || n > (MAX_POINT_BYTES - bytes) / dt_bytes((DType)x->dt))
      continue;
    bytes += n * dt_bytes((DType)x->dt);
    VEC_PUSH(out, ((Point){ .ref = order.p[i] }));
  }
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* g with the points as its outputs. A separate graph, since compiling may change it */
static Graph *graph_of(const Graph *g, const Point *p, size_t n) {
  Arena *m = &g->ir->ctx->model;
  Graph *h = arena_dup(m, g, sizeof *g);
  memset(&h->inputs, 0, sizeof h->inputs);
  memset(&h->outputs, 0, sizeof h->outputs);
  memset(&h->states, 0, sizeof h->states); /* plain inputs */
  h->guarded = false;
  for (size_t i = 0; i < g->inputs.n; i++) VEC_PUSH(&h->inputs, g->inputs.p[i]);
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(g->ir, p[i].ref);
    GIO v = { .ref = p[i].ref, .name = arena_printf(m, "value_%zu", i), .dt = (DType)x->dt, .rank = x->rank };
    memcpy(v.dims, x->dims, x->rank * sizeof *x->dims);
    VEC_PUSH(&h->outputs, v);
  }
  return h;
}

typedef struct Probe {
  Ctx *c;
  const Options *o;
  const Graph *g;
  const Target *t;
  const char *scratch;
  const Tensor *in;
  const Tensor *want; /* the interpreter's value for each point */
} Probe;

/* Compiles and runs a graph that ends at the given points, and sets their errors. */
static void probe(const Probe *q, Point *p, size_t n, const Tensor *want) {
  Graph *h = graph_of(q->g, p, n);
  Tensor *got = ARENA_NEW(&q->c->model, Tensor, n);
  Options quiet = *q->o;
  quiet.dump = quiet.stop_after = NULL;
  quiet.kernel = -1;
  plan_execute(q->c, &quiet, plan_of(&quiet, h, q->t, NULL), q->scratch, 1, 1, q->in, got);
  for (size_t i = 0; i < n; i++) {
    Diff d = tensor_compare(&got[i], &want[i], q->o->rtol, q->o->atol);
    double y = d.worst < 0 ? 0 : fabs(tensor_at(&want[i], d.worst));
    double x = d.worst < 0 ? 0 : fabs(tensor_at(&got[i], d.worst) - tensor_at(&want[i], d.worst));
    p[i].error = d.worst < 0 ? 0 : isfinite(x) ? x / (q->o->atol + q->o->rtol * y) : INFINITY;
  }
  VEC_FREE(&h->inputs);
  VEC_FREE(&h->outputs);
}

/* Sets before: the largest error among the points from which a point is computed directly */
static void propagate(const Graph *g, Points *all) {
  const IR *ir = g->ir;
  double *reach = ARENA_NEW(&ir->ctx->model, double, ir->n); /* error of the nearest points below */
  Refs order = { 0 }, roots = { 0 };
  for (size_t i = 0; i < all->n; i++) VEC_PUSH(&roots, all->p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    double e = 0;
    for (int k = 0; k < x->nsrc; k++) e = fmax(e, reach[x->src[k]]);
    for (size_t k = 0; k < all->n; k++) {
      if (all->p[k].ref != order.p[i]) continue;
      all->p[k].before = e;
      e = all->p[k].error;
    }
    reach[order.p[i]] = e;
  }
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* Growth of the error at a point; errors within the tolerance count as the tolerance. */
static double growth(const Point *p) {
  double given = fmax(p->before, 1);
  return p->error <= 1 ? 0 : isinf(p->error) ? (isinf(given) ? 1 : INFINITY) : p->error / given;
}

static const char *origin_text(const Graph *g, Ref r) {
  Pos at = ir_pos(g->ir, r);
  return at.node ? at.node : op_info[node(g->ir, r)->op].name;
}

static void report_suspects(const Graph *g, Points *all, bool json, json_t *report) {
  json_t *list = json_array();
  uint8_t *used = ARENA_NEW(&g->ir->ctx->model, uint8_t, all->n + 1);
  for (int shown = 0; shown < SHOWN; shown++) {
    size_t best = all->n;
    for (size_t i = 0; i < all->n; i++)
      if (!used[i] && growth(&all->p[i]) > (best == all->n ? 0 : growth(&all->p[best])))
        best = i; /* among equal ones the first in order */
    if (best == all->n) break;
    used[best] = 1;
    const Point *p = &all->p[best];
    if (!json) {
      const char *text = arena_printf(&g->ir->ctx->model, "%s: error %.3g times the tolerance, %.3g times in its operands",
                                      origin_text(g, p->ref), p->error, p->before);
      print_words(text, 8, printf(shown ? "or      " : "suspect "), terminal_width(stdout));
    }
    json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "node", json_text(origin_text(g, p->ref)), "error",
                                          isfinite(p->error) ? json_real(p->error) : json_null(), "error_before",
                                          isfinite(p->before) ? json_real(p->before) : json_null()));
  }
  json_object_set_new(report, "suspects", list);
}

/* With every value stored, nothing is wrong. So a fusion is wrong: finds the shortest prefix of the graph that goes wrong. */
static void bisect(const Probe *q, Points *all, json_t *report) {
  size_t lo = 0, hi = all->n - 1; /* all[hi] is assumed to be wrong */
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    probe(q, &all->p[mid], 1, &q->want[mid]);
    if (all->p[mid].error > 1) hi = mid;
    else lo = mid + 1;
  }
  probe(q, &all->p[hi], 1, &q->want[hi]);
  bool found = all->p[hi].error > 1;
  const char *text = found ? origin_text(q->g, all->p[hi].ref) : NULL;
  if (!q->o->json && found)
    print_words(arena_printf(&q->c->model,
                             "each node is right if all values are stored; in the fused kernels, the first wrong node is %s",
                             text),
                2, -1, terminal_width(stdout));
  else if (!q->o->json)
    print_lines("each node is right if all values are stored, and no part of the model from its inputs on is wrong", 2);
  json_object_set_new(report, "fused_at", found ? json_text(text) : json_null());
}

void find_suspects(Ctx *c, const Options *o, Graph *g, const Target *t, const char *scratch, const Tensor *in, json_t *report) {
  Points all = { 0 };
  find_points(g, &all);
  const Tensor **params = ARENA_NEW(&c->model, const Tensor *, g->inputs.n + 1);
  Tensor *want = ARENA_NEW(&c->model, Tensor, all.n + 1);
  Ref *refs = ARENA_NEW(&c->model, Ref, all.n + 1);
  for (size_t i = 0; i < g->inputs.n; i++) params[i] = &in[i];
  for (size_t i = 0; i < all.n; i++) refs[i] = all.p[i].ref;
  if (all.n && interp_graph(g->ir, refs, (int)all.n, params, &c->model, false, 0, want)) {
    Probe q = { c, o, g, t, scratch, in, want };
    probe(&q, all.p, all.n, want);
    propagate(g, &all);
    bool any = false;
    for (size_t i = 0; i < all.n; i++) any |= all.p[i].error > 1;
    if (any) report_suspects(g, &all, o->json, report);
    else bisect(&q, &all, report);
  }
  VEC_FREE(&all);
}

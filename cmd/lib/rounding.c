/* SPDX-License-Identifier: MIT */
/* rounding.c: by how much roundings may move each element of a model's outputs.
 *
 * To first order the error of an element has the variance that variance.c gives, and it may be off by SIGMAS standard deviations.
 * The model is right for errors that are small beside the values. A recurrence, or a root near 0, may amplify without limit; so
 * above CAP of the output's largest value, only the error of an interpreter that rounds each operation is allowed. */
#include "../cmd.h"
#include "../../compiler/graph/graph.h"
#include <math.h>
#include <string.h>

/* The mean error of a product if each partial sum of 32 products is rounded to a half. It is 2.3 to 11 times 2^-11, for equal
 * products of any signs and of one sign. */
#define HALF_STEPS 0x1p-8

enum { SIGMAS = 8, ROUNDED = 4 }; /* standard deviations; times the error of the rounding interpreter */
#define CAP 0x1p-3                /* share of the largest value; larger errors are not small */

Graph *graph_copy(Ctx *c, const Graph *g) {
  Graph *h = arena_dup(&c->model, g, sizeof *g);
  h->inputs.p = arena_dup(&c->model, g->inputs.p, g->inputs.n * sizeof *g->inputs.p);
  h->outputs.p = arena_dup(&c->model, g->outputs.p, g->outputs.n * sizeof *g->outputs.p);
  h->entries.p = arena_dup(&c->model, g->entries.p, g->entries.n * sizeof *g->entries.p);
  for (size_t e = 0; e < g->entries.n; e++) h->entries.p[e].g = graph_copy(c, g->entries.p[e].g);
  return h;
}

DType rounding_type(const Options *o, DType output) {
  const Precision p = o->precision ? precision_named(o->precision) : PREC_FP32;
  const Storage w = o->weights ? storage_named(o->weights) : STORE_FP32;
  if (p == PREC_BF16 || w == STORE_BF16 || w == STORE_INT8 || w == STORE_INT4) return DT_BF16;
  return p == PREC_FP16 || p == PREC_FP16_ARITH || w == STORE_FP16 ? DT_F16 : output;
}

/* The relative error that a precision adds to each product in a sum; docs/numerics.md has the bounds. */
static double product_error(const Options *o) {
  const Precision p = o->precision ? precision_named(o->precision) : PREC_FP32;
  const double split = p == PREC_STRICT ? 0 : p == PREC_FAST || p == PREC_BF16X3 ? 0x1p-14 : 0x1p-23;
  const double narrow = p == PREC_BF16 ? 0x1p-7 : p == PREC_FP16 ? 0x1p-11 : p == PREC_FP16_ARITH ? 0x1p-10 + HALF_STEPS : 0;
  return split + narrow;
}

/* The graph is taken as passes made it, since their transforms amplify errors. It is taken before sums are split into bf16, whose
 * roundings cancel; product_error stands for those. */
Tensor *rounding_variances(Ctx *c, const Options *given, const Graph *model, const Target *target, const Tensor *in) {
  Options o = *given;
  o.stop_after = "padding_split";
  o.quiet = true;
  o.dump = NULL;
  if (o.weights || model->entries.n) return NULL;
  Graph *g = graph_copy(c, model);
  const size_t n = graph_nout(g);
  plan_of(&o, g, target, NULL);
  const Tensor **params = ARENA_NEW(&c->model, const Tensor *, g->inputs.n + 1);
  Ref *refs = ARENA_NEW(&c->model, Ref, g->outputs.n + 1);
  Tensor *out = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  for (size_t i = 0; i < g->inputs.n; i++) params[i] = &in[i];
  for (size_t i = 0; i < n; i++) refs[i] = g->outputs.p[i].ref;
  if (!graph_variance(g->ir, refs, (int)n, product_error(&o), refs)) return NULL;
  return interp_graph(g->ir, refs, (int)n, params, &c->model, true, 0, out) ? out : NULL;
}

double rounding_cost(const Tensor *rounded, const Tensor *exact) {
  double cost = 0;
  for (int64_t i = 0; i < exact->elems; i++) {
    const double d = fabs(tensor_at(rounded, i) - tensor_at(exact, i));
    if (isfinite(d)) cost = fmax(cost, d);
  }
  return ROUNDED * cost;
}

double rounding_cap(const Tensor *want, double fallback) {
  double largest = 0;
  for (int64_t i = 0; i < want->elems; i++)
    if (isfinite(tensor_at(want, i))) largest = fmax(largest, fabs(tensor_at(want, i)));
  return fmax(CAP * largest, fallback);
}

double rounding_room(const Tensor *variance, int64_t element, double cap) {
  return fmin(cap, SIGMAS * sqrt(tensor_at(variance, element)));
}

/* ---- tolerances of a self-test ---- */

/* variance: NULL if it is not known; then room is for every element. Else room is a limit that CAP does not lower. */
static Tensor tolerance_of(Ctx *c, const Options *o, const Tensor *want, const Tensor *variance, double room) {
  Tensor t = *want;
  const double cap = rounding_cap(want, room);
  float *p = arena_alloc(&c->model, (size_t)want->elems * sizeof *p);
  for (int64_t i = 0; i < want->elems; i++) {
    const double usual = o->atol + o->rtol * fabs(tensor_at(want, i)), more = variance ? rounding_room(variance, i, cap) : room;
    p[i] = (float)(isfinite(usual) ? fmax(usual, more) : 0);
  }
  t.dt = DT_F32;
  t.data = p;
  return t;
}

void rounding_tolerances(Ctx *c, const Options *o, const Graph *g, const Target *target, const Tensor *in, const Tensor *want,
                         bool from_data, Tensor *out) {
  Tensor *mine = arena_dup(&c->model, in, g->inputs.n * sizeof *in), *other = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  interpret(c, o, g, 1, from_data, mine, other); /* the exact result, which data are not; else the rounded one */
  const Tensor *variance = from_data ? NULL : rounding_variances(c, o, g, target, in);
  for (size_t i = 0; i < graph_nout(g); i++) {
    const double error = from_data ? reference_error(&want[i], &other[i], want[i].dt) : 0;
    const double room = from_data ? 3 * error : rounding_cost(&other[i], &want[i]); /* 2 to the exact result, 1 to the data */
    out[i] = tolerance_of(c, o, &want[i], variance ? &variance[i] : NULL, isfinite(room) ? room : 0);
  }
}

static Tensor wider(Ctx *c, const Tensor *room, double least) {
  Tensor t = *room;
  float *p = arena_alloc(&c->model, (size_t)t.elems * sizeof *p);
  for (int64_t i = 0; i < t.elems; i++) p[i] = (float)fmax(tensor_at(room, i), least);
  t.data = p;
  return t;
}

void rounding_widen(Ctx *c, const Options *o, const Graph *compiled, const Tensor *in, const Tensor *want, Tensor *out) {
  Tensor *mine = arena_dup(&c->model, in, compiled->inputs.n * sizeof *in);
  Tensor *chosen = ARENA_NEW(&c->model, Tensor, compiled->outputs.n + 1);
  interpret(c, o, compiled, 1, false, mine, chosen);
  for (size_t i = 0; i < graph_nout(compiled); i++) {
    const double error = reference_error(&chosen[i], &want[i], rounding_type(o, want[i].dt));
    out[i] = wider(c, &out[i], isfinite(error) ? ROUNDED * error : 0);
  }
}

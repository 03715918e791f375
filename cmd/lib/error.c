/* SPDX-License-Identifier: MIT */
/* error.c: the error that a precision causes, on sample inputs.
 *
 * The graph of the front end is computed in double. The graph as the passes left it is computed with each operation rounded to
 * its type. There, sums of products are rounded once; the further error of kernels shows in `tgc verify`, which runs them. Both
 * use the interpreter, so there is a budget. */
#include "../cmd.h"
#include <math.h>
#include <string.h>

enum { STEPS = 2000000000 }; /* operations of the interpreter, about half a minute per run */

bool error_sample(Ctx *c, const Options *o, const Graph *g, const Feed *feed, Sample *s) {
  if (g->entries.n) return false; /* --entry measures one */
  s->in = ARENA_NEW(&c->model, Tensor, g->inputs.n + 1);
  s->exact = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  feed_inputs(c, feed, g->inputs.p, (int)graph_nin(g), o->seed, s->in);
  state_first(c, g, s->in);
  return interpret_once(c, o, g, s->in, true, STEPS, s->exact);
}

OutputError output_error(const Tensor *got, const Tensor *want) {
  OutputError e = { 0, 0, 0 };
  double squares = 0;
  for (int64_t i = 0; i < want->elems; i++) {
    double x = tensor_at(got, i), y = tensor_at(want, i), d = fabs(x - y);
    if (!isfinite(x) || !isfinite(y)) continue;
    e.max = fmax(e.max, d);
    e.largest = fmax(e.largest, fabs(y));
    squares += d * d;
  }
  e.rms = want->elems ? sqrt(squares / (double)want->elems) : 0;
  return e;
}

const OutputError *error_measure(Ctx *c, const Options *o, const Plan *p, const Sample *s) {
  size_t n = graph_nout(p->g);
  Tensor *got = ARENA_NEW(&c->model, Tensor, p->g->outputs.n + 1);
  OutputError *e = ARENA_NEW(&c->model, OutputError, n + 1);
  if (!interpret_once(c, o, p->g, s->in, false, STEPS, got)) return NULL;
  for (size_t i = 0; i < n; i++) e[i] = output_error(&got[i], &s->exact[i]);
  return e;
}

void error_print_one(const char *output, const OutputError *e) {
  Sb s = { 0 };
  sb_printf(&s, "error   of %s: at most %.3g, %.3g in the mean square, of values up to %.3g", output, e->max, e->rms, e->largest);
  print_words(s.p, 8, -1, terminal_width(stdout));
  sb_free(&s);
}

void error_print(const Plan *p, const OutputError *e) {
  if (!e) {
    printf("error   not measured: the interpreter would need more than %d operations; `tgc verify` runs the code\n", STEPS);
    return;
  }
  for (size_t i = 0; i < graph_nout(p->g); i++) error_print_one(p->g->outputs.p[i].name, &e[i]);
}

/* SPDX-License-Identifier: MIT */
/* interpret.c: evaluates a model by the graph interpreter, over one run or several. */
#include "../cmd.h"
#include <string.h>

bool interpret_once(Ctx *c, const Options *o, const Graph *g, const Tensor *in, bool exact, int64_t most, Tensor *out) {
  const Tensor **params = ARENA_NEW(&c->model, const Tensor *, g->inputs.n + 1);
  Ref *refs = ARENA_NEW(&c->model, Ref, g->outputs.n + 1);
  for (size_t i = 0; i < g->inputs.n; i++) params[i] = &in[i];
  for (size_t i = 0; i < g->outputs.n; i++) refs[i] = g->outputs.p[i].ref;
  work_begin(c, o, "interpreting the model");
  const bool done = interp_graph(g->ir, refs, (int)g->outputs.n, params, &c->model, exact, most, out);
  work_end(c);
  for (size_t i = 0; done && i < g->outputs.n; i++) out[i].narrow = g->outputs.p[i].narrow;
  return done;
}

/* limit for a reference: more than any network in use needs, and hours of time unless they are matrix products */
static const int64_t MOST_OPERATIONS = INT64_C(1000000000000);

void interpret(Ctx *c, const Options *o, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out) {
  Tensor *all = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  state_first(c, g, in);
  for (size_t s = 0; s < steps; s++, in += g->inputs.n) {
    if (!interpret_once(c, o, g, in, exact, MOST_OPERATIONS, all))
      fail(c, EX_BADMODEL, "the interpreter needs more than %lld operations for the reference; give reference data with --data",
           (long long)MOST_OPERATIONS);
    memcpy(out + s * graph_nout(g), all, graph_nout(g) * sizeof *all);
    if (s + 1 < steps) state_next(c, g, all, in + g->inputs.n);
  }
}

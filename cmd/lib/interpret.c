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

static void interpret_or_fail(Ctx *c, const Options *o, const Graph *g, const Tensor *in, bool exact, Tensor *out) {
  if (interpret_once(c, o, g, in, exact, MOST_OPERATIONS, out)) return;
  fail(c, EX_BADMODEL, "the interpreter needs more than %lld operations for the reference; give reference data with --data",
       (long long)MOST_OPERATIONS);
}

/* One run of an entry. in, out: of the whole graph; state: by state of the whole graph, its value */
static void interpret_entry(Ctx *c, const Options *o, const GEntry *e, bool exact, const Tensor *in, Tensor *state, Tensor *out) {
  const size_t nin = graph_nin(e->g), nout = graph_nout(e->g);
  Tensor *own = ARENA_NEW(&c->model, Tensor, e->g->inputs.n + 1), *all = ARENA_NEW(&c->model, Tensor, e->g->outputs.n + 1);
  for (size_t i = 0; i < nin; i++) own[i] = in[e->input[i]];
  for (size_t k = 0; k < e->g->states.n; k++) own[nin + k] = state[e->state[k]];
  interpret_or_fail(c, o, e->g, own, exact, all);
  state_next(c, e->g, all, own);
  for (size_t i = 0; i < nout; i++) out[e->output[i]] = all[i];
  for (size_t k = 0; k < e->g->states.n; k++) state[e->state[k]] = own[nin + k];
}

/* Each run executes the entries one after another. */
static void interpret_entries(Ctx *c, const Options *o, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out) {
  state_first(c, g, in);
  Tensor *state = arena_dup(&c->model, in + graph_nin(g), g->states.n * sizeof *state);
  for (size_t s = 0; s < steps; s++, in += g->inputs.n, out += graph_nout(g)) {
    if (g->states.n) memcpy(in + graph_nin(g), state, g->states.n * sizeof *state);
    for (size_t e = 0; e < g->entries.n; e++) interpret_entry(c, o, &g->entries.p[e], exact, in, state, out);
  }
}

void interpret(Ctx *c, const Options *o, const Graph *g, size_t steps, bool exact, Tensor *in, Tensor *out) {
  if (g->entries.n) {
    interpret_entries(c, o, g, steps, exact, in, out);
    return;
  }
  Tensor *all = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  state_first(c, g, in);
  for (size_t s = 0; s < steps; s++, in += g->inputs.n) {
    interpret_or_fail(c, o, g, in, exact, all);
    memcpy(out + s * graph_nout(g), all, graph_nout(g) * sizeof *all);
    if (s + 1 < steps) state_next(c, g, all, in + g->inputs.n);
  }
}

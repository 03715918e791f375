/* SPDX-License-Identifier: MIT */
/* cut.c: cuts a model down to given outputs. Post-processing often needs operators with results of no fixed size, such as
 * NonMaxSuppression; the user can compile the model up to the values before these. Nodes that the outputs do not need are
 * removed from the main graph, and then inputs that no node reads. */
#include "onnx.h"

static void need(bool *needed, const OnnxId *ids, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) needed[ids[i]] = ids[i] != 0;
}

/* A body's inputs from outside are marked with all that its nodes read. */
static void need_node(bool *needed, const OnnxNode *n) {
  need(needed, n->in, n->nin);
  for (uint32_t a = 0; a < n->nattr; a++) {
    if (n->attr[a].kind != AT_GRAPH && n->attr[a].kind != AT_GRAPHS) continue;
    for (size_t k = 0; k < n->attr[a].n; k++) {
      const OnnxGraph *g = n->attr[a].u.graphs[k];
      need(needed, g->out, g->nout);
      for (uint32_t i = 0; i < g->nnodes; i++) need_node(needed, &g->nodes[i]);
    }
  }
}

/* Whether some result of n is needed. Results that nobody needs are dropped. */
static bool makes_needed(Ctx *c, const bool *needed, OnnxNode *n) {
  OnnxId *out = arena_dup(&c->model, n->out, n->nout * sizeof *out);
  bool any = false;
  for (uint32_t i = 0; i < n->nout; i++) {
    if (!needed[out[i]]) out[i] = 0;
    any |= out[i] != 0;
  }
  n->out = out;
  return any;
}

void onnx_cut(Ctx *c, OnnxModel *m) {
  OnnxGraph *g = &m->graph;
  bool *needed = ARENA_NEW(&c->model, bool, m->values.n), *keep = ARENA_NEW(&c->model, bool, g->nnodes);
  need(needed, g->out, g->nout);
  for (uint32_t i = g->nnodes; i-- > 0;) { /* each node stands after its sources */
    keep[i] = makes_needed(c, needed, &g->nodes[i]);
    if (keep[i]) need_node(needed, &g->nodes[i]);
  }
  OnnxId *in = ARENA_NEW(&c->model, OnnxId, g->nin);
  uint32_t nodes = 0, inputs = 0;
  for (uint32_t i = 0; i < g->nnodes; i++)
    if (keep[i]) g->nodes[nodes++] = g->nodes[i];
  for (uint32_t i = 0; i < g->nin; i++)
    if (needed[g->in[i]]) in[inputs++] = g->in[i];
  g->nnodes = nodes;
  g->nin = inputs;
  g->in = in;
}

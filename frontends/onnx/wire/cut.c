/* SPDX-License-Identifier: MIT */
/* cut.c: cuts a model down to given outputs. Post-processing often needs operators with results of no fixed size, such as
 * NonMaxSuppression; the user can compile the model up to the values before these. Nodes that the outputs do not need are
 * removed from the main graph, and then inputs that no node reads. In the same way a model can start at values, which become
 * inputs. */
#include "../../common/compose.h"
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

/* ---- where a model starts ---- */
typedef struct Start { /* a result of a node that becomes an input */
  OnnxNode *node;
  uint32_t at;         /* which result */
} Start;

static Start find_start(Ctx *c, const OnnxModel *m, const char *name) {
  const OnnxGraph *g = &m->graph;
  Names names = { 0 };
  for (uint32_t i = 0; i < g->nnodes; i++)
    for (uint32_t k = 0; k < g->nodes[i].nout; k++) {
      const OnnxId id = g->nodes[i].out[k];
      if (id && !strcmp(m->values.p[id].name, name)) return (Start){ &g->nodes[i], k };
      if (id) names_add(c, &names, m->values.p[id].name);
    }
  fail(c, EX_USAGE_, "--from: no node of the model gives a value '%.200s'; there are%s%s", name, names_text(c, &names),
       names_near(c, &names, name));
}

static bool is_declared(const OnnxType *t) {
  bool known = t->kind == ON_TENSOR && t->elem && t->rank >= 0;
  for (int a = 0; known && a < t->rank; a++) known = t->dims[a].value >= 0;
  return known;
}

static OnnxType type_of(Ctx *c, const GIO *v) {
  OnnxDim *dims = ARENA_NEW(&c->model, OnnxDim, v->rank + 1);
  for (int a = 0; a < v->rank; a++) dims[a].value = v->dims[a];
  const int rank = v->rank - (v->narrow == ONNX_STRING);
  return (OnnxType){ .kind = ON_TENSOR, .elem = v->narrow ? v->narrow : dtype_info[v->dt].onnx, .rank = rank, .dims = dims };
}

bool onnx_start(Ctx *c, OnnxModel *m, const TextList *froms, const Graph *types) {
  OnnxGraph *g = &m->graph;
  OnnxId *in = ARENA_NEW(&c->model, OnnxId, g->nin + froms->n);
  for (size_t i = 0; i < froms->n; i++) {
    const Start s = find_start(c, m, froms->p[i]);
    if (!types && !is_declared(&m->values.p[s.node->out[s.at]].type)) return false;
  }
  if (g->nin) memcpy(in, g->in, g->nin * sizeof *in);
  for (size_t i = 0; i < froms->n; i++) {
    const Start s = find_start(c, m, froms->p[i]);
    OnnxId *out = arena_dup(&c->model, s.node->out, s.node->nout * sizeof *out);
    if (types) m->values.p[out[s.at]].type = type_of(c, graph_find(types->outputs.p, types->outputs.n, froms->p[i]));
    in[g->nin++] = out[s.at];
    out[s.at] = 0;
    s.node->out = out;
  }
  g->in = in;
  return true;
}

/* SPDX-License-Identifier: MIT */
/* onnx.c: the front end as a whole: its table of operators, and loading: reads a file, cuts it to the wanted outputs, builds
 * the graph. */
#include "../common/compose.h"
#include "core/build.h"

static const OpRow rows[] = {
#define OPROW(domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg)                                         \
  { domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg },
#include "core/optable.h"
#undef OPROW
};
enum { ROWS = sizeof rows / sizeof *rows };

static const OpForm refused[] = {
#define REFUSED(domain, name, why) { domain, name, 0, 0, why },
#include "core/refused.h"
#undef REFUSED
};
enum { REFUSALS = sizeof refused / sizeof *refused };

/* ---- the list of operators ---- */
/* The row behind the last form of row k's operator. Forms of one operator are adjacent, from the oldest to the newest. */
static int next_operator(int k) {
  const OpRow *first = &rows[k];
  while (k < ROWS && !strcmp(rows[k].name, first->name) && !strcmp(rows[k].domain, first->domain)) k++;
  return k;
}

bool onnx_op(int i, OpForm *form) {
  int k = 0;
  for (; i > 0 && k < ROWS; i--) k = next_operator(k);
  if (k == ROWS && i < REFUSALS) *form = refused[i];
  else if (k == ROWS) return false;
  else *form = (OpForm){ rows[k].domain, rows[k].name, rows[k].since, rows[next_operator(k) - 1].until, NULL };
  return true;
}

/* ---- loading ---- */
Graph *onnx_build(Ctx *c, OnnxModel *m, const LoadOptions *o) {
  static const BuildFn moves[] = { op_identity, op_reshape, op_transpose, op_flatten, op_squeeze, op_unsqueeze, NULL };
  static const BuildFn take_narrow[] = { op_cast, op_cast_like, op_quantize, op_dequantize, op_gather_block_quantized, NULL };
  static const BuildFn take_strings[] = {
    op_equal,         op_string_concat,   op_string_normalizer, op_string_split,     op_regex_full_match,
    op_label_encoder, op_category_mapper, op_one_hot_encoder,   op_tfidf_vectorizer, op_cast,
    op_cast_like,     NULL
  };
  static const OpTable ops = { rows, ROWS, refused, REFUSALS, moves, take_narrow, take_strings };
  return build_graph(c, &ops, m, o);
}

typedef struct Load {
  const char *path;
  const LoadOptions *o;
  const Graph *types; /* types of the values in --from; NULL: the model declares them */
  OnnxModel m;
  Graph *graph;       /* NULL: the model does not declare the type of a value in --from */
} Load;

static const TextList *froms_of(const LoadOptions *o) {
  return o && o->interface && o->interface->froms.n ? &o->interface->froms : NULL;
}

static void load_inside(Ctx *c, void *arg) {
  Load *l = arg;
  const TextList *froms = froms_of(l->o);
  onnx_read(c, l->path, l->o, &l->m);
  if (froms && !l->types && l->o->ndims) return; /* the declared shapes may be those of other dimensions */
  if (froms && !onnx_start(c, &l->m, froms, l->types)) return;
  if (froms || (l->o && l->o->nresults)) onnx_cut(c, &l->m);
  l->graph = onnx_build(c, &l->m, l->o);
}

static Graph *load(Ctx *c, const char *path, const LoadOptions *o, const Graph *types) {
  Load l = { .path = path, .o = o, .types = types };
  int code = ctx_try(c, load_inside, &l);
  VEC_FREE(&l.m.values);
  if (code) fail_silent(c, code);
  return l.graph;
}

/* Where the model does not declare the types of the values that it is to start at, it is first built up to them. */
Graph *onnx_load(Ctx *c, const char *path, const LoadOptions *o) {
  const TextList *froms = froms_of(o);
  Graph *g = load(c, path, o, NULL);
  if (g || !froms) return g;
  IoOptions only_consts = { .consts = o->interface->consts, .nconsts = o->interface->nconsts };
  LoadOptions before = *o, after = *o;
  before.interface = &only_consts;
  before.results = froms->p;
  before.nresults = (int)froms->n;
  before.unguarded = true;
  before.any_dims = after.any_dims = true;
  Graph *types = load(c, path, &before, NULL);
  g = load(c, path, &after, types);
  graph_free(types);
  return g;
}

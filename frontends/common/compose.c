/* SPDX-License-Identifier: MIT */
/* compose.c: joins two graphs into one: a prologue before a model, an epilogue after it. Nodes of both parts are copied into a
 * new IR, the parameters of one replaced by values of the other. Constructors make the movement that meets there, so that the
 * result is what a text of the whole would give. */
#include "compose.h"
#include "names.h"

Graph *graph_new(Ctx *c, const char *name) {
  Graph *g = ARENA_NEW(&c->model, Graph, 1);
  g->ir = ir_new(c);
  g->name = name;
  return g;
}

void graph_free(Graph *g) {
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
}

GIO *graph_find(GIO *v, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(v[i].name ? v[i].name : "", name)) return &v[i];
  return NULL;
}

const char *graph_names(Ctx *c, const GIO *v, size_t n, const char *word) {
  Names names = { 0 };
  for (size_t i = 0; i < n; i++) names_add(c, &names, v[i].name ? v[i].name : "");
  const char *text = arena_printf(&c->model, "%s%s", names_text(c, &names), names_near(c, &names, word));
  VEC_FREE(&names.p);
  return text;
}

const char *graph_type(Ctx *c, const GIO *v) {
  Sb s = { 0 };
  sb_printf(&s, "%s[", v->narrow ? small_type(v->narrow)->name : dtype_info[v->dt].text);
  for (int i = 0; i < v->rank; i++) sb_printf(&s, "%s%lld", i ? "," : "", (long long)v->dims[i]);
  sb_puts(&s, "]");
  return sb_keep(&s, &c->model);
}

Ref graph_input(Graph *g, const GIO *like, const char *name) {
  GIO io = *like;
  io.name = name;
  g->ir->origin = ir_origin(g->ir, arena_printf(&g->ir->ctx->model, "input '%s'", name), 0);
  io.ref = g_param(g->ir, io.dt, io.rank, io.dims, (int)g->inputs.n);
  VEC_PUSH(&g->inputs, io);
  return io.ref;
}

void graph_output(Graph *g, Ref r, const char *name) {
  const Node *x = node(g->ir, r);
  GIO io = { .ref = r, .name = name, .dt = (DType)x->dt, .rank = x->rank };
  if (x->rank) memcpy(io.dims, x->dims, x->rank * sizeof *io.dims);
  VEC_PUSH(&g->outputs, io);
}

/* ---- copying ---- */
static bool is_in_loop(Op op) { return op == OP_SLICE || op == OP_CARRIED || op == OP_YIELD || op == OP_ITERATE; }

static Ref copied(Graph *to, const Graph *from, const Node *x, const Ref *src, int loops, int64_t branches) {
  IR *ir = to->ir;
  int64_t arg[2 * MAX_RANK];
  switch (x->op) {
  case OP_RESHAPE: return g_reshape(ir, src[0], x->rank, x->dims);
  case OP_EXPAND: return g_expand(ir, src[0], x->rank, x->dims);
  case OP_PERMUTE: return g_permute(ir, src[0], x->arg);
  case OP_CAST: return g_cast(ir, src[0], (DType)x->dt);
  case OP_WEIGHT: return g_weight(ir, ir_tensor(ir, &from->ir->tensors.p[weight_id(x)]));
  default:
    if (x->narg) memcpy(arg, x->arg, x->narg * sizeof *arg);
    if (is_in_loop((Op)x->op)) arg[0] += loops;
    if (x->op == OP_ARM || x->op == OP_BRANCH) arg[0] += branches;
    return node_make(ir, (Op)x->op, (DType)x->dt, x->lanes, x->nsrc, src, x->narg, arg, x->rank, x->dims);
  }
}

/* Origins of a part follow those of the parts before it. */
static uint32_t next_ordinal(const IR *ir) {
  uint32_t most = 0;
  for (size_t i = 1; i < ir->origins.n; i++)
    if (ir->origins.p[i].index >= most) most = ir->origins.p[i].index + 1;
  return most;
}

/* "eyes: node 17 'conv1' (Conv, opset 11)". A line of text is named without the folder, so that bundles do not depend on it. */
static const char *origin_text(Ctx *c, const char *part, const Origin *o) {
  const char *slash = o->is_line ? strrchr(o->text, '/') : NULL;
  return part ? arena_printf(&c->model, "%s: %s", part, slash ? slash + 1 : o->text) : o->text;
}

void graph_graft(Graph *to, const Graph *from, const char *part, const Ref *in, Ref *out) {
  IR *ir = to->ir;
  Ctx *c = ir->ctx;
  Refs roots = { 0 }, order = { 0 }, src = { 0 };
  Ref *now = ARENA_NEW(&c->model, Ref, from->ir->n);
  uint32_t *origin = ARENA_NEW(&c->model, uint32_t, from->ir->origins.n + 1);
  const uint32_t base = next_ordinal(ir);
  const int loops = ir->loops;
  const int64_t branches = ir->branches;
  for (size_t i = 0; i < from->outputs.n; i++) VEC_PUSH(&roots, from->outputs.p[i].ref);
  for (size_t i = 0; i < from->inputs.n; i++) now[from->inputs.p[i].ref] = in[i];
  ir_toposort(from->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(from->ir, order.p[i]);
    if (now[order.p[i]]) continue;
    const Origin *o = &from->ir->origins.p[x->origin];
    if (x->origin && !origin[x->origin]) origin[x->origin] = ir_origin(ir, origin_text(c, part, o), base + o->index);
    ir->origin = origin[x->origin];
    src.n = 0;
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, now[x->src[k]]);
    now[order.p[i]] = copied(to, from, x, src.p, loops, branches);
    if (x->op == OP_ITERATE && loops + (int)iterate_loop(x) >= ir->loops) ir->loops = loops + (int)iterate_loop(x) + 1;
  }
  if (ir->loops > GRAPH_LOOPS) fail(c, EX_BADMODEL, "the models that are joined have more than %d loops", GRAPH_LOOPS);
  for (size_t i = 0; i < from->outputs.n; i++) out[i] = now[from->outputs.p[i].ref];
  ir->origin = 0;
  VEC_FREE(&roots);
  VEC_FREE(&order);
  VEC_FREE(&src);
}

/* ---- interfaces ---- */
bool graph_same_type(const GIO *a, const GIO *b) {
  return a->dt == b->dt && a->narrow == b->narrow && a->rank == b->rank &&
         !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static void check_type(Ctx *c, const char *what, const GIO *gives, const char *gets, const GIO *takes) {
  if (!graph_same_type(gives, takes))
    fail(c, EX_BADMODEL, "%s: '%s' is %s, but the %s '%s' is %s", what, gives->name, graph_type(c, gives), gets, takes->name,
         graph_type(c, takes));
}

static void put_output(Ctx *c, Graph *h, const GIO *like, Ref r, const char *what) {
  GIO io = *like;
  io.ref = r;
  if (graph_find(h->outputs.p, h->outputs.n, io.name))
    fail(c, EX_BADMODEL, "%s: another output is called '%s'; --rename gives one of them a new name", what, io.name);
  VEC_PUSH(&h->outputs, io);
}

static Ref put_input(Ctx *c, Graph *h, const GIO *like, const char *what) {
  if (graph_find(h->inputs.p, h->inputs.n, like->name))
    fail(c, EX_BADMODEL, "%s: another input is called '%s'; --rename gives one of them a new name", what, like->name);
  return graph_input(h, like, like->name);
}

Ref guards_joined(IR *ir, Ref x, Ref y) {
  const bool bools = node(ir, x)->dt == DT_BOOL && node(ir, y)->dt == DT_BOOL;
  return bools ? g_binary(ir, OP_OR, x, y) : g_binary(ir, OP_OR, g_cast(ir, x, DT_U8), g_cast(ir, y, DT_U8));
}

/* The run fails if either part finds an index out of range. */
static void put_guards(Graph *h, const Graph *a, const Ref *a_out, const Graph *b, const Ref *b_out) {
  const Ref x = a->guarded ? a_out[a->outputs.n - 1] : 0, y = b->guarded ? b_out[b->outputs.n - 1] : 0;
  const Graph *of = x ? a : b;
  h->guarded = x || y;
  if (!h->guarded) return;
  GIO io = of->outputs.p[of->outputs.n - 1];
  io.ref = x && y ? guards_joined(h->ir, x, y) : x ? x : y;
  io.dt = (DType)node(h->ir, io.ref)->dt;
  VEC_PUSH(&h->outputs, io);
}

static Ref *refs_new(Ctx *c, size_t n) { return ARENA_NEW(&c->model, Ref, n + 1); }

Graph *graph_before(Ctx *c, const Graph *first, const Graph *g, const char *what) {
  Graph *h = graph_new(c, g->name);
  Ref *pre_in = refs_new(c, first->inputs.n), *pre_out = refs_new(c, first->outputs.n);
  Ref *in = refs_new(c, g->inputs.n), *out = refs_new(c, g->outputs.n);
  const size_t given = graph_nout(first);
  bool *used = ARENA_NEW(&c->model, bool, given + 1), any = false;
  for (size_t i = 0; i < g->inputs.n; i++) { /* first's inputs take the place of the first input that it gives */
    const GIO *gives = graph_find(first->outputs.p, given, g->inputs.p[i].name);
    for (size_t k = 0; gives && !any && k < first->inputs.n; k++) pre_in[k] = put_input(c, h, &first->inputs.p[k], what);
    any |= gives != NULL;
    if (!gives) in[i] = put_input(c, h, &g->inputs.p[i], what);
  }
  if (!any)
    fail(c, EX_BADMODEL, "%s: no output has the name of an input of the model; its outputs are%s, and the inputs are%s", what,
         graph_names(c, first->outputs.p, given, ""), graph_names(c, g->inputs.p, g->inputs.n, ""));
  graph_graft(h, first, NULL, pre_in, pre_out);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *gives = graph_find(first->outputs.p, given, g->inputs.p[i].name);
    if (!gives) continue;
    check_type(c, what, gives, "model's input", &g->inputs.p[i]);
    used[gives - first->outputs.p] = true;
    in[i] = pre_out[gives - first->outputs.p];
  }
  graph_graft(h, g, NULL, in, out);
  for (size_t i = 0; i < graph_nout(g); i++) put_output(c, h, &g->outputs.p[i], out[i], what);
  for (size_t i = 0; i < given; i++)
    if (!used[i]) put_output(c, h, &first->outputs.p[i], pre_out[i], what);
  put_guards(h, first, pre_out, g, out);
  return h;
}

Graph *graph_after(Ctx *c, const Graph *g, const Graph *last, const char *what) {
  Graph *h = graph_new(c, g->name);
  Ref *in = refs_new(c, g->inputs.n), *out = refs_new(c, g->outputs.n);
  Ref *post_in = refs_new(c, last->inputs.n), *post_out = refs_new(c, last->outputs.n);
  const size_t given = graph_nout(g);
  bool any = false, placed = false;
  for (size_t i = 0; i < g->inputs.n; i++) in[i] = put_input(c, h, &g->inputs.p[i], what);
  graph_graft(h, g, NULL, in, out);
  for (size_t k = 0; k < last->inputs.n; k++) {
    const GIO *takes = &last->inputs.p[k], *gives = graph_find(g->outputs.p, given, takes->name);
    const GIO *shared = gives ? NULL : graph_find(h->inputs.p, h->inputs.n, takes->name);
    if (gives) check_type(c, "the model's output", gives, arena_printf(&c->model, "input of %s", what), takes);
    if (shared) check_type(c, "the model's input", shared, arena_printf(&c->model, "input of %s", what), takes);
    any |= gives != NULL;
    post_in[k] = gives ? out[gives - g->outputs.p] : shared ? shared->ref : put_input(c, h, takes, what);
  }
  if (!any)
    fail(c, EX_BADMODEL, "%s: no input has the name of an output of the model; its inputs are%s, and the outputs are%s", what,
         graph_names(c, last->inputs.p, last->inputs.n, ""), graph_names(c, g->outputs.p, given, ""));
  graph_graft(h, last, NULL, post_in, post_out);
  for (size_t i = 0; i < given; i++) { /* last's outputs take the place of the first output that it reads */
    const bool read = graph_find(last->inputs.p, last->inputs.n, g->outputs.p[i].name) != NULL;
    for (size_t k = 0; read && !placed && k < graph_nout(last); k++) put_output(c, h, &last->outputs.p[k], post_out[k], what);
    placed |= read;
    if (!read) put_output(c, h, &g->outputs.p[i], out[i], what);
  }
  put_guards(h, g, out, last, post_out);
  return h;
}

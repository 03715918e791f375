/* SPDX-License-Identifier: MIT */
/* read.c: reads an ONNX file into the records of onnx.h. One walk over the graph turns names into numbers of values.
 *
 * The walk has a stack of frames, one for each open graph body or function call, and a symbol table with an undo log. So
 * neither nested bodies nor chains of calls recurse in C. A frame first defines all names of its graph. Then it orders its
 * nodes: each after the nodes it reads from, also in its bodies. Then it turns them into records. A call of a model-local
 * function becomes a frame whose nodes go to the caller's list. */
#include "read.h"
#include <string.h>

enum { NEWEST_IR = 14 };

typedef struct Binding {
  OnnxId id;
  uint32_t scope;          /* number of the frame that defined the name; 0: undefined */
  uint32_t node;           /* 1 + index of the node in that frame that makes it; 0: none */
  uint32_t hidden;         /* number of bodies around the walk that define the name for themselves */
  bool awaited;            /* output of a function; no node has made it so far */
} Binding;

typedef struct Undo { uint32_t name; Binding old; } Undo;

typedef struct Frame {
  const GraphProto *graph; /* for a graph body */
  Function *fn;            /* for a function call */
  NodeProto **nodes;
  const uint32_t *order;   /* NULL: the frame has not begun */
  size_t nnodes, next;
  OnnxGraph *out;          /* list that receives its nodes */
  const Imports *imports;
  const OnnxNode *call;    /* innermost call around it, to which ref_attr_name refers; NULL: outside functions */
  const Function *within;  /* function of that call */
  const char *where;       /* text of the main graph's node around it; NULL in the main graph */
  uint32_t index;          /* index of that node in the file */
  uint32_t base;           /* names of scopes below this one are not visible */
  size_t undo;             /* height of the undo log when the frame began */
} Frame;

typedef struct Reader {
  Ctx *c;
  OnnxModel *m;
  const LoadOptions *o;
  const Onnx__ModelProto *p;
  Arena scratch;           /* the file, protobuf's structures and tables, until reading ends */
  External ext;
  Imports imports;
  Functions functions;
  size_t budget;           /* limit of bytes in c->model, including those used before */
  VEC(Binding) names;      /* by interned name */
  VEC(Undo) undo;
  VEC(Frame) frames;
  Bodies bodies;           /* stack of a walk */
} Reader;

static uint32_t name_id(Reader *r, const char *s) { return pb_intern(r->c, s); }
static const char *name_text(Reader *r, const char *s) { return pb_name(r->c, s); }

/* ---- the symbol table ---- */
static Binding *binding(Reader *r, uint32_t name) {
  while (r->names.n <= name) VEC_PUSH(&r->names, (Binding){ 0 });
  return &r->names.p[name];
}

static void bind(Reader *r, uint32_t name, Binding b) {
  Binding *old = binding(r, name);
  VEC_PUSH(&r->undo, ((Undo){ name, *old }));
  *old = b;
}

static OnnxId new_value(Reader *r, uint32_t name) {
  VEC_PUSH(&r->m->values, ((OnnxValue){ .name = intern_text(r->c, name), .type.rank = -1 }));
  return (OnnxId)r->m->values.n - 1;
}

static Frame *top(Reader *r) { return &r->frames.p[r->frames.n - 1]; }
static uint32_t scope(const Reader *r) { return (uint32_t)r->frames.n; }
static Pos frame_pos(Reader *r) { return (Pos){ .node = top(r)->where }; }

/* Position of node i of the frame on top */
static Pos node_pos(Reader *r, size_t i) {
  const NodeProto *p = top(r)->nodes[i];
  return (Pos){ .node = arena_printf(&r->scratch, "node %zu '%.*s' (%.*s)", i, shown(pb_text(p->name)), pb_text(p->name),
                                     shown(pb_text(p->op_type)), pb_text(p->op_type)) };
}

/* Defines a name in the frame on top, as an output of node - 1; node 0: as no node's. It hides the same name of enclosing
 * graphs. */
static OnnxId define(Reader *r, const char *name, uint32_t node) {
  uint32_t id = name_id(r, name);
  Binding *b = binding(r, id);
  if (b->scope == scope(r) && b->awaited) {
    b->awaited = false;
    b->node = node;
    return b->id;
  }
  if (b->scope == scope(r))
    fail_at(r->c, EX_BADMODEL, node ? node_pos(r, node - 1) : frame_pos(r), "value '%.200s' is defined twice, first by %s", name,
            b->node ? node_pos(r, b->node - 1).node : "an input or initializer");
  OnnxId v = new_value(r, id);
  bind(r, id, (Binding){ .id = v, .scope = scope(r), .node = node });
  return v;
}

static bool is_constant(const NodeProto *p) {
  return !strcmp(pb_text(p->op_type), "Constant") && !*pb_text(p->domain) && p->n_output == 1;
}

/* Some exporters define a constant again. The last definition counts, as in ONNX Runtime. */
typedef struct Again { const char *name, *first, *last; size_t n; } Again;

static void warn_again(Reader *r, const Again *a) {
  const char *more = a->n > 1 ? arena_printf(&r->scratch, "; %zu more constants are defined twice", a->n - 1) : "";
  if (!a->n) return;
  warn_at(r->c, (Pos){ .node = a->last }, "value '%.200s' is defined twice, first by %s; the last definition counts%s", a->name,
          a->first, more);
}

/* Whether node i is a Constant that replaces an earlier one */
static bool is_constant_again(Reader *r, size_t i, Again *a) {
  const Frame *f = top(r);
  if (!is_constant(f->nodes[i])) return false;
  Binding *b = binding(r, name_id(r, f->nodes[i]->output[0]));
  if (b->scope != scope(r) || !b->node || !is_constant(f->nodes[b->node - 1])) return false;
  if (!a->n++) *a = (Again){ f->nodes[i]->output[0], node_pos(r, b->node - 1).node, node_pos(r, i).node, 1 };
  b->node = (uint32_t)i + 1;
  return true;
}

/* Finds a name in the frame's graph, or in the nearest enclosing one. The order of nodes ensures that its maker comes first. */
static bool lookup(Reader *r, const char *name, OnnxId *out) {
  const Binding *b = binding(r, name_id(r, name));
  if (!b->scope || b->scope < top(r)->base) return false;
  *out = b->id;
  return true;
}

/* ---- declared types ---- */

/* Sets the declared types of values. A negative extent counts as not known. */
static void declare(Reader *r, size_t n, Onnx__ValueInfoProto *const *info) {
  for (size_t i = 0; i < n; i++) {
    const Binding *b = binding(r, name_id(r, info[i]->name));
    if (b->scope != scope(r) || r->m->values.p[b->id].type.kind) continue;
    r->m->values.p[b->id].type = pb_type(r->c, info[i]->type);
  }
}

/* Inputs of the main graph must be tensors that tgc can take. */
static void check_input(Reader *r, const OnnxValue *v) {
  static const char *const kinds[] = { "no declared type", NULL, "a sequence", "a map", "an optional", "a sparse tensor" };
  const bool wrapped = v->type.inside != ON_NOTYPE;
  if (v->type.kind != ON_TENSOR && !wrapped)
    fail(r->c, EX_BADMODEL, "input '%s' is %s; tgc supports tensors only", v->name, kinds[v->type.kind]);
  if (dtype_from_onnx(v->type.elem) == DT_NONE && !small_type(v->type.elem)) {
    const char *type = onnx_type_name(v->type.elem);
    fail(r->c, EX_BADMODEL, "input '%s' has elements of type %s, which tgc does not support", v->name,
         type ? type : arena_printf(&r->c->model, "%d", v->type.elem));
  }
  if (wrapped && v->type.elem == ONNX_STRING)
    fail(r->c, EX_BADMODEL, "input '%s' has strings in a sequence or optional", v->name);
  if (v->type.rank < 0 && !wrapped) fail(r->c, EX_BADMODEL, "input '%s' has no shape", v->name);
  if (v->type.rank > USER_RANK)
    fail(r->c, EX_BADMODEL, "input '%s' has %d dimensions; in an ONNX model tgc supports at most %d", v->name, v->type.rank,
         USER_RANK);
}

/* ---- attributes ---- */

/* Reads an attribute of a node in a function that refers to one of the call. False if neither the call nor the function's
 * defaults have it. */
static bool read_ref(Reader *r, const Frame *f, const AttrProto *a, OnnxAttr *out, Pos at) {
  if (!f->call)
    fail_at(r->c, EX_BADMODEL, at, "attribute '%s' refers to a function's attribute, but the node is in no function", a->name);
  const OnnxAttr *given = onnx_attr(f->call, a->ref_attr_name);
  if (given) {
    *out = *given;
  } else {
    const AttrProto *d = NULL;
    for (size_t i = 0; i < f->within->ndefaults; i++)
      if (!strcmp(pb_text(f->within->defaults[i]->name), a->ref_attr_name)) d = f->within->defaults[i];
    if (!d) return false;
    *out = pb_attr(r->c, &r->ext, d, at);
    if (out->kind == AT_GRAPH || out->kind == AT_GRAPHS)
      fail_at(r->c, EX_BADMODEL, at, "attribute '%s' has a graph as its default, which tgc does not support", a->name);
  }
  out->name = name_text(r, a->name);
  if (a->has_type && (int)a->type != (int)out->kind)
    fail_at(r->c, EX_BADMODEL, at, "attribute '%s' is a %s where a %s is expected", a->name, onnx_attr_kind_name[out->kind],
            (int)a->type > 0 && (int)a->type < AT_COUNT ? onnx_attr_kind_name[a->type] : "known type");
  return true;
}

static void read_attrs(Reader *r, const Frame *f, const NodeProto *p, OnnxNode *n) {
  OnnxAttr *attr = ARENA_NEW(&r->c->model, OnnxAttr, p->n_attribute);
  n->attr = attr;
  for (size_t i = 0; i < p->n_attribute; i++) {
    const AttrProto *a = p->attribute[i];
    if (!*pb_text(a->name)) fail_at(r->c, EX_BADMODEL, onnx_pos(n), "attribute %zu has no name", i);
    if (onnx_attr(n, a->name)) fail_at(r->c, EX_BADMODEL, onnx_pos(n), "attribute '%s' occurs twice", a->name);
    if (*pb_text(a->ref_attr_name)) {
      n->nattr += read_ref(r, f, a, &attr[n->nattr], onnx_pos(n));
    } else {
      attr[n->nattr] = pb_attr(r->c, &r->ext, a, onnx_pos(n));
      n->nattr++;
    }
  }
}

/* ---- frames ---- */
static void begin_function(Reader *r) {
  Frame *f = top(r);
  const Onnx__FunctionProto *p = f->fn->p;
  Pos at = onnx_pos(f->call);
  if (f->call->nin > p->n_input)
    fail_at(r->c, EX_BADMODEL, at, "%s takes %zu inputs, but this call gives %u", f->fn->text, p->n_input, f->call->nin);
  if (f->call->nout > p->n_output)
    fail_at(r->c, EX_BADMODEL, at, "%s has %zu outputs, but this call takes %u", f->fn->text, p->n_output, f->call->nout);
  for (size_t i = 0; i < p->n_input; i++) {
    uint32_t name = name_id(r, p->input[i]);
    if (binding(r, name)->scope == scope(r)) fail_at(r->c, EX_BADMODEL, at, "%s has input '%s' twice", f->fn->text, p->input[i]);
    bind(r, name, (Binding){ .id = i < f->call->nin ? f->call->in[i] : 0, .scope = scope(r) });
  }
  for (size_t i = 0; i < p->n_output; i++) {
    uint32_t name = name_id(r, p->output[i]);
    OnnxId given = i < f->call->nout ? f->call->out[i] : 0, source;
    if (binding(r, name)->scope != scope(r)) {
      bind(r, name, (Binding){ .id = given ? given : new_value(r, name), .scope = scope(r), .awaited = true });
      continue;
    }
    if (binding(r, name)->awaited) fail_at(r->c, EX_BADMODEL, at, "%s has output '%s' twice", f->fn->text, p->output[i]);
    if (!given || !lookup(r, p->output[i], &source) || !source) continue;
    OnnxNode *id = &f->out->nodes[f->out->nnodes++]; /* the output is an input */
    *id = (OnnxNode){ .op = "Identity", .domain = "", .name = "", .text = f->call->text, .opset = OPSET_NOW, .index = f->index,
                      .nin = 1, .nout = 1, .in = arena_dup(&r->c->model, &source, sizeof source),
                      .out = arena_dup(&r->c->model, &given, sizeof given) };
  }
}

static void begin_graph(Reader *r) {
  Frame *f = top(r);
  const GraphProto *g = f->graph;
  Arena *to = &r->c->model;
  f->out->name = name_text(r, g->name);
  if (g->n_sparse_initializer)
    fail_at(r->c, EX_BADMODEL, frame_pos(r), "the graph has sparse initializers, which tgc does not support");
  OnnxId *in = ARENA_NEW(to, OnnxId, g->n_input);
  for (size_t i = 0; i < g->n_input; i++) {
    if (!*pb_text(g->input[i]->name)) fail_at(r->c, EX_BADMODEL, frame_pos(r), "graph input %zu has no name", i);
    in[i] = define(r, g->input[i]->name, 0);
    r->m->values.p[in[i]].type = pb_type(r->c, g->input[i]->type);
  }
  OnnxId first = (OnnxId)r->m->values.n;
  Again again = { 0 };
  for (size_t i = 0; i < g->n_initializer; i++) {
    const char *name = pb_text(g->initializer[i]->name);
    if (!*name) fail_at(r->c, EX_BADMODEL, frame_pos(r), "initializer %zu has no name", i);
    const Binding *b = binding(r, name_id(r, name));
    const bool known = b->scope == scope(r), is_input = known && b->id < first && !r->m->values.p[b->id].init;
    if (is_input && f->where) fail_at(r->c, EX_BADMODEL, frame_pos(r), "body input '%.200s' is an initializer too", name);
    if (known && !is_input && !again.n++)
      again = (Again){ name, "another initializer", f->where ? f->where : arena_printf(&r->scratch, "initializer %zu", i), 1 };
    OnnxId id = known ? b->id : define(r, name, 0);
    Tensor t = pb_tensor(r->c, &r->ext, g->initializer[i], false, frame_pos(r));
    r->m->values.p[id].init = arena_dup(to, &t, sizeof t);
  }
  warn_again(r, &again);
  for (size_t i = 0; i < g->n_input; i++) {
    if (r->m->values.p[in[i]].init) continue;
    if (!f->where) check_input(r, &r->m->values.p[in[i]]);
    in[f->out->nin++] = in[i];
  }
  f->out->in = in;
}

typedef struct Reads { uint32_t n, *list; } Reads; /* list NULL: only counts */

static void add_read(Reader *r, Reads *reads, const char *name) {
  const Binding *b = binding(r, name_id(r, name));
  if (b->scope != scope(r) || !b->node || b->hidden) return;
  if (reads->list) reads->list[reads->n] = b->node - 1;
  reads->n++;
}

/* Marks names that a body defines, which hide those outside. by: 1 when a walk enters the body, -1 when it leaves. */
static void hide_names(Reader *r, const Body *b, int by) {
  for (size_t i = 0; i < b->graph->n_input; i++) binding(r, name_id(r, b->graph->input[i]->name))->hidden += (uint32_t)by;
  for (size_t i = 0; i < b->graph->n_initializer; i++)
    binding(r, name_id(r, b->graph->initializer[i]->name))->hidden += (uint32_t)by;
  for (size_t i = 0; i < b->n; i++)
    for (size_t j = 0; j < b->nodes[i]->n_output; j++) binding(r, name_id(r, b->nodes[i]->output[j]))->hidden += (uint32_t)by;
}

/* Lists the nodes of the frame on top from which node n reads, also inside its bodies. */
static void add_reads(Reader *r, Reads *reads, const NodeProto *n) {
  for (size_t i = 0; i < n->n_input; i++) add_read(r, reads, n->input[i]);
  r->bodies.n = 0;
  push_bodies(&r->bodies, n);
  while (r->bodies.n) {
    Body *last = &r->bodies.p[r->bodies.n - 1];
    const Body b = *last;
    hide_names(r, &b, b.entered ? -1 : 1);
    if (b.entered) {
      r->bodies.n--;
      continue;
    }
    last->entered = true;
    for (size_t i = 0; i < b.n; i++)
      for (size_t j = 0; j < b.nodes[i]->n_input; j++) add_read(r, reads, b.nodes[i]->input[j]);
    for (size_t i = 0; i < b.graph->n_output; i++) add_read(r, reads, b.graph->output[i]->name);
    for (size_t i = 0; i < b.n; i++) push_bodies(&r->bodies, b.nodes[i]);
  }
}

/* Order of the frame's nodes: each after the nodes from which it reads */
static uint32_t *order_nodes(Reader *r, const Frame *f) {
  uint32_t n = (uint32_t)f->nnodes;
  uint32_t *start = ARENA_NEW(&r->scratch, uint32_t, n + 1), *order = ARENA_NEW(&r->scratch, uint32_t, n + 1);
  Reads reads = { 0 };
  for (int pass = 0; pass < 2; pass++) {
    if (pass) reads.list = ARENA_NEW(&r->scratch, uint32_t, reads.n);
    reads.n = 0;
    for (uint32_t i = 0; i < n; i++) {
      start[i] = reads.n;
      add_reads(r, &reads, f->nodes[i]);
    }
    start[n] = reads.n;
  }
  uint32_t cycle = order_by_need(&r->scratch, n, start, reads.list, order);
  if (cycle)
    fail_at(r->c, EX_BADMODEL, node_pos(r, order[0]), "depends on its own output (a cycle of %u node%s)",
            cycle, cycle > 1 ? "s" : "");
  return order;
}

static void read_outputs(Reader *r, OnnxGraph *to, const GraphProto *g) {
  OnnxId *out = ARENA_NEW(&r->c->model, OnnxId, g->n_output);
  for (size_t i = 0; i < g->n_output; i++)
    if (!lookup(r, g->output[i]->name, &out[i]))
      fail_at(r->c, EX_BADMODEL, frame_pos(r), "no node, input or initializer gives graph output '%.200s'",
              pb_text(g->output[i]->name));
  to->out = out;
  to->nout = (uint32_t)g->n_output;
}

/* The outputs that the user chose for the main graph */
static void read_results(Reader *r, OnnxGraph *to, const GraphProto *g) {
  OnnxId *out = ARENA_NEW(&r->c->model, OnnxId, r->o->nresults);
  for (int i = 0; i < r->o->nresults; i++)
    if (!lookup(r, r->o->results[i], &out[i])) {
      Names names = { 0 };
      for (size_t k = 0; k < g->n_output; k++) names_add(r->c, &names, pb_text(g->output[k]->name));
      for (size_t k = 0; k < g->n_node; k++)
        for (size_t j = 0; j < g->node[k]->n_output; j++)
          if (*pb_text(g->node[k]->output[j])) names_add(r->c, &names, pb_text(g->node[k]->output[j]));
      fail(r->c, EX_USAGE_, "--result: the model has no value '%.200s'; there are%s%s", r->o->results[i],
           names_text(r->c, &names), names_near(r->c, &names, r->o->results[i]));
    }
  to->out = out;
  to->nout = (uint32_t)r->o->nresults;
}

/* Defines the names of the frame's graph or function, and orders its nodes. */
static void begin(Reader *r) {
  Frame *f = top(r);
  Again again = { 0 };
  f->undo = r->undo.n;
  if (f->fn) f->base = scope(r);
  if (f->fn) begin_function(r);
  else begin_graph(r);
  for (size_t i = 0; i < f->nnodes; i++)
    for (size_t j = 0; j < f->nodes[i]->n_output; j++)
      if (*f->nodes[i]->output[j] && !is_constant_again(r, i, &again)) define(r, f->nodes[i]->output[j], (uint32_t)i + 1);
  warn_again(r, &again);
  if (f->fn) {
    for (size_t i = 0; i < f->fn->p->n_output; i++)
      if (binding(r, name_id(r, f->fn->p->output[i]))->awaited)
        fail_at(r->c, EX_BADMODEL, frame_pos(r), "no node of %s gives its output '%.200s'", f->fn->text, f->fn->p->output[i]);
    if (!f->fn->order) f->fn->order = order_nodes(r, f);
    f->order = f->fn->order;
    return;
  }
  const GraphProto *g = f->graph;
  f->order = order_nodes(r, f);
  f->out->nodes = ARENA_NEW(&r->c->model, OnnxNode, inlined_size(&r->functions, f->nodes, f->nnodes).flat);
  declare(r, g->n_value_info, g->value_info);
  declare(r, g->n_output, g->output);
  if (!f->where && r->o && r->o->nresults) read_results(r, f->out, g);
  else read_outputs(r, f->out, g);
}

static void end(Reader *r) {
  for (size_t mark = top(r)->undo; r->undo.n > mark;) {
    const Undo *u = &r->undo.p[--r->undo.n];
    r->names.p[u->name] = u->old;
  }
  r->frames.n--;
}

/* Pushes a frame for each graph in node n's attributes, the first on top. */
static void push_graphs(Reader *r, const Frame *f, const NodeProto *p, const OnnxNode *n) {
  for (size_t i = p->n_attribute; i-- > 0;) {
    const AttrProto *a = p->attribute[i];
    if (*pb_text(a->ref_attr_name) || !(a->g || a->n_graphs)) continue;
    const OnnxAttr *to = onnx_attr(n, a->name);
    for (size_t j = to->n; j-- > 0;) {
      const GraphProto *g = a->g ? a->g : a->graphs[j];
      Frame body = *f; /* sees the names that the node sees */
      body.graph = g;
      body.fn = NULL;
      body.nodes = g->node;
      body.nnodes = g->n_node;
      body.next = 0;
      body.order = NULL;
      body.out = to->u.graphs[j];
      body.where = f->where ? f->where : n->text;
      body.index = n->index;
      VEC_PUSH(&r->frames, body);
    }
  }
}

static int64_t opset_of(const Imports *im, const char *domain) {
  for (uint32_t i = 0; i < im->n; i++)
    if (!strcmp(im->p[i].domain, domain)) return im->p[i].version;
  return 0;
}

static const OnnxId *read_ids(Reader *r, size_t n, char *const *names, const OnnxNode *node, uint32_t *count) {
  OnnxId *ids = ARENA_NEW(&r->c->model, OnnxId, n);
  while (n && !*names[n - 1]) n--;
  for (size_t i = 0; i < n; i++)
    if (*names[i] && !lookup(r, names[i], &ids[i]))
      fail_at(r->c, EX_BADMODEL, onnx_pos(node), "no node, input or initializer gives its input '%.200s'", names[i]);
  *count = (uint32_t)n;
  return ids;
}

/* Reads the next node of the frame on top: as a record, or as a call with its own frame. */
static void step(Reader *r) {
  const Frame f = *top(r); /* a copy: pushing a frame may move them */
  uint32_t at = f.order[top(r)->next++];
  const NodeProto *p = f.nodes[at];
  if (is_constant(p) && *p->output[0] && binding(r, name_id(r, p->output[0]))->node != at + 1) return; /* a later one counts */
  OnnxNode n = { .op = name_text(r, p->op_type), .domain = domain_text(r->c, p->domain), .name = name_text(r, p->name) };
  n.opset = opset_of(f.imports, n.domain);
  n.index = f.where ? f.index : at;
  n.text = arena_printf(&r->c->model, "%s%snode %u%s%.*s%s (%.*s%s%.*s, opset %lld)", f.where ? f.where : "",
                        f.where ? " > " : "", at, *n.name ? " '" : "", shown(n.name), n.name, *n.name ? "'" : "", shown(n.domain),
                        n.domain, *n.domain ? "." : "", shown(n.op), n.op, (long long)n.opset);
  if (!*n.op) fail_at(r->c, EX_BADMODEL, onnx_pos(&n), "has no op_type");
  n.in = read_ids(r, p->n_input, p->input, &n, &n.nin);
  n.out = read_ids(r, p->n_output, p->output, &n, &n.nout);
  read_attrs(r, &f, p, &n);
  Function *fn = function_of(&r->functions, p);
  if (!fn && !n.opset && !*n.domain)
    fail_at(r->c, EX_BADMODEL, onnx_pos(&n), "domain 'ai.onnx' is not imported; add it to opset_import");
  if (r->c->model.total > r->budget)
    fail_at(r->c, EX_BADMODEL, onnx_pos(&n), "the model becomes more than %zu bytes after inlining (--max-decoded)", r->budget);
  if (!fn) {
    f.out->nodes[f.out->nnodes++] = n;
    push_graphs(r, &f, p, &n);
    return;
  }
  OnnxNode *call = arena_dup(&r->c->model, &n, sizeof n);
  VEC_PUSH(&r->frames, ((Frame){ .fn = fn, .call = call, .nodes = fn->p->node, .nnodes = fn->p->n_node, .out = f.out,
                                 .imports = &fn->imports, .within = fn, .where = f.where ? f.where : n.text,
                                 .index = n.index }));
  push_graphs(r, &f, p, &n); /* above the call, so that they see the caller's names */
}

/* ---- the model ---- */
static void read_model(Reader *r, const char *path) {
  Ctx *c = r->c;
  wire_guess(c, path);
  Bytes file = r->ext.self = wire_read(c, path);
  if (!file.n) fail(c, EX_BADMODEL, "not an ONNX model: the file is empty");
  r->budget = c->model.total + wire_budget(c, file.n);
  r->p = (const Onnx__ModelProto *)wire_unpack(c, &r->scratch, &onnx__model_proto__descriptor, file, true);
  const Onnx__ModelProto *p = r->p;
  if (!p->graph) fail(c, EX_BADMODEL, "the model has no graph");
  if (p->ir_version < 1) fail(c, EX_BADMODEL, "the model has ir_version %lld, expected at least 1", (long long)p->ir_version);
  if (p->ir_version > NEWEST_IR)
    fail(c, EX_BADMODEL, "the model has ir_version %lld, the newest that tgc knows is %d", (long long)p->ir_version, NEWEST_IR);
  if (p->n_training_info) fail(c, EX_BADMODEL, "the model has training information, which tgc does not support");
  r->imports = read_imports(c, p->n_opset_import, p->opset_import, "the model");
  if (!r->imports.n && p->ir_version >= 3) fail(c, EX_BADMODEL, "the model imports no opset");
  if (!r->imports.n) { /* such files are older than the second opset */
    static const OnnxImport first = { "", 1 };
    r->imports = (Imports){ 1, &first };
  }
  r->m->ir_version = p->ir_version;
  r->m->nimports = r->imports.n;
  r->m->imports = r->imports.p;
  VEC_PUSH(&r->m->values, (OnnxValue){ .name = "" });
  r->functions = (Functions){ .c = c, .scratch = &r->scratch };
  functions_read(&r->functions, p);
  VEC_PUSH(&r->frames, ((Frame){ .graph = p->graph, .nodes = p->graph->node, .nnodes = p->graph->n_node, .out = &r->m->graph,
                                 .imports = &r->imports, .base = 1 }));
  while (r->frames.n) {
    const Frame *f = top(r);
    if (!f->order) begin(r);
    else if (f->next < f->nnodes) step(r);
    else end(r);
  }
}

static void read_inside(Ctx *c, void *arg) {
  (void)c;
  Reader *r = arg;
  read_model(r, r->ext.model);
}

void onnx_read(Ctx *c, const char *path, const LoadOptions *o, OnnxModel *m) {
  Reader r = { .c = c, .m = m, .o = o, .ext = { .model = path, .allow_hardlinks = o && o->allow_hardlinks } };
  int code = ctx_try(c, read_inside, &r);
  arena_free(&r.scratch);
  VEC_FREE(&r.ext.files);
  functions_free(&r.functions);
  VEC_FREE(&r.names);
  VEC_FREE(&r.undo);
  VEC_FREE(&r.frames);
  VEC_FREE(&r.bodies);
  if (code) fail_silent(c, code);
}

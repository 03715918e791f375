/* SPDX-License-Identifier: MIT */
/* functions.c: model-local functions. Finds the function that a node calls. Computes from the call graph how many nodes the
 * model has after inlining; so a model that would explode is refused in linear time. */
#include "read.h"
#include <string.h>

enum { MAX_IMPORTS = 100, CYCLE_SHOWN = 10 }; /* CYCLE_SHOWN: most functions of a cycle that a message names */
enum { NODE_OVERLOAD = 8, FUNCTION_OVERLOAD = 13, FUNCTION_DEFAULTS = 11 }; /* field numbers in onnx.proto */

/* ---- fields missing in older versions of onnx.proto, read by number ---- */
static const void *field_at(const ProtobufCMessage *m, uint32_t number, const ProtobufCFieldDescriptor **f) {
  *f = protobuf_c_message_descriptor_get_field(m->descriptor, number);
  return *f ? (const char *)m + (*f)->offset : NULL;
}

/* Payload of unknown field i, without its length, if its number is `number`; else p is NULL */
static Bytes unknown_payload(const ProtobufCMessage *m, unsigned i, uint32_t number) {
  const ProtobufCMessageUnknownField *u = &m->unknown_fields[i];
  size_t skip = 0;
  if (u->tag != number || u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) return (Bytes){ 0 };
  while (skip < u->len && u->data[skip++] & 128) {}
  return (Bytes){ u->data + skip, u->len - skip };
}

static const char *text_field(Ctx *c, const ProtobufCMessage *m, uint32_t number) {
  const ProtobufCFieldDescriptor *f;
  char *const *known = field_at(m, number, &f);
  if (known) return pb_name(c, *known);
  for (unsigned i = 0; i < m->n_unknown_fields; i++) {
    Bytes b = unknown_payload(m, i, number);
    if (b.p) return intern_text(c, intern(c, (const char *)b.p, b.n));
  }
  return "";
}

static void read_defaults(const Functions *fs, Function *f) {
  const ProtobufCMessage *m = &f->p->base;
  const ProtobufCFieldDescriptor *d;
  AttrProto **const *known = field_at(m, FUNCTION_DEFAULTS, &d);
  if (known) {
    f->defaults = *known;
    f->ndefaults = *(const size_t *)((const char *)m + d->quantifier_offset);
    return;
  }
  f->defaults = ARENA_NEW(fs->scratch, AttrProto *, m->n_unknown_fields);
  for (unsigned i = 0; i < m->n_unknown_fields; i++) {
    Bytes b = unknown_payload(m, i, FUNCTION_DEFAULTS);
    if (b.p)
      f->defaults[f->ndefaults++] = (AttrProto *)wire_unpack(fs->c, fs->scratch, &onnx__attribute_proto__descriptor, b, false);
  }
}

/* ---- the table ---- */
Imports read_imports(Ctx *c, size_t n, Onnx__OperatorSetIdProto *const *p, const char *where) {
  if (n > MAX_IMPORTS) fail(c, EX_BADMODEL, "%s imports %zu domains, the limit is %d", where, n, MAX_IMPORTS);
  OnnxImport *out = ARENA_NEW(&c->model, OnnxImport, n);
  for (size_t i = 0; i < n; i++) {
    out[i] = (OnnxImport){ domain_text(c, p[i]->domain), p[i]->version };
    const char *shown_as = *out[i].domain ? out[i].domain : "ai.onnx";
    for (size_t j = 0; j < i; j++)
      if (!strcmp(out[j].domain, out[i].domain) && out[j].version != out[i].version)
        fail(c, EX_BADMODEL, "%s imports domain '%s' in two versions, %lld and %lld", where, shown_as, (long long)out[j].version,
             (long long)out[i].version);
    if (out[i].version < 1)
      fail(c, EX_BADMODEL, "%s imports domain '%s' in version %lld, expected at least 1", where, shown_as,
           (long long)out[i].version);
    if (!*out[i].domain && out[i].version > OPSET_NOW)
      fail(c, EX_BADMODEL, "%s uses opset %lld, the newest that tgc knows is %d", where, (long long)out[i].version, OPSET_NOW);
  }
  return (Imports){ (uint32_t)n, out };
}

static Function *find(const Functions *f, const char *name, const char *domain, const char *overload) {
  const uint32_t id = pb_intern(f->c, name);
  for (uint32_t i = id < f->named.n ? f->named.p[id] : 0; i; i = f->p[i - 1].next)
    if (!strcmp(f->p[i - 1].domain, domain) && !strcmp(f->p[i - 1].overload, overload)) return &f->p[i - 1];
  return NULL;
}

Function *function_of(const Functions *f, const NodeProto *call) {
  if (!f->n) return NULL;
  return find(f, call->op_type, domain_text(f->c, call->domain), text_field(f->c, &call->base, NODE_OVERLOAD));
}

static void define(Functions *fs, uint32_t i, const Onnx__FunctionProto *p) {
  Ctx *c = fs->c;
  Function *f = &fs->p[i];
  *f = (Function){ .p = p, .name = pb_name(c, p->name), .domain = domain_text(c, p->domain),
                   .overload = text_field(c, &p->base, FUNCTION_OVERLOAD) };
  f->text = arena_printf(&c->model, "function '%.*s%s%.*s'", shown(f->domain), f->domain, *f->domain ? "." : "", shown(f->name),
                         f->name);
  f->imports = read_imports(c, p->n_opset_import, p->opset_import, f->text);
  read_defaults(fs, f);
  if (find(fs, f->name, f->domain, f->overload)) fail(c, EX_BADMODEL, "%s is defined twice", f->text);
  const uint32_t id = pb_intern(c, p->name);
  while (fs->named.n <= id) VEC_PUSH(&fs->named, 0);
  f->next = fs->named.p[id];
  fs->named.p[id] = i + 1;
}

/* ---- size of the model after inlining ---- */
void push_bodies(Bodies *to, const NodeProto *n) {
  for (size_t i = 0; i < n->n_attribute; i++) {
    const AttrProto *a = n->attribute[i];
    for (size_t j = 0; j < a->n_graphs + (a->g != NULL); j++) {
      const GraphProto *g = j < a->n_graphs ? a->graphs[j] : a->g;
      VEC_PUSH(to, ((Body){ g->node, g->n_node, g, false }));
    }
  }
}

static void walk(Functions *f, NodeProto **nodes, size_t n) {
  f->bodies.n = 0;
  VEC_PUSH(&f->bodies, ((Body){ nodes, n, NULL, false }));
}

static bool next_body(Functions *f, Body *b) {
  if (!f->bodies.n) return false;
  *b = f->bodies.p[--f->bodies.n];
  for (size_t i = 0; i < b->n; i++) push_bodies(&f->bodies, b->nodes[i]);
  return true;
}

static void add(int64_t *to, int64_t n) {
  if (!i64_add(*to, n, to)) *to = INT64_MAX;
}

Size inlined_size(Functions *f, NodeProto **nodes, size_t n) {
  Size size = { 0 };
  for (size_t i = 0; i < n; i++) {
    const Function *call = function_of(f, nodes[i]);
    add(&size.flat, call ? call->size.flat : 1);
  }
  walk(f, nodes, n);
  for (Body b; next_body(f, &b);) {
    for (size_t i = 0; i < b.n; i++) {
      const Function *call = function_of(f, b.nodes[i]);
      add(&size.total, call ? call->size.total : 1);
      if (call && call->size.depth > size.depth) size.depth = call->size.depth;
    }
  }
  return size;
}

/* Size of a call: the function's nodes, plus an Identity for each output that is an input. */
static Size call_size(Functions *fs, const Onnx__FunctionProto *p) {
  Size size = inlined_size(fs, p->node, p->n_node);
  for (size_t k = 0; k < p->n_output; k++)
    for (size_t j = 0; j < p->n_input; j++) {
      if (strcmp(p->output[k], p->input[j])) continue;
      add(&size.flat, 1);
      add(&size.total, 1);
    }
  size.depth++;
  return size;
}

/* Lists the functions that each function calls, in the form of order_by_need. list NULL: only counts. Returns their number. */
static uint32_t list_calls(Functions *fs, uint32_t *start, uint32_t *list) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < fs->n; i++) {
    start[i] = n;
    walk(fs, fs->p[i].p->node, fs->p[i].p->n_node);
    for (Body b; next_body(fs, &b);)
      for (size_t j = 0; j < b.n; j++) {
        const Function *call = function_of(fs, b.nodes[j]);
        if (call && list) list[n] = (uint32_t)(call - fs->p);
        n += call != NULL;
      }
  }
  start[fs->n] = n;
  return n;
}

static _Noreturn void fail_recursion(const Functions *fs, const uint32_t *cycle, uint32_t n) {
  Sb s = { 0 };
  for (uint32_t i = 0; i <= n && i < CYCLE_SHOWN; i++) sb_printf(&s, "%s%s", i ? " -> " : "", fs->p[cycle[i % n]].name);
  const char *text = arena_str(&fs->c->model, s.p, s.n);
  sb_free(&s);
  fail(fs->c, EX_BADMODEL, "functions call each other in a cycle: %.500s%s", text, n >= CYCLE_SHOWN ? " ..." : "");
}

static void check_calls(Functions *fs) {
  const Limits *most = &fs->c->limits;
  uint32_t *start = ARENA_NEW(fs->scratch, uint32_t, fs->n + 1), *order = ARENA_NEW(fs->scratch, uint32_t, fs->n);
  uint32_t *calls = ARENA_NEW(fs->scratch, uint32_t, list_calls(fs, start, NULL));
  list_calls(fs, start, calls);
  const uint32_t cycle = order_by_need(fs->scratch, fs->n, start, calls, order);
  if (cycle) fail_recursion(fs, order, cycle);
  for (uint32_t i = 0; i < fs->n; i++) {
    Function *f = &fs->p[order[i]];
    f->size = call_size(fs, f->p);
    if (f->size.depth > most->nesting)
      fail(fs->c, EX_BADMODEL, "%s nests calls deeper than %lld (--max-nesting)", f->text, (long long)most->nesting);
  }
}

void functions_read(Functions *f, const Onnx__ModelProto *model) {
  const int64_t most = f->c->limits.nodes;
  f->p = ARENA_NEW(f->scratch, Function, model->n_functions);
  for (; f->n < model->n_functions; f->n++) define(f, f->n, model->functions[f->n]);
  check_calls(f);
  if (inlined_size(f, model->graph->node, model->graph->n_node).total > most)
    fail(f->c, EX_BADMODEL, "the model has more than %lld nodes after inlining (--max-nodes)", (long long)most);
}

void functions_free(Functions *f) {
  VEC_FREE(&f->named);
  VEC_FREE(&f->bodies);
}

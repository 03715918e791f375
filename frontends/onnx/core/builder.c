/* SPDX-License-Identifier: MIT */
/* builder.c: builds a Graph from the records of a model. It walks over the nodes in order: it finds the row of optable.h,
 * checks the node against it, and calls the row's builder. Before building, it reports everything that the table cannot build,
 * so that the user sees the whole list.
 *
 * Shapes are static, so sub-graphs that compute shapes are constant. Shape gives a constant. Small integer results that depend
 * on no input of the graph are evaluated at once; const_tensor evaluates others when a builder asks. The table of operators is
 * passed in by onnx.c, since builders call back into this file for bodies and for other operators. */
#include "../../common/compose.h"
#include "../../common/open_dims.h"
#include "build.h"
#include <stdlib.h>
#include <string.h>

/* ---- finding rows: the table is sorted by name ---- */
static int row_compare(const void *key, const void *row) { return strcmp(key, ((const OpRow *)row)->name); }

static const OpRow *row_find(const OpTable *t, const char *domain, const char *op, int64_t opset) {
  const OpRow *hit = bsearch(op, t->rows, t->n, sizeof *t->rows, row_compare);
  if (!hit) return NULL;
  while (hit > t->rows && !strcmp(hit[-1].name, op)) hit--;
  for (; hit < t->rows + t->n && !strcmp(hit->name, op); hit++)
    if (!strcmp(hit->domain, domain) && opset >= hit->since && opset <= hit->until) return hit;
  return NULL;
}

static bool name_known(const OpTable *t, const char *domain, const char *op) {
  for (int v = 1; v <= OPSET_NOW; v++)
    if (row_find(t, domain, op, v)) return true;
  return false;
}

/* ---- nodes that the table cannot build: all are reported at once ---- */
static void describe_value(const OnnxModel *m, OnnxId id, Sb *s) {
  if (!id) {
    sb_puts(s, "none");
    return;
  }
  const OnnxValue *v = &m->values.p[id];
  const int elem = !v->init ? v->type.elem : v->init->narrow ? v->init->narrow : dtype_info[v->init->dt].onnx;
  const char *type = elem ? onnx_type_name(elem) : NULL;
  int rank = v->init ? v->init->rank : v->type.kind == ON_TENSOR ? v->type.rank : -1;
  sb_printf(s, "%s", type ? type : "unknown type");
  for (int i = 0; i < rank; i++) {
    int64_t d = v->init ? v->init->dims[i] : v->type.dims[i].value;
    sb_puts(s, i ? "," : "[");
    if (d >= 0) sb_printf(s, "%lld", (long long)d);
    else sb_puts(s, !v->init && v->type.dims[i].param ? v->type.dims[i].param : "?");
  }
  if (rank > 0) sb_puts(s, "]");
  if (!rank) sb_puts(s, "[]");
}

static const char *why_refused(const OpTable *t, const OnnxNode *n) {
  for (const OpForm *f = t->refused; f < t->refused + t->nrefused; f++)
    if (!strcmp(f->domain, n->domain) && !strcmp(f->name, n->op)) return f->why;
  return NULL;
}

static void report_unsupported(Ctx *c, const OpTable *t, const OnnxModel *m, const OnnxNode *n) {
  Sb in = { 0 };
  for (uint32_t i = 0; i < n->nin && i < 8; i++) {
    if (i) sb_puts(&in, ", ");
    describe_value(m, n->in[i], &in);
  }
  if (n->nin > 8) sb_puts(&in, ", ...");
  const char *inputs = n->nin ? in.p : "none", *domain = *n->domain ? n->domain : "ai.onnx";
  if (!n->opset) error_at(c, onnx_pos(n), "domain '%s' is not imported; add it to the model's opset_import", domain);
  else if (!*n->domain && n->opset > OPSET_NOW)
    error_at(c, onnx_pos(n), "opset %lld is newer than %d, the newest that tgc knows; export the model with an older opset",
             (long long)n->opset, OPSET_NOW);
  else if (name_known(t, n->domain, n->op))
    error_at(c, onnx_pos(n), "operator '%s' is not supported in opset %lld; inputs: %s", n->op, (long long)n->opset, inputs);
  else if (why_refused(t, n))
    error_at(c, onnx_pos(n),
             "operator '%s' of '%s' is not supported: %s; --result NAME can end the model at a value before it; inputs: %s",
             n->op, domain, why_refused(t, n), inputs);
  else error_at(c, onnx_pos(n), "operator '%s' of '%s' is not supported; inputs: %s", n->op, domain, inputs);
  sb_free(&in);
}

/* Bodies are checked too, except those of If, which may hold a branch that never runs. */
static void report_graph(Ctx *c, const OpTable *t, const OnnxModel *m, const OnnxGraph *g) {
  for (uint32_t i = 0; i < g->nnodes; i++) {
    const OnnxNode *n = &g->nodes[i];
    if (!row_find(t, n->domain, n->op, n->opset)) report_unsupported(c, t, m, n);
    for (uint32_t a = 0; a < n->nattr && strcmp(n->op, "If"); a++)
      if (n->attr[a].kind == AT_GRAPH) report_graph(c, t, m, n->attr[a].u.graphs[0]);
  }
}

static void check_supported(Ctx *c, const OpTable *t, const OnnxModel *m) {
  report_graph(c, t, m, &m->graph);
  if (c->errors) fail_silent(c, EX_BADMODEL);
}

/* ---- attributes ---- */
static const char kind_letter[AT_COUNT] = {
  [AT_FLOAT] = 'f',  [AT_INT] = 'i',  [AT_STRING] = 's',  [AT_TENSOR] = 't',    [AT_GRAPH] = 'g',
  [AT_FLOATS] = 'F', [AT_INTS] = 'I', [AT_STRINGS] = 'S', [AT_TYPE_PROTO] = 'y'
};

static const char *kind_of_letter(char letter) {
  for (int k = 0; k < AT_COUNT; k++)
    if (kind_letter[k] == letter) return onnx_attr_kind_name[k];
  BUG("no kind of attributes has the letter %c", letter);
}

static void attr_take(Build *b, AttrVal *v, const OnnxAttr *a) {
  if (kind_letter[a->kind] != v->kind)
    bad(b, "attribute '%s' is a %s, expected a %s", a->name, onnx_attr_kind_name[a->kind], kind_of_letter(v->kind));
  v->set = true;
  v->n = a->n;
  switch (a->kind) {
  case AT_INT: v->i = a->u.ints[0]; break;
  case AT_FLOAT: v->f = (double)a->u.floats[0]; break;
  case AT_STRING: v->s = (const char *)a->u.strings[0].p; break;
  case AT_TENSOR: v->tensor = a->u.tensors; break;
  case AT_INTS: v->ints = a->u.ints; break;
  case AT_FLOATS: v->floats = a->u.floats; break;
  case AT_GRAPH: v->graph = a->u.graphs[0]; break;
  case AT_STRINGS: v->strings = a->u.strings; break;
  default: break;
  }
}

static void range_check(Build *b, const AttrVal *v, int64_t least) {
  const int64_t *p = v->kind == 'I' ? v->ints : &v->i;
  for (size_t i = 0; i < (v->kind == 'I' ? v->n : 1); i++)
    if (p[i] < least)
      bad(b, "attribute '%.*s' is %lld, expected at least %lld", (int)v->len, v->name, (long long)p[i], (long long)least);
}

/* Reads the node's attributes and checks each against its word in the row. An adapter may have left values in b->attr: they are
 * kept where name and kind are equal. */
static void read_attrs(Build *b) {
  AttrVal old[MAX_ATTRS];
  int nold = b->nattr;
  memcpy(old, b->attr, sizeof old);
  b->nattr = 0;
  for (const char *p = b->row->attrs; *p;) {
    CHECK(b->nattr < MAX_ATTRS);
    AttrVal *v = &b->attr[b->nattr++];
    size_t len = strcspn(p, ":");
    *v = (AttrVal){ .name = p, .len = len, .kind = p[len + 1] };
    for (int i = 0; i < nold; i++)
      if (old[i].len == len && !memcmp(old[i].name, p, len) && old[i].kind == v->kind) {
        *v = old[i];
        v->name = p;
      }
    for (uint32_t i = 0; nold < 0 && i < b->n->nattr; i++)
      if (word_is(p, len, b->n->attr[i].name)) attr_take(b, v, &b->n->attr[i]);
    p += len + 2;
    if (*p == '>') {
      char *end;
      int64_t least = strtoll(p + 2, &end, 10);
      if (v->set) range_check(b, v, least);
      p = end;
    }
    if (*p == '{') {
      bool found = !v->set;
      const char *all = p + 1;
      size_t all_len = strcspn(all, "}");
      for (const char *w = all; w < all + all_len && !found; w += strcspn(w, "|}") + 1)
        found = word_is(w, strcspn(w, "|}"), v->s);
      if (!found) bad(b, "attribute '%.*s' is '%s', expected one of %.*s", (int)len, v->name, v->s, (int)all_len, all);
      p = all + all_len + 1;
    }
    if (*p == '!') {
      if (!v->set) bad(b, "attribute '%.*s' is missing", (int)len, v->name);
      p++;
    } else if (*p == '=') {
      size_t n = strcspn(++p, " ");
      if (!v->set) {
        v->set = true;
        if (v->kind == 'i') v->i = strtoll(p, NULL, 10);
        else if (v->kind == 'f') v->f = (double)strtof(p, NULL);
        else v->s = arena_str(&b->c->model, p, n);
      }
      p += n;
    }
    p += strspn(p, " ");
  }
}

static void check_attr_names(Build *b) {
  for (uint32_t i = 0; i < b->n->nattr; i++) {
    bool known = false;
    for (int k = 0; k < b->nattr; k++) known |= word_is(b->attr[k].name, b->attr[k].len, b->n->attr[i].name);
    if (!known) bad(b, "the operator has no attribute '%s' in this opset", b->n->attr[i].name);
  }
}

/* ---- one node ---- */
static Ref value_ref(Build *b, OnnxId id) {
  if (!id || b->value[id]) return b->value[id];
  const Tensor *t = b->m->values.p[id].init;
  if (!t) bad(b, "'%s' has no value", b->m->values.p[id].name);
  if (t->rank > USER_RANK + (t->narrow == ONNX_STRING))
    bad(b, "'%s' has %d dimensions; in an ONNX model tgc supports at most %d", b->m->values.p[id].name, t->rank, USER_RANK);
  b->narrow[id] = t->narrow;
  return b->value[id] = g_weight(b->ir, ir_tensor(b->ir, t));
}

static bool type_fits(char letter, DType d) {
  switch (letter) {
  case 'b': return d == DT_BOOL;
  case 'u': return d == DT_U8;
  case 'i': return dt_int(d);
  case 'f':
  case 'w': return dt_float(d);
  case 'n': return dt_float(d) || dt_int(d);
  default: return true;
  }
}

static const char *input_type(const Build *b, int k) {
  return in_narrow(b, k) ? onnx_type_name(in_narrow(b, k)) : dtype_info[in_dt(b, k)].text;
}

static const char *input_name(const Build *b, int k) { return b->m->values.p[b->n->in[k]].name; }

/* Checks the types of the inputs against the row's letters. Where letter w widens inputs, returns the type to which results are
 * rounded; else DT_NONE. */
static DType check_types(Build *b) {
  static const char *const words[] = {
    ['b'] = "bool", ['u'] = "u8", ['i'] = "an integer type", ['f'] = "a float type", ['w'] = "a float type", ['n'] = "a number"
  };
  const char *letter = b->row->types;
  /* type: type of the previous input, whose number is `before` */
  DType first = b->nin && b->in[0] && !is_list(b->in[0]) ? in_dt(b, 0) : DT_NONE, type = DT_NONE;
  int before = 0;
  for (int k = 0; k < b->nin; k++) {
    if (!b->in[k] && (k < b->row->in_min || b->row->in_max == ANY)) bad(b, "input %d is required, but omitted", k);
    const bool sequence = is_list(b->in[k]);
    if (sequence ? *letter != 's' && *letter != 'q' : *letter == 's' && b->in[k])
      bad(b, "input %d, '%s', is %s", k, input_name(b, k),
          sequence ? "a sequence, or an optional without an element, expected a tensor" : "a tensor, expected a sequence");
    if (b->in[k] && !sequence) {
      DType d = in_dt(b, k), same = *letter == '=' ? first : *letter == '^' ? type : DT_NONE;
      if (same && d != same)
        bad(b, "input %d, '%s', is %s, but input %d is %s", k, input_name(b, k), input_type(b, k), *letter == '=' ? 0 : before,
            input_type(b, *letter == '=' ? 0 : before));
      if (*letter == 'z' && in_narrow(b, k) != ONNX_STRING)
        bad(b, "input %d, '%s', is %s, expected string", k, input_name(b, k), dtype_info[d].text);
      if (!type_fits(*letter, d))
        bad(b, "input %d, '%s', is %s, expected %s", k, input_name(b, k), dtype_info[d].text, words[(int)*letter]);
      type = d;
      before = k;
    }
    if (letter[0] && letter[1]) letter++;
  }
  if (b->row->types[0] != 'w' || acc_type(first) == first) return DT_NONE;
  for (int k = 0; k < b->nin; k++) b->in[k] = b->in[k] ? g_cast(b->ir, b->in[k], acc_type(first)) : 0;
  return first;
}

static void check_count(Build *b, const char *what, int64_t n, int least, int most) {
  if (n < least || n > most)
    bad(b, "%lld %s, expected %s %d", (long long)n, what,
        least == most ? "exactly"
        : n < least   ? "at least"
                      : "at most",
        n < least ? least : most);
}

static bool is_aside(const Build *b, Ref r) { return r < b->folded->n && b->folded->p[r]; }

/* Arithmetic on positions. A concatenation of such, as for the grid of a detector, is kept, too; one of extents is a shape. */
static bool keeps_form(const Build *b, const Node *x) {
  bool aside = false;
  for (int k = 0; k < x->nsrc; k++) aside |= is_aside(b, x->src[k]);
  return op_info[x->op].level == L_EXPR || op_is_movement((Op)x->op) || (x->op == OP_CAT && aside);
}

/* A range of sizes keeps arithmetic on positions as it is written, since a table is right for one size only. Its value is noted,
 * because shapes may follow from it. */
static Ref folded_aside(Build *b, Ref r, Ref weight) {
  Folded *f = b->folded;
  if (r >= f->n) {
    const uint32_t n = b->ir->n * 2;
    Ref *p = ARENA_NEW(&b->c->model, Ref, n);
    memset(p, 0, n * sizeof *p);
    if (f->n) memcpy(p, f->p, f->n * sizeof *p);
    *f = (Folded){ p, n };
  }
  f->p[r] = weight;
  return r;
}

/* Evaluates shapes and the like at once, so that later users read a table instead of evaluating the sub-graph again. */
static Ref fold_small(Build *b, Ref r) {
  const Node *x = node(b->ir, r);
  Tensor t;
  if (dt_float(x->dt) || x->op == OP_WEIGHT || dims_elems(x->dims, x->rank) > FOLD_ELEMS || node_is_const(b->ir, r, NULL))
    return r;
  if (has_ragged(b, r)) return r; /* a constant would not tell which entries are valid */
  if (!const_tensor(b, r, &t)) return r;
  const Ref weight = g_weight(b->ir, ir_tensor(b->ir, &t));
  const bool many = t.elems > 1 || (t.elems && x->dt == DT_BOOL); /* one number has a formula, but a truth has none */
  return b->sized && keeps_form(b, x) && many ? folded_aside(b, r, weight) : weight;
}

void become(Build *b, const char *op) {
  b->row = row_find(b->ops, "", op, OPSET_NOW);
  CHECK(b->row);
  read_attrs(b);
}

void build_newest(Build *b) {
  become(b, b->row->name);
  b->row->build(b);
}

void apply_op_outs(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs, int nout, Ref *out) {
  Build inner = *b;
  inner.nin = nin;
  inner.nout = nout;
  inner.in = arena_dup(&b->c->model, in, (size_t)nin * sizeof *in);
  inner.out = out;
  inner.nattr = n;
  if (n) memcpy(inner.attr, attrs, (size_t)n * sizeof *attrs);
  become(&inner, op);
  inner.row->build(&inner);
}

Ref apply_op(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs) {
  Ref out;
  apply_op_outs(b, op, nin, in, n, attrs, 1, &out);
  return out;
}

static bool among(const BuildFn *fs, BuildFn f) {
  while (*fs && *fs != f) fs++;
  return *fs != NULL;
}

/* Intermediate values of a builder may be larger than its results, but their size in bytes must not overflow. */
static void check_made(Build *b, Ref from) {
  for (Ref r = from; r < b->ir->n; r++) {
    const Node *x = node(b->ir, r);
    if (dims_elems(x->dims, x->rank) > INT64_MAX / 16)
      bad(b, "needs a temporary value of shape %s, which is too large", dims_text(b, x->dims, x->rank));
  }
}

static bool takes_narrow(const Build *b, int type) {
  if (type == ONNX_STRING) return strings_move(b->row) || among(b->ops->take_strings, b->row->build);
  return among(b->ops->moves, b->row->build) || among(b->ops->take_narrow, b->row->build);
}

static void build_node(Build *b, const OnnxNode *n) {
  const Ref first = b->ir->n;
  b->n = n;
  b->ir->building = b->at = onnx_pos(n);
  b->row = row_find(b->ops, n->domain, n->op, n->opset);
  if (!b->row) {
    report_unsupported(b->c, b->ops, b->m, n);
    fail_silent(b->c, EX_BADMODEL);
  }
  b->ir->origin = ir_origin(b->ir, n->text, n->index);
  b->nin = (int)n->nin;
  b->nout = (int)n->nout;
  check_count(b, "inputs", n->nin, b->row->in_min, b->row->in_max);
  check_count(b, "outputs", n->nout, b->row->out_min, b->row->out_max);
  b->in = ARENA_NEW(&b->c->model, Ref, n->nin + 8); /* 8: adapters append at most this many inputs */
  b->out = ARENA_NEW(&b->c->model, Ref, n->nout + 1);
  for (int k = 0; k < b->nin; k++) {
    b->in[k] = value_ref(b, n->in[k]);
    if (in_narrow(b, k) && !takes_narrow(b, in_narrow(b, k)))
      bad(b, "input %d, '%s', is %s; only casts, and operators that move elements, support this type", k, input_name(b, k),
          onnx_type_name(in_narrow(b, k)));
  }
  DType narrow = check_types(b);
  b->nattr = -1; /* there are no attributes to keep */
  read_attrs(b);
  check_attr_names(b);
  b->result_narrow = among(b->ops->moves, b->row->build) ? in_narrow(b, 0) : 0;
  const bool moves_strings = build_strings(b);
  if (!moves_strings) b->row->build(b);
  check_made(b, first);
  for (int k = 0; k < b->nout; k++)
    if (n->out[k]) b->narrow[n->out[k]] = k && !moves_strings ? 0 : b->result_narrow;
  for (int k = 0; k < b->nout; k++) {
    if (!n->out[k]) continue;
    if (!b->out[k])
      bad(b, "output %d, '%s', is not supported; this operator's other outputs are", k, b->m->values.p[n->out[k]].name);
    if (is_list(b->out[k])) {
      b->value[n->out[k]] = b->out[k];
      continue;
    }
    if (narrow) b->out[k] = g_cast(b->ir, b->out[k], narrow);
    check_dims(b, node(b->ir, b->out[k])->rank, node(b->ir, b->out[k])->dims);
    b->value[n->out[k]] = fold_small(b, b->out[k]);
  }
}

void build_body(Build *b, const OnnxGraph *g, const Ref *in, Ref *out) {
  Build inner = *b;
  uint32_t origin = b->ir->origin;
  spend(b, 1 + (int64_t)g->nnodes);
  for (uint32_t i = 0; i < g->nin; i++) b->value[g->in[i]] = in[i];
  for (uint32_t i = 0; i < g->nnodes; i++) build_node(&inner, &g->nodes[i]);
  for (uint32_t i = 0; i < g->nout; i++) {
    out[i] = value_ref(b, g->out[i]);
    if (b->narrow[g->out[i]])
      bad(b, "result %u of its body is %s, which is not supported", i, onnx_type_name(b->narrow[g->out[i]]));
  }
  b->ir->origin = origin;
  b->ir->building = b->at;
}

/* ---- inputs ---- */
/* Looks up a dimension in the options. used[] marks the options that named a dimension. */
typedef struct DimLookup {
  const LoadOptions *o;
  bool *used;
  OpenDims open;       /* dimensions without a value */
  Names names;         /* names that --dim may set */
} DimLookup;

static bool dim_given(DimLookup *l, const char *name, int64_t *value) {
  for (int i = 0; l->o && i < l->o->ndims; i++)
    if (!strcmp(l->o->dims[i].name, name)) {
      *value = l->o->dims[i].value;
      return l->used[i] = true;
    }
  return false;
}

static bool part_given(Ctx *c, void *arg, const char *name, int64_t *value) {
  (void)c;
  return dim_given(arg, name, value);
}

/* Whether data was given whose shape has this axis of input `number`. */
static bool dim_of_data(Ctx *c, DimLookup *l, const char *input, uint32_t number, int axis, int64_t *value) {
  return dim_given(l, arena_printf(&c->model, "#%s:%d", input, axis), value) ||
         dim_given(l, arena_printf(&c->model, "#%u:%d", number, axis), value);
}

/* The same for any input with a dimension of that name. */
static bool dim_of_any_data(Build *b, DimLookup *l, const char *param, int64_t *value) {
  for (uint32_t i = 0; i < b->m->graph.nin; i++) {
    const OnnxValue *v = &b->m->values.p[b->m->graph.in[i]];
    for (int a = 0; a < v->type.rank; a++)
      if (v->type.dims[a].param && !strcmp(v->type.dims[a].param, param) && dim_of_data(b->c, l, v->name, i, a, value))
        return true;
  }
  return false;
}

static int64_t dim_value(Build *b, DimLookup *l, const char *input, uint32_t number, const OnnxDim *d, int axis, DType dt) {
  Ctx *c = b->c;
  int64_t value;
  char *name = arena_printf(&c->model, "%s:%d", input, axis);
  if (d->value < 0) names_add(c, &l->names, d->param && *d->param ? d->param : name);
  if (dim_given(l, name, &value)) return value;
  if (d->value >= 0) return d->value;
  if (d->param && (dim_given(l, d->param, &value) || dim_sum(c, d->param, part_given, l, &value))) return value;
  if (dim_of_data(c, l, input, number, axis, &value)) return value;
  if (d->param && dim_of_any_data(b, l, d->param, &value)) return value;
  if (d->negative)
    fail(c, EX_BADMODEL, "input '%s' has dimension %lld; if that means a dynamic dimension, set it with --dim %s=N", input,
         (long long)d->negative, name);
  if (dim_given(l, "all", &value)) return value;
  const bool named = d->param && *d->param;
  open_dims_add(c, &l->open, (Pos){ 0 }, named ? d->param : name, named, axis, dt);
  return 1;
}

/* A named dimension must have the same extent in all inputs. */
typedef struct NamedDim { const char *name, *input; int64_t value; } NamedDim;

static int by_name(const void *x, const void *y) {
  const NamedDim *a = x, *b = y;
  const int order = strcmp(a->name, b->name);
  return order ? order : (a->value > b->value) - (a->value < b->value);
}

static void check_named(Ctx *c, NamedDim *dims, size_t n) {
  if (n) qsort(dims, n, sizeof *dims, by_name);
  for (size_t i = 1; i < n; i++)
    if (!strcmp(dims[i - 1].name, dims[i].name) && dims[i - 1].value != dims[i].value)
      fail(c, EX_BADMODEL, "dimension '%s' is %lld in input '%s', but %lld in input '%s'", dims[i].name,
           (long long)dims[i - 1].value, dims[i - 1].input, (long long)dims[i].value, dims[i].input);
}

/* A name whose value is the length of a sequence, or says whether an optional has an element (lists.c) */
static bool is_list_input(const Build *b, const char *name) {
  for (size_t i = 1; i < b->m->values.n; i++)
    if (b->m->values.p[i].type.inside != ON_NOTYPE && !strcmp(b->m->values.p[i].name, name)) return true;
  return false;
}

/* Returns whether the model itself gives all extents of its inputs. */
static bool build_inputs(Build *b, Graph *g, const LoadOptions *o) {
  DimLookup l = { .o = o, .used = ARENA_NEW(&b->c->model, bool, o ? o->ndims + 1 : 1) };
  const OnnxGraph *og = &b->m->graph;
  bool fixed = true;
  int floats = 0;
  size_t nnamed = 0;
  VEC(GIO) all = { 0 }; /* with those that --const binds */
  for (uint32_t i = 0; i < og->nin; i++) nnamed += (size_t)clamp(b->m->values.p[og->in[i]].type.rank, 0, MAX_RANK);
  NamedDim *named = ARENA_NEW(&b->c->model, NamedDim, nnamed + 1);
  nnamed = 0;
  for (uint32_t i = 0; i < og->nin; i++) {
    const OnnxValue *v = &b->m->values.p[og->in[i]];
    if (v->type.kind != ON_TENSOR || v->type.rank < 0) fail(b->c, EX_BADMODEL, "input '%s' has no shape", v->name);
    if (v->type.rank > USER_RANK)
      fail(b->c, EX_BADMODEL, "input '%s' has rank %d, over the limit of %d", v->name, v->type.rank, USER_RANK);
    const SmallType *small = small_type(v->type.elem);
    const bool strings = v->type.elem == ONNX_STRING;
    GIO io = { .name = v->name,
               .dt = small ? small_bytes(small) : dtype_from_onnx(v->type.elem),
               .rank = v->type.rank,
               .narrow = small ? small->onnx : 0 };
    for (int a = 0; a < io.rank; a++) {
      io.dims[a] = dim_value(b, &l, v->name, i, &v->type.dims[a], a, io.dt);
      fixed &= io.dims[a] == v->type.dims[a].value;
      if (v->type.dims[a].value < 0 && v->type.dims[a].param)
        named[nnamed++] = (NamedDim){ v->type.dims[a].param, v->name, io.dims[a] };
      if (io.dims[a] < 0 || io.dims[a] > MAX_ELEMS)
        fail(b->c, EX_BADMODEL, "input '%s' has extent %lld, outside 0 to 2^40", v->name, (long long)io.dims[a]);
    }
    if (strings) io.dims[io.rank++] = o && o->string_bytes ? o->string_bytes : STRING_BYTES;
    if (dims_elems(io.dims, io.rank) > MAX_ELEMS) fail(b->c, EX_BADMODEL, "input '%s' has more than 2^40 elements", v->name);
    b->ir->origin = ir_origin(b->ir, arena_printf(&b->c->model, "input '%s'", v->name), 0);
    VEC_PUSH(&all, io);
    floats += dt_float(io.dt);
    const ConstInput *bound = const_find(o ? o->interface : NULL, v->name);
    if (bound) {
      const Tensor t = const_input(b->c, bound, &io);
      b->value[og->in[i]] = g_weight(b->ir, ir_tensor(b->ir, &t));
      continue;
    }
    io.ref = b->value[og->in[i]] = g_param(b->ir, io.dt, io.rank, io.dims, (int)g->inputs.n);
    if (small) {
      b->narrow[og->in[i]] = small->onnx;
      b->value[og->in[i]] = strings ? strings_ended(b, io.ref) : narrow_from_bytes(b, small, io.ref);
    }
    VEC_PUSH(&g->inputs, io);
  }
  if (!o || !o->any_dims) consts_check(b->c, o ? o->interface : NULL, all.p, all.n);
  VEC_FREE(&all);
  for (int i = 0; o && i < o->ndims && !o->any_dims; i++)
    if (!l.used[i] && *o->dims[i].name != '#' && strcmp(o->dims[i].name, "all") != 0 && !is_list_input(b, o->dims[i].name))
      fail(b->c, EX_USAGE_, "--dim %s: no input has a dynamic dimension of that name; there are%s%s",
           o->dims[i].name, names_text(b->c, &l.names), names_near(b->c, &l.names, o->dims[i].name));
  VEC_FREE(&l.names.p);
  check_named(b->c, named, nnamed);
  open_dims_settle(b->c, &l.open, floats, o ? o->command : NULL);
  VEC_FREE(&l.open.names.p);
  return fixed;
}

/* Compares what the model declares of a value with what its nodes give. Shapes are compared only if the model gives all extents
 * of its inputs. With other extents the exporter's shapes are out of date, and harmless. */
static void check_declared(Build *b, OnnxId id, bool shapes) {
  const OnnxValue *v = &b->m->values.p[id];
  const OnnxType *t = &v->type;
  const Ref r = b->value[id];
  const bool list = is_list(r) && !has_nothing(b, r), to_be = t->kind == ON_SEQUENCE && t->inside; /* ZipMap's are tables */
  if (r && !has_nothing(b, r) && (t->kind == ON_TENSOR ? list : to_be && !list))
    bad(b, "'%s' is declared as a %s, but it is a %s", v->name, list ? "tensor" : "sequence", list ? "sequence" : "tensor");
  if (t->kind != ON_TENSOR || !r || is_list(r)) return;
  const Node *x = node(b->ir, b->value[id]);
  const int elem = b->narrow[id];
  if (t->elem && (elem ? elem != t->elem : dtype_from_onnx(t->elem) != (DType)x->dt))
    bad(b, "'%s' is declared as %s, but it is %s", v->name, onnx_type_name(t->elem),
        onnx_type_name(elem ? elem : dtype_info[x->dt].onnx));
  const int rank = x->rank - (elem == ONNX_STRING);
  if (has_ragged(b, b->value[id])) shapes = false;
  bool fits = !shapes || t->rank < 0 || t->rank == rank;
  for (int a = 0; shapes && fits && a < t->rank; a++) fits = t->dims[a].value < 0 || t->dims[a].value == x->dims[a];
  if (fits) return;
  int64_t *dims = ARENA_NEW(&b->c->model, int64_t, t->rank + 1);
  for (int a = 0; a < t->rank; a++) dims[a] = t->dims[a].value;
  bad(b, "'%s' is declared with shape %s, but it has %s", v->name, dims_text(b, dims, t->rank), dims_text(b, x->dims, rank));
}

static void build_output(Build *b, Graph *g, OnnxId id, Ref r, const char *name) {
  GIO io = { .ref = checked_ragged(b, r), .name = name, .narrow = is_list(b->value[id]) ? 0 : b->narrow[id] };
  if (io.narrow) io.ref = narrow_to_bytes(b, small_type(io.narrow), io.ref);
  const Node *x = node(b->ir, io.ref);
  io.dt = (DType)x->dt;
  io.rank = x->rank;
  if (x->rank) memcpy(io.dims, x->dims, x->rank * sizeof *x->dims);
  VEC_PUSH(&g->outputs, io);
}

static void build_outputs(Build *b, Graph *g) {
  const OnnxGraph *og = &b->m->graph;
  b->at = (Pos){ 0 };
  for (uint32_t i = 0; i < og->nout; i++) {
    const Ref r = value_ref(b, og->out[i]);
    const char *name = b->m->values.p[og->out[i]].name;
    if (!is_list(r)) build_output(b, g, og->out[i], r, name);
    const List *l = is_list(r) ? &b->lists->p[r & ~LIST_TAG] : NULL;
    for (int64_t k = 0; l && k < l->n; k++)
      build_output(b, g, og->out[i], l->items->p[k], arena_printf(&b->c->model, "%s.%lld", name, (long long)k));
  }
}

/* For each table of a ZipMap among the outputs, an output with the labels of its columns */
static void build_keys(Build *b, Graph *g) {
  const size_t n = g->outputs.n;
  for (size_t i = 0; i < b->keys->n; i++) {
    const Keys *k = &b->keys->p[i];
    const Node *x = node(b->ir, k->r);
    GIO io = { .ref = k->r, .name = k->name, .dt = DT_U8, .rank = x->rank, .narrow = ONNX_STRING };
    memcpy(io.dims, x->dims, x->rank * sizeof *x->dims);
    if (graph_find(g->outputs.p, n, k->table)) VEC_PUSH(&g->outputs, io);
  }
}

/* For each result of --capacity, an output with its number of valid rows */
static void build_counts(Build *b, Graph *g) {
  for (size_t i = 0; i < b->ragged->n; i++) {
    const Count *k = &b->ragged->counts[i];
    const Ref count = g_binary(b->ir, OP_MIN, k->total, integer(b, k->room));
    VEC_PUSH(&g->outputs, ((GIO){ .ref = count, .name = arena_printf(&b->c->model, "%s.count", k->name), .dt = DT_I64 }));
  }
}

static Ref either(Build *b, Ref x, Ref y) { return x ? g_binary(b->ir, OP_OR, x, y) : y; }

/* A further output for the status of a run: a bool if only indices may be out of range; a number if results may have too many
 * rows */
static void build_guard(Build *b, Graph *g) {
  IR *ir = b->ir;
  Ref any = 0, more = b->ragged->over;
  for (size_t i = 0; b->wrong && i < b->wrong->n; i++) any = either(b, any, b->wrong->p[i]);
  for (size_t i = 0; i < b->ragged->n; i++)
    if (node(ir, b->ragged->counts[i].total)->vmax > b->ragged->counts[i].room)
      more = either(b, more, g_binary(ir, OP_CMPLT, integer(b, b->ragged->counts[i].room), b->ragged->counts[i].total));
  if (more) {
    more = g_cast(ir, more, DT_U8);
    more = add(b, more, more);
    any = any ? add(b, g_cast(ir, any, DT_U8), more) : more;
  }
  if (!any) return;
  VEC_PUSH(&g->outputs, ((GIO){ .ref = any, .name = "status", .dt = (DType)node(ir, any)->dt }));
  if (!more) g->outputs.p[g->outputs.n - 1].name = "index out of range";
  g->guarded = true;
}

Graph *build_graph(Ctx *c, const OpTable *ops, OnnxModel *m, const LoadOptions *o) {
  check_supported(c, ops, m);
  Graph *g = ARENA_NEW(&c->model, Graph, 1);
  g->ir = ir_new(c);
  g->name = m->graph.name;
  int64_t unrolled = 0;
  bool beyond = false;
  Notes wrong = { 0 };
  Lists lists = { 0 };
  KeyList keys = { 0 };
  Folded folded = { 0 };
  Ragged ragged = { .wanted = o ? o->capacity : 0 };
  ragged.most = ragged.wanted == 1 ? 2 : ragged.wanted;
  Build b = { .c = c,
              .ops = ops,
              .ir = g->ir,
              .m = m,
              .lists = &lists,
              .keys = &keys,
              .folded = &folded,
              .ragged = &ragged,
              .unrolled = &unrolled,
              .beyond = &beyond,
              .wrong = o && o->unguarded ? NULL : &wrong,
              .sized = o && o->nranges,
              .forms = o ? o->forms : NULL,
              .value = ARENA_NEW(&c->model, Ref, m->values.n),
              .narrow = ARENA_NEW(&c->model, int, m->values.n) };
  const ListInputs listed = lists_expand(&b, o);
  const bool fixed = build_inputs(&b, g, o) && !ragged.most;
  b.declared_count = fixed;
  lists_join(&b, &listed);
  for (uint32_t i = 0; i < m->graph.nnodes; i++) {
    const int64_t before = unrolled;
    const OnnxNode *n = &m->graph.nodes[i];
    b.made_from = g->ir->n;
    b.bytes_from = c->model.total;
    build_node(&b, n);
    if (unrolled != before) unrolled += nodes_made(&b);
    for (uint32_t k = 0; k < n->nout; k++)
      if (n->out[k]) check_declared(&b, n->out[k], fixed);
  }
  g->ir->building = (Pos){ 0 };
  build_outputs(&b, g);
  build_keys(&b, g);
  build_counts(&b, g);
  g->ir->origin = 0;
  build_guard(&b, g);
  return g;
}

/* SPDX-License-Identifier: MIT */
/* args.c: access to a node's attributes, which the driver has read, and to inputs that must be constant. */
#include "build.h"
#include "../../../compiler/interp/interp.h"

/* ---- attributes ---- */
AttrVal *attr_find(Build *b, const char *name) {
  for (int i = 0; i < b->nattr; i++)
    if (word_is(b->attr[i].name, b->attr[i].len, name)) return &b->attr[i];
  BUG("%s has no attribute '%s' in the table", b->row->name, name);
}

void set_string(Build *b, const char *name, const char *value) {
  AttrVal *a = attr_find(b, name);
  a->set = true;
  a->s = value;
}

static const AttrVal *attr_get(const Build *b, const char *name) { return attr_find((Build *)b, name); }
bool attr_set(const Build *b, const char *name) { return attr_get(b, name)->set; }
int64_t attr_int(const Build *b, const char *name) { return attr_get(b, name)->i; }
double attr_float(const Build *b, const char *name) { return attr_get(b, name)->f; }
bool attr_is(const Build *b, const char *name, const char *value) {
  const AttrVal *v = attr_get(b, name);
  return v->set && !strcmp(v->s, value);
}
const int64_t *attr_ints(const Build *b, const char *name, int *n) {
  const AttrVal *v = attr_get(b, name);
  *n = v->set ? (int)v->n : 0;
  return v->set ? v->ints : NULL;
}

/* ---- constants ---- */
int64_t tensor_int(const Tensor *t, int64_t i) {
  int64_t bits = tensor_bits(t, i);
  return dt_float(t->dt) ? double_to_bits(DT_I64, bits_to_double(t->dt, bits)) : bits;
}

double tensor_float(const Tensor *t, int64_t i) { return bits_to_double(t->dt, tensor_bits(t, i)); }

bool const_tensor(Build *b, Ref r, Tensor *t) {
  const Node *x = node(b->ir, r);
  int64_t bits;
  if (x->op == OP_WEIGHT) {
    *t = b->ir->tensors.p[weight_id(x)];
    return true;
  }
  if (node_is_const(b->ir, r, &bits)) {
    *t = (Tensor){ .dt = (DType)x->dt, .rank = x->rank, .elems = dims_elems(x->dims, x->rank), .splat = bits };
    if (x->rank) memcpy(t->dims, x->dims, x->rank * sizeof *x->dims);
    return true;
  }
  if (x->varies) return false;
  if (r < b->folded->n && b->folded->p[r]) return const_tensor(b, b->folded->p[r], t); /* a WEIGHT is at hand */
  if (!interp_const(b->ir, r, t))
    bad(b, "evaluating a constant exceeds the limits of constant folding; raise --max-fold or --max-fold-steps");
  return true;
}

const char *input_behind(const Build *b, Ref r) {
  for (;;) {
    const Node *x = node(b->ir, r);
    int k = 0;
    if (x->op == OP_PARAM) return b->m->values.p[b->m->graph.in[param_slot(x)]].name;
    while (k < x->nsrc && !node(b->ir, x->src[k])->varies) k++;
    if (k == x->nsrc) return "";
    r = x->src[k];
  }
}

static Tensor need_const(Build *b, int k, const char *name) {
  Tensor t;
  if (!const_tensor(b, b->in[k], &t))
    bad(b,
        "input '%s' must be constant, but it depends on input '%s' of the graph; replace '%s' by a constant, "
        "or end the model before this node with --result NAME",
        name, input_behind(b, b->in[k]), name);
  return t;
}

static Tensor short_list(Build *b, int k, const char *name) {
  Tensor t = need_const(b, k, name);
  if (t.elems > FOLD_ELEMS * 16)
    bad(b, "input '%s' has %lld elements, expected at most %d", name, (long long)t.elems, FOLD_ELEMS * 16);
  return t;
}

const int64_t *const_ints(Build *b, int k, const char *name, int *n) {
  Tensor t = short_list(b, k, name);
  int64_t *v = ARENA_NEW(&b->c->model, int64_t, t.elems + 1);
  for (int64_t i = 0; i < t.elems; i++) v[i] = tensor_int(&t, i);
  *n = (int)t.elems;
  return v;
}

const double *const_floats(Build *b, int k, const char *name, int *n) {
  Tensor t = short_list(b, k, name);
  double *v = ARENA_NEW(&b->c->model, double, t.elems + 1);
  for (int64_t i = 0; i < t.elems; i++) v[i] = tensor_float(&t, i);
  *n = (int)t.elems;
  return v;
}

int axis_of(Build *b, int64_t axis, int rank) {
  if (axis < -(int64_t)rank || axis >= rank) bad(b, "axis %lld is outside a tensor of rank %d", (long long)axis, rank);
  return (int)(axis < 0 ? axis + rank : axis);
}

uint32_t axes_of(Build *b, const int64_t *axes, int n, int rank) {
  uint32_t mask = 0;
  for (int i = 0; i < n; i++) {
    uint32_t bit = 1u << axis_of(b, axes[i], rank);
    if (mask & bit) bad(b, "axis %lld is named twice", (long long)axes[i]);
    mask |= bit;
  }
  return mask;
}

/* ---- inputs ---- */
Ref scalar_in(Build *b, int k) {
  const Node *x = in_node(b, k);
  if (dims_elems(x->dims, x->rank) != 1)
    bad(b, "input %d has %lld elements, expected one", k, (long long)dims_elems(x->dims, x->rank));
  return g_reshape(b->ir, b->in[k], 0, NULL);
}

int in_narrow(const Build *b, int k) { return has_in(b, k) && k < (int)b->n->nin ? b->narrow[b->n->in[k]] : 0; }

bool form_differs(Build *b, int64_t number) {
  FormNumbers *f = b->forms;
  if (!f) return false;
  if (f->at == f->all.n) VEC_PUSH(&f->all, ((FormNumber){ number, number, false }));
  FormNumber *had = &f->all.p[f->at++];
  had->open |= had->number != number;
  if (number > had->most) had->most = number;
  return had->open;
}

bool form_of_branches(Build *b, bool condition) {
  FormNumbers *f = b->forms;
  const bool had = f && f->at < f->all.n && f->all.p[f->at].open, differs = form_differs(b, condition);
  if (differs && !had) f->all.n = f->at, f->again = true;
  return differs;
}

int64_t form_most(Build *b, int64_t number) {
  return form_differs(b, number) ? b->forms->all.p[b->forms->at - 1].most : number;
}

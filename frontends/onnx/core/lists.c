/* SPDX-License-Identifier: MIT */
/* lists.c: sequences and optionals: lists of values, and inputs of a model. Their lengths are known when compiling, as those of
 * all sequences are, and so are the shapes of their tensors, which may differ. So each tensor becomes an input of its own: the
 * third tensor of `x` is `x.2`. An optional has one tensor, with its own name, or none.
 *
 * * The length of `x` is the value of `x` among the options' dimensions (--dim x=3), or of "#list:x" or "#list:J", which data
 * give; J is its number among the inputs. If the model gives no shape for the tensors, a tensor has as many axes as have
 * values. */
#include "build.h"

enum { MOST_TENSORS = 4096 };
enum { COPIES_A_NODE = 16 }; /* entries of lists that count as one node for --max-unroll */

bool has_nothing(const Build *b, Ref r) { return is_list(r) && b->lists->p[r & ~LIST_TAG].n == NOTHING; }

Ref list_ref(Build *b, Items *items, int64_t n) {
  Lists *all = b->lists;
  all->p = grown(b, all->p, all->n, sizeof *all->p);
  all->p[all->n] = (List){ items, n };
  return (Ref)all->n++ | LIST_TAG;
}

void list_push(Build *b, Items *items, Ref r) {
  items->p = grown(b, items->p, (size_t)items->n, sizeof r);
  items->p[items->n++] = r;
}

Ref nothing(Build *b) { return list_ref(b, NULL, NOTHING); }

Ref new_list(Build *b, int64_t n, const Ref *r) {
  Items *items = ARENA_NEW(&b->c->model, Items, 1);
  spend(b, n / COPIES_A_NODE);
  for (int64_t i = 0; i < n; i++) list_push(b, items, r[i]);
  return list_ref(b, items, n);
}

/* ---- inputs ---- */

static bool given(const LoadOptions *o, const char *name, int64_t *value) {
  for (int i = 0; o && i < o->ndims; i++)
    if (!strcmp(o->dims[i].name, name)) return *value = o->dims[i].value, true;
  return false;
}

static int64_t length_of(Build *b, const LoadOptions *o, const OnnxValue *v, uint32_t number) {
  Arena *m = &b->c->model;
  int64_t n = 1;
  if (!given(o, v->name, &n) && !given(o, arena_printf(m, "#list:%s", v->name), &n) &&
      !given(o, arena_printf(m, "#list:%u", number), &n) && v->type.inside == ON_TENSOR && v->type.kind == ON_SEQUENCE)
    fail(b->c, EX_BADMODEL, "input '%s' is a sequence of unknown length; give it with --dim %s=N, or data with --data", v->name,
         v->name);
  if (n > MOST_TENSORS)
    fail(b->c, EX_BADMODEL, "input '%s' has %lld tensors, over the limit of %d", v->name, (long long)n, MOST_TENSORS);
  return n;
}

/* As many axes as the options name, all without a size so far */
static OnnxType open_type(Build *b, const LoadOptions *o, const OnnxType *t, const char *name, uint32_t number) {
  OnnxDim *dims = ARENA_NEW(&b->c->model, OnnxDim, MAX_RANK);
  OnnxType r = { .kind = ON_TENSOR, .elem = t->elem, .dims = dims };
  int64_t v;
  while (r.rank < USER_RANK && (given(o, arena_printf(&b->c->model, "%s:%d", name, r.rank), &v) ||
                                given(o, arena_printf(&b->c->model, "#%s:%d", name, r.rank), &v) ||
                                given(o, arena_printf(&b->c->model, "#%u:%d", number, r.rank), &v)))
    dims[r.rank++].value = -1;
  return r;
}

/* Extents that the model names may differ between the tensors of a sequence. So each has a name of its own. */
static OnnxType element_type(Build *b, const OnnxType *t, bool alone) {
  OnnxDim *dims = ARENA_NEW(&b->c->model, OnnxDim, t->rank + 1);
  for (int a = 0; a < t->rank; a++) dims[a] = alone ? t->dims[a] : (OnnxDim){ .value = t->dims[a].value };
  return (OnnxType){ .kind = ON_TENSOR, .elem = t->elem, .rank = t->rank, .dims = dims };
}

static OnnxId new_element(Build *b, const LoadOptions *o, OnnxId id, int64_t k, uint32_t number) {
  const OnnxValue v = b->m->values.p[id];
  const bool alone = k < 0;
  const char *name = alone ? v.name : arena_printf(&b->c->model, "%s.%lld", v.name, (long long)k);
  OnnxValue e = { .name = name };
  e.type = v.type.rank < 0 ? open_type(b, o, &v.type, name, number) : element_type(b, &v.type, alone);
  VEC_PUSH(&b->m->values, e);
  return (OnnxId)b->m->values.n - 1;
}

ListInputs lists_expand(Build *b, const LoadOptions *o) {
  OnnxGraph *g = &b->m->graph;
  Arena *m = &b->c->model;
  ListInputs all = { .p = ARENA_NEW(m, ListInput, g->nin + 1) };
  VEC(OnnxId) in = { 0 };
  for (uint32_t i = 0; i < g->nin; i++) {
    const OnnxValue *v = &b->m->values.p[g->in[i]];
    if (v->type.inside == ON_NOTYPE) {
      VEC_PUSH(&in, g->in[i]);
      continue;
    }
    const bool alone = v->type.inside == ON_TENSOR && v->type.kind == ON_OPTIONAL;
    ListInput l = { .id = g->in[i], .n = length_of(b, o, v, i) };
    if (alone && l.n != 1) l.n = NOTHING;
    OnnxId *element = ARENA_NEW(m, OnnxId, l.n < 0 ? 1 : l.n + 1);
    for (int64_t k = 0; k < l.n; k++) {
      element[k] = new_element(b, o, l.id, alone ? -1 : k, (uint32_t)in.n);
      VEC_PUSH(&in, element[k]);
    }
    l.element = element;
    all.p[all.n++] = l;
  }
  if (!all.n) {
    VEC_FREE(&in);
    return all;
  }
  OnnxId *now = ARENA_NEW(m, OnnxId, in.n + 1);
  for (size_t i = 0; i < in.n; i++) now[i] = in.p[i];
  g->in = now;
  g->nin = (uint32_t)in.n;
  VEC_FREE(&in);
  b->value = ARENA_NEW(m, Ref, b->m->values.n);
  b->narrow = ARENA_NEW(m, int, b->m->values.n);
  return all;
}

void lists_join(Build *b, const ListInputs *l) {
  for (size_t i = 0; i < l->n; i++) {
    const ListInput *x = &l->p[i];
    const OnnxType *t = &b->m->values.p[x->id].type;
    Ref *r = ARENA_NEW(&b->c->model, Ref, x->n < 0 ? 1 : x->n + 1);
    for (int64_t k = 0; k < x->n; k++) {
      r[k] = b->value[x->element[k]];
      if (b->narrow[x->element[k]])
        fail(b->c, EX_BADMODEL, "input '%s' has tensors of %s in a sequence or optional, which is not supported",
             b->m->values.p[x->id].name, onnx_type_name(b->narrow[x->element[k]]));
    }
    const bool alone = t->kind == ON_OPTIONAL && t->inside == ON_TENSOR;
    b->value[x->id] = x->n < 0 ? nothing(b) : alone ? r[0] : new_list(b, x->n, r);
  }
}

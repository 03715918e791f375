/* SPDX-License-Identifier: MIT */
/* declared.c: inputs that decide a shape, where they are not constant. Many models declare the shape of the result all the same.
 * The result then has this shape, and the builder computes with what the shape implies. A run whose data ask for another shape
 * returns the status of an index out of range. Declared shapes do not count where the user has changed a size. */
#include "build.h"

bool is_known(Build *b, int k) {
  Tensor t;
  return const_tensor(b, b->in[k], &t);
}

const int64_t *declared_dims(Build *b, int out, int *rank) {
  if (!b->declared_count || !b->n->out[out]) return NULL;
  const OnnxType *t = &b->m->values.p[b->n->out[out]].type;
  bool known = t->kind == ON_TENSOR && t->rank >= 0 && t->rank <= USER_RANK;
  for (int i = 0; known && i < t->rank; i++) known = t->dims[i].value >= 0;
  if (!known) return NULL;
  int64_t *dims = ARENA_NEW(&b->c->model, int64_t, t->rank + 1);
  for (int i = 0; i < t->rank; i++) dims[i] = t->dims[i].value;
  *rank = t->rank;
  return dims;
}

const int64_t *implied_ints(Build *b, int k, const char *name, int *n, Wild wild, const int64_t *implied, int count) {
  IR *ir = b->ir;
  if (!implied || is_known(b, k)) return const_ints(b, k, name, n);
  const Node *x = in_node(b, k);
  if (dims_elems(x->dims, x->rank) != count)
    bad(b, "input '%s' has %lld elements, expected %d for the declared shape of the result", name,
        (long long)dims_elems(x->dims, x->rank), count);
  if (!b->wrong)
    bad(b, "input '%s' depends on input '%s' of the graph, so each run must check the declared shape; --no-index-status "
           "forbids this check",
        name, input_behind(b, b->in[k]));
  warn_at(b->c, b->at, "input '%s' depends on input '%s' of the graph; the result has the shape that the model declares", name,
          input_behind(b, b->in[k]));
  *n = count;
  if (!count) return implied;
  Ref given = g_cast(ir, g_reshape(ir, b->in[k], 1, (int64_t[]){ count }), DT_I64);
  Ref want = ints_ref(b, count, implied), wrong = g_binary(ir, OP_CMPNE, given, want);
  wrong = both(b, wrong, g_binary(ir, OP_CMPLE, integer(b, 0), want));
  Ref other = wild == WILD_LOW   ? g_binary(ir, OP_CMPLT, integer(b, 0), given)
              : wild == WILD_ONE ? g_binary(ir, OP_CMPNE, given, integer(b, 1))
                                 : 0;
  wrong_if(b, both(b, wrong, other));
  return implied;
}

const int64_t *shape_ints(Build *b, int k, const char *name, int *n, Wild wild) {
  int rank = 0;
  const int64_t *dims = is_known(b, k) ? NULL : declared_dims(b, 0, &rank);
  return implied_ints(b, k, name, n, wild, dims, rank);
}

const int64_t *extent_int(Build *b, int k, const char *name, int *n, int axis) {
  int rank = 0;
  const int64_t *dims = is_known(b, k) ? NULL : declared_dims(b, 0, &rank);
  return implied_ints(b, k, name, n, WILD_NONE, dims && axis < rank ? dims + axis : NULL, 1);
}

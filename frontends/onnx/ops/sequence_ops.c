/* SPDX-License-Identifier: MIT */
/* sequence_ops.c: operators on sequences and optionals. Length of a sequence and position in it are constant. So a sequence is
 * a list of values that builders pass on; a graph has no sequences. The same holds for optionals. */
#include "../core/build.h"

static const List *list(Build *b, int k) {
  if (has_nothing(b, b->in[k])) bad(b, "input %d is an optional without an element", k);
  return &b->lists->p[b->in[k] & ~LIST_TAG];
}

/* Input k, a position in a list of n; `last` without the input */
static int64_t place(Build *b, int k, int64_t n, int64_t last) {
  int count;
  int64_t at = has_in(b, k) ? *const_ints(b, k, "position", &count) : last;
  if (at < -n || at > last) bad(b, "position %lld is outside a sequence of length %lld", (long long)at, (long long)n);
  return at < 0 ? at + n : at;
}

void op_optional(Build *b) { b->out[0] = has_in(b, 0) ? b->in[0] : nothing(b); }
void op_optional_has(Build *b) { b->out[0] = c_int(b->ir, DT_BOOL, has_in(b, 0) && !has_nothing(b, b->in[0])); }

void op_optional_get(Build *b) {
  if (has_nothing(b, b->in[0])) bad(b, "the optional has no element");
  b->out[0] = b->in[0];
}

void op_sequence_empty(Build *b) { b->out[0] = new_list(b, 0, NULL); }
void op_sequence_construct(Build *b) { b->out[0] = new_list(b, b->nin, b->in); }
void op_sequence_length(Build *b) { b->out[0] = c_int(b->ir, DT_I64, list(b, 0)->n); }

void op_sequence_at(Build *b) {
  const List *l = list(b, 0);
  b->out[0] = l->items->p[place(b, 1, l->n, l->n - 1)];
}

/* Loops that collect results append to the newest list, which needs no copy. */
void op_sequence_insert(Build *b) {
  const List l = *list(b, 0);
  int64_t at = place(b, 2, l.n, l.n);
  if (at == l.n && l.n == l.items->n) {
    list_push(b, l.items, b->in[1]);
    b->out[0] = list_ref(b, l.items, l.n + 1);
    return;
  }
  Ref *all = ARENA_NEW(&b->c->model, Ref, l.n + 1);
  for (int64_t i = 0; i <= l.n; i++) all[i] = i < at ? l.items->p[i] : i == at ? b->in[1] : l.items->p[i - 1];
  b->out[0] = new_list(b, l.n + 1, all);
}

void op_sequence_erase(Build *b) {
  const List l = *list(b, 0);
  if (!l.n) bad(b, "the sequence is empty");
  int64_t at = place(b, 1, l.n, l.n - 1);
  if (at == l.n - 1) {
    b->out[0] = list_ref(b, l.items, at);
    return;
  }
  Ref *all = ARENA_NEW(&b->c->model, Ref, l.n);
  for (int64_t i = 0; i + 1 < l.n; i++) all[i] = l.items->p[i < at ? i : i + 1];
  b->out[0] = new_list(b, l.n - 1, all);
}

void op_split_to_sequence(Build *b) {
  const Node *x = in_node(b, 0);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank), count = 0;
  int64_t extent = x->dims[axis], at = 0, n = extent;
  const int64_t *split = has_in(b, 1) ? const_ints(b, 1, "split", &count) : NULL;
  bool each = split && !in_node(b, 1)->rank; /* parts of one size; the last may be smaller */
  if (each && split[0] < 1) bad(b, "input 'split' is %lld, expected at least 1", (long long)split[0]);
  if (split) n = each ? (extent + split[0] - 1) / split[0] : count;
  spend(b, n);
  Ref *part = ARENA_NEW(&b->c->model, Ref, n + 1);
  for (int64_t i = 0; i < n; i++) {
    int64_t size = !split ? 1 : each ? clamp(extent - at, 0, split[0]) : split[i];
    if (size < 0 || size > extent - at)
      bad(b, "part %lld has extent %lld, expected 0 to %lld, the rest of the axis", (long long)i, (long long)size,
          (long long)(extent - at));
    part[i] = shrink_axis(b->ir, b->in[0], axis, at, 1, size);
    if (!split && !attr_int(b, "keepdims")) part[i] = without_axes(b->ir, part[i], 1u << axis);
    at += size;
  }
  if (at != extent) bad(b, "the parts have %lld elements, but axis %d has %lld", (long long)at, axis, (long long)extent);
  b->out[0] = new_list(b, n, part);
}

void op_concat_from_sequence(Build *b) {
  const List *l = list(b, 0);
  if (!l->n) bad(b, "the sequence is empty");
  const Node *first = node(b->ir, l->items->p[0]);
  bool stacks = attr_int(b, "new_axis");
  int axis = axis_of(b, attr_int(b, "axis"), first->rank + stacks);
  Ref *part = ARENA_NEW(&b->c->model, Ref, l->n);
  for (int64_t i = 0; i < l->n; i++) {
    const Node *x = node(b->ir, l->items->p[i]);
    bool fits = x->rank == first->rank && x->dt == first->dt;
    for (int a = 0; fits && a < x->rank; a++) fits = (a == axis && !stacks) || x->dims[a] == first->dims[a];
    if (!fits) bad(b, "the tensors of the sequence differ in type or shape");
    int64_t dims[USER_RANK + 1];
    for (int a = 0; a <= x->rank; a++) dims[a] = a < axis ? x->dims[a] : a == axis ? 1 : x->dims[a - 1];
    part[i] = stacks ? g_reshape(b->ir, l->items->p[i], x->rank + 1, dims) : l->items->p[i];
  }
  b->out[0] = cat_all(b, l->n, part, axis);
}

/* Applies the body to each tensor of the first sequence, with the corresponding one of other sequences; tensor inputs are the
 * same for all */
void op_sequence_map(Build *b) {
  const OnnxGraph *g = attr_find(b, "body")->graph;
  int64_t n = list(b, 0)->n;
  if ((int)g->nin != b->nin || (int)g->nout != b->nout)
    bad(b, "attribute 'body' has %u inputs and %u outputs, expected %d and %d", g->nin, g->nout, b->nin, b->nout);
  Ref *in = ARENA_NEW(&b->c->model, Ref, b->nin), *out = ARENA_NEW(&b->c->model, Ref, b->nout + 1);
  Ref *all = ARENA_NEW(&b->c->model, Ref, n * b->nout + 1);
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < b->nin; k++) {
      if (is_list(b->in[k]) && list(b, k)->n != n)
        bad(b, "the sequences have %lld and %lld tensors", (long long)n, (long long)list(b, k)->n);
      in[k] = is_list(b->in[k]) ? list(b, k)->items->p[i] : b->in[k];
    }
    build_body(b, g, in, out);
    for (int k = 0; k < b->nout; k++) {
      if (is_list(out[k])) bad(b, "result %d of its body is a sequence, which is not supported", k);
      all[k * n + i] = out[k];
    }
  }
  for (int k = 0; k < b->nout; k++) b->out[k] = new_list(b, n, all + k * n);
}

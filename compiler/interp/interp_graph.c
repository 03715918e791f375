/* SPDX-License-Identifier: MIT */
/* interp_graph.c: evaluates graphs of tensors.
 *
 * A plan first chooses the nodes that get storage (eval_storage.c). Everything between them is a tree. A tape (tape.c) evaluates
 * it in blocks and never stores it, views of any size included. Reductions are in interp_reduce.c. A loop that may end early is
 * evaluated turn by turn.
 *
 * needs: a graph, tensors for its inputs    gives: tensors for its outputs    breaks: nothing */
#include "eval_items.h"
#include <stdlib.h>
#include <string.h>

/* ---- evaluating one stored node ---- */
/* Evaluates x over its shape and writes it to out in pieces of `piece` elements, which are `apart` elements apart */
static bool run_map(Eval *e, Ref r, bool root, const Value *out, int64_t first, int64_t piece, int64_t apart) {
  const Node *x = node(e->ir, r);
  Tape t;
  Affine at[MAX_RANK];
  tape_open(&t, x->rank, x->dims);
  tape_identity(&t, at);
  int a = tape_add(e, &t, r, at, root);
  tape_ready(&t, 0);
  Sweep all = tape_axes(&t, ~0u);
  int64_t n = tape_points(&t, &all);
  bool ok = eval_spend(e, n, tape_work(&t));
  for (int64_t s = 0; ok && s < n; s += BLOCK) {
    int block = n - s < BLOCK ? (int)(n - s) : BLOCK;
    tape_run(&t, 0, (int)t.ins.n, &all, s, block);
    for (int j = 0; j < block;) {
      int64_t row = (s + j) / piece, col = (s + j) % piece;
      int len = piece - col < block - j ? (int)(piece - col) : block - j;
      tape_store(out, first + row * apart + col, &t.reg[a], j, len);
      j += len;
    }
  }
  tape_close(&t);
  return ok;
}

static bool run_cat(Eval *e, const Node *x, const Value *out) {
  int64_t tail = dims_elems(x->dims + cat_axis(x) + 1, x->rank - (int)cat_axis(x) - 1), at = 0;
  for (int k = 0; k < x->nsrc; k++) {
    int64_t piece = node(e->ir, x->src[k])->dims[cat_axis(x)] * tail;
    if (!run_map(e, x->src[k], false, out, at, piece, x->dims[cat_axis(x)] * tail)) return false;
    at += piece;
  }
  return true;
}

/* ---- scatters ---- */
static int64_t bits_at(const Value *v, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)v->data + i * dt_bytes(v->dt), (size_t)dt_bytes(v->dt));
  return (int64_t)dt_wrap(v->dt, bits);
}

/* Evaluates r into memory of its own, which the caller frees; false: the budget is exceeded */
static bool run_alone(Eval *e, Ref r, Value *out) {
  const Node *x = node(e->ir, r);
  int64_t bytes;
  *out = (Value){ .dt = eval_type(e, (DType)x->dt), .elems = dims_elems(x->dims, x->rank) };
  if (!i64_mul(out->elems, dt_bytes(out->dt), &bytes) || bytes > e->bytes) return false;
  out->data = xmalloc((size_t)bytes);
  return run_map(e, r, false, out, 0, out->elems, 0);
}

static bool run_scatter(Eval *e, const Node *x, const Value *out) {
  const Node *u = node(e->ir, scatter_updates(x));
  const int axis = (int)scatter_axis(x);
  const int64_t extent = x->dims[axis], n = u->dims[axis], inner = dims_elems(x->dims + axis + 1, x->rank - axis - 1);
  Value index = { 0 }, updates = { 0 };
  bool ok = run_map(e, scatter_data(x), false, out, 0, out->elems, 0) && run_alone(e, scatter_index(x), &index) &&
            run_alone(e, scatter_updates(x), &updates);
  ok = ok && eval_spend(e, updates.elems, 2);
  for (int64_t k = 0; ok && k < updates.elems; k++) {
    const int64_t place = bits_at(&index, k), to = (k / inner / n * extent + place) * inner + k % inner;
    if (place < 0 || place >= extent) continue;
    int64_t v[2] = { bits_at(out, to), bits_at(&updates, k) };
    const int64_t now = scatter_op(x) ? interp_scalar(scatter_op(x), out->dt, out->dt, v) : v[1];
    /* the host is little-endian */
    memcpy((char *)(uintptr_t)out->data + to * dt_bytes(out->dt), &now, (size_t)dt_bytes(out->dt));
  }
  free((void *)(uintptr_t)index.data);
  free((void *)(uintptr_t)updates.data);
  return ok;
}

/* ---- walks ---- */
static double float_at(const Value *v, int64_t i) { return bits_to_double(v->dt, bits_at(v, i)); }

static bool run_walk(Eval *e, const Node *x, const Value *out) {
  enum { DATA, FEATURE, SPLIT, NEXT, START };
  const int64_t rows = x->dims[0], trees = x->dims[1], columns = node(e->ir, walk_data(x))->dims[1];
  int64_t each;
  Value v[5] = { { 0 } };
  bool ok = i64_mul(walk_steps(x), 5, &each) && eval_spend(e, out->elems, each);
  for (int k = 0; k < 5 && ok; k++) ok = run_alone(e, x->src[k], &v[k]);
  for (int64_t i = 0; ok && i < rows * trees; i++) {
    int64_t p = bits_at(&v[START], i % trees);
    for (int64_t s = 0; s < walk_steps(x); s++)
      p = bits_at(&v[NEXT], p) + (float_at(&v[DATA], i / trees * columns + bits_at(&v[FEATURE], p)) <= float_at(&v[SPLIT], p));
    memcpy((char *)(uintptr_t)out->data + i * 8, &p, sizeof p);
  }
  for (int k = 0; k < 5; k++) free((void *)(uintptr_t)v[k].data);
  return ok;
}

/* ---- dispatch ---- */
static bool compute(Eval *e, Item *it) {
  const Node *x = node(e->ir, it->ref);
  Value v = { .dt = eval_type(e, (DType)x->dt), .elems = dims_elems(x->dims, x->rank) };
  int64_t bytes;
  if (!i64_mul(v.elems, dt_bytes(v.dt), &bytes) || bytes > e->bytes) return false;
  void *data = xmalloc((size_t)bytes + 1);
  v.data = data;
  bool ok;
  if (!v.elems) ok = true;
  else if (x->op == OP_REDUCE) ok = eval_reduce(e, x, &v);
  else if (x->op == OP_CAT) ok = run_cat(e, x, &v);
  else if (x->op == OP_SCATTER) ok = run_scatter(e, x, &v);
  else if (x->op == OP_WALK) ok = run_walk(e, x, &v);
  else ok = run_map(e, it->ref, true, &v, 0, v.elems, 0);
  it->value = v;
  it->ready = true;
  return ok;
}

static void release(Item *it) {
  if (it->stored && it->ready) free((void *)(uintptr_t)it->value.data);
  it->ready = false;
}

/* The work of an item, roughly: the points that it visits */
static double points_of(const Eval *e, const Item *it) {
  const Node *x = node(e->ir, it->ref);
  const Node *over = x->op == OP_REDUCE ? node(e->ir, operand(x)) : x;
  return it->stored ? (double)dims_elems(over->dims, over->rank) : 0;
}

static bool eval_items(Eval *e) {
  double all = 0, done = 0;
  eval_storage(e);
  for (uint32_t i = 1; i < e->items.n; i++) {
    Item *it = &e->items.p[i];
    if (!it->stored || it->last == KEEP) continue;
    it->next_dead = e->items.p[it->last].dead;
    e->items.p[it->last].dead = i;
  }
  for (uint32_t i = 1; i < e->items.n && e->tells; i++) all += points_of(e, &e->items.p[i]);
  for (uint32_t i = 1; i < e->items.n; i++) {
    Item *it = &e->items.p[i];
    if (e->tells && all > 0) ctx_progress(e->ir->ctx, "", done / all);
    done += e->tells ? points_of(e, it) : 0;
    if (!it->stored) set_leaf(e, it);
    else if (!compute(e, it)) return false;
    for (uint32_t d = it->dead; d; d = e->items.p[d].next_dead) release(&e->items.p[d]);
  }
  return true;
}

/* v as a tensor of r's type and shape */
static Tensor result(const Eval *e, Ref r, const Value *v, Arena *a) {
  const Node *x = node(e->ir, r);
  Tensor t = { .dt = (DType)x->dt, .rank = x->rank, .elems = v->elems };
  if (x->rank) memcpy(t.dims, x->dims, x->rank * sizeof *t.dims);
  char *data = arena_alloc(a, size_mul((size_t)v->elems, (size_t)dt_bytes(t.dt)));
  t.data = data;
  if (!v->elems) return t;
  if (v->dt == t.dt && v->data) {
    memcpy(data, v->data, (size_t)v->elems * (size_t)dt_bytes(t.dt));
  } else {
    Value to = { .dt = t.dt, .elems = v->elems, .data = data };
    Reg one;
    for (int64_t i = 0; i < v->elems; i++) {
      if (v->data) one.f[0] = round_to_type(t.dt, ((const double *)v->data)[i]);
      else if (dt_float(t.dt)) one.f[0] = bits_to_double(v->dt, v->splat);
      else one.i[0] = v->splat;
      tape_store(&to, i, &one, 0, 1);
    }
  }
  return t;
}

static bool run(Eval *e, const Ref *outputs, int n, Arena *a, Tensor *results) {
  bool ok = true;
  VEC_PUSH(&e->items, ((Item){ 0 }));
  for (int i = 0; ok && i < n; i++) ok = reach(e, outputs[i]);
  for (int i = 0; ok && i < n; i++) {
    Item *it = item(e, outputs[i]);
    int op = node(e->ir, outputs[i])->op;
    it->stored = op != OP_PARAM && op != OP_WEIGHT && !given_value(e, outputs[i]);
    it->last = KEEP;
  }
  ok = ok && eval_items(e);
  for (int i = 0; ok && i < n; i++) results[i] = result(e, outputs[i], &item(e, outputs[i])->value, a);
  for (size_t i = 0; i < e->items.n; i++) release(&e->items.p[i]);
  VEC_FREE(&e->items);
  refmap_free(&e->item);
  e->item = (RefMap){ 0 };
  return ok;
}

/* ---- loops that may end early ---- */
static void give(Given *g, Ref r, const Tensor *t) {
  const Ref at = refmap_get(&g->at, r);
  if (at) g->value.p[at - 1] = *t;
  else {
    VEC_PUSH(&g->value, *t);
    refmap_set(&g->at, r, (Ref)g->value.n);
  }
}

/* The CARRIEDs of a loop, one for each of its yields; their initial values, then all else that its body reads from outside */
static void read_loop(const IR *ir, const Node *loop, Refs *carried, Refs *outside) {
  Refs all = { 0 };
  ir_toposort(ir, loop->src, loop->nsrc, &all);
  for (int k = 0; k < loop->nsrc; k++)
    for (size_t i = 0; i < all.n; i++) {
      const Node *x = node(ir, all.p[i]);
      if (x->op != OP_CARRIED || carried_loop(x) != iterate_loop(loop)) continue;
      if (carried_place(x) == yield_place(node(ir, loop->src[k]))) VEC_PUSH(carried, all.p[i]);
    }
  CHECK(carried->n == loop->nsrc);
  for (size_t k = 0; k < carried->n; k++) VEC_PUSH(outside, operand(node(ir, carried->p[k])));
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    for (int k = 0; k < x->nsrc && x->loop == iterate_loop(loop) + 1 && x->op != OP_CARRIED; k++)
      if (!node(ir, x->src[k])->loop && !is_leaf((Op)node(ir, x->src[k])->op)) VEC_PUSH(outside, x->src[k]);
  }
  VEC_FREE(&all);
}

/* Gives the results of a loop, whose values live in a. */
static bool run_early(Eval *e, Ref iterate, const Refs *order, Given *g, Arena *a) {
  IR *ir = e->ir;
  const Node *loop = node(ir, iterate);
  const int n = loop->nsrc;
  Refs carried = { 0 }, outside = { 0 }, next = { 0 };
  Arena turn[2] = { { 0 } };
  read_loop(ir, loop, &carried, &outside);
  Tensor *t = xmalloc((outside.n + (size_t)n + 1) * sizeof *t);
  bool ok = run(e, outside.p, (int)outside.n, a, t);
  for (size_t i = outside.n; ok && i-- > 0;) give(g, i < (size_t)n ? carried.p[i] : outside.p[i], &t[i]);
  for (int k = 0; k < n; k++) VEC_PUSH(&next, operand(node(ir, loop->src[k])));
  const size_t ends = (size_t)iterate_while(loop) - 1;
  for (int64_t i = 0; ok && i < iterate_trips(loop) && *(const bool *)t[ends].data; i++) {
    arena_free(&turn[i & 1]);
    ok = run(e, next.p, n, &turn[i & 1], t);
    for (int k = 0; ok && k < n; k++) give(g, carried.p[k], &t[k]);
  }
  for (size_t i = 0; ok && i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    if (x->op != OP_RESULT || operand(x) != iterate) continue;
    Tensor kept = t[result_at(x)];
    kept.data = arena_dup(a, kept.data, size_mul((size_t)kept.elems, (size_t)dt_bytes(kept.dt)));
    give(g, order->p[i], &kept);
  }
  for (int k = 0; k < 2; k++) arena_free(&turn[k]);
  free(t);
  VEC_FREE(&carried);
  VEC_FREE(&outside);
  VEC_FREE(&next);
  return ok;
}

static bool run_all(Eval *e, const Ref *outputs, int n, Arena *a, Tensor *results) {
  Refs order = { 0 };
  Given g = { 0 };
  bool ok = true;
  if (e->ir->loops) ir_toposort(e->ir, outputs, (size_t)n, &order);
  e->given = &g;
  for (size_t i = 0; i < order.n && ok; i++)
    if (node(e->ir, order.p[i])->op == OP_ITERATE) ok = run_early(e, order.p[i], &order, &g, a);
  ok = ok && run(e, outputs, n, a, results);
  refmap_free(&g.at);
  VEC_FREE(&g.value);
  VEC_FREE(&order);
  return ok;
}

bool interp_graph(IR *ir, const Ref *outputs, int n, const Tensor *const *inputs, Arena *a, bool with_double,
                  int64_t steps, Tensor *results) {
  Eval e = { .ir = ir, .inputs = inputs, .with_double = with_double, .steps = steps ? steps : INT64_MAX,
             .bytes = INT64_MAX, .tells = ir->ctx->progress != NULL };
  Ref *straight = xmalloc(((size_t)n + 1) * sizeof *straight);
  memcpy(straight, outputs, (size_t)n * sizeof *straight);
  ir_unroll(ir, straight, (size_t)n, INT64_MAX);
  ir_select(ir, straight, (size_t)n, NULL);
  const bool ok = run_all(&e, straight, n, a, results);
  free(straight);
  return ok;
}

/* Constants that need no evaluation: one value everywhere, or a stored tensor in another shape. */
static bool known_constant(IR *ir, Ref r, Tensor *out) {
  const Node *x = node(ir, r), *s = x;
  *out = (Tensor){ .dt = (DType)x->dt, .rank = x->rank, .elems = dims_elems(x->dims, x->rank) };
  if (x->rank) memcpy(out->dims, x->dims, x->rank * sizeof *out->dims);
  if (node_is_const(ir, r, &out->splat)) return out->elems < INT64_MAX;
  while (s->op == OP_RESHAPE) s = node(ir, operand(s));
  if (s->op != OP_WEIGHT) return false;
  out->data = ir->tensors.p[weight_id(s)].data;
  out->splat = ir->tensors.p[weight_id(s)].splat;
  return true;
}

/* Limit of bytes for folding. It is fixed at the start, since folded tensors join the model's. */
static int64_t fold_bytes(const IR *ir) {
  int64_t model = 0;
  if (ir->ctx->limits.fold) return ir->ctx->limits.fold;
  for (size_t i = 0; i < ir->tensors.n; i++)
    if (ir->tensors.p[i].data) model += ir->tensors.p[i].elems * dt_bytes(ir->tensors.p[i].dt);
  return 4 * model > 256 << 20 ? 4 * model : 256 << 20;
}

bool interp_const(IR *ir, Ref r, Tensor *out) {
  Ctx *c = ir->ctx;
  if (node(ir, r)->varies) return false;
  if (known_constant(ir, r, out)) return true;
  if (!c->fold.started) c->fold = (FoldBudget){ .started = true, .steps = c->limits.fold_steps, .bytes = fold_bytes(ir) };
  Eval e = { .ir = ir, .steps = c->fold.steps, .bytes = c->fold.bytes };
  bool ok = run(&e, &r, 1, &c->model, out);
  c->fold.steps = e.steps;
  if (ok) c->fold.bytes -= out->elems * dt_bytes(out->dt);
  return ok;
}

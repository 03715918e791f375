/* SPDX-License-Identifier: MIT */
/* control_ops.c: If, Loop, Scan. Conditions and trip counts are mostly constant, as shapes are. A condition of an If that is not
 * constant makes a branch of the graph (compiler/ir/branches.c).
 *
 * A loop with many iterations, whose body is the same in each, becomes a loop of the graph (compiler/ir/loops.c). Other loops
 * become copies of their body. They are short, or end by a condition, or their body needs the iteration's number or a carried
 * value when compiling.
 *
 * If a loop's condition is not constant, each copy continues from the one before as if the loop went on; so values that merely
 * count stay constant. The state at the loop's end is kept beside it, and later copies do not change that. */
#include "../core/build.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const OnnxGraph *body(Build *b, const char *name, uint32_t nin, uint32_t nout) {
  const OnnxGraph *g = attr_find(b, name)->graph;
  if (g->nin != nin) bad(b, "attribute '%s' has %u inputs, expected %u", name, g->nin, nin);
  if (g->nout != nout) bad(b, "attribute '%s' has %u outputs, expected %u", name, g->nout, nout);
  return g;
}

/* The condition as rank 0; *known: it is constant, and *value is its value */
static Ref truth(Build *b, Ref r, bool *known, bool *value) {
  const Node *n = is_list(r) ? NULL : node(b->ir, r);
  Tensor t;
  if (!n || n->dt != DT_BOOL || dims_elems(n->dims, n->rank) != 1) bad(b, "the condition must be a single bool");
  r = g_reshape(b->ir, r, 0, NULL);
  *known = const_tensor(b, r, &t);
  *value = *known && tensor_int(&t, 0);
  return r;
}

static const Node *tensor_node(Build *b, Ref r) {
  if (is_list(r)) bad(b, "each iteration gives a sequence; tgc can collect only tensors from the iterations");
  return node(b->ir, r);
}

/* r, with the axes of like if both have one element and r has fewer axes; exporters write such values as [1] or as [] */
static Ref with_axes_of(Build *b, Ref r, const Node *like) {
  const Node *x = node(b->ir, r);
  bool one = dims_elems(x->dims, x->rank) == 1 && dims_elems(like->dims, like->rank) == 1;
  return one && x->rank < like->rank ? g_reshape(b->ir, r, like->rank, like->dims) : r;
}

static Ref choose(Build *b, Ref cond, Ref a, Ref c, const char *what, uint32_t k);

/* The same of two sequences, tensor by tensor */
static Ref choose_lists(Build *b, Ref cond, Ref a, Ref c, const char *what, uint32_t k) {
  if (a == c) return a;
  const bool lists = is_list(a) && is_list(c);
  const List x = lists ? b->lists->p[a & ~LIST_TAG] : (List){ 0 }, y = lists ? b->lists->p[c & ~LIST_TAG] : (List){ 0 };
  if (!lists || x.n != y.n)
    bad(b, "%s %u is a sequence or an optional whose length depends on input '%s' of the graph", what, k, input_behind(b, cond));
  if (x.n < 0) return a;
  Ref *all = ARENA_NEW(&b->c->model, Ref, x.n + 1);
  for (int64_t i = 0; i < x.n; i++) all[i] = choose(b, cond, x.items->p[i], y.items->p[i], what, k);
  return new_list(b, x.n, all);
}

/* a where the condition holds, else c; both must have one type and shape */
static Ref choose(Build *b, Ref cond, Ref a, Ref c, const char *what, uint32_t k) {
  if (is_list(a) || is_list(c)) return choose_lists(b, cond, a, c, what, k);
  const Node *x = tensor_node(b, a), *y = tensor_node(b, c);
  a = with_axes_of(b, a, y);
  c = with_axes_of(b, c, x);
  if (!nodes_alike(node(b->ir, a), node(b->ir, c)))
    bad(b, "%s %u must have the same type and shape whether the condition is true or false, since it depends on an input of the "
           "graph", what, k);
  return a == c ? a : g_where(b->ir, cond, a, c);
}

typedef struct Branch {
  Build *b;
  const OnnxGraph *g;
  const Ref *in;           /* NULL: it has no inputs */
  Ref *out;
} Branch;

static void build_branch(Ctx *c, void *arg) {
  (void)c;
  Branch *t = arg;
  build_body(t->b, t->g, t->in, t->out);
}

/* Fails with what branch_fits was told */
_Noreturn static void fail_as_told(Ctx *c, int code, const char *why) {
  fprintf(c->err, "%s\n", why);
  fail_silent(c, code);
}

/* Whether a branch or a body can be built for the given shapes; if not, *why is the reason */
static bool branch_fits(Branch *t, const char **why) {
  Ctx *c = t->b->c;
  FILE *err = c->err;
  char *said = NULL;
  size_t n = 0;
  int errors = c->errors;
  uint32_t origin = t->b->ir->origin;
  const bool in_loop = t->b->ir->in_loop;
  c->err = open_memstream(&said, &n);
  int code = ctx_try(c, build_branch, t);
  fclose(c->err);
  c->err = err;
  c->errors = errors;
  t->b->ir->origin = origin;
  t->b->ir->in_loop = in_loop;
  t->b->ir->building = t->b->at;
  *why = arena_str(&c->model, said, n && said[n - 1] == '\n' ? n - 1 : n);
  if (!code && n) fputs(said, c->err); /* warnings */
  free(said);
  if (code && (code != EX_BADMODEL || unrolled_too_far(t->b))) fail_as_told(c, code, *why);
  return !code;
}

/* Whether one of the notes from..to - 1 is true; 0: there is none */
static Ref any_note(Build *b, size_t from, size_t to) {
  Ref any = 0;
  for (size_t i = from; i < to; i++) any = any ? g_binary(b->ir, OP_OR, any, b->wrong->p[i]) : b->wrong->p[i];
  return any;
}

/* Notes of both sides become one, which asks the side that is taken. at: where those of each side begin, and where they end */
static void join_notes(Build *b, const size_t at[3], Ref side[2]) {
  for (int k = 0; k < 2; k++) {
    side[k] = any_note(b, at[k], at[k + 1]);
    if (!side[k]) side[k] = c_int(b->ir, DT_BOOL, 0);
  }
}

/* The results of either branch. A run computes only the one it takes (compiler/ir/branches.c). */
static void choose_side(Build *b, Ref cond, const Branch branch[2], const size_t noted[3]) {
  IR *ir = b->ir;
  const bool notes = noted[2] > noted[0];
  Ref *side[2], either[2];
  int *from = ARENA_NEW(&b->c->model, int, b->nout + 1), n = 0;
  for (int k = 0; k < 2; k++) side[k] = ARENA_NEW(&b->c->model, Ref, b->nout + 1);
  for (int k = 0; k < b->nout; k++) {
    const Ref yes = branch[1].out[k], no = branch[0].out[k];
    b->out[k] = choose(b, cond, yes, no, "output", (uint32_t)k);
    if (yes == no || is_list(yes) || is_list(no) || has_ragged(b, yes) || has_ragged(b, no)) continue;
    side[1][n] = with_axes_of(b, yes, node(ir, no));
    side[0][n] = with_axes_of(b, no, node(ir, yes));
    from[n++] = k;
  }
  if (notes) {
    join_notes(b, noted, either);
    for (int k = 0; k < 2; k++) side[k][n] = either[k];
  }
  if (!n && !notes) return;
  const Ref made = g_branch(ir, cond, n + notes, side[1], side[0]);
  for (int k = 0; k < n; k++) b->out[from[k]] = g_chosen(ir, made, k);
  if (!notes) return;
  b->wrong->p[noted[0]] = g_chosen(ir, made, n);
  b->wrong->n = noted[0] + 1;
}

static const char *const branch_name[2] = { "else_branch", "then_branch" };

/* A result of an If whose condition follows from sizes: where(condition, yes, no). If extents of both differ at some sizes, both
 * are padded to one more than the greatest extent, and the end is cut off. */
static Ref choose_sized(Build *b, Ref cond, bool value, Ref yes, Ref no, uint32_t k) {
  IR *ir = b->ir;
  if (is_list(yes) || is_list(no))
    bad(b, "output %u is a sequence, and the condition differs within the ranges of --dim; give the dimension one number", k);
  const Ref given = yes;
  yes = with_axes_of(b, yes, node(ir, no));
  no = with_axes_of(b, no, node(ir, given));
  const Node *x = tensor_node(b, yes), *y = tensor_node(b, no);
  if (x->dt != y->dt || x->rank != y->rank)
    bad(b, "output %u has one type or rank if the condition is true and another one if it is false, and the condition differs "
           "within the ranges of --dim; give the dimension one number, or a smaller range", k);
  const Node *taken = value ? x : y;
  const Ref fill = c_int(ir, (DType)x->dt, 0);
  int64_t dims[MAX_RANK];
  memcpy(dims, taken->dims, taken->rank * sizeof *dims);
  for (int a = 0; a < taken->rank; a++) {
    const int64_t n = node(ir, yes)->dims[a], m = node(ir, no)->dims[a];
    const bool differ = form_differs(b, n == m) || n != m;
    const int64_t most = form_most(b, n > m ? n : m) + 1;
    if (!differ) continue;
    yes = pad_axes(ir, yes, a, 1, &(int64_t){ 0 }, &(int64_t){ most - n }, fill);
    no = pad_axes(ir, no, a, 1, &(int64_t){ 0 }, &(int64_t){ most - m }, fill);
  }
  const int64_t none[MAX_RANK] = { 0 };
  return g_where(ir, cond, g_shrink(ir, yes, none, NULL, dims), g_shrink(ir, no, none, NULL, dims));
}

/* An If whose condition is constant for each size, but not for all sizes of a range. Both branches are computed. */
static void choose_by_size(Build *b, Ref cond, bool value, Branch branch[2]) {
  const char *why;
  for (int k = 0; k < 2; k++)
    if (!branch_fits(&branch[k], &why))
      bad(b, "the condition differs within the ranges of --dim, and '%s' cannot be built for all of the sizes: %s; give the "
             "dimension one number, or a smaller range", branch_name[k], why);
  for (int k = 0; k < b->nout; k++) b->out[k] = choose_sized(b, cond, value, branch[1].out[k], branch[0].out[k], (uint32_t)k);
}

/* Exporters write branches for shapes that an input could have. With other shapes such a branch is invalid, and would fail if
 * it ran. */
void op_if(Build *b) {
  bool known, value, fits[2];
  const char *why[2];
  Branch branch[2];
  Ref cond = truth(b, b->in[0], &known, &value);
  for (int k = 0; k < 2; k++)
    branch[k] = (Branch){ b, body(b, branch_name[k], 0, (uint32_t)b->nout), NULL, ARENA_NEW(&b->c->model, Ref, b->nout + 1) };
  if (known && form_of_branches(b, value)) {
    choose_by_size(b, cond, value, branch);
    return;
  }
  if (known) {
    build_body(b, branch[value].g, NULL, b->out);
    return;
  }
  size_t noted[3] = { wrong_noted(b) };
  for (int k = 0; k < 2; k++) {
    *b->beyond = false;
    fits[k] = branch_fits(&branch[k], &why[k]);
    if (!fits[k] && *b->beyond) fail_as_told(b->c, EX_BADMODEL, why[k]);
    if (b->wrong && !fits[k]) b->wrong->n = noted[k];
    noted[k + 1] = wrong_noted(b);
  }
  if (!fits[0] && !fits[1]) bad(b, "neither branch can be built: %s; %s", why[0], why[1]);
  for (int k = 0; k < 2; k++)
    if (!fits[k]) warn_at(b->c, b->at, "'%s' cannot be built, so the other branch is always taken: %s", branch_name[k], why[k]);
  if (fits[0] && fits[1]) choose_side(b, cond, branch, noted);
  else memcpy(b->out, branch[!fits[0]].out, (size_t)b->nout * sizeof *b->out);
}

/* Concatenates the results of the iterations along a new axis; n > 0 */
static Ref stack(Build *b, const Ref *parts, int64_t n, int axis, bool reverse) {
  Ref *x = ARENA_NEW(&b->c->model, Ref, n);
  for (int64_t i = 0; i < n; i++) {
    const Node *p = tensor_node(b, parts[i]);
    int64_t dims[USER_RANK + 1];
    if (!nodes_alike(p, node(b->ir, parts[0]))) bad(b, "results of the iterations differ in type or shape");
    if (p->rank >= USER_RANK || axis > p->rank) bad(b, "results of rank %d cannot be stacked along axis %d", p->rank, axis);
    for (int a = 0; a <= p->rank; a++) dims[a] = a < axis ? p->dims[a] : a == axis ? 1 : p->dims[a - 1];
    x[reverse ? n - 1 - i : i] = g_reshape(b->ir, parts[i], p->rank + 1, dims);
  }
  return cat_all(b, n, x, axis);
}

/* For zero iterations: `like`, from a body built once, gives type and shape of the empty result. */
static Ref empty(Build *b, Ref like, int axis) { return shrink_axis(b->ir, stack(b, &like, 1, axis, false), axis, 0, 1, 0); }

/* Outputs of the body, by iteration */
typedef struct Runs {
  Ref **p;
  int64_t n;
} Runs;

static Ref *run_body(Build *b, const OnnxGraph *g, const Ref *in, Runs *r) {
  r->p = grown(b, r->p, (size_t)r->n, sizeof *r->p);
  Ref *out = r->p[r->n++] = ARENA_NEW(&b->c->model, Ref, g->nout + 1);
  build_body(b, g, in, out);
  return out;
}

static Ref stack_output(Build *b, const Runs *r, uint32_t k, int axis, bool reverse) {
  Ref *x = ARENA_NEW(&b->c->model, Ref, r->n + 1);
  for (int64_t i = 0; i < r->n; i++) x[i] = r->p[i][k];
  return stack(b, x, r->n, axis, reverse);
}

/* ---- loops of the graph ---- */
typedef struct ScanAxis { int axis; bool reverse; } ScanAxis;
/* A loop as the graph has it. The body's inputs are `before` leading ones (the iteration's number and a condition, or none),
 * `nstate` carried values and `nx` slices. Its results are the carried values and `nscan` slices of results, after `skip`. */
typedef struct LoopForm {
  const OnnxGraph *g;
  int64_t trips;
  uint32_t before, skip, nstate, nx, nscan;
  const Ref *state, *x;
  const ScanAxis *x_axis, *out_axis; /* out_axis NULL: axis 0, in order; else the axis may be negative */
} LoopForm;

static bool all_tensors(Build *b, const Ref *r, uint32_t n) {
  bool all = true;
  for (uint32_t k = 0; k < n && all; k++) all = r[k] && !is_list(r[k]) && !has_ragged(b, r[k]);
  return all;
}

/* The slice of x in an iteration. A run of a range of sizes may omit the last iterations of a loop only, so there x is turned. */
static Ref scanned(Build *b, int loop, Ref x, ScanAxis a) {
  const bool turned = a.reverse && b->sized;
  return g_slice(b->ir, loop, g_stored(b->ir, turned ? g_flip(b->ir, x, 1u << a.axis) : x), a.axis, a.reverse && !turned);
}

static Ref *body_inputs(Build *b, const LoopForm *l, int loop) {
  IR *ir = b->ir;
  Ref *in = ARENA_NEW(&b->c->model, Ref, l->before + l->nstate + l->nx + 1);
  if (l->before) in[0] = g_slice(ir, loop, g_stored(ir, g_iota(ir, DT_I64, l->trips)), 0, false);
  if (l->before) in[1] = c_int(ir, DT_BOOL, 1);
  for (uint32_t k = 0; k < l->nstate; k++) in[l->before + k] = g_carried(ir, loop, (int)k, l->state[k]);
  for (uint32_t k = 0; k < l->nx; k++)
    in[l->before + l->nstate + k] = scanned(b, loop, l->x[k], l->x_axis[k]);
  return in;
}

/* Each iteration is like the first: it goes on, and carried values keep type and shape. */
static bool repeats_alike(Build *b, const LoopForm *l, const Ref *out) {
  bool same = all_tensors(b, out, l->g->nout), known = true, live = true;
  if (same && l->skip) truth(b, out[0], &known, &live);
  for (uint32_t k = 0; k < l->nstate && same; k++) same = nodes_alike(node(b->ir, out[l->skip + k]), node(b->ir, l->state[k]));
  for (uint32_t k = 0; k < l->nscan && same; k++) same = node(b->ir, out[l->skip + l->nstate + k])->rank < USER_RANK;
  return same && known && live;
}

static void yield_all(Build *b, const LoopForm *l, int loop, const Ref *out, Ref *result) {
  IR *ir = b->ir;
  const uint32_t n = l->nstate + l->nscan;
  Ref *y = ARENA_NEW(&b->c->model, Ref, n + 1);
  loop_spend(b, l->trips);
  for (uint32_t k = 0; k < l->nstate; k++) y[k] = g_yield(ir, loop, (int)k, out[l->skip + k]);
  for (uint32_t k = l->nstate; k < n; k++) {
    const ScanAxis a = l->out_axis ? l->out_axis[k - l->nstate] : (ScanAxis){ 0 };
    const Ref x = out[l->skip + k];
    y[k] = g_yield_slice(ir, loop, x, axis_of(b, a.axis, node(ir, x)->rank + 1), a.reverse && !b->sized, l->trips);
  }
  const Ref all = g_iterate(ir, loop, l->trips, 0, (int)n, y);
  for (uint32_t k = 0; k < n; k++) result[k] = g_result(ir, all, (int)k);
  for (uint32_t k = l->nstate; k < n && l->out_axis && b->sized; k++)
    if (l->out_axis[k - l->nstate].reverse) result[k] = g_flip(ir, result[k], 1u << yield_axis(node(ir, y[k])));
}

/* Builds a loop of the graph; false: its iterations are to be copies. A body that notes indices out of range is copied, since
 * each iteration has a note. */
static bool build_loop(Build *b, const LoopForm *l, Ref *result) {
  if (!l->nstate && !l->nscan) return false;
  if (!all_tensors(b, l->state, l->nstate) || !all_tensors(b, l->x, l->nx)) return false;
  const int loop = loop_begin(b, l->trips);
  if (loop < 0) return false;
  const size_t noted = wrong_noted(b);
  const char *why;
  Branch t = { b, l->g, body_inputs(b, l, loop), ARENA_NEW(&b->c->model, Ref, l->g->nout + 1) };
  bool fits = branch_fits(&t, &why) && repeats_alike(b, l, t.out);
  if (wrong_noted(b) > noted) b->wrong->n = noted, fits = false;
  loop_end(b);
  if (fits) yield_all(b, l, loop, t.out, result);
  return fits;
}

/* ---- loops that data end ---- */
enum { SCAN_ROWS_MOST = 65536 }; /* rows of a collected result without --capacity */

/* The next value of a place: x, unless the loop has ended */
static Ref held(Build *b, int loop, int place, Ref on, Ref x, Ref old) {
  return g_yield(b->ir, loop, place, g_where(b->ir, on, x, old));
}

/* Whether a note of the body from `noted` on is true; 0: it has none. The body's notes are dropped. */
static Ref notes_of_body(Build *b, size_t noted) {
  const Ref any = any_note(b, noted, wrong_noted(b));
  if (any) b->wrong->n = noted;
  return any;
}

/* Rows of the collected results of a loop that data end: as many as iterations are possible, or as --capacity says */
static int64_t rows_of_scans(const Build *b, const LoopForm *l) {
  if (!l->nscan) return 0;
  const int64_t most = l->trips > SCAN_ROWS_MOST || b->ragged->most ? need_capacity(b) : l->trips;
  return most < l->trips ? most : l->trips;
}

/* x with the axes of one row as [1, axes] */
static Ref as_row(Build *b, Ref x) {
  const Node *n = node(b->ir, x);
  int64_t dims[MAX_RANK] = { 1 };
  memcpy(dims + 1, n->dims, n->rank * sizeof *dims);
  return g_reshape(b->ir, x, n->rank + 1, dims);
}

/* flags bool[rows] beside rows of the given rank */
static Ref beside_rows(Build *b, Ref flags, int rank) {
  int64_t dims[MAX_RANK];
  for (int a = 0; a < rank; a++) dims[a] = a ? 1 : node(b->ir, flags)->dims[0];
  return g_reshape(b->ir, flags, rank, dims);
}

/* A collected result of which the first `total` rows are valid. k: the output */
static Ref counted_scan(Build *b, uint32_t k, Ref all, Ref total) {
  const Node *x = node(b->ir, all);
  const int64_t rows = x->dims[0], wanted = b->ragged->wanted;
  if (rows < 2) too_much(b, "output %u has as many rows as data say, and at most one", k);
  const Ref there = g_binary(b->ir, OP_CMPLT, g_iota(b->ir, DT_I64, rows), total);
  if ((int)k < b->nout && b->n->out[k]) add_count_of(b, k, there, total, wanted && wanted < rows ? wanted : rows);
  return g_where(b->ir, beside_rows(b, there, x->rank), all, c_int(b->ir, (DType)x->dt, 0));
}

/* The yields of the collected results. Each iteration writes a row of a carried table. number: that of the iteration */
static void scan_yields(Build *b, const LoopForm *l, int loop, Ref on, Ref number, const Ref *out, Ref *y) {
  IR *ir = b->ir;
  const int64_t rows = rows_of_scans(b, l);
  const Ref here = l->nscan ? both(b, on, g_binary(ir, OP_CMPEQ, g_iota(ir, DT_I64, rows), number)) : 0;
  for (uint32_t k = 0; k < l->nscan; k++) {
    const int place = (int)(l->nstate + k);
    const Ref row = as_row(b, out[1 + place]);
    const Node *x = node(ir, row);
    int64_t dims[MAX_RANK];
    for (int a = 0; a < x->rank; a++) dims[a] = a ? x->dims[a] : rows;
    const Ref old = g_carried(ir, loop, place, g_expand(ir, c_int(ir, (DType)x->dt, 0), x->rank, dims));
    y[place] = g_yield(ir, loop, place, g_where(ir, beside_rows(b, here, x->rank), row, old));
  }
}

static bool scans_fit(Build *b, const LoopForm *l, const Ref *out) {
  bool fit = true;
  for (uint32_t k = 0; k < l->nscan; k++) fit &= node(b->ir, out[1 + l->nstate + k])->rank < USER_RANK;
  return fit;
}

/* The yields of an early loop: one for each state, for each collected result, for the iteration's number, and for whether the
 * loop goes on. If the body has indices, one more says whether any was out of range. -> number of yields; 0: the iterations are
 * not alike */
static int early_yields(Build *b, const LoopForm *l, int loop, Ref on, Ref limit, Ref *y) {
  IR *ir = b->ir;
  const int count = (int)(l->nstate + l->nscan), going = count + 1;
  const size_t noted = wrong_noted(b);
  const char *why;
  bool known, live;
  Ref *in = ARENA_NEW(&b->c->model, Ref, l->nstate + 2), out[1];
  in[0] = g_carried(ir, loop, count, integer(b, 0));
  in[1] = c_int(ir, DT_BOOL, 1);
  for (uint32_t k = 0; k < l->nstate; k++) in[2 + k] = g_carried(ir, loop, (int)k, l->state[k]);
  Branch t = { b, l->g, in, ARENA_NEW(&b->c->model, Ref, l->g->nout + 1) };
  bool same = branch_fits(&t, &why) && all_tensors(b, t.out, l->g->nout) && scans_fit(b, l, t.out);
  for (uint32_t k = 0; k < l->nstate && same; k++) same = nodes_alike(node(ir, t.out[1 + k]), node(ir, l->state[k]));
  if (b->wrong && !same) b->wrong->n = noted;
  if (!same) return 0;
  out[0] = truth(b, t.out[0], &known, &live);
  const Ref next = plus(b, in[0], 1), within = limit ? g_binary(ir, OP_CMPLT, next, limit) : 0;
  for (uint32_t k = 0; k < l->nstate; k++) y[k] = held(b, loop, (int)k, on, t.out[1 + k], in[2 + k]);
  scan_yields(b, l, loop, on, in[0], t.out, y);
  y[count] = held(b, loop, count, on, next, in[0]);
  const Ref any = notes_of_body(b, noted), fine = any ? g_unary(ir, OP_NOT, any) : 0; /* after a wrong index the loop might never end */
  y[going] = g_yield(ir, loop, going, both(b, both(b, on, fine), both(b, out[0], within)));
  if (!any) return going + 1;
  const Ref old = g_carried(ir, loop, going + 1, c_int(ir, DT_BOOL, 0));
  y[going + 1] = held(b, loop, going + 1, on, any, old);
  return going + 2;
}

/* Builds a loop that ends when its condition or its limit says so. first: whether it begins, and limit: how often it runs at
 * most; 0: data do not decide it. The loop carries the number of the iteration, and whether it goes on. false: its iterations
 * are to be copies. */
static bool build_early(Build *b, const LoopForm *l, Ref first, Ref limit, Ref *result) {
  IR *ir = b->ir;
  const int going = (int)(l->nstate + l->nscan) + 1;
  const int64_t bound = l->trips < INT32_MAX - 1 ? l->trips : INT32_MAX - 1, trips = early_trips(b, bound + bound % 2);
  if (!all_tensors(b, l->state, l->nstate)) return false;
  const int loop = loop_begin(b, trips);
  if (loop < 0) return false;
  if (!limit && l->trips < INT32_MAX) limit = integer(b, l->trips);
  const Ref begins = both(b, first, limit ? g_binary(ir, OP_CMPLT, integer(b, 0), limit) : 0);
  const Ref on = g_carried(ir, loop, going, begins ? begins : c_int(ir, DT_BOOL, 1));
  Ref *y = ARENA_NEW(&b->c->model, Ref, l->nstate + l->nscan + 3);
  const int n = early_yields(b, l, loop, on, limit, y);
  loop_end(b);
  if (!n) return false;
  const Ref all = g_iterate(ir, loop, trips, going + 1, n, y);
  for (uint32_t k = 0; k < l->nstate + l->nscan; k++) result[k] = g_result(ir, all, (int)k);
  for (uint32_t k = l->nstate; k < l->nstate + l->nscan; k++)
    result[k] = counted_scan(b, k, result[k], g_result(ir, all, going - 1));
  if (n > going + 1) wrong_if(b, g_result(ir, all, going + 1));
  return true;
}

/* cond: true while the loop has not ended; 0: it cannot have ended yet. known: it is constant, and live is its value */
typedef struct Going { Ref cond; bool known, live; } Going;

/* A further iteration as a copy. in: its inputs, then those of the next one; result: the values of the states at the end of
 * the loop so far */
static void copy_iteration(Build *b, const LoopForm *l, int64_t i, Going *at, Ref *in, Ref *result, Runs *runs) {
  const size_t noted = wrong_noted(b);
  const bool doubtful = b->doubtful, known = at->known;
  const Ref cond = at->cond;
  in[0] = c_int(b->ir, DT_I64, i);
  in[1] = known ? c_int(b->ir, DT_BOOL, 1) : cond;
  b->doubtful |= !known;
  const Ref *out = run_body(b, l->g, in, runs);
  b->doubtful = doubtful;
  if (!known) wrong_only_if(b, noted, wrong_noted(b), cond, true);
  for (uint32_t k = 0; k < l->nstate; k++)
    result[k] = known ? out[1 + k] : choose(b, cond, out[1 + k], result[k], "the loop's value", k);
  memcpy(in + 2, out + 1, l->nstate * sizeof *in);
  at->cond = truth(b, out[0], &at->known, &at->live);
  if (known) return;
  at->cond = g_binary(b->ir, OP_AND, cond, at->cond); /* once ended, it stays ended */
  at->known = at->known && !at->live;
}

/* Collected results of copies. total: how many iterations ran, if data decide it; else 0 */
static void stack_scans(Build *b, const LoopForm *l, const Runs *runs, Ref total, Ref *result) {
  for (uint32_t k = l->nstate; k < l->nstate + l->nscan; k++) {
    result[k] = stack_output(b, runs, 1 + k, 0, false);
    const int64_t rows = total ? rows_of_scans(b, l) : runs->n;
    if (rows < runs->n) result[k] = shrink_axis(b->ir, result[k], 0, 0, 1, rows);
    if (total) result[k] = counted_scan(b, k, result[k], total);
  }
}

static void copy_loop(Build *b, const LoopForm *l, Going at, Ref *result) {
  Ref total = 0;
  Runs runs = { 0 };
  Ref *in = ARENA_NEW(&b->c->model, Ref, l->nstate + 3);
  const size_t before = wrong_noted(b);
  memcpy(result, l->state, l->nstate * sizeof *result);
  memcpy(in + 2, l->state, l->nstate * sizeof *in);
  for (int64_t i = 0; i < l->trips && (at.live || !at.known); i++) {
    const bool known = at.known;
    if (!known && l->trips == INT64_MAX)
      too_much(b, "the number of iterations depends on input '%s' of the graph; limit it by a constant 'M'",
               input_behind(b, at.cond));
    if (!known && l->nscan) total = add(b, total ? total : integer(b, i), g_cast(b->ir, at.cond, DT_I64));
    copy_iteration(b, l, i, &at, in, result, &runs);
    if (!known || at.known) continue;
    const size_t now = wrong_noted(b); /* from here on data decide, which a loop of the graph may do from the start */
    if (b->wrong) b->wrong->n = before;
    if (build_early(b, l, 0, 0, result)) return;
    if (b->wrong) b->wrong->n = now;
  }
  const bool none = !runs.n;
  if (none && l->nscan) {
    in[0] = c_int(b->ir, DT_I64, 0);
    in[1] = c_int(b->ir, DT_BOOL, 0);
    run_body(b, l->g, in, &runs);
  }
  for (uint32_t k = l->nstate; none && k < l->nstate + l->nscan; k++) result[k] = empty(b, runs.p[0][1 + k], 0);
  if (!none) stack_scans(b, l, &runs, total, result);
}

/* The input M. *limit: its value, if data give it; else 0 */
static int64_t read_trips(Build *b, Ref *limit) {
  Tensor t;
  *limit = 0;
  if (!has_in(b, 0)) return INT64_MAX;
  if (in_dt(b, 0) != DT_I64 || dims_elems(in_node(b, 0)->dims, in_node(b, 0)->rank) != 1)
    bad(b, "input 'M' must be a single i64");
  if (const_tensor(b, b->in[0], &t)) return tensor_int(&t, 0);
  *limit = g_reshape(b->ir, b->in[0], 0, NULL);
  return INT64_MAX;
}

void op_loop(Build *b) {
  uint32_t nstate = (uint32_t)b->nin - (b->nin > 2 ? 2 : (uint32_t)b->nin);
  const OnnxGraph *g = attr_find(b, "body")->graph;
  if (g->nout < nstate + 1) bad(b, "attribute 'body' has %u outputs, expected at least %u", g->nout, nstate + 1);
  const uint32_t nscan = g->nout - 1 - nstate;
  body(b, "body", nstate + 2, g->nout);
  if ((uint32_t)b->nout > nstate + nscan) bad(b, "%d outputs, expected at most %u", b->nout, nstate + nscan);
  Ref limit, *result = ARENA_NEW(&b->c->model, Ref, nstate + nscan + 1);
  const int64_t trips = read_trips(b, &limit);
  Going at = { 0, true, true };
  if (has_in(b, 1)) at.cond = truth(b, b->in[1], &at.known, &at.live);
  const LoopForm form = { .g = g, .trips = trips, .before = 2, .skip = 1, .nstate = nstate, .nscan = nscan, .state = b->in + 2 };
  const bool begins = trips > 0 && (at.live || !at.known), by_data = limit || !at.known;
  bool built = trips < INT64_MAX && at.known && at.live && build_loop(b, &form, result);
  if (!built && begins && by_data) built = build_early(b, &form, at.known ? 0 : at.cond, limit, result);
  if (!built && begins && limit)
    too_much(b, "the number of iterations 'M' depends on input '%s' of the graph; replace 'M' by a constant",
             input_behind(b, b->in[0]));
  if (!built) copy_loop(b, &form, at, result);
  memcpy(b->out, result, (size_t)b->nout * sizeof *result);
}

/* Entry k of a list of axes or directions; 0 if the list is omitted */
static int64_t entry(Build *b, const char *name, uint32_t k, uint32_t expected) {
  int n;
  const int64_t *v = attr_ints(b, name, &n);
  if (v && (uint32_t)n != expected) bad(b, "attribute '%s' has %d entries, expected %u", name, n, expected);
  return v ? v[k] : 0;
}

static bool scan_as_loop(Build *b, const OnnxGraph *g, int64_t trips, uint32_t nstate, uint32_t nx, const int *axis) {
  const uint32_t nscan = (uint32_t)b->nout - nstate;
  ScanAxis *x = ARENA_NEW(&b->c->model, ScanAxis, nx + 1), *out = ARENA_NEW(&b->c->model, ScanAxis, nscan + 1);
  for (uint32_t k = 0; k < nx; k++) x[k] = (ScanAxis){ axis[k], entry(b, "scan_input_directions", k, nx) != 0 };
  for (uint32_t k = 0; k < nscan; k++)
    out[k] = (ScanAxis){ (int)entry(b, "scan_output_axes", k, nscan), entry(b, "scan_output_directions", k, nscan) != 0 };
  const LoopForm form = { .g = g, .trips = trips, .nstate = nstate, .nx = nx, .nscan = nscan, .state = b->in,
                          .x = b->in + nstate, .x_axis = x, .out_axis = out };
  return build_loop(b, &form, b->out);
}

void op_scan(Build *b) {
  int64_t nx = attr_int(b, "num_scan_inputs"), trips = -1;
  if (nx < 1 || nx > b->nin)
    bad(b, "attribute 'num_scan_inputs' is %lld, expected at least 1 and at most %d, the number of the node's inputs",
        (long long)nx, b->nin);
  uint32_t nstate = (uint32_t)(b->nin - nx), nscan = (uint32_t)b->nout - nstate;
  if ((uint32_t)b->nout < nstate) bad(b, "%d outputs, expected at least %u", b->nout, nstate);
  const OnnxGraph *g = body(b, "body", (uint32_t)b->nin, (uint32_t)b->nout);
  Ref *in = ARENA_NEW(&b->c->model, Ref, b->nin + 1);
  Runs runs = { 0 };
  int *axis = ARENA_NEW(&b->c->model, int, nx + 1);
  for (uint32_t k = 0; k < nx; k++) {
    const Node *x = in_node(b, (int)(nstate + k));
    axis[k] = axis_of(b, entry(b, "scan_input_axes", k, (uint32_t)nx), x->rank);
    if (trips >= 0 && x->dims[axis[k]] != trips)
      bad(b, "input %u has %lld elements to scan, but the scan inputs before it have %lld", nstate + k,
          (long long)x->dims[axis[k]], (long long)trips);
    trips = x->dims[axis[k]];
  }
  if (scan_as_loop(b, g, trips, nstate, (uint32_t)nx, axis)) return;
  memcpy(in, b->in, nstate * sizeof *in);
  for (int64_t i = 0; i < (trips ? trips : 1); i++) {
    for (uint32_t k = 0; k < nx; k++) {
      Ref x = b->in[nstate + k];
      int64_t at = entry(b, "scan_input_directions", k, (uint32_t)nx) ? trips - 1 - i : i;
      if (!trips)
        x = pad_axes(b->ir, x, axis[k], 1, (int64_t[]){ 0 }, (int64_t[]){ 1 }, c_int(b->ir, (DType)node(b->ir, x)->dt, 0));
      in[nstate + k] = without_axes(b->ir, shrink_axis(b->ir, x, axis[k], trips ? at : 0, 1, 1), 1u << axis[k]);
    }
    const Ref *out = run_body(b, g, in, &runs);
    if (trips) memcpy(in, out, nstate * sizeof *in);
  }
  for (uint32_t k = 0; k < (uint32_t)b->nout; k++) {
    if (k < nstate) {
      b->out[k] = in[k];
      continue;
    }
    int at = axis_of(b, entry(b, "scan_output_axes", k - nstate, nscan), tensor_node(b, runs.p[0][k])->rank + 1);
    bool reverse = entry(b, "scan_output_directions", k - nstate, nscan) != 0;
    b->out[k] = trips ? stack_output(b, &runs, k, at, reverse) : empty(b, runs.p[0][k], at);
  }
}

/* ---- Scan of opset 8: a batch of sequences, each with its own length. Inputs: lengths (optional), states [batch, ..], scanned
 * values [batch, steps, ..]. Results have these axes, too. ---- */
enum { SEQ_LENGTHS, SEQ_VALUES };

static Ref batch_entry(Build *b, Ref x, int64_t i) { return without_axes(b->ir, shrink_axis(b->ir, x, 0, i, 1, 1), 1); }

/* Input k reversed along the time axis; elements behind the end of a sequence stay in place. */
static Ref backwards(Build *b, int k) {
  const AttrVal axes[] = { int_attr("batch_axis", 0), int_attr("time_axis", 1) };
  if (!has_in(b, SEQ_LENGTHS)) return g_flip(b->ir, b->in[k], 2u);
  return apply_op(b, "ReverseSequence", 2, (Ref[]){ b->in[k], b->in[SEQ_LENGTHS] }, 2, axes);
}

/* Scans one sequence. in: initial states, which become the final ones; x: scanned values. Results are 0 in steps behind the end
 * of the sequence. */
static void scan_sequence(Build *b, const OnnxGraph *g, uint32_t nstate, uint32_t nx, Ref *in, const Ref *x, int64_t steps,
                          Ref length, Runs *r) {
  IR *ir = b->ir;
  for (int64_t t = 0; t < steps; t++) {
    for (uint32_t k = 0; k < nx; k++) in[nstate + k] = batch_entry(b, x[k], t);
    Ref *out = run_body(b, g, in, r), there = length ? g_binary(ir, OP_CMPLT, integer(b, t), length) : 0;
    for (uint32_t k = 0; k < g->nout && there; k++) {
      const Node *n = tensor_node(b, out[k]);
      if (k < nstate) out[k] = choose(b, there, out[k], in[k], "state", k);
      else out[k] = g_where(ir, there, out[k], c_int(ir, (DType)n->dt, 0));
    }
    memcpy(in, out, nstate * sizeof *in);
  }
}

void op_batch_scan(Build *b) {
  const int64_t nx = attr_int(b, "num_scan_inputs");
  if (nx < 1 || nx > b->nin - SEQ_VALUES)
    bad(b, "attribute 'num_scan_inputs' is %lld, expected at least 1 and at most %d, the number of inputs behind 'sequence_lens'",
        (long long)nx, b->nin - SEQ_VALUES);
  const uint32_t nstate = (uint32_t)(b->nin - SEQ_VALUES - nx);
  const OnnxGraph *g = body(b, "body", (uint32_t)b->nin - SEQ_VALUES, (uint32_t)b->nout);
  if (g->nout < nstate) bad(b, "%d outputs, expected at least %u", b->nout, nstate);
  int64_t batch = -1, steps = -1;
  for (int k = SEQ_VALUES; k < b->nin; k++) {
    const bool scanned = k - SEQ_VALUES >= (int)nstate;
    if (!has_in(b, k)) bad(b, "input %d is required, but omitted", k);
    const Node *x = in_node(b, k);
    if (x->rank < 1 + scanned) bad(b, "input %d has rank %d, expected at least %d", k, x->rank, 1 + scanned);
    if (batch < 0) batch = x->dims[0];
    if (scanned && steps < 0) steps = x->dims[1];
    if (x->dims[0] != batch || (scanned && x->dims[1] != steps))
      bad(b, "input %d must have %lld sequences, and as many steps as the inputs before it", k, (long long)batch);
  }
  if (!batch || !steps) bad(b, "there is nothing to scan: %lld sequences of %lld steps", (long long)batch, (long long)steps);
  const Node *lengths = has_in(b, SEQ_LENGTHS) ? in_node(b, SEQ_LENGTHS) : NULL;
  if (lengths && (lengths->rank != 1 || lengths->dims[0] != batch || lengths->dt != DT_I64))
    bad(b, "input 'sequence_lens' must be a vector of %lld i64, one for each sequence", (long long)batch);
  Ref *in = ARENA_NEW(&b->c->model, Ref, b->nin), *x = ARENA_NEW(&b->c->model, Ref, nx), *one = ARENA_NEW(&b->c->model, Ref, nx);
  for (uint32_t k = 0; k < nx; k++) {
    const int from = (int)(SEQ_VALUES + nstate + k);
    x[k] = entry(b, "directions", k, (uint32_t)nx) ? backwards(b, from) : b->in[from];
  }
  spend(b, batch);
  Ref **all = ARENA_NEW(&b->c->model, Ref *, g->nout + 1); /* by output, then by sequence */
  for (uint32_t k = 0; k < g->nout; k++) all[k] = ARENA_NEW(&b->c->model, Ref, batch);
  for (int64_t i = 0; i < batch; i++) {
    Runs runs = { 0 };
    for (uint32_t k = 0; k < nstate; k++) in[k] = batch_entry(b, b->in[SEQ_VALUES + k], i);
    for (uint32_t k = 0; k < nx; k++) one[k] = batch_entry(b, x[k], i);
    scan_sequence(b, g, nstate, (uint32_t)nx, in, one, steps, lengths ? batch_entry(b, b->in[SEQ_LENGTHS], i) : 0, &runs);
    for (uint32_t k = 0; k < g->nout; k++) all[k][i] = k < nstate ? in[k] : stack_output(b, &runs, k, 0, false);
  }
  for (uint32_t k = 0; k < g->nout; k++) b->out[k] = stack(b, all[k], batch, 0, false);
}

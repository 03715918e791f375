/* SPDX-License-Identifier: MIT */
/* sizes.c: the extents and sizes of runs of a range of sizes, conditions on elements, and ranges that end at a size.
 *
 * A run is told a number n for each symbol. Extents of values follow from one: n + 2 behind a padding, (n - 1) / 2 + 1 behind a
 * window with steps. A size is a formula of an extent (runtime_stub/tgcrt_sizes.h). In kernels it is the leaf SIZE, whose bounds
 * hold for every run, or the limit of a RANGE. The extent of such a range is its greatest limit, so proofs stay valid. */
#include "ir.h"
#include <stdlib.h>
#include <string.h>

/* ---- extents ---- */
static int64_t runs(const IR *ir, int extent) { return symbol_sizes(&ir->symbols.p[ir->extents.p[extent].symbol]); }

bool size_is_allowed(const Symbol *s, int64_t size) {
  return size >= s->low && size <= s->high && (size - s->low) % s->step == 0;
}

void greatest_sizes(const Symbols *s, int64_t *run) {
  for (int k = 0; k < s->n; k++) run[k] = s->p[k].high;
}

/* The values of a symbol, as an extent */
static Extent extent_of_symbol(const IR *ir, int symbol) {
  const Symbol *s = &ir->symbols.p[symbol];
  Extent e = { .of = symbol, .times = 1, .over = 1, .most = s->high, .symbol = symbol };
  int64_t *at = ARENA_NEW(&ir->ctx->model, int64_t, symbol_sizes(s));
  for (int64_t i = 0; i < symbol_sizes(s); i++) {
    at[i] = s->low + i * s->step;
    e.shared = i64_gcd(e.shared, at[i]);
  }
  e.at = at;
  return e;
}

void ir_set_symbols(IR *ir, const Symbols *symbols) {
  ir->symbols = *symbols;
  ir->extents.n = 0;
  for (int k = 0; k < symbols->n; k++) VEC_PUSH(&ir->extents, extent_of_symbol(ir, k));
}

int extent_make(IR *ir, Extent e) {
  e.shared = 0;
  e.symbol = ir->extents.p[e.of].symbol;
  const tgcrt_extent formula = { e.times, e.plus, e.over, e.most, e.of, 0 };
  const size_t bytes = (size_t)runs(ir, e.of) * sizeof(int64_t);
  int64_t *at = xmalloc(bytes);
  size_t k = 0;
  for (int64_t i = 0; i < runs(ir, e.of); i++) {
    at[i] = tgcrt_extent_of(&formula, ir->extents.p[e.of].at[i]);
    e.shared = i64_gcd(e.shared, at[i]);
  }
  for (; k < ir->extents.n; k++) {
    const Extent *had = &ir->extents.p[k];
    if (!extent_is_product(had) && had->symbol == e.symbol && !memcmp(had->at, at, bytes)) break;
  }
  if (k == ir->extents.n) {
    e.at = arena_dup(&ir->ctx->model, at, bytes);
    VEC_PUSH(&ir->extents, e);
  }
  free(at);
  return (int)k;
}

int extent_product(IR *ir, int a, int b) {
  VEC_PUSH(&ir->extents, ((Extent){ .of = a, .times = 1, .over = 1, .most = INT64_MAX, .by = 1 + b }));
  return (int)ir->extents.n - 1;
}

int64_t extent_least(const IR *ir, int extent) {
  const int64_t *at = ir->extents.p[extent].at;
  int64_t least = at[0];
  for (int64_t i = 1; i < runs(ir, extent); i++) least = at[i] < least ? at[i] : least;
  return least;
}

int64_t extent_most(const IR *ir, int extent) {
  const int64_t *at = ir->extents.p[extent].at;
  int64_t most = at[0];
  for (int64_t i = 1; i < runs(ir, extent); i++) most = at[i] > most ? at[i] : most;
  return most;
}

/* Greatest common divisor of the differences between the values of an extent */
static int64_t step_of_extent(const IR *ir, int extent) {
  const int64_t *at = ir->extents.p[extent].at;
  int64_t step = 0;
  for (int64_t i = 1; i < runs(ir, extent); i++) step = i64_gcd(step, at[i] > at[0] ? at[i] - at[0] : at[0] - at[i]);
  return step;
}

/* The row with the sum or the product of a and b; -1: there is none */
static int row_of_two(const IR *ir, int a, int b, bool product) {
  for (size_t i = 0; i < ir->extents.n; i++) {
    const Extent *e = &ir->extents.p[i];
    if (!e->by || !e->at || product != (e->by > 0)) continue;
    if ((e->of == a && extent_other(e) == b) || (e->of == b && extent_other(e) == a)) return (int)i;
  }
  return -1;
}

/* Adds a symbol that no caller sets: it has the values of the sum or of the product of a and b. */
static int symbol_of_two(IR *ir, int a, int b, bool product) {
  enum { VALUES_MOST = 1 << 18 }; /* a limit of memory: 2 MiB for each extent of the symbol */
  Symbols *all = &ir->symbols;
  const int64_t least[2] = { extent_least(ir, a), extent_least(ir, b) }, most[2] = { extent_most(ir, a), extent_most(ir, b) };
  Symbol s = { .low = product ? least[0] * least[1] : least[0] + least[1],
               .high = product ? most[0] * most[1] : most[0] + most[1] };
  s.step = product ? ir->extents.p[a].shared * ir->extents.p[b].shared : i64_gcd(step_of_extent(ir, a), step_of_extent(ir, b));
  if (!s.step) s.step = 1;
  if (all->sums == SUMS_MOST || symbol_sizes(&s) > VALUES_MOST) return -1;
  const char *form = product ? "(%s)*(%s)" : "%s+%s";
  const int symbol = all->n + all->sums;
  s.name = arena_printf(&ir->ctx->model, form, extent_text(ir->ctx, ir, a), extent_text(ir->ctx, ir, b));
  all->p[symbol] = s;
  all->sums++;
  Extent e = extent_of_symbol(ir, symbol);
  e.of = a;
  e.most = INT64_MAX;
  e.by = product ? 1 + b : -1 - b;
  VEC_PUSH(&ir->extents, e);
  return (int)ir->extents.n - 1;
}

/* Adds a row for the sum or the product of two extents of one symbol. */
static int row_of_symbol(IR *ir, int a, int b, bool product) {
  const Extent *x = &ir->extents.p[a], *y = &ir->extents.p[b];
  Extent e = { .of = a, .times = 1, .over = 1, .most = INT64_MAX, .by = product ? 1 + b : -1 - b, .symbol = x->symbol };
  int64_t *at = ARENA_NEW(&ir->ctx->model, int64_t, runs(ir, a));
  for (int64_t i = 0; i < runs(ir, a); i++) {
    at[i] = product ? x->at[i] * y->at[i] : x->at[i] + y->at[i];
    e.shared = i64_gcd(e.shared, at[i]);
  }
  e.at = at;
  VEC_PUSH(&ir->extents, e);
  return (int)ir->extents.n - 1;
}

static int extent_of_two(IR *ir, int a, int b, bool product) {
  const int had = row_of_two(ir, a, b, product);
  const bool one = ir->extents.p[a].symbol == ir->extents.p[b].symbol;
  return had >= 0 ? had : one ? row_of_symbol(ir, a, b, product) : symbol_of_two(ir, a, b, product);
}

int extent_sum(IR *ir, int a, int b) { return extent_of_two(ir, a, b, false); }
int extent_times(IR *ir, int a, int b) { return extent_of_two(ir, a, b, true); }

/* The value of a symbol in a run. No caller sets the value of a sum or a product, which may be 0, or negative if nobody knows it.
 * Its parts are of earlier symbols, so there are at most SUMS_MOST calls in each other. */
static int64_t symbol_in_run(const IR *ir, int symbol, const int64_t *run) {
  if (symbol < ir->symbols.n || run[symbol] > 0) return run[symbol];
  for (size_t i = (size_t)ir->symbols.n; i < ir->extents.n; i++) { /* the first row with this symbol and two parts defines it */
    const Extent *e = &ir->extents.p[i];
    if (!e->by || !e->at || e->symbol != symbol) continue;
    const int64_t a = extent_in_run(ir, e->of, run), b = extent_in_run(ir, extent_other(e), run);
    return e->by > 0 ? a * b : a + b;
  }
  return 0;
}

int64_t extent_in_run(const IR *ir, int extent, const int64_t *run) {
  const Extent *e = &ir->extents.p[extent];
  const Symbol *s = &ir->symbols.p[e->symbol];
  const int64_t size = symbol_in_run(ir, e->symbol, run);
  return e->at[size < s->low ? 0 : (size - s->low) / s->step]; /* a size that the run does not say counts as the least one */
}

int64_t extent_of_formulas(const Extents *all, int symbols, int extent, const int64_t *run) {
  int64_t *at = xcalloc((size_t)extent + (size_t)symbols + 1, sizeof *at);
  for (int i = 0; i < symbols; i++) at[i] = run[i];
  for (int i = symbols; i <= extent; i++) {
    const Extent *e = &all->p[i];
    at[i] = tgcrt_extent_in(&(tgcrt_extent){ e->times, e->plus, e->over, e->most, e->of, e->by }, at);
  }
  const int64_t value = at[extent];
  free(at);
  return value;
}

const char *extent_text(Ctx *c, const IR *ir, int extent) {
  const Extent *e = &ir->extents.p[extent];
  if (extent < ir->symbols.n) return ir->symbols.p[extent].name;
  const char *text = extent_text(c, ir, e->of);
  if (e->by < 0) return arena_printf(&c->model, "%s+%s", text, extent_text(c, ir, extent_other(e)));
  if (e->by) return arena_printf(&c->model, "(%s)*(%s)", text, extent_text(c, ir, extent_other(e)));
  const bool derived = e->of >= ir->symbols.n;
  if (e->times != 1) text = arena_printf(&c->model, derived ? "%lld*(%s)" : "%lld*%s", (long long)e->times, text);
  if (e->plus) text = arena_printf(&c->model, "%s%+lld", text, (long long)e->plus);
  return e->over == 1 ? text : arena_printf(&c->model, e->plus || derived ? "(%s)/%lld" : "%s/%lld", text, (long long)e->over);
}

static void mark_open(const GIO *v, size_t n, int *number) {
  for (size_t i = 0; i < n; i++)
    for (int a = 0; a < v[i].rank; a++)
      if (v[i].open[a]) number[v[i].open[a] - 1] = 1;
}

const int *extents_used(const IR *ir, const Graph *g, int *count) {
  const size_t symbols = (size_t)ir->symbols.n;
  int *number = ARENA_NEW(&ir->ctx->model, int, ir->extents.n + 1);
  memset(number, 0, (ir->extents.n + 1) * sizeof *number);
  *count = 0;
  for (size_t i = 0; i < ir->sizes.n; i++) number[ir->sizes.p[i].of] = 1;
  mark_open(g->inputs.p, g->inputs.n, number);
  mark_open(g->outputs.p, g->outputs.n, number);
  for (size_t i = ir->extents.n; i-- > symbols;) {
    const Extent *e = &ir->extents.p[i];
    if (number[i]) number[e->of] = number[e->by ? extent_other(e) : e->of] = 1;
  }
  for (size_t i = 0; i < ir->extents.n; i++)
    if (i < symbols || number[i]) number[i] = i < symbols ? (int)i : ir->symbols.n + (*count)++;
  return number;
}

static bool rises(const IR *ir, int extent) {
  bool yes = true;
  for (int64_t i = 1; i < runs(ir, extent) && yes; i++) yes = ir->extents.p[extent].at[i - 1] <= ir->extents.p[extent].at[i];
  return yes;
}

/* The part of the sum `sum` that follows from the symbol, and the other part; false: there is none */
static bool parts_of_sum(const IR *ir, int sum, int symbol, int *own, int *other) {
  for (size_t i = (size_t)ir->symbols.n; i < ir->extents.n && sum >= ir->symbols.n; i++) {
    const Extent *e = &ir->extents.p[i];
    if (e->by >= 0 || e->symbol != sum) continue;
    const bool first = ir->extents.p[e->of].symbol == symbol;
    *own = first ? e->of : extent_other(e);
    *other = first ? extent_other(e) : e->of;
    return ir->extents.p[*own].symbol == symbol; /* the first row with two parts defines the sum */
  }
  return false;
}

/* Compares an extent of a sum with one of a symbol that a part of the sum follows from. The other part has its least value, or if
 * `greatest` its greatest one: that is the worst case. */
static bool at_most_beside(const IR *ir, int sum, int64_t of_sum, int part, int64_t of_part, bool greatest) {
  const Extent *x = &ir->extents.p[sum], *y = &ir->extents.p[part];
  const Symbol *s = &ir->symbols.p[x->symbol];
  int own, beside;
  bool yes = parts_of_sum(ir, x->symbol, y->symbol, &own, &beside) && rises(ir, sum);
  const int64_t more = !yes ? 0 : greatest ? extent_most(ir, beside) : extent_least(ir, beside);
  for (int64_t i = 0; i < runs(ir, part) && yes; i++) {
    const int64_t all = x->at[(ir->extents.p[own].at[i] + more - s->low) / s->step] * of_sum, some = y->at[i] * of_part;
    yes = greatest ? all <= some : some <= all;
  }
  return yes;
}

/* In every run in which extent `count` is not 0, a * times is at most b * more. count -1: in every run */
static bool always_at_most(const IR *ir, int a, int64_t times, int b, int64_t more, int count) {
  const Extent *x = &ir->extents.p[a], *y = &ir->extents.p[b], *n = count < 0 ? NULL : &ir->extents.p[count];
  if (x->symbol != y->symbol)
    return extent_most(ir, a) * times <= extent_least(ir, b) * more || at_most_beside(ir, b, more, a, times, false) ||
           at_most_beside(ir, a, times, b, more, true);
  if (n && n->symbol != x->symbol) n = NULL;
  bool yes = true;
  for (int64_t i = 0; i < runs(ir, a) && yes; i++) yes = (n && n->at[i] < 1) || x->at[i] * times <= y->at[i] * more;
  return yes;
}

bool extent_at_most(const IR *ir, int a, int b) { return always_at_most(ir, a, 1, b, 1, -1); }
bool extent_at_most_if(const IR *ir, int a, int b, int count) { return always_at_most(ir, a, 1, b, 1, count); }
bool extent_is_constant(const IR *ir, int extent) { return extent_least(ir, extent) == extent_most(ir, extent); }

/* ---- sizes ---- */
tgcrt_size size_all(int64_t times, int of) { return (tgcrt_size){ times, 1, 1, TGCRT_SIZE_ALL, of }; }

int size_number(IR *ir, tgcrt_size s) {
  for (size_t i = 0; i < ir->sizes.n; i++) {
    const tgcrt_size *x = &ir->sizes.p[i];
    if (x->rule == s.rule && x->times == s.times && x->tile == s.tile && x->height == s.height && x->of == s.of) return (int)i;
  }
  if (ir->sizes.n == SIZES_MOST) fail(ir->ctx, EX_BADMODEL, "the model needs more than %d sizes in a run", SIZES_MOST);
  VEC_PUSH(&ir->sizes, s);
  return (int)ir->sizes.n - 1;
}

int64_t size_in_run(const IR *ir, int number, const int64_t *run) {
  const tgcrt_size *s = &ir->sizes.p[number];
  return tgcrt_size_of(s, extent_in_run(ir, s->of, run));
}

int64_t greatest_size(const IR *ir, int number) {
  const tgcrt_size *s = &ir->sizes.p[number];
  int64_t most = 0;
  for (int64_t i = 0; i < runs(ir, s->of); i++) {
    const int64_t size = tgcrt_size_of(s, ir->extents.p[s->of].at[i]);
    if (size > most) most = size;
  }
  return most;
}

Ref size_value(IR *ir, int number) {
  const int64_t arg[2] = { number, greatest_size(ir, number) };
  return node_make(ir, OP_SIZE, DT_I64, 1, 0, NULL, 2, arg, 0, NULL);
}

/* ---- bounds of indices ---- */
/* Bounds of an op on two values with bounds x and y; false: not known */
static bool bounds_of(Op op, const int64_t x[2], const int64_t y[2], int64_t out[2]) {
  const bool constant = y[0] == y[1];
  switch (op) {
  case OP_ADD: out[0] = x[0] + y[0], out[1] = x[1] + y[1]; return true;
  case OP_SUB: out[0] = x[0] - y[1], out[1] = x[1] - y[0]; return true;
  case OP_MIN: out[0] = x[0] < y[0] ? x[0] : y[0], out[1] = x[1] < y[1] ? x[1] : y[1]; return true;
  case OP_MAX: out[0] = x[0] > y[0] ? x[0] : y[0], out[1] = x[1] > y[1] ? x[1] : y[1]; return true;
  case OP_MUL:
    if (!constant) return x[0] == x[1] && bounds_of(op, y, x, out);
    out[0] = x[y[0] < 0] * y[0], out[1] = x[y[0] >= 0] * y[0];
    return true;
  case OP_FLDIV:
    if (!constant || y[0] < 1 || x[0] < 0) return false;
    out[0] = x[0] / y[0], out[1] = x[1] / y[0];
    return true;
  case OP_FLMOD: /* within one period */
    if (!constant || y[0] < 1) return false;
    out[0] = x[0] >= 0 && x[0] / y[0] == x[1] / y[0] ? x[0] % y[0] : 0;
    out[1] = x[0] >= 0 && x[0] / y[0] == x[1] / y[0] ? x[1] % y[0] : y[0] - 1;
    return true;
  default: return false;
  }
}

static bool is_arithmetic_of_two(const Node *x) {
  return x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL || x->op == OP_MIN || x->op == OP_MAX || x->op == OP_FLDIV ||
         x->op == OP_FLMOD;
}

/* The size is known: the run has its symbol. */
static bool size_is_set(const IR *ir, int number, const int64_t *run) {
  const int symbol = ir->extents.p[ir->sizes.p[number].of].symbol;
  bool parts = symbol >= ir->symbols.n;
  for (int k = 0; k < ir->symbols.n && parts; k++) parts = run[k] > 0;
  return run[symbol] > 0 || parts;
}

/* An operand of x with bounds that are known; *other: the other one. 0: there is none, or x is another op */
static Ref known_operand(const IR *ir, const Node *x, Op op, const int64_t *run, int64_t iota, int64_t bounds[2], Ref *other) {
  Ref found = 0;
  for (int k = 0; x->op == op && k < 2 && !found; k++) {
    *other = x->src[1 - k];
    if (index_in_run(ir, x->src[k], run, iota, &bounds[0], &bounds[1])) found = x->src[k];
  }
  return found;
}

/* MIN(MAX(any number, least), most), or MAX(MIN(any number, most), least) */
static bool clamped_in_run(const IR *ir, const Node *x, const int64_t *run, int64_t iota, int64_t out[2]) {
  const bool outer = x->op == OP_MAX;
  int64_t bound[2][2]; /* [0]: least, [1]: most */
  Ref rest, any;
  if (!known_operand(ir, x, outer ? OP_MAX : OP_MIN, run, iota, bound[!outer], &rest)) return false;
  if (!known_operand(ir, node(ir, view_base(ir, rest)), outer ? OP_MIN : OP_MAX, run, iota, bound[outer], &any)) return false;
  const int64_t *in = bound[outer], *last = bound[!outer]; /* bounds of the inner clamp, and of the outer one */
  out[0] = outer || last[0] < in[0] ? last[0] : in[0];
  out[1] = !outer || last[1] > in[1] ? last[1] : in[1];
  return true;
}

bool index_in_run(const IR *ir, Ref r, const int64_t *run, int64_t iota, int64_t *least, int64_t *most) {
  const int64_t far = INT64_C(1) << 40; /* sums and products of such numbers do not overflow */
  const Node *x = node(ir, r);
  int64_t a[2], b[2], out[2] = { 0, 0 };
  bool known = true;
  switch ((Op)x->op) {
  case OP_CONST: out[0] = out[1] = const_value(x); break;
  case OP_SIZE:
    out[0] = x->vmin, out[1] = x->vmax;
    if (size_is_set(ir, (int)size_id(x), run)) out[0] = out[1] = size_in_run(ir, (int)size_id(x), run);
    break;
  case OP_RANGE: {
    const int limit = (int)range_limit(x) - 1;
    out[1] = (limit >= 0 && size_is_set(ir, limit, run) ? size_in_run(ir, limit, run) : range_extent(x)) - 1;
    break;
  }
  case OP_IOTA: out[1] = (iota && iota < x->dims[0] ? iota : x->dims[0]) - 1; break;
  case OP_RESHAPE:
  case OP_EXPAND: known = index_in_run(ir, operand(x), run, iota, &out[0], &out[1]); break;
  default:
    known = is_arithmetic_of_two(x) && index_in_run(ir, lhs(x), run, iota, &a[0], &a[1]) &&
            index_in_run(ir, rhs(x), run, iota, &b[0], &b[1]) &&
            (x->op != OP_MUL || (llabs(b[1]) < far / 1024 && llabs(a[0]) < 1024 * far)) && bounds_of((Op)x->op, a, b, out);
    if (!known) known = clamped_in_run(ir, x, run, iota, out);
    if (!known && x->vmin > -far && x->vmax < far) out[0] = x->vmin, out[1] = x->vmax, known = true;
  }
  *least = out[0];
  *most = out[1];
  return known && out[0] > -far * 1024 && out[1] < far * 1024;
}

/* ---- conditions on elements ---- */
/* One form for equal conditions: entries that always come together are one entry. */
static Need plainest(IR *ir, Need is) {
  const int64_t together = i64_gcd(is.extent, ir->extents.p[is.of].shared);
  if (together <= 1) return is;
  const int of = extent_make(ir, (Extent){ .of = is.of, .times = 1, .over = together, .most = is.extent / together });
  return (Need){ is.inner * together, is.extent / together, of, is.behind / together };
}

static bool holds_for_all(const IR *ir, const Need *is) { return extent_least(ir, is->of) >= is->extent; }

/* The condition is on a value without elements. */
static bool about_nothing(const Need *is) { return !is->inner || !is->extent; }

/* The condition on entries of the same axis; NULL: there is none */
static const Need *needed_like(const Needed *all, const Need *is) {
  for (int k = 0; k < all->n; k++)
    if (all->is[k].inner * all->is[k].extent == is->inner * is->extent) return &all->is[k];
  return NULL;
}

bool needed_add(IR *ir, Needed *to, Need is) {
  if (about_nothing(&is)) return false;
  is = plainest(ir, is);
  if (to->n == NEEDED_MOST || holds_for_all(ir, &is) || needed_like(to, &is)) return false;
  to->is[to->n++] = is;
  return true;
}

void needed_only(IR *ir, Needed *to, Need is) {
  if (about_nothing(&is)) return;
  is = plainest(ir, is);
  Need *had = (Need *)(uintptr_t)needed_like(to, &is);
  if (had) *had = is;
  else needed_add(ir, to, is);
}

/* In every run, a asks for at most as many elements as b. */
static bool asks_at_most(const IR *ir, const Need *a, const Need *b) {
  return always_at_most(ir, a->of, a->inner, b->of, b->inner, -1);
}

Needed needed_both(const IR *ir, const Needed *a, const Needed *b) {
  Needed both = { 0 };
  for (int k = 0; k < a->n; k++) {
    const Need *one = &a->is[k], *two = needed_like(b, one);
    if (two && asks_at_most(ir, one, two)) both.is[both.n++] = *two;
    else if (two && asks_at_most(ir, two, one)) both.is[both.n++] = *one;
  }
  return both;
}

bool needed_same(const Needed *a, const Needed *b) {
  bool same = a->n == b->n;
  for (int k = 0; k < a->n && same; k++) {
    const Need *other = needed_like(b, &a->is[k]);
    same = other && other->of == a->is[k].of && other->inner == a->is[k].inner;
  }
  return same;
}

/* ---- ranges that end ---- */
Ref range_limited(IR *ir, int64_t extent, int number, RangeKind kind) {
  const int64_t arg[4] = { extent, ir->next_range++, kind, number + 1 };
  return node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 4, arg, 0, NULL);
}

bool range_runs_once(const IR *ir, const Node *range) {
  const int64_t limit = range_limit(range);
  return limit && range_extent(range) == 1 && range_kind(range) == RK_LOOP && greatest_size(ir, (int)limit - 1) <= 1;
}

Ref range_again(IR *ir, const Node *range) {
  const int64_t limit = range_limit(range);
  return limit ? range_limited(ir, range_extent(range), (int)limit - 1, range_kind(range))
               : range_new(ir, range_extent(range), range_kind(range));
}

/* SPDX-License-Identifier: MIT */
/* algebra.c: index expressions, i64 scalars over ranges, kept canonical and small.
 *
 * An expression is taken apart into a Sum: a constant, and terms (anything that is not a sum) with integer coefficients. All
 * rules work on Sums. The result is put together again as a chain of ADDs, sorted by structure (node_order.c), so equal sums
 * are the same node.
 *
 * Laws of sums and of products by constants hold in the ring of 64-bit integers, even where values wrap. Laws of division,
 * remainder and comparison do not. Their rules apply only where the bounds of all terms are known and small (SAFE). Then
 * neither the sum nor a part of it can wrap. Otherwise the expression stays as it was requested.
 *
 * needs: i64 scalars over ranges    gives: equal expressions, canonical    keeps: the value at each point */
#include "ir.h"
#include "refmap.h"
#include "span.h"
#include <string.h>

enum {
  MAX_TERMS = 32, /* terms of a sum; the tail of a longer one stays one term */
  MAX_STEPS = 4 * MAX_TERMS, /* nodes visited to take one sum apart */
  MAX_DEPTH = 64  /* rules applied to results of rules */
};
static const int64_t SAFE = INT64_C(1) << 60; /* magnitude; a sum of two such values is far from wrapping */

typedef struct Term { Ref r; int64_t k; } Term;
typedef struct Sum {
  int n;
  int64_t c;
  Term t[MAX_TERMS]; /* sorted by node_order; k != 0 */
} Sum;

static int64_t floormod(int64_t a, int64_t m) { return a % m + (a % m < 0 ? m : 0); }

Ref ix_const(IR *ir, int64_t v) { return c_bits(ir, DT_I64, v); }
static Ref truth(IR *ir, bool v) { return c_bits(ir, DT_BOOL, v); }
static Ref binary(IR *ir, Op op, DType d, Ref a, Ref b) { return node_make(ir, op, d, 1, 2, (Ref[]){ a, b }, 0, NULL, 0, NULL); }

/* r, or a constant if its bounds leave one value */
static Ref folded(IR *ir, Ref r) {
  const Node *x = node(ir, r);
  return x->vmin == x->vmax ? c_bits(ir, (DType)x->dt, x->vmin) : r;
}

static bool int_const(const IR *ir, Ref r, int64_t *v) {
  const Node *x = node(ir, r);
  if (x->op != OP_CONST || x->dt != DT_I64) return false;
  *v = const_value(x);
  return true;
}

/* r is op(x, m) with a constant m > 1 */
static bool by_const(const IR *ir, Ref r, Op op, Ref *x, int64_t *m) {
  const Node *n = node(ir, r);
  if (n->op != op || n->dt != DT_I64 || !int_const(ir, rhs(n), m) || *m <= 1) return false;
  *x = lhs(n);
  return true;
}

/* ---- sums ---- */
static bool sum_term(const IR *ir, Sum *s, Ref r, int64_t k) { /* s += k * r; false: no room, or k overflows */
  int i = s->n;
  while (i > 0 && s->t[i - 1].r != r && node_order(ir, s->t[i - 1].r, r) > 0) i--;
  if (i > 0 && s->t[i - 1].r == r) {
    i--;
    if (!i64_add(s->t[i].k, k, &s->t[i].k)) return false;
    if (!s->t[i].k) memmove(&s->t[i], &s->t[i + 1], (size_t)(--s->n - i) * sizeof s->t[0]);
    return true;
  }
  if (!k) return true;
  if (s->n == MAX_TERMS) return false;
  memmove(&s->t[i + 1], &s->t[i], (size_t)(s->n++ - i) * sizeof s->t[0]);
  s->t[i] = (Term){ r, k };
  return true;
}

/* s += k * r, with r taken apart; after false, s is invalid. Work is bounded: in a sum that shares parts many times, or is very
 * long, some terms stay sums. */
static bool sum_add(const IR *ir, Sum *s, Ref r, int64_t k) {
  Term stack[MAX_TERMS + 2];
  int n = 0, steps = 0;
  stack[n++] = (Term){ r, k };
  while (n) {
    Term t = stack[--n];
    const Node *x = node(ir, t.r);
    int64_t c, part;
    if (x->vmin == x->vmax) {
      if (!i64_mul(t.k, x->vmin, &c) || !i64_add(s->c, c, &s->c)) return false;
      continue;
    }
    bool open = x->dt == DT_I64 && n + 2 <= MAX_TERMS && ++steps <= MAX_STEPS;
    if (open && x->op == OP_ADD) {
      stack[n++] = (Term){ lhs(x), t.k };
      stack[n++] = (Term){ rhs(x), t.k };
    } else if (open && x->op == OP_SUB && i64_mul(t.k, -1, &part)) {
      stack[n++] = (Term){ lhs(x), t.k };
      stack[n++] = (Term){ rhs(x), part };
    } else if (open && x->op == OP_MUL && int_const(ir, rhs(x), &c) && i64_mul(t.k, c, &part)) {
      stack[n++] = (Term){ lhs(x), part };
    } else if (open && x->op == OP_MUL && int_const(ir, lhs(x), &c) && i64_mul(t.k, c, &part)) {
      stack[n++] = (Term){ rhs(x), part };
    } else if (open && x->op == OP_NEG && i64_mul(t.k, -1, &part)) {
      stack[n++] = (Term){ operand(x), part };
    } else if (!sum_term(ir, s, t.r, t.k)) {
      return false;
    }
  }
  return true;
}

static bool sum_add_sum(const IR *ir, Sum *s, const Sum *x, int64_t k) {
  int64_t part;
  for (int i = 0; i < x->n; i++)
    if (!i64_mul(x->t[i].k, k, &part) || !sum_term(ir, s, x->t[i].r, part)) return false;
  return i64_mul(x->c, k, &part) && i64_add(s->c, part, &s->c);
}

/* d is floor(y / m) in canonical form */
static bool is_quotient(const IR *ir, Ref d, Ref y, int64_t m) {
  Ref z, inner;
  int64_t all, first, both;
  if (!by_const(ir, d, OP_FLDIV, &z, &all)) return false;
  if (z == y) return all == m;
  return by_const(ir, y, OP_FLDIV, &inner, &first) && inner == z && i64_mul(first, m, &both) && both == all;
}

static Ref remainder_of(IR *ir, Ref y, int64_t m) {
  const Node *x = node(ir, y);
  return x->vmin >= 0 && x->vmax < m ? y : binary(ir, OP_FLMOD, DT_I64, y, ix_const(ir, m));
}

/* Combines quotients and remainders of the same value:
 *   k*m * (y / m) + k * (y % m)            ->  k * y
 *   k*m * ((y / m) % b) + k * (y % m)      ->  k * (y % (m * b))
 * Each application removes a division, so this terminates. */
static void recombine(IR *ir, Sum *s) {
  for (int i = 0; i < s->n; i++) {
    Ref y, d;
    int64_t m, b, k = s->t[i].k, km, mb;
    if (!by_const(ir, s->t[i].r, OP_FLMOD, &y, &m) || !i64_mul(k, m, &km)) continue;
    for (int j = 0; j < s->n; j++) {
      if (s->t[j].k != km) continue;
      Sum next = *s;
      bool done = false;
      if (is_quotient(ir, s->t[j].r, y, m))
        done = sum_term(ir, &next, s->t[i].r, -k) && sum_term(ir, &next, s->t[j].r, -km) && sum_add(ir, &next, y, k);
      else if (by_const(ir, s->t[j].r, OP_FLMOD, &d, &b) && is_quotient(ir, d, y, m) && i64_mul(m, b, &mb))
        done = sum_term(ir, &next, s->t[i].r, -k) && sum_term(ir, &next, s->t[j].r, -km) &&
               sum_add(ir, &next, remainder_of(ir, y, mb), k);
      if (!done) continue;
      *s = next;
      i = -1; /* terms moved: start over */
      break;
    }
  }
}

static Ref sum_build(IR *ir, Sum *s) {
  recombine(ir, s);
  Ref r = 0;
  for (int i = 0; i < s->n; i++) {
    Ref t = s->t[i].k == 1 ? s->t[i].r : binary(ir, OP_MUL, DT_I64, s->t[i].r, ix_const(ir, s->t[i].k));
    r = r ? binary(ir, OP_ADD, DT_I64, r, t) : t;
  }
  if (!r) return ix_const(ir, s->c);
  return folded(ir, s->c ? binary(ir, OP_ADD, DT_I64, r, ix_const(ir, s->c)) : r);
}

/* Bounds of s. False if they are unknown, or if the magnitudes of the terms add up to more than the limit. */
static bool sum_span(const IR *ir, const Sum *s, int64_t limit, Span *out) {
  int64_t total = s->c < 0 ? -(s->c + 1) : s->c;
  if (total > limit) return false;
  *out = (Span){ s->c, s->c };
  for (int i = 0; i < s->n; i++) {
    const Node *x = node(ir, s->t[i].r);
    int64_t a, b;
    if (x->vmin == INT64_MIN || x->vmax == INT64_MAX) return false;
    if (!i64_mul(s->t[i].k, x->vmin, &a) || !i64_mul(s->t[i].k, x->vmax, &b)) return false;
    int64_t lo = a < b ? a : b, hi = a < b ? b : a;
    if (lo < -limit || hi > limit) return false;
    total += -lo > hi ? -lo : hi > 0 ? hi : 0;
    if (total > limit) return false;
    out->lo += lo;
    out->hi += hi;
  }
  return true;
}

Ref ix_add(IR *ir, Ref a, Ref b) {
  Sum s = { 0 };
  return sum_add(ir, &s, a, 1) && sum_add(ir, &s, b, 1) ? sum_build(ir, &s) : folded(ir, binary(ir, OP_ADD, DT_I64, a, b));
}

Ref ix_sub(IR *ir, Ref a, Ref b) {
  Sum s = { 0 };
  return sum_add(ir, &s, a, 1) && sum_add(ir, &s, b, -1) ? sum_build(ir, &s) : folded(ir, binary(ir, OP_SUB, DT_I64, a, b));
}

Ref ix_mul(IR *ir, Ref a, int64_t k) {
  Sum s = { 0 };
  return sum_add(ir, &s, a, k) ? sum_build(ir, &s) : folded(ir, binary(ir, OP_MUL, DT_I64, a, ix_const(ir, k)));
}

/* ---- quotients and remainders ---- */
static Ref plain(IR *ir, Op op, Ref a, int64_t m) { return folded(ir, binary(ir, op, DT_I64, a, ix_const(ir, m))); }

/* Splits s = g * high + low, where high has the terms that g divides, and 0 <= low < g by bounds. False: s stays unchanged. */
static bool split_at(const IR *ir, Sum *s, int64_t g, Sum *low) {
  Sum high = { .n = 0 }, rest = { .c = s->c };
  Span v;
  for (int i = 0; i < s->n; i++) {
    Sum *to = s->t[i].k % g ? &rest : &high;
    to->t[to->n++] = (Term){ s->t[i].r, to == &high ? s->t[i].k / g : s->t[i].k };
  }
  if (!sum_span(ir, &rest, 2 * SAFE, &v) || i64_floor_div(v.lo, g) != i64_floor_div(v.hi, g)) return false;
  high.c = i64_floor_div(v.lo, g);
  rest.c -= high.c * g;
  *s = high;
  *low = rest;
  return true;
}

/* Divides a SAFE s = m * q + g * s' + low, where g divides m and 0 <= low < g; s becomes s'. So
 *   s / m = q + s' / (m / g)    and    s % m = g * (s' % (m / g)) + low.
 * Returns g: 1 if nothing more can be split off, m if s' is 0. */
static int64_t peel(const IR *ir, Sum *s, int64_t m, Sum *q, Sum *low) {
  Sum rest = { .c = floormod(s->c, m) };
  *q = (Sum){ .c = i64_floor_div(s->c, m) };
  *low = (Sum){ 0 };
  for (int i = 0; i < s->n; i++) {
    int64_t k = s->t[i].k;
    if (k / m) q->t[q->n++] = (Term){ s->t[i].r, k / m };
    if (k % m) rest.t[rest.n++] = (Term){ s->t[i].r, k % m };
  }
  *s = rest;
  Span v;
  bool safe = sum_span(ir, s, 2 * SAFE, &v);
  CHECK(safe); /* coefficients only came closer to 0 */
  if (i64_floor_div(v.lo, m) == i64_floor_div(v.hi, m)) {
    int64_t f = i64_floor_div(v.lo, m);
    *low = *s;
    low->c -= f * m;
    q->c += f;
    *s = (Sum){ 0 };
    return m;
  }
  for (int64_t below = m;;) { /* common divisors of m and a coefficient, greatest first */
    int64_t g = 1;
    for (int i = 0; i < s->n; i++) {
      int64_t d = i64_gcd(s->t[i].k, m);
      if (d < below && d > g) g = d;
    }
    if (g == 1 || split_at(ir, s, g, low)) return g;
    below = g;
  }
}

/* floor(a / m): first what bounds and common factors decide, then the rules for divisions of a quotient or a remainder. */
static Ref mod_at(IR *ir, Ref a, int64_t m);
static Ref div_at(IR *ir, Ref a, const int64_t whole, int depth) {
  Sum s = { 0 }, out = { 0 }, q, low;
  int64_t m = whole, g = 0, by, both, shift;
  Span v;
  if (m == 1) return a;
  bool safe = m <= SAFE && sum_add(ir, &s, a, 1) && sum_span(ir, &s, SAFE, &v);
  if (!safe) s = (Sum){ .n = 1, .t = { { a, 1 } } };
  while (safe && g != 1) {
    g = peel(ir, &s, m, &q, &low);
    if (!sum_add_sum(ir, &out, &q, 1)) return plain(ir, OP_FLDIV, a, whole);
    if (g == m) return sum_build(ir, &out);
    m /= g;
  }
  Ref x, core = 0;
  if (s.n == 1 && s.t[0].k == 1 && depth < MAX_DEPTH) {
    if (by_const(ir, s.t[0].r, OP_FLDIV, &x, &by) && i64_mul(by, m, &both) && i64_mul(s.c, by, &shift)) {
      Sum in = { .c = shift }; /* (x / by + c) / m = (x + c * by) / (by * m) */
      if (!s.c) core = div_at(ir, x, both, depth + 1);
      else if (sum_add(ir, &in, x, 1) && sum_span(ir, &in, SAFE, &v)) core = div_at(ir, sum_build(ir, &in), both, depth + 1);
    } else if (!s.c && by_const(ir, s.t[0].r, OP_FLMOD, &x, &by) && by % m == 0) {
      core = mod_at(ir, div_at(ir, x, m, depth + 1), by / m); /* (x % (m * n)) / m = (x / m) % n */
    }
  }
  if (!core) core = plain(ir, OP_FLDIV, safe ? sum_build(ir, &s) : a, m);
  if (!out.n && !out.c) return core;
  return sum_add(ir, &out, core, 1) ? sum_build(ir, &out) : plain(ir, OP_FLDIV, a, whole);
}

/* If m divides k * m * n, k * (x % (m * n)) differs from k * x by a multiple of m. Replaces one such term of s. */
static bool open_remainder(const IR *ir, Sum *s, int64_t m) {
  for (int i = 0; i < s->n; i++) {
    Ref x;
    int64_t by, k = s->t[i].k, all;
    Span v;
    Sum next = *s;
    if (!by_const(ir, s->t[i].r, OP_FLMOD, &x, &by) || !i64_mul(k, by, &all) || all % m) continue;
    if (!sum_term(ir, &next, s->t[i].r, -k) || !sum_add(ir, &next, x, k) || !sum_span(ir, &next, SAFE, &v)) continue;
    *s = next;
    return true;
  }
  return false;
}

static Ref mod_at(IR *ir, Ref a, const int64_t whole) {
  Sum s = { 0 }, out = { 0 }, q, low;
  int64_t m = whole, scale = 1;
  Span v;
  if (m == 1) return ix_const(ir, 0);
  if (m > SAFE || !sum_add(ir, &s, a, 1) || !sum_span(ir, &s, SAFE, &v)) return plain(ir, OP_FLMOD, a, m);
  for (int step = 0;;) {
    int64_t g = peel(ir, &s, m, &q, &low);
    if (!sum_add_sum(ir, &out, &low, scale)) return plain(ir, OP_FLMOD, a, whole);
    if (g == m) return sum_build(ir, &out);
    scale *= g;
    m /= g;
    if (g == 1 && (step++ == MAX_DEPTH || !open_remainder(ir, &s, m))) break;
  }
  Ref core = plain(ir, OP_FLMOD, sum_build(ir, &s), m);
  return sum_add(ir, &out, core, scale) ? sum_build(ir, &out) : plain(ir, OP_FLMOD, a, whole);
}

Ref ix_div(IR *ir, Ref a, int64_t k) {
  CHECK(k > 0);
  return div_at(ir, a, k, 0);
}

Ref ix_mod(IR *ir, Ref a, int64_t k) {
  CHECK(k > 0);
  return mod_at(ir, a, k);
}

/* ---- comparisons and gates ---- */

/* Tries to write the terms of s as g * high + low, and s < 0 as a condition on high alone. */
static bool coarser(const IR *ir, Sum *s, int64_t g) {
  Sum t = *s, low;
  Span v;
  int64_t limit = -s->c; /* terms < limit */
  t.c = 0;
  if (g <= 1 || !split_at(ir, &t, g, &low) || !t.n || !sum_span(ir, &low, 2 * SAFE + 1, &v)) return false;
  /* g * t + low < limit: t < limit / g decides unless low reaches across limit % g */
  int64_t part = floormod(limit, g), up;
  if (v.hi < part) up = 1;
  else if (v.lo >= part) up = 0;
  else return false;
  t.c -= i64_floor_div(limit, g) + up;
  *s = t;
  return true;
}

/* s < 0, simplified: bounds; common factors, also where a small part cannot matter; quotients multiplied out. Negative terms
 * end on the right. */
static Ref below_zero(IR *ir, Sum *s) {
  for (int step = 0; step < MAX_DEPTH; step++) {
    Span v;
    if (!sum_span(ir, s, 2 * SAFE + 1, &v)) break;
    if (v.hi < 0 || v.lo >= 0) return truth(ir, v.hi < 0);
    bool changed = false;
    int64_t all = 0, m, bound;
    for (int i = 0; i < s->n; i++) all = i64_gcd(all, s->t[i].k);
    changed = coarser(ir, s, all);
    for (int64_t under = INT64_MAX; !changed;) { /* other factors, greatest first */
      int64_t g = 1;
      for (int i = 0; i < s->n; i++) {
        int64_t k = s->t[i].k < 0 ? -s->t[i].k : s->t[i].k;
        if (k < under && k > g) g = k;
      }
      if (g == 1) break;
      changed = coarser(ir, s, g);
      under = g;
    }
    Ref x;
    if (!changed && s->n == 1 && by_const(ir, s->t[0].r, OP_FLDIV, &x, &m)) {
      bool up = s->t[0].k == 1; /* x / m < -c: x < -c * m. Or -(x / m) < -c: -x < -c * m - m + 1 */
      Sum next = { 0 };
      if ((up || s->t[0].k == -1) && i64_mul(s->c, m, &bound) && (up || i64_add(bound, m - 1, &bound))) {
        next.c = bound;
        changed = sum_add(ir, &next, x, s->t[0].k) && sum_span(ir, &next, SAFE, &v);
        if (changed) *s = next;
      }
    }
    if (!changed) break;
  }
  Sum side[2] = { 0 };
  for (int i = 0; i < s->n; i++) {
    bool right = s->t[i].k < 0;
    side[right].t[side[right].n++] = (Term){ s->t[i].r, right ? -s->t[i].k : s->t[i].k };
  }
  if (side[0].n) side[1].c = -s->c;
  else side[0].c = s->c;
  Ref left = sum_build(ir, &side[0]);
  return folded(ir, binary(ir, OP_CMPLT, DT_BOOL, left, sum_build(ir, &side[1])));
}

/* a + c < b, where c is 0 or -1: CMPLT or CMPLE. Each side must be SAFE by itself, since terms that could wrap must not cancel.
 */
static Ref compare(IR *ir, Ref a, Ref b, int64_t c) {
  Sum s = { 0 }, right = { 0 };
  Span v;
  if (a == b) return truth(ir, c < 0);
  if (sum_add(ir, &s, a, 1) && sum_span(ir, &s, SAFE, &v) && sum_add(ir, &right, b, 1) && sum_span(ir, &right, SAFE, &v) &&
      sum_add_sum(ir, &s, &right, -1)) {
    s.c += c;
    return below_zero(ir, &s);
  }
  return folded(ir, binary(ir, c ? OP_CMPLE : OP_CMPLT, DT_BOOL, a, b));
}

Ref ix_lt(IR *ir, Ref a, Ref b) { return compare(ir, a, b, 0); }

/* r is e < limit or limit < e, with a constant limit */
static bool half_open(const IR *ir, Ref r, Ref *e, int64_t *limit, bool *above) {
  const Node *x = node(ir, r);
  if (x->op != OP_CMPLT) return false;
  *above = int_const(ir, lhs(x), limit);
  *e = x->src[*above];
  return *above || int_const(ir, rhs(x), limit);
}

/* Adds the condition r to p[0..*n), which is sorted by node_order; false: the conjunction is false. */
static bool conjoin(const IR *ir, Ref *p, int *n, Ref r) {
  Ref e, f;
  int64_t limit, other;
  bool above, up, bounded = half_open(ir, r, &e, &limit, &above);
  for (int i = 0; i < *n; i++) {
    if (p[i] == r) return true;
    if (!bounded || !half_open(ir, p[i], &f, &other, &up) || e != f) continue;
    if (up != above) {
      int64_t lo = up ? other : limit, hi = up ? limit : other;
      if (lo >= hi || lo == hi - 1) return false; /* no value satisfies both */
      continue;
    }
    if (above ? other >= limit : other <= limit) return true; /* p[i] implies r */
    memmove(&p[i], &p[i + 1], (size_t)(--*n - i) * sizeof *p);
    i--;
  }
  int i = (*n)++;
  for (; i > 0 && node_order(ir, p[i - 1], r) > 0; i--) p[i] = p[i - 1];
  p[i] = r;
  return true;
}

Ref ix_and(IR *ir, Ref a, Ref b) {
  Ref p[2 * MAX_TERMS], stack[2 * MAX_TERMS];
  int n = 0, depth = 0, steps = 0;
  if (a) stack[depth++] = a;
  if (b) stack[depth++] = b;
  while (depth) {
    Ref r = stack[--depth];
    const Node *x = node(ir, r);
    if (x->vmin == 1 && x->vmax == 1) continue;
    if (x->vmin == 0 && x->vmax == 0) return truth(ir, false);
    if (x->op == OP_AND && depth + 2 <= 2 * MAX_TERMS && ++steps < MAX_TERMS) {
      stack[depth++] = lhs(x);
      stack[depth++] = rhs(x);
    } else if (!conjoin(ir, p, &n, r)) {
      return truth(ir, false);
    }
  }
  Ref r = n ? p[0] : 0;
  for (int i = 1; i < n; i++) r = binary(ir, OP_AND, DT_BOOL, r, p[i]);
  return r;
}

Ref ix_in(IR *ir, Ref a, int64_t lo, int64_t hi) {
  Ref above = lo == INT64_MIN ? 0 : ix_lt(ir, ix_const(ir, lo - 1), a);
  return ix_and(ir, above, ix_lt(ir, a, ix_const(ir, hi)));
}

/* ---- visiting expressions ---- */
/* A node is made after its sources, so nodes older than range cannot use it. Most of an expression is never visited. */
bool ix_uses(const IR *ir, Ref a, Ref range) {
  VEC(Ref) stack = { 0 };
  RefMap seen = { 0 };
  VEC_PUSH(&stack, a);
  bool found = false;
  while (stack.n && !found) {
    Ref r = stack.p[--stack.n];
    found = r == range;
    if (r <= range || refmap_get(&seen, r)) continue;
    refmap_set(&seen, r, r);
    const Node *x = node(ir, r);
    for (int i = 0; i < x->nsrc; i++) VEC_PUSH(&stack, x->src[i]);
  }
  VEC_FREE(&stack);
  refmap_free(&seen);
  return found;
}

bool ix_loads(const IR *ir, Ref a) {
  Refs all = { 0 };
  bool any = false;
  ir_toposort(ir, &a, 1, &all);
  for (size_t i = 0; i < all.n && !any; i++) any = node(ir, all.p[i])->op == OP_LOAD;
  VEC_FREE(&all);
  return any;
}

bool ix_split(IR *ir, Ref a, Ref range, int64_t *coef, Ref *rest) {
  Sum s = { 0 };
  int64_t k = 0;
  if (!sum_add(ir, &s, a, 1)) s = (Sum){ .n = 1, .t = { { a, 1 } } };
  for (int i = 0; i < s.n; i++)
    if (s.t[i].r == range) k = s.t[i].k;
    else if (ix_uses(ir, s.t[i].r, range)) return false;
  if (k && (k == INT64_MIN || !sum_term(ir, &s, range, -k))) return false;
  *coef = k;
  *rest = sum_build(ir, &s);
  return true;
}

static Ref least_or_greatest(IR *ir, Op op, Ref a, Ref b) {
  const Node *x = node(ir, a), *y = node(ir, b);
  if (x->vmax <= y->vmin) return op == OP_MIN ? a : b;
  if (y->vmax <= x->vmin) return op == OP_MIN ? b : a;
  return folded(ir, binary(ir, op, DT_I64, a, b));
}

/* r with new sources, simplified if it is an index, a gate or gated */
static Ref rebuild(IR *ir, Ref r, const Ref *s) {
  const Node *x = node(ir, r), *s0 = node(ir, x->nsrc ? s[0] : 0);
  int64_t k;
  if (x->lanes != 1 || x->rank) return node_with_src(ir, r, s);
  bool i64 = x->dt == DT_I64, of_i64 = s0->dt == DT_I64;
  switch ((Op)x->op) {
  case OP_ADD: if (i64) return ix_add(ir, s[0], s[1]); break;
  case OP_SUB: if (i64) return ix_sub(ir, s[0], s[1]); break;
  case OP_NEG: if (i64) return ix_mul(ir, s[0], -1); break;
  case OP_MUL:
    if (i64 && int_const(ir, s[1], &k)) return ix_mul(ir, s[0], k);
    if (i64 && int_const(ir, s[0], &k)) return ix_mul(ir, s[1], k);
    break;
  case OP_FLDIV: if (i64 && int_const(ir, s[1], &k) && k > 0) return ix_div(ir, s[0], k); break;
  case OP_FLMOD: if (i64 && int_const(ir, s[1], &k) && k > 0) return ix_mod(ir, s[0], k); break;
  case OP_MIN: case OP_MAX: if (i64) return least_or_greatest(ir, (Op)x->op, s[0], s[1]); break;
  case OP_CMPLT: if (of_i64) return compare(ir, s[0], s[1], 0); break;
  case OP_CMPLE: if (of_i64) return compare(ir, s[0], s[1], -1); break;
  case OP_AND:
    if (x->dt == DT_BOOL) {
      Ref both = ix_and(ir, s[0], s[1]);
      return both ? both : truth(ir, true);
    }
    break;
  case OP_WHERE: if (s0->vmin == s0->vmax) return s[s0->vmin ? 1 : 2]; break;
  case OP_LOAD:
    if (load_gate(x) && node(ir, s[2])->vmax == 0) return s[3];
    if (load_gate(x) && node(ir, s[2])->vmin == 1)
      return node_make(ir, OP_LOAD, (DType)x->dt, 1, 2, s, x->narg, x->arg, 0, NULL);
    break;
  case OP_STORE:
    if (store_gate(x) && node(ir, s[3])->vmin == 1)
      return node_make(ir, OP_STORE, (DType)x->dt, 1, 3, s, x->narg, x->arg, 0, NULL);
    break;
  default: break;
  }
  return node_with_src(ir, r, s);
}

Ref ix_subst(IR *ir, Ref a, int n, const Ref *from, const Ref *to) {
  RefMap map = { 0 };
  VEC(Ref) stack = { 0 }, src = { 0 };
  Ref oldest = UINT32_MAX; /* older nodes, and nodes that only have older ranges, contain none of from[] */
  uint32_t oldest_range = UINT32_MAX;
  for (int i = 0; i < n; i++) {
    refmap_set(&map, from[i], to[i]);
    if (from[i] < oldest) oldest = from[i];
    if (node(ir, from[i])->newest_range < oldest_range) oldest_range = node(ir, from[i])->newest_range;
  }
  uint32_t origin = ir->origin;
  if (a >= oldest && !refmap_get(&map, a)) VEC_PUSH(&stack, a);
  while (stack.n) {
    Ref r = stack.p[stack.n - 1];
    const Node *x = node(ir, r);
    size_t open = stack.n;
    bool same = true;
    if (refmap_get(&map, r)) { /* reached twice before it was done */
      stack.n--;
      continue;
    }
    src.n = 0;
    for (int i = 0; i < x->nsrc; i++) {
      Ref s = x->src[i], t = s < oldest || node(ir, s)->newest_range < oldest_range ? s : refmap_get(&map, s);
      if (!t) VEC_PUSH(&stack, s);
      VEC_PUSH(&src, t);
      same &= s == t;
    }
    if (stack.n > open) continue;
    ir->origin = x->origin;
    refmap_set(&map, r, same ? r : rebuild(ir, r, src.p));
    stack.n--;
  }
  ir->origin = origin;
  Ref out = a < oldest ? a : refmap_get(&map, a);
  refmap_free(&map);
  VEC_FREE(&stack);
  VEC_FREE(&src);
  return out;
}

bool ix_is_multiple(const IR *ir, Ref a, int64_t m) {
  const Node *x = node(ir, a);
  switch ((Op)x->op) {
  case OP_CONST: return const_value(x) % m == 0;
  case OP_ADD: case OP_SUB: case OP_MIN: case OP_MAX: return ix_is_multiple(ir, lhs(x), m) && ix_is_multiple(ir, rhs(x), m);
  case OP_MUL: return ix_is_multiple(ir, lhs(x), m) || ix_is_multiple(ir, rhs(x), m);
  case OP_FLMOD: return ix_is_multiple(ir, lhs(x), m) && ix_is_multiple(ir, rhs(x), m);
  default: return m == 1;
  }
}

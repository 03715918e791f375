/* SPDX-License-Identifier: MIT */
/* span.h: intervals of integers. The span of an expression contains all values of the expression, and perhaps other integers.
 * If no bounds can be computed, the span is UNKNOWN. */
#ifndef TGC_SPAN_H
#define TGC_SPAN_H
#include "ir.h"

typedef struct Span { int64_t lo, hi; } Span; /* the integers from lo to hi; lo > hi: none */
static const Span UNKNOWN = { INT64_MIN, INT64_MAX };

/* whether both bounds are known */
static inline bool known(Span s) { return s.lo != INT64_MIN && s.hi != INT64_MAX; }
/* span_or: the smallest span that contains a and b. span_and: the values that are in both a and b */
static inline Span span_or(Span a, Span b) { return (Span){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi }; }
static inline Span span_and(Span a, Span b) { return (Span){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi }; }

Span type_span(DType d); /* node.c: all values of a type; UNKNOWN for floats and 64-bit integers */

/* The span of all products of a value of `a` and a value of `b`; UNKNOWN if a product overflows 64 bits */
static inline Span span_mul(Span a, Span b) {
  const int64_t x[2] = { a.lo, a.hi }, y[2] = { b.lo, b.hi };
  Span s = { INT64_MAX, INT64_MIN };
  for (int i = 0; i < 4; i++) {
    int64_t v;
    if (!i64_mul(x[i / 2], y[i % 2], &v)) return UNKNOWN;
    s = span_or(s, (Span){ v, v });
  }
  return s;
}
#endif

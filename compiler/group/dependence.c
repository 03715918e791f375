/* SPDX-License-Identifier: MIT */
/* dependence.c: proves that two accesses of one buffer are independent in different chunks.
 *
 * The addresses of an access in chunk c are base + c * chunk + a sum of arithmetic progressions, its terms. Where strides nest,
 * such an address is a number in a mixed radix. Let everything below a stride s of either access fit into one period of s. Then
 * addresses are equal only if both the digits below s and the digits from s on are equal. So one group of digits that differs
 * between chunks suffices: either it is never equal, or a chunk moves it further than it extends. Accesses that are not proved
 * independent count as dependent.
 *
 * needs: addresses as sums of arithmetic progressions   gives: an answer
 * keeps: everything    breaks: nothing */
#include "group.h"
#include <stdlib.h>

/* The digits of a number from stride `from` to below `above`: the sum of their terms, and the part that a chunk adds. */
typedef struct Digits { int64_t chunk, most; bool whole; } Digits; /* whole: all of them are multiples of `from` */

static Digits digits(const Addresses *w, int64_t from, int64_t above) {
  Digits d = { 0, 0, true };
  for (int i = 0; i < w->n; i++) {
    if (w->term[i].step < from || w->term[i].step >= above) continue;
    d.most += w->term[i].step * (w->term[i].n - 1);
    d.whole &= w->term[i].step % from == 0;
  }
  if (llabs(w->chunk) >= from && llabs(w->chunk) < above) {
    d.chunk = w->chunk;
    d.whole &= w->chunk % from == 0;
  }
  return d;
}

typedef struct Span { int64_t lo, hi; } Span;

static Span span_of(Digits d, int64_t at, int64_t chunks) { /* over all chunks */
  int64_t far = d.chunk * (chunks - 1);
  return (Span){ at + (far < 0 ? far : 0), at + d.most + (far > 0 ? far : 0) };
}

/* a in one chunk never equals b + diff in another chunk. */
static bool digits_independent(Digits a, Digits b, int64_t diff, bool chunked, int64_t chunks) {
  Span x = span_of(a, 0, chunks), y = span_of(b, diff, chunks);
  if (x.hi < y.lo || y.hi < x.lo) return true;
  return chunked && a.chunk && a.chunk == b.chunk && diff + b.most < llabs(a.chunk) && a.most - diff < llabs(a.chunk);
}

/* Tries strides from the outermost inwards. Where the digits below a stride fit into one period, addresses are equal only if
 * both groups of digits are. */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks) {
  const bool chunked = a->chunked && b->chunked;
  int64_t diff = b->base - a->base, above = INT64_MAX;
  for (;;) {
    int64_t from = 1, low = 0;
    for (int i = 0; i < a->n + b->n; i++) {
      const int64_t s = i < a->n ? a->term[i].step : b->term[i - a->n].step;
      if (s <= from || s >= above || !digits(a, s, above).whole || !digits(b, s, above).whole) continue;
      Digits x = digits(a, 1, s), y = digits(b, 1, s);
      int64_t rest = (diff % s + s) % s;
      for (int k = 0; k < 2; k++, rest -= s) {
        Span p = span_of(x, 0, chunks), q = span_of(y, rest, chunks);
        if ((p.hi > q.hi ? p.hi : q.hi) - (p.lo < q.lo ? p.lo : q.lo) >= s) continue;
        from = s;
        low = rest;
        break;
      }
    }
    if (digits_independent(digits(a, from, above), digits(b, from, above), diff - low, chunked, chunks)) return true;
    if (from == 1) return false;
    above = from;
    diff = low;
  }
}

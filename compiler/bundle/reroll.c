/* SPDX-License-Identifier: MIT */
/* reroll.c: finds repeated calls of a plan, so that one text serves all their iterations.
 *
 * Equal layers, and the steps of a loop, run the same functions in the same order, on other memory. A repeat is `period` calls,
 * run `times` times, from kernel `first` on. Call j of iteration i runs kernel first + i * period + j. Its buffers are where
 * those of kernel first + j are, or i steps further, or where a table says. Buffers that alternate repeat with twice the
 * period. First or last iterations that differ stay straight calls.
 *
 * A loop is a repeat as it stands. Runs of equal functions elsewhere are found for all periods at once, from the end backwards.
 * The covering by such runs that saves most is taken. Then each repeat is fitted to its buffers: its period doubled, iterations
 * dropped at either end. It stays if it makes the code of the calls smaller; code sizes are about equal on all machines. Two
 * equal layers of two calls are not worth it.
 *
 * needs: functions of kernels, all buffers placed    gives: repeats, ascending and disjoint    breaks: nothing */
#include "bundle.h"
#include <string.h>

/* Iterations that fit() may drop at each end: the first and the last often have other buffers. It bounds a search. */
enum { TRIMMED = 2 };
/* approximate bytes of code: of a call, a buffer, a moving buffer, a table entry; and of finding the iteration */
enum { CALL = 16, BUFFER = 8, MOVES = 8, ENTRY = 4, REPEAT = 64 };

CallPlace call_place(const Plan *p, size_t k, size_t buffer) {
  const Kernel *kernel = &p->kernels.p[k];
  const Buf *b = &p->ir->bufs.p[kernel->bufs.p[buffer]];
  const int64_t shift = kernel->shift ? kernel->shift[buffer] * dt_bytes(b->dt) : 0;
  const bool state = b->kind == BUF_STATE || b->kind == BUF_NEXT, io = b->kind == BUF_INPUT || b->kind == BUF_OUTPUT;
  if (state) return (CallPlace){ .slot = b->slot, .at = p->memory.states.p[b->slot].at + shift };
  return io ? (CallPlace){ .slot = b->slot, .at = shift } : (CallPlace){ .at = b->offset + shift };
}

/* Everything that calls of one repeat have in common, as an interned word; a kernel that is not called here has a word of its
 * own. */
static uint32_t call_word(const Plan *p, size_t k) {
  const Kernel *x = &p->kernels.p[k];
  VEC(int64_t) w = { 0 };
  VEC_PUSH(&w, x->text ? x->code : -1 - (int64_t)k);
  VEC_PUSH(&w, x->group_size);
  VEC_PUSH(&w, x->chunks_per_task);
  VEC_PUSH(&w, x->chunks);
  for (size_t i = 0; i < x->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[x->bufs.p[i]];
    const bool state = b->kind == BUF_STATE || b->kind == BUF_NEXT;
    VEC_PUSH(&w, b->kind);
    VEC_PUSH(&w, b->dt);
    VEC_PUSH(&w, b->piece);
    VEC_PUSH(&w, state ? p->memory.states.p[b->slot].step : 0);
    VEC_PUSH(&w, state ? p->memory.states.p[b->slot].slots : 0);
  }
  const uint32_t id = intern(p->ir->ctx, (const char *)w.p, w.n * sizeof *w.p);
  VEC_FREE(&w);
  return id;
}

static int64_t call_bytes(const Plan *p, size_t k) { return CALL + BUFFER * (int64_t)p->kernels.p[k].bufs.n; }

const Repeat *repeat_of(const Repeats *s, size_t kernel) {
  for (size_t i = 0; i < s->n; i++)
    if (kernel - s->p[i].first < s->p[i].period * s->p[i].times) return &s->p[i];
  return NULL;
}

bool in_first_iteration(const Repeat *s, size_t kernel) { return !s || kernel < s->first + s->period; }

/* A loop may have many thousands of iterations. Equal layers are few. */
static bool folds(const Plan *p, const Repeat *x) { return p->kernels.p[x->first].loop; }

Repeats repeats_folded(const Plan *p, const Repeats *all) {
  Repeats folded = { 0 };
  size_t gone = 0;
  for (size_t i = 0; i < all->n; i++) {
    Repeat x = all->p[i];
    if (!folds(p, &x)) continue;
    x.first -= gone;
    VEC_PUSH(&folded, x);
    gone += x.period * (x.times - 1);
  }
  return folded;
}

bool has_row(const Plan *p, const Repeats *all, size_t kernel) {
  const Repeat *x = all ? repeat_of(all, kernel) : NULL;
  return !x || !folds(p, x) || in_first_iteration(x, kernel);
}

CallMoves call_moves(const Plan *p, const Repeat *s, size_t kernel, size_t buffer) {
  CallMoves m = { 0 };
  if (!s) return m;
  const CallPlace from = call_place(p, kernel, buffer), second = call_place(p, kernel + s->period, buffer);
  bool turns = p->kernels.p[kernel].loop != 0;
  m.by = (CallPlace){ second.slot - from.slot, second.at - from.at };
  for (size_t i = 2; i < s->times; i++) {
    const CallPlace x = call_place(p, kernel + i * s->period, buffer);
    turns &= x.at == (i & 1 ? second.at : from.at);
    m.leaps |= x.slot != from.slot + (int64_t)i * m.by.slot;
    m.table |= x.at != from.at + (int64_t)i * m.by.at;
  }
  m.turns = turns && m.table;
  m.table &= !m.turns;
  return m;
}

bool call_table_wide(const Plan *p, const Repeat *s, size_t kernel, size_t buffer) {
  bool wide = false;
  for (size_t i = 0; i < s->times; i++) wide |= call_place(p, kernel + i * s->period, buffer).at > UINT32_MAX;
  return wide;
}

/* Bytes that the repeat saves; 0: none, or it is not possible. */
static int64_t saves(const Plan *p, const Repeat *s) {
  int64_t bytes = -REPEAT;
  if (s->times < 2) return 0;
  for (size_t k = s->first; k < s->first + s->period; k++) {
    bytes += call_bytes(p, k) * (int64_t)(s->times - 1);
    for (size_t b = 0; b < p->kernels.p[k].bufs.n; b++) {
      const CallMoves m = call_moves(p, s, k, b);
      if (m.leaps) return 0;
      if (m.by.at || m.by.slot || m.table) bytes -= MOVES;
      if (m.table) bytes -= ENTRY * (int64_t)s->times;
    }
  }
  return bytes > 0 ? bytes : 0;
}

/* The best version of the repeat; times is 0 if none saves anything. */
static Repeat fit(const Plan *p, Repeat all) {
  Repeat best = { 0 };
  int64_t most = 0;
  for (size_t twice = 1; twice <= 2; twice++)
    for (size_t skip = 0; skip <= TRIMMED && skip + 2 * twice <= all.times; skip++)
      for (size_t rest = 0; rest <= TRIMMED && skip + rest + 2 * twice <= all.times; rest++) {
        const Repeat s = { all.first + skip * all.period, all.period * twice, (all.times - skip - rest) / twice };
        const int64_t bytes = saves(p, &s);
        if (bytes <= most) continue;
        most = bytes;
        best = s;
      }
  return best;
}

/* The calls of the loop that begins with this one, or whose second iteration does (schedule/loop_calls.c) */
static Repeat loop_at(const Plan *p, size_t first) {
  const Kernel *k = &p->kernels.p[first];
  size_t end = first;
  while (end < p->kernels.n && p->kernels.p[end].loop == k->loop) end++;
  const size_t trips = (size_t)k->trips - (k->only == LATER_ITERATIONS);
  return (Repeat){ first, (end - first) / trips, trips };
}

Repeats reroll_calls(const Plan *p) {
  const size_t n = p->kernels.n, most = (size_t)tunable(p->ir->ctx, reroll_period), longest = n / 2 < most ? n / 2 : most;
  uint32_t *word = xmalloc((n + 1) * sizeof *word);
  size_t *same = xmalloc((longest + 1) * sizeof *same);     /* by call: number of calls from here on that equal the ones
                                                               `period` later */
  int64_t *saved = xmalloc((n + 1) * sizeof *saved);        /* by call: most bytes saved from here on */
  Repeat *from = xmalloc((n + 1) * sizeof *from);          /* by call: the repeat that begins here then; times 0: a straight
                                                              call */
  Repeats all = { 0 };
  memset(same, 0, (longest + 1) * sizeof *same);
  saved[n] = 0;
  for (size_t k = n; k-- > 0;) {
    saved[k] = saved[k + 1];
    from[k] = (Repeat){ 0 };
    if (p->kernels.p[k].loop) { /* no run goes across it */
      word[k] = UINT32_MAX - (uint32_t)k;
      memset(same, 0, (longest + 1) * sizeof *same);
      continue;
    }
    word[k] = call_word(p, k);
    int64_t iteration = 0;
    for (size_t period = 1; period <= longest && k + period < n; period++) {
      same[period] = word[k] == word[k + period] ? same[period] + 1 : 0;
      iteration += call_bytes(p, k + period - 1);
      const size_t times = same[period] / period + 1;
      if (times < 2 || !p->kernels.p[k].group_size) continue; /* a group is never entered in its middle */
      const int64_t bytes = iteration * (int64_t)(times - 1) - REPEAT + saved[k + period * times];
      if (bytes <= saved[k]) continue;
      saved[k] = bytes;
      from[k] = (Repeat){ k, period, times };
    }
  }
  for (size_t k = 0; k < n; k += from[k].times ? from[k].period * from[k].times : 1) {
    const bool loop = p->kernels.p[k].loop && p->kernels.p[k].only != FIRST_ITERATION;
    if (loop) from[k] = loop_at(p, k);
    const Repeat s = !loop && from[k].times ? fit(p, from[k]) : from[k];
    if (s.times) VEC_PUSH(&all, s);
  }
  free(word);
  free(same);
  free(saved);
  free(from);
  return all;
}

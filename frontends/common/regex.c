/* SPDX-License-Identifier: MIT */
/* regex.c: turns a regular expression in RE2's syntax into an automaton that reads one byte after the other.
 *
 * * The parser makes a tree (regex_parse.c). The tree becomes a program of steps, as Thompson described it. CHAR reads a byte of
 * a range, SPLIT goes two ways, ASSERT looks at the bytes on both sides. A state of the automaton is a set of steps, and the kind
 * of the byte before. The bytes on both sides are known when the next byte is read, so assertions are decided there. A match is
 * that of the whole text, so greedy and lazy repetitions are the same. */
#include "regex_parts.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 10000, EMITS = 1 << 20, STEPS = 20000, WORK = 1 << 26 };

/* ---- the program ---- */
static int put_step(Regex *x, Step s) {
  if (x->nsteps == STEPS) {
    refuse(x, "it has too many steps");
    return 0;
  }
  x->steps[x->nsteps] = s;
  return x->nsteps++;
}

/* Puts the steps of t before step `then`; returns the first of them. */
static int emit(Regex *x, const Tree *t, int then);

static int emit_list(Regex *x, const Tree *t, int then) {
  int n = 0;
  for (const Tree *k = t; k; k = k->next) n++;
  const Tree **all = ARENA_NEW(x->m, const Tree *, n + 1);
  for (const Tree *k = t; k; k = k->next) *all++ = k;
  for (; n > 0 && !x->wrong; n--) then = emit(x, *--all, then);
  return then;
}

static int emit_repeat(Regex *x, const Tree *t, int then) {
  const int after = then;
  if (t->hi < 0) {
    const int loop = put_step(x, (Step){ .kind = S_SPLIT, .b = then });
    x->steps[loop].a = emit(x, t->first, loop);
    then = loop;
  }
  for (int i = t->lo; i < t->hi && !x->wrong; i++)
    then = put_step(x, (Step){ .kind = S_SPLIT, .a = emit(x, t->first, then), .b = after });
  for (int i = 0; i < t->lo && !x->wrong; i++) then = emit(x, t->first, then);
  return then;
}

static int emit(Regex *x, const Tree *t, int then) {
  int first = -1;
  if (++x->emits > EMITS) refuse(x, "it has too many steps");
  if (x->wrong) return 0;
  switch (t->kind) {
  case T_BYTE: return put_step(x, (Step){ .kind = S_CHAR, .lo = t->lo, .hi = t->hi, .a = then });
  case T_ASSERT: return put_step(x, (Step){ .kind = S_ASSERT, .lo = t->lo, .a = then });
  case T_CAT: return emit_list(x, t->first, then);
  case T_REPEAT: return emit_repeat(x, t, then);
  case T_ALT:
    for (const Tree *k = t->first; k && !x->wrong; k = k->next) {
      const int one = emit(x, k, then);
      first = first < 0 ? one : put_step(x, (Step){ .kind = S_SPLIT, .a = one, .b = first });
    }
    return first < 0 ? put_step(x, (Step){ .kind = S_CHAR, .lo = 1, .hi = 0 }) : first; /* a class without characters */
  default: return then;
  }
}

/* ---- the automaton ---- */
enum { N_OTHER, N_WORD, N_NEWLINE, N_EDGE, NEIGHBOURS }; /* the byte on one side: EDGE is the begin or the end of the text */

typedef struct Set {
  int *step;
  int n, before;
} Set; /* steps in order; before: the byte on the left */

typedef struct Builder {
  Regex *x;
  int start[2];
  Set *set;       /* by state */
  uint32_t *mark; /* by step: number of the last walk that came here */
  int *stack, *found;
  uint32_t walk;
  int64_t work;
  VEC(uint16_t) next;
  int states;
  bool looks; /* the last walk met an assertion */
} Builder;

static int neighbour(int byte) {
  const int low = byte | 32;
  return byte == '\n'                                                                              ? N_NEWLINE
         : (low >= 'a' && low <= 'z' && byte < 128) || (byte >= '0' && byte <= '9') || byte == '_' ? N_WORD
                                                                                                   : N_OTHER;
}

static bool holds(int what, int before, int after) {
  switch ((Assertion)what) {
  case A_BEGIN: return before == N_EDGE;
  case A_END: return after == N_EDGE;
  case A_LINE: return before == N_EDGE || before == N_NEWLINE;
  case A_LINE_END: return after == N_EDGE || after == N_NEWLINE;
  case A_WORD: return (before == N_WORD) != (after == N_WORD);
  default: return (before == N_WORD) == (after == N_WORD);
  }
}

/* Steps that read a byte, or MATCH, which the set reaches between these two bytes; after -1: through all assertions */
static int reach(Builder *d, const Set *s, int after, int *found) {
  int top = 0, n = 0;
  d->walk++;
  for (int i = 0; i < s->n; i++) d->stack[top++] = s->step[i];
  while (top) {
    const int at = d->stack[--top];
    const Step *p = &d->x->steps[at];
    if (d->mark[at] == d->walk) continue;
    d->mark[at] = d->walk;
    d->work++;
    if (p->kind == S_CHAR || p->kind == S_MATCH) found[n++] = at;
    else if (p->kind == S_SPLIT) d->stack[top++] = p->a, d->stack[top++] = p->b;
    else if (d->looks = true, after < 0 || holds(p->lo, s->before, after)) d->stack[top++] = p->a;
  }
  return n;
}

static int by_number(const void *a, const void *b) {
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* The number of the state with these steps, which get sorted. The byte before counts only if an assertion asks for it. */
static int state_of(Builder *d, int *steps, int n, int before) {
  int kept = 0;
  qsort(steps, (size_t)n, sizeof *steps, by_number);
  for (int i = 0; i < n; i++)
    if (!kept || steps[kept - 1] != steps[i]) steps[kept++] = steps[i];
  Set s = { steps, kept, before };
  d->looks = false;
  reach(d, &s, -1, d->found);
  if (!d->looks) s.before = N_OTHER;
  for (int i = 0; i < d->states; i++) {
    d->work++;
    if (d->set[i].n == s.n && d->set[i].before == s.before && !memcmp(d->set[i].step, steps, (size_t)s.n * sizeof *steps))
      return i;
  }
  if (d->states == DFA_STATES) {
    refuse(d->x, "its automaton has more than 4096 states");
    return 0;
  }
  s.step = arena_dup(d->x->m, steps, ((size_t)s.n + 1) * sizeof *steps);
  d->set[d->states] = s;
  return d->states++;
}

/* Bytes between which no step distinguishes are one class. first: one byte of each */
static void classes_of(const Regex *x, Dfa *out, uint8_t *first) {
  bool starts[257] = { true };
  for (int i = 0; i < x->nsteps; i++)
    if (x->steps[i].kind == S_CHAR) starts[x->steps[i].lo] = starts[x->steps[i].hi + 1] = true;
  for (int v = 1; v < 256; v++) starts[v] |= neighbour(v) != neighbour(v - 1);
  for (int v = 0; v < 256; v++) {
    if (starts[v]) first[out->classes++] = (uint8_t)v;
    out->class_of[v] = (uint8_t)(out->classes - 1);
  }
}

static bool determinize(Builder *d, Dfa *out) {
  Regex *x = d->x;
  uint8_t first[256];
  int *from = ARENA_NEW(x->m, int, x->nsteps + 1), *to = ARENA_NEW(x->m, int, x->nsteps + 1);
  bool *accepts = ARENA_NEW(x->m, bool, DFA_STATES);
  classes_of(x, out, first);
  state_of(d, d->start, 1, N_EDGE);
  for (int s = 0; s < d->states && !x->wrong; s++) {
    int n = reach(d, &d->set[s], N_EDGE, from);
    for (int i = 0; i < n; i++) accepts[s] |= x->steps[from[i]].kind == S_MATCH;
    for (int k = 0; k < out->classes && !x->wrong; k++) {
      int m = 0;
      n = reach(d, &d->set[s], neighbour(first[k]), from);
      for (int i = 0; i < n; i++) {
        const Step *p = &x->steps[from[i]];
        if (p->kind == S_CHAR && p->lo <= first[k] && first[k] <= p->hi) to[m++] = p->a;
      }
      VEC_PUSH(&d->next, (uint16_t)state_of(d, to, m, neighbour(first[k])));
      if (d->work > WORK) refuse(x, "its automaton takes too long to build");
    }
  }
  if (!x->wrong) out->next = arena_dup(x->m, d->next.p, d->next.n * sizeof *d->next.p);
  VEC_FREE(&d->next);
  out->states = d->states;
  out->accepts = accepts;
  return !x->wrong;
}

const char *regex_compile(Arena *m, const char *pattern, size_t n, Dfa *out) {
  Regex x = { .m = m, .p = (const uint8_t *)pattern, .end = (const uint8_t *)pattern + n };
  *out = (Dfa){ 0 };
  if (n > LONGEST) return "it is longer than 10000 bytes";
  const Tree *t = regex_parse(&x);
  if (x.wrong) return x.wrong;
  x.steps = ARENA_NEW(m, Step, STEPS);
  put_step(&x, (Step){ .kind = S_MATCH });
  Builder d = { .x = &x, .start = { emit(&x, t, 0) } };
  if (x.wrong) return x.wrong;
  d.set = ARENA_NEW(m, Set, DFA_STATES);
  d.mark = ARENA_NEW(m, uint32_t, x.nsteps);
  d.stack = ARENA_NEW(m, int, 4 * x.nsteps + 4);
  d.found = ARENA_NEW(m, int, x.nsteps + 1);
  return determinize(&d, out) ? NULL : x.wrong;
}

/* SPDX-License-Identifier: MIT */
/* sized_inside.c: parts of a range that ends at a size of the run, in which conditions on that size hold for all values.
 *
 * A value behind the last entry is padding, or is not stored at all. So a nest asks for each value whether its entry is below the
 * size. A nest of whole groups, or of the entries in front of the padding, need not ask.
 * needs: canonical nests   gives: nests without these conditions, and Remnants   keeps: each element that a run needs
 * breaks: nothing */
#include "opts.h"
#include <string.h>

/* ---- padding ---- */
/* The condition says that r is below a size of the run, perhaps among other things. */
static bool ends_at(const IR *ir, Ref cond, Ref r, int *size) {
  const Node *x = node(ir, cond);
  if (x->op == OP_AND) return ends_at(ir, lhs(x), r, size) || ends_at(ir, rhs(x), r, size);
  if (x->op != OP_CMPLT || lhs(x) != r || node(ir, rhs(x))->op != OP_SIZE) return false;
  *size = (int)size_id(node(ir, rhs(x)));
  return true;
}

/* The constant that is stored where r is not below a size of the run; 0: there is none */
static Ref fill_behind(const IR *ir, Ref value, Ref r, int *size) {
  Ref no = 0;
  for (; node(ir, value)->op == OP_WHERE; value = where_yes(node(ir, value))) {
    const Node *x = node(ir, value);
    if (node(ir, where_no(x))->op != OP_CONST || (no && no != where_no(x))) return 0;
    no = where_no(x);
    if (ends_at(ir, where_cond(x), r, size)) return no;
  }
  return 0;
}

Ref padding_along(const IR *ir, Ref nest, Ref r, int *size) {
  const Node *store = node(ir, nest_body(node(ir, nest)));
  return store->op == OP_STORE ? fill_behind(ir, store_value(store), r, size) : 0;
}

/* The nest, run only if size `number` is not 0: a loop in front of range `before`; 0: in front of all */
Ref sized_only_if(IR *ir, Ref nest, int number, Ref before) {
  Nest n = nest_open(ir, nest);
  int at = 0;
  CHECK(n.n < MAX_RANGES);
  while (before && n.ranges[at] != before) at++;
  memmove(n.ranges + at + 1, n.ranges + at, (size_t)(n.n++ - at) * sizeof *n.ranges);
  n.ranges[at] = range_limited(ir, 1, number, RK_LOOP);
  return nest_close(ir, &n);
}

/* ---- conditions ---- */
/* Conditions of the nest that compare an index along r with a size of the run */
static void conditions_on(IR *ir, Ref nest, Ref r, Refs *out) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_CMPLT && node(ir, rhs(x))->op == OP_SIZE && ix_uses(ir, lhs(x), r)) VEC_PUSH(out, all.p[i]);
  }
  VEC_FREE(&all);
}

/* The nest for values for which these conditions hold, or for which none holds */
static Ref where_all(IR *ir, Ref nest, const Refs *conditions, bool hold) {
  const Ref truth = c_int(ir, DT_BOOL, hold);
  for (size_t i = 0; i < conditions->n; i++) nest = ix_subst(ir, nest, 1, &conditions->p[i], &truth);
  return nest;
}

/* ---- entries in front of padding ---- */
Ref sized_inside(IR *ir, Ref nest, Ref r, int size) {
  Refs all = { 0 }, below = { 0 };
  conditions_on(ir, nest, r, &all);
  for (size_t i = 0; i < all.n; i++)
    if (lhs(node(ir, all.p[i])) == r && (int)size_id(node(ir, rhs(node(ir, all.p[i])))) == size) VEC_PUSH(&below, all.p[i]);
  nest = where_all(ir, nest, &below, true);
  VEC_FREE(&all);
  VEC_FREE(&below);
  return nest;
}

tgcrt_size sized_front(const IR *ir, Ref nest, Ref r, tgcrt_size values) {
  int size;
  if (!padding_along(ir, nest, r, &size)) return values;
  const tgcrt_size front = ir->sizes.p[size];
  return front.rule == TGCRT_SIZE_ALL && front.times == 1 && values.times == 1 ? front : values;
}

Ref sized_scheduled(IR *ir, Ref nest) {
  Ref inside = nest;
  for (int i = 0; i < nest_needed(ir, nest)->n; i++) {
    tgcrt_size values;
    int size;
    const Ref r = sized_range(ir, nest, i, &values);
    if (!r || !padding_along(ir, nest, r, &size)) continue;
    const Ref without = sized_inside(ir, inside, r, size);
    if (!may_go_on(ir, without, r)) inside = without;
  }
  return inside;
}

/* ---- whole groups ---- */
/* Range r counts groups of `group` values. Each condition on r says that the entry `group * r + value` is below extent number
 * `of`. */
typedef struct Grouped { int64_t group; int of; } Grouped;

static bool same_group(IR *ir, Ref condition, Ref r, Grouped *is) {
  const Node *x = node(ir, condition);
  const tgcrt_size *s = &ir->sizes.p[size_id(node(ir, rhs(x)))];
  int64_t group;
  Ref value;
  if (s->rule != TGCRT_SIZE_ALL || s->times != 1 || !ix_split(ir, lhs(x), r, &group, &value)) return false;
  if (group < 2 || node(ir, value)->vmin || node(ir, value)->vmax != group - 1) return false;
  const bool first = !is->group, same = is->group == group && is->of == s->of;
  if (first) *is = (Grouped){ group, s->of };
  return first || same;
}

/* The nest for a part of a group, which lacks at least the last value: the conditions on that value do not hold. */
static Ref in_part(IR *ir, Ref nest, const Refs *conditions, Ref r) {
  Ref *now = ARENA_NEW(&ir->ctx->model, Ref, conditions->n + 1);
  for (size_t i = 0; i < conditions->n; i++) {
    int64_t group;
    Ref value;
    CHECK(ix_split(ir, lhs(node(ir, conditions->p[i])), r, &group, &value));
    now[i] = ix_and(ir, ix_lt(ir, value, ix_const(ir, group - 1)), conditions->p[i]);
  }
  return ix_subst(ir, nest, (int)conditions->n, conditions->p, now);
}

/* Cases of a group of padding behind the others: none; one behind whole groups, if no entry is left; or always one. In memory for
 * HIGH it may have no place. */
typedef enum PaddingCase { NO_PADDING, BEHIND_WHOLE, ALWAYS_PADDING, PADDING_CASES } PaddingCase;

/* The groups that a run needs: `whole` ones; a part of one, if `part` is not 0; and one of padding, if `last` is not 0. The
 * group of padding has the number `begin`. */
typedef struct GroupSizes { tgcrt_size whole, part, begin, last; } GroupSizes;

static GroupSizes groups_of(IR *ir, const Grouped *is, int64_t extent, PaddingCase how) {
  const int group = (int)is->group, all = (int)(extent * group) + 1; /* no run has so many entries */
  const Extent behind = { .of = is->of, .times = 1, .plus = group - 1, .over = 1, .most = all + group - 3 },
               left = { .of = is->of, .times = -1, .plus = all - 1, .over = group, .most = 1 };
  GroupSizes s = { .whole = { 1, group, group, TGCRT_SIZE_WHOLE, is->of },
                   .part = { 1, group, group, TGCRT_SIZE_COVER, is->of },
                   .begin = { 1, all, group, TGCRT_SIZE_COVER, is->of } };
  if (how == BEHIND_WHOLE) s.last = (tgcrt_size){ 1, group, group - 1, TGCRT_SIZE_PARTS, extent_make(ir, behind) };
  if (how == ALWAYS_PADDING) s.last = size_all(1, extent_make(ir, left));
  return s;
}

/* In each run, these are all groups that the run needs. */
static bool are_all(const IR *ir, const GroupSizes *s, PaddingCase how, const tgcrt_size *values) {
  const Extent *entries = &ir->extents.p[s->whole.of], *last = &ir->extents.p[s->last.of], *all = &ir->extents.p[values->of];
  bool yes = entries->symbol == all->symbol && entries->at && all->at;
  for (int64_t i = 0; yes && i < symbol_sizes(&ir->symbols.p[entries->symbol]); i++) {
    const int64_t given = tgcrt_size_of(&s->whole, entries->at[i]) + tgcrt_size_of(&s->part, entries->at[i]);
    yes = given + (how ? tgcrt_size_of(&s->last, last->at[i]) : 0) == tgcrt_size_of(values, all->at[i]);
  }
  return yes;
}

/* The schedule o without r, whose loop is gone */
static Opts opts_without(const Opts *o, Ref r) {
  Opts rest = *o;
  rest.threads = rest.nmoved = 0;
  for (int k = 0; k < o->nmoved; k++) /* the loops are in order by now */
    if (o->moved[k].block && o->moved[k].range != r) rest.moved[rest.nmoved++] = o->moved[k];
  for (int k = rest.n - 1; k >= 0; k--)
    if (rest.opt[k].range == r) opts_drop(&rest, k);
  return rest;
}

/* Adds a nest for the group of r with number `begin`. It runs only if size `any` is not 0. */
static void add_group(IR *ir, Ref nest, const Opts *o, Ref r, const tgcrt_size *begin, const tgcrt_size *any, Remnants *parts) {
  const int number = size_number(ir, *any);
  const Ref at = index_at_most(ir, size_value(ir, size_number(ir, *begin)), range_extent(node(ir, r)) - 1);
  if (!greatest_size(ir, number)) return;
  Remnant rest = { .opts = opts_without(o, r) };
  rest.nest = sized_only_if(ir, range_replace(ir, nest, r, at, 0, NULL), number, 0);
  VEC_PUSH(parts, rest);
}

/* The range of the values of a group, of which a tile has all; 0: there is none */
static Ref range_of_values(IR *ir, const Refs *conditions, const Opts *o, Ref r, int group) {
  int64_t times;
  Ref value, first = 0;
  for (size_t i = 0; i < conditions->n; i++) {
    if (!ix_split(ir, lhs(node(ir, conditions->p[i])), r, &times, &value) || (first && first != value)) return 0;
    first = value;
  }
  const Opt *p = node(ir, first)->op == OP_RANGE ? opt_along(o, first) : NULL;
  return p && p->lanes == 1 && p->unroll == group ? first : 0;
}

/* Adds the nest for values begin .. end - 1 of a group. It runs only if size `any` is not 0. Lanes that are apart in memory are
 * stored one by one. So half as many lanes take half of the code, and hardly more time. */
static void add_values(IR *ir, Ref nest, const Opts *o, Ref r, Ref values, int begin, int end, const GroupSizes *s,
                       tgcrt_size any, Remnants *parts) {
  Opts rest = end - begin > 1 ? *o : opts_without(o, values);
  const Ref index = store_index(node(ir, nest_body(node(ir, nest))));
  Ref part, other;
  int64_t apart;
  for (int k = 0; k < rest.n; k++)
    if (rest.opt[k].lanes > 2 && ix_split(ir, index, rest.opt[k].range, &apart, &other) && apart > 1)
      rest.opt[k].lanes /= 2;
  nest = range_part(ir, nest, values, begin, end, &part);
  for (int k = 0; k < rest.n; k++)
    if (rest.opt[k].range == values) rest.opt[k].unroll = end - begin;
  if (end - begin > 1) opts_replace(&rest, values, part);
  add_group(ir, nest, &rest, r, &s->whole, &any, parts);
}

/* Adds nests for a part of a group. A store asks for each value whether the run has it. So one nest stores two values at once,
 * and others store the value behind these. */
static void add_part(IR *ir, Ref nest, const Refs *conditions, const Opts *o, Ref r, const GroupSizes *s, Remnants *parts) {
  const int group = s->part.tile;
  const Ref gate = store_gate(node(ir, nest_body(node(ir, nest))));
  bool caller = gate && conditions->n;
  for (size_t i = 0; i < conditions->n; i++) caller = caller && ix_uses(ir, gate, conditions->p[i]);
  const Ref values = caller && group <= tunable(ir->ctx, sized_part) ? range_of_values(ir, conditions, o, r, group) : 0;
  tgcrt_size any = s->part;
  if (!values) {
    add_group(ir, in_part(ir, nest, conditions, r), o, r, &s->whole, &any, parts);
    return;
  }
  nest = where_all(ir, nest, conditions, true);
  any.height = 2, any.rule = TGCRT_SIZE_PARTS;
  if (group > 2) add_values(ir, nest, o, r, values, 0, 2, s, any, parts);
  any.rule = TGCRT_SIZE_LEFT;
  for (any.height = 1; any.height < group; any.height += 2)
    add_values(ir, nest, o, r, values, any.height - 1, any.height, s, any, parts);
}

/* The conditions on groups of r are all alike. *out: the groups; PADDING_CASES: a run needs others */
static PaddingCase find_groups(IR *ir, const Refs *conditions, Ref r, const tgcrt_size *values, GroupSizes *out) {
  Grouped is = { 0 };
  PaddingCase how = NO_PADDING;
  bool yes = conditions->n > 0 && values->times == 1 && tunable(ir->ctx, sized_groups);
  for (size_t i = 0; i < conditions->n && yes; i++) yes = same_group(ir, conditions->p[i], r, &is);
  if (!yes) return PADDING_CASES;
  for (; how < PADDING_CASES; how++) {
    *out = groups_of(ir, &is, range_extent(node(ir, r)), how);
    if (are_all(ir, out, how, values)) break;
  }
  return how;
}

Ref sized_groups(IR *ir, Ref nest, Opts *o, Ref r, const tgcrt_size *values, Remnants *parts) {
  Refs all = { 0 };
  GroupSizes s;
  Ref now = 0;
  conditions_on(ir, nest, r, &all);
  const PaddingCase how = find_groups(ir, &all, r, values, &s);
  if (how < PADDING_CASES) {
    add_part(ir, nest, &all, o, r, &s, parts);
    if (how) add_group(ir, where_all(ir, nest, &all, false), o, r, &s.begin, &s.last, parts);
    now = range_limited(ir, range_extent(node(ir, r)), size_number(ir, s.whole), RK_LOOP);
    nest = range_replace(ir, where_all(ir, nest, &all, true), r, now, 1, &now);
    opts_replace(o, r, now);
  }
  VEC_FREE(&all);
  return now ? nest : 0;
}

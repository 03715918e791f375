/* SPDX-License-Identifier: MIT */
/* split_sums.c: divides sums among the blocks of a device: the opt SPLIT(range, parts).
 *
 * A nest with few results and long sums has too few blocks. So separate blocks compute parts of each sum, and store them to
 * memory of the plan. A second nest adds the parts, always in their order, and computes the rest of the nest. Nothing is atomic:
 * the bits do not depend on the order of blocks.
 *
 * needs: a canonical nest and opts   gives: the nest that computes the parts, to which the opts apply, and the one that adds them
 * keeps: the value of every element, up to the order in which floats are summed   breaks: nothing */
#include "opts.h"
#include <string.h>

/* Why the sums over range r may not be split; *red: the reduction */
static const char *find_sum(IR *ir, Ref nest, Ref r, Ref *red) {
  const Nest n = nest_open(ir, nest);
  const char *wrong = NULL;
  Refs all = { 0 };
  *red = 0;
  for (int k = 0; k < n.n; k++)
    if (range_kind(node(ir, n.ranges[k])) != RK_LOOP) return "sums in a serial loop cannot be split";
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !wrong; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED) continue;
    if (*red && ix_uses(ir, red_value(x), *red)) wrong = "sums inside of other sums cannot be split";
    if (!opens_range(ir, all.p[i], r)) continue;
    if (*red) wrong = "two reductions use the range of the split sums";
    *red = all.p[i];
  }
  VEC_FREE(&all);
  return wrong ? wrong : *red ? NULL : "only the sums of a reduction can be split";
}

/* Ranges of the nest that the reduction varies with, and how many sums there are */
static int64_t sum_ranges(IR *ir, Ref nest, Ref red, Nest *out) {
  const Nest n = nest_open(ir, nest);
  int64_t sums = 1;
  for (int k = 0; k < n.n; k++) {
    if (!ix_uses(ir, red, n.ranges[k])) continue;
    out->ranges[out->n++] = n.ranges[k];
    if (!i64_mul(sums, range_extent(node(ir, n.ranges[k])), &sums)) sums = INT64_MAX;
  }
  return sums;
}

const char *split_refuses(IR *ir, Ref nest, const Target *t, const Opts *o) {
  Ref red;
  Nest sums = { 0 };
  int64_t elems;
  const char *wrong = find_sum(ir, nest, o->split, &red);
  if (wrong) return wrong;
  if (range_extent(node(ir, o->split)) % o->sum_parts) return "the number of parts does not divide the range";
  if (keeps_order(ir, red, t)) return "the terms of a sum must be added in order";
  for (int i = 0; i < o->n; i++)
    if (opens_range(ir, nest, o->opt[i].range) && !ix_uses(ir, red, o->opt[i].range))
      return "the schedule splits a range on which the sums do not depend";
  if (!i64_mul(sum_ranges(ir, nest, red, &sums), o->sum_parts, &elems) || elems > SPLIT_MOST)
    return "the sums have too many parts";
  return sums.n < MAX_RANGES ? NULL : "a nest has too many ranges";
}

int64_t split_elems(IR *ir, Ref nest, const Opts *o, DType *d) {
  Ref red;
  Nest sums = { 0 };
  const char *wrong = find_sum(ir, nest, o->split, &red);
  if (wrong) ir_wrong(ir, "a checked schedule: %s", wrong);
  *d = (DType)node(ir, red)->dt;
  return sum_ranges(ir, nest, red, &sums) * o->sum_parts;
}

/* The condition under which a run needs a value of the nest, if all sums vary with its ranges; 0: always */
static Ref needed_sums(IR *ir, Ref nest, const Nest *sums) {
  Ref gate = run_gate(ir, nest, false);
  Refs ranges = { 0 };
  if (gate) collect_ranges(ir, gate, &ranges);
  for (size_t i = 0; i < ranges.n; i++) {
    bool has = false;
    for (int k = 0; k < sums->n; k++) has |= sums->ranges[k] == ranges.p[i];
    if (!has) gate = 0;
  }
  VEC_FREE(&ranges);
  return gate;
}

Ref split_sums(IR *ir, Ref nest, Opts *o, Ref buffer, Ref *adds) {
  Ref red;
  Nest first = { 0 }, second = nest_open(ir, nest);
  const char *wrong = find_sum(ir, nest, o->split, &red);
  if (wrong) ir_wrong(ir, "a checked schedule: %s", wrong);
  const Node *x = node(ir, red);
  const DType d = (DType)x->dt;
  const int64_t each = range_extent(node(ir, o->split)) / o->sum_parts, sums = sum_ranges(ir, nest, red, &first);
  const Ref part = range_make(ir, o->sum_parts, RK_LOOP), rest = range_make(ir, each, RK_REDUCE);
  Ref at = ix_const(ir, 0), own[MAX_RANGES];
  for (int k = 0; k < first.n; k++) at = ix_add(ir, ix_mul(ir, at, range_extent(node(ir, first.ranges[k]))), first.ranges[k]);

  const Ref added = range_make(ir, o->sum_parts, RK_REDUCE);
  const Ref element = node_make(ir, OP_LOAD, d, 1, 2, (Ref[]){ buffer, ix_add(ir, ix_mul(ir, added, sums), at) }, 0, NULL, 0,
                                NULL);
  const Ref whole = node_make(ir, OP_RED, d, 1, 2, (Ref[]){ element, added }, x->narg, x->arg, 0, NULL);
  second.store = ix_subst(ir, second.store, 1, &red, &whole);
  *adds = nest_close(ir, &second);

  const Ref mine = range_replace(ir, red, o->split, ix_add(ir, ix_mul(ir, part, each), rest), 1, &rest);
  const Ref gate = needed_sums(ir, nest, &first), src[4] = { buffer, ix_add(ir, ix_mul(ir, part, sums), at), mine, gate };
  first.store = node_make(ir, OP_STORE, d, 1, gate ? 4 : 3, src, 0, NULL, 0, NULL);
  for (int k = 0; k < first.n; k++) { /* ranges of one nest are no other's */
    own[k] = range_new(ir, range_extent(node(ir, first.ranges[k])), range_kind(node(ir, first.ranges[k])));
    opts_replace(o, first.ranges[k], own[k]);
  }
  first.store = ix_subst(ir, first.store, first.n, first.ranges, own);
  memcpy(first.ranges + 1, own, (size_t)first.n++ * sizeof *own);
  first.ranges[0] = part;
  opts_replace(o, o->split, rest);
  if (o->n < MAX_RANGES) o->opt[o->n++] = (Opt){ .range = part, .unroll = 1, .lanes = 1, .grid = true };
  o->split = 0;
  o->sum_parts = 0;
  return nest_close(ir, &first);
}

/* SPDX-License-Identifier: MIT */
/* dot_ops.c: finds reductions for dot-product and matrix instructions, and prepares them: the opt TC(range, instruction).
 *
 * A reduction fits if it sums products of two loads, each converted to the sum's type. The range must walk one operand element
 * by element, and the other operand must be a constant, which is packed in any order (pack.c). The range is split into groups;
 * expand.c turns the innermost part into one DOT. An incomplete group is padded with zeros in the constant, and with
 * whatever follows in the other operand. This holds for integers only: 0 times infinity is not 0.
 *
 * A matrix instruction takes tiles: several groups, rows and lanes. Rows are a range that only the shared operand depends on,
 * at any stride. Lanes are a range that only the constant depends on. The number of groups divides the extent.
 *
 * needs: a canonical nest   gives: ranges of kind dot, row and depth in it   keeps: integer sums; floats, up to their order */
#include "dot_ops.h"

/* The RED over r below root; 0: none */
static Ref reduction_over(const IR *ir, Ref root, Ref r) {
  Refs all = { 0 };
  Ref found = 0;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RED && opens_range(ir, all.p[i], r)) found = all.p[i];
  VEC_FREE(&all);
  return found;
}

static Ref converted_load(const IR *ir, Ref r, DType from, DType to) {
  const Node *x = node(ir, r), *l = x->op == OP_CAST ? node(ir, operand(x)) : NULL;
  return l && x->dt == to && l->op == OP_LOAD && l->dt == from && !load_gate(l) ? operand(x) : 0;
}

/* The loads of x and y below the product m */
static bool operands(const IR *ir, const Node *m, const IsaOp *u, Ref *x, Ref *y) {
  if (m->op != OP_MUL) return false;
  for (int k = 0; k < 2; k++) {
    *x = converted_load(ir, m->src[k], u->x, u->sum);
    *y = converted_load(ir, m->src[!k], u->y, u->sum);
    if (*x && *y && ir->bufs.p[buffer_id(node(ir, load_buffer(node(ir, *y))))].kind == BUF_WEIGHT) return true;
  }
  return false;
}

static const Buf *buffer_of(const IR *ir, Ref load) { return &ir->bufs.p[buffer_id(node(ir, load_buffer(node(ir, load))))]; }

static bool affine(IR *ir, Ref index) {
  Refs ranges = { 0 };
  FloorDivs divs;
  bool ok = true;
  int64_t coef;
  index = floordivs_open(ir, index, &divs);
  collect_ranges(ir, index, &ranges);
  for (size_t i = 0; i < ranges.n && ok; i++) ok = ix_split(ir, index, ranges.p[i], &coef, &index);
  VEC_FREE(&ranges);
  return ok && node_is_const(ir, index, NULL);
}

const char *isa_op_refuses(IR *ir, Ref nest, const Target *t, const IsaOp *u, Ref r) {
  if ((t->features & u->needs) != u->needs || (u->lanes > 1 && t->vector_bytes < u->lanes * dt_bytes(u->sum)))
    return "the target has no such instruction";
  Ref red = reduction_over(ir, nest, r), x, y, rest;
  const Node *n = red ? node(ir, red) : NULL;
  int64_t coef, extent = range_extent(node(ir, r)), more = (extent + u->group - 1) / u->group * u->group - extent;
  if (!n || red_op(n) != OP_ADD || n->dt != u->sum || !operands(ir, node(ir, red_value(n)), u, &x, &y))
    return "the instruction cannot do this reduction";
  for (int k = 1; k < n->nsrc; k++)
    if (range_kind(node(ir, n->src[k])) != RK_REDUCE || range_limit(node(ir, n->src[k]))) return "the reduction is split already";
  const Node *ix = node(ir, load_index(node(ir, x)));
  if (!ix_split(ir, load_index(node(ir, x)), r, &coef, &rest) || coef != 1)
    return "the operand's elements are not contiguous along the range";
  if (!ir->tensors.p[buffer_of(ir, y)->slot].data || !affine(ir, load_index(node(ir, y)))) return "the constant cannot be packed";
  if (t->in_order && dt_float(u->sum)) return "the terms of a sum must be added in order";
  if (more && dt_float(u->sum)) return "the last group is incomplete, and floats cannot be padded with zeros";
  if (more > DOT_OVERREAD) return "the last group is incomplete, and lacks more than a load may read beyond the operand";
  if (more > extent) return "the range is too short";
  if (u->depth > 1 && isa_op_depth(u, (extent + more) / u->group) == 1)
    return "no depth of the instruction's tiles divides the range";
  if (u->depth > 1 && reductions_below(ir, nest) > 1) return "the nest has another reduction";
  if (more && (ix->vmax == INT64_MAX || ix->vmax + more >= buffer_of(ir, x)->elems || buf_ends_early(buffer_of(ir, x))))
    return "a group would read past the end of the operand";
  return NULL;
}

/* Whether copies of a reduction's range share tiles only with the copy before. One operand walks a quotient of the range; the
 * other does so too, or moves on by each copy. Other taps of a window would share tiles for which there are no registers. */
static bool copies_in_turn(IR *ir, const Ref load[2], const Opt *p) {
  bool ok = p->lanes == 1 && !p->partial && !p->rows && range_extent(node(ir, p->range)) == p->unroll, down = false;
  for (int k = 0; k < 2 && ok; k++) {
    FloorDivs divs;
    int64_t coef;
    Ref index = floordivs_open(ir, load_index(node(ir, load[k])), &divs), rest;
    ok = ix_split(ir, index, p->range, &coef, &rest);
    for (int i = 0; i < divs.n; i++) down |= divs.range[i] == p->range;
  }
  return ok && down;
}

const char *isa_op_tiling(IR *ir, Ref nest, const Opts *o) {
  const IsaOp *u = o->isa_op;
  Ref load[2], rest;
  int64_t stride, copies[2] = { 1, 1 }, sums = 1;
  int rows = 0, lanes = 0, turns = 0;
  isa_op_operands(ir, nest, u, o->grouped, load);
  for (int i = 0; i < o->n; i++) {
    const Opt *p = &o->opt[i];
    if (!opens_range(ir, nest, p->range)) {
      if (p->range == o->grouped || turns++ || !copies_in_turn(ir, load, p))
        return "the reduction of a matrix instruction is split";
      continue;
    }
    bool shared = ix_uses(ir, load[0], p->range), own = ix_uses(ir, load[1], p->range);
    if (p->rows && (rows++ || own || p->lanes == 1 || p->lanes > u->rows ||
                    !ix_split(ir, load_index(node(ir, load[0])), p->range, &stride, &rest)))
      return "the instruction has no tiles with these rows";
    if (!p->rows && p->lanes > 1 && (lanes++ || shared || !own || p->lanes > u->lanes))
      return "the instruction has no tiles with these lanes";
    sums *= p->unroll;
    if (shared) copies[0] *= p->unroll;
    if (own) copies[1] *= p->unroll;
  }
  if (!rows || !lanes) return "tiles need rows and lanes";
  return sums + copies[0] + copies[1] > TILE_REGISTERS ? "the machine has too few registers for so many tiles" : NULL;
}

/* Results that share x, which lanes can count. */
static int64_t sharing(IR *ir, Ref nest, const IsaOp *u, Ref r) {
  Ref x, y;
  int64_t n = 1;
  if (!operands(ir, node(ir, red_value(node(ir, reduction_over(ir, nest, r)))), u, &x, &y)) return 0;
  for (int k = 1; k < node(ir, nest)->nsrc; k++) {
    Ref range = node(ir, nest)->src[k];
    if (ix_uses(ir, y, range) && !ix_uses(ir, x, range)) n *= range_extent(node(ir, range));
  }
  return n;
}

Ref isa_op_operands(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref load[2]) {
  Ref red = reduction_over(ir, nest, r);
  CHECK(operands(ir, node(ir, red_value(node(ir, red))), u, &load[0], &load[1]));
  return red;
}

/* The instruction and the range that fill its groups best, among all that fit. */
const IsaOp *isa_op_choose(IR *ir, Ref nest, const Target *t, Ref *r) {
  Refs ranges = { 0 };
  const IsaOp *best = NULL;
  double filled = 0;
  collect_ranges(ir, nest, &ranges);
  for (const IsaOp *u = isa_op_table; u->name && !best; u++)
    for (size_t i = 0; i < ranges.n; i++) {
      double extent = (double)range_extent(node(ir, ranges.p[i])),
             groups = (double)((range_extent(node(ir, ranges.p[i])) + u->group - 1) / u->group);
      double f = extent / (groups * u->group) + 1e-9 * groups;
      if (f <= filled || u->depth > 1 || isa_op_refuses(ir, nest, t, u, ranges.p[i]) ||
          sharing(ir, nest, u, ranges.p[i]) < tunable(ir->ctx, dot_sharing))
        continue;
      filled = f;
      best = u;
      *r = ranges.p[i];
    }
  VEC_FREE(&ranges);
  return best;
}

Ref isa_op_group(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref *rest) {
  const Node *n = node(ir, r);
  int64_t extent = range_extent(n), groups = (extent + u->group - 1) / u->group, depth = isa_op_depth(u, groups);
  Ref by[3] = { range_make(ir, groups / depth, range_kind(n)), range_make(ir, depth, RK_DEPTH),
                range_make(ir, u->group, RK_DOT) },
      x, y;
  Ref at = ix_add(ir, ix_mul(ir, ix_add(ir, ix_mul(ir, by[0], depth), by[1]), u->group), by[2]);
  nest = range_replace(ir, nest, r, at, 3, by);
  *rest = by[0];
  if (groups * u->group == extent) return nest;
  Ref red = reduction_over(ir, nest, by[2]);
  CHECK(operands(ir, node(ir, red_value(node(ir, red))), u, &x, &y));
  const Node *l = node(ir, y);
  Ref src[4] = { load_buffer(l), load_index(l), ix_lt(ir, at, ix_const(ir, extent)), c_int(ir, u->y, 0) };
  Ref gated = node_make(ir, OP_LOAD, (DType)l->dt, 1, 4, src, 0, NULL, 0, NULL);
  return ix_subst(ir, nest, 1, &y, &gated);
}

Ref isa_op_apply(IR *ir, Ref nest, Opts *o) {
  Ref rest;
  if (!o->isa_op) return nest;
  nest = isa_op_group(ir, nest, o->isa_op, o->grouped, &rest);
  opts_replace(o, o->grouped, rest);
  o->isa_op = NULL;
  return nest;
}

static void group(Plan *p, NestState *s) { s->nest = isa_op_apply(p->ir, s->nest, s->opts); }

void step_dot_groups(Plan *p, Kernel *k) { each_state(p, k, group); }

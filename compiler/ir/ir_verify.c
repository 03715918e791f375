/* SPDX-License-Identifier: MIT */
/* ir_verify.c: rules of the verifier that do not depend on what is around a node. A violation is a bug in tgc, since front ends
 * check user input before they make nodes. In lines of a dump (IR.dump) it is an error of the user. Number and types of sources,
 * and arguments, come from the op table. Below the graph level there are rules of buffers, accesses and lanes. The files of the
 * levels add theirs: verify_graph.c, verify_kernel.c, verify_program.c, verify_device.c.
 *
 * needs: nodes    gives: nothing; a node that breaks a rule is a bug    breaks: nothing */
#include "ir.h"
#include "verify.h"

bool op_reduces(int64_t op) { return op == OP_ADD || op == OP_MUL || op == OP_MAX || op == OP_MIN; }

/* number of values in the args column: one each, one per dimension of the first source, or one per lane */
static int args_wanted(const Node *x, const Node *s0) {
  int n = 0;
  for (const char *p = op_info[x->op].args; *p; p++)
    if (*p == ':') n += p[1] == 'l' ? (s0 ? s0->rank : x->rank) : p[1] == 'v' ? x->lanes : 1;
  return n;
}

/* Checks the type column: result(source, ...), where all T are one type, b is bool, i is i64, * is any type. Further sources
 * are checked per op. */
static void verify_types(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  const char *p = op_info[x->op].type;
  DType t = *p == 'T' ? (DType)x->dt : DT_NONE;
  NEED(*p != 'b' || x->dt == DT_BOOL, "the result is not bool");
  p++;
  for (int i = 0; i < x->nsrc && *p && *p != ')'; i++) {
    DType d = (DType)node(ir, x->src[i])->dt;
    switch (*++p) {
    case 'b': NEED(d == DT_BOOL, "a source is not bool"); break;
    case 'i': NEED(d == DT_I64 || (d == DT_I32 && x->op == OP_PART), "a source is not i64"); break;
    case 'T':
      if (t == DT_NONE) t = d;
      NEED(d == t, "types of sources differ");
      break;
    default: break;
    }
    p++;
  }
  if (x->op == OP_HELD)
    NEED(x->nsrc && x->lanes == 1 && x->arg[0] >= 0, "no first value, lanes, or a negative number of steps");
  if (x->op == OP_REPEAT)
    NEED(x->nsrc > 1 && node(ir, repeat_held(x))->op == OP_HELD && x->lanes == 1, "the second source is not what it holds");
  if (x->op == OP_BITCAST) NEED(dtype_info[x->dt].bits == dtype_info[node(ir, operand(x))->dt].bits, "the widths differ");
  Op op = x->op == OP_REDUCE || x->op == OP_SCATTER || x->op == OP_RED || x->op == OP_HRED ? (Op)x->arg[0] : (Op)x->op;
  if (op_info[op].level == L_EXPR) NEED(op_takes(op, (DType)node(ir, x->src[op == OP_WHERE])->dt), "not defined on this type");
}

void verify_node(const IR *ir, Ref r) {
  CHECK(r && r < ir->n);
  const Node *x = node(ir, r);
  CHECK(x->op > OP_NONE && x->op < OP_COUNT && x->dt < DT_COUNT);
  const OpInfo *op = &op_info[x->op];
  for (int i = 0; i < x->nsrc; i++) NEED(x->src[i] && x->src[i] < r, "a source is missing or younger than the node");
  NEED(op->arity < 0 ? op->arity == ARITY_ANY || x->nsrc > 0 : x->nsrc == op->arity, "wrong number of sources");
  const bool shorter = (x->op == OP_RANGE && x->narg == 3) || (x->op == OP_ITERATE && x->narg == 2); /* without the last one */
  NEED(shorter || x->narg == args_wanted(x, x->nsrc ? node(ir, x->src[0]) : NULL), "wrong number of arguments");
  NEED(x->lanes >= 1, "no lanes");
  NEED(op->level > L_GRAPH || x->dt != DT_NONE, "no type");
  verify_types(ir, r);
}

/* ---- kernels and programs ---- */
static void verify_access(const IR *ir, Ref r, const Node *x) {
  bool load = x->op == OP_LOAD;
  NEED(x->nsrc == (load ? 2 : 3) || x->nsrc == 4, "wrong number of sources");
  const Node *buf = node(ir, access_buffer(x)), *index = node(ir, access_index(x)), *value = load ? x : node(ir, store_value(x));
  NEED(buf->op == OP_BUFFER, "the first source is not a buffer");
  NEED(value->dt == buf->dt, "the element is of another type than the buffer");
  NEED(index->dt == DT_I64 || index->dt == DT_I32, "the index is not i64 or i32");
  NEED(index->lanes == 1 || index->lanes == value->lanes, "the number of indices is neither one nor that of the lanes");
  if (!access_gate(x)) return;
  const Node *cond = node(ir, access_gate(x));
  NEED(cond->dt == DT_BOOL, "the gate is not bool");
  NEED(cond->lanes == 1 || cond->lanes == value->lanes, "the number of gates is neither one nor that of the lanes");
  if (!load) return;
  const Node *other = node(ir, load_else(x));
  NEED(other->dt == x->dt && other->lanes == x->lanes, "the alternative is of another type");
}

/* Size number - 1 is at most `most` in every run. Texts of kernels have no table, so only the number is known there. */
static void verify_size(const IR *ir, Ref r, int64_t number, int64_t most) {
  if (!number || !ir->symbols.n) return;
  NEED(number <= (int64_t)ir->sizes.n, "no such size");
  NEED(greatest_size(ir, (int)number - 1) <= most, "a size may be greater than its bound");
}

void verify_inner(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  verify_node(ir, r);
  NEED(!x->rank, "a shape below the graph level");
  switch ((Op)x->op) {
  case OP_BUFFER:
    NEED(x->arg[0] >= 0 && x->arg[0] < (int64_t)ir->bufs.n, "no such buffer");
    NEED(ir->bufs.p[x->arg[0]].dt == (DType)x->dt, "another type than its buffer");
    break;
  case OP_RANGE:
    NEED(x->dt == DT_I64 || (x->dt == DT_I32 && x->arg[0] <= INT32_MAX), "not i64, or too long for i32");
    NEED(x->arg[0] >= 0 && x->arg[2] >= 0 && x->arg[2] < RK_COUNT, "no such extent or kind");
    NEED(!range_limit(x) || x->arg[2] == RK_LOOP || x->arg[2] == RK_REDUCE || x->arg[2] == RK_THREAD, "only a loop has a limit");
    verify_size(ir, r, range_limit(x), x->arg[0]);
    break;
  case OP_SIZE:
    NEED(x->arg[0] >= 0 && x->arg[1] >= 0 && (x->dt == DT_I64 || (x->dt == DT_I32 && x->arg[1] <= INT32_MAX)), "no such size");
    verify_size(ir, r, x->arg[0] + 1, x->arg[1]);
    break;
  case OP_LOAD: case OP_STORE: verify_access(ir, r, x); break;
  case OP_TILE: case OP_PREFETCH:
    NEED(node(ir, access_buffer(x))->op == OP_BUFFER, "the first source is no buffer");
    NEED(x->op == OP_PREFETCH || node(ir, access_buffer(x))->dt == x->dt, "another type than the buffer");
    NEED(node(ir, access_index(x))->lanes == 1, "the index is not one number");
    NEED(node(ir, access_index(x))->dt == DT_I64 || node(ir, access_index(x))->dt == DT_I32, "the index is not i64 or i32");
    break;
  default: break;
  }
}

/* Sums of products: a group of products for each lane, or tiles of two matrices */
static void verify_products(const IR *ir, Ref r, const Node *x, const Node *s) {
  const bool dot = x->op == OP_DOT, mma = x->op == OP_MMA;
  const Node *a = node(ir, dot ? dot_x(x) : mma ? mma_x(x) : wmma_x(x));
  const Node *b = node(ir, dot ? dot_y(x) : mma ? mma_y(x) : wmma_y(x));
  if (dot) {
    const int group = b->lanes / x->lanes;
    NEED(s->lanes == x->lanes, "lanes of sources differ");
    NEED(group > 1 && group * x->lanes == b->lanes && (a->lanes == b->lanes || a->lanes == group), "not one group for each lane");
  } else if (mma) {
    const int64_t rows = x->arg[0], depth = x->arg[1];
    NEED(rows > 0 && depth > 0 && s->lanes == x->lanes && x->lanes % rows == 0, "no matrices");
    NEED(a->lanes % (rows * depth) == 0 && a->lanes / rows * (x->lanes / rows) == b->lanes,
         "matrices that do not fit each other");
  } else { /* wmma */
    const int64_t m = x->arg[0], n = x->arg[1], k = x->arg[2];
    NEED(m > 0 && n > 0 && k > 0 && s->lanes == x->lanes && m * n % x->lanes == 0, "no matrices");
    const int64_t threads = m * n / x->lanes;
    NEED(a->lanes * threads == m * k && b->lanes * threads == k * n, "fragments of matrices that do not fit each other");
    return;
  }
  NEED(dt_float((DType)x->dt) == dt_float((DType)a->dt) && dt_float((DType)x->dt) == dt_float((DType)b->dt),
       "sums of another kind than the products");
}

void verify_lanes(const IR *ir, Ref r, const Node *x) {
  const Node *s = node(ir, x->nsrc ? x->src[0] : 0);
  switch ((Op)x->op) {
  case OP_BCAST: NEED(s->lanes == 1, "the source is not a scalar"); return;
  case OP_VEC:
    NEED(x->nsrc == x->lanes, "the number of sources is not that of the lanes");
    for (int i = 0; i < x->nsrc; i++) {
      NEED(node(ir, x->src[i])->lanes == 1, "a source is not a scalar");
      NEED(node(ir, x->src[i])->dt == x->dt, "types of sources differ");
    }
    return;
  case OP_LANE: NEED(x->lanes == 1 && x->arg[0] >= 0 && x->arg[0] < s->lanes, "the source has no such lane"); return;
  case OP_SHUFFLE:
    NEED(node(ir, rhs(x))->lanes == s->lanes, "lanes of sources differ");
    for (int i = 0; i < x->lanes; i++) NEED(x->arg[i] >= 0 && x->arg[i] < 2 * s->lanes, "the source has no such lane");
    return;
  case OP_LOOKUP: {
    const Node *index = node(ir, lookup_index(x));
    NEED(index->dt == DT_U32 && index->lanes == x->lanes, "not one index of type u32 for each lane");
    NEED(s->lanes > 1 && !(s->lanes & (s->lanes - 1)), "the lanes of the table are not a power of two");
    return;
  }
  case OP_DOT: case OP_MMA: case OP_WMMA: verify_products(ir, r, x, s); return;
  case OP_TILE: NEED(x->arg[0] > 0 && x->lanes % x->arg[0] == 0, "rows of different lengths"); return;
  case OP_SPILL: NEED(s->lanes == x->lanes, "lanes of sources differ"); return;
  case OP_PART:
    NEED(s->op == OP_SPILL && x->lanes <= s->lanes && node(ir, part_index(x))->lanes == 1, "no part of a tile in memory");
    return;
  case OP_HRED: NEED(x->lanes == 1 && op_reduces(x->arg[0]), "a vector, or reduces by no op"); return;
  case OP_SHFLXOR:
    NEED(x->lanes == 1 && s->lanes == 1 && x->arg[0] > 0 && !(x->arg[0] & (x->arg[0] - 1)), "a vector, or a mask of not one bit");
    return;
  case OP_CONST: case OP_BUFFER: case OP_RANGE: case OP_SIZE: NEED(x->lanes == 1, "not a scalar"); return;
  default:
    if (op_by_lane((Op)x->op))
      for (int i = 0; i < x->nsrc; i++) NEED(node(ir, x->src[i])->lanes == x->lanes, "lanes of sources differ");
    return;
  }
}

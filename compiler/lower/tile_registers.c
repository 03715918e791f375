/* SPDX-License-Identifier: MIT */
/* tile_registers.c: assigns registers of a matrix unit to the tiles of a nest, for backends.
 *
 * needs: a program with TILES   gives: a register for each tile and sum, and their shapes   breaks: nothing */
#include "lower.h"

int tile_register(const TileSet *t, Ref value) {
  for (int i = 0; i < t->values; i++)
    if (t->value[i] == value) return t->reg[i];
  return -1;
}

Ref tile_sum(const IR *ir, const Node *mma) {
  while (mma->op == OP_MMA) mma = node(ir, mma_sum(mma));
  return get_acc(mma);
}

/* Assigns a register to a value that is used from `at` to `until`: an unused register if there is one. Otherwise it takes a
 * register of the same shape whose last use is longest ago. */
static void add_tile(const IR *ir, TileSet *t, Ref value, int64_t rows, size_t at, size_t until) {
  const Node *x = node(ir, value);
  const int64_t row_bytes = x->lanes / rows * dt_bytes((DType)x->dt);
  int r = t->n;
  for (int i = 0; i < t->n && t->n == TILE_REGISTERS; i++) {
    bool fits = t->config[48 + i] == rows && t->config[16 + 2 * i] == row_bytes && t->until[i] < at;
    if (fits && (r == t->n || t->until[i] < t->until[r])) r = i;
  }
  CHECK(r < TILE_REGISTERS && t->values < MAX_TILES && row_bytes <= TILE_BYTES);
  if (r == t->n) t->n++;
  t->config[16 + 2 * r] = (uint8_t)row_bytes;
  t->config[48 + r] = (uint8_t)rows;
  t->until[r] = until;
  t->value[t->values] = value;
  t->reg[t->values++] = r;
}

/* Sums keep their registers; factors keep theirs until their last product. isa_op_tiling() has checked that there are enough. */
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out) {
  size_t end = 1;
  *out = (TileSet){ .config = { 1 } };
  for (; end < n && node(ir, prog[end])->op != OP_TILES; end++) {
    const Node *x = node(ir, prog[end]);
    if (x->op == OP_MMA && tile_register(out, tile_sum(ir, x)) < 0) add_tile(ir, out, tile_sum(ir, x), mma_rows(x), 0, SIZE_MAX);
  }
  for (size_t i = 1; i < end; i++) {
    size_t last = i;
    if (node(ir, prog[i])->op != OP_TILE) continue;
    for (size_t k = i; k < end; k++) {
      const Node *x = node(ir, prog[k]);
      if (x->op == OP_MMA && (mma_x(x) == prog[i] || mma_y(x) == prog[i])) last = k;
    }
    add_tile(ir, out, prog[i], tile_rows(node(ir, prog[i])), i, last);
  }
}

const IsaOp *tile_isa_op(const IR *ir, const Node *mma) {
  const IsaOp *u = isa_op_table;
  while (u->depth == 1 || u->x != node(ir, mma_x(mma))->dt || u->y != node(ir, mma_y(mma))->dt) u++;
  CHECK(u->name);
  return u;
}

/* products.c: multiply-adds of a program: how many run, and how many of them take a factor from shared memory.
 *
 * needs: a program    gives: counts    breaks: nothing */
#include "lower.h"

static bool from_shared(const IR *ir, Ref r) { /* what a panel's element is for */
  const Node *x = node(ir, r);
  return x->op == OP_LOAD && ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind == BUF_SHARED;
}

/* The product that a node adds to a variable; NULL: it adds none */
static const Node *product_added(const IR *ir, const Node *x) {
  if (x->op == OP_MULACC) return x;
  for (int k = 0; k < 2 && x->op == OP_ADD; k++)
    if (node(ir, x->src[k])->op == OP_MUL && node(ir, x->src[!k])->op == OP_GET) return node(ir, x->src[k]);
  return NULL;
}

Products program_products(const IR *ir, const Ref *list, size_t n) {
  Products sum = { 0, 0 };
  VEC(double) around = { 0 };
  double times = 1;
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(ir, list[i]), *product = product_added(ir, x);
    if (x->op == OP_LOOP) {
      VEC_PUSH(&around, times);
      times *= (double)range_extent(node(ir, loop_range(x)));
    }
    if (x->op == OP_END) times = around.p[--around.n];
    if (!product) continue;
    sum.all += times * x->lanes;
    bool staged = false;
    for (int k = 0; k < 2; k++) staged |= from_shared(ir, product->src[k]); /* of a MUL or a MULACC: its factors */
    if (staged) sum.staged += times * x->lanes;
  }
  VEC_FREE(&around);
  return sum;
}

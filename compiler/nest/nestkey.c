/* SPDX-License-Identifier: MIT */
/* nestkey.c: identifies a nest by its computation: SHA-256 over its nodes and the facts of the target.
 *
 * Two nests have one key if a schedule for one is valid and equally good for the other. So ranges count by their place, and
 * buffers by kind and number. Operands of a commutative op, and terms of an index, are sorted. A weight that pack.c will pack
 * counts by the ranges it depends on, since its order in the model makes no difference.
 *
 * needs: a canonical nest   gives: its key   breaks: nothing */
#include "nest.h"
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <string.h>

typedef struct Digest { uint8_t b[SHA256_DIGEST_SIZE]; } Digest;
typedef VEC(Digest) Digests;

typedef struct Keys {
  IR *ir;
  Refs ranges;
  RefMap at;               /* node to its index in of[] + 1 */
  bool blank;              /* values of floating-point constants do not count */
  Digests of;
} Keys;

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, sizeof(Digest)); }

static void add_number(struct sha256_ctx *h, int64_t v) {
  uint8_t b[8];
  for (int i = 0; i < 8; i++) b[i] = (uint8_t)((uint64_t)v >> 8 * i);
  sha256_update(h, sizeof b, b);
}

static const Digest *digest_of(const Keys *k, Ref r) { return &k->of.p[refmap_get(&k->at, r) - 1]; }

/* Operands of r; for an index all terms of its sum, however they are nested. */
static void operands(const Keys *k, Ref r, Digests *out) {
  const Node *x = node(k->ir, r);
  bool index_sum = x->op == OP_ADD && x->dt == DT_I64;
  for (int i = 0; i < x->nsrc; i++) {
    const Node *y = node(k->ir, x->src[i]);
    if (index_sum && y->op == OP_ADD && y->dt == DT_I64) operands(k, x->src[i], out);
    else VEC_PUSH(out, *digest_of(k, x->src[i]));
  }
  if (op_info[x->op].algebra & COMM) VEC_SORT(out, by_bytes);
}

/* As in pack.c: the address is a sum over ranges, and the copy is at most twice as large as the weight. */
static bool is_packed(IR *ir, Ref load) {
  const Node *x = node(ir, load);
  const Buf *b = &ir->bufs.p[node(ir, load_buffer(x))->arg[0]];
  Ref rest = load_index(x);
  int64_t coef, base, total = 1;
  Refs ranges = { 0 };
  collect_ranges(ir, rest, &ranges);
  bool ok = b->kind == BUF_WEIGHT && ranges.n <= MAX_RANGES;
  for (size_t i = 0; i < ranges.n && ok; i++)
    ok = ix_split(ir, rest, ranges.p[i], &coef, &rest) && i64_mul(total, node(ir, ranges.p[i])->arg[0], &total);
  VEC_FREE(&ranges);
  return ok && node_is_const(ir, rest, &base) && total <= 2 * b->elems + 64;
}

static void add_symbol(struct sha256_ctx *h, const IR *ir, int symbol) {
  const Symbol *s = &ir->symbols.p[symbol];
  const int64_t numbers[] = { symbol, s->low, s->high, s->step, s->typical };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(h, numbers[i]);
}

/* The formula of an extent, since numbers of rows differ from model to model. Each row follows from earlier ones. */
static void add_extent(struct sha256_ctx *h, const IR *ir, int extent) {
  for (int next; extent >= ir->symbols.n; extent = next) {
    const Extent *e = &ir->extents.p[extent];
    const int64_t numbers[] = { e->times, e->plus, e->over, e->most, e->by > 0 ? 1 : e->by < 0 ? -1 : 0 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(h, numbers[i]);
    if (e->by) add_symbol(h, ir, ir->extents.p[extent_other(e)].symbol);
    next = e->of;
  }
  add_symbol(h, ir, extent);
}

static void add_need(struct sha256_ctx *h, const IR *ir, const Need *is) {
  add_number(h, is->inner);
  add_extent(h, ir, is->of);
  if (is->of >= ir->symbols.n) add_number(h, is->extent);
}

static void add_size(struct sha256_ctx *h, const IR *ir, int64_t number) {
  const tgcrt_size *s = &ir->sizes.p[number];
  const int64_t numbers[] = { s->times, s->tile, s->height, (int64_t)s->rule };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(h, numbers[i]);
  add_extent(h, ir, s->of);
}

static Digest digest_node(Keys *k, Ref r) {
  IR *ir = k->ir;
  const Node *x = node(ir, r);
  struct sha256_ctx h;
  Digest d;
  Digests in = { 0 };
  sha256_init(&h);
  sha256_update(&h, strlen(op_info[x->op].name) + 1, (const uint8_t *)op_info[x->op].name);
  add_number(&h, x->dt);
  if (x->op == OP_RANGE) {
    add_number(&h, range_place(&k->ranges, r));
    add_number(&h, x->arg[0]);
    if (range_limit(x)) add_size(&h, ir, range_limit(x) - 1);
    if (x->arg[2] == RK_THREAD || x->arg[2] == RK_SERIAL) add_number(&h, x->arg[2]);
  } else if (x->op == OP_SIZE) {
    add_size(&h, ir, size_id(x));
  } else if (x->op == OP_BUFFER) {
    const Buf *b = &ir->bufs.p[x->arg[0]];
    add_number(&h, b->kind == BUF_WEIGHT);
    if (b->needed.n > 0) { /* the schedule has nests for rests of runs */
      for (int i = 0; i < b->needed.n; i++) add_need(&h, ir, &b->needed.is[i]);
    }
  } else if (x->op == OP_LOAD && is_packed(ir, r)) {
    for (size_t i = 0; i < k->ranges.n; i++) add_number(&h, ix_uses(ir, load_index(x), k->ranges.p[i]));
    VEC_PUSH(&in, *digest_of(k, load_buffer(x)));
    for (int i = 2; i < x->nsrc; i++) VEC_PUSH(&in, *digest_of(k, x->src[i]));
  } else {
    const bool blank = k->blank && x->op == OP_CONST && dt_float((DType)x->dt);
    for (int i = 0; i < x->narg && !blank; i++) add_number(&h, x->arg[i]);
    operands(k, r, &in);
  }
  add_number(&h, (int64_t)in.n);
  for (size_t i = 0; i < in.n; i++) sha256_update(&h, sizeof in.p[i].b, in.p[i].b);
  VEC_FREE(&in);
  sha256_digest(&h, sizeof d.b, d.b);
  return d;
}

static void key_of(IR *ir, Ref nest, const Target *t, const Backend *b, bool blank, char out[65]) {
  Keys k = { .ir = ir, .blank = blank };
  Refs all = { 0 };
  Sb text = { 0 };
  char digits[BASE16_ENCODE_LENGTH(sizeof(Digest))];
  int buffers = 0, loads = 0;
  nest_ranges(ir, nest, &k.ranges);
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    VEC_PUSH(&k.of, digest_node(&k, all.p[i]));
    refmap_set(&k.at, all.p[i], (uint32_t)k.of.n);
    buffers += node(ir, all.p[i])->op == OP_BUFFER;
    loads += node(ir, all.p[i])->op == OP_LOAD;
  }
  sb_printf(&text, "tgc %s\nbackend %s\ntarget ", TGC_VERSION, b->name);
  target_facts(t, &text);
  sb_printf(&text, "\nnest %d %d ", buffers, loads);
  base16_encode_update(digits, sizeof(Digest), digest_of(&k, nest)->b);
  sb_put(&text, digits, sizeof digits);
  sha256_hex(text.p, text.n, out);
  sb_free(&text);
  VEC_FREE(&all);
  VEC_FREE(&k.of);
  VEC_FREE(&k.ranges);
  refmap_free(&k.at);
}

void nest_key(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]) { key_of(ir, nest, t, b, false, out); }

void nest_form(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]) { key_of(ir, nest, t, b, true, out); }

static void kernel_key(const Plan *p, const Kernel *k, char out[65]) {
  Sb text = { 0 };
  for (size_t i = 0; i < k->nests.n; i++) {
    char key[65];
    nest_key(p->ir, k->nests.p[i].nest, p->in->target, p->in->backend, key);
    sb_puts(&text, key);
  }
  sha256_hex(text.p, text.n, out);
  sb_free(&text);
}

Question ask_kernel(const Plan *p, const char *pass, const Kernel *k) {
  char key[65] = "";
  if (p->ir->decisions) kernel_key(p, k, key);
  return ask_key(p->ir, pass, key, node(p->ir, k->sink)->nsrc ? sink_part(node(p->ir, k->sink), 0) : k->sink);
}

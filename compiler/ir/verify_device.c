/* SPDX-License-Identifier: MIT */
/* verify_device.c: the rules of programs that many threads run (docs/ir.md, "Device programs").
 *
 * A device program is a list of parts. A part has a chain of loops over blocks, inside it a chain of loops over threads, and
 * inside that the body of a thread. One walk over the list records for every value, as bits, the loops over blocks and threads
 * that it varies with. It also records whether the value comes from memory. The rules about stores and barriers follow from
 * these.
 *
 * The rules are necessary, not sufficient. Schedules prove that the addresses of two threads differ, and
 * interp/interp_threads.c checks it for the threads that it runs.
 *
 * needs: a program that obeys the rules of all programs    gives: nothing; a node that breaks a rule is a bug
 * breaks: nothing */
#include "refmap.h"
#include "verify.h"
#include <assert.h>

enum { DATA = 1 << 30 }; /* in a mask: comes from memory or a variable. Lower bits: one for each loop over blocks and threads */
static_assert(MAX_RANGES < 30, "no bit for each loop");

typedef struct Open { Ref range; uint32_t gate; } Open; /* an open loop, and the mask of its gate */

typedef struct Walk {
  const IR *ir;
  VEC(Open) open;
  RefMap top, mask;        /* masks of values outside of all blocks; masks of values in this part */
  RefMap stored;           /* shared buffer + 1: this part stores to it */
  int places;              /* number of open loops over blocks and threads, which are outermost */
  uint32_t threads, wide;  /* bits of loops over threads; bits of such loops with more than one value */
  int64_t size, first;     /* threads per block in this part; in the first part; 0: not known yet */
  bool body, closed;       /* the body of a thread has begun; it has ended, in this part */
} Walk;

static RangeKind kind_of(const Walk *d, Ref range) { return range_kind(node(d->ir, range)); }

static uint32_t mask_of(const Walk *d, Ref s) {
  const Op op = (Op)node(d->ir, s)->op;
  if (op == OP_CONST || op == OP_BUFFER) return 0;
  for (int k = 0; k < d->places && op == OP_RANGE; k++)
    if (d->open.p[k].range == s) return 1u << k;
  return refmap_get(&d->mask, s) | refmap_get(&d->top, s);
}

static uint32_t mask_of_sources(const Walk *d, const Node *x) {
  uint32_t m = x->op == OP_LOAD || x->op == OP_TILE || x->op == OP_GET ? (uint32_t)DATA : 0;
  for (int k = 0; k < x->nsrc; k++) m |= mask_of(d, x->src[k]);
  return x->op == OP_SHFLXOR ? (m & ~d->threads) | DATA : m;
}

static uint32_t open_gates(const Walk *d) {
  uint32_t m = 0;
  for (size_t k = 0; k < d->open.n; k++) m |= d->open.p[k].gate;
  return m;
}

static void enter_loop(Walk *d, Ref r, const Node *x) {
  const IR *ir = d->ir;
  const Node *range = node(ir, loop_range(x));
  const RangeKind kind = range_kind(range);
  if (range_is_place(kind)) {
    NEED((int)d->open.n == d->places && !d->body && !d->closed, "a loop over blocks or threads inside what a thread does");
    NEED(!loop_gate(x), "a loop over blocks or threads with a gate");
    NEED(range_extent(range) > 0, "no blocks or threads");
    NEED(d->places < MAX_RANGES, "more than 24 loops over blocks and threads");
    NEED(kind != RK_GRID || !d->threads, "a loop over blocks inside one over threads");
    NEED(kind == RK_GRID || d->places, "threads of no block");
    if (range_is_thread(kind)) d->threads |= 1u << d->places, d->size *= range_extent(range);
    if (range_extent(range) > 1) d->wide |= 1u << d->places;
    d->places++;
  } else {
    NEED(d->places, "a loop outside of all blocks");
    d->body = true;
  }
  VEC_PUSH(&d->open, ((Open){ loop_range(x), loop_gate(x) ? mask_of(d, loop_gate(x)) : 0 }));
}

static void leave_loop(Walk *d, Ref r) {
  const IR *ir = d->ir;
  const bool place = (int)d->open.n == d->places;
  d->open.n--;
  if (!place) return;
  d->closed = true;
  if (--d->places) return;
  NEED(!d->first || d->first == d->size, "blocks of one launch with different numbers of threads");
  d->first = d->size;
  d->size = 1;
  d->threads = d->wide = 0;
  d->body = d->closed = false;
  refmap_free(&d->mask);
  refmap_free(&d->stored);
  d->mask = d->stored = (RefMap){ 0 };
}

static void check_store(const Walk *d, Ref r, const Node *x) {
  const IR *ir = d->ir;
  const BufKind kind = ir->bufs.p[buffer_id(node(ir, store_buffer(x)))].kind;
  const uint32_t told = mask_of(d, store_index(x)) | (store_gate(x) ? mask_of(d, store_gate(x)) : 0) | open_gates(d);
  if (kind == BUF_LOCAL) return;
  NEED(!(d->wide & d->threads & ~told), "threads of a block store to one element; a gate or the index must tell them apart");
  NEED(kind == BUF_SHARED || !(d->wide & ~told), "blocks store to one element; a gate or the index must tell them apart");
}

/* The buffer that a node accesses; -1: none. */
static int64_t touched(const IR *ir, const Node *x) {
  return is_access(x) ? buffer_id(node(ir, access_buffer(x))) : -1;
}

/* Outside of all blocks: earlier blocks have ended before later ones begin. */
static void end_launch(Walk *d) {
  d->first = 0;
  refmap_free(&d->top);
  d->top = (RefMap){ 0 };
}

/* Ops that only threads may run: effects, variables, and access to memory of threads and blocks. */
static void check_effect(Walk *d, Ref r, const Node *x) {
  const IR *ir = d->ir;
  const int64_t id = touched(ir, x);
  const bool shared = id >= 0 && ir->bufs.p[id].kind == BUF_SHARED, own = id >= 0 && buf_is_own(ir->bufs.p[id].kind);
  if (x->op != OP_STORE && x->op != OP_BARRIER && x->op != OP_ACC && x->op != OP_SET && x->op != OP_SHFLXOR && x->op != OP_WMMA &&
      x->op != OP_TILE && !own)
    return;
  if (x->op == OP_BARRIER && !d->places && !d->open.n) {
    NEED(d->first, "a barrier before all blocks");
    end_launch(d);
    return;
  }
  NEED(d->places && kind_of(d, d->open.p[d->places - 1].range) != RK_GRID && !d->closed,
       "an effect outside of the threads of a block");
  d->body = true;
  if (x->op == OP_STORE) check_store(d, r, x);
  if (x->op == OP_STORE && shared) refmap_set(&d->stored, (Ref)id + 1, 1);
  NEED(x->op == OP_STORE || !shared || refmap_get(&d->stored, (Ref)id + 1),
       "shared memory is read before anything is stored there");
  const bool all = !(open_gates(d) & (d->threads | DATA));
  NEED(x->op != OP_BARRIER || all, "a barrier that not all threads of the block reach");
  NEED(x->op != OP_SHFLXOR || all, "an exchange of values that not all threads of the block reach");
  NEED(x->op != OP_SHFLXOR || d->size % (2 * shflxor_mask(x)) == 0, "an exchange of values with a thread that is not there");
  if (x->op == OP_WMMA) {
    const int64_t warp = wmma_m(x) * wmma_n(x) / x->lanes;
    NEED(d->size % warp == 0, "a matrix product of warps in a block of parts of warps");
    NEED(!(open_gates(d) & (d->threads | DATA)), "a matrix product that not all threads of a warp reach");
  }
  if (x->op == OP_TILE) {
    NEED(!(mask_of(d, tile_index(x)) >> (d->places - 1) & 1), "a matrix of a warp that is elsewhere for each of its threads");
    NEED(!(open_gates(d) & (d->threads | DATA)), "a matrix that not all threads of a warp load");
  }
}

/* A program for one thread, or for a share of its thread ranges */
static void verify_host(const IR *ir, const Ref *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const Ref r = list[i];
    const Node *x = node(ir, r);
    NEED(x->op != OP_BARRIER, "a barrier in a program of no blocks");
    NEED(x->op != OP_SHFLXOR, "an exchange of values in a program of no blocks");
    NEED(x->op != OP_WMMA, "a matrix product of a warp in a program of no blocks");
    NEED(touched(ir, x) < 0 || ir->bufs.p[touched(ir, x)].kind != BUF_SHARED, "shared memory in a program of no blocks");
  }
}

void verify_device(const IR *ir, const Ref *list, size_t n, bool blocks) {
  Walk d = { .ir = ir, .size = 1 };
  if (!blocks) {
    verify_host(ir, list, n);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    const Ref r = list[i];
    const Node *x = node(ir, r);
    if (x->op == OP_LOOP) enter_loop(&d, r, x);
    else if (x->op == OP_END) leave_loop(&d, r);
    else {
      check_effect(&d, r, x);
      const uint32_t mask = mask_of_sources(&d, x);
      if (mask && x->op != OP_RANGE) refmap_set(d.places ? &d.mask : &d.top, r, mask);
    }
  }
  VEC_FREE(&d.open);
  refmap_free(&d.top);
  refmap_free(&d.mask);
  refmap_free(&d.stored);
}

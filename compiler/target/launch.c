/* SPDX-License-Identifier: MIT */
/* launch.c: the geometry of device programs. Blocks and threads are loops of the program, so their numbers are counted, never
 * stored separately.
 *
 * needs: a device program that the verifier accepts    gives: parts, geometry, or the limit that a device lacks
 * breaks: nothing */
#include "launch.h"
#include <stdlib.h>

int launch_exchange(const IR *ir, const Refs *prog) {
  int64_t most = 0;
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(ir, prog->p[i]);
    if (x->op == OP_SHFLXOR && 2 * shflxor_mask(x) > most) most = 2 * shflxor_mask(x);
  }
  return (int)most;
}

uint8_t *buffer_uses(const IR *ir, const Ref *list, size_t n) {
  uint8_t *use = xcalloc(ir->bufs.n + 1, 1);
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(ir, list[i]);
    if (is_access(x)) use[buffer_id(node(ir, access_buffer(x)))] |= x->op == OP_STORE ? 2 : 1;
  }
  return use;
}

bool launch_part(const IR *ir, const Ref *list, size_t n, size_t from, LaunchPart *out) {
  *out = (LaunchPart){ .blocks = 1, .threads = 1 };
  int depth = 0;
  for (size_t i = from; i < n; i++) {
    const Node *x = node(ir, list[i]);
    if (x->op == OP_LOOP) {
      const Node *range = node(ir, loop_range(x));
      if (!depth++) out->first = i;
      if (!range_is_place(range_kind(range))) continue;
      CHECK(out->nblocks + out->nthreads < MAX_RANGES);
      out->place[out->nblocks + out->nthreads] = loop_range(x);
      *(range_kind(range) == RK_GRID ? &out->nblocks : &out->nthreads) += 1;
      *(range_kind(range) == RK_GRID ? &out->blocks : &out->threads) *= range_extent(range);
    } else if (x->op == OP_END && !--depth) {
      out->last = i;
      return true;
    }
  }
  return false;
}

/* Digits of v in the base of the ranges' extents, the last one fastest */
static void digits(const IR *ir, const Ref *range, int n, int64_t v, int64_t *values) {
  for (int k = n; k-- > 0;) {
    values[k] = v % range_extent(node(ir, range[k]));
    v /= range_extent(node(ir, range[k]));
  }
}

void launch_place(const IR *ir, const LaunchPart *p, int64_t block, int64_t thread, int64_t *values) {
  digits(ir, p->place, p->nblocks, block, values);
  digits(ir, p->place + p->nblocks, p->nthreads, thread, values + p->nblocks);
}

/* The extents of up to three loops by dimension; for more loops, their product in x */
static void dimensions(const IR *ir, const Ref *range, int n, int64_t *dim) {
  for (int k = 0; k < n; k++) {
    const int64_t extent = range_extent(node(ir, range[k]));
    if (n <= 3) dim[n - 1 - k] = extent;
    else dim[0] *= extent;
  }
}

int64_t launch_scratch(const IR *ir, const Refs *prog, int64_t threads, DType *d) {
  int64_t elems = 0;
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(ir, prog->p[i]);
    if (x->op != OP_SPILL || threads / SCRATCH_WARP * x->lanes <= elems) continue;
    elems = threads / SCRATCH_WARP * x->lanes;
    *d = (DType)x->dt;
  }
  return elems;
}

Launch launch_of(const IR *ir, Refs prog) {
  Launch l = { .prog = prog, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
  LaunchPart p;
  int64_t blocks = 0;
  int parts = 0;
  for (size_t from = 0; launch_part(ir, prog.p, prog.n, from, &p); from = p.last + 1, parts++) {
    if (!parts) dimensions(ir, p.place, p.nblocks, l.grid);
    if (!parts) dimensions(ir, p.place + p.nblocks, p.nthreads, l.block);
    blocks += p.blocks;
  }
  if (parts > 1) {
    l.block[0] = launch_threads(&l);
    l.grid[0] = blocks;
    l.grid[1] = l.grid[2] = l.block[1] = l.block[2] = 1;
  }
  uint8_t *use = buffer_uses(ir, prog.p, prog.n);
  for (size_t i = 0; i < ir->bufs.n; i++)
    if (use[i] & 2 && ir->bufs.p[i].kind == BUF_SHARED)
      l.shared_bytes += shared_bytes(ir->bufs.p[i].dt, ir->bufs.p[i].elems);
  free(use);
  DType d = DT_NONE;
  const int64_t scratch = launch_scratch(ir, &l.prog, launch_threads(&l), &d);
  if (scratch) l.shared_bytes += shared_bytes(d, scratch);
  return l;
}

void launches_of(const IR *ir, const Ref *list, size_t n, Launches *out) {
  Refs prog = { 0 };
  int depth = 0;
  for (size_t i = 0; i < n; i++) {
    const Op op = (Op)node(ir, list[i])->op;
    depth += (op == OP_LOOP) - (op == OP_END);
    if (op != OP_BARRIER || depth) {
      VEC_PUSH(&prog, list[i]);
      continue;
    }
    VEC_PUSH(out, launch_of(ir, prog));
    prog = (Refs){ 0 };
  }
  if (prog.n) VEC_PUSH(out, launch_of(ir, prog));
}

void launches_free(Launches *l) {
  for (size_t i = 0; i < l->n; i++) VEC_FREE(&l->p[i].prog);
  VEC_FREE(l);
}

bool program_sized(const IR *ir, const Refs *prog) {
  bool any = false;
  for (size_t i = 0; i < prog->n && !any; i++) {
    const Node *x = node(ir, prog->p[i]);
    any = x->op == OP_SIZE || (x->op == OP_LOOP && range_limit(node(ir, loop_range(x))));
  }
  return any;
}

/* Number of buffers that a launch takes as arguments, with the table of sizes */
static int given_buffers(const IR *ir, const Launch *l) {
  uint8_t *use = buffer_uses(ir, l->prog.p, l->prog.n);
  int n = program_sized(ir, &l->prog);
  for (size_t i = 0; i < ir->bufs.n; i++) n += use[i] && !buf_is_own(ir->bufs.p[i].kind);
  free(use);
  return n;
}

bool device_takes(const Device *d, const IR *ir, const Launch *l, Sb *why) {
  Sb unused = { 0 }, *out = why ? why : &unused;
  const int args = given_buffers(ir, l), exchange = launch_exchange(ir, &l->prog);
  bool takes = true;
  if (launch_threads(l) > d->max_threads) {
    sb_printf(out, "a block has %lld threads, but the device permits %d", (long long)launch_threads(l), d->max_threads);
    takes = false;
  }
  for (int k = 0; k < 3 && takes; k++)
    if (l->grid[k] > d->max_grid[k]) {
      sb_printf(out, "%lld blocks along %c, but the device permits %lld", (long long)l->grid[k], "xyz"[k],
                (long long)d->max_grid[k]);
      takes = false;
    }
  if (takes && l->shared_bytes > d->shared_bytes) {
    sb_printf(out, "a block needs %lld bytes of shared memory, but the device has %lld", (long long)l->shared_bytes,
              (long long)d->shared_bytes);
    takes = false;
  }
  if (takes && args > d->max_args) {
    sb_printf(out, "buffers: %d, but the device permits %d", args, d->max_args);
    takes = false;
  }
  if (takes && exchange && (exchange > d->warp || !(d->features & DEVF_SUBGROUPS))) {
    sb_printf(out, "%d threads exchange values; the device has warps of %d%s", exchange, d->warp,
              d->features & DEVF_SUBGROUPS ? "" : ", which cannot");
    takes = false;
  }
  sb_free(&unused);
  return takes;
}

/* SPDX-License-Identifier: MIT */
/* races.c: finds accesses of different threads that nothing orders.
 *
 * Time is divided into epochs: one begins with each block and at each barrier. Accesses of two blocks are never ordered.
 * Accesses of two threads of a block are ordered if they are in different epochs. So a few marks for each element suffice, for
 * any number of threads. They are the last store, the last load, a load of another thread in the same epoch, and a load of
 * another block. A race is found in any order of execution, since the question is whether accesses are ordered, not which came
 * first.
 *
 * Elements are identified by address, because buffers of an arena may share memory. Overlapping buffers form one region, whose
 * cells are as wide as the narrowest type. Regions that the program only reads have no cells.
 *
 * needs: accesses in some order that barriers permit    gives: pairs that may conflict    breaks: nothing */
#include "races.h"
#include <stdlib.h>

typedef struct Cell { Mark store, load, other, foreign; } Cell;

typedef struct Region {
  const char *from, *to;   /* memory of global buffers; NULL: shared memory */
  int grain;               /* bytes of a cell */
  bool stored;
  size_t cells;
  Cell *cell;
} Region;

struct Races {
  const IR *ir;
  void *const *mem;
  VEC(Region) region;
  VEC(int) of;             /* by buffer: 1 + its region; 0: nothing stores to it */
  uint32_t epoch;
  int32_t block;
};

/* ---- regions ---- */
static bool overlap(const Region *a, const Region *b) { return a->from < b->to && b->from < a->to; }

static void join(Region *a, const Region *b) {
  if (b->from < a->from) a->from = b->from;
  if (b->to > a->to) a->to = b->to;
  if (b->grain < a->grain) a->grain = b->grain;
  a->stored |= b->stored;
}

/* Adds the memory of a buffer, merging all regions that it overlaps. */
static void add_global(Races *r, size_t id, bool stored) {
  const Buf *b = &r->ir->bufs.p[id];
  const char *from = r->mem[id];
  Region mine = { .from = from, .to = from + b->elems * dt_bytes(b->dt), .grain = dt_bytes(b->dt), .stored = stored };
  for (size_t k = 0; k < r->region.n; k++) {
    if (!overlap(&r->region.p[k], &mine)) continue;
    join(&mine, &r->region.p[k]);
    r->region.p[k] = r->region.p[--r->region.n];
    k = (size_t)-1; /* it may overlap more now */
  }
  VEC_PUSH(&r->region, mine);
}

static int global_region(const Races *r, size_t id) {
  for (size_t k = 0; k < r->region.n; k++)
    if (r->region.p[k].from <= (char *)r->mem[id] && (char *)r->mem[id] < r->region.p[k].to) return (int)k;
  return -1;
}

static void make_cells(Region *g, size_t cells) {
  g->cells = cells;
  g->cell = xcalloc(cells + 1, sizeof *g->cell);
}

Races *races_open(const IR *ir, const Ref *list, size_t n, void *const *mem) {
  Races *r = xcalloc(1, sizeof *r);
  uint8_t *use = buffer_uses(ir, list, n);
  *r = (Races){ .ir = ir, .mem = mem };
  for (size_t i = 0; i < ir->bufs.n; i++)
    if (use[i] && !buf_is_own(ir->bufs.p[i].kind)) add_global(r, i, use[i] & 2);
  for (size_t k = 0; k < r->region.n; k++) {
    Region *g = &r->region.p[k];
    if (g->stored) make_cells(g, (size_t)(g->to - g->from) / (size_t)g->grain);
  }
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    const int k = use[i] && !buf_is_own(b->kind) ? global_region(r, i) : -1;
    VEC_PUSH(&r->of, k >= 0 && r->region.p[k].stored ? k + 1 : 0);
    if (!use[i] || b->kind != BUF_SHARED) continue;
    VEC_PUSH(&r->region, ((Region){ .grain = dt_bytes(b->dt), .stored = true }));
    make_cells(&r->region.p[r->region.n - 1], (size_t)b->elems);
    r->of.p[i] = (int)r->region.n;
  }
  free(use);
  return r;
}

void races_close(Races *r) {
  for (size_t i = 0; i < r->region.n; i++) free(r->region.p[i].cell);
  VEC_FREE(&r->region);
  VEC_FREE(&r->of);
  free(r);
}

/* ---- time ---- */
void races_barrier(Races *r) {
  CHECK(r->epoch < UINT32_MAX);
  r->epoch++;
}

void races_block(Races *r, int64_t block) {
  races_barrier(r);
  r->block = (int32_t)block;
  for (size_t i = 0; i < r->region.n; i++) {
    Region *g = &r->region.p[i];
    if (!g->from) memset(g->cell, 0, g->cells * sizeof *g->cell);
  }
}

/* ---- accesses ---- */
/* Fault of an access after an earlier one: none if they are ordered or of one thread, else a race */
static FaultKind meets(const Mark *before, const Mark *now) {
  if (!before->epoch) return FAULT_KINDS;
  if (before->block != now->block) return FAULT_BLOCKS;
  return before->epoch == now->epoch && before->thread != now->thread ? FAULT_RACE : FAULT_KINDS;
}

static FaultKind touch_cell(Cell *c, const Mark *now, bool store, Mark *other) {
  const Mark *marks[] = { &c->store, &c->load, &c->other, &c->foreign };
  FaultKind found = FAULT_KINDS;
  for (int k = 0; k < (store ? 4 : 1) && found == FAULT_KINDS; k++)
    if ((found = meets(marks[k], now)) != FAULT_KINDS) *other = *marks[k];
  if (store) {
    c->store = *now;
    return found;
  }
  if (c->load.epoch && c->load.block != now->block) c->foreign = c->load;
  else if (c->load.epoch == now->epoch && c->load.thread != now->thread) c->other = c->load;
  c->load = *now;
  return found;
}

FaultKind races_touch(Races *r, int64_t buffer, int64_t at, bool store, int32_t thread, uint32_t step, Mark *other) {
  const int of = r->of.p[buffer];
  if (!of) return FAULT_KINDS;
  const Region *g = &r->region.p[of - 1];
  const int bytes = dt_bytes(r->ir->bufs.p[buffer].dt);
  const size_t first = g->from ? (size_t)((const char *)r->mem[buffer] + at * bytes - g->from) / (size_t)g->grain : (size_t)at;
  const Mark now = { .epoch = r->epoch, .step = step, .block = r->block, .thread = thread };
  FaultKind found = FAULT_KINDS;
  for (size_t k = 0; k < (size_t)(bytes / g->grain) && found == FAULT_KINDS; k++) {
    Cell *c = &g->cell[first + k];
    if (!g->from && !store && !c->store.epoch) {
      *other = now;
      return FAULT_UNWRITTEN;
    }
    found = touch_cell(c, &now, store, other);
  }
  return found;
}

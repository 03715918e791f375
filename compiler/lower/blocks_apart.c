/* SPDX-License-Identifier: MIT */
/* blocks_apart.c: proves that blocks of a launch do not conflict in memory.
 *
 * Blocks run in any order, or at the same time. So an element of global memory that one block stores may not be stored or
 * loaded by another one. The index of an access says which elements it touches: an expression of the block, the thread, the
 * loops around it and sometimes of data. The proof enumerates all values that the index or a gate varies with, over all blocks.
 * It notes for each element which block stores it and which block loads it. A value from data may be any within its bounds, and
 * a condition on data may hold. So the proof covers at least the elements that threads touch.
 *
 * Only memory that the launch stores to counts. Elements are identified by their addresses, because buffers of an arena may
 * share memory. The proof neither reads nor writes that memory.
 *
 * needs: a launch, the places of its buffers    gives: an answer    keeps: all inputs    breaks: nothing */
#include "../interp/interp.h"
#include "lower.h"
#include <stdlib.h>

enum { WIDEST_DATA = 1 << 24 }; /* most values of a place that depends on data */

typedef struct Region {    /* memory of overlapping buffers */
  const char *from, *to;
  int grain;               /* bytes of a cell: size of the smallest element */
  bool stored;
  uint32_t *store, *load;  /* by cell: 1 + the block; SEVERAL */
  int64_t block;           /* 1 + a block that touches it; 0: none */
  bool shared;             /* several blocks touch it */
} Region;
enum { SEVERAL = INT32_MAX };

typedef struct Item {      /* a node below the index or a gate */
  const Node *x;
  int from[3];             /* items of its sources */
  int depth;               /* number of outermost variables on which it depends */
  bool data;               /* unknown: it depends on memory or on a variable of the program */
} Item;

typedef struct Variable { int item; int64_t lo, n, stride; } Variable; /* stride: in the number of the block; 0: no block */

typedef struct Asked {
  const IR *ir;
  const Launch *l;
  void *const *mem;
  VEC(Region) region;
  VEC(int) of;             /* by buffer: 1 + its region; 0: no stores */
  int64_t left;            /* budget: elements that may still be enumerated */
  Sb *why;
  bool apart;
  /* the current access */
  size_t step;
  const Node *access;
  Region *in;
  int64_t offset;          /* bytes from the region's start to its buffer */
  int bytes, lanes, lane_items; /* bytes of an element; contiguous elements that it touches */
  VEC(Item) item;
  RefMap place;            /* node to item + 1 */
  VEC(Variable) var;
  VEC(int) order;          /* computed items, by depth */
  VEC(int) first;          /* by depth: where its items begin in order */
  VEC(int) gate;           /* known conjuncts, with their items' depths */
  int index;
  int64_t *v;              /* by item */
} Asked;

/* ---- memory ---- */
static bool overlap(const Region *a, const Region *b) { return a->from < b->to && b->from < a->to; }

static void add_region(Asked *p, size_t id, bool stored) {
  const Buf *b = &p->ir->bufs.p[id];
  Region mine = { .from = p->mem[id], .grain = dt_bytes(b->dt), .stored = stored };
  mine.to = mine.from + b->elems * dt_bytes(b->dt);
  for (size_t k = 0; k < p->region.n;) {
    const Region *o = &p->region.p[k];
    if (!overlap(o, &mine)) {
      k++;
      continue;
    }
    if (o->from < mine.from) mine.from = o->from;
    if (o->to > mine.to) mine.to = o->to;
    if (o->grain < mine.grain) mine.grain = o->grain;
    mine.stored |= o->stored;
    p->region.p[k] = p->region.p[--p->region.n];
    k = 0; /* the larger region may overlap earlier ones */
  }
  VEC_PUSH(&p->region, mine);
}

static void open_regions(Asked *p) {
  uint8_t *use = buffer_uses(p->ir, p->l->prog.p, p->l->prog.n);
  for (size_t i = 0; i < p->ir->bufs.n; i++)
    if (use[i] && !buf_is_own(p->ir->bufs.p[i].kind)) add_region(p, i, use[i] & 2);
  for (size_t k = 0; k < p->region.n; k++) {
    Region *g = &p->region.p[k];
    const size_t cells = (size_t)(g->to - g->from) / (size_t)g->grain;
    if (!g->stored) continue;
    g->store = xcalloc(cells + 1, sizeof *g->store);
    g->load = xcalloc(cells + 1, sizeof *g->load);
  }
  for (size_t i = 0; i < p->ir->bufs.n; i++) {
    int of = 0;
    const char *at = p->mem[i];
    for (size_t k = 0; k < p->region.n && use[i] && !buf_is_own(p->ir->bufs.p[i].kind); k++)
      if (p->region.p[k].stored && p->region.p[k].from <= at && at < p->region.p[k].to) of = (int)k + 1;
    VEC_PUSH(&p->of, of);
  }
  free(use);
}

/* Finds the regions that several blocks touch; the others need no proof */
static void find_shared(Asked *p) {
  LaunchPart part;
  int64_t first = 0;
  for (size_t from = 0; launch_part(p->ir, p->l->prog.p, p->l->prog.n, from, &part); from = part.last + 1) {
    for (size_t i = part.first; i <= part.last; i++) {
      const Node *x = node(p->ir, p->l->prog.p[i]);
      const int of = is_access(x) ? p->of.p[buffer_id(node(p->ir, access_buffer(x)))] : 0;
      Region *g = of ? &p->region.p[of - 1] : NULL;
      if (g && (part.blocks > 1 || (g->block && g->block != first + 1))) g->shared = true;
      if (g) g->block = first + 1;
    }
    first += part.blocks;
  }
}

/* ---- an access as an expression ---- */
static bool is_known_op(const Node *x) { return op_info[x->op].level == L_EXPR && x->nsrc <= 3 && !dt_float((DType)x->dt); }

/* The item of r; sources come first. Loads and variables of the program are data. */
static int item_of(Asked *p, Ref r) {
  Refs all = { 0 };
  ir_toposort(p->ir, &r, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(p->ir, all.p[i]);
    Item it = { .x = x, .data = x->op != OP_CONST && x->op != OP_RANGE };
    if (refmap_get(&p->place, all.p[i])) continue;
    if (is_known_op(x)) {
      it.data = false;
      for (int k = 0; k < x->nsrc; k++) {
        it.from[k] = (int)refmap_get(&p->place, x->src[k]) - 1;
        it.data |= p->item.p[it.from[k]].data || dt_float((DType)node(p->ir, x->src[k])->dt);
      }
    }
    VEC_PUSH(&p->item, it);
    refmap_set(&p->place, all.p[i], (Ref)p->item.n);
  }
  VEC_FREE(&all);
  return (int)refmap_get(&p->place, r) - 1;
}

static void add_gate(Asked *p, Ref r) {
  if (!r) return;
  const Node *x = node(p->ir, r);
  if (x->op == OP_AND && x->dt == DT_BOOL) {
    add_gate(p, lhs(x));
    add_gate(p, rhs(x));
  } else {
    VEC_PUSH(&p->gate, item_of(p, r));
  }
}

static void add_variable(Asked *p, Ref range, int64_t stride) {
  VEC_PUSH(&p->var, ((Variable){ item_of(p, range), 0, range_extent(node(p->ir, range)), stride }));
}

/* Bounds of a value that depends on data: those of its node, narrowed by conditions on it */
static void data_bounds(const Asked *p, int item, int64_t *lo, int64_t *hi) {
  *lo = p->item.p[item].x->vmin;
  *hi = p->item.p[item].x->vmax;
  for (size_t i = 0; i < p->gate.n; i++) {
    const Item *g = &p->item.p[p->gate.p[i]];
    int64_t c;
    if (g->x->op != OP_CMPLT && g->x->op != OP_CMPLE) continue;
    const int strict = g->x->op == OP_CMPLT;
    if (g->from[0] == item && node_is_const(p->ir, rhs(g->x), &c) && c - strict < *hi) *hi = c - strict;
    if (g->from[1] == item && node_is_const(p->ir, lhs(g->x), &c) && c + strict > *lo) *lo = c + strict;
  }
}

/* Turns values from data into variables: the lowest values below the index that have bounds. False: one has none. */
static bool cut_data(Asked *p, int item) {
  Item *it = &p->item.p[item];
  int64_t lo, hi;
  bool below = is_known_op(it->x) && it->x->nsrc;
  if (!it->data) return true;
  for (int k = 0; k < it->x->nsrc && below; k++) below = !dt_float((DType)node(p->ir, it->x->src[k])->dt);
  const size_t vars = p->var.n;
  for (int k = 0; k < it->x->nsrc && below; k++) below = cut_data(p, it->from[k]);
  it = &p->item.p[item];
  if (below) {
    it->data = false;
    return true;
  }
  while (p->var.n > vars) p->item.p[p->var.p[--p->var.n].item].data = true;
  data_bounds(p, item, &lo, &hi);
  if (lo == INT64_MIN || hi == INT64_MAX || hi - lo >= WIDEST_DATA) return false;
  if (hi < lo) hi = lo;
  VEC_PUSH(&p->var, ((Variable){ item, lo, hi - lo + 1, 0 }));
  it->data = false;
  return true;
}

/* ---- values ---- */
static int64_t value_of(const Asked *p, const Item *it) {
  const Node *x = it->x;
  const int64_t a = x->nsrc > 0 ? p->v[it->from[0]] : 0, b = x->nsrc > 1 ? p->v[it->from[1]] : 0;
  const bool wide = x->dt == DT_I64;
  switch ((Op)x->op) { /* common ops; the others are rare */
  case OP_CONST: return const_value(x);
  case OP_ADD: if (wide) return (int64_t)((uint64_t)a + (uint64_t)b); break;
  case OP_MUL: if (wide) return (int64_t)((uint64_t)a * (uint64_t)b); break;
  case OP_FLDIV: if (wide && b > 0) return i64_floor_div(a, b); break;
  case OP_FLMOD: if (wide && b > 0) return a - i64_floor_div(a, b) * b; break;
  case OP_CMPLT: if (node(p->ir, lhs(x))->dt == DT_I64) return a < b; break;
  default: break;
  }
  const int64_t all[3] = { a, b, x->nsrc > 2 ? p->v[it->from[2]] : 0 };
  return (int64_t)dt_wrap((DType)x->dt, (uint64_t)interp_scalar((Op)x->op, (DType)x->dt,
                                                                (DType)node(p->ir, x->src[x->nsrc - 1])->dt, all));
}

static int by_depth(const void *a, const void *b, void *arg) {
  const Asked *p = arg;
  const int x = *(const int *)a, y = *(const int *)b;
  const int d = p->item.p[x].depth - p->item.p[y].depth;
  return d ? d : x - y;
}

/* Orders the items to compute by the variable they follow. Variables without effect are dropped, except blocks. */
static void order_items(Asked *p) {
  const size_t n = p->item.n;
  bool *used = xcalloc(n + 1, sizeof *used);
  used[p->index] = true;
  for (size_t i = 0; i < p->gate.n; i++) used[p->gate.p[i]] |= !p->item.p[p->gate.p[i]].data;
  for (size_t i = 0; i < p->var.n; i++) p->item.p[p->var.p[i].item].depth = -1; /* its own sources do not count */
  for (size_t i = n; i-- > 0;)
    for (int k = 0; k < p->item.p[i].x->nsrc && used[i] && p->item.p[i].depth >= 0 && is_known_op(p->item.p[i].x); k++)
      used[p->item.p[i].from[k]] = true;
  size_t kept = 0;
  for (size_t i = 0; i < p->var.n; i++)
    if (p->var.p[i].stride || used[p->var.p[i].item]) p->var.p[kept++] = p->var.p[i];
  p->var.n = kept;
  for (size_t i = 0; i < kept; i++) p->item.p[p->var.p[i].item].depth = (int)i + 1;
  p->order.n = p->first.n = 0;
  for (size_t i = 0; i < n; i++) {
    Item *it = &p->item.p[i];
    bool variable = false;
    for (size_t k = 0; k < kept; k++) variable |= p->var.p[k].item == (int)i;
    if (variable || !used[i] || it->data) continue;
    it->depth = 0;
    for (int k = 0; k < it->x->nsrc; k++)
      if (p->item.p[it->from[k]].depth > it->depth) it->depth = p->item.p[it->from[k]].depth;
    VEC_PUSH(&p->order, (int)i);
  }
  if (p->order.n) qsort_r(p->order.p, p->order.n, sizeof *p->order.p, by_depth, p);
  for (size_t d = 0, at = 0; d <= kept + 1; d++) {
    while (at < p->order.n && p->item.p[p->order.p[at]].depth < (int)d) at++;
    VEC_PUSH(&p->first, (int)at);
  }
  kept = 0;
  for (size_t i = 0; i < p->gate.n; i++)
    if (!p->item.p[p->gate.p[i]].data) p->gate.p[kept++] = p->gate.p[i];
  p->gate.n = kept;
  free(used);
}

/* ---- the proof ---- */
static void put_access(const Asked *p) {
  const int64_t id = buffer_id(node(p->ir, access_buffer(p->access)));
  sb_printf(p->why, "%s of b%lld at step %zu", p->access->op == OP_STORE ? "store" : "load", (long long)id, p->step);
}

static void meet(Asked *p, int64_t block, uint32_t other, int64_t at) {
  if (!p->apart) return;
  p->apart = false;
  put_access(p);
  if (other == SEVERAL) sb_printf(p->why, ": block %lld and others meet at element %lld", (long long)block, (long long)at);
  else sb_printf(p->why, ": blocks %u and %lld meet at element %lld", other - 1, (long long)block, (long long)at);
  for (size_t i = 0; i < p->var.n; i++)
    if (p->item.p[p->var.p[i].item].x->op != OP_RANGE) {
      sb_puts(p->why, " for some data");
      return;
    }
}

static void touch(Asked *p, int64_t block, int64_t at) {
  const int64_t byte = p->offset + at * p->bytes, cells = p->bytes / p->in->grain;
  const uint32_t mine = (uint32_t)block + 1;
  if (byte < 0 || byte + p->bytes > p->in->to - p->in->from) return; /* out of reach: bounds.c excludes such data */
  for (int64_t c = byte / p->in->grain; c < byte / p->in->grain + cells; c++) {
    uint32_t *store = &p->in->store[c], *load = &p->in->load[c];
    if (*store && *store != mine) meet(p, block, *store, at);
    if (p->access->op == OP_STORE) {
      if (*load && *load != mine) meet(p, block, *load, at);
      *store = mine;
    } else {
      *load = *load && *load != mine ? SEVERAL : mine;
    }
  }
}

static void go_through(Asked *p, int depth, int64_t block) {
  for (int i = p->first.p[depth]; i < p->first.p[depth + 1]; i++)
    p->v[p->order.p[i]] = value_of(p, &p->item.p[p->order.p[i]]);
  for (size_t i = 0; i < p->gate.n; i++)
    if (p->item.p[p->gate.p[i]].depth == depth && !p->v[p->gate.p[i]]) return;
  if (depth == (int)p->var.n) {
    p->left -= p->lanes;
    for (int k = 0; k < p->lanes; k++) touch(p, block, p->v[p->index] + k);
    return;
  }
  const Variable x = p->var.p[depth];
  for (int64_t i = 0; i < x.n && p->apart && p->left > 0; i++) {
    p->v[x.item] = x.lo + i;
    go_through(p, depth + 1, block + i * x.stride);
  }
}

/* Enumerates the access at list[at] of a part that begins at block `first`. open: the loops around it that are no blocks or
 * threads */
static void prove_access(Asked *p, const LaunchPart *part, int64_t first, const Refs *open, const Refs *gates, size_t at) {
  const Node *x = node(p->ir, p->l->prog.p[at]), *index = node(p->ir, access_index(x));
  const size_t id = (size_t)buffer_id(node(p->ir, access_buffer(x)));
  const int lanes = x->op == OP_STORE ? node(p->ir, store_value(x))->lanes : x->lanes;
  if (!p->of.p[id] || !p->apart || !p->region.p[p->of.p[id] - 1].shared) return;
  p->step = at;
  p->access = x;
  p->in = &p->region.p[p->of.p[id] - 1];
  p->offset = (char *)p->mem[id] - p->in->from;
  p->bytes = dt_bytes(p->ir->bufs.p[id].dt);
  p->lanes = lanes;
  p->item.n = p->var.n = p->gate.n = 0;
  refmap_free(&p->place);
  p->place = (RefMap){ 0 };
  if (x->op == OP_TILE || index->lanes > 1 || (access_gate(x) && node(p->ir, access_gate(x))->lanes > 1)) {
    p->apart = false;
    put_access(p);
    sb_puts(p->why, ": lanes at places of their own are not gone through");
    return;
  }
  int64_t stride = 1;
  for (int k = part->nblocks; k-- > 0;) stride *= range_extent(node(p->ir, part->place[k]));
  for (int k = 0; k < part->nblocks + part->nthreads; k++) {
    if (k < part->nblocks) stride /= range_extent(node(p->ir, part->place[k]));
    add_variable(p, part->place[k], k < part->nblocks ? stride : 0);
  }
  for (size_t k = 0; k < open->n; k++) add_variable(p, open->p[k], 0);
  p->index = item_of(p, access_index(x));
  add_gate(p, access_gate(x));
  for (size_t k = 0; k < gates->n; k++) add_gate(p, gates->p[k]);
  if (!cut_data(p, p->index)) {
    p->apart = false;
    put_access(p);
    sb_puts(p->why, ": its place comes from data without bounds");
    return;
  }
  order_items(p);
  p->v = xcalloc(p->item.n + 1, sizeof *p->v);
  go_through(p, 0, first);
  free(p->v);
  if (p->apart && p->left <= 0) {
    p->apart = false;
    put_access(p);
    sb_puts(p->why, ": too many elements to go through");
  }
}

static void prove_part(Asked *p, const LaunchPart *part, int64_t first, bool stores) {
  Refs open = { 0 }, gates = { 0 };
  VEC(size_t) gates_before = { 0 };
  for (size_t i = part->first; i <= part->last; i++) {
    const Node *x = node(p->ir, p->l->prog.p[i]);
    if (x->op == OP_LOOP && !range_is_place(range_kind(node(p->ir, loop_range(x))))) {
      VEC_PUSH(&open, loop_range(x));
      VEC_PUSH(&gates_before, gates.n);
      if (loop_gate(x)) VEC_PUSH(&gates, loop_gate(x));
    } else if (x->op == OP_END && !range_is_place(range_kind(node(p->ir, end_range(x))))) {
      open.n--;
      gates.n = gates_before.p[--gates_before.n];
    } else if (is_access(x) && (x->op == OP_STORE) == stores) {
      prove_access(p, part, first, &open, &gates, i);
    }
  }
  VEC_FREE(&open);
  VEC_FREE(&gates);
  VEC_FREE(&gates_before);
}

bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why) {
  Sb unused = { 0 };
  Asked p = { .ir = ir, .l = l, .mem = mem, .left = most, .why = why ? why : &unused, .apart = true };
  CHECK(launch_blocks(l) < SEVERAL);
  if (launch_blocks(l) > 1) {
    open_regions(&p);
    find_shared(&p);
    for (int loads = 0; loads < 2; loads++) {
      LaunchPart part;
      int64_t first = 0;
      for (size_t from = 0; launch_part(ir, l->prog.p, l->prog.n, from, &part); from = part.last + 1) {
        prove_part(&p, &part, first, !loads);
        first += part.blocks;
      }
    }
  }
  for (size_t k = 0; k < p.region.n; k++) {
    free(p.region.p[k].store);
    free(p.region.p[k].load);
  }
  VEC_FREE(&p.region);
  VEC_FREE(&p.of);
  VEC_FREE(&p.item);
  VEC_FREE(&p.var);
  VEC_FREE(&p.order);
  VEC_FREE(&p.first);
  VEC_FREE(&p.gate);
  refmap_free(&p.place);
  sb_free(&unused);
  return p.apart;
}

/* SPDX-License-Identifier: MIT */
/* linear.h: internal to linearize.c, loop_tree.c and sum_order.c: a nest as a tree of loops. loop_tree.c makes the tree,
 * sum_order.c orders the sums of a loop, and linearize.c emits micro-ops by both. */
#ifndef TGC_LINEAR_H
#define TGC_LINEAR_H
#include "lower.h"

enum { MAX_LOOPS = 256 }; /* most loops of a program */

typedef struct Loop {
  Ref range;
  int parent, depth;
  int level;                     /* level of its reductions (make_loops); 0: a loop of the nest or of a copy */
  bool first;                    /* the outermost loop of those reductions */
  Refs sets;                     /* SETs and STOREs that belong here, in order */
  Refs hints;                    /* PREFETCHes: no loop is made for them alone */
  Refs fills;                    /* STOREs of copies into shared memory that have no loops of their own */
  Refs locals;                   /* STOREs into local memory that have no loops of their own, and come before the loop's loops */
  bool fill;                     /* the outermost loop of such a copy */
  bool emitted;
} Loop;

/* State that the nests of a program share */
struct Shared {
  RefMap top;                    /* outside all loops: a node to its value in the program */
  Refs visible;                  /* constants and ranges defined in the open blocks */
  RefMap index;                  /* into visible, plus 1; stale where another node is there */
  int warp;                      /* threads that exchange values without memory; 0: all exchange in shared memory */
};

/* A copy of an operand into shared memory, which all threads of a block make */
typedef struct SharedCopy {
  Ref nest;
  int64_t buffer;
  Refs free;                     /* ranges that the nest varies with, without its own */
} SharedCopy;

typedef struct Linear {
  IR *ir;
  Refs *prog;
  int nloops;
  int limited;                   /* the innermost loop of the nest that runs once or not at all, by a size of the run; 0: none */
  int threads;                   /* the innermost loop over threads, which contains all variables; 0: none */
  Refs nodes;                    /* nodes of the nest, sources first */
  int *scope;                    /* by position in nodes: loop */
  bool *done;                    /* by position in nodes */
  int *hoisted;                  /* by position in nodes: the loop hoist() last saw it for */
  Ref *value;                    /* by position in nodes: its value in the program */
  Ref *gate;                     /* by position in nodes: the condition of the row that all users are for; 0: there is none */
  int *row;                      /* the row; 0: gate is 0 */
  Ref tile_gate;                 /* the condition of the first row of a tile, if a tile may have no rows; else 0 */
  int tile_row, tile_rows;       /* numbers of the first and of the last row */
  int tile_loop;                 /* the innermost loop of the nest */
  VEC(SharedCopy) copies;
  RefMap panel;                  /* buffer + 1 of a copy (stage.c, stage_shared.c) to the loop it is made in */
  uint32_t *pos;                 /* by Ref - base hash: position in nodes */
  uint32_t npos;
  Shared *shared;
  Loop loop[MAX_LOOPS];          /* set as they are added: a model may have 100,000 small nests */
} Linear;

/* Reductions that cannot share a range's loop with earlier ones. They have equal parents and levels, so they share another
 * loop. */
typedef struct Apart {
  Ref range;                     /* 0: all reductions have their loops */
  int parent, level;
  bool first;
  Refs reds;
} Apart;

/* ---- the tree ---- */
static inline uint32_t *pos_slot(Linear *l, Ref r) {
  uint32_t h = r * 2654435761u;
  while (l->pos[h & (l->npos - 1)] && l->nodes.p[l->pos[h & (l->npos - 1)] - 1] != r) h++;
  return &l->pos[h & (l->npos - 1)];
}
static inline uint32_t pos_of(Linear *l, Ref r) { return *pos_slot(l, r) - 1; }

static inline int loop_of(Linear *l, Ref range) {
  for (int i = 1; i < l->nloops; i++)
    if (l->loop[i].range == range) return i;
  return -1;
}

static inline int loop_add(Linear *l, Ref range, int parent) {
  CHECK(l->nloops < MAX_LOOPS);
  l->loop[l->nloops] = (Loop){ .range = range, .parent = parent, .depth = l->loop[parent].depth + 1 };
  return l->nloops++;
}

/* Whether threads of a block add their values: the reduction is over their ranges. */
static inline bool over_threads(const Linear *l, const Node *x) {
  return x->op == OP_RED && range_is_thread(range_kind(node(l->ir, red_range(x, 0))));
}

static inline int deeper(const Linear *l, int a, int b) { return l->loop[a].depth >= l->loop[b].depth ? a : b; }
static inline bool within(const Linear *l, int inner, int outer) {
  while (inner != outer && inner) inner = l->loop[inner].parent;
  return inner == outer;
}

/* The buffer of a copy that a node loads from; -1: none. Tiles of CPUs count as loaded where they are multiplied. */
static inline int64_t buffer_loaded(const Linear *l, const Node *x) {
  const int64_t id = x->op == OP_LOAD || x->op == OP_TILE ? buffer_id(node(l->ir, access_buffer(x))) : -1;
  return x->op == OP_TILE && l->ir->bufs.p[id].kind != BUF_SHARED ? -1 : id;
}

/* ---- loop_tree.c ---- */
/* Makes loops of repeated steps: REPEAT(value, HELD(init, keys)) becomes RED(value, range) with the op HELD. Its variable begins
 * with init and is set to value. */
Ref loops_of_repeats(IR *ir, Ref nest);
/* Collects a nest's nodes and adds loops for all ranges. Returns the innermost loop of the nest. Sets apart->range if reductions
 * need ranges of their own first, which part_reductions gives them. */
int linear_open(Linear *l, const Nest *n, Ref nest, Apart *apart);
Ref part_reductions(IR *ir, Ref nest, const Apart *apart);
void find_scopes(Linear *l, int innermost, bool serial); /* sets the loop of each node */
void linear_free(Linear *l);

/* ---- sum_order.c ---- */
void order_products(Linear *l, Refs *sums);         /* so that factors need few registers */
void find_row_gates(Linear *l, const Nest *n);      /* finds which nodes are for closed stores only */
void find_tile_gate(Linear *l, int innermost);      /* sets tile_gate; after find_row_gates */
/* Sorts sums by their rows, if conditions may be around them. Otherwise, none has a gate afterwards. */
void sort_by_rows(Linear *l, Refs *sums);
#endif

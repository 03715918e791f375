/* SPDX-License-Identifier: MIT */
/* tile.h: register tiles of a nest, and their price (tile.c). A register tile is a set of elements that a nest computes at the
 * same time. If the elements are sums, they stay in registers until they are complete. The main reduction is the reduction with
 * the most terms, or a sum of halves if the nest has one; its loops are innermost. The body is the code that the innermost loop
 * runs for one term, or for Model.group terms. In a nest without reductions, the body is all code for one element. */
#ifndef TGC_TILE_H
#define TGC_TILE_H
#include "cost.h"

typedef struct Access {            /* a load or store of the nest */
  Ref ref;                     /* the LOAD or STORE */
  bool hot;                    /* a load inside the main reduction */
  double times;                /* executions of the access per execution of the body; 1 for accesses in the body */
  bool weight;                 /* the access loads a weight. Weights can be packed in the order in which they are read */
  bool gated, store;           /* gated: a load with a gate; false for weights */
  /* The arrays below have an element for each range of Model.range */
  int64_t coef[MAX_RANGES];    /* the range's coefficient in the index, if affine[] is true */
  bool depends[MAX_RANGES];    /* the index or the gate depends on the range */
  bool affine[MAX_RANGES];     /* the index is affine in the range, and the gate does not depend on the range */
  /* For a range in which the index is not affine: `run` consecutive values of the range access one element, then the index moves
   * by `step` elements. run is 0 if the index has another form. */
  int64_t run[MAX_RANGES], step[MAX_RANGES];
  int bytes;                   /* size of `group` elements */
  int group;                   /* elements that a lane of a dot-product or matrix instruction takes at a time; 1: no such
                                  instruction is used */
  double converts;             /* number of instructions that convert the loaded value. They run once for each load */
  int along[MAX_RANGES];       /* for a range over the taps of a window: index of the range along which the window slides; for
                                  other ranges -1 */
  double elements, reuse;      /* elements: number of distinct elements accessed; `group` elements count as one. reuse: how often
                                  overlapping windows read each element, on average; 1 if no windows overlap */
  double pieces;               /* average number of loads per vector; above 1 if some vectors lie across two cache lines */
} Access;

typedef struct Model {             /* facts of a nest that decide the prices of its tiles */
  IR *ir;
  const Target *t;
  int n;                       /* number of ranges in `range` */
  int nout;                    /* number of the nest's ranges in `range`; they come first */
  Ref range[MAX_RANGES];       /* the nest's ranges, except those of kind THREAD or SERIAL; then the main reduction's ranges,
                                  except those of kind DOT */
  int64_t extent[MAX_RANGES];
  VEC(Access) access;
  double ops;                  /* vector instructions in one execution of the body, without loads and Access.converts */
  double cold;                 /* vector instructions outside of the body, per execution of the body */
  /* Executions of the body per element of the nest. This is the number of terms of the main reduction, divided by `group` and by
   * the number of elements that share a sum. */
  double steps;
  Ref red;                     /* the main reduction; 0: the nest has none */
  bool ordered;                /* the terms of red must be combined in order */
  bool stages;                 /* the schedule may copy panels */
  bool varies[MAX_RANGES];     /* by range of the nest: the main reduction depends on the range; true without a reduction */
  bool selects[MAX_RANGES];    /* by range of the nest: the range is short, its value selects what is computed, and it is unrolled
                                  completely */
  int lane_bytes;              /* bytes of a lane. A full vector has Target.vector_bytes / lane_bytes lanes */
  int widest;                  /* bytes of the widest element type in the computation */
  int group;                   /* terms of the main reduction that a dot-product or matrix instruction takes at a time; 1: no
                                  such instruction is used */
} Model;

typedef struct Tile {              /* v, p and q are indices into Model.range; -1: no range */
  int v, lanes;                /* the lanes of a vector are `lanes` consecutive values of range v, the range in lanes */
  int p, q, up, uq;            /* range p is unrolled `up` times, and range q is unrolled `uq` times */
  bool outer;                  /* the loop of the range in lanes is outermost */
  uint32_t whole;              /* mask of the main reduction's ranges that are unrolled completely */
  int terms;                   /* product of the extents of the ranges in `whole`: number of terms in the unrolled code */
  bool stage;                  /* operands whose elements the lanes would have to gather are copied to panels. The tile reads the
                                  panels */
} Tile;

/* Sets Access.pieces of all accesses for tiles with these values of Tile.v and Tile.lanes. Must be called before tile_cycles
 * prices these tiles */
void model_lanes(Model *m, int v, int lanes);

double tile_cycles(const Model *m, Tile t);                 /* cycles of the whole nest, divided by m->steps */
int cost_registers(const Model *m, const Tile *t);          /* registers that the tile needs */
int model_registers(const Model *m);                        /* registers that a tile may use; 0: unknown */
int group_words(const Model *m);                            /* registers that m->group terms of one operand take */
bool tile_copies(const Model *m, const Tile *t);            /* whether copying a panel (opt/stage.c) may save time */
/* Whether consecutive values of range i access elements at a distance of n elements, and lanes along range v access elements that
 * are not adjacent */
bool lies_beside(const Access *a, int v, int i, int64_t n);
/* Whether several neighbouring lanes along range v read one element in some load of the main reduction, weights excepted */
bool model_spreads(const Model *m, int v);
bool cuts_rows(const Model *m, const Tile *t); /* whether lanes run along joined rows (nest/join_rows.c) and tiles leave a rest */
bool walks_outermost(const Model *m, int v); /* whether the loop of range v should be outermost if v is the range in lanes */
/* The loop of the range in lanes may be divided into blocks, with the loop over the blocks outside of all other loops. Returns
 * the number of values in a block; 0 if blocks save no time */
int lane_block(const Model *m, const Tile *t);
/* Returns the number of instructions that load or store a vector of `lanes` lanes along range v */
double access_cost(const Access *a, const Target *t, int v, int lanes);

/* Returns the number of distinct values of a * i + b * j for 0 <= i < n, 0 <= j < k. If a or b is 0, or if neither of them
 * divides the other, returns the upper bound n * k */
double walked_elements(int64_t a, int64_t n, int64_t b, int64_t k);
/* Returns the number of distinct elements that an access reads or stores for n[i] values of each range i. Elements in several
 * windows count once. apart: index of the range in lanes; -1: none. n[apart] is a number of vectors. Vectors are assumed to have
 * no elements in common. */
double access_elements(const Model *m, const Access *a, const int64_t *n, int apart);

/* ---- vectors whose lanes are `stride` elements apart. For each lane, the tile accesses `beside` adjacent elements, beginning
 * with the lane's own element ---- */
/* SHUFFLE_STRIDE: largest stride, in elements, at which shuffles pick lanes. SHUFFLE_BLOCK: in most instruction sets, one shuffle
 * instruction moves elements only within parts of a vector that have this many bytes. */
enum { SHUFFLE_STRIDE = 8, SHUFFLE_BLOCK = 16 };
/* For loads: whether shuffles can pick the lanes from loaded vectors. With `store`: whether shuffles can build the stored vectors
 * from the lanes. */
bool shuffle_picks(int64_t stride, int lanes, int64_t beside, bool store);
/* For vectors that shuffle_picks refuses: returns the number of adjacent elements that one instruction loads or stores. bytes:
 * size of an element */
int shuffle_row(int bytes, int lanes, int64_t beside);
/* Returns how many sums keep the multipliers busy, since each sum waits for its last multiply-add */
int sums_in_flight(const Target *t);
#endif

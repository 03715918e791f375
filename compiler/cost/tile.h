/* SPDX-License-Identifier: MIT */
/* tile.h: register tiles of a nest, and their price (tile.c). A register tile is the set of elements that a nest
 * computes at the same time. If they are sums, all of them are in registers until they are complete. The main reduction is the
 * reduction with the most terms; its loops are innermost. */
#ifndef TGC_TILE_H
#define TGC_TILE_H
#include "cost.h"

typedef struct Access {            /* a load or store of the nest */
  Ref ref;                     /* the LOAD or STORE */
  bool hot;                    /* a load inside the main reduction */
  double times;                /* executions for each execution of the innermost body; 1 for loads in the main reduction */
  bool weight;                 /* a weight, which can be packed in the order in which it is read */
  bool gated, store;
  int64_t coef[MAX_RANGES];    /* by range, as all arrays below: the range's coefficient in the index, if affine[] is true */
  bool depends[MAX_RANGES];    /* the index depends on the range */
  bool affine[MAX_RANGES];     /* the index is affine in the range */
  /* For a range in which the index is not affine: `run` consecutive values of the range access one element, then the index moves
   * by `step` elements. run is 0 if the index has another form. */
  int64_t run[MAX_RANGES], step[MAX_RANGES];
  int bytes;                   /* size of an element */
  int group;                   /* elements read at a time for a dot-product or matrix instruction; 1: none is used */
  double converts;             /* instructions that convert the loaded value, once for each load */
  int along[MAX_RANGES];       /* for a range of a window: the nest's range along which the window slides; else -1 */
  double elements, reuse;      /* elements: number of distinct elements accessed; reuse: how often overlapping windows read each
                                  element, 1 if no windows overlap */
  double pieces;               /* average number of loads per vector; above 1 if vectors lie across two cache lines */
} Access;

typedef struct Model {             /* facts of a nest that decide the prices of its tiles */
  IR *ir;
  const Target *t;
  int n;                       /* number of ranges: the nest's, then the main reduction's, without kinds THREAD, SERIAL and DOT */
  int nout;                    /* number of the nest's ranges */
  Ref range[MAX_RANGES];
  int64_t extent[MAX_RANGES];
  VEC(Access) access;
  double ops;                  /* vector instructions of the innermost body for one element and one term, without loads */
  double cold;                 /* vector instructions outside of the body, per execution of the body */
  /* Executions of the body per element of the nest. This is the number of terms of the main reduction, divided by `group`, and by
   * the number of elements that use the same sum. */
  double steps;
  Ref red;                     /* the main reduction; 0: the nest has none */
  bool ordered;                /* the terms of red must be taken in order */
  bool stages;                 /* the schedule may copy panels */
  bool varies[MAX_RANGES];     /* the main reduction depends on the range; true if there is no reduction */
  bool selects[MAX_RANGES];    /* a short range whose value selects what is computed; it is unrolled completely */
  int lane_bytes;              /* bytes of a lane: a full vector has Target.vector_bytes / lane_bytes lanes */
  int widest;                  /* bytes of the widest element type in the computation */
  int group;                   /* terms of the main reduction that a dot-product or matrix instruction takes at a time; 1: no
                                  such instruction is used */
} Model;

typedef struct Tile {              /* a range is an index into Model.range */
  int v, lanes;                /* v: index of the range in lanes; -1: none */
  int p, q, up, uq;            /* range p is unrolled `up` times, range q `uq` times; p, q: -1: none */
  bool outer;                  /* the loop of the range in lanes is outermost */
  uint32_t whole;              /* mask of the main reduction's ranges that are unrolled completely */
  int terms;                   /* product of the extents of the ranges in `whole`: terms in one body */
  bool stage;                  /* tiles read panels: copies of operands whose elements lanes would otherwise gather */
} Tile;

void model_lanes(Model *m, int v, int lanes); /* sets Access.pieces; must be called before tiles with these lanes are priced */

double tile_cycles(const Model *m, Tile t);                 /* cycles of the whole nest, divided by m->steps */
int cost_registers(const Model *m, const Tile *t);          /* registers that the tile needs */
int model_registers(const Model *m);                        /* registers that a tile may use; 0: unknown */
int group_words(const Model *m);                            /* registers that m->group terms of one operand take */
bool tile_copies(const Model *m, const Tile *t);            /* copying a panel of some operand may save time (stage.c) */
/* Whether consecutive values of range i access elements n apart, and lanes along range v access elements that are not
 * adjacent. */
bool lies_beside(const Access *a, int v, int i, int64_t n);
bool model_spreads(const Model *m, int v); /* in the main reduction, runs of several lanes along range v read the same element */
bool walks_outermost(const Model *m, int v); /* the loop of range v should be outermost, if v is the range in lanes */
/* Number of values in a block of the range in lanes. The loop over the blocks is to stand outside of all other loops. 0: blocks
 * save no time */
int lane_block(const Model *m, const Tile *t);
double access_cost(const Access *a, const Target *t, int v, int lanes); /* instructions to load or store a vector along range v */

/* Number of distinct values of a * i + b * j for 0 <= i < n, 0 <= j < k. If a or b is 0, or neither divides the other: n * k, an
 * upper bound */
double walked_elements(int64_t a, int64_t n, int64_t b, int64_t k);
/* Number of distinct elements that an access reads for n[i] values of each range i; windows may overlap. apart: the range in
 * lanes, for which n counts vectors that do not overlap; -1: none. */
double access_elements(const Model *m, const Access *a, const int64_t *n, int apart);

/* ---- vectors whose lanes are `stride` elements apart. For each lane the tile accesses `beside` adjacent elements; the first of
 * them is the lane's own element ---- */
/* SHUFFLE_STRIDE: largest stride, in elements, at which shuffles pick lanes. SHUFFLE_BLOCK: bytes of a part of a vector.
 * In most instruction sets one instruction only shuffles within such parts. */
enum { SHUFFLE_STRIDE = 8, SHUFFLE_BLOCK = 16 };
/* Whether shuffles can pick the lanes from loaded vectors; for a store: whether they can build the stored vectors from the
 * lanes. */
bool shuffle_picks(int64_t stride, int lanes, int64_t beside, bool store);
/* For vectors that shuffle_picks refuses: number of adjacent elements that an instruction loads or stores at a time. bytes: size
 * of an element */
int shuffle_row(int bytes, int lanes, int64_t beside);
#endif

/* SPDX-License-Identifier: MIT */
/* tile.h: register tiles of a nest, and their price (tile.c). */
#ifndef TGC_TILE_H
#define TGC_TILE_H
#include "cost.h"

typedef struct Access {
  Ref ref;                     /* the LOAD or STORE */
  bool hot;                    /* a load inside the main reduction */
  double times;                /* executions per execution of the hottest loop body; 1 for loads of the main reduction */
  bool weight;                 /* a weight, which can be packed in the order in which it is read */
  bool gated, store;
  int64_t coef[MAX_RANGES];    /* coefficient of each range in the index; only where affine */
  bool depends[MAX_RANGES];
  bool affine[MAX_RANGES];
  /* For a range in which the index is not affine: `run` consecutive values of the range read one element, then the index moves
   * by `step` elements. run is 0: the index has another form. */
  int64_t run[MAX_RANGES], step[MAX_RANGES];
  int bytes;
  int group;                   /* elements read at a time for a dot-product instruction; else 1 */
  double converts;             /* instructions that convert the loaded value, once for each load */
  int along[MAX_RANGES];       /* for a range of a window: the nest's range along which the window slides; else -1 */
  double elements, reuse;      /* elements: number of distinct elements read. reuse: reads of each; above 1 if windows overlap */
  double pieces;               /* loads that a vector takes on average; above 1 if vectors lie across two cache lines */
} Access;

typedef struct Model {
  IR *ir;
  const Target *t;
  int n;                       /* number of ranges: the nest's, then the main reduction's */
  int nout;                    /* number of the nest's ranges */
  Ref range[MAX_RANGES];
  int64_t extent[MAX_RANGES];
  VEC(Access) access;
  double ops;                  /* vector instructions of the body, without loads */
  double cold;                 /* vector instructions around the body, per execution of the body */
  /* Executions of the body per element: terms of the main reduction, divided by the number of elements that use each of its
   * results. */
  double steps;
  Ref red;                     /* the reduction that costs most; 0: none */
  bool ordered;                /* the terms of red must be taken in order */
  bool stages;                 /* the schedule may copy panels */
  bool varies[MAX_RANGES];     /* the main reduction depends on the range; true if there is no reduction */
  bool selects[MAX_RANGES];    /* a short range whose value selects what is computed; it is unrolled completely */
  int lane_bytes;              /* vectors have as many lanes as such elements fit into them */
  int widest;                  /* bytes of the widest element type in the computation */
  int group;                   /* terms of the main reduction that an instruction takes at a time; else 1 */
} Model;

typedef struct Tile {
  int v, lanes;                /* v: index of the range in lanes; -1: none */
  int p, q, up, uq;            /* p, q: indices of the ranges unrolled up and uq times; -1: none */
  bool outer;                  /* the loop of the range in lanes is outermost */
  uint32_t whole;              /* mask of ranges of the reduction that are unrolled completely */
  int terms;                   /* product of the extents of these ranges */
  bool stage;                  /* tiles read panels, copied from operands that lanes would otherwise gather */
} Tile;

void model_lanes(Model *m, int v, int lanes); /* sets Access.pieces; call it before pricing tiles with these lanes */

double tile_cycles(const Model *m, Tile t);                 /* cycles of the whole nest, divided by m->steps */
int cost_registers(const Model *m, const Tile *t);          /* registers that the tile needs */
int model_registers(const Model *m);                        /* registers that a tile may use; 0: unknown */
int group_words(const Model *m);                            /* registers that a group of terms of one operand takes */
bool tile_copies(const Model *m, const Tile *t);            /* the tile could read a panel from a copy (stage.c) */
/* consecutive values of range i access elements that lie n apart, and lanes along range v are not adjacent */
bool lies_beside(const Access *a, int v, int i, int64_t n);
bool model_spreads(const Model *m, int v); /* in a reduction, several consecutive lanes along range v read the same element */
bool walks_outermost(const Model *m, int v); /* the loop of range v should be outermost, if v is the range in lanes */
/* Values of the range in lanes that form a block. The loop over blocks stands outside of the others. 0: there are no blocks */
int lane_block(const Model *m, const Tile *t);
double access_cost(const Access *a, const Target *t, int v, int lanes); /* instructions to load or store a vector along range v */

/* Number of distinct values of a * i + b * j for i < n, j < k. */
double walked_elements(int64_t a, int64_t n, int64_t b, int64_t k);
/* Distinct elements that an access reads for n[i] values of each range i; windows may overlap. apart: a range whose n counts
 * vectors, which do not overlap; -1: none. */
double access_elements(const Model *m, const Access *a, const int64_t *n, int apart);

/* ---- vectors whose lanes are a stride apart. For each lane the tile accesses `beside` adjacent elements, the lane's own first
 * ---- */
/* SHUFFLE_STRIDE: largest stride, in elements, at which shuffles pick lanes. SHUFFLE_BLOCK: in most instruction sets one
 * instruction shuffles only within parts of a vector of this many bytes. */
enum { SHUFFLE_STRIDE = 8, SHUFFLE_BLOCK = 16 };
/* Shuffles can pick the lanes from vectors that are loaded. For a store, they can put the lanes into vectors that are stored. */
bool shuffle_picks(int64_t stride, int lanes, int64_t beside, bool store);
/* if shuffle_picks is false: number of adjacent elements that move at a time; 1: each element moves alone */
int shuffle_row(int bytes, int lanes, int64_t beside);
#endif

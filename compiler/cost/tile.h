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
  /* Where it is not affine: `run` consecutive values of the range read one element, then the index moves by `step` elements.
   * 0: the index has another form. */
  int64_t run[MAX_RANGES], step[MAX_RANGES];
  int bytes;
  int group;                   /* elements read at a time for a dot-product instruction; else 1 */
  int along[MAX_RANGES];       /* for a range of a window: the nest's range along which the window slides; else -1 */
  double elements, reuse;      /* elements: number of distinct elements read. reuse: reads per element, since windows overlap */
  double pieces;               /* loads per vector */
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
  double cold;                 /* vector instructions around the body, per execution of it */
  /* Executions of the body per element: terms of the main reduction, divided by the number of elements that use each of its
   * results. */
  double steps;
  Ref red;                     /* the reduction that costs most; 0: none */
  bool ordered;                /* its terms must be taken in order */
  bool stages;                 /* panels may be copied */
  /* The value that is reduced, or the whole value without a reduction, varies with the range. */
  bool varies[MAX_RANGES];
  bool selects[MAX_RANGES];    /* a short range whose value selects what is computed; it is unrolled completely */
  int widest;                  /* bytes of the widest element type in the computation */
  int group;                   /* terms of the main reduction that an instruction takes at a time; else 1 */
} Model;

typedef struct Tile {
  int v, lanes, p, q, up, uq;  /* v: range in lanes; p, q: ranges unrolled up and uq times; as indices, or -1 */
  bool outer;                  /* the loop of the range in lanes is outermost */
  uint32_t whole;              /* mask of ranges of the reduction that are unrolled completely */
  int terms;                   /* product of their extents */
  bool stage;                  /* tiles read panels, copied from operands that lanes would otherwise gather */
} Tile;

void model_lanes(Model *m, int v, int lanes);               /* call before pricing tiles with lanes along range v */

double tile_cycles(const Model *m, Tile t);                 /* cycles of the whole nest, divided by m->steps */
int cost_registers(const Model *m, const Tile *t);
int model_registers(const Model *m);                        /* registers for a tile; 0: unknown */
int group_words(const Model *m);                            /* registers of a group of terms of one operand */
bool tile_copies(const Model *m, const Tile *t);            /* it could read a panel from a copy (stage.c) */
/* copies of range i are n elements apart, while lanes along v are further apart */
bool lies_beside(const Access *a, int v, int i, int64_t n);
bool model_spreads(const Model *m, int v); /* in a reduction, several consecutive lanes along range v read the same element */
bool walks_outermost(const Model *m, int v);
/* number of values of the range in lanes that one block has; outer loops run inside of a block's loop. 0: all values */
int lane_block(const Model *m, const Tile *t);
double access_cost(const Access *a, const Target *t, int v, int lanes); /* instructions to load or store a vector along range v */

/* Number of distinct values of a * i + b * j for i < n, j < k. */
double walked_elements(int64_t a, int64_t n, int64_t b, int64_t k);
/* Distinct elements that an access reads for n[i] values of each range i, given that windows overlap. apart: a range counted in
 * vectors, which do not overlap; -1: none. */
double access_elements(const Model *m, const Access *a, const int64_t *n, int apart);

/* ---- vectors whose lanes are a stride apart; runs of `beside` lanes are adjacent ---- */
/* SHUFFLE_STRIDE: largest stride in elements that shuffles handle. SHUFFLE_BLOCK: bytes in which most instruction sets shuffle
 * at once. */
enum { SHUFFLE_STRIDE = 8, SHUFFLE_BLOCK = 16 };
/* a shuffle can pick the lanes from vectors in memory, or for a store put them there */
bool shuffle_picks(int64_t stride, int lanes, int64_t beside, bool store);
int shuffle_row(int bytes, int lanes, int64_t beside);      /* otherwise the number of elements that move at a time; 1: one by
                                                               one */
#endif

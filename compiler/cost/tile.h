/* tile.h: register tiles of a nest, whose price tile.c says. */
#ifndef TGC_TILE_H
#define TGC_TILE_H
#include "cost.h"

typedef struct Access {
  Ref ref;                     /* the LOAD or STORE */
  bool hot;                    /* a load of the main reduction */
  double times;                /* executions per execution of the hottest loop body: 1 for the main reduction's loads */
  bool weight;                 /* can be packed in the order it is read */
  bool gated, store;
  int64_t coef[MAX_RANGES];    /* by range; meaningless where !affine */
  bool depends[MAX_RANGES];
  bool affine[MAX_RANGES];
  /* where it is not: so many values of a range have an element in common, elements to the next; 0: it is neither */
  int64_t run[MAX_RANGES], step[MAX_RANGES];
  int bytes;
  int group;                   /* elements at a time, for a dot-product instruction; else 1 */
  int along[MAX_RANGES];       /* of a window's range, that of the nest it slides along; else -1 */
  double elements, reuse;      /* all that it reads; how often each, by sliding */
  double pieces;               /* loads that a vector is */
} Access;

typedef struct Model {
  IR *ir;
  const Target *t;
  int n;                       /* ranges: the nest's, then the main reduction's */
  int nout;                    /* of which the nest's */
  Ref range[MAX_RANGES];
  int64_t extent[MAX_RANGES];
  VEC(Access) access;
  double ops;                  /* vector instructions of the body, not counting loads */
  double cold;                 /* and those around it, for each execution of it */
  /* executions of the body per element: terms of the main reduction, of its share where others have the same */
  double steps;
  Ref red;                     /* the main reduction: the one that costs most; 0: there is none */
  bool ordered;                /* its terms are taken in turn */
  bool stages;                 /* panels may be copied */
  /* what is reduced, or all there is without a reduction, is made again for each value of the range */
  bool varies[MAX_RANGES];
  bool selects[MAX_RANGES];    /* a short range whose value decides what is computed: unrolled whole */
  int widest;                  /* bytes of the widest element computed with */
  int group;                   /* terms of the main reduction that an instruction takes at a time; else 1 */
} Model;

typedef struct Tile {
  int v, lanes, p, q, up, uq;  /* v, p, q: indices of ranges or -1 */
  bool outer;                  /* the range in lanes is walked outermost */
  uint32_t whole;              /* bits: ranges of the reduction that are unrolled whole */
  int terms;                   /* and all of their values */
  bool stage;                  /* and what is gathered along it is copied, a panel at a time */
} Tile;

void model_lanes(Model *m, int v, int lanes);               /* before tiles with lanes along range v are priced */

double tile_cycles(const Model *m, Tile t);                 /* of the whole nest, divided by m->steps */
int cost_registers(const Model *m, const Tile *t);
bool tile_copies(const Model *m, const Tile *t);            /* it could read a panel from a copy (stage.c) */
/* copies of range i lie n elements apart where lanes along v lie further apart */
bool lies_beside(const Access *a, int v, int i, int64_t n);
bool model_spreads(const Model *m, int v);                  /* lanes along range v read runs of one element in a reduction */
bool walks_outermost(const Model *m, int v);
/* values of the range in lanes to walk before loops outside of it go on; 0: all */
int lane_block(const Model *m, const Tile *t);
double access_cost(const Access *a, const Target *t, int v, int lanes); /* instructions for a vector along range v */

/* Values of a * i + b * j for i < n, j < k. */
double walked_elements(int64_t a, int64_t n, int64_t b, int64_t k);
/* Elements that an access reads for n[i] values of each range i: what lies under one term of a window lies under
 * another a step further on. Of range `apart`, if any, they count vectors, which do not overlap. */
double access_elements(const Model *m, const Access *a, const int64_t *n, int apart);

/* ---- vectors whose lanes lie a stride apart, where `beside` of them lie an element apart ---- */
/* elements at most that shuffles stride over; bytes of the blocks in which most instruction sets shuffle at once */
enum { SHUFFLE_STRIDE = 8, SHUFFLE_BLOCK = 16 };
bool shuffle_picks(int64_t stride, int lanes, int64_t beside, bool store); /* from vectors in memory, or into such */
int shuffle_row(int bytes, int lanes, int64_t beside);      /* else they go in rows of so many elements; 1: one by one */
#endif

/* SPDX-License-Identifier: MIT */
/* growth.h: passes may use more memory to save time. A pass may know a faster form of a layer, which takes more memory. It
 * describes the form as a Growth and asks growth_allowed. If it then chooses the form, it reports this with growth_granted. The
 * answer of growth_allowed depends on --optimize. It also depends on --max-arena and --max-weights. If the result exceeds such a
 * limit, driver.c withdraws some of the granted forms and compiles again: the next attempt. So passes need not know limits. */
#ifndef TGC_GROWTH_H
#define TGC_GROWTH_H
#include "../target/target.h"

typedef enum Optimize { /* names in --optimize */
  OPTIMIZE_AUTO,           /* only in requests: stands for OPTIMIZE_SMALL on machines without an operating system, else for
                              OPTIMIZE_SPEED */
  OPTIMIZE_SPEED,          /* the arena and the weights may grow */
  OPTIMIZE_SIZE,           /* the arena may grow */
  OPTIMIZE_RAM,            /* the weights may grow */
  OPTIMIZE_SMALL,          /* neither may grow */
  OPTIMIZE_COUNT
} Optimize;
extern const char *const optimize_name[OPTIMIZE_COUNT]; /* NULL for OPTIMIZE_AUTO */
Optimize optimize_named(const char *s);                 /* OPTIMIZE_COUNT: there is no such word; NULL: OPTIMIZE_AUTO */
Optimize optimize_for(Optimize wish, const Target *t);  /* the wish, or for OPTIMIZE_AUTO the choice for t */

typedef struct Growth {
  const char *form;        /* name of the faster form: "Winograd tiles"; for messages, and to recognise withdrawn forms */
  uint32_t origin;         /* Node.origin of the layer: the same in each attempt, while the layer's nodes may differ */
  double weights, arena;   /* estimate of the bytes that the form adds */
  double gain;             /* cycles that the form saves */
} Growth;

typedef struct MemoryGoal {
  Optimize optimize;
  VEC(Growth) granted;     /* in this attempt */
  VEC(Growth) withdrawn;   /* in earlier attempts. This form of this layer must now add fewer than `weights` bytes to the weights,
                              and fewer than `arena` bytes to the arena. 0: no limit */
  bool same_weights, same_arena; /* no form may add to the weights, or to the arena, any more */
} MemoryGoal;

bool growth_allowed(const IR *ir, const Growth *g); /* the pass may choose this form */
void growth_granted(const IR *ir, const Growth *g); /* the pass chose this form */
/* Withdraws some of the granted forms. weights: bytes by which the weights must shrink. Forms that save the fewest cycles per
 * byte go first, until their bytes suffice. arena: above 0 if the arena must shrink. Then all forms go that add at least half as
 * much as the largest one. SIZE: a withdrawn form may no longer add as many bytes as it did to the memory that must shrink.
 * LAYER: it may not add any. ALL: in addition, no form of any layer may add to this memory. False: no granted form adds to it. */
typedef enum { WITHDRAW_SIZE, WITHDRAW_LAYER, WITHDRAW_ALL } Withdrawal;
bool growth_withdraw(MemoryGoal *m, double weights, double arena, Withdrawal how);
void growth_free(MemoryGoal *m);
#endif

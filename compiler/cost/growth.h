/* SPDX-License-Identifier: MIT */
/* growth.h: passes may use more memory to save time. A pass may know a faster form of a layer, which takes more memory. The pass
 * describes the form as a Growth and asks growth_allowed. If the pass then chooses the form, it calls growth_granted. The answer
 * of growth_allowed depends on --optimize, and on forms that driver.c has withdrawn. driver.c withdraws some of the granted forms
 * if the result exceeds --max-arena or --max-weights. Then driver.c compiles again: the next attempt. */
#ifndef TGC_GROWTH_H
#define TGC_GROWTH_H
#include "../target/target.h"

typedef enum Optimize { /* names in --optimize */
  OPTIMIZE_AUTO,           /* only in requests: stands for OPTIMIZE_SMALL on machines without an operating system, else for
                              OPTIMIZE_SPEED */
  OPTIMIZE_SPEED,          /* the arena and the weights may grow */
  OPTIMIZE_SIZE,           /* the arena may grow */
  OPTIMIZE_RAM,            /* the weights may grow */
  OPTIMIZE_SMALL,          /* neither the arena nor the weights may grow */
  OPTIMIZE_COUNT
} Optimize;
extern const char *const optimize_name[OPTIMIZE_COUNT]; /* NULL for OPTIMIZE_AUTO */
Optimize optimize_named(const char *s);                 /* OPTIMIZE_COUNT: there is no such word. s NULL: returns OPTIMIZE_AUTO */
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
  VEC(Growth) withdrawn;   /* in earlier attempts. In each element, `weights` and `arena` are limits: this form of this layer must
                              now add fewer bytes. 0: no limit */
  bool same_weights, same_arena; /* no form may add to the weights, or to the arena, any more */
} MemoryGoal;

bool growth_allowed(const IR *ir, const Growth *g); /* whether the pass may choose this form */
void growth_granted(const IR *ir, const Growth *g); /* records that the pass chose this form */
/* Withdraws some of the granted forms. weights: bytes by which the weights must shrink; 0 or less: the weights may stay. Forms
 * that save the fewest cycles per byte go first, until the bytes of the withdrawn forms suffice. arena: above 0 if the arena must
 * shrink. Then all forms go that add at least half as much as the form that adds most. WITHDRAW_SIZE: a withdrawn form must now
 * add fewer bytes than before to the memory that must shrink. WITHDRAW_LAYER: a withdrawn form must add nothing to this memory.
 * WITHDRAW_ALL: in addition, no form of any layer may add to this memory. Returns false if no granted form adds to this
 * memory. */
typedef enum { WITHDRAW_SIZE, WITHDRAW_LAYER, WITHDRAW_ALL } Withdrawal;
bool growth_withdraw(MemoryGoal *m, double weights, double arena, Withdrawal how);
void growth_free(MemoryGoal *m);
#endif

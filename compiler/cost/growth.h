/* SPDX-License-Identifier: MIT */
/* growth.h: how passes may use more memory to save time. For some layers, a pass knows a faster form that takes more memory. The
 * pass describes this form as a Growth and calls growth_allowed. If the pass then chooses the form, it calls growth_granted. The
 * answer of growth_allowed depends on --optimize, and on the forms that driver.c has withdrawn. If the result of a compilation
 * exceeds --max-arena or --max-weights, driver.c withdraws some of the granted forms and compiles again. The first compilation
 * and each repetition are called attempts. */
#ifndef TGC_GROWTH_H
#define TGC_GROWTH_H
#include "../target/target.h"

typedef enum Optimize { /* names in --optimize */
  OPTIMIZE_AUTO,           /* stands for OPTIMIZE_SMALL on machines without an operating system, and for OPTIMIZE_SPEED on
                              all others; optimize_for replaces it */
  OPTIMIZE_SPEED,          /* the arena and the weights may grow */
  OPTIMIZE_SIZE,           /* the arena may grow */
  OPTIMIZE_RAM,            /* the weights may grow */
  OPTIMIZE_SMALL,          /* neither the arena nor the weights may grow */
  OPTIMIZE_COUNT
} Optimize;
extern const char *const optimize_name[OPTIMIZE_COUNT]; /* NULL for OPTIMIZE_AUTO */
/* Returns the value whose name is s; OPTIMIZE_AUTO if s is NULL, OPTIMIZE_COUNT if no value has this name */
Optimize optimize_named(const char *s);
/* Returns `wish`; if `wish` is OPTIMIZE_AUTO, returns the value for which OPTIMIZE_AUTO stands on the machine t */
Optimize optimize_for(Optimize wish, const Target *t);

typedef struct Growth {
  const char *form;        /* name of the faster form, such as "Winograd tiles"; for messages, and to recognise withdrawn forms */
  uint32_t origin;         /* Node.origin of the layer. Origins are equal in all attempts; nodes may differ */
  double weights, arena;   /* estimates of the bytes that the form adds to the weights and to the arena */
  double gain;             /* cycles that the form saves */
} Growth;

typedef struct MemoryGoal {
  Optimize optimize;
  VEC(Growth) granted;     /* forms that passes chose in this attempt */
  VEC(Growth) withdrawn;   /* forms withdrawn after earlier attempts. In this list, `weights` and `arena` are limits: the form is
                              allowed for its layer only if it adds fewer bytes. 0: no limit */
  bool same_weights, same_arena; /* same_weights: no form may add to the weights; same_arena: no form may add to the arena */
} MemoryGoal;

bool growth_allowed(const IR *ir, const Growth *g); /* whether the pass may choose this form */
void growth_granted(const IR *ir, const Growth *g); /* records that the pass chose this form */
/* Withdraws some of the granted forms, and empties m->granted.
 *
 * weights: number of bytes by which the weights must shrink; 0 or less: the weights need not shrink. Forms are withdrawn until
 * their bytes of weights add up to this number. Forms that save fewer cycles per byte of weights are withdrawn first.
 *
 * arena: above 0 if the arena must shrink. Then all forms are withdrawn that add at least most / 2 bytes to the arena.
 * Here, `most` is the greatest number of bytes that a granted form adds to the arena.
 *
 * how: how many bytes a withdrawn form may add, in the next attempts, to the memory that must shrink (weights, arena or both).
 * WITHDRAW_SIZE: fewer bytes than in this attempt. WITHDRAW_LAYER: no bytes. WITHDRAW_ALL: no bytes; also, no form of any other
 * layer may add bytes to this memory.
 *
 * Returns false if no granted form adds to the memory that must shrink. */
typedef enum { WITHDRAW_SIZE, WITHDRAW_LAYER, WITHDRAW_ALL } Withdrawal;
bool growth_withdraw(MemoryGoal *m, double weights, double arena, Withdrawal how);
void growth_free(MemoryGoal *m);
#endif

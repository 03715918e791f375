/* SPDX-License-Identifier: MIT */
/* growth.h: memory that passes spend on time. A pass may know a faster form of a layer, which takes more memory. It describes
 * the form as a Growth and asks growth_allowed. It calls growth_granted to report the form that it chooses. The answer depends on
 * --optimize. It also depends on --max-arena and --max-weights: driver.c compiles again without some of the granted forms where
 * the result exceeds a limit. So a pass knows no limit. */
#ifndef TGC_GROWTH_H
#define TGC_GROWTH_H
#include "../target/target.h"

typedef enum Optimize { /* names in --optimize */
  OPTIMIZE_AUTO,           /* speed, or small on machines without an operating system; only in requests */
  OPTIMIZE_SPEED,          /* the arena and the weights may grow */
  OPTIMIZE_SIZE,           /* the arena may grow */
  OPTIMIZE_RAM,            /* the weights may grow */
  OPTIMIZE_SMALL,          /* neither may grow */
  OPTIMIZE_COUNT
} Optimize;
extern const char *const optimize_name[OPTIMIZE_COUNT]; /* NULL for OPTIMIZE_AUTO */
Optimize optimize_named(const char *s);                 /* OPTIMIZE_COUNT: there is no such word; NULL: OPTIMIZE_AUTO */
Optimize optimize_for(Optimize wish, const Target *t);  /* the wish; for OPTIMIZE_AUTO: small if t has no operating system, else
                                                            speed */

typedef struct Growth {
  const char *form;        /* name of the faster form: "Winograd tiles"; for messages, and to recognise withdrawn forms */
  uint32_t origin;         /* Node.origin of the layer: the same in each attempt, while the layer's nodes may differ */
  double weights, arena;   /* estimate of the bytes that the form adds */
  double gain;             /* cycles that the form saves */
} Growth;

typedef struct MemoryGoal {
  Optimize optimize;
  VEC(Growth) granted;     /* in this attempt */
  VEC(Growth) withdrawn;   /* in earlier ones: this form of the layer may not take that many bytes of weights, or of the arena;
                              0: no limit */
  bool same_weights, same_arena; /* no form may grow the weights, or the arena, any more */
} MemoryGoal;

bool growth_allowed(const IR *ir, const Growth *g);
void growth_granted(const IR *ir, const Growth *g);
/* Chooses granted forms and withdraws them, so that weights and arena take about that many bytes less in the next attempt.
 * SIZE: the chosen forms may not have this size or more. LAYER: they may not be used at any size. ALL: no layer may have any
 * form. False: no granted form would help. */
typedef enum { WITHDRAW_SIZE, WITHDRAW_LAYER, WITHDRAW_ALL } Withdrawal;
bool growth_withdraw(MemoryGoal *m, double weights, double arena, Withdrawal how);
void growth_free(MemoryGoal *m);
#endif

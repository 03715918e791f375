/* cost.h: the only place that answers how many cycles something takes. Four questions: what an op takes, what bytes take at the
 * size of a working set, what parallel work takes, and what is left of the shorter of memory and arithmetic. The answers come of
 * the rates of rates.h, a column for each caller. */
#ifndef TGC_COST_H
#define TGC_COST_H
#include "../target/target.h"

typedef enum Rate {
#define RATE(id, unit, gloss) R_##id,
#include "rates.h"
  RATE_COUNT
} Rate;

typedef enum Caller {
#define CALLER(id, gloss) BY_##id,
#include "rates.h"
  CALLER_COUNT
} Caller;

enum { /* so that a rate which a caller has not does not compile */
#define VALUE(rate, caller, value, source) HAS_##rate##_##caller,
#include "rates.h"
  RATE_VALUES
};

typedef struct Rates { double at[RATE_COUNT][CALLER_COUNT]; } Rates; /* 0 where the caller does not ask */

typedef struct RateInfo { const char *name, *unit, *gloss; } RateInfo;
typedef struct RateValue { Rate rate; Caller caller; double value; const char *source; } RateValue;
extern const RateInfo rate_info[RATE_COUNT], caller_info[CALLER_COUNT]; /* of a caller unit is "" */
extern const RateValue rate_values[RATE_VALUES];
extern const Rates rates_default;

const Target *target_with_rates(Arena *a, const Target *t, const Rates *r); /* t, all of its variants included */

static inline const Rates *rates_of(const Target *t) { return t->rates ? t->rates : &rates_default; }
/* One value of the table: rate(t, L2_BYTES, TILE) */
#define rate(t, id, caller) (rates_of(t)->at[(void)HAS_##id##_##caller, R_##id][BY_##caller])
bool rate_asked(Rate r, Caller by);                  /* the caller has a value of it */
double rate_for(const Target *t, Rate r, Caller by); /* which is asked */

/* ---- op_cost.c: how long is an op? ---- */
double op_instructions(const Target *t, Caller by, Op op); /* of a vector; loads, stores, constants and movement have none */
double multiply_adds(const Target *t, Caller by);          /* of floats, begun in a cycle */
/* products of bf16 in the time of one of floats, by the best instruction; 0: none */
double bf16_rate(const Target *t);

/* ---- memory.c: how long do bytes take? ---- */
bool stays(const Target *t, Caller by, int level, double bytes); /* that a walk brought to level 1 or 2, until the next walk */
double memory_rate(const Target *t, Caller by, double set);      /* bytes a cycle, where so many are walked again and again */
double memory_cycles(const Target *t, Caller by, double bytes, double set);
/* Two parts of work, of which the longer one hides some of the shorter one */
double overlapped(const Target *t, Caller by, double memory, double arithmetic);

/* ---- parallel.c: how long does sharing take? ---- */
double start_cycles(const Target *t, Caller by, double times);   /* a nest, a chunk or a kernel begins */
double meeting_cycles(const Target *t, Caller by, double times); /* threads wait for each other */
double lines_cycles(const Target *t, Caller by, double lines);   /* that come to be in two caches */
bool worth_sharing(const Target *t, Caller by, double cycles);   /* of a kernel: it is long enough to be handed out */
#endif

/* SPDX-License-Identifier: MIT */
/* cost.h: the cost model. It estimates the time of ops, of moving bytes, of memory and arithmetic together, and of parallel work.
 * Estimates use prices, called rates (rates.h). A caller is a part of the compiler that asks for estimates. Different callers may
 * have different values of a rate. */
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

enum { /* a constant for each value. The macro rate() uses it, so rate() compiles only for callers that have the value */
#define VALUE(rate, caller, value, source) HAS_##rate##_##caller,
#include "rates.h"
  RATE_VALUES
};

typedef struct Rates { double at[RATE_COUNT][CALLER_COUNT]; } Rates; /* 0 if the caller has no value of the rate */

typedef struct RateInfo { const char *name, *unit, *gloss; } RateInfo;
typedef struct RateValue { Rate rate; Caller caller; double value; const char *source; } RateValue;
extern const RateInfo rate_info[RATE_COUNT], caller_info[CALLER_COUNT]; /* the unit of a caller is "" */
extern const RateValue rate_values[RATE_VALUES];
extern const Rates rates_default;

const Target *target_with_rates(Arena *a, const Target *t, const Rates *r); /* a copy of t and of its variants, with r */

static inline const Rates *rates_of(const Target *t) { return t->rates ? t->rates : &rates_default; }
/* The value of a rate for a caller, such as rate(t, L2_BYTES, TILE) */
#define rate(t, id, caller) (rates_of(t)->at[(void)HAS_##id##_##caller, R_##id][BY_##caller])
bool rate_asked(Rate r, Caller by);                  /* whether the caller has a value of this rate */
double rate_for(const Target *t, Rate r, Caller by); /* the value; rate_asked must be true */

/* ---- cpu_rates.c ---- */
/* A copy of t with the facts f, and with rates that follow from these facts. If rates of `set` differ from rates_default, the
 * user has set them. The copy takes these rates from `set`. */
const Target *target_for_cpu(Arena *a, const Target *t, const struct CpuFacts *f, const Rates *set);

/* ---- op_cost.c: the time of an op ---- */
double op_instructions(const Target *t, Caller by, Op op); /* time of op on a vector, in "instructions" (rates.h); 0 for the
                                                              classes COST_NONE and COST_MEM, such as constants and loads */
double multiply_adds(const Target *t, Caller by);          /* number of multiply-adds of floats that start per cycle; each lane of
                                                              a vector counts */
/* Each result is the time of one product in a sum of products, divided by the time of a multiply-add of floats. bytes_time:
 * products of bytes. words_time: products of words of 16 bits; 0 if no instruction of the target sums such products, or if
 * the target has a matrix unit for bytes */
double bytes_time(const Target *t);
double words_time(const Target *t);
/* Number of products of bf16 in the time of one product of floats, with the best instruction; 0: no instruction multiplies
 * bf16 */
double bf16_rate(const Target *t);
double halves_rate(const Target *t); /* as bf16_rate, for products of f16 whose sums are f16 */

/* ---- memory.c: the time of bytes ---- */
bool stays(const Target *t, Caller by, int level, double bytes); /* whether data of `bytes` bytes that is read twice stays
                                                                    in the cache of this level (1 or 2) in between */
double memory_rate(const Target *t, Caller by, double set);      /* bytes per cycle if a working set of `set` bytes is read
                                                                    again and again */
double memory_cycles(const Target *t, Caller by, double bytes, double set); /* bytes / memory_rate(t, by, set) */
/* Cycles of work that takes `memory` cycles for memory and `arithmetic` cycles for arithmetic. The longer time hides a part of
 * the shorter time. */
double overlapped(const Target *t, Caller by, double memory, double arithmetic);

/* ---- parallel.c: the time of parallel work ---- */
double start_cycles(const Target *t, Caller by, double times);   /* cycles for starting a nest, a chunk or a kernel `times`
                                                                    times */
double meeting_cycles(const Target *t, Caller by, double times); /* cycles of `times` barriers of threads */
double lines_cycles(const Target *t, Caller by, double lines);   /* cycles for `lines` cache lines to move from the cache of one
                                                                    core to that of another */
bool worth_sharing(const Target *t, Caller by, double cycles);   /* whether dividing a kernel that takes `cycles` cycles among
                                                                    threads is faster */
#endif

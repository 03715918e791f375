/* SPDX-License-Identifier: MIT */
/* cost.h: the only place that knows how many cycles something takes. It answers four questions. How long does an op take? How
 * long do bytes take, given the working set? How long does parallel work take? How much time do memory and arithmetic take
 * together? Answers use the rates of rates.h. A caller is a part of the compiler that asks; each caller has values of its own. */
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

enum { /* one constant per value, so that asking for a rate that the caller lacks does not compile */
#define VALUE(rate, caller, value, source) HAS_##rate##_##caller,
#include "rates.h"
  RATE_VALUES
};

typedef struct Rates { double at[RATE_COUNT][CALLER_COUNT]; } Rates; /* 0: the caller does not use the rate */

typedef struct RateInfo { const char *name, *unit, *gloss; } RateInfo;
typedef struct RateValue { Rate rate; Caller caller; double value; const char *source; } RateValue;
extern const RateInfo rate_info[RATE_COUNT], caller_info[CALLER_COUNT]; /* a caller has no unit: "" */
extern const RateValue rate_values[RATE_VALUES];
extern const Rates rates_default;

const Target *target_with_rates(Arena *a, const Target *t, const Rates *r); /* t, and all of its variants, with these rates */

static inline const Rates *rates_of(const Target *t) { return t->rates ? t->rates : &rates_default; }
/* One value of the table: rate(t, L2_BYTES, TILE) */
#define rate(t, id, caller) (rates_of(t)->at[(void)HAS_##id##_##caller, R_##id][BY_##caller])
bool rate_asked(Rate r, Caller by);                  /* the caller has a value of this rate */
double rate_for(const Target *t, Rate r, Caller by); /* only where rate_asked is true */

/* ---- cpu_rates.c ---- */
/* t with the facts f, and with rates that follow from these facts. Rates in `set` that differ from rates_default are the user's;
 * the result keeps them. */
const Target *target_for_cpu(Arena *a, const Target *t, const struct CpuFacts *f, const Rates *set);

/* ---- op_cost.c: the time of an op ---- */
double op_instructions(const Target *t, Caller by, Op op); /* instructions for a vector; 0 for the classes COST_NONE and COST_MEM:
                                                              constants, loads, stores and the like */
double multiply_adds(const Target *t, Caller by);          /* multiply-adds of floats that start per cycle: instructions per cycle
                                                              times lanes of a vector; without AMX at most the rate FMA_WIDEST, if
                                                              the caller has that rate */
/* bytes_time: the time of a product of two bytes that is added to other products, relative to a multiply-add of floats.
 * words_time: the same for words of 16 bits; 0: the target cannot add up products of words, or has a matrix unit for bytes */
double bytes_time(const Target *t);
double words_time(const Target *t);
/* Number of products of bf16 in the time of one product of floats, with the best instruction; 0: there is no instruction */
double bf16_rate(const Target *t);
double halves_rate(const Target *t); /* as bf16_rate, for products of halves that are added as halves */

/* ---- memory.c: the time of bytes ---- */
bool stays(const Target *t, Caller by, int level, double bytes); /* data of `bytes` bytes, read once, is still in the cache
                                                                    of this level (1 or 2) when it is read again */
double memory_rate(const Target *t, Caller by, double set);      /* bytes per cycle if a working set of `set` bytes is read
                                                                    again and again */
double memory_cycles(const Target *t, Caller by, double bytes, double set); /* cycles for `bytes` bytes at this memory_rate */
/* Cycles of memory and arithmetic together: the longer one of the two times hides a part of the shorter one */
double overlapped(const Target *t, Caller by, double memory, double arithmetic);

/* ---- parallel.c: the time of parallel work ---- */
double start_cycles(const Target *t, Caller by, double times);   /* cycles for starting a nest, a chunk or a kernel `times`
                                                                    times */
double meeting_cycles(const Target *t, Caller by, double times); /* cycles of `times` barriers of threads */
double lines_cycles(const Target *t, Caller by, double lines);   /* cycles for cache lines that move between two cores' caches */
bool worth_sharing(const Target *t, Caller by, double cycles);   /* a kernel of `cycles` is worth dividing among threads */
#endif

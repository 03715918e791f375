/* SPDX-License-Identifier: MIT */
/* cost.h: the cost model. It estimates the time of ops, of moves of bytes, of ops and moves that overlap, and of parallel work.
 * Estimates use prices, called rates (rates.h). A caller is a part of the compiler that asks for estimates. A rate may have
 * different values for different callers. */
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

enum { /* a constant for each row VALUE of rates.h. A use of the macro rate() compiles only if its rate and caller have a row */
#define VALUE(rate, caller, value, source) HAS_##rate##_##caller,
#include "rates.h"
  RATE_VALUES
};

typedef struct Rates { double at[RATE_COUNT][CALLER_COUNT]; } Rates; /* 0 if the caller has no value of the rate */

typedef struct RateInfo { const char *name, *unit, *gloss; } RateInfo;
typedef struct RateValue { Rate rate; Caller caller; double value; const char *source; } RateValue;
extern const RateInfo rate_info[RATE_COUNT], caller_info[CALLER_COUNT]; /* in caller_info, each unit is "" */
extern const RateValue rate_values[RATE_VALUES];
extern const Rates rates_default;

/* Returns a copy of t that uses the rates *r. The variants of the copy are copies of t's variants, and use *r, too. */
const Target *target_with_rates(Arena *a, const Target *t, const Rates *r);

static inline const Rates *rates_of(const Target *t) { return t->rates ? t->rates : &rates_default; }
/* The value of a rate for a caller, such as rate(t, L2_BYTES, TILE) */
#define rate(t, id, caller) (rates_of(t)->at[(void)HAS_##id##_##caller, R_##id][BY_##caller])
bool rate_asked(Rate r, Caller by);                  /* whether the caller has a value of this rate */
double rate_for(const Target *t, Rate r, Caller by); /* the value; rate_asked(r, by) must be true */

/* ---- cpu_rates.c ---- */
/* Returns a copy of t with the facts f, and with rates that follow from these facts. Values in `set` that differ from
 * rates_default were set by the user; the copy has these values instead. */
const Target *target_for_cpu(Arena *a, const Target *t, const struct CpuFacts *f, const Rates *set);

/* ---- op_cost.c: the time of an op ---- */
double op_instructions(const Target *t, Caller by, Op op); /* time of op on a vector, in "instructions" (rates.h); 0 for
                                                              ops of the classes COST_NONE and COST_MEM, such as constants
                                                              and loads */
double multiply_adds(const Target *t, Caller by);          /* number of multiply-adds of floats that start per cycle; each lane of
                                                              a vector counts as one */
/* bytes_time and words_time return the time of one product in a sum of products, divided by the time of a multiply-add of
 * floats. bytes_time: for products of bytes. words_time: for products of words of 16 bits; 0 if the target has no instruction for
 * sums of products of words, or if it has a matrix unit for bytes */
double bytes_time(const Target *t);
double words_time(const Target *t);
/* Returns how many products of bf16 the target's best instruction for bf16 computes in the time of one product of floats; 0 if
 * the target has no instruction for bf16 */
double bf16_rate(const Target *t);
double halves_rate(const Target *t); /* as bf16_rate, for products of f16 whose sums are f16 */

/* ---- memory.c: the time of bytes ---- */
bool stays(const Target *t, Caller by, int level, double bytes); /* whether data of `bytes` bytes stays in the cache of this
                                                                    level (1 or 2) until it is read again */
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
                                                                    core to the cache of another core */
/* Returns about how many cycles a kernel takes on one thread: a vector of multiply-adds a cycle, and then its bytes */
double kernel_cycles(const Target *t, Caller by, double flops, double bytes);
bool worth_sharing(const Target *t, Caller by, double cycles);   /* whether a kernel that takes `cycles` cycles on one thread is
                                                                    faster if threads share it */

/* ---- cache_sets.c: the sets of a cache ---- */
int l1_ways(const Target *t); /* number of lines that a set of the first level holds */
/* Returns in how many of `sets` sets the lines at all multiples of `step` bytes lie. If `sets` is no power of two, its odd factor
 * counts as reached. */
double sets_reached(double step, int64_t sets);
typedef struct SetLines { int lines[L1_SETS]; } SetLines; /* by set of the first level: number of lines in use */
void set_take(SetLines *s, int64_t place); /* counts the line at byte `place` */
int64_t lines_crowded(const SetLines *s, int ways); /* number of lines in sets with more than `ways` lines */
/* Parts of a buffer lie one after the other. Each has `entries` entries of `entry` bytes. Returns how many entries to add to each
 * part, so that the parts begin in the most sets of the first level. The added entries are whole lines, and at most `most`. The
 * result is 0 if no such number helps. */
int64_t spreading_pad(int64_t entry, int64_t entries, int64_t most);
#endif

/* SPDX-License-Identifier: MIT */
/* cpu_rates.c: the rates that follow from the facts of a CPU. They take the place of the values in rates.h, which are those of
 * one machine. "Ranked" values are no facts, and stay.
 *
 * The callers of L2_BYTES, FAR_BYTES and MEMORY_BYTES differ in what they count: some only read, others also write as many
 * bytes. */
#include "cost.h"
#include "../target/cpu_facts.h"
#include <math.h>

static double both(double read, double write) { return 2 / (1 / read + 1 / write); }

/* Multiply-adds by vectors of t, in vectors per cycle. Facts are of the widest vectors: narrower ones use two ports at best. */
static double fma_ports(const Target *t, const Target *widest, double fma) {
  const double lanes = t->vector_bytes ? t->vector_bytes / 4.0 : 1, all = fma / lanes;
  const double ports = t->vector_bytes < widest->vector_bytes ? fmin(all, 2) : all;
  return t->fma || ports <= 0.5 ? ports : 2 * ports; /* multiply_adds halves it again */
}

/* One rate for all of its callers */
static void put(Rates *r, Rate id, double v) {
  for (int by = 0; by < CALLER_COUNT; by++)
    if (rate_asked(id, (Caller)by)) r->at[id][by] = v;
}

static void put_arithmetic(Rates *r, const CpuFacts *f, const Target *t, const Target *widest) {
  const double fma = f->at[FACT_FMA], ports = fma_ports(t, widest, fma);
  put(r, R_CLOCK, 0.001 / f->at[FACT_CLOCK]);
  put(r, R_LATENCY, f->at[FACT_LATENCY]);
  put(r, R_WINDOW, f->at[FACT_WINDOW]);
  put(r, R_FMA_PORTS, ports);
  put(r, R_FMA_WIDEST, fma);
  put(r, R_BF16_AMX, f->at[FACT_BF16_TILES] / fma);
  put(r, R_BF16_DOT, f->at[FACT_BF16] / fma);
  put(r, R_HALVES, f->at[FACT_FP16] / fma);
  put(r, R_DIV, fmax(1, fma / f->at[FACT_DIVIDE]));
  put(r, R_SHUFFLE, fmax(1, fma / f->at[FACT_SHUFFLE]));
  put(r, R_DOT, fmax(1, 4 * fma / f->at[FACT_INT8]));
}

/* Ports take vectors of any width, so a port's rate is that of the widest. */
static void put_first_level(Rates *r, const CpuFacts *f, const Target *widest) {
  const double bytes = fmax(4, widest->vector_bytes), loads = fmax(1, round(f->at[FACT_L1_READ] / bytes));
  put(r, R_LOADS, loads);
  put(r, R_ROW_STORE, fmax(1, loads / fmax(0.5, f->at[FACT_L1_WRITE] / bytes)));
}

static void put_memory(Rates *r, const CpuFacts *f, const Target *t) {
  const double vector = fmax(4, t->vector_bytes);
  const double l2 = f->at[FACT_L2_READ], l2_both = both(l2, f->at[FACT_L2_WRITE]);
  const bool third = f->at[FACT_L3] > 0; /* else memory lies behind the second level */
  const double memory = f->at[FACT_MEMORY_READ], l3 = third ? f->at[FACT_L3_READ] : memory;
  const double l3_both = both(l3, f->at[third ? FACT_L3_WRITE : FACT_MEMORY_WRITE]);
  put(r, R_L2_BYTES, l2_both);
  r->at[R_L2_BYTES][BY_TILE] = r->at[R_L2_BYTES][BY_PADDING] = r->at[R_L2_BYTES][BY_SPLIT] = l2;
  put(r, R_FAR_BYTES, l3_both);
  r->at[R_FAR_BYTES][BY_TILE] = l3;
  r->at[R_FAR_BYTES][BY_SPLIT] = memory;
  put(r, R_MEMORY_BYTES, fmin(memory, f->at[FACT_ALL_READ]));
  put(r, R_L2_VECTOR, vector / l2);
  put(r, R_FAR_VECTOR, vector / l3);
  put(r, R_BARRIER, 1000 * f->at[FACT_CLOCK] * f->at[FACT_BARRIER]);
}

/* Weights reach a product at `streamed` bytes per cycle at most, as their loads alternate with its arithmetic. So with fewer rows
 * the core waits for weights of four bytes, and a product takes as long as one of these rows. */
static void put_few_rows(Rates *r, const CpuFacts *f, double streamed) {
  r->at[R_HIDING_ROWS][BY_WINOGRAD] = fmax(r->at[R_HIDING_ROWS][BY_WINOGRAD], 4 * f->at[FACT_FMA] / streamed);
}

static void put_requested(Rates *r, const Rates *set) {
  for (int i = 0; i < RATE_VALUES; i++) {
    const RateValue *v = &rate_values[i];
    if (set->at[v->rate][v->caller] != v->value) r->at[v->rate][v->caller] = set->at[v->rate][v->caller];
  }
}

const Target *target_for_cpu(Arena *a, const Target *t, const CpuFacts *f, const Rates *set) {
  const char *why;
  const Target *widest = target_find(a, f->isa, &why);
  Rates *r = arena_dup(a, &rates_default, sizeof *r);
  CHECK(widest != NULL);
  put_arithmetic(r, f, t, widest);
  put_first_level(r, f, widest);
  put_memory(r, f, t);
  put_few_rows(r, f, set->at[R_STREAMED][BY_WINOGRAD]);
  put_requested(r, set);
  Target *to = target_with_facts(a, t, f);
  to->rates = r;
  return to;
}

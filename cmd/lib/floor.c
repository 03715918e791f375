/* SPDX-License-Identifier: MIT */
/* floor.c: the least time of a run on a machine whose facts are known. It is the longer one of two times. One is that of the
 * products that the run adds up, at the peak rate of their type. The other is that of reading the weights, inputs and states that
 * the caches cannot keep from one run to the next. Products are those of the plan: Winograd's algorithm has fewer of them than
 * a convolution by its definition. */
#include "../cmd.h"
#include "../../compiler/nest/nest.h"
#include "../../compiler/target/cpu_facts.h"
#include <math.h>
#include <unistd.h>

/* Cycles of one core for the products */
static double multiply_cycles(const LeastWork *w, const CpuFacts *f) {
  const double fma = f->at[FACT_FMA], bf16 = fmax(fma, fmax(f->at[FACT_BF16], f->at[FACT_BF16_TILES]));
  const double rate[MULTIPLY_TYPES] = { [MULTIPLY_F32] = fma,
                                        [MULTIPLY_F64] = fma / 2,
                                        [MULTIPLY_BF16] = bf16,
                                        [MULTIPLY_INT8] = fmax(fma, f->at[FACT_INT8]),
                                        [MULTIPLY_INT16] = fmax(fma, f->at[FACT_INT8] / 2) };
  double cycles = 0;
  for (int i = 0; i < MULTIPLY_TYPES; i++) cycles += w->multiplies[i] / rate[i];
  return cycles;
}

/* Cycles to read what the caches cannot hold. However they replace lines, they have at most their size when a run begins. Each
 * core has caches of two levels, and all share the third. */
static double read_cycles(const LeastWork *w, const CpuFacts *f, int cores) {
  const double own = 1024 * cores * (f->at[FACT_L1] + f->at[FACT_L2]), all = own + 1024 * f->at[FACT_L3];
  const double memory = cores > 1 ? cores * f->at[FACT_ALL_READ] : f->at[FACT_MEMORY_READ];
  return fmax(fmax(0, w->bytes - own) / (cores * f->at[FACT_L3_READ]), fmax(0, w->bytes - all) / memory);
}

/* The run has the greatest sizes, for which work is counted. */
static bool is_greatest(const Symbols *all, const int64_t *run) {
  for (int i = 0; i < all->n; i++)
    if (run[i] < all->p[i].high) return false;
  return true;
}

const Floor *floor_of(Ctx *c, const Options *o, const Plan *p, int threads, const int64_t *run) {
  const Target *t = p->in->target;
  const CpuFacts *f = t->facts ? t->facts : machine_measured(c, o);
  if (!f || t->dev || !is_greatest(&p->ir->symbols, run)) return NULL;
  const LeastWork w = plan_least_work(p);
  const int all = (int)sysconf(_SC_NPROCESSORS_ONLN), cores = threads < all ? threads : all;
  const double cycle_ms = 1e-6 / f->at[FACT_CLOCK];
  Floor *x = ARENA_NEW(&c->model, Floor, 1);
  *x = (Floor){ .machine = f->name,
                .multiply_ms = multiply_cycles(&w, f) / cores * cycle_ms,
                .read_ms = read_cycles(&w, f, cores) * cycle_ms,
                .bytes = w.bytes };
  for (int i = 0; i < MULTIPLY_TYPES; i++) x->multiply_adds += w.multiplies[i];
  x->ms = fmax(x->multiply_ms, x->read_ms);
  return x->ms > 0 ? x : NULL;
}

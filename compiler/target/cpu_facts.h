/* SPDX-License-Identifier: MIT */
/* cpu_facts.h: facts about one CPU (facts.h). They come from a row of cpus.h, from a measurement, or from a text that
 * cpu_parse reads. */
#ifndef TGC_CPU_FACTS_H
#define TGC_CPU_FACTS_H
#include "target.h"

typedef enum Fact {
#define FACT(id, name, unit, rule, gloss) FACT_##id,
#include "facts.h"
#undef FACT
  FACT_COUNT
} Fact;

typedef struct FactInfo { const char *name, *unit, *rule, *gloss; } FactInfo; /* columns of facts.h; rule: its text */
extern const FactInfo fact_info[FACT_COUNT];

extern const char fact_assumed[]; /* the text in `source` of a fact whose value comes from its rule */
typedef struct CpuFacts {
  const char *name, *isa;  /* isa: the name of the target whose code runs on this CPU, as target_find takes it */
  double at[FACT_COUNT];          /* by fact: its value */
  const char *source[FACT_COUNT]; /* by fact: source of the value; NULL: not known yet */
} CpuFacts;

typedef struct CpuRow { const char *name, *isa, *gloss; } CpuRow;
extern const CpuRow cpu_rows[];                       /* .name NULL ends it */

const CpuFacts *cpu_named(Arena *a, const char *name);          /* a row of cpus.h; NULL: there is none */
void cpu_assume(CpuFacts *f, const Target *t);                  /* fills in unknown facts by their rules */
const CpuFacts *cpu_facts_of(const Target *t, CpuFacts *assumed); /* t->facts; if NULL, *assumed, filled in by the rules */
bool fact_is_size(Fact f);                                      /* the fact is the size of a cache, which is not rounded */
double two_digits(double v);                                    /* rounded to two significant digits */
/* cpu_print writes the facts as text, one fact a line. cpu_parse reads such a text; missing facts follow from
 * their rules. If cpu_parse returns NULL, *why says what is wrong. */
void cpu_print(const CpuFacts *f, Sb *out);
const CpuFacts *cpu_parse(Arena *a, const char *text, const char **why);
/* A copy of t whose `facts` are f, and whose cache sizes are those in f. cost/cpu_rates.c computes rates from facts. */
Target *target_with_facts(Arena *a, const Target *t, const CpuFacts *f);
#endif

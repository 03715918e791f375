/* SPDX-License-Identifier: MIT */
/* cpu_facts.h: facts about one CPU (facts.h). Facts come from a row of cpus.h, from a measurement, or from a text that
 * cpu_parse reads. Rules (facts.h) estimate the other facts. */
#ifndef TGC_CPU_FACTS_H
#define TGC_CPU_FACTS_H
#include "target.h"

typedef enum Fact {
#define FACT(id, name, unit, rule, gloss) FACT_##id,
#include "facts.h"
#undef FACT
  FACT_COUNT
} Fact;

typedef struct FactInfo { const char *name, *unit, *rule, *gloss; } FactInfo; /* columns of facts.h; rule: the rule as text */
extern const FactInfo fact_info[FACT_COUNT];

extern const char fact_assumed[]; /* CpuFacts.source of each fact whose value comes from a rule */
typedef struct CpuFacts {
  const char *name, *isa;  /* isa: name of a target (target_find) whose code runs on this CPU */
  double at[FACT_COUNT];          /* by fact: the value, in the fact's unit */
  const char *source[FACT_COUNT]; /* by fact: source of the value; NULL: the value is not known yet */
} CpuFacts;

typedef struct CpuRow { const char *name, *isa, *gloss; } CpuRow;
extern const CpuRow cpu_rows[];                       /* .name NULL ends the list */

const CpuFacts *cpu_named(Arena *a, const char *name);          /* the CPU with this name in cpus.h; NULL: there is none */
void cpu_assume(CpuFacts *f, const Target *t);                  /* fills in the unknown facts by the rules, for t */
/* Returns t->facts. If t->facts is NULL, sets all facts of *assumed by the rules for t, and returns `assumed`. */
const CpuFacts *cpu_facts_of(const Target *t, CpuFacts *assumed);
bool fact_is_size(Fact f);                                      /* whether the fact is the size of a cache */
double two_digits(double v);                                    /* v rounded to two significant digits; 0 if v <= 0 */
/* cpu_print appends the facts to out as text, one fact a line. cpu_parse reads such a text, and fills in missing facts by the
 * rules. If the text is wrong, cpu_parse returns NULL, and *why says what is wrong. */
void cpu_print(const CpuFacts *f, Sb *out);
const CpuFacts *cpu_parse(Arena *a, const char *text, const char **why);
/* Returns a copy of t with .facts = f and with the cache sizes of f. */
Target *target_with_facts(Arena *a, const Target *t, const CpuFacts *f);
#endif

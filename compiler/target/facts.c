/* SPDX-License-Identifier: MIT */
/* facts.c: the facts of CPUs: known ones, those that a rule assumes, and their text.
 *
 * The text has a line per fact: name, value, unit, source. Lines may also be divided by ';', so that a text fits on one line. A
 * comment begins with '#'. The printed text can be read back. */
#include "cpu_facts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const FactInfo fact_info[FACT_COUNT] = {
#define FACT(id, name, unit, rule, gloss) { name, unit, #rule, gloss },
#include "facts.h"
#undef FACT
};

const CpuRow cpu_rows[] = {
#define CPU(id, name, isa, gloss) { name, isa, gloss },
#include "cpus.h"
  { NULL, NULL, NULL },
};

typedef enum CpuId {
#define CPU(id, name, isa, gloss) CPU_##id,
#include "cpus.h"
} CpuId;

static const struct { CpuId cpu; Fact fact; double value; const char *source; } known[] = {
#define KNOWN(cpu, fact, value, source) { CPU_##cpu, FACT_##fact, value, source },
#include "cpus.h"
};

/* ---- rules ---- */
static bool has_amx(const Target *t) { return t->features & FEAT_AMX_BF16; }
static bool has_bf16(const Target *t) { return t->features & (t->arch == ARCH_AARCH64 ? FEAT_BF16 : FEAT_AVX512BF16); }
static bool has_int8(const Target *t) {
  return t->features & (t->arch == ARCH_AARCH64 ? FEAT_DOTPROD : FEAT_AVX512VNNI | FEAT_AVXVNNI);
}

double two_digits(double v) {
  if (!(v > 0)) return 0;
  const double unit = pow(10, floor(log10(v)) - 1);
  char text[32];
  snprintf(text, sizeof text, "%.10g", round(v / unit) * unit); /* so that text and value are equal */
  return strtod(text, NULL);
}

const char fact_assumed[] = "assumed";

bool fact_is_size(Fact f) { return f == FACT_L1 || f == FACT_L2 || f == FACT_L3; }

/* In the order of the rows: a rule asks only facts above it. */
void cpu_assume(CpuFacts *f, const Target *t) {
  const double lanes = t->vector_bytes ? t->vector_bytes / 4.0 : 1;
#define at(id) f->at[FACT_##id]
#define FACT(id, name, unit, rule, gloss) \
  if (!f->source[FACT_##id]) f->source[FACT_##id] = fact_assumed, at(id) = fact_is_size(FACT_##id) ? (rule) : two_digits(rule);
#include "facts.h"
#undef FACT
#undef at
}

const CpuFacts *cpu_facts_of(const Target *t, CpuFacts *assumed) {
  if (t->facts) return t->facts;
  *assumed = (CpuFacts){ .name = fact_assumed, .isa = t->isa };
  cpu_assume(assumed, t);
  return assumed;
}

const CpuFacts *cpu_named(Arena *a, const char *name) {
  int i = 0;
  while (cpu_rows[i].name && strcmp(cpu_rows[i].name, name)) i++;
  if (!cpu_rows[i].name) return NULL;
  CpuFacts *f = ARENA_NEW(a, CpuFacts, 1);
  const char *why;
  *f = (CpuFacts){ .name = cpu_rows[i].name, .isa = cpu_rows[i].isa };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if ((int)known[k].cpu == i) f->at[known[k].fact] = known[k].value, f->source[known[k].fact] = known[k].source;
  const Target *t = target_find(a, f->isa, &why);
  CHECK(t != NULL);
  cpu_assume(f, t);
  return f;
}

/* ---- text ---- */
void cpu_print(const CpuFacts *f, Sb *out) {
  sb_printf(out, "machine %s\nisa %s\n", f->name, f->isa);
  for (int i = 0; i < FACT_COUNT; i++)
    sb_printf(out, "%s %.10g %s %s\n", fact_info[i].name, f->at[i], fact_info[i].unit, f->source[i]);
}

static int fact_named(const char *s, size_t n) {
  int i = 0;
  while (i < FACT_COUNT && (strlen(fact_info[i].name) != n || memcmp(fact_info[i].name, s, n))) i++;
  return i;
}

static bool is_name(const char *s) {
  return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

/* One line without its comment; returns what is wrong, or NULL. */
static const char *take_line(Arena *a, CpuFacts *f, const char *line, size_t n) {
  const char *word = arena_str(a, line, n), *rest = word + strcspn(word, " \t");
  const size_t len = (size_t)(rest - word);
  rest += strspn(rest, " \t");
  if (len == 7 && !memcmp(word, "machine", len))
    return f->name = rest, is_name(rest) ? NULL : "'machine' needs a name of letters, digits, '.', '_' and '-'";
  if (len == 3 && !memcmp(word, "isa", len))
    return f->isa = rest, *rest && !starts_with(rest, "native") ? NULL : "'isa' needs a name, as --isa takes it, but not native";
  const int i = fact_named(word, len);
  if (i == FACT_COUNT) {
    const char *names[FACT_COUNT + 2] = { "machine", "isa" };
    for (int k = 0; k < FACT_COUNT; k++) names[k + 2] = fact_info[k].name;
    const char *wrong = arena_str(a, word, len);
    return arena_printf(a, "no fact '%s'%s", wrong, did_you_mean(a, wrong, names, FACT_COUNT + 2));
  }
  char *end;
  const double v = strtod(rest, &end),
               least = fact_is_size((Fact)i) || i == FACT_BF16 || i == FACT_BF16_TILES || i == FACT_FP16 ? 0 : 1e-4;
  if (end == rest || !(v >= least && v <= 1e6))
    return arena_printf(a, "'%s' needs a number from %g to 1000000", fact_info[i].name, least);
  const char *unit = fact_info[i].unit, *source = end + strspn(end, " \t");
  if (starts_with(source, unit)) source += strlen(unit) + strspn(source + strlen(unit), " \t");
  f->at[i] = v;
  f->source[i] = *source ? source : "given";
  return NULL;
}

const CpuFacts *cpu_parse(Arena *a, const char *text, const char **why) {
  CpuFacts *f = ARENA_NEW(a, CpuFacts, 1);
  *f = (CpuFacts){ .name = "unnamed" };
  for (const char *s = text; *s; s += *s != 0) {
    s += strspn(s, " \t\r");
    size_t line = strcspn(s, "#\n;"), n = line + strcspn(s + line, s[line] == '#' ? "\n" : "\n;");
    while (line && strchr(" \t\r", s[line - 1])) line--;
    const char *wrong = line ? take_line(a, f, s, line) : NULL;
    if (wrong) return *why = wrong, NULL;
    s += n;
  }
  if (!f->isa) return *why = "the line 'isa NAME' is missing", NULL;
  const Target *t = target_find(a, f->isa, why);
  if (!t) return *why = arena_printf(a, "unknown isa '%s': %s", f->isa, *why), NULL;
  if (t->dev || t->variants) return *why = arena_printf(a, "isa '%s' is not one CPU", f->isa), NULL;
  cpu_assume(f, t);
  return f;
}

Target *target_with_facts(Arena *a, const Target *t, const CpuFacts *f) {
  Target *to = arena_dup(a, t, sizeof *t);
  to->l1_bytes = (int)(1024 * f->at[FACT_L1]);
  to->l2_bytes = (int)(1024 * f->at[FACT_L2]);
  to->l3_bytes = (int)(1024 * f->at[FACT_L3]);
  to->facts = f;
  return to;
}

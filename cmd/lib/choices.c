/* SPDX-License-Identifier: MIT */
/* choices.c: the words that options take as values. Messages suggest the nearest of them, and shells complete them. */
#include "../cmd.h"
#include "../../compiler/target/cpu_facts.h"
#include "../../compiler/cost/tunable.h"
#include <string.h>

static void add(Texts *words, const char *word) {
  for (size_t i = 0; i < words->n; i++)
    if (!strcmp(words->p[i], word)) return;
  VEC_PUSH(words, word);
}

static void add_all(Texts *words, const char *const *names, int n) {
  for (int i = 0; i < n; i++) add(words, names[i]);
}

static void add_isas(Texts *words) {
  static const char *const own[] = { "native", "fat" };
  add_all(words, own, 2);
  for (const Target *t = targets; t->isa; t++) add(words, t->isa);
  for (const Target *t = device_targets; t->isa; t++) add(words, t->isa);
}

static void add_triples(Texts *words) {
  for (const Target *t = targets; t->isa; t++)
    if (*t->triple) add(words, t->triple);
}

static void add_archs(Arena *a, Texts *words) {
  for (const Target *t = device_targets; t->isa; t++)
    if (t->dev->arch) add(words, arena_printf(a, "sm_%d", t->dev->arch));
}

static void add_passes(Texts *words) {
  add(words, "load");
  for (int i = 0; i < pass_count(); i++) add(words, pass_info(i).name);
}

static void add_cpus(Texts *words) {
  for (const CpuRow *r = cpu_rows; r->name; r++) add(words, r->name);
}

static void add_tunables(Arena *a, Texts *words) {
  TunableRow r;
  add(words, "rates");
  for (int i = 0; tunables_row(a, &tunables_default, i, &r); i++) add(words, r.name);
}

/* Options with a fixed list */
static const struct {
  const char *option, *words[4];
} fixed[] = {
  { "embed-weights", { "incbin", "c", "file" } },  { "denormals", { "flush", "keep" } },
  { "format", { "npy", "pb", "raw" } },            { "messages", { "text", "json" } },
  { "color", { "auto", "always", "never" } },
};

void option_choices(Arena *a, const char *option, Texts *words) {
  for (const Backend *const *b = backends; *b; b++) {
    if (!strcmp(option, "backend")) add(words, (*b)->name);
    for (const CodeForm *f = (*b)->forms; !strcmp(option, "emit") && f->word; f++) add(words, f->word);
  }
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    for (int k = 0; k < 4 && !strcmp(option, fixed[i].option) && fixed[i].words[k]; k++) add(words, fixed[i].words[k]);
  if (!strcmp(option, "precision")) add_all(words, precision_name, PREC_COUNT);
  if (!strcmp(option, "weights")) add_all(words, storage_name, STORAGE_COUNT);
  if (!strcmp(option, "optimize")) add_all(words, optimize_name + OPTIMIZE_SPEED, OPTIMIZE_COUNT - OPTIMIZE_SPEED);
  if (!strcmp(option, "kernel-groups")) add_all(words, groups_name, GROUPS_COUNT);
  for (const Package *k = packages; !strcmp(option, "package") && k->word; k++) add(words, k->word);
  if (!strcmp(option, "isa")) add_isas(words);
  if (!strcmp(option, "machine")) add_cpus(words);
  if (!strcmp(option, "target")) add_triples(words);
  if (!strcmp(option, "arch")) add_archs(a, words);
  if (!strcmp(option, "stop-after") || !strcmp(option, "start-after")) add_passes(words);
  if (!strcmp(option, "tunable")) add_tunables(a, words);
}

const char *choice_near(Arena *a, const char *option, const char *word) {
  Texts words = { 0 };
  option_choices(a, option, &words);
  const char *text = did_you_mean(a, word, words.p, words.n);
  VEC_FREE(&words);
  return text;
}

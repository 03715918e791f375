/* SPDX-License-Identifier: MIT */
/* tunable.c: the table of tunables by name, for --tunable and `tgc inspect --tunables`. */
#include "tunable.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { KIND_int, KIND_double, KIND_bool } TunableKind;
typedef struct Row {
  const char *name;
  TunableKind kind;
  size_t field;
  double least, most;
  const char *unit, *reason;
} Row;

static const Row rows[] = {
#define TUNABLE(type, name, value, least, most, unit, reason) \
  { #name, KIND_##type, offsetof(Tunables, name), least, most, unit, reason },
#include "tunables.h"
};
enum { ROWS = sizeof rows / sizeof *rows };

const Tunables tunables_default = {
#define TUNABLE(type, name, value, least, most, unit, reason) .name = value,
#include "tunables.h"
  .rates = { .at = {
#define VALUE(rate, caller, value, source) [R_##rate][BY_##caller] = value,
#include "rates.h"
  } },
};

/* limit of a factor on rates: beyond it, sizes derived from them would overflow an int */
static const double FACTOR = 10;

static double value_of(const Tunables *t, const Row *r) {
  const char *at = (const char *)t + r->field;
  return r->kind == KIND_double ? *(const double *)at : r->kind == KIND_int ? *(const int *)at : *(const bool *)at;
}

static void set_tunable(Tunables *t, const Row *r, double v) {
  char *at = (char *)t + r->field;
  if (r->kind == KIND_double) *(double *)at = v;
  else if (r->kind == KIND_int) *(int *)at = (int)v;
  else *(bool *)at = v != 0;
}

static const char *rate_name(Arena *a, const RateValue *v) {
  char *s = arena_printf(a, "%s.%s", rate_info[v->rate].name, caller_info[v->caller].name);
  for (char *c = s; *c; c++) *c = (char)tolower((unsigned char)*c);
  return s;
}

bool tunables_row(Arena *a, const Tunables *t, int i, TunableRow *row) {
  if (i < ROWS) {
    const Row *r = &rows[i];
    *row = (TunableRow){ r->name, value_of(t, r), value_of(&tunables_default, r), r->least, r->most, r->unit, r->reason };
    return true;
  }
  if (i >= ROWS + RATE_VALUES) return false;
  const RateValue *v = &rate_values[i - ROWS];
  *row = (TunableRow){ rate_name(a, v),   t->rates.at[v->rate][v->caller],      v->value,
                       v->value / FACTOR, v->value > 0 ? v->value * FACTOR : 1, rate_info[v->rate].unit,
                       v->source };
  return true;
}

static const char *unknown_name(Arena *a, const char *name) {
  const char *names[ROWS + RATE_VALUES + 1] = { "rates" };
  TunableRow row;
  for (int i = 0; tunables_row(a, &tunables_default, i, &row); i++) names[i + 1] = row.name;
  return arena_printf(a, "no tunable '%s'%s (tgc inspect --tunables lists them)", name,
                      did_you_mean(a, name, names, ROWS + RATE_VALUES + 1));
}

static void scale_rates(Tunables *t, double factor) {
  for (int i = 0; i < RATE_VALUES; i++) t->rates.at[rate_values[i].rate][rate_values[i].caller] *= factor;
}

const char *tunables_set(Arena *a, Tunables *t, const char *text) {
  const size_t n = strcspn(text, "=");
  const char *name = arena_printf(a, "%.*s", (int)n, text);
  char *end = NULL;
  const double v = text[n] ? strtod(text + n + 1, &end) : NAN;
  TunableRow row = { .least = 1 / FACTOR, .most = FACTOR };
  const bool all = !strcmp(name, "rates");
  int i = 0;
  while (!all && tunables_row(a, t, i, &row) && strcmp(row.name, name)) i++;
  if (!all && i == ROWS + RATE_VALUES) return unknown_name(a, name);
  const bool whole = !all && i < ROWS && rows[i].kind != KIND_double;
  if (!end || end == text + n + 1 || *end || !(v >= row.least && v <= row.most) || (whole && v != floor(v)))
    return arena_printf(a, "tunable '%s' takes %s from %g to %g, not '%s'", name, whole ? "an integer" : "a number", row.least,
                        row.most, text[n] ? text + n + 1 : "");
  if (all) scale_rates(t, v);
  else if (i < ROWS) set_tunable(t, &rows[i], v);
  else t->rates.at[rate_values[i - ROWS].rate][rate_values[i - ROWS].caller] = v;
  return NULL;
}

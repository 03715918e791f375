/* SPDX-License-Identifier: MIT */
/* rates.c: the table of rates. */
#include "cost.h"

const RateInfo rate_info[RATE_COUNT] = {
#define RATE(id, unit, gloss) { #id, unit, gloss },
#include "rates.h"
};

const RateInfo caller_info[CALLER_COUNT] = {
#define CALLER(id, gloss) { #id, "", gloss },
#include "rates.h"
};

const RateValue rate_values[RATE_VALUES] = {
#define VALUE(rate, caller, value, source) { R_##rate, BY_##caller, value, source },
#include "rates.h"
};

const Rates rates_default = { .at = {
#define VALUE(rate, caller, value, source) [R_##rate][BY_##caller] = value,
#include "rates.h"
} };

bool rate_asked(Rate r, Caller by) {
  static const bool asked[RATE_COUNT][CALLER_COUNT] = {
#define VALUE(rate, caller, value, source) [R_##rate][BY_##caller] = true,
#include "rates.h"
  };
  return asked[r][by];
}

double rate_for(const Target *t, Rate r, Caller by) {
  CHECK(rate_asked(r, by));
  return rates_of(t)->at[r][by];
}

const Target *target_with_rates(Arena *a, const Target *t, const Rates *r) {
  Target *to = arena_dup(a, t, sizeof *t);
  size_t n = 0;
  to->rates = r;
  while (t->variants && t->variants[n]) n++;
  if (!t->variants) return to;
  const Target **all = ARENA_NEW(a, const Target *, n + 1);
  for (size_t i = 0; i < n; i++) all[i] = target_with_rates(a, t->variants[i], r);
  to->variants = all;
  return to;
}

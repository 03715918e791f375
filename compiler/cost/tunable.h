/* SPDX-License-Identifier: MIT */
/* tunable.h: thresholds, limits and budgets of all passes, and the rates of rates.h, as values that --tunable sets. Each
 * compilation has its own values: Ctx.tunables. */
#ifndef TGC_TUNABLE_H
#define TGC_TUNABLE_H
#include "cost.h"

typedef struct Tunables { /* a member for each row of tunables.h */
#define TUNABLE(type, name, value, least, most, unit, reason) type name;
#include "tunables.h"
  Rates rates;
} Tunables;

extern const Tunables tunables_default;

static inline const Tunables *tunables_of(const Ctx *c) { return c->tunables ? c->tunables : &tunables_default; }
/* One value: tunable(ir->ctx, unroll_most) */
#define tunable(ctx, name) (tunables_of(ctx)->name)

/* Applies "NAME=VALUE". NAME is a tunable, a rate as one part of the compiler uses it (l2_bytes.tile: for register tiles), or
 * `rates`, a factor on all rates. Returns NULL, or the error, allocated in a. */
const char *tunables_set(Arena *a, Tunables *t, const char *text);

/* Each tunable and each rate has a row. Gets row i; false: there is no such row. */
typedef struct TunableRow {
  const char *name;        /* the name of a rate is allocated in `a` */
  double value, normal, least, most; /* value: as set in t; normal: the default; least, most: limits of the value */
  const char *unit, *reason;
} TunableRow;
bool tunables_row(Arena *a, const Tunables *t, int i, TunableRow *row);
#endif

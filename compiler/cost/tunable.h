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

/* Applies "NAME=VALUE". NAME is a tunable, or a rate and the part of the compiler that uses the rate, such as l2_bytes.tile for
 * register tiles. With the NAME `rates`, VALUE multiplies all rates. Returns NULL, or the error, allocated in a. */
const char *tunables_set(Arena *a, Tunables *t, const char *text);

/* A row for each tunable and for each value of a rate. tunables_row: *row gets row i; false: there is no row i. */
typedef struct TunableRow {
  const char *name;        /* the name of a rate is allocated in `a` */
  double value, normal, least, most; /* value: as set in t; normal: the default; least, most: limits of the value */
  const char *unit, *reason;
} TunableRow;
bool tunables_row(Arena *a, const Tunables *t, int i, TunableRow *row);
#endif

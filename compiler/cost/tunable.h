/* SPDX-License-Identifier: MIT */
/* tunable.h: the values that --tunable sets. They are the thresholds, limits and budgets of all passes, and the rates of rates.h.
 * Each compilation has its own values in Ctx.tunables, or the default values if Ctx.tunables is NULL. */
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
/* The value of a tunable, such as tunable(ir->ctx, unroll_most) */
#define tunable(ctx, name) (tunables_of(ctx)->name)

/* Applies `text`, which has the form "NAME=VALUE". NAME is a tunable such as unroll_most, or a rate of one caller (cost.h),
 * such as l2_bytes.tile: the rate l2_bytes of the caller `tile`. If NAME is `rates`, all rates are multiplied by VALUE. Returns
 * NULL if `text` was applied; else an error message that is allocated in a. */
const char *tunables_set(Arena *a, Tunables *t, const char *text);

/* A row of the list of tunables and rates. A rate has a row for each caller that has a value of the rate. */
typedef struct TunableRow {
  const char *name;        /* the NAME that tunables_set takes */
  double value, normal, least, most; /* value: as set in *t; normal: the default; least, most: limits of value */
  const char *unit, *reason;
} TunableRow;
/* Sets *row to row i of the list, with the value that *t has. Names of rates are allocated in a. Returns false if the list has no
 * row i. */
bool tunables_row(Arena *a, const Tunables *t, int i, TunableRow *row);
#endif

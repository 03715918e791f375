/* SPDX-License-Identifier: MIT */
/* memory_limits.h: the limits of a bundle's memory, for driver.c. */
#ifndef TGC_MEMORY_LIMITS_H
#define TGC_MEMORY_LIMITS_H
#include "cost/growth.h"
#include "schedule/schedule.h"

int64_t memory_excess(int64_t bytes, int64_t limit);  /* bytes above the limit, or 0. limit: 1 + most bytes; 0: no limit */
/* A message if the plan exceeds a limit; NULL: the plan exceeds none. *at: the sink of a kernel, or 0. If the weights exceed
 * their limit, the kernel is the first one that reads the largest weight. Else it is the kernel during which the values in the
 * arena have the most bytes. */
const char *memory_problem(const Plan *p, int64_t max_arena, int64_t max_weights, Ref *at);
void growth_report(Plan *p, const MemoryGoal *m);     /* fills in Plan.growth from m->granted; Plan.growth.arena stays 0 */
#endif

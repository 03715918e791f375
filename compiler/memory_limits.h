/* SPDX-License-Identifier: MIT */
/* memory_limits.h: the limits of a bundle's memory (--max-arena, --max-weights), for driver.c. A limit is stored as 1 + the most
 * bytes allowed; 0: no limit. */
#ifndef TGC_MEMORY_LIMITS_H
#define TGC_MEMORY_LIMITS_H
#include "cost/growth.h"
#include "schedule/schedule.h"

int64_t memory_excess(int64_t bytes, int64_t limit);  /* returns by how many bytes `bytes` exceeds the limit, or 0 */
/* Returns a message if the plan exceeds a limit; otherwise NULL. *at becomes the sink of the kernel that the message is about, or
 * 0 if the message is about no kernel. If the weights exceed their limit, the message is about the first kernel that reads
 * the largest weight. Otherwise it is about the kernel during which values take the most bytes of the arena. */
const char *memory_problem(const Plan *p, int64_t max_arena, int64_t max_weights, Ref *at);
void growth_report(Plan *p, const MemoryGoal *m);     /* fills in p->growth from m->granted; p->growth.arena becomes 0 */
#endif

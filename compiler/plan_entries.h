/* SPDX-License-Identifier: MIT */
/* plan_entries.h: one plan from the plans of several entries. */
#ifndef TGC_PLAN_ENTRIES_H
#define TGC_PLAN_ENTRIES_H
#include "schedule/schedule.h"
int *plan_order(const Graph *g); /* numbers of the entries, those with most work first; in the model's arena */
/* Appends to p the kernels of q, the plan of entry e of p's graph. Buffers from first_buffer on are q's own. Neither plan has a
 * memory plan yet. */
void plan_join(Plan *p, const Plan *q, int e, size_t first_buffer);
void plan_sort(Plan *p); /* call it after plan_join of all entries: puts the kernels into the order of the entries */
#endif

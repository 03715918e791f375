/* SPDX-License-Identifier: MIT */
/* plan_entries.h: one plan from the plans of several entries. */
#ifndef TGC_PLAN_ENTRIES_H
#define TGC_PLAN_ENTRIES_H
#include "schedule/schedule.h"
int *plan_order(const Graph *g); /* numbers of the entries, by descending work; in the model's arena */
/* Appends to p the kernels, packed weights and layouts of q, the plan of entry e of p's graph. The buffers of the IR from number
 * first_buffer on are q's. Must come before the memory plan. */
void plan_join(Plan *p, const Plan *q, int e, size_t first_buffer);
void plan_sort(Plan *p); /* after the last plan_join: puts the kernels into the order of the entries */
#endif

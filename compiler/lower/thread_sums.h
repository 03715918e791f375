/* SPDX-License-Identifier: MIT */
/* thread_sums.h: sums over the threads of a block (thread_sums.c). */
#ifndef TGC_THREAD_SUMS_H
#define TGC_THREAD_SUMS_H
#include "lower.h"

/* The places of a thread in the memory of a group. They are nodes of the nest, so that each is computed in its proper loop. */
typedef struct Group {
  int64_t threads, size;   /* threads of the block, and of the group */
  int64_t firsts;          /* threads that add the parts of the others */
  int64_t step;            /* from an element of the group to the next one */
  bool beside;             /* its threads have consecutive numbers that begin with a multiple of its size */
  Ref part, sum;           /* places of this thread's value, and of its partial sum as one of the first */
  Ref sums;                /* place of the group's first partial sum */
  Ref first;               /* whether this thread is one of the first */
} Group;

/* all: the n ranges of the nest. red: a reduction over threads */
Group group_of(IR *ir, const Node *red, const Ref *all, int n);
Ref part_place(IR *ir, const Group *g, int64_t k); /* place of the value of the k-th thread whose part this thread adds */
Ref sum_place(IR *ir, const Group *g, int64_t k);  /* place of the group's k-th partial sum */
bool in_warp(const Group *g, int warp);            /* returns whether the group's threads exchange values without memory */
void list_places(IR *ir, const Group *g, int warp, Refs *out);
void group_places(IR *ir, Ref nest, int warp, Refs *out); /* appends the nodes for the places of all groups of the nest */
#endif

/* SPDX-License-Identifier: MIT */
/* issue.h: internals of program_time.h. packed.c finds loops that the C compiler vectorises. issue.c counts what each loop issues
 * to the ports of a core. overlap.c computes the time of the loops, given that a core starts instructions while earlier ones
 * wait. program_time.c adds the time of memory. */
#ifndef TGC_ISSUE_H
#define TGC_ISSUE_H
#include "program_time.h"
#include "tunable.h"
#include "../ir/refmap.h"

/* The ports of a core, with the unit in which Issue.at counts the work of each port. MULTIPLY, VECTOR (all arithmetic), MOVE
 * (moves between lanes), LOAD and STORE: vectors. DIVIDE: quotients. MATRIX: cycles of a matrix unit. START: micro-ops of
 * the core. A micro-op of the program needs several of these, or none */
typedef enum Port {
  PORT_MULTIPLY, PORT_VECTOR, PORT_MOVE, PORT_LOAD, PORT_STORE, PORT_DIVIDE, PORT_MATRIX, PORT_START, PORTS
} Port;
typedef struct Issue { double at[PORTS]; } Issue;

typedef VEC(int) Places;   /* a place is an index in the program, Timer.prog */
typedef struct LoopTime {  /* facts about one loop */
  Issue issue;             /* work of one iteration; overlap.c adds the work of the loops inside of this loop */
  double packed;           /* number of iterations that the C compiler turns into one iteration on vectors; 1: no vectorisation */
  double turns;            /* number of iterations after this vectorisation */
  double sums, stored;     /* numbers of vectors that hold variables which the loop changes. sums: vectors that want a register.
                              stored: vectors that the C compiler keeps in memory, and vectors of `sums` that get no register */
  double spilled;          /* number of vectors with other values that get no register */
  double first, each;      /* cycles of the first iteration, and of each further iteration */
  Places items;            /* the nodes of the body, and the OP_LOOP of each loop directly inside */
  Places needs, sets;      /* nodes outside of this loop. needs: nodes that the loop, or a loop inside, reads. sets: variables
                              (OP_ACC) that the loop, or a loop inside, changes */
} LoopTime;

typedef struct Timer { /* a program, and facts about it from which its time is computed */
  const IR *ir;
  const Refs *prog;
  const Walks *w;
  const Target *t;
  const CpuFacts *f;
  double lanes, bytes;     /* number of floats in the widest vector; bytes of this vector */
  double rate[PORTS];      /* work that the port does in a cycle, in the units of Issue.at */
  VEC(LoopTime) loop;      /* as in Walks.loops */
  RefMap place;            /* by node: 1 + its place in the program. If several loops compute the node, it has several places;
                              the last one that overlap.c has read counts */
  /* from: places of the operands of all nodes; -1 if an operand is not in the program. operands: for each place, the index in
   * `from` of the first operand of the node there */
  Places operands, from;
  /* Sets of nodes. summed: scalar additions to a variable. halved: variables with vectors of 64 bytes or more that an OP_HRED
   * reads */
  RefMap summed, halved;
  double *starts, *ready;  /* by place. starts: work of the node there for PORT_START; ready: the first cycle in which its
                              value can be used */
} Timer;

/* Whether x counts as arithmetic on indices: a scalar integer of 32 bits or more */
static inline bool is_index(const Node *x) { return x->lanes == 1 && dt_int((DType)x->dt) && dt_bytes((DType)x->dt) >= 4; }

/* ---- issue.c ---- */
/* Columns of functions.h */
typedef struct FunctionCost { double multiply, other, divide, path; bool scaled; double lookups; } FunctionCost;
/* The work of x, a node of class COST_FUNC. If the C library computes x, FunctionCost.multiply is 0. */
FunctionCost function_cost(const Timer *m, const Node *x);
/* Latency of node x in cycles. r: the Ref of x. packed: LoopTime.packed of the loop with x */
double latency_of(const Timer *m, Ref r, const Node *x, double packed);
/* The functions packed_read, issue_read and overlap_cycles, in this order, set fields of *m and of each LoopTime. */
void issue_read(Timer *m); /* needs: packed, summed    gives: issue, sums, stored, spilled, halved, starts */

/* ---- packed.c ---- */
void packed_read(Timer *m); /* gives: packed, turns, summed */

/* ---- overlap.c ---- */
/* needs: what packed_read and issue_read give    gives: all other fields of LoopTime, place, operands, from, ready. Returns the
 * program's cycles */
double overlap_cycles(Timer *m);
#endif

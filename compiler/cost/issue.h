/* SPDX-License-Identifier: MIT */
/* issue.h: shared by the files that implement program_time (program_time.h). packed.c finds loops that the C compiler
 * vectorises. issue.c counts what each loop issues to the ports of a core. overlap.c computes the time of the loops, given that a
 * core starts instructions while earlier instructions wait. program_time.c adds the time of memory. */
#ifndef TGC_ISSUE_H
#define TGC_ISSUE_H
#include "program_time.h"
#include "tunable.h"
#include "../ir/refmap.h"

/* The ports of a core, with the unit in which Issue.at counts the work of each port. MULTIPLY, VECTOR (all arithmetic), MOVE
 * (moves between lanes), LOAD and STORE: vectors. DIVIDE: quotients. MATRIX: cycles of the matrix unit. START: micro-ops of
 * the core. A micro-op of the program becomes one or several micro-ops of the core, or none */
typedef enum Port {
  PORT_MULTIPLY, PORT_VECTOR, PORT_MOVE, PORT_LOAD, PORT_STORE, PORT_DIVIDE, PORT_MATRIX, PORT_START, PORTS
} Port;
typedef struct Issue { double at[PORTS]; } Issue;

typedef VEC(int) Places;   /* a place is an index into the program, Timer.prog */
typedef struct LoopTime {  /* facts about one loop */
  Issue issue;             /* work of one iteration; overlap.c adds the work of the loops inside of this loop */
  double packed;           /* number of iterations that the C compiler turns into one iteration on vectors; 1: no vectorisation */
  double turns;            /* number of iterations after this vectorisation */
  bool adds;               /* the loop adds to scalar variables */
  double sums, stored;     /* numbers of vectors for the variables that the loop changes. sums: vectors that need a register.
                              stored: vectors of `sums` that get no register */
  double spilled;          /* number of vectors that hold other values and get no register */
  double branches;         /* number of jumps that depend on loaded values: the C compiler makes such jumps for scalar maxima */
  double first, each;      /* cycles of the first iteration, and of each further iteration */
  Places items;            /* the body's nodes that are in no inner loop, and the OP_LOOP of each loop directly inside */
  Places needs, sets;      /* nodes outside of this loop. needs: nodes that this loop or an inner loop reads. sets: variables
                              (OP_ACC) that this loop or an inner loop changes */
} LoopTime;

typedef struct Timer { /* a program, and facts about it from which its time is computed */
  const IR *ir;
  const Refs *prog;
  const Walks *w;
  const Target *t;
  const CpuFacts *f;
  double lanes, bytes;     /* number of floats in the widest vector; bytes of this vector */
  double rate[PORTS];      /* by port: the work that this port does in a cycle, in the unit of Issue.at */
  VEC(LoopTime) loop;      /* by number of the loop, its index in Walks.loops */
  RefMap place;            /* by node: 1 + its place in the program. A node that several loops compute has several places;
                              overlap.c keeps the last place that it has read */
  /* from: places of the operands of all nodes; -1 if an operand is not in the program. operands: for each place, the index in
   * `from` of the first operand of the node at this place */
  Places operands, from;
  /* Sets of nodes. summed: scalar additions to a variable. carried: lanes (OP_LANE) that an OP_VEC moves together with other
   * lanes of the same vector */
  RefMap summed, carried;
  double *starts, *ready;  /* by place. starts: work for PORT_START of the node at this place; ready: the first cycle in which
                              the node's value can be used */
} Timer;

/* Whether x counts as arithmetic on indices: its value is a scalar integer of at least 32 bits */
static inline bool is_index(const Node *x) { return x->lanes == 1 && dt_int((DType)x->dt) && dt_bytes((DType)x->dt) >= 4; }

/* ---- issue.c ---- */
/* A row of functions.h. path: latency of the longest chain; scaled: the last step is OP_SCALB */
typedef struct FunctionCost { double multiply, other, divide, path; bool scaled; double lookups; } FunctionCost;
/* The work of x, a node of class COST_FUNC. If the C library computes x, FunctionCost.multiply is 0. */
FunctionCost function_cost(const Timer *m, const Node *x);
/* Latency of node x in cycles. r: the Ref of x. packed: LoopTime.packed of the loop around x */
double latency_of(const Timer *m, Ref r, const Node *x, double packed);
/* The functions packed_read, issue_read and overlap_cycles are called in this order. They set fields of *m and of each LoopTime.
 * `needs` lists the fields that a function reads, and `gives` the fields that it sets. */
void issue_read(Timer *m); /* needs: packed, summed    gives: carried, issue, sums, stored, spilled, branches, starts */

/* ---- packed.c ---- */
void packed_read(Timer *m); /* gives: packed, turns, adds, summed */

/* ---- overlap.c ---- */
/* needs: what packed_read and issue_read give    gives: all other fields of LoopTime, place, operands, from, ready. Returns the
 * program's cycles */
double overlap_cycles(Timer *m);
#endif

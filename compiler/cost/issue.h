/* SPDX-License-Identifier: MIT */
/* issue.h: internals of program_time.h. packed.c finds loops that the C compiler vectorises. issue.c counts what each loop issues
 * to the ports of a core. overlap.c computes how far a core starts micro-ops while earlier micro-ops still wait. program_time.c
 * adds the time of memory. */
#ifndef TGC_ISSUE_H
#define TGC_ISSUE_H
#include "program_time.h"
#include "tunable.h"
#include "../ir/refmap.h"

/* The ports of a core. For MULTIPLY, VECTOR (all arithmetic), MOVE (between lanes), LOAD and STORE, Issue.at counts vectors. For
 * DIVIDE, Issue.at counts quotients; for MATRIX, cycles of a matrix unit; for START, the micro-ops that the core starts. */
typedef enum Port {
  PORT_MULTIPLY, PORT_VECTOR, PORT_MOVE, PORT_LOAD, PORT_STORE, PORT_DIVIDE, PORT_MATRIX, PORT_START, PORTS
} Port;
typedef struct Issue { double at[PORTS]; } Issue;

typedef VEC(int) Places;   /* a place is the index of a node in the program, Timer.prog */
typedef struct LoopTime {
  Issue issue;             /* work of one iteration; overlap.c adds the work of the loops inside of this loop */
  double packed;           /* scalar iterations that the C compiler turns into one iteration on vectors; 1: no vectorisation */
  double turns;            /* iterations that remain after this vectorisation */
  double sums, stored;     /* number of vectors with variables that the loop changes. sums: vectors meant for registers. stored:
                              vectors that the C compiler keeps in memory, plus the vectors of `sums` that get no register */
  double spilled;          /* number of vectors of other values for which no register is left */
  double first, each;      /* cycles of the first iteration, and of each further iteration */
  Places items;            /* the loop's nodes, and the beginnings of the loops directly inside of this loop */
  Places needs, sets;      /* needs: outer nodes that this loop or its inner loops read. sets: outer variables that this loop or
                              its inner loops change */
} LoopTime;

typedef struct Timer { /* the program whose time is computed, and what is known about it so far */
  const IR *ir;
  const Refs *prog;
  const Walks *w;
  const Target *t;
  const CpuFacts *f;
  double lanes, bytes;     /* number of floats, and number of bytes, of the widest vector */
  double rate[PORTS];      /* units of Issue.at per cycle */
  VEC(LoopTime) loop;      /* numbered as Walks.loops */
  RefMap place;            /* maps a node to its last place in the program so far, plus 1 */
  /* from: places of the operands of all nodes, -1 if an operand is not in the program. operands: by place, the index in `from` of
   * the node's first operand */
  Places operands, from;
  /* Sets of nodes. summed: scalar sums in a variable. halved: vector variables of 64 bytes or more that an OP_HRED reads */
  RefMap summed, halved;
  double *starts, *ready;  /* by place. starts: micro-ops of the node; ready: the first cycle in which the node's value can be
                              used */
} Timer;

/* Whether x counts as arithmetic on indices: a scalar integer of 32 bits or more */
static inline bool is_index(const Node *x) { return x->lanes == 1 && dt_int((DType)x->dt) && dt_bytes((DType)x->dt) >= 4; }

/* ---- issue.c ---- */
typedef struct FunctionCost { double multiply, other, divide, path; bool scaled; } FunctionCost; /* columns of functions.h */
/* x: a node of class COST_FUNC. multiply 0: the C library computes x */
FunctionCost function_cost(const Timer *m, const Node *x);
/* Cycles from the start of node x until its value can be used. r: the Ref of x. packed: LoopTime.packed of r's loop */
double latency_of(const Timer *m, Ref r, const Node *x, double packed);
/* The functions issue_read, packed_read and overlap_cycles compute fields of each LoopTime, and of the Timer. */
void issue_read(Timer *m); /* needs: packed, summed    gives: issue, sums, stored, spilled, halved, starts */

/* ---- packed.c ---- */
void packed_read(Timer *m); /* gives: packed, turns, summed */

/* ---- overlap.c ---- */
/* needs: what packed_read and issue_read give    gives: all other fields of LoopTime, place, operands, from, ready. Returns the
 * program's cycles */
double overlap_cycles(Timer *m);
#endif

/* SPDX-License-Identifier: MIT */
/* issue.h: internals of the time of a program. packed.c finds loops that the C compiler makes loops of vectors. issue.c counts
 * what each loop issues to the ports of a core. overlap.c follows how far the core runs ahead. program_time.c puts their results
 * together. */
#ifndef TGC_ISSUE_H
#define TGC_ISSUE_H
#include "program_time.h"
#include "tunable.h"
#include "../ir/refmap.h"

/* MULTIPLY, VECTOR (all arithmetic), MOVE (between lanes), LOAD and STORE count vectors. DIVIDE counts quotients, MATRIX cycles
 * of a matrix unit, START micro-ops. */
typedef enum Port {
  PORT_MULTIPLY, PORT_VECTOR, PORT_MOVE, PORT_LOAD, PORT_STORE, PORT_DIVIDE, PORT_MATRIX, PORT_START, PORTS
} Port;
typedef struct Issue { double at[PORTS]; } Issue;

typedef VEC(int) Places;   /* places of nodes in the program */
typedef struct LoopTime {
  Issue issue;             /* one iteration's; overlap.c adds the loops inside of it */
  double packed;           /* scalar iterations that the C compiler turns into one iteration on vectors */
  double turns;            /* iterations, after the C compiler has vectorised the loop if it can */
  double sums, stored;     /* vectors of variables that the loop changes, in registers and in memory */
  double spilled;          /* other vectors without a register */
  double first, each;      /* cycles of the first iteration, and of each further one */
  Places items;            /* the loop's nodes, and the beginnings of the loops directly in it */
  Places needs, sets;      /* outer nodes that this loop and the loops in it read; variables that they change */
} LoopTime;

typedef struct Timer {
  const IR *ir;
  const Refs *prog;
  const Walks *w;
  const Target *t;
  const CpuFacts *f;
  double lanes, bytes;     /* floats of the widest vector, and its bytes */
  double rate[PORTS];      /* per cycle */
  VEC(LoopTime) loop;
  RefMap place;            /* by node: 1 + its last place in the program so far */
  Places operands, from;   /* from: places of operands, -1 if not in the program; operands: by place, the first one in `from` */
  RefMap summed, halved;   /* sets: scalar sums in a variable; vector variables of 64 bytes or more that an OP_HRED reads */
  double *starts, *ready;  /* by place: micro-ops; the cycle at which its value can be used */
} Timer;

static inline bool is_index(const Node *x) { return x->lanes == 1 && dt_int((DType)x->dt) && dt_bytes((DType)x->dt) >= 4; }

/* ---- issue.c ---- */
typedef struct FunctionCost { double multiply, other, divide, path; bool scaled; } FunctionCost;
FunctionCost function_cost(const Timer *m, const Node *x); /* x is of COST_FUNC; multiply 0: a function of the C library */
double latency_of(const Timer *m, Ref r, const Node *x, double packed); /* cycles */
void issue_read(Timer *m); /* needs: packed    gives: issue, stored, starts */

/* ---- packed.c ---- */
void packed_read(Timer *m); /* gives: packed, turns */

/* ---- overlap.c ---- */
double overlap_cycles(Timer *m); /* needs: all of the above    gives: first, each; -> cycles of the program */
#endif

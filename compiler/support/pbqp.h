/* SPDX-License-Identifier: MIT */
/* pbqp.h: solves partitioned boolean quadratic problems. Each node takes one of its alternatives, and each alternative has a
 * cost. An edge between two nodes adds a cost that depends on the alternatives of both nodes. */
#ifndef TGC_PBQP_H
#define TGC_PBQP_H
#include "support.h"

typedef struct Pbqp Pbqp;

Pbqp *pbqp_new(void);
void pbqp_free(Pbqp *c);
int pbqp_node(Pbqp *c, int alternatives);                            /* adds a node with costs of 0; returns its number */
int pbqp_size(const Pbqp *c);                                  /* number of nodes */
void pbqp_cost(Pbqp *c, int node, int alternative, double cost);     /* adds `cost` to the alternative's cost */
/* Adds costs to the edge between two different nodes a and b. cost[i * (number of b's alternatives) + j] is for alternative i of
 * node a and alternative j of node b. */
void pbqp_edge(Pbqp *c, int a, int b, const double *cost);
double pbqp_total(const Pbqp *c, const int *alternative);            /* total cost if each node n takes alternative[n] */
/* The part of the total cost that comes from `node`, the neighbours of `node`, and all edges of these nodes */
double pbqp_cost_around(const Pbqp *c, const int *alternative, int node);
/* Chooses alternative[n] for each node n so that the total cost is small, and returns this cost. If fixed[n] is at least 0, node
 * n takes alternative fixed[n]. fixed NULL: no alternatives are fixed.
 *
 * The solver removes nodes with at most two neighbours, one after another. If a removed node had two neighbours, a new edge joins
 * these neighbours. If all nodes are removed in this way, as in a series-parallel graph, the result is the least possible cost.
 * For other graphs, the result may be slightly greater. */
double pbqp_solve(const Pbqp *c, const int *fixed, int *alternative);
#endif

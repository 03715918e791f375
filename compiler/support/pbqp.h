/* SPDX-License-Identifier: MIT */
/* pbqp.h: partitioned boolean quadratic problem. Each node takes one of a few alternatives. Each alternative has a cost. Each
 * edge adds a cost for the pair of alternatives that the edge's two nodes take. */
#ifndef TGC_PBQP_H
#define TGC_PBQP_H
#include "support.h"

typedef struct Pbqp Pbqp;

Pbqp *pbqp_new(void);
void pbqp_free(Pbqp *c);
int pbqp_node(Pbqp *c, int alternatives);                            /* adds a node with costs of 0; returns its number */
int pbqp_size(const Pbqp *c);                                  /* number of nodes */
void pbqp_cost(Pbqp *c, int node, int alternative, double cost);     /* adds to the alternative's cost */
/* Adds cost[i * (alternatives of b) + j] to the pair of alternative i at node a and alternative j at node b; a is not b. */
void pbqp_edge(Pbqp *c, int a, int b, const double *cost);
double pbqp_total(const Pbqp *c, const int *alternative);            /* total cost of the given alternatives, one per node */
/* The part of the total cost that comes from a node, the node's neighbours, and all edges of these nodes */
double pbqp_cost_around(const Pbqp *c, const int *alternative, int node);
/* Finds alternatives of least total cost, and returns this cost. fixed[node] >= 0: the node has this alternative. fixed NULL: no
 * alternative is fixed. The cost is the least one if removing nodes with at most two neighbours empties the graph, as for
 * series-parallel graphs. Otherwise the cost may be slightly greater. */
double pbqp_solve(const Pbqp *c, const int *fixed, int *alternative);
#endif

/* pbqp.h: choices that depend on each other two by two. Each node takes one of a few alternatives at a cost of its own,
 * and each edge adds what the alternatives of its two ends cost together. */
#ifndef TGC_PBQP_H
#define TGC_PBQP_H
#include "support.h"

typedef struct Pbqp Pbqp;

Pbqp *pbqp_new(void);
void pbqp_free(Pbqp *c);
int pbqp_node(Pbqp *c, int alternatives);                            /* its number; all alternatives cost 0 */
int pbqp_size(const Pbqp *c);                                  /* nodes so far */
void pbqp_cost(Pbqp *c, int node, int alternative, double cost);     /* added */
/* cost[i * alternatives of b + j]: alternative i at a and j at b; added to what the two cost already; a is not b */
void pbqp_edge(Pbqp *c, int a, int b, const double *cost);
double pbqp_total(const Pbqp *c, const int *alternative);            /* what the alternatives cost: one for each node */
/* The alternatives of least total cost, which is returned; fixed[node] >= 0 is that node's alternative. Exact where taking away
 * nodes with at most two neighbours leaves nothing, as in trees and in what is made of branches that meet again; else
 * close, and such that no other alternative of a single node is better. fixed may be NULL. */
double pbqp_solve(const Pbqp *c, const int *fixed, int *alternative);
#endif

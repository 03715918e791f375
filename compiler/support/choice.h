/* choice.h: choices that depend on each other two by two. Each node takes one of a few labels at a cost of its own,
 * and each edge adds what the labels of its two ends cost together. */
#ifndef TGC_CHOICE_H
#define TGC_CHOICE_H
#include "support.h"

typedef struct Choice Choice;

Choice *choice_new(void);
void choice_free(Choice *c);
int choice_node(Choice *c, int labels);                            /* its number; all labels cost 0 */
int choice_size(const Choice *c);                                  /* nodes so far */
void choice_cost(Choice *c, int node, int label, double cost);     /* added */
/* cost[i * labels of b + j]: label i at a and j at b; added to what the two cost already; a is not b */
void choice_edge(Choice *c, int a, int b, const double *cost);
double choice_total(const Choice *c, const int *label);            /* what the labels cost: one for each node */
/* The labels of least total cost, which is returned; fixed[node] >= 0 is that node's label. Exact where taking away
 * nodes with at most two neighbours leaves nothing, as in trees and in what is made of branches that meet again; else
 * close, and such that no other label of a single node is better. fixed may be NULL. */
double choice_solve(const Choice *c, const int *fixed, int *label);
#endif

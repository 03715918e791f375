/* graph.h: passes on the graph of tensors. */
#ifndef TGC_GRAPH_H
#define TGC_GRAPH_H
#include "../ir/ir.h"

bool graph_simplify(Graph *g); /* exact rewrites, and the named algebraic rules of simplify.c; true: changed */
bool graph_fold(Graph *g);     /* what depends on constants only becomes tensors; true: changed */
#endif

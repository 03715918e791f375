/* graph.h: passes on the graph of tensors. */
#ifndef TGC_GRAPH_H
#define TGC_GRAPH_H
#include "../ir/ir.h"

bool graph_simplify(Graph *g); /* exact rewrites, and the named algebraic rules of simplify.c; true: changed */
bool graph_widen(Graph *g);    /* f16 and bf16 between inputs and outputs become f32; true: changed */
bool graph_fold(Graph *g);     /* what depends on constants only becomes tensors; true: changed */
#endif

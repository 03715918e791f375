/* SPDX-License-Identifier: MIT */
/* compose.h: joins graphs by the names of their inputs and outputs. The results have an IR of their own; the parts stay as they
 * are. */
#ifndef TGC_COMPOSE_H
#define TGC_COMPOSE_H
#include "../../compiler/ir/ir.h"

/* Outputs of `first` become the inputs of g that have their names. first's other outputs follow g's. Messages call
 * `first` by the text `what`. */
Graph *graph_before(Ctx *c, const Graph *first, const Graph *g, const char *what);
/* Outputs of g become the inputs of `last` that have their names. Each other input of `last` is the input of g with the same
 * name. If there is none, it follows g's inputs. Messages call `last` by the text `what`. */
Graph *graph_after(Ctx *c, const Graph *g, const Graph *last, const char *what);
/* Copies the nodes that the outputs of `from` need to the end of `to`. in: by input of `from`, its value in `to`; out: by output,
 * its copy.
 * part: a name put before the origin of each copied node, as in "eyes: node 17"; NULL: no name */
void graph_graft(Graph *to, const Graph *from, const char *part, const Ref *in, Ref *out);
/* A graph without values, for builders. The caller frees it with graph_free. */
Graph *graph_new(Ctx *c, const char *name);
void graph_free(Graph *g);                               /* frees the graph's tables; the graph lies in c->model */
GIO *graph_find(GIO *v, size_t n, const char *name);     /* NULL: none has the name */
const char *graph_names(Ctx *c, const GIO *v, size_t n, const char *word); /* " 'a', 'b'", then did_you_mean for the word */
const char *graph_type(Ctx *c, const GIO *v);            /* "f32[1,3]" */
bool graph_same_type(const GIO *a, const GIO *b);        /* equal element types and shapes */
Ref graph_input(Graph *g, const GIO *like, const char *name); /* adds an input */
void graph_output(Graph *g, Ref r, const char *name);         /* adds an output */
/* the OR of two guards (Graph.guarded), each a bool or a u8 */
Ref guards_joined(IR *ir, Ref x, Ref y);
#endif

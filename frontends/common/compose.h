/* SPDX-License-Identifier: MIT */
/* compose.h: joins graphs by the names of their inputs and outputs. A joined graph has an IR of its own, and its parts are not
 * changed. The caller frees graphs with graph_free. */
#ifndef TGC_COMPOSE_H
#define TGC_COMPOSE_H
#include "../../compiler/ir/ir.h"

/* Joins `first` and g: an output of `first` becomes the input of g that has its name. The other outputs of `first` follow those
 * of g. Messages call `first` by the text `what`. */
Graph *graph_before(Ctx *c, const Graph *first, const Graph *g, const char *what);
/* Joins g and `last`: an output of g becomes the input of `last` that has its name. Any other input of `last` is the input of g
 * with the same name, or else a new input behind those of g. Messages call `last` by the text `what`. */
Graph *graph_after(Ctx *c, const Graph *g, const Graph *last, const char *what);
/* Copies into `to` the nodes that the outputs of `from` need. in: by input of `from`, the value in `to` that takes its place.
 * out: receives by output of `from` its copy in `to`. part: a name put before the origin of each copied node, as in "eyes: node
 * 17"; NULL: no name */
void graph_graft(Graph *to, const Graph *from, const char *part, const Ref *in, Ref *out);
Graph *graph_new(Ctx *c, const char *name);              /* a graph without values, for builders */
void graph_free(Graph *g);                               /* frees the graph's tables; the struct itself lies in c->model */
GIO *graph_find(GIO *v, size_t n, const char *name);     /* the one of n values that has the name; NULL: none */
/* The names of n values as text, such as " 'a', 'b'". Then "; did you mean 'a'?" if one of them is similar to `word` */
const char *graph_names(Ctx *c, const GIO *v, size_t n, const char *word);
const char *graph_type(Ctx *c, const GIO *v);            /* "f32[1,3]" */
bool graph_same_type(const GIO *a, const GIO *b);        /* whether element types and shapes are equal */
Ref graph_input(Graph *g, const GIO *like, const char *name); /* adds an input with the type and the shape of `like` */
void graph_output(Graph *g, Ref r, const char *name);         /* adds r as an output */
/* the OR of two guards, as Graph.guarded describes them: each is a bool or a u8 */
Ref guards_joined(IR *ir, Ref x, Ref y);
#endif

/* SPDX-License-Identifier: MIT */
/* compose.h: joins graphs by the names of their inputs and outputs. A joined graph is a copy with an IR of its own. The caller
 * frees graphs by graph_free. */
#ifndef TGC_COMPOSE_H
#define TGC_COMPOSE_H
#include "../../compiler/ir/ir.h"

/* Joins `first` and g: an output of `first` replaces the input of g with the same name. In the result, the inputs of `first`
 * stand in place of the first replaced input, and the other outputs of `first` follow the outputs of g. Fails if no name fits,
 * if types differ, or if two inputs or two outputs would have one name. Messages call `first` by the text `what`. */
Graph *graph_before(Ctx *c, const Graph *first, const Graph *g, const char *what);
/* Joins g and `last`: an output of g becomes the input of `last` with the same name. In the result, the outputs of `last`
 * replace the outputs that `last` reads, at the place of the first of these. Any other input of `last` is the input of g with the
 * same name, or else a new input after the inputs of g. Fails as graph_before does. Messages call `last` by the text `what`. */
Graph *graph_after(Ctx *c, const Graph *g, const Graph *last, const char *what);
/* Copies into `to` the nodes that the outputs of `from` need. in[i]: the node of `to` that takes the place of input i of `from`.
 * out[i]: receives the copy of output i. part: a name for the origins of the copied nodes, as "eyes" in "eyes: node 17"; NULL: no
 * name */
void graph_graft(Graph *to, const Graph *from, const char *part, const Ref *in, Ref *out);
Graph *graph_new(Ctx *c, const char *name);              /* a graph without nodes, in c->model */
void graph_free(Graph *g);                               /* frees the graph's lists and its IR, but not *g */
GIO *graph_find(GIO *v, size_t n, const char *name);     /* the one of n inputs or outputs with this name; NULL: none */
/* The names of n inputs or outputs, such as " 'a', 'b'". If a name is similar to `word`, "; did you mean 'a'?" follows */
const char *graph_names(Ctx *c, const GIO *v, size_t n, const char *word);
const char *graph_type(Ctx *c, const GIO *v);            /* type and shape as text, such as "f32[1,3]" */
bool graph_same_type(const GIO *a, const GIO *b);        /* whether element types and shapes are equal */
Ref graph_input(Graph *g, const GIO *like, const char *name); /* adds an input with the type and the shape of `like` */
void graph_output(Graph *g, Ref r, const char *name);         /* adds r as an output */
/* The OR of two guards (Graph.guarded): a bool if both are bools, else a u8 */
Ref guards_joined(IR *ir, Ref x, Ref y);
#endif

/* SPDX-License-Identifier: MIT */
/* compose.h: joins two graphs: outputs of one graph become inputs of the other with the same names. The result is a copy with an
 * IR of its own. The caller frees it with graph_free. */
#ifndef TGC_COMPOSE_H
#define TGC_COMPOSE_H
#include "../../compiler/ir/ir.h"

/* Joins `first` and g: an output of `first` replaces the input of g with the same name. In the result, the inputs of `first`
 * stand in place of the first replaced input. The other outputs of `first` follow the outputs of g. Fails if no input is
 * replaced, or if an output has another type than the input that it replaces. Also fails if two inputs or two outputs would have
 * the same name. Messages call `first` by the text `what`. */
Graph *graph_before(Ctx *c, const Graph *first, const Graph *g, const char *what);
/* Joins g and `last`: an output of g replaces the input of `last` with the same name. In the result, the outputs of g that `last`
 * reads are gone. The outputs of `last` stand in place of the first of these. Any other input of `last` becomes the input of g
 * with the same name. If g has no such input, it becomes a new input after the inputs of g. Fails in the same cases as
 * graph_before. Messages call `last` by the text `what`. */
Graph *graph_after(Ctx *c, const Graph *g, const Graph *last, const char *what);
/* Copies the nodes that the outputs of `from` need into `to`. in[i]: the node of `to` that replaces input i of `from`. out[i]
 * becomes the copy of output i. part: a text before the origins of the copied nodes, such as "eyes" in "eyes: node 17"; NULL: no
 * text */
void graph_graft(Graph *to, const Graph *from, const char *part, const Ref *in, Ref *out);
Graph *graph_new(Ctx *c, const char *name);              /* a graph without nodes, in c->model */
void graph_free(Graph *g);                               /* frees the graph's lists and its IR, but not *g */
GIO *graph_find(GIO *v, size_t n, const char *name);     /* finds this name among n inputs or outputs; NULL: not found */
/* A text with the names of n inputs or outputs, such as " 'a', 'b'". If a name is similar to `word`, "; did you mean 'a'?"
 * follows. */
const char *graph_names(Ctx *c, const GIO *v, size_t n, const char *word);
const char *graph_type(Ctx *c, const GIO *v);            /* type and shape as text, such as "f32[1,3]" */
bool graph_same_type(const GIO *a, const GIO *b);        /* whether element types and shapes are equal */
Ref graph_input(Graph *g, const GIO *like, const char *name); /* adds an input with the type and the shape of `like` */
void graph_output(Graph *g, Ref r, const char *name);         /* adds r as an output */
/* The OR of the guards x and y (Graph.guarded). Its type is bool if both guards are bools, else u8. */
Ref guards_joined(IR *ir, Ref x, Ref y);
#endif

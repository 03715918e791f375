/* SPDX-License-Identifier: MIT */
/* compose.h: joins two graphs: an output of one graph replaces the input of the other graph that has the output's name. The
 * joined graph has copies of all nodes, in an IR of its own. The caller frees the joined graph with graph_free. */
#ifndef TGC_COMPOSE_H
#define TGC_COMPOSE_H
#include "../../compiler/ir/ir.h"

/* Joins two graphs: outputs of `first` replace inputs of g. In the joined graph, the inputs of `first` stand where g has the
 * foremost of the replaced inputs. An output of `first` that replaces no input becomes an output of the joined graph, behind the
 * outputs of g. Fails if no input is replaced, or if an output differs in type or shape from the input that it replaces. Also
 * fails if two inputs or two outputs of the joined graph would have equal names. Messages use `what` as the name of `first`. */
Graph *graph_before(Ctx *c, const Graph *first, const Graph *g, const char *what);
/* Joins two graphs: outputs of g replace inputs of `last`. The joined graph lacks the outputs of g that replace inputs. In
 * place of the foremost of these outputs, the joined graph has the outputs of `last`. If no output replaces an input of `last`,
 * but g has an input with this name, `last` reads the input of g. The remaining inputs of `last` become inputs of the joined
 * graph, behind the inputs of g. Fails in the cases in which graph_before fails. Messages use `what` as the name of `last`. */
Graph *graph_after(Ctx *c, const Graph *g, const Graph *last, const char *what);
/* Copies nodes of `from` into `to`: those that the outputs of `from` need. in[i]: the node of `to` that replaces input i of
 * `from`. Sets out[i] to the copy of output i of `from`. part: a text with which the origins of the copied nodes begin, such as
 * "eyes" in "eyes: node 17"; NULL: no text */
void graph_graft(Graph *to, const Graph *from, const char *part, const Ref *in, Ref *out);
Graph *graph_new(Ctx *c, const char *name);              /* a graph without nodes, in c->model */
void graph_free(Graph *g);                               /* frees the lists of inputs and outputs, and the IR, but not *g */
GIO *graph_find(GIO *v, size_t n, const char *name);     /* returns the GIO with this name, of the n in v; NULL: there is none */
/* Returns a text with the names of the n inputs or outputs in v, such as " 'a', 'b'". If a name is similar to `word`, the text
 * ends with "; did you mean 'a'?". */
const char *graph_names(Ctx *c, const GIO *v, size_t n, const char *word);
const char *graph_type(Ctx *c, const GIO *v);            /* returns type and shape as text, such as "f32[1,3]" */
bool graph_same_type(const GIO *a, const GIO *b);        /* whether element types and shapes are equal */
Ref graph_input(Graph *g, const GIO *like, const char *name); /* adds and returns an input with the type and shape of `like` */
void graph_output(Graph *g, Ref r, const char *name);         /* adds r as an output */
/* Returns the OR of the guards x and y (Graph.guarded): a bool if both guards are bools, otherwise a u8. */
Ref guards_joined(IR *ir, Ref x, Ref y);
#endif

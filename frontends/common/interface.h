/* SPDX-License-Identifier: MIT */
/* interface.h: changes that the user makes to a model's inputs and outputs. */
#ifndef TGC_INTERFACE_H
#define TGC_INTERFACE_H
#include "../../compiler/ir/ir.h"

typedef struct TextList { const char *const *p; size_t n; } TextList; /* n texts */
typedef struct ConstInput { /* from --const NAME=VALUE */
  const char *name, *value; /* value: one number for all elements, or one for each element; commas separate numbers */
  const Tensor *file;       /* if VALUE is @FILE: the tensor in this file; else NULL */
} ConstInput;
typedef struct IoOptions {
  const ConstInput *consts;
  size_t nconsts;
  TextList froms;           /* names of values that become inputs */
  TextList renames;         /* texts OLD=NEW */
  TextList prologues, epilogues; /* paths of .tg files */
  TextList converts;        /* texts NAME=FORM,... (convert.h) */
} IoOptions;

/* In all functions below, f may be NULL if there are no options. */

/* Returns the constant k as a tensor with the type and shape of `input`. Fails if k does not fit this type and shape. */
Tensor const_input(Ctx *c, const ConstInput *k, const GIO *input);
const ConstInput *const_find(const IoOptions *f, const char *name); /* the constant for the input of this name; NULL: none */
/* Fails if f has a constant for a name that none of the n inputs has. */
void consts_check(Ctx *c, const IoOptions *f, const GIO *inputs, size_t n);
/* Replaces inputs of g by the constants of f. Returns the new graph, and frees g. If f has no constants, returns g. A front end
 * that calls const_find while it builds the graph does not need this function. */
Graph *consts_bind(Ctx *c, const IoOptions *f, Graph *g);

/* Renames inputs and outputs of g. Then joins prologues, epilogues and conversions to g. Returns the joined graph, and frees g.
 * If there is nothing to join, returns g. load: a function that reads a prologue or an epilogue */
Graph *interface_apply(Ctx *c, const IoOptions *f, Graph *g, Graph *(*load)(Ctx *c, const char *path));

/* convert.c: the functions return the graph of a conversion, which the caller joins to the model. The graph of convert_input
 * computes the model's input. The graph of convert_output reads the model's output. spec: the value of --convert, without NAME=.
 * whole: the option as given, for messages */
Graph *convert_input(Ctx *c, const GIO *input, const char *spec, const char *whole);
Graph *convert_output(Ctx *c, const GIO *output, const char *spec, const char *whole);
#endif

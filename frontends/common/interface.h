/* SPDX-License-Identifier: MIT */
/* interface.h: what the user changes about a model's inputs and outputs. */
#ifndef TGC_INTERFACE_H
#define TGC_INTERFACE_H
#include "../../compiler/ir/ir.h"

typedef struct TextList { const char *const *p; size_t n; } TextList;
typedef struct ConstInput { /* from --const NAME=VALUE */
  const char *name, *value; /* value: numbers, separated by commas: one for all elements, or one for each */
  const Tensor *file;       /* the contents of @FILE; NULL: the field `value` is used */
} ConstInput;
typedef struct IoOptions {
  const ConstInput *consts;
  size_t nconsts;
  TextList froms;           /* values that become inputs */
  TextList renames;         /* OLD=NEW */
  TextList prologues, epilogues; /* paths of .tg files */
  TextList converts;        /* NAME=FORM,... as convert.c reads it */
} IoOptions;

/* The constant as a tensor of the input's type and shape. Fails if it does not fit. */
Tensor const_input(Ctx *c, const ConstInput *k, const GIO *input);
const ConstInput *const_find(const IoOptions *f, const char *name); /* NULL: none; f may be NULL */
/* Fails if a constant has a name that no input has. */
void consts_check(Ctx *c, const IoOptions *f, const GIO *inputs, size_t n);
/* The graph with constants in place of inputs, for front ends that do not bind them while they build */
Graph *consts_bind(Ctx *c, const IoOptions *f, Graph *g);

/* Renames, then adds prologues, epilogues and conversions. load: reads a .tg file. Returns g itself if no change is asked for. */
Graph *interface_apply(Ctx *c, const IoOptions *f, Graph *g, Graph *(*load)(Ctx *c, const char *path));

/* convert.c: the graph before an input, or after an output, that --convert describes. spec: FORM,... */
Graph *convert_input(Ctx *c, const GIO *input, const char *spec, const char *whole);
Graph *convert_output(Ctx *c, const GIO *output, const char *spec, const char *whole);
#endif

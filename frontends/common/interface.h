/* SPDX-License-Identifier: MIT */
/* interface.h: what the user changes about a model's inputs and outputs. */
#ifndef TGC_INTERFACE_H
#define TGC_INTERFACE_H
#include "../../compiler/ir/ir.h"

typedef struct TextList { const char *const *p; size_t n; } TextList; /* n texts */
typedef struct ConstInput { /* from --const NAME=VALUE */
  const char *name, *value; /* value: one number for all elements of the input, or one for each, separated by commas */
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

/* The constant k as a tensor of the input's type and shape. Fails if k has another type, or another number of elements. */
Tensor const_input(Ctx *c, const ConstInput *k, const GIO *input);
const ConstInput *const_find(const IoOptions *f, const char *name); /* the constant for this input; NULL: none. f may be NULL */
/* Fails if there is a constant for a name that none of the n inputs has. */
void consts_check(Ctx *c, const IoOptions *f, const GIO *inputs, size_t n);
/* The graph with constants in place of inputs, for front ends that do not put them in place while they build. If there are
 * constants, frees g; else returns g. */
Graph *consts_bind(Ctx *c, const IoOptions *f, Graph *g);

/* Renames inputs and outputs, then adds prologues, epilogues and conversions. load: reads a .tg file. Frees g and returns the new
 * graph; if nothing is added, returns g. */
Graph *interface_apply(Ctx *c, const IoOptions *f, Graph *g, Graph *(*load)(Ctx *c, const char *path));

/* convert.c: the small graph before an input, or after an output, that --convert describes. spec: the option without NAME=;
 * whole: the whole option, for messages */
Graph *convert_input(Ctx *c, const GIO *input, const char *spec, const char *whole);
Graph *convert_output(Ctx *c, const GIO *output, const char *spec, const char *whole);
#endif

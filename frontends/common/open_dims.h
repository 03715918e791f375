/* SPDX-License-Identifier: MIT */
/* open_dims.h: open dimensions of inputs: those to which neither the model nor the user gives a size. */
#ifndef TGC_OPEN_DIMS_H
#define TGC_OPEN_DIMS_H
#include "../../compiler/ir/ir.h"
#include "names.h"

typedef struct OpenDims { /* zero: none */
  Names names;            /* as --dim takes them: the dimension's name, or INPUT:AXIS if it has none */
  Pos at;                 /* position of the first open dimension, in a text file */
  bool named, unnamed;    /* named: some open dimensions have a name; unnamed: some have none */
  int floats;             /* inputs of floats whose axis 0 is open */
  bool not_batch;         /* an open dimension is not on axis 0, or its name suggests a length, such as "seq" or "height" */
} OpenDims;

/* Evaluates a sum of names and numbers, such as "past + seq" or "past + 1", as exporters name dimensions. of: the value of a name;
 * false: it has none. Returns false if the text is no sum, or a name has no value */
bool dim_sum(Ctx *c, const char *text, bool (*of)(Ctx *c, void *arg, const char *name, int64_t *value), void *arg, int64_t *value);
/* Adds the dimension at this axis of an input of type dt. name: as --dim takes it. has_name: the model names the dimension. at:
 * its position in a text file */
void open_dims_add(Ctx *c, OpenDims *d, Pos at, const char *name, bool has_name, int axis, DType dt);
/* Fails with EX_BADMODEL. The message has a command line that sets all open dimensions. command: the user's command line, or
 * NULL */
_Noreturn void open_dims_refuse(Ctx *c, const OpenDims *d, const char *command);
/* Does nothing if no dimension is open. If the open ones can only be the batch, warns that the batch becomes 1; else calls
 * open_dims_refuse. The batch is axis 0 of every input of floats. It has no name, or one name that does not suggest a length.
 * floats: the number of the model's inputs of floats */
void open_dims_settle(Ctx *c, const OpenDims *d, int floats, const char *command);
#endif

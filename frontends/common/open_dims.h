/* SPDX-License-Identifier: MIT */
/* open_dims.h: dimensions of inputs that neither the model nor the user gives a size. */
#ifndef TGC_OPEN_DIMS_H
#define TGC_OPEN_DIMS_H
#include "../../compiler/ir/ir.h"
#include "names.h"

typedef struct OpenDims { /* zero: none */
  Names names;            /* as --dim takes them: the dimension's name, or INPUT:AXIS where it has none */
  Pos at;                 /* position of the first open dimension, in a text file */
  bool named, unnamed;    /* some have a name; some have none */
  int floats;             /* inputs of floats whose axis 0 is open */
  bool not_batch;         /* an open dimension is not on axis 0, or its name suggests a length, such as "seq" or "height" */
} OpenDims;

/* Adds the dimension at this axis of an input. has_name: the model names it. */
void open_dims_add(Ctx *c, OpenDims *d, Pos at, const char *name, bool has_name, int axis, DType dt);
/* Fails with EX_BADMODEL; the message has a command line that sets all open dimensions. command: the user's command line, or
 * NULL. */
_Noreturn void open_dims_refuse(Ctx *c, const OpenDims *d, const char *command);
/* If the open dimensions can only be the batch, warns that the batch becomes 1; else refuses them. A batch is axis 0 of all
 * `floats` inputs of floats. The batch has no name, or one name that does not suggest a length. */
void open_dims_settle(Ctx *c, const OpenDims *d, int floats, const char *command);
#endif

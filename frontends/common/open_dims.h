/* SPDX-License-Identifier: MIT */
/* open_dims.h: open dimensions. A dimension of an input is open if neither the model nor the user gives the dimension's size. */
#ifndef TGC_OPEN_DIMS_H
#define TGC_OPEN_DIMS_H
#include "../../compiler/ir/ir.h"
#include "names.h"

typedef struct OpenDims { /* the open dimensions so far; {0}: none */
  Names names;            /* the names of these dimensions for --dim: the name in the model, or else INPUT:AXIS */
  Pos at;                 /* position of the first open dimension, if the model is a text file */
  bool named, unnamed;    /* named: an open dimension has a name; unnamed: an open dimension has no name */
  int floats;             /* number of inputs that have elements of a float type, and whose axis 0 is open */
  bool not_batch;         /* an open dimension is not axis 0, or has a name that suggests a length, such as "seq" */
} OpenDims;

/* Sets *value to the value of a sum of names and numbers, such as "past + seq" or "past + 1". Exporters give dimensions such
 * names. The function `of` gives the value of a name, or returns false if the name has no value; dim_sum passes arg to `of`.
 * Returns false if the text is no sum, or if a name has no value. */
bool dim_sum(Ctx *c, const char *text, bool (*of)(Ctx *c, void *arg, const char *name, int64_t *value), void *arg,
             int64_t *value);
/* Adds a dimension to d: axis number `axis` of an input with elements of type dt. name: the dimension's name for --dim.
 * has_name: whether the model names the dimension. at: position of the dimension, if the model is a text file */
void open_dims_add(Ctx *c, OpenDims *d, Pos at, const char *name, bool has_name, int axis, DType dt);
/* Fails with EX_BADMODEL. The message has a command line that sets all open dimensions. command: the user's command line; NULL:
 * not known */
_Noreturn void open_dims_refuse(Ctx *c, const OpenDims *d, const char *command);
/* Does nothing if no dimension is open. If the open dimensions are the batch, warns that the size of the batch becomes 1.
 * Otherwise calls open_dims_refuse. floats: number of the model's inputs that have elements of a float type. The open dimensions
 * are the batch if three conditions hold:
 * - axis 0 is open in every input that has elements of a float type
 * - no other axis is open
 * - all open dimensions share a name that suggests no length, or no open dimension has a name */
void open_dims_settle(Ctx *c, const OpenDims *d, int floats, const char *command);
#endif

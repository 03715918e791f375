/* SPDX-License-Identifier: MIT */
/* tile_model.h: makes the Model of a nest, by which cost/tile.h prices register tiles. */
#ifndef TGC_TILE_MODEL_H
#define TGC_TILE_MODEL_H
#include "dot_ops.h"

/* Fills in m from the nest; the caller calls model_free. */
void model_build(Model *m, IR *ir, const Nest *n, const Target *t);
void model_free(Model *m);
/* Adds the LOAD or STORE r to a model that the caller makes without model_build. r accesses the element of `buffer` at `index`.
 * hot, times, group: as in Access */
void model_access(Model *m, Ref r, Ref index, Ref buffer, bool hot, double times, int group);
/* Least bytes of a lane: 2 if there is a sum of halves below root that the target adds as halves; otherwise 4. Model.lane_bytes
 * is 8 if the nest computes with elements of 8 bytes */
int lane_bytes(const IR *ir, Ref root, const Target *t);
/* Bytes of the widest element loaded below r, except for indices, gates and conditions */
int widest_datum(const IR *ir, Ref r);
#endif

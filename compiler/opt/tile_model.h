/* SPDX-License-Identifier: MIT */
/* tile_model.h: makes the Model of a nest. cost/tile.h prices register tiles by this Model. */
#ifndef TGC_TILE_MODEL_H
#define TGC_TILE_MODEL_H
#include "dot_ops.h"

/* Fills in *m from the nest. The caller frees the contents of *m with model_free. */
void model_build(Model *m, IR *ir, const Nest *n, const Target *t);
void model_free(Model *m);
/* For a model that the caller makes without model_build: adds the LOAD or STORE r, which accesses the element of `buffer` at
 * `index`. hot, times, group: as in Access */
void model_access(Model *m, Ref r, Ref index, Ref buffer, bool hot, double times, int group);
/* Returns the least number of bytes of a lane. This is 2 if there is a sum of f16 below root that the target adds in f16;
 * otherwise this is 4. Model.lane_bytes may be greater. */
int lane_bytes(const IR *ir, Ref root, const Target *t);
/* Returns the number of bytes of the widest element that a LOAD below r loads. LOADs whose results are used only in indices,
 * gates or conditions do not count. */
int widest_datum(const IR *ir, Ref r);
#endif

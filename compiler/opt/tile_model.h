/* SPDX-License-Identifier: MIT */
/* tile_model.h: nests as the model of register tiles sees them. */
#ifndef TGC_TILE_MODEL_H
#define TGC_TILE_MODEL_H
#include "dot_ops.h"

/* Takes the nest apart; model_free when done. */
void model_build(Model *m, IR *ir, const Nest *n, const Target *t);
void model_free(Model *m);
/* adds an access, to a model that the caller makes without model_build */
void model_access(Model *m, Ref r, Ref index, Ref buffer, bool hot, double times, int group);
/* Bytes of a lane, which limit a vector's lanes: 2 if the nest has a sum of halves that the target adds as halves; otherwise 4 */
int lane_bytes(const IR *ir, Ref root, const Target *t);
int widest_datum(const IR *ir, Ref r);                      /* bytes of the widest element below r that is loaded as data */
#endif

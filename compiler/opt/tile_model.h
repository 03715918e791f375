/* tile_model.h: nests as the model of register tiles sees them. */
#ifndef TGC_TILE_MODEL_H
#define TGC_TILE_MODEL_H
#include "dot_ops.h"

/* Takes the nest apart; model_free when done. */
void model_build(Model *m, IR *ir, const Nest *n, const Target *t);
void model_free(Model *m);
void model_access(Model *m, Ref r, Ref index, Ref buffer, bool hot, double times, int group); /* for a model of one's own */
int widest_datum(const IR *ir, Ref r);                      /* bytes of what is loaded below r to compute with */
#endif

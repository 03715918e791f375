/* SPDX-License-Identifier: MIT */
/* sized.h: loads a model for a range of sizes (LoadOptions.range). */
#ifndef TGC_SIZED_H
#define TGC_SIZED_H
#include "frontends.h"
/* The graph of the greatest size, with IR.symbol and GIO.open. Fails if runs of other sizes would need another graph. */
Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o);
#endif

/* SPDX-License-Identifier: MIT */
/* sized.h: loads a model for ranges of sizes (LoadOptions.ranges). */
#ifndef TGC_SIZED_H
#define TGC_SIZED_H
#include "frontends.h"
/* The graph of the greatest sizes, with IR.symbols and GIO.open. Fails if runs of other sizes would need another graph. */
Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o);
#endif

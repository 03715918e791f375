/* SPDX-License-Identifier: MIT */
/* names.h: collects names for messages: " 'a', 'b' and 3 more", or " none"; each name appears once. */
#ifndef TGC_NAMES_H
#define TGC_NAMES_H
#include "../../compiler/support/support.h"

typedef struct Names { VEC(const char *) p; } Names; /* heap; freed by the owner with VEC_FREE */

void names_add(Ctx *c, Names *n, const char *name);
const char *names_text(Ctx *c, const Names *n);
const char *names_near(Ctx *c, const Names *n, const char *word); /* did_you_mean for `word` among the names */
#endif

/* SPDX-License-Identifier: MIT */
/* names.h: collects names for messages. A name that is added twice is collected once. */
#ifndef TGC_NAMES_H
#define TGC_NAMES_H
#include "../../compiler/support/support.h"

typedef struct Names { VEC(const char *) p; } Names; /* the caller frees the list: VEC_FREE(&names.p) */

void names_add(Ctx *c, Names *n, const char *name);
const char *names_text(Ctx *c, const Names *n); /* " 'a', 'b'", or " none". After 12 names, the text ends with " and N more" */
const char *names_near(Ctx *c, const Names *n, const char *word); /* "; did you mean 'a'?" if a name is similar to word, or "" */
#endif

/* SPDX-License-Identifier: MIT */
/* names.h: lists of different names, for messages. */
#ifndef TGC_NAMES_H
#define TGC_NAMES_H
#include "../../compiler/support/support.h"

typedef struct Names { VEC(const char *) p; } Names; /* the caller frees the list: VEC_FREE(&names.p) */

void names_add(Ctx *c, Names *n, const char *name); /* adds a copy of the name, unless the list has the name */
const char *names_text(Ctx *c, const Names *n); /* " 'a', 'b'", or " none". After 12 names, the text ends with " and N more" */
const char *names_near(Ctx *c, const Names *n, const char *word); /* "; did you mean 'a'?" if a name is similar to word, or "" */
#endif

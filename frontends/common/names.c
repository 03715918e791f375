/* SPDX-License-Identifier: MIT */
/* names.c: short lists of names for messages. */
#include "names.h"
#include <string.h>

void names_add(Ctx *c, Names *n, const char *name) {
  for (size_t i = 0; i < n->p.n; i++)
    if (!strcmp(n->p.p[i], name)) return;
  VEC_PUSH(&n->p, arena_str(&c->model, name, strlen(name)));
}

const char *names_text(Ctx *c, const Names *n) {
  enum { SHOWN = 12 };
  Sb s = { 0 };
  for (size_t i = 0; i < n->p.n && i < SHOWN; i++) sb_printf(&s, "%s '%.100s'", i ? "," : "", n->p.p[i]);
  if (n->p.n > SHOWN) sb_printf(&s, " and %zu more", n->p.n - SHOWN);
  if (!n->p.n) sb_puts(&s, " none");
  return sb_keep(&s, &c->model);
}

const char *names_near(Ctx *c, const Names *n, const char *word) { return did_you_mean(&c->model, word, n->p.p, n->p.n); }

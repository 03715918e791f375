/* SPDX-License-Identifier: MIT */
/* slurp.h: reads a whole file, for test programs. */
#ifndef TGC_TESTS_SLURP_H
#define TGC_TESTS_SLURP_H
#include "../../compiler/support/support.h"
#include <stdio.h>

/* Returns the contents of the file at `path`, followed by a NUL. The arena owns the returned text. Returns NULL if the file
 * cannot be opened. */
static inline char *slurp(Arena *a, const char *path) {
  FILE *in = fopen(path, "r");
  Sb text = { 0 };
  char part[4096];
  if (!in) return NULL;
  for (size_t n; (n = fread(part, 1, sizeof part, in));) sb_put(&text, part, n);
  fclose(in);
  sb_put(&text, "", 1);
  char *s = arena_dup(a, text.p, text.n);
  sb_free(&text);
  return s;
}
#endif

/* SPDX-License-Identifier: MIT */
/* archive.c: a static library of one object, in the format common to System V and GNU, with the symbol table that linkers read
 * first. Dates and owners are zero, so equal objects give equal bytes. */
#include "bundle.h"
#include <string.h>

static void put_header(Sb *s, const char *name, size_t bytes) { /* 60 bytes */
  sb_printf(s, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "644", bytes);
}

static void put_padded(Sb *s, const void *p, size_t n) {
  sb_put(s, p, n);
  if (n % 2) sb_puts(s, "\n");
}

static void put_be32(Sb *s, size_t v) {
  const char b[4] = { (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v };
  sb_put(s, b, 4);
}

void archive_put(Sb *out, const char *member, const char *const *symbols, int n, Bytes object) {
  enum { MAGIC = 8, HEADER = 60 };
  Sb table = { 0 };
  size_t names = 0;
  for (int i = 0; i < n; i++) names += strlen(symbols[i]) + 1;
  const size_t bytes = 4 + 4 * (size_t)n + names, begins = MAGIC + HEADER + bytes + bytes % 2;
  put_be32(&table, (size_t)n);
  for (int i = 0; i < n; i++) put_be32(&table, begins);
  for (int i = 0; i < n; i++) sb_put(&table, symbols[i], strlen(symbols[i]) + 1);
  sb_puts(out, "!<arch>\n");
  put_header(out, "/", bytes);
  put_padded(out, table.p, table.n);
  put_header(out, member, object.n);
  put_padded(out, object.p, object.n);
  sb_free(&table);
}

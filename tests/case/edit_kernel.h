/* SPDX-License-Identifier: MIT */
/* edit_kernel.h: puts a fault into the source of a kernel. Some tests put a library in place of a driver. Such a library calls
 * edit_kernel before it compiles the source. */
#ifndef TGC_TESTS_EDIT_KERNEL_H
#define TGC_TESTS_EDIT_KERNEL_H
#include <stdlib.h>
#include <string.h>

/* Returns the n pieces of `text` as one text, which the caller frees. In this text, the body of the kernel `name` begins with
 * `code`: `code` stands behind the first brace after the word `name`. If the text has no such word, `code` is left out. */
static inline char *edit_kernel(size_t n, const char *const *text, const char *name, const char *code) {
  size_t bytes = strlen(code) + 1;
  for (size_t i = 0; i < n; i++) bytes += strlen(text[i]);
  char *all = calloc(1, bytes), *at;
  if (!all) abort();
  for (size_t i = 0; i < n; i++) strcat(all, text[i]);
  at = strstr(all, name);
  at = at ? strchr(at, '{') : NULL;
  if (!at) return all;
  memmove(at + 1 + strlen(code), at + 1, strlen(at + 1) + 1);
  memcpy(at + 1, code, strlen(code));
  return all;
}
#endif

/* SPDX-License-Identifier: MIT */
/* edit_kernel.h: puts a fault into a kernel. Programs that stand in for a driver's compiler use it. */
#ifndef TGC_TESTS_EDIT_KERNEL_H
#define TGC_TESTS_EDIT_KERNEL_H
#include <stdlib.h>
#include <string.h>

/* Returns a copy of n texts in one piece, which the caller frees. It puts `code` behind the first brace after the word `name`,
 * where the body of that kernel begins. Without the word the copy has no `code`. */
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

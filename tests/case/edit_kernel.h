/* SPDX-License-Identifier: MIT */
/* edit_kernel.h: puts a fault into the source of a kernel. Libraries that tests put in place of a driver use it before they
 * compile the source. */
#ifndef TGC_TESTS_EDIT_KERNEL_H
#define TGC_TESTS_EDIT_KERNEL_H
#include <stdlib.h>
#include <string.h>

/* Returns the n pieces of text as one text, which the caller frees. `code` is inserted behind the first brace after the word
 * `name`, where the body of that kernel begins. If the text does not have the word, `code` is left out. */
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

/* SPDX-License-Identifier: MIT */
/* edit_kernel.h: puts a fault into the source of a kernel. Some tests put a library between tgc and a compiler of kernels. The
 * library calls edit_kernel for each source before the compiler reads the source. */
#ifndef TGC_TESTS_EDIT_KERNEL_H
#define TGC_TESTS_EDIT_KERNEL_H
#include <stdlib.h>
#include <string.h>

/* Joins text[0] to text[n - 1], and returns the joined text, which the caller frees. `name` is the beginning of a kernel, such as
 * "void k3(". The function inserts `code` at the beginning of this kernel's body: behind the first brace after `name`. If the
 * joined text does not contain `name`, the function inserts nothing. */
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

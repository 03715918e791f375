/* SPDX-License-Identifier: MIT */
/* arena.c: memory by lifetime. Only this file calls malloc. */
#include "support.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct ArenaBlock {
  ArenaBlock *next;
  size_t bytes;
};
/* bytes. Block sizes grow from FIRST_BLOCK to LAST_BLOCK, so an arena for one kernel stays cheap. */
enum { FIRST_BLOCK = 1 << 10, LAST_BLOCK = 1 << 16, ALIGN = 16, HEAD = (sizeof(ArenaBlock) + ALIGN - 1) / ALIGN * ALIGN };

void *xmalloc(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) out_of_memory(bytes);
  return p;
}

void *xcalloc(size_t n, size_t bytes) {
  void *p = calloc(n ? n : 1, bytes);
  if (!p) out_of_memory(n * bytes);
  return p;
}

void *xrealloc(void *old, size_t bytes) {
  void *p = realloc(old, bytes ? bytes : 1);
  if (!p) out_of_memory(bytes);
  return p;
}

/* Weights of hundreds of MB in small pages make each fork of the tuner take milliseconds. */
static void use_large_pages(void *p, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20, at = (uintptr_t)p;
  const uintptr_t first = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  if (end > first) madvise((void *)first, end - first, MADV_HUGEPAGE); /* a hint */
#else
  (void)p, (void)bytes;
#endif
}

void *arena_alloc(Arena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) out_of_memory(bytes);
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!a->blocks || (size_t)(a->end - a->at) < bytes) { /* an arena without a block has no address to return, not even for 0
                                                           bytes */
    const size_t block = a->total < FIRST_BLOCK ? FIRST_BLOCK : a->total > LAST_BLOCK ? LAST_BLOCK : a->total;
    const bool own = bytes > block / 4 && bytes > FIRST_BLOCK; /* a block of its own, so that the current block can still be
                                                                  filled */
    const size_t want = HEAD + (own || bytes > block ? bytes : block);
    ArenaBlock *b = calloc(1, want); /* calloc knows that fresh pages are zero, and does not write them again */
    if (!b) out_of_memory(want);
    use_large_pages(b, want);
    b->bytes = want;
    if (own && a->blocks) {
      b->next = a->blocks->next;
      a->blocks->next = b;
      a->total += bytes;
      return (char *)b + HEAD;
    }
    b->next = a->blocks;
    a->blocks = b;
    a->at = (char *)b + HEAD;
    a->end = (char *)b + want;
  }
  void *p = a->at;
  a->at += bytes;
  a->total += bytes;
  return p;
}

void *arena_dup(Arena *a, const void *p, size_t bytes) {
  void *q = arena_alloc(a, bytes);
  if (bytes) memcpy(q, p, bytes);
  return q;
}

char *arena_str(Arena *a, const char *s, size_t n) {
  char *q = arena_alloc(a, n + 1);
  if (n) memcpy(q, s, n);
  return q;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
  char text[256]; /* most texts fit */
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  const int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  CHECK(n >= 0);
  char *q = arena_alloc(a, (size_t)n + 1);
  if ((size_t)n < sizeof text) memcpy(q, text, (size_t)n);
  else vsnprintf(q, (size_t)n + 1, fmt, again);
  va_end(again);
  return q;
}

const char *count_noun(Arena *a, int64_t n, const char *noun) {
  return arena_printf(a, "%lld %s%s", (long long)n, noun, n == 1 ? "" : "s");
}

void arena_free(Arena *a) {
  for (ArenaBlock *b = a->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  memset(a, 0, sizeof *a);
}

void vec_grow(void **p, size_t *cap, size_t need, size_t elem) {
  if (need <= *cap) return;
  size_t n = *cap * 2 > need ? *cap * 2 : need;
  if (n < 8) n = 8;
  *p = xrealloc(*p, size_mul(n, elem));
  *cap = n;
}

void vec_free(void **p) {
  free(*p);
  *p = NULL;
}

void vec_sort(void *p, size_t n, size_t elem, int (*compare)(const void *, const void *)) {
  if (n) qsort(p, n, elem, compare);
}

int by_double(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int by_int64(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

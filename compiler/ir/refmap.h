/* refmap.h: a map from Ref to Ref for walks over a few nodes of many, where an array indexed by Ref
 * would cost more than the walk. A zeroed map is empty. Neither keys nor values may be 0. */
#ifndef TGC_REFMAP_H
#define TGC_REFMAP_H
#include "ir.h"
#include <stdlib.h>
#include <string.h>

typedef struct RefMap { Ref *key, *val; uint32_t cap, n; } RefMap; /* open addressing; cap is 0 or a power of two */

static inline void refmap_free(RefMap *m) {
  free(m->key);
  free(m->val);
}

static inline uint32_t refmap_slot(const RefMap *m, Ref key) {
  uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->cap - 1);
  while (m->key[i] && m->key[i] != key) i = (i + 1) & (m->cap - 1);
  return i;
}

static inline Ref refmap_get(const RefMap *m, Ref key) { return m->cap ? m->val[refmap_slot(m, key)] : 0; } /* 0: absent */

static inline void refmap_grow(RefMap *m) {
  RefMap old = *m;
  *m = (RefMap){ .cap = old.cap ? old.cap * 2 : 64, .n = old.n };
  m->key = xmalloc(m->cap * sizeof *m->key);
  m->val = xmalloc(m->cap * sizeof *m->val);
  memset(m->key, 0, m->cap * sizeof *m->key);
  memset(m->val, 0, m->cap * sizeof *m->val);
  for (uint32_t i = 0; i < old.cap; i++) {
    if (!old.key[i]) continue;
    uint32_t to = refmap_slot(m, old.key[i]);
    m->key[to] = old.key[i];
    m->val[to] = old.val[i];
  }
  refmap_free(&old);
}

static inline void refmap_set(RefMap *m, Ref key, Ref val) {
  if (2 * (m->n + 1) > m->cap) refmap_grow(m);
  uint32_t i = refmap_slot(m, key);
  m->n += !m->key[i];
  m->key[i] = key;
  m->val[i] = val;
}
#endif

/* SPDX-License-Identifier: MIT */
/* refmap.h: a hash map from Ref to Ref, for functions that visit few nodes of a large IR. A zeroed map is empty. No key may be 0.
 * A key with the value 0 counts as absent. */
#ifndef TGC_REFMAP_H
#define TGC_REFMAP_H
#include "ir.h"
#include <stdlib.h>
#include <string.h>

typedef struct RefPair { Ref key, val; } RefPair;
typedef struct RefMap { RefPair *p; uint32_t cap, n; } RefMap; /* open addressing. cap: 0 or a power of two. n: number of keys */

static inline void refmap_free(RefMap *m) { free(m->p); }

/* Returns the slot of this key, or a free slot (key 0) if the map lacks the key. m->cap must not be 0. Refs that differ only in
 * their two lowest bits hash to neighbouring slots. */
static inline RefPair *refmap_slot(const RefMap *m, Ref key) {
  uint32_t i = ((uint32_t)(((key >> 2) * UINT64_C(0x9e3779b97f4a7c15)) >> 32) << 2 | (key & 3)) & (m->cap - 1);
  while (m->p[i].key && m->p[i].key != key) i = (i + 1) & (m->cap - 1);
  return &m->p[i];
}

static inline Ref refmap_get(const RefMap *m, Ref key) { return m->cap ? refmap_slot(m, key)->val : 0; } /* 0 if absent */

static inline void refmap_grow(RefMap *m) {
  const RefMap old = *m;
  *m = (RefMap){ .cap = old.cap ? old.cap * 2 : 64, .n = old.n };
  m->p = xcalloc(m->cap, sizeof *m->p);
  for (uint32_t i = 0; i < old.cap; i++)
    if (old.p[i].key) *refmap_slot(m, old.p[i].key) = old.p[i];
  free(old.p);
}

static inline void refmap_set(RefMap *m, Ref key, Ref val) {
  if (2 * (m->n + 1) > m->cap) refmap_grow(m);
  RefPair *e = refmap_slot(m, key);
  m->n += !e->key;
  *e = (RefPair){ key, val };
}
#endif

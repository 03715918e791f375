/* SPDX-License-Identifier: MIT */
/* cache_sets.c: how accesses fill the sets of a cache. A cache finds a line by its set, and a set holds few lines. Places whose
 * distance is a multiple of a page share a set of the first level. So they evict each other while most of the cache is unused. */
#include "cost.h"
#include <math.h>

int l1_ways(const Target *t) { return t->l1_bytes / (L1_SETS * LINE_BYTES); }

double sets_reached(double step, int64_t sets) {
  double reached = fmax(1, (double)sets);
  for (double lines = step / LINE_BYTES; reached > 1 && fmod(lines, 2) == 0; lines /= 2) reached /= 2;
  return reached;
}

void set_take(SetLines *s, int64_t place) { s->lines[(uint64_t)(place / LINE_BYTES) % L1_SETS]++; }

int64_t lines_crowded(const SetLines *s, int ways) {
  int64_t n = 0;
  for (int k = 0; k < L1_SETS; k++) n += s->lines[k] > ways ? s->lines[k] : 0;
  return n;
}

int64_t spreading_pad(int64_t entry, int64_t entries, int64_t most) {
  const int64_t page = L1_SETS * LINE_BYTES, step = LINE_BYTES / i64_gcd(entry, LINE_BYTES);
  int64_t best = 0;
  for (int64_t pad = step; pad <= most; pad += step)
    if (i64_gcd(entry * (entries + pad), page) < i64_gcd(entry * (entries + best), page)) best = pad;
  return best;
}

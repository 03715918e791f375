/* SPDX-License-Identifier: 0BSD */
/* tgcrt_sizes.h: numbers that differ from run to run, in bundles of models for ranges of sizes (docs/sizes.md). The caller of
 * such a bundle sets a size for each range. Extents of values follow from these sizes (tgcrt_extent), and numbers of iterations
 * of loops follow from extents (tgcrt_size). The compiler uses this file, too. C99. */
#ifndef TGCRT_SIZES_H
#define TGCRT_SIZES_H
#include <stdint.h>

/* How a number of iterations follows from n, the value that an extent has in this run. `all` is n * times: the number of values
 * of a loop. The rules TILES to START divide these values into tiles of `tile` values each. If a rest is left over, it and the
 * last tile become two lower tiles of nearly equal height. The first one has (rest + tile + 1) / 2 values. Without any full tile,
 * the rest is the only lower tile. */
typedef enum tgcrt_size_rule {
  TGCRT_SIZE_ALL,   /* all */
  TGCRT_SIZE_TILES, /* number of tiles of `tile` values */
  TGCRT_SIZE_LOWER, /* number of lower tiles of `height` values: 0, 1 or 2 */
  TGCRT_SIZE_ANY,   /* 1 if there are lower tiles of `height` values, else 0 */
  TGCRT_SIZE_START, /* index of the first value of these lower tiles; 0: there are none */
  TGCRT_SIZE_WHOLE, /* all / tile */
  TGCRT_SIZE_BEGIN, /* all / tile * tile */
  TGCRT_SIZE_PARTS, /* all % tile / height */
  TGCRT_SIZE_RULES
} tgcrt_size_rule;

/* n is the value, in this run, of extent number `of`. */
typedef struct tgcrt_size {
  int64_t times;
  int32_t tile, height;
  tgcrt_size_rule rule;
  int32_t of;
} tgcrt_size;

static inline int64_t tgcrt_size_of(const tgcrt_size *s, int64_t n) {
  const int64_t all = n * s->times, tiles = all / s->tile, left = all % s->tile;
  const int64_t last = left && tiles ? s->tile + left : left; /* values of the lower tiles */
  const int64_t first = left && tiles ? (last + 1) / 2 : left, second = last - first;
  const int64_t full = (left && tiles ? tiles - 1 : tiles) + (first == s->tile);
  const int64_t lower = (first == s->height) + (second == s->height);
  switch (s->rule) {
  case TGCRT_SIZE_TILES: return full;
  case TGCRT_SIZE_LOWER: return lower;
  case TGCRT_SIZE_ANY: return lower > 0;
  case TGCRT_SIZE_START: return !lower ? 0 : first == s->height || first == s->tile ? full * s->tile : full * s->tile + first;
  case TGCRT_SIZE_WHOLE: return tiles;
  case TGCRT_SIZE_BEGIN: return tiles * s->tile;
  case TGCRT_SIZE_PARTS: return left / s->height;
  case TGCRT_SIZE_ALL: case TGCRT_SIZE_RULES: break;
  }
  return all;
}

/* An extent that follows from another one, extent number `of`. An example is the extent of a convolution's output. It is
 * (x * times + plus) / over for the other extent x, but at least 0 and at most `most`. The first extents are the sizes that the
 * caller sets; they have no row. by: if not 0, the caller of tgcrt_extent_of multiplies the result by extent number by - 1. */
typedef struct tgcrt_extent { int64_t times, plus, over, most; int32_t of, by; } tgcrt_extent;

static inline int64_t tgcrt_extent_of(const tgcrt_extent *e, int64_t of) {
  const int64_t sum = of * e->times + e->plus, extent = sum < 0 ? 0 : sum / e->over;
  return extent < e->most ? extent : e->most;
}
#endif

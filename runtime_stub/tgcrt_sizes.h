/* SPDX-License-Identifier: 0BSD */
/* tgcrt_sizes.h: numbers that differ from run to run, in bundles of models for ranges of sizes (docs/sizes.md). The caller of
 * such a bundle sets a size for each range. Extents of values follow from these sizes (tgcrt_extent), and numbers of iterations
 * of loops follow from extents (tgcrt_size). The compiler uses this file, too. C99. */
#ifndef TGCRT_SIZES_H
#define TGCRT_SIZES_H
#include <stdint.h>

/* How a number of iterations follows from n, the value that an extent has in this run. A loop has n * times values; the comments
 * below call this number `all`. The rules TILES to START divide the values into tiles of `tile` values each. If a rest is left
 * over, the rest and the last tile become two lower tiles. Their heights, which are numbers of values, are nearly equal. The
 * first one has (rest + tile + 1) / 2 values. If that is `tile`, it counts as a full tile. Without any full tile, the rest is the
 * only lower tile. The rules FULL to FIRST do the same with few heights: 1, 2, 3, 4 and even numbers. With these rules the last
 * tiles may extend beyond the loop's values. */
typedef enum tgcrt_size_rule {
  TGCRT_SIZE_ALL,   /* all */
  TGCRT_SIZE_TILES, /* number of tiles of `tile` values */
  TGCRT_SIZE_LOWER, /* number of lower tiles of `height` values: 0, 1 or 2 */
  TGCRT_SIZE_ANY,   /* 1 if there are lower tiles of `height` values, else 0 */
  TGCRT_SIZE_START, /* index of the first value of the lower tiles of `height` values; 0: there are none */
  TGCRT_SIZE_WHOLE, /* all / tile */
  TGCRT_SIZE_BEGIN, /* all / tile * tile */
  TGCRT_SIZE_PARTS, /* all % tile / height */
  TGCRT_SIZE_COVER, /* all % tile / height, rounded up */
  TGCRT_SIZE_FULL,  /* as TILES, LOWER, ANY and START, with few heights */
  TGCRT_SIZE_LOW,
  TGCRT_SIZE_SOME,
  TGCRT_SIZE_FIRST,
  TGCRT_SIZE_SHARE, /* height / (all / tile), rounded up; 0 if all / tile is less than 2 */
  TGCRT_SIZE_RULES
} tgcrt_size_rule;

/* n is the value, in this run, of extent number `of`. */
typedef struct tgcrt_size {
  int64_t times;
  int32_t tile, height;
  tgcrt_size_rule rule;
  int32_t of;
} tgcrt_size;

/* The heights of the two tiles for the last `last` values, which are less than two tiles; the second may be 0 */
static inline void tgcrt_last_tiles(int64_t last, int64_t tile, int few, int64_t height[2]) {
  const int64_t half = (last + 1) / 2;
  height[0] = last < tile ? last : half;
  if (few && last > tile && last % 2 && last >= 7 && last - 3 <= tile) height[0] = last - 3;
  else if (few && height[0] > 4) height[0] += height[0] % 2;
  if (height[0] > tile) height[0] = tile;
  height[1] = last > height[0] ? last - height[0] : 0;
  if (few && height[1] > 4) height[1] += height[1] % 2;
  if (height[1] > tile) height[1] = tile;
}

static inline int64_t tgcrt_size_of(const tgcrt_size *s, int64_t n) {
  const int64_t all = n * s->times, tiles = all / s->tile, left = all % s->tile;
  const int64_t before = left && tiles ? tiles - 1 : tiles; /* full tiles before the last two */
  const int few = s->rule >= TGCRT_SIZE_FULL && s->rule <= TGCRT_SIZE_FIRST;
  const int rule = few ? (int)s->rule - TGCRT_SIZE_FULL + TGCRT_SIZE_TILES : (int)s->rule;
  int64_t height[2] = { 0, 0 };
  if (left) tgcrt_last_tiles(all - before * s->tile, s->tile, few, height);
  const int64_t full = before + (height[0] == s->tile) + (height[1] == s->tile);
  const int64_t lower = (height[0] == s->height) + (height[1] == s->height);
  switch (rule) {
  case TGCRT_SIZE_TILES: return full;
  case TGCRT_SIZE_LOWER: return lower;
  case TGCRT_SIZE_ANY: return lower > 0;
  case TGCRT_SIZE_START:
    return !lower ? 0 : height[0] == s->height || height[0] == s->tile ? full * s->tile : full * s->tile + height[0];
  case TGCRT_SIZE_WHOLE: return tiles;
  case TGCRT_SIZE_BEGIN: return tiles * s->tile;
  case TGCRT_SIZE_PARTS: return left / s->height;
  case TGCRT_SIZE_COVER: return (left + s->height - 1) / s->height;
  case TGCRT_SIZE_SHARE: return tiles > 1 ? (s->height + tiles - 1) / tiles : 0;
  default: return all;
  }
}

/* An extent that follows from another one, extent number `of`. An example is the extent of a convolution's output. If the other
 * extent is x, this one is (x * times + plus) / over, but at least 0 and at most `most`. The first numbers of extents stand for
 * the sizes that the caller sets; these have no tgcrt_extent. by: k + 1 multiplies the result by extent number k, and -k - 1 adds
 * extent number k; 0: neither. */
typedef struct tgcrt_extent { int64_t times, plus, over, most; int32_t of, by; } tgcrt_extent;

static inline int64_t tgcrt_extent_of(const tgcrt_extent *e, int64_t of) {
  const int64_t sum = of * e->times + e->plus, extent = sum < 0 ? 0 : sum / e->over;
  return extent < e->most ? extent : e->most;
}

/* at: the values of all extents before this one, by number */
static inline int64_t tgcrt_extent_in(const tgcrt_extent *e, const int64_t *at) {
  const int64_t extent = tgcrt_extent_of(e, at[e->of]);
  return e->by > 0 ? extent * at[e->by - 1] : e->by < 0 ? extent + at[-e->by - 1] : extent;
}
#endif

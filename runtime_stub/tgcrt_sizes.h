/* SPDX-License-Identifier: 0BSD */
/* tgcrt_sizes.h: numbers that may differ from run to run, in bundles for ranges of sizes (--dim NAME=LOW:HIGH). The caller sets a
 * size from LOW to HIGH for each NAME. An extent is the length of a value along an axis. Extents follow from the sizes
 * (tgcrt_extent), and numbers of iterations of loops follow from extents (tgcrt_size). C99. */
#ifndef TGCRT_SIZES_H
#define TGCRT_SIZES_H
#include <stdint.h>

/* Rules by which a number follows from an extent. Most rules give a number of iterations of a loop. n is the extent in this run;
 * `times`, `tile` and `height` are fields of tgcrt_size. A loop covers n * times rows; the comments below call this number `all`.
 * Quotients are rounded down, except where a comment says otherwise.
 *
 * The rules TILES to FIRST divide the rows into tiles. The height of a tile is its number of rows. Full tiles have the height
 * `tile`. Full tiles leave a rest of all % tile rows. If the rest is not 0, the last full tile and the rest become two tiles of
 * nearly equal heights. The first of these two tiles has the height (all % tile + tile + 1) / 2. A tile with less than `tile`
 * rows is a lower tile. If `all` is less than `tile`, all rows form one lower tile. The lower tiles follow the full ones. */
typedef enum tgcrt_size_rule {
  TGCRT_SIZE_ALL,   /* all */
  TGCRT_SIZE_TILES, /* number of full tiles */
  TGCRT_SIZE_LOWER, /* number of lower tiles with the height `height`: 0, 1 or 2 */
  TGCRT_SIZE_ANY,   /* 1 if there are lower tiles with the height `height`, else 0 */
  TGCRT_SIZE_START, /* index of the first row in lower tiles with the height `height`; 0: there are none */
  TGCRT_SIZE_HIGH,  /* number of lower tiles with `height` rows or more: 0, 1 or 2 */
  TGCRT_SIZE_SOME,  /* 1 if there are lower tiles with `height` rows or more, else 0 */
  TGCRT_SIZE_FIRST, /* rows of the first lower tile; 0: there is none */
  TGCRT_SIZE_WHOLE, /* all / tile */
  TGCRT_SIZE_BEGIN, /* all / tile * tile */
  TGCRT_SIZE_PARTS, /* all % tile / height */
  TGCRT_SIZE_COVER, /* all % tile / height, rounded up */
  TGCRT_SIZE_SHARE, /* height / (full tiles + lower tiles), rounded up; 0 if there are none */
  TGCRT_SIZE_LEFT,  /* 1 if all % tile is `height`, else 0 */
  TGCRT_SIZE_RULES
} tgcrt_size_rule;

/* A rule, and the numbers that the rule uses. n is extent number `of`. */
typedef struct tgcrt_size {
  int64_t times;
  int32_t tile, height;
  tgcrt_size_rule rule;
  int32_t of;
} tgcrt_size;

/* Computes the heights of the two tiles at the end of a loop. last: the number of rows in these tiles, less than 2 * tile.
 * height[1] becomes 0 if one tile is enough. */
static inline void tgcrt_last_tiles(int64_t last, int64_t tile, int64_t height[2]) {
  height[0] = last < tile ? last : (last + 1) / 2;
  height[1] = last - height[0];
}

/* Returns the number that the rule of s gives. n: extent number s->of in this run */
static inline int64_t tgcrt_size_of(const tgcrt_size *s, int64_t n) {
  const int64_t all = n * s->times, tiles = all / s->tile, left = all % s->tile;
  const int64_t before = left && tiles ? tiles - 1 : tiles; /* full tiles before the tiles of height[] */
  int64_t height[2] = { 0, 0 };
  if (left) tgcrt_last_tiles(all - before * s->tile, s->tile, height);
  const int whole = height[0] == s->tile; /* the first of height[] is a full tile; the second never is */
  const int64_t full = before + whole;
  const int64_t lower = (height[0] == s->height) + (height[1] == s->height);
  const int64_t some = (!whole && height[0]) + (height[1] > 0);
  const int64_t high = (!whole && height[0] >= s->height) + (height[1] >= s->height);
  switch (s->rule) {
  case TGCRT_SIZE_TILES: return full;
  case TGCRT_SIZE_LOWER: return lower;
  case TGCRT_SIZE_ANY: return lower > 0;
  case TGCRT_SIZE_START: return !lower ? 0 : whole || height[0] == s->height ? full * s->tile : full * s->tile + height[0];
  case TGCRT_SIZE_HIGH: return high;
  case TGCRT_SIZE_SOME: return high > 0;
  case TGCRT_SIZE_FIRST: return height[whole];
  case TGCRT_SIZE_WHOLE: return tiles;
  case TGCRT_SIZE_BEGIN: return tiles * s->tile;
  case TGCRT_SIZE_PARTS: return left / s->height;
  case TGCRT_SIZE_COVER: return (left + s->height - 1) / s->height;
  case TGCRT_SIZE_SHARE: return full + some ? (s->height + full + some - 1) / (full + some) : 0;
  case TGCRT_SIZE_LEFT: return left == s->height;
  default: return all;
  }
}

/* Extents have numbers from 0. The first extents are the sizes that the caller sets. Each of the later extents, such as that of a
 * convolution's output, has a tgcrt_extent. x is extent number `of`, an earlier extent. Then the later extent is
 * (x * times + plus) / over, but at least 0 and at most `most`. If `by` is k + 1, this result is multiplied by extent number k.
 * If `by` is -k - 1, extent number k is added to this result. If `by` is 0, the result does not change. */
typedef struct tgcrt_extent { int64_t times, plus, over, most; int32_t of, by; } tgcrt_extent;

/* Returns (of * times + plus) / over, but at least 0 and at most `most`; ignores e->by. The argument `of` is the value of
 * extent number e->of. */
static inline int64_t tgcrt_extent_of(const tgcrt_extent *e, int64_t of) {
  const int64_t sum = of * e->times + e->plus, extent = sum < 0 ? 0 : sum / e->over;
  return extent < e->most ? extent : e->most;
}

/* Returns the extent that e describes. at[i]: the value of extent number i, for all extents before this extent */
static inline int64_t tgcrt_extent_in(const tgcrt_extent *e, const int64_t *at) {
  const int64_t extent = tgcrt_extent_of(e, at[e->of]);
  return e->by > 0 ? extent * at[e->by - 1] : e->by < 0 ? extent + at[-e->by - 1] : extent;
}
#endif

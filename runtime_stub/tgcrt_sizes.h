/* SPDX-License-Identifier: 0BSD */
/* tgcrt_sizes.h: the sizes of a run. A model for ranges of sizes has a table of sizes. Each size follows from a number n that the
 * caller sets. The bundle of such a model has this file. The compiler calls tgcrt_size_of, too. C99. */
#ifndef TGCRT_SIZES_H
#define TGCRT_SIZES_H
#include <stdint.h>

/* `all` is n * times, the number of values that a loop has in this run. TILES to START divide the values into tiles of height
 * `tile`, and at most two lower tiles. If a rest is left, the rest and the last tile become two tiles of nearly equal height. */
typedef enum tgcrt_size_rule {
  TGCRT_SIZE_ALL,   /* all */
  TGCRT_SIZE_TILES, /* number of tiles of full height */
  TGCRT_SIZE_LOWER, /* number of tiles of height `height`, which is less than `tile`: 0, 1 or 2 */
  TGCRT_SIZE_ANY,   /* 1 if there are tiles of height `height`, else 0 */
  TGCRT_SIZE_START, /* the first value of the tiles of height `height`; 0: there are none */
  TGCRT_SIZE_WHOLE, /* all / tile */
  TGCRT_SIZE_BEGIN, /* all / tile * tile */
  TGCRT_SIZE_PARTS, /* all % tile / height */
  TGCRT_SIZE_RULES
} tgcrt_size_rule;

/* n is the value, in this run, of the extent with the number `of`. */
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

/* An extent in a run that follows from extent number `of`: an output of a convolution, for example. The first ones are the
 * numbers that the caller sets. */
typedef struct tgcrt_extent { int64_t times, plus, over, most; int32_t of; } tgcrt_extent;

static inline int64_t tgcrt_extent_of(const tgcrt_extent *e, int64_t of) {
  const int64_t sum = of * e->times + e->plus, extent = sum < 0 ? 0 : sum / e->over;
  return extent < e->most ? extent : e->most;
}
#endif

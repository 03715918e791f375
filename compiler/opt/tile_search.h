/* SPDX-License-Identifier: MIT */
/* tile_search.h: searches the register tiles of a nest for the cheapest ones (tile_search.c), and turns a tile into opts
 * (heuristic.c). */
#ifndef TGC_TILE_SEARCH_H
#define TGC_TILE_SEARCH_H
#include "tile_model.h"

/* The cheapest tiles found. Tiles that differ only in the copies of one range are alike, and the cheapest of them is kept. */
typedef struct Finds {
  int room, n;
  double gain; /* a new tile replaces one only if it takes less than this share of its cycles */
  Tile tile[HEURISTIC_MOST];
  double cost[HEURISTIC_MOST];
} Finds;

/* Prices the tile, also with its operand staged, and keeps it if it fits the machine and is cheap enough. */
void tile_consider(const Model *m, Tile t, Finds *finds);
/* Returns the number of terms of a step that unrolls the ranges `whole` of the reduction. */
int tile_terms(const Model *m, uint32_t whole);
/* Returns whether the ranges `whole` of the reduction may be unrolled in a tile with lanes along range v. Such ranges
 * are short and innermost, or copies share the vectors that are read along them. */
bool tile_unrolls(const Model *m, uint32_t whole, int v);
uint32_t tile_brief_ranges(const Model *m); /* returns a bit for each short range of the reduction */
/* Considers all tiles with lanes along range v, in the widest vectors that fit it. */
void tile_search_lanes(Model *m, int v, uint32_t whole, Finds *finds);
/* Considers all tiles. stages: also those that stage an operand. room: most tiles that are kept */
Finds tile_find(Model *m, bool stages, int room);

/* Returns the schedule of the nest n that has this tile. */
Opts opts_of_tile(Model *m, const Nest *n, Tile best);
#endif

/* SPDX-License-Identifier: MIT */
/* order.c: orders elements behind those they need: nodes by values, functions by calls. The depth-first search has a stack of
 * its own, since the model determines the depth. */
#include "read.h"
#include <string.h>

uint32_t order_by_need(Arena *scratch, uint32_t n, const uint32_t *start, const uint32_t *need, uint32_t *order) {
  uint32_t *path = ARENA_NEW(scratch, uint32_t, n), *next = ARENA_NEW(scratch, uint32_t, n), done = 0;
  char *state = arena_alloc(scratch, n); /* 0 new, 1 on the path, 2 done */
  for (uint32_t root = 0; root < n; root++) {
    if (state[root]) continue;
    uint32_t len = 1;
    path[0] = root;
    next[root] = start[root];
    state[root] = 1;
    while (len) {
      uint32_t i = path[len - 1];
      if (next[i] == start[i + 1]) {
        state[i] = 2;
        order[done++] = i;
        len--;
        continue;
      }
      uint32_t j = need[next[i]++];
      if (state[j] == 2) continue;
      if (state[j] == 1) {
        uint32_t from = 0;
        while (path[from] != j) from++;
        memcpy(order, path + from, (len - from) * sizeof *order);
        return len - from;
      }
      path[len++] = j;
      next[j] = start[j];
      state[j] = 1;
    }
  }
  return 0;
}

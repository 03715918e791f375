/* SPDX-License-Identifier: MIT */
/* attend.c: for tests/pipelines/run. Feeds the same tokens to a bundle of two entries (pair), and to two bundles of one model
 * each (longer, single). This file carries their states over by hand. Prints "equal" if every output has the same bits. Arenas
 * begin as garbage, outputs have canaries around them, and nothing may be allocated between init and the end. */
#include "longer.h"
#include "pair.h"
#include "single.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, TOKENS = 16, PAST = 48, ROUNDS = 3, DECODED = 70, CANARY = 64 };

typedef struct Guarded { unsigned char before[CANARY]; float y[TOKENS * WIDTH]; unsigned char after[CANARY]; } Guarded;

static _Alignas(64) unsigned char arena[3][1 << 18];
static Guarded got, want;
static float x[TOKENS * WIDTH], cache[PAST * WIDTH];
static int counting, allocated, failed;
static unsigned seed = 1;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) {
  allocated += counting;
  return __real_malloc(n);
}

static void fill(void) {
  for (int i = 0; i < TOKENS * WIDTH; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
  }
  memset(&got, 0x5a, sizeof got);
  memset(&want, 0x5a, sizeof want);
}

static void check(int status, const char *what) {
  if (!status) return;
  printf("%s: %s\n", what, tgcrt_strerror(status));
  exit(1);
}

static void compare(const char *what, int step, size_t n) {
  for (int i = 0; i < CANARY; i++) failed |= got.before[i] != 0x5a || got.after[i] != 0x5a;
  if (memcmp(got.y, want.y, n * sizeof *got.y) || memcmp(&got, &want, sizeof got)) {
    printf("%s %d differs\n", what, step);
    failed = 1;
  }
}

/* The states of the model of many tokens become those of the model of one, or the reverse. */
static void carry(longer_ctx *from, single_ctx *to, int back) {
  int64_t length;
  for (size_t k = 0; k < LONGER_STATES; k++) {
    void *value = k + 1 == LONGER_STATES ? (void *)&length : cache;
    check(back ? single_state_get(to, k, value) : longer_state_get(from, k, value), "get");
    check(back ? longer_state_put(from, k, value) : single_state_put(to, k, value), "put");
  }
}

int main(void) {
  pair_ctx pair;
  longer_ctx more;
  single_ctx one;
  memset(arena, 0xa5, sizeof arena);
  counting = 1;
  check(pair_init(&pair, arena[0], PAIR_ARENA_BYTES, NULL, 0), "init");
  check(longer_init(&more, arena[1], LONGER_ARENA_BYTES, NULL, 0), "init");
  check(single_init(&one, arena[2], SINGLE_ARENA_BYTES, NULL, 0), "init");
  for (int r = 0; r < ROUNDS; r++) { /* windows reach the end of their memory and move back, by either entry */
    fill();
    if (r) carry(&more, &one, 1);
    check(pair_run_prefill(&pair, &(pair_prefill_inputs){ x }, &(pair_prefill_outputs){ got.y }), "prefill");
    check(longer_run(&more, &(longer_inputs){ x }, &(longer_outputs){ want.y }), "prefill");
    compare("prefill", r, TOKENS * WIDTH);
    carry(&more, &one, 0);
    for (int i = 0; i < DECODED; i++) {
      fill();
      check(pair_run_decode(&pair, &(pair_decode_inputs){ x }, &(pair_decode_outputs){ got.y }), "decode");
      check(single_run(&one, &(single_inputs){ x }, &(single_outputs){ want.y }), "decode");
      compare("decode", r * DECODED + i, WIDTH);
    }
  }
  counting = 0;
  if (allocated) printf("%d allocations\n", allocated);
  if (!failed && !allocated) puts("equal");
  return failed || allocated;
}

/* SPDX-License-Identifier: MIT */
/* every.c: runs a bundle for ranges of sizes ("net") at every combination of sizes. Beside it are one for the greatest sizes
 * ("top") and one for the sizes FIX_N ("fix"). LOW, HIGH, STEP and FIX_N have a number for each range. Inputs and outputs end
 * at a page that cannot be touched. Before each run the arena and the outputs are filled with other bytes: 0, 0xff and NaN.
 * Prints "ok N sizes", or what is wrong.
 *
 * At each combination the outputs must have the same bits for all fills, and with chunks in reverse order. They must differ
 * from those of "top" and "fix" by at most 1e-5 of the greatest value; with SAME_BITS in the environment, by nothing from
 * those of "top". With INNER a dimension is not outermost, or entries along it are combined; then "top" is compared at its own
 * sizes only. */
#include "net.h"
#include "top.h"
#include "fix.h"
#include "bytes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 16 };
static const int64_t low[] = { LOW }, high[] = { HIGH }, step[] = { STEP }, fixed[] = { FIX_N };
enum { RANGES = sizeof low / sizeof *low };
static size_t page;

/* bytes that end where memory ends */
static char *fenced(size_t bytes) {
  const size_t whole = (bytes + page - 1) / page * page;
  char *p = (char *)mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + whole, page, PROT_NONE)) exit(2);
  return p + whole - bytes;
}

static void unfence(char *p, size_t bytes) {
  const size_t whole = (bytes + page - 1) / page * page;
  munmap(p + bytes - whole, whole + page);
}

static void backwards(void *self, tgcrt_task *task, void *job, int64_t chunks) {
  (void)self;
  while (chunks--) task(job, chunks, chunks + 1);
}
static const tgcrt_executor reversed = { backwards, NULL };

static void fill(void *p, size_t bytes, int how) {
  static const unsigned char nan[4] = { 0, 0, 0xc0, 0x7f };
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)p)[i] = how == 0 ? 0 : how == 1 ? 0xff : nan[i % 4];
}

static void values(void *p, size_t bytes, int type, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) {
    seed = seed * 1664525u + 1013904223u;
    if (type == TGCRT_F32 && i % 4 == 0 && i + 4 <= bytes) {
      const float f = (float)(seed >> 9) / 4194304.0f - 1.0f;
      memcpy((char *)p + i, &f, 4);
      i += 3;
    } else
      ((char *)p)[i] = type == TGCRT_F32 || type == TGCRT_U8 || type == TGCRT_I8 ? (char)(seed >> 24)
                       : type == TGCRT_I64 && i % 8                              ? 0
                                                                                 : (char)(seed >> 31);
  }
}

static void *map_file(const char *path, size_t bytes) {
  const void *p = NULL;
  if (bytes && tgcrt_map(path, bytes, &p)) exit(3);
  return (void *)(uintptr_t)p;
}

static int differs(const char *what, const int64_t *n, size_t i) {
  printf("size");
  for (int k = 0; k < RANGES; k++) printf("%s %lld", k ? "," : "", (long long)n[k]);
  printf(": output %zu %s\n", i, what);
  return 1;
}

/* The next combination; 0: there is none */
static int next(int64_t *n) {
  for (int k = 0; k < RANGES; k++) {
    if ((n[k] += step[k]) <= high[k]) return 1;
    n[k] = low[k];
  }
  return 0;
}

/* Whether bad sizes get another status than TGCRT_SIZE, or change the sizes that are set; net_bad_size tells the range. */
static int wrong_status(net_ctx *ctx) {
  int bad = 0;
  for (int k = 0; k < RANGES; k++) {
    const int64_t wrong[] = { -1, low[k] - 1, high[k] + 1, INT64_MIN, INT64_MAX, low[k] + 1 };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong - (step[k] == 1); i++) {
      int64_t n[RANGES], now[RANGES];
      memcpy(n, low, sizeof n);
      n[k] = wrong[i];
      net_sizes s;
      memcpy(&s, n, sizeof s);
      bad |= net_set_sizes(ctx, &s) != TGCRT_SIZE || net_bad_size(&s) != k;
      bad |= net_get_sizes(ctx, &s) || (memcpy(now, &s, sizeof now), memcmp(now, high, sizeof now));
    }
  }
  return bad;
}

/* Floats that differ by at most 1e-5 of the largest one in b */
static int near(const void *a, const void *b, size_t bytes) {
  double most = 0, off = 0;
  for (size_t k = 0; k + 4 <= bytes; k += 4) {
    float x, y;
    memcpy(&x, (const char *)a + k, 4);
    memcpy(&y, (const char *)b + k, 4);
    most = fmax(most, fabs(y));
    off = fmax(off, fabs(x - y));
  }
  return off <= 1e-5 * most;
}

int main(int argc, char **argv) {
  static net_ctx ctx;
  static top_ctx whole;
  page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t nin = net_input_count(), nout = net_output_count();
  const void *weights = map_file(argv[1], net_weights_bytes()), *top_weights = map_file(argv[2], top_weights_bytes());
  char *arena = (char *)aligned_alloc(64, net_arena_bytes() + 64), *top_arena = (char *)aligned_alloc(64, top_arena_bytes() + 64);
  if (argc < 3 || top_init(&whole, top_arena, top_arena_bytes(), top_weights, top_weights_bytes())) return 5;
  net_sizes s = { 0 };
  int bad = net_set_sizes(&ctx, &s) != TGCRT_UNREADY;
  int64_t sizes = 0, n[RANGES];
  if (net_init(&ctx, arena, net_arena_bytes(), weights, net_weights_bytes())) return 6;
  bad |= wrong_status(&ctx);
  bad |= net_set_sizes(NULL, &s) != TGCRT_ARGUMENT || net_set_sizes(&ctx, NULL) != TGCRT_ARGUMENT;
  if (bad) printf("a status of a bad size is wrong\n");
  memcpy(n, low, sizeof n);
  for (int more = 1; more && !bad; more = next(n)) {
    void *in[MOST] = { NULL }, *out[MOST], *top_in[MOST], *top_out[MOST], *first[MOST] = { NULL };
    size_t ib[MOST], ob[MOST];
    memcpy(&s, n, sizeof n);
    bad |= net_set_sizes(&ctx, &s);
    for (size_t i = 0; i < nin; i++) {
      ib[i] = bytes_at(&ctx, i, 0);
      values(in[i] = fenced(ib[i]), ib[i], net_input_type(i), (unsigned)(i * 977 + (size_t)n[0] + (size_t)n[RANGES - 1]));
      fill(top_in[i] = malloc(net_input_bytes(i) + 1), net_input_bytes(i), 0);
      memcpy(top_in[i], in[i], ib[i]);
    }
    for (size_t i = 0; i < nout; i++) {
      ob[i] = bytes_at(&ctx, i, 1);
      out[i] = fenced(ob[i]);
      top_out[i] = malloc(net_output_bytes(i) + 1);
      first[i] = malloc(ob[i] + 1);
    }
    for (int how = 0; how < 4; how++) {
      fill(arena, net_arena_bytes(), how % 3);
      for (size_t i = 0; i < nout; i++) fill(out[i], ob[i], how % 3);
      net_set_executor(&ctx, how == 3 ? &reversed : NULL);
      bad |= net_run_v(&ctx, (const void *const *)in, out);
      for (size_t i = 0; i < nout; i++) {
        if (how && memcmp(first[i], out[i], ob[i])) bad |= differs("depends on memory outside", n, i);
        memcpy(first[i], out[i], ob[i]);
      }
    }
    const int comparable = !memcmp(n, high, sizeof n) || !INNER;
    bad |= top_run_v(&whole, (const void *const *)top_in, top_out);
    for (size_t i = 0; i < nout && comparable; i++)
      if (memcmp(first[i], top_out[i], ob[i]) && (!near(first[i], top_out[i], ob[i]) || getenv("SAME_BITS")))
        bad |= differs("is not that of the bundle for the greatest size", n, i);
    if (!memcmp(n, fixed, sizeof n)) {
      static fix_ctx fix;
      char *fix_arena = (char *)aligned_alloc(64, fix_arena_bytes() + 64);
      if (fix_init(&fix, fix_arena, fix_arena_bytes(), map_file(argv[3], fix_weights_bytes()), fix_weights_bytes())) return 7;
      bad |= fix_run_v(&fix, (const void *const *)in, top_out);
      for (size_t i = 0; i < nout; i++)
        if (!near(first[i], top_out[i], ob[i])) bad |= differs("is not that of the bundle for this size", n, i);
    }
    for (size_t i = 0; i < nin; i++) unfence((char *)in[i], ib[i]), free(top_in[i]);
    for (size_t i = 0; i < nout; i++) unfence((char *)out[i], ob[i]), free(top_out[i]), free(first[i]);
    sizes++;
  }
  if (!bad) printf("ok %lld sizes\n", (long long)sizes);
  return bad;
}

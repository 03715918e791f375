/* SPDX-License-Identifier: MIT */
/* steps.c: runs a bundle in steps and compares each output with that of whole runs, bit for bit. Runs are split after each part,
 * and by random amounts of work. They run beside a second context, and on a pool of threads. Prints TAP. Argument: the number of
 * successive runs. A bundle's structures of inputs and outputs hold pointers only, so they are filled as arrays. */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, THREADS = 3 };
typedef struct Side {
  net_ctx ctx;
  unsigned char *arena;
  void *in[MOST], *out[MOST];
  net_inputs inputs;
  net_outputs outputs;
} Side;
static const void *weights;
static int failed, number;

static void check(int good, const char *text) {
  printf("%sok %d - %s\n", good ? "" : "not ", ++number, text);
  failed |= !good;
}

static uint32_t next_random(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static void seed_inputs(Side *s, uint32_t seed) {
  size_t i, k;
  for (i = 0; i < net_input_count(); i++)
    for (k = 0; k < net_input_bytes(i); k += 4) {
      const float f = (float)next_random(&seed) / 8388608.0f - 1;
      const int32_t index = (int32_t)(next_random(&seed) % 3);
      memcpy((char *)s->in[i] + k, net_input_type(i) == TGCRT_F32 ? (const void *)&f : (const void *)&index, 4);
    }
}

static void open_side(Side *s, uint32_t seed) {
  size_t i;
  memset(s, 0, sizeof *s);
  s->arena = malloc(NET_ARENA_BYTES + TGCRT_ALIGN);
  for (i = 0; i < net_input_count(); i++) s->in[i] = malloc(net_input_bytes(i) + 64);
  for (i = 0; i < net_output_count(); i++) s->out[i] = malloc(net_output_bytes(i) + 64);
  memcpy(&s->inputs, s->in, sizeof s->inputs);
  memcpy(&s->outputs, s->out, sizeof s->outputs);
  memset(s->arena, 0xa5, NET_ARENA_BYTES + TGCRT_ALIGN);
  if (net_init(&s->ctx, TGCRT_ALIGNED(s->arena), NET_ARENA_BYTES, weights, NET_WEIGHTS_BYTES)) exit(2);
  seed_inputs(s, seed);
}

static void reset(Side *s) {
#ifdef NET_STATES
  if (net_state_reset(&s->ctx)) exit(2);
#else
  (void)s;
#endif
}

static size_t bytes_out(void) {
  size_t i, n = 0;
  for (i = 0; i < net_output_count(); i++) n += net_output_bytes(i);
  return n;
}

static void keep(const Side *s, unsigned char *to) {
  size_t i;
  for (i = 0; i < net_output_count(); to += net_output_bytes(i++)) memcpy(to, s->out[i], net_output_bytes(i));
}

static int same(const Side *s, const unsigned char *as) {
  size_t i;
  for (i = 0; i < net_output_count(); as += net_output_bytes(i++))
    if (memcmp(as, s->out[i], net_output_bytes(i))) return 0;
  return 1;
}

static void spoil(Side *s) {
  size_t i;
  for (i = 0; i < net_output_count(); i++) memset(s->out[i], 0x5a, net_output_bytes(i));
}

/* A run in steps, `first` of them with the least work and the others with `work`. Returns the number of steps; -1: a status */
static int run_in_steps(Side *s, int first, int64_t work, int want) {
  net_position at = { 0, 0, 0 };
  int steps = 0, status;
  do {
    status = net_run_step(&s->ctx, &s->inputs, &s->outputs, &at, steps < first ? 0 : work);
    steps++;
  } while (!status && at.more);
  return status != want || at.kernel || at.chunk || at.more ? -1 : steps;
}

int main(int argc, char **argv) {
  const int runs = argc > 1 ? atoi(argv[1]) : 1;
  static Side a, b;
  uint32_t state = 7;
  int i, k, good, parts, bounded, want;
  tgcrt_map("net_weights.bin", NET_WEIGHTS_BYTES, &weights);
  open_side(&a, 1);
  open_side(&b, 2);
  unsigned char *whole = malloc(bytes_out() * (size_t)runs), *other = malloc(bytes_out());
  want = net_run(&a.ctx, &a.inputs, &a.outputs);
  reset(&a);
  for (i = 0; i < runs; i++) net_run(&a.ctx, &a.inputs, &a.outputs), keep(&a, whole + bytes_out() * (size_t)i);
  const int other_status = net_run(&b.ctx, &b.inputs, &b.outputs);
  keep(&b, other);
  reset(&a);
  parts = run_in_steps(&a, 1 << 30, 0, want);
  printf("# %d parts, work %lld, largest part %lld, status %d\n", parts, (long long)NET_WORK, (long long)NET_WORK_PART, want);
  check(parts > 1 && same(&a, whole), "a run part by part");
  for (good = 1, k = 0; k <= parts; k++) {
    reset(&a);
    spoil(&a);
    const int steps = run_in_steps(&a, k, INT64_MAX, want);
    good &= steps == (k < parts ? k + 1 : parts) && same(&a, whole);
  }
  check(good, "split after each part");
  for (good = bounded = 1, k = 0; k < 50; k++) {
    const int64_t work = k == 0   ? NET_WORK
                         : k == 1 ? NET_WORK_PART
                                  : 1 + (int64_t)(next_random(&state) % (uint32_t)(NET_WORK + 1));
    reset(&a);
    spoil(&a);
    const int steps = run_in_steps(&a, 0, work, want);
    good &= steps > 0 && same(&a, whole);
    const int64_t most = work < NET_WORK_PART ? NET_WORK_PART : work, least = work - NET_WORK_PART;
    bounded &= (NET_WORK + most - 1) / most <= steps;                       /* no step does more than `work`, or than one part */
    if (least > 0) bounded &= steps <= (NET_WORK + parts) / least + 1;     /* the work of a part is rounded up */
  }
  check(good, "random amounts of work");
  check(bounded, "a step does the work that it may do, and no more");
  reset(&a);
  for (good = 1, i = 0; i < runs; i++) {
    net_position at = { 0, 0, 0 }, bt = { 0, 0, 0 };
    spoil(&a);
    reset(&b);
    spoil(&b);
    do {
      good &= net_run_step(&a.ctx, &a.inputs, &a.outputs, &at, 1) == (at.more ? TGCRT_OK : want);
      if (bt.more || !at.kernel || i) net_run_step(&b.ctx, &b.inputs, &b.outputs, &bt, 0);
    } while (at.more);
    while (bt.more) good &= net_run_step(&b.ctx, &b.inputs, &b.outputs, &bt, 0) == (bt.more ? TGCRT_OK : other_status);
    good &= same(&a, whole + bytes_out() * (size_t)i) && same(&b, other);
  }
  check(good, "two contexts in turn, and successive runs");
  {
    net_position bad[] = { { -1, 0, 0 }, { 1 << 20, 0, 0 }, { 0, 1 << 20, 0 }, { 0, -1, 0 } };
    for (good = 1, k = 0; k < 4; k++)
      good &= net_run_step(&a.ctx, &a.inputs, &a.outputs, &bad[k], 1) == TGCRT_ARGUMENT;
    good &= net_run_step(&a.ctx, &a.inputs, &a.outputs, NULL, 1) == TGCRT_ARGUMENT;
    good &= net_run_step(&a.ctx, &a.inputs, &a.outputs, &(net_position){ 0, 0, 0 }, INT64_MIN) == (parts > 1 ? TGCRT_OK : want);
    check(good, "positions that are none are refused");
  }
  static unsigned char memory[TGCRT_POOL_BYTES(THREADS)];
  const tgcrt_pool_options options = { THREADS, 0, NULL };
  tgcrt_pool *pool;
  if (tgcrt_pool_start(&pool, memory, sizeof memory, &options)) return 2;
  net_set_executor(&a.ctx, tgcrt_pool_executor(pool));
  for (good = 1, k = 0; k < 40; k++) {
    reset(&a);
    spoil(&a);
    good &= run_in_steps(&a, k, k % 2 ? INT64_MAX : 1 + (int64_t)(next_random(&state) % (uint32_t)(NET_WORK + 1)), want) > 0;
    good &= same(&a, whole);
  }
  check(good, "on three threads");
  tgcrt_pool_stop(pool);
  printf("1..%d\n", number);
  return failed;
}

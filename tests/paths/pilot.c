/* SPDX-License-Identifier: MIT */
/* pilot.c: for pilot.py: the pipeline of examples/openpilot beside its three models compiled singly, in one program. Both get the
 * same moving frames. Prints how many frames differ in a bit, how often malloc was called, and the median times of a frame. */
#define _POSIX_C_SOURCE 200809L
#include "pilot.h"
#include "policy.h"
#include "road.h"
#include "watch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 121, FRONT_W = 256, FRONT_H = 192, DRIVER_W = 1152, DRIVER_H = 864 };

typedef struct Answers { float plan[3], lead, pose[3], probability[8]; int32_t which[3]; } Answers;

static _Alignas(64) unsigned char arena[4][PILOT_ARENA_BYTES + ROAD_ARENA_BYTES + WATCH_ARENA_BYTES + POLICY_ARENA_BYTES];
static unsigned char frames[2][FRONT_H * 3 / 2 * FRONT_W], driver[DRIVER_H * 3 / 2 * DRIVER_W];
static const float matrix[9] = { 1.26f, .05f, 330, -.04f, 1.19f, 40, 4e-5f, -3e-5f, 1 };
static const float straight[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
static const float desire[8] = { 0, 1 };
static int counting, allocated;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) {
  allocated += counting;
  return __real_malloc(n);
}

static void check(int status) {
  if (!status) return;
  fprintf(stderr, "%s\n", pilot_strerror(status));
  exit(1);
}

/* Noise on a gradient that moves */
static void draw(unsigned char *to, int h, int w, unsigned frame) {
  unsigned seed = frame;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      seed = seed * 1664525u + 1013904223u;
      const unsigned right = ((unsigned)x + 3 * frame) * 255 / (unsigned)w, down = (unsigned)y * 200 / (unsigned)h;
      to[y * w + x] = (unsigned char)(right + down + (seed >> 27));
    }
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void together(pilot_ctx *pilot, Answers *a) {
  const pilot_drive_inputs in = { .frames = frames[0], .frames_warp = straight, .desire = desire };
  const pilot_drive_outputs out = { .plan_values = a->plan, .plan_indices = a->which, .lead = &a->lead };
  const pilot_watch_inputs seen = { .input_img = driver, .input_img_warp = matrix };
  const pilot_watch_outputs said = { .pose = a->pose, .probabilities = a->probability };
  check(pilot_run_drive(pilot, &in, &out));
  check(pilot_run_watch(pilot, &seen, &said));
}

static void singly(road_ctx *road, policy_ctx *policy, watch_ctx *watch, Answers *a) {
  static float features[32];
  check(road_run(road, &(road_inputs){ .frames = frames[0], .frames_warp = straight }, &(road_outputs){ .features = features }));
  const policy_inputs in = { .features = features, .desire = desire };
  const policy_outputs out = { .plan_values = a->plan, .plan_indices = a->which, .lead = &a->lead };
  check(policy_run(policy, &in, &out));
  const watch_outputs said = { .pose = a->pose, .probabilities = a->probability };
  check(watch_run(watch, &(watch_inputs){ .input_img = driver, .input_img_warp = matrix }, &said));
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(void) {
  static double took[2][FRAMES];
  pilot_ctx pilot;
  road_ctx road;
  policy_ctx policy;
  watch_ctx watch;
  int differ = 0;
  memset(arena, 0xa5, sizeof arena);
  check(pilot_init(&pilot, arena[0], PILOT_ARENA_BYTES, NULL, 0));
  check(road_init(&road, arena[1], ROAD_ARENA_BYTES, NULL, 0));
  check(policy_init(&policy, arena[2], POLICY_ARENA_BYTES, NULL, 0));
  check(watch_init(&watch, arena[3], WATCH_ARENA_BYTES, NULL, 0));
  counting = 1;
  for (unsigned i = 0; i < FRAMES; i++) {
    Answers a[2];
    memset(a, 0, sizeof a);
    draw(frames[0], FRONT_H * 3 / 2, FRONT_W, i);
    draw(frames[1], FRONT_H * 3 / 2, FRONT_W, i + 1);
    draw(driver, DRIVER_H * 3 / 2, DRIVER_W, i);
    for (unsigned side = 0; side < 2; side++) { /* in turn */
      const unsigned which = (side + i) % 2;
      const double start = now_ms();
      if (which) singly(&road, &policy, &watch, &a[1]);
      else together(&pilot, &a[0]);
      took[which][i] = now_ms() - start;
    }
    differ += memcmp(&a[0], &a[1], sizeof *a) != 0;
  }
  counting = 0;
  for (int i = 0; i < 2; i++) qsort(took[i], FRAMES, sizeof *took[i], ascending);
  printf("%d %d %.3f %.3f\n", differ, allocated, took[0][FRAMES / 2], took[1][FRAMES / 2]);
  return 0;
}

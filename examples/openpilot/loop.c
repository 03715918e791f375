/* SPDX-License-Identifier: MIT */
/* loop.c: runs both entries of the pipeline 20 times a second on frames that move. usage: loop SECONDS. The frames are those of
 * three cameras, in memory of the program: the kernels read them where they are. Nothing is allocated. */
#define _POSIX_C_SOURCE 200809L
#include "pilot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROAD_W = 256, ROAD_H = 192, DRIVER_W = 1152, DRIVER_H = 864, HERTZ = 20, MOST = 20 * 60 * 10 };
#define PERIOD (1000000000L / HERTZ)

static unsigned char memory[PILOT_ARENA_BYTES + TGCRT_ALIGN];
static unsigned char road[2][ROAD_H * 3 / 2 * ROAD_W], driver[DRIVER_H * 3 / 2 * DRIVER_W];
static double took[MOST]; /* ms of both entries, by frame */

/* A picture with edges and areas that moves with the frame, and grey for both colours */
static void draw(unsigned char *to, int w, int h, int frame) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) to[y * w + x] = (unsigned char)((x + 3 * frame) * 255 / w + ((x / 16 + y / 16 + frame) & 1) * 40);
  memset(to + h * w, 128, (size_t)(h / 2 * w));
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void wait_until(struct timespec *at) {
  at->tv_nsec += PERIOD;
  if (at->tv_nsec >= 1000000000L) at->tv_nsec -= 1000000000L, at->tv_sec++;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL)) continue;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static const float straight[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
  static const float turned[9] = { 1.26f, .05f, 330, -.04f, 1.19f, 40, 4e-5f, -3e-5f, 1 };
  const float desire[8] = { 1 };
  const int seconds = argc > 1 ? atoi(argv[1]) : 3, frames = seconds * HERTZ < MOST ? seconds * HERTZ : MOST;
  float plan[3], lead, pose[3], probability[8];
  int32_t which[3] = { 0 };
  int late = 0;
  pilot_ctx ctx;
  int status = pilot_init(&ctx, TGCRT_ALIGNED(memory), PILOT_ARENA_BYTES, NULL, 0);
  const pilot_drive_inputs drive = { .frames = road[0], .frames_warp = straight, .desire = desire };
  const pilot_drive_outputs driven = { .plan_values = plan, .plan_indices = which, .lead = &lead };
  const pilot_watch_inputs watch = { .input_img = driver, .input_img_warp = turned };
  const pilot_watch_outputs watched = { .pose = pose, .probabilities = probability };
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int i = 0; i < frames && !status; i++) {
    draw(road[0], ROAD_W, ROAD_H, i);
    draw(road[1], ROAD_W, ROAD_H, i + 1);
    draw(driver, DRIVER_W, DRIVER_H, i);
    const double start = now_ms();
    status = pilot_run_drive(&ctx, &drive, &driven);
    if (!status) status = pilot_run_watch(&ctx, &watch, &watched);
    took[i] = now_ms() - start;
    late += took[i] > 1e3 / HERTZ;
    if (i % HERTZ == 0 && !status)
      printf("%3d s: plan %d (%.3f), lead %.2f m, head turned by %.3f, face %.3f\n", i / HERTZ, (int)which[0], (double)plan[0],
             (double)lead, (double)pose[1], (double)probability[0]);
    wait_until(&next);
  }
  if (status) {
    fprintf(stderr, "loop: %s\n", pilot_strerror(status));
    return 1;
  }
  qsort(took, (size_t)frames, sizeof *took, ascending);
  printf("%d frames: median %.2f ms, most %.2f ms, %d later than %d ms\n", frames, frames ? took[frames / 2] : 0,
         frames ? took[frames - 1] : 0, late, 1000 / HERTZ);
  return 0;
}

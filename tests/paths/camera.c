/* SPDX-License-Identifier: MIT */
/* camera.c: for camera.py: openpilot's driver monitoring model three times in one program. The first gets floats that this file
 * converts by hand. The second gets NV12 frames, and the third NV12 frames of a camera with a matrix that warps them. Prints the
 * largest differences of outputs and the median times of a run. */
#define _POSIX_C_SOURCE 200809L
#include "plain.h"
#include "camera.h"
#include "warped.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { W = 320, H = 640, CAM_W = 1152, CAM_H = 864, FRAMES = 3, ROUNDS = 101 };

static float plain_in[PLAIN_INPUT_0_ELEMS], out[3][PLAIN_OUTPUT_0_ELEMS];
static unsigned char frame[H * 3 / 2 * W], camera[CAM_H * 3 / 2 * CAM_W];
static _Alignas(64) unsigned char arena[3][WARPED_ARENA_BYTES + PLAIN_ARENA_BYTES + CAMERA_ARENA_BYTES];
static plain_ctx plain;
static camera_ctx cam;
static warped_ctx warp;
/* the frame's middle, turned by two degrees and seen from the side */
static const float matrix[9] = { 1.26f, .05f, 330, -.04f, 1.19f, 40, 4e-5f, -3e-5f, 1 };

static void check(int status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, plain_strerror(status));
  exit(1);
}

/* Noise on a gradient: a picture with edges and areas */
static void draw(unsigned char *to, int h, int w, unsigned seed) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      seed = seed * 1664525u + 1013904223u;
      to[y * w + x] = (unsigned char)((x * 255 / w + y * 200 / h + (seed >> 27)) & 255);
    }
}

static float level(double x) { return (float)((x - 128) / 128); }

static double sample(const unsigned char *p, int step, int h, int w, double x, double y, double fill) {
  const int x0 = (int)floor(x), y0 = (int)floor(y);
  double sum = 0;
  for (int j = 0; j < 2; j++)
    for (int i = 0; i < 2; i++) {
      const int px = x0 + i, py = y0 + j, inside = px >= 0 && px < w && py >= 0 && py < h;
      sum += (inside ? p[py * w * step + px * step] : fill) * (i ? x - x0 : 1 - x + x0) * (j ? y - y0 : 1 - y + y0);
    }
  return sum;
}

static double warped_at(const unsigned char *p, int step, int half, int x, int y, double fill) {
  const double ox = half ? 2 * x + .5 : x, oy = half ? 2 * y + .5 : y;
  const double d = matrix[6] * ox + matrix[7] * oy + matrix[8];
  double sx = (matrix[0] * ox + matrix[1] * oy + matrix[2]) / d, sy = (matrix[3] * ox + matrix[4] * oy + matrix[5]) / d;
  if (half) sx = (sx - .5) / 2, sy = (sy - .5) / 2;
  return sample(p, step, half ? CAM_H / 2 : CAM_H, half ? CAM_W / 2 : CAM_W, sx, sy, fill);
}

/* Six planes, as openpilot makes them */
static void by_hand(int warps) {
  const unsigned char *chroma = warps ? camera + CAM_H * CAM_W : frame + H * W;
  const int n = H / 2 * (W / 2);
  for (int r = 0; r < H / 2; r++)
    for (int c = 0; c < W / 2; c++)
      for (int k = 0; k < 6; k++) {
        const int y = 2 * r + k % 2, x = 2 * c + k / 2;
        double v;
        if (k < 4) v = warps ? warped_at(camera, 1, 0, x, y, 0) : frame[y * W + x];
        else v = warps ? warped_at(chroma + k - 4, 2, 1, c, r, 128) : chroma[r * W + 2 * c + k - 4];
        plain_in[k * n + r * (W / 2) + c] = level(v);
      }
}

static void run(int which) {
  const plain_inputs a = { .input_img = plain_in };
  const camera_inputs b = { .input_img = frame };
  const warped_inputs d = { .input_img = camera, .input_img_warp = matrix };
  const plain_outputs ao = { .outputs = out[0] };
  const camera_outputs bo = { .outputs = out[1] };
  const warped_outputs eo = { .outputs = out[2] };
  if (which == 0) check(plain_run(&plain, &a, &ao), "plain");
  else if (which == 1) check(camera_run(&cam, &b, &bo), "camera");
  else check(warped_run(&warp, &d, &eo), "warped");
}

static double off(int which) {
  double most = 0;
  for (int i = 0; i < PLAIN_OUTPUT_0_ELEMS; i++) most = fmax(most, fabs(out[0][i] - out[which][i]) / (1 + fabs(out[0][i])));
  return most;
}

static int by_value(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Processor time, since other programs share the machine */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void) {
  static double time_of[3][ROUNDS];
  double most[3] = { 0 };
  check(plain_init(&plain, arena[0], sizeof arena[0], NULL, 0), "plain");
  check(camera_init(&cam, arena[1], sizeof arena[1], NULL, 0), "camera");
  check(warped_init(&warp, arena[2], sizeof arena[2], NULL, 0), "warped");
  for (unsigned f = 0; f < FRAMES; f++) {
    draw(frame, H * 3 / 2, W, f + 1);
    draw(camera, CAM_H * 3 / 2, CAM_W, f + 7);
    for (int which = 1; which < 3; which++) {
      by_hand(which == 2);
      run(0);
      run(which);
      most[which] = fmax(most[which], off(which));
    }
  }
  for (int i = 0; i < ROUNDS; i++)
    for (int k = 0; k < 3; k++) {
      const double from = now();
      run(k);
      time_of[k][i] = now() - from;
    }
  for (int k = 0; k < 3; k++) qsort(time_of[k], ROUNDS, sizeof **time_of, by_value);
  printf("%.3g %.3g %.4f %.4f %.4f\n", most[1], most[2], time_of[0][ROUNDS / 2], time_of[1][ROUNDS / 2], time_of[2][ROUNDS / 2]);
  return 0;
}

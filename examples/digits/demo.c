/* SPDX-License-Identifier: MIT */
/* demo.c: reads images of digits and prints what the network recognises.
 * usage: demo PICTURE.pgm...    Pictures are binary PGM of 28 x 28, ink is bright.
 * The bundle was compiled with --embed-weights, so this program is one file. */
#include "digits.h"
#include <stdio.h>

enum { SIDE = 28, CLASSES = 10, BAR = 40 };

/* The caller owns the memory. C99 has no alignas, so there is room to align by hand. */
static unsigned char memory[DIGITS_ARENA_BYTES + TGCRT_ALIGN];

static int read_picture(const char *path, float *image) {
  unsigned char ink[SIDE * SIDE];
  int w = 0, h = 0, most = 0;
  FILE *f = fopen(path, "rb");
  int good = f && fscanf(f, "P5 %d %d %d", &w, &h, &most) == 3 && w == SIDE && h == SIDE && most == 255 && fgetc(f) != EOF &&
             fread(ink, 1, sizeof ink, f) == sizeof ink;
  if (f) fclose(f);
  for (int i = 0; good && i < SIDE * SIDE; i++) image[i] = (float)ink[i] / 255.0f;
  return good;
}

/* A character cell is twice as high as wide, so it shows two pixels, one above the other. */
static void show_picture(const float *image) {
  static const char *const cell[] = { " ", "\u2580", "\u2584", "\u2588" }; /* none, upper, lower, both */
  for (int y = 0; y < SIDE; y += 2) {
    fputs("    ", stdout);
    for (int x = 0; x < SIDE; x++) fputs(cell[(image[y * SIDE + x] > 0.4f) + 2 * (image[(y + 1) * SIDE + x] > 0.4f)], stdout);
    putchar('\n');
  }
}

static int show_answer(const float *probability) {
  int best = 0;
  for (int i = 0; i < CLASSES; i++) {
    if (probability[i] > probability[best]) best = i;
    printf("    %d %6.2f %% ", i, 100.0 * (double)probability[i]);
    for (int k = 0; k < (int)((float)BAR * probability[i] + 0.5f); k++) fputs("\u2588", stdout);
    putchar('\n');
  }
  return best;
}

int main(int argc, char **argv) {
  digits_ctx ctx;
  float image[SIDE * SIDE], probability[CLASSES];
  const digits_inputs in = { .image = image };
  const digits_outputs out = { .probabilities = probability };
  unsigned char *arena = memory + (TGCRT_ALIGN - (uintptr_t)memory % TGCRT_ALIGN) % TGCRT_ALIGN;

  if (argc < 2) {
    fputs("usage: demo PICTURE.pgm...\n", stderr);
    return 64;
  }
  int status = digits_init(&ctx, arena, DIGITS_ARENA_BYTES, NULL, 0);
  for (int i = 1; i < argc && !status; i++) {
    if (!read_picture(argv[i], image)) {
      fprintf(stderr, "demo: %s: not a binary PGM of 28 x 28\n", argv[i]);
      return 66;
    }
    printf("\n%s\n", argv[i]);
    show_picture(image);
    status = digits_run(&ctx, &in, &out);
    if (!status) printf("    The network sees a %d.\n", show_answer(probability));
  }
  if (status) fprintf(stderr, "demo: %s\n", digits_strerror(status));
  return status ? 1 : 0;
}

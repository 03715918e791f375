/* SPDX-License-Identifier: MIT */
/* main.c: recognises ten images of digits on a microcontroller, without an operating system, allocation or a C library except
 * libm. The weights stay in flash. The arena and the two arrays below are all the RAM that the model needs. */
#include "board.h"
#include "digits.h"

enum { SIDE = 28, CLASSES = 10 };

extern const unsigned char pictures[CLASSES][SIDE * SIDE]; /* pictures.S: an image of each digit */

static _Alignas(TGCRT_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES];
static float image[SIDE * SIDE], probability[CLASSES];

static void put_number(unsigned n) {
  char text[12], *p = text + sizeof text - 1;
  *p = 0;
  do *--p = (char)('0' + n % 10);
  while (n /= 10);
  put_text(p);
}

int main(void) {
  digits_ctx ctx;
  const digits_inputs in = { .image = image };
  const digits_outputs out = { .probabilities = probability };
  int wrong = 0, status = digits_init(&ctx, arena, sizeof arena, NULL, 0);
  for (unsigned d = 0; d < CLASSES && !status; d++) {
    unsigned best = 0;
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = (float)pictures[d][i] / 255.0f;
    status = digits_run(&ctx, &in, &out);
    for (unsigned i = 1; i < CLASSES; i++)
      if (probability[i] > probability[best]) best = i;
    put_number(d);
    put_text(".pgm: ");
    put_number(best);
    put_text(" (");
    put_number((unsigned)(100 * probability[best] + 0.5f));
    put_text(" %)\n");
    wrong += best != d;
  }
  if (status) put_text(digits_strerror(status));
  return status || wrong;
}

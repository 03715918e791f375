/* SPDX-License-Identifier: MIT */
/* main.c: a program of the path's user: it runs the self-test of mnist-8 from flash, and prints the digit and the largest error
 * in millionths. data.S has the inputs and the outputs that the bundle's net_check.bin holds. */
#include "board.h"
#include "net.h"

extern const float check[NET_INPUT_0_ELEMS + NET_OUTPUT_0_ELEMS];

static _Alignas(TGCRT_ALIGN) unsigned char arena[NET_ARENA_BYTES];
static float scores[NET_OUTPUT_0_ELEMS];

static void put_number(const char *what, unsigned n) {
  char text[12], *p = text + sizeof text - 1;
  *p = 0;
  do *--p = (char)('0' + n % 10);
  while (n /= 10);
  put_text(what);
  put_text(p);
  put_text("\n");
}

int main(void) {
  const net_inputs in = { check };
  const net_outputs out = { scores };
  const float *want = check + NET_INPUT_0_ELEMS;
  net_ctx ctx;
  unsigned best = 0;
  float error = 0, largest = 0;
  int status = net_init(&ctx, arena, sizeof arena, NULL, 0);
  if (!status) status = net_run(&ctx, &in, &out);
  for (unsigned i = 0; i < NET_OUTPUT_0_ELEMS; i++) {
    const float off = scores[i] > want[i] ? scores[i] - want[i] : want[i] - scores[i], size = want[i] < 0 ? -want[i] : want[i];
    if (scores[i] > scores[best]) best = i;
    if (!(off <= error)) error = off;
    if (size > largest) largest = size;
  }
  put_number("status ", (unsigned)status);
  put_number("digit ", best);
  put_number("error ", (unsigned)(1e6f * error / largest));
  return status;
}

/* SPDX-License-Identifier: MIT */
/* icount.c: the program of icount.py. It runs a bundle once on a microcontroller and prints what the run took, and the outputs.
 * With -icount shift=0, QEMU takes a nanosecond for each instruction. The timer SysTick therefore counts instructions, and a loop
 * of known length tells how many instructions a tick is. */
#include "board.h"
#include "net.h"

enum { TICKS = 1 << 24, LOOPS = 1 << 20 }; /* LOOPS: iterations of two instructions */
#define SYSTICK ((volatile uint32_t *)0xe000e010) /* control, reload value, current value, which counts down */

static _Alignas(TGCRT_ALIGN) unsigned char arena[NET_ARENA_BYTES];
static _Alignas(8) unsigned char out[OUTPUT_BYTES];
extern const unsigned char samples[]; /* net_check.bin of the bundle: inputs, then outputs */

static void put_number(uint32_t n) {
  char text[12], *p = text + sizeof text - 1;
  *p = 0;
  do *--p = (char)('0' + n % 10);
  while (n /= 10);
  put_text(p);
}

static void put_bytes(const unsigned char *p, size_t n) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) put_text((const char[]){ digits[p[i] >> 4], digits[p[i] & 15], 0 });
}

static uint32_t ticks_since(uint32_t then) { return (then - SYSTICK[2]) & (TICKS - 1); }

int main(void) {
  net_ctx ctx;
  const size_t in_bytes[] = { INPUTS }, out_bytes[] = { OUTPUTS };
  const void *in[NET_INPUTS + 1];
  void *outs[NET_OUTPUTS + 1];
  const unsigned char *p = samples;
  unsigned char *q = out;
  for (size_t i = 0; i < NET_INPUTS; p += in_bytes[i++]) in[i] = p;
  for (size_t i = 0; i < NET_OUTPUTS; q += out_bytes[i++]) outs[i] = q;
  SYSTICK[1] = TICKS - 1;
  SYSTICK[2] = 0;
  SYSTICK[0] = 5; /* on, by the clock of the processor */
  uint32_t n = LOOPS, then = SYSTICK[2];
  __asm__ volatile("1: subs %0, #1\n bne 1b" : "+r"(n));
  const uint32_t loops = ticks_since(then);
  int status = net_init(&ctx, arena, sizeof arena, NULL, 0);
  then = SYSTICK[2];
  if (!status) status = net_run_v(&ctx, in, outs);
  const uint32_t took = ticks_since(then);
  if (status) put_text(net_strerror(status));
  put_text("loop ");
  put_number(loops);
  put_text("\nrun ");
  put_number(took);
  put_text("\noutputs ");
  put_bytes(out, sizeof out);
  put_text("\n");
  return status;
}

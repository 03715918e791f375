/* SPDX-License-Identifier: MIT */
/* board.c: start-up code for a Cortex-M, and two calls to the debugger (semihosting) by which a program without a screen prints
 * and ends. For your own chip, change put_text. */
#include "board.h"
#include <stdint.h>

int main(void);
void reset(void);

extern uint32_t data_begin[], data_end[], bss_begin[], bss_end[], stack_top[]; /* from board.ld */
extern const uint32_t data_values[];

static uint32_t debugger(uint32_t call, const void *argument) {
  register uint32_t r0 __asm__("r0") = call;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void put_text(const char *s) { debugger(0x04, s); } /* SYS_WRITE0 */

static void stop(int failed) { /* SYS_EXIT: the application ended, or a run-time error */
  for (;;) debugger(0x18, (const void *)(uintptr_t)(failed ? 0x20023 : 0x20026));
}

static void fault(void) {
  put_text("fault\n");
  stop(1);
}

void reset(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* CPACR: enables the floating-point unit */
  __asm__ volatile("dsb\n isb" ::: "memory");
  for (uint32_t i = 0; &data_begin[i] < data_end; i++) data_begin[i] = data_values[i];
  for (uint32_t *p = bss_begin; p < bss_end; p++) *p = 0;
  stop(main());
}

/* the stack pointer, then the handlers of reset and of the exceptions that every Cortex-M has */
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
  (uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault
};

/* SPDX-License-Identifier: MIT */
/* board.h: the function of board.c that programs call. */
#ifndef BOARD_H
#define BOARD_H
void put_text(const char *s); /* prints s on the console of the debugger or the emulator, by semihosting */
#endif

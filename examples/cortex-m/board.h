/* SPDX-License-Identifier: MIT */
/* board.h: the function of board.c that main.c calls. */
#ifndef BOARD_H
#define BOARD_H
void put_text(const char *s); /* prints s, by semihosting, on the console of the debugger or the emulator */
#endif

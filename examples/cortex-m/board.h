/* SPDX-License-Identifier: MIT */
#ifndef BOARD_H
#define BOARD_H
void put_text(const char *s);
#endif

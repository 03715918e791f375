/* SPDX-License-Identifier: MIT */
/* pictures.S: the sample pictures, 28 x 28 bytes each behind a header of 13. */
  .section .rodata
  .globl pictures
pictures:
  .irp digit, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
  .incbin "../digits/samples/\digit\().pgm", 13, 28 * 28
  .endr

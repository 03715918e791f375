/* SPDX-License-Identifier: MIT */
/* decode.c: continues texts, byte by byte. usage: decode BYTES TEXT... The bundle keeps what the decoder remembers of a text.
 * Each run takes one byte and appends to the caches of keys and values in place. */
#include "repeat.h"
#include <stdio.h>
#include <stdlib.h>

enum { ALPHABET = REPEAT_OUTPUT_0_ELEMS };

/* The caller owns the memory, including the state. C99 has no alignas, so there is room to align by hand. */
static unsigned char memory[REPEAT_ARENA_BYTES + TGCRT_ALIGN];

/* Takes one byte; *said: the byte most likely to follow. */
static int hear(repeat_ctx *ctx, int byte, int *said) {
  int64_t heard = byte;
  float next[ALPHABET];
  const repeat_inputs in = { .byte = &heard };
  const repeat_outputs out = { .next = next };
  int status = repeat_run(ctx, &in, &out);
  *said = 0;
  for (int i = 1; i < ALPHABET && !status; i++)
    if (next[i] > next[*said]) *said = i;
  return status;
}

int main(int argc, char **argv) {
  repeat_ctx ctx;
  unsigned char *arena = memory + (TGCRT_ALIGN - (uintptr_t)memory % TGCRT_ALIGN) % TGCRT_ALIGN;
  if (argc < 3) {
    fputs("usage: decode BYTES TEXT...\n", stderr);
    return 64;
  }
  int status = repeat_init(&ctx, arena, REPEAT_ARENA_BYTES, NULL, 0);
  for (int i = 2; i < argc && !status; i++) {
    int next = 0;
    int64_t length = 0;
    status = repeat_state_reset(&ctx); /* a new text */
    for (const char *s = argv[i]; *s && !status; s++) status = hear(&ctx, *s & 127, &next);
    printf("%s|", argv[i]);
    for (int n = atoi(argv[1]); n && !status; n--) {
      putchar(next);
      status = hear(&ctx, next, &next);
    }
    if (!status) status = repeat_length(&ctx, &length);
    printf("| (%lld bytes remembered)\n", (long long)length);
  }
  if (status) fprintf(stderr, "decode: %s\n", repeat_strerror(status));
  return status ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* regex.h: a regular expression as a deterministic automaton over bytes. */
#ifndef TGC_REGEX_H
#define TGC_REGEX_H
#include "../../compiler/support/support.h"

enum { DFA_STATES = 4096 }; /* limit of an automaton; rule: a state fits in 16 bits */

typedef struct Dfa {
  int states, classes;
  uint8_t class_of[256]; /* bytes of one class lead to the same states */
  const uint16_t *next;  /* [states][classes] */
  const bool *accepts;   /* by state: a text that ends here matches as a whole. State 0 is the first */
} Dfa;

/* Syntax of RE2, on UTF-8. NULL: done; else the reason why it cannot be compiled. Memory comes from m. */
const char *regex_compile(Arena *m, const char *pattern, size_t n, Dfa *out);
#endif

/* SPDX-License-Identifier: MIT */
/* regex.h: a regular expression as a deterministic automaton over bytes. */
#ifndef TGC_REGEX_H
#define TGC_REGEX_H
#include "../../compiler/support/support.h"

enum { DFA_STATES = 4096 }; /* most states of an automaton; the number of a state must fit in 16 bits */

typedef struct Dfa {
  int states, classes;   /* number of states; number of classes of bytes */
  uint8_t class_of[256]; /* by byte: the byte's class. In each state, all bytes of a class lead to the same next state */
  const uint16_t *next;  /* next[state * classes + class]: the next state. The automaton begins in state 0 */
  const bool *accepts;   /* by state: whether the pattern matches a whole text that leads from state 0 to this state */
} Dfa;

/* Compiles a pattern of n bytes of UTF-8, in the syntax of RE2, into the automaton *out, whose tables live in m. If the pattern
 * cannot be compiled, returns the reason; otherwise returns NULL. */
const char *regex_compile(Arena *m, const char *pattern, size_t n, Dfa *out);
#endif

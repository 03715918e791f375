/* SPDX-License-Identifier: MIT */
/* regex_parts.h: internal to regular expressions: the tree that regex_parse.c makes, and the steps that regex.c makes of it. */
#ifndef TGC_REGEX_PARTS_H
#define TGC_REGEX_PARTS_H
#include "regex.h"

typedef enum { T_EMPTY, T_BYTE, T_CAT, T_ALT, T_REPEAT, T_ASSERT } Kind;
typedef enum { A_BEGIN, A_END, A_LINE, A_LINE_END, A_WORD, A_NO_WORD } Assertion;

typedef struct Tree {
  Kind kind;
  int lo, hi;                /* BYTE: range; REPEAT: least and most, -1 without limit; ASSERT: lo is an Assertion */
  struct Tree *first, *next; /* first child; next of the same parent */
} Tree;

typedef struct Step {
  enum { S_CHAR, S_SPLIT, S_ASSERT, S_MATCH } kind;
  int lo, hi, a, b;
} Step; /* a, b: next steps */

typedef struct Regex {
  Arena *m;
  const uint8_t *p, *end;
  int flags, depth, nsteps, emits;
  const char *wrong; /* the first reason why the pattern is refused; NULL: fine so far */
  Step *steps;
} Regex;

/* Notes the reason, and ends the pattern here. Returns NULL. */
static inline void *refuse(Regex *x, const char *why) {
  if (!x->wrong) x->wrong = why;
  x->p = x->end;
  return NULL;
}

/* Reads the whole pattern. Sets x->wrong if it is refused. */
const Tree *regex_parse(Regex *x);
#endif

/* SPDX-License-Identifier: MIT */
/* suggest.c: the known name that a wrong one probably means, for "did you mean" in messages.
 *
 * The distance of two words is the number of edits between them: a character inserted, deleted or replaced, or two neighbours
 * swapped (optimal string alignment). Case does not count. The beginning of a name is as near as one edit. */
#include "support.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 63 }; /* characters; longer words get no suggestion */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t row[3][LONGEST + 1]; /* rows i - 2, i - 1 and i of the table, in turn */
  for (size_t k = 0; k <= nb; k++) row[0][k] = k;
  for (size_t i = 1; i <= na; i++) {
    size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t k = 1; k <= nb; k++) {
      now[k] = least(least(now[k - 1], last[k]) + 1, last[k - 1] + !same(a[i - 1], b[k - 1]));
      if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1])) now[k] = least(now[k], before[k - 2] + 1);
    }
  }
  return row[na % 3][nb];
}

static bool begins(const char *name, const char *word, size_t n) {
  size_t i = 0;
  while (i < n && name[i] && same(name[i], word[i])) i++;
  return i == n;
}

const char *nearest_name(const char *word, const char *const *names, size_t n) {
  const size_t nw = strlen(word);
  const char *best = NULL;
  size_t most = nw < 3 ? 1 : (nw + 2) / 3; /* edits that may be a slip */
  if (!nw || nw > LONGEST) return NULL;
  for (size_t i = 0; i < n; i++) {
    const size_t nn = strlen(names[i]);
    if (nn > LONGEST || (nw == 1 && nn > 1)) continue;
    const size_t d = nw > 1 && nn > nw && begins(names[i], word, nw) ? 1 : distance(word, nw, names[i], nn);
    if (d >= most + !best || d >= nn) continue;
    best = names[i];
    most = d;
  }
  return best;
}

const char *did_you_mean(Arena *a, const char *word, const char *const *names, size_t n) {
  const char *name = nearest_name(word, names, n);
  return name ? arena_printf(a, "; did you mean '%s'?", name) : "";
}

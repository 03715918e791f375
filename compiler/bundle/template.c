/* template.c: templates of runtime_stub. @word@ is replaced, conditions keep or drop lines, and lists repeat lines. */
#include "bundle.h"
#include <string.h>

static bool is_named(const char *name, const char *s, size_t n) { return strlen(name) == n && !memcmp(name, s, n); }

static const char *word_find(const WordSet *w, const char *s, size_t n) {
  for (; w; w = w->outer) {
    for (const Word *word = w->fixed; word->name; word++)
      if (is_named(word->name, s, n)) return word->text;
    for (const MadeWord *word = w->made; word && word->name; word++)
      if (is_named(word->name, s, n)) return word->make(w->from);
  }
  return NULL;
}

/* Replaces @word@ for known words; any other @ stays. A line that is one word is replaced by the word's text, which has its own
 * line ends. */
static void expand_line(const char *at, const char *end, const WordSet *words, Sb *out) {
  const char *begin = at;
  while (at < end) {
    const char *open = memchr(at, '@', (size_t)(end - at)), *close = NULL;
    if (open) close = memchr(open + 1, '@', (size_t)(end - open - 1));
    const char *text = close ? word_find(words, open + 1, (size_t)(close - open - 1)) : NULL;
    const char *stop = text ? open : open ? open + 1 : end;
    sb_put(out, at, (size_t)(stop - at));
    if (text) sb_puts(out, text);
    at = text ? close + 1 : stop;
    if (text && open == begin && close + 2 == end) return;
  }
}

static bool opens(const char *line) { return starts_with(line, "@if ") || starts_with(line, "@each "); }

/* The line "@end" that belongs to an opening line whose body begins at s */
static const char *end_of(const char *name, const char *s, const char *end) {
  for (int depth = 1; s < end; s += strcspn(s, "\n") + 1) {
    depth += opens(s) - starts_with(s, "@end\n");
    if (!depth) return s;
  }
  BUG("%s: a condition or a list has no end", name);
}

static void fill(const char *name, const char *s, const char *end, const WordSet *words, Sb *out);

/* Fills in the lines from s to end once for each row of a list */
static void fill_rows(const char *name, const char *list, size_t n, const char *s, const char *end, const WordSet *words,
                      Sb *out) {
  const WordSet *with = words;
  while (with && !with->row) with = with->outer;
  if (!with) BUG("%s: no list %.*s", name, (int)n, list);
  const Word *row;
  for (size_t i = 0; (row = with->row(with->from, list, n, i)); i++)
    fill(name, s, end, &(WordSet){ .fixed = row, .outer = words }, out);
}

/* Lines between "@if word" and "@else" or "@end" stay if the word's text is not empty; lines between "@else" and "@end" stay if
 * it is. Lines between "@each list" and "@end" appear once for each row of the list. */
static void fill(const char *name, const char *s, const char *end, const WordSet *words, Sb *out) {
  int depth = 0, out_at = 0; /* depth of conditions around the line; depth of the outermost one that drops it */
  for (const char *next; s < end; s = next) {
    const size_t n = strcspn(s, "\n");
    next = s + n + 1;
    if (starts_with(s, "@if ")) {
      const char *text = word_find(words, s + 4, n - 4);
      if (!text) BUG("%s: no word %.*s", name, (int)n - 4, s + 4);
      depth++;
      if (!out_at && !*text) out_at = depth;
    } else if (starts_with(s, "@each ")) {
      const char *close = end_of(name, next, end);
      if (!out_at) fill_rows(name, s + 6, n - 6, next, close, words, out);
      next = close + 5;
    } else if (starts_with(s, "@else\n")) {
      out_at = out_at == depth ? 0 : out_at ? out_at : depth;
    } else if (starts_with(s, "@end\n")) {
      if (out_at == depth) out_at = 0;
      depth--;
    } else if (!out_at) {
      expand_line(s, next, words, out);
    }
  }
}

void template_fill(const char *name, const WordSet *words, Sb *out) {
  const Embedded *t = embedded_file(name);
  fill(name, t->p, t->p + t->n, words, out);
}

void template_expand(const char *name, const Word *words, Sb *out) { template_fill(name, &(WordSet){ .fixed = words }, out); }

/* lock.c: schedules in a file that is kept with the model, so that a build needs no tuner and no store.
 *
 *     tgc-lock 1
 *     KEY { vec(r1,8) unroll(r0,4) } 12.3 done x86-64-v3, gcc 12.2.0
 *
 * A line has the key of a nest, its schedule, microseconds, "done" or "partial", and a note to its end. Empty
 * lines and those that begin with # say nothing. A line that is wrong is an error: a lock is meant to hold. */
#include "tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOCK_LIMIT = 64 << 20 };
static const char header[] = "tgc-lock 1";

static int by_key(const void *a, const void *b) { return memcmp(((const LockLine *)a)->key, ((const LockLine *)b)->key, 64); }

static const char *lock_find(ScheduleSource *s, const char *key, bool *partial) {
  Lock *l = (Lock *)s;
  LockLine want;
  memcpy(want.key, key, sizeof want.key);
  LockLine *found = l->lines.n ? bsearch(&want, l->lines.p, l->lines.n, sizeof want, by_key) : NULL;
  if (!found) return NULL;
  found->used = true;
  *partial = found->partial;
  return found->opts;
}

bool key_ok(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f'))) return false;
  return n == 64;
}

/* The word from *at to the next blank or the end of the line. */
static Bytes word(const char **at, const char *end) {
  while (*at < end && **at == ' ') ++*at;
  const char *start = *at;
  while (*at < end && **at != ' ') ++*at;
  return (Bytes){ (const uint8_t *)start, (size_t)(*at - start) };
}

static bool word_is(Bytes w, const char *s) { return w.n == strlen(s) && !memcmp(w.p, s, w.n); }

static const char *parse_line(Ctx *c, const char *at, const char *end, LockLine *out) {
  Bytes key = word(&at, end);
  if (!key_ok((const char *)key.p, key.n)) return "a line begins with a key of 64 hex digits";
  memcpy(out->key, key.p, 64);
  const char *open = at + (at < end), *close = opts_end(open, end);
  if (!close) return "a schedule in braces follows the key";
  out->opts = arena_str(&c->model, open, (size_t)(close - open));
  at = close;
  Bytes micros = word(&at, end), state = word(&at, end);
  char *stop, *number = arena_str(&c->model, (const char *)micros.p, micros.n);
  out->micros = strtod(number, &stop);
  if (!micros.n || *stop || !(out->micros >= 0 && out->micros < 1e12)) return "microseconds follow the schedule";
  out->partial = word_is(state, "partial");
  if (!out->partial && !word_is(state, "done")) return "'done' or 'partial' follows the microseconds";
  at += at < end;
  out->note = arena_str(&c->model, at, (size_t)(end - at));
  return NULL;
}

Lock *lock_read(Ctx *c, const char *path) {
  Lock *l = ARENA_NEW(&c->model, Lock, 1);
  Bytes b = file_read(c, path, LOCK_LIMIT);
  const char *at = (const char *)b.p, *end = at + b.n;
  l->source = (ScheduleSource){ .name = "lock", .find = lock_find };
  l->path = path;
  VEC(LockLine) lines = { 0 };
  for (int number = 1; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at)), *wrong = NULL, *line = at;
    size_t n = (size_t)((stop ? stop : end) - at);
    LockLine x = { .used = false };
    at += n + 1;
    if (memchr(line, 0, n)) wrong = "a line holds a zero byte";
    else if (number == 1) wrong = n == sizeof header - 1 && !memcmp(line, header, n) ? NULL : "the first line is 'tgc-lock 1'";
    else if (n && *line != '#') {
      if (!(wrong = parse_line(c, line, line + n, &x))) VEC_PUSH(&lines, x);
    }
    if (wrong) {
      VEC_FREE(&lines);
      fail(c, EX_BADMODEL, "'%s' line %d: %s", path, number, wrong);
    }
  }
  if (lines.n) qsort(lines.p, lines.n, sizeof *lines.p, by_key);
  for (size_t i = 1; i < lines.n; i++)
    if (!by_key(&lines.p[i - 1], &lines.p[i])) fail(c, EX_BADMODEL, "'%s' has key %.64s twice", path, lines.p[i].key);
  l->lines.p = arena_dup(&c->model, lines.p, lines.n * sizeof *lines.p);
  l->lines.n = lines.n;
  VEC_FREE(&lines);
  return l;
}

void lock_report(Ctx *c, const Lock *l) {
  size_t unused = 0;
  for (size_t i = 0; i < l->lines.n; i++) unused += !l->lines.p[i].used;
  if (unused)
    warn_at(c, (Pos){ 0 },
            "%zu of %zu schedules in '%s' belong to no kernel of this compilation (the model, its target or tgc changed)", unused,
            l->lines.n, l->path);
}

void lock_write(Ctx *c, Lock *l, const char *path) {
  Sb s = { 0 };
  if (l->lines.n) qsort(l->lines.p, l->lines.n, sizeof *l->lines.p, by_key);
  sb_printf(&s, "%s\n", header);
  for (size_t i = 0; i < l->lines.n; i++) {
    const LockLine *x = &l->lines.p[i];
    sb_printf(&s, "%.64s %s %.3f %s %s\n", x->key, x->opts, x->micros, x->partial ? "partial" : "done", x->note);
  }
  const size_t n = s.n;
  file_replace(c, path, sb_keep(&s, &c->model), n);
}

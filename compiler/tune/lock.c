/* SPDX-License-Identifier: MIT */
/* lock.c: schedules and decisions in a file that is kept with the model. A build then needs no tuner, no store and no model of
 * cost.
 *
 *     tgc-lock 3
 *     decide winograd 93bd8a9b2c51f0e7 6x6 node 4 'conv2' (Conv, opset 13)
 *     KEY { vec(r1,8) unroll(r0,4) rest { unroll(r0,2) } } 12.3 done x86-64-v3, gcc 12.2.0
 *
 * A line of a schedule has the key of a nest, the schedule, microseconds, "done", "partial" or "model", and a note to its end.
 * "model" means the model of cost's choice, which was not measured. A line of a decision has its pass, the key of its node or
 * kernel, the answer, and a note. Empty lines and those that begin with # are ignored. A wrong line is an error: a lock is meant
 * to hold. Version 1 has no decisions and no schedules of rests, so the models of cost make these. Version 2 says room for halo
 * and stored for materialized. */
#include "tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "tgc-lock ";
enum { VERSION = 3 };

static int by_key(const void *a, const void *b) { return memcmp(((const LockLine *)a)->key, ((const LockLine *)b)->key, 64); }

static LockLine *line_of(Lock *l, const char *key) {
  LockLine want;
  memcpy(want.key, key, sizeof want.key);
  return l->lines.n ? bsearch(&want, l->lines.p, l->lines.n, sizeof want, by_key) : NULL;
}

static const char *lock_find(ScheduleSource *s, const char *key, bool *partial) {
  LockLine *found = line_of((Lock *)s, key);
  if (!found) return NULL;
  found->used = true;
  *partial = found->partial;
  return found->opts;
}

static const char *lock_measured(ScheduleSource *s, const char *key) {
  const LockLine *found = line_of((Lock *)s, key);
  return found ? found->measured : NULL;
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

/* A note that begins with times in runs, as times_of_runs (tuned_runs.c) has written them: "n=1 0.5 us, n=8 2 us; PLACE" */
static const char *times_of(Ctx *c, const char *at, const char *end) {
  const char *stop = memchr(at, ';', (size_t)(end - at));
  return stop && stop - at > 3 && !memcmp(stop - 3, " us", 3) ? arena_str(&c->model, at, (size_t)(stop - at)) : NULL;
}

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
  if (!micros.n || *stop || !(out->micros >= 0 && out->micros < 1e12)) return "microseconds must follow the schedule";
  out->partial = word_is(state, "partial");
  out->model = word_is(state, "model");
  if (!out->partial && !out->model && !word_is(state, "done")) return "'done', 'partial' or 'model' follows the microseconds";
  at += at < end;
  out->measured = times_of(c, at, end);
  out->note = arena_str(&c->model, at, (size_t)(end - at));
  return NULL;
}

static const char *text_of(Ctx *c, Bytes w) { return arena_str(&c->model, (const char *)w.p, w.n); }

/* An answer in today's words */
static const char *renamed(const char *value, int version) {
  if (version == 2 && !strcmp(value, "room")) return "halo";
  return version == 2 && !strcmp(value, "stored") ? "materialized" : value;
}

static const char *parse_decision(Ctx *c, const char *at, const char *end, int version, Decisions *out) {
  const Bytes pass = word(&at, end), key = word(&at, end);
  const char *value = at + (at < end), *stop = value < end && *value == '{' ? opts_end(value, end) : NULL;
  for (stop = stop ? stop : value; *value != '{' && stop < end && *stop != ' ';) stop++;
  if (!pass.n || !key.n || stop == value) return "a pass, a key and what was decided follow 'decide'";
  const Decision x = { .pass = text_of(c, pass),
                       .key = text_of(c, key),
                       .value = renamed(arena_str(&c->model, value, (size_t)(stop - value)), version),
                       .about = arena_str(&c->model, stop, (size_t)(end - stop)) };
  return decisions_give(out, &x) ? NULL : "this was decided before";
}

static const char *parse_header(Ctx *c, const char *line, size_t n, int *version) {
  const size_t before = sizeof header - 1;
  if (n <= before || memcmp(line, header, before)) return "the first line is 'tgc-lock 3'";
  *version = n == before + 1 ? line[before] - '0' : 0;
  if (*version >= 1 && *version <= VERSION) return NULL;
  return arena_printf(&c->model, "version '%.*s' of lock files is unknown, this tgc reads 1 to 3", (int)(n - before),
                      line + before);
}

Lock *lock_read(Ctx *c, const char *path) {
  Lock *l = ARENA_NEW(&c->model, Lock, 1);
  Bytes b = file_read(c, path, LOCK_LIMIT);
  const char *at = (const char *)b.p, *end = at + b.n;
  l->source = (ScheduleSource){ .name = "lock", .find = lock_find, .measured = lock_measured };
  l->path = path;
  l->decisions = decisions_new(c);
  VEC(LockLine) lines = { 0 };
  for (int number = 1; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at)), *wrong = NULL, *line = at;
    size_t n = (size_t)((stop ? stop : end) - at);
    LockLine x = { .used = false };
    at += n + 1;
    if (memchr(line, 0, n)) wrong = "a line holds a zero byte";
    else if (number == 1) wrong = parse_header(c, line, n, &l->version);
    else if (n > 7 && !memcmp(line, "decide ", 7)) wrong = parse_decision(c, line + 7, line + n, l->version, l->decisions);
    else if (n && *line != '#') {
      if (!(wrong = parse_line(c, line, line + n, &x))) VEC_PUSH(&lines, x);
    }
    if (wrong) {
      VEC_FREE(&lines);
      fail(c, EX_BADMODEL, "'%s' line %d: %s", path, number, wrong);
    }
  }
  VEC_SORT(&lines, by_key);
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
            "%zu of %s in '%s' belong%s to no kernel of this compilation (the model, its target or tgc changed)", unused,
            count_noun(&c->model, (int64_t)l->lines.n, "schedule"), l->path, unused == 1 ? "s" : "");
  size_t n, left = 0;
  const Decision *given = decisions_given(l->decisions, &n);
  for (size_t i = 0; i < n; i++) left += !given[i].used;
  if (left)
    warn_at(c, (Pos){ 0 },
            "%zu of %s in '%s' %s about nothing in this compilation (the model, its target or tgc changed)", left,
            count_noun(&c->model, (int64_t)n, "decision"), l->path, left == 1 ? "is" : "are");
}

typedef VEC(uint32_t) Places; /* by a key's interned number: its index in lines + 1 */

static uint32_t *place_of(Ctx *c, Places *places, const char *key) {
  const uint32_t name = intern(c, key, 64);
  while (places->n <= name) VEC_PUSH(places, 0);
  return &places->p[name];
}

/* A nest's line keeps its times if the plan has its schedule from there. */
static void put_nest(Ctx *c, Lock *l, Places *places, const NestSchedule *n) {
  LockLine x = { .opts = n->opts, .partial = n->partial, .model = !strcmp(n->from, "heuristic"), .note = "" };
  uint32_t *place = place_of(c, places, n->key);
  LockLine *line = *place ? &l->lines.p[*place - 1] : NULL;
  memcpy(x.key, n->key, sizeof x.key);
  if (!line) {
    VEC_PUSH(&l->lines, x);
    *place = (uint32_t)l->lines.n;
  } else if (!strcmp(n->from, l->source.name)) line->opts = n->opts;
  else *line = x;
}

void lock_complete(Ctx *c, Lock *l, const Plan *p) {
  Places places = { 0 };
  for (size_t i = 0; i < l->lines.n; i++) *place_of(c, &places, l->lines.p[i].key) = (uint32_t)i + 1;
  for (size_t i = 0; i < p->kernels.n; i++)
    for (size_t k = 0; k < p->kernels.p[i].nests.n; k++) put_nest(c, l, &places, &p->kernels.p[i].nests.p[k]);
  VEC_FREE(&places);
}

static void put_decision(const Decision *d, Sb *s) {
  sb_printf(s, "decide %s %s %s", d->pass, d->key, d->value);
  if (d->about && *d->about) sb_printf(s, "%s%s", *d->about == ' ' ? "" : " ", d->about);
  sb_puts(s, "\n");
}

void lock_write(Ctx *c, Lock *l, const char *path) {
  Sb s = { 0 };
  VEC_SORT(&l->lines, by_key);
  sb_printf(&s, "%s%d\n", header, VERSION);
  size_t decided = 0;
  const Decision *made = l->decisions ? decisions_made(l->decisions, &decided) : NULL;
  for (size_t i = 0; i < l->nchosen; i++) put_decision(&l->chosen[i], &s);
  for (size_t i = 0; i < decided; i++) put_decision(&made[i], &s);
  for (size_t i = 0; i < l->lines.n; i++) {
    const LockLine *x = &l->lines.p[i];
    sb_printf(&s, "%.64s %s %.3f %s%s%s\n", x->key, x->opts, x->micros, x->partial ? "partial" : x->model ? "model" : "done",
              *x->note ? " " : "", x->note);
  }
  const size_t n = s.n;
  file_replace(c, path, sb_keep(&s, &c->model), n);
}

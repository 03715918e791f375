/* SPDX-License-Identifier: MIT */
/* log.c: the store as text, to carry measurements from one machine to another and to merge them.
 *
 *     tgc-tune-log 1
 *     place x86_64 AMD EPYC ...; gcc 12.2.0; tgc 0.1.0
 *     trial KEY { vec(r0,8) } 1.25 2.5
 *     failed KEY { vec(r0,8) unroll(r0,16) } it ran past 1.0 s
 *     winner KEY { vec(r0,8) } 1.25 2.5 4
 *
 * Rows are for the place above them. Times are microseconds, warm and cold; a winner's last number is the width of the finished
 * search, 0 for an unfinished one. Wrong lines are counted and left out. */
#include "tune.h"
#include <stdlib.h>
#include <string.h>

enum { LOG_LIMIT = 1 << 30, MAX_SCHEDULE = 16000 }; /* in bytes: most of a log; most of a key and a schedule */
static const char header[] = "tgc-tune-log 1";

typedef struct Export {
  Sb *out;
  const char *place;
} Export;

static void put_row(void *arg, const StoreRow *r) {
  Export *e = arg;
  if (!e->place || strcmp(e->place, r->place)) sb_printf(e->out, "place %s\n", e->place = r->place);
  if (r->winner) sb_printf(e->out, "winner %s %s %.4f %.4f %d\n", r->key, r->opts, r->warm, r->cold, r->n);
  else if (r->n) sb_printf(e->out, "failed %s %s %s\n", r->key, r->opts, r->why);
  else sb_printf(e->out, "trial %s %s %.4f %.4f\n", r->key, r->opts, r->warm, r->cold);
}

void store_export(Store *s, Sb *out) {
  sb_printf(out, "%s\n", header);
  store_each(s, put_row, &(Export){ out, NULL });
}

/* ---- import ---- */
static bool skip_word(const char **at, const char *word) {
  size_t n = strlen(word);
  if (strncmp(*at, word, n) || (*at)[n] != ' ') return false;
  *at += n + 1;
  return true;
}

static bool take_time(char **at, double *us) {
  char *end;
  *us = strtod(*at, &end);
  bool good = end != *at && *us > 0 && *us < 1e12;
  *at = end;
  return good;
}

/* "KEY { ... }", and where it ends. The schedule itself is judged by whoever uses it. */
static char *take_schedule(Ctx *c, const char *at, const char **key, const char **opts) {
  size_t n = strlen(at);
  const char *close = n > 66 && at[64] == ' ' ? opts_end(at + 65, at + n) : NULL;
  if (!close || !key_ok(at, 64) || close - at > MAX_SCHEDULE) return NULL;
  *key = arena_str(&c->model, at, 64);
  *opts = arena_str(&c->model, at + 65, (size_t)(close - at - 65));
  return arena_str(&c->model, close, n - (size_t)(close - at));
}

static bool import_line(Store *s, Ctx *c, const char *at, Place *place) {
  const char *key, *opts;
  double warm, cold;
  char *rest;
  if (skip_word(&at, "place")) {
    *place = (Place){ .text = at };
    sha256_hex(at, strlen(at), place->id);
    return *at != 0;
  }
  if (!place->text) return false;
  if (skip_word(&at, "failed")) {
    if (!(rest = take_schedule(c, at, &key, &opts)) || *rest != ' ') return false;
    store_put_trial(s, key, place, &(Trial){ .opts = opts, .failed = true, .why = rest + 1 });
    return true;
  }
  bool winner = skip_word(&at, "winner");
  if (!winner && !skip_word(&at, "trial")) return false;
  if (!(rest = take_schedule(c, at, &key, &opts)) || !take_time(&rest, &warm) || !take_time(&rest, &cold)) return false;
  if (!winner) {
    if (*rest) return false;
    store_put_trial(s, key, place, &(Trial){ .opts = opts, .warm = warm, .cold = cold });
    return true;
  }
  char *end;
  long beam = strtol(rest, &end, 10);
  Winner old, w = { opts, warm, cold, (int)beam };
  if (end == rest || *end || beam < 0 || beam > 1000) return false;
  if (!store_winner(s, key, place, &old) || warm + cold < old.warm + old.cold) store_put_winner(s, key, place, &w);
  return true;
}

void store_import(Store *s, Ctx *c, const char *path) {
  Bytes b = file_read(c, path, LOG_LIMIT);
  char *at = (char *)(uintptr_t)b.p, *end = at + b.n;
  Place place = { 0 };
  int64_t lines = 0, wrong = 0, first = 0;
  store_begin(s, true);
  for (int64_t number = 1; at < end; number++) {
    char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end; /* file_read leaves a zero byte there */
    bool whole = !memchr(at, 0, (size_t)(stop - at));
    *stop = 0;
    if (number == 1 && strcmp(at, header))
      fail(c, EX_BADMODEL, "'%s' is not a log of tgc: its first line is not '%s'", path, header);
    if (number > 1 && *at && *at != '#') {
      lines++;
      if (!whole || !import_line(s, c, at, &place)) first = wrong++ ? first : number;
    }
    at = stop + 1;
  }
  store_commit(s);
  if (wrong)
    warn_at(c, (Pos){ 0 }, "%lld of %lld lines of '%s' are wrong and left out, first line %lld", (long long)wrong,
            (long long)lines, path, (long long)first);
}

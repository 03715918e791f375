/* SPDX-License-Identifier: MIT */
/* import.c: the log of a job (runtime_stub/tune_job.c.in). It is text from another machine, and may say anything. Its lines
 * have the form of log.c. A line counts if its place is one of this backend and version of tgc, and its nest is in the model. Its
 * schedule must be legal there. Each other line is left out, with a warning.
 *
 * needs: nests of a plan    gives: rows of the store, each under the place of the log    keeps: rows that are there */
#include "tune.h"
#include <stdlib.h>
#include <string.h>

enum { LOG_LIMIT = 1 << 28, MAX_LINE = 20000, MAX_PLACE = 1000, MAX_REASON = 300, WARNINGS = 10 };
static const char header[] = "tgc-tune-log 1";

typedef struct Row {
  const char *key;
  Place place;
  Trial trial;
} Row;

typedef struct Import {
  Ctx *c;
  const Plan *p;
  const char *path;
  int64_t line;
  Place place;
  bool known; /* the place is one of this backend and this tgc */
  int64_t bugs; /* rows of schedules that computed something else */
  VEC(Row) rows;
  Imported out;
} Import;

static void leave_out(Import *m, const char *why) {
  if (m->out.wrong++ < WARNINGS) warn_at(m->c, (Pos){ 0 }, "'%s' line %lld is left out: %s", m->path, (long long)m->line, why);
}

static const char *skip_word(const char *at, const char *word) {
  const size_t n = strlen(word);
  return strncmp(at, word, n) || at[n] != ' ' ? NULL : at + n + 1;
}

static bool is_plain(const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < ' ' || *s == 127) return false;
  return true;
}

/* "tgc VERSION" stands behind the last semicolon, or before that if flags of the C compiler follow. */
static const char *judge_place(const Import *m, const char *text) {
  const Backend *b = m->p->in->backend;
  const char *name = arena_printf(&m->c->model, "%s: ", b->name), *mine = "; tgc " TGC_VERSION, *at = strstr(text, mine);
  const bool ours = b->device ? starts_with(text, name) : !strstr(text, "; driver ");
  if (strlen(text) > MAX_PLACE) return "the place is too long";
  if (!ours) return arena_printf(&m->c->model, "its place is not for the backend %s", b->name);
  if (!at || (at[strlen(mine)] && (b->device || at[strlen(mine)] != ';')))
    return arena_printf(&m->c->model, "its place is not for tgc %s, so its times say nothing about this version's code",
                        TGC_VERSION);
  return NULL;
}

static void take_place(Import *m, const char *text) {
  const char *why = judge_place(m, text);
  m->known = !why;
  m->place = (Place){ .text = text };
  sha256_hex(text, strlen(text), m->place.id);
  if (why) leave_out(m, why);
}

static Ref nest_of(const Plan *p, const char *key, const char **known) {
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].nests.n; i++) {
      const NestSchedule *n = &p->kernels.p[k].nests.p[i];
      if (!strncmp(n->key, key, 64)) return *known = n->key, n->nest;
    }
  return 0;
}

/* "KEY { ... }": NULL, or what is wrong; *rest: what follows */
static const char *take_schedule(const Import *m, const char *at, Row *row, const char **rest) {
  IR *ir = m->p->ir;
  const size_t n = strlen(at);
  const char *close = n > 66 && at[64] == ' ' ? opts_end(at + 65, at + n) : NULL, *why;
  Opts o;
  Sb s = { 0 };
  if (!close || !key_ok(at, 64)) return "it has no key of 64 hex digits with a schedule in braces";
  const Ref nest = nest_of(m->p, at, &row->key);
  if (!nest) return arena_printf(&m->c->model, "nest %.16s is not in the model (another model, target or version of tgc)", at);
  if ((why = opts_parse(ir, nest, m->p->in->target, at + 65, (size_t)(close - at - 65), &o)))
    return arena_printf(&m->c->model, "the schedule is not legal for nest %.16s: %s", at, why);
  o.nparts = o.nborders = 0; /* a trial's name, as in search.c */
  opts_print(ir, nest, &o, &s);
  row->trial.opts = sb_keep(&s, &m->c->model);
  *rest = close;
  return NULL;
}

static bool take_time(const char **at, double *us) {
  char *end;
  *us = **at == ' ' ? strtod(*at + 1, &end) : 0;
  if (**at != ' ') return false;
  const bool good = end != *at + 1 && *us > 0 && *us < 1e12;
  *at = end;
  return good;
}

static const char *take_row(Import *m, const char *line) {
  const char *at = skip_word(line, "trial"), *failed = skip_word(line, "failed"), *rest, *why;
  Row row = { .place = m->place };
  if (!at && !failed) return "it does not begin with place, trial or failed";
  if (!m->place.text) return "there is no line with a place before it";
  if (!m->known) return "its place is unknown";
  if ((why = take_schedule(m, at ? at : failed, &row, &rest))) return why;
  if (at && (!take_time(&rest, &row.trial.warm) || !take_time(&rest, &row.trial.cold) || *rest))
    return "two times in microseconds must follow the schedule";
  if (failed && (*rest != ' ' || !rest[1] || strlen(rest) > MAX_REASON))
    return "a reason must follow the schedule";
  row.trial.failed = failed != NULL;
  if (failed) row.trial.why = rest + 1;
  if (failed && starts_with(row.trial.why, "differs") && m->bugs++ < WARNINGS)
    warn_at(m->c, (Pos){ 0 }, "a bug in tgc%s, please report it: '%s' line %lld, schedule '%s' of nest %.16s %s",
            m->p->in->backend->device ? " or in the device's driver" : " or in the C compiler", m->path, (long long)m->line,
            row.trial.opts, row.key, row.trial.why);
  VEC_PUSH(&m->rows, row);
  m->out.place = m->place;
  *(failed ? &m->out.failed : &m->out.trials) += 1;
  return NULL;
}

static void take_line(Import *m, const char *line, size_t n) {
  const char *why, *place;
  if (!n || *line == '#') return;
  if (strlen(line) != n || !is_plain(line) || n > MAX_LINE) leave_out(m, "it is too long or not plain text");
  else if ((place = skip_word(line, "place"))) take_place(m, place);
  else if ((why = take_row(m, line))) leave_out(m, why);
}

Imported job_import(Ctx *c, Store *s, const Plan *p, const char *path) {
  const Bytes b = file_read(c, path, LOG_LIMIT);
  Import m = { .c = c, .p = p, .path = path };
  const char *at = (const char *)b.p, *end = at + b.n;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    const size_t n = (size_t)((stop ? stop : end) - at);
    const char *line = arena_str(&c->model, at, n);
    if (!m.line++) {
      if (n != sizeof header - 1 || memcmp(at, header, n)) break;
    } else take_line(&m, line, n);
    at += n + 1;
  }
  if (at < end || !m.line) {
    VEC_FREE(&m.rows);
    fail(c, EX_BADMODEL, "'%s' line 1: this is not the log of a job: its first line is not '%s'", path, header);
  }
  if (m.out.wrong > WARNINGS)
    warn_at(c, (Pos){ 0 }, "%lld lines of '%s' are left out; the first %d are above", (long long)m.out.wrong, path, WARNINGS);
  store_begin(s, true);
  for (size_t i = 0; i < m.rows.n; i++) store_put_trial(s, m.rows.p[i].key, &m.rows.p[i].place, &m.rows.p[i].trial);
  store_commit(s);
  VEC_FREE(&m.rows);
  return m.out;
}

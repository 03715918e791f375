/* SPDX-License-Identifier: MIT */
/* store_decision.c: decisions of passes in the tuner's store, by pass, node or kernel, and place. They were measured in a whole
 * model. A store of an older tgc lacks their table, and gets it with the first row. */
#include "store_file.h"
#include "../ir/decisions.h"
#include <string.h>

enum { MAX_VALUE = 200 };

static sqlite3_stmt *prepared(Store *s, const char *sql, const Place *p, const char *pass, const char *key) {
  sqlite3_stmt *q = NULL;
  sqlite3 *db = s ? store_file(s) : NULL;
  if (!db || sqlite3_prepare_v2(db, sql, -1, &q, NULL)) return NULL;
  const char *const text[] = { p->id, pass, key };
  for (int i = 0; i < 3; i++) sqlite3_bind_text(q, i + 1, text[i], -1, SQLITE_STATIC);
  return q;
}

/* A value is a word. Any other text in the file is as good as none. */
const char *store_decision(Ctx *c, Store *s, const Place *p, const char *pass, const char *key) {
  sqlite3_stmt *q = prepared(s, "SELECT value FROM decision WHERE place = ?1 AND pass = ?2 AND key = ?3", p, pass, key);
  const char *value = q && sqlite3_step(q) == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
  const size_t n = value ? strlen(value) : 0;
  const bool word = n && n < MAX_VALUE && !value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-")];
  value = word ? arena_str(&c->model, value, n) : NULL;
  sqlite3_finalize(q);
  return value;
}

bool store_put_decision(Store *s, const Place *p, const Decision *d) {
  static const char table[] = "CREATE TABLE IF NOT EXISTS decision (place TEXT, pass TEXT, key TEXT, value TEXT NOT NULL,"
                              " PRIMARY KEY (place, pass, key)) WITHOUT ROWID";
  if (!store_file(s) || sqlite3_exec(store_file(s), table, NULL, NULL, NULL)) return false;
  sqlite3_stmt *q = prepared(s, "INSERT OR REPLACE INTO decision (place, pass, key, value) VALUES (?1, ?2, ?3, ?4)", p, d->pass,
                             d->key);
  if (q) sqlite3_bind_text(q, 4, d->value, -1, SQLITE_STATIC);
  const bool done = q && sqlite3_step(q) == SQLITE_DONE;
  sqlite3_finalize(q);
  return done;
}

bool store_drop_decision(Store *s, const Place *p, const char *pass, const char *key) {
  sqlite3_stmt *q = prepared(s, "DELETE FROM decision WHERE place = ?1 AND pass = ?2 AND key = ?3", p, pass, key);
  const bool done = q && sqlite3_step(q) == SQLITE_DONE;
  sqlite3_finalize(q);
  return done;
}

/* ---- as a source of decisions ---- */
typedef struct Source {
  DecisionSource source;   /* first member */
  Ctx *c;
  Store *store;
  const Backend *backend;
  const char *wanted;
  bool asked, known;       /* the place was looked for, and found */
  Place here;
} Source;

static const char *find(DecisionSource *source, const char *pass, const char *key) {
  Source *s = (Source *)source;
  if (!s->asked) {
    s->asked = true;
    s->known = place_find(s->c, s->backend, NULL, &s->here);
    if (s->known) s->here = place_for(s->c, &s->here, s->wanted);
  }
  return s->known ? store_decision(s->c, s->store, &s->here, pass, key) : NULL;
}

DecisionSource *store_decisions(Ctx *c, Store *s, const Backend *b, const char *wanted) {
  sqlite3_stmt *q = NULL;
  static const char any_row[] = "SELECT 1 FROM decision LIMIT 1";
  if (!s || b->driver || !store_file(s) || sqlite3_prepare_v2(store_file(s), any_row, -1, &q, NULL)) return NULL;
  const bool any = sqlite3_step(q) == SQLITE_ROW;
  sqlite3_finalize(q);
  Source *out = any ? ARENA_NEW(&c->model, Source, 1) : NULL;
  if (out) *out = (Source){ .source.find = find, .c = c, .store = s, .backend = b, .wanted = wanted };
  return out ? &out->source : NULL;
}

/* SPDX-License-Identifier: MIT */
/* store_machine.c: the measured facts of a CPU in the tuner's store, by what the CPU says of itself. They are the text that
 * cpu_facts.h reads. A store of an older tgc lacks their table, and gets it with the first row. */
#include "store_file.h"
#include <string.h>
#include <unistd.h>

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql, const char *cpu) {
  sqlite3_stmt *q = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &q, NULL)) return NULL;
  sqlite3_bind_text(q, 1, cpu, -1, SQLITE_STATIC);
  return q;
}

/* A store that cannot be read holds nothing; who asks for schedules says so. */
const char *store_machine(Ctx *c, const char *path, const char *cpu) {
  sqlite3 *db = NULL;
  const bool opened = path && !access(path, F_OK) && !store_file_open(path, SQLITE_OPEN_READWRITE, &db);
  if (opened) sqlite3_busy_timeout(db, (int)(1000 * STORE_BUSY));
  sqlite3_stmt *q = opened ? prepared(db, "SELECT text FROM machine WHERE cpu = ?1", cpu) : NULL;
  const char *text = q && sqlite3_step(q) == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
  if (text) text = arena_str(&c->model, text, strlen(text));
  sqlite3_finalize(q);
  sqlite3_close(db);
  return text;
}

bool store_put_machine(Ctx *c, const char *path, const char *cpu, const char *text) {
  static const char table[] = "CREATE TABLE IF NOT EXISTS machine (cpu TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID";
  Store *s = store_open(c, path, true); /* makes the file, or says why it cannot */
  sqlite3 *db = store_file(s);
  const bool made = db && !sqlite3_exec(db, table, NULL, NULL, NULL);
  sqlite3_stmt *q = made ? prepared(db, "INSERT OR REPLACE INTO machine (cpu, text) VALUES (?1, ?2)", cpu) : NULL;
  if (q) sqlite3_bind_text(q, 2, text, -1, SQLITE_STATIC);
  const bool done = q && sqlite3_step(q) == SQLITE_DONE;
  sqlite3_finalize(q);
  store_close(s);
  return done;
}

/* store_machine.c: the measured facts of a CPU in the tuner's store, by what the CPU says of itself. They are the text that
 * cpu_facts.h reads. A store of an older tgc lacks their table, and gets it with the first row. */
#include "tune.h"
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 1000 };

static sqlite3 *open_store(const char *path) {
  sqlite3 *db = NULL;
  if (!path || access(path, F_OK)) return NULL;
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL)) {
    sqlite3_close(db);
    return NULL;
  }
  sqlite3_busy_timeout(db, WAIT_MS);
  return db;
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql, const char *cpu) {
  sqlite3_stmt *q = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &q, NULL)) return NULL;
  sqlite3_bind_text(q, 1, cpu, -1, SQLITE_STATIC);
  return q;
}

const char *store_machine(Ctx *c, const char *path, const char *cpu) {
  sqlite3 *db = open_store(path);
  sqlite3_stmt *q = db ? prepared(db, "SELECT text FROM machine WHERE cpu = ?1", cpu) : NULL;
  const char *text = q && sqlite3_step(q) == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
  if (text) text = arena_str(&c->model, text, strlen(text));
  sqlite3_finalize(q);
  sqlite3_close(db);
  return text;
}

bool store_put_machine(Ctx *c, const char *path, const char *cpu, const char *text) {
  static const char table[] = "CREATE TABLE IF NOT EXISTS machine (cpu TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID";
  store_close(store_open(c, path, true)); /* makes the file, or says why it cannot */
  sqlite3 *db = open_store(path);
  const bool made = db && !sqlite3_exec(db, table, NULL, NULL, NULL);
  sqlite3_stmt *q = made ? prepared(db, "INSERT OR REPLACE INTO machine (cpu, text) VALUES (?1, ?2)", cpu) : NULL;
  if (q) sqlite3_bind_text(q, 2, text, -1, SQLITE_STATIC);
  const bool done = q && sqlite3_step(q) == SQLITE_DONE;
  sqlite3_finalize(q);
  sqlite3_close(db);
  return done;
}

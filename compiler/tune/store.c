/* SPDX-License-Identifier: MIT */
/* store.c: measurements in an SQLite file, by nest and place.
 *
 * The file is a cache. A row counts only if its schedule parses and its times are times; rows of another place are not seen. A
 * file that is no database is moved aside. If nothing can be written, rows stay in memory. Several tuners may share the file
 * (write-ahead log). A writer waits for the others. After a second its rows wait in memory until the store is free again. A
 * commit outlives the process; a durable one outlives a power cut. On network file systems a write-ahead log does not work, so
 * a rollback journal is used. */
#include "store_file.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 14 };
/* seconds that it may be locked by another process: then one line says so, and what is to be written waits in memory; once that
 * was said; until tuners that open it are done; at the end */
#define BUSY   STORE_BUSY
#define AGAIN  0.05
#define OPENED 10.0
#define LAST   10.0

/* clang-format off */
typedef enum { Q_TRIALS, Q_WINNER, Q_ANY_WINNER, Q_PUT_PLACE, Q_PUT_TRIAL, Q_PUT_WINNER, Q_ALL, Q_COUNT } Query;
static const char *const queries[Q_COUNT] = {
  [Q_TRIALS] = "SELECT opts, failed, warm, cold, why FROM trial WHERE key = ?1 AND place = ?2 ORDER BY opts",
  [Q_WINNER] = "SELECT opts, warm, cold, beam FROM winner WHERE key = ?1 AND place = ?2",
  [Q_ANY_WINNER] = "SELECT 1 FROM winner WHERE key = ?1 LIMIT 1",
  [Q_PUT_PLACE] = "INSERT OR IGNORE INTO place (id, text) VALUES (?1, ?2)",
  [Q_PUT_TRIAL] = "INSERT INTO trial (key, place, opts, failed, warm, cold, why) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
                  "ON CONFLICT DO UPDATE SET failed = max(failed, excluded.failed), warm = excluded.warm, cold = excluded.cold, "
                  "why = coalesce(excluded.why, why)",
  [Q_PUT_WINNER] = "INSERT INTO winner (key, place, opts, warm, cold, beam) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                   "ON CONFLICT DO UPDATE SET opts = excluded.opts, warm = excluded.warm, cold = excluded.cold, beam = excluded.beam",
  [Q_ALL] = "SELECT 0, key, place.text, opts, failed, warm, cold, coalesce(why, '') FROM trial JOIN place ON place = id "
            "UNION ALL SELECT 1, key, place.text, opts, beam, warm, cold, '' FROM winner JOIN place ON place = id ORDER BY 2, 3, 1, 4",
};
static const char schema[] = "CREATE TABLE IF NOT EXISTS place (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
                             "CREATE TABLE IF NOT EXISTS trial (key TEXT, place TEXT, opts TEXT, failed INT NOT NULL, warm REAL, cold REAL, why TEXT,"
                             " PRIMARY KEY (key, place, opts)) WITHOUT ROWID;"
                             "CREATE TABLE IF NOT EXISTS winner (key TEXT, place TEXT, opts TEXT NOT NULL, warm REAL, cold REAL, beam INT,"
                             " PRIMARY KEY (key, place)) WITHOUT ROWID;"
                             "PRAGMA user_version = 1;";
/* clang-format on */

typedef struct Row {
  const char *key;
  Place place;
  bool is_winner;
  Trial trial;
  Winner winner;
} Row;

struct Store {
  Ctx *c;
  double until;     /* when what is locked is given up */
  bool busy;        /* it was, and that was said */
  bool waits;       /* new rows go to `waiting` */
  VEC(Row) waiting; /* to be written when the store is free */
  sqlite3 *db;
  const char *path;
  sqlite3_stmt *query[Q_COUNT];
  bool in_memory;        /* nothing goes to the file any more */
  bool broken;           /* the open transaction failed */
  ScheduleSource source; /* for store_source */
  const Backend *backend;
  const char *device;
  bool asked, known;     /* here was looked for, and found */
  Place here;
  Winner found;
};

/* ---- opening ---- */
const char *store_path(Ctx *c, const char *given) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (given) return given;
  if (cache && *cache == '/') return arena_printf(&c->model, "%s/tgc/tune.db", cache);
  return home && *home == '/' ? arena_printf(&c->model, "%s/.cache/tgc/tune.db", home) : NULL;
}

/* The folders above a file, as far as they can be made. */
static void make_folders(Ctx *c, const char *path) {
  char *p = arena_str(&c->model, path, strlen(path));
  for (char *s = p + 1; *s; s++)
    if (*s == '/') {
      *s = 0;
      mkdir(p, 0700);
      *s = '/';
    }
}

/* A file system that several machines share: NFS, SMB, CIFS, AFS, 9P, Ceph, FUSE. */
static bool on_network(const char *path) {
  static const long types[] = { 0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x01021997, 0x00c36400, 0x65735546 };
  struct statfs s;
  for (size_t i = 0; i < sizeof types / sizeof *types && !statfs(path, &s); i++)
    if ((long)s.f_type == types[i]) return true;
  return false;
}

static int nap(void *arg, int times) {
  Store *s = arg;
  (void)times;
  return tune_clock() < s->until && !usleep(5000);
}

static int run_sql(Store *s, const char *sql) { return sqlite3_exec(s->db, sql, NULL, NULL, NULL); }

static void close_db(Store *s) {
  for (int i = 0; i < Q_COUNT; i++) {
    sqlite3_finalize(s->query[i]);
    s->query[i] = NULL;
  }
  sqlite3_close(s->db);
  s->db = NULL;
}

int store_file_open(const char *path, int flags, sqlite3 **db) {
  const int code = sqlite3_open_v2(path, db, flags, NULL);
  if (code) return code;
  sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  return 0;
}

sqlite3 *store_file(const Store *s) { return s->in_memory ? NULL : s->db; }

/* The file, ready for use: an SQLite status. */
static int open_db(Store *s, const char *path, bool create) {
  int code = store_file_open(path, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), &s->db);
  if (code) return code;
  sqlite3_busy_handler(s->db, nap, s);
  if (!s->in_memory) code = run_sql(s, on_network(path) ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL");
  if (!code && create) code = run_sql(s, schema);
  for (int i = 0; i < Q_COUNT && !code; i++)
    code = sqlite3_prepare_v3(s->db, queries[i], -1, SQLITE_PREPARE_PERSISTENT, &s->query[i], NULL);
  return code;
}

/* All of it is read only by those who write. */
static bool is_corrupt(Store *s, int code, bool writes) {
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_MISMATCH)
    return true; /* ERROR: other tables */
  if (code || !writes) return false;
  sqlite3_stmt *q = NULL;
  bool good = !sqlite3_prepare_v2(s->db, "PRAGMA integrity_check(1)", -1, &q, NULL) && sqlite3_step(q) == SQLITE_ROW &&
              !strcmp((const char *)sqlite3_column_text(q, 0), "ok");
  sqlite3_finalize(q);
  return !good;
}

static bool is_busy(int code) { return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED; }

static void warn_busy(Store *s, const char *then) {
  if (!s->busy) warn_at(s->c, (Pos){ 0 }, "'%s' is busy: another process has kept it locked for a second; %s", s->path, then);
  s->busy = true;
}

static void to_memory(Store *s, const char *why) {
  close_db(s);
  s->in_memory = true;
  warn_at(s->c, (Pos){ 0 }, "'%s' cannot be written (%s): measurements are kept in memory only", s->path, why);
  if (open_db(s, ":memory:", true)) BUG("no database in memory");
}

/* The file and what belongs to it get another name; a new one takes its place. */
static int start_over(Store *s) {
  static const char *const part[] = { "", "-wal", "-shm" };
  Ctx *c = s->c;
  const char *aside = NULL;
  close_db(s);
  for (int n = 1; !aside || !access(aside, F_OK); n++) aside = arena_printf(&c->model, "%s.corrupt-%d", s->path, n);
  for (int i = 0; i < 3; i++) {
    const char *from = arena_printf(&c->model, "%s%s", s->path, part[i]);
    if (rename(from, arena_printf(&c->model, "%s%s", aside, part[i])) && !i) return SQLITE_READONLY;
  }
  warn_at(c, (Pos){ 0 }, "'%s' is damaged or not a store of tgc; it is now '%s', and a new one begins", s->path, aside);
  return open_db(s, s->path, true);
}

Store *store_open(Ctx *c, const char *path, bool create) {
  if (!create && (!path || access(path, F_OK))) return NULL;
  Store *s = ARENA_NEW(&c->model, Store, 1);
  *s = (Store){ .c = c, .path = path ? path : "the tuning store" };
  if (!path) return to_memory(s, "neither XDG_CACHE_HOME nor HOME is set"), s;
  const char *slash = strrchr(path, '/');
  if (create) make_folders(c, path);
  int lock = open(slash ? arena_str(&c->model, path, (size_t)(slash - path + 1)) : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (double end = tune_clock() + (create ? OPENED : BUSY); /* several may find it damaged; one moves it */
       lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) && tune_clock() < end;)
    usleep(5000);
  s->until = tune_clock() + BUSY;
  int code = open_db(s, path, create);
  if (is_corrupt(s, code, create)) code = create ? start_over(s) : SQLITE_CORRUPT;
  if (lock >= 0) close(lock);
  if (!code) return s;
  if (create) return to_memory(s, sqlite3_errstr(code)), s;
  close_db(s);
  if (is_busy(code)) warn_busy(s, "its schedules are not used");
  if (code == SQLITE_CORRUPT) warn_at(c, (Pos){ 0 }, "'%s' is damaged or not a store of tgc; its schedules are not used", path);
  return NULL;
}

/* ---- rows, which may hold anything ---- */
static bool next_row(Store *s, sqlite3_stmt *q) {
  const int code = sqlite3_step(q);
  if (is_busy(code)) warn_busy(s, "its schedules are not used");
  return code == SQLITE_ROW;
}

static bool is_text(sqlite3_stmt *q, int col) {
  return sqlite3_column_type(q, col) == SQLITE_TEXT && sqlite3_column_bytes(q, col) < MAX_TEXT;
}

static const char *text_at(Store *s, sqlite3_stmt *q, int col) {
  const char *p = (const char *)sqlite3_column_text(q, col);
  size_t n = (size_t)sqlite3_column_bytes(q, col);
  return !p || memchr(p, 0, n) || memchr(p, '\n', n) ? NULL : arena_str(&s->c->model, p, n);
}

static bool is_time(double us) { return us > 0 && us < 1e12; }

static void bind_key(sqlite3_stmt *q, const char *key, const char *place) {
  sqlite3_reset(q);
  sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
  sqlite3_bind_text(q, 2, place, -1, SQLITE_STATIC);
}

void store_trials(Store *s, const char *key, const Place *p, Trials *out) {
  sqlite3_stmt *q = s->query[Q_TRIALS];
  bind_key(q, key, p->id);
  s->until = tune_clock() + (s->busy ? 0 : BUSY);
  while (next_row(s, q)) {
    if (!is_text(q, 0)) continue;
    Trial t = { .opts = text_at(s, q, 0),
                .failed = sqlite3_column_int(q, 1) != 0,
                .warm = sqlite3_column_double(q, 2),
                .cold = sqlite3_column_double(q, 3) };
    t.why = is_text(q, 4) ? text_at(s, q, 4) : "";
    if (t.opts && (t.failed || (is_time(t.warm) && is_time(t.cold)))) VEC_PUSH(out, t);
  }
  sqlite3_reset(q);
}

bool store_winner(Store *s, const char *key, const Place *p, Winner *w) {
  sqlite3_stmt *q = s->query[Q_WINNER];
  bind_key(q, key, p->id);
  s->until = tune_clock() + (s->busy ? 0 : BUSY);
  bool found = next_row(s, q) && is_text(q, 0);
  if (found)
    *w = (Winner){ text_at(s, q, 0), sqlite3_column_double(q, 1), sqlite3_column_double(q, 2), sqlite3_column_int(q, 3) };
  sqlite3_reset(q);
  return found && w->opts && is_time(w->warm) && is_time(w->cold);
}

/* ---- writing ---- */
static void step(Store *s, sqlite3_stmt *q) {
  int code = s->broken ? SQLITE_ABORT : sqlite3_step(q);
  sqlite3_reset(q);
  s->broken |= code != SQLITE_DONE;
}

static void begin(Store *s, bool durable, double wait) {
  s->until = tune_clock() + wait;
  run_sql(s, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  const int code = run_sql(s, "BEGIN IMMEDIATE");
  s->waits = is_busy(code);
  s->broken = code != SQLITE_OK;
  if (s->waits) {
    warn_busy(s, "measurements are kept in memory until it is free");
    return;
  }
  for (size_t i = 0; i < s->waiting.n; i++) { /* in the order of arrival */
    const Row *r = &s->waiting.p[i];
    if (r->is_winner) store_put_winner(s, r->key, &r->place, &r->winner);
    else store_put_trial(s, r->key, &r->place, &r->trial);
  }
}

void store_begin(Store *s, bool durable) { begin(s, durable, s->busy ? AGAIN : BUSY); }

static void put_place(Store *s, const Place *p) {
  bind_key(s->query[Q_PUT_PLACE], p->id, p->text);
  step(s, s->query[Q_PUT_PLACE]);
}

void store_put_trial(Store *s, const char *key, const Place *p, const Trial *t) {
  sqlite3_stmt *q = s->query[Q_PUT_TRIAL];
  if (s->waits) {
    VEC_PUSH(&s->waiting, ((Row){ .key = key, .place = *p, .trial = *t }));
    return;
  }
  put_place(s, p);
  bind_key(q, key, p->id);
  sqlite3_bind_text(q, 3, t->opts, -1, SQLITE_STATIC);
  sqlite3_bind_int(q, 4, t->failed);
  sqlite3_bind_double(q, 5, t->warm);
  sqlite3_bind_double(q, 6, t->cold);
  sqlite3_bind_text(q, 7, t->failed ? t->why : NULL, -1, SQLITE_STATIC);
  step(s, q);
}

void store_put_winner(Store *s, const char *key, const Place *p, const Winner *w) {
  sqlite3_stmt *q = s->query[Q_PUT_WINNER];
  if (s->waits) {
    VEC_PUSH(&s->waiting, ((Row){ .key = key, .place = *p, .is_winner = true, .winner = *w }));
    return;
  }
  put_place(s, p);
  bind_key(q, key, p->id);
  sqlite3_bind_text(q, 3, w->opts, -1, SQLITE_STATIC);
  sqlite3_bind_double(q, 4, w->warm);
  sqlite3_bind_double(q, 5, w->cold);
  sqlite3_bind_int(q, 6, w->beam);
  step(s, q);
}

bool store_commit(Store *s) {
  if (s->waits) return s->waits = false;
  if (!s->broken) s->broken = run_sql(s, "COMMIT") != SQLITE_OK;
  if (!s->broken) {
    s->waiting.n = 0;
    s->busy = false;
    return !s->in_memory;
  }
  const char *why = sqlite3_errmsg(s->db);
  why = arena_str(&s->c->model, why, strlen(why));
  run_sql(s, "ROLLBACK");
  if (!s->in_memory) to_memory(s, why);
  s->broken = false;
  return false;
}

void store_close(Store *s) {
  if (!s) return;
  if (s->waiting.n) {
    begin(s, true, LAST);
    store_commit(s);
  }
  if (s->waiting.n) warn_at(s->c, (Pos){ 0 }, "'%s' is still busy: %zu measurements are lost", s->path, s->waiting.n);
  VEC_FREE(&s->waiting);
  close_db(s);
}

/* ---- everything, for the log ---- */
void store_each(Store *s, EachRow each, void *arg) {
  sqlite3_stmt *q = s->query[Q_ALL];
  sqlite3_reset(q);
  while (sqlite3_step(q) == SQLITE_ROW) {
    StoreRow r = { .winner = sqlite3_column_int(q, 0) != 0,
                   .n = sqlite3_column_int(q, 4),
                   .warm = sqlite3_column_double(q, 5),
                   .cold = sqlite3_column_double(q, 6) };
    const char **text[] = { &r.key, &r.place, &r.opts, &r.why };
    static const int col[] = { 1, 2, 3, 7 };
    bool good = true;
    for (int i = 0; i < 4; i++) good = good && is_text(q, col[i]) && (*text[i] = text_at(s, q, col[i]));
    if (good && key_ok(r.key, strlen(r.key))) each(arg, &r);
  }
  sqlite3_reset(q);
}

/* ---- as a source of schedules ---- */
static bool has_winner(Store *s, const char *key) {
  sqlite3_stmt *q = s->query[Q_ANY_WINNER];
  sqlite3_reset(q);
  sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
  s->until = tune_clock() + (s->busy ? 0 : BUSY);
  const bool found = next_row(s, q);
  sqlite3_reset(q);
  return found;
}

/* To find out where this is takes a while: a compiler is started, or a driver opened. */
static const char *store_find(ScheduleSource *source, const char *key, bool *partial) {
  Store *s = (Store *)((char *)source - offsetof(Store, source));
  if (!s->asked && !has_winner(s, key)) return NULL;
  if (!s->asked) s->known = place_find(s->c, s->backend, s->device, &s->here), s->asked = true;
  if (!s->known || !store_winner(s, key, &s->here, &s->found)) return NULL;
  *partial = !s->found.beam;
  return s->found.opts;
}

ScheduleSource *store_source(Store *s, const Backend *b, const char *device) {
  s->backend = b;
  s->device = device;
  s->source = (ScheduleSource){ .name = "store", .find = store_find };
  return &s->source;
}

/* tune.h: schedules that were measured: lock files, and the store of the tuner. */
#ifndef TGC_TUNE_H
#define TGC_TUNE_H
#include "../kernel/kernel.h"

/* ---- lock.c: a text file of schedules next to a model ---- */
typedef struct LockLine {
  char key[65];
  const char *opts;        /* in text */
  double micros;           /* as measured where it was found */
  bool partial;            /* the search was not finished */
  const char *note;        /* where it comes from, in words */
  bool used;
} LockLine;
typedef struct Lock {
  ScheduleSource source;   /* first: a Lock is one */
  const char *path;
  VEC(LockLine) lines;     /* by key */
} Lock;
Lock *lock_read(Ctx *c, const char *path);           /* fails with EX_NOINPUT_ or EX_BADMODEL; lives in c->model */
void lock_report(Ctx *c, const Lock *l);             /* warns of lines that named no nest of the model */
void lock_write(Ctx *c, Lock *l, const char *path);  /* sorts; whole or not at all; fails with EX_NOWRITE */
bool key_ok(const char *s, size_t n);                /* 64 hex digits */
#endif

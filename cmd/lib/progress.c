/* SPDX-License-Identifier: MIT */
/* progress.c: one line on a terminal about work in this process that takes longer than a second: passes, LLVM, NVRTC, the
 * interpreter. A thread rewrites the line every second, since a library may not return for long. */
#include "../cmd.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

typedef struct Work {
  const Options *o;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t changed;
  bool ended;
  const char *what;
  char stage[100];
  double share;
} Work;

static void report(void *arg, const char *stage, double share) {
  Work *w = arg;
  pthread_mutex_lock(&w->mutex);
  snprintf(w->stage, sizeof w->stage, "%s%s%s", w->what, *stage ? ": " : "", stage);
  w->share = share;
  pthread_mutex_unlock(&w->mutex);
}

static void *show(void *arg) {
  Work *w = arg;
  struct timespec at;
  int64_t seconds = 0;
  clock_gettime(CLOCK_MONOTONIC, &at);
  pthread_mutex_lock(&w->mutex);
  while (!w->ended) {
    at.tv_sec++;
    while (!w->ended && !pthread_cond_timedwait(&w->changed, &w->mutex, &at)) continue;
    if (!w->ended) progress_show(w->o, w->stage, w->share, ++seconds);
  }
  if (seconds) progress_show(w->o, NULL, -1, 0);
  pthread_mutex_unlock(&w->mutex);
  return NULL;
}

void work_begin(Ctx *c, const Options *o, const char *what) {
  if (!terminal_has_progress(o)) return;
  work_end(c);
  Work *w = ARENA_NEW(&c->model, Work, 1);
  pthread_condattr_t clock;
  sigset_t all, was;
  w->o = o;
  w->what = what;
  pthread_mutex_init(&w->mutex, NULL);
  report(w, "", -1);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &clock);
  pthread_condattr_destroy(&clock);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &was); /* signals are for the thread that works */
  const bool runs = !pthread_create(&w->thread, NULL, show, w);
  pthread_sigmask(SIG_SETMASK, &was, NULL);
  if (!runs) return;
  c->progress = report;
  c->progress_arg = w;
}

void work_end(Ctx *c) {
  Work *w = c->progress_arg;
  if (!w) return;
  c->progress = NULL;
  c->progress_arg = NULL;
  pthread_mutex_lock(&w->mutex);
  w->ended = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mutex);
  pthread_join(w->thread, NULL);
}

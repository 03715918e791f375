/* leftover.c: temporary folders and files, and process groups, that must not outlive the program. The list is used by the
 * handlers of signals that end the program, and by exit(). A signal carries no Ctx, so the list is a global variable, like the
 * one of file.c. It belongs to one process: a child with a copy of it removes nothing. The handler only calls functions that
 * are safe in a handler. */
#include "leftover.h"
#include "support.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATHS = 8, GROUPS = 8, DEEP = 8, ROUNDS = 400 };

static struct {
  pid_t owner;
  char path[PATHS][PATH_MAX]; /* "": a free entry */
  pid_t group[GROUPS];        /* 0: a free entry */
} list;

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { ENDS = sizeof ends / sizeof *ends };

/* ---- signals ---- */
sigset_t signals_that_end(void) {
  sigset_t s;
  sigemptyset(&s);
  for (int i = 0; i < ENDS; i++) sigaddset(&s, ends[i]);
  return s;
}

sigset_t signals_hold(void) {
  sigset_t s = signals_that_end(), was;
  pthread_sigmask(SIG_BLOCK, &s, &was);
  return was;
}

void signals_restore(const sigset_t *was) { pthread_sigmask(SIG_SETMASK, was, NULL); }

/* ---- removing ---- */

/* True: it is removed, or gone. Needs only one descriptor at a time, since the program may have run out of them. */
static bool remove_at(const char *path, int depth) {
  char part[2048], inner[PATH_MAX];
  const size_t n = strlen(path);
  if (!unlink(path) || errno == ENOENT) return true;
  if ((errno != EISDIR && errno != EPERM) || depth == DEEP) return false;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const long got = fd < 0 ? 0 : syscall(SYS_getdents64, fd, part, sizeof part); /* the rest comes in another round */
  if (fd >= 0) close(fd);
  for (long i = 0; i < got;) {
    const struct dirent64 *e = (const struct dirent64 *)(const void *)(part + i);
    const size_t k = strlen(e->d_name);
    i += e->d_reclen;
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || n + k + 2 > sizeof inner) continue;
    memcpy(inner, path, n);
    inner[n] = '/';
    memcpy(inner + n + 1, e->d_name, k + 1);
    for (int round = 0; round < ROUNDS && !remove_at(inner, depth + 1) && errno == ENOTEMPTY; round++) {}
  }
  return !rmdir(path) || errno == ENOENT;
}

/* A process that is being killed may still write a file, so this retries. */
void path_remove(const char *path) {
  for (int i = 0; i < ROUNDS && !remove_at(path, 0) && (errno == ENOTEMPTY || errno == EEXIST); i++)
    if (i > ROUNDS / 2) nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
}

/* ---- the list ---- */
bool leftover_add(const char *path) {
  if (!list.owner) return true; /* nobody would remove it: the library changes no global variable */
  sigset_t was = signals_hold();
  bool added = false;
  for (int i = 0; i < PATHS && !added && strlen(path) < PATH_MAX; i++)
    if (!*list.path[i]) strcpy(list.path[i], path), added = true;
  signals_restore(&was);
  return added;
}

void leftover_forget(const char *path) {
  if (!list.owner) return;
  sigset_t was = signals_hold();
  for (int i = 0; i < PATHS; i++)
    if (!strcmp(list.path[i], path)) *list.path[i] = 0;
  signals_restore(&was);
}

void leftover_group(pid_t group, bool lives) {
  if (!list.owner) return;
  sigset_t was = signals_hold();
  int i = 0;
  while (i < GROUPS && list.group[i] != (lives ? 0 : group)) i++;
  if (i < GROUPS) list.group[i] = lives ? group : 0;
  signals_restore(&was);
}

char *leftover_folder(char *pattern) {
  sigset_t was = signals_hold();
  char *made = mkdtemp(pattern); /* mode 0700 */
  if (made) leftover_add(made);
  int e = errno;
  signals_restore(&was);
  errno = e;
  return made;
}

/* A killed process still exists for a moment, and stays a zombie if its parent does not wait for it. */
void group_end(pid_t group) {
  kill(-group, SIGKILL);
  for (int i = 0; i < 40 && !kill(-group, 0); i++) nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
}

static void remove_all(void) {
  if (getpid() != list.owner) return;
  for (int i = 0; i < GROUPS; i++)
    if (list.group[i]) {
      kill(-list.group[i], SIGKILL);
      while (waitpid(list.group[i], NULL, 0) < 0 && errno == EINTR) {}
      group_end(list.group[i]);
    }
  for (int i = 0; i < PATHS; i++)
    if (*list.path[i]) path_remove(list.path[i]), *list.path[i] = 0;
}

static void on_end(int sig) {
  static const char text[] = "tgc: interrupted\n";
  for (int fd = 3; fd < 16 && getpid() == list.owner; fd++) close(fd); /* removing needs a few descriptors, and there may be
                                                                          none left */
  remove_all();
  if (getpid() == list.owner && write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(EX_SIGNAL + sig);
  _exit(EX_SIGNAL + sig);
}

void leftovers_watch(void) {
  list.owner = getpid();
  atexit(remove_all);
  for (int i = 0; i < ENDS; i++) {
    struct sigaction old, a = { .sa_handler = on_end, .sa_mask = signals_that_end() };
    /* an ignored signal stays ignored, as under nohup */
    if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN) sigaction(ends[i], &a, NULL);
  }
}

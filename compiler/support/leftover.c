/* leftover.c: what must not outlive the program: temporary folders and files, and groups of processes. A list of them is kept
 * for the signals that end a program and for exit(). A signal carries no Ctx, so the list is a variable that changes, as
 * the one of file.c is. It belongs to one process: a child that has a copy of it removes nothing. All that the
 * handler calls is safe in a handler. */
#include "leftover.h"
#include "support.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
  char path[PATHS][PATH_MAX]; /* "": free */
  pid_t group[GROUPS];        /* 0: free */
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
  sigprocmask(SIG_BLOCK, &s, &was);
  return was;
}

void signals_restore(const sigset_t *was) { sigprocmask(SIG_SETMASK, was, NULL); }

/* ---- removing ---- */

/* True: it is removed, or gone. One descriptor at a time will do, as they may be what has run out. */
static bool remove_at(const char *path, int depth) {
  char part[2048], inner[PATH_MAX];
  const size_t n = strlen(path);
  if (!unlink(path) || errno == ENOENT) return true;
  if ((errno != EISDIR && errno != EPERM) || depth == DEEP) return false;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const long got = fd < 0 ? 0 : syscall(SYS_getdents64, fd, part, sizeof part); /* the rest in another round */
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

/* A process that is being killed may write a last file. */
void path_remove(const char *path) {
  for (int i = 0; i < ROUNDS && !remove_at(path, 0) && (errno == ENOTEMPTY || errno == EEXIST); i++)
    if (i > ROUNDS / 2) nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
}

/* ---- the list ---- */
bool leftover_add(const char *path) {
  sigset_t was = signals_hold();
  bool added = false;
  for (int i = 0; i < PATHS && !added && strlen(path) < PATH_MAX; i++)
    if (!*list.path[i]) strcpy(list.path[i], path), added = true;
  signals_restore(&was);
  return added;
}

void leftover_forget(const char *path) {
  sigset_t was = signals_hold();
  for (int i = 0; i < PATHS; i++)
    if (!strcmp(list.path[i], path)) *list.path[i] = 0;
  signals_restore(&was);
}

void leftover_group(pid_t group, bool lives) {
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

/* A process that got its signal is there for a moment still, and one whose parent does not ask for it stays as a zombie. */
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
  for (int fd = 3; fd < 16 && getpid() == list.owner; fd++) close(fd); /* removing needs some, and there may be none left */
  remove_all();
  if (getpid() == list.owner && write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(EX_SIGNAL + sig);
  _exit(EX_SIGNAL + sig);
}

void leftovers_watch(void) {
  list.owner = getpid();
  atexit(remove_all);
  for (int i = 0; i < ENDS; i++) {
    struct sigaction old, a = { .sa_handler = on_end, .sa_mask = signals_that_end() };
    if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN) sigaction(ends[i], &a, NULL); /* nohup stays */
  }
}

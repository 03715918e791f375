/* process.c: the scratch folder and child processes. While the folder exists the signals that end a program are held back, and
 * taken where tgc waits for a child, so that the folder is always removed. */
#include "cmd.h"
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t held_signals(void) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGINT);
  sigaddset(&s, SIGTERM);
  sigaddset(&s, SIGHUP);
  sigaddset(&s, SIGCHLD);
  return s;
}

char *scratch_new(Ctx *c) {
  const char *base = getenv("TMPDIR");
  char *path = arena_printf(&c->model, "%s/tgc-XXXXXX", base && *base ? base : "/tmp");
  sigset_t s = held_signals();
  if (!mkdtemp(path)) fail(c, EX_NOWRITE, "cannot create a temporary folder '%s': %s", path, strerror(errno)); /* mode 0700 */
  sigprocmask(SIG_BLOCK, &s, NULL);
  return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
  (void)st;
  (void)kind;
  (void)ftw;
  remove(path);
  return 0;
}

void scratch_remove(const char *dir) {
  sigset_t s = held_signals();
  nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  sigprocmask(SIG_UNBLOCK, &s, NULL);
}

/* ---- child processes ---- */

/* In the child: a group of its own, so that all of it can be ended; it dies with its parent. */
static void become_child(pid_t parent) {
  sigset_t s = held_signals();
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigprocmask(SIG_UNBLOCK, &s, NULL);
}

pid_t child_start(Ctx *c) {
  fflush(stdout);
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) fail(c, EX_RETRY, "cannot start a process: %s", strerror(errno));
  if (!pid) become_child(parent);
  else setpgid(pid, pid); /* whoever is first, so that a kill of the group cannot miss */
  return pid;
}

int interrupt_pending(void) {
  sigset_t s = held_signals();
  sigdelset(&s, SIGCHLD);
  int sig = sigtimedwait(&s, NULL, &(struct timespec){ 0, 0 });
  return sig < 0 ? 0 : sig;
}

/* The wait status of a child; an interrupt ends the child and then the verb. */
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage) {
  sigset_t s = held_signals();
  struct timespec second = { 1, 0 };
  int status;
  int64_t seconds = 0;
  while (waitpid(pid, &status, WNOHANG) != pid) {
    int sig = sigtimedwait(&s, NULL, &second);
    if (sig < 0 && errno == EAGAIN) progress_show(o, stage, ++seconds);
    if (sig == SIGCHLD || sig < 0) continue;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    fail(c, EX_SIGNAL + sig, "interrupted");
  }
  if (seconds) progress_show(o, NULL, 0);
  return status;
}

void *shared_memory(Ctx *c, size_t n) {
  void *p = mmap(NULL, n ? n : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail(c, EX_BADMODEL, "no memory for %zu bytes of outputs", n);
  return p;
}

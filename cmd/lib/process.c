/* process.c: the scratch folder, children that run models, and the clock. Signals that end the program are handled here while
 * tgc waits for a child, and elsewhere by support/leftover.c. So the folder is always removed. */
#include "../cmd.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char *scratch_new(Ctx *c) {
  const char *base = getenv("TMPDIR");
  char *path = arena_printf(&c->model, "%s/tgc-XXXXXX", base && *base ? base : "/tmp");
  if (!leftover_folder(path)) fail(c, EX_NOWRITE, "cannot create a temporary folder '%s': %s", path, strerror(errno));
  return path;
}

void scratch_remove(const char *dir) {
  path_remove(dir);
  leftover_forget(dir);
}

/* ---- child processes ---- */

static sigset_t awaited(void) {
  sigset_t s = signals_that_end();
  sigaddset(&s, SIGCHLD);
  return s;
}

/* In the child: makes it a process group of its own, so that all of it can be killed. It dies with its parent. */
static void become_child(pid_t parent) {
  sigset_t none;
  setpgid(0, 0);
  child_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
}

pid_t child_start(Ctx *c) {
  fflush(stdout);
  sigset_t was = signals_hold(); /* the child must not handle a signal as its parent does */
  pid_t parent = getpid(), pid = fork();
  int e = errno;
  if (!pid) become_child(parent);
  else signals_restore(&was);
  if (pid < 0) fail(c, EX_RETRY, "cannot start a process: %s", strerror(e));
  if (pid) setpgid(pid, pid); /* both processes do this, so that a kill of the group cannot miss */
  return pid;
}

int interrupt_pending(void) {
  sigset_t s = signals_that_end();
  int sig = sigtimedwait(&s, NULL, &(struct timespec){ 0, 0 });
  return sig < 0 ? 0 : sig;
}

/* The wait status of a child. An interrupt ends the child, then the verb. */
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage) {
  sigset_t s = awaited(), was;
  struct timespec second = { 1, 0 };
  int status, ended = 0;
  int64_t seconds = 0;
  pthread_sigmask(SIG_BLOCK, &s, &was);
  while (waitpid(pid, &status, WNOHANG) != pid) {
    int sig = sigtimedwait(&s, NULL, &second);
    if (sig < 0 && errno == EAGAIN) progress_show(o, stage, -1, ++seconds);
    if (sig == SIGCHLD || sig < 0) continue;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    ended = sig;
    break;
  }
  pthread_sigmask(SIG_SETMASK, &was, NULL);
  if (ended) fail(c, EX_SIGNAL + ended, "interrupted");
  if (seconds) progress_show(o, NULL, -1, 0);
  return status;
}

_Noreturn void child_died(Ctx *c, int status, const char *what) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    c->file = NULL;
    fail(c, EX_RETRY, "%s was killed by another program, or memory ran out", what);
  }
  fail(c, EX_BUG, "%s died: %s", what, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended the process");
}

void *shared_memory(Ctx *c, size_t n) {
  void *p = mmap(NULL, n ? n : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail(c, EX_RETRY, "no memory for %zu bytes of outputs: %s", n, strerror(errno));
  return p;
}

double clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

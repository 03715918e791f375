/* sandbox.c: child processes for work that may go wrong: a candidate that crashes, loops or writes where it
 * must not, a compiler that eats memory. A child has limits, a process group of its own, pipes to its
 * parent and no memory in common with it. When the parent dies, however it dies, the child gets a
 * signal and takes its group with it: compilers have children of their own. */
#include "tune.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- what a child says: a line each ---- */
void tell(const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line - 1, fmt, ap);
  va_end(ap);
  if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
  line[n] = '\n';
  if (write(1, line, (size_t)n + 1) < 0) _exit(1); /* whole: shorter than PIPE_BUF */
}

const char *why_ended(Ctx *c, int status) {
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 3   ? "no memory"
         : WEXITSTATUS(status) == 4 ? "it cannot be loaded"
                                    : arena_printf(&c->model, "it exits with %d", WEXITSTATUS(status));
}

/* ---- time ---- */
double tune_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void take_group(int sig) {
  (void)sig;
  kill(0, SIGKILL);
}

static double seconds_of(int who) {
  struct rusage u;
  if (getrusage(who, &u)) return 0;
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

double tune_work(void) { return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN); }

/* ---- children ---- */

/* Signals as a fresh program has them, but for the one that says that the parent is gone. */
void child_signals(void) {
  sigset_t none;
  struct sigaction a = { .sa_handler = take_group };
  sigaction(SIGTERM, &a, NULL);
  signal(SIGINT, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

bool child_begin(Ctx *c, Child *k, const char *log) {
  int ask[2], answer[2];
  *k = (Child){ .to = -1, .from = -1 };
  if (pipe2(ask, O_CLOEXEC)) fail(c, EX_RETRY, "cannot make a pipe: %s", strerror(errno));
  if (pipe2(answer, O_CLOEXEC)) {
    close(ask[0]), close(ask[1]);
    fail(c, EX_RETRY, "cannot make a pipe: %s", strerror(errno));
  }
  fflush(NULL);
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) {
    close(ask[0]), close(ask[1]), close(answer[0]), close(answer[1]);
    fail(c, EX_RETRY, "cannot start a process: %s", strerror(errno));
  }
  if (!pid) {
    setpgid(0, 0);
    child_signals();
    if (getppid() != parent) _exit(127);
    int err = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (err < 0 || dup2(err, 2) < 0 || dup2(ask[0], 0) < 0 || dup2(answer[1], 1) < 0) _exit(126);
    close(ask[1]);
    close(answer[0]);
    return true;
  }
  setpgid(pid, pid);
  close(ask[0]);
  close(answer[1]);
  *k = (Child){ .pid = pid, .to = ask[1], .from = answer[0] };
  return false;
}

bool child_line(Child *k, double seconds, Sb *line, bool *ended) {
  double end = tune_clock() + seconds;
  *ended = false;
  for (;;) {
    char *stop = k->in.n ? memchr(k->in.p, '\n', k->in.n) : NULL, part[4096];
    if (stop) {
      size_t n = (size_t)(stop + 1 - k->in.p);
      line->n = 0;
      sb_put(line, k->in.p, n - 1);
      memmove(k->in.p, k->in.p + n, k->in.n - n);
      k->in.n -= n;
      return true;
    }
    struct pollfd p = { k->from, POLLIN, 0 };
    double left = end - tune_clock();
    int got = poll(&p, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    ssize_t n = read(k->from, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return *ended = true, false;
    sb_put(&k->in, part, (size_t)n);
  }
}

int child_end(Child *k) {
  int status = 0;
  if (!k->pid) return 0;
  close(k->to);
  close(k->from);
  kill(-k->pid, SIGKILL);
  while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR) {}
  sb_free(&k->in);
  *k = (Child){ .to = -1, .from = -1 };
  return status;
}

static void set_limit(int what, int64_t value) {
  struct rlimit r;
  if (getrlimit(what, &r)) return;
  if (r.rlim_max == RLIM_INFINITY || (rlim_t)value < r.rlim_max) r.rlim_max = (rlim_t)value;
  r.rlim_cur = r.rlim_max;
  setrlimit(what, &r);
}

void child_limits(int cpu_seconds, int64_t memory) {
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, cpu_seconds);
  if (memory) set_limit(RLIMIT_AS, memory);
}

/* SPDX-License-Identifier: MIT */
/* tool.c: runs C compilers and linkers as child processes, without a shell. It decides whether the tool, the machine or the
 * generated code is to blame for a failure.
 *
 * A tool starts processes of its own. So the forked child is a guard, which leads a group that includes all of them. It reports
 * through a pipe how the tool ended, and kills the group when its parent dies. */
#include "tune.h"
#include "../support/leftover.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Ending {
  int error;  /* errno if the tool could not run; 0: it ran */
  bool exec;  /* exec failed, so the tool is to blame */
  int status; /* its wait status */
} Ending;

/* ---- running ---- */
enum { LOG_ROOM = 8192 };

static _Noreturn void say_ending(int to, Ending e) { _exit(write(to, &e, sizeof e) != sizeof e); }

static _Noreturn void exec_tool(const Tool *t, int to) {
  int log = open(t->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || in < 0 || dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) say_ending(to, (Ending){ .error = errno });
  if (fallocate(log, FALLOC_FL_KEEP_SIZE, 0, LOG_ROOM) && errno != EOPNOTSUPP && errno != ENOSYS)
    say_ending(to, (Ending){ .error = errno }); /* else it could not say that the disk is full */
  child_limits((int)(t->seconds < 1e6 ? t->seconds : 1e6) + 1, t->memory);
  setenv("LC_ALL", "C", 1); /* tool_judge reads what it says */
  if (t->scratch) setenv("TMPDIR", t->scratch, 1);
  execvp(t->argv->p[0], (char *const *)(uintptr_t)t->argv->p);
  say_ending(to, (Ending){ .error = errno, .exec = true });
}

static _Noreturn void guard_main(const Tool *t, pid_t parent, int to) {
  Ending e = { 0 };
  setpgid(0, 0);
  child_signals();
  if (getppid() != parent) _exit(127);
  pid_t pid = fork();
  if (pid < 0) say_ending(to, (Ending){ .error = errno });
  if (!pid) exec_tool(t, to);
  while (waitpid(pid, &e.status, 0) < 0 && errno == EINTR) {}
  say_ending(to, e); /* after what the tool said, if it could not be run: the first one counts */
}

ToolEnd tool_run(const Tool *t) {
  const double begin = tune_clock();
  ToolEnd end = { 0 };
  int64_t shown = 0;
  int say[2];
  Ending e;
  if (pipe2(say, O_CLOEXEC)) return end.error = errno, end;
  fflush(NULL);
  sigset_t was = signals_hold();
  pid_t parent = getpid(), pid = fork();
  if (!pid) guard_main(t, parent, say[1]);
  if (pid > 0) setpgid(pid, pid), leftover_group(pid, true);
  else end.error = errno;
  signals_restore(&was);
  close(say[1]);
  while (pid > 0) {
    struct pollfd p = { say[0], POLLIN, 0 };
    const double spent = tune_clock() - begin;
    const int got = poll(&p, 1, t->tick || t->seconds - spent > 0.1 ? 100 : 20);
    if (got > 0) {
      ssize_t n = read(say[0], &e, sizeof e);
      if (n < 0 && errno == EINTR) continue;
      if (n == sizeof e) end = (ToolEnd){ .error = e.error, .exec = e.exec, .status = e.status };
      else end.status = SIGKILL; /* the guard went with its group */
      break;
    }
    if (spent > t->seconds) {
      end.late = true;
      break;
    }
    const bool second = (int64_t)spent > shown;
    if (second) shown = (int64_t)spent;
    if (t->tick && (end.interrupted = t->tick(t->tick_arg, second ? shown : 0))) break;
  }
  close(say[0]);
  if (pid < 0) return end;
  kill(-pid, SIGKILL); /* with all that it has left running */
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
  if (end.late || end.interrupted) group_end(pid);
  leftover_group(pid, false);
  return end;
}

/* ---- judging ---- */

/* The end of a tool's output, which is what users read. */
static char *said(Ctx *c, const char *log) {
  enum { MOST = 1 << 16 };
  char *text = arena_alloc(&c->model, MOST + 1);
  int fd = open(log, O_RDONLY | O_CLOEXEC);
  off_t n = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
  ssize_t got = n > 0 ? pread(fd, text, MOST, n > MOST ? n - MOST : 0) : 0;
  if (fd >= 0) close(fd);
  for (ssize_t i = 0; i < got; i++)
    if (!text[i]) text[i] = ' ';
  text[got > 0 ? got : 0] = 0;
  return text;
}

/* The last meaningful line. A line that only counts errors is used if there is no other. */
static const char *last_line(Ctx *c, const char *text) {
  static const char *const idle[] = {
    "note: ",          "compilation terminated", " generated.", "ld returned ", "linker command failed", "see the backtrace",
    "full bug report",  "See <file:",
  };
  const char *last = NULL, *any = NULL;
  size_t last_n = 0, any_n = 0;
  for (size_t n; *text; text += n + (text[n] != 0)) {
    n = strcspn(text, "\n");
    bool skip = !n || *text == ' ';
    if (n) any = text, any_n = n;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) skip |= memmem(text, n, idle[i], strlen(idle[i])) != NULL;
    if (!skip) last = text, last_n = n;
  }
  if (!last) last = any, last_n = any_n;
  if (!last) return "it said nothing";
  return arena_str(&c->model, last, last_n < 300 ? last_n : 300);
}

/* Finds messages of compilers and linkers for which the machine is to blame. A driver ends normally if a part of it was
 * killed. */
static int machine_code(const char *text) {
  /* clang-format off */
  static const struct { const char *text; int code; } known[] = {
    { "No space left on device", EX_NOWRITE },   { "Disk quota exceeded", EX_NOWRITE },  { "File too large", EX_NOWRITE },
    { "Read-only file system", EX_NOWRITE },     { "final close failed", EX_NOWRITE },   { "Input/output error", EX_NOWRITE },
    { "file truncated", EX_NOWRITE },            { "Too many open files", EX_RETRY },    { "virtual memory exhausted", EX_RETRY },
    { "Cannot allocate memory", EX_RETRY },      { "memory exhausted", EX_RETRY },       { "out of memory", EX_RETRY },
    { "bad_alloc", EX_RETRY },                   { "Resource temporarily", EX_RETRY },   { "Killed signal terminated", EX_RETRY },
    { "failed to map segment", EX_RETRY },       { "command failed due to signal", EX_RETRY },
    { "signal terminated program", EX_RETRY },   { "terminated with signal", EX_RETRY },
  };
  /* clang-format on */
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(text, known[i].text)) return known[i].code;
  return 0;
}

static int errno_code(int e) {
  return e == ENOSPC || e == EDQUOT || e == EROFS || e == EFBIG || e == EIO ? EX_NOWRITE : EX_RETRY;
}

static bool made_nothing(const Tool *t) {
  struct stat st;
  return t->makes && (stat(t->makes, &st) || !st.st_size);
}

int tool_judge(Ctx *c, const Tool *t, const ToolEnd *e, const char **why) {
  const char *text = e->error ? "" : said(c, t->log), *line = last_line(c, text);
  const char *name = arena_printf(&c->model, "the %s '%s'", t->what, t->argv->p[0]);
  Arena *m = &c->model;
  if (e->exec && (e->error == ENOENT || e->error == EACCES || e->error == ENOEXEC || e->error == ENOTDIR || e->error == ELOOP)) {
    *why = arena_printf(m, "cannot run %s: %s; set %s to one", name, strerror(e->error), t->variable);
    return EX_MISSING;
  }
  if (e->error) {
    *why = arena_printf(m, "cannot run %s: %s", name, strerror(e->error));
    return errno_code(e->error);
  }
  if (e->late) {
    *why = arena_printf(m, "%s took more than %g s and was ended (--cc-limit=TIME allows more): %s", name, t->seconds, line);
    return EX_RETRY;
  }
  const bool bad = !WIFEXITED(e->status) || WEXITSTATUS(e->status);
  const int machine = bad || made_nothing(t) ? machine_code(text) : 0;
  if (WIFSIGNALED(e->status)) {
    const int sig = WTERMSIG(e->status);
    *why = arena_printf(m, "%s was ended by a signal (%s): %s", name, strsignal(sig), line);
    return machine                                              ? machine
           : sig == SIGXFSZ                                     ? EX_NOWRITE
           : sig == SIGKILL || sig == SIGTERM || sig == SIGXCPU ? EX_RETRY
                                                                : EX_MISSING;
  }
  if (machine) {
    *why = arena_printf(m, "%s failed: %s", name, line);
    return machine;
  }
  if (!bad && made_nothing(t)) {
    *why = arena_printf(m, "%s ended without an error and made no file: %s; set %s to one that works", name, line, t->variable);
    return EX_MISSING;
  }
  if (bad) {
    *why = arena_printf(m, "%s failed with status %d: %s", name, WEXITSTATUS(e->status), line);
    return EX_BUG;
  }
  return 0;
}

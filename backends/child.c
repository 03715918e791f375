/* SPDX-License-Identifier: MIT */
/* child.c: runs a function in a child process, because a library that it calls may end the process.
 *
 * needs: a function    gives: all that it writes, and how the child ended */
#include "backends.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int child_output(Ctx *c, void (*run)(void *arg, int fd), void *arg, Sb *out) {
  char part[65536];
  int ends[2], status = 0;
  if (pipe2(ends, O_CLOEXEC)) fail(c, EX_RETRY, "cannot make a pipe: %s", strerror(errno));
  fflush(NULL);
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0) {
    close(ends[0]), close(ends[1]);
    fail(c, EX_RETRY, "cannot start a process: %s", strerror(errno));
  }
  if (!pid) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    run(arg, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0) sb_put(out, part, (size_t)got);
  close(ends[0]);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

/* SPDX-License-Identifier: MIT */
/* main.c: the tgc program. Reads the command line, runs the verb in a context, and turns its end into an exit code. First it
 * makes standard streams safe that the caller closed. */
#include "cmd.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Job {
  const Options *o;
  int code;
} Job;

static int (*const verbs[VERB_COUNT])(Ctx *, const Options *) = {
#define VERB(name, args, gloss, examples) [VERB_##name] = verb_##name,
#include "options.h"
};

/* A file opened while descriptor 1 is closed would become the standard output. So missing streams are opened for reading:
 * writing to them then fails, and is noticed. */
static void hold_standard_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) _exit(EX_NOWRITE);
}

/* Files that a verb writes at its end: it may run for minutes before. */
static void expect_files(Ctx *c, const Options *o) {
  const bool to_file = o->verb == VERB_tune || o->verb == VERB_quantize || o->verb == VERB_report || o->stop_after;
  const char *const files[] = { to_file && o->out && strcmp(o->out, "none") ? o->out : NULL, o->dot, o->lock, o->csv, o->trace,
                                o->junit, o->markdown, o->tune_log };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (files[i]) file_expect(c, files[i]);
}

static void run_verb(Ctx *c, void *arg) {
  Job *job = arg;
  expect_files(c, job->o);
  tunables_apply(c, job->o);
  job->code = verbs[job->o->verb](c, job->o);
}

static void apply_limits(Ctx *c, const Options *o) {
  if (o->max_nodes) c->limits.nodes = o->max_nodes;
  if (o->max_unroll) c->limits.unroll = o->max_unroll;
  if (o->max_nesting) c->limits.nesting = o->max_nesting;
  if (o->max_decoded) c->limits.decoded = o->max_decoded;
  if (o->max_fold) c->limits.fold = o->max_fold;
  if (o->max_fold_steps) c->limits.fold_steps = o->max_fold_steps;
  c->quiet = o->quiet;
  c->verbose = o->verbose;
  c->records = o->messages && !strcmp(o->messages, "json");
  c->colored = terminal_colored(o, stderr);
  c->over_progress = terminal_has_progress(o);
}

/* a pipe that nobody reads any more, as that of `tgc ops | head -1`: its end is no news */
static bool reader_is_gone(FILE *f) {
  struct pollfd p = { .fd = fileno(f) };
  return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

int main(int argc, char **argv) {
  hold_standard_streams();
  leftovers_watch();
  signal(SIGPIPE, SIG_IGN); /* a vanished reader, or a file size limit, is then a failed write and ends nothing */
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGCHLD, SIG_DFL); /* with an inherited SIG_IGN, the status of children would be lost */
  Options o;
  int code = options_parse(&o, argc, argv);
  if (code < 0) {
    Ctx c;
    Job job = { &o, 0 };
    ctx_init(&c);
    apply_limits(&c, &o);
    code = ctx_try(&c, run_verb, &job);
    if (!code) code = job.code;
    work_end(&c);
    ctx_free(&c);
  }
  options_free(&o);
  bool lost = ferror(stdout);
  if ((fflush(stdout) || lost) && (code == EX_DONE || code == EX_FAILED)) {
    if (!reader_is_gone(stdout)) fputs("tgc: cannot write to standard output\n", stderr);
    code = EX_NOWRITE;
  }
  return code;
}

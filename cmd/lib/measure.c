/* SPDX-License-Identifier: MIT */
/* measure.c: timing in child processes. A worker is a child that answers lines: "SECONDS RUNS" requests a block of runs, and it
 * answers with their times. Competitors alternate in short blocks, so that all see the same machine. /proc tells the load of
 * other processes meanwhile. */
#include "../cmd.h"
#include "../../compiler/lower/lower.h"
#include "../../runtime_stub/tgcrt.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_MS = 2 }; /* so that caches fill again, and idle threads of the competitor stop spinning */

/* ---- the requesting side ---- */

/* Starts a child with two pipes, which are its standard input and output. */
static bool start(Ctx *c, Worker *w, const char *what) {
  int ask[2], answer[2];
  if (pipe(ask) || pipe(answer)) fail(c, EX_RETRY, "cannot make a pipe: %s", strerror(errno));
  *w = (Worker){ .what = what, .to = ask[1], .from = answer[0], .pid = child_start(c) };
  if (!w->pid) {
    if (dup2(ask[0], 0) < 0 || dup2(answer[1], 1) < 0) _exit(126);
    close(ask[1]);
    close(answer[0]);
  }
  close(ask[0]);
  close(answer[1]);
  return w->pid != 0;
}

static _Noreturn void died(Ctx *c, Worker *w) {
  int status;
  waitpid(w->pid, &status, 0);
  w->pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) fail(c, EX_MISSING, "cannot run %s", w->what);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) child_died(c, status, w->what);
  fail(c, EX_FAILED, "%s ended: %s", w->what, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "see its message above");
}

/* Reads the next line: a word, numbers, and a text, which is returned. */
static const char *answer(Ctx *c, Worker *w, const char *word, Reals *numbers) {
  Sb line = { 0 };
  char part[65536];
  while (!line.n || line.p[line.n - 1] != '\n') {
    struct pollfd p = { w->from, POLLIN, 0 };
    int sig = interrupt_pending(), got = sig ? 0 : poll(&p, 1, 200);
    if (sig) {
      sb_free(&line);
      fail(c, EX_SIGNAL + sig, "interrupted");
    }
    if (got <= 0) continue;
    ssize_t n = read(w->from, part, sizeof part);
    if (n <= 0) {
      sb_free(&line);
      died(c, w);
    }
    sb_put(&line, part, (size_t)n);
  }
  char *at = line.p + strcspn(line.p, " \n"), *end;
  bool good = (size_t)(at - line.p) == strlen(word) && !memcmp(line.p, word, strlen(word));
  for (double v = strtod(at, &end); good && end != at; v = strtod(at = end, &end)) VEC_PUSH(numbers, v);
  const char *text = arena_str(&c->model, good ? at : line.p, strcspn(good ? at : line.p, "\n"));
  sb_free(&line);
  if (!good) fail(c, starts_with(text, "missing") ? EX_MISSING : EX_FAILED, "%s: %s", w->what, text);
  return text;
}

/* Stops a side between its blocks: threads that spin for work would take a core from the other side. */
static void let_run(const Worker *w, bool run) {
  if (w->pid) kill(-w->pid, run ? SIGCONT : SIGSTOP);
}

void worker_block(Ctx *c, Worker *w, double seconds, int64_t runs, Reals *times) {
  let_run(w, true);
  const char *line = arena_printf(&c->model, "%.6f %lld\n", seconds, (long long)runs);
  if (write(w->to, line, strlen(line)) < 0) died(c, w);
  answer(c, w, "times", times);
  let_run(w, false);
}

void worker_program(Ctx *c, Worker *w, const char *what, const Texts *argv) {
  if (!start(c, w, what)) {
    execvp(argv->p[0], (char *const *)(uintptr_t)argv->p);
    _exit(127);
  }
  const char *rest = answer(c, w, "ready", &w->ready);
  w->version = rest + strspn(rest, " v");
}

void worker_end(Worker *w) {
  if (!w->what) return;
  close(w->to);
  close(w->from);
  if (w->pid) {
    kill(-w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
  }
  VEC_FREE(&w->ready);
  *w = (Worker){ 0 };
}

/* ---- the side that runs a model ---- */
typedef struct CodeSize {
  ElfW(Addr) base;
  size_t bytes;
} CodeSize;

static int add_code(struct dl_phdr_info *info, size_t size, void *arg) {
  CodeSize *s = arg;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum && info->dlpi_addr == s->base; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && !(info->dlpi_phdr[i].p_flags & PF_W)) s->bytes += info->dlpi_phdr[i].p_memsz;
  return 0;
}

/* bytes of instructions and constants of the library */
static size_t code_bytes(void *so) {
  struct link_map *map = NULL;
  if (dlinfo(so, RTLD_DI_LINKMAP, &map)) return 0;
  CodeSize s = { map->l_addr, 0 };
  dl_iterate_phdr(add_code, &s);
  return s.bytes;
}

/* Runs once. The driver's times of launches become start times of kernels, as if they followed each other without a pause. */
typedef int (*ProfileFn)(void *, const void *const *, void *const *, uint64_t *);
static void run_launches(const Loaded *m, ProfileFn profile, const Stamps *s, const void *const *in, void *const *out,
                         uint64_t *took, double *steps) {
  profile(m->ctx, in, out, took);
  memset(steps, 0, (size_t)s->n * sizeof *steps);
  for (size_t i = 0; i < s->launches; i++) steps[s->kernel[i] + 1] += (double)took[i] * 1e-6;
  for (int k = 1; k < s->n; k++) steps[k] += steps[k - 1];
}

/* ---- runs at a rate, and runs with cold caches ---- */
enum { COLD_BYTES = 64 << 20 }; /* more than the caches of a core; writing it leaves nothing of the model in them */

static void make_cold(unsigned char *junk) {
  for (size_t i = 0; i < COLD_BYTES; i += 64) ((volatile unsigned char *)junk)[i]++;
}

static void sleep_until(double ms) {
  const struct timespec t = { (time_t)(ms * 1e-3), (long)((ms - 1e3 * (double)(time_t)(ms * 1e-3)) * 1e6) };
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

/* Times of paced runs: for each how long it took, and how long after its time it began. A run whose time has passed begins at
 * once; the next ones keep to the rate. */
static void run_paced(const Loaded *m, const Pace *pace, const void *const *in, void *const *out, double seconds, int64_t runs,
                      Reals *times) {
  unsigned char *junk = pace->cold ? xcalloc(COLD_BYTES, 1) : NULL;
  const double period = pace->rate > 0 ? 1e3 / pace->rate : 0, start = clock_ms() + period;
  for (int64_t i = 0; i < runs && (clock_ms() - start < seconds * 1e3 || !i); i++) {
    const double due = period > 0 ? start + (double)i * period : clock_ms();
    if (junk) make_cold(junk);
    if (period > 0 && clock_ms() < due) sleep_until(due);
    const double began = clock_ms();
    model_again(m, in, out);
    VEC_PUSH(times, clock_ms() - began);
    VEC_PUSH(times, period > 0 ? began - due : 0);
  }
  free(junk);
}

static void pin(const Pace *pace) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < CPU_SETSIZE && i < PACE_CPUS; i++)
    if (pace->cpus[i]) CPU_SET(i, &set);
  if (CPU_COUNT(&set) && sched_setaffinity(0, sizeof set, &set)) {
    printf("failed: cannot run on these CPUs: %s\n", strerror(errno));
    exit(0);
  }
}

/* ---- files in other pages of memory ---- */
enum { RENEWED_MOST = 64 << 20, COPIED = 1 << 20 }; /* bytes; a file that is larger than caches takes long, and gains nothing */

static bool copy_bytes(int from, int to) {
  char *buffer = xcalloc(COPIED, 1);
  ssize_t n;
  while ((n = read(from, buffer, COPIED)) > 0)
    if (write(to, buffer, (size_t)n) != n) n = -1;
  free(buffer);
  return !n;
}

/* Replaces the file by a copy. If that fails, the file stays as it is. */
static void renew(const char *path) {
  char part[PATH_MAX];
  struct stat st;
  if (snprintf(part, sizeof part, "%s.new", path) >= (int)sizeof part || stat(path, &st) || st.st_size > RENEWED_MOST) return;
  const int from = open(path, O_RDONLY | O_CLOEXEC), to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st.st_mode & 0777);
  const bool copied = from >= 0 && to >= 0 && copy_bytes(from, to);
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  if (!copied || rename(part, path)) unlink(part);
}

void model_renew(const char *dir, const char *so, const Interface *f) {
  char file[PATH_MAX];
  if (*so) renew(so);
  if (!f->embedded && snprintf(file, sizeof file, "%s/%s_weights.bin", dir, f->name) < (int)sizeof file) renew(file);
}

static _Noreturn void serve_model(const char *dir, const char *so, const Interface *f, int threads, const void *const *in,
                                  void *const *out, const Stamps *stamps, const Pace *pace) {
  Loaded m;
  if (pace) pin(pace);
  char why[252] = "", line[64];
  int status = model_open(dir, so, f, threads, &m, why);
  double start = clock_ms();
  if (!status) status = m.run(m.ctx, in, out);
  if (run_is_complete(status)) status = 0; /* numbers from a seed may be invalid indices */
  if (status) {
    printf("ready %d %s\n", status, why);
    exit(0);
  }
  printf("ready 0 %.6f %.6f %.6f %zu\n", m.map_ms, m.init_ms, clock_ms() - start, code_bytes(m.so));
  fflush(stdout);
  const double *steps = stamps ? dlsym(m.so, "tgc_steps") : NULL;
  const Spans *spans = stamps ? dlsym(m.so, "tgc_spans") : NULL;
  ProfileFn profile;
  *(void **)&profile = stamps && stamps->kernel ? dlsym(m.so, strcat(strcpy(line, f->name), "_profile")) : NULL;
  uint64_t *took = profile ? xcalloc(stamps->launches + 1, sizeof *took) : NULL;
  double *own_steps = profile ? xcalloc((size_t)stamps->n, sizeof *own_steps) : NULL;
  if (profile) steps = own_steps;
  size_t stamped = 0;
  while (fgets(line, sizeof line, stdin)) {
    char *rest;
    double seconds = strtod(line, &rest), warm = clock_ms() + WARM_MS;
    long long runs = strtoll(rest, NULL, 10);
    Reals times = { 0 };
    do model_again(&m, in, out);
    while (clock_ms() < warm);
    if (pace && (pace->cold || pace->rate > 0)) run_paced(&m, pace, in, out, seconds, runs, &times), runs = 0;
    double end = clock_ms() + seconds * 1e3;
    if (!times.n) do {
        double began = clock_ms();
        if (profile) run_launches(&m, profile, stamps, in, out, took, own_steps);
        else model_again(&m, in, out);
        VEC_PUSH(&times, clock_ms() - began);
        if (steps) {
          size_t place = stamps->room ? stamped % stamps->room : stamped;
          memcpy(stamps->at + place * (size_t)stamps->n, steps, (size_t)stamps->n * sizeof *steps);
          stamped++;
        }
      } while (--runs > 0 && clock_ms() < end);
    if (spans) memcpy(stamps->spans, spans, offsetof(Spans, span) + (size_t)(spans->lanes < LANES ? spans->lanes : LANES) *
                                                                       sizeof *spans->span);
    fputs("times", stdout);
    for (size_t i = 0; i < times.n; i++) printf(" %.6g", times.p[i]);
    putchar('\n');
    fflush(stdout);
    VEC_FREE(&times);
  }
  exit(0);
}

void worker_model(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps) {
  worker_paced(c, w, dir, so, f, threads, in, stamps, NULL);
}

void worker_paced(Ctx *c, Worker *w, const char *dir, const char *so, const Interface *f, int threads, const Tensor *in,
                  const Stamps *stamps, const Pace *pace) {
  const void **src = ARENA_NEW(&c->model, const void *, f->inputs.n + 1);
  void **dst = ARENA_NEW(&c->model, void *, f->outputs.n + 1);
  for (size_t i = 0; i < f->inputs.n; i++) src[i] = in[i].data;
  for (size_t i = 0; i < f->outputs.n; i++) {
    dst[i] = shared_memory(c, (size_t)gio_bytes(&f->outputs.p[i]));
  }
  if (!start(c, w, "the compiled model")) serve_model(dir, so, f, threads, src, dst, stamps, pace);
  const char *why = answer(c, w, "ready", &w->ready);
  const int status = (int)w->ready.p[0];
  if (status) model_failed(c, status, arena_str(&c->model, why + strspn(why, " "), strlen(why + strspn(why, " "))));
  memmove(w->ready.p, w->ready.p + 1, --w->ready.n * sizeof *w->ready.p);
}

/* ---- the kernels that times belong to ---- */
const int *kernel_of_launches(const Plan *p, size_t *n) {
  VEC(int) all = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    Launches launches = { 0 };
    kernel_launches(p, &p->kernels.p[k], &launches);
    for (size_t i = 0; i < launches.n; i++) VEC_PUSH(&all, (int)k);
    launches_free(&launches);
  }
  *n = all.n;
  const int *list = arena_dup(&p->ir->ctx->model, all.p, all.n * sizeof *all.p);
  VEC_FREE(&all);
  return list;
}

/* Writes the header by which a bundle records the times of its steps. */
const char *hooks_write(Ctx *c, const char *scratch, int steps) {
  const char *path = arena_printf(&c->model, "%s/hooks.h", scratch);
  const Embedded *hooks = embedded_file("hooks.h");
  const char *text = arena_printf(&c->model, "enum { STEPS = %d, LANES = %d, SPANS = %d };\n%.*s", steps, LANES, SPANS,
                                  (int)hooks->n, hooks->p);
  file_put(c, path, text, strlen(text));
  return path;
}

/* ---- load ---- */
static double cpu_seconds(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) ? 0 : (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

Load load_now(Worker *const *own, int n) {
  Load l = { .at = clock_ms() * 1e-3, .own = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) };
  double v[8] = { 0 }; /* user, nice, system, idle, iowait, irq, softirq, steal */
  FILE *f = fopen("/proc/stat", "re");
  int got = f ? fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) : 0;
  if (f) fclose(f);
  if (got == 8) l.busy = (v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / (double)sysconf(_SC_CLK_TCK);
  for (int i = 0; i < n; i++) {
    clockid_t clock;
    if (own[i]->pid && !clock_getcpuclockid(own[i]->pid, &clock)) l.own += cpu_seconds(clock);
  }
  return l;
}

double load_foreign(const Load *from, const Load *to) {
  double other = (to->busy - from->busy) - (to->own - from->own), wall = to->at - from->at;
  return wall > 0 && other > 0 ? other / wall : 0;
}

/* ---- quantiles ---- */
void reals_sort(Reals *r) {
  VEC_SORT(r, by_double);
}

double quantile(Reals *sorted, double q) { return sorted->n ? sorted->p[(size_t)(q * (double)(sorted->n - 1) + 0.5)] : NAN; }

/* ---- peak of the machine ---- */
typedef struct Probe {
  const char *so;
  int threads;
  int64_t bytes;
  Peak *result;
} Probe;

static _Noreturn void probe(const Probe *p) {
  double (*flops)(int), (*reads)(int, size_t);
  void *so = dlopen(p->so, RTLD_NOW | RTLD_LOCAL);
  if (!so) _exit(1);
  *(void **)&flops = dlsym(so, "peak_gflops");
  *(void **)&reads = dlsym(so, "peak_read_gbs");
  if (!flops || !reads) _exit(1);
  *p->result = (Peak){ flops(p->threads), reads(p->threads, (size_t)p->bytes) };
  _exit(0);
}

const char *probe_build(Ctx *c, const Options *o, const char *scratch, const char *name, const char *head, const Target *t,
                        const Texts *flags) {
  const Embedded *source = embedded_file(arena_printf(&c->model, "%s.c", name)), *shared = embedded_file("probe.h");
  const char *path = arena_printf(&c->model, "%s/%s.c", scratch, name);
  Texts more = { 0 };
  Sb text = { 0 };
  sb_puts(&text, head);
  sb_put(&text, source->p, source->n);
  file_put(c, path, text.p, text.n);
  file_put(c, arena_printf(&c->model, "%s/probe.h", scratch), shared->p, shared->n);
  sb_free(&text);
  VEC_PUSH(&more, arena_printf(&c->model, "-DLANES=%d", t->vector_bytes ? t->vector_bytes / 4 : 1));
  VEC_PUSH(&more, "-pthread");
  for (size_t i = 0; i < flags->n; i++) VEC_PUSH(&more, flags->p[i]);
  VEC_PUSH(&more, path);
  const char *so = shared_object(c, o, NULL, scratch, name, t->cflags, t, &more);
  VEC_FREE(&more);
  return so;
}

Peak peak_measure(Ctx *c, const Options *o, const char *scratch, const Target *t, int threads, int64_t bytes) {
  Texts flags = { 0 };
  VEC_PUSH(&flags, t->vector_regs > 16 ? "-DCHAINS=24" : "-DCHAINS=12");
  Probe p = { probe_build(c, o, scratch, "peak", "", t, &flags), threads, bytes, shared_memory(c, sizeof(Peak)) };
  VEC_FREE(&flags);
  pid_t pid = child_start(c);
  if (!pid) probe(&p);
  const int ended = child_wait(c, o, pid, "measuring the machine");
  if (WIFSIGNALED(ended)) child_died(c, ended, "the measurement of the machine");
  if (!(p.result->gflops > 0 && p.result->read_gbs > 0)) fail(c, EX_FAILED, "the rates of this machine cannot be measured");
  return *p.result;
}

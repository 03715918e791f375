/* SPDX-License-Identifier: MIT */
/* cases.c: models from files through case.c. Reads lines from standard input, fields parted by tabs:
 *   MODEL FLAGS SAVE INPUT...
 * FLAGS, or - for none: l runs the code that LLVM makes; c runs the code of the C compiler for the first machine; h draws hard
 * inputs; s compiles with fp32-strict; j says that the graph has jumps. SAVE: prefix of the files in which inputs and outputs are
 * left, or -. INPUT: a file of a value, or - for a drawn one.
 * Options: --isa=A,B  --seconds=N (CPU time of a model)  --memory=MB  --most=OPERATIONS  --shard=I/N
 * --tunable=NAME=VALUE (may be repeated).
 * --device: the machines are those of OpenCL, whose first device runs the models. Its driver must have no threads of its own.
 * Prints "N STATUS MODEL|COUNTS|WHY" for line N; COUNTS are those of case.h, in order. */
#include "../case/case.h"
#include "../case/opencl_run.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Input {
  char *text;
  char *field[64];
  int n;
} Input;
typedef struct List {
  VEC(Input) lines;
  const char *isa[16];
  const char *scratch;
  double most;
  Tunables tunables;
} List;

static const char *label(Cases *s, int64_t i) { return ((List *)s->arg)->lines.p[i].field[0]; }

/* data: of 64 files */
static Case case_of(const List *l, int64_t i, const char **data) {
  const Input *x = &l->lines.p[i];
  const char *flags = x->field[1];
  for (int d = 3; d < x->n; d++) data[d - 3] = strcmp(x->field[d], "-") ? x->field[d] : NULL;
  return (Case){ .path = x->field[0],
                 .isa = l->isa,
                 .data = data,
                 .ndata = x->n - 3,
                 .seed = (uint64_t)i,
                 .hard = strchr(flags, 'h') ? 64 : 0,
                 .strict = strchr(flags, 's') != NULL,
                 .steady = !strchr(flags, 'j'),
                 .c = strchr(flags, 'c') ? 1 : 0,
                 .llvm = strchr(flags, 'l') != NULL,
                 .save = strcmp(x->field[2], "-") ? x->field[2] : NULL,
                 .scratch = l->scratch,
                 .most = l->most,
                 .tunables = &l->tunables };
}

static void run(Cases *s, int64_t i, int skip, Sb *line) {
  const List *l = s->arg;
  const char *data[64] = { 0 };
  Case k = case_of(l, i, data);
  k.skip = skip;
  case_run(&k);
  case_report(&k, l->lines.p[i].field[0], line);
  case_free(&k);
}

/* ---- devices ----
 *
 * The models of a child are one program for each of the machines, because the driver's compiler takes most of the time. Each case
 * is run twice: once to compile its plan, and once more to judge what the device has made of it. */
enum { MODELS_OF_A_PROGRAM = 25 };

typedef struct Programs {
  OpenclBatch batch;
  VEC(void *) made;        /* outputs, of one model after another */
  size_t next;             /* number of the next output to be judged */
} Programs;

static void collect(Case *k, const Plan *p, const Tensor *in, void *const *unused) {
  Programs *all = k->arg;
  const void *given[64];
  void *made[64];
  (void)unused;
  CHECK(graph_nin(p->g) <= 64 && graph_nout(p->g) <= 64);
  for (size_t i = 0; i < graph_nin(p->g); i++)
    given[i] = arena_dup(&all->batch.c->model, in[i].data ? in[i].data : "", in[i].data ? opencl_bytes(&p->g->inputs.p[i]) : 1);
  for (size_t i = 0; i < graph_nout(p->g); i++) {
    made[i] = arena_alloc(&all->batch.c->model, opencl_bytes(&p->g->outputs.p[i]) + 1);
    VEC_PUSH(&all->made, made[i]);
  }
  opencl_add(&all->batch, p, given, made);
  case_fail(k, "not run yet"); /* so nothing is compared */
}

static void judge(Case *k, const Plan *p, const Tensor *in, void *const *out) {
  Programs *all = k->arg;
  (void)in;
  for (size_t i = 0; i < graph_nout(p->g); i++) memcpy(out[i], all->made.p[all->next++], opencl_bytes(&p->g->outputs.p[i]));
}

typedef void RunCase(Case *k, const Plan *p, const Tensor *in, void *const *out);

static void each_case(const List *l, int64_t first, int64_t end, Programs *all, RunCase *f, Sb *lines) {
  for (int64_t i = first; i < end; i++) {
    const char *data[64] = { 0 };
    Case k = case_of(l, i, data);
    k.backend = &opencl_backend;
    k.run = f;
    k.arg = all;
    if (!lines) k.save = NULL;
    case_run(&k);
    if (lines) {
      sb_printf(lines, "%lld ", (long long)i);
      case_report(&k, l->lines.p[i].field[0], lines);
      sb_puts(lines, "\n");
    }
    case_free(&k);
  }
}

/* Returns whether the program ran; text: the lines of the report, or why it did not run */
static bool run_program(const List *l, int64_t first, int64_t end, Sb *text) {
  Ctx c;
  Programs all = { .next = 0 };
  char why[512] = "";
  ctx_init(&c);
  all.batch.c = &c;
  each_case(l, first, end, &all, collect, NULL);
  if (all.batch.graphs) opencl_run(&all.batch, why);
  if (*why) sb_puts(text, why);
  else each_case(l, first, end, &all, judge, text);
  opencl_batch_free(&all.batch);
  VEC_FREE(&all.made);
  ctx_free(&c);
  return !*why;
}

/* Models of a program that does not run, or whose process dies, run again one by one. */
static bool run_on_device(const Cases *s, int64_t first, int64_t end) {
  const List *l = s->arg;
  const rlim_t seconds = (rlim_t)s->seconds * (rlim_t)(end - first);
  bool good = true;
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    Sb text = { 0 };
    setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
    const bool ran = run_program(l, first, end, &text);
    if (!ran && end - first > 1) _exit(2);
    if (ran) fputs(text.p, stdout);
    else printf("%lld fail %s| |%s\n", (long long)first, l->lines.p[first].field[0], text.p);
    fflush(stdout);
    _exit(!ran || strstr(text.p, " fail ") != NULL);
  }
  while (waitpid(child, &status, 0) < 0) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) < 2) return !status;
  if (end - first == 1)
    printf("%lld fail %s| |ended by %s %d\n", (long long)first, l->lines.p[first].field[0],
           WIFSIGNALED(status) ? "signal" : "exit code", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  for (int64_t i = first; i < end && end - first > 1; i++) good &= run_on_device(s, i, i + 1);
  return good && end - first > 1;
}

static bool run_on_devices(const Cases *s) {
  char why[512] = "";
  bool good = true;
  if (opencl_warm(why)) {
    printf("no device: %s\n", why);
    return false;
  }
  for (int64_t i = 0; i < s->end; i += MODELS_OF_A_PROGRAM)
    good &= run_on_device(s, i, i + MODELS_OF_A_PROGRAM < s->end ? i + MODELS_OF_A_PROGRAM : s->end);
  return good;
}

static void read_list(List *l) {
  char *line = NULL;
  size_t cap = 0;
  while (getline(&line, &cap, stdin) > 0) {
    Input x = { .text = strdup(line) };
    line[strcspn(line, "\n")] = 0;
    x.text[strcspn(x.text, "\n")] = 0;
    for (char *at = x.text, *next; at && x.n < 64; at = next) {
      next = strchr(at, '\t');
      if (next) *next++ = 0;
      x.field[x.n++] = at;
    }
    if (x.n >= 3) VEC_PUSH(&l->lines, x);
  }
  free(line);
}

int main(int argc, char **argv) {
  bool device = false;
  List l = { .isa = { "portable", "x86-64-v3" }, .tunables = tunables_default };
  Arena texts = { 0 };
  char scratch[] = "/tmp/tgc-cases-XXXXXX", command[64];
  Cases s = { .run = run, .label = label, .step = 1, .seconds = 10, .arg = &l };
  for (int i = 1; i < argc; i++) {
    const char *value = strchr(argv[i], '=');
    if (!strcmp(argv[i], "--device")) {
      device = true;
      continue;
    }
    if (!value++) return 64;
    long long a, b;
    if (starts_with(argv[i], "--seconds=")) s.seconds = atoi(value);
    else if (starts_with(argv[i], "--memory=")) s.memory = strtoll(value, NULL, 10) << 20;
    else if (starts_with(argv[i], "--most=")) l.most = strtod(value, NULL);
    else if (starts_with(argv[i], "--tunable=")) {
      if (tunables_set(&texts, &l.tunables, value)) return 64;
    } else if (starts_with(argv[i], "--shard=") && sscanf(value, "%lld/%lld", &a, &b) == 2) s.first = a, s.step = b;
    else if (starts_with(argv[i], "--isa=")) {
      int n = 0;
      for (char *at = strtok(strdup(value), ","); at && n < 15; at = strtok(NULL, ",")) l.isa[n++] = at;
      l.isa[n] = NULL;
    } else return 64;
  }
  read_list(&l);
  s.end = (int64_t)l.lines.n;
  if (!mkdtemp(scratch)) return 73;
  l.scratch = scratch;
  const bool good = device ? run_on_devices(&s) : cases_run(&s);
  snprintf(command, sizeof command, "rm -rf %s", scratch);
  return system(command) ? 73 : !good;
}

/* SPDX-License-Identifier: MIT */
/* metrics.c: how far outputs are from their references, as numbers that --require compares with limits.
 *
 * A metric covers all runs of an output: the elements of all data sets and steps are taken as one list. --metric adds a command,
 * which gets both lists as files of NumPy and prints a number. */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const metric_names[METRIC_COUNT] = {
  "max_ulp", "max_relative", "max_absolute", "rms", "cosine", "snr", "top1", "outside",
};
const char *metric_name(int m) { return metric_names[m]; }

int metric_named(const char *name, size_t n) {
  int m = 0;
  while (m < METRIC_COUNT && (strlen(metric_names[m]) != n || memcmp(metric_names[m], name, n))) m++;
  return m;
}

bool metric_falls(int m) { return m != METRIC_COSINE && m != METRIC_SNR && m != METRIC_TOP1 && m != METRIC_COUNT; }

/* ---- requirements ---- */
bool requirement_parse(const char *text, RequireParts *r) {
  const char *op = strpbrk(text, "<>");
  char *end;
  if (!op || op == text || op[1] != '=') return false;
  const char *at = memchr(text, '@', (size_t)(op - text));
  r->metric_n = (size_t)((at ? at : op) - text);
  r->output = at ? at + 1 : NULL;
  r->output_n = at ? (size_t)(op - at) - 1 : 0;
  r->least = *op == '>';
  r->limit = strtod(op + 2, &end);
  return r->metric_n && (!at || r->output_n) && end != op + 2 && !*end && !isnan(r->limit);
}

bool metric_known(const Options *o, const char *name, size_t n) {
  if (metric_named(name, n) < METRIC_COUNT) return true;
  for (size_t i = 0; i < o->metrics.n; i++)
    if (!strncmp(o->metrics.p[i], name, n) && o->metrics.p[i][n] == '=') return true;
  return false;
}

void metric_choices(const Options *o, Arena *a, Texts *words) {
  for (int m = 0; m < METRIC_COUNT; m++) VEC_PUSH(words, metric_names[m]);
  for (size_t i = 0; i < o->metrics.n; i++) VEC_PUSH(words, arena_str(a, o->metrics.p[i], strcspn(o->metrics.p[i], "=")));
}

/* ---- the built-in ones ---- */

/* Elements of a row in which top1 looks for the greatest: those of the last axis that is longer than 1 */
static int64_t row_length(const Tensor *t) {
  for (int a = t->rank; a-- > 0;)
    if (t->dims[a] > 1) {
      int64_t after = 1;
      for (int k = a + 1; k < t->rank; k++) after *= t->dims[k];
      return t->dims[a] * after; /* after is 1 */
    }
  return t->elems;
}

static int64_t greatest(const Tensor *t, int64_t from, int64_t n) {
  int64_t best = from;
  for (int64_t i = from + 1; i < from + n; i++)
    if (tensor_at(t, i) > tensor_at(t, best)) best = i;
  return best;
}

typedef struct Sums {
  double xy, xx, yy, error;
  int64_t elems, rows, same;
} Sums;

static void add_run(Sums *s, const Tensor *got, const Tensor *want) {
  const int64_t row = row_length(want);
  for (int64_t i = 0; i < want->elems; i++) {
    const double x = tensor_at(got, i), y = tensor_at(want, i);
    if ((isnan(x) && isnan(y)) || (isinf(y) && x == y)) continue; /* equal, and without a size */
    s->xy += x * y;
    s->xx += x * x;
    s->yy += y * y;
    s->error += (x - y) * (x - y);
    s->elems++;
  }
  for (int64_t i = 0; row > 0 && i + row <= want->elems; i += row) {
    s->rows++;
    s->same += greatest(got, i, row) == greatest(want, i, row);
  }
}

static double cosine_of(const Sums *s) {
  if (s->xx == 0 && s->yy == 0) return 1;
  return s->xx == 0 || s->yy == 0 ? 0 : s->xy / (sqrt(s->xx) * sqrt(s->yy));
}

void metrics_measure(const Tensor *got, const Tensor *want, size_t runs, size_t stride, const Diff *d, double out[METRIC_COUNT]) {
  Sums s = { 0 };
  for (int m = 0; m < METRIC_COUNT; m++) out[m] = 0;
  for (size_t r = 0; r < runs; r++) {
    const Diff *x = &d[r * stride];
    add_run(&s, &got[r * stride], &want[r * stride]);
    out[METRIC_MAX_ULP] = fmax(out[METRIC_MAX_ULP], x->max_ulp);
    out[METRIC_MAX_RELATIVE] = fmax(out[METRIC_MAX_RELATIVE], x->max_rel);
    out[METRIC_MAX_ABSOLUTE] = fmax(out[METRIC_MAX_ABSOLUTE], x->max_abs);
    out[METRIC_OUTSIDE] += (double)x->bad;
  }
  out[METRIC_RMS] = s.elems ? sqrt(s.error / (double)s.elems) : 0;
  out[METRIC_COSINE] = cosine_of(&s);
  out[METRIC_SNR] = s.error == 0 ? INFINITY : 10 * log10(s.yy / s.error);
  out[METRIC_TOP1] = s.rows ? (double)s.same / (double)s.rows : 1;
}

/* ---- commands ---- */

/* All runs of an output as one tensor with an axis in front */
static const char *save_runs(Ctx *c, const char *path, const Tensor *t, size_t runs, size_t stride) {
  Tensor all = *t;
  const size_t n = (size_t)t->elems * (size_t)dt_bytes(t->dt);
  char *p = arena_alloc(&c->model, size_mul(n, runs) + 1);
  for (size_t r = 0; r < runs; r++) memcpy(p + r * n, t[r * stride].data, n);
  if (t->rank < MAX_RANK) {
    memmove(all.dims + 1, all.dims, (size_t)t->rank * sizeof *all.dims);
    all.dims[0] = (int64_t)runs;
    all.rank++;
  } else all.dims[0] *= (int64_t)runs;
  all.data = p;
  all.elems *= (int64_t)runs;
  tensor_save(c, path, "npy", "", &all);
  return path;
}

static void run_command(const char *command, const char *got, const char *want, const char *output, const char *to) {
  if (!freopen(to, "w", stdout)) _exit(126);
  execl("/bin/sh", "sh", "-c", arena_printf(&(Arena){ 0 }, "%s \"$@\"", command), "sh", got, want, output, (char *)NULL);
  _exit(127);
}

double metric_command(Ctx *c, const Options *o, const char *scratch, const char *metric, const char *output, const Tensor *got,
                      const Tensor *want, size_t runs, size_t stride) {
  const char *name = arena_str(&c->model, metric, strcspn(metric, "=")), *command = metric + strlen(name) + 1;
  const char *x = save_runs(c, arena_printf(&c->model, "%s/got.npy", scratch), got, runs, stride),
             *y = save_runs(c, arena_printf(&c->model, "%s/want.npy", scratch), want, runs, stride),
             *to = arena_printf(&c->model, "%s/metric.txt", scratch);
  const pid_t pid = child_start(c);
  if (!pid) run_command(command, x, y, output, to);
  const int ended = child_wait(c, o, pid, "running the metric's command");
  c->file = NULL; /* the model is not to blame */
  if (!WIFEXITED(ended) || WEXITSTATUS(ended))
    fail(c, EX_FAILED, "the command of the metric '%s' ended with status %d: %s", name,
         WIFEXITED(ended) ? WEXITSTATUS(ended) : EX_SIGNAL + WTERMSIG(ended), command);
  const Bytes b = file_read(c, to, 1 << 20);
  const char *text = arena_str(&c->model, (const char *)b.p, b.n);
  char *end;
  const double v = strtod(text, &end);
  if (end == text || end[strspn(end, " \t\r\n")])
    fail(c, EX_FAILED, "the command of the metric '%s' printed no number but '%.40s'", name, text);
  return v;
}

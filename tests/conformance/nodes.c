/* SPDX-License-Identifier: MIT */
/* nodes.c: runs tests in the layout of the official ONNX ones through the front end and the graph interpreter. Reads folders
 * from stdin, one per line (model.onnx, test_data_set_N/input_J.pb and output_J.pb); prints per folder "pass FOLDER", "fail
 * FOLDER: why" or "skip FOLDER: why".
 *
 * Many of these tests feed what real models hold as constants (the shape of a Reshape, the axes of a reduction) through graph
 * inputs. When a model is refused for that reason it is tried again with all inputs but the first as constants, then with all of
 * them. Each test runs in a child process, so that a crash fails one test.
 *
 * With DEVICE the graphs run on that machine of OpenCL, in the interpreter's place. The tests of a child are one program then,
 * because the driver's compiler takes most of the time. Where a child dies, or the program does not run, its tests run again one
 * by one. */
#include "../../compiler/interp/interp.h"
#include "../../frontends/onnx/wire/onnx.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef DEVICE /* the machine whose bundle runs in the interpreter's place: "opencl" */
#include "../case/opencl_run.h"
#endif

enum { MAX_IO = 64, CPU_SECONDS = 20 };
#ifdef DEVICE
enum { TESTS_OF_A_CHILD = 50 };
#else
enum { TESTS_OF_A_CHILD = 1 };
#endif
static const double REL = 1e-3, ABS = 1e-7; /* the tolerance of the ONNX tests themselves */

typedef struct Case {      /* one data set of a test */
  char model[4096], data[4096];
  int constant_from;       /* inputs from this one on become constants */
  Ctx ctx;
  Graph *g;                /* NULL: it is refused, and text says why */
  Tensor got[MAX_IO];
  char text[2048], why[512]; /* why: the reason of a failure that is not a refusal */
} Case;

typedef struct Work {
  VEC(Case *) cases;
#ifdef DEVICE
  Ctx ctx;
  OpenclBatch batch;
#endif
} Work;

static char *path_of(Ctx *c, const char *dir, const char *kind, int k) {
  return arena_printf(&c->model, "%s/%s_%d.pb", dir, kind, k);
}

/* small: the type of small_types.c whose bytes t holds; NULL: none */
static double value_at(const Tensor *t, const SmallType *small, int64_t i) {
  uint64_t v = (uint64_t)t->splat;
  if (small && dt_float(small->kept)) return small_value(small, ((const uint8_t *)t->data)[i]);
  if (t->data) {
    v = 0;
    memcpy(&v, (const char *)t->data + i * dt_bytes(t->dt), (size_t)dt_bytes(t->dt));
    v = dt_wrap(t->dt, v);
  }
  return dt_float(t->dt) && dtype_info[t->dt].bits < 64
             ? bits_to_double(t->dt, (int64_t)(v & (((uint64_t)1 << dtype_info[t->dt].bits) - 1)))
             : bits_to_double(t->dt, (int64_t)v);
}

/* Transforms in f32, which expected values come from too, leave errors of what all their terms are where the result is 0. */
static double least_error(const Case *k, const Tensor *want) {
  double largest = 0;
  if (!strstr(k->model, "/test_dft") && !strstr(k->model, "/test_stft")) return ABS;
  for (int64_t i = 0; i < want->elems; i++) largest = fmax(largest, fabs(value_at(want, NULL, i)));
  return fmax(ABS, 1e-6 * largest);
}

static bool close_enough(double got, double want, double error) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  return got == want || fabs(got - want) <= error + REL * fabs(want);
}

/* Strings with rows of as many bytes as `like` has */
static void widen(Ctx *c, Tensor *t, const GIO *like) {
  if (t->narrow != ONNX_STRING || like->narrow != ONNX_STRING || t->rank != like->rank) return;
  const int64_t from = t->dims[t->rank - 1], to = like->dims[t->rank - 1], rows = dims_elems(t->dims, t->rank - 1);
  if (from > to) return;
  char *p = ARENA_NEW(&c->model, char, rows *to + 1);
  for (int64_t i = 0; i < rows; i++) memcpy(p + i * to, (const char *)t->data + i * from, (size_t)from);
  t->dims[t->rank - 1] = to;
  t->elems = rows * to;
  t->data = p;
}

static void compare(Case *k, int output, const Tensor *got, const Tensor *want) {
  if (got->dt != want->dt || got->rank != want->rank ||
      (want->rank && memcmp(got->dims, want->dims, (size_t)want->rank * sizeof *want->dims))) {
    int n = snprintf(k->why, sizeof k->why, "output %d is %s", output, dtype_info[got->dt].text);
    for (int i = 0; i < got->rank; i++) n += snprintf(k->why + n, sizeof k->why - (size_t)n, " %lld", (long long)got->dims[i]);
    n += snprintf(k->why + n, sizeof k->why - (size_t)n, ", expected %s", dtype_info[want->dt].text);
    for (int i = 0; i < want->rank; i++) n += snprintf(k->why + n, sizeof k->why - (size_t)n, " %lld", (long long)want->dims[i]);
    return;
  }
  const double error = least_error(k, want);
  const SmallType *small = small_type(want->narrow);
  for (int64_t i = 0; i < want->elems; i++) {
    double g = value_at(got, small, i), w = value_at(want, small, i);
    if (close_enough(g, w, error)) continue;
    snprintf(k->why, sizeof k->why, "output %d element %lld of %lld is %.9g, expected %.9g", output, (long long)i,
             (long long)want->elems, g, w);
    return;
  }
}

/* As many rows as are expected, where the model's first node needs a capacity: of Unique there are as many places */
static int64_t capacity_of(Ctx *c, const Case *k, const OnnxModel *m) {
  const OnnxNode *n = m->graph.nodes;
  if (!m->graph.nnodes || (strcmp(n->op, "NonMaxSuppression") && strcmp(n->op, "Unique"))) return 0;
  return onnx_tensor_load(c, path_of(c, k->data, "output", n->nout > 1 && n->out[1])).dims[0];
}

#ifdef DEVICE
static void compute(Work *w, Case *k, const Tensor *const *in) {
  Arena *m = &k->ctx.model;
  const void *given[MAX_IO];
  void *made[MAX_IO];
  const Plan *p = compile_graph(k->g, &(CompileOptions){ .target = device_target(DEVICE), .backend = &opencl_backend });
  for (size_t i = 0; i < graph_nin(k->g); i++) given[i] = in[i]->data ? in[i]->data : "";
  for (size_t i = 0; i < graph_nout(k->g); i++) {
    const GIO *v = &k->g->outputs.p[i];
    k->got[i] = (Tensor){ .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank) };
    memcpy(k->got[i].dims, v->dims, sizeof v->dims);
    k->got[i].data = made[i] = arena_alloc(m, opencl_bytes(v) + 1);
  }
  opencl_add(&w->batch, p, given, made);
}
#else
static void compute(Work *w, Case *k, const Tensor *const *in) {
  Ref roots[MAX_IO];
  (void)w;
  for (size_t i = 0; i < k->g->outputs.n; i++) roots[i] = k->g->outputs.p[i].ref;
  if (!interp_graph(k->g->ir, roots, (int)k->g->outputs.n, in, &k->ctx.model, false, 0, k->got))
    BUG("the interpreter ran out of steps");
}
#endif

/* The inputs of the data set in the order of the model's, some of them turned into constants */
typedef struct Loading { Work *w; Case *k; } Loading;
static void load_case(Ctx *c, void *arg) {
  Case *k = ((Loading *)arg)->k;
  OnnxModel m = { 0 };
  LoadOptions o = { 0 };
  DimValue *dims = ARENA_NEW(&c->model, DimValue, MAX_IO * MAX_RANK);
  Tensor *in = ARENA_NEW(&c->model, Tensor, MAX_IO);
  const Tensor *fed[MAX_IO] = { 0 };
  c->file = k->model;
  onnx_read(c, k->model, &o, &m);
  OnnxId *kept = ARENA_NEW(&c->model, OnnxId, m.graph.nin + 1);
  uint32_t nkept = 0, nfed = 0;
  for (uint32_t i = 0; i < m.graph.nin && i < MAX_IO; i++) {
    OnnxValue *v = &m.values.p[m.graph.in[i]];
    const char *path = path_of(c, k->data, "input", (int)i);
    DataList list = { .p = ARENA_NEW(&c->model, Tensor, 1), .n = 1 };
    const bool is_list = v->type.inside != ON_NOTYPE && onnx_list_load(c, path, &list);
    if (is_list) dims[o.ndims++] = (DimValue){ arena_printf(&c->model, "#list:%u", nkept), list.n, NULL };
    else if ((int)i >= k->constant_from) {
      Tensor *t = ARENA_NEW(&c->model, Tensor, 1);
      *t = onnx_tensor_load(c, path);
      v->init = t;
      continue;
    } else list.p[0] = onnx_data_load(c, path);
    for (int j = 0; j < list.n; j++) {
      const Tensor *t = &list.p[j];
      in[nfed] = *t;
      fed[nfed] = &in[nfed];
      for (int a = 0; a < t->rank - (t->narrow == ONNX_STRING); a++)
        dims[o.ndims++] = (DimValue){ is_list ? arena_printf(&c->model, "#%u:%d", nfed, a)
                                              : arena_printf(&c->model, "%s:%d", v->name, a),
                                      t->dims[a], NULL };
      nfed++;
    }
    kept[nkept++] = m.graph.in[i];
  }
  m.graph.in = kept;
  m.graph.nin = nkept;
  o.dims = dims;
  o.capacity = capacity_of(c, k, &m);
  Graph *g = onnx_build(c, &m, &o);
  VEC_FREE(&m.values);
  ir_verify_graph(g);
  for (size_t i = 0; i < graph_nin(g); i++) widen(c, &in[i], &g->inputs.p[i]);
  k->g = g;
  compute(((Loading *)arg)->w, k, fed);
}

static void judge_case(Ctx *c, void *arg) {
  Case *k = arg;
  size_t output = 0; /* a sequence has as many as it has tensors */
  for (int i = 0; output < k->g->outputs.n && !*k->why; i++) {
    const char *path = path_of(c, k->data, "output", i);
    DataList list = { .p = ARENA_NEW(&c->model, Tensor, 1), .n = 1 };
    if (access(path, R_OK)) return;
    if (!onnx_list_load(c, path, &list)) list.p[0] = onnx_data_load(c, path);
    for (int j = 0; j < list.n && !*k->why; j++, output++) {
      if (output == k->g->outputs.n)
        snprintf(k->why, sizeof k->why, "output %d has %d tensors, of which some are missing", i, list.n);
      if (*k->why) return;
      widen(c, &list.p[j], &k->g->outputs.p[output]);
      compare(k, (int)output, &k->got[output], &list.p[j]);
    }
  }
}

/* Runs fn; its messages go to k->text. */
static bool attempt(Case *k, void (*fn)(Ctx *, void *), void *arg) {
  char *message = NULL;
  size_t n = 0;
  k->ctx.err = open_memstream(&message, &n);
  const int code = ctx_try(&k->ctx, fn, arg);
  fclose(k->ctx.err);
  k->ctx.err = stderr;
  if (code) snprintf(k->text, sizeof k->text, "%s", message);
  free(message);
  return !code;
}

static Case *new_case(Work *w, const char *folder, int set) {
  Case *k = NULL;
  for (int from = MAX_IO; from >= 0; from = from == MAX_IO ? 1 : from - 1) {
    k = xcalloc(1, sizeof *k);
    snprintf(k->model, sizeof k->model, "%s/model.onnx", folder);
    snprintf(k->data, sizeof k->data, "%s/test_data_set_%d", folder, set);
    k->constant_from = from;
    ctx_init(&k->ctx);
    if (attempt(k, load_case, &(Loading){ w, k })) return k;
    k->g = NULL;
    if (!strstr(k->text, "depend") || !from) break;
    ctx_free(&k->ctx);
    free(k);
  }
  return k;
}

/* A test is as good as the first of its data sets that does not pass. */
static void put_result(const char *folder, Case *const *cases, size_t n, Sb *out) {
  const char *word = "pass", *text = "";
  for (size_t i = 0; i < n && !*text; i++) {
    Case *k = cases[i];
    const bool judged = k->g && attempt(k, judge_case, k);
    if (judged && !*k->why) continue;
    word = *k->why ? "fail" : "skip";
    text = *k->why ? k->why : k->text;
  }
  char *line = arena_printf(&cases[0]->ctx.model, "%s", text);
  for (char *p = line; *p; p++)
    if (*p == '\n') *p = p[1] ? '|' : 0;
  const char *why = strstr(line, "model.onnx: ");
  sb_printf(out, "%s %s%s%s\n", word, folder, *line ? ": " : "", why ? why + 12 : line);
}

/* Returns whether the tests have results */
static bool run_tests(char *const *folders, size_t n) {
  Work w = { 0 };
  Sb out = { 0 };
  size_t ends[TESTS_OF_A_CHILD];
#ifdef DEVICE
  char why[512] = "";
  ctx_init(&w.ctx);
  w.batch.c = &w.ctx;
#endif
  for (size_t i = 0; i < n; i++) {
    char data[4096];
    for (int set = 0;; set++) {
      snprintf(data, sizeof data, "%s/test_data_set_%d", folders[i], set);
      if (access(data, R_OK)) break;
      VEC_PUSH(&w.cases, new_case(&w, folders[i], set));
    }
    ends[i] = w.cases.n;
  }
#ifdef DEVICE
  if (w.batch.graphs) opencl_run(&w.batch, why);
  if (*why && n > 1) return false;
  for (size_t i = 0; i < w.cases.n && *why; i++)
    if (w.cases.p[i]->g) snprintf(w.cases.p[i]->why, sizeof why, "%s", why);
#endif
  for (size_t i = 0, from = 0; i < n; from = ends[i++])
    if (ends[i] > from) put_result(folders[i], w.cases.p + from, ends[i] - from, &out);
    else sb_printf(&out, "skip %s: no data\n", folders[i]);
  fwrite(out.p, 1, out.n, stdout);
  fflush(stdout);
  sb_free(&out);
#ifdef DEVICE
  opencl_batch_free(&w.batch);
#endif
  return true;
}

/* -> the status of the child that ran them; 0: they have results */
static int run_child(char *const *folders, size_t n) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_SECONDS * n, CPU_SECONDS * n }); /* not time: the machine may be busy */
    _exit(!run_tests(folders, n));
  }
  waitpid(child, &status, 0);
  return status;
}

static void run_all(char *const *folders, size_t n) {
  int status = run_child(folders, n);
  if (!status) return;
  for (size_t i = 0; i < n; i++) {
    if (n > 1) status = run_child(folders + i, 1);
    if (status) printf("fail %s: ended by signal %d\n", folders[i], WIFSIGNALED(status) ? WTERMSIG(status) : -1);
  }
}

int main(void) {
  char line[4096], *folders[TESTS_OF_A_CHILD];
  size_t n = 0;
#ifdef DEVICE
  char why[512] = "";
  if (opencl_warm(why)) {
    printf("no device: %s\n", why);
    return 1;
  }
#endif
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    folders[n++] = strdup(line);
    if (n == TESTS_OF_A_CHILD) run_all(folders, n), n = 0;
  }
  if (n) run_all(folders, n);
  return 0;
}

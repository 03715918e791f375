/* nodes.c: runs tests in the layout of the official ONNX ones through the front end and the graph
 * interpreter. Reads folders from stdin, one per line (model.onnx, test_data_set_N/input_J.pb and
 * output_J.pb); prints per folder "pass FOLDER", "fail FOLDER: why" or "skip FOLDER: why".
 *
 * Many of these tests feed what real models hold as constants (the shape of a Reshape, the axes of a
 * reduction) through graph inputs. When a model is refused for that reason it is tried again with all
 * inputs but the first as constants, then with all of them. Each test runs in a child process, so that
 * a crash fails one test. With DEVICE the graphs run on that machine of OpenCL, in the interpreter's place. */
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

enum { MAX_IO = 64 };
static const double REL = 1e-3, ABS = 1e-7; /* the tolerance of the ONNX tests themselves */

typedef struct Case {
  const char *model, *data; /* file, and folder of one data set */
  int constant_from;        /* inputs from this one on become constants */
  char why[512];            /* the reason of a failure that is not a refusal */
} Case;

static char *path_of(Ctx *c, const char *dir, const char *kind, int k) {
  return arena_printf(&c->model, "%s/%s_%d.pb", dir, kind, k);
}

static double value_at(const Tensor *t, int64_t i) {
  uint64_t v = (uint64_t)t->splat;
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
  for (int64_t i = 0; i < want->elems; i++) largest = fmax(largest, fabs(value_at(want, i)));
  return fmax(ABS, 1e-6 * largest);
}

static bool close_enough(double got, double want, double error) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  return got == want || fabs(got - want) <= error + REL * fabs(want);
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
  for (int64_t i = 0; i < want->elems; i++) {
    double g = value_at(got, i), w = value_at(want, i);
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

/* The inputs of the data set in the order of the model's, some of them turned into constants */
static void run_case(Ctx *c, void *arg) {
  Case *k = arg;
  OnnxModel m = { 0 };
  LoadOptions o = { 0 };
  DimValue *dims = ARENA_NEW(&c->model, DimValue, MAX_IO * MAX_RANK);
  Tensor *in = ARENA_NEW(&c->model, Tensor, MAX_IO);
  const Tensor *fed[MAX_IO] = { 0 };
  c->file = k->model;
  onnx_read(c, k->model, &o, &m);
  OnnxId *kept = ARENA_NEW(&c->model, OnnxId, m.graph.nin + 1);
  uint32_t nkept = 0;
  for (uint32_t i = 0; i < m.graph.nin && i < MAX_IO; i++) {
    OnnxValue *v = &m.values.p[m.graph.in[i]];
    in[i] = onnx_tensor_load(c, path_of(c, k->data, "input", (int)i));
    if ((int)i >= k->constant_from) {
      v->init = &in[i];
      continue;
    }
    for (int a = 0; a < in[i].rank; a++)
      dims[o.ndims++] = (DimValue){ arena_printf(&c->model, "%s:%d", v->name, a), in[i].dims[a] };
    fed[nkept] = &in[i];
    kept[nkept++] = m.graph.in[i];
  }
  m.graph.in = kept;
  m.graph.nin = nkept;
  o.dims = dims;
  o.capacity = capacity_of(c, k, &m);
  Graph *g = onnx_build(c, &m, &o);
  ir_verify_graph(g);
  Ref roots[MAX_IO];
  Tensor got[MAX_IO];
  for (size_t i = 0; i < g->outputs.n; i++) roots[i] = g->outputs.p[i].ref;
#ifdef DEVICE
  (void)roots;
  opencl_run_graph(c, g, DEVICE, fed, got, k->why, sizeof k->why);
#else
  if (!interp_graph(g->ir, roots, (int)g->outputs.n, fed, &c->model, false, 0, got)) BUG("the interpreter ran out of steps");
#endif
  for (size_t i = 0; i < g->outputs.n && !*k->why; i++) {
    const char *path = path_of(c, k->data, "output", (int)i);
    if (access(path, R_OK)) continue;
    Tensor want = onnx_tensor_load(c, path);
    compare(k, (int)i, &got[i], &want);
  }
  ir_free(g->ir);
  VEC_FREE(&m.values);
}

/* 0 passed, 1 failed, 2 refused with the message in text */
static int try_case(Case *k, char *text, size_t size) {
  Ctx c;
  char *message = NULL;
  size_t n = 0;
  ctx_init(&c);
  c.err = open_memstream(&message, &n);
  int code = ctx_try(&c, run_case, k);
  fclose(c.err);
  snprintf(text, size, "%s", message);
  free(message);
  ctx_free(&c);
  return code ? 2 : *k->why ? 1 : 0;
}

static int run_folder(const char *folder) {
  char model[4096], data[4096], text[2048] = "";
  int status = 2;
  snprintf(model, sizeof model, "%s/model.onnx", folder);
  for (int set = 0;; set++) {
    snprintf(data, sizeof data, "%s/test_data_set_%d", folder, set);
    if (access(data, R_OK)) break;
    for (int from = MAX_IO; from >= 0; from = from == MAX_IO ? 1 : from - 1) {
      Case k = { .model = model, .data = data, .constant_from = from };
      status = try_case(&k, text, sizeof text);
      if (*k.why) snprintf(text, sizeof text, "%s", k.why);
      if (status != 2 || !strstr(text, "depend")) break;
    }
    if (status) break;
  }
  for (char *p = text; *p; p++)
    if (*p == '\n') *p = p[1] ? '|' : 0;
  const char *why = strstr(text, "model.onnx: ");
  printf("%s %s%s%s\n",
         status == 0   ? "pass"
         : status == 1 ? "fail"
                       : "skip",
         folder, status ? ": " : "", status ? (why ? why + 12 : text) : "");
  fflush(stdout);
  return 0;
}

int main(void) {
  char folder[4096];
#ifdef DEVICE
  char why[512] = "";
  if (opencl_warm(why)) {
    printf("no device: %s\n", why);
    return 1;
  }
#endif
  while (fgets(folder, sizeof folder, stdin)) {
    int status;
    folder[strcspn(folder, "\n")] = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      setrlimit(RLIMIT_CPU, &(struct rlimit){ 20, 20 }); /* not time: the machine may be busy */
      _exit(run_folder(folder));
    }
    waitpid(child, &status, 0);
    if (status) printf("fail %s: ended by signal %d\n", folder, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
  }
  return 0;
}

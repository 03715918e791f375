/* SPDX-License-Identifier: MIT */
/* load.c: loads models as the program does, and reports the results. "load FILE..." exits with the code of the last.
 * "load cut FILE" loads every prefix of a file, and "load flip FILE" the file with every single bit flipped. Both run in one
 * process, because thousands of programs would take minutes. An accepted model is compiled, and its interpreted program must
 * give what its graph gives. They print how often each code came, and fail on any code that a bad model may not give.
 * "load rows" prints the table of operators: domain, name, last opset, least and most inputs, outputs, types of the inputs,
 * attributes.
 *
 * "load shapes" reads folders of official node tests from its standard input and gives their inputs other shapes: without
 * elements, of rank 0, of 9 axes. It prints a line for each shape. Fields: folder, variant, status, first constant input,
 * shapes of the inputs, shapes of the outputs ("-": none), seconds, a message or "differs". */
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../frontends/frontends.h"
#include "../../frontends/onnx/core/build.h"
#include "../case/outputs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Job {
  const char *path;
  bool tensor, run;
  bool ran, differs;   /* results of run */
} Job;

enum { MOST_ELEMS = 1 << 20 }; /* larger inputs and outputs together are not run */

static int64_t interface_elems(const Graph *g) {
  int64_t n = 0, all = 0;
  for (size_t i = 0; i < g->inputs.n; i++)
    if (!i64_add(n, dims_elems(g->inputs.p[i].dims, g->inputs.p[i].rank), &n)) return INT64_MAX;
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!i64_add(all, dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank), &all)) return INT64_MAX;
  return i64_add(n, all, &all) ? all : INT64_MAX;
}

/* Zero, positive and negative whole numbers, which are exact in every type. */
static Tensor example(Ctx *c, const GIO *io) {
  Tensor t = { .dt = io->dt, .rank = io->rank, .elems = dims_elems(io->dims, io->rank) };
  char *p = arena_alloc(&c->model, (size_t)t.elems * (size_t)dt_bytes(t.dt));
  for (int64_t i = 0; i < t.elems; i++) {
    int64_t bits = double_to_bits(t.dt, (double)(i * 7 % 11 - 5));
    memcpy(p + i * dt_bytes(t.dt), &bits, (size_t)dt_bytes(t.dt));
  }
  memcpy(t.dims, io->dims, sizeof t.dims);
  t.data = p;
  return t;
}

static void *memory(const Plan *p, const Buf *b, const Tensor *in, void *const *out, char *arena, Arena *m) {
  if (buf_is_own(b->kind)) return arena_alloc(m, (size_t)(b->elems * dt_bytes(b->dt)));
  return buffer_memory(p, b, in, out, arena);
}

/* Whether the compiled program gives the outputs that the graph as loaded gives. */
static bool agrees(Ctx *c, Graph *g, double part) {
  size_t nin = g->inputs.n, nout = g->outputs.n;
  Tensor *in = ARENA_NEW(&c->model, Tensor, nin + 1), *want = ARENA_NEW(&c->model, Tensor, nout + 1);
  const Tensor **given = ARENA_NEW(&c->model, const Tensor *, nin + 1);
  Ref *roots = ARENA_NEW(&c->model, Ref, nout + 1);
  void **out = ARENA_NEW(&c->model, void *, nout + 1);
  for (size_t i = 0; i < nin; i++) in[i] = example(c, &g->inputs.p[i]), given[i] = &in[i];
  for (size_t i = 0; i < nout; i++) {
    const GIO *io = &g->outputs.p[i];
    roots[i] = io->ref;
    out[i] = arena_alloc(&c->model, (size_t)dims_elems(io->dims, io->rank) * (size_t)dt_bytes(io->dt));
  }
  CHECK(interp_graph(g->ir, roots, (int)nout, given, &c->model, false, 0, want));
  const char *why;
  Plan *p = compile_graph(g, &(CompileOptions){ .target = target_find(&c->model, "portable", &why), .backend = backends[0] });
  char *arena = arena_alloc(&c->model, (size_t)p->memory.arena_bytes);
  void **mem = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1);
  for (size_t b = 0; b < p->ir->bufs.n; b++) mem[b] = memory(p, &p->ir->bufs.p[b], in, out, arena, &c->model);
  int64_t *shift = ARENA_NEW(&c->model, int64_t, p->ir->bufs.n + 1);
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    for (size_t b = 0; b < x->bufs.n; b++) shift[x->bufs.p[b]] = x->shift ? x->shift[b] : 0;
    interp_chunks(p->ir, x->prog.p, x->prog.n, mem, shift, 0, 1, 1);
  }
  bool ok = true;
  for (size_t i = 0; i < graph_nout(g); i++) ok &= outputs_differ(&want[i], out[i], part, 0) < 0; /* not the status of indices, which is behind */
  return ok;
}

static void load(Ctx *c, void *arg) {
  Job *job = arg;
  LoadOptions o = { 0 };
  if (job->tensor) {
    c->file = job->path;
    onnx_tensor_load(c, job->path);
    return;
  }
  Graph *g = model_load(c, job->path, &o);
  job->ran = job->run && interface_elems(g) <= MOST_ELEMS;
  job->differs = job->ran && !agrees(c, g, 1e-6);
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
}

static int load_once(Job *job, FILE *err) {
  Ctx c;
  ctx_init(&c);
  c.err = err;
  int code = ctx_try(&c, load, job);
  ctx_free(&c);
  return code;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint8_t *slurp(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  uint8_t *p = malloc(1 << 20);
  *n = f && p ? fread(p, 1, 1 << 20, f) : 0;
  if (f) fclose(f);
  return p;
}

/* Loads variant i of the file: the first i bytes, or bit i flipped. */
static int load_variant(Job *job, uint8_t *p, size_t n, size_t i, bool flip, FILE *err) {
  if (flip) p[i / 8] ^= (uint8_t)(1 << i % 8);
  FILE *f = fopen(job->path, "wb"); /* not file_write, which waits for the disk */
  bool failed = !f || fwrite(p, 1, flip ? n : i, f) != (flip ? n : i);
  if (f) fclose(f);
  if (flip) p[i / 8] ^= (uint8_t)(1 << i % 8);
  return failed ? EX_NOINPUT_ : load_once(job, err);
}

static int sweep(const char *path, bool flip) {
  size_t n;
  uint8_t *p = slurp(path, &n);
  char scratch[] = "/tmp/tgc-sweep-XXXXXX";
  int fd = mkstemp(scratch), fault = 0;
  if (!p || !n || fd < 0) return EX_NOINPUT_;
  close(fd);
  FILE *err = fopen("/dev/null", "w");
  size_t done = 0, bad = 0, ran = 0, variants = flip ? n * 8 : n;
  for (size_t i = 0; i < variants; i++) {
    double start = seconds();
    Job job = { .path = scratch, .run = true };
    int code = load_variant(&job, p, n, i, flip, err);
    done += code == EX_DONE;
    bad += code == EX_BADMODEL;
    ran += job.ran;
    if ((code == EX_DONE || code == EX_BADMODEL) && !job.differs && seconds() - start < 1) continue;
    printf("%s %zu: code %d after %.1f s%s\n", flip ? "bit" : "length", i, code, seconds() - start,
           job.differs ? ", another result than the interpreter's" : "");
    fault = 1;
  }
  printf("%zu accepted, %zu of them compiled and compared, %zu refused\n", done, ran, bad);
  unlink(scratch);
  fclose(err);
  free(p);
  return fault;
}

static int rows(void) {
#define OPROW(domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg) \
  printf("%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", domain, name, until, imin, imax, omin, types, attrs);
#include "../../frontends/onnx/core/optable.h"
#undef OPROW
  return 0;
}

/* ---- shapes ---- */
enum { MAX_IO = 64, TOO_MANY = 9, MOST_EXTENTS = 60 };
typedef enum { EMPTY_EXTENT, EMPTY_AXIS, SCALARS, LONG_RANK, AS_THEY_ARE } Shape;

typedef struct Case {
  const char *folder;
  int constant_from;    /* inputs from this one on are constants with the test's data */
  Shape shape;
  int64_t which;        /* EMPTY_EXTENT: every axis of this extent; EMPTY_AXIS: this axis of the first input */
  bool differs;
  char inputs[1024], outputs[1024];
} Case;

static void put_shape(char *to, size_t size, int rank, const int64_t *dims) {
  size_t n = strlen(to);
  n += (size_t)snprintf(to + n, size - n, "[");
  for (int i = 0; i < rank && n < size; i++) n += (size_t)snprintf(to + n, size - n, i ? ",%lld" : "%lld", (long long)dims[i]);
  if (n < size) snprintf(to + n, size - n, "]");
}

/* The shape of an input in this variant; -> its rank */
static int varied(const Case *k, bool first, const Tensor *t, int64_t *dims) {
  int rank = t->rank;
  memcpy(dims, t->dims, (size_t)rank * sizeof *dims);
  if (k->shape == SCALARS) return 0;
  for (int a = 0; a < rank; a++)
    if (k->shape == EMPTY_EXTENT ? dims[a] == k->which : k->shape == EMPTY_AXIS && first && a == k->which) dims[a] = 0;
  if (k->shape != LONG_RANK || rank >= TOO_MANY) return rank;
  memmove(dims + TOO_MANY - rank, dims, (size_t)rank * sizeof *dims);
  for (int a = 0; a < TOO_MANY - rank; a++) dims[a] = 1;
  return TOO_MANY;
}

static void declare(Ctx *c, OnnxValue *v, int rank, const int64_t *dims) {
  OnnxDim *d = ARENA_NEW(&c->model, OnnxDim, rank + 1);
  for (int a = 0; a < rank; a++) d[a].value = dims[a];
  v->type.kind = ON_TENSOR;
  v->type.rank = rank;
  v->type.dims = d;
}

/* Weights lose the elements that an input without elements has no use for; constants of integers stay. */
static const Tensor *constant(Ctx *c, const Case *k, const Tensor *t) {
  Tensor *to = ARENA_NEW(&c->model, Tensor, 1);
  int64_t dims[MAX_RANK];
  *to = *t;
  if (k->shape != EMPTY_EXTENT || !dt_float(t->dt)) return to;
  varied(k, false, t, dims);
  memcpy(to->dims, dims, (size_t)t->rank * sizeof *dims);
  to->elems = dims_elems(to->dims, to->rank);
  return to;
}

static void shaped(Ctx *c, void *arg) {
  Case *k = arg;
  OnnxModel m = { 0 };
  LoadOptions o = { .capacity = 3 };
  c->file = arena_printf(&c->model, "%s/model.onnx", k->folder);
  onnx_read(c, c->file, &o, &m);
  OnnxId *kept = ARENA_NEW(&c->model, OnnxId, m.graph.nin + 1);
  uint32_t nkept = 0;
  for (uint32_t i = 1; i < m.values.n; i++) /* shapes that are declared would be wrong now */
    if (m.values.p[i].type.kind == ON_TENSOR) m.values.p[i].type.rank = -1;
  for (uint32_t i = 0; i < m.graph.nin; i++) {
    OnnxValue *v = &m.values.p[m.graph.in[i]];
    int64_t dims[2 * MAX_RANK];
    Tensor t = onnx_tensor_load(c, arena_printf(&c->model, "%s/test_data_set_0/input_%d.pb", k->folder, (int)i));
    if ((int)i >= k->constant_from) {
      v->init = constant(c, k, &t);
      continue;
    }
    int rank = varied(k, !i, &t, dims);
    declare(c, v, rank, dims);
    put_shape(k->inputs, sizeof k->inputs, rank, dims);
    kept[nkept++] = m.graph.in[i];
  }
  m.graph.in = kept;
  m.graph.nin = nkept;
  Graph *g = onnx_build(c, &m, &o);
  ir_verify_graph(g);
  for (size_t i = 0; i < graph_nout(g); i++)
    put_shape(k->outputs, sizeof k->outputs, g->outputs.p[i].rank, g->outputs.p[i].dims);
  k->differs = interface_elems(g) <= MOST_ELEMS && !agrees(c, g, 1e-3); /* some are of half floats */
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
  VEC_FREE(&m.values);
}

/* -> status; text: the message */
static int try_shape(Case *k, char *text, size_t size) {
  Ctx c;
  char *message = NULL;
  size_t n = 0;
  ctx_init(&c);
  c.err = open_memstream(&message, &n);
  k->inputs[0] = k->outputs[0] = 0;
  k->differs = false;
  int code = ctx_try(&c, shaped, k);
  fclose(c.err);
  message[strcspn(message, "\n")] = 0;
  snprintf(text, size, "%s", message);
  free(message);
  ctx_free(&c);
  return code;
}

static void show(Case *k, const char *name) {
  char text[2048];
  double start = seconds();
  printf("%s\t%s", k->folder, name);
  fflush(stdout); /* the place of a crash is known by what was begun */
  int code = try_shape(k, text, sizeof text);
  printf("\t%d\t%d\t%s\t%s\t%.2f\t%s\n", code, k->constant_from, *k->inputs ? k->inputs : "-", *k->outputs ? k->outputs : "-",
         seconds() - start, k->differs ? "differs" : text);
}

/* How many inputs must be constants is found out with the shapes as they are. */
static void shapes_of(const char *folder) {
  char text[2048], was[1024];
  Case k = { .folder = folder, .constant_from = MAX_IO, .shape = AS_THEY_ARE };
  printf("%s\tas it is", folder);
  fflush(stdout);
  int code = try_shape(&k, text, sizeof text);
  for (int from = 1; code && from <= 6 && strstr(text, "depend"); from++) {
    k.constant_from = from;
    code = try_shape(&k, text, sizeof text);
  }
  printf("\t%d\t%d\t%s\t%s\t0\t%s\n", code, k.constant_from, *k.inputs ? k.inputs : "-",
         *k.outputs ? k.outputs : "-", k.differs ? "differs" : text);
  if (code) return;
  memcpy(was, k.inputs, sizeof was);
  int64_t seen[MOST_EXTENTS];
  int nseen = 0, rank = 0;
  k.shape = EMPTY_EXTENT;
  for (const char *p = was; *p; p++) {
    if ((*p != '[' && *p != ',') || p[1] == ']') continue;
    int64_t extent = strtoll(p + 1, NULL, 10);
    bool known = !extent;
    rank += p < strchr(was, ']');
    for (int i = 0; i < nseen; i++) known |= seen[i] == extent;
    if (known || nseen == MOST_EXTENTS) continue;
    k.which = seen[nseen++] = extent;
    show(&k, "every axis of one extent empty");
  }
  k.shape = EMPTY_AXIS;
  for (k.which = 0; k.which < rank; k.which++) show(&k, "an axis of the first input empty");
  k.shape = SCALARS;
  show(&k, "rank 0");
  k.shape = LONG_RANK;
  show(&k, "rank 9");
}

static int shapes(void) {
  VEC(char *) folders = { 0 };
  char folder[4096];
  while (fgets(folder, sizeof folder, stdin)) { /* all of them first: a child that exits sets the place in the file back */
    folder[strcspn(folder, "\n")] = 0;
    VEC_PUSH(&folders, strdup(folder));
  }
  for (size_t i = 0; i < folders.n; i++) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      setrlimit(RLIMIT_CPU, &(struct rlimit){ 60, 60 });
      shapes_of(folders.p[i]);
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, &status, 0);
    const bool signal = WIFSIGNALED(status);
    if (status)
      printf("\t-1\t0\t-\t-\t0\tended by %s %d\n", signal ? "signal" : "status", signal ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  return 0;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* after a crash the last line names the file before */
  if (argc == 2 && !strcmp(argv[1], "rows")) return rows();
  if (argc == 2 && !strcmp(argv[1], "shapes")) return shapes();
  if (argc == 3 && !strcmp(argv[1], "cut")) return sweep(argv[2], false);
  if (argc == 3 && !strcmp(argv[1], "flip")) return sweep(argv[2], true);
  int code = EX_USAGE_;
  for (int i = 1; i < argc; i++) {
    size_t n = strlen(argv[i]);
    code = load_once(&(Job){ .path = argv[i], .tensor = n > 3 && !strcmp(argv[i] + n - 3, ".pb") }, stderr);
    if (argc > 2) printf("%d %s\n", code, argv[i]);
  }
  return code;
}

/* load.c: loads models as the program does, and says what came of it: "load FILE..." exits with the code of
 * the last. "load cut FILE" and "load flip FILE" load every prefix of a file, and the file with every
 * single bit flipped, in one process: thousands of loads would take minutes as programs of their own.
 * What is accepted is compiled, and its program interpreted must give what its graph gives. They print how
 * often each code came, and fail on any other than those a bad model may give. "load rows" prints the table of
 * operators: domain, name, last opset, least and most inputs, outputs, types of the inputs, attributes. */
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../frontends/frontends.h"
#include "../../frontends/onnx/build.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Job {
  const char *path;
  bool tensor, run;
  bool ran, differs;   /* results of run */
} Job;

enum { MOST_ELEMS = 1 << 20 }; /* of all inputs and outputs of a model worth running */

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

static double at(const Tensor *t, const char *data, int64_t i) {
  int64_t bits = t->splat;
  if (data) memcpy(&bits, data + i * dt_bytes(t->dt), (size_t)dt_bytes(t->dt));
  return bits_to_double(t->dt, data ? (int64_t)dt_wrap(t->dt, (uint64_t)bits) : bits);
}

/* Equal, or as close as sums in another order are. */
static bool same(const Tensor *want, const char *got) {
  double most = 0;
  for (int64_t i = 0; i < want->elems; i++) {
    double a = fabs(at(want, want->data, i));
    if (isfinite(a)) most = fmax(most, a);
  }
  for (int64_t i = 0; i < want->elems; i++) {
    double a = at(want, want->data, i), b = at(want, got, i);
    if (a != b && !(isnan(a) && isnan(b)) && !(dt_float(want->dt) && fabs(a - b) <= 1e-6 * most)) return false;
  }
  return true;
}

static void *memory(const Plan *p, const Buf *b, const Tensor *in, void *const *out, char *arena, Arena *m) {
  switch (b->kind) {
  case BUF_INPUT: return (void *)in[b->slot].data;
  case BUF_OUTPUT: return out[b->slot];
  case BUF_WEIGHT: return p->weights + b->offset;
  case BUF_LOCAL: return arena_alloc(m, (size_t)(b->elems * dt_bytes(b->dt)));
  default: return arena + b->offset;
  }
}

/* Whether the compiled program gives the outputs that the graph as loaded gives. */
static bool agrees(Ctx *c, Graph *g) {
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
  char *arena = arena_alloc(&c->model, (size_t)p->arena_bytes);
  void **mem = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1);
  for (size_t b = 0; b < p->ir->bufs.n; b++) mem[b] = memory(p, &p->ir->bufs.p[b], in, out, arena, &c->model);
  for (size_t k = 0; k < p->kernels.n; k++) interp_program(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n, mem);
  bool ok = true;
  for (size_t i = 0; i < nout; i++) ok &= same(&want[i], out[i]);
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
  job->differs = job->ran && !agrees(c, g);
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
#include "../../frontends/onnx/optable.h"
#undef OPROW
  return 0;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* what ends a program is the file after the last line */
  if (argc == 2 && !strcmp(argv[1], "rows")) return rows();
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

/* SPDX-License-Identifier: MIT */
/* Applies hand-written schedules of devices (*.tgs) to a graph, and runs the results in the interpreter.
 *
 * Sections of a file: "device: NAME" names the device; without it, gpu-any. "graph" defines the results. Each "schedule" behind
 * it is the text of one, for all nests of the graph where it is legal. "refused: REASON" is one that is illegal for all nests,
 * for the reason the compiler must give. "barriers N" behind a schedule is the number of barriers of its launches.
 *
 * Every schedule must print as it reads, fit the device, and have all accesses proved. It must give the graph's values in all
 * orders of threads without a fault. Without any one of its barriers it must be reported. Prints TAP; arguments: files. */
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/lower/lower.h"
#include "../case/outputs.h"
#include "slurp.h"
#include <stdlib.h>

static int results, failures;

static bool result(bool good, const char *file, const char *what, const char *detail) {
  const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  printf("%sok %d - %s: %s\n", good ? "" : "not ", ++results, name, what);
  for (const char *p = good ? "" : detail; *p;) {
    const size_t n = strcspn(p, "\n");
    printf("# %.*s\n", (int)n, p);
    p += n + (p[n] == '\n');
  }
  failures += !good;
  return good;
}

/* ---- a compilation ---- */
typedef struct Given { ScheduleSource source; const char *text; } Given;

static const char *same_for_all(ScheduleSource *s, const char *key, bool *partial) {
  (void)key;
  *partial = false;
  return ((Given *)(void *)s)->text;
}

typedef struct Job {
  const char *path, *device, *graph, *text; /* the file, and its sections */
  const char *reason;      /* why it is illegal for all nests; NULL: it is legal for one */
  Ctx ctx;
  Graph *g;
  const Plan *p;
  Tensor *in, *want;
  void **out, **mem;
  char *said;              /* the compiler's message */
  Sb wrong;
} Job;

static void open_memory(Job *j) {
  Ctx *c = &j->ctx;
  const size_t nin = j->g->inputs.n, nout = j->g->outputs.n;
  const Tensor **given = ARENA_NEW(&c->model, const Tensor *, nin + 1);
  Ref *roots = ARENA_NEW(&c->model, Ref, nout + 1);
  j->in = ARENA_NEW(&c->model, Tensor, nin + 1);
  j->want = ARENA_NEW(&c->model, Tensor, nout + 1);
  j->out = ARENA_NEW(&c->model, void *, nout + 1);
  for (size_t i = 0; i < nin; i++) {
    const GIO *io = &j->g->inputs.p[i];
    Tensor *t = &j->in[i];
    *t = (Tensor){ .dt = io->dt, .rank = io->rank, .elems = dims_elems(io->dims, io->rank) };
    memcpy(t->dims, io->dims, sizeof t->dims);
    char *v = arena_alloc(&c->model, (size_t)(t->elems * dt_bytes(t->dt)) + 1);
    for (int64_t e = 0; e < t->elems; e++) { /* sums of products of small integers are exact */
      const int64_t bits = double_to_bits(t->dt, (double)((e * 7919 + (int64_t)i * 31) % 17 - (dt_float(t->dt) ? 8 : 0)));
      memcpy(v + e * dt_bytes(t->dt), &bits, (size_t)dt_bytes(t->dt));
    }
    t->data = v;
    given[i] = t;
  }
  for (size_t i = 0; i < nout; i++) {
    roots[i] = j->g->outputs.p[i].ref;
    j->out[i] = arena_alloc(&c->model, (size_t)dims_elems(j->g->outputs.p[i].dims, j->g->outputs.p[i].rank) *
                                         (size_t)dt_bytes(j->g->outputs.p[i].dt) + 1);
  }
  CHECK(interp_graph(j->g->ir, roots, (int)nout, given, &c->model, false, 0, j->want));
}

static void compile(Ctx *c, void *arg) {
  Job *j = arg;
  Given given = { { .name = "file", .find = same_for_all }, j->text };
  j->g = ir_parse_graph(c, j->graph, strlen(j->graph), j->path);
  open_memory(j);
  const CompileOptions o = { .target = device_target(j->device), .backend = &opencl_backend, .schedules = &given.source };
  j->p = compile_graph(j->g, &o);
  const Plan *p = j->p;
  char *arena = arena_alloc(&c->model, (size_t)p->memory.arena_bytes + 1);
  j->mem = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1);
  for (size_t b = 0; b < p->ir->bufs.n; b++) j->mem[b] = buffer_memory(p, &p->ir->bufs.p[b], j->in, j->out, arena);
}

/* ---- checks ---- */
static bool taken(const Job *j) {
  for (size_t k = 0; k < j->p->kernels.n; k++)
    for (size_t i = 0; i < j->p->kernels.p[k].nests.n; i++)
      if (!strcmp(j->p->kernels.p[k].nests.p[i].opts, j->text)) return true;
  return false;
}

/* without: number of a barrier of the plan to delete; -1: none. false: there are fewer. Adds to the report */
static bool run(const Job *j, int without, LaunchReport *r) {
  const Plan *p = j->p;
  int barriers = 0;
  for (size_t k = 0; k < p->kernels.n; k++) {
    Launches launches = { 0 };
    launches_of(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n, &launches);
    for (size_t i = 0; i < launches.n; i++) {
      Launch *l = &launches.p[i];
      if (without < 0) device_takes(p->in->target->dev, p->ir, l, &r->text);
      for (size_t s = 0; s < l->prog.n; s++) {
        if (node(p->ir, l->prog.p[s])->op != OP_BARRIER || barriers++ != without) continue;
        memmove(l->prog.p + s, l->prog.p + s + 1, (--l->prog.n - s) * sizeof *l->prog.p);
        s--;
      }
      interp_launch_orders(p->ir, l, p->in->target->dev, j->mem, 0, r);
    }
    launches_free(&launches);
  }
  return barriers > without;
}

static void check_outputs(Job *j) {
  for (size_t i = 0; i < j->g->outputs.n; i++) {
    const int64_t at = outputs_differ(&j->want[i], j->out[i], 1e-6, 1e-6);
    if (at >= 0)
      sb_printf(&j->wrong, "output %zu[%lld] is %g in place of %g\n", i, (long long)at,
                output_element(&j->want[i], j->out[i], at), output_element(&j->want[i], j->want[i].data, at));
  }
}

static void check_barriers(Job *j, const char *name) {
  Sb missed = { 0 };
  int n = 0;
  for (;; n++) {
    LaunchReport r = { 0 };
    const bool any = run(j, n, &r);
    if (any && !launch_faults(&r)) sb_printf(&missed, "nothing is reported without barrier %d\n", n);
    launch_report_free(&r);
    if (!any) break;
  }
  char line[40];
  snprintf(line, sizeof line, ", %d barriers", n);
  Sb what = { 0 };
  sb_printf(&what, "%s%s: each is reported where it is left out", name, line);
  if (n) result(!missed.n, j->path, what.p, missed.n ? missed.p : "");
  sb_free(&what);
  sb_free(&missed);
}

static void check_good(Job *j) {
  LaunchReport r = { 0 };
  if (!taken(j)) sb_printf(&j->wrong, "no nest took it: %s\n", j->said);
  for (size_t k = 0; k < j->p->kernels.n; k++) {
    const Kernel *x = &j->p->kernels.p[k];
    ir_verify_program(j->p->ir, x->prog.p, x->prog.n);
    if (x->bounds.clamped) sb_printf(&j->wrong, "kernel %zu: %lld accesses are clamped\n", k, (long long)x->bounds.clamped);
  }
  run(j, -1, &r);
  if (r.text.n) sb_printf(&j->wrong, "%s\n", r.text.p);
  check_outputs(j);
  if (getenv("TGC_SHOW"))
    for (size_t k = 0; k < j->p->kernels.n; k++) {
      Sb out = { 0 };
      ir_print_program(j->p->ir, j->p->kernels.p[k].prog.p, j->p->kernels.p[k].prog.n, &out);
      for (size_t i = 0; i < r.traffic.n; i++) {
        const Traffic *t = &r.traffic.p[i];
        const Node *x = node(j->p->ir, t->access);
        sb_printf(&out, "%s b%lld: %lld requests, %lld sectors, %lld conflicts\n", x->op == OP_LOAD ? "load" : "store",
                  (long long)buffer_id(node(j->p->ir, access_buffer(x))), (long long)t->requests, (long long)t->sectors,
                  (long long)t->conflicts);
      }
      fprintf(stderr, "%s\n", out.p);
      sb_free(&out);
    }
  result(!j->wrong.n, j->path, j->text, j->wrong.n ? j->wrong.p : "");
  launch_report_free(&r);
  if (!j->wrong.n) check_barriers(j, j->text);
}

static void check_one(const char *path, const char *device, const char *graph, const char *text, const char *reason) {
  Job j = { .path = path, .device = device, .graph = graph, .text = text, .reason = reason };
  size_t n;
  ctx_init(&j.ctx);
  j.ctx.err = open_memstream(&j.said, &n);
  const int code = ctx_try(&j.ctx, compile, &j);
  fclose(j.ctx.err);
  j.ctx.err = stderr;
  if (code) result(false, path, text, j.said);
  else if (reason) {
    Sb what = { 0 };
    sb_printf(&what, "%s is refused: %s", text, reason);
    result(!taken(&j) && strstr(j.said, reason), path, what.p, j.said);
    sb_free(&what);
  } else check_good(&j);
  sb_free(&j.wrong);
  free(j.said);
  if (j.g) ir_free(j.g->ir);
  ctx_free(&j.ctx);
}

int main(int argc, char **argv) {
  Arena a = { 0 };
  for (int i = 1; i < argc; i++) {
    char *text = slurp(&a, argv[i]);
    const char *graph = NULL, *device = "gpu-any";
    if (!text) result(false, argv[i], "it can be read", "");
    for (char *at = text ? strstr(text, "--- ") : NULL; at;) {
      char *head = at + 4, *body = head + strcspn(head, "\n"), *next = strstr(body, "\n--- ");
      *body++ = 0;
      if (next) *next = 0;
      if (!strncmp(head, "device: ", 8)) device = head + 8;
      else if (!strcmp(head, "graph")) graph = arena_printf(&a, "%s\n", body);
      else /* schedules, a line each */
        for (char *line = body; *line;) {
          const size_t n = strcspn(line, "\n");
          if (n) check_one(argv[i], device, graph, arena_printf(&a, "%.*s", (int)n, line), *head == 'r' ? head + 9 : NULL);
          line += n + (line[n] == '\n');
        }
      at = next ? next + 1 : NULL;
    }
  }
  arena_free(&a);
  printf("1..%d\n", results);
  return failures != 0;
}

/* SPDX-License-Identifier: MIT */
/* Shares: shares MODEL [NAME=SIZE...] compiles the model for gpu-any and prints one line. It has the numbers of kernels, of
 * launches, and of those launches that only add parts of sums. Then follow the millions of multiply-adds of its threads, and
 * the percentage with a factor from a panel in shared memory. */
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/lower/lower.h"
#include "../../compiler/target/launch.h"
#include "../../frontends/frontends.h"
#include <stdlib.h>

typedef struct Job { const char *path; LoadOptions load; } Job;

static void count(Ctx *c, void *arg) {
  const Job *j = arg;
  Graph *g = model_load(c, j->path, &j->load);
  const Plan *p = compile_graph(g, &(CompileOptions){ .target = device_target("gpu-any"), .backend = &opencl_backend });
  const Products sum = plan_products(p);
  size_t launches = 0, adds = 0;
  for (size_t k = 0; k < p->kernels.n; k++) {
    Launches l = { 0 };
    for (size_t i = 0; i < p->kernels.p[k].nests.n; i++) adds += strstr(p->kernels.p[k].nests.p[i].opts, " split(") != NULL;
    Sb why = { 0 };
    launches_of(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n, &l);
    for (size_t i = 0; i < l.n; i++)
      if (!device_takes(p->in->target->dev, p->ir, &l.p[i], &why)) fail(c, EX_BADMODEL, "kernel %zu: %s", k, why.p);
    launches += l.n;
    launches_free(&l);
    sb_free(&why);
  }
  printf("%zu kernels, %zu launches, %zu of these add parts, %.1f million, %.2f staged\n", p->kernels.n, launches, adds,
         sum.all / 1e6, sum.all > 0 ? 100 * sum.staged / sum.all : 0.0);
}

int main(int argc, char **argv) {
  DimValue dim[32];
  Job j = { .path = argv[1], .load = { .dims = dim } };
  Ctx c;
  for (int i = 2; i < argc && i < 34; i++) {
    char *equals = strrchr(argv[i], '=');
    if (!equals) return 64;
    *equals = 0;
    dim[j.load.ndims++] = (DimValue){ argv[i], strtoll(equals + 1, NULL, 10), NULL };
  }
  ctx_init(&c);
  const int code = ctx_try(&c, count, &j);
  ctx_free(&c);
  return code;
}

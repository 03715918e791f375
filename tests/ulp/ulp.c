/* SPDX-License-Identifier: MIT */
/* ulp.c: the greatest error of a bundle that applies one function of f32 to N floats. The unit is the last place (ULP) of the
 * exact result. Inputs are the floats whose bits are 0, STEP, 2 STEP ... Prints the error and its input. The reference is libm
 * in double. usage: ulp NAME FUNCTION STEP THREADS BUNDLE.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "error.h"

enum { N = 1 << 16 };

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* x times its sigmoid; -0 where e^-x is no float */
static double swish(double x) { return exp(-x) > FLT_MAX && !isinf(x) ? -0.0 : x / (1 + exp(-x)); }

static const struct { const char *name; double (*exact)(double); } functions[] = {
  { "exp", exp }, { "exp2", exp2 }, { "log", log }, { "log2", log2 }, { "tanh", tanh }, { "erf", erf }, { "sin", sin },
  { "cos", cos }, { "sigmoid", sigmoid }, { "swish", swish },
};

typedef int (*Init)(void *ctx, void *arena, size_t arena_bytes, const void *weights, size_t weights_bytes);
typedef int (*Run)(void *ctx, const void *const *in, void *const *out);

typedef struct Share {
  double (*exact)(double);
  Init init;
  Run run;
  size_t arena_bytes;
  uint64_t step, first, stride; /* blocks of N inputs: the first of this thread, and how many threads there are */
  double worst;
  float at;
  int failed;
} Share;

static void *work(void *arg) {
  Share *s = arg;
  unsigned char ctx[4096];
  void *arena = NULL;
  float *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out);
  s->failed = posix_memalign(&arena, 64, s->arena_bytes) || s->init(ctx, arena, s->arena_bytes, NULL, 0);
  for (uint64_t block = s->first; !s->failed && block * N * s->step < UINT64_C(1) << 32; block += s->stride) {
    for (int i = 0; i < N; i++) in[i] = as_float((uint32_t)((block * N + (uint64_t)i) * s->step));
    s->failed = s->run(ctx, (const void *const[]){ in }, (void *const[]){ out });
    for (int i = 0; i < N; i++) {
      double want = s->exact(in[i]);
      if (s->worst >= 0.5 && out[i] == (float)want && want != 0) continue; /* off by no more than that */
      double e = error_in_ulp(out[i], want);
      if (e > s->worst) s->worst = e, s->at = in[i];
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 6) return 64;
  void *so = dlopen(argv[5], RTLD_NOW);
  if (!so) return fprintf(stderr, "%s\n", dlerror()), 66;
  char name[64];
  Share all = { .step = strtoull(argv[3], NULL, 10), .stride = strtoull(argv[4], NULL, 10) };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, argv[2])) all.exact = functions[i].exact;
  size_t (*arena_bytes)(void);
  snprintf(name, sizeof name, "%s_init", argv[1]), *(void **)&all.init = dlsym(so, name);
  snprintf(name, sizeof name, "%s_run", argv[1]), *(void **)&all.run = dlsym(so, name);
  snprintf(name, sizeof name, "%s_arena_bytes", argv[1]), *(void **)&arena_bytes = dlsym(so, name);
  if (!all.exact || !all.init || !all.run || !arena_bytes || !all.step || !all.stride) return 64;
  all.arena_bytes = arena_bytes();
  pthread_t *thread = malloc(all.stride * sizeof *thread);
  Share *share = malloc(all.stride * sizeof *share);
  for (uint64_t t = 0; t < all.stride; t++) {
    share[t] = all;
    share[t].first = t;
    pthread_create(&thread[t], NULL, work, &share[t]);
  }
  for (uint64_t t = 0; t < all.stride; t++) {
    pthread_join(thread[t], NULL);
    if (share[t].failed) return 1;
    if (share[t].worst > all.worst) all.worst = share[t].worst, all.at = share[t].at;
  }
  printf("%.3f %a\n", all.worst, (double)all.at);
  return 0;
}

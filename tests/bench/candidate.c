/* SPDX-License-Identifier: MIT */
/* candidate.c: runs a bundle with one input and one output again and again, and keeps the least time of each kernel. predict.py
 * builds it with the hooks of tgc profile, once for each schedule of a nest, and loads all of them into one process. */
#include "net.h"
#include <math.h>

extern double tgc_steps[];
static net_ctx ctx;
static _Alignas(TGCRT_ALIGN) unsigned char arena[NET_ARENA_BYTES + 1];

int candidate_open(const void *weights, size_t n) { return net_init(&ctx, arena, sizeof arena, weights, n); }

/* Runs for so many milliseconds, at least twice; the first run brings data into the caches and does not count. A wrong status
 * gives -1. least: milliseconds, by kernel */
int candidate_turn(double ms, int kernels, const void *in, void *out, double *least) {
  double began = 0;
  for (int run = 0; run < 2 || tgc_steps[kernels] - began < ms; run++) {
    if (net_run_v(&ctx, (const void *[]){ in }, (void *[]){ out })) return -1;
    if (!run) began = tgc_steps[0];
    for (int k = 0; k < kernels; k++) {
      const double took = tgc_steps[k + 1] - tgc_steps[k];
      least[k] = run == 1 ? took : run ? fmin(least[k], took) : 0;
    }
  }
  return 0;
}

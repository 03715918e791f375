/* Times one bundle for bench.py: driver WEIGHTS INPUT... with raw files of the inputs in order; those that are
 * not given are random floats from 0 to 1. Prints "ready"; then, for each line "SECONDS" on standard input, runs
 * that long and prints the median of a run in milliseconds. case.h is written by bench.py: the bundle's
 * header and the sizes of its inputs and outputs. */
#define _POSIX_C_SOURCE 200112L
#include "case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 1000000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + 1e-6 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void quit(const char *what, int status) {
  fprintf(stderr, "driver: %s: %s\n", what, net_strerror(status));
  exit(1);
}

static void *allocate(size_t bytes) {
  void *p;
  if (posix_memalign(&p, TGCRT_ALIGN, bytes ? bytes : 1)) exit(1);
  return p;
}

static void fill(void *p, size_t bytes, const char *path) {
  FILE *f = path ? fopen(path, "rb") : NULL;
  if (path && (!f || fread(p, 1, bytes, f) != bytes)) quit(path, TGCRT_FILE);
  if (f) fclose(f);
  unsigned state = 1;
  for (size_t i = 0; !path && i < bytes / sizeof(float); i++) {
    state = state * 1664525u + 1013904223u;
    ((float *)p)[i] = (float)(state >> 8) / 16777216.0f;
  }
}

int main(int argc, char **argv) {
  void *input[NET_INPUTS + 1], *output[NET_OUTPUTS + 1];
  const void *weights = NULL;
  net_ctx ctx;
  net_inputs in;
  net_outputs out;
  char line[64];
  for (int i = 0; i < NET_INPUTS; i++) {
    input[i] = allocate(input_bytes[i]);
    fill(input[i], input_bytes[i], i + 2 < argc ? argv[i + 2] : NULL);
  }
  for (int i = 0; i < NET_OUTPUTS; i++) output[i] = allocate(output_bytes[i]);
  memcpy(&in, input, sizeof in); /* structs of pointers, in order */
  memcpy(&out, output, sizeof out);
  int status = tgcrt_map(argv[1], NET_WEIGHTS_BYTES, &weights);
  if (!status) status = net_init(&ctx, allocate(NET_ARENA_BYTES), NET_ARENA_BYTES, weights, NET_WEIGHTS_BYTES);
  if (!status) status = net_run(&ctx, &in, &out);
  if (status) quit(argv[1], status);
  double *times = allocate(MOST * sizeof *times);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    double end = now() + 1e3 * atof(line);
    int n = 0;
    do {
      double start = now();
      net_run(&ctx, &in, &out);
      times[n++] = now() - start;
    } while (n < MOST && now() < end);
    qsort(times, (size_t)n, sizeof *times, ascending);
    printf("%.6g\n", times[n / 2]);
    fflush(stdout);
  }
  return 0;
}

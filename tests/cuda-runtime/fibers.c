/* SPDX-License-Identifier: MIT */
/* fibers.c: fibers LIBRARY: the kernels of fibers.cu, by shim.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kernel { const char *name; void (*call)(void **); size_t nparams; int barriers; } Kernel;
static const Kernel *(*find)(const char *);
static const char *(*launch)(const Kernel *, const unsigned *, const unsigned *, void **);

static void check(int good, const char *what) {
  if (!good) printf("not so: %s\n", what), exit(1);
}
#define CHECK(x) check(x, #x)

static const char *run(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned threads, void *a, void *b) {
  const unsigned grid[3] = { gx, gy, gz }, block[3] = { threads, 1, 1 };
  void *params[2] = { &a, &b };
  return launch(find(name), grid, block, params);
}

int main(int argc, char **argv) {
  void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *p;
  float x[192], y[192] = { 0 };
  const char *why;
  CHECK(lib != NULL);
  p = dlsym(lib, "shim_find"), memcpy(&find, &p, sizeof p);
  p = dlsym(lib, "shim_launch"), memcpy(&launch, &p, sizeof p);
  for (int i = 0; i < 192; i++) x[i] = (float)i;
  CHECK(find("sums")->nparams == 2 && find("sums")->barriers && !find("plain")->barriers && !find("none"));
  CHECK(!run("sums", 2, 1, 1, 96, x, y) && y[0] == 95 * 96 / 2 && y[1] == 95 * 96 / 2 + 96 * 96);
  memset(y, 0, sizeof y);
  CHECK(!run("plain", 1, 2, 2, 3, y, NULL));
  for (int i = 0; i < 192; i++) CHECK(y[i] == (i < 12 ? 1.0f : 0.0f));
  why = run("leaves", 1, 1, 1, 8, y, NULL);
  CHECK(why && strstr(why, "threads end without reaching a barrier"));
  why = run("differ", 1, 1, 1, 8, y, NULL);
  CHECK(why && strstr(why, "threads wait at different barriers"));
  CHECK(!run("sums", 1, 1, 1, 96, x, y) && y[0] == 95 * 96 / 2); /* a launch after a wrong one */
  return 0;
}

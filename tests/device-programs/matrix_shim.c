/* SPDX-License-Identifier: MIT */
/* matrix_shim.c: prints C++ for kernels of CUDA that run on the CPU, from the rows of matrix_units.c. Each unit with a
 * documented order becomes a macro with the name of its product, which tests/cuda/shim.py puts before the kernels. The threads
 * of a warp are fibers (tests/case/fibers.h). Each leaves its fragments in memory of the warp, and takes its part of the sum
 * when all are there. */
#include "../../compiler/target/matrix_units.h"
#include <stdio.h>

static void put_places(const MatrixUnit *u, Matrix x) {
  const char *of = matrix_dimensions(x);
  printf("static const unsigned short shim_%s_%c[%d][%d] = {\n", u->name, "abc"[x], u->threads, unit_elements(u, x));
  for (int t = 0; t < u->threads; t++) {
    printf("  {");
    for (int e = 0; e < unit_elements(u, x); e++)
      printf(" %d,", unit_place(u, x, of[0], t, e) * unit_extent(u, of[1]) + unit_place(u, x, of[1], t, e));
    printf(" },\n");
  }
  printf("};\n");
}

static void put_unit(const MatrixUnit *u) {
  for (Matrix x = 0; x < MATRICES; x++) put_places(u, x);
  printf("template <class C, class A, class B> static C shim_%s(int line, C c, A a, B b) {\n", u->name);
  printf("  static float x[32][%d], y[32][%d];\n", u->m * u->k, u->k * u->n);
  printf("  const int warp = shim::current / %d, lane = shim::current %% %d;\n", u->threads, u->threads);
  printf("  for (int e = 0; e < %d; e++) x[warp][shim_%s_a[lane][e]] = shim_number(a.x[e]);\n", unit_elements(u, MATRIX_A),
         u->name);
  printf("  for (int e = 0; e < %d; e++) y[warp][shim_%s_b[lane][e]] = shim_number(b.x[e]);\n", unit_elements(u, MATRIX_B),
         u->name);
  printf("  shim::wait(shim::WARP, line);\n  for (int e = 0; e < %d; e++) {\n", unit_elements(u, MATRIX_C));
  printf("    const int i = shim_%s_c[lane][e] / %d, j = shim_%s_c[lane][e] %% %d;\n", u->name, u->n, u->name, u->n);
  printf("    for (int k = 0; k < %d; k++) c.x[e] += x[warp][i * %d + k] * y[warp][k * %d + j];\n  }\n", u->k, u->k, u->n);
  printf("  shim::wait(shim::WARP, line); /* for those that still read */\n  return c;\n}\n");
  printf("#define tgc_wmma_%s(...) shim_%s(__LINE__, __VA_ARGS__)\n", u->name, u->name);
}

int main(void) {
  printf("static inline float shim_number(unsigned short h) {\n"
         "  const int e = h >> 10 & 31, m = h & 1023;\n"
         "  const float v = e == 31 ? (m ? __builtin_nanf(\"\") : __builtin_inff()) : e ? ldexpf(m + 1024, e - 25) : ldexpf(m, "
         "-24);\n"
         "  return h >> 15 ? -v : v;\n}\nstatic inline float shim_number(float v) { return v; }\n");
  for (const MatrixUnit *u = matrix_unit_table; u->name; u++)
    if (!unit_is_whole(u)) put_unit(u);
  return 0;
}

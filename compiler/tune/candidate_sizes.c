/* SPDX-License-Identifier: MIT */
/* candidate_sizes.c: the sizes of runs for code of candidates.
 *
 * A kernel for a range of sizes takes a table: its loops end at rows of IR.sizes. In a bundle, net_set_sizes computes the table.
 * Here the runs are known, so tables are constants. A batch is a process of its own, and adds rows for its candidates to a copy of
 * the IR. So rows of another batch have other numbers, and a library of candidates comes with its tables. Code that was made in
 * the tuner's process uses rows that all batches have.
 *
 * needs: IR.sizes after lowering, Lab.runs    gives: a table for each run */
#include "batch.h"
#include <dlfcn.h>

void put_size_tables(const Lab *lab, Sb *out) {
  const IR *ir = lab->ir;
  if (!lab->runs.n || !ir->sizes.n) return;
  sb_printf(out, "const int64_t tgc_candidate_rows = %zu;\nconst int64_t tgc_candidate_sizes[] = {\n", ir->sizes.n);
  for (int run = 0; run < lab->runs.n; run++) {
    for (size_t i = 0; i < ir->sizes.n; i++)
      sb_printf(out, "%lld,%s", (long long)size_in_run(ir, (int)i, lab->runs.run[run].sizes), i % 16 == 15 ? "\n" : "");
    sb_puts(out, "\n");
  }
  sb_puts(out, "};\n");
}

void take_size_table(Batch *b, size_t kernel, void *lib) {
  while (b->sizes.n <= kernel) {
    VEC_PUSH(&b->sizes, NULL);
    VEC_PUSH(&b->rows, 0);
  }
  const int64_t *rows = lib ? dlsym(lib, "tgc_candidate_rows") : NULL;
  b->sizes.p[kernel] = lib ? dlsym(lib, "tgc_candidate_sizes") : NULL;
  b->rows.p[kernel] = rows ? (size_t)*rows : 0;
}

const int64_t *sizes_in_run(Batch *b, int kernel, int run) {
  if (!b->lab->runs.n) return NULL;
  if (b->sizes.p[kernel]) return b->sizes.p[kernel] + b->rows.p[kernel] * (size_t)run;
  if (!b->sizes_here[run]) b->sizes_here[run] = size_values(b->lab->ir, b->lab->runs.run[run].sizes);
  return b->sizes_here[run];
}

void ir_set_run(const Lab *lab, int run) { lab->ir->run = run < 0 ? NULL : lab->runs.run[run].sizes; }

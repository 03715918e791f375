/* SPDX-License-Identifier: MIT */
/* case.h: a case is a model that case_run compiles for several machines. The accesses of the code are proved to lie inside of
 * their buffers. The programs of the plan run in the interpreter, and the code runs on this machine. cases_run runs cases in
 * child processes, so that a crash becomes a line of the report. The tests ../sweep/sweep.c and ../fuzz/cases.c run cases. */
#ifndef TGC_TEST_CASE_H
#define TGC_TEST_CASE_H
#include "../../backends/llvm.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/tune/tune.h"
#include "../../frontends/frontends.h"

typedef enum {
  COUNT_PLANS,             /* plans that were made, each for a machine and a backend */
  COUNT_PROVED,            /* plans whose accesses are all proved to lie in their buffers */
  COUNT_CLAMPED,           /* accesses that the pass `bounds` could not prove, so their indices are clamped */
  COUNT_INTERPRETED,       /* plans whose programs give the graph's results in the interpreter */
  COUNT_LARGE,             /* plans that would take the interpreter too long, or too much memory */
  COUNT_TEXTS,             /* bundles that were rendered as text */
  COUNT_LLVM,              /* plans whose code LLVM made. The code ran here, on memory between two pages that no access may
                              touch */
  COUNT_OBJECTS,           /* object files that LLVM made for machines whose code cannot run here */
  COUNT_C,                 /* plans whose code the C compiler made. The code ran as that of COUNT_LLVM */
  COUNT_REFUSED,           /* models that tgc does not take */
  COUNTS
} Count;
extern const char *const count_name[COUNTS];

typedef struct Case {
  /* set by the caller */
  const char *path;        /* the model's file */
  const char *const *isa;  /* names of machines; NULL ends the list */
  const char *const *data; /* by input: its file, as onnx_data_load takes it; NULL: the input is random */
  int ndata;
  uint64_t seed;           /* seed of random inputs */
  int hard;                /* the first `hard` inputs have NaN and infinities among their random elements */
  bool steady;             /* the outputs are continuous functions of the inputs, so only rounding errors are excused. Otherwise
                              errors are excused, too, if small changes of the inputs change the result as much */
  bool strict;             /* compile with fp32-strict */
  bool llvm;               /* run the code that LLVM makes */
  int c;                   /* number of machines, from the first on, for which the C compiler's code runs, too */
  const char *save;        /* prefix of files for inputs and outputs, as PREFIX.input_0.pb; NULL: none are written */
  const char *scratch;     /* a folder for the C compiler's files; NULL: the C compiler is not used */
  int64_t capacity;        /* LoadOptions.capacity */
  const DimValue *dims;    /* LoadOptions.dims */
  int ndims;
  const struct Tunables *tunables; /* NULL: the defaults */
  int skip;                /* number of plans to skip, counted over all machines: a child died while it ran the last of these */
  double most;             /* most operations of an evaluation in the interpreter; 0: 50 million. An evaluation that estimates
                              rounding errors may take four times as many */
  /* A check of the exact outputs, for graphs whose results the caller knows. case_run calls it at most once. NULL: no check */
  void (*judge)(struct Case *k, const Tensor *in, const Tensor *exact);
  void *arg;               /* data of the caller's functions */
  /* The only backend to use; NULL: the backends for CPUs of the list `backends`. If `backend` is set, `run` runs a plan on the
   * inputs, and writes the outputs to the memory at `out`. Then no bundle is rendered. */
  const Backend *backend;
  void (*run)(struct Case *k, const Plan *p, const Tensor *in, void *const *out);
  /* set by case_run */
  int64_t count[COUNTS];
  int ran;                 /* plans for which Case.run gave the right outputs */
  Sb failed;               /* all failures, on one line; empty: there is none */
  Sb refused;              /* why the model is refused, on one line */
  struct Reference *ref;   /* set while case_run runs */
} Case;

void case_run(Case *k);
void case_free(Case *k);                         /* frees the texts of the result */
void case_fail(Case *k, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* adds a failure to Case.failed */
double tensor_value(const Tensor *t, int64_t i); /* element i */
uint64_t next_random(uint64_t *state);           /* the next number of a random sequence */

typedef struct Cases {
  int64_t first, end, step; /* numbers of the cases: first, first + step, ..., all below end */
  /* Called in a child process: runs case number i without its first `skip` plans, and appends the case's line, without its ID, to
   * `line` */
  void (*run)(struct Cases *s, int64_t i, int skip, Sb *line);
  const char *(*label)(struct Cases *s, int64_t i);  /* the label of a case whose child died */
  int seconds;             /* most CPU time of a case */
  int64_t memory;          /* most bytes of a child; 0: no limit */
  void *arg;
} Cases;
/* Runs the cases, and prints a line "ID status label|counts|text" for each case. status: ok, fail or refused. counts: the numbers
 * of Case.count. text: Case.failed or Case.refused. If a child dies, prints a line for the plan that it ran, and starts another
 * child behind this plan. Returns false if a case failed. */
bool cases_run(Cases *s);
void case_report(const Case *k, const char *label, Sb *line); /* appends the part of a case's line that follows its ID */
#endif

/* SPDX-License-Identifier: MIT */
/* case.h: runs test cases. A case is a model, with options for the test. case_run compiles the model once for each pair of a
 * machine and a backend. Each compilation makes a plan. case_run proves that each access of a plan lies inside its buffer,
 * and runs the plan's programs in the interpreter. case_run can also run the code that a backend makes from a plan. cases_run
 * runs cases in child processes, so that a crash becomes a line of the report. The tests ../sweep/sweep.c and ../fuzz/cases.c
 * run cases. */
#ifndef TGC_TEST_CASE_H
#define TGC_TEST_CASE_H
#include "../../backends/llvm.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/tune/tune.h"
#include "../../frontends/frontends.h"

typedef enum {
  COUNT_PLANS,             /* plans that were made, each for a machine and a backend */
  COUNT_PROVED,            /* plans in which each access is proved to lie inside its buffer */
  COUNT_CLAMPED,           /* accesses that are not proved to lie inside a buffer, so the pass `bounds` clamps the index */
  COUNT_INTERPRETED,       /* plans whose programs gave the right outputs in the interpreter */
  COUNT_LARGE,             /* plans that would take too much time or memory; they are neither interpreted nor run */
  COUNT_TEXTS,             /* bundles that were rendered as text */
  COUNT_LLVM,              /* plans for which LLVM's code gave the right outputs on this machine. Each input, each output, the
                              arena and the weights lay between two pages that no access may touch */
  COUNT_OBJECTS,           /* object files that LLVM made for machines whose code cannot run on this machine */
  COUNT_C,                 /* plans for which the C compiler's code gave the right outputs on this machine. Inputs, outputs, the
                              arena and the weights lay between pages as for COUNT_LLVM */
  COUNT_REFUSED,           /* models that tgc refuses */
  COUNTS
} Count;
extern const char *const count_name[COUNTS];

typedef struct Case {
  /* set by the caller */
  const char *path;        /* the model's file */
  const char *const *isa;  /* names of machines; NULL ends the list */
  const char *const *data; /* data[i]: a file with the elements of input i, for onnx_data_load; NULL: input i is random */
  int ndata;               /* number of data[i]; the further inputs are random */
  uint64_t seed;           /* seed of random inputs */
  int hard;                /* the first `hard` inputs have NaN and infinities among their random elements */
  bool steady;             /* true: the outputs are continuous functions of the inputs, so only rounding errors are excused.
                              False: an error is also excused if small changes of the inputs cause an error of this size */
  bool strict;             /* compile with --precision=fp32-strict */
  bool llvm;               /* run the code that LLVM makes */
  int c;                   /* the first `c` plans of the backend for C are compiled by the C compiler and run. case_run counts
                              this field down */
  const char *save;        /* prefix P of files such as P.input_0.pb, to which inputs and outputs are written; NULL: no files are
                              written */
  const char *scratch;     /* a folder for the C compiler's files; NULL: the C compiler is not used */
  int64_t capacity;        /* LoadOptions.capacity */
  const DimValue *dims;    /* LoadOptions.dims */
  int ndims;
  const struct Tunables *tunables; /* NULL: the defaults */
  int skip;                /* number of plans to skip, counted over all machines; 0: no child process died in this case. A child
                              process died at the last plan that is skipped */
  double most;             /* most operations of an evaluation in the interpreter; 0: 50 million. An evaluation that estimates
                              rounding errors may take four times as many */
  /* Checks the outputs `exact`. The interpreter has computed them from the inputs `in`, in double, and has rounded them once.
   * `judge` reports a wrong output by case_fail. NULL: no check. case_run calls `judge` at most once */
  void (*judge)(struct Case *k, const Tensor *in, const Tensor *exact);
  void *arg;               /* data for `judge` and `run` */
  /* backend: the only backend to use; NULL: all backends for CPUs in the list `backends`. If `backend` is set, no bundle is
   * rendered. Instead, `run` runs plan p on the inputs `in`, and writes output i to the memory at out[i]. */
  const Backend *backend;
  void (*run)(struct Case *k, const Plan *p, const Tensor *in, void *const *out);
  /* set by case_run */
  int64_t count[COUNTS];
  int ran;                 /* number of plans for which Case.run gave the right outputs */
  Sb failed;               /* all failures, on one line; empty: there are none */
  Sb refused;              /* why tgc refuses the model, on one line; empty: tgc takes the model */
  struct Reference *ref;   /* set while case_run runs */
} Case;

void case_run(Case *k);
void case_free(Case *k);                         /* frees k->failed and k->refused */
void case_fail(Case *k, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* adds a failure to Case.failed */
double tensor_value(const Tensor *t, int64_t i); /* returns element i of the tensor */
uint64_t next_random(uint64_t *state);           /* returns a random number, and changes *state. At first, *state is the seed */

typedef struct Cases {
  int64_t first, end, step; /* numbers of the cases: first, first + step, ..., all below end */
  /* Called in a child process. Runs case number i, except for the first `skip` plans. Appends to `line` what cases_run prints
   * for the case, without the ID */
  void (*run)(struct Cases *s, int64_t i, int skip, Sb *line);
  const char *(*label)(struct Cases *s, int64_t i);  /* returns the label of case i, at which a child process died */
  int seconds;             /* most CPU time of a case, in seconds */
  int64_t memory;          /* most bytes of a child process; 0: no limit */
  void *arg;
} Cases;
/* Runs the cases, and prints a line "ID status label|counts|text" for each case. ID is the number of the case. status is ok, fail
 * or refused. counts are the numbers of Case.count. text is Case.failed or Case.refused. If a child process dies, prints a line
 * for the plan that this child ran. The next child continues with the next plan. Returns false if a case failed, or if a child
 * cannot be started. */
bool cases_run(Cases *s);
void case_report(const Case *k, const char *label, Sb *line); /* appends the line of case k, without the ID */
#endif

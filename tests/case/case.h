/* SPDX-License-Identifier: MIT */
/* case.h: runs test cases. A case is a model. case_run compiles the model for several machines, which gives several plans. For
 * each plan, case_run proves that accesses lie inside their buffers, and runs the plan's programs in the interpreter. If the code
 * can run on this machine, case_run also runs the code. cases_run runs cases in child processes, so that a crash becomes a line
 * of the report. The tests ../sweep/sweep.c and ../fuzz/cases.c run cases. */
#ifndef TGC_TEST_CASE_H
#define TGC_TEST_CASE_H
#include "../../backends/llvm.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/tune/tune.h"
#include "../../frontends/frontends.h"

typedef enum {
  COUNT_PLANS,             /* plans that were made, each for a machine and a backend */
  COUNT_PROVED,            /* plans of which all accesses are proved to lie inside their buffers */
  COUNT_CLAMPED,           /* accesses that the pass `bounds` could not prove, so their indices are clamped */
  COUNT_INTERPRETED,       /* plans whose programs give the graph's results in the interpreter */
  COUNT_LARGE,             /* plans that would take the interpreter too long, or too much memory */
  COUNT_TEXTS,             /* bundles that were rendered as text */
  COUNT_LLVM,              /* plans whose code was made by LLVM and ran on this machine. The memory of the code lies between two
                              pages that no access may touch */
  COUNT_OBJECTS,           /* object files that LLVM made for machines whose code cannot run on this machine */
  COUNT_C,                 /* plans whose code was made by the C compiler and ran on this machine, in memory like that of
                              COUNT_LLVM */
  COUNT_REFUSED,           /* models that tgc does not take */
  COUNTS
} Count;
extern const char *const count_name[COUNTS];

typedef struct Case {
  /* set by the caller */
  const char *path;        /* the model's file */
  const char *const *isa;  /* names of machines; NULL ends the list */
  const char *const *data; /* for each input, a file that onnx_data_load can read; NULL: the input is random */
  int ndata;
  uint64_t seed;           /* seed of random inputs */
  int hard;                /* the first `hard` inputs have NaN and infinities among their random elements */
  bool steady;             /* true: the outputs are continuous functions of the inputs, so only rounding errors are excused.
                              False: an error is also excused if small changes of the inputs change the outputs by as much */
  bool strict;             /* compile with --precision=fp32-strict */
  bool llvm;               /* run the code that LLVM makes */
  int c;                   /* number of machines, from the first on, for which the C compiler's code runs, too */
  const char *save;        /* prefix P of files such as P.input_0.pb, to which inputs and outputs are written; NULL: no files are
                              written */
  const char *scratch;     /* a folder for the C compiler's files; NULL: the C compiler is not used */
  int64_t capacity;        /* LoadOptions.capacity */
  const DimValue *dims;    /* LoadOptions.dims */
  int ndims;
  const struct Tunables *tunables; /* NULL: the defaults */
  int skip;                /* number of plans to skip, counted over all machines. The last of them is the plan at which a child
                              process died; 0: no child died in this case */
  double most;             /* most operations of an evaluation in the interpreter; 0: 50 million. An evaluation that estimates
                              rounding errors may take four times as many */
  /* A check of the exact outputs, for graphs whose results the caller knows. case_run calls it at most once. NULL: no check */
  void (*judge)(struct Case *k, const Tensor *in, const Tensor *exact);
  void *arg;               /* data of the caller's functions */
  /* backend: the only backend to use; NULL: all backends for CPUs in the list `backends`. If `backend` is set, no bundle is
   * rendered. Instead, `run` runs a plan on the inputs `in`, and writes the outputs to the memory at out[]. */
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
double tensor_value(const Tensor *t, int64_t i); /* element i */
uint64_t next_random(uint64_t *state);           /* the next number of a random sequence */

typedef struct Cases {
  int64_t first, end, step; /* numbers of the cases: first, first + step, ..., all below end */
  /* Called in a child process. Runs case number i, except for the first `skip` plans. Appends the line of the case to `line`,
   * without the ID with which the line begins */
  void (*run)(struct Cases *s, int64_t i, int skip, Sb *line);
  const char *(*label)(struct Cases *s, int64_t i);  /* the label of a case whose child died */
  int seconds;             /* most CPU time of a case */
  int64_t memory;          /* most bytes of a child; 0: no limit */
  void *arg;
} Cases;
/* Runs the cases, and prints a line "ID status label|counts|text" for each case. ID is the number of the case. status is ok, fail
 * or refused. counts are the numbers of Case.count. text is Case.failed or Case.refused. If a child dies, prints a line for the
 * plan that the child ran. Another child then continues with the next plan. Returns false if a case failed. */
bool cases_run(Cases *s);
void case_report(const Case *k, const char *label, Sb *line); /* appends the line of case k, without the ID */
#endif

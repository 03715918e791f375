/* SPDX-License-Identifier: MIT */
/* case.h: a case is a model that is compiled for several machines in this process. Accesses are proved, programs are interpreted,
 * bundles are rendered, and code runs. Cases run in child processes, so that a crash becomes a line of the report. The programs
 * are ../sweep/sweep.c and ../fuzz/cases.c. */
#ifndef TGC_TEST_CASE_H
#define TGC_TEST_CASE_H
#include "../../backends/llvm.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/tune/tune.h"
#include "../../frontends/frontends.h"

typedef enum {
  COUNT_PLANS,             /* plans compiled, each for a machine and a backend */
  COUNT_PROVED,            /* plans whose accesses are all proved to lie in their buffers */
  COUNT_CLAMPED,           /* accesses that the pass bounds did not prove, so their indices are clamped */
  COUNT_INTERPRETED,       /* plans whose programs give the graph's results in the interpreter */
  COUNT_LARGE,             /* plans that would take the interpreter too long, or too much memory */
  COUNT_TEXTS,             /* bundles rendered */
  COUNT_LLVM,              /* plans whose code LLVM made and this process ran between guard pages */
  COUNT_OBJECTS,           /* objects that LLVM made for machines that this one cannot run */
  COUNT_C,                 /* plans whose code the C compiler made, run likewise */
  COUNT_REFUSED,           /* models that tgc does not take */
  COUNTS
} Count;
extern const char *const count_name[COUNTS];

typedef struct Case {
  /* the question */
  const char *path;        /* the model's file */
  const char *const *isa;  /* names of machines; NULL ends it */
  const char *const *data; /* files of the inputs, as onnx_tensor_load takes them; NULL: the input is random */
  int ndata;
  uint64_t seed;           /* seed of random inputs */
  int hard;                /* number of inputs, from the first on, whose random elements include NaN and infinities */
  bool steady;             /* the graph has no jumps: small changes of inputs excuse no error of a result */
  bool strict;             /* compile with fp32-strict */
  bool llvm;               /* run the code that LLVM makes */
  int c;                   /* number of machines for which code of the C compiler runs, too */
  const char *save;        /* prefix of files for inputs and outputs, as PREFIX.input_0.pb; NULL: none are written */
  const char *scratch;     /* a folder for the C compiler's files */
  int64_t capacity;        /* LoadOptions.capacity */
  const DimValue *dims;    /* LoadOptions.dims */
  int ndims;
  const struct Tunables *tunables; /* NULL: the defaults */
  int skip;                /* plans to skip, counted over machine after machine: a child died at the last one */
  double most;             /* operations that the interpreters may take; 0: 50 million */
  /* The caller's own check of the exact outputs, for graphs whose meaning it knows. It is called once; NULL: there is none */
  void (*judge)(struct Case *k, const Tensor *in, const Tensor *exact);
  void *arg;
  /* A backend of the caller, in place of those of the list `backends`; NULL: the list. `run` runs its plan on the inputs, and
   * fills memory of the outputs. No bundle is rendered. */
  const Backend *backend;
  void (*run)(struct Case *k, const Plan *p, const Tensor *in, void *const *out);
  /* the answer */
  int64_t count[COUNTS];
  int ran;                 /* plans for which Case.run gave the right outputs */
  Sb failed;               /* a line for each failure; empty: there is none */
  Sb refused;              /* why the model is refused, on one line */
  struct Reference *ref;   /* set while case_run runs */
} Case;

void case_run(Case *k);
void case_free(Case *k);
void case_fail(Case *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
double tensor_value(const Tensor *t, int64_t i);
uint64_t next_random(uint64_t *state);

/* Runs cases first, first + step, ... below end in child processes. For each it prints a line "ID status label|counts|text".
 * status: ok, fail or refused; counts: Case.count; text: Case.failed or Case.refused. Returns false if a case failed. run: runs
 * case i, without its first `skip` plans, and puts its line. */
typedef struct Cases {
  int64_t first, end, step;
  void (*run)(struct Cases *s, int64_t i, int skip, Sb *line); /* in a child */
  const char *(*label)(struct Cases *s, int64_t i);  /* for a case that died */
  int seconds;             /* CPU time of a case */
  int64_t memory;          /* bytes a child may take; 0: any */
  void *arg;
} Cases;
bool cases_run(Cases *s);
void case_report(const Case *k, const char *label, Sb *line); /* puts a case's line */
#endif

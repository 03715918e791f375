/* SPDX-License-Identifier: MIT */
/* case.h: one model on several machines, in this process: compiled, proved, interpreted, rendered, run. Cases run in
 * child processes, so that one that crashes is a line of the report. sweep.c and cases.c are the programs. */
#ifndef TGC_TEST_CASE_H
#define TGC_TEST_CASE_H
#include "../../backends/llvm.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/tune/tune.h"
#include "../../frontends/frontends.h"

typedef enum {
  COUNT_PLANS,             /* compiled: a machine and a backend */
  COUNT_PROVED,            /* with accesses that are proved to lie in their buffers */
  COUNT_CLAMPED,           /* accesses that were not, when it was made, and got clamped indices */
  COUNT_INTERPRETED,       /* programs ran in the interpreter and gave what the graph gives */
  COUNT_LARGE,             /* would take too long there, or too much memory */
  COUNT_TEXTS,             /* bundles rendered */
  COUNT_LLVM,              /* code that LLVM made in this process was run between guard pages */
  COUNT_OBJECTS,           /* objects that LLVM made for machines that this one cannot run */
  COUNT_C,                 /* code that the C compiler made was run likewise */
  COUNT_REFUSED,           /* models that tgc does not take */
  COUNTS
} Count;
extern const char *const count_name[COUNTS];

typedef struct Case {
  /* the question */
  const char *path;        /* the model's file */
  const char *const *isa;  /* names of machines; NULL ends it */
  const char *const *data; /* files of the inputs, as onnx_tensor_load takes them; others are drawn */
  int ndata;
  uint64_t seed;           /* drawn inputs follow from it */
  int hard;                /* so many of the inputs have NaN and infinities among what is drawn */
  bool steady;             /* the graph has no jumps: results are near the exact ones without excuses */
  bool strict;             /* compile with fp32-strict */
  bool llvm;               /* run the code that LLVM makes */
  int c;                   /* and what the C compiler makes, for so many of the machines */
  const char *save;        /* where inputs and outputs are left, as PREFIX.input_0.pb; NULL: nowhere */
  const char *scratch;     /* a folder for the C compiler's files */
  int64_t capacity;        /* as of LoadOptions */
  const DimValue *dims;    /* and these */
  int ndims;
  int skip;                /* so many plans, of machine after machine: a child died of the last of them */
  double most;             /* operations that the interpreters may take; 0: 50 million */
  /* the caller's own word on the outputs, for graphs whose meaning it knows: called once; NULL: none */
  void (*judge)(struct Case *k, const Tensor *in, const Tensor *exact);
  void *arg;
  /* a backend of the caller's in place of those of the list, and what runs its plan: from the inputs to memory for the outputs.
   * No bundle is rendered; NULL: the list */
  const Backend *backend;
  void (*run)(struct Case *k, const Plan *p, const Tensor *in, void *const *out);
  /* the answer */
  int64_t count[COUNTS];
  int ran;                 /* plans for which Case.run gave the right outputs */
  Sb failed;               /* a line for each failure; empty: there is none */
  Sb refused;              /* why, on one line */
  struct Reference *ref;   /* while it runs */
} Case;

void case_run(Case *k);
void case_free(Case *k);
void case_fail(Case *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
double tensor_value(const Tensor *t, int64_t i);
uint64_t next_random(uint64_t *state);

/* Runs cases first, first + step, ... below end in child processes. setup fills in case i; label: what the report calls it.
 * Prints for each "ID status label|counts|text" as docs/testing.md says; false: some failed. */
typedef struct Cases {
  int64_t first, end, step;
  void (*run)(struct Cases *s, int64_t i, int skip, Sb *line); /* in a child */
  const char *(*label)(struct Cases *s, int64_t i);  /* for a case that died */
  int seconds;             /* CPU time of a case */
  int64_t memory;          /* bytes a child may take; 0: any */
  void *arg;
} Cases;
bool cases_run(Cases *s);
void case_report(const Case *k, const char *label, Sb *line); /* puts the line of a case's run */
#endif

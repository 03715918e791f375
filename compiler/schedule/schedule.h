/* schedule.h: from a graph of tensors to a list of kernels over buffers. */
#ifndef TGC_SCHEDULE_H
#define TGC_SCHEDULE_H
#include "../graph/precision.h"
#include "../graph/storage.h"
#include "../ir/ir.h"
#include "../target/backend.h"

/* A nest's schedule and who chose it. */
typedef struct NestSchedule {
  Ref nest;                /* canonical */
  char key[65];            /* nestkey.c: equal nests of all models share it */
  const char *opts;        /* in text, as opts_text.c reads it back: complete */
  const char *from;        /* "heuristic", or the name of the ScheduleSource */
  bool partial;            /* the search that found it was not finished */
} NestSchedule;

/* A nest as the steps of its kernel have it so far (steps.h). Those that tiles and borders leave follow the nest that
 * they are left by. */
typedef struct NestState {
  Ref nest;
  int depth;               /* 0: a canonical nest became it; else it is left by the last nest before it of less depth */
  struct Opts *opts;       /* kernel.h: what of its schedule is still to be applied; in the model's arena */
  int kept;                /* outer ranges that no opt moves inwards */
  Ref panel[3];            /* loop, copies and lanes of the range of whose tiles panels are to be copied; 0: none are */
  int panel_depth;         /* of a device: panel[0] is a range of a reduction, which goes in rounds of so many terms; else 0 */
} NestState;

/* Where schedules come from before the heuristic is asked: a list, the first that knows a key counts. */
typedef struct ScheduleSource {
  const char *name;        /* "lock", "store": for the manifest and for messages */
  /* opts in text, or NULL; lives until the next call */
  const char *(*find)(struct ScheduleSource *s, const char *key, bool *partial);
  struct ScheduleSource *next;
} ScheduleSource;

/* Loads and stores of a program that were proved to lie inside their buffers (lower/bounds.c): by the algebra, but for
 * by_ranges, which needed values of loops one by one, and clamped, which were not proved and have clamped indices. */
typedef struct KernelBounds { int64_t accesses, by_ranges, clamped; } KernelBounds;

typedef struct Kernel {
  Ref sink;                /* kernel level: what it computes, before opts */
  Refs prog;               /* program level: after expansion and linearisation */
  VEC(int) bufs;           /* buffers it names, in the order of its C parameters */
  VEC(int) written;        /* those it stores to */
  VEC(int) locals;         /* memory on the stack of each call, which is in none of these */
  bool may_alias;          /* two of them share memory: no restrict */
  const char *schedule;    /* the opts in text, one nest after another */
  VEC(NestSchedule) nests; /* the same, a canonical nest each; without schedules before the step `schedule` */
  VEC(NestState) states;   /* from the step `schedule` to `programs`: the nests as they are by then */
  int as;                  /* 1 + the kernel of which it is a copy but for its buffers: steps skip it; 0: none */
  const Ref *buffers;      /* BUFFERs in the order in which two such kernels have them */
  int nbuffers;
  int chunks;              /* into which threads may share it; 1: one call does all */
  int group_size;            /* kernels, it and those behind it, that run chunk by chunk; 0: it is one of those behind */
  int chunks_per_task;                /* of a group: chunks that a thread takes at a time, one after another */
  const int64_t *shift;    /* elements by which calls move the pointers to bufs; prog counts from there. NULL: none */
  const char *head;        /* the backend's function up to its name; NULL: not printed yet (lower/kernel_functions.c) */
  uint32_t signature;      /* and from there on, interned */
  int code;                /* first kernel with the same function: equal ones share it; -1: not known yet, or no program */
  const char *text;        /* that function, named after `code` */
  int64_t flops;           /* arithmetic operations a run: a multiply-add counts 2, what results share once */
  int64_t bytes_read, bytes_written; /* of distinct elements touched */
  KernelBounds bounds;
  bool moves;              /* computes nothing: elements go from one place to another, or one number into many */
} Kernel;

/* A weight laid out for a kernel: element i of the buffer is element base + sum of digit x coef of
 * the tensor, the digits of i being those of the extents; 0 where closed + sum of digit x gate is not negative. */
typedef struct Packed { int64_t tensor, base, closed; int n; int64_t extent[24], coef[24], gate[24]; int buf; } Packed;

/* Memory of a state: `outer` blocks, in each of which the value's part begins at cursor * step. A run moves the
 * cursor one on; after `slots` runs it is at 0 again, and what is kept of a window is moved there. In bytes. */
typedef struct StatePlace {
  int64_t at;              /* from the start of the state */
  int64_t outer, block, keep, step, slots;
  int64_t init;            /* of the first value in the weights blob; -1: zeros */
} StatePlace;

/* Where a stored value lies: its element idx is element offset + sum of idx[a] * stride[a] of the buffer. */
typedef struct Layout {
  Ref value;
  int buf;
  int64_t offset, stride[MAX_RANK]; /* elements */
  bool part, halo;         /* of a concatenation; with a halo */
} Layout;

/* schedule/state_plan.c: elements by which the cursor of state k moves a window on, at most; 0: it is no window */
int64_t window_travel(const Graph *g, size_t k);
void layout_print(const IR *ir, const Layout *l, Sb *out); /* schedule/layout.c: in words, after a space */
void packed_gather(const IR *ir, const Packed *k, void *out); /* lower/pack.c: its elements */
bool packed_fits(const IR *ir, const Packed *k); /* it reads nothing outside of its tensor */

/* Which kernels run chunk by chunk together: where the model of cost says so, none, or all that may (for tests). */
typedef enum { GROUPS_FASTER, GROUPS_NONE, GROUPS_ALL, GROUPS_COUNT } Groups;
extern const char *const groups_name[GROUPS_COUNT]; /* group/group.c */

/* ---- what each stage gives ---- */
typedef struct PlanInputs { /* what is asked for; no pass changes it */
  const Target *target;
  const Backend *backend;
  Precision precision;
  Storage weights_as;
  ScheduleSource *schedules;
  Groups groups;
} PlanInputs;

typedef struct LayoutPlan { /* pass layout: of all stored values, sources first */
  Layout *p;
  size_t n;
  double cost[2]; /* instructions: with the order that each value wants by itself, and as chosen; 0: no vectors */
} LayoutPlan;

typedef struct MemoryPlan { /* pass memplan, in bytes */
  int64_t arena_bytes;      /* state included; every offset is a multiple of 64 */
  int64_t arena_bound;     /* peak of live bytes: no plan can be smaller */
  VEC(StatePlace) states;  /* as Graph.states */
  int64_t state_at, state_bytes; /* the end of the arena: a cursor for each state, then their memory */
  int64_t guard_at;        /* and behind that, of a guarded graph, one byte: an index was out of range */
} MemoryPlan;

typedef struct WeightPlan { /* the step pack, and what is placed after the memory plan */
  VEC(Packed) packed;      /* weights in another order; nests that read alike share one */
  uint8_t *p;              /* the blob: packed constants at Buf.offset, each a multiple of 64 */
  int64_t bytes;
} WeightPlan;

typedef struct Plan {
  const PlanInputs *in;
  Graph *g;
  IR *ir;
  LayoutPlan layouts;
  VEC(Kernel) kernels;       /* in order of execution: pass kernels, then steps, then render */
  struct Affinity *affinity; /* group/affinity.c: while kernels are lowered, else NULL */
  MemoryPlan memory;
  WeightPlan weights;
  VEC(struct Plan *) variants; /* the same kernels for further machines, all of them for the last: lower/variants.c */
  struct Plan *base;           /* whose variant this is, and whose buffers it uses; NULL: none's */
} Plan;

/* An option of the command line that passes follow, for dumps: the value as it was given. */
typedef struct Setting { const char *name, *value; } Setting;
typedef struct Resumed Resumed; /* plan_text.h: a dump to go on from */
/* Sample inputs of a graph, and its outputs as they are without rounding, by which a bundle states its error. */
typedef struct Sample { Tensor *in, *exact; } Sample;

typedef struct CompileOptions {
  const Target *target;
  const Backend *backend;
  ScheduleSource *schedules; /* NULL: the heuristic's */
  struct Decisions *decisions; /* ir/decisions.h: given ones, and where those of this compilation go; NULL: none */
  Precision precision;     /* PREC_FP32 is 0 */
  bool keep_denormals;     /* use no unit that flushes them, unless the precision asks for one by name */
  Groups groups;           /* GROUPS_FASTER is 0 */
  Storage weights;         /* STORE_FP32 is 0 */
  const char *dump;        /* letters of passes and steps to dump after, to stderr */
  int64_t kernel;          /* 1 + the kernel to which texts of kernels are limited; 0: all */
  bool time_passes;        /* a table of how long each of them took, to stderr */
  const char *stop_after;  /* pass name; its text form goes to *stopped, unless that is NULL, and NULL is returned */
  Sb *stopped;
  Sb *blob;                /* not NULL: *stopped is a dump with all that is decided so far, and this its long weights */
  const char *blobname;    /* what the dump calls the file that they go to */
  const Setting *settings; /* for the dump */
  int nsettings;
  const Sample *sample;    /* for the dump; NULL: none */
  Resumed *resumed;        /* the graph is this dump's, and the passes that it has behind it are not run; NULL: all are */
  void (*progress)(void *arg, const char *stage, int done, int total); /* may be NULL */
  void *progress_arg;
} CompileOptions;

/* driver.c (compiler/): runs the pass table of passes.h. Everything lives in g->ir->ctx->model. */
Plan *compile_graph(Graph *g, const CompileOptions *o);
#endif

/* SPDX-License-Identifier: MIT */
/* schedule.h: a plan: a list of kernels over buffers, made from a graph of tensors. */
#ifndef TGC_SCHEDULE_H
#define TGC_SCHEDULE_H
#include "../cost/growth.h"
#include "../graph/precision.h"
#include "../graph/storage.h"
#include "../ir/ir.h"
#include "../target/backend.h"

/* The schedule of a nest, and its source. */
typedef struct NestSchedule {
  Ref nest;                /* in canonical form */
  char key[65];            /* from nestkey.c; equal nests of all models share it */
  const char *opts;        /* the complete schedule, as text of opts_text.c */
  const char *from;        /* "heuristic", or the name of the ScheduleSource */
  bool partial;            /* the search that found it was interrupted */
} NestSchedule;

/* A nest between two steps of its kernel (steps.h). Nests cut off by tiles and borders follow the nest they were cut from. */
typedef struct NestState {
  Ref nest;
  int depth;               /* 0: made from a canonical nest. Else cut from the last nest before it with a smaller depth */
  struct Opts *opts;       /* opt/opts.h: opts still to be applied; in the model's arena */
  int kept;                /* number of outer ranges that no opt moves inwards */
  Ref panel[3];            /* parts of the range whose panels are copied: [0] its loop, [1] its copies, [2] its lanes; 0: none */
  const struct MatrixUnit *unit; /* on a device: it multiplies the matrices whose ranges have kind frag. NULL: none */
  int panel_depth;         /* on a device: terms that one panel holds, of the reduction over panel[0]; 0: no such panel */
} NestState;

/* A source of schedules, asked before the heuristic. The first source in the list that has the key decides. */
typedef struct ScheduleSource {
  const char *name;        /* "lock", "store": for the manifest and for messages */
  /* opts as text, or NULL; valid until the next call */
  const char *(*find)(struct ScheduleSource *s, const char *key, bool *partial);
  struct ScheduleSource *next;
} ScheduleSource;

/* How the accesses of a program were proved to lie inside their buffers (lower/bounds.c). Accesses that neither
 * `by_ranges` nor `clamped` counts were proved by bounds of nodes, or by intervals and linear inequalities. */
typedef struct KernelBounds {
  int64_t accesses;        /* all accesses */
  int64_t by_ranges;       /* proved by halving the ranges of loops */
  int64_t clamped;         /* not proved, so their indices are clamped */
} KernelBounds;

typedef struct Kernel {
  Ref sink;                /* kernel level: the computation before opts */
  Refs prog;               /* program level: after expansion and linearisation */
  VEC(int) bufs;           /* buffers it accesses, in the order of its C parameters */
  VEC(int) written;        /* buffers that it stores to */
  const int *named;        /* in calls of later iterations: the buffers that prog names; bufs.p[i] stands for named[i]. NULL: prog
                              names bufs (loop_calls.c) */
  VEC(int) locals;         /* buffers on the stack of each call, which are not in bufs */
  bool may_alias;          /* two buffers share memory: no restrict */
  const char *schedule;    /* text of all opts, nest after nest */
  VEC(NestSchedule) nests; /* canonical nests; they get their schedules in the step `schedule` */
  VEC(NestState) states;   /* current nests, from the step `schedule` to `programs` */
  int as;                  /* 1 + number of the kernel that has the same code but other buffers: steps skip this one; 0: none */
  const Ref *buffers;      /* BUFFERs of this kernel: buffers[i] replaces buffers[i] of the kernel that `as` names */
  int nbuffers;
  int chunks;              /* number of chunks that threads may share; 1: a single call */
  int group_size;            /* number of kernels in the group that starts here; 0 inside a group */
  int chunks_per_task;                /* for a group: consecutive chunks that a thread takes at a time */
  const int64_t *shift;    /* elements by which calls move the pointers to bufs; prog's indices count from there. NULL: none */
  const char *head;        /* start of the backend's function, up to its name; NULL: not printed yet (lower/kernel_functions.c) */
  uint32_t signature;      /* the rest of the function after its name, interned */
  int code;                /* number of the first kernel with the same function, which they share; -1: unknown, or no program */
  const char *text;        /* text of that function, named after `code` */
  int64_t flops;           /* arithmetic operations per run. A multiply-add counts 2; work that results share counts once */
  int64_t bytes_read, bytes_written; /* bytes of distinct elements accessed */
  KernelBounds bounds;
  int loop;                /* 1 + number of the loop in whose body it is: the kernels of a body are consecutive; 0: none */
  int64_t trips;           /* iterations of that loop */
  int until;               /* 1 + buffer of the carried bool of a loop that may end early: the loop ends after an iteration in
                              which it was false. 0: another loop, or none */
  int64_t rounds;          /* if `until` is set: most runs of the loop's calls (two iterations); plan_loop_calls sets it */
  int when;                /* it runs on one side of a branch: 2 * buffer of the condition + 1, + 1 if that must be true. 0: always.
                              The kernel that writes the condition has the branch's own `when` */
  bool moves;              /* computes nothing: copies elements, or fills memory with a number */
  int entry;               /* number of the entry that it belongs to; the kernels of an entry are consecutive */
} Kernel;

/* A weight packed for a kernel. The index of an element of the buffer has n digits in the mixed radix extent[]. If closed + sum of
 * digit * gate >= 0, the element is 0 (padding). Else it is the tensor's element at base + sum of digit * coef. */
typedef struct Packed { int64_t tensor, base, closed; int n; int64_t extent[24], coef[24], gate[24]; int buf; } Packed;

/* Memory of a state, in bytes: `outer` blocks. In each, the window begins at cursor * step. A run increments the cursor. After
 * `slots` runs the part of the window that is kept is moved to the start, and the cursor is 0 again. A run of an entry that
 * appends more than `step` adds more to the cursor. */
typedef struct StatePlace {
  int64_t at;              /* offset from the start of the state */
  int64_t outer, block, keep, step, slots;
  int64_t init;            /* offset of the first value in the weights blob; -1: zeros */
} StatePlace;

/* Placement of a stored value: element idx is element offset + sum of idx[a] * stride[a] of the buffer. */
typedef struct Layout {
  Ref value;
  int buf;
  int64_t offset, stride[MAX_RANK]; /* elements */
  bool part, halo;         /* part: the value is written into a concatenation. halo: the value has a halo */
} Layout;

/* schedule/state_plan.c: most elements by which the cursor of state k moves a window; 0: not a window */
int64_t window_travel(const Graph *g, size_t k);
void layout_print(const IR *ir, const Layout *l, Sb *out); /* schedule/layout.c: a blank, then the layout in words */
void packed_gather(const IR *ir, const Packed *k, void *out); /* lower/pack.c: writes k's elements to out */
bool packed_fits(const IR *ir, const Packed *k); /* k reads only elements that its tensor has, and is not too large */

/* Kernels that run in groups, chunk by chunk: those for which the cost model predicts a gain, none, or all that can (for
 * tests). */
typedef enum { GROUPS_FASTER, GROUPS_NONE, GROUPS_ALL, GROUPS_COUNT } Groups;
extern const char *const groups_name[GROUPS_COUNT]; /* group/group.c */

/* ---- results of the stages ---- */
typedef struct PlanInputs { /* the request; no pass changes it */
  const Target *target;
  Optimize optimize;       /* never OPTIMIZE_AUTO */
  int64_t max_arena, max_weights; /* 1 + most bytes; 0: no limit */
  const Backend *backend;
  Precision precision;
  Storage weights_as;
  ScheduleSource *schedules;
  Groups groups;
} PlanInputs;

typedef struct LayoutPlan { /* from pass layout: all stored values, sources first */
  Layout *p;
  size_t n;
  double cost[2]; /* instructions: [0] with layouts chosen value by value, [1] with the chosen layouts; 0: no vectors */
} LayoutPlan;

typedef struct MemoryPlan { /* from pass memplan, in bytes */
  int64_t arena_bytes;      /* with state; every offset is a multiple of 64 */
  int64_t arena_bound;     /* peak of live bytes: a lower bound for every plan */
  VEC(StatePlace) states;  /* in the order of Graph.states */
  int64_t state_at, state_bytes; /* at the end of the arena: a cursor per state, then their memory */
  int64_t guard_at;        /* offset of the guard, a byte behind the states. Only a guarded graph has it */
} MemoryPlan;

typedef struct WeightPlan { /* from the step pack; placed after the memory plan */
  VEC(Packed) packed;      /* packed weights; nests that read in the same order share one */
  uint8_t *p;              /* the blob: packed constants at Buf.offset, each aligned to 64 */
  int64_t bytes;
} WeightPlan;

/* Forms of layers that take more memory, and their cost (cost/growth.h) */
typedef struct GrowthReport {
  int layers;              /* layers in such a form; 0: none */
  const char *forms;       /* "Winograd tiles of 13 layers, parts without padding of 2 layers" */
  int64_t weights, arena;  /* bytes that the plan would take without these forms; arena: 0 without CompileOptions.tell_growth */
} GrowthReport;

typedef struct Plan {
  const PlanInputs *in;
  GrowthReport growth;
  Graph *g;
  IR *ir;
  LayoutPlan layouts;
  VEC(Kernel) kernels;       /* in execution order; filled by pass kernels, the steps and render */
  struct Affinity *affinity; /* group/affinity.c; only while kernels are lowered, else NULL */
  MemoryPlan memory;
  WeightPlan weights;
  VEC(struct Plan *) variants; /* plans for further machines (lower/variants.c): the last has all kernels, others the hot ones */
  struct Plan *whole;          /* for one of several entries: the joined plans of the entries compiled before; else NULL */
  struct Plan *base;           /* the plan of which this is a variant, and whose buffers it uses; NULL: not a variant */
} Plan;

/* An option of the command line that changes what passes do. Dumps record it as it was given. */
typedef struct Setting { const char *name, *value; } Setting;
typedef struct Resumed Resumed; /* plan_text.h: a dump from which to go on */
/* Sample inputs of a graph and its exact outputs; the bundle states its error against these. */
typedef struct Sample { Tensor *in, *exact; } Sample;

typedef struct CompileOptions {
  const Target *target;
  const Backend *backend;
  ScheduleSource *schedules; /* NULL: the heuristic only */
  struct Decisions *decisions; /* ir/decisions.h: given decisions, and record of those made; NULL: none */
  Precision precision;     /* PREC_FP32 is 0 */
  Optimize optimize;       /* OPTIMIZE_AUTO is 0 */
  int64_t max_arena, max_weights; /* 1 + most bytes; 0: no limit */
  bool tell_growth;        /* fill in all of Plan.growth, which takes a second look at the graph */
  bool stepped;            /* a run is cut into steps, so it takes all calls in their order */
  bool keep_denormals;     /* use no instruction that flushes denormals, unless the precision asks for it */
  Groups groups;           /* GROUPS_FASTER is 0 */
  Storage weights;         /* STORE_FP32 is 0 */
  const char *dump;        /* letters of the passes and steps after which to print, to stderr */
  int64_t kernel;          /* 1 + the only kernel to print; 0: all */
  bool time_passes;        /* print the time of each pass and step, to stderr */
  const char *stop_after;  /* name of the pass to stop after. Its text goes to *stopped, if not NULL; the result is NULL */
  Sb *stopped;
  Sb *blob;                /* not NULL: *stopped becomes a complete dump, and *blob gets its long weights */
  const char *blobname;    /* file name of the blob in the dump */
  const Setting *settings; /* for the dump */
  int nsettings;
  const Sample *sample;    /* for the dump; NULL: none */
  Resumed *resumed;        /* a dump with its graph; the passes up to its last are skipped; NULL: all passes run */
} CompileOptions;

static inline int when_buffer(const Kernel *k) { return (k->when - 1) / 2; } /* with `when` only */
/* Iterations of a kernel's loop that have calls of their own. Two of a loop that may end early stand for all: later ones use the
 * same places by turns. */
static inline int64_t calls_of_loop(const Kernel *k) { return k->until ? 2 : k->trips; }
/* schedule/loop_calls.c: makes each loop of a plan a list of calls. Afterwards kernels[k] is the k-th call of a run. */
void plan_loop_calls(Plan *p);
/* Jumps of a run from call to call, as data decide (jumps.c). A run that comes to call `at` goes on at call `to` if the byte at offset
 * `flag` of the arena is not 0, or is 0 where `zero` is set. `most`: the jump leads back, and so often, with the first time, come
 * the calls that it repeats; 0: it leads forward. next: number of the first jump to look at behind this one. */
typedef struct Jump { size_t at, to, next; bool zero; int64_t flag, most; } Jump;
typedef VEC(Jump) Jumps;
/* In the order of `at`. Jumps at one call are looked at one after another. The caller frees the list. */
Jumps plan_jumps(const Plan *p);
/* Where a run is: the next jump to look at; how often the calls of the loop `of`, 1 + number of a jump back, have run */
typedef struct Position { size_t jump, of; int64_t done; } Position;
/* The call to run when all before `next` are done or skipped. The caller clears *r before a run. */
size_t next_call(const Jumps *all, size_t next, const char *arena, Position *r);

/* driver.c (compiler/): runs the passes of passes.h. Everything lives in g->ir->ctx->model. */
Plan *compile_graph(Graph *g, const CompileOptions *o);

/* ---- buffer_memory.c: for programs that run a plan's kernels without a bundle ---- */
tgcrt_state state_row(const StatePlace *s);
/* Address of a buffer; for a state, the place at which its cursor in the arena points. NULL: a buffer private to a kernel. */
void *buffer_memory(const Plan *p, const Buf *b, const Tensor *in, void *const *out, char *arena);
#endif

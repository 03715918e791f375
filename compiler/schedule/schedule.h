/* SPDX-License-Identifier: MIT */
/* schedule.h: the plan of a bundle: a list of kernels over buffers, made from a graph of tensors. */
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
  char key[65];            /* from nestkey.c; equal nests have equal keys, in all models */
  const char *opts;        /* the complete schedule, as text of opts_text.c */
  const char *from;        /* its source: "heuristic", or the name of a ScheduleSource */
  bool partial;            /* the search that found the schedule was interrupted */
} NestSchedule;

/* A nest between two steps of its kernel (steps.h). Rests and borders, which a schedule cuts off, follow their nest in the
 * list. */
typedef struct NestState {
  Ref nest;
  int depth;               /* 0: the nest comes from a canonical nest. Else it was cut from an earlier nest of the list: the last
                              one with a smaller depth */
  struct Opts *opts;       /* opt/opts.h: opts still to be applied; in ir->ctx->model */
  int kept;                /* number of outermost ranges that stay outermost when opts order the loops */
  Ref panel[3];            /* the parts into which tiles split the range Opts.staged: [0] loop, [1] copies, [2] lanes; 0: none */
  const struct MatrixUnit *unit; /* on a device: the unit that multiplies matrices. Ranges over a matrix have the kind
                                    RK_FRAG. NULL: no unit does */
  int panel_depth;         /* on a device: terms of the reduction over panel[0] that one panel holds; 0: no panel */
} NestState;

/* A source of schedules, asked before the heuristic. The first source in the list (`next`) that has the key decides. */
typedef struct ScheduleSource {
  const char *name;        /* "lock", "store": for the manifest and for messages */
  /* The schedule of the nest with this key as text, or NULL. *partial: as in NestSchedule. The text is valid until the next
   * call */
  const char *(*find)(struct ScheduleSource *s, const char *key, bool *partial);
  struct ScheduleSource *next;
} ScheduleSource;

/* How the accesses of a program were proved to lie inside their buffers (lower/bounds.c). Accesses that neither `by_ranges` nor
 * `clamped` counts were proved by bounds of nodes, or by intervals and linear inequalities. */
typedef struct KernelBounds {
  int64_t accesses;        /* all accesses */
  int64_t by_ranges;       /* proved by halving the ranges of loops */
  int64_t clamped;         /* not proved, so their indices are clamped */
} KernelBounds;

typedef struct Kernel {
  Ref sink;                /* kernel level: the computation before opts */
  Refs prog;               /* program level: after expansion and linearisation */
  VEC(int) bufs;           /* buffers that the kernel accesses, in the order of its C parameters */
  VEC(int) written;        /* buffers to which the kernel stores */
  const int *named;        /* for a call of a later iteration (loop_calls.c): the buffers that prog names. bufs.p[i] takes the
                              place of named[i]. NULL: prog names bufs */
  VEC(int) locals;         /* buffers on the stack of each call, which are not in bufs */
  bool may_alias;          /* two buffers may share memory, so pointers to them are not `restrict` */
  const char *schedule;    /* text of all opts, nest after nest */
  VEC(NestSchedule) nests; /* canonical nests; they get their schedules in the step `schedule` */
  VEC(NestState) states;   /* current nests, from the step `schedule` to `programs` */
  int as;                  /* 1 + number of an earlier kernel that has the same nests on other buffers. Steps skip this kernel
                              until the step `reuse` copies the earlier kernel's nests. 0: none */
  const Ref *buffers;      /* BUFFERs of this kernel, from the step `match`. If `as` is set, buffers[i] replaces buffers[i] of the
                              earlier kernel */
  int nbuffers;
  int chunks;              /* number of chunks that threads may share; 1: one thread runs the kernel */
  int group_size;          /* number of kernels in the kernel group that starts here; 1: no group; 0: inside a group */
  int chunks_per_task;     /* consecutive chunks that a thread takes at a time, in kernel groups and in kernels that strips.c
                              joined; 0: one chunk */
  const int64_t *shift;    /* by index in bufs: number of elements that calls add to the pointer to the buffer. Indices of prog
                              count from that element. NULL: calls add nothing */
  const char *head;        /* text of the kernel's function up to its name, "" for a device; NULL: not printed yet
                              (lower/kernel_functions.c) */
  uint32_t signature;      /* number of the interned text after `head` */
  int code;                /* number of the first kernel with the same function, perhaps this kernel; -1: unknown, or no
                              program */
  const char *text;        /* text of this function, whose name contains `code` */
  int64_t flops;           /* arithmetic operations of a run. A multiply-add counts 2; work that results share counts once */
  int64_t bytes_read, bytes_written; /* bytes of the distinct elements that the kernel reads or writes in a run */
  KernelBounds bounds;
  int loop;                /* 1 + number of the loop of the model whose body has this kernel; 0: none. The kernels of a body are
                              consecutive */
  int64_t trips;           /* iterations of this loop; plan_loop_calls sets `trips` to 2 if `until` is set */
  int limit;               /* 1 + the row of IR.sizes that says how many iterations a run needs. A run may omit the others. 0: a
                              run needs all */
  int until;               /* for a loop that may end early: 1 + buffer of a carried bool. The loop ends after an iteration that
                              sets this bool to false. 0: no loop, or a loop that does not end early */
  int64_t rounds;          /* if `until` is set: most times that a run executes the pair of iterations that have calls
                              (calls_of_loop); plan_loop_calls sets `rounds` */
  int when;                /* 0: the kernel always runs. Else it is on one side of a branch: 2 * buffer of the condition, + 1 for
                              the side `no` or + 2 for `yes`. If the branch is on a side of an outer branch, the kernel that
                              writes the condition has the `when` of that side */
  bool moves;              /* the kernel only copies, selects or converts elements, or fills memory with a number */
  int entry;               /* number of the entry to which the kernel belongs; the kernels of an entry are consecutive */
} Kernel;

/* A weight packed for a kernel into buffer `buf`. tensor: index in IR.tensors. The index of an element of the buffer has the
 * digits digit[0..n) in the mixed radix extent[], the lowest digit last. If closed + the sum of digit[i] * gate[i] >= 0, the
 * element is 0 (padding). Else it is the tensor's element number base + the sum of digit[i] * coef[i]. */
typedef struct Packed { int64_t tensor, base, closed; int n; int64_t extent[24], coef[24], gate[24]; int buf; } Packed;

/* Memory of a state: `outer` blocks of `block` bytes. In each block, the `keep` bytes from cursor * step on are the state's
 * value. A run adds 1 to the cursor, unless its entry only reads the state. A run of an entry that appends n * step bytes to each
 * block of a window adds n. If the cursor has reached or passed `slots`, it becomes 0. Before that, the value of a window with
 * step < block moves to the start of each block. A state that is no window has one slot, or two slots that runs use by turns. */
typedef struct StatePlace {
  int64_t at;              /* offset from MemoryPlan.state_at */
  int64_t outer, block, keep, step, slots;
  int64_t init;            /* offset of the state's first value in the blob of weights; -1: zeros */
} StatePlace;

/* Placement of a stored value in buffer `buf`. The value's element at indices idx[] is the buffer's element offset + the sum of
 * idx[a] * stride[a]. */
typedef struct Layout {
  Ref value;
  int buf;
  int64_t offset, stride[MAX_RANK]; /* elements */
  bool part, halo;         /* part: the value is written into a concatenation. halo: the value has a halo */
} Layout;

/* schedule/state_plan.c: most elements by which the cursor of state k can move its window; 0: the state is no window */
int64_t window_travel(const Graph *g, size_t k);
void layout_print(const IR *ir, const Layout *l, Sb *out); /* schedule/layout.c: a blank, then the layout in words */
void packed_gather(const IR *ir, const Packed *k, void *out); /* lower/pack.c: writes k's elements to out */
bool packed_fits(const IR *ir, const Packed *k); /* whether all elements of k lie in its tensor, and k is not too large */

/* Which kernels become kernel groups. FASTER: kernels for which the cost model predicts a gain. ALL: all kernels that can be in a
 * group */
typedef enum { GROUPS_FASTER, GROUPS_NONE, GROUPS_ALL, GROUPS_COUNT } Groups;
extern const char *const groups_name[GROUPS_COUNT]; /* group/group.c */

/* ---- results of the stages ---- */
typedef struct PlanInputs { /* the request, from the fields of CompileOptions. No pass changes a PlanInputs */
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
  double cost[2]; /* in instructions (cost/rates.h): [0] with layouts chosen value by value, [1] with those in p; 0: no vectors */
} LayoutPlan;

typedef struct MemoryPlan { /* from pass memplan, in bytes */
  int64_t arena_bytes;     /* size of the arena, states included. Offsets of buffers are multiples of 64, except those of slices
                              of buffers (Buf.of) */
  int64_t arena_bound;     /* most bytes that are in use at a time: no memory plan can need less */
  VEC(StatePlace) states;  /* in the order of Graph.states */
  int64_t state_at, state_bytes; /* behind the intermediate values: a cursor for each state, then the memory of the states */
  int64_t guard_at;        /* offset of the guard, a byte behind the states; only for Graph.guarded */
} MemoryPlan;

typedef struct WeightPlan { /* offsets and the blob are made when the memory plan is complete */
  VEC(Packed) packed;      /* from the steps `pack` and `panels`. Nests that read a weight in the same order share an element */
  uint8_t *p;              /* the blob of weights. Each weight is at Buf.offset of its buffer, aligned to 64 bytes */
  int64_t bytes;
} WeightPlan;

/* Layers in a form that is faster but takes more memory (cost/growth.h) */
typedef struct GrowthReport {
  int layers;              /* layers in such a form; 0: none */
  const char *forms;       /* "Winograd tiles of 13 layers, parts without padding of 2 layers" */
  int64_t weights, arena;  /* bytes that the plan would take without these forms; arena is 0 unless tell_growth is set */
} GrowthReport;

typedef struct Plan {
  const PlanInputs *in;
  GrowthReport growth;
  Graph *g;
  IR *ir;
  LayoutPlan layouts;
  VEC(Kernel) kernels;       /* in execution order; the passes and steps from `kernels` to `render` fill in their fields */
  struct Affinity *affinity; /* group/affinity.c; only while kernels are lowered, else NULL */
  MemoryPlan memory;
  WeightPlan weights;
  VEC(struct Plan *) variants; /* plans for further machines (lower/variants.c), with as many kernels as this plan. In all
                                  variants but the last one, kernels that take little of the time have no nests */
  struct Plan *whole;          /* if the graph is one of several entries: the joined plans of earlier entries; else NULL */
  struct Plan *base;           /* for a variant: the plan from which it was made, and whose buffers it uses; NULL: not a
                                  variant */
} Plan;

/* An option of the command line that changes what passes do. Dumps record it as it was given. */
typedef struct Setting { const char *name, *value; } Setting;
typedef struct Resumed Resumed; /* plan_text.h: a dump from which to go on */
/* Sample inputs of a graph and its exact outputs, in the order of Graph.inputs and Graph.outputs. The manifest has the errors of
 * the bundle's outputs for these inputs. */
typedef struct Sample { Tensor *in, *exact; } Sample;

typedef struct CompileOptions {
  const Target *target;
  const Backend *backend;
  ScheduleSource *schedules; /* NULL: the heuristic only */
  struct Decisions *decisions; /* ir/decisions.h: decisions that passes follow, and to which they add their own; NULL: none */
  Precision precision;     /* PREC_FP32 is 0 */
  Optimize optimize;       /* OPTIMIZE_AUTO is 0 */
  int64_t max_arena, max_weights; /* 1 + most bytes; 0: no limit */
  bool tell_growth;        /* fill in all of Plan.growth, for which the graph is planned a second time */
  bool stepped;            /* a run is cut into steps, so each run makes all calls in their order */
  bool keep_denormals;     /* use instructions that flush denormals only if the precision asks for them */
  Groups groups;           /* GROUPS_FASTER is 0 */
  Storage weights;         /* STORE_FP32 is 0 */
  const char *dump;        /* letters of the passes and steps after which to print the text to stderr */
  int64_t kernel;          /* 1 + the only kernel to print; 0: all */
  bool time_passes;        /* print the time of each pass and step to stderr */
  const char *stop_after;  /* name of the pass or step to stop after; then compile_graph returns NULL. NULL: do not stop */
  Sb *stopped;             /* gets the text of the state after this pass or step; may be NULL */
  Sb *blob;                /* not NULL: *stopped becomes a complete dump, but its long weights go to *blob */
  const char *blobname;    /* file name of the blob in the dump */
  const Setting *settings; /* options to record in the dump */
  int nsettings;
  const Sample *sample;    /* sample to record in the dump; NULL: none */
  Resumed *resumed;        /* a dump, with its graph: only passes after the dump's last pass run. NULL: all passes run */
} CompileOptions;

static inline int when_buffer(const Kernel *k) { return (k->when - 1) / 2; } /* the condition's buffer, if `when` is set */
/* Number of iterations of a kernel's loop that have calls of their own. If the loop may end early, only two iterations have
 * calls. All iterations use these calls by turns. */
static inline int64_t calls_of_loop(const Kernel *k) { return k->until ? 2 : k->trips; }
/* schedule/loop_calls.c: replaces the kernels of each loop by the calls of its iterations. Afterwards kernels[k] is the k-th call
 * of a run. */
void plan_loop_calls(Plan *p);
/* A jump from call `at` to call `to` (jumps.c). A run that comes to call `at` reads the byte at offset `flag` of the arena. If
 * `zero` is true, the run jumps if the byte is 0; else the run jumps if the byte is not 0. most: 0 if the jump leads forward. If
 * the jump leads back, the calls that it repeats run at most this often, the first time included. next: number of the jump to
 * look at after this jump was taken. by: if not 0, the jump stands at call `at` + by * the size in row `flag` of IR.sizes. There
 * each run jumps, without reading a byte. */
typedef struct Jump { size_t at, to, next, by; bool zero; int64_t flag, most; } Jump;
typedef VEC(Jump) Jumps;
/* The jumps of a plan after plan_loop_calls, in the order of `at`. A run looks at the jumps of one call one after another. The
 * caller frees the list. omits: the list has jumps over iterations that a run may omit */
Jumps plan_jumps(const Plan *p, bool omits);
/* Where a run is. jump: number of the jump to look at next. If `of` is not 0, the run is in the loop whose jump back has the
 * number (of - 1). The calls of this loop have run `done` times. */
typedef struct Position { size_t jump, of; int64_t done; } Position;
/* The number of the call to run, when all calls before `next` are done or skipped; the number of calls: the run is done. The
 * caller sets *r to zeros before a run. sizes: the sizes of the run, by row of IR.sizes; NULL: there are none */
size_t next_call(const Jumps *all, size_t next, const char *arena, const int64_t *sizes, Position *r);

/* driver.c (compiler/): runs the passes of passes.h on g, which changes. The plan lives in g->ir->ctx->model. Returns NULL after
 * o->stop_after. Fails if the plan exceeds max_arena or max_weights. */
Plan *compile_graph(Graph *g, const CompileOptions *o);

/* ---- buffer_memory.c: for programs that run a plan's kernels without a bundle ---- */
tgcrt_state state_row(const StatePlace *s); /* the row of the runtime's table of states */
/* Address of a buffer. in, out: the caller's inputs and outputs. arena: a run's arena, whose cursors tell where the values of
 * states are. NULL: the buffer is private to a kernel. */
void *buffer_memory(const Plan *p, const Buf *b, const Tensor *in, void *const *out, char *arena);
#endif

/* SPDX-License-Identifier: MIT */
/* schedule.h: the plan of a bundle. The compiler turns a graph of tensors into a plan: a list of kernels that access buffers. */
#ifndef TGC_SCHEDULE_H
#define TGC_SCHEDULE_H
#include "../cost/growth.h"
#include "../graph/precision.h"
#include "../graph/storage.h"
#include "../ir/ir.h"
#include "../target/backend.h"

/* A nest with its schedule, and where this schedule comes from */
typedef struct NestSchedule {
  Ref nest;                /* in canonical form */
  char key[65];            /* from nestkey.c; equal nests have equal keys, in all models */
  const char *opts;        /* the complete schedule, as text of opts_text.c */
  const char *from;        /* source of the schedule: "heuristic", or the name of a ScheduleSource */
  bool partial;            /* the search that found the schedule was interrupted */
  const char *measured;    /* for ranges of sizes: times of the nest in some runs, in words; NULL: no times are known */
} NestSchedule;

/* A nest as it is between two steps (nest/steps.h). If a schedule cuts rests and borders off a nest, the rests and
 * borders follow this nest in Kernel.states. */
typedef struct NestState {
  Ref nest;
  int depth;               /* 0: the nest comes from an element of Kernel.nests. Above 0: the nest was cut off another nest. This
                              is the nearest earlier nest in Kernel.states with a smaller depth */
  struct Opts *opts;       /* opts that no step has applied yet (opt/opts.h); in the arena ir->ctx->model */
  int kept;                /* number of outermost ranges that stay outermost when opts order the loops */
  Ref panel[3];            /* the ranges into which tiles split the range Opts.staged: [0] loop, [1] copies, [2] lanes; 0: none */
  const struct MatrixUnit *unit; /* on a device: the matrix unit that the nest uses. Ranges over the rows or columns of a matrix
                                    have the kind RK_FRAG. NULL: the nest uses no matrix unit */
  int panel_depth;         /* on a device: number of terms of the reduction over panel[0] that one panel holds; 0: no panel */
} NestState;

/* A source of schedules. The compiler uses the heuristic only for nests that no source knows. Sources form a list (`next`). If
 * several sources know a nest, the first of these sources in the list gives the schedule. */
typedef struct ScheduleSource {
  const char *name;        /* such as "lock" or "store"; for the manifest and for messages */
  /* Returns the schedule of the nest with this key as text, or NULL if this source does not know the nest. Sets *partial as in
   * NestSchedule. The text is valid until the next call. */
  const char *(*find)(struct ScheduleSource *s, const char *key, bool *partial);
  /* Returns NestSchedule.measured for the nest with this key. `measured` may be NULL: then the source knows no times */
  const char *(*measured)(struct ScheduleSource *s, const char *key);
  struct ScheduleSource *next;
} ScheduleSource;

/* Some values of a loop need no work in the first iteration. An example is the product of a weight and an initial state of zeros.
 * For such a value, the loop has two kernels beside each other, which write the same buffers. One kernel runs in the first
 * iteration, and the other kernel runs in all later iterations. */
typedef enum { ALL_ITERATIONS, FIRST_ITERATION, LATER_ITERATIONS } Iterations;

/* Numbers of accesses of a program, by the kind of proof that the pass `bounds` has found (lower/bounds.c) */
typedef struct KernelBounds {
  int64_t accesses;        /* all accesses */
  int64_t by_ranges;       /* accesses for whose proof ranges of loops had to be halved */
  int64_t clamped;         /* accesses without a proof; their indices are clamped */
} KernelBounds;

typedef struct Kernel {
  Ref sink;                /* the SINK (ops.h) of the kernel's nests, before any opts are applied */
  Refs prog;               /* the kernel as a linear program, made from the nests after all opts are applied */
  VEC(int) bufs;           /* buffers that the kernel accesses, in the order of its C parameters */
  VEC(int) written;        /* buffers to which the kernel stores */
  const int *named;        /* for a call of a later iteration of a loop (loop_calls.c): the buffers that prog names. In this call,
                              bufs.p[i] takes the place of named[i]. NULL: prog names the buffers of bufs */
  VEC(int) locals;         /* buffers that the kernel's function makes itself (buf_is_own); bufs does not have them */
  bool may_alias;          /* true: two buffers of the kernel may share memory, so the kernel's pointers are not `restrict` */
  int overwrites;          /* 1 + number of a buffer in whose memory the kernel may store its result. It is proved that the
                              kernel loads no element after storing over it (lower/in_place.c). 0: no such buffer is known */
  const char *schedule;    /* text of all opts, nest after nest */
  VEC(NestSchedule) nests; /* canonical nests; they get their schedules in the step `schedule` */
  VEC(NestState) states;   /* current nests, from the step `schedule` to `programs` */
  int as;                  /* 1 + number of an earlier kernel that has the same nests on other buffers. Steps of scope NEST skip
                              this kernel until the step `reuse` copies the earlier kernel's nests. 0: no earlier kernel has the
                              same nests */
  const Ref *buffers;      /* BUFFERs of this kernel, from the step `match`. If `as` is set, buffers[i] replaces buffers[i] of the
                              earlier kernel */
  int nbuffers;
  int chunks;              /* number of chunks that threads may share; 1: one thread runs the kernel */
  int group_size;          /* number of kernels in the kernel group that starts with this kernel; 1: the kernel is in no group;
                              0: the kernel is in a group, but not as the first kernel */
  int chunks_per_task;     /* consecutive chunks that a thread takes at a time, in kernel groups and in kernels that strips.c
                              joined; 0: one chunk */
  const int64_t *shift;    /* by index in bufs: number of elements that calls add to the pointer to the buffer. Indices in prog
                              count from the element to which this pointer then points. NULL: calls add nothing */
  const char *head;        /* text of the kernel's function, up to the end of the function's name; "" for a device; NULL: not
                              printed yet (lower/kernel_functions.c) */
  uint32_t signature;      /* number of the interned text after `head` */
  int code;                /* number of the first kernel with the same function, perhaps this kernel; -1: unknown, or no
                              program */
  const char *text;        /* text of the kernel's function. The function's name contains `code` */
  int64_t flops;           /* arithmetic operations of a run. A multiply-add counts 2; work that several results share counts
                              once */
  int64_t bytes_read, bytes_written; /* bytes of the distinct elements that the kernel reads or writes in a run */
  KernelBounds bounds;
  int loop;                /* if the kernel is in the body of a loop of the model: 1 + number of this loop; else 0. The kernels of
                              a body are consecutive */
  int64_t trips;           /* number of iterations of this loop; plan_loop_calls sets `trips` to 2 if `until` is set */
  int limit;               /* 1 + the row of IR.sizes that says how many iterations a run needs. A run may omit the later
                              iterations. 0: a run needs all iterations */
  Iterations only;         /* the iterations of this loop that run the kernel. If some kernel of the loop runs only in some
                              iterations, plan_loop_calls sets FIRST_ITERATION or LATER_ITERATIONS for each call of the loop */
  int until;               /* for a loop that may end early: 1 + number of the buffer of a carried bool. The loop ends after an
                              iteration that sets this bool to false. 0: no loop, or a loop that does not end early */
  int64_t rounds;          /* if `until` is set: only two iterations have calls (calls_of_loop). A run executes these two at most
                              `rounds` times. plan_loop_calls sets `rounds` */
  int when;                /* 0: the kernel always runs. Above 0: the kernel runs only for one side of a branch. `when` is
                              2 * b + 1 for the side `no`, and 2 * b + 2 for the side `yes`, where b is the number of the
                              condition's buffer. A branch may be on a side of an outer branch. Then the kernel that writes the
                              condition of the inner branch has the `when` of this side */
  bool moves;              /* the kernel only copies, selects or converts elements, or fills memory with a number */
  int entry;               /* number of the entry to which the kernel belongs; the kernels of an entry are consecutive */
} Kernel;

/* A weight that is packed for a kernel: buffer `buf` has elements of the tensor number `tensor` of IR.tensors, in another order.
 * The index of an element of the buffer has n digits in a mixed radix. Each digit[i] is below extent[i]; the last digit is the
 * lowest. If closed + the sum of digit[i] * gate[i] is at least 0, the element is 0 (padding). Otherwise the element has the
 * value of the tensor's element number base + the sum of digit[i] * coef[i]. */
typedef struct Packed { int64_t tensor, base, closed; int n; int64_t extent[24], coef[24], gate[24]; int buf; } Packed;

/* Memory of a state: `outer` blocks of `block` bytes. Each state also has a cursor, one of the numbers in the arena at
 * MemoryPlan.state_at. The cursor is 0 before the first run. In each block, the `keep` bytes from offset cursor * step on are the
 * state's value. A run of an entry that only reads the state does not change the cursor. If a run appends n * step bytes to each
 * block of a window, the run adds n to the cursor. Any other run adds 1. A cursor that is then at least `slots` becomes
 * 0. In this case, the value of a window with step < block is moved to the start of each block. A state that is no window has one
 * slot, or two slots that runs use by turns. */
typedef struct StatePlace {
  int64_t at;              /* offset of this memory from MemoryPlan.state_at */
  int64_t outer, block, keep, step, slots;
  int64_t init;            /* offset of the state's first value in the blob of weights; -1: zeros */
} StatePlace;

/* The place of a stored value in buffer `buf`. An element of the value has an index idx[a] along each axis a. The element's
 * index in the buffer is `offset` + the sum of idx[a] * stride[a]. */
typedef struct Layout {
  Ref value;
  int buf;
  int64_t offset, stride[MAX_RANK]; /* elements */
  bool part, halo;         /* part: the value is stored in the memory of a concatenation. halo: the value has a halo */
} Layout;

/* schedule/state_plan.c: the greatest number of elements by which the cursor can move the value of state k in a block; 0: the
 * state is no window */
int64_t window_travel(const Graph *g, size_t k);
void layout_print(const IR *ir, const Layout *l, Sb *out); /* schedule/layout.c: appends a blank and the layout in words */
void packed_gather(const IR *ir, const Packed *k, void *out); /* lower/pack.c: writes k's elements to out */
bool packed_fits(const IR *ir, const Packed *k); /* whether k is not too large, and reads only elements that the tensor has */

/* Which kernels are put into kernel groups. FASTER: those for which the cost model predicts a gain. NONE: no kernels. ALL: all
 * kernels that can be in a group */
typedef enum { GROUPS_FASTER, GROUPS_NONE, GROUPS_ALL, GROUPS_COUNT } Groups;
extern const char *const groups_name[GROUPS_COUNT]; /* group/group.c */

/* ---- results of the stages ---- */
typedef struct PlanInputs { /* the request: fields of CompileOptions. No pass changes a PlanInputs */
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
  double cost[2]; /* in instructions (cost/rates.h): [0] if each layout were chosen by itself, [1] with the layouts in p; both 0
                     on a target without vectors */
} LayoutPlan;

typedef struct MemoryPlan { /* from pass memplan, in bytes */
  int64_t arena_bytes;     /* size of the arena, states included. Offsets of buffers are multiples of 64, except those of slices
                              of buffers (Buf.of) */
  int64_t arena_bound;     /* most bytes that are in use at the same time. Each memory plan needs at least this number of bytes */
  VEC(StatePlace) states;  /* in the order of Graph.states */
  int64_t state_at, state_bytes; /* offset and size of the states, behind the intermediate values: a cursor for each state, then
                                    the memory of all states */
  int64_t guard_at;        /* if Graph.guarded is set: offset of the guard, which is a byte behind the states */
} MemoryPlan;

typedef struct WeightPlan { /* offsets and the blob are made after the memory plan is complete */
  VEC(Packed) packed;      /* from the steps `pack` and `panels`. Nests that read a weight in the same order share a Packed */
  uint8_t *p;              /* the blob of weights. Each weight is at Buf.offset of its buffer, aligned to 64 bytes */
  int64_t bytes;
} WeightPlan;

/* The layers that are compiled in a form that is faster but takes more memory (cost/growth.h) */
typedef struct GrowthReport {
  int layers;              /* number of these layers */
  const char *forms;       /* text such as "Winograd tiles of 13 layers, parts without padding of 2 layers" */
  int64_t weights, arena;  /* bytes of weights and of the arena that the plan would take without these forms. `arena` is set only
                              if CompileOptions.tell_growth is true, and is 0 otherwise */
} GrowthReport;

typedef struct Plan {
  const PlanInputs *in;
  GrowthReport growth;
  Graph *g;
  IR *ir;
  LayoutPlan layouts;
  VEC(Kernel) kernels;       /* in execution order; the passes and steps from `kernels` to `render` fill in the fields */
  struct Affinity *affinity; /* group/affinity.c; only while kernels are lowered, else NULL */
  MemoryPlan memory;
  WeightPlan weights;
  VEC(struct Plan *) variants; /* plans for further machines (lower/variants.c), with as many kernels as this plan. In all
                                  variants but the last one, kernels that take little of the time have no nests */
  struct Plan *whole;          /* if the graph is one of several entries: the joined plans of earlier entries; else NULL */
  struct Plan *base;           /* for a variant: the plan from which the variant was made. The variant uses the buffers of this
                                  plan. NULL: this plan is no variant */
} Plan;

/* An option of the command line that changes what passes do. Dumps record these options. */
typedef struct Setting { const char *name, *value; } Setting;
typedef struct Resumed Resumed; /* plan_text.h: a dump from which the compilation continues */
/* Inputs of a graph, in the order of Graph.inputs, and the exact outputs for them, in the order of Graph.outputs. The manifest
 * has the errors of the bundle's outputs for these inputs. */
typedef struct Sample { Tensor *in, *exact; } Sample;

typedef struct CompileOptions {
  const Target *target;
  const Backend *backend;
  ScheduleSource *schedules; /* NULL: the heuristic only */
  struct Decisions *decisions; /* ir/decisions.h: decisions that passes follow. Passes add further decisions. NULL: none */
  Precision precision;     /* PREC_FP32 is 0 */
  Optimize optimize;       /* OPTIMIZE_AUTO is 0 */
  int64_t max_arena, max_weights; /* 1 + most bytes; 0: no limit */
  bool tell_growth;        /* fill in Plan.growth.arena, too. For this, the graph is planned a second time */
  bool stepped;            /* the caller can do a run in parts (BundleOptions.stepped), so each run makes all calls, in order */
  bool keep_denormals;     /* an instruction that flushes denormals is used only if `precision` asks for this instruction */
  Groups groups;           /* GROUPS_FASTER is 0 */
  Storage weights;         /* STORE_FP32 is 0 */
  const char *dump;        /* letters of the passes and steps after which to print the text to stderr */
  int64_t kernel;          /* 1 + number of the only kernel to print; 0: print all kernels */
  bool time_passes;        /* print the time of each pass and step to stderr */
  const char *stop_after;  /* name of the pass or step after which compile_graph stops and returns NULL. NULL: do not stop */
  Sb *stopped;             /* gets the text of the state after this pass or step; may be NULL */
  Sb *blob;                /* if not NULL: *stopped becomes a complete dump, except for long weights, which go to *blob */
  const char *blobname;    /* file name by which the dump refers to *blob */
  const Setting *settings; /* options to record in the dump */
  int nsettings;
  const Sample *sample;    /* sample to record in the dump; NULL: none */
  Resumed *resumed;        /* a dump: compile_graph continues after the last pass or step of the dump, with the dump's graph.
                              NULL: all passes run */
} CompileOptions;

static inline int when_buffer(const Kernel *k) { return (k->when - 1) / 2; } /* if `when` is set: the buffer of the condition */
/* The number of iterations of a kernel's loop that have calls of their own. If the loop may end early, this is two: iterations
 * use the calls of the first and of the second iteration by turns. */
static inline int64_t calls_of_loop(const Kernel *k) { return k->until ? 2 : k->trips; }
/* schedule/loop_calls.c: replaces the kernels of each loop by the calls of the loop's iterations. Afterwards each element of
 * p->kernels is one call, in the order of a run. */
void plan_loop_calls(Plan *p);
/* By kernel of a plan before plan_loop_calls: the number of the first call of the kernel. The caller frees the list. */
int *plan_first_calls(const Plan *p);
/* A jump from call `at` to call `to` (jumps.c).
 *
 * If `by` is 0: a run that comes to call `at` reads the byte at offset `flag` of the arena. With `zero`, the run jumps if this
 * byte is 0. Without `zero`, the run jumps if this byte is not 0.
 *
 * If `by` is not 0: let s be the size in row `flag` of IR.sizes. The jump stands at call at + by * s instead of call `at`. Each
 * run that comes to this call jumps.
 *
 * most: 0 if the jump leads forward. If the jump leads back, the calls that the jump repeats run at most `most` times, the
 * first time included. next: number of the jump that a run looks at after taking this jump. */
typedef struct Jump { size_t at, to, next, by; bool zero; int64_t flag, most; } Jump;
typedef VEC(Jump) Jumps;
/* Returns the jumps of p, in the order of `at`. plan_loop_calls must have been called for p. If several jumps have the same `at`,
 * a run looks at them one after another. The caller frees the list. omits: whether the list has jumps over iterations that a run
 * may omit */
Jumps plan_jumps(const Plan *p, bool omits);
/* The position of a run among the jumps. `jump` is the number of the jump to look at next. If `of` is not 0, the run is in a
 * loop. The jump back of this loop has the number (of - 1), and the calls of the loop have run `done` times. */
typedef struct Position { size_t jump, of; int64_t done; } Position;
/* Returns the number of the call to run next, if all calls before call number `next` were run or skipped. At the end of the run,
 * returns the number of calls. The caller sets *r to zeros before a run. sizes: the sizes of the run, by row of IR.sizes; NULL if
 * there are none */
size_t next_call(const Jumps *all, size_t next, const char *arena, const int64_t *sizes, Position *r);

/* driver.c (compiler/): runs the passes of passes.h on g and changes g. The plan lives in g->ir->ctx->model. Returns NULL if the
 * compilation stopped after o->stop_after. Fails if the plan exceeds max_arena or max_weights. */
Plan *compile_graph(Graph *g, const CompileOptions *o);

/* ---- buffer_memory.c: for programs that run a plan's kernels without a bundle ---- */
tgcrt_state state_row(const StatePlace *s); /* the row for s in the runtime's table of states */
/* Returns the address of a buffer; NULL if the buffer is private to a kernel. in, out: the caller's inputs and outputs. arena:
 * the arena of a run. The cursors in the arena tell where the values of states are */
void *buffer_memory(const Plan *p, const Buf *b, const Tensor *in, void *const *out, char *arena);
#endif

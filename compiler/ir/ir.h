/* SPDX-License-Identifier: MIT */
/* ir.h: the intermediate representation. One kind of node serves three levels: graphs of tensors, kernels of scalar expressions
 * over ranges, and linear programs. ops.h says which op belongs to which level.
 *
 * Nodes are immutable and hash-consed: equal op, type, lanes, sources, arguments and shape give the same Ref. So two nodes are
 * equal exactly if their Refs are equal, and common subexpressions are shared. A node keeps the origin with which it was first
 * made, so that messages can name the node or the line of the user's model. */
#ifndef TGC_IR_H
#define TGC_IR_H
#include "../../runtime_stub/tgcrt_sizes.h"
#include "../support/support.h"
#include <string.h>

/* ---- element types ---- */
typedef enum {
  DT_NONE,
#define DTYPE(name, bits, cls, onnx, ctype, text) DT_##name,
#include "dtypes.h"
#undef DTYPE
  DT_COUNT
} DType;

typedef struct DTypeInfo {
  const char *text;   /* "f32": in dumps and .tg */
  const char *ctype;  /* storage in generated C */
  int bits;
  char cls;           /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float */
  int onnx;           /* TensorProto.DataType */
} DTypeInfo;
extern const DTypeInfo dtype_info[DT_COUNT];
DType dtype_from_text(const char *s, size_t n); /* DT_NONE if unknown */
DType dtype_from_onnx(int onnx);                /* DT_NONE if unknown or unsupported */

/* A type of ONNX that DType lacks (small_types.c). A tensor of strings has one more axis, for the bytes of a string. A string
 * ends at its first zero byte, or at the end of this axis. Each byte is an element of type ONNX_STRING. */
enum { ONNX_STRING = 8 };
typedef struct SmallType {
  const char *name;           /* the name in ONNX, such as "float8e4m3fn" */
  int onnx;                   /* TensorProto.DataType */
  DType kept;                 /* the DType in which values of this type are kept */
  int bits, mantissa, least;  /* bits of an element; bits of the mantissa; exponent of the smallest normal number */
  double greatest;            /* the greatest finite value */
  /* NONE: neither NaN nor infinities. NAN: NaN, but no infinities. INF: NaN and infinities. UNSIGNED: no infinities; NaN has the
   * bits that -0 has in other types. POWERS: each value is a positive power of two or NaN */
  enum { SMALL_NONE, SMALL_NAN, SMALL_INF, SMALL_UNSIGNED, SMALL_POWERS } special;
} SmallType;
const SmallType *small_type(int onnx);                   /* NULL: no SmallType has this number */
const SmallType *small_type_named(const char *name, size_t n); /* NULL: no SmallType has this name, of n characters */
double small_value(const SmallType *t, unsigned bits);   /* the number that these bits encode */
DType small_bytes(const SmallType *t); /* U8 or I8: the DType of a bundle's input or output of type t, one element in each byte */

static inline int dt_bytes(DType d) { return dtype_info[d].bits / 8; }
static inline bool dt_float(DType d) { return dtype_info[d].cls == 'f'; }
static inline bool dt_int(DType d) { return dtype_info[d].cls == 'i' || dtype_info[d].cls == 'u'; }

/* ---- ops ---- */
typedef enum {
  OP_NONE,
#define OP(name, ...) OP_##name,
#include "ops.h"
#undef OP
  OP_COUNT
} Op;

typedef enum { L_VALUE, L_EXPR, L_GRAPH, L_KERNEL, L_NEST, L_PROG } Level; /* no op has level L_NEST: it is for dumps of nests */
enum { COMM = 1, ASSOC = 2, IDEM = 4, MOVE = 8 }; /* bits of OpInfo.algebra, explained in ops.h */
typedef enum { TAKES_ANY, TAKES_NUM, TAKES_INT, TAKES_BITS, TAKES_FLT } Takes; /* types of operands, explained in ops.h */
/* Class by which an op is priced. ALU: one instruction on a register. DIV: a division, a reciprocal or a root. MOD: a
 * remainder, or a quotient rounded down. FUNC: POW, and functions that lower/libm.c expands to arithmetic for f32. LIBM: a
 * function left to the C library. MEM: a load or a store. GATHER: a load whose index is computed from loaded data. PAD: the
 * comparisons of indices and the select of a pad. */
typedef enum { COST_NONE, COST_ALU, COST_DIV, COST_MOD, COST_FUNC, COST_LIBM, COST_MEM, COST_GATHER, COST_PAD } CostClass;
enum { ARITY_ANY = -1, ARITY_SOME = -2 }; /* any number of sources (S in ops.h); one or more sources (V in ops.h) */

typedef struct OpInfo { /* a row of ops.h, which explains the columns */
  const char *name;   /* in capitals: "ADD" */
  Level level;
  int arity;          /* number of sources, or ARITY_ANY or ARITY_SOME */
  const char *type, *operands, *args, *gloss;
  int algebra;
  Takes takes;
  CostClass cost;
  const char *c, *libm; /* c: infix operator in C. libm: function of math.h. NULL: there is none */
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
Op op_from_text(const char *s, size_t n);        /* s: a name in lower case, such as "add"; OP_NONE if unknown */
bool op_by_lane(Op op);                          /* lane i of the op's result depends on lane i of the sources only */
bool op_takes(Op op, DType d);                   /* the elementwise op is defined for operands of this type */

/* ---- nodes ---- */
typedef uint32_t Ref;      /* 0: none */
/* MAX_RANK: most axes of a value. MAX_RANGES: most ranges of a nest */
enum { MAX_RANK = 12, MAX_RANGES = 24 };

typedef enum {             /* how a range is executed; docs/ir.md */
  RK_LOOP, RK_REDUCE,      /* a loop of a nest; a loop of a reduction */
  RK_UNROLL, RK_PARTIAL,   /* copies of the body, one after another; copies of a reduction's body, each with an accumulator */
  RK_VEC,                  /* lanes of vectors */
  RK_THREAD,               /* a loop that threads share */
  RK_DOT, RK_ROW, RK_DEPTH, /* for dot-product and matrix instructions. DOT: values that the instruction takes as a group; ROW:
                               rows of a tile; DEPTH: groups along the depth of a tile */
  RK_SERIAL,               /* a loop whose iterations keep their order */
  RK_GRID, RK_LOCAL,       /* device programs: blocks of a launch; threads of a block */
  RK_GROUP,                /* threads of a block, each with a part of a reduction */
  RK_FRAG,                 /* rows, columns or depth of a matrix that the threads of a warp hold together */
  RK_COUNT
} RangeKind;
extern const char *const range_kind_name[RK_COUNT];
/* range_is_thread: each value of the range is a thread of a block. range_is_place: each value is such a thread or a block. */
static inline bool range_is_thread(RangeKind k) { return k == RK_LOCAL || k == RK_GROUP; }
static inline bool range_is_place(RangeKind k) { return k == RK_GRID || range_is_thread(k); }

typedef struct Node {
  uint8_t op;              /* Op */
  uint8_t dt;              /* DType of an element */
  uint8_t rank;            /* graph level: number of dimensions */
  uint8_t flags;           /* always 0 */
  uint16_t lanes;          /* number of lanes; 1: a scalar */
  uint16_t nsrc, narg;
  bool varies;             /* graph level: is or depends on a PARAM, a SIZE, or an op of loops or branches */
  uint8_t loop;            /* graph level: 1 + number of the loop whose body contains the node; 0: no loop */
  uint32_t origin;         /* row of IR.origins */
  uint32_t newest_range;   /* 1 + the greatest number of a RANGE among this node and all nodes below it; 0: there is none. RANGEs
                              with numbers below 0 do not count */
  const Ref *src;
  const int64_t *arg;      /* interned; OpInfo.args gives their meaning */
  const int64_t *dims;     /* graph level: shape, rank entries; interned; never NULL */
  int64_t vmin, vmax;      /* bounds of an integer or bool value; INT64_MIN/MAX: unknown */
} Node;

typedef struct Origin {    /* the place in the user's model that a node comes from */
  const char *text;        /* "node 17 'conv1' (Conv, opset 11)" or "net.tg:12" */
  uint32_t index;          /* ordinal of the node or line, for sorting */
  bool is_line;            /* the place is a line of a text; printed graphs leave such an origin out */
} Origin;

/* ---- constant tensors: row-major, dense, little-endian data at any alignment. A Tensor does not own its data ---- */
typedef struct Tensor {
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int64_t elems;
  const void *data;        /* NULL: all elements equal splat */
  int64_t splat;           /* bits as in CONST, if data is NULL */
  const char *name;        /* name in the model; may be NULL */
  int narrow;              /* SmallType.onnx of the elements' type; 0: the elements have no SmallType. If dt is SmallType.kept, an
                              element is a value of the type; if dt is small_bytes, an element has the bits of a value */
} Tensor;

/* ---- sizes of a run (sizes.c): the caller may give the size of a dimension for each run. Such a dimension is a symbol. ---- */
enum { SIZES_MOST = 4096 }; /* most rows of IR.sizes */
enum { SYMBOLS_MOST = 4 };  /* most symbols of a model */
typedef struct Graph Graph;
typedef struct Symbol {
  const char *name;        /* name of the dimension */
  int64_t low, high, step; /* the dimension's sizes are low, low + step, ..., high. Shapes of nodes contain `high` */
  int64_t typical;         /* the size that schedules are made for; 0: not known */
  int64_t appended;        /* elements that a run appends to each state whose elements the symbol counts; 0: there is no such
                              state */
} Symbol;
typedef struct Symbols {
  int n;
  Symbol p[SYMBOLS_MOST];
} Symbols;                              /* n 0: all sizes are constants */
typedef int64_t RunSizes[SYMBOLS_MOST]; /* the size of each symbol in a run */
/* An extent that differs from run to run: a row of IR.extents. The first rows are the symbols. Each further extent follows from
 * the extent in row `of`. Let x be the value in row `of`. The further extent is min(most, (x * times + plus) / over), or 0 if the
 * sum x * times + plus is negative. If `by` is set, the result is multiplied by the value in row by - 1. Such a product has only
 * the fields from `of` to `by`, and only shapes of outputs contain it. */
typedef struct Extent {
  int of;
  int64_t times, plus, over, most;
  int by;                  /* 0: the extent is no product */
  int symbol;              /* number of the symbol from which this extent follows, perhaps through other extents */
  const int64_t *at;       /* values of this extent, one for each size of the symbol, from the least size on */
  int64_t shared;          /* greatest common divisor of the values in `at` */
} Extent;
typedef VEC(Extent) Extents;
/* A run needs the elements of a value that satisfy all n conditions. Element number i, in row-major order, satisfies a condition
 * if i / inner % extent is below the value of row `of` of IR.extents in the run. n 0: a run needs all elements; n NEED_NOTHING: a
 * run needs none. */
enum { NEEDED_MOST = 6, NEED_NOTHING = -1 };
typedef struct Need { int64_t inner, extent; int of; } Need;
typedef struct Needed { int n; Need is[NEEDED_MOST]; } Needed;

/* ---- buffers: memory that kernels access (filled in by schedule/) ---- */
typedef enum {
  BUF_INPUT, BUF_OUTPUT,   /* memory of the caller */
  BUF_WEIGHT, BUF_ARENA,   /* part of the blob of weights; an intermediate value in the arena */
  BUF_STATE, BUF_NEXT,     /* a state before a run, and after the run */
  BUF_GUARD,               /* the output that Graph.guarded adds */
  BUF_LOCAL,               /* memory on the stack of a call; in a device program, memory of one thread */
  BUF_SHARED,              /* device programs: memory of a block of threads, which all of these threads access */
  BUF_KINDS
} BufKind;
extern const char *const buf_kind_name[BUF_KINDS];
/* Buffers of this kind belong to a kernel's function, and are no parameters of the function */
static inline bool buf_is_own(BufKind k) { return k == BUF_LOCAL || k == BUF_SHARED; }
typedef struct Buf {
  BufKind kind;
  DType dt;
  int64_t elems;           /* size of the memory, in elements */
  int64_t slot;            /* number of the input, output or state; for a weight: row of IR.tensors */
  int64_t offset;          /* bytes from the start of the arena, the blob of weights or the state; -1: not placed */
  int packed;              /* for a weight: 1 + row of WeightPlan.packed; 0: the tensor itself */
  int of;                  /* 1 + row of IR.bufs: the buffer of kind ARENA in whose memory this buffer lies, as a slice or a
                              carried value of a loop; 0: this buffer has memory of its own */
  int64_t at, step;        /* if `of` is set. at: elements from the start of that memory to this buffer in iteration 0 of the
                              loop. step: elements by which each further iteration moves this buffer */
  Needed needed;           /* the elements that a run needs */
  int turn;                /* if `of` is set. 0: each iteration moves the buffer by `step`. 1, 2: the buffer alternates between
                              two places; the second place is `step` elements behind the first. With 1, odd iterations use the
                              second place; with 2, even iterations do */
  int64_t piece;           /* bytes of the memory that each task of a thread has for itself, in kernel groups and in kernels that
                              strips.c joined. A task is Kernel.chunks_per_task chunks. 0: all tasks share the memory */
  Ref value;               /* the graph node whose value the buffer holds, for --explain; 0: none */
} Buf;

/* The buffer is memory of the caller that may be shorter in a run whose sizes are below the greatest ones. */
static inline bool buf_ends_early(const Buf *b) { return (b->kind == BUF_INPUT || b->kind == BUF_OUTPUT) && b->needed.n > 0; }

/* The front end says that a value has as many entries along this axis as row `extent` of IR.extents gives for the run. The
 * value's sources do not tell this number. */
typedef struct OpenAxis { Ref value; int axis, extent; } OpenAxis;

typedef struct IR {
  Ctx *ctx;
  Node **chunk;            /* nodes, 4096 to a chunk, so that Node * stays valid */
  uint32_t n;              /* Refs are 1 .. n-1 */
  struct IRTables *tables; /* hash tables of nodes, lists and origins */
  VEC(Tensor) tensors;
  VEC(Buf) bufs;
  VEC(Origin) origins;
  Symbols symbols;
  Extents extents;         /* the extents that differ from run to run */
  VEC(OpenAxis) opened;    /* extents of values that the front end knows */
  const int64_t *run;      /* the sizes, by symbol, of the run that interp_graph evaluates; NULL: the greatest sizes */
  VEC(tgcrt_size) sizes;   /* numbers that follow from a run's extents, such as numbers of iterations; SIZE and RANGE name rows */
  uint32_t origin;         /* origin of nodes made from now on */
  Pos building;            /* node of the model that a front end is building; .node NULL: none */
  int64_t next_range;      /* number of the next RANGE, or of the next op with an id in a program, such as ACC */
  bool half_steps;         /* sums of products of halves are rounded to a half after each product is added, as on the target; the
                              products are exact (half_sums.c) */
  bool in_loop;            /* a front end is building the body of a loop */
  int loops;               /* number of the next loop; at most GRAPH_LOOPS */
  unsigned short *loop_extent; /* by loop: 1 + the row of `extents` with the number of iterations that a run needs. Further
                                  iterations change no carried value, and a run may omit them. 0: a run needs all iterations.
                                  NULL: a run needs all iterations of all loops */
  int64_t branches;        /* number of the next branch */
  struct Decisions *decisions; /* decisions of the passes (decisions.h); NULL: they are not recorded */
  struct MemoryGoal *memory; /* whether passes may use more memory to gain speed (cost/growth.h); NULL: they may */
  const Pos *dump;         /* line of the dump that tgc reads; a mistake in a dump is an error of the user, not a BUG. NULL: tgc
                              reads no dump */
} IR;

IR *ir_new(Ctx *c);                /* in the model's arena (Ctx.model), which also holds the nodes */
void ir_free(IR *ir);              /* frees the tables, which are outside of the arena */
static inline const Node *node(const IR *ir, Ref r) { return &ir->chunk[r >> 12][r & 4095]; }

/* Accessors for arguments and operands, named as in ops.h: range_extent(x), pad_lo(x, axis), load_buffer(x), red_range(x, i). For
 * an operand that may be absent, such as the gate of a LOAD, the accessor gives 0 if the node lacks the operand. With
 * -DTGC_CHECK_ARGS it is a BUG to pass a node of another op. */
static inline const int64_t *args_of(const Node *x, Op op) {
#ifdef TGC_CHECK_ARGS
  CHECK(x->op == op);
#endif
  (void)op;
  return x->arg;
}
static inline Ref operand_at(const Node *x, Op op, int i) {
#ifdef TGC_CHECK_ARGS
  CHECK(x->op == op && i < x->nsrc);
#endif
  (void)op;
  return x->src[i];
}
static inline Ref operand_if_any(const Node *x, Op op, int i) {
#ifdef TGC_CHECK_ARGS
  CHECK(x->op == op);
#endif
  (void)op;
  return i < x->nsrc ? x->src[i] : 0;
}
#include "accessors.h"

/* The accessors below are for nodes that may have one of several ops. */
/* BUG if operand i has another name in ops.h. A single operand also counts as "data". name NULL: x must have exactly two
 * operands, both without names; otherwise BUG */
void check_operand(const Node *x, int i, const char *name);
static inline Ref operand_named(const Node *x, int i, const char *name) {
#ifdef TGC_CHECK_ARGS
  check_operand(x, i, name);
#endif
  (void)name;
  return x->src[i];
}
static inline Ref operand(const Node *x) { return operand_named(x, 0, "data"); } /* the only operand, or the one named data */
static inline Ref lhs(const Node *x) { return operand_named(x, 0, NULL); } /* the first of two operands without names */
static inline Ref rhs(const Node *x) { return operand_named(x, 1, NULL); }
/* access_buffer, access_index: of a LOAD, STORE, TILE or PREFETCH. access_gate: of a LOAD or STORE; 0: there is no gate */
static inline Ref access_buffer(const Node *x) { return operand_named(x, 0, "buffer"); }
static inline bool is_access(const Node *x) { return x->op == OP_LOAD || x->op == OP_TILE || x->op == OP_STORE; }
static inline Ref access_index(const Node *x) { return operand_named(x, 1, "index"); }
static inline Ref access_gate(const Node *x) { return x->op == OP_STORE ? store_gate(x) : load_gate(x); }
static inline Ref variable_of(const Node *x) { return operand_named(x, 0, "acc"); } /* SET GET */

uint32_t ir_origin(IR *ir, const char *text, uint32_t index); /* adds an origin; returns its index, for ir->origin */
/* Reports that the result of a pass breaks a promise: as a BUG, or as an error in the dump from which the passes continued. */
_Noreturn void ir_wrong(const IR *ir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
Pos ir_pos(const IR *ir, Ref r);   /* position for messages about r */

/* Makes room for `more` nodes in the table of nodes. Called before a fork, so that no child has to enlarge its own table. */
void ir_reserve(IR *ir, uint32_t more);
/* The only constructor of nodes. The caller gives the type and, at graph level, the shape; ir_verify.c checks them later. The
 * function copies src, arg and dims, and computes bounds. It fails if there are too many axes, sources or nodes. It folds
 * nothing. */
Ref node_make(IR *ir, Op op, DType dt, int lanes, int nsrc, const Ref *src, int narg, const int64_t *arg,
              int rank, const int64_t *dims);
/* A node with r's op, type, arguments and shape, and the sources src; r itself if it has these sources */
Ref node_with_src(IR *ir, Ref r, const Ref *src);
bool nodes_alike(const Node *x, const Node *y);               /* graph level: x and y have the same type and shape */
int64_t dims_elems(const int64_t *dims, int rank);            /* product; INT64_MAX on overflow */
/* r is a CONST, or a view or BCAST of a CONST. *bits gets the value of the CONST; bits may be NULL */
bool node_is_const(const IR *ir, Ref r, int64_t *bits);
bool node_widens(const IR *ir, const Node *x);                /* x is a CAST of integers to a wider type that keeps all values */
bool node_is_exact(const IR *ir, const Node *x);              /* x, an ADD, SUB or MUL, is of integers and cannot wrap */
/* Least and greatest value of an integer or bool type. False for floats and 64-bit types, which get the bounds of int64_t. */
bool dt_bounds(DType d, int64_t *lo, int64_t *hi);
/* Bits as CONST keeps them: truncated, then sign- or zero-extended; a bool is 0 or 1 */
uint64_t dt_wrap(DType d, uint64_t bits);

/* ---- scalar constants, as bits in 64 bits: integers are sign- or zero-extended; a bool is 0 or 1; an f32 has its bits in the
 * low 32, an f16 or bf16 in the low 16 ---- */
Ref c_bits(IR *ir, DType d, int64_t bits);     /* rank 0 */
Ref c_int(IR *ir, DType d, int64_t v);         /* v converted to d, which may be a float type */
Ref c_float(IR *ir, DType d, double v);        /* v rounded to d; for an integer type, converted as CAST does */
double bits_to_double(DType d, int64_t bits);
/* Rounds as CAST does. Floats round to nearest even. Integers truncate and saturate, and NaN becomes 0. For bool, all values but
 * 0 become 1, also NaN */
int64_t double_to_bits(DType d, double v);
int64_t reduce_identity(Op op, DType d);       /* the result of a REDUCE by op over no elements, as CONST bits */

/* ---- graph builders. Wrong types and shapes are a BUG; while a front end builds a node (IR.building), they are an error of the
 * model at this node. Elementwise builders broadcast as numpy does: missing leading axes and extents of 1 ---- */
Ref g_param(IR *ir, DType d, int rank, const int64_t *dims, int slot);
/* ir->tensors.p[tensor]. A tensor with one element or without data (a splat) becomes CONST + EXPAND */
Ref g_weight(IR *ir, int tensor);
int64_t tensor_bits(const Tensor *t, int64_t i); /* element i, as CONST keeps it */
static inline float data_f32(const void *data, int64_t i) { /* element i of floats at any address */
  float v;
  memcpy(&v, (const char *)data + i * (int64_t)sizeof v, sizeof v);
  return v;
}
int ir_tensor(IR *ir, const Tensor *t);        /* adds t to IR.tensors and returns its row; does not copy the data */
Ref g_iota(IR *ir, DType d, int64_t n);        /* [n]: 0, 1, ... n - 1 */
Ref g_unary(IR *ir, Op op, Ref x);
Ref g_cast(IR *ir, Ref x, DType d);
Ref g_binary(IR *ir, Op op, Ref a, Ref b);     /* operands of equal types, which are broadcast; compares give BOOL */
Ref g_where(IR *ir, Ref c, Ref a, Ref b);
Ref g_reshape(IR *ir, Ref x, int rank, const int64_t *dims);
Ref g_expand(IR *ir, Ref x, int rank, const int64_t *dims);  /* broadcast_to of numpy: may add leading axes */
Ref g_permute(IR *ir, Ref x, const int64_t *perm); /* axis a of the result is axis perm[a] of x */
Ref g_shrink(IR *ir, Ref x, const int64_t *begin, const int64_t *step, const int64_t *dims); /* to shape dims; step NULL: all 1 */
Ref g_flip(IR *ir, Ref x, uint32_t axes);      /* reverses the axes of a mask of bits, by a SHRINK with steps of -1 */
/* Splits `axis` into an axis of extent out, at the same place, and a new last axis of extent k. The result's element
 * (.., o, .., t) is x's element (.., o * stride + t * dilation, ..), which must exist */
Ref g_window(IR *ir, Ref x, int axis, int64_t out, int64_t k, int64_t stride, int64_t dilation);
/* amounts >= 0, by axis; fill: of rank 0 and x's type */
Ref g_pad(IR *ir, Ref x, const int64_t *lo, const int64_t *hi, Ref fill);
Ref g_cat(IR *ir, int n, const Ref *xs, int axis); /* all xs have the same type, and the same shape except along axis */
/* index: i64, with any extent on axis; on the other axes, x and index are broadcast to each other. Values of index outside of
 * [0, extent of axis in x) are clamped into this interval. */
Ref g_gather(IR *ir, Ref x, Ref index, int axis);
/* 1: all elements of index are known to lie in [0, extent). 0: not known. -1: an element is known to lie outside, and *wrong gets
 * this element */
int g_index_fits(const IR *ir, Ref index, int64_t extent, int64_t *wrong);
/* x, changed by updates in order. Each update combines, by op, with the element at position `index` along axis; with OP_NONE, the
 * update replaces this element. An index out of range changes nothing. Along axis, index and updates are broadcast to each other;
 * along the other axes, both are broadcast to x. */
Ref g_scatter(IR *ir, Op op, Ref x, Ref index, Ref updates, int axis);
/* Goes through search trees (WALK in ops.h). src holds the operands data, feature, split, next and start. data: a matrix of
 * floats. feature, split and next: an element for each position in the trees. start: an element for each tree. BUG if
 * g_walk_refuses gives a reason */
Ref g_walk(IR *ir, const Ref src[5], int64_t steps);
const char *g_walk_refuses(const IR *ir, const Ref src[5], int64_t steps); /* why src cannot be walked; NULL: it can */
Ref g_reduce(IR *ir, Op op, Ref x, uint32_t axes); /* axes: a mask of bits; reduced axes stay, with extent 1 */

typedef VEC(Ref) Refs;
/* ---- loops (loops.c). A loop has a number, and makes at least one iteration. The body consists of all nodes that depend on a
 * SLICE or a CARRIED with this number, up to the ITERATE of the loop. A body has no loop inside. ---- */
enum { GRAPH_LOOPS = 250 }; /* most loops of a graph */
/* op_is_of_loops: ops of loops and branches, which place values in memory, row-major. op_is_gathering: ITERATE and BRANCH, which
 * gather such values and have no memory of their own. */
static inline bool op_is_gathering(Op op) { return op == OP_ITERATE || op == OP_BRANCH; }
static inline bool op_is_of_loops(Op op) {
  return op == OP_STORED || op == OP_SLICE || op == OP_CARRIED || op == OP_YIELD || op == OP_RESULT || op == OP_ARM ||
         op == OP_CHOSEN || op_is_gathering(op);
}
/* 1 + number of the loop whose iterations compute x; 0: none. A CARRIED gives 0, because its kernel runs before the loop and
 * stores the first value */
static inline int body_of(const Node *x) { return x->op == OP_CARRIED ? 0 : x->loop; }
/* loop: number of the loop. place: number of a carried value in its loop. ops.h describes the ops */
Ref g_stored(IR *ir, Ref x);
Ref g_slice(IR *ir, int loop, Ref stored, int axis, bool reverse);
Ref g_carried(IR *ir, int loop, int place, Ref init);
/* x: the next value of the CARRIED with this loop and place */
Ref g_yield(IR *ir, int loop, int place, Ref x);
/* x: one iteration's slice of a result. axis: the axis of the result along which the slices of all `trips` iterations lie */
Ref g_yield_slice(IR *ir, int loop, Ref x, int axis, bool reverse, int64_t trips);
/* The end of a loop with n yields. ends: 1 + number of a yield of a bool; 0: there is no such yield. Once this bool is false,
 * further iterations change nothing, and a run may omit them. */
Ref g_iterate(IR *ir, int loop, int64_t trips, int ends, int n, const Ref *yields);
/* Replaces the n yields of a loop by yields that keep the carried values once the bool `ends` (as in g_iterate) is false. Returns
 * NULL, or why this is impossible */
const char *g_hold_yields(IR *ir, int ends, int n, Ref *yields);
Ref g_result(IR *ir, Ref iterate, int at); /* the result of yield number `at`, counted from 0 */
/* The row of IR.extents with the number of iterations of the loop that a run needs; -1: a run needs all iterations */
static inline int loop_extent(const IR *ir, int64_t loop) { return ir->loop_extent ? ir->loop_extent[loop] - 1 : -1; }
/* For a loop with a loop_extent. g_live: a bool that is true in the iterations that the run needs. is_live: r is such a bool.
 * is_held: r is WHERE(live, next, before), where live is such a bool and before is a CARRIED */
Ref g_live(IR *ir, int loop, int64_t trips);
bool is_live(const IR *ir, Ref r);
bool is_held(const IR *ir, Ref r);
const char *g_iterate_refuses(const IR *ir, Ref iterate); /* NULL: `iterate` ends a correct loop; otherwise why not */
/* Below the roots, replaces each loop of fewer than `least` iterations by copies of the loop's body. True: a loop was replaced.
 * A loop that may end early (`ends` of g_iterate) stays if it has more than EARLY_COPIES iterations. A loop with a loop_extent
 * stays if `least` is below INT64_MAX. */
enum { EARLY_COPIES = 64 };
bool ir_unroll(IR *ir, Ref *roots, size_t n, int64_t least);
/* Moves the nodes of each body to the place before the body's ITERATE */
void order_bodies(const IR *ir, Refs *order);

/* ---- branches (branches.c). A branch has a number. A side of a branch guards a node if all users of the node lead to arms of
 * this side. A run needs guarded nodes only if it takes their side. A branch inside of a loop guards no node that is computed
 * before the loop ---- */
/* A branch with n results. yes, no: the n values of each side */
Ref g_branch(IR *ir, Ref cond, int n, const Ref *yes, const Ref *no);
Ref g_arm(IR *ir, int64_t branch, int64_t at, Ref x); /* arm number `at` of the branch */
/* A branch of n arms: the condition's arm, then the arms of all values of `yes`, then the arms of all values of `no` */
Ref branch_of_arms(IR *ir, int64_t branch, int n, const Ref *arms);
Ref g_chosen(IR *ir, Ref branch, int at); /* result number `at` of the branch, counted from 0 */
static inline int branch_results(const Node *x) { return (x->nsrc - 1) / 2; }
const char *g_branch_refuses(const IR *ir, Ref branch); /* NULL: `branch` is a correct branch; otherwise why not */
/* Replaces branches below the n roots by selections (WHERE). A branch r stays if stays[r] is true, without results that are not
 * used. stays NULL: no branch stays */
void ir_select(IR *ir, Ref *roots, size_t n, const bool *stays);
/* A side of a branch. in: 1 + index in Guards.list of the innermost side that guards the branch; 0: none */
typedef struct Guard { int in; Ref branch; bool yes; } Guard;
typedef struct Guards {
  VEC(Guard) list;
  int *of;                 /* by Ref: 1 + index in `list` of the innermost side that guards the node; 0: no side guards it */
} Guards;
/* order: all nodes, sources first; roots: n nodes that all runs need. The caller frees the result with guards_free */
Guards find_guards(const IR *ir, const Refs *order, const Ref *roots, size_t n);
void guards_free(Guards *g);
/* As body_of, but the arm of a value belongs to the body of the arm's branch, even if no iteration changes the value */
int guarded_body(const IR *ir, const Guards *g, Ref r);
/* Moves guarded nodes to the place before their BRANCH, so that the nodes of a side follow each other */
void order_branches(const IR *ir, const Guards *g, Refs *order);
/* By buffer: whether another buffer lies in the buffer's memory (Buf.of). The caller frees the array */
bool *sliced_buffers(const IR *ir);

/* ---- graphs ---- */
typedef struct GIO {       /* an input or output of a graph */
  Ref ref;
  const char *name;
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int narrow;              /* SmallType.onnx: each byte holds an element of that type. 0: no SmallType */
  unsigned short open[MAX_RANK]; /* by axis: 1 + the row of IR.extents with the axis's extent; 0: the extent is a constant */
  const char *formula[MAX_RANK]; /* by axis: the extent as a formula of a symbol, for people; NULL: a symbol or a constant */
  Needed is;               /* the elements that an output has in a run, if `open` cannot tell them: an axis may be several joined
                              axes, of which one ends early. n 0: `open` tells them */
} GIO;
static inline int64_t gio_bytes(const GIO *v) { return dims_elems(v->dims, v->rank) * dt_bytes(v->dt); }
/* A state: memory that the bundle keeps from run to run. The graph has an input and an output for the state. */
typedef struct GState {
  int axis;                /* -1: the output of a run is the input of the next run. Otherwise the state is a window along this
                              axis. The output is the input with `taken` elements appended. The input of the next run has the
                              output's last elements, as many as the input has */
  int64_t taken, capacity; /* capacity: extent of the memory along axis */
  int64_t step, most;      /* step: elements by which the window moves at a time; most: greatest number that a run appends. Both
                              equal `taken` if all entries of a bundle append the same number */
  int symbol;              /* 1 + number of the symbol whose size counts the elements; 0: none. With a symbol, the elements lie at
                              the start of the memory and do not move, and a run appends elements behind them */
  bool only_read;          /* this entry only reads the state, so that the output is the input; another entry writes the state */
  const Tensor *init;      /* value before the first run; NULL: zeros */
} GState;
/* An entry: a graph of its own, whose inputs, outputs and states are some of the whole graph's. Both have the same IR. */
typedef struct GEntry {
  const char *name;        /* a C identifier */
  Graph *g;
  int *input, *output, *state; /* by number of the entry's input, output or state: the number in the whole graph */
} GEntry;
struct Graph {
  IR *ir;
  const char *name;
  VEC(GIO) inputs;         /* inputs.p[i].ref is PARAM slot i; a PARAM may have no users */
  VEC(GIO) outputs;
  VEC(GState) states;      /* the last states.n inputs are the states, in order; so are the last outputs before the guard */
  bool grows;              /* the last state counts the elements appended to the windows, which are the states with axis >= 0 */
  bool guarded;            /* the last output is the guard, which the caller does not get: a bool, true if an index was out of
                              range. If results may exceed their capacity, the guard is a u8: bit 0 is that bool, and bit 1 is
                              set if a result exceeded its capacity */
  VEC(GEntry) entries;     /* the entries of which this graph consists; the plan holds their kernels one entry after another.
                              Empty: the graph is the only entry */
};
static inline size_t graph_nin(const Graph *g) { return g->inputs.n - g->states.n; }   /* inputs that the caller gives */
/* A result of the graph may have more rows than the result's capacity */
static inline bool graph_may_overflow(const Graph *g) { return g->guarded && g->outputs.p[g->outputs.n - 1].dt == DT_U8; }
/* outputs that the caller gets */
static inline size_t graph_nout(const Graph *g) { return g->outputs.n - g->states.n - g->guarded; }

/* Total order of nodes by structure (node_order.c): negative if `a` stands before `b`, positive if `a` stands after `b`, 0 if a
 * equals b. The order does not depend on when nodes were made. */
int node_order(const IR *ir, Ref a, Ref b);
int node_order_r(const void *a, const void *b, void *ir); /* for qsort_r over Refs */
/* Topological order: appends the roots and all nodes below them to out, sources before users. A root of 0 is skipped. The caller
 * frees out with VEC_FREE. */
void ir_toposort(const IR *ir, const Ref *roots, size_t n, Refs *out);

/* ---- index algebra (algebra.c): i64 scalar expressions of CONST, SIZE, RANGE, ADD, SUB, MUL, FLDIV, FLMOD, MIN, MAX,
 * comparisons, AND, OR, NOT and WHERE. Constructors return canonical, simplified nodes. Sums are ADD chains of coefficient*term,
 * sorted by node_order, with the constant last. Bounds come from Node.vmin and vmax. Where a bound overflows, it is unknown,
 * never wrong ---- */
Ref range_new(IR *ir, int64_t extent, RangeKind kind);  /* a RANGE with a new number, also for extent 1 (node.c) */
Ref range_make(IR *ir, int64_t extent, RangeKind kind); /* the same; CONST 0 for extent 1 */
/* sizes.c. Below, `extent` is a row of IR.extents, `number` is a row of IR.sizes, and `run` holds the size of each symbol in a
 * run. ir_set_symbols: sets the symbols of a model, and drops all extents. extent_make: the row of an extent, added if absent.
 * extent_in_run: the value in a run of an extent that is no product. size_number: the row of s, added if absent. size_value: a
 * SIZE of this row. greatest_size: the row's greatest value in any run. size_in_run: the row's value in a run. size_is_allowed:
 * whether the symbol has this size. greatest_sizes: sets run to the greatest sizes */
void ir_set_symbols(IR *ir, const Symbols *symbols);
int extent_make(IR *ir, Extent e);
int extent_product(IR *ir, int a, int b); /* adds the product of two extents, for the shape of an output; returns its row */
int64_t extent_in_run(const IR *ir, int extent, const int64_t *run);
static inline int64_t symbol_sizes(const Symbol *s) { return (s->high - s->low) / s->step + 1; } /* number of sizes of s */
/* As extent_in_run, but by the formulas, without Extent.at, and also for products. `all` has the extents; the first `symbols`
 * rows are the symbols */
int64_t extent_of_formulas(const Extents *all, int symbols, int extent, const int64_t *run);
const char *extent_text(Ctx *c, const IR *ir, int extent); /* the extent as a formula with names of symbols: "(n+1)/2" */
/* The bundle has a table of extents: the symbols, then the rows of IR.extents that sizes and outputs need. The result has, for
 * each row of IR.extents, the row's number in this table. Rows that the table lacks get the number 0. *count: rows of the table
 * after the symbols */
const int *extents_used(const IR *ir, const Graph *g, int *count);
/* Least and greatest value of the index r in a run; false: not known. A size of 0 in `run` stands for all sizes of the symbol.
 * iota: only the first `iota` elements of each IOTA below r count; 0: all elements count */
bool index_in_run(const IR *ir, Ref r, const int64_t *run, int64_t iota, int64_t *least, int64_t *most);
bool extent_at_most(const IR *ir, int a, int b);     /* in every run, extent a is at most extent b */
bool extent_is_constant(const IR *ir, int extent);   /* the extent has the same value in all runs */
tgcrt_size size_all(int64_t times, int of);             /* the size that is `times` times the extent in row `of` */
int size_number(IR *ir, tgcrt_size s);
Ref size_value(IR *ir, int number);
int64_t greatest_size(const IR *ir, int number);
int64_t size_in_run(const IR *ir, int number, const int64_t *run);
bool size_is_allowed(const Symbol *s, int64_t size);
void greatest_sizes(const Symbols *s, int64_t *run);
/* Adds the condition `is` to the list `to`. False: nothing is added, since all elements satisfy `is`, `to` has a condition for
 * this axis, or `to` is full */
bool needed_add(IR *ir, Needed *to, Need is);
void needed_only(IR *ir, Needed *to, Need is);       /* replaces the condition of `to` for this axis by `is`, or adds `is` */
/* The elements that at least one of two users needs. If a and b have conditions for the same axis, the result has the condition
 * that is weaker in all runs, if there is one. Neither a nor b is NEED_NOTHING */
Needed needed_both(const IR *ir, const Needed *a, const Needed *b);
bool needed_same(const Needed *a, const Needed *b);
static inline bool gio_is_open(const GIO *v) {
  for (int a = 0; a < v->rank; a++)
    if (v->open[a]) return true;
  return false;
}
/* A RANGE of this extent that may end earlier in a run: at the value of row `number` of IR.sizes */
Ref range_limited(IR *ir, int64_t extent, int number, RangeKind kind);
Ref range_again(IR *ir, const Node *range); /* a RANGE with a new number, and the extent, kind and limit of `range` */
Ref ix_const(IR *ir, int64_t v);
Ref ix_add(IR *ir, Ref a, Ref b);
Ref ix_sub(IR *ir, Ref a, Ref b);
Ref ix_mul(IR *ir, Ref a, int64_t k);
Ref ix_div(IR *ir, Ref a, int64_t k);          /* floor; k > 0 */
Ref ix_mod(IR *ir, Ref a, int64_t k);          /* floor; k > 0 */
Ref ix_lt(IR *ir, Ref a, Ref b);               /* bool; folded if bounds decide */
Ref ix_and(IR *ir, Ref a, Ref b);              /* bools; Ref 0 stands for true, as operand and as result */
Ref ix_in(IR *ir, Ref a, int64_t lo, int64_t hi); /* lo <= a < hi; 0 (true) if bounds prove it */
/* True: a = rest + coef * range, and rest does not depend on range. */
bool ix_split(IR *ir, Ref a, Ref range, int64_t *coef, Ref *rest);
bool ix_uses(const IR *ir, Ref a, Ref range);  /* `range` is a, or is below a */
bool ix_is_multiple(const IR *ir, Ref a, int64_t m); /* m > 0 is known to divide a */
/* Replaces from[i] by to[i] in a, for i < n. The constructors above simplify the changed indices, also those inside of a value */
Ref ix_subst(IR *ir, Ref a, int n, const Ref *from, const Ref *to);

/* ---- views (view.c): movement whose result has only elements of its source ---- */
bool op_is_movement(Op op);                    /* op makes a view: any movement but PAD and CAT */
Ref view_base(const IR *ir, Ref r);            /* the first node from r downwards that is no view */
/* r, rebuilt with `other` in place of `base`. A chain of first sources leads from r to base */
Ref view_over(IR *ir, Ref r, Ref base, Ref other);
/* The element of `view` with the indices idx is an element of the view's source. `at` gets the indices of this element there */
void view_index(IR *ir, Ref view, const Ref *idx, Ref *at);

/* ---- text form (literal.c, print.c, scan.c, parse.c, parse_graph.c; grammar in docs/text-format.md). Reading a printed text
 * gives the same nodes in the same order ---- */
void ir_print_graph(const Graph *g, Sb *out);                 /* weights in the text */
/* Weights of more than a few elements go to blob, each aligned to 64 bytes. The text calls the file blobname. */
void ir_print_graph_blob(const Graph *g, Sb *out, Sb *blob, const char *blobname);
void ir_print_nodes(const IR *ir, const Ref *roots, size_t n, Sb *out); /* kernel level; roots are SINKs or NESTs */
void ir_print_program(const IR *ir, const Ref *list, size_t n, Sb *out);
/* The line that ir_print_program prints for list[at], without indent; nothing if list[at] has no line of its own */
void ir_print_op(const IR *ir, const Ref *list, size_t n, size_t at, Sb *out);

typedef struct TextHooks { /* callbacks for references in a graph's text. A reference whose callback is NULL is an error */
  void *arg;
  /* Returns bytes of a weight file. file: as named in the text, relative to the directory of the text. sha256: the expected
   * digest; NULL: none. at: position for messages */
  Bytes (*blob)(Ctx *c, void *arg, Pos at, const char *file, int64_t offset, int64_t bytes, const char *sha256);
  /* Returns the size of the dimension `name`, which is axis number `axis` of a value of type dt. */
  int64_t (*dim)(Ctx *c, void *arg, Pos at, const char *name, int axis, DType dt);
} TextHooks;
Graph *ir_parse_graph(Ctx *c, const char *text, size_t n, const char *path); /* fails with EX_BADMODEL, line, column, caret */
Graph *ir_parse_graph_with(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
Ref ir_parse_kernel(IR *ir, const char *text, size_t n);      /* the SINK */
void ir_parse_program(IR *ir, const char *text, size_t n, Refs *out);

/* The same graph in a new IR that has only the nodes below the outputs. Nodes are numbered in the order in which the graph's
 * text lists them, and origins in the order of Origin.index. So graphs with the same text get equal Refs. States, entries and
 * symbols are not copied. */
Graph *ir_compact(const Graph *g);

/* The type of a literal as source i of an op. NONE: no literal may stand there. RESULT: the result's type. PEER: the type of
 * another operand. */
typedef enum { LIT_NONE, LIT_BOOL, LIT_I64, LIT_RESULT, LIT_PEER } LiteralType;
LiteralType literal_type(Op op, int i);
void literal_put(Sb *out, DType d, int64_t bits);             /* shortest text that reads back to the same bits */
const char *literal_parse(DType d, const char *s, size_t n, int64_t *bits); /* NULL, or the error, such as "is out of range" */

/* ---- verifier (ir_verify.c). If a rule of ops.h is broken, the verifier reports a BUG at the node's position; while tgc reads a
 * dump, the verifier reports an error of the user ---- */
void ir_verify_graph(const Graph *g);
void ir_verify_graph_node(const Graph *g, Ref r);
void ir_verify_kernel(const IR *ir, Ref sink);
void ir_verify_nest(const IR *ir, Ref nest);
void ir_verify_program(const IR *ir, const Ref *list, size_t n);

/* ---- rewriting (rewrite.c): applies a table of rules, sources before users, until no rule applies ---- */
typedef Ref (*RuleFn)(IR *ir, Ref r, void *arg); /* the replacement of r; 0 or r: the rule does not apply */
typedef struct Rule { Op op; const char *name; RuleFn fn; } Rule; /* op: of the nodes to replace; OP_NONE ends a table */
/* Rewrites the roots and the nodes below them; roots[] gets the new Refs. BUG if rules are applied too often for the number of
 * nodes. hits[i] counts how often rule i was applied; hits may be NULL. Returns true if a root has changed. */
bool ir_rewrite(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits);
bool ir_rewrite_graph(Graph *g, const Rule *rules, void *arg); /* all nodes below the outputs */
/* The same for rules that must not duplicate work. The function fills `users`, which rules may read: it maps each node to the
 * node's number of uses before the rewriting. If a node is absent from users, a rule has made it, and only nodes that the rule
 * made use it. */
struct RefMap;
bool ir_rewrite_users(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits, struct RefMap *users);
/* Fills `only`: it maps each node of `order` (sources first) to the node's only reader. `only` has 0 for a root, and for a node
 * that is an operand more than once */
void ir_only_users(const IR *ir, const Refs *order, const Refs *roots, struct RefMap *only);
#endif

/* SPDX-License-Identifier: MIT */
/* ir.h: the intermediate representation. One kind of node serves three levels: graphs of tensors, kernels of scalar expressions
 * over ranges (loop variables), and linear programs. ops.h says which op belongs to which level.
 *
 * Nodes are immutable and hash-consed: equal op, type, lanes, sources, arguments and shape give the same Ref. So two nodes are
 * equal if and only if their Refs are equal, and common subexpressions are shared. Each node has an origin, a place in the user's
 * model that messages can name. A node that is made again keeps its first origin. */
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
  const char *text;   /* name in dumps and .tg texts, such as "f32" */
  const char *ctype;  /* type of an element in generated C code */
  int bits;
  char cls;           /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float */
  int onnx;           /* number of the type in TensorProto.DataType of ONNX */
} DTypeInfo;
extern const DTypeInfo dtype_info[DT_COUNT];
DType dtype_from_text(const char *s, size_t n); /* DT_NONE if unknown */
DType dtype_from_onnx(int onnx);                /* DT_NONE if unknown or unsupported */

/* ONNX_STRING is the number of the type `string` in TensorProto.DataType of ONNX. In the IR, a tensor of strings has one axis
 * more than in ONNX: the bytes of a string lie along the last axis. A string ends at its first zero byte, or at the end of the
 * last axis. */
enum { ONNX_STRING = 8 };
/* A type of ONNX that DType lacks (small_types.c). The SmallType with the number ONNX_STRING describes a byte of a string. */
typedef struct SmallType {
  const char *name;           /* the name in ONNX, such as "float8e4m3fn" */
  int onnx;                   /* number of the type in TensorProto.DataType */
  DType kept;                 /* the DType that values of this type have in graphs */
  int bits, mantissa, least;  /* bits: number of bits of an element. mantissa: number of bits of the mantissa. least: exponent of
                                 the smallest normal number */
  double greatest;            /* the greatest finite value */
  /* NONE: neither NaN nor infinities. NAN: NaN, but no infinities. INF: NaN and infinities. UNSIGNED: no infinities; NaN has the
   * bits that -0 has in other types. POWERS: each value is a positive power of two or NaN */
  enum { SMALL_NONE, SMALL_NAN, SMALL_INF, SMALL_UNSIGNED, SMALL_POWERS } special;
} SmallType;
const SmallType *small_type(int onnx);                   /* the SmallType with this number; NULL if there is none */
/* Returns the SmallType with this name of n characters, or NULL if there is none. */
const SmallType *small_type_named(const char *name, size_t n);
double small_value(const SmallType *t, unsigned bits);   /* the number that these bits encode */
/* A bundle's input or output of type t has one element in each byte. Returns U8 or I8, the DType of these bytes. */
DType small_bytes(const SmallType *t);

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

typedef enum { L_VALUE, L_EXPR, L_GRAPH, L_KERNEL, L_NEST, L_PROG } Level; /* no op has the level L_NEST: it is for dumps */
enum { COMM = 1, ASSOC = 2, IDEM = 4, MOVE = 8 }; /* bits of OpInfo.algebra, explained in ops.h */
typedef enum { TAKES_ANY, TAKES_NUM, TAKES_INT, TAKES_BITS, TAKES_FLT } Takes; /* types of operands, explained in ops.h */
/* Class by which an op is priced. ALU: one instruction of arithmetic. DIV: a division, a reciprocal or a root. MOD: a
 * remainder, or a quotient rounded down. FUNC: POW, and functions of f32 that lower/libm.c turns into arithmetic. LIBM: a
 * function left to the C library. MEM: a load or a store. GATHER: a load whose index is computed from loaded data. PAD: the
 * comparisons of indices and the select of a pad. */
typedef enum { COST_NONE, COST_ALU, COST_DIV, COST_MOD, COST_FUNC, COST_LIBM, COST_MEM, COST_GATHER, COST_PAD } CostClass;
enum { ARITY_ANY = -1, ARITY_SOME = -2 }; /* ANY: any number of sources (S in ops.h). SOME: one or more sources (V in ops.h) */

typedef struct OpInfo { /* a row of ops.h, which explains the columns */
  const char *name;   /* in capitals: "ADD" */
  Level level;
  int arity;          /* number of sources, ARITY_ANY or ARITY_SOME */
  const char *type, *operands, *args, *gloss;
  int algebra;
  Takes takes;
  CostClass cost;
  const char *c, *libm; /* c: infix operator in C. libm: function of math.h. NULL: there is none */
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
/* Returns the op with the name s, n characters in lower case, such as "add". Returns OP_NONE if there is no such op. */
Op op_from_text(const char *s, size_t n);
bool op_by_lane(Op op);                          /* whether each lane i of a result depends only on lane i of the sources */
bool op_takes(Op op, DType d);                   /* whether `op`, which is elementwise, is defined for operands of type d */

/* ---- nodes ---- */
typedef uint32_t Ref;      /* 0: none */
/* MAX_RANK: most axes of a value. MAX_RANGES: most ranges of a nest */
enum { MAX_RANK = 12, MAX_RANGES = 24 };

typedef enum {             /* how a range is executed; docs/ir.md */
  RK_LOOP, RK_REDUCE,      /* LOOP: a loop of a nest. REDUCE: a loop of a reduction */
  RK_UNROLL, RK_PARTIAL,   /* UNROLL: copies of the body, one after another. PARTIAL: copies of a reduction's body, each with an
                              accumulator */
  RK_VEC,                  /* lanes of vectors */
  RK_THREAD,               /* a loop whose iterations threads share */
  RK_DOT, RK_ROW, RK_DEPTH, /* for dot-product and matrix instructions. DOT: values that the instruction takes as a group. ROW:
                               rows of a tile. DEPTH: groups along the depth of a tile */
  RK_SERIAL,               /* a loop whose iterations keep their order */
  RK_GRID, RK_LOCAL,       /* for device programs. GRID: blocks of a launch. LOCAL: threads of a block */
  RK_GROUP,                /* threads of a block, each with a part of a reduction */
  RK_FRAG,                 /* rows, columns or depth of a matrix that the threads of a warp hold together */
  RK_COUNT
} RangeKind;
extern const char *const range_kind_name[RK_COUNT];
/* range_is_thread: whether the values of the range are distributed over the threads of a block. range_is_place: whether the
 * values are distributed over the threads of a block or over blocks. */
static inline bool range_is_thread(RangeKind k) { return k == RK_LOCAL || k == RK_GROUP; }
static inline bool range_is_place(RangeKind k) { return k == RK_GRID || range_is_thread(k); }

/* The nodes below a node are its sources, their sources, and so on. */
typedef struct Node {
  uint8_t op;              /* Op */
  uint8_t dt;              /* DType of an element */
  uint8_t rank;            /* graph level: number of dimensions */
  uint16_t lanes;          /* number of lanes; 1: a scalar */
  uint16_t nsrc, narg;
  bool varies;             /* graph level: this node or a node below it is a PARAM, a SIZE, or an op of loops or branches */
  uint8_t loop;            /* graph level: 1 + number of the loop whose body contains the node; 0: no loop */
  uint32_t origin;         /* row of IR.origins */
  uint32_t newest_range;   /* 1 + the greatest id of the RANGEs with ids from 0 on, among this node and the nodes below it;
                              0: there is no such RANGE */
  const Ref *src;
  const int64_t *arg;      /* the narg arguments, as OpInfo.args lists them; interned */
  const int64_t *dims;     /* graph level: the shape, one extent for each of the `rank` dimensions; interned; never NULL */
  int64_t vmin, vmax;      /* bounds of an integer or bool value; INT64_MIN/MAX: unknown */
} Node;

typedef struct Origin {    /* the place in the user's model that a node comes from */
  const char *text;        /* such as "node 17 'conv1' (Conv, opset 11)" or "net.tg:12" */
  uint32_t index;          /* number by which origins are sorted: the node's position in the model, or the line */
  bool is_line;            /* the place is a line of a text; a printed graph leaves this origin out */
} Origin;

/* ---- constant tensors: row-major, dense, little-endian data at any alignment. A Tensor does not own its data ---- */
typedef struct Tensor {
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int64_t elems;
  const void *data;        /* NULL: all elements equal splat */
  int64_t splat;           /* if data is NULL: the value of each element, in the form of a CONST */
  const char *name;        /* name in the model; may be NULL */
  int narrow;              /* SmallType.onnx of the elements' type; 0: the elements have no SmallType. With a SmallType, dt is
                              SmallType.kept. If `kept` is a float type, dt may also be U8. Then each byte of data has the bits
                              of an element */
} Tensor;

/* ---- sizes of a run (sizes.c). A dimension whose size the caller gives for each run is a symbol. ---- */
enum { SIZES_MOST = 4096 }; /* most rows of IR.sizes */
enum { SYMBOLS_MOST = 4, SUMS_MOST = 16 }; /* SYMBOLS_MOST: most symbols of a model. SUMS_MOST: most sums (Symbols) */
typedef struct Graph Graph;
typedef struct Symbol {
  const char *name;        /* name of the dimension */
  int64_t low, high, step; /* the size in a run is one of low, low + step, ..., high. In shapes of nodes, the dimension has the
                              size `high` */
  int64_t typical;         /* the size for which schedules are made; 0: not known */
  int64_t appended;        /* if the symbol counts the elements of some states, the number of elements that a run appends to
                              each of these states; otherwise 0 */
} Symbol;
/* The symbols of a model, and sums. A sum adds or multiplies two extents (Extent) that follow from different symbols. Further
 * extents can follow from a sum, as from a symbol. But no caller gives the value of a sum. */
typedef struct Symbols {
  int n, sums;                          /* n: number of symbols. sums: number of sums, which are behind the n symbols in p */
  Symbol p[SYMBOLS_MOST + SUMS_MOST];
} Symbols;
/* The size of each symbol in a run, and behind these sizes the value of each sum. If the value of a sum is not positive,
 * functions compute the value from the sizes of the symbols */
typedef int64_t RunSizes[SYMBOLS_MOST + SUMS_MOST];
/* An extent that differs from run to run: a row of IR.extents. The first rows are the symbols. Each further extent follows from
 * the extent in row `of`. If x is the value of row `of`, the result is min(most, (x * times + plus) / over), or 0 if
 * x * times + plus is negative. The extent is this result, or the product or the sum of this result and another extent (`by`).
 * Each sum of two symbols is also in IR.symbols. So is each product of two symbols, unless it only serves for the shape of an
 * output. Such a product has no `at`. If two extents follow from one symbol and are equal in all runs, they share a row. */
typedef struct Extent {
  int of;
  int64_t times, plus, over, most;
  int by;                  /* k + 1: the extent is the result times extent k. -k - 1: the extent is the result plus extent k.
                              0: the extent is the result */
  int symbol;              /* number of the symbol or sum from which this extent follows, perhaps through other extents */
  const int64_t *at;       /* one value of this extent for each size of the symbol or sum, in ascending order of the sizes. A
                              product has no `at` */
  int64_t shared;          /* greatest common divisor of the values in `at` */
} Extent;
typedef VEC(Extent) Extents;
/* Needed says which elements of a value a run needs: the elements that satisfy all n conditions. Element number i, in row-major
 * order, satisfies a condition if i / inner % extent is below the value that row `of` of IR.extents has in the run. n 0: a run
 * needs all elements. n NEED_NOTHING: a run needs no element. In a buffer, `behind` of the extent's last entries are padding. The
 * value of `of` counts so many entries more than a run needs of the entries in front of the padding. */
enum { NEEDED_MOST = 6, NEED_NOTHING = -1 };
typedef struct Need { int64_t inner, extent; int of; int64_t behind; } Need;
typedef struct Needed { int n; Need is[NEEDED_MOST]; } Needed;

/* ---- buffers: memory that kernels access (filled in by schedule/) ---- */
typedef enum {
  BUF_INPUT, BUF_OUTPUT,   /* memory of the caller */
  BUF_WEIGHT, BUF_ARENA,   /* WEIGHT: part of the blob of weights. ARENA: an intermediate value in the arena */
  BUF_STATE, BUF_NEXT,     /* STATE: a state before a run. NEXT: the state after the run */
  BUF_GUARD,               /* the output that Graph.guarded adds */
  BUF_LOCAL,               /* memory on the stack of a call; in a device program, memory of one thread */
  BUF_SHARED,              /* in a device program: memory that all threads of a block access */
  BUF_KINDS
} BufKind;
extern const char *const buf_kind_name[BUF_KINDS];
/* Whether a kernel's function makes buffers of kind k itself, instead of getting them as parameters */
static inline bool buf_is_own(BufKind k) { return k == BUF_LOCAL || k == BUF_SHARED; }
typedef struct Buf {
  BufKind kind;
  DType dt;
  int64_t elems;           /* size of the memory, in elements */
  int64_t slot;            /* number of the input, output or state; for a weight: row of IR.tensors */
  int64_t offset;          /* bytes from the start of the arena, of the blob of weights, or of the memory of all states
                              (MemoryPlan.state_at in schedule/schedule.h); -1: not placed yet */
  int packed;              /* for a weight: 1 + row of WeightPlan.packed (schedule/schedule.h); 0: the tensor itself */
  int of;                  /* 1 + row of IR.bufs of another buffer, of kind ARENA. This buffer lies in the memory of that buffer,
                              as a slice, a carried value or a result of a loop. 0: this buffer has memory of its own */
  int64_t at, step;        /* if `of` is set. at: elements from the start of the other buffer to this buffer in iteration 0 of the
                              loop. step: elements by which each further iteration moves this buffer */
  Needed needed;           /* the elements that a run needs */
  int turn;                /* if `of` is set. 0: each iteration moves the buffer by `step`. 1, 2: the buffer alternates between
                              two places; the second place is `step` elements behind the first. With 1, odd iterations use the
                              second place; with 2, even iterations use the second place */
  int64_t piece;           /* for kernel groups, and for kernels that strips.c joined. A thread takes Kernel.chunks_per_task
                              chunks at a time, and these chunks have `piece` bytes of the buffer for themselves. 0: all chunks
                              share the buffer */
  Ref value;               /* the graph node whose value the buffer holds, for --explain; 0: none */
} Buf;

/* Whether the buffer is memory of the caller that may be shorter in runs with smaller sizes. */
static inline bool buf_ends_early(const Buf *b) { return (b->kind == BUF_INPUT || b->kind == BUF_OUTPUT) && b->needed.n > 0; }

/* Number of elements that the kernels of one thread may access at a time: those of its piece, or the whole buffer */
static inline int64_t buf_reach(const Buf *b) { return b->piece ? b->piece / dt_bytes(b->dt) : b->elems; }

/* In a run, the extent of `value` along `axis` is the value of row `extent` of IR.extents. Only the front end knows this; the
 * sources of `value` do not tell it. */
typedef struct OpenAxis { Ref value; int axis, extent; } OpenAxis;

typedef struct IR {
  Ctx *ctx;
  Node **chunk;            /* arrays of 4096 nodes each. Nodes never move, so that a pointer to a node stays valid */
  uint32_t n;              /* Refs are 1 .. n-1 */
  struct IRTables *tables; /* hash tables of nodes and of lists */
  VEC(Tensor) tensors;
  VEC(Buf) bufs;
  VEC(Origin) origins;
  Symbols symbols;
  Extents extents;         /* the extents that differ from run to run */
  VEC(OpenAxis) opened;    /* extents that only the front end knows */
  const int64_t *run;      /* RunSizes, for interp_graph, interp_launch and program_time; NULL: each symbol has its greatest
                              size */
  VEC(tgcrt_size) sizes;   /* numbers that follow from a run's extents, such as numbers of iterations. SIZEs and RANGEs refer to
                              rows of this table */
  uint32_t origin;         /* origin of nodes made from now on */
  Pos building;            /* node of the model that a front end is building; .node NULL: no front end is building a node */
  int64_t next_range;      /* the next free number for a RANGE, or for another op with an id, such as ACC */
  bool half_steps;         /* a sum of products of halves is rounded to a half after each addition, as on the target. The products
                              are exact (half_sums.c) */
  bool in_loop;            /* a front end is building the body of a loop */
  int loops;               /* number of the next loop; at most GRAPH_LOOPS */
  unsigned short *loop_extent; /* by loop: 1 + the row of `extents` with the number of iterations that a run needs. Further
                                  iterations change no carried value, and a run may omit them. 0: a run needs all iterations.
                                  NULL: a run needs all iterations of all loops */
  int64_t branches;        /* number of the next branch */
  struct Decisions *decisions; /* decisions of the passes (decisions.h); NULL: decisions are not recorded */
  struct MemoryGoal *memory; /* whether passes may use more memory to gain speed (cost/growth.h); NULL: they may */
  const Pos *dump;         /* for messages: the current line, while tgc reads a dump; otherwise NULL. A mistake in a dump is an
                              error of the user, not a BUG */
} IR;

IR *ir_new(Ctx *c);                /* an IR in the model's arena (Ctx.model), which also holds the nodes */
void ir_free(IR *ir);              /* frees the tables of the IR, which are outside of the arena */
static inline const Node *node(const IR *ir, Ref r) { return &ir->chunk[r >> 12][r & 4095]; }

/* Each argument and each named operand of ops.h has an accessor (accessors.h, which tools/accessors.sh makes). The accessor's
 * name is the op and the name in ops.h: range_extent(x), pad_lo(x, axis), load_buffer(x), red_range(x, i). If a node lacks an
 * operand that may be absent, such as the gate of a LOAD, the accessor returns 0. With -DTGC_CHECK_ARGS it is a BUG to pass a
 * node of another op. */
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

/* Each of the following accessors serves several ops. */
/* Checks that x has an operand i, and that ops.h gives operand i this name. If x has only one operand, the name "data" is always
 * right. name NULL: checks that x has exactly two operands, and that ops.h gives them no names. A check that fails is a BUG. */
void check_operand(const Node *x, int i, const char *name);
static inline Ref operand_named(const Node *x, int i, const char *name) {
#ifdef TGC_CHECK_ARGS
  check_operand(x, i, name);
#endif
  (void)name;
  return x->src[i];
}
static inline Ref operand(const Node *x) { return operand_named(x, 0, "data"); } /* the only operand, or the operand "data" */
static inline Ref lhs(const Node *x) { return operand_named(x, 0, NULL); } /* the first of two operands without names */
static inline Ref rhs(const Node *x) { return operand_named(x, 1, NULL); }
/* access_buffer, access_index: of a LOAD, STORE, TILE or PREFETCH. access_gate: of a LOAD or STORE; 0: there is no gate */
static inline Ref access_buffer(const Node *x) { return operand_named(x, 0, "buffer"); }
static inline bool is_access(const Node *x) { return x->op == OP_LOAD || x->op == OP_TILE || x->op == OP_STORE; }
static inline Ref access_index(const Node *x) { return operand_named(x, 1, "index"); }
static inline Ref access_gate(const Node *x) { return x->op == OP_STORE ? store_gate(x) : load_gate(x); }
static inline Ref variable_of(const Node *x) { return operand_named(x, 0, "acc"); } /* the ACC of x, a SET or GET */

/* Adds an Origin with this text and this index, and does not copy the text. Returns the row of the Origin in IR.origins. */
uint32_t ir_origin(IR *ir, const char *text, uint32_t index);
/* Reports that the result of a pass breaks a rule. If IR.dump is set, reports an error of the user; otherwise reports a BUG. */
_Noreturn void ir_wrong(const IR *ir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
Pos ir_pos(const IR *ir, Ref r);   /* the origin of r as a position, for messages */

/* Makes room for `more` nodes in the hash table of nodes. After a call before a fork, no child process has to enlarge its copy of
 * the table. */
void ir_reserve(IR *ir, uint32_t more);
/* The only constructor of nodes. The caller gives the type and, at graph level, the shape; the verifier later checks the type and
 * the shape. The function copies src, arg and dims, and computes Node.vmin and Node.vmax. The function fails if there are too
 * many axes, sources or nodes. It neither folds nor simplifies. */
Ref node_make(IR *ir, Op op, DType dt, int lanes, int nsrc, const Ref *src, int narg, const int64_t *arg,
              int rank, const int64_t *dims);
/* Returns a node with the sources src, and with the op, type, lanes, arguments, shape and origin of r. If r has the sources
 * src, returns r. */
Ref node_with_src(IR *ir, Ref r, const Ref *src);
bool nodes_alike(const Node *x, const Node *y);               /* graph level: whether x and y have the same type and shape */
int64_t dims_elems(const int64_t *dims, int rank);            /* product of the extents; INT64_MAX on overflow */
/* Whether r is a CONST, or made from a CONST by views and BCASTs. If so, and bits is not NULL, sets *bits to the value of the
 * CONST. */
bool node_is_const(const IR *ir, Ref r, int64_t *bits);
/* Whether x is a CAST from an integer type to a wider integer type, which has all values of the first type */
bool node_widens(const IR *ir, const Node *x);
/* x: an ADD, SUB or MUL. Returns whether x is of integers, and the bounds of the operands of x prove that no result wraps */
bool node_is_exact(const IR *ir, const Node *x);
/* Sets *lo and *hi to the least and the greatest value of type d, and returns true. For floats and 64-bit integers, sets *lo to
 * INT64_MIN and *hi to INT64_MAX, and returns false. */
bool dt_bounds(DType d, int64_t *lo, int64_t *hi);
/* Returns `bits` as a CONST of type d keeps them: truncated, then sign- or zero-extended; a bool is 0 or 1. */
uint64_t dt_wrap(DType d, uint64_t bits);

/* ---- scalar constants. A CONST keeps its value in 64 bits: integers are sign- or zero-extended; a bool is 0 or 1; the bits of a
 * float are the low bits, and the other bits are 0. This encoding is called the form of a CONST ---- */
Ref c_bits(IR *ir, DType d, int64_t bits);     /* a CONST with these bits */
Ref c_int(IR *ir, DType d, int64_t v);         /* a CONST of v, converted to d, which may be a float type */
Ref c_float(IR *ir, DType d, double v);        /* a CONST of v, rounded to d; if d is no float type, converted as CAST does */
double bits_to_double(DType d, int64_t bits);  /* the value that these bits of a CONST have as type d */
/* Converts v to the bits of a CONST of type d, as CAST does. If d is a float type, v is rounded to nearest even. If d is an
 * integer type, v is truncated, a value beyond the type's bounds becomes the nearest bound, and NaN becomes 0. If d is bool,
 * 0 becomes 0, and all other values, also NaN, become 1. */
int64_t double_to_bits(DType d, double v);
int64_t reduce_identity(Op op, DType d);       /* the result of a REDUCE by op over no elements, as bits of a CONST */

/* ---- graph builders. Wrong types and shapes are a BUG. But while a front end builds a node of the model (IR.building), they are
 * an error of the model at this node. Elementwise builders broadcast operands as numpy does: they add leading axes, and repeat
 * axes of extent 1 ---- */
Ref g_param(IR *ir, DType d, int rank, const int64_t *dims, int slot); /* slot: number of the input */
/* A WEIGHT of ir->tensors.p[tensor]. A tensor with one element or without data (a splat) becomes an EXPAND of a CONST. */
Ref g_weight(IR *ir, int tensor);
int64_t tensor_bits(const Tensor *t, int64_t i); /* element i, in the form of a CONST */
/* Whether all elements are equal. *bits: their value, in the form of a CONST */
bool tensor_uniform(const Tensor *t, int64_t *bits);
static inline float data_f32(const void *data, int64_t i) { /* element i of an array of floats at any alignment */
  float v;
  memcpy(&v, (const char *)data + i * (int64_t)sizeof v, sizeof v);
  return v;
}
int ir_tensor(IR *ir, const Tensor *t);        /* adds t to IR.tensors and returns its row; does not copy the data */
Ref g_iota(IR *ir, DType d, int64_t n);        /* a vector of type d: 0, 1, ... n - 1 */
Ref g_unary(IR *ir, Op op, Ref x);
Ref g_cast(IR *ir, Ref x, DType d);
Ref g_binary(IR *ir, Op op, Ref a, Ref b);     /* a and b have the same type; comparisons give BOOL */
Ref g_where(IR *ir, Ref c, Ref a, Ref b);      /* c ? a : b */
Ref g_reshape(IR *ir, Ref x, int rank, const int64_t *dims);
Ref g_expand(IR *ir, Ref x, int rank, const int64_t *dims);  /* broadcast_to of numpy: may add leading axes */
Ref g_permute(IR *ir, Ref x, const int64_t *perm); /* axis a of the result is axis perm[a] of x */
/* Element j along axis a of the result is element begin[a] + j * step[a] of x. dims: the result's shape. step NULL: all steps are
 * 1 */
Ref g_shrink(IR *ir, Ref x, const int64_t *begin, const int64_t *step, const int64_t *dims);
Ref g_flip(IR *ir, Ref x, uint32_t axes);      /* reverses axes, by a SHRINK with steps of -1. axes: a mask of bits */
/* Splits `axis` into an axis of extent `out`, at the same position, and a new last axis of extent k. The result's element
 * (.., o, .., t) is x's element (.., o * stride + t * dilation, ..), which must exist. */
Ref g_window(IR *ir, Ref x, int axis, int64_t out, int64_t k, int64_t stride, int64_t dilation);
/* lo, hi: by axis, the number of elements to add before and behind x, not negative. fill: a value of rank 0 and of x's type */
Ref g_pad(IR *ir, Ref x, const int64_t *lo, const int64_t *hi, Ref fill);
Ref g_cat(IR *ir, int n, const Ref *xs, int axis); /* all xs have the same type, and the same shape except along axis */
/* index: of type i64 and of x's rank, with any extent along `axis`. Along the other axes, x and index are broadcast to each
 * other. Elements of index outside of [0, extent of `axis` in x) are clamped into this interval. */
Ref g_gather(IR *ir, Ref x, Ref index, int axis);
/* Returns 1 if all elements of index are known to lie in [0, extent). Returns -1 if an element is known to lie outside; then
 * *wrong is an integer outside, for a message. Otherwise returns 0. */
int g_index_fits(const IR *ir, Ref index, int64_t extent, int64_t *wrong);
/* Returns x, changed by the elements of updates in order. An element of updates changes the element of x that has, along `axis`,
 * the position that `index` gives. `op` combines the two elements; with OP_NONE, the new element replaces the old element. An
 * index out of range has no effect. Along `axis`, index and updates are broadcast to each other; along the other axes, both are
 * broadcast to x. */
Ref g_scatter(IR *ir, Op op, Ref x, Ref index, Ref updates, int axis);
/* Goes through search trees (WALK in ops.h). src holds the operands data, feature, split, next and start. data: a matrix of
 * floats. feature, split and next: an element for each position in the trees. start: an element for each tree. It is a BUG if
 * g_walk_refuses gives a reason. */
Ref g_walk(IR *ir, const Ref src[5], int64_t steps);
/* Returns NULL, or the reason why g_walk cannot take these arguments. */
const char *g_walk_refuses(const IR *ir, const Ref src[5], int64_t steps);
Ref g_reduce(IR *ir, Op op, Ref x, uint32_t axes); /* axes: a mask of bits; reduced axes stay, with extent 1 */

typedef VEC(Ref) Refs;
/* ---- loops (loops.c). A loop has a number, and makes at least one iteration. The body consists of the SLICEs and CARRIEDs with
 * this number, and of all nodes between them and the ITERATE of the loop. A body contains no other loop. ---- */
enum { GRAPH_LOOPS = 250 }; /* most loops of a graph */
/* op_is_of_loops: whether op is an op of loops or branches. Values of these ops are in memory, row-major. op_is_gathering:
 * whether op is ITERATE or BRANCH. The values of these two ops lie in the memory of their operands. */
static inline bool op_is_gathering(Op op) { return op == OP_ITERATE || op == OP_BRANCH; }
static inline bool op_is_of_loops(Op op) {
  return op == OP_STORED || op == OP_SLICE || op == OP_CARRIED || op == OP_YIELD || op == OP_RESULT || op == OP_ARM ||
         op == OP_CHOSEN || op_is_gathering(op);
}
/* Returns 1 + the number of the loop whose iterations compute x, or 0 if there is no such loop. Returns 0 for a CARRIED, because
 * the kernel of a CARRIED stores the first value before the loop runs. */
static inline int body_of(const Node *x) { return x->op == OP_CARRIED ? 0 : x->loop; }
/* loop: number of the loop. place: number of a carried value in the loop. reverse: the first iteration has the last slice along
 * axis. ops.h describes the ops. */
Ref g_stored(IR *ir, Ref x);
Ref g_slice(IR *ir, int loop, Ref stored, int axis, bool reverse);
Ref g_carried(IR *ir, int loop, int place, Ref init);
/* x: the next value of the CARRIED with this loop and place */
Ref g_yield(IR *ir, int loop, int place, Ref x);
/* x: one iteration's slice of a result. axis: the axis of the result along which the slices of all `trips` iterations lie */
Ref g_yield_slice(IR *ir, int loop, Ref x, int axis, bool reverse, int64_t trips);
/* The end of a loop with n yields. ends 0: data does not end the loop early. ends k + 1: yield number k gives a bool. After the
 * first iteration in which this bool is false, further iterations change nothing, and a run may omit them. */
Ref g_iterate(IR *ir, int loop, int64_t trips, int ends, int n, const Ref *yields);
/* Replaces the n yields of a loop. The new yields keep the carried values as soon as the bool of `ends` (g_iterate) is false.
 * Returns NULL, or the reason why the loop cannot have these yields. */
const char *g_hold_yields(IR *ir, int ends, int n, Ref *yields);
Ref g_result(IR *ir, Ref iterate, int at); /* the result of yield number `at`, counted from 0 */
/* Returns the row of IR.extents with the number of iterations of the loop that a run needs; -1 if a run needs all iterations. */
static inline int loop_extent(const IR *ir, int64_t loop) { return ir->loop_extent ? ir->loop_extent[loop] - 1 : -1; }
/* These functions are for a loop with a loop_extent. g_live returns a bool that is true in the iterations that the run needs.
 * is_live: whether r has the form that g_live gives to this bool. is_held: whether r is WHERE(live, next, before) with two
 * properties. `before` is a CARRIED, and `live` is the bool of g_live or a view of this bool. */
Ref g_live(IR *ir, int loop, int64_t trips);
bool is_live(const IR *ir, Ref r);
bool is_held(const IR *ir, Ref r);
/* Returns NULL if the loop that ends at `iterate` is correct. Otherwise returns the reason. */
const char *g_iterate_refuses(const IR *ir, Ref iterate);
/* Replaces each loop of fewer than `least` iterations below the n roots by copies of the loop's body, and updates roots. Returns
 * whether a loop was replaced. A loop that may end early (`ends` of g_iterate) stays if it has more than EARLY_COPIES iterations.
 * A loop with a loop_extent stays if `least` is below INT64_MAX. */
enum { EARLY_COPIES = 64 };
bool ir_unroll(IR *ir, Ref *roots, size_t n, int64_t least);
/* Reorders `order`, so that the nodes of each body come directly before the ITERATE of the body's loop. */
void order_bodies(const IR *ir, Refs *order);

/* ---- branches (branches.c). A branch has a number. A side of a branch guards a node if only this side uses the node, perhaps
 * through other nodes. A run needs a guarded node only if the run takes this side. A branch inside of a loop guards no node that
 * is computed before the loop ---- */
/* A branch with n results. yes: the n values of the side that a run takes if cond is true. no: the n values of the other side */
Ref g_branch(IR *ir, Ref cond, int n, const Ref *yes, const Ref *no);
Ref g_arm(IR *ir, int64_t branch, int64_t at, Ref x); /* arm number `at` of branch number `branch`, for the value x */
/* A branch of n arms. Their order: the arm of the condition, the arms of all values of `yes`, the arms of all values of `no` */
Ref branch_of_arms(IR *ir, int64_t branch, int n, const Ref *arms);
Ref g_chosen(IR *ir, Ref branch, int at); /* result number `at` of the branch, counted from 0 */
static inline int branch_results(const Node *x) { return (x->nsrc - 1) / 2; }
const char *g_branch_refuses(const IR *ir, Ref branch); /* NULL if `branch` is correct; otherwise the reason */
/* Replaces branches below the n roots by selections (WHERE), and updates roots. A branch r stays if stays[r] is true, but loses
 * the results that no node uses. stays NULL: no branch stays */
void ir_select(IR *ir, Ref *roots, size_t n, const bool *stays);
/* A side of a branch. in: 1 + index in Guards.list of the innermost side that guards the branch; 0: no side guards the branch.
 * yes: true for the side `yes` of g_branch, false for the side `no` */
typedef struct Guard { int in; Ref branch; bool yes; } Guard;
typedef struct Guards {
  VEC(Guard) list;
  int *of;                 /* by Ref: 1 + index in `list` of the innermost side that guards the node; 0: no side guards the
                              node */
} Guards;
/* order: all nodes, sources first. roots: n nodes that all runs need. The caller frees the result with guards_free. */
Guards find_guards(const IR *ir, const Refs *order, const Ref *roots, size_t n);
void guards_free(Guards *g);
/* As body_of, but an ARM that a side guards belongs to the body that contains the branch of this side. Even an ARM whose value no
 * iteration changes belongs to this body. */
int guarded_body(const IR *ir, const Guards *g, Ref r);
/* Reorders `order`, so that the nodes that the two sides of a branch guard come directly before the BRANCH, one side after the
 * other. */
void order_branches(const IR *ir, const Guards *g, Refs *order);
/* Returns an array with an element for each buffer: whether another buffer lies in this buffer's memory (Buf.of). The caller
 * frees the array. */
bool *sliced_buffers(const IR *ir);

/* ---- graphs ---- */
typedef struct GIO {       /* an input or output of a graph */
  Ref ref;
  const char *name;
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int narrow;              /* SmallType.onnx of the elements' type; then each byte has one element. 0: the elements have no
                              SmallType */
  unsigned short open[MAX_RANK]; /* by axis: 1 + the row of IR.extents with the axis's extent; 0: the extent is a constant */
  const char *formula[MAX_RANK]; /* by axis: the extent as a formula with a symbol, for people; NULL: the extent is a symbol or a
                                    constant */
  Needed is;               /* the elements that an output has in a run; n 0: `open` tells them. `is` is needed for an axis that
                              was made from several axes, if only one of these ends early */
} GIO;
static inline int64_t gio_bytes(const GIO *v) { return dims_elems(v->dims, v->rank) * dt_bytes(v->dt); }
/* A state: memory that the bundle keeps from run to run. The graph has an input and an output for the state. */
typedef struct GState {
  int axis;                /* -1: the output of a run is the input of the next run. Otherwise the state is a window along this
                              axis: the output is the input with `taken` elements appended. The input of the next run is the end
                              of the output, and has as many elements as the input of this run */
  int64_t taken, capacity; /* capacity: extent of the memory along the axis */
  int64_t step, most;      /* step: elements by which the window moves at a time. most: greatest number of elements that a run
                              appends. `step` and `most` equal `taken` if all entries of a bundle append equally many elements */
  int symbol;              /* 1 + number of the symbol whose size counts the elements; 0: none. With a symbol, the elements lie at
                              the start of the memory and do not move, and a run appends elements behind them */
  bool only_read;          /* this entry only reads the state, so that the output is the input; another entry writes the state */
  const Tensor *init;      /* value before the first run; NULL: zeros */
} GState;
/* An entry: a graph of its own, which has some inputs, outputs and states of the whole graph. The entry and the whole graph have
 * the same IR. */
typedef struct GEntry {
  const char *name;        /* a C identifier */
  Graph *g;
  int *input, *output, *state; /* input[i]: the number of input i of g among the inputs of the whole graph. output, state:
                                  likewise */
} GEntry;
struct Graph {
  IR *ir;
  const char *name;
  VEC(GIO) inputs;         /* inputs.p[i].ref is PARAM slot i; a PARAM may have no users */
  VEC(GIO) outputs;
  VEC(GState) states;      /* the last states.n inputs are the states, in order. The last states.n outputs before the guard are
                              the states after a run */
  bool grows;              /* the last state counts the elements appended to the windows, which are the states with axis >= 0 */
  bool guarded;            /* the last output is the guard, which the caller does not get: a bool, true if an index was out of
                              range. If results may exceed their capacity, the guard is a u8. Then bit 0 is set if an index was
                              out of range, and bit 1 is set if a result exceeded its capacity */
  VEC(GEntry) entries;     /* the entries of which this graph consists. Empty: the graph is the only entry */
};
static inline size_t graph_nin(const Graph *g) { return g->inputs.n - g->states.n; }   /* inputs that the caller gives */
/* Whether a result of the graph may have more rows than the result's capacity */
static inline bool graph_may_overflow(const Graph *g) { return g->guarded && g->outputs.p[g->outputs.n - 1].dt == DT_U8; }
/* outputs that the caller gets */
static inline size_t graph_nout(const Graph *g) { return g->outputs.n - g->states.n - g->guarded; }

/* Compares nodes in a total order by structure (node_order.c). Returns a negative number if `a` stands before `b`, a positive
 * number if `a` stands after `b`, and 0 if `a` is `b`. The order does not depend on when nodes were made. */
int node_order(const IR *ir, Ref a, Ref b);
int node_order_r(const void *a, const void *b, void *ir); /* for qsort_r over Refs */
/* Appends the n roots and all nodes below them to out, in topological order: sources before users. Skips a root that is 0. The
 * caller frees out with VEC_FREE. */
void ir_toposort(const IR *ir, const Ref *roots, size_t n, Refs *out);

/* ---- index algebra (algebra.c): i64 scalar expressions of CONST, SIZE, RANGE, ADD, SUB, MUL, FLDIV, FLMOD, MIN, MAX,
 * comparisons, AND, OR, NOT and WHERE. Constructors return canonical, simplified nodes. Sums are ADD chains of coefficient*term,
 * sorted by node_order, with the constant last. Bounds come from Node.vmin and vmax. A bound that overflows is unknown ---- */
Ref range_new(IR *ir, int64_t extent, RangeKind kind);  /* a RANGE with a new number, also for extent 1 (node.c) */
Ref range_make(IR *ir, int64_t extent, RangeKind kind); /* as range_new, but a CONST 0 if extent is 1 */
/* sizes.c. Below, `extent` is a row of IR.extents, `number` is a row of IR.sizes, and `run` is a RunSizes. */
void ir_set_symbols(IR *ir, const Symbols *symbols); /* sets the symbols of a model, and drops all other extents */
/* Returns a row with the values of e in all runs; adds e if there is no such row. e needs only the fields from `of` to `most`. */
int extent_make(IR *ir, Extent e);
/* Adds the product of the extents in rows a and b, for the shape of an output. Returns the row of the product. */
int extent_product(IR *ir, int a, int b);
/* Adds the sum of the extents in rows a and b. Returns the row of the sum, or -1 if there are too many sums. */
int extent_sum(IR *ir, int a, int b);
/* Adds the product of the extents in rows a and b. Other extents may follow from this product. Returns the row of the product, or
 * -1 if there are too many sums, or if the product can have too many different values. */
int extent_times(IR *ir, int a, int b);
static inline bool extent_is_product(const Extent *e) { return e->by > 0 && !e->at; } /* for the shape of an output */
static inline int extent_other(const Extent *e) { return (e->by < 0 ? -e->by : e->by) - 1; } /* the row k of `by`; -1: none */
int64_t extent_in_run(const IR *ir, int extent, const int64_t *run);
int64_t extent_least(const IR *ir, int extent); /* the least value of the extent in any run */
int64_t extent_most(const IR *ir, int extent);  /* the greatest value of the extent in any run */
static inline int64_t symbol_sizes(const Symbol *s) { return (s->high - s->low) / s->step + 1; } /* number of sizes */
/* As extent_in_run, for rows without Extent.at; the first `symbols` rows are the symbols */
int64_t extent_of_formulas(const Extents *all, int symbols, int extent, const int64_t *run);
const char *extent_text(Ctx *c, const IR *ir, int extent); /* the extent as a formula with names of symbols: "(n+1)/2" */
/* The bundle has a table of extents: the symbols, then the rows of IR.extents that sizes, inputs and outputs need. Returns an
 * array that maps each row of IR.extents to the row's number in this table, counted from 0. Rows that the table lacks are mapped
 * to 0, too. Sets *count to the number of rows after the symbols. */
const int *extents_used(const IR *ir, const Graph *g, int *count);
/* Sets *least and *most to bounds of the index r in a run, and returns true. Returns false if no bounds are known. A size of 0
 * in `run` stands for all sizes of the symbol. iota: only the first `iota` elements of each IOTA below r count; 0: all elements
 * count */
bool index_in_run(const IR *ir, Ref r, const int64_t *run, int64_t iota, int64_t *least, int64_t *most);
bool extent_at_most(const IR *ir, int a, int b);     /* whether extent a is at most extent b in every run */
bool extent_at_most_if(const IR *ir, int a, int b, int count); /* the same, in every run in which extent `count` is not 0 */
bool extent_is_constant(const IR *ir, int extent);   /* whether the extent has the same value in all runs */
tgcrt_size size_all(int64_t times, int of);          /* the size that is `times` times the extent in row `of` */
int size_number(IR *ir, tgcrt_size s);               /* the row of IR.sizes with s; adds s if there is no such row */
Ref size_value(IR *ir, int number);                  /* a SIZE of this row */
int64_t greatest_size(const IR *ir, int number);     /* the greatest value of this row in any run */
int64_t size_in_run(const IR *ir, int number, const int64_t *run); /* the value of this row in a run */
bool size_is_allowed(const Symbol *s, int64_t size); /* whether the symbol may have this size */
void greatest_sizes(const Symbols *s, int64_t *run); /* sets run[k] to the greatest size of symbol k */
/* Adds the condition `is` to `to`, and returns true. Returns false, and adds nothing, in three cases: all elements satisfy `is`
 * in all runs; `to` has a condition for the axis of `is`; `to` is full. */
bool needed_add(IR *ir, Needed *to, Need is);
void needed_only(IR *ir, Needed *to, Need is);       /* adds `is`, in place of a condition of `to` for the axis of `is` */
/* One user of a value needs the elements that satisfy a, another user needs those that satisfy b. Returns conditions that all of
 * these elements satisfy. For an axis with conditions in a and in b, the result has the condition that is weaker in all runs, if
 * there is one. The result has no other conditions. Neither a nor b may be NEED_NOTHING. */
Needed needed_both(const IR *ir, const Needed *a, const Needed *b);
bool needed_same(const Needed *a, const Needed *b);  /* whether a and b have equal conditions */
static inline bool gio_is_open(const GIO *v) {
  for (int a = 0; a < v->rank; a++)
    if (v->open[a]) return true;
  return false;
}
/* A RANGE of this extent. In a run, the range may end earlier, at the value of row `number` of IR.sizes. */
Ref range_limited(IR *ir, int64_t extent, int number, RangeKind kind);
bool range_runs_once(const IR *ir, const Node *range); /* a loop that no run runs more than once, and some run leaves out */
Ref range_again(IR *ir, const Node *range); /* a RANGE with a new number, and the extent, kind and limit of `range` */
Ref ix_const(IR *ir, int64_t v);
Ref ix_add(IR *ir, Ref a, Ref b);
Ref ix_sub(IR *ir, Ref a, Ref b);
Ref ix_mul(IR *ir, Ref a, int64_t k);
Ref ix_div(IR *ir, Ref a, int64_t k);          /* a / k, rounded down; k > 0 */
Ref ix_mod(IR *ir, Ref a, int64_t k);          /* a - k * ix_div(a, k); k > 0 */
Ref ix_lt(IR *ir, Ref a, Ref b);               /* bool; folded if bounds decide */
Ref ix_and(IR *ir, Ref a, Ref b);              /* bools; Ref 0 stands for true, as operand and as result */
Ref ix_in(IR *ir, Ref a, int64_t lo, int64_t hi); /* the bool lo <= a < hi; Ref 0 (true) if bounds prove it */
/* Finds *coef and *rest such that a = *rest + *coef * range, and *rest does not depend on range. Returns false if this fails. */
bool ix_split(IR *ir, Ref a, Ref range, int64_t *coef, Ref *rest);
bool ix_uses(const IR *ir, Ref a, Ref range);  /* whether `range` is a, or is below a */
bool ix_loads(const IR *ir, Ref a);            /* whether a depends on values in memory */
bool ix_is_multiple(const IR *ir, Ref a, int64_t m); /* whether m is known to divide a; m > 0 */
/* Returns a with from[i] replaced by to[i], for i < n. The constructors above simplify changed indices, also indices of loads
 * that are below a. */
Ref ix_subst(IR *ir, Ref a, int n, const Ref *from, const Ref *to);

/* ---- views (view.c): movement whose result has only elements of its source ---- */
bool op_is_movement(Op op);                    /* whether op makes a view: any movement but PAD and CAT */
Ref view_base(const IR *ir, Ref r);            /* the first node from r downwards that is no view */
/* Returns r, rebuilt with `other` in place of `base`. base must be r itself, or a node that is reached from r by going from nodes
 * to their first sources. */
Ref view_over(IR *ir, Ref r, Ref base, Ref other);
/* The element of `view` with the indices idx is an element of the view's source. Sets at to the indices of the element in the
 * source. */
void view_index(IR *ir, Ref view, const Ref *idx, Ref *at);

/* ---- text form (literal.c, print.c, scan.c, parse.c, parse_graph.c; grammar in docs/text-format.md). Reading a printed text
 * makes nodes equal to the printed nodes, in the order of the text ---- */
void ir_print_graph(const Graph *g, Sb *out);                 /* with the elements of all weights */
/* Prints the elements of long weights to blob, each weight aligned to 64 bytes. blobname: name that the text gives to the blob's
 * file */
void ir_print_graph_blob(const Graph *g, Sb *out, Sb *blob, const char *blobname);
void ir_print_nodes(const IR *ir, const Ref *roots, size_t n, Sb *out); /* kernel level; roots are SINKs or NESTs */
void ir_print_program(const IR *ir, const Ref *list, size_t n, Sb *out);
/* Prints the line that ir_print_program prints for list[at], without indent. Prints nothing if ir_print_program prints no line
 * for list[at]. */
void ir_print_op(const IR *ir, const Ref *list, size_t n, size_t at, Sb *out);

typedef struct TextHooks { /* callbacks for references in a graph's text. A reference whose callback is NULL is an error */
  void *arg;
  /* Returns `bytes` bytes of a weight file, from `offset` on. file: the name in the text, relative to the directory of the text.
   * sha256: the expected digest; NULL: the text gives none. at: position for messages */
  Bytes (*blob)(Ctx *c, void *arg, Pos at, const char *file, int64_t offset, int64_t bytes, const char *sha256);
  /* Returns the size of the dimension `name`, which is axis number `axis` of a value of type dt. */
  int64_t (*dim)(Ctx *c, void *arg, Pos at, const char *name, int axis, DType dt);
} TextHooks;
Graph *ir_parse_graph(Ctx *c, const char *text, size_t n, const char *path); /* a mistake in the text: fails (EX_BADMODEL) */
Graph *ir_parse_graph_with(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
Ref ir_parse_kernel(IR *ir, const char *text, size_t n);      /* returns the last SINK */
void ir_parse_program(IR *ir, const char *text, size_t n, Refs *out); /* appends the nodes of the program to out */

/* Returns a copy of g in a new IR, which has only the inputs, the outputs, and the nodes below the outputs. Nodes are numbered in
 * the order in which the graph's text lists them, and origins in the order of Origin.index. So graphs with equal texts get equal
 * Refs. States, entries and symbols are not copied. */
Graph *ir_compact(const Graph *g);

/* The type of a literal that is source i of an op. NONE: source i may be no literal. RESULT: the type of the result. PEER: the
 * type of another operand. */
typedef enum { LIT_NONE, LIT_BOOL, LIT_I64, LIT_RESULT, LIT_PEER } LiteralType;
LiteralType literal_type(Op op, int i);
void literal_put(Sb *out, DType d, int64_t bits);             /* appends the shortest text for which literal_parse gives `bits` */
/* Sets *bits to the value of the literal s, of n characters, as type d. Returns NULL, or the error, such as "is out of range". */
const char *literal_parse(DType d, const char *s, size_t n, int64_t *bits);

/* ---- verifier (verify_*.c). If a node breaks a rule, such as a rule of ops.h, the verifier reports a BUG at the origin of the
 * node. While tgc reads a dump, the verifier reports an error of the user instead of a BUG ---- */
void ir_verify_graph(const Graph *g);
void ir_verify_graph_node(const Graph *g, Ref r);
void ir_verify_kernel(const IR *ir, Ref sink);
void ir_verify_nest(const IR *ir, Ref nest);
void ir_verify_program(const IR *ir, const Ref *list, size_t n);

/* ---- rewriting (rewrite.c): applies a table of rules, sources before users, until no rule applies ---- */
typedef Ref (*RuleFn)(IR *ir, Ref r, void *arg); /* returns the replacement of r; 0 or r if the rule does not apply */
typedef struct Rule { Op op; const char *name; RuleFn fn; } Rule; /* fn is called for nodes of this op; OP_NONE ends a table */
/* Rewrites the n roots and the nodes below them, and stores the new Refs in roots. arg: passed to the rules. hits: NULL, or an
 * array; hits[i] is increased whenever rule i is applied. Returns whether a root has changed. It is a BUG if rules are applied
 * too often for the number of nodes. */
bool ir_rewrite(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits);
bool ir_rewrite_graph(Graph *g, const Rule *rules, void *arg); /* as ir_rewrite, with the outputs of g as the roots */
/* As ir_rewrite, for rules that must not duplicate work. users: an empty map, which the function fills and the rules may read.
 * `users` maps a node to the number of its uses before the rewriting; a replacement takes over the uses of the replaced node. The
 * number may be too high, but is never too low. If a node is absent from `users`, a rule made the node, and only other nodes that
 * this rule made are users of the node. */
struct RefMap;
bool ir_rewrite_users(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits, struct RefMap *users);
/* order: nodes, sources first. Fills the map `only` from nodes to Refs. A node of `order` is mapped to the only node of which
 * it is an operand. A root, and a node that is an operand more than once, are mapped to 0. */
void ir_only_users(const IR *ir, const Refs *order, const Refs *roots, struct RefMap *only);
#endif

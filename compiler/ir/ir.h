/* SPDX-License-Identifier: MIT */
/* ir.h: the intermediate representation. One kind of node serves three levels: graphs of tensors, kernels of scalar expressions
 * over ranges, and linear programs. ops.h says which op belongs to which level.
 *
 * Nodes are immutable and hash-consed: equal op, type, sources, arguments and shape give the same Ref. So nodes are equal if
 * their Refs are equal, and common subexpressions are shared by construction. A node keeps the origin for which it was first
 * made, so that messages can name the user's node or line. */
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
  char cls;           /* 'b' 'i' 'u' 'f' */
  int onnx;           /* TensorProto.DataType */
} DTypeInfo;
extern const DTypeInfo dtype_info[DT_COUNT];
DType dtype_from_text(const char *s, size_t n); /* DT_NONE if unknown */
DType dtype_from_onnx(int onnx);                /* DT_NONE if unknown or unsupported */

/* A type of ONNX that DType lacks (small_types.c). A tensor of strings has one more axis, for the bytes of a string. A string
 * ends at its first zero. Each byte has the type ONNX_STRING. */
enum { ONNX_STRING = 8 };
typedef struct SmallType {
  const char *name;           /* ONNX's, such as "float8e4m3fn" */
  int onnx;                   /* TensorProto.DataType */
  DType kept;                 /* the DType in which its values are kept */
  int bits, mantissa, least;  /* bits of an element; bits of its mantissa; exponent of the smallest normal number */
  double greatest;
  /* NONE: neither NaN nor infinities; NAN: only NaN; INF: NaN and infinities; UNSIGNED: only NaN, whose bits would otherwise be
   * those of -0; POWERS: all values are positive powers of two or NaN, none is 0 */
  enum { SMALL_NONE, SMALL_NAN, SMALL_INF, SMALL_UNSIGNED, SMALL_POWERS } special;
} SmallType;
const SmallType *small_type(int onnx);                   /* NULL: not one of these types */
const SmallType *small_type_named(const char *name, size_t n);
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

typedef enum { L_VALUE, L_EXPR, L_GRAPH, L_KERNEL, L_NEST, L_PROG } Level; /* L_NEST: for dumps of nests; no op has it */
enum { COMM = 1, ASSOC = 2, IDEM = 4, MOVE = 8 }; /* bits of OpInfo.algebra, explained in ops.h */
typedef enum { TAKES_ANY, TAKES_NUM, TAKES_INT, TAKES_BITS, TAKES_FLT } Takes; /* types of operands, explained in ops.h */
/* Class by which an op is priced. ALU: one instruction on a register. DIV: a division, a reciprocal or a root. MOD: a
 * remainder, or a quotient rounded down. FUNC: POW, and functions that lower/libm.c expands to arithmetic for f32. LIBM: a
 * function left to the C library. MEM: a load or a store. GATHER: a load whose index is computed from loaded data. PAD: the
 * comparisons of indices and the select of a pad. */
typedef enum { COST_NONE, COST_ALU, COST_DIV, COST_MOD, COST_FUNC, COST_LIBM, COST_MEM, COST_GATHER, COST_PAD } CostClass;
enum { ARITY_ANY = -1, ARITY_SOME = -2 }; /* any number of sources; one or more. ops.h has S and V for them */

typedef struct OpInfo { /* a row of ops.h, which explains the columns */
  const char *name;   /* lower case: "add" */
  Level level;
  int arity;          /* number of sources, or ARITY_ANY, ARITY_SOME (at least one) */
  const char *type, *operands, *args, *gloss;
  int algebra;
  Takes takes;
  CostClass cost;
  const char *c, *libm; /* infix operator in C; function of math.h; NULL: none */
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
Op op_from_text(const char *s, size_t n);        /* OP_NONE if unknown */
bool op_by_lane(Op op);                          /* lane i of its result depends on lane i of its sources only */
bool op_takes(Op op, DType d);                   /* the elementwise op is defined for operands of this type */

/* ---- nodes ---- */
typedef uint32_t Ref;      /* 0: none */
/* MAX_RANK: most axes of a value. MAX_RANGES: most ranges of a nest. Both should stay small: many structures have arrays of these
 * sizes. */
enum { MAX_RANK = 12, MAX_RANGES = 24 };

typedef enum {             /* how a range is executed; docs/ir.md */
  RK_LOOP, RK_REDUCE,      /* a loop of a nest; a loop of a reduction */
  RK_UNROLL, RK_PARTIAL,   /* copies of the body, one after another; copies of a reduction's body, each with an accumulator */
  RK_VEC,                  /* lanes of vectors */
  RK_THREAD,               /* a loop that threads share */
  RK_DOT, RK_ROW, RK_DEPTH, /* values that an instruction takes as a group; rows of a matrix instruction's tile; groups along
                               the tile's depth */
  RK_SERIAL,               /* a loop whose iterations keep their order */
  RK_GRID, RK_LOCAL,       /* device programs: blocks of a launch; threads of a block */
  RK_GROUP,                /* threads of a block, each with a part of a reduction */
  RK_FRAG,                 /* rows, columns or depth of a matrix that the threads of a warp hold together */
  RK_COUNT
} RangeKind;
extern const char *const range_kind_name[RK_COUNT];
/* range_is_thread: the values are threads of a block. range_is_place: they are blocks or threads, which run in parallel. */
static inline bool range_is_thread(RangeKind k) { return k == RK_LOCAL || k == RK_GROUP; }
static inline bool range_is_place(RangeKind k) { return k == RK_GRID || range_is_thread(k); }

typedef struct Node {
  uint8_t op;              /* Op */
  uint8_t dt;              /* DType of an element */
  uint8_t rank;            /* graph level: number of dimensions */
  uint8_t flags;           /* for the pass that runs; 0 between passes */
  uint16_t lanes;          /* 1: scalar; program level only */
  uint16_t nsrc, narg;
  bool varies;             /* graph level: is or depends on a PARAM, a SIZE or an op of loops */
  uint8_t loop;            /* graph level: 1 + number of the loop in whose body it is; 0: none */
  uint32_t origin;         /* index of Origin */
  uint32_t newest_range;   /* 1 + the greatest number of the RANGEs among this node and all nodes below it; 0: there is none */
  const Ref *src;          /* interned */
  const int64_t *arg;      /* interned; meaning by OpInfo.args */
  const int64_t *dims;     /* graph level: shape, rank entries; interned; never NULL */
  int64_t vmin, vmax;      /* bounds of an integer or bool value; INT64_MIN/MAX: unknown */
} Node;

typedef struct Origin {    /* the place in the user's model that a node comes from */
  const char *text;        /* "node 17 'conv1' (Conv, opset 11)" or "net.tg:12" */
  uint32_t index;          /* ordinal of the node or line, for sorting */
  bool is_line;            /* the place is a line of a text; printed graphs leave such an origin out */
} Origin;

/* ---- constant tensors: row-major, dense, little-endian data at any alignment; whoever mapped it owns it ---- */
typedef struct Tensor {
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int64_t elems;
  const void *data;        /* NULL: all elements equal splat */
  int64_t splat;           /* bits as in CONST, when data is NULL */
  const char *name;        /* name in the model; may be NULL */
  int narrow;              /* SmallType.onnx: elements are values of that type, or their bits if dt is small_bytes. 0: none */
} Tensor;

/* ---- sizes of a run (sizes.c): an extent of inputs may be a number that each run is told. Such an extent is a symbol. ---- */
enum { SIZES_MOST = 4096 }; /* most rows of IR.sizes */
enum { SYMBOLS_MOST = 4, SUMS_MOST = 4 }; /* most symbols of a model; most sums of two extents */
typedef struct Graph Graph;
typedef struct Symbol {
  const char *name;        /* name of the dimension */
  int64_t low, high, step; /* its sizes are low, low + step and so on to high. Shapes of nodes contain `high` for the dimension */
  int64_t typical;         /* the size that schedules are made for; 0: not known */
  int64_t appended;        /* a run appends so many elements to states whose elements the symbol counts; 0: it counts none */
} Symbol;
/* A sum of two extents that follow from different symbols is like a symbol: extents follow from it. A caller sets none. */
typedef struct Symbols {
  int n, sums;                          /* n 0: all sizes are constants; sums: number of sums, which are behind the n symbols */
  Symbol p[SYMBOLS_MOST + SUMS_MOST];
} Symbols;
/* The size of each symbol in a run. Behind them: those of the sums, or 0 for what follows from the sizes of the symbols */
typedef int64_t RunSizes[SYMBOLS_MOST + SUMS_MOST];
/* An extent that differs from run to run: a row of IR.extents. The first rows are the symbols. Each further extent follows from
 * the extent in row `of`. If x is the value of that extent, the new one is min(most, (x * times + plus) / over), or 0 if the sum
 * is negative. Two extents of one symbol that have the same values in all runs share a row. `by` makes an extent the product or
 * the sum of two. Only shapes of outputs have products, and a product has no `at`. A sum has a row in IR.symbols. */
typedef struct Extent {
  int of;
  int64_t times, plus, over, most;
  int by;                  /* k + 1: the result is multiplied by extent k; -k - 1: extent k is added; 0: neither */
  int symbol;              /* number of the symbol or sum from which this extent follows, perhaps through other extents */
  const int64_t *at;       /* values of this extent, one for each size of the symbol, from its least size on */
  int64_t shared;          /* greatest common divisor of these values */
} Extent;
typedef VEC(Extent) Extents;
/* The elements of a value that a run needs: those that satisfy all n conditions. Element number i, in row-major order, satisfies
 * a Need if i / inner % extent < IR.extents[of]. n 0: all elements are needed; n NEED_NOTHING: none is. */
enum { NEEDED_MOST = 6, NEED_NOTHING = -1 };
typedef struct Need { int64_t inner, extent; int of; } Need;
typedef struct Needed { int n; Need is[NEEDED_MOST]; } Needed;

/* ---- buffers: memory that kernels access (filled in by schedule/) ---- */
typedef enum {
  BUF_INPUT, BUF_OUTPUT,   /* memory of the caller */
  BUF_WEIGHT, BUF_ARENA,   /* part of the blob of weights; an intermediate value in the arena */
  BUF_STATE, BUF_NEXT,     /* a state before a run, and after it */
  BUF_GUARD,               /* the output that Graph.guarded adds */
  BUF_LOCAL,               /* on the stack of a call; in a device program, one for each thread */
  BUF_SHARED,              /* device programs: one for each block, shared by its threads */
  BUF_KINDS
} BufKind;
extern const char *const buf_kind_name[BUF_KINDS];
/* the buffer is private to a kernel, so it is no parameter of the kernel's function */
static inline bool buf_is_own(BufKind k) { return k == BUF_LOCAL || k == BUF_SHARED; }
typedef struct Buf {
  BufKind kind;
  DType dt;
  int64_t elems;           /* extent of the memory, in elements */
  int64_t slot;            /* input or output number; tensor id of a weight; state number */
  int64_t offset;          /* bytes from the start of the arena, the blob of weights or the state; -1: not placed */
  int packed;              /* for a weight: 1 + row of WeightPlan.packed; 0: the tensor itself */
  int of;                  /* 1 + number of the buffer of kind ARENA in whose memory this one lies, as a slice or a carried value
                              of a loop; 0: this buffer has memory of its own */
  int64_t at, step;        /* if `of` is set. at: elements from that buffer's start to this one in iteration 0; step: elements by
                              which each further iteration moves it */
  Needed needed;           /* the elements that a run needs */
  int turn;                /* if `of` is set. 1, 2: the buffer alternates between two places `step` elements apart, and is at the
                              second one in odd (1) or even (2) iterations. 0: it does not alternate */
  int64_t piece;           /* in kernel groups, and kernels that strips.c joined: each task of a thread has so many bytes of the
                              memory for itself. A task is Kernel.chunks_per_task chunks. 0: all tasks share the memory */
  Ref value;               /* the graph node it holds, for --explain; 0: none */
} Buf;

/* The buffer is memory of the caller, and it is shorter in runs whose sizes are below the greatest ones. */
static inline bool buf_ends_early(const Buf *b) { return (b->kind == BUF_INPUT || b->kind == BUF_OUTPUT) && b->needed.n > 0; }

/* In a run, a value has as many entries along this axis as the extent says. The value's sources do not tell this number. */
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
  Extents extents;         /* extents in a run; none: all are constants */
  VEC(OpenAxis) opened;    /* extents of values that the front end knows */
  const int64_t *run;      /* the sizes, by symbol, of the run that interp_graph evaluates; NULL: the greatest ones */
  VEC(tgcrt_size) sizes;   /* numbers of iterations and the like that depend on a run's extents; kernels ask for them by row */
  uint32_t origin;         /* origin of nodes made from now on */
  Pos building;            /* node of the model that a front end is building; .node NULL: none */
  int64_t next_range;      /* number of the next range or accumulator */
  bool half_steps;         /* in sums of products of halves, the sum is rounded to a half after each product is added, as the
                              machine does it; the products are exact (half_sums.c) */
  bool in_loop;            /* a front end is building the body of a loop */
  int loops;               /* number of the next loop; at most GRAPH_LOOPS */
  unsigned short *loop_extent; /* by loop: 1 + the row of extents that says how many iterations a run makes. Further iterations
                                  change no carried value, and a run may omit them. 0: a run makes all iterations. NULL: 0 for all
                                  loops */
  int64_t branches;        /* number of the next branch */
  struct Decisions *decisions; /* decisions.h: decisions of the passes; NULL: not recorded */
  struct MemoryGoal *memory; /* cost/growth.h: whether passes may use more memory to gain speed; NULL: they may */
  const Pos *dump;         /* line of the dump that is being read: errors are then the user's, not bugs; NULL: no dump is read */
} IR;

IR *ir_new(Ctx *c);                /* lives in c->model; ir_free releases the tables */
void ir_free(IR *ir);
static inline const Node *node(const IR *ir, Ref r) { return &ir->chunk[r >> 12][r & 4095]; }

/* Accessors for arguments and operands, named as in ops.h: range_extent(x), pad_lo(x, axis), load_buffer(x), red_range(x, i).
 * If an operand such as load_gate(x) is absent, its accessor gives 0. With -DTGC_CHECK_ARGS a node of another op is a BUG. */
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

/* The functions below are for a node that may have one of several ops. Code that handles any op walks over src[i]. Other code
 * uses src[0] directly only if the possible ops name their first operand differently, or the op is not known yet. */
/* BUG if operand i has another name; name NULL: BUG unless x has lhs and rhs */
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
static inline Ref access_buffer(const Node *x) { return operand_named(x, 0, "buffer"); } /* LOAD STORE TILE PREFETCH */
static inline bool is_access(const Node *x) { return x->op == OP_LOAD || x->op == OP_TILE || x->op == OP_STORE; }
static inline Ref access_index(const Node *x) { return operand_named(x, 1, "index"); }
static inline Ref access_gate(const Node *x) { return x->op == OP_STORE ? store_gate(x) : load_gate(x); } /* 0: none */
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
/* r's op, type, arguments and shape with other sources; r itself if they are the same */
Ref node_with_src(IR *ir, Ref r, const Ref *src);
bool nodes_alike(const Node *x, const Node *y);               /* graph level: x and y have the same type and shape */
int64_t dims_elems(const int64_t *dims, int rank);            /* product; INT64_MAX on overflow */
bool node_is_const(const IR *ir, Ref r, int64_t *bits);       /* r is a CONST, or a view or BCAST of one; *bits gets its value */
bool node_widens(const IR *ir, const Node *x);                /* x is a CAST between integers that keeps every value */
bool node_is_exact(const IR *ir, const Node *x);              /* x is an ADD, SUB or MUL of integers that cannot wrap */
/* least and greatest value of an integer or bool type. False for floats and 64-bit types, which get the bounds of int64_t. */
bool dt_bounds(DType d, int64_t *lo, int64_t *hi);
/* bits as CONST keeps them: truncated, then sign- or zero-extended; a bool is 0 or 1 */
uint64_t dt_wrap(DType d, uint64_t bits);

/* ---- scalar constants, as bits in 64 bits: integers are sign- or zero-extended; a bool is 0 or 1; an f32 has its bits in the
 * low 32, an f16 or bf16 in the low 16 ---- */
Ref c_bits(IR *ir, DType d, int64_t bits);     /* rank 0 */
Ref c_int(IR *ir, DType d, int64_t v);         /* v converted to d, which may be a float type */
Ref c_float(IR *ir, DType d, double v);        /* v rounded to d; for an integer type, converted as CAST does */
double bits_to_double(DType d, int64_t bits);
int64_t double_to_bits(DType d, double v);     /* rounds as CAST does: integers saturate, NaN becomes 0, floats round to
                                                  nearest even */
int64_t reduce_identity(Op op, DType d);       /* the result of a REDUCE by op over no elements, as CONST bits */

/* ---- graph builders: wrong types and shapes are a BUG, so callers check user input first. Elementwise builders broadcast as
 * numpy does: missing leading axes and extents of 1 ---- */
Ref g_param(IR *ir, DType d, int rank, const int64_t *dims, int slot);
/* ir->tensors.p[tensor]. A tensor with one element or without data (a splat) becomes CONST + EXPAND */
Ref g_weight(IR *ir, int tensor);
int64_t tensor_bits(const Tensor *t, int64_t i); /* element i, as CONST keeps it */
static inline float data_f32(const void *data, int64_t i) { /* element i of floats at any address */
  float v;
  memcpy(&v, (const char *)data + i * (int64_t)sizeof v, sizeof v);
  return v;
}
int ir_tensor(IR *ir, const Tensor *t);        /* adds t to the table; keeps the data pointer, does not copy */
Ref g_iota(IR *ir, DType d, int64_t n);        /* [n]: 0, 1, ... n - 1 */
Ref g_unary(IR *ir, Op op, Ref x);
Ref g_cast(IR *ir, Ref x, DType d);
Ref g_binary(IR *ir, Op op, Ref a, Ref b);     /* operands of equal types; the result is broadcast; compares give BOOL */
Ref g_where(IR *ir, Ref c, Ref a, Ref b);
Ref g_reshape(IR *ir, Ref x, int rank, const int64_t *dims);
Ref g_expand(IR *ir, Ref x, int rank, const int64_t *dims);  /* broadcast_to of numpy: may add leading axes */
Ref g_permute(IR *ir, Ref x, const int64_t *perm); /* axis a of the result is axis perm[a] of x */
Ref g_shrink(IR *ir, Ref x, const int64_t *begin, const int64_t *step, const int64_t *dims); /* step NULL: all 1 */
Ref g_flip(IR *ir, Ref x, uint32_t axes);      /* SHRINK with steps of -1 */
/* Splits `axis` into out and k; k is a new last axis. Element (.., o, .., t) is x's element
 * (.., o * stride + t * dilation, ..), which must exist. */
Ref g_window(IR *ir, Ref x, int axis, int64_t out, int64_t k, int64_t stride, int64_t dilation);
/* amounts >= 0, by axis; fill: of rank 0 and x's type */
Ref g_pad(IR *ir, Ref x, const int64_t *lo, const int64_t *hi, Ref fill);
Ref g_cat(IR *ir, int n, const Ref *xs, int axis); /* all xs have the same type, and the same shape except along axis */
/* index: i64, with any extent on axis; on the other axes, x and index are broadcast to each other. Values of index are clamped to
 * positions on the axis of x, unless all are known to be such positions. */
Ref g_gather(IR *ir, Ref x, Ref index, int axis);
/* 1: all elements of index are known to lie in [0, extent); 0: not known; -1: one is known to lie outside, and *wrong gets it */
int g_index_fits(const IR *ir, Ref index, int64_t extent, int64_t *wrong);
/* Writes updates into x at index along axis, in order, joined by op (OP_NONE: replaces). Indices out of range write nothing.
 * Other axes of index and updates equal those of x or broadcast. Along axis, index and updates are equally long or broadcast. */
Ref g_scatter(IR *ir, Op op, Ref x, Ref index, Ref updates, int axis);
/* Goes through search trees (WALK). The elements of src are data, feature, split, next and start. data: a matrix of floats.
 * feature, split and next: an element for each position in the trees. start: an element for each tree */
Ref g_walk(IR *ir, const Ref src[5], int64_t steps);
const char *g_walk_refuses(const IR *ir, const Ref src[5], int64_t steps); /* why src cannot be walked; NULL: it can */
Ref g_reduce(IR *ir, Op op, Ref x, uint32_t axes); /* reduced axes stay, with extent 1 */

typedef VEC(Ref) Refs;
/* ---- loops (loops.c). A loop has a number, and runs at least once. All nodes that depend on a SLICE or a CARRIED with the
 * loop's number are its body, up to its ITERATE. A body has no loop inside. ---- */
enum { GRAPH_LOOPS = 250 }; /* most loops of a graph */
/* Ops of loops and branches place values in memory, row-major. Two of these ops gather such values, and have no memory of their
 * own. */
static inline bool op_is_gathering(Op op) { return op == OP_ITERATE || op == OP_BRANCH; }
static inline bool op_is_of_loops(Op op) {
  return op == OP_STORED || op == OP_SLICE || op == OP_CARRIED || op == OP_YIELD || op == OP_RESULT || op == OP_ARM ||
         op == OP_CHOSEN || op_is_gathering(op);
}
/* 1 + number of the loop whose iterations compute x; 0: none. A CARRIED gives 0: its kernel stores the first value, before the
 * loop */
static inline int body_of(const Node *x) { return x->op == OP_CARRIED ? 0 : x->loop; }
/* loop: number of the loop. place: number of a carried value in its loop. ops.h describes the ops */
Ref g_stored(IR *ir, Ref x);
Ref g_slice(IR *ir, int loop, Ref stored, int axis, bool reverse);
Ref g_carried(IR *ir, int loop, int place, Ref init);
/* x is the next value of the CARRIED with this loop and place */
Ref g_yield(IR *ir, int loop, int place, Ref x);
Ref g_yield_slice(IR *ir, int loop, Ref x, int axis, bool reverse, int64_t trips); /* x: a slice of a result, along a new axis */
/* The end of a loop with n yields. ends: 1 + number of a yield of a bool, or 0. Once this bool is false, further iterations
 * change nothing, and a run may omit them. */
Ref g_iterate(IR *ir, int loop, int64_t trips, int ends, int n, const Ref *yields);
/* Makes iterations after the end of a loop change nothing: each of the n yields keeps the carried value of its place. Returns
 * NULL, or why this is impossible */
const char *g_hold_yields(IR *ir, int ends, int n, Ref *yields);
Ref g_result(IR *ir, Ref iterate, int at); /* the result of yield number `at` */
/* The extent that says how many iterations of a loop a run has; -1: all of them */
static inline int loop_extent(const IR *ir, int64_t loop) { return ir->loop_extent ? ir->loop_extent[loop] - 1 : -1; }
/* g_live: a bool, true in the iterations that the run makes (loop_extent). is_live: r is such a bool. is_held: r is WHERE(live,
 * next, before), so further iterations leave the value as it was */
Ref g_live(IR *ir, int loop, int64_t trips);
bool is_live(const IR *ir, Ref r);
bool is_held(const IR *ir, Ref r);
const char *g_iterate_refuses(const IR *ir, Ref iterate); /* NULL: it ends a correct loop; otherwise why not */
/* Below the roots, replaces each loop of fewer than `least` iterations by copies of its body. True: there were such loops.
 * A loop that may end early stays if it has more than EARLY_COPIES iterations. Unless `least` is INT64_MAX, a loop stays, too,
 * if sizes of a run decide how many iterations it has (loop_extent). */
enum { EARLY_COPIES = 64 };
bool ir_unroll(IR *ir, Ref *roots, size_t n, int64_t least);
/* Moves the nodes of each body to the place before its ITERATE */
void order_bodies(const IR *ir, Refs *order);

/* ---- branches (branches.c). Each has a number. A side guards a node if all users of the node lead to arms of this side. A
 * branch inside of a loop guards no node that is computed before the loop. A run needs guarded nodes only if it takes their
 * side ---- */
/* A branch with n results. yes, no: the n values that each side gives */
Ref g_branch(IR *ir, Ref cond, int n, const Ref *yes, const Ref *no);
Ref g_arm(IR *ir, int64_t branch, int64_t at, Ref x); /* arm number `at` of the branch */
/* A branch of n arms: first the condition's arm, then those of all values of `yes`, then those of all values of `no` */
Ref branch_of_arms(IR *ir, int64_t branch, int n, const Ref *arms);
Ref g_chosen(IR *ir, Ref branch, int at); /* result number `at` */
static inline int branch_results(const Node *x) { return (x->nsrc - 1) / 2; }
const char *g_branch_refuses(const IR *ir, Ref branch); /* NULL: it is a correct branch; otherwise why not */
/* Replaces branches below the n roots by selections, except each branch r for which stays[r] is true (stays NULL: none stays).
 * Drops unused results */
void ir_select(IR *ir, Ref *roots, size_t n, const bool *stays);
typedef struct Guard { int in; Ref branch; bool yes; } Guard; /* a side of a branch; in: 1 + the guard around it; 0: none */
typedef struct Guards {
  VEC(Guard) list;
  int *of;                 /* by Ref: 1 + number of the node's innermost guard; 0: all runs need the node */
} Guards;
/* order: all nodes, sources first; roots: n nodes that all runs need */
Guards find_guards(const IR *ir, const Refs *order, const Ref *roots, size_t n);
void guards_free(Guards *g);
/* As body_of, but an arm belongs to the body of its branch, even if no iteration changes the arm's value */
int guarded_body(const IR *ir, const Guards *g, Ref r);
/* Moves guarded nodes to the place before their BRANCH, so that the nodes of a side follow each other */
void order_branches(const IR *ir, const Guards *g, Refs *order);
bool *sliced_buffers(const IR *ir); /* by buffer: whether another one lies in its memory (Buf.of). The caller frees the array */

/* ---- a graph: front ends make it, the bundle exposes its inputs and outputs ---- */
typedef struct GIO {
  Ref ref;
  const char *name;
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int narrow;              /* SmallType.onnx: each byte holds an element of that type. 0: none */
  unsigned short open[MAX_RANK]; /* by axis: 1 + its extent in IR.extents, which a run decides; 0: it is a constant */
  const char *formula[MAX_RANK]; /* by axis: the extent as a formula of a symbol, for people; NULL: symbol or constant */
  Needed is;               /* the elements of an output in a run. `open` may not tell them: an axis may be several joined axes, of
                              which one ends early. n 0: as `open` says */
} GIO;
static inline int64_t gio_bytes(const GIO *v) { return dims_elems(v->dims, v->rank) * dt_bytes(v->dt); }
/* A state: an output that the bundle keeps as an input of the next run. */
typedef struct GState {
  int axis;                /* -1: the output is the next input. Else the output is the input with `taken` elements appended
                              along this axis. The output's last elements, as many as the input has, are the next input. */
  int64_t taken, capacity; /* capacity: extent of the memory along axis */
  int64_t step, most;      /* elements by which the window moves at a time, and the most that a run appends. Both are `taken`,
                              unless entries share the window and append different numbers */
  int symbol;              /* 1 + number of the symbol whose size counts the elements. They lie at the start of the memory and do
                              not move. A run appends others behind them, at a place that depends on the size. 0: none */
  bool only_read;          /* this entry only reads the state: its output is its input. Another entry writes it */
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
  VEC(GIO) inputs;         /* inputs.p[i].ref is PARAM slot i; it may be unused */
  VEC(GIO) outputs;
  VEC(GState) states;      /* the last states.n inputs are the states, in order; so are the last outputs before the guard */
  bool grows;              /* the last state counts the elements appended to the windows, which are the states with axis >= 0 */
  bool guarded;            /* there is one more output, which the caller does not get: a bool, true if an index was out of range.
                              If a result may exceed its capacity, it is a u8: bit 0 is that bool, bit 1 says that a result did */
  VEC(GEntry) entries;     /* the graphs of which this one consists; its plan holds their kernels one entry after another. Empty:
                              the graph is its own only entry */
};
static inline size_t graph_nin(const Graph *g) { return g->inputs.n - g->states.n; }   /* inputs that the caller gives */
/* a result of the graph may have more rows than its capacity */
static inline bool graph_may_overflow(const Graph *g) { return g->guarded && g->outputs.p[g->outputs.n - 1].dt == DT_U8; }
/* outputs that the caller gets */
static inline size_t graph_nout(const Graph *g) { return g->outputs.n - g->states.n - g->guarded; }

/* Total order of nodes by structure (node_order.c): negative, 0 or positive as `a` stands before, equals or stands after `b`. The
 * order does not depend on when nodes were made. It depends on numbers of ranges, and of buffers, only by which of two is
 * greater. */
int node_order(const IR *ir, Ref a, Ref b);
int node_order_r(const void *a, const void *b, void *ir); /* for qsort_r over Refs */
/* Topological order: appends all nodes below roots to out, sources before users. The caller frees out with VEC_FREE. The
 * function does not recurse. If there is one root and its order is not long, the IR keeps this order: a later call with this root
 * copies it. */
void ir_toposort(const IR *ir, const Ref *roots, size_t n, Refs *out);

/* ---- index algebra (algebra.c): i64 scalar expressions of CONST, RANGE, ADD, SUB, MUL, FLDIV, FLMOD, MIN, MAX, comparisons,
 * AND, OR, NOT and WHERE, over exact integers. Constructors return canonical, simplified nodes. Sums are ADD chains of
 * coefficient*term, sorted by node_order, with the constant last. Bounds come from Node.vmin and vmax. After an overflow they are
 * unknown, never wrong ---- */
Ref range_new(IR *ir, int64_t extent, RangeKind kind);  /* a RANGE with a new number, also for extent 1 (node.c) */
Ref range_make(IR *ir, int64_t extent, RangeKind kind); /* the same; CONST 0 for extent 1 */
/* sizes.c. ir_set_symbols: sets the symbols of a model. extent_make: the row of an extent, added if absent. extent_in_run: the
 * extent's value in a run. size_number: the row of s in IR.sizes, added if absent; below, `number` is such a row. size_value: a
 * SIZE of this row. greatest_size: the row's greatest value in any run. size_in_run: its value in a run. run: sizes by symbol */
void ir_set_symbols(IR *ir, const Symbols *symbols);
int extent_make(IR *ir, Extent e);
int extent_product(IR *ir, int a, int b); /* the row of a product, for the shape of an output */
int extent_sum(IR *ir, int a, int b);     /* the row of a sum of extents of different symbols; -1: there are too many sums */
static inline bool extent_is_product(const Extent *e) { return e->by > 0; }
static inline int extent_other(const Extent *e) { return (e->by < 0 ? -e->by : e->by) - 1; } /* the row `by`; -1: none */
int64_t extent_in_run(const IR *ir, int extent, const int64_t *run);
static inline int64_t symbol_sizes(const Symbol *s) { return (s->high - s->low) / s->step + 1; } /* number of its sizes */
/* As extent_in_run, for rows without Extent.at; the first `symbols` rows are the symbols */
int64_t extent_of_formulas(const Extents *all, int symbols, int extent, const int64_t *run);
const char *extent_text(Ctx *c, const IR *ir, int extent); /* the extent as a formula of its symbol: "(n+1)/2" */
/* The bundle has a table of extents: the symbols, then the rows of IR.extents that sizes and outputs need. Returns for each row
 * of IR.extents its number in this table; 0: the table lacks it, or it is the first symbol. *count: rows after the symbols */
const int *extents_used(const IR *ir, const Graph *g, int *count);
/* Least and greatest value of the index r in a run. run: sizes by symbol; 0: this size may be any. iota: only so many first
 * elements of each IOTA below r count; 0: all count. False: not known */
bool index_in_run(const IR *ir, Ref r, const int64_t *run, int64_t iota, int64_t *least, int64_t *most);
bool extent_at_most(const IR *ir, int a, int b);     /* in every run a is at most b */
bool extent_is_constant(const IR *ir, int extent);   /* it has one value in all runs */
tgcrt_size size_all(int64_t times, int of);             /* the size that is `times` times the extent in row `of` */
int size_number(IR *ir, tgcrt_size s);
Ref size_value(IR *ir, int number);
int64_t greatest_size(const IR *ir, int number);
int64_t size_in_run(const IR *ir, int number, const int64_t *run);
bool size_is_allowed(const Symbol *s, int64_t size);
void greatest_sizes(const Symbols *s, int64_t *run);
/* Adds the condition `is`. False: this condition holds for all elements, the list has one for this axis, or the list is full */
bool needed_add(IR *ir, Needed *to, Need is);
void needed_only(IR *ir, Needed *to, Need is);       /* replaces the list's condition for this axis, or adds the new one */
/* The need of two users: for each axis that both limit, the weaker of the two conditions, if one is weaker in all runs */
Needed needed_both(const IR *ir, const Needed *a, const Needed *b);
bool needed_same(const Needed *a, const Needed *b);
static inline bool gio_is_open(const GIO *v) {
  for (int a = 0; a < v->rank; a++)
    if (v->open[a]) return true;
  return false;
}
/* A RANGE of this extent that may end earlier: at the value that row `number` of IR.sizes has in the run */
Ref range_limited(IR *ir, int64_t extent, int number, RangeKind kind);
Ref range_again(IR *ir, const Node *range); /* a RANGE with a new number, and the extent, kind and limit of this one */
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
bool ix_uses(const IR *ir, Ref a, Ref range);
bool ix_is_multiple(const IR *ir, Ref a, int64_t m); /* m > 0 is known to divide a */
/* replaces from[i] by to[i]; rebuilds by the constructors above, also inside nodes that are no indices */
Ref ix_subst(IR *ir, Ref a, int n, const Ref *from, const Ref *to);

/* ---- views (view.c): movement that only selects elements: not PAD, not CAT ---- */
bool op_is_movement(Op op);
Ref view_base(const IR *ir, Ref r);            /* the node below all views */
Ref view_over(IR *ir, Ref r, Ref base, Ref other); /* r rebuilt with `other` in place of `base`, which is reached from r by
                                                      first sources */
/* The element with indices idx of `view` is an element of its source. `at` receives the indices there, one per axis. */
void view_index(IR *ir, Ref view, const Ref *idx, Ref *at);

/* ---- text form (literal.c, print.c, scan.c, parse.c, parse_graph.c; grammar in docs/text-format.md). Reading a printed text
 * gives the same nodes in the same order ---- */
void ir_print_graph(const Graph *g, Sb *out);                 /* weights in the text */
/* Weights of more than a few elements go to blob, each aligned to 64 bytes. The text calls the file blobname. */
void ir_print_graph_blob(const Graph *g, Sb *out, Sb *blob, const char *blobname);
void ir_print_nodes(const IR *ir, const Ref *roots, size_t n, Sb *out); /* kernel level; roots are SINKs */
void ir_print_program(const IR *ir, const Ref *list, size_t n, Sb *out);
/* The line that ir_print_program prints for list[at], without its indent; empty if list[at] has no line of its own */
void ir_print_op(const IR *ir, const Ref *list, size_t n, size_t at, Sb *out);

typedef struct TextHooks { /* callbacks for references in a graph's text; NULL: such a reference is an error */
  void *arg;
  /* Returns bytes of the weight file that the text names. The file lies below the directory of the text. sha256: expected
   * digest, or NULL */
  Bytes (*blob)(Ctx *c, void *arg, Pos at, const char *file, int64_t offset, int64_t bytes, const char *sha256);
  /* Returns the extent of the dimension that the text names: axis number `axis` of a value of type dt. */
  int64_t (*dim)(Ctx *c, void *arg, Pos at, const char *name, int axis, DType dt);
} TextHooks;
Graph *ir_parse_graph(Ctx *c, const char *text, size_t n, const char *path); /* fails with EX_BADMODEL, line, column, caret */
Graph *ir_parse_graph_with(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
Ref ir_parse_kernel(IR *ir, const char *text, size_t n);      /* the SINK */
void ir_parse_program(IR *ir, const char *text, size_t n, Refs *out);

/* The same graph in a new IR that holds only the nodes below the outputs. Nodes are numbered in the order in which the graph's
 * text lists them, and origins in the order of Origin.index. So graphs with the same text get equal Refs. */
Graph *ir_compact(const Graph *g);

/* The type of a literal as source i of an op. NONE: no literal may stand there. RESULT: the result's type. PEER: the type of
 * another operand. */
typedef enum { LIT_NONE, LIT_BOOL, LIT_I64, LIT_RESULT, LIT_PEER } LiteralType;
LiteralType literal_type(Op op, int i);
void literal_put(Sb *out, DType d, int64_t bits);             /* shortest text that reads back to the same bits */
const char *literal_parse(DType d, const char *s, size_t n, int64_t *bits); /* NULL, or the error: "is out of range" */

/* ---- verifier (ir_verify.c): BUG with the node's position if a rule of ops.h is broken; in a dump, an error of the user ---- */
void ir_verify_graph(const Graph *g);
void ir_verify_graph_node(const Graph *g, Ref r);
void ir_verify_kernel(const IR *ir, Ref sink);
void ir_verify_nest(const IR *ir, Ref nest);
void ir_verify_program(const IR *ir, const Ref *list, size_t n);

/* ---- rewriting (rewrite.c): tables of rules, indexed by root op, applied bottom-up to a fixed point ---- */
typedef Ref (*RuleFn)(IR *ir, Ref r, void *arg); /* the replacement, or 0: the rule does not apply */
typedef struct Rule { Op op; const char *name; RuleFn fn; } Rule; /* op OP_NONE ends a table */
/* Rewrites the nodes below roots[]; roots[] gets the new Refs. BUG if rules are applied too often for the number of nodes.
 * hits[i] counts how often rule i was applied; hits may be NULL. Returns true if anything changed. */
bool ir_rewrite(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits);
bool ir_rewrite_graph(Graph *g, const Rule *rules, void *arg); /* all nodes below the outputs */
/* The same for rules that must not duplicate work. users maps each node to its number of uses before the rewriting. If a node is
 * absent from users, a rule made it, and only nodes that the rule made use it. */
struct RefMap;
bool ir_rewrite_users(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits, struct RefMap *users);
/* Fills `only`: it maps each node of `order` (sources first) to the node's only reader, or to 0 if the node has several readers
 * or is a root */
void ir_only_users(const IR *ir, const Refs *order, const Refs *roots, struct RefMap *only);
#endif

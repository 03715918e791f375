/* ir.h: the intermediate representation. One kind of node serves three levels (ops.h says which op
 * belongs where): graphs of tensors, kernels of scalar expressions over ranges, linear programs.
 *
 * Nodes are immutable and hash-consed: the same op, type, sources, arguments and shape give the
 * same Ref, so equality is Ref equality and shared work is found by construction. Every node keeps
 * the origin of the first request that made it, so that messages can name what the user wrote. */
#ifndef TGC_IR_H
#define TGC_IR_H
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

typedef enum { L_VALUE, L_EXPR, L_GRAPH, L_KERNEL, L_NEST, L_PROG } Level; /* L_NEST: of texts, not of ops */
enum { COMM = 1, ASSOC = 2, IDEM = 4, MOVE = 8 };
typedef enum { TAKES_ANY, TAKES_NUM, TAKES_INT, TAKES_BITS, TAKES_FLT } Takes;
/* What an op is priced as. ALU: one instruction of a register. DIV: a division, a reciprocal, a root. MOD: a remainder, a
 * quotient rounded down. FUNC: a function that lower/libm.c makes of arithmetic; LIBM: one that is left to the C library. MEM: a
 * load or a store. GATHER: a load from a place that data says. PAD: the comparisons and the select of a border. */
typedef enum { COST_NONE, COST_ALU, COST_DIV, COST_MOD, COST_FUNC, COST_LIBM, COST_MEM, COST_GATHER, COST_PAD } CostClass;
enum { ARITY_ANY = -1, ARITY_SOME = -2 }; /* S and V in ops.h */

typedef struct OpInfo {
  const char *name;   /* lower case: "add" */
  Level level;
  int arity;          /* number of sources, or ARITY_ANY, ARITY_SOME (at least one) */
  const char *type, *operands, *args, *gloss;
  int algebra;
  Takes takes;
  CostClass cost;
  const char *c, *libm; /* its infix operator in C, its function of math.h; NULL: there is none */
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
Op op_from_text(const char *s, size_t n);        /* OP_NONE if unknown */
bool op_by_lane(Op op);                          /* each lane of its result comes from that lane of its sources */
bool op_takes(Op op, DType d);                   /* an elementwise op is defined on operands of this type */

/* ---- nodes ---- */
typedef uint32_t Ref;      /* 0: none */
enum { MAX_RANK = 12, MAX_RANGES = 24 }; /* axes of a value; ranges of a nest */

typedef enum {             /* what becomes of a range; docs/ir.md */
  RK_LOOP, RK_REDUCE,      /* a loop: of a nest, of a reduction */
  RK_UNROLL, RK_PARTIAL,   /* copies: side by side, with accumulators of their own */
  RK_VEC,                  /* lanes */
  RK_THREAD,               /* a loop that threads share */
  RK_DOT, RK_ROW, RK_DEPTH, /* the group an instruction multiplies; rows of a matrix instruction's tile; its groups */
  RK_SERIAL,               /* a loop that keeps its order */
  RK_GRID, RK_LOCAL,       /* of device programs: blocks of a launch; threads of a block */
  RK_GROUP,                /* threads of a block that each hold a part of a reduction */
  RK_COUNT
} RangeKind;
extern const char *const range_kind_name[RK_COUNT];
/* its values are threads of a block; its values are blocks or threads, so its loop does not run by itself */
static inline bool range_is_thread(RangeKind k) { return k == RK_LOCAL || k == RK_GROUP; }
static inline bool range_is_place(RangeKind k) { return k == RK_GRID || range_is_thread(k); }

typedef struct Node {
  uint8_t op;              /* Op */
  uint8_t dt;              /* DType of an element */
  uint8_t rank;            /* graph level: number of dimensions */
  uint8_t flags;           /* free for the pass that runs; always 0 between passes */
  uint16_t lanes;          /* 1: scalar; program level only */
  uint16_t nsrc, narg;
  bool varies;             /* graph level: depends on a PARAM */
  uint32_t origin;         /* index of Origin */
  uint32_t newest_range;   /* 1 + the greatest number of a RANGE that it is made of; 0: it is made of none */
  const Ref *src;          /* interned */
  const int64_t *arg;      /* interned; meaning by OpInfo.args */
  const int64_t *dims;     /* graph level: shape, rank entries; interned; never NULL */
  int64_t vmin, vmax;      /* bounds of an integer or bool value; INT64_MIN/MAX: unknown */
} Node;

typedef struct Origin {    /* what the user wrote */
  const char *text;        /* "node 17 'conv1' (Conv, opset 11)" or "net.tg:12" */
  uint32_t index;          /* ordinal of the node or line, for sorting */
  bool is_line;            /* a line of text: printing does not repeat it */
} Origin;

/* ---- constant tensors: data is row-major, dense, little-endian, of any alignment; owned by whoever mapped it ---- */
typedef struct Tensor {
  DType dt;
  int rank;
  int64_t dims[MAX_RANK];
  int64_t elems;
  const void *data;        /* NULL: all elements equal splat */
  int64_t splat;           /* bits as in CONST, when data is NULL */
  const char *name;        /* as the model has it; may be NULL */
  int narrow;              /* of an ONNX model: its own type, whose values dt holds; 0: dt is its type */
} Tensor;

/* ---- buffers: memory that kernels name (filled in by schedule/) ---- */
typedef enum {
  BUF_INPUT, BUF_OUTPUT,   /* the caller's */
  BUF_WEIGHT, BUF_ARENA,   /* of the weights blob; an intermediate value */
  BUF_STATE, BUF_NEXT,     /* a state as a run finds it, and as it leaves it */
  BUF_GUARD,               /* the output of Graph.guarded */
  BUF_LOCAL,               /* on the stack of a call; of a device program, one for each thread */
  BUF_SHARED,              /* of device programs: one for each block, which its threads share */
  BUF_KINDS
} BufKind;
extern const char *const buf_kind_name[BUF_KINDS];
static inline bool buf_is_own(BufKind k) { return k == BUF_LOCAL || k == BUF_SHARED; } /* a kernel's own: no parameter */
typedef struct Buf {
  BufKind kind;
  DType dt;
  int64_t elems;           /* extent of the memory, in elements */
  int64_t slot;            /* input or output number; tensor id of a weight; state number */
  int64_t offset;          /* bytes from the start of the arena, the weights blob or the state; -1: not placed */
  int packed;              /* of a weight: 1 + row of WeightPlan.packed; 0: the tensor as it is */
  int64_t piece;           /* bytes that one share of a group's chunks uses (group/group.c); 0: it is one for all */
  Ref value;               /* the graph node it holds, for --explain; 0: none */
} Buf;

typedef struct IR {
  Ctx *ctx;
  Node **chunk;            /* nodes, 4096 to a chunk, so that Node * stays valid */
  uint32_t n;              /* Refs are 1 .. n-1 */
  struct IRTables *tables; /* hash tables of nodes, lists and origins */
  VEC(Tensor) tensors;
  VEC(Buf) bufs;
  VEC(Origin) origins;
  uint32_t origin;         /* given to nodes made from now on */
  Pos building;            /* node of the model that a front end builds now; .node NULL: none */
  int64_t next_range;      /* numbers ranges and accumulators */
  struct Decisions *decisions; /* decisions.h: of the passes that run; NULL: nobody keeps them */
  const Pos *dump;         /* nodes come from this line of a dump, whose fault it is what is wrong; NULL: from tgc */
} IR;

IR *ir_new(Ctx *c);                /* lives in c->model; ir_free releases tables */
void ir_free(IR *ir);
static inline const Node *node(const IR *ir, Ref r) { return &ir->chunk[r >> 12][r & 4095]; }

/* Arguments and operands by the names of ops.h: range_extent(x), pad_lo(x, axis), load_buffer(x), red_range(x, i). An operand
 * that is absent is 0: load_gate(x). With -DTGC_CHECK_ARGS a node of another op is a BUG. */
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

/* Operands of nodes that may be of several ops. Code that takes any op walks over src[i]. Only where a node may be of ops whose
 * first operands have different names, or where its op is not known yet, that operand is src[0]. */
void check_operand(const Node *x, int i, const char *name); /* a BUG where operand i has another name; NULL: lhs and rhs */
static inline Ref operand_named(const Node *x, int i, const char *name) {
#ifdef TGC_CHECK_ARGS
  check_operand(x, i, name);
#endif
  (void)name;
  return x->src[i];
}
static inline Ref operand(const Node *x) { return operand_named(x, 0, "data"); } /* the only one, or the one named data */
static inline Ref lhs(const Node *x) { return operand_named(x, 0, NULL); } /* of an op of two operands without names */
static inline Ref rhs(const Node *x) { return operand_named(x, 1, NULL); }
static inline Ref access_buffer(const Node *x) { return operand_named(x, 0, "buffer"); } /* LOAD STORE TILE PREFETCH */
static inline bool is_access(const Node *x) { return x->op == OP_LOAD || x->op == OP_TILE || x->op == OP_STORE; }
static inline Ref access_index(const Node *x) { return operand_named(x, 1, "index"); }
static inline Ref access_gate(const Node *x) { return x->op == OP_STORE ? store_gate(x) : load_gate(x); } /* 0: none */
static inline Ref variable_of(const Node *x) { return operand_named(x, 0, "acc"); } /* SET GET */

uint32_t ir_origin(IR *ir, const char *text, uint32_t index); /* adds; set ir->origin to it */
/* What a pass gave is not what it promises: a bug, or where passes went on from a dump, what was changed in that */
_Noreturn void ir_wrong(const IR *ir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
Pos ir_pos(const IR *ir, Ref r);   /* position for messages about r */

/* The one constructor. src, arg and dims are copied. The type and, at graph level, the shape are
 * the caller's; node_make checks nothing (ir_verify.c does), folds nothing, computes bounds. */
Ref node_make(IR *ir, Op op, DType dt, int lanes, int nsrc, const Ref *src, int narg, const int64_t *arg,
              int rank, const int64_t *dims);
/* r's op, type, arguments and shape over other sources; r itself when they are the same */
Ref node_with_src(IR *ir, Ref r, const Ref *src);
int64_t dims_elems(const int64_t *dims, int rank);            /* product; fails never: INT64_MAX on overflow */
bool node_is_const(const IR *ir, Ref r, int64_t *bits);       /* CONST, or a view of one */
bool node_widens(const IR *ir, const Node *x);                /* a CAST between integers that loses nothing */
bool node_is_exact(const IR *ir, const Node *x);              /* an ADD, SUB or MUL of integers that is known not to wrap */
/* the least and the greatest value of integers or bools; false: floats and 64 bits, which get those of int64_t */
bool dt_bounds(DType d, int64_t *lo, int64_t *hi);
uint64_t dt_wrap(DType d, uint64_t bits);                     /* truncated and sign-extended to the type, as CONST keeps it */

/* ---- scalar constants. Bits: integers sign- or zero-extended; bool 0/1; f64 and f32 as their own
 * bits (f32 in the low 32); f16, bf16 in the low 16 ---- */
Ref c_bits(IR *ir, DType d, int64_t bits);     /* rank 0 */
Ref c_int(IR *ir, DType d, int64_t v);         /* v converted to d, also when d is a float */
Ref c_float(IR *ir, DType d, double v);        /* rounded to d; integers by CAST's rule */
double bits_to_double(DType d, int64_t bits);
int64_t double_to_bits(DType d, double v);     /* CAST's rule: saturate, NaN to 0; floats to nearest even */
int64_t reduce_identity(Op op, DType d);       /* what REDUCE by op gives of no elements, in CONST bits */

/* ---- graph builders: check types and shapes with BUG, so callers validate user input first.
 * Elementwise builders broadcast numpy-style: missing leading axes and extents of 1 ---- */
Ref g_param(IR *ir, DType d, int rank, const int64_t *dims, int slot);
Ref g_weight(IR *ir, int tensor);              /* ir->tensors.p[tensor]; a rank-0 or splat tensor becomes CONST + EXPAND */
int64_t tensor_bits(const Tensor *t, int64_t i); /* element i, as CONST keeps it */
static inline float data_f32(const void *data, int64_t i) { /* element i of floats at any address */
  float v;
  memcpy(&v, (const char *)data + i * (int64_t)sizeof v, sizeof v);
  return v;
}
int ir_tensor(IR *ir, const Tensor *t);        /* adds to the table; the data pointer is kept, not copied */
Ref g_iota(IR *ir, DType d, int64_t n);        /* [n]: 0, 1, ... n - 1 */
Ref g_unary(IR *ir, Op op, Ref x);
Ref g_cast(IR *ir, Ref x, DType d);
Ref g_binary(IR *ir, Op op, Ref a, Ref b);     /* same types; result broadcast; compares give BOOL */
Ref g_where(IR *ir, Ref c, Ref a, Ref b);
Ref g_reshape(IR *ir, Ref x, int rank, const int64_t *dims);
Ref g_expand(IR *ir, Ref x, int rank, const int64_t *dims);  /* numpy broadcast_to: may add leading axes */
Ref g_permute(IR *ir, Ref x, const int64_t *perm); /* axis a of the result is axis perm[a] of x */
Ref g_shrink(IR *ir, Ref x, const int64_t *begin, const int64_t *step, const int64_t *dims); /* step NULL: all 1 */
Ref g_flip(IR *ir, Ref x, uint32_t axes);      /* SHRINK with steps of -1 */
/* axis gets the extent out, and behind all axes comes one of k: element (.., o, .., t) is x's element (.., o * stride +
 * t * dilation, ..), which must be there */
Ref g_window(IR *ir, Ref x, int axis, int64_t out, int64_t k, int64_t stride, int64_t dilation);
Ref g_pad(IR *ir, Ref x, const int64_t *lo, const int64_t *hi, Ref fill); /* amounts >= 0, by axis; fill: rank 0, of x's type */
Ref g_cat(IR *ir, int n, const Ref *xs, int axis); /* of one type, and of one shape but for the axis */
/* index: i64, any extent on axis; other axes equal or broadcast. Clamped into range unless it is known to fit */
Ref g_gather(IR *ir, Ref x, Ref index, int axis);
/* 1: all elements of index are known to lie in [0, extent); 0: not known; -1: *wrong is one that does not */
int g_index_fits(const IR *ir, Ref index, int64_t extent, int64_t *wrong);
/* x with updates at index on axis, joined by op (OP_NONE: in place of what is there), in order along axis; those whose index
 * is out of range are left out. Other axes of index and updates equal or broadcast to x's, and to each other on axis */
Ref g_scatter(IR *ir, Op op, Ref x, Ref index, Ref updates, int axis);
Ref g_reduce(IR *ir, Op op, Ref x, uint32_t axes); /* keeps the axes with extent 1 */

/* ---- a graph: what the front ends make and the bundle exposes ---- */
typedef struct GIO { Ref ref; const char *name; DType dt; int rank; int64_t dims[MAX_RANK]; } GIO;
/* A pair of an input and an output that is kept from one run to the next, in memory of the bundle. */
typedef struct GState {
  int axis;                /* along it the output is the input with `taken` elements appended, and the last of them
                              are the next input; -1: the output is the next input */
  int64_t taken, capacity; /* capacity: extent of the memory along axis */
  const Tensor *init;      /* first input; NULL: zeros */
} GState;
typedef struct Graph {
  IR *ir;
  const char *name;
  VEC(GIO) inputs;         /* inputs.p[i].ref is PARAM slot i (possibly unused) */
  VEC(GIO) outputs;
  VEC(GState) states;      /* the last states.n inputs and outputs are their pairs, in order */
  bool grows;              /* the last of them counts how much of the windows has been appended */
  bool guarded;            /* one output more, a bool that the caller does not get: an index was out of range */
} Graph;
static inline size_t graph_nin(const Graph *g) { return g->inputs.n - g->states.n; }   /* those the caller gives */
static inline size_t graph_nout(const Graph *g) { return g->outputs.n - g->states.n - g->guarded; } /* those the caller gets */

/* Adds to out every node that roots reach, sources before users; the caller frees with VEC_FREE. Iterative. Below one root it is
 * an analysis that the IR keeps: nodes never change, so an order never has to be taken back, and asking again is a copy. */
typedef VEC(Ref) Refs;
/* The order of nodes by structure (node_order.c): below, at or above 0 as a comes before, is or comes after b. Total, and the
 * same whatever was made first. Range numbers and buffer numbers count only against each other. */
int node_order(const IR *ir, Ref a, Ref b);
int node_order_r(const void *a, const void *b, void *ir); /* the same for qsort_r over Refs */
void ir_toposort(const IR *ir, const Ref *roots, size_t n, Refs *out);

/* ---- index algebra (algebra.c): i64 scalar expressions of CONST RANGE ADD SUB MUL FLDIV FLMOD MIN
 * MAX compares AND OR NOT WHERE over exact integers. Constructors return canonical, simplified nodes:
 * sums are ADD chains of coefficient*term sorted by node_order with the constant last. Bounds come from
 * Node.vmin/vmax; an overflow makes them unknown, never wrong ---- */
Ref range_new(IR *ir, int64_t extent, RangeKind kind);  /* a RANGE of a number of its own, also of one value (node.c) */
Ref range_make(IR *ir, int64_t extent, RangeKind kind); /* the same; CONST 0 when the extent is 1 */
Ref ix_const(IR *ir, int64_t v);
Ref ix_add(IR *ir, Ref a, Ref b);
Ref ix_sub(IR *ir, Ref a, Ref b);
Ref ix_mul(IR *ir, Ref a, int64_t k);
Ref ix_div(IR *ir, Ref a, int64_t k);          /* floor; k > 0 */
Ref ix_mod(IR *ir, Ref a, int64_t k);          /* floor; k > 0 */
Ref ix_lt(IR *ir, Ref a, Ref b);               /* bool; folded when bounds decide */
Ref ix_and(IR *ir, Ref a, Ref b);              /* bools; Ref 0 stands for true on both sides and in the result */
Ref ix_in(IR *ir, Ref a, int64_t lo, int64_t hi); /* lo <= a < hi, or 0 when bounds prove it */
/* a = rest + coef * range with rest free of range: true. Otherwise false. */
bool ix_split(IR *ir, Ref a, Ref range, int64_t *coef, Ref *rest);
bool ix_uses(const IR *ir, Ref a, Ref range);
bool ix_is_multiple(const IR *ir, Ref a, int64_t m); /* true where m > 0 is sure to divide a */
/* rebuilds through the constructors above (also inside non-index nodes) with from replaced by to */
Ref ix_subst(IR *ir, Ref a, int n, const Ref *from, const Ref *to);

/* ---- views (view.c): movement that only picks elements: not PAD, not CAT ---- */
bool op_is_movement(Op op);
Ref view_base(const IR *ir, Ref r);            /* below all views */
Ref view_over(IR *ir, Ref r, Ref base, Ref other); /* r again, with other in place of base, a first source of a first source */
/* at: the element of view's source, one index per axis, that is element idx of view */
void view_index(IR *ir, Ref view, const Ref *idx, Ref *at);

/* ---- text form (literal.c, print.c, scan.c, parse.c, parse_graph.c; docs/text-format.md gives the grammar). Reading back
 * what was printed gives the same nodes in the same order ---- */
void ir_print_graph(const Graph *g, Sb *out);                 /* weights in the text */
/* weights of more than a few elements go to blob, each 64-byte aligned, which the text names blobname */
void ir_print_graph_blob(const Graph *g, Sb *out, Sb *blob, const char *blobname);
void ir_print_nodes(const IR *ir, const Ref *roots, size_t n, Sb *out); /* kernel level: roots are SINKs */
void ir_print_program(const IR *ir, const Ref *list, size_t n, Sb *out);

typedef struct TextHooks { /* what a graph's text may ask of its reader; each may be NULL: refused */
  void *arg;
  /* bytes of the weight file the text names, beneath the text's own directory; sha256: expected digest or NULL */
  Bytes (*blob)(Ctx *c, void *arg, Pos at, const char *file, int64_t offset, int64_t bytes, const char *sha256);
  int64_t (*dim)(Ctx *c, void *arg, Pos at, const char *name); /* value of a symbolic dimension */
} TextHooks;
Graph *ir_parse_graph(Ctx *c, const char *text, size_t n, const char *path); /* fails with EX_BADMODEL, line, column, caret */
Graph *ir_parse_graph_with(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
Ref ir_parse_kernel(IR *ir, const char *text, size_t n);      /* the SINK */
void ir_parse_program(IR *ir, const char *text, size_t n, Refs *out);

/* The same graph in a new IR that holds what the outputs reach, numbered in the order in which its
 * text would be read, with origins by ordinal: graphs that print alike become equal Ref for Ref. */
Graph *ir_compact(const Graph *g);

/* Where a literal may stand for source i of an op, and what it takes its type from */
typedef enum { LIT_NONE, LIT_BOOL, LIT_I64, LIT_RESULT, LIT_PEER } LiteralType;
LiteralType literal_type(Op op, int i);
void literal_put(Sb *out, DType d, int64_t bits);             /* shortest text that reads back bit for bit */
const char *literal_parse(DType d, const char *s, size_t n, int64_t *bits); /* NULL, or what is wrong: "is out of range" */

/* ---- verifier (ir_verify.c): BUG with the node's position when a rule of ops.h is broken; of a dump, an error ---- */
void ir_verify_graph(const Graph *g);
void ir_verify_graph_node(const Graph *g, Ref r);
void ir_verify_kernel(const IR *ir, Ref sink);
void ir_verify_nest(const IR *ir, Ref nest);
void ir_verify_program(const IR *ir, const Ref *list, size_t n);

/* ---- rewriting (rewrite.c): tables of rules indexed by root op, bottom-up to a fixed point ---- */
typedef Ref (*RuleFn)(IR *ir, Ref r, void *arg); /* the replacement, or 0: does not apply */
typedef struct Rule { Op op; const char *name; RuleFn fn; } Rule; /* op OP_NONE ends a table */
/* Replaces inside what roots[] reach, in place; stops with BUG after a step budget linear in the
 * size. hits[i] (may be NULL) counts rule i. Returns true when anything changed. */
bool ir_rewrite(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits);
bool ir_rewrite_graph(Graph *g, const Rule *rules, void *arg); /* what all outputs reach */
/* The same for rules that must not copy work: users maps each node that rules see to the number of its
 * uses before the rewriting began; absent: made by a rule, so used by what the rule made. */
struct RefMap;
bool ir_rewrite_users(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits, struct RefMap *users);
/* only: each node of order (users after what they use) to the one node that reads it, once; 0: there are more, or it is a root */
void ir_only_users(const IR *ir, const Refs *order, const Refs *roots, struct RefMap *only);
#endif

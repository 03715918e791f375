/* build.h: what the builders of operators share. A builder turns one node whose inputs are graph
 * nodes into graph nodes; the driver (builder.c) has looked up its row of optable.h, checked the
 * number and types of its inputs and read its attributes, so a builder checks shapes and values. */
#ifndef TGC_ONNX_BUILD_H
#define TGC_ONNX_BUILD_H
#include "../wire/onnx.h"
#include <string.h>

enum {
  ANY = 1 << 30,      /* any number of inputs or outputs */
  SOME = ANY - 1,     /* the same of inputs, some of them left out */
  USER_RANK = 8,      /* largest rank of a value of the model; builders need some axes of their own */
  MAX_ATTRS = 24,     /* attributes of one operator */
  FOLD_ELEMS = 4096   /* integer constants up to this size are evaluated as soon as they are built */
};
#define MAX_ELEMS ((int64_t)1 << 40) /* largest tensor, and largest single extent or padding */

typedef struct Build Build;
typedef void (*BuildFn)(Build *b);

/* One form of one operator, valid in opsets since..until of its domain.
 * types: one letter per input, the last one repeated: f float, i integer, u u8, n number, b bool,
 *   a any type; ^ the type of the input before; = that of the first input; w float that is computed in
 *   f32 when narrower: the builder sees f32 and results are rounded once; s sequence, q any, a sequence or an optional
 * attrs: words name:kind with kind i int, f float, s string, t tensor, g graph, y type, I F S lists; then
 *   a range >=N (of an int, or of each int of a list) or {A|B} (of a string); then ! required or
 *   =default */
typedef struct OpRow {
  const char *domain, *name;
  int since, until;
  int in_min, in_max, out_min, out_max;
  const char *types, *attrs;
  BuildFn build;      /* of an old form: an adapter, which ends in build_newest */
  int64_t arg;        /* what the builder makes of it: mostly the Op */
} OpRow;

/* All of them, from onnx.c */
typedef struct OpTable {
  const OpRow *rows;         /* by name; forms of one operator from the oldest to the newest */
  size_t n;
  const OpForm *refused;     /* those of the standard that have no row */
  size_t nrefused;
  const BuildFn *moves;      /* these change no value, so they take any type; NULL ends the list */
  const BuildFn *take_narrow; /* these know the types of small_types.c; NULL ends the list */
} OpTable;

typedef struct AttrVal {
  const char *name;   /* word of the row's attrs, up to the colon */
  size_t len;
  char kind;
  bool set;           /* given by the node or by a default */
  size_t n;           /* of a list */
  int64_t i;
  double f;
  const char *s;
  const int64_t *ints;
  const float *floats;
  const Tensor *tensor;
  const OnnxGraph *graph;
  const Bytes *strings;
} AttrVal;

/* Attributes for apply_op */
static inline AttrVal int_attr(const char *name, int64_t v) {
  return (AttrVal){ .name = name, .len = strlen(name), .kind = 'i', .set = true, .i = v };
}
static inline AttrVal float_attr(const char *name, double v) {
  return (AttrVal){ .name = name, .len = strlen(name), .kind = 'f', .set = true, .f = v };
}
static inline AttrVal string_attr(const char *name, const char *v) {
  return (AttrVal){ .name = name, .len = strlen(name), .kind = 's', .set = true, .s = v };
}

/* A sequence: its tensors, the first n of items, which lists that begin alike share. It goes from builder to builder as a
 * Ref that no node has. An optional is what it has, or else a list of NOTHING. */
enum { NOTHING = -1 };
typedef struct Items { Ref *p; int64_t n; } Items;
typedef struct List { Items *items; int64_t n; } List;
typedef struct Lists { List *p; size_t n; } Lists;
typedef struct Notes { Ref *p; size_t n; } Notes;

/* Results of --capacity: which of their entries are there, and how many */
typedef struct Count { const char *name; Ref there, count; } Count; /* there: bool[most]; count: i64, rank 0 */
typedef struct Ragged {
  int64_t most;         /* entries of such a result; 0: the option is not given */
  int64_t wanted;       /* entries that outputs have: the option's number, which is 1 where most is 2 */
  Count *counts;
  size_t n;
  uint8_t *axis;        /* of each Ref below known: ragged.c */
  Ref known, room;      /* room: for so many */
} Ragged;
#define LIST_TAG 0x80000000u /* of the place among Build.lists */
static inline bool is_list(Ref r) { return r & LIST_TAG; }

struct Build {
  Ctx *c;
  const OpTable *ops;
  IR *ir;
  OnnxModel *m;
  const OnnxNode *n;
  const OpRow *row;
  Pos at;             /* of the node */
  int nin, nout;
  Ref *in;            /* 0: omitted; adapters may append, up to the newest form's in_max */
  Ref *out;           /* the builder's results; 0 where nobody asked */
  AttrVal attr[MAX_ATTRS];
  int nattr;
  int *narrow;        /* of each OnnxId: its type where that is one of small_types.c; else 0 */
  int result_narrow;  /* the same of the builder's first result */
  Ref *value;         /* of each OnnxId; 0: not built yet. Of what a body defines: in the copy under way */
  int64_t *unrolled;  /* nodes that copies became so far: those of bodies, and those of the graph below made_from */
  Ref made_from;      /* first node of the graph that the current node of the main graph made */
  size_t bytes_from;  /* what the model's arena had handed out then */
  Lists *lists;
  Ragged *ragged;
  Notes *wrong;       /* bools, rank 0: an index of this place is out of range; NULL: nobody asks */
  bool doubtful;      /* in a copy of a body that may be behind the end of its loop: known indices may be out of range */
};

static inline int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* results.c: an array of n elements in the model's arena with room for one more: doubled when n is a power of two */
void *grown(Build *b, void *p, size_t n, size_t size);

#define bad(b, ...) fail_at((b)->c, EX_BADMODEL, (b)->at, __VA_ARGS__)

/* ---- builder.c: one node after the other ---- */
Graph *build_graph(Ctx *c, const OpTable *ops, OnnxModel *m, const LoadOptions *o);
void become(Build *b, const char *op);          /* the row of op's newest form, attributes of the same names kept */
void build_newest(Build *b);                    /* the same of the node's own operator, and builds it */
/* What operator op of ONNX makes of nin inputs; n attributes it is given, the others have their defaults */
Ref apply_op(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs);
void apply_op_outs(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs, int nout, Ref *out);
/* A copy of body g on the values in: its nodes are built, its results go to out */
void build_body(Build *b, const OnnxGraph *g, const Ref *in, Ref *out);
/* Counts n nodes of copies, beside all nodes that the graph got; fails over the limit --max-unroll. A builder that repeats
 * itself by a number of the model calls it before it allocates anything for its copies, and again in each copy. */
void spend(Build *b, int64_t n);
bool unrolled_too_far(const Build *b);

/* ---- args.c ---- */
static inline bool word_is(const char *p, size_t len, const char *word) { return strlen(word) == len && !memcmp(p, word, len); }
bool attr_set(const Build *b, const char *name);
int64_t attr_int(const Build *b, const char *name); /* 0 when not set */
double attr_float(const Build *b, const char *name);
bool attr_is(const Build *b, const char *name, const char *value);
const int64_t *attr_ints(const Build *b, const char *name, int *n); /* NULL: absent */
AttrVal *attr_find(Build *b, const char *name);
void set_string(Build *b, const char *name, const char *value); /* of an attribute that is a string */
static inline const Node *in_node(const Build *b, int k) { return node(b->ir, b->in[k]); }
static inline DType in_dt(const Build *b, int k) { return (DType)in_node(b, k)->dt; }
static inline bool has_in(const Build *b, int k) { return k >= 0 && k < b->nin && b->in[k]; }

int in_narrow(const Build *b, int k);           /* the narrow type of input k, or 0 */
Ref scalar_in(Build *b, int k);                 /* input k, of one element, without its axes */

/* Values that must be known now. name is the input's in the operator's documentation. */
bool const_tensor(Build *b, Ref r, Tensor *t);  /* false: depends on an input of the graph */
const int64_t *const_ints(Build *b, int k, const char *name, int *n);
const double *const_floats(Build *b, int k, const char *name, int *n);
const char *input_behind(const Build *b, Ref r); /* an input of the graph that r, which is not known, depends on */
int64_t tensor_int(const Tensor *t, int64_t i);
double tensor_float(const Tensor *t, int64_t i);
int axis_of(Build *b, int64_t axis, int rank);  /* negative ones counted from the end */
uint32_t axes_of(Build *b, const int64_t *axes, int n, int rank); /* a mask; repeated axes are refused */

/* ---- results.c ---- */
void check_dims(Build *b, int rank, const int64_t *dims); /* fails when over USER_RANK or MAX_ELEMS */
char *dims_text(Build *b, const int64_t *dims, int rank); /* [2,3], for messages */
int64_t elems_mul(Build *b, int64_t x, int64_t y); /* x * y, which are not negative; fails when over MAX_ELEMS */
Ref to_shape(Build *b, Ref x, int rank, const int64_t *dims); /* checked broadcast_to */
void check_broadcast(Build *b, int n, const Ref *xs); /* fails when the shapes do not fit */
Ref ints_ref(Build *b, int n, const int64_t *v); /* constant i64[n] */
Ref tensor_ref(Build *b, DType d, int rank, const int64_t *dims, const void *data); /* data is copied */
Ref floats_ref(Build *b, DType d, int rank, const int64_t *dims, const double *v);
Ref type_limit(IR *ir, DType d, bool high);     /* +-inf, or the greatest or least integer */
Ref without_axes(IR *ir, Ref x, uint32_t axes); /* drops axes of extent 1 */
Ref bitcast(Build *b, Ref x, DType d);          /* of the same width */
Ref clamp_index(Build *b, Ref index, int64_t extent); /* i64, into 0 to extent - 1; extent > 0 */
DType acc_type(DType d);                        /* what sums of d are kept in: f32 for f16 and bf16 */
static inline Ref num(Build *b, Ref like, double v) { return c_float(b->ir, (DType)node(b->ir, like)->dt, v); }
static inline Ref add(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_ADD, x, y); }
static inline Ref integer(Build *b, int64_t v) { return c_int(b->ir, DT_I64, v); }
static inline Ref both(Build *b, Ref x, Ref y) { return x && y ? g_binary(b->ir, OP_AND, x, y) : x ? x : y; } /* bools; 0: true */
static inline Ref sub(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_SUB, x, y); }
static inline Ref mul(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_MUL, x, y); }
static inline Ref plus(Build *b, Ref x, double v) { return add(b, x, num(b, x, v)); }
static inline Ref times(Build *b, Ref x, double v) { return mul(b, x, num(b, x, v)); }
static inline Ref at_least(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MAX, x, num(b, x, v)); }
static inline Ref at_most(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MIN, x, num(b, x, v)); }
static inline Ref clamped(Build *b, Ref x, double lo, double hi) { return at_most(b, at_least(b, x, lo), hi); }
static inline Ref widen(Build *b, Ref x) { return g_cast(b->ir, x, acc_type((DType)node(b->ir, x)->dt)); }

/* ---- small_types.c: x as a value of type t, in the type that keeps it. saturate: what is too large becomes the greatest ---- */
Ref narrowed(Build *b, const Narrow *t, Ref x, bool saturate);
Ref narrow_range(Build *b, const Narrow *t, Ref x); /* x, at most the greatest and at least the least of t, an integer type */

/* ---- move_ops.c: pieces other builders use ---- */
/* axis of x gets the elements index[0..n), all in range: a view where the indices allow one */
Ref take(Build *b, Ref x, int axis, const int64_t *index, int64_t n);
Ref cat_all(Build *b, int64_t n, Ref *xs, int axis); /* any number above 0; xs is written to */
Ref shrink_axis(IR *ir, Ref x, int axis, int64_t begin, int64_t step, int64_t n);
Ref repeat_axis(IR *ir, Ref x, int axis, int64_t times, bool inner); /* each element in place (inner), or the axis as a whole */
Ref pad_axes(IR *ir, Ref x, int first, int n, const int64_t *lo, const int64_t *hi, Ref fill);
Ref moved_channels(Build *b, Ref x, bool to_front); /* the last axis becomes axis 1, or that the last one */
Ref iota_axis(IR *ir, DType d, int64_t n, int axis, int rank); /* 0, 1, ... along one of rank axes */

/* ---- gather_ops.c ---- */
Ref wrap_index(Build *b, Ref index, int64_t extent); /* i64, negative ones counted from the end; ones out of range are noted */
/* old, but where at (i64) is 0 to n - 1 along the axis, the entry at of the n > 0 there in rows. old may be a scalar. */
Ref write_rows(Build *b, Ref old, Ref rows, Ref at, int axis);
size_t wrong_noted(const Build *b);             /* how many notes there are */
void wrong_only_if(Build *b, size_t from, size_t to, Ref cond, bool value); /* these notes count where the condition is value */

/* ---- capacity_ops.c: the same of data, with as many rows as the capacity says ---- */
int64_t need_capacity(const Build *b);          /* what --capacity says; fails where it is not given */
void nonzero_of_data(Build *b);
void compress_by_data(Build *b, Ref from, int axis);

/* ---- ragged.c ---- */
void add_count(Build *b, Ref there, Ref count); /* of the node's first result */
/* fails where the extent of an axis in from..to-1 depends on data */
void check_counts(Build *b, Ref r, int64_t from, int64_t to);
bool has_ragged(Build *b, Ref r);               /* some of its entries may not be there */
/* r with as many entries as the option says; fails where entries that are not there are in others of r */
Ref checked_ragged(Build *b, Ref r);

/* ---- reduce_ops.c ---- */
Ref softmax(Build *b, Ref x, int axis, bool log); /* log: its logarithm */
Ref greater(IR *ir, Ref x, Ref y);              /* NaN is the greatest */
/* Over the last axis; the attribute epsilon is the node's. bias: 0: none */
Ref layer_norm(Build *b, Ref x, Ref scale, Ref bias);
Ref rms_norm(Build *b, Ref x, Ref scale);

/* ---- window_ops.c: x and weights have the type of accumulation; attributes are those of Conv ---- */
Ref conv(Build *b, Ref x, Ref weights);         /* [batch, channels, places..], [maps, channels / groups, taps..] */
Ref add_bias(Build *b, Ref y, int k);           /* input k, one entry per channel of y */
void ints_into(Build *b, const char *name, int want, int64_t fill, int64_t *to); /* an attribute's entries; without it, fill */

/* ---- matmul_ops.c ---- */
Ref matmul(Build *b, Ref a, Ref w);             /* a[.., m, k] times w[.., k, n]; vectors as in numpy */
Ref turned(Build *b, Ref x, const char *flag);  /* the last two axes change places where the attribute is set */

/* ---- quant_ops.c ---- */
/* Floats x, quantised by their own range, times the integers w with their scale and zero point */
Ref dynamic_product(Build *b, Ref x, Ref w, Ref scale, Ref zero);
/* q[n, bytes] as [n, count] of `bits` each, lowest bits first */
Ref unpack_bits(IR *ir, Ref q, int64_t n, int64_t count, int64_t bits);
/* The product of the integer matrices that inputs a and w are, without their zero points (inputs az and wz), times both
 * scales, plus the floats of input bias */
Ref integer_product(Build *b, int a, int az, Ref a_scale, int w, int wz, Ref w_scale, int bias);

/* ---- learn_ops.c: scores are [rows, classes] ---- */
Ref feature_rows(Build *b, Ref x);              /* [rows, columns]; a vector is one row */
Ref best_class(Build *b, Ref scores);           /* i64[rows, 1] */
Ref transformed(Build *b, Ref scores, const char *how); /* how: a value of post_transform */
int64_t class_count(Build *b, const char *ints); /* ints: the attribute of labels that are integers */
/* of the classes at (i64[rows, 1]): [rows]; 0: they are strings, and nobody asks */
Ref class_labels(Build *b, const char *ints, Ref at);

#define OPROW(domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg) void fn(Build *b);
#include "optable.h"
#undef OPROW
#endif

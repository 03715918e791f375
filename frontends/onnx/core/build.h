/* SPDX-License-Identifier: MIT */
/* build.h: shared by the builders of operators. A builder turns one node, whose inputs are graph nodes, into graph nodes. The
 * driver (builder.c) has already found the node's row in optable.h, checked the number and types of its inputs and read its
 * attributes. So a builder only checks shapes and values. */
#ifndef TGC_ONNX_BUILD_H
#define TGC_ONNX_BUILD_H
#include "../../common/pieces.h"
#include "../wire/onnx.h"
#include <string.h>

enum {
  ANY = 1 << 30,    /* any number of inputs or outputs */
  SOME = ANY - 1,   /* any number of inputs, of which some may be omitted */
  MAX_ATTRS = 24,   /* most attributes of an operator of optable.h */
  FOLD_ELEMS = 4096 /* elements; integer constants up to this size are evaluated as soon as they are built */
};
#define MAX_ELEMS ((int64_t)1 << 40) /* elements; limit of a tensor, of a single extent and of a padding */

typedef struct Build Build;
typedef void (*BuildFn)(Build *b);

/* One form of one operator, valid in opsets since..until of its domain.
 * types: one letter per input; the last one repeats. They are f float, i integer, u u8, n number, b bool, a any type, z string,
 *   s sequence, q one of these: a tensor of any type, a sequence, an optional. Also: ^ same type as the input before, = same type as
 *   the first input, w float computed in f32. If a w input is narrower, the builder sees f32, and results are rounded once.
 * attrs: words name:kind. Kinds: i int, f float, s string, t tensor, g graph, y type; I F S are lists. A range may follow: >=N
 * for an int or each int of a list, {A|B} for a string. Then ! for required, or =default. */
typedef struct OpRow {
  const char *domain, *name;
  int since, until;
  int in_min, in_max, out_min, out_max;
  const char *types, *attrs;
  BuildFn build;      /* for most old forms: an adapter (adapt.c) */
  int64_t arg;        /* argument for the builder, mostly the Op */
} OpRow;

/* All rows, from onnx.c */
typedef struct OpTable {
  const OpRow *rows;         /* sorted by name; forms of one operator from the oldest to the newest */
  size_t n;
  const OpForm *refused;     /* operators of the standard without a row */
  size_t nrefused;
  const BuildFn *moves;      /* builders that change no value, so they take any type; NULL ends the list */
  const BuildFn *take_narrow; /* builders that accept the types of small_types.c but strings; NULL ends the list */
  const BuildFn *take_strings; /* builders that accept strings; NULL ends the list */
} OpTable;

typedef struct AttrVal {
  const char *name;   /* name in the row's attrs; not NUL-terminated: see len */
  size_t len;
  char kind;
  bool set;           /* given by the node or by a default */
  size_t n;           /* entries of a list */
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

/* A sequence is a List. It consists of the first n tensors of items; lists that begin alike share items. Builders pass it as a
 * Ref that no node has. An optional is its value; an empty one is a List whose n is NOTHING. */
enum { NOTHING = -1 };
typedef struct Items { Ref *p; int64_t n; } Items;
typedef struct List { Items *items; int64_t n; } List;
typedef struct Lists { List *p; size_t n; } Lists;
typedef struct Notes { Ref *p; size_t n; } Notes;

/* For results whose size depends on data. there: bool[most], which entries are valid. total: i64 of rank 0, number of entries that
 * the data gives; entries beyond `room` are cut off. */
typedef struct Count { const char *name; Ref there, total; int64_t room; } Count;
typedef struct Ragged {
  int64_t most;         /* entries reserved for such a result; 0: the option is not given */
  int64_t wanted;       /* entries that outputs get: the option's number. Where it is 1, most is 2 (ragged.c) */
  Count *counts;
  size_t n;
  Ref over;             /* bool of rank 0: a result without a count was cut off; 0: there is none */
  uint8_t *axis;        /* by Ref, filled in for Refs below `known`: the node's axis with valid and invalid entries (ragged.c) */
  Ref known, room;      /* room: entries allocated in axis */
} Ragged;
#define LIST_TAG 0x80000000u /* set in a Ref that is an index into Build.lists */
static inline bool is_list(Ref r) { return r & LIST_TAG; }

/* The labels of a ZipMap's columns, which are an output beside its table */
typedef struct Keys { const char *table, *name; Ref r; } Keys;
typedef struct KeyList { Keys *p; size_t n; } KeyList;

struct Build {
  Ctx *c;
  const OpTable *ops;
  IR *ir;
  OnnxModel *m;
  const OnnxNode *n;
  const OpRow *row;
  Pos at;             /* position of the node, for messages */
  int nin, nout;
  Ref *in;            /* 0: omitted. Adapters may append inputs, up to the newest form's in_max */
  Ref *out;           /* results of the builder; 0 where the node has no such output */
  AttrVal attr[MAX_ATTRS];
  int nattr;
  int *narrow;        /* by OnnxId: SmallType.onnx of the value; 0: its type is a DType */
  int result_narrow;  /* SmallType.onnx of the builder's first result */
  Ref *value;         /* by OnnxId: its node; 0: not built yet. For values defined in a body: the node of the current copy */
  int64_t *unrolled;  /* count against --max-unroll, of all nodes of the main graph before the current one */
  Ref made_from;      /* first graph node made for the current node of the main graph */
  uint32_t loop_from; /* number of nodes in the IR when the last loop_begin began a loop */
  size_t bytes_from;  /* bytes that the model's arena had handed out before the current node of the main graph */
  Lists *lists;
  Ragged *ragged;
  KeyList *keys;      /* labels of all nodes */
  bool *beyond;       /* set where a body fails because of a limit of tgc, and not of the model */
  Notes *wrong;       /* bools of rank 0, each true where an index is out of range; NULL: not recorded */
  bool declared_count; /* declared shapes hold: the user has not changed an extent */
  bool doubtful;      /* the node is in a copy of a loop's body that may run after the loop's end. There even constant indices
                         may be out of range */
};

static inline int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* results.c: the array p of n elements with room for one more, in the model's arena; doubled when n is a power of two */
void *grown(Build *b, void *p, size_t n, size_t size);

#define bad(b, ...) fail_at((b)->c, EX_BADMODEL, (b)->at, __VA_ARGS__)
/* The same for what a valid model may ask for: a side of an If that fails so is not dropped. */
#define too_much(b, ...) (*(b)->beyond = true, bad(b, __VA_ARGS__))

/* ---- builder.c: builds one node after the other ---- */
Graph *build_graph(Ctx *c, const OpTable *ops, OnnxModel *m, const LoadOptions *o);
void become(Build *b, const char *op);          /* changes the node's row to the newest form of op; attributes of the same
                                                   names are kept */
void build_newest(Build *b);                    /* builds the node by the newest form of its own operator */
/* Result of the ONNX operator op for nin inputs. n attributes are given, the others take their defaults. */
Ref apply_op(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs);
void apply_op_outs(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs, int nout, Ref *out);
/* Builds a copy of body g. in: values of the body's inputs; out: gets its results */
void build_body(Build *b, const OnnxGraph *g, const Ref *in, Ref *out);

/* ---- budget.c ---- */
/* Adds n to the count against --max-unroll. Fails if the count and the graph nodes made since made_from exceed it. A builder
 * whose repeat count comes from the model calls it before it allocates for the copies. It calls it in each copy, too, mostly
 * with n = 0. */
void spend(Build *b, int64_t n);
bool unrolled_too_far(const Build *b);
int64_t nodes_made(const Build *b);             /* for the current node of the main graph */
/* ---- loops of graphs. loop_begin: the number of a new loop, or -1: its iterations are to be copies, since they are few, or
 * since another loop is being built. Until loop_end(), loop_begin gives -1. loop_spend: counts the body's nodes once for each
 * iteration, like copies, because a run calls the body's kernels in each iteration. ---- */
int loop_begin(Build *b, int64_t trips);
void loop_end(Build *b);
void loop_spend(Build *b, int64_t trips);

/* ---- args.c ---- */
static inline bool word_is(const char *p, size_t len, const char *word) { return strlen(word) == len && !memcmp(p, word, len); }
bool attr_set(const Build *b, const char *name);
int64_t attr_int(const Build *b, const char *name); /* 0 when not set */
double attr_float(const Build *b, const char *name);
bool attr_is(const Build *b, const char *name, const char *value);
const int64_t *attr_ints(const Build *b, const char *name, int *n); /* NULL: absent */
AttrVal *attr_find(Build *b, const char *name);
void set_string(Build *b, const char *name, const char *value); /* sets an attribute of kind string */
static inline const Node *in_node(const Build *b, int k) { return node(b->ir, b->in[k]); }
static inline DType in_dt(const Build *b, int k) { return (DType)in_node(b, k)->dt; }
static inline bool has_in(const Build *b, int k) { return k >= 0 && k < b->nin && b->in[k]; }

int in_narrow(const Build *b, int k);           /* type of small_types.c of input k, or 0 */
Ref scalar_in(Build *b, int k);                 /* input k, which has one element, without its axes */

/* ---- Values that must be constant. name: the input's name in the operator's documentation */
bool const_tensor(Build *b, Ref r, Tensor *t);  /* false: it depends on an input of the graph */
const int64_t *const_ints(Build *b, int k, const char *name, int *n);
const double *const_floats(Build *b, int k, const char *name, int *n);
const char *input_behind(const Build *b, Ref r); /* an input of the graph on which r depends */
int64_t tensor_int(const Tensor *t, int64_t i);
double tensor_float(const Tensor *t, int64_t i);
int axis_of(Build *b, int64_t axis, int rank);  /* the axis; negative ones count from the end */
uint32_t axes_of(Build *b, const int64_t *axes, int n, int rank); /* a mask; fails if an axis repeats */

/* ---- results.c ---- */
void wrong_if(Build *b, Ref flags);             /* a run where one of the bools is true returns the status of wrong indices */
void check_dims(Build *b, int rank, const int64_t *dims); /* fails above USER_RANK or MAX_ELEMS */
char *dims_text(Build *b, const int64_t *dims, int rank); /* [2,3], for messages */
int64_t elems_mul(Build *b, int64_t x, int64_t y); /* x * y of numbers >= 0; fails above MAX_ELEMS */
Ref to_shape(Build *b, Ref x, int rank, const int64_t *dims); /* broadcast_to with a check */
void check_broadcast(Build *b, int n, const Ref *xs); /* fails if the shapes do not broadcast */
Ref ints_ref(Build *b, int n, const int64_t *v); /* constant i64[n] */
static inline Ref tensor_ref(Build *b, DType d, int rank, const int64_t *dims, const void *data) { /* data is copied */
  return g_tensor(b->ir, d, rank, dims, data);
}
static inline Ref floats_ref(Build *b, DType d, int rank, const int64_t *dims, const double *v) {
  return g_floats(b->ir, d, rank, dims, v);
}
Ref type_limit(IR *ir, DType d, bool high);     /* +-inf, or the greatest or least integer */
Ref bitcast(Build *b, Ref x, DType d);          /* d has the same width */
Ref clamp_index(Build *b, Ref index, int64_t extent); /* i64, clamped into 0..extent - 1; extent > 0 */
Ref cat_all(Build *b, int64_t n, Ref *xs, int axis); /* concatenates n > 0 values; writes to xs */
Ref pad_axes(IR *ir, Ref x, int first, int n, const int64_t *lo, const int64_t *hi, Ref fill);
DType acc_type(DType d);                        /* type in which sums of d are accumulated: f32 for f16 and bf16 */
static inline Ref num(Build *b, Ref like, double v) { return c_float(b->ir, (DType)node(b->ir, like)->dt, v); }
static inline Ref add(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_ADD, x, y); }
static inline Ref integer(Build *b, int64_t v) { return c_int(b->ir, DT_I64, v); }
/* x in memory of its own, so that elements that are read more than once are computed once. In the body of a loop: x itself */
static inline Ref stored(Build *b, Ref x) { return b->ir->in_loop ? x : g_stored(b->ir, x); }
/* logical AND of two bools; a Ref of 0 stands for true */
static inline Ref both(Build *b, Ref x, Ref y) { return x && y ? g_binary(b->ir, OP_AND, x, y) : x ? x : y; }
static inline Ref sub(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_SUB, x, y); }
static inline Ref mul(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_MUL, x, y); }
static inline Ref plus(Build *b, Ref x, double v) { return add(b, x, num(b, x, v)); }
static inline Ref times(Build *b, Ref x, double v) { return mul(b, x, num(b, x, v)); }
static inline Ref at_least(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MAX, x, num(b, x, v)); }
static inline Ref at_most(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MIN, x, num(b, x, v)); }
static inline Ref clamped(Build *b, Ref x, double lo, double hi) { return at_most(b, at_least(b, x, lo), hi); }
static inline Ref widen(Build *b, Ref x) { return g_cast(b->ir, x, acc_type((DType)node(b->ir, x)->dt)); }

/* ---- small_values.c: x rounded to type t, in SmallType.kept of t. saturate: values too large become the greatest one ---- */
Ref narrowed(Build *b, const SmallType *t, Ref x, bool saturate);
Ref narrow_range(Build *b, const SmallType *t, Ref x); /* x clamped to the range of t, an integer type */
Ref narrowed_power(Build *b, Ref x, bool saturate);  /* to float8e8m0, as the attribute round_mode of a cast says */
Ref narrow_from_bytes(Build *b, const SmallType *t, Ref bytes); /* bytes: of type small_bytes, one element each */
Ref narrow_to_bytes(Build *b, const SmallType *t, Ref x);

/* ---- strings.c: a tensor of strings is a tensor of bytes with one more axis, the last. A string ends at the first zero, or
 * fills the row. All bytes behind its end are zero. ---- */
Ref strings_ended(Build *b, Ref bytes);         /* zeros behind the first zero of each row */
Ref string_lengths(Build *b, Ref x);            /* i64, 1 along the last axis */
Ref strings_wide(Build *b, Ref x, int64_t width); /* rows filled up to this width */
Ref string_table(Build *b, const Bytes *s, int64_t n); /* constant u8[n, width of the longest] */
Ref strings_taken(Build *b, Ref table, Ref index); /* rows of table u8[n, width], n > 0, by an i64 of any shape */
Ref strings_equal(Build *b, Ref x, Ref y);      /* bool; the shapes are broadcast */
/* For each string of x, the first of the n rows of `keys` that equals it; n where none does. i64 of the shape of x */
Ref string_places(Build *b, Ref x, Ref keys);
static inline int64_t string_width(const Build *b, Ref x) { return node(b->ir, x)->dims[node(b->ir, x)->rank - 1]; }
bool strings_move(const OpRow *row);            /* the operator moves elements, so it takes strings */
/* Builds a node that moves strings: it moves the numbers of the strings, which then select them. False: the node has no strings
 * among its inputs, or is of another kind */
bool build_strings(Build *b);

/* ---- move_ops.c: pieces that other builders use ---- */
static inline Ref take(Build *b, Ref x, int axis, const int64_t *index, int64_t n) { return g_take(b->ir, x, axis, index, n); }
Ref moved_channels(Build *b, Ref x, bool to_front); /* moves the last axis to axis 1, or axis 1 to the end */

/* ---- make_ops.c: element i combines elements up to i along the axis; exclusive: up to i - 1; reverse: from the end ---- */
Ref cumulative(Build *b, Op op, Ref x, int axis, bool exclusive, bool reverse);

/* ---- gather_ops.c ---- */
Ref wrap_index(Build *b, Ref index, int64_t extent); /* i64; negative ones count from the end; Build.wrong records those out of
                                                        range */
/* `old`, but where 0 <= `at` < n: the entry of `rows` whose index along the axis is `at`. rows has n > 0 entries, at is i64,
 * old may be a scalar. */
Ref write_rows(Build *b, Ref old, Ref rows, Ref at, int axis);
size_t wrong_noted(const Build *b);             /* number of notes in Build.wrong */
/* makes the notes from..to - 1 of Build.wrong count only if cond equals value */
void wrong_only_if(Build *b, size_t from, size_t to, Ref cond, bool value);

/* ---- capacity_ops.c: operators whose result size depends on data; results have as many rows as the capacity ---- */
int64_t need_capacity(const Build *b);          /* value of --capacity; fails if it is not given */
/* Notes that the first `total` rows of the node's result are valid; the data gives this scalar. -> bool[capacity]: valid rows */
Ref counted_rows(Build *b, Ref total);
void nonzero_of_data(Build *b);
void compress_by_data(Build *b, Ref from, int axis);

/* ---- ragged.c ---- */
/* Records valid entries of the node's first result. room: of so many a bundle shows the first ones */
void add_count(Build *b, Ref there, Ref total, int64_t room);
void note_overflow(Build *b, Ref over);         /* a run where `over` is true returns TGCRT_CAPACITY */
/* fails if the extent of an axis in from..to - 1 depends on data */
void check_counts(Build *b, Ref r, int64_t from, int64_t to);
bool has_ragged(Build *b, Ref r);               /* some entries of r may be invalid */
/* r cut to the option's number of entries; fails if invalid entries were mixed with others */
Ref checked_ragged(Build *b, Ref r);

/* ---- declared.c: inputs that decide a shape and are not constant ---- */
bool is_known(Build *b, int k);                   /* input k is constant */
const int64_t *declared_dims(Build *b, int out, int *rank); /* the declared shape of a result; NULL: not all of it is known */
typedef enum { WILD_NONE, WILD_LOW, WILD_ONE } Wild; /* which values fit any extent: LOW: 0 and less; ONE: 1 */
/* Like const_ints. If input k is not constant: the `count` values that the declared shape implies, which runs are checked
 * against; negative ones fit anything. implied NULL: there are none */
const int64_t *implied_ints(Build *b, int k, const char *name, int *n, Wild wild, const int64_t *implied, int count);
const int64_t *shape_ints(Build *b, int k, const char *name, int *n, Wild wild); /* implied: declared shape of result 0 */
const int64_t *extent_int(Build *b, int k, const char *name, int *n, int axis);  /* its extent along one axis */

/* ---- lists.c: sequences and optionals. At the boundary each tensor in them is an input or output of its own ---- */
Ref list_ref(Build *b, Items *items, int64_t n);  /* the first n of the items */
void list_push(Build *b, Items *items, Ref r);
Ref new_list(Build *b, int64_t n, const Ref *r);  /* a sequence of n tensors */
Ref nothing(Build *b);                            /* an optional without an element */
bool has_nothing(const Build *b, Ref r);
typedef struct ListInput { OnnxId id; const OnnxId *element; int64_t n; } ListInput; /* n NOTHING: an optional without an element */
typedef struct ListInputs { ListInput *p; size_t n; } ListInputs;
/* Replaces sequences and optionals among the model's inputs by their tensors */
ListInputs lists_expand(Build *b, const LoadOptions *o);
void lists_join(Build *b, const ListInputs *l);   /* their values, once the tensors have values */

/* ---- sort_ops.c ---- */
Ref greater(IR *ir, Ref x, Ref y);              /* x > y, where NaN is the greatest */
Ref order_keys(Build *b, Ref x);                /* i64 in the range of 32 bits, in the order of x */
Ref entries_up_to(Build *b, Ref sorted, Ref value); /* i64: number of entries <= value along the last axis, which ascends */
/* i64[rows, k]: element j is the place of the j-th true element in a row of flags [rows, n], or n if there is none. *total:
 * i64[rows, 1], number of true elements */
Ref places_of_true(Build *b, Ref flags, int64_t k, Ref *total);

/* ---- reduce_ops.c ---- */
Ref softmax(Build *b, Ref x, int axis, bool log); /* log: the logarithm of the softmax */

/* Over the last axis; epsilon is an attribute of the node. bias 0: none */
Ref layer_norm(Build *b, Ref x, Ref scale, Ref bias);
Ref rms_norm(Build *b, Ref x, Ref scale);

/* ---- window_ops.c: x and weights have the accumulation type; reads the attributes of Conv ---- */
Ref conv(Build *b, Ref x, Ref weights);         /* x [batch, channels, places..], weights [maps, channels / groups, taps..] */
Ref add_bias(Build *b, Ref y, int k);           /* adds input k, one entry per channel of y */
/* entries of an attribute; fill where it is absent */
void ints_into(Build *b, const char *name, int want, int64_t fill, int64_t *to);

/* ---- matmul_ops.c ---- */
Ref matmul(Build *b, Ref a, Ref w);             /* a[.., m, k] times w[.., k, n]; vectors as in numpy */
Ref turned(Build *b, Ref x, const char *flag);  /* swaps the last two axes where the attribute is set */

/* ---- quant_ops.c ---- */
/* Product of floats x, quantised by their own range, and integers w with scale and zero point */
Ref dynamic_product(Build *b, Ref x, Ref w, Ref scale, Ref zero);
/* Unpacks q[n, bytes] into [n, count] values of `bits` bits each, lowest bits first */
Ref unpack_bits(IR *ir, Ref q, int64_t n, int64_t count, int64_t bits);
/* Product of the integer matrices in inputs a and w, minus their zero points (inputs az and wz), times both scales, plus input
 * bias */
Ref integer_product(Build *b, int a, int az, Ref a_scale, int w, int wz, Ref w_scale, int bias);

/* ---- learn_ops.c: scores are [rows, classes] ---- */
Ref feature_rows(Build *b, Ref x);              /* [rows, columns]; a vector becomes one row */
Ref best_class(Build *b, Ref scores);           /* i64[rows, 1] */
Ref transformed(Build *b, Ref scores, const char *how); /* how: a value of post_transform */
int64_t class_count(Build *b, const char *ints); /* number of classes; ints: name of the attribute with integer labels */
/* labels, as [rows], of the classes whose numbers are in `at`, i64[rows, 1]; 0: labels are strings, and the node's output is
 * unused */
Ref class_labels(Build *b, const char *ints, Ref at);

#define OPROW(domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg) void fn(Build *b);
#include "optable.h"
#undef OPROW
#endif

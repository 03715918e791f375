/* SPDX-License-Identifier: MIT */
/* build.h: shared by the builders of ONNX operators. A builder turns one node of the ONNX model into nodes of the graph, and adds
 * the new nodes to b->ir. A Ref is a node of the graph. The driver (builder.c) first finds the row of the operator in optable.h,
 * checks the number and the types of the inputs, and reads the attributes. Then the driver calls the builder. So a builder only
 * checks shapes and values. */
#ifndef TGC_ONNX_BUILD_H
#define TGC_ONNX_BUILD_H
#include "../../common/pieces.h"
#include "../wire/onnx.h"
#include <string.h>

enum {
  ANY = 1 << 30,    /* in OpRow.in_max: any number of inputs, of which none may be omitted; in out_max: any number of outputs */
  SOME = ANY - 1,   /* in OpRow.in_max: any number of inputs, of which some may be omitted */
  MAX_ATTRS = 24,   /* most attributes of an operator of optable.h */
  FOLD_ELEMS = 4096 /* most elements of a constant of integers or bools that is evaluated as soon as it is built */
};
#define MAX_ELEMS ((int64_t)1 << 40) /* most elements of a tensor; also the greatest extent and padding */

typedef struct Build Build;
typedef void (*BuildFn)(Build *b);

/* A form of an operator. The form is valid in the opset versions `since` to `until` of the operator's domain.
 * types: a letter for the type of each input; the last letter holds for all further inputs. f: float. i: integer. u: u8. n:
 *   number. b: bool. a: a tensor of any type. z: string. s: sequence. q: a tensor of any type, a sequence or an optional. ^: the
 *   type of the previous input that is not omitted. =: the type of the first input. w: a float. If the first letter is w and the
 *   first input is f16 or bf16, the driver widens all inputs to f32 for the builder, and rounds the results to the type of the
 *   first input.
 * attrs: a word name:kind for each attribute. Kinds are i int, f float, s string, t tensor, g graph, y type, I ints, F floats,
 *   S strings. A limit may follow the kind: >=N for an int or for each of several ints, {A|B} for a string. A word may end with !
 *   for a required attribute, or with =V for the default value V. */
typedef struct OpRow {
  const char *domain, *name; /* domain "": ai.onnx */
  int since, until;
  int in_min, in_max, out_min, out_max; /* least and greatest numbers of inputs and of outputs */
  const char *types, *attrs;
  BuildFn build;      /* the builder. For most old forms, the builder is an adapter (adapt.c), which turns the ONNX node into the
                         newest form */
  int64_t arg;        /* argument for the builder, mostly the Op to build */
} OpRow;

/* The rows of all operators (onnx.c) */
typedef struct OpTable {
  const OpRow *rows;         /* the n rows, sorted by name; forms of one operator from the oldest to the newest */
  size_t n;
  const OpForm *refused;     /* the nrefused operators that tgc refuses with a reason (refused.h) */
  size_t nrefused;
  const BuildFn *moves;      /* builders that only move elements, and so take any type; NULL ends the list */
  const BuildFn *take_narrow; /* builders that accept the types of small_types.c other than strings; NULL ends the list */
  const BuildFn *take_strings; /* builders that accept strings; NULL ends the list */
} OpTable;

typedef struct AttrVal { /* an attribute. `kind` says which of the fields from `i` on has the value; kind y has no value */
  const char *name;   /* the attribute's name: `len` bytes of OpRow.attrs, without a NUL behind them */
  size_t len;
  char kind;          /* as in OpRow.attrs */
  bool set;           /* the ONNX node or a default gives the value */
  size_t n;           /* for kinds I, F and S: number of values in ints, floats or strings */
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

/* A List is a sequence: the first n tensors of `items`. Several Lists may share one Items. Builders pass a List as a Ref: the
 * List's index in Build.lists, with the bit LIST_TAG set. Builders pass an optional with an element as the Ref of the element. An
 * optional without an element is a List whose n is NOTHING. */
enum { NOTHING = -1 };
typedef struct Items { Ref *p; int64_t n; } Items;
typedef struct List { Items *items; int64_t n; } List;
typedef struct Lists { List *p; size_t n; } Lists;
typedef struct Notes { Ref *p; size_t n; } Notes; /* n values */

/* A ragged result has a fixed number of entries along one axis. The valid entries come first, and the others are not valid. The
 * number of valid entries depends on the data of the run. name: the result's name. there: a bool for each entry, true if the
 * entry is valid. total: i64 of rank 0, the number of entries that the data ask for. room: most entries that the result may have
 * as an output of a bundle. If `total` exceeds `room`, a run cuts off entries. */
typedef struct Count { const char *name; Ref there, total; int64_t room; } Count;
typedef struct Ragged {
  int64_t most;         /* number of entries of a ragged result in the graph: the value of --capacity, but at least 2; 0:
                           --capacity is not given. Results of TopK and of loops may have other numbers of entries */
  int64_t wanted;       /* number of entries of a ragged result that is an output of the bundle: the value of --capacity */
  Count *counts;        /* the n ragged results */
  size_t n;
  Ref over;             /* bool of rank 0, true in a run that cuts off a result that has no Count; 0: no run does this */
  uint8_t *axis;        /* by Ref: the axis along which the value has valid and invalid entries, as a number that ragged.c
                           explains */
  Ref known, room;      /* known: number of Refs for which `axis` is computed; room: number of Refs for which `axis` has
                           memory */
} Ragged;
#define LIST_TAG 0x80000000u /* the bit that is set in a Ref that stands for a List */
static inline bool is_list(Ref r) { return r & LIST_TAG; }

/* The result of ZipMap is a table. The columns of the table have labels. If the labels are strings and the table is an output,
 * the graph gets the labels as a further output. table: the table's name. name: the name of the further output. r: the labels */
typedef struct Keys { const char *table, *name; Ref r; } Keys;
typedef struct KeyList { Keys *p; size_t n; } KeyList;

typedef struct Folded { Ref *p; uint32_t n; } Folded; /* p[r], for r < n: the WEIGHT with the value of node r; 0: not evaluated */

struct Build {        /* the state of a builder */
  Ctx *c;
  const OpTable *ops;
  IR *ir;             /* the IR of the graph that is built */
  OnnxModel *m;
  const OnnxNode *n;  /* the ONNX node to build */
  const OpRow *row;   /* the form of the node's operator */
  Pos at;             /* position of the ONNX node, for messages */
  int nin, nout;
  Ref *in;            /* by input: the value; 0: the input is omitted. An adapter may append up to 8 inputs */
  Ref *out;           /* by output: the result, which the builder sets; 0: the builder does not support this output */
  AttrVal attr[MAX_ATTRS];
  int nattr;          /* number of attributes in attr */
  int *narrow;        /* by OnnxId: SmallType.onnx of the value; 0: the type of the value is a DType */
  int result_narrow;  /* SmallType.onnx of the builder's first result; 0: the type of this result is a DType */
  Ref *value;         /* by OnnxId: the value's graph node or List; 0: not built yet. For a value in a body, the graph node is
                         that of the current copy of the body */
  int64_t *unrolled;  /* number of nodes counted so far; --max-unroll limits *unrolled + nodes_made (budget.c) */
  Ref made_from;      /* first graph node that was made for the current ONNX node of the main graph */
  uint32_t loop_from; /* number of nodes in the IR when loop_begin last began a loop */
  size_t bytes_from;  /* bytes that the model's arena had handed out before the current ONNX node of the main graph */
  Lists *lists;       /* all sequences so far */
  Ragged *ragged;
  KeyList *keys;      /* labels of all ZipMaps so far */
  bool *beyond;       /* set to true if a body fails because of a limit of tgc, although the model is valid */
  Notes *wrong;       /* bools of rank 0: if one of them is true in a run, an index was out of range. NULL: not recorded */
  bool declared_count; /* builders may use the shapes that the model declares for results. True if the model gives all extents of
                          inputs, the user has changed none of these extents, and --capacity is not given */
  Folded *folded;     /* for a range of sizes: the values of constants that remain expressions in the graph */
  FormNumbers *forms; /* LoadOptions.forms */
  bool sized;         /* the graph is for a range of sizes, so the choice of nodes must not depend on extents (sized.c) */
  bool doubtful;      /* the ONNX node is in a copy of a loop's body, for an iteration that may come after the loop's end. In such
                         a copy even constant indices may be out of range */
};

static inline int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* results.c: makes room for one more element in the array p of n elements of `size` bytes, and returns the array, which may have
 * moved. The array is in the model's arena. Must be called before each element is added, also before the first, when n is 0. */
void *grown(Build *b, void *p, size_t n, size_t size);

/* `bad` and `too_much` fail at the current ONNX node. too_much is for models that are valid, but exceed a limit of tgc. If the
 * ONNX node is in a side of an If, `bad` makes tgc drop the side and assume that the side never runs. `too_much` makes tgc refuse
 * the model, whether the ONNX node is in an If or not. */
#define bad(b, ...) fail_at((b)->c, EX_BADMODEL, (b)->at, __VA_ARGS__)
#define too_much(b, ...) (*(b)->beyond = true, bad(b, __VA_ARGS__))

/* ---- builder.c: builds one ONNX node after the other ---- */
Graph *build_graph(Ctx *c, const OpTable *ops, OnnxModel *m, const LoadOptions *o);
/* Sets b->row to the newest form of the operator `op` of ai.onnx. An attribute keeps its value if the new row has an attribute of
 * this name and kind. Other attributes of the new row get their defaults. */
void become(Build *b, const char *op);
void build_newest(Build *b);                    /* calls become(b, b->row->name), then builds the ONNX node */
/* Builds the operator op of ai.onnx for nin inputs, with n attributes. Other attributes have their defaults. Returns the first
 * result. */
Ref apply_op(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs);
/* As apply_op, but fills in out[] with the first nout results */
void apply_op_outs(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs, int nout, Ref *out);
/* Builds a copy of a body: a graph g in an attribute of a node, such as an If, Loop or Scan. in: values of the body's inputs.
 * Sets out[] to the body's results. */
void build_body(Build *b, const OnnxGraph *g, const Ref *in, Ref *out);

/* ---- budget.c ---- */
/* Adds n to *b->unrolled. Fails if *b->unrolled + nodes_made exceeds the limit of --max-unroll. If the model gives the number of
 * copies that a builder makes, the builder must call spend before it allocates memory for the copies. The builder must call spend
 * again for each copy, mostly with n = 0. */
void spend(Build *b, int64_t n);
bool unrolled_too_far(const Build *b);          /* whether *b->unrolled + nodes_made exceeds the limit of --max-unroll */
/* Counts what was made for the current ONNX node of the main graph. Returns the number of graph nodes, or the number of allocated
 * units of 256 bytes if that number is greater. */
int64_t nodes_made(const Build *b);
/* ---- loops of the graph, of `trips` iterations ----
 * loop_begin: begins a loop, and returns the loop's number. Returns -1 if there are few iterations, if another loop is being
 * built, or if a limit is reached. If the result is -1, the builder must copy the body for each iteration. loop_spend: calls
 * spend for the calls of the loop's kernels in all iterations. A call counts less than a copied node. loop_end: ends the loop. */
int loop_begin(Build *b, int64_t trips);
/* For a loop that a carried value ends, after at most `trips` iterations. `trips` must be even. Returns the number to pass to
 * loop_begin. This number is `trips`, or the greatest even i32 if `trips` differs for other sizes of a range. In the second case,
 * only the carried value ends the loop. */
int64_t early_trips(Build *b, int64_t trips);
void loop_end(Build *b);
void loop_spend(Build *b, int64_t trips);

/* ---- args.c. It is a BUG to ask for an attribute that b->row does not have ---- */
static inline bool word_is(const char *p, size_t len, const char *word) { return strlen(word) == len && !memcmp(p, word, len); }
bool attr_set(const Build *b, const char *name); /* whether the ONNX node or a default gives a value */
int64_t attr_int(const Build *b, const char *name); /* 0 if not set */
double attr_float(const Build *b, const char *name); /* 0 if not set */
bool attr_is(const Build *b, const char *name, const char *value); /* whether the attribute is the string `value` */
const int64_t *attr_ints(const Build *b, const char *name, int *n); /* the *n ints of the attribute; NULL: not set */
AttrVal *attr_find(Build *b, const char *name); /* the attribute, set or not */
void set_string(Build *b, const char *name, const char *value); /* sets an attribute of kind string */
static inline const Node *in_node(const Build *b, int k) { return node(b->ir, b->in[k]); }
static inline DType in_dt(const Build *b, int k) { return (DType)in_node(b, k)->dt; }
static inline bool has_in(const Build *b, int k) { return k >= 0 && k < b->nin && b->in[k]; }

int in_narrow(const Build *b, int k);           /* SmallType.onnx of input k; 0: the type of input k is a DType */
Ref scalar_in(Build *b, int k);                 /* input k as a value of rank 0; fails unless input k has one element */

/* ---- inputs that must be constant. name: the input's name in the operator's documentation, for messages. const_ints and
 * const_floats fail if input k is not constant, or has more than 16 * FOLD_ELEMS elements ---- */
bool const_tensor(Build *b, Ref r, Tensor *t);  /* sets *t to the value of r; returns false if r is not constant */
const int64_t *const_ints(Build *b, int k, const char *name, int *n); /* elements of input k as integers; *n: their number */
const double *const_floats(Build *b, int k, const char *name, int *n); /* elements of input k as floats; *n: their number */
const char *input_behind(const Build *b, Ref r); /* if r depends on inputs of the graph, the name of one of them; else "" */
int64_t tensor_int(const Tensor *t, int64_t i); /* element i as an integer */
double tensor_float(const Tensor *t, int64_t i); /* element i as a float */
int axis_of(Build *b, int64_t axis, int rank);  /* `axis` counted from 0. A negative `axis` counts from the end. Fails if `axis`
                                                   is out of range */
uint32_t axes_of(Build *b, const int64_t *axes, int n, int rank); /* bit i is set if axis i is among the n axes; fails as axis_of,
                                                                     and if an axis repeats */

/* ---- results.c ---- */
void wrong_if(Build *b, Ref flags);             /* a run reports an index out of range if one of the flags is true */
void check_dims(Build *b, int rank, const int64_t *dims); /* fails if the rank exceeds USER_RANK, or a size exceeds MAX_ELEMS */
char *dims_text(Build *b, const int64_t *dims, int rank); /* "[2,3]", for messages */
int64_t elems_mul(Build *b, int64_t x, int64_t y); /* x * y, for x, y >= 0; fails if the product exceeds MAX_ELEMS */
Ref to_shape(Build *b, Ref x, int rank, const int64_t *dims); /* x broadcast to this shape; fails if that is not possible */
void check_broadcast(Build *b, int n, const Ref *xs); /* fails if the shapes of these n values do not broadcast */
Ref ints_ref(Build *b, int n, const int64_t *v); /* a constant of type i64[n] */
static inline Ref tensor_ref(Build *b, DType d, int rank, const int64_t *dims, const void *data) { /* data is copied */
  return g_tensor(b->ir, d, rank, dims, data);
}
static inline Ref floats_ref(Build *b, DType d, int rank, const int64_t *dims, const double *v) {
  return g_floats(b->ir, d, rank, dims, v);
}
Ref type_limit(IR *ir, DType d, bool high);     /* the least value of type d, or if `high` the greatest; an infinity for floats */
Ref bitcast(Build *b, Ref x, DType d);          /* the bits of x as type d. Both types have equally many bits */
Ref clamp_index(Build *b, Ref index, int64_t extent); /* `index`, an i64, clamped to 0 .. extent - 1; extent > 0 */
Ref cat_all(Build *b, int64_t n, Ref *xs, int axis); /* the concatenation of n > 0 values; overwrites xs */
/* x with new elements: for each i < n, lo[i] at the start of axis first + i, and hi[i] at the end of this axis. The new elements
 * have the value `fill` */
Ref pad_axes(IR *ir, Ref x, int first, int n, const int64_t *lo, const int64_t *hi, Ref fill);
DType acc_type(DType d);                        /* type in which values of d are summed: f32 for f16 and bf16, else d */
static inline Ref num(Build *b, Ref like, double v) { return c_float(b->ir, (DType)node(b->ir, like)->dt, v); }
static inline Ref add(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_ADD, x, y); }
static inline Ref integer(Build *b, int64_t v) { return c_int(b->ir, DT_I64, v); }
/* Makes x a value with memory of its own (STORED), so that no element is computed more than once. In the body of a loop, returns
 * x. */
static inline Ref stored(Build *b, Ref x) { return b->ir->in_loop ? x : g_stored(b->ir, x); }
/* Logical AND of two bools; a Ref of 0 stands for true */
static inline Ref both(Build *b, Ref x, Ref y) { return x && y ? g_binary(b->ir, OP_AND, x, y) : x ? x : y; }
static inline Ref sub(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_SUB, x, y); }
static inline Ref mul(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_MUL, x, y); }
static inline Ref plus(Build *b, Ref x, double v) { return add(b, x, num(b, x, v)); }
static inline Ref times(Build *b, Ref x, double v) { return mul(b, x, num(b, x, v)); }
static inline Ref at_least(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MAX, x, num(b, x, v)); }
static inline Ref at_most(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MIN, x, num(b, x, v)); }
static inline Ref clamped(Build *b, Ref x, double lo, double hi) { return at_most(b, at_least(b, x, lo), hi); }
static inline Ref widen(Build *b, Ref x) { return g_cast(b->ir, x, acc_type((DType)node(b->ir, x)->dt)); }

/* ---- small_values.c: values of the small types of small_types.c, such as float8. The graph keeps these values in the type
 * SmallType.kept. The code of a value is a byte: for an integer, the byte has the integer's value, and for a float, the float's
 * bits. saturate: numbers beyond the range of the type become the type's greatest or least number, not NaN or infinity ---- */
Ref narrowed(Build *b, const SmallType *t, Ref x, bool saturate); /* x as type t; floats round, and integers wrap */
Ref narrow_range(Build *b, const SmallType *t, Ref x); /* x clamped to the range of t, an integer type */
Ref narrowed_power(Build *b, Ref x, bool saturate); /* x rounded to float8e8m0, as the attribute round_mode of a Cast says */
Ref narrow_from_bytes(Build *b, const SmallType *t, Ref bytes); /* the values of type t whose codes are `bytes` */
Ref narrow_to_bytes(Build *b, const SmallType *t, Ref x); /* the codes of the values x of type t */

/* ---- strings.c: a tensor of strings is a tensor of bytes with one more axis, the last axis. Each row along this axis has the
 * bytes of a string, then zeros. If the string is as long as the row, no zeros follow. ---- */
Ref strings_ended(Build *b, Ref bytes);         /* `bytes` with zeros behind the first zero of each row */
Ref string_lengths(Build *b, Ref x);            /* lengths of strings in bytes, as i64; the last axis gets extent 1 */
Ref strings_wide(Build *b, Ref x, int64_t width); /* x with zeros behind each row, so that rows have at least `width` bytes */
/* A constant u8[n, width] with n strings. width: bytes of the longest string, at least 1 */
Ref string_table(Build *b, const Bytes *s, int64_t n);
/* The strings with these indices in a table. table: u8[n, width], n > 0; index: i64 of any shape */
Ref strings_taken(Build *b, Ref table, Ref index);
Ref strings_equal(Build *b, Ref x, Ref y);      /* bools: whether strings of x and y are equal. The shapes are broadcast */
/* For each string of x, the index of the first equal string in the table keys, u8[n, width]; n if there is none. The result is
 * i64 with the shape of x, without the last axis. */
Ref string_places(Build *b, Ref x, Ref keys);
static inline int64_t string_width(const Build *b, Ref x) { return node(b->ir, x)->dims[node(b->ir, x)->rank - 1]; }
bool strings_move(const OpRow *row);            /* whether the operator only moves or counts elements, and so takes strings */
/* Builds the ONNX node and returns true, if strings_move is true for the operator and an input has strings. Otherwise builds
 * nothing, and returns false. */
bool build_strings(Build *b);

/* ---- numeral_ops.c ---- */
Ref text_of_numbers(Build *b, Ref x);           /* integers, bools or floats as strings */
Ref numbers_of_text(Build *b, Ref x, DType d);  /* strings as numbers. A run reports an index out of range if a string
                                                   does not begin with a number */

/* ---- move_ops.c: pieces that other builders use ---- */
static inline Ref take(Build *b, Ref x, int axis, const int64_t *index, int64_t n) { return g_take(b->ir, x, axis, index, n); }
Ref moved_channels(Build *b, Ref x, bool to_front); /* moves the last axis to axis 1; without to_front, moves axis 1 to the end */

/* ---- make_ops.c ---- */
/* Element i of the result combines elements of x along the axis by op: elements 0 to i or, with `reverse`, element i to the last
 * element. With `exclusive`, element i itself is left out. */
Ref cumulative(Build *b, Op op, Ref x, int axis, bool exclusive, bool reverse);

/* ---- gather_ops.c ---- */
/* Returns the indices in `index` as i64, counted from 0. Negative numbers in `index` count from the end of the axis, whose extent
 * is `extent`. Fails if the axis is empty, or if a constant index is out of range. For indices that are not constant, Build.wrong
 * records whether they are out of range in a run. */
Ref wrap_index(Build *b, Ref index, int64_t extent);
/* `rows` has n > 0 elements along the axis. Where 0 <= `at` < n, the result is the element of `rows` with the index `at` along
 * the axis. Elsewhere, the result is the element of `old`. `at` is i64; `old` may have rank 0. */
Ref write_rows(Build *b, Ref old, Ref rows, Ref at, int axis);
size_t wrong_noted(const Build *b);             /* number of values in Build.wrong */
/* From now on, values number `from` to `to` - 1 of Build.wrong count only if the bool `cond` equals `value`. */
void wrong_only_if(Build *b, size_t from, size_t to, Ref cond, bool value);

/* ---- capacity_ops.c: operators with a result whose size depends on data. In the graph, this result has Ragged.most rows ---- */
int64_t need_capacity(const Build *b);          /* returns Ragged.most; fails if --capacity is not given */
/* Records that the first `total` rows of the ONNX node's first result are valid. Returns bool[Ragged.most], which is true for
 * the valid rows. */
Ref counted_rows(Build *b, Ref total);
void nonzero_of_data(Build *b);                 /* builds NonZero */
void compress_by_data(Build *b, Ref from, int axis); /* builds Compress of `from` along the axis */

/* ---- ragged.c ---- */
/* Records that the ONNX node's first result is ragged. there, total, room: as in Count */
void add_count(Build *b, Ref there, Ref total, int64_t room);
void add_count_of(Build *b, uint32_t out, Ref there, Ref total, int64_t room); /* as add_count, for result number `out` */
void note_overflow(Build *b, Ref over);         /* a run returns TGCRT_CAPACITY if `over` is true */
/* Fails if an axis `from` to `to` - 1 of r has an extent that depends on data */
void check_counts(Build *b, Ref r, int64_t from, int64_t to);
bool has_ragged(Build *b, Ref r);               /* whether entries of r may be invalid */
/* Returns r, or the first Ragged.wanted entries of r if r is ragged. Fails if an operator has mixed invalid entries with valid
 * entries */
Ref checked_ragged(Build *b, Ref r);

/* ---- declared.c: inputs that decide the shape of a result, such as the input `shape` of Reshape. If such an input is not
 * constant, builders use the shape that the model declares for the result ---- */
bool is_known(Build *b, int k);                   /* whether input k is constant */
/* The shape that the model declares for result number `out`; NULL if not all of the shape is declared, or Build.declared_count is
 * false */
const int64_t *declared_dims(Build *b, int out, int *rank);
typedef enum { WILD_NONE, WILD_LOW, WILD_ONE } Wild; /* input values that stand for any extent. LOW: all values up to 0; ONE: the
                                                        value 1 */
/* If input k is constant, returns the result of const_ints. Otherwise returns `implied`: the `count` values that input k must
 * have for the declared shape. A run reports an index out of range if an input value differs from the implied value. This check
 * skips negative implied values, and input values that stand for any extent (wild). If input k is not constant, the function
 * fails in these cases: implied is NULL, the input does not have `count` elements, or Build.wrong is NULL. */
const int64_t *implied_ints(Build *b, int k, const char *name, int *n, Wild wild, const int64_t *implied, int count);
/* These functions call implied_ints, with values for `implied` from the declared shape of result 0. shape_ints takes all extents
 * of this shape. extent_int takes the extent of one axis */
const int64_t *shape_ints(Build *b, int k, const char *name, int *n, Wild wild);
const int64_t *extent_int(Build *b, int k, const char *name, int *n, int axis);

/* ---- lists.c: sequences and optionals. If a sequence is an input or output of the model, then each tensor of the sequence is an
 * input or output of the graph ---- */
Ref list_ref(Build *b, Items *items, int64_t n);  /* a sequence of the first n tensors of `items` */
void list_push(Build *b, Items *items, Ref r);    /* appends r to `items` */
Ref new_list(Build *b, int64_t n, const Ref *r);  /* a sequence of n tensors */
Ref nothing(Build *b);                            /* an optional without an element */
bool has_nothing(const Build *b, Ref r);          /* whether r is an optional without an element */
/* An input `id` of the model that is a sequence or an optional, and the n inputs that replace it. n NOTHING: the input is an
 * optional without an element, and no input replaces it */
typedef struct ListInput { OnnxId id; const OnnxId *element; int64_t n; } ListInput;
typedef struct ListInputs { ListInput *p; size_t n; } ListInputs;
/* Replaces sequences and optionals among the model's inputs by inputs for their tensors */
ListInputs lists_expand(Build *b, const LoadOptions *o);
/* Makes the sequences and optionals that lists_expand has replaced, from the values of the new inputs. In b->value, they become
 * the values of the replaced inputs. */
void lists_join(Build *b, const ListInputs *l);

/* ---- sort_ops.c ---- */
Ref greater(IR *ir, Ref x, Ref y);              /* x > y, where NaN counts as the greatest value */
/* Returns a key for each element of x: an i64 in the range of int32_t. Keys are ordered as the elements are, with NaN as the
 * greatest. The type of x has at most 32 bits. */
Ref order_keys(Build *b, Ref x);
/* Notes a number on which the nodes of an operator depend. Returns whether the number differs for other sizes of a range. */
bool form_differs(Build *b, int64_t number);
bool form_of_branches(Build *b, bool condition); /* as form_differs, for the constant condition of an If: drops the numbers behind
                                                    it if it was not known to differ (FormNumbers.again) */
int64_t form_most(Build *b, int64_t number); /* as form_differs, but returns the greatest number for all sizes
                                                read so far */
/* Rows lie along the last axis of `sorted` and of `value`. The numbers in each row of `sorted` ascend. For each element v in row
 * r of `value`, returns how many numbers in row r of `sorted` are at most v. The counts are i64. */
Ref entries_up_to(Build *b, Ref sorted, Ref value);
/* flags: bool[rows, n]. Returns i64[rows, k]. Element j of row r is the index of true flag number j in row r of flags; j counts
 * from 0. If row r of flags has at most j true flags, the element is n. If total is not NULL, sets *total to the number of true
 * flags of each row, i64[rows, 1]. */
Ref places_of_true(Build *b, Ref flags, int64_t k, Ref *total);

/* ---- reduce_ops.c ---- */
Ref softmax(Build *b, Ref x, int axis, bool log); /* the softmax of x along the axis, or if `log` its logarithm */

/* These functions normalise x over the last axis. The epsilon is an attribute of the ONNX node. bias: 0 if there is none */
Ref layer_norm(Build *b, Ref x, Ref scale, Ref bias);
Ref rms_norm(Build *b, Ref x, Ref scale);       /* the result has the type of `scale` */

/* ---- window_ops.c, transposed_ops.c, pool_ops.c ---- */
/* The convolution of x [batch, channels, spatial axes] with weights [maps, channels / groups, kernel axes]. The ONNX node must
 * have the attributes of Conv. The types of x and weights must not be f16 or bf16. */
Ref conv(Build *b, Ref x, Ref weights);
Ref add_bias(Build *b, Ref y, int k);           /* y plus input k. Input k has an element for each channel of y */
/* Copies the `want` ints of an attribute to `to`. Fails if the attribute has another number of ints. If the attribute is not set,
 * puts `want` copies of `fill` into `to`. */
void ints_into(Build *b, const char *name, int want, int64_t fill, int64_t *to);

/* ---- matmul_ops.c ---- */
Ref matmul(Build *b, Ref a, Ref w);             /* a[.., m, k] times w[.., k, n]; vectors are treated as in NumPy */
Ref turned(Build *b, Ref x, const char *flag);  /* x, or x with the last two axes swapped if the attribute `flag` is not 0 */

/* ---- quant_ops.c ---- */
/* The product of two matrices. x has floats, which are first quantised to 8 bits with a scale from the range of x. w has integers
 * that stand for the floats (w - zero) * scale. The result has floats. */
Ref dynamic_product(Build *b, Ref x, Ref w, Ref scale, Ref zero);
/* Unpacks the bytes q[n, bytes] into [n, count] values of `bits` bits each; the lowest bits of a byte come first */
Ref unpack_bits(IR *ir, Ref q, int64_t n, int64_t count, int64_t bits);
/* The product of two matrices of integers, multiplied by a_scale and w_scale, plus a bias. a, w: numbers of the inputs with the
 * matrices. az, wz: numbers of the inputs with the zero points of a and w. Zero points are subtracted before the matrices are
 * multiplied. bias: number of the input with the bias. Inputs with zero points or the bias may be omitted. */
Ref integer_product(Build *b, int a, int az, Ref a_scale, int w, int wz, Ref w_scale, int bias);

/* ---- learn_ops.c: classifiers. Scores have the shape [rows, classes] ---- */
Ref feature_rows(Build *b, Ref x);              /* x as [rows, columns]; a vector becomes one row */
Ref best_class(Build *b, Ref scores);           /* i64[rows, 1]: for each row, the number of the class with the greatest score */
Ref transformed(Build *b, Ref scores, const char *how); /* `scores` after the post_transform with the name `how` */
/* The number of classes. Fails if there are no labels. ints: name of the attribute with the labels if labels are integers */
int64_t class_count(Build *b, const char *ints);
/* at: numbers of classes, i64[rows, 1]. Returns the labels [rows] of these classes. Returns 0 if the labels are strings and the
 * ONNX node omits the first output. */
Ref class_labels(Build *b, const char *ints, Ref at);

#define OPROW(domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg) void fn(Build *b);
#include "optable.h"
#undef OPROW
#endif

/* SPDX-License-Identifier: MIT */
/* build.h: shared by the builders of ONNX operators. A builder turns one node of the ONNX model into nodes of the graph; a Ref is
 * a node of the graph. The driver (builder.c) has already found the operator's row in optable.h, checked the number and types of
 * the inputs, and read the attributes. So a builder only checks shapes and values. Nodes are added to b->ir. */
#ifndef TGC_ONNX_BUILD_H
#define TGC_ONNX_BUILD_H
#include "../../common/pieces.h"
#include "../wire/onnx.h"
#include <string.h>

enum {
  ANY = 1 << 30,    /* in a row: any number of inputs or outputs */
  SOME = ANY - 1,   /* in a row: any number of inputs, of which some may be omitted */
  MAX_ATTRS = 24,   /* most attributes of an operator of optable.h */
  FOLD_ELEMS = 4096 /* elements; integer constants up to this size are evaluated as soon as they are built */
};
#define MAX_ELEMS ((int64_t)1 << 40) /* elements; most of a tensor, of one axis and of a padding */

typedef struct Build Build;
typedef void (*BuildFn)(Build *b);

/* One form of one operator. A form is valid in the opset versions `since` to `until` of the operator's domain.
 * types: a letter for the type of each input; the last letter holds for all further inputs. f: float. i: integer. u: u8. n:
 *   number. b: bool. a: any type. z: string. s: sequence. q: a tensor of any type, a sequence or an optional. ^: the type of the
 *   input before. =: the type of the first input. w: a float. If w is the first letter and the first input is narrower than f32,
 *   the driver widens all inputs to f32 for the builder, and rounds the results once.
 * attrs: a word name:kind for each attribute. Kinds are i int, f float, s string, t tensor, g graph, y type; I, F and S are their
 *   lists. A limit may follow: >=N for an int or for each int of a list, {A|B} for a string. At the end ! says that the
 *   attribute is required, and =V gives the default value V. */
typedef struct OpRow {
  const char *domain, *name; /* domain "": ai.onnx */
  int since, until;
  int in_min, in_max, out_min, out_max; /* least and greatest numbers of inputs and of outputs */
  const char *types, *attrs;
  BuildFn build;      /* for most old forms: an adapter (adapt.c), which turns the node into the newest form */
  int64_t arg;        /* argument for the builder, mostly the Op that it builds */
} OpRow;

/* All rows, from onnx.c */
typedef struct OpTable {
  const OpRow *rows;         /* sorted by name; forms of one operator from the oldest to the newest */
  size_t n;
  const OpForm *refused;     /* the nrefused operators that tgc refuses with a reason (refused.h) */
  size_t nrefused;
  const BuildFn *moves;      /* builders that change no value, so they take any type; NULL ends the list */
  const BuildFn *take_narrow; /* builders that accept the types of small_types.c other than strings; NULL ends the list */
  const BuildFn *take_strings; /* builders that accept strings; NULL ends the list */
} OpTable;

typedef struct AttrVal { /* the value of an attribute; its kind says which of the last fields has it */
  const char *name;   /* the name in the row's attrs, of `len` bytes; no NUL follows */
  size_t len;
  char kind;          /* as in OpRow.attrs */
  bool set;           /* given by the node or by a default */
  size_t n;           /* number of entries of a list */
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

/* A List is a sequence: the first n tensors of `items`. Lists with the same first tensors may share their items. Builders pass a
 * List as a Ref that no node has (LIST_TAG). An optional with an element is the Ref of that element. An optional without one is a
 * List whose n is NOTHING. */
enum { NOTHING = -1 };
typedef struct Items { Ref *p; int64_t n; } Items;
typedef struct List { Items *items; int64_t n; } List;
typedef struct Lists { List *p; size_t n; } Lists;
typedef struct Notes { Ref *p; size_t n; } Notes; /* n values */

/* A ragged result: its size depends on data. It has a fixed number of entries along one axis. A run finds how many of the first
 * ones are valid. name: the result's name. there: bool, one for each entry: it is valid. total: i64 of rank 0, the number
 * of entries that the data gives. room: entries that a bundle's output shows; further ones are cut off. */
typedef struct Count { const char *name; Ref there, total; int64_t room; } Count;
typedef struct Ragged {
  int64_t most;         /* entries that --capacity reserves for a ragged result; 0: the option is not given. Results of TopK
                           and of loops may have other numbers of entries */
  int64_t wanted;       /* entries that such a result has as an output: the number that the option gives. If it is 1, `most` is 2
                           (ragged.c) */
  Count *counts;        /* n ragged results */
  size_t n;
  Ref over;             /* bool of rank 0: a result that is not in counts was cut off; 0: there is no such result */
  uint8_t *axis;        /* by Ref, for Refs below `known`: the axis along which the node has valid and invalid entries, in a
                           code of ragged.c */
  Ref known, room;      /* room: number of Refs for which axis has memory */
} Ragged;
#define LIST_TAG 0x80000000u /* this bit is set in a Ref that is an index into Build.lists */
static inline bool is_list(Ref r) { return r & LIST_TAG; }

/* ZipMap's result is a table. If the labels of its columns are strings, the graph gets them as a further output. table: name of
 * the table; name: of the further output */
typedef struct Keys { const char *table, *name; Ref r; } Keys;
typedef struct KeyList { Keys *p; size_t n; } KeyList;

typedef struct Folded { Ref *p; uint32_t n; } Folded; /* by Ref below n: the WEIGHT with the value; 0: it is not evaluated yet */

struct Build {        /* the state of a builder */
  Ctx *c;
  const OpTable *ops;
  IR *ir;             /* the IR of the graph that is built */
  OnnxModel *m;
  const OnnxNode *n;  /* the ONNX node to build */
  const OpRow *row;   /* the form of its operator */
  Pos at;             /* position of the ONNX node, for messages */
  int nin, nout;
  Ref *in;            /* by input: its value; 0: omitted. Adapters may append inputs, up to the newest form's in_max */
  Ref *out;           /* results of the builder; 0 if the ONNX node has no such output */
  AttrVal attr[MAX_ATTRS];
  int nattr;          /* number of attributes in attr */
  int *narrow;        /* by OnnxId: SmallType.onnx of the value; 0: its type is a DType */
  int result_narrow;  /* SmallType.onnx of the builder's first result */
  Ref *value;         /* by OnnxId: its node; 0: not built yet. For values defined in a body: the node of the current copy */
  int64_t *unrolled;  /* the count that --max-unroll limits (budget.c); nodes_made comes on top of it */
  Ref made_from;      /* first graph node made for the current node of the main graph */
  uint32_t loop_from; /* number of nodes in the IR when the last loop_begin began a loop */
  size_t bytes_from;  /* bytes that the model's arena had handed out before the current node of the main graph */
  Lists *lists;       /* all sequences so far */
  Ragged *ragged;
  KeyList *keys;      /* labels of all ZipMaps so far */
  bool *beyond;       /* set if a body fails because of a limit of tgc, although the model is valid */
  Notes *wrong;       /* bools of rank 0; a run in which one is true had an index out of range. NULL: they are not recorded */
  bool declared_count; /* the shapes that the model declares are right: the user has changed no extent, and --capacity is
                          not given */
  Folded *folded;     /* for a range of sizes: values of constants that stay expressions */
  SortedAxes *sorted; /* LoadOptions.sorted */
  bool sized;         /* the graph is for a range of sizes: its form must not depend on extents (frontends/sized.c) */
  bool doubtful;      /* the ONNX node is in a copy of a loop's body that may come after the loop's end. In such a copy even
                         constant indices may be out of range */
};

static inline int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* results.c: returns the array p of n elements, of `size` bytes each, with room for one more. It lies in the model's arena, and
 * is doubled when n is a power of two. */
void *grown(Build *b, void *p, size_t n, size_t size);

#define bad(b, ...) fail_at((b)->c, EX_BADMODEL, (b)->at, __VA_ARGS__)
/* Call too_much for a model that is valid but exceeds a limit of tgc. In a side of an If, `bad` only makes tgc drop the side, as
 * one that never runs; `too_much` makes tgc refuse the model. */
#define too_much(b, ...) (*(b)->beyond = true, bad(b, __VA_ARGS__))

/* ---- builder.c: builds one ONNX node after the other ---- */
Graph *build_graph(Ctx *c, const OpTable *ops, OnnxModel *m, const LoadOptions *o);
void become(Build *b, const char *op);          /* makes b->row ai.onnx's newest form of op; keeps attributes of equal names */
void build_newest(Build *b);                    /* builds the ONNX node by the newest form of its operator's name in ai.onnx */
/* The result of the operator op of ai.onnx for nin inputs. n attributes are given; the others have their defaults. */
Ref apply_op(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs);
/* the same for an operator with nout results, which go to `out` */
void apply_op_outs(Build *b, const char *op, int nin, const Ref *in, int n, const AttrVal *attrs, int nout, Ref *out);
/* Builds a copy of a body: the graph g in an attribute of an If, Loop or Scan. in: values of its inputs; out: gets its results */
void build_body(Build *b, const OnnxGraph *g, const Ref *in, Ref *out);

/* ---- budget.c ---- */
/* Adds n to the count that --max-unroll limits. Fails if the sum of the count and of nodes_made exceeds the limit. A builder that
 * makes as many copies as the model says calls this function before it allocates memory for them. It calls it again in each copy,
 * mostly with n = 0. */
void spend(Build *b, int64_t n);
bool unrolled_too_far(const Build *b);          /* whether that sum exceeds the limit */
int64_t nodes_made(const Build *b);             /* nodes, or memory for as many, made for the main graph's current ONNX node */
/* ---- loops of the graph, of `trips` iterations ----
 * loop_begin: begins a loop and returns its number. -1: the builder shall copy the body for each iteration, because there are few
 * iterations, another loop is being built, or a limit is reached. loop_end: ends the loop. loop_spend: adds to the count for the
 * calls of the loop's kernels, which tgc lists for all iterations. A call counts less than a copied node. */
int loop_begin(Build *b, int64_t trips);
void loop_end(Build *b);
void loop_spend(Build *b, int64_t trips);

/* ---- args.c ---- */
static inline bool word_is(const char *p, size_t len, const char *word) { return strlen(word) == len && !memcmp(p, word, len); }
bool attr_set(const Build *b, const char *name); /* given by the ONNX node or by a default */
int64_t attr_int(const Build *b, const char *name); /* 0 if not set */
double attr_float(const Build *b, const char *name); /* 0 if not set */
bool attr_is(const Build *b, const char *name, const char *value); /* the attribute is the string `value` */
const int64_t *attr_ints(const Build *b, const char *name, int *n); /* its *n ints; NULL: not set */
AttrVal *attr_find(Build *b, const char *name); /* set or not */
void set_string(Build *b, const char *name, const char *value); /* sets an attribute of kind string */
static inline const Node *in_node(const Build *b, int k) { return node(b->ir, b->in[k]); }
static inline DType in_dt(const Build *b, int k) { return (DType)in_node(b, k)->dt; }
static inline bool has_in(const Build *b, int k) { return k >= 0 && k < b->nin && b->in[k]; }

int in_narrow(const Build *b, int k);           /* SmallType.onnx of input k, or 0 */
Ref scalar_in(Build *b, int k);                 /* input k, which has one element, as a value of rank 0 */

/* ---- inputs that must be constant. name: the input's name in the operator's documentation, for messages ---- */
bool const_tensor(Build *b, Ref r, Tensor *t);  /* gets the value of r; false: r depends on an input of the graph */
const int64_t *const_ints(Build *b, int k, const char *name, int *n); /* the *n integers of input k; fails if not constant */
const double *const_floats(Build *b, int k, const char *name, int *n); /* the *n floats of input k; fails if not constant */
const char *input_behind(const Build *b, Ref r); /* the name of an input of the graph on which r depends */
int64_t tensor_int(const Tensor *t, int64_t i); /* element i */
double tensor_float(const Tensor *t, int64_t i);
int axis_of(Build *b, int64_t axis, int rank);  /* the axis from 0 on; a negative one counts from the end; fails out of range */
uint32_t axes_of(Build *b, const int64_t *axes, int n, int rank); /* the n axes as a mask of bits; fails if an axis repeats */

/* ---- results.c ---- */
void wrong_if(Build *b, Ref flags);             /* a run in which one of these bools is true reports an index out of range */
void check_dims(Build *b, int rank, const int64_t *dims); /* fails above USER_RANK or MAX_ELEMS */
char *dims_text(Build *b, const int64_t *dims, int rank); /* "[2,3]", for messages */
int64_t elems_mul(Build *b, int64_t x, int64_t y); /* x * y, for numbers >= 0; fails above MAX_ELEMS */
Ref to_shape(Build *b, Ref x, int rank, const int64_t *dims); /* x broadcast to this shape; fails if x does not broadcast to it */
void check_broadcast(Build *b, int n, const Ref *xs); /* fails if the shapes of these n values do not broadcast */
Ref ints_ref(Build *b, int n, const int64_t *v); /* constant i64[n] */
static inline Ref tensor_ref(Build *b, DType d, int rank, const int64_t *dims, const void *data) { /* data is copied */
  return g_tensor(b->ir, d, rank, dims, data);
}
static inline Ref floats_ref(Build *b, DType d, int rank, const int64_t *dims, const double *v) {
  return g_floats(b->ir, d, rank, dims, v);
}
Ref type_limit(IR *ir, DType d, bool high);     /* +-inf, or the greatest or least integer */
Ref bitcast(Build *b, Ref x, DType d);          /* the bits of x as type d, which is as wide */
Ref clamp_index(Build *b, Ref index, int64_t extent); /* i64, clamped into 0..extent - 1; extent > 0 */
Ref cat_all(Build *b, int64_t n, Ref *xs, int axis); /* concatenates n > 0 values; overwrites xs */
/* x with lo[i] elements before and hi[i] behind those of axis first + i, for i < n. The new elements have the value `fill` */
Ref pad_axes(IR *ir, Ref x, int first, int n, const int64_t *lo, const int64_t *hi, Ref fill);
DType acc_type(DType d);                        /* type in which values of d are summed: f32 for f16 and bf16, else d */
static inline Ref num(Build *b, Ref like, double v) { return c_float(b->ir, (DType)node(b->ir, like)->dt, v); }
static inline Ref add(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_ADD, x, y); }
static inline Ref integer(Build *b, int64_t v) { return c_int(b->ir, DT_I64, v); }
/* x, marked to be stored in memory, so that elements that are read more than once are computed once. In the body of a loop: x
 * itself */
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

/* ---- small_values.c: values of the small types of small_types.c, such as float8. They are computed in the type SmallType.kept.
 * saturate: numbers beyond the range become the greatest or least one of the type ---- */
Ref narrowed(Build *b, const SmallType *t, Ref x, bool saturate); /* x rounded to type t */
Ref narrow_range(Build *b, const SmallType *t, Ref x); /* x clamped to the range of t, an integer type */
Ref narrowed_power(Build *b, Ref x, bool saturate); /* x rounded to float8e8m0, as the attribute round_mode of a Cast says */
Ref narrow_from_bytes(Build *b, const SmallType *t, Ref bytes); /* the values whose codes `bytes` has, one element a byte */
Ref narrow_to_bytes(Build *b, const SmallType *t, Ref x); /* the codes of x, one element a byte */

/* ---- strings.c: a tensor of strings is a tensor of bytes with one more axis, the last. Along this axis a row is one string: its
 * bytes, and then zeros. A string without zeros fills its row. ---- */
Ref strings_ended(Build *b, Ref bytes);         /* the rows, with zeros in all places behind the first zero */
Ref string_lengths(Build *b, Ref x);            /* bytes of each string: i64, with extent 1 along the last axis */
Ref strings_wide(Build *b, Ref x, int64_t width); /* x with zeros behind each row, up to this width in bytes */
Ref string_table(Build *b, const Bytes *s, int64_t n); /* the constant of n strings: u8[n, width of the longest] */
Ref strings_taken(Build *b, Ref table, Ref index); /* the strings of table u8[n, width], n > 0, with these indices: i64 */
Ref strings_equal(Build *b, Ref x, Ref y);      /* whether the strings are equal: bool; the shapes are broadcast */
/* For each string of x: the index of the first of the n strings of `keys` that equals it, or n. i64 of the shape of x, without
 * the last axis */
Ref string_places(Build *b, Ref x, Ref keys);
static inline int64_t string_width(const Build *b, Ref x) { return node(b->ir, x)->dims[node(b->ir, x)->rank - 1]; }
bool strings_move(const OpRow *row);            /* the operator moves elements, so it takes strings */
/* Builds an ONNX node that moves strings: it moves indices of the strings, by which a gather then selects the strings. False: the
 * ONNX node has no strings among its inputs, or its operator is of another kind */
bool build_strings(Build *b);

/* ---- numeral_ops.c ---- */
Ref text_of_numbers(Build *b, Ref x);           /* strings of integers, bools or floats */
Ref numbers_of_text(Build *b, Ref x, DType d);  /* numbers in strings; a text that is no number counts as an index out of range */

/* ---- move_ops.c: pieces that other builders use ---- */
static inline Ref take(Build *b, Ref x, int axis, const int64_t *index, int64_t n) { return g_take(b->ir, x, axis, index, n); }
Ref moved_channels(Build *b, Ref x, bool to_front); /* moves the last axis to axis 1, or axis 1 to the end */

/* ---- make_ops.c ---- */
/* Element i of the result combines, by op, the elements of x up to i along the axis. exclusive: only those up to i - 1. reverse:
 * the elements from the end down to i */
Ref cumulative(Build *b, Op op, Ref x, int axis, bool exclusive, bool reverse);

/* ---- gather_ops.c ---- */
/* The index as i64 from 0 on; a negative one counts from the end. Build.wrong records whether one is out of range. */
Ref wrap_index(Build *b, Ref index, int64_t extent);
/* Each element is that of `old`, except where 0 <= `at` < n: there it is the element of `rows` whose index along the axis is
 * `at`. rows has n > 0 elements along the axis; `at` is i64; `old` may have rank 0. */
Ref write_rows(Build *b, Ref old, Ref rows, Ref at, int axis);
size_t wrong_noted(const Build *b);             /* number of values in Build.wrong */
/* makes the values from..to - 1 of Build.wrong count only if the bool `cond` equals `value` */
void wrong_only_if(Build *b, size_t from, size_t to, Ref cond, bool value);

/* ---- capacity_ops.c: operators whose result size depends on data; the results have as many rows as --capacity says ---- */
int64_t need_capacity(const Build *b);          /* Ragged.most; fails if --capacity is not given */
/* Records that the first `total` rows of the ONNX node's result are valid. Returns bool[Ragged.most]:
 * for each row, whether it is valid */
Ref counted_rows(Build *b, Ref total);
void nonzero_of_data(Build *b);                 /* builds NonZero */
void compress_by_data(Build *b, Ref from, int axis); /* builds Compress; from: its input */

/* ---- ragged.c ---- */
/* Records that the ONNX node's first result is ragged. The arguments are the fields of its Count. */
void add_count(Build *b, Ref there, Ref total, int64_t room);
void add_count_of(Build *b, uint32_t out, Ref there, Ref total, int64_t room); /* the same for result `out`, which has a name */
void note_overflow(Build *b, Ref over);         /* a run where `over` is true returns TGCRT_CAPACITY */
/* Fails if one of the axes from..to - 1 of r has an extent that depends on data */
void check_counts(Build *b, Ref r, int64_t from, int64_t to);
bool has_ragged(Build *b, Ref r);               /* whether some entries of r may be invalid */
/* r cut to Ragged.wanted entries; fails if an operator has mixed invalid entries with valid ones */
Ref checked_ragged(Build *b, Ref r);

/* ---- declared.c: inputs that decide the shape of a result, such as that of Reshape, and are not constant ---- */
bool is_known(Build *b, int k);                   /* whether input k is constant */
/* The shape that the model declares for result number `out`; NULL: the model does not declare all of it */
const int64_t *declared_dims(Build *b, int out, int *rank);
typedef enum { WILD_NONE, WILD_LOW, WILD_ONE } Wild; /* values that fit any extent: none; 0 and less; 1 */
/* If input k is constant: the same as const_ints. Otherwise the `count` values `implied`, which follow from the declared shape. A
 * run whose input differs from them reports an index out of range. The check skips entries whose implied value is negative,
 * and input values that fit any extent (wild). implied NULL: nothing follows from the declared shape, and the function fails */
const int64_t *implied_ints(Build *b, int k, const char *name, int *n, Wild wild, const int64_t *implied, int count);
/* implied_ints with the declared shape of result 0, and with the extent that is declared for result 0 on this axis */
const int64_t *shape_ints(Build *b, int k, const char *name, int *n, Wild wild);
const int64_t *extent_int(Build *b, int k, const char *name, int *n, int axis);

/* ---- lists.c: sequences and optionals. Each tensor of a list that the model takes or gives is an input or output of the
 * graph ---- */
Ref list_ref(Build *b, Items *items, int64_t n);  /* the first n of the items */
void list_push(Build *b, Items *items, Ref r);    /* appends r to the items */
Ref new_list(Build *b, int64_t n, const Ref *r);  /* a sequence of n tensors */
Ref nothing(Build *b);                            /* an optional without an element */
bool has_nothing(const Build *b, Ref r);          /* whether r is an optional without an element */
/* The n tensors `element` that replace input `id` of the model; n NOTHING: an optional without an element */
typedef struct ListInput { OnnxId id; const OnnxId *element; int64_t n; } ListInput;
typedef struct ListInputs { ListInput *p; size_t n; } ListInputs;
/* Replaces sequences and optionals among the model's inputs by their tensors */
ListInputs lists_expand(Build *b, const LoadOptions *o);
void lists_join(Build *b, const ListInputs *l);   /* makes the sequences and optionals again, once their tensors have values */

/* ---- sort_ops.c ---- */
Ref greater(IR *ir, Ref x, Ref y);              /* x > y, where NaN counts as the greatest value */
Ref order_keys(Build *b, Ref x);                /* for each element an i64 in the range of 32 bits, in the same order as x */
Ref entries_up_to(Build *b, Ref sorted, Ref value); /* i64: number of entries <= value along the last axis, which ascends */
/* flags: bool[rows, n]. Returns i64[rows, k]. Element j of a row is the index of the row's j-th true flag, counted from 0; n if
 * there is none. *total: i64[rows, 1], number of true flags of each row */
Ref places_of_true(Build *b, Ref flags, int64_t k, Ref *total);

/* ---- reduce_ops.c ---- */
Ref softmax(Build *b, Ref x, int axis, bool log); /* log: the logarithm of the softmax */

/* Both normalise over the last axis; epsilon is an attribute of the ONNX node. bias 0: none */
Ref layer_norm(Build *b, Ref x, Ref scale, Ref bias);
Ref rms_norm(Build *b, Ref x, Ref scale);

/* ---- window_ops.c ---- */
/* The convolution of x [batch, channels, spatial axes..] with weights [maps, channels / groups, kernel axes..], by the attributes
 * of Conv that the ONNX node has. x and weights have a type that acc_type returns. */
Ref conv(Build *b, Ref x, Ref weights);
Ref add_bias(Build *b, Ref y, int k);           /* y plus input k, which has one entry for each channel of y */
/* Copies the `want` entries of an attribute to `to`; each is `fill` if the attribute is not set */
void ints_into(Build *b, const char *name, int want, int64_t fill, int64_t *to);

/* ---- matmul_ops.c ---- */
Ref matmul(Build *b, Ref a, Ref w);             /* a[.., m, k] times w[.., k, n]; vectors are treated as in NumPy */
Ref turned(Build *b, Ref x, const char *flag);  /* x, with its last two axes swapped if the attribute `flag` is not 0 */

/* ---- quant_ops.c ---- */
/* The product of two matrices, x and w. x has floats, which are first quantised to 8 bits by their own range. w has integers with
 * this scale and zero point. */
Ref dynamic_product(Build *b, Ref x, Ref w, Ref scale, Ref zero);
/* Unpacks the bytes q[n, bytes] into [n, count] values of `bits` bits each; the lowest bits of a byte come first */
Ref unpack_bits(IR *ir, Ref q, int64_t n, int64_t count, int64_t bits);
/* The product of two matrices of integers: inputs number a and w, each minus its zero point (inputs az and wz). The product is
 * multiplied by both scales; then input `bias` is added. */
Ref integer_product(Build *b, int a, int az, Ref a_scale, int w, int wz, Ref w_scale, int bias);

/* ---- learn_ops.c: classifiers; scores are [rows, classes] ---- */
Ref feature_rows(Build *b, Ref x);              /* x as [rows, columns]; a vector becomes one row */
Ref best_class(Build *b, Ref scores);           /* by row, the number of the class with the greatest score: i64[rows, 1] */
Ref transformed(Build *b, Ref scores, const char *how); /* how: a value of the attribute post_transform */
int64_t class_count(Build *b, const char *ints); /* number of classes; ints: name of the attribute with integer labels */
/* The labels, as [rows], of the classes whose numbers are in `at`, i64[rows, 1]. Returns 0 if the labels are strings and the
 * ONNX node's output is not used. */
Ref class_labels(Build *b, const char *ints, Ref at);

#define OPROW(domain, name, since, until, imin, imax, omin, omax, types, attrs, fn, arg) void fn(Build *b);
#include "optable.h"
#undef OPROW
#endif

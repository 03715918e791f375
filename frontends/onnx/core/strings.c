/* SPDX-License-Identifier: MIT */
/* strings.c: tensors of strings in a graph. A string is a row of bytes, filled up with zeros; so a tensor of strings is one of
 * u8 with one more axis. The rest of the compiler sees bytes only.
 *
 * * Operators that move elements need no code of their own. build_strings numbers all strings of a node's inputs, and runs the
 * builder on the numbers. The steps that moved the numbers then move the bytes, which have one more axis. Where a step does
 * more, such as a scatter, the numbers select rows of a table of all strings. */
#include "build.h"

enum { TABLE_MOST = 64 << 20 }; /* bytes of a table of strings; as many as a small file may decode to (--max-decoded) */

Ref string_lengths(Build *b, Ref x) {
  IR *ir = b->ir;
  const int rank = node(ir, x)->rank;
  const int64_t width = string_width(b, x);
  Ref end = g_binary(ir, OP_CMPEQ, x, c_int(ir, DT_U8, 0)), at = iota_axis(ir, DT_I64, width, rank - 1, rank);
  return g_reduce(ir, OP_MIN, g_where(ir, end, at, integer(b, width)), 1u << (rank - 1));
}

Ref strings_ended(Build *b, Ref bytes) {
  IR *ir = b->ir;
  const int rank = node(ir, bytes)->rank;
  Ref at = iota_axis(ir, DT_I64, string_width(b, bytes), rank - 1, rank);
  return g_where(ir, g_binary(ir, OP_CMPLT, at, string_lengths(b, bytes)), bytes, c_int(ir, DT_U8, 0));
}

Ref strings_wide(Build *b, Ref x, int64_t width) {
  const int64_t lo = 0, hi = width - string_width(b, x);
  return hi > 0 ? pad_axes(b->ir, x, node(b->ir, x)->rank - 1, 1, &lo, &hi, c_int(b->ir, DT_U8, 0)) : x;
}

Ref string_table(Build *b, const Bytes *s, int64_t n) {
  int64_t width = 1;
  for (int64_t i = 0; i < n; i++) {
    if (s[i].n > STRING_MOST) bad(b, "a string of %zu bytes is over the limit of %d", s[i].n, STRING_MOST);
    if ((int64_t)s[i].n > width) width = (int64_t)s[i].n;
  }
  if (elems_mul(b, n, width) > TABLE_MOST)
    bad(b, "%lld strings in rows of %lld bytes take more than %d bytes", (long long)n, (long long)width, TABLE_MOST);
  char *bytes = ARENA_NEW(&b->c->model, char, n *width + 1);
  for (int64_t i = 0; i < n; i++)
    if (s[i].n) memcpy(bytes + i * width, s[i].p, s[i].n);
  return tensor_ref(b, DT_U8, 2, (int64_t[]){ n, width }, bytes);
}

/* The shape of a tensor of strings, without the axis of bytes; returns its rank. */
static int shape_of(const Build *b, Ref x, int64_t *dims) {
  const Node *n = node(b->ir, x);
  for (int i = 0; i + 1 < n->rank; i++) dims[i] = n->dims[i];
  return n->rank - 1;
}

Ref strings_taken(Build *b, Ref table, Ref index) {
  IR *ir = b->ir;
  const Node *x = node(ir, index);
  int64_t dims[MAX_RANK];
  const int rank = x->rank;
  for (int i = 0; i < rank; i++) dims[i] = x->dims[i];
  dims[rank] = string_width(b, table);
  Ref rows = g_gather(ir, table, g_reshape(ir, index, 2, (int64_t[]){ dims_elems(dims, rank), 1 }), 0);
  return g_reshape(ir, rows, rank + 1, dims);
}

Ref strings_equal(Build *b, Ref x, Ref y) {
  IR *ir = b->ir;
  const int64_t wx = string_width(b, x), wy = string_width(b, y);
  Ref same = g_binary(ir, OP_CMPEQ, strings_wide(b, x, wy), strings_wide(b, y, wx));
  const int last = node(ir, same)->rank - 1;
  return without_axes(ir, g_reduce(ir, OP_MIN, same, 1u << last), 1u << last);
}

Ref string_places(Build *b, Ref x, Ref keys) {
  IR *ir = b->ir;
  int64_t dims[MAX_RANK], n = node(ir, keys)->dims[0], width = string_width(b, x);
  const int rank = shape_of(b, x, dims);
  const int64_t count = dims_elems(dims, rank);
  elems_mul(b, elems_mul(b, n, count), width);
  Ref rows = g_reshape(ir, x, 3, (int64_t[]){ count, 1, width });
  Ref hit = strings_equal(b, rows, g_reshape(ir, keys, 3, (int64_t[]){ 1, n, string_width(b, keys) }));
  Ref at = g_reduce(ir, OP_MIN, g_where(ir, hit, iota_axis(ir, DT_I64, n, 1, 2), integer(b, n)), 2);
  return g_reshape(ir, at, rank, dims);
}

/* ---- operators that move elements ---- */
/* fills: results may hold strings that no input has, which are empty. counts: results are numbers */
/* clang-format off */
static const struct Mover { const char *name; bool fills, counts; } movers[] = {
  { "ArrayFeatureExtractor", 0, 0 }, { "CenterCropPad", 1, 0 }, { "Compress", 1, 0 }, { "Concat", 0, 0 }, { "DepthToSpace", 0, 0 },
  { "Expand", 0, 0 }, { "ExpandDims", 0, 0 }, { "Flatten", 0, 0 }, { "Gather", 0, 0 }, { "GatherElements", 0, 0 }, { "GatherND", 0, 0 },
  { "Identity", 0, 0 }, { "Pad", 1, 0 }, { "Reshape", 0, 0 }, { "ReverseSequence", 0, 0 }, { "Scatter", 0, 0 },
  { "ScatterElements", 0, 0 }, { "ScatterND", 0, 0 }, { "Shape", 0, 1 }, { "Size", 0, 1 }, { "Slice", 0, 0 }, { "SpaceToDepth", 0, 0 },
  { "Split", 0, 0 }, { "Squeeze", 0, 0 }, { "Tile", 0, 0 }, { "Transpose", 0, 0 }, { "Unsqueeze", 0, 0 }, { "Where", 0, 0 },
};
/* clang-format on */

static const struct Mover *mover_of(const char *name) {
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (!strcmp(movers[i].name, name)) return &movers[i];
  return NULL;
}

bool strings_move(const OpRow *row) { return mover_of(row->name) != NULL; }

/* The letter of input k in the row */
static char letter_of(const Build *b, int k) {
  const int n = (int)strlen(b->row->types);
  return n ? b->row->types[k < n ? k : n - 1] : 0;
}

/* Fails where the operator wants a number at an input of strings, or a string beside them. Results and values of an operator
 * have one type, so an input that is no index holds strings if another one does. */
static void check_strings(Build *b, const bool *is) {
  int some = -1, other = -1;
  for (int k = 0; k < b->nin; k++) {
    const char letter = letter_of(b, k);
    const bool moved = letter == 'a' || letter == '^' || letter == '=' || letter == 'q';
    if (is[k] && !moved) bad(b, "input %d is string, expected a number", k);
    if (has_in(b, k) && moved) *(is[k] ? &some : &other) = k;
  }
  if (some >= 0 && other >= 0) bad(b, "input %d is string, but input %d is not", some, other);
}

/* The strings of a node's inputs. Part i holds the strings whose numbers are number[i], i64 of rank 1. A part without numbers
 * fills results. */
typedef struct Numbered {
  Ref *part, *number; /* part: u8[strings, width] */
  int n;
  int64_t width;
  bool fills; /* string 0 is empty, and fills results */
} Numbered;

/* Puts numbers in place of strings among the inputs. */
static Numbered numbered(Build *b, const bool *is, bool fills) {
  IR *ir = b->ir;
  Numbered s = { ARENA_NEW(&b->c->model, Ref, b->nin + 1), ARENA_NEW(&b->c->model, Ref, b->nin + 1), 0, 1, fills };
  int64_t rows = 0;
  for (int k = 0; k < b->nin; k++)
    if (is[k] && string_width(b, b->in[k]) > s.width) s.width = string_width(b, b->in[k]);
  if (fills) s.part[s.n++] = g_expand(ir, c_int(ir, DT_U8, 0), 2, (int64_t[]){ rows = 1, s.width });
  for (int k = 0; k < b->nin; k++) {
    int64_t dims[MAX_RANK];
    if (!is[k]) continue;
    const int rank = shape_of(b, b->in[k], dims);
    const int64_t count = dims_elems(dims, rank);
    const Ref number = add(b, g_iota(ir, DT_I64, count), integer(b, rows));
    if (count) s.part[s.n] = g_reshape(ir, strings_wide(b, b->in[k], s.width), 2, (int64_t[]){ count, s.width });
    if (count) s.number[s.n++] = number;
    b->in[k] = g_reshape(ir, number, rank, dims);
    rows += count;
  }
  return s;
}

enum { STEPS_MOST = 32 }; /* movements one after the other in a builder */

/* The movements that made the numbers r, of the bytes; the rows are the last axis. 0: something else made them */
static Ref bytes_moved(Build *b, const Numbered *s, Ref r, int steps) {
  IR *ir = b->ir;
  const Node *x = node(ir, r);
  const int rank = x->rank;
  int64_t dims[MAX_RANK], value, arg[2 * MAX_RANK], more[MAX_RANK] = { 0 };
  Ref *src = ARENA_NEW(&b->c->model, Ref, x->nsrc + 1);
  for (int i = 0; i < s->n; i++)
    if (s->number[i] == r) return s->part[i];
  if (rank >= MAX_RANK || !steps) return 0;
  for (int a = 0; a < rank; a++) dims[a] = x->dims[a];
  dims[rank] = s->width;
  if (s->fills && node_is_const(ir, r, &value) && !value) return g_expand(ir, c_int(ir, DT_U8, 0), rank + 1, dims);
  const int from = x->op == OP_WHERE, to = x->op == OP_GATHER || x->op == OP_PAD ? 1 : x->nsrc;
  for (int k = from; k < to; k++) {
    src[k] = bytes_moved(b, s, x->src[k], steps - 1);
    if (!src[k]) return 0;
  }
  switch ((Op)x->op) {
  case OP_RESHAPE: return g_reshape(ir, src[0], rank + 1, dims);
  case OP_EXPAND: return g_expand(ir, src[0], rank + 1, dims);
  case OP_CAT: return g_cat(ir, x->nsrc, src, (int)cat_axis(x));
  case OP_PERMUTE:
    for (int a = 0; a < rank; a++) arg[a] = permute_perm(x, a);
    arg[rank] = rank;
    return g_permute(ir, src[0], arg);
  case OP_SHRINK:
    for (int a = 0; a < rank; a++) arg[a] = shrink_begin(x, a), more[a] = shrink_step(x, a);
    arg[rank] = 0, more[rank] = 1;
    return g_shrink(ir, src[0], arg, more, dims);
  case OP_PAD:
    if (!s->fills || !node_is_const(ir, pad_fill(x), &value) || value) return 0;
    for (int a = 0; a < rank; a++) arg[a] = pad_lo(x, a), more[a] = pad_hi(x, a);
    return pad_axes(ir, src[0], 0, rank, arg, more, c_int(ir, DT_U8, 0));
  case OP_GATHER:
  case OP_WHERE: /* the index and the condition are the same for all bytes of a string */
    for (int a = 0; a < rank; a++) arg[a] = node(ir, x->src[x->op == OP_GATHER])->dims[a];
    arg[rank] = 1;
    if (x->op == OP_WHERE) return g_where(ir, g_reshape(ir, where_cond(x), rank + 1, arg), src[1], src[2]);
    return g_gather(ir, src[0], g_reshape(ir, gather_index(x), rank + 1, arg), (int)gather_axis(x));
  default: return 0;
  }
}

/* The strings whose numbers are r */
static Ref strings_of(Build *b, Numbered *s, Ref r) {
  IR *ir = b->ir;
  const Node *x = node(ir, r);
  int64_t dims[MAX_RANK] = { 0 };
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[x->rank] = s->width;
  if (!dims_elems(x->dims, x->rank)) return g_expand(ir, c_int(ir, DT_U8, 0), x->rank + 1, dims);
  const Ref moved = bytes_moved(b, s, r, STEPS_MOST);
  return moved ? moved
               : strings_taken(b, cat_all(b, s->n, arena_dup(&b->c->model, s->part, (size_t)s->n * sizeof *s->part), 0), r);
}

bool build_strings(Build *b) {
  const struct Mover *m = mover_of(b->row->name);
  bool some = false, *is = ARENA_NEW(&b->c->model, bool, b->nin + 1);
  for (int k = 0; m && k < b->nin; k++) is[k] = in_narrow(b, k) == ONNX_STRING, some |= is[k];
  if (!some) return false;
  check_strings(b, is);
  for (int i = 0; i < b->nattr; i++)
    if (word_is(b->attr[i].name, b->attr[i].len, "reduction") && strcmp(b->attr[i].s, "none") != 0)
      bad(b, "reduction '%s' cannot combine strings", b->attr[i].s);
  Numbered all = numbered(b, is, m->fills);
  b->row->build(b);
  b->result_narrow = m->counts ? 0 : ONNX_STRING;
  for (int k = 0; k < b->nout && !m->counts; k++) {
    if (!b->out[k]) continue;
    const Node *x = node(b->ir, b->out[k]);
    if (x->rank > USER_RANK) bad(b, "the result has rank %d, over the limit of %d", x->rank, USER_RANK);
    b->out[k] = strings_of(b, &all, b->out[k]);
  }
  return true;
}

/* SPDX-License-Identifier: MIT */
/* string_ops.c: operators on strings. A string is a row of bytes (core/strings.c). For each byte of a result, a builder computes
 * the place of that byte in its source, and takes it from there. */
#include "../../common/regex.h"
#include "../core/build.h"

static Ref byte(Build *b, int v) { return c_int(b->ir, DT_U8, v); }
static Ref less(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_CMPLT, x, y); }
static Ref equal(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_CMPEQ, x, y); }
static Ref either(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_OR, x, y); }
static Ref not(Build * b, Ref x) { return g_unary(b->ir, OP_NOT, x); }

static int64_t strings_in(const Build *b, int k) { return dims_elems(in_node(b, k)->dims, in_node(b, k)->rank - 1); }

/* Input k as [strings, width] */
static Ref rows_in(Build *b, int k) {
  return g_reshape(b->ir, b->in[k], 2, (int64_t[]){ strings_in(b, k), string_width(b, b->in[k]) });
}

/* x [strings, rest..] in the shape of input 0 followed by `rest` axes of x */
static Ref shaped(Build *b, Ref x, int rest) {
  int64_t dims[MAX_RANK];
  const Node *n = node(b->ir, x);
  const int rank = in_node(b, 0)->rank - 1;
  for (int i = 0; i < rank; i++) dims[i] = in_node(b, 0)->dims[i];
  for (int i = 0; i < rest; i++) dims[rank + i] = n->dims[n->rank - rest + i];
  return g_reshape(b->ir, x, rank + rest, dims);
}

/* Elements of x along its last axis, by places of any width; 0 where a place is no less than `end` */
static Ref bytes_at(Build *b, Ref x, Ref at, Ref end) {
  Ref there = less(b, at, end);
  return g_where(b->ir, there, g_gather(b->ir, x, clamp_index(b, at, string_width(b, x)), node(b->ir, x)->rank - 1), byte(b, 0));
}

void op_equal(Build *b) {
  const bool x = in_narrow(b, 0) == ONNX_STRING, y = in_narrow(b, 1) == ONNX_STRING;
  if (!x && !y) {
    op_binary(b);
    return;
  }
  if (!x || !y) bad(b, "input %d is string, but input %d is not", y, x);
  for (int k = 0; k < 2; k++) b->in[k] = strings_wide(b, b->in[k], string_width(b, b->in[!k]));
  check_broadcast(b, 2, b->in);
  b->out[0] = strings_equal(b, b->in[0], b->in[1]);
}

/* ---- StringConcat: the result has room for both strings ---- */
void op_string_concat(Build *b) {
  IR *ir = b->ir;
  const int64_t wx = string_width(b, b->in[0]), width = wx + string_width(b, b->in[1]);
  if (width > STRING_MOST)
    bad(b, "strings of the result have up to %lld bytes, over the limit of %d", (long long)width, STRING_MOST);
  for (int k = 0; k < 2; k++) b->in[k] = strings_wide(b, b->in[k], width);
  check_broadcast(b, 2, b->in);
  Ref x = b->in[0], y = b->in[1], both_shapes = g_binary(ir, OP_MAX, x, y);
  const int rank = node(ir, both_shapes)->rank;
  x = g_expand(ir, x, rank, node(ir, both_shapes)->dims);
  y = g_expand(ir, y, rank, node(ir, both_shapes)->dims);
  Ref place = iota_axis(ir, DT_I64, width, rank - 1, rank), length = stored(b, string_lengths(b, x));
  Ref from_y = g_gather(ir, y, clamp_index(b, sub(b, place, length), width), rank - 1);
  b->out[0] = g_where(ir, less(b, place, length), x, from_y);
  b->result_narrow = ONNX_STRING;
}

/* ---- RegexFullMatch: one step of an automaton for each byte ---- */
typedef struct Match {
  Ref table, classes;
  int64_t strings;
} Match;

/* The state behind a byte of class `read`; both [strings, 1] */
static Ref match_step(Build *b, const Match *m, Ref state, Ref read) {
  IR *ir = b->ir;
  Ref at = g_reshape(ir, add(b, mul(b, state, m->classes), read), 1, &m->strings);
  return g_reshape(ir, g_cast(ir, g_gather(ir, m->table, at, 0), DT_I64), 2, (int64_t[]){ m->strings, 1 });
}

/* The state behind all bytes. read: [strings, width], classes of bytes */
static Ref match_all(Build *b, const Match *m, Ref read) {
  IR *ir = b->ir;
  const int64_t width = string_width(b, read), dims[2] = { m->strings, 1 };
  Ref state = g_expand(ir, g_reshape(ir, integer(b, 0), 2, (int64_t[]){ 1, 1 }), 2, dims);
  const int loop = loop_begin(b, width);
  if (loop < 0) {
    for (int64_t i = 0; i < width; i++) {
      spend(b, 0);
      state = match_step(b, m, state, shrink_axis(ir, read, 1, i, 1, 1));
    }
    return state;
  }
  state = g_carried(ir, loop, 0, state);
  Ref one = g_reshape(ir, g_slice(ir, loop, g_stored(ir, read), 1, false), 2, dims);
  Ref next = g_yield(ir, loop, 0, match_step(b, m, state, one));
  loop_end(b);
  return g_result(ir, g_iterate(ir, loop, width, 0, 1, &next), 0);
}

/* The table has one more class, for the zeros behind a string, which lead nowhere else. */
void op_regex_full_match(Build *b) {
  IR *ir = b->ir;
  const AttrVal *pattern = attr_find(b, "pattern");
  Dfa d;
  const char *why = regex_compile(&b->c->model, pattern->s, strlen(pattern->s), &d);
  if (why) bad(b, "pattern '%.200s' cannot be compiled: %s", pattern->s, why);
  const int64_t classes = d.classes + 1, entries = d.states * classes, states = d.states;
  uint16_t *table = ARENA_NEW(&b->c->model, uint16_t, entries);
  int64_t class_of[256];
  for (int s = 0; s < d.states; s++)
    for (int k = 0; k < classes; k++) table[s * classes + k] = (uint16_t)(k ? d.next[s * d.classes + k - 1] : s);
  for (int v = 0; v < 256; v++) class_of[v] = v ? d.class_of[v] + 1 : 0;
  const Match m = { tensor_ref(b, DT_U16, 1, &entries, table), integer(b, classes), strings_in(b, 0) };
  if (!m.strings) {
    b->out[0] = shaped(b, g_expand(ir, c_int(ir, DT_BOOL, 0), 1, &m.strings), 0);
    return;
  }
  const int64_t width = string_width(b, b->in[0]), all = m.strings * width;
  Ref bytes = g_cast(ir, g_reshape(ir, b->in[0], 1, &all), DT_I64);
  Ref read = g_reshape(ir, g_gather(ir, ints_ref(b, 256, class_of), bytes, 0), 2, (int64_t[]){ m.strings, width });
  Ref last = g_reshape(ir, match_all(b, &m, read), 1, &m.strings);
  b->out[0] = shaped(b, g_gather(ir, tensor_ref(b, DT_BOOL, 1, &states, d.accepts), clamp_index(b, last, states), 0), 0);
}

/* ---- StringSplit ---- */
typedef struct Pieces {
  Ref start, end, total;
} Pieces; /* i64[strings, most], and [strings, 1]: how many a string has */

/* Positions of true flags, up to k of each string; the end of the string where there are fewer */
static Ref positions(Build *b, Ref flags, int64_t k, Ref length, Ref *total) {
  return g_binary(b->ir, OP_MIN, places_of_true(b, stored(b, flags), k, total), length);
}

static Ref next_to(Build *b, Ref flags, bool before) { /* the flag of the byte before, or behind; true at the ends */
  const int64_t one = 1, none = 0, width = node(b->ir, flags)->dims[1];
  Ref x = shrink_axis(b->ir, flags, 1, before ? 0 : 1, 1, width - 1);
  return pad_axes(b->ir, x, 1, 1, before ? &one : &none, before ? &none : &one, c_int(b->ir, DT_BOOL, 1));
}

/* Pieces between white space; the last of a limited number keeps what follows it */
static Pieces words(Build *b, Ref x, int64_t most, bool limited) {
  IR *ir = b->ir;
  Ref gap = equal(b, x, byte(b, 0)), length = stored(b, string_lengths(b, x)), none;
  for (const char *s = " \t\n\v\f\r"; *s; s++) gap = either(b, gap, equal(b, x, byte(b, *s)));
  gap = stored(b, gap);
  Pieces p;
  p.start = positions(b, both(b, not(b, gap), next_to(b, gap, true)), most, length, &p.total);
  p.end = positions(b, both(b, not(b, gap), next_to(b, gap, false)), most, length, &none);
  p.end = g_binary(ir, OP_MIN, plus(b, p.end, 1), length);
  if (limited) p.end = g_where(ir, equal(b, iota_axis(ir, DT_I64, most, 1, 2), integer(b, most - 1)), length, p.end);
  return p;
}

/* Whether the delimiter begins at each byte */
static Ref begins(Build *b, Ref x, const char *text, int64_t n) {
  Ref found = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t none = 0, hi = i;
    spend(b, 1);
    Ref here = equal(b, x, byte(b, (uint8_t)text[i]));
    if (i)
      here = pad_axes(b->ir, shrink_axis(b->ir, here, 1, i, 1, string_width(b, x) - i), 1, 1, &none, &hi,
                      c_int(b->ir, DT_BOOL, 0));
    found = both(b, found, here);
  }
  return found;
}

/* If delimiters overlap, the first counts. A delimiter overlaps itself only if it begins as it ends. */
static bool overlaps_itself(const char *text, int64_t n) {
  for (int64_t k = 1; k < n; k++)
    if (!memcmp(text, text + n - k, (size_t)k)) return true;
  return false;
}

static Ref apart(Build *b, Ref found, int64_t n) {
  IR *ir = b->ir;
  const int64_t width = node(ir, found)->dims[1];
  Ref *parts = ARENA_NEW(&b->c->model, Ref, width + 1), free = integer(b, 0);
  for (int64_t i = 0; i < width; i++) {
    spend(b, 0);
    parts[i] = both(b, shrink_axis(ir, found, 1, i, 1, 1), g_binary(ir, OP_CMPLE, free, integer(b, i)));
    free = g_where(ir, parts[i], integer(b, i + n), free);
  }
  return cat_all(b, width, parts, 1);
}

/* Pieces between delimiters */
static Pieces pieces(Build *b, Ref x, const char *text, int64_t n, int64_t most) {
  IR *ir = b->ir;
  const int64_t rows = node(ir, x)->dims[0];
  Ref length = stored(b, string_lengths(b, x)), found = n <= string_width(b, x) ? begins(b, x, text, n) : 0;
  Ref zero = g_expand(ir, integer(b, 0), 2, (int64_t[]){ rows, 1 });
  if (!found) found = g_expand(ir, c_int(ir, DT_BOOL, 0), 2, (int64_t[]){ rows, string_width(b, x) });
  if (overlaps_itself(text, n)) found = apart(b, stored(b, found), n);
  Pieces p;
  Ref total, at = most > 1 ? positions(b, found, most - 1, length, &total) : 0;
  if (!at) positions(b, found, 1, length, &total);
  p.total = plus(b, total, 1);
  p.start = at ? g_cat(ir, 2, (Ref[]){ zero, g_binary(ir, OP_MIN, plus(b, at, (double)n), length) }, 1) : zero;
  p.end = at ? g_cat(ir, 2, (Ref[]){ at, length }, 1) : length;
  return p;
}

/* Room along the last axis of the first result, which has `rank` axes: what the model declares, or --capacity, or the bound */
static int64_t room_for(Build *b, int rank, int64_t bound) {
  const OnnxType *t = &b->m->values.p[b->n->out[0]].type;
  const int64_t declared = t->kind == ON_TENSOR && t->rank == rank ? t->dims[rank - 1].value : -1;
  const int64_t room = declared >= 0 ? declared : b->ragged->wanted ? b->ragged->wanted : bound;
  return room < bound ? room : bound;
}

void op_string_split(Build *b) {
  IR *ir = b->ir;
  const char *text = attr_set(b, "delimiter") ? attr_find(b, "delimiter")->s : "";
  const int64_t n = (int64_t)strlen(text), width = string_width(b, b->in[0]), rows = strings_in(b, 0);
  const int64_t limit = attr_set(b, "maxsplit") ? clamp(attr_int(b, "maxsplit"), 0, width) + 1 : width + 1;
  int64_t bound = n ? width / n + 1 : (width + 1) / 2;
  const bool limited = limit <= bound;
  if (limited) bound = limit;
  const int64_t most = rows ? room_for(b, in_node(b, 0)->rank, bound) : 0;
  elems_mul(b, elems_mul(b, rows, width), most);
  b->result_narrow = ONNX_STRING;
  if (!rows || !most) {
    b->out[0] = shaped(b, g_expand(ir, byte(b, 0), 3, (int64_t[]){ rows, most, width }), 2);
    b->out[1] = shaped(b, g_expand(ir, integer(b, 0), 2, (int64_t[]){ rows, 1 }), 0);
    return;
  }
  Ref x = rows_in(b, 0);
  Pieces p = n ? pieces(b, x, text, n, limited && most == limit ? most : most + 1) : words(b, x, most, limited && most == limit);
  for (int k = 0; k < 2; k++) {
    Ref *r = k ? &p.end : &p.start;
    if (node(ir, *r)->dims[1] > most) *r = shrink_axis(ir, *r, 1, 0, 1, most);
  }
  Ref total = limited ? g_binary(ir, OP_MIN, p.total, integer(b, limit)) : p.total;
  Ref start = g_reshape(ir, stored(b, p.start), 3, (int64_t[]){ rows, most, 1 });
  Ref end = g_reshape(ir, stored(b, p.end), 3, (int64_t[]){ rows, most, 1 });
  Ref at = add(b, start, iota_axis(ir, DT_I64, width, 2, 3));
  Ref wide = g_expand(ir, g_reshape(ir, x, 3, (int64_t[]){ rows, 1, width }), 3, (int64_t[]){ rows, most, width });
  b->out[0] = shaped(b, bytes_at(b, wide, at, end), 2);
  b->out[1] = shaped(b, total, 0);
  if (most < bound) note_overflow(b, less(b, integer(b, most), g_reshape(ir, g_reduce(ir, OP_MAX, total, 1u), 0, NULL)));
}

/* ---- StringNormalizer ---- */
/* The other case of letters of one byte, and of those of two bytes whose other case has two bytes. to[v]: the character of v */
static void case_table(bool upper, int64_t to[0x800]) {
  for (int v = 0; v < 0x800; v++) to[v] = v;
#define LETTERS(first, last, apart) /* lower case letters, `apart` behind their capitals */                                      \
  for (int v = first; v <= last; v++) to[upper ? v : v - (apart)] = upper ? v - (apart) : v;
  LETTERS('a', 'z', 32)
  LETTERS(0xe0, 0xf6, 32)
  LETTERS(0xf8, 0xfe, 32)
  LETTERS(0x3b1, 0x3c1, 32)
  LETTERS(0x3c3, 0x3cb, 32)
  LETTERS(0x430, 0x44f, 32)
  LETTERS(0x450, 0x45f, 80)
  LETTERS(0x561, 0x586, 48)
#undef LETTERS
#define PAIRS(first, last) /* capitals, each before its lower case letter */                                                     \
  for (int v = first; v <= last; v += 2) to[upper ? v + 1 : v] = upper ? v : v + 1;
  PAIRS(0x100, 0x12e)
  PAIRS(0x132, 0x136)
  PAIRS(0x139, 0x147)
  PAIRS(0x14a, 0x176)
  PAIRS(0x179, 0x17d)
  PAIRS(0x460, 0x480)
  PAIRS(0x48a, 0x4be)
  PAIRS(0x4d0, 0x52e)
#undef PAIRS
}

static Ref with_case(Build *b, Ref x, bool upper) {
  IR *ir = b->ir;
  int64_t to[0x800];
  case_table(upper, to);
  const int rank = node(ir, x)->rank;
  const int64_t width = string_width(b, x), lo = 1, none = 0;
  const Node *n = node(ir, x);
  const int64_t elems = dims_elems(n->dims, n->rank);
  Ref wide = g_cast(ir, x, DT_I64), zero = integer(b, 0);
  Ref before = pad_axes(ir, shrink_axis(ir, wide, rank - 1, 0, 1, width - 1), rank - 1, 1, &lo, &none, zero);
  Ref after = pad_axes(ir, shrink_axis(ir, wide, rank - 1, 1, 1, width - 1), rank - 1, 1, &none, &lo, zero);
  Ref table = ints_ref(b, 0x800, to), low = integer(b, 63), one[3], kind[2];
#define AND(x, v)  g_binary(ir, OP_AND, x, integer(b, v))
#define PAIR(x, y) g_binary(ir, OP_OR, g_binary(ir, OP_SHL, AND(x, 31), integer(b, 6)), g_binary(ir, OP_AND, y, low))
  const Ref code[3] = { AND(wide, 127), PAIR(wide, after), PAIR(before, wide) };
  for (int k = 0; k < 3; k++) one[k] = g_reshape(ir, g_gather(ir, table, g_reshape(ir, code[k], 1, &elems), 0), n->rank, n->dims);
  kind[0] = equal(b, AND(wide, 0xe0), integer(b, 0xc0));
  kind[1] = both(b, equal(b, AND(wide, 0xc0), integer(b, 0x80)), equal(b, AND(before, 0xe0), integer(b, 0xc0)));
  Ref first = g_binary(ir, OP_OR, g_binary(ir, OP_SHR, one[1], integer(b, 6)), integer(b, 0xc0));
  Ref second = g_binary(ir, OP_OR, AND(one[2], 63), integer(b, 0x80));
  Ref y = g_where(ir, less(b, wide, integer(b, 128)), one[0], wide);
#undef AND
#undef PAIR
  return g_cast(ir, g_where(ir, kind[0], first, g_where(ir, kind[1], second, y)), DT_U8);
}

/* Rows of x [n, width] whose flag is set; they come first, and an output says how many they are. One empty string if there is
 * none */
static Ref kept_rows(Build *b, Ref x, Ref keep) {
  IR *ir = b->ir;
  const int64_t n = node(ir, x)->dims[0], wanted = room_for(b, in_node(b, 0)->rank - 1, n),
                room = wanted == 1 && b->ragged->most && b->ragged->most < n ? b->ragged->most : wanted;
  Ref found, at = places_of_true(b, g_reshape(ir, keep, 2, (int64_t[]){ 1, n }), room, &found);
  found = g_reshape(ir, found, 0, NULL);
  Ref total = at_least(b, found, 1), there = less(b, g_iota(ir, DT_I64, room), found);
  if (room > 1) {
    Ref counts = less(b, g_iota(ir, DT_I64, room), total);
    add_count(b, counts, total, wanted);
    there = both(b, there, counts);
  } else if (n > 1) note_overflow(b, less(b, integer(b, 1), found));
  Ref rows = g_gather(ir, x, clamp_index(b, g_reshape(ir, at, 2, (int64_t[]){ room, 1 }), n), 0);
  return g_where(ir, g_reshape(ir, there, 2, (int64_t[]){ room, 1 }), rows, byte(b, 0));
}

void op_string_normalizer(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  const AttrVal *stop = attr_find(b, "stopwords");
  const bool upper = attr_is(b, "case_change_action", "UPPER"), lower = attr_is(b, "case_change_action", "LOWER"),
             exact = attr_int(b, "is_case_sensitive");
  if (x->rank != 2 && (x->rank != 3 || x->dims[0] != 1))
    bad(b, "the input has shape %s, expected [C] or [1,C]", dims_text(b, x->dims, x->rank - 1));
  const int rank = x->rank;
  b->result_narrow = ONNX_STRING;
  Ref rows = rows_in(b, 0), y = upper || lower ? with_case(b, rows, upper) : rows;
  if (stop->set && stop->n && strings_in(b, 0)) {
    Ref words = string_table(b, stop->strings, (int64_t)stop->n);
    Ref seen = exact ? rows : with_case(b, rows, false), known = exact ? words : with_case(b, words, false);
    y = kept_rows(b, y, equal(b, string_places(b, seen, known), integer(b, (int64_t)stop->n)));
  }
  const Node *r = node(ir, y);
  b->out[0] = rank == 2 ? y : g_reshape(ir, y, 3, (int64_t[]){ 1, r->dims[0], r->dims[1] });
}

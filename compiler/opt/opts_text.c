/* SPDX-License-Identifier: MIT */
/* opts_text.c: the schedule of a nest as text: "{ vec(r1,8) unroll(r0,4) outer(r1) rest { unroll(r0,3) } }".
 *
 * A range is named by its place: r0, r1, ... are the nest's, outermost first, then those of its
 * reductions, operands first. So equal nests of different models share schedules, and a text means the
 * same in every process. The schedules of borders and rests stand inside, in the order in which opts_parts gives their nests;
 * a text without any of them is an older one, or a person's, and opts_complete adds them. Text is untrusted: it comes from lock
 * files, logs and stores. Whatever
 * opts_check lets pass, the steps that apply schedules turn into a correct program.
 *
 * needs: a canonical nest   gives: opts, or why a text is refused   keeps: nests   breaks: nothing */
#include "dot_ops.h"
#include <string.h>

/* ---- the words: what stands behind the range, which the last one has none of ---- */
typedef enum { A_NOTHING, A_NUMBER, A_MAYBE, A_ISA_OP, A_PART, A_UNIT } Argument; /* A_MAYBE: a number, or nothing */
static const struct OptWord { const char *name; Argument argument; } words[] = {
  { "vec", A_NUMBER }, { "unroll", A_NUMBER }, { "partial", A_NUMBER }, { "outer", A_NOTHING }, { "tc", A_ISA_OP },
  { "rows", A_NUMBER }, { "stage", A_MAYBE }, { "tile", A_NUMBER }, { "peel", A_NOTHING }, { "threads", A_NUMBER },
  { "border", A_PART }, { "rest", A_PART }, { "grid", A_NOTHING }, { "local", A_NUMBER }, { "group", A_NUMBER },
  { "split", A_NUMBER }, { "mma", A_UNIT },
};
enum { W_VEC, W_UNROLL, W_PARTIAL, W_OUTER, W_TC, W_ROWS, W_STAGE, W_TILE, W_PEEL, W_THREADS, W_BORDER, W_REST, W_GRID,
       W_LOCAL, W_GROUP, W_SPLIT, W_MMA, WORDS };
_Static_assert(sizeof words / sizeof *words == WORDS, "a row for each word");

void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out) {
  Refs ranges = { 0 };
  nest_ranges(ir, nest, &ranges);
  sb_puts(out, "{");
  for (int i = 0; i < o->n; i++) {
    const Opt *p = &o->opt[i];
    int at = range_place(&ranges, p->range);
    if (p->grid) sb_printf(out, " grid(r%d)", at);
    if (p->threads)
      sb_printf(out, " %s(r%d,%d)", words[opens_range(ir, nest, p->range) ? W_LOCAL : W_GROUP].name, at, p->threads);
    if (p->lanes > 1) sb_printf(out, " %s(r%d,%d)", p->rows ? "rows" : "vec", at, p->lanes);
    if (p->unroll > 1) sb_printf(out, " %s(r%d,%d)", p->partial ? "partial" : "unroll", at, p->unroll);
  }
  if (o->isa_op) sb_printf(out, " tc(r%d,%s)", range_place(&ranges, o->grouped), o->isa_op->name);
  for (int i = 0; i < o->nmoved; i++) {
    const int at = range_place(&ranges, o->moved[i].range);
    if (o->moved[i].block) sb_printf(out, " tile(r%d,%d)", at, o->moved[i].block);
    else sb_printf(out, " outer(r%d)", at);
  }
  for (int i = 0; i < o->npeeled; i++) sb_printf(out, " peel(r%d)", range_place(&ranges, o->peeled[i]));
  if (o->staged) sb_printf(out, " stage(r%d", range_place(&ranges, o->staged));
  if (o->staged && o->depth) sb_printf(out, ",%d", o->depth);
  if (o->staged) sb_puts(out, ")");
  if (o->unit)
    sb_printf(out, " mma(%s,r%d,r%d)", o->unit->name, range_place(&ranges, o->side[0]), range_place(&ranges, o->side[1]));
  if (o->split) sb_printf(out, " split(r%d,%d)", range_place(&ranges, o->split), o->sum_parts);
  if (o->threads) sb_printf(out, " threads(%d)", o->threads);
  for (int i = 0; i < o->nparts; i++) sb_printf(out, " %s %s", words[i < o->nborders ? W_BORDER : W_REST].name, o->part[i]);
  sb_puts(out, " }");
  VEC_FREE(&ranges);
}

/* ---- reading ---- */
static bool take(const char **at, const char *end, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(end - *at) < n || memcmp(*at, word, n)) return false;
  *at += n;
  return true;
}

static bool take_number(const char **at, const char *end, int *out) {
  const char *start = *at;
  for (*out = 0; *at < end && **at >= '0' && **at <= '9'; ++*at) {
    *out = *out * 10 + (**at - '0');
    if (*out > 1 << 20) return false;
  }
  return *at > start;
}

static bool take_isa_op(const char **at, const char *end, const IsaOp **u) {
  const char *start = *at;
  while (*at < end && **at != ')') ++*at;
  return (*u = isa_op_named(start, (size_t)(*at - start))) != NULL;
}

static Opt *opt_of(Opts *o, Ref range) {
  const Opt *had = opt_along(o, range);
  if (had) return &o->opt[had - o->opt];
  if (o->n == MAX_RANGES) return NULL;
  o->opt[o->n] = (Opt){ .range = range, .unroll = 1, .lanes = 1 };
  return &o->opt[o->n++];
}

static const char *set_move(Opts *o, Ref range, int block) {
  for (int i = 0; i < o->nmoved; i++)
    if (o->moved[i].range == range && !o->moved[i].block == !block)
      return block ? "a range is in blocks twice" : "a range is moved twice";
  if (o->nmoved == MAX_MOVES || (block && !opt_of(o, range))) return "too many ranges are moved";
  o->moved[o->nmoved++] = (Move){ range, block };
  return NULL;
}

static const char *set_opt(const IR *ir, Ref nest, Opts *o, int word, Ref range, int n, const IsaOp *isa_op) {
  if (word == W_OUTER || word == W_TILE) return set_move(o, range, n);
  if (word == W_PEEL) {
    for (int i = 0; i < o->npeeled; i++)
      if (o->peeled[i] == range) return "a range is peeled twice";
    if (o->npeeled == MAX_PEELED) return "too many ranges are peeled";
    o->peeled[o->npeeled++] = range;
    return NULL;
  }
  if (word == W_STAGE) {
    if (o->staged) return "panels of two ranges are copied";
    o->staged = range;
    o->depth = n;
    return NULL;
  }
  if (word == W_SPLIT) {
    if (o->split) return "the sums of two ranges are split";
    o->split = range;
    o->sum_parts = n;
    return NULL;
  }
  if (word == W_TC) {
    if (o->isa_op) return "two ranges are taken in groups";
    o->grouped = range;
    o->isa_op = isa_op;
    return NULL;
  }
  Opt *p = opt_of(o, range);
  if (word == W_GRID) {
    if (!p || p->grid) return "a range is split over blocks twice";
    p->grid = true;
    return NULL;
  }
  if (word == W_LOCAL || word == W_GROUP) {
    if (!p || p->threads) return "a range is split over threads twice";
    if (opens_range(ir, nest, range) != (word == W_LOCAL))
      return word == W_LOCAL ? "only a range of the nest can be local" : "only a range of a reduction can be split over a group";
    p->threads = n;
    return NULL;
  }
  int *field = !p ? NULL : word == W_VEC || word == W_ROWS ? &p->lanes : &p->unroll;
  if (!p || *field != 1) return "it splits a range twice";
  *field = n;
  p->partial |= word == W_PARTIAL;
  p->rows |= word == W_ROWS;
  return NULL;
}

static const char *take_threads(const char **at, const char *end, Opts *o) {
  if (o->threads) return "it sets the number of chunks twice";
  if (!take(at, end, "(") || !take_number(at, end, &o->threads) || !take(at, end, ")")) return "an opt is malformed";
  return o->threads < 1 || o->threads > MAX_CHUNKS ? "a number is out of range" : NULL;
}

/* "(UNIT,r0,r1)": rows and columns; the depth is that of the panels */
static const char *take_unit(const char **at, const char *end, const Refs *ranges, Opts *o) {
  const char *name = *at + 1;
  if (o->unit) return "it names two matrix instructions";
  if (!take(at, end, "(")) return "an opt is malformed";
  while (*at < end && **at != ',' && **at != ')') ++*at;
  const MatrixUnit *u = matrix_unit_named(name, (size_t)(*at - name));
  if (!u) return "there is no such matrix instruction";
  for (int i = 0; i < 2; i++) {
    int place;
    if (!take(at, end, ",r") || !take_number(at, end, &place)) return "an opt is malformed";
    if ((size_t)place >= ranges->n) return "the nest has no such range";
    o->side[i] = ranges->p[place];
    if (!opt_of(o, o->side[i])) return "too many ranges are split";
  }
  o->unit = u;
  return take(at, end, ")") ? NULL : "an opt is malformed";
}

const char *opts_end(const char *text, const char *end) {
  int open = 0;
  for (const char *at = text; at < end; at++) {
    open += (*at == '{') - (*at == '}');
    if (open <= 0) return open || at == text ? NULL : at + 1;
  }
  return NULL;
}

/* "{ ... }" behind the word, as it stands */
static const char *take_part(IR *ir, const char **at, const char *end, bool border, Opts *o) {
  if (!take(at, end, " ") || *at == end || **at != '{') return "an opt is malformed";
  const char *start = *at;
  if (!(*at = opts_end(start, end))) return "it does not end with ' }'";
  if (o->nparts == MAX_PARTS) return "there are too many borders and rests";
  if (border && o->nborders < o->nparts) return "a border must stand before all rests";
  o->part[o->nparts++] = arena_str(&ir->ctx->model, start, (size_t)(*at - start));
  o->nborders += border;
  return NULL;
}

/* The opts as they stand, whether they are legal or not */
const char *opts_scan(IR *ir, Ref nest, const char *text, size_t n, Opts *o) {
  const char *at = text, *end = text + n, *wrong = NULL;
  bool closed = false;
  Refs ranges = { 0 };
  *o = (Opts){ 0 };
  nest_ranges(ir, nest, &ranges);
  if (!take(&at, end, "{")) wrong = "it does not begin with '{'";
  while (!wrong && take(&at, end, " ") && !(closed = take(&at, end, "}"))) {
    int word = 0, place = 0, number = 0;
    const IsaOp *isa_op = NULL;
    while (word < WORDS && !take(&at, end, words[word].name)) word++;
    Argument argument = word < WORDS ? words[word].argument : A_NOTHING;
    if (word == WORDS) wrong = "an opt is unknown";
    else if (word == W_THREADS) wrong = take_threads(&at, end, o);
    else if (argument == A_UNIT) wrong = take_unit(&at, end, &ranges, o);
    else if (argument == A_PART) wrong = take_part(ir, &at, end, word == W_BORDER, o);
    else if (!take(&at, end, "(r") || !take_number(&at, end, &place)) wrong = "an opt is malformed";
    else if (argument == A_MAYBE) argument = at < end && *at == ',' ? A_NUMBER : A_NOTHING;
    if (wrong || word == W_THREADS || argument == A_PART || argument == A_UNIT) continue;
    if ((argument != A_NOTHING && !take(&at, end, ",")) || (argument == A_NUMBER && !take_number(&at, end, &number)))
      wrong = "an opt is malformed";
    else if (argument == A_ISA_OP && !take_isa_op(&at, end, &isa_op)) wrong = "there is no such instruction";
    else if (!take(&at, end, ")")) wrong = "an opt is malformed";
    else if ((size_t)place >= ranges.n) wrong = "the nest has no such range";
    else if (argument == A_NUMBER && (number < 2 || number > MAX_TILE)) wrong = "a number is out of range";
    else wrong = set_opt(ir, nest, o, word, ranges.p[place], number, isa_op);
  }
  if (!wrong && (at != end || !closed)) wrong = "it does not end with ' }'";
  VEC_FREE(&ranges);
  return wrong;
}

Opts opts_read(IR *ir, Ref nest, const char *text) {
  Opts o;
  const char *wrong = opts_scan(ir, nest, text, strlen(text), &o);
  if (wrong) ir_wrong(ir, "a checked schedule '%s': %s", text, wrong);
  return o;
}

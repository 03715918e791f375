/* SPDX-License-Identifier: MIT */
/* cstyle.c: prints programs as functions of a language like C: statements, loops, parameters. exprs.c prints expressions. The
 * dialect (dialect.h) has the spellings in which languages differ. */
#include "cstyle.h"
#include "../compiler/lower/lower.h"
#include <stdlib.h>
#include <string.h>

/* ---- lanes combined ---- */
/* Declares NAME4: the lanes of `vector` combined with those lanes of it that `lanes` numbers */
static void put_choice(Render *w, Op op, DType d, char name, const char *vector, const char *lanes) {
  char type[32];
  sb_printf(w->o, "%*sconst %s %c4 = %s;\n", w->indent + 2, "", dialect_type(w->l, d, 4, type), name,
            combined(w, op, d, 4, vector, picked_lanes(w, d, 4, vector, lanes)));
}

/* Combines halves: as vectors down to four lanes, then as scalars. Scalars would be compared by branches, which data like that of
 * a softmax makes unpredictable. So the greatest or least of four lanes is found by vectors, too. */
static void put_hred(Render *w, const Node *x, size_t at) {
  const Op op = hred_op(x);
  const DType d = (DType)x->dt;
  const bool sum = op == OP_ADD || op == OP_MUL;
  const char *lane[64];
  const int indent = w->indent + 2;
  char sfx[32], type[32];
  int lanes = node(w->ir, operand(x))->lanes;
  w->text[at] = arena_printf(&w->a, "h%zu", at);
  sb_printf(w->o, "%*s%s %s;\n%*s{\n", w->indent, "", dialect_type(w->l, d, 1, type), w->text[at], w->indent, "");
  sb_printf(w->o, "%*sconst %s w%d = %s;\n", indent, "", dialect_type(w->l, d, lanes, type), lanes, inside(w, x, 0));
  for (; lanes > 4 && dtype_info[d].bits >= 32; lanes /= 2) {
    type_suffix(d, lanes, sfx);
    const char *lo = arena_printf(&w->a, "tgc_lo_%s(w%d)", sfx, lanes), *hi = arena_printf(&w->a, "tgc_hi_%s(w%d)", sfx, lanes);
    sb_printf(w->o, "%*sconst %s w%d = %s;\n", indent, "", dialect_type(w->l, d, lanes / 2, type), lanes / 2,
              combined(w, op, d, lanes / 2, lo, hi));
  }
  if (!sum && lanes == 4 && dtype_info[d].bits == 32 && w->l->pick[0]) {
    put_choice(w, op, d, 'x', "w4", "2, 3, 0, 1");
    put_choice(w, op, d, 'y', "x4", "1, 0, 3, 2");
    sb_printf(w->o, "%*s%s = %s;\n%*s}\n", indent, "", w->text[at], lane_text(w, d, "y4", 0), w->indent, "");
    return;
  }
  for (int i = 0; i < lanes; i++) lane[i] = lane_text(w, d, arena_printf(&w->a, "w%d", lanes), i);
  for (int half = lanes / 2; half >= 1; half /= 2)
    for (int i = 0; i < half; i++) {
      lane[i] = combined(w, op, d, 1, lane[i], lane[i + half]);
      if (sum && half > 1) lane[i] = arena_printf(&w->a, "(%s)", lane[i]);
    }
  sb_printf(w->o, "%*s%s = %s;\n%*s}\n", indent, "", w->text[at], lane[0], w->indent, "");
}

/* ---- tiles ---- */
static void put_upper(Sb *o, const char *s) {
  for (; *s; s++) sb_printf(o, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
}

/* Begins a nest that multiplies tiles, with the shapes of the tiles. */
static void put_tiles(Render *w, size_t at) {
  const int indent = w->indent;
  if (!w->ntiles) sb_printf(w->o, "%*sTGC_TILES;\n", indent, "");
  tile_registers(w->ir, w->k->prog.p + at, w->k->prog.n - at, &w->tiles);
  sb_printf(w->o, "%*sstatic const uint8_t c%d[64] = { 1", indent, "", w->ntiles);
  for (int i = 1; i < 64; i++)
    if (w->tiles.config[i]) sb_printf(w->o, ", [%d] = %d", i, w->tiles.config[i]);
  sb_printf(w->o, " };\n%*sTGC_TILE_SHAPES(c%d);\n", indent, "", w->ntiles++);
}

/* ---- matrices of a warp whose layout among threads is unknown ---- */
/* The product that is added to a variable; NULL: none */
static const Node *product_into(const Render *w, Ref acc) {
  for (size_t i = 0; i < w->k->prog.n; i++) {
    const Node *x = node(w->ir, w->k->prog.p[i]);
    if (x->op == OP_MMA && tile_sum(w->ir, x) == acc) return x;
  }
  return NULL;
}

static const char *matrix_type(Render *w, const Node *x, int64_t rows) {
  return arena_printf(&w->a, "tgc_matrix_%lldx%lld%s", (long long)rows, (long long)(x->lanes / rows), dtype_info[x->dt].text);
}

/* The number of the thread in its block */
static const char *thread_text(Render *w) {
  const LaunchPart *p = &w->part;
  Sb s = { 0 };
  int64_t below = 1;
  for (int k = 0; k < (w->parts || p->nthreads > 3 ? 1 : p->nthreads); k++) {
    sb_printf(&s, "%s%s", k ? " + " : "", id_text(w, false, k));
    if (k) sb_printf(&s, " * %lld", (long long)below);
    below *= range_extent(node(w->ir, p->place[p->nblocks + p->nthreads - 1 - k]));
  }
  const char *text = arena_str(&w->a, s.p, s.n);
  sb_free(&s);
  return text;
}

/* Prints a matrix op as a statement, a call of the dialect's function. Each warp has scratch memory for one sum, which its sums
 * use in turn. False: no matrix op. */
static bool put_matrix(Render *w, size_t at) {
  const int indent = w->indent;
  const Ref r = w->k->prog.p[at];
  const Node *x = node(w->ir, r), *sum = NULL;
  switch ((Op)x->op) {
  case OP_TILE:
    w->text[at] = arena_printf(&w->a, "v%zu", at);
    sb_printf(w->o, "%*s%s %s;\n", indent, "", matrix_type(w, x, tile_rows(x)), w->text[at]);
    sb_printf(w->o, "%*stgc_matrix_load(%s, %s + %s, %lld);\n", indent, "", w->text[at], arg(w, x, 0), arg_as(w, x, 1, SUM),
              (long long)tile_stride(x));
    return true;
  case OP_ACC:
    if (x->lanes == 1 || !(sum = product_into(w, r))) return false;
    w->text[at] = arena_printf(&w->a, "a%d", w->naccs++);
    sb_printf(w->o, "%*s%s %s;\n", indent, "", matrix_type(w, sum, mma_rows(sum)), w->text[at]);
    sb_printf(w->o, "%*stgc_matrix_clear(%s);\n", indent, "", w->text[at]);
    return true;
  case OP_MMA:
    w->text[at] = w->text[refmap_get(&w->at, tile_sum(w->ir, x)) - 1];
    sb_printf(w->o, "%*stgc_matrix_multiply(%s, %s, %s);\n", indent, "", w->text[at], arg(w, x, 1), arg(w, x, 2));
    return true;
  case OP_SET: return node(w->ir, set_value(x))->op == OP_MMA;
  case OP_SPILL:
    w->text[at] = arena_printf(&w->a, "(tgc_scratch + (%s) / %d * %d)", thread_text(w), SCRATCH_WARP, x->lanes);
    w->spilled = at;
    sb_printf(w->o, "%*stgc_matrix_store(%s, %s);\n", indent, "", arg(w, x, 0), w->text[at]);
    return true;
  case OP_PART: CHECK(refmap_get(&w->at, part_tile(x)) == w->spilled + 1); return false; /* the last sum is in scratch memory */
  default: return false;
  }
}

/* Prints a tile op as a statement. False: x is no tile op. */
static bool put_tile(Render *w, size_t at) {
  if (target_has_threads(w->t)) return put_matrix(w, at);
  const int indent = w->indent;
  const Node *x = node(w->ir, w->k->prog.p[at]);
  const int t = tile_register(&w->tiles, w->k->prog.p[at]);
  switch ((Op)x->op) {
  case OP_TILES: put_tiles(w, at); return true;
  case OP_TILE:
    sb_printf(w->o, "%*sTGC_TILE_LOAD(%d, %s + %s, %lld);\n", indent, "", t, arg(w, x, 0), arg_as(w, x, 1, SUM),
              (long long)tile_stride(x) * dt_bytes((DType)x->dt));
    return true;
  case OP_MMA:
    sb_printf(w->o, "%*sTGC_", indent, "");
    put_upper(w->o, tile_isa_op(w->ir, x)->name);
    sb_printf(w->o, "(%d, %d, %d);\n", tile_register(&w->tiles, tile_sum(w->ir, x)), tile_register(&w->tiles, mma_x(x)),
              tile_register(&w->tiles, mma_y(x)));
    return true;
  case OP_SPILL: {
    const int from = tile_register(&w->tiles, get_acc(node(w->ir, operand(x))));
    const char *name = w->text[at] = arena_printf(&w->a, "t%zu", at);
    sb_printf(w->o, "%*sTGC_ALIGNED %s %s[%d];\n", indent, "", w->l->type[x->dt], name, x->lanes);
    sb_printf(w->o, "%*sTGC_TILE_STORE(%d, %s, %d);\n", indent, "", from, name, w->tiles.config[16 + 2 * from]);
    return true;
  }
  case OP_ACC:
    if (t >= 0) sb_printf(w->o, "%*sTGC_TILE_ZERO(%d);\n", indent, "", t);
    return t >= 0;
  case OP_GET: case OP_SET: return tile_register(&w->tiles, variable_of(x)) >= 0;
  default: return false;
  }
}

/* ---- one kernel ---- */
/* Variables are numbered by position, loops and accumulators in order of appearance. */
static bool cheap(const Node *x) { return x->op == OP_CONST || x->op == OP_BUFFER || x->op == OP_GET; }

/* A size of the run */
static const char *size_text(Render *w, int64_t number, DType d) {
  const char *cast = d == DT_I64 ? "" : arena_printf(&w->a, "(%s)", w->l->type[d]);
  return arena_printf(&w->a, "%s%s[%lld]", cast, w->sizes ? w->sizes : "n", (long long)number);
}

/* x / by for x >= 0. The division is unsigned, which takes fewer instructions. */
static const char *quotient(Render *w, DType d, const char *x, long long by) {
  return arena_printf(&w->a, "(%s)((%s)(%s) / %lld)", w->l->type[d], w->l->type[d == DT_I64 ? DT_U64 : DT_U32], x, by);
}

/* Where a loop begins or ends: a constant, or the current chunks' share of its units. */
static const char *bound(Render *w, const char *chunk, const char *constant, const Node *range) {
  const long long units = (long long)range_extent(range), chunks = w->k->chunks;
  if (range_kind(range) != RK_THREAD) return constant;
  if (range->dt != target_count(w->t)) chunk = arena_printf(&w->a, "(%s)%s", w->l->type[range->dt], chunk); /* a wider one */
  if (range_limit(range)) {
    const char *limit = size_text(w, range_limit(range) - 1, (DType)range->dt);
    return quotient(w, (DType)range->dt, arena_printf(&w->a, "%s * %s", chunk, limit), chunks);
  }
  if (units % chunks && w->ir->symbols.n) {
    const long long by = i64_gcd(units, chunks);
    const char *all = units == by ? chunk : arena_printf(&w->a, "%s * %lld", chunk, units / by);
    return quotient(w, (DType)range->dt, all, chunks / by);
  }
  if (units == 1) return arena_printf(&w->a, "%s / %lld", chunk, chunks);
  if (units % chunks) return arena_printf(&w->a, "%s * %lld / %lld", chunk, units, chunks);
  return units == chunks ? chunk : arena_printf(&w->a, "%s * %lld", chunk, units / chunks);
}

/* Counts the uses of each value, and notes where it is made and whether another block uses it. */
static void count_uses(Render *w) {
  const Refs *prog = &w->k->prog;
  uint32_t stack[64] = { 0 }, blocks = 0, depth = 0;
  bool terms[64] = { false }; /* by depth: whether a loop of a reduction is open */
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(w->ir, prog->p[i]);
    if (x->op == OP_END) depth--;
    w->use[i].block = stack[depth];
    const Node *packed = packed_rounding(w->ir, w->t, x);
    if (packed) { /* x is a function of what is rounded: nothing uses the ops between */
      Use *u = &w->use[refmap_get(&w->at, operand(packed)) - 1];
      u->elsewhere |= u->block != w->use[i].block;
      Use *round = &w->use[refmap_get(&w->at, operand(node(w->ir, operand(x)))) - 1];
      round->times -= round->times > 0;
    }
    for (int s = 0; s < x->nsrc && !packed && x->op != OP_LOOP && x->op != OP_END; s++) {
      Use *u = &w->use[refmap_get(&w->at, x->src[s]) - 1];
      u->times++;
      u->products += x->op == OP_MUL || x->op == OP_MULACC;
      u->shuffled |= x->op == OP_SHUFFLE;
      u->elsewhere |= u->block != w->use[i].block;
      u->by_term |= terms[depth] && x->op == OP_MUL;
    }
    if (x->op == OP_LOOP) terms[depth + 1] = terms[depth] || range_kind(node(w->ir, loop_range(x))) == RK_REDUCE;
    if (x->op == OP_LOOP) stack[++depth] = ++blocks;
    refmap_set(&w->at, prog->p[i], (uint32_t)i + 1);
  }
}

/* Whether the loop at `at` has no loop inside and accesses shared memory: it walks the terms of panels, or copies to them. */
static bool walks_panels(const Render *w, size_t at) {
  const Refs *prog = &w->k->prog;
  const Node *x = node(w->ir, prog->p[at + 1]);
  bool found = false;
  for (size_t i = at + 1; x->op != OP_END && x->op != OP_LOOP; x = node(w->ir, prog->p[++i]))
    found |= is_access(x) && w->ir->bufs.p[buffer_id(node(w->ir, access_buffer(x)))].kind == BUF_SHARED;
  return found && x->op == OP_END;
}

/* Whether the loop at `at` takes the sums of a tile from local memory (opt/finish.c). */
static bool takes_sums(const Render *w, size_t at) {
  const Refs *prog = &w->k->prog;
  const Node *r = node(w->ir, loop_range(node(w->ir, prog->p[at])));
  bool found = false;
  if (!w->ir->symbols.n || range_kind(r) != RK_LOOP || range_limit(r)) return false;
  for (int depth = 1; depth && !found;) {
    const Node *x = node(w->ir, prog->p[++at]);
    depth += (x->op == OP_LOOP) - (x->op == OP_END);
    found = x->op == OP_LOAD && w->ir->bufs.p[buffer_id(node(w->ir, load_buffer(x)))].kind == BUF_LOCAL;
  }
  return found;
}

/* Whether the innermost loop that ends at `at` copies values of at least this many lanes */
static bool copies_lanes(const Render *w, size_t at, int lanes) {
  const Node *x = node(w->ir, w->k->prog.p[--at]);
  bool copies = false;
  for (; x->op != OP_LOOP && x->op != OP_END; x = node(w->ir, w->k->prog.p[--at])) {
    const Node *value = x->op == OP_STORE ? node(w->ir, store_value(x)) : x;
    copies |= x->op == OP_STORE && value->op == OP_LOAD && value->lanes >= lanes;
  }
  return copies && x->op == OP_LOOP;
}

/* The range ends at a size, and counts the last values of all rows (opt/sized.c). */
static bool is_few(const Render *w, const Node *r) { return range_extent(r) > 1 && range_extent(r) * 4 < w->t->vector_bytes; }

/* The range ends at a size, and has an iteration in runs of one entry only (opt/sized_single.c). */
static bool is_single(const Render *w, const Node *r) {
  const tgcrt_size *s = &w->ir->sizes.p[range_limit(r) - 1];
  return range_extent(r) == 1 && s->rule == TGCRT_SIZE_LEFT && s->tile == extent_most(w->ir, s->of) + 1;
}

/* Whether the loop that ends at `at`, or one around it, ends at a size, and its range is as `is` says */
static bool some_around(const Render *w, size_t at, bool (*is)(const Render *w, const Node *r)) {
  int closed = 0;
  while (at-- > 0) {
    const Node *x = node(w->ir, w->k->prog.p[at]);
    const Node *r = x->op == OP_LOOP && !closed ? node(w->ir, loop_range(x)) : NULL;
    if (r && range_limit(r) && is(w, r)) return true;
    closed += x->op == OP_END ? 1 : x->op == OP_LOOP && closed ? -1 : 0;
  }
  return false;
}

/* Whether the loop that ends at `at` is innermost and has no vectors */
static bool has_single_values(const Render *w, size_t at) {
  const Node *x = node(w->ir, w->k->prog.p[--at]);
  while (x->op != OP_LOOP && x->op != OP_END && x->lanes == 1) x = node(w->ir, w->k->prog.p[--at]);
  return x->op == OP_LOOP;
}

/* Whether the loop that ends at `at` takes the single values behind the vectors of a run (opt/sized.c), or copies vectors of a
 * row. Or the loop is inside of one over the last values of all rows, or inside of a nest for runs of one entry. The C compiler
 * does not know how few they are. It would make vectors of single values again, and call memcpy for a row. */
static bool takes_few(const Render *w, size_t at) {
  const Node *r = node(w->ir, end_range(node(w->ir, w->k->prog.p[at])));
  const bool loop = range_kind(r) == RK_LOOP || range_kind(r) == RK_REDUCE;
  if (w->ir->symbols.n && has_single_values(w, at) && some_around(w, at, is_single)) return true;
  if (!loop || !w->ir->symbols.n) return false;
  if (!range_limit(r)) return (copies_lanes(w, at, 1) || has_single_values(w, at)) && some_around(w, at, is_few);
  if (copies_lanes(w, at, 2)) return true;
  return range_extent(r) * 4 < w->t->vector_bytes && has_single_values(w, at); /* lanes of 4 bytes */
}

/* The condition of a loop's gate; or of its limit, if the loop runs once at most. "": it has none */
static const char *loop_condition(Render *w, const Node *loop) {
  const Node *r = node(w->ir, loop_range(loop));
  if (loop_gate(loop)) return arena_printf(&w->a, "if (%s) ", arg_as(w, loop, 1, LOOSE));
  if (!range_runs_once(w->ir, r)) return "";
  return arena_printf(&w->a, "if (%s > 0) ", size_text(w, range_limit(r) - 1, (DType)r->dt));
}

/* A loop that runs once becomes its condition. The C compiler would keep registers for the way back of a loop. */
static void open_loop(Render *w, size_t at) {
  const Node *x = node(w->ir, w->k->prog.p[at]), *r = node(w->ir, loop_range(x));
  if (range_is_place(range_kind(r))) {
    open_place(w, loop_range(x));
    return;
  }
  const char *gate = loop_condition(w, x);
  w->reducing += range_kind(r) == RK_REDUCE;
  if (*gate && range_extent(r) == 1) {
    w->text[refmap_get(&w->at, loop_range(x)) - 1] = arena_str(&w->a, "0", 1);
    sb_printf(w->o, "%*s%s{\n", w->indent, "", gate);
    w->indent += 2;
    return;
  }
  char *name = arena_printf(&w->a, "r%d", w->nloops++);
  const char *last = range_limit(r) ? size_text(w, range_limit(r) - 1, (DType)r->dt)
                                    : arena_printf(&w->a, "%lld", (long long)range_extent(r));
  const char *begin = bound(w, "begin", "0", r), *end = bound(w, "end", last, r);
  if (range_kind(r) == RK_THREAD && range_limit(r)) { /* a product with a size is not computed in each iteration */
    sb_printf(w->o, "%*sconst %s e%d = %s;\n", w->indent, "", w->l->type[r->dt], w->nloops, end);
    end = arena_printf(&w->a, "e%d", w->nloops);
  }
  w->text[refmap_get(&w->at, loop_range(x)) - 1] = name;
  const char *unroll = w->l->unroll[range_kind(r) != RK_REDUCE];
  if (unroll && !*gate && walks_panels(w, at)) sb_puts(w->o, unroll);
  if (w->l->rolled && takes_sums(w, at)) sb_printf(w->o, "%*s%s\n", w->indent, "", w->l->rolled);
  sb_printf(w->o, "%*s%s", w->indent, "", gate);
  put_loop_head(w, w->o, (DType)r->dt, name, begin, end);
  sb_puts(w->o, " {\n");
  w->indent += 2;
}

static void close_loop(Render *w, size_t at) {
  const Node *x = node(w->ir, w->k->prog.p[at]);
  const Node *last = node(w->ir, w->k->prog.p[at - 1]);
  const bool innermost = last->op != OP_END || range_extent(node(w->ir, end_range(last))) == 1; /* or a condition is innermost */
  const RangeKind kind = range_kind(node(w->ir, end_range(x)));
  const bool reduce = kind == RK_REDUCE;
  if (range_is_place(kind)) {
    close_place(w, at);
    return;
  }
  const char *hint = reduce && w->tile && innermost ? w->l->fence : takes_few(w, at) ? w->l->few : NULL;
  if (hint) sb_printf(w->o, "%*s%s;\n", w->indent, "", hint);
  w->indent -= 2;
  sb_printf(w->o, "%*s}\n", w->indent, "");
  if (reduce && !--w->reducing) w->tile = false;
}

/* Prints an op with an effect as a statement. False: x is a value. */
static bool put_statement(Render *w, size_t at) {
  const Node *x = node(w->ir, w->k->prog.p[at]);
  char type[32];
  switch ((Op)x->op) {
  case OP_RANGE: return true;
  case OP_SIZE:
    w->text[at] = (char *)(uintptr_t)size_text(w, size_id(x), (DType)x->dt);
    if (!w->use[at].by_term || w->use[at].block) return true;
    sb_printf(w->o, "%*sconst %s v%zu = %s;\n", w->indent, "", w->l->type[x->dt], at, w->text[at]);
    w->text[at] = arena_printf(&w->a, "v%zu", at);
    return true;
  case OP_LOOP: open_loop(w, at); return true;
  case OP_END: close_loop(w, at); return true;
  case OP_BARRIER: sb_printf(w->o, "%*s%s;\n", w->indent, "", w->l->barrier); return true;
  case OP_ACC:
    w->tile |= x->lanes > 1 || (dt_int((DType)x->dt) && w->t->int_regs); /* few registers: one sum in each */
    w->text[at] = arena_printf(&w->a, "a%d", w->naccs++);
    dialect_type(w->l, (DType)x->dt, x->lanes, type);
    sb_printf(w->o, "%*s%s %s = %s;\n", w->indent, "", type, w->text[at], arg(w, x, 0));
    return true;
  case OP_SET: sb_printf(w->o, "%*s%s = %s;\n", w->indent, "", arg(w, x, 0), inside(w, x, 1)); return true;
  case OP_STORE: case OP_PREFETCH:
    if (x->op == OP_PREFETCH && !w->l->prefetch) return true;
    sb_printf(w->o, "%*s", w->indent, "");
    (x->op == OP_STORE ? put_store : put_prefetch)(w, w->o, x);
    sb_puts(w->o, ";\n");
    return true;
  case OP_HRED: put_hred(w, x, at); return true;
  default: return false;
  }
}

/* Whether the index is computed from a size of the run. The C compiler may load sizes again in each iteration of a loop: fences
 * there tell it that memory changes. */
static bool of_size(const Render *w, const Node *x) {
  if (x->op != OP_ADD && x->op != OP_MUL && x->op != OP_SUB) return false;
  const Node *a = node(w->ir, lhs(x)), *b = node(w->ir, rhs(x));
  return a->op == OP_SIZE || b->op == OP_SIZE || of_size(w, b) || (b->op == OP_CONST && of_size(w, a));
}

/* Whether a value is written inside an expression: it is used once, in the block that computes it, and no effect can come
 * between. Loads stay where they are. So do exchanges between threads, which all threads must reach. */
static bool is_inlined(const Render *w, const Node *x, const Use *u, size_t length) {
  if (cheap(x) || !u->times) return true; /* without uses it is not needed */
  if (x->op == OP_BCAST && node(w->ir, operand(x))->op == OP_CONST) return true;
  if (u->elsewhere && x->dt == DT_I64 && of_size(w, x)) return false;
  return x->op != OP_LOAD && x->op != OP_SHFLXOR &&
         ((u->times == 1 && !u->elsewhere && length < 90) || (x->dt == DT_I64 && length < 24));
}

static void put_value(Render *w, size_t at, Sb *e) {
  const Node *x = node(w->ir, w->k->prog.p[at]);
  Use *u = &w->use[at];
  put_expr(w, e, x);
  const int prec = unwrap(e, x);
  if (is_inlined(w, x, u, e->n)) {
    w->text[at] = arena_str(&w->a, e->p, e->n);
    w->prec[at] = (char)prec;
    return;
  }
  u->named = true;
  /* several terms of a loop use it, or of a sum without a loop */
  const bool shared = w->reducing ? u->times > 1 : u->products > 1 && !u->elsewhere;
  const int bytes = x->lanes * dt_bytes((DType)x->dt);
  const bool moved = x->op == OP_LOAD || (x->op == OP_BCAST && u->shuffled); /* else compilers spread it to half a vector again */
  const bool keep = w->l->keep && moved && bytes >= 16 && bytes <= w->t->vector_bytes && shared; /* worth a register */
  char type[32];
  w->text[at] = arena_printf(&w->a, "v%zu", at);
  dialect_type(w->l, (DType)x->dt, x->lanes, type);
  sb_printf(w->o, "%*s%s%s %s = %s;", w->indent, "", keep ? "" : "const ", type, w->text[at], e->p);
  if (keep) sb_puts(w->o, " "), put_kept(w, w->o, w->text[at]), sb_puts(w->o, ";");
  sb_puts(w->o, "\n");
}

/* The first value of a type that the dialect has no word for; 0: there is none. A bool in a register is .truth. A constant of
 * i64 is an index, and its type is not in the text. */
static Ref unspelled(const Render *w) {
  for (size_t i = 0; i < w->k->prog.n; i++) {
    const Node *x = node(w->ir, w->k->prog.p[i]);
    const bool typeless = x->dt == DT_NONE || x->op == OP_CONST || (x->dt == DT_BOOL && x->op != OP_BUFFER);
    if (!typeless && !w->l->type[x->dt]) return w->k->prog.p[i];
  }
  return 0;
}

/* A buffer is of no node; the kernel's result is. */
void check_spelled(const Render *w) {
  const Ref r = unspelled(w);
  if (!r) return;
  const char *type = dtype_info[node(w->ir, r)->dt].text;
  fail_at(w->ir->ctx, EX_BADMODEL, ir_pos(w->ir, node(w->ir, r)->origin ? r : w->k->sink),
          "--backend=%s has no type for %s: use a model without %s, or another backend", w->backend, type, type);
}

const char *put_program(Render *w) {
  const Refs *prog = &w->k->prog;
  Sb e = { 0 };
  w->indent = 2;
  w->text = ARENA_NEW(&w->a, char *, prog->n + 1);
  w->prec = ARENA_NEW(&w->a, char, prog->n + 1);
  w->use = ARENA_NEW(&w->a, Use, prog->n + 1);
  count_uses(w);
  for (size_t i = 0; i < prog->n; i++) {
    refmap_set(&w->at, prog->p[i], (uint32_t)i + 1);
    e.n = 0;
    if (!put_tile(w, i) && !put_statement(w, i)) put_value(w, i, &e);
  }
  if (w->ntiles) sb_puts(w->o, "  TGC_TILES_END;\n");
  sb_free(&e);
  refmap_free(&w->at);
  return prog->n ? w->text[prog->n - 1] : NULL;
}

void clike_kernel(const Plan *p, int index, const Target *t, Sb *o) {
  const Kernel *k = &p->kernels.p[index];
  const Dialect *l = p->in->backend->dialect;
  const IR *ir = p->ir;
  Render w = { .ir = ir, .k = k, .t = t, .l = l, .backend = p->in->backend->name, .o = o };
  check_spelled(&w);
  sb_printf(o, "%sk%d(", l->kernel, index);
  for (size_t i = 0; i < k->bufs.n; i++) {
    bool written = false;
    for (size_t j = 0; j < k->written.n; j++) written |= k->written.p[j] == k->bufs.p[i];
    sb_printf(o, "%s%s%s%s *%sb%zu", i ? ", " : "", l->global, written ? "" : "const ", l->type[ir->bufs.p[k->bufs.p[i]].dt],
              k->may_alias ? "" : l->restricted, i);
  }
  const char *count = l->type[target_count(t)];
  const bool sized = kernel_sized(ir, k), any = k->bufs.n || sized;
  if (sized) sb_printf(o, "%sconst %s *n", k->bufs.n ? ", " : "", l->type[DT_I64]);
  if (k->chunks > 1) sb_printf(o, "%s%s begin, %s end) {\n", any ? ", " : "", count, count);
  else sb_puts(o, any ? ") {\n" : "void) {\n");
  for (size_t i = 0; i < k->locals.n; i++) {
    const Buf *b = &ir->bufs.p[k->locals.p[i]];
    const bool apart = l->apart && ir->symbols.n; /* opt/finish.c */
    sb_printf(o, "  %s%s %c%zu[%lld];\n", l->local, l->type[b->dt], apart ? 'm' : 'p', i, (long long)b->elems);
    if (apart) sb_printf(o, "  %s *p%zu = m%zu; %s(p%zu);\n", l->type[b->dt], i, i, l->apart, i);
  }
  put_program(&w);
  sb_puts(o, "}\n");
  arena_free(&w.a);
}

/* ---- functions ---- */
void clike_define(IR *ir, const Backend *b, const Target *t, Op op, DType d, int lanes, Sb *o) {
  int64_t id = PARAMETER;
  char sfx[32], type[32];
  Kernel k = { 0 };
  Render w = { .ir = ir, .k = &k, .t = t, .l = b->dialect, .backend = b->name, .o = o };
  Ref x = node_make(ir, OP_BUFFER, d, lanes, 0, NULL, 1, &id, 0, NULL);
  Ref body = libm_expr(ir, node_make(ir, op, d, lanes, 1, &x, 0, NULL, 0, NULL), function_ops(b, t, lanes));
  CHECK(body);
  ir_toposort(ir, &body, 1, &k.prog);
  const Ref wrong = unspelled(&w);
  if (wrong)
    BUG("%s has no part for the function %s of %s, whose arithmetic is in %s", b->name, op_info[op].libm, dtype_info[d].text,
        dtype_info[node(ir, wrong)->dt].text);
  dialect_type(b->dialect, d, lanes, type);
  sb_printf(o, "%s tgc_%s_%s(%s x) {\n", type, op_info[op].libm, type_suffix(d, lanes, sfx), type);
  const char *last = put_program(&w);
  sb_printf(o, "  return %s;\n}\n", last);
  arena_free(&w.a);
  VEC_FREE(&k.prog);
}

/* SPDX-License-Identifier: MIT */
/* ragged.c: axes with more entries than are valid. Results whose size depends on data have as many entries as --capacity says.
 * Some have as many as an axis has (TopK), or as a loop may have iterations (capacity_ops.c, control_ops.c). A run finds how many
 * of the first entries are valid. Nothing may mix invalid entries into valid ones. So entry i of a result along such an axis must
 * depend on entry i of its operands only. Then the result has the same valid entries, and its reader gets their number.
 *
 * An axis of extent 1 cannot be told from axes that a reshape adds or drops, and sums over it are dropped. So inside the graph
 * such axes have at least two entries, and outputs are cut. */
#include "build.h"
#include <string.h>

enum { NONE, FIRST_AXIS, MIXED = 255 }; /* FIRST_AXIS + a: axis a. MIXED: valid and invalid entries were mixed */

static bool whole(const Node *from, const Node *to, int a, int b) { return b < to->rank && from->dims[a] == to->dims[b]; }

/* Axis a behind a reshape: the axis of x with as many elements before it and the same extent */
static int reshaped(const Node *from, const Node *x, int a) {
  int64_t before = dims_elems(from->dims, a), at = 1;
  for (int i = 0; i < x->rank; at *= x->dims[i++])
    if (at == before && x->dims[i] == from->dims[a]) return FIRST_AXIS + i;
  return MIXED;
}

/* Axis of x that axis a of source k becomes */
static int carried(const Node *from, const Node *x, int k, int a) {
  switch ((Op)x->op) {
  case OP_RESHAPE: return reshaped(from, x, a);
  case OP_PERMUTE:
    for (int i = 0; i < x->rank; i++)
      if (permute_perm(x, i) == a) return FIRST_AXIS + i;
    return MIXED;
  case OP_SHRINK: return whole(from, x, a, a) && !shrink_begin(x, a) && shrink_step(x, a) == 1 ? FIRST_AXIS + a : MIXED;
  case OP_WINDOW: return a != window_axis(x) ? FIRST_AXIS + a : MIXED;
  case OP_CAT: return a != cat_axis(x) ? FIRST_AXIS + a : MIXED;
  case OP_GATHER: return k || a != gather_axis(x) ? FIRST_AXIS + a : MIXED;
  case OP_EXPAND: case OP_PAD: case OP_REDUCE: return whole(from, x, a, a) ? FIRST_AXIS + a : MIXED;
  default: /* fewer axes: broadcast, aligned at the last axis */
    return op_info[x->op].level == L_EXPR && whole(from, x, a, a + x->rank - from->rank) ? FIRST_AXIS + a + x->rank - from->rank
                                                                                         : MIXED;
  }
}

static int combined(const IR *ir, const uint8_t *axis, const Node *x) {
  int r = NONE;
  for (int k = 0; k < x->nsrc; k++) {
    int own = axis[x->src[k]];
    if (own != NONE && own != MIXED) own = carried(node(ir, x->src[k]), x, k, own - FIRST_AXIS);
    if (own != NONE) r = r == NONE || r == own ? own : MIXED;
  }
  return r;
}

/* The state of each node, one byte; sources come before their readers. */
static const uint8_t *ragged(Build *b) {
  Ragged *g = b->ragged;
  if (b->ir->n > g->room) {
    uint8_t *more = ARENA_NEW(&b->c->model, uint8_t, 2 * (int64_t)b->ir->n);
    if (g->known) memcpy(more, g->axis, g->known);
    g->axis = more;
    g->room = 2 * b->ir->n;
  }
  uint8_t *axis = g->axis;
  for (Ref r = g->known ? g->known : 1; r < b->ir->n; r++) {
    axis[r] = (uint8_t)combined(b->ir, axis, node(b->ir, r));
    for (size_t i = 0; i < g->n; i++)
      if (g->counts[i].there == r) axis[r] = FIRST_AXIS;
  }
  g->known = b->ir->n;
  return axis;
}

bool has_ragged(Build *b, Ref r) { return b->ragged->n && ragged(b)[r] != NONE; }

void check_counts(Build *b, Ref r, int64_t from, int64_t to) {
  if (!b->ragged->n || is_list(r)) return;
  int a = ragged(b)[r];
  if (a == MIXED || (a >= FIRST_AXIS + from && a < FIRST_AXIS + to))
    bad(b, "needs an extent that depends on the data; end the model before it with --result NAME, and use the count that "
           "--capacity adds as an output");
}

/* The first node below r that mixed valid and invalid entries */
static Ref first_mixed(const IR *ir, const uint8_t *axis, Ref r) {
  for (;;) {
    const Node *x = node(ir, r);
    int k = 0;
    while (k < x->nsrc && axis[x->src[k]] != MIXED) k++;
    if (k == x->nsrc) return r;
    r = x->src[k];
  }
}

Ref checked_ragged(Build *b, Ref r) {
  if (!b->ragged->n) return r;
  const uint8_t *axis = ragged(b);
  if (axis[r] == NONE || (axis[r] != MIXED && b->ragged->wanted == b->ragged->most)) return r;
  if (axis[r] != MIXED) return shrink_axis(b->ir, r, axis[r] - FIRST_AXIS, 0, 1, b->ragged->wanted);
  fail_at(
      b->c, EX_BADMODEL, ir_pos(b->ir, first_mixed(b->ir, axis, r)),
      "the unused rows that --capacity reserves would change this result; end the model at an earlier value with --result NAME");
}

void note_overflow(Build *b, Ref over) {
  if (b->ir->in_loop) bad(b, "a result whose size depends on the data cannot be in the body of a loop");
  b->ragged->over = b->ragged->over ? g_binary(b->ir, OP_OR, b->ragged->over, over) : over;
}

void add_count(Build *b, Ref there, Ref total, int64_t room) { add_count_of(b, 0, there, total, room); }

void add_count_of(Build *b, uint32_t out, Ref there, Ref total, int64_t room) {
  Ragged *g = b->ragged;
  const char *name = b->m->values.p[b->n->out[out]].name;
  for (size_t i = 0; i < g->n; i++)
    if (!strcmp(g->counts[i].name, name))
      bad(b, "a result whose size depends on the data cannot be in a body that runs more than once");
  g->counts = grown(b, g->counts, g->n, sizeof *g->counts);
  g->counts[g->n++] = (Count){ name, there, total, room };
  if (g->known > there) g->known = there; /* an older node got a count */
}

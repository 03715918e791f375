/* SPDX-License-Identifier: MIT */
/* places.c: prints where a thread is: loops over blocks and threads of a program become numbers that the driver gives each
 * thread.
 *
 * A launch has up to three dimensions. The loops are one dimension each, if they are no more than that and the launch is one
 * part (target/launch.h). Else all are digits of one number. */
#include "cstyle.h"

/* The number of a block or thread in one dimension of the launch. The last of the place's loops is dimension 0. */
const char *id_text(Render *w, bool block, int dimension) {
  Sb s = { 0 };
  put_numbered(w, &s, block ? w->l->block : w->l->thread, dimension);
  const char *text = arena_str(&w->a, s.p, s.n);
  sb_free(&s);
  return text;
}

/* A part of several runs in its own blocks only. */
static void open_part(Render *w) {
  if (!w->parts) return;
  const char *id = id_text(w, true, 0);
  const long long first = w->blocks, end = w->blocks + w->part.blocks;
  sb_printf(w->o, "%*sif (", w->indent, "");
  if (first) sb_printf(w->o, "%s >= %lld && ", id, first);
  sb_printf(w->o, "%s < %lld) {\n", id, end);
  w->indent += 2;
}

/* The value of loop k of the n loops over blocks, or over threads: a dimension of its own, or a digit of dimension 0 */
static void put_place(Render *w, Sb *o, bool block, const Ref *place, int n, int k) {
  const bool flat = w->parts || n > 3;
  const char *id = id_text(w, block, flat ? 0 : n - 1 - k);
  int64_t below = 1;
  if (!flat) {
    sb_puts(o, id);
    return;
  }
  for (int i = k + 1; i < n; i++) below *= range_extent(node(w->ir, place[i]));
  if (block && w->blocks) id = arena_printf(&w->a, "(%s - %lld)", id, (long long)w->blocks);
  if (below > 1) id = arena_printf(&w->a, "%s / %lld", id, (long long)below);
  sb_puts(o, id);
  if (k) sb_printf(o, " %% %lld", (long long)range_extent(node(w->ir, place[k])));
}

void open_place(Render *w, Ref range) {
  const LaunchPart *p = &w->part;
  int k = 0;
  if (w->part.place[0] == range) open_part(w);
  while (p->place[k] != range) k++;
  const bool block = k < p->nblocks;
  const Node *r = node(w->ir, range);
  char *name = arena_printf(&w->a, "r%d", w->nloops++);
  sb_printf(w->o, "%*sconst %s %s = ", w->indent, "", w->l->type[r->dt], name);
  put_place(w, w->o, block, block ? p->place : p->place + p->nblocks, block ? p->nblocks : p->nthreads,
            block ? k : k - p->nblocks);
  sb_puts(w->o, ";\n");
  w->text[refmap_get(&w->at, range) - 1] = name;
}

static bool has_barrier(const Render *w, const LaunchPart *p) {
  bool any = false;
  for (size_t i = p->first; i < p->last; i++) any |= node(w->ir, w->k->prog.p[i])->op == OP_BARRIER;
  return any;
}

/* Barriers at parts of a launch, for PoCL 3.1. It copies the rest of the kernel for each edge that leaves a branch with
 * barriers, and the copies begin with different barriers. A condition that chooses the edge then counts as one of the whole
 * block: PoCL assumes for all threads what holds for the first one. A barrier at the end of the branch leaves one edge. A
 * barrier before the branch keeps LLVM from joining the ends of two parts. No block waits long at these barriers, because each
 * has work in one part only. */
void close_place(Render *w, size_t at) {
  const Refs *prog = &w->k->prog;
  if (at != w->part.last) return;
  if (w->parts && w->l->parts_wait && has_barrier(w, &w->part)) sb_printf(w->o, "%*s%s;\n", w->indent, "", w->l->barrier);
  if (w->parts) w->indent -= 2, sb_printf(w->o, "%*s}\n", w->indent, "");
  w->blocks += w->part.blocks;
  if (launch_part(w->ir, prog->p, prog->n, at + 1, &w->part) && w->l->parts_wait && has_barrier(w, &w->part))
    sb_printf(w->o, "%*s%s;\n", w->indent, "", w->l->barrier);
}

void find_places(Render *w) {
  LaunchPart next;
  const Refs *prog = &w->k->prog;
  if (launch_part(w->ir, prog->p, prog->n, 0, &w->part)) w->parts = launch_part(w->ir, prog->p, prog->n, w->part.last + 1, &next);
}

/* SPDX-License-Identifier: MIT */
/* steps.c: the table of steps.h as data, the loop over it, and checks between two steps.
 *
 * needs: kernels with sinks   gives: the results of the table's rows   breaks: nothing of its own */
#include "driver.h"
#include "group/group.h"
#include "lower/lower.h"
#include "opt/opts.h"

enum { NEST = SCOPE_NEST, KERNEL = SCOPE_KERNEL, PLAN = SCOPE_PLAN, ANY = KIND_ANY, CPU = KIND_CPU, DEVICE = KIND_DEVICE };

const KernelStep step_table[STEP_COUNT] = {
#define STEP(letter, name, scope, kind, level, needs, gives, gloss) \
  { letter, #name, step_##name, (Scope)(scope), (TargetKind)(kind), level, needs, gives, gloss },
#include "nest/steps.h"
#undef STEP
};

const char *const scope_name[] = { [SCOPE_NEST] = "nest", [SCOPE_KERNEL] = "kernel", [SCOPE_PLAN] = "plan" };
const char *const kind_name[] = { [KIND_ANY] = "any", [KIND_CPU] = "cpu", [KIND_DEVICE] = "device" };

bool step_serves(const Plan *p, const KernelStep *s) {
  return s->kind == KIND_ANY || (s->kind == KIND_DEVICE) == target_has_threads(p->in->target);
}

/* A variant only has some of the plan's kernels. A kernel that equals another one skips steps over nests. */
static bool left_out(const Plan *p, const KernelStep *s, const Kernel *k) {
  return !step_serves(p, s) || (p->base && !k->nests.n) || (k->as && s->scope == SCOPE_NEST);
}

void step_run(Plan *p, const KernelStep *s, double begin, double end) {
  const size_t n = p->kernels.n;
  if (s->scope == SCOPE_PLAN && step_serves(p, s)) s->run(p, NULL);
  for (size_t k = 0; k < n && s->scope != SCOPE_PLAN; k++) {
    if (!left_out(p, s, &p->kernels.p[k])) s->run(p, &p->kernels.p[k]);
    ctx_progress(p->ir->ctx, s->name, begin + (end - begin) * (double)(k + 1) / (double)n);
  }
}

void kernel_lower(Plan *p, int k) {
  for (int i = 0; i < STEP_COUNT; i++)
    if (step_table[i].scope != SCOPE_PLAN && step_serves(p, &step_table[i])) step_table[i].run(p, &p->kernels.p[k]);
}

void steps_end(Plan *p) {
  affinity_end(p);
  for (size_t k = 0; k < p->kernels.n; k++) VEC_FREE(&p->kernels.p[k].states);
}

/* ---- between two steps ---- */
static bool no_opts(const NestState *s) {
  const Opts *o = s->opts;
  return !o->n && !o->nparts && !o->nmoved && !o->npeeled && !o->staged && !o->split && !o->isa_op && !o->threads &&
         !s->panel[0] && !s->unit;
}

static void print_todo(const IR *ir, const NestState *s, int i, Sb *out) {
  const bool nothing = no_opts(s);
  if (nothing && !s->depth) return;
  sb_printf(out, "; nest %d:", i);
  if (s->depth) sb_printf(out, " rest of depth %d", s->depth);
  if (!nothing && s->kept) sb_printf(out, " kept %d", s->kept);
  if (!nothing) sb_puts(out, " to do ");
  if (!nothing) opts_print(ir, s->nest, s->opts, out);
  if (s->panel[0]) sb_puts(out, " panels");
  if (s->unit) sb_printf(out, " of %s", s->unit->name);
  sb_puts(out, "\n");
}

void step_print(const Plan *p, int index, Sb *out) {
  const Kernel *k = &p->kernels.p[index];
  Refs nests = { 0 };
  if (k->as) {
    sb_printf(out, "; kernel %d: as kernel %d\n", index, k->as - 1);
    return;
  }
  sb_printf(out, "; kernel %d\n", index);
  for (size_t i = 0; i < k->nests.n && !k->states.n; i++) VEC_PUSH(&nests, k->nests.p[i].nest);
  states_nests(k, &nests);
  ir_print_nodes(p->ir, nests.p, nests.n, out);
  for (size_t i = 0; i < k->states.n; i++) print_todo(p->ir, &k->states.p[i], (int)i, out);
  VEC_FREE(&nests);
}

static bool has_range(const Refs *ranges, Ref r) { return !r || range_place(ranges, r) >= 0; }

/* The pending opts of a nest must name ranges of it. */
static void verify_opts(const IR *ir, const NestState *s) {
  const Opts *o = s->opts;
  Refs ranges = { 0 };
  bool ok = true;
  if (no_opts(s)) return;
  nest_ranges(ir, s->nest, &ranges);
  for (int i = 0; i < o->n; i++) ok &= has_range(&ranges, o->opt[i].range);
  for (int i = 0; i < o->nmoved; i++) ok &= has_range(&ranges, o->moved[i].range);
  for (int i = 0; i < o->npeeled; i++) ok &= has_range(&ranges, o->peeled[i]);
  ok &= has_range(&ranges, o->split);
  for (int i = 0; i < 2 && o->unit; i++) ok &= has_range(&ranges, o->side[i]);
  ok &= has_range(&ranges, o->staged) && (!o->isa_op || has_range(&ranges, o->grouped));
  for (int i = 0; i < 3; i++) ok &= !s->panel[i] || node(ir, s->panel[i])->op != OP_RANGE || has_range(&ranges, s->panel[i]);
  if (!ok) ir_wrong(ir, "%%%u: an opt names a range that the nest does not have", s->nest);
  VEC_FREE(&ranges);
}

/* copied: the nest equals a verified one but for buffers */
static void verify_nest(const IR *ir, Ref nest, bool copied, RefMap *known) {
  if (refmap_get(known, nest)) return;
  if (!copied) ir_verify_nest(ir, nest);
  refmap_set(known, nest, 1);
}

void step_verify(const Plan *p, const KernelStep *step, const Kernel *k, RefMap *known) {
  const bool copied = step == &step_table[STEP_reuse];
  if (left_out(p, step, k)) return;
  for (size_t i = 0; i < k->nests.n && !k->states.n; i++) verify_nest(p->ir, k->nests.p[i].nest, false, known);
  for (size_t i = 0; i < k->states.n; i++) {
    verify_nest(p->ir, k->states.p[i].nest, copied, known);
    verify_opts(p->ir, &k->states.p[i]);
    if (i ? k->states.p[i].depth > k->states.p[i - 1].depth + 1 : k->states.p[i].depth)
      ir_wrong(p->ir, "%%%u: a rest follows no nest that leaves it", k->states.p[i].nest);
  }
}

/* Runs steps from..to-1 on a plan that the driver does not walk. */
static void steps_run(Plan *p, int from, int to) {
  RefMap known = { 0 };
  for (int i = from; i < to; i++) {
    step_run(p, &step_table[i], 0, 1);
#ifndef NDEBUG
    for (size_t k = 0; k < p->kernels.n; k++) step_verify(p, &step_table[i], &p->kernels.p[k], &known);
#endif
  }
  refmap_free(&known);
}

/* Makes plans of the graph for further machines, which share the base's canonical nests. */
void step_variants(Plan *p, Kernel *unused) {
  (void)unused;
  variants_make(p);
  for (size_t i = 0; i < p->variants.n; i++) {
    steps_run(p->variants.p[i], STEP_affinity, STEP_variants);
    steps_end(p->variants.p[i]);
  }
}

/* SPDX-License-Identifier: MIT */
/* plan_check.c: checks a dump for errors that no single line shows. A dump may be hostile, as any model, so everything that
 * later passes rely on is checked here. These are kinds and sizes of buffers, depth of computations, kernels, proofs of bounds
 * and offsets in memory.
 *
 * needs: a plan as read (plan_text.c), its target    gives: nothing, or a message and EX_BADMODEL
 * keeps: the plan    breaks: nothing */
#include "lower/lower.h"
#include "plan_text.h"

/* A message about a record, by its index among records of its kind */
#define REFUSE(c, ...) fail(c, EX_BADMODEL, __VA_ARGS__)

static bool same_type(const GIO *a, const GIO *b) {
  return a->dt == b->dt && a->rank == b->rank && (!a->rank || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims));
}

static void check_state(Ctx *c, const Graph *g, size_t k) {
  const GState *s = &g->states.p[k];
  const GIO *in = &g->inputs.p[graph_nin(g) + k], *out = &g->outputs.p[graph_nout(g) + k];
  const Node *x = node(g->ir, out->ref);
  bool first = !s->init || (s->init->dt == in->dt && s->init->elems == dims_elems(in->dims, in->rank));
  if (s->axis < 0 ? !same_type(in, out) : s->axis >= in->rank)
    REFUSE(c, "state %zu: its output cannot be the next value of its input", k);
  if (!first) REFUSE(c, "state %zu: its first value has another type", k);
  if (s->axis < 0) return;
  const bool window = x->op == OP_CAT && x->arg[0] == s->axis && cat_part(x, 0) == in->ref && x->rank == in->rank;
  if (!window || x->dims[s->axis] - in->dims[s->axis] != s->taken || s->capacity < x->dims[s->axis])
    REFUSE(c, "state %zu: its output is not its input with an appended part", k);
}

static void check_graph(Ctx *c, const Graph *g) {
  if (g->states.n > g->inputs.n || g->states.n + g->guarded >= g->outputs.n + (g->states.n > 0))
    REFUSE(c, "there are too many states");
  for (size_t k = 0; k < g->states.n; k++) check_state(c, g, k);
  if (g->grows && !g->states.n) REFUSE(c, "the graph is marked as growing, but has no states");
}

/* The input, output or state that a buffer with this kind and number holds; NULL: none */
static const GIO *io_of(const Graph *g, const Buf *b) {
  const size_t nin = graph_nin(g), nout = graph_nout(g), k = (size_t)b->slot;
  switch (b->kind) {
  case BUF_INPUT: return k < nin ? &g->inputs.p[k] : NULL;
  case BUF_OUTPUT: return k < nout ? &g->outputs.p[k] : NULL;
  case BUF_STATE: return k < g->states.n ? &g->inputs.p[nin + k] : NULL;
  case BUF_NEXT: return k < g->states.n ? &g->outputs.p[nout + k] : NULL;
  case BUF_GUARD: return g->guarded ? &g->outputs.p[g->outputs.n - 1] : NULL;
  default: return NULL;
  }
}

static int64_t elems_of(const Graph *g, const Buf *b, const GIO *io) {
  int64_t n = dims_elems(io->dims, io->rank);
  if (b->kind != BUF_STATE || g->states.p[b->slot].axis < 0) return n;
  int64_t dims[MAX_RANK];
  memcpy(dims, io->dims, sizeof dims);
  dims[g->states.p[b->slot].axis] = g->states.p[b->slot].capacity;
  return dims_elems(dims, io->rank);
}

static void check_buffer(Ctx *c, const Plan *p, int64_t id) {
  const Buf *b = &p->ir->bufs.p[id];
  if (!b->dt || b->elems > MOST_ELEMS) REFUSE(c, "buffer %lld is missing", (long long)id);
  if (b->kind == BUF_ARENA || buf_is_own(b->kind)) return;
  if (b->kind == BUF_WEIGHT) {
    const Tensor *t = b->slot >= 0 && b->slot < (int64_t)p->ir->tensors.n ? &p->ir->tensors.p[b->slot] : NULL;
    const bool row = b->packed > 0 && b->packed <= (int)p->weights.packed.n && p->weights.packed.p[b->packed - 1].buf == id;
    if (!t || t->dt != b->dt || (b->packed ? !row : t->elems != b->elems))
      REFUSE(c, "buffer %lld refers to a missing weight", (long long)id);
    return;
  }
  const GIO *io = b->slot >= 0 ? io_of(p->g, b) : NULL;
  if (!io || io->dt != b->dt || elems_of(p->g, b, io) != b->elems)
    REFUSE(c, "buffer %lld does not have the type and size of its input or output", (long long)id);
}

/* limit of the depth to which a value is computed from others that are not stored */
enum { MOST_DEEP = 4000 };

static void check_places(Ctx *c, const Sched *s, int pass) {
  const IR *ir = s->ir;
  uint32_t *deep = ARENA_NEW(&c->model, uint32_t, s->nplace);
  for (size_t i = 0; i < s->order.n; i++) {
    const Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    const Place *p = &s->place[r];
    const bool leaf = x->op == OP_PARAM || x->op == OP_WEIGHT, memory = p->materialized || leaf;
    if (p->inner >= x->rank || p->buf >= (int)ir->bufs.n) REFUSE(c, "a value names a missing axis or buffer");
    if (p->buf >= 0 && ir->bufs.p[p->buf].dt != (DType)x->dt)
      REFUSE(c, "buffer %d and the value in it differ in type", p->buf);
    if (p->reads_halo && x->op != OP_PAD) REFUSE(c, "reads_halo is only valid for a pad");
    if (p->reads_halo && pass >= pass_named("layout") && s->place[pad_data(x)].buf < 0)
      REFUSE(c, "reads_halo needs a source with a buffer");
    if (p->select && x->op != OP_CAT) REFUSE(c, "select is only valid for a cat");
    if (p->has_halo && (!p->fill || (DType)node(ir, p->fill)->dt != (DType)x->dt))
      REFUSE(c, "a halo needs a fill of the value's type");
    if (p->inside && (node(ir, p->inside)->op != OP_CAT || node(ir, p->inside)->rank != x->rank))
      REFUSE(c, "inside must name a cat of the same rank");
    if (x->op == OP_SCATTER && !p->materialized) REFUSE(c, "a scatter must be materialized");
    if (p->state > (int)s->g->states.n) REFUSE(c, "there is no state %d", p->state - 1);
    if (memory && pass >= pass_named("layout") && p->buf < 0) REFUSE(c, "a stored value has no buffer");
    for (int k = 0; k < x->nsrc && !memory; k++)
      if (!s->place[x->src[k]].materialized && deep[x->src[k]] + 1 > deep[r]) deep[r] = deep[x->src[k]] + 1;
    for (int k = 0; k < x->nsrc && p->materialized; k++)
      if (!s->place[x->src[k]].materialized && deep[x->src[k]] > deep[r]) deep[r] = deep[x->src[k]];
    if (deep[r] > MOST_DEEP) REFUSE(c, "too many values would be computed in one kernel; more must be materialized");
    if (p->materialized) deep[r] = 0;
  }
}

/* The step that makes programs */
static int makes_programs(const Plan *p) { return pass_named(target_has_threads(p->in->target) ? "launches" : "programs"); }

static void check_kernels(Ctx *c, const Plan *p, int pass) {
  const bool lowered = pass >= makes_programs(p);
  for (size_t k = 0, next = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    if ((k == next) != (x->group_size > 0) || (k == next && (size_t)x->group_size > p->kernels.n - k))
      REFUSE(c, "kernel %zu: group_size=%d is wrong", k, x->group_size);
    if (k == next) next += (size_t)x->group_size;
    const Buf *until = x->until && (size_t)x->until <= p->ir->bufs.n ? &p->ir->bufs.p[x->until - 1] : NULL;
    const bool ends = until && until->dt == DT_BOOL && until->kind == BUF_ARENA && x->loop && x->trips % 2 == 0;
    if (x->until && !ends) REFUSE(c, "kernel %zu: until=%d does not end its loop", k, x->until);
    const Buf *when = x->when && (size_t)when_buffer(x) < p->ir->bufs.n ? &p->ir->bufs.p[when_buffer(x)] : NULL;
    if (x->when && (!when || when->dt != DT_BOOL || when->kind != BUF_ARENA || when->of))
      REFUSE(c, "kernel %zu: when=%d names no condition", k, x->when);
    const bool scheduled = pass >= pass_named("schedule") && (!p->base || x->prog.n);
    for (size_t i = 0; i < x->nests.n && scheduled; i++)
      if (!x->nests.p[i].opts || !x->nests.p[i].from || !*x->nests.p[i].key) REFUSE(c, "kernel %zu: nest %zu has no opts", k, i);
    if (k && !x->group_size && x->when != x[-1].when) REFUSE(c, "kernel %zu: a group crosses the border of a branch", k);
    if (!x->prog.n) {
      if (lowered && !p->base) REFUSE(c, "kernel %zu has no program", k);
      continue;
    }
    if (x->chunks < 1 || !x->schedule) REFUSE(c, "kernel %zu has no schedule or no chunks", k);
  }
}

static void check_memory(Ctx *c, const Plan *p) {
  Sb why = { 0 };
  if (p->memory.states.n != p->g->states.n)
    REFUSE(c, "there are %zu states, but memory for %zu", p->g->states.n, p->memory.states.n);
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const StatePlace *s = &p->memory.states.p[k];
    int64_t end;
    if (s->slots < 1 || !i64_mul(s->outer, s->block, &end) || !i64_add(end, s->at, &end) || end > p->memory.state_bytes)
      REFUSE(c, "state %zu is outside of the memory of states", k);
  }
  if (p->memory.state_at + p->memory.state_bytes > p->memory.arena_bytes || p->memory.guard_at > p->memory.arena_bytes)
    REFUSE(c, "states are outside of the arena");
  for (size_t i = 0; i < p->ir->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[i];
    const int64_t bytes = b->elems * dt_bytes(b->dt);
    const bool state = b->kind == BUF_STATE || b->kind == BUF_NEXT;
    if ((b->kind == BUF_ARENA && b->offset + bytes > p->memory.state_at) || (state && b->offset < p->memory.states.p[b->slot].at))
      REFUSE(c, "buffer %zu is outside of its memory", i);
  }
  const bool fits = memplan_check(p, &why);
  const char *text = sb_keep(&why, &c->model);
  if (!fits) REFUSE(c, "%s", text);
}

static void check_bounds(Ctx *c, const Plan *p) {
  Sb why = { 0 };
  const bool inside = plan_in_bounds(p, &why);
  const char *text = sb_keep(&why, &c->model);
  if (!inside) REFUSE(c, "%s", text);
}

/* Checks nests between two steps, and their pending opts */
static void check_pending(Ctx *c, const Plan *p, int pass) {
  const KernelStep *step = pass_info(pass).step;
  const bool wanted = step && pass >= pass_named("schedule") && pass < makes_programs(p);
  RefMap known = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    if (wanted != (x->states.n > 0) || (wanted && !x->nests.n)) REFUSE(c, "kernel %zu: %zu nests are pending", k, x->states.n);
    for (size_t i = 0; i < x->states.n; i++)
      if (!x->states.p[i].opts) REFUSE(c, "kernel %zu: pending nest %zu has no opts", k, i);
    if (x->as) {
      const Kernel *of = (size_t)x->as <= k ? &p->kernels.p[x->as - 1] : NULL;
      bool isomorphic = of && !of->as && of->nbuffers == x->nbuffers && of->states.n == x->states.n;
      for (int i = 0; isomorphic && i < x->nbuffers; i++)
        isomorphic = node(p->ir, x->buffers[i])->dt == node(p->ir, of->buffers[i])->dt;
      if (!isomorphic) REFUSE(c, "kernel %zu is not a copy of kernel %d", k, x->as - 1);
    }
    if (step) step_verify(p, step, x, &known);
  }
  refmap_free(&known);
}

static void check_functions(Ctx *c, const Plan *p, int pass) {
  const bool merged = pass >= pass_named("merge_functions");
  for (size_t k = 0; k < p->kernels.n && !merged; k++)
    if (p->kernels.p[k].code >= 0) REFUSE(c, "kernel %zu has a function before merge_functions", k);
  if (merged && !plan_functions_equal(p)) REFUSE(c, "kernels that share a function differ");
}

void plan_check(const Sched *s, const Plan *p, int pass) {
  Ctx *c = s->ir->ctx;
  check_graph(c, s->g);
  ir_verify_graph(s->g);
  for (size_t i = 0; i < s->ir->bufs.n; i++) check_buffer(c, p, (int64_t)i);
  if (s->place) check_places(c, s, pass);
  check_kernels(c, p, pass);
  check_pending(c, p, pass);
  for (size_t v = 0; v < p->variants.n; v++) check_kernels(c, p->variants.p[v], pass);
  if (pass >= pass_named("bounds")) check_bounds(c, p);
  for (size_t v = 0; v < p->variants.n && pass >= pass_named("bounds"); v++) check_bounds(c, p->variants.p[v]);
  if (pass >= pass_named("memplan")) check_memory(c, p);
  check_functions(c, p, pass);
  for (size_t v = 0; v < p->variants.n; v++) check_functions(c, p->variants.p[v], pass);
}

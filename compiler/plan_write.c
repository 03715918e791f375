/* SPDX-License-Identifier: MIT */
/* plan_write.c: writes statements of a dump from the state between two passes.
 *
 * needs: the decisions of the passes so far   gives: lines that plan_read.c reads   breaks: nothing */
#include "plan_parts.h"
#include "opt/opts.h"
#include "target/isa_ops.h"

static bool all_are(const int64_t *v, int n, int64_t x) {
  for (int i = 0; i < n; i++)
    if (v[i] != x) return false;
  return true;
}

/* The field has its absent value and is not written; rank: number of entries of F_AXES */
static bool is_absent(const Field *f, const void *at, int rank) {
  switch (f->kind) {
  case F_FLAG: return !*(const bool *)at;
  case F_INT: return *(const int *)at == f->absent;
  case F_LONG: return *(const int64_t *)at == f->absent;
  case F_TEXT: return !*(const char *const *)at;
  case F_KEY: return !*(const char *)at;
  case F_AXES: return all_are(at, rank, f->absent);
  case F_FILL: case F_VALUE: case F_NODE: return !*(const Ref *)at;
  case F_UNIT: return !*(const MatrixUnit *const *)at;
  case F_ISA_OP: return !*(const IsaOp *const *)at;
  case F_REAL: case F_LIST: case F_TENSOR: return false;
  }
  return false;
}

/* value: the value whose axes F_AXES describe; n: length of F_LIST */
static void put_field(Writer *w, const Field *f, const void *record, Ref value, int n) {
  const void *at = (const char *)record + f->at;
  const int64_t *list = at;
  const Ref *ref = at;
  const IR *ir = w->s->ir;
  const int rank = axes_of(ir, value);
  Sb *out = w->out;
  if (is_absent(f, at, rank)) return;
  sb_printf(out, f->kind == F_FLAG ? " %s" : " %s=", f->name);
  switch (f->kind) {
  case F_FLAG: return;
  case F_INT: sb_printf(out, "%d", *(const int *)at); return;
  case F_LONG: sb_printf(out, "%lld", (long long)*list); return;
  case F_REAL: literal_put(out, DT_F64, *list); return;
  case F_TEXT: put_string(out, *(const char *const *)at); return;
  case F_KEY: put_string(out, at); return;
  case F_AXES: put_list(out, list, rank); return;
  case F_LIST: put_list(out, list, n); return;
  case F_FILL: literal_put(out, (DType)node(ir, *ref)->dt, const_value(node(ir, *ref))); return;
  case F_VALUE: put_name(&w->graph, *ref); return;
  case F_NODE: put_name(&w->inner, *ref); return;
  case F_UNIT: put_string(out, (*(const MatrixUnit *const *)at)->name); return;
  case F_ISA_OP: put_string(out, (*(const IsaOp *const *)at)->name); return;
  case F_TENSOR: sb_printf(out, "%u", refmap_get(&w->tensor, (Ref)*list + 1) - 1); return;
  }
}

static void put_fields(Writer *w, Fields f, const void *record, Ref value, int n) {
  for (int i = 0; i < f.n; i++) put_field(w, &f.p[i], record, value, n);
}

/* A line: its word and its fields */
static void put_record(Writer *w, const char *word, Fields f, const void *record) {
  sb_puts(w->out, word);
  put_fields(w, f, record, 0, 0);
  sb_puts(w->out, "\n");
}

void put_after(Writer *w) { sb_printf(w->out, "after %s\n", pass_info(w->pass).name); }

void put_settings(Writer *w) {
  for (int i = 0; i < w->o->nsettings; i++) {
    sb_printf(w->out, "option %s ", w->o->settings[i].name);
    put_string(w->out, w->o->settings[i].value);
    sb_puts(w->out, "\n");
  }
}

void put_sources(Writer *w) {
  Ctx *c = w->s->ir->ctx;
  for (size_t i = 0; i < c->sources.n; i++) {
    sb_printf(w->out, "source %zu \"%s\"", c->sources.p[i].all.n, source_sha256(c, i));
    if (c->sources.p[i].location) {
      sb_puts(w->out, " ");
      put_string(w->out, c->sources.p[i].location);
    }
    sb_puts(w->out, "\n");
  }
}

void put_origins(Writer *w) {
  const IR *ir = w->s->ir;
  sb_printf(w->out, "ranges %lld\n", (long long)ir->next_range);
  for (size_t i = 1; i < ir->origins.n; i++) {
    sb_printf(w->out, "origin %u ", ir->origins.p[i].index);
    put_string(w->out, ir->origins.p[i].text ? ir->origins.p[i].text : "");
    sb_puts(w->out, ir->origins.p[i].is_line ? " line\n" : "\n");
  }
}

bool is_placed(Ref r, void *arg) {
  const Sched *s = ((const Writer *)arg)->s;
  const Place *p = s->place && r < s->nplace ? &s->place[r] : NULL;
  return p && (p->materialized || p->select || p->reads_halo || p->buf >= 0 || p->inside || p->state);
}

void put_place(const Printer *p, Ref r, void *arg) {
  Writer *w = arg;
  if (p->level != L_GRAPH || !is_placed(r, w)) return;
  sb_puts(w->out, " ;");
  put_fields(w, place_fields, &w->s->place[r], r, 0);
}

static void put_tensor(Writer *w, int64_t id) {
  if (!refmap_get(&w->tensor, (Ref)id + 1)) refmap_set(&w->tensor, (Ref)id + 1, ++w->ntensors);
}

void put_graph(Writer *w) {
  const Graph *g = w->s->g;
  print_graph(&w->graph, g, w->o->blob, w->o->blobname);
  for (size_t i = 0; i < w->graph.order.n; i++) {
    const Node *x = node(g->ir, w->graph.order.p[i]);
    if (x->op == OP_WEIGHT) put_tensor(w, x->arg[0]);
  }
  w->inner.row = w->graph.row;
}

void put_states(Writer *w) {
  const Graph *g = w->s->g;
  for (size_t k = 0; k < g->states.n; k++) {
    const GState *st = &g->states.p[k];
    if (st->init) {
      print_weight(&w->graph, w->ntensors, st->init, w->o->blob, w->o->blobname);
      sb_puts(w->out, "\n");
    }
    sb_puts(w->out, "state");
    put_fields(w, state_fields, st, 0, 0);
    if (st->init) sb_printf(w->out, " init=%u", w->ntensors++);
    sb_puts(w->out, "\n");
  }
  if (g->grows) sb_puts(w->out, "grows\n");
}

static void put_samples(Writer *w, const char *of, const Tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) {
    print_weight(&w->graph, w->ntensors, &t[i], w->o->blob, w->o->blobname);
    sb_printf(w->out, "\nsample %s=%u\n", of, w->ntensors++);
  }
}

void put_sample(Writer *w) {
  const Sample *s = w->o->sample;
  if (!s) return;
  put_samples(w, "input", s->in, w->s->g->inputs.n);
  put_samples(w, "output", s->exact, graph_nout(w->s->g));
}

void put_cost(Writer *w) {
  if (w->p->layouts.cost[0] > 0) put_record(w, "cost", cost_fields, w->p);
}

void put_buffers(Writer *w) {
  const IR *ir = w->s->ir;
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    print_buffer(w->out, ir, (int64_t)i, b->kind == BUF_WEIGHT ? refmap_get(&w->tensor, (Ref)b->slot + 1) - 1 : b->slot);
    put_fields(w, buffer_fields, b, 0, 0);
    sb_puts(w->out, "\n");
  }
}

void put_packed(Writer *w) {
  for (size_t i = 0; i < w->p->weights.packed.n; i++) {
    sb_puts(w->out, "packed");
    put_fields(w, packed_fields, &w->p->weights.packed.p[i], 0, w->p->weights.packed.p[i].n);
    sb_puts(w->out, "\n");
  }
}

static void put_nests(Writer *w, const Kernel *k) {
  for (size_t i = 0; i < k->nests.n; i++) {
    sb_puts(w->out, "nest ");
    put_name(&w->inner, k->nests.p[i].nest);
    put_fields(w, nest_fields, &k->nests.p[i], 0, 0);
    sb_puts(w->out, "\n");
  }
}

/* Adds all nodes that a nest's state names */
static void add_pending(const NestState *s, Refs *roots) {
  const Opts *o = s->opts;
  VEC_PUSH(roots, s->nest);
  for (int i = 0; i < 3; i++) VEC_PUSH(roots, s->panel[i]);
  for (int i = 0; o && i < o->n; i++) VEC_PUSH(roots, o->opt[i].range);
  for (int i = 0; o && i < o->nmoved; i++) VEC_PUSH(roots, o->moved[i].range);
  for (int i = 0; o && i < o->npeeled; i++) VEC_PUSH(roots, o->peeled[i]);
  if (o) VEC_PUSH(roots, o->staged);
  if (o) VEC_PUSH(roots, o->split);
  for (int i = 0; o && i < 2; i++) VEC_PUSH(roots, o->side[i]);
  if (o) VEC_PUSH(roots, o->grouped);
}

static void put_pending(Writer *w, const NestState *s) {
  const Opts *o = s->opts;
  sb_puts(w->out, "pending ");
  put_name(&w->inner, s->nest);
  put_fields(w, pending_fields, s, 0, 0);
  sb_puts(w->out, "\n");
  if (!o) return;
  put_record(w, "opts", opts_fields, o);
  for (int i = 0; i < o->n; i++) put_record(w, "opt", opt_fields, &o->opt[i]);
  for (int i = 0; i < o->nmoved; i++) put_record(w, "move", move_fields, &o->moved[i]);
  for (int i = 0; i < o->npeeled; i++) put_record(w, "peel", peel_fields, &o->peeled[i]);
  for (int i = 0; i < o->nparts; i++) put_record(w, "part", part_fields, &o->part[i]);
}

/* Buffers in matching order, for the kernel and the one that it equals */
static void put_isomorphic(Writer *w, const Kernel *k) {
  if (!k->nbuffers) return;
  sb_puts(w->out, "isomorphic");
  for (int i = 0; i < k->nbuffers; i++)
    sb_printf(w->out, "%s b%lld", i ? "," : "", (long long)node(w->s->ir, k->buffers[i])->arg[0]);
  sb_puts(w->out, "\n");
}

/* A shift for each buffer of the program, in the program's order */
static void put_shift(Writer *w, const Kernel *k) {
  if (!k->shift) return;
  sb_puts(w->out, "shift");
  for (size_t i = 0; i < k->bufs.n; i++) sb_printf(w->out, "%s %lld", i ? "," : "", (long long)k->shift[i]);
  sb_puts(w->out, "\n");
}

static void put_kernel(Writer *w, const Kernel *k) {
  Refs roots = { 0 };
  put_record(w, "kernel", kernel_fields, k);
  VEC_PUSH(&roots, k->sink);
  for (size_t i = 0; i < k->nests.n; i++) VEC_PUSH(&roots, k->nests.p[i].nest);
  for (size_t i = 0; i < k->states.n; i++) add_pending(&k->states.p[i], &roots);
  w->inner.level = L_KERNEL;
  print_kernel(&w->inner, roots.p, roots.n);
  put_nests(w, k);
  for (size_t i = 0; i < k->states.n; i++) put_pending(w, &k->states.p[i]);
  put_isomorphic(w, k);
  put_shift(w, k);
  print_end(&w->inner);
  VEC_FREE(&roots);
  if (!k->prog.n) return;
  sb_puts(w->out, "program\n");
  w->inner.level = L_PROG;
  print_program(&w->inner, k->prog.p, k->prog.n);
  print_end(&w->inner);
}

void put_kernels(Writer *w) {
  for (size_t k = 0; k < w->p->kernels.n; k++) put_kernel(w, &w->p->kernels.p[k]);
  for (size_t v = 0; v < w->p->variants.n; v++) {
    const Plan *p = w->p->variants.p[v];
    sb_puts(w->out, "variant ");
    put_string(w->out, p->in->target->isa);
    sb_puts(w->out, "\n");
    for (size_t k = 0; k < p->kernels.n; k++) put_kernel(w, &p->kernels.p[k]);
  }
}

void put_memory(Writer *w) {
  put_record(w, "arena", arena_fields, w->p);
  for (size_t i = 0; i < w->p->memory.states.n; i++) put_record(w, "memory", memory_fields, &w->p->memory.states.p[i]);
}

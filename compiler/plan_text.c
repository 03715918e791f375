/* plan_text.c: dumps. From the state between two passes to text, and back.
 *
 * A dump is the graph (compiler/ir/print.c) with what passes decided about its values as attributes of their lines, then the
 * buffers, then kernels: what they compute, their nests with their schedules, and their programs. A record is a list of fields,
 * "name=value" each; one table says of each field where it lies, what it is when it is not written, and what it may be. A
 * statement is a row with a function that writes it and one that reads it. So what is written can be read.
 *
 * A dump is untrusted as any model: each line is judged when it is read, by the tables here and by the verifier, and what no
 * line shows by itself by plan_check.c.
 *
 * Buffers and ranges keep their numbers, for later passes order by them; nodes and tensors are numbered anew. */
#include "plan_text.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "opt/dot_ops.h"
#include <stdlib.h>

enum { MOST_INT = 1 << 30, MOST_TILE = 1 << 20 };

/* ---- fields ---- */
typedef enum {
  F_FLAG,                  /* bool: its name alone */
  F_INT, F_LONG,           /* int, int64_t */
  F_REAL,                  /* double */
  F_TEXT,                  /* const char *: a string */
  F_KEY,                   /* char[65]: a string */
  F_AXES,                  /* int64_t[MAX_RANK]: a list, one for each axis of the value; all absent: not written */
  F_FILL,                  /* Ref of a CONST: a literal of the value's type */
  F_VALUE,                 /* Ref of the graph: its name, also of a later line */
  F_TENSOR,                /* int64_t: the number of a tensor */
  F_LIST,                  /* int64_t[24]: a list */
  F_NODE,                  /* Ref of a range or a constant of the kernel: its name */
  F_ISA_OP                   /* const IsaOp *: its name */
} FieldKind;

typedef struct Field {
  const char *name;
  FieldKind kind;
  size_t at;
  int64_t absent, least, most; /* what it is when it is not written; its range, of F_AXES each one's */
} Field;

#define FIELDS(a) a, (int)(sizeof a / sizeof *a)
/* clang-format off */
#define PLACE(field) offsetof(Place, field)
static const Field place_fields[] = {
  { "materialized", F_FLAG, PLACE(materialized), 0, 0, 1 },
  { "select",    F_FLAG,  PLACE(select),    0, 0, 1 },
  { "reads_halo", F_FLAG, PLACE(reads_halo), 0, 0, 1 },
  { "state",     F_INT,   PLACE(state),     0, 0, MOST_INT },
  { "inside",    F_VALUE, PLACE(inside),    0, 0, 0 },
  { "at",        F_LONG,  PLACE(inside_at), 0, 0, MOST_ELEMS },
  { "inner",     F_INT,   PLACE(inner),    -1, 0, MAX_RANK - 1 },
  { "halo",      F_FLAG,  PLACE(has_halo),  0, 0, 1 },
  { "lo",        F_AXES,  PLACE(lo),        0, 0, MOST_ELEMS },
  { "hi",        F_AXES,  PLACE(hi),        0, 0, MOST_ELEMS },
  { "fill",      F_FILL,  PLACE(fill),      0, 0, 0 },
  { "buffer",    F_INT,   PLACE(buf),      -1, 0, MOST_INT },
  { "offset",    F_LONG,  PLACE(offset),    0, 0, MOST_ELEMS },
  { "stride",    F_AXES,  PLACE(stride),    0, 0, MOST_ELEMS },
};
#undef PLACE
#define BUF(field) offsetof(Buf, field)
static const Field buffer_fields[] = {
  { "piece",  F_LONG,  BUF(piece),  0, 0, MOST_ELEMS },
  { "packed", F_INT,   BUF(packed), 0, 0, MOST_INT },
  { "value",  F_VALUE, BUF(value),  0, 0, 0 },
};
#undef BUF
#define STATE(field) offsetof(GState, field)
static const Field state_fields[] = {
  { "axis",     F_INT,  STATE(axis),    -1, 0, MAX_RANK - 1 },
  { "taken",    F_LONG, STATE(taken),    0, 0, MOST_ELEMS },
  { "capacity", F_LONG, STATE(capacity), 0, 0, MOST_ELEMS },
};
#undef STATE
#define PACKED(field) offsetof(Packed, field)
static const Field packed_fields[] = {
  { "tensor", F_TENSOR, PACKED(tensor), 0, 0, MOST_INT },
  { "base",   F_LONG,   PACKED(base),   0, -MOST_ELEMS, MOST_ELEMS },
  { "closed", F_LONG,   PACKED(closed), 0, -MOST_ELEMS, MOST_ELEMS },
  { "buffer", F_INT,    PACKED(buf),   -1, 0, MOST_INT },
  { "extent", F_LIST,   PACKED(extent), 0, 1, MOST_ELEMS },
  { "coef",   F_LIST,   PACKED(coef),   0, -MOST_ELEMS, MOST_ELEMS },
  { "gate",   F_LIST,   PACKED(gate),   0, -MOST_ELEMS, MOST_ELEMS },
};
#undef PACKED
#define KERNEL(field) offsetof(Kernel, field)
static const Field kernel_fields[] = {
  { "group_size", F_INT, KERNEL(group_size),         1, 0, MOST_INT },
  { "chunks_per_task", F_INT, KERNEL(chunks_per_task),        0, 0, MOST_INT },
  { "chunks",    F_INT,  KERNEL(chunks),           0, 0, MOST_INT },
  { "flops",     F_LONG, KERNEL(flops),            0, 0, INT64_MAX },
  { "read",      F_LONG, KERNEL(bytes_read),       0, 0, INT64_MAX },
  { "written",   F_LONG, KERNEL(bytes_written),    0, 0, INT64_MAX },
  { "moves",     F_FLAG, KERNEL(moves),            0, 0, 1 },
  { "may_alias", F_FLAG, KERNEL(may_alias),        0, 0, 1 },
  { "as",        F_INT,  KERNEL(as),               0, 0, MOST_INT },
  { "accesses",  F_LONG, KERNEL(bounds.accesses),  0, 0, INT64_MAX },
  { "by_ranges", F_LONG, KERNEL(bounds.by_ranges), 0, 0, INT64_MAX },
  { "clamped",   F_LONG, KERNEL(bounds.clamped),   0, 0, INT64_MAX },
  { "schedule",  F_TEXT, KERNEL(schedule),         0, 0, 0 },
  { "function",  F_INT,  KERNEL(code),            -1, 0, MOST_INT },
};
#undef KERNEL
#define NEST(field) offsetof(NestSchedule, field)
static const Field nest_fields[] = {
  { "key",     F_KEY,  NEST(key),     0, 0, 0 },
  { "opts",    F_TEXT, NEST(opts),    0, 0, 0 },
  { "from",    F_TEXT, NEST(from),    0, 0, 0 },
  { "partial", F_FLAG, NEST(partial), 0, 0, 1 },
};
#undef NEST
#define PENDING(field) offsetof(NestState, field)
static const Field pending_fields[] = {
  { "depth",    F_INT,  PENDING(depth),    0, 0, MAX_RANGES },
  { "kept",     F_INT,  PENDING(kept),     0, 0, MAX_RANGES },
  { "loop",     F_NODE, PENDING(panel[0]), 0, 0, 0 },
  { "copies",   F_NODE, PENDING(panel[1]), 0, 0, 0 },
  { "lanes",    F_NODE, PENDING(panel[2]), 0, 0, 0 },
};
#undef PENDING
#define OPTS(field) offsetof(Opts, field)
static const Field opts_fields[] = {
  { "staged",  F_NODE, OPTS(staged),  0, 0, 0 },
  { "grouped", F_NODE, OPTS(grouped), 0, 0, 0 },
  { "isa_op",  F_ISA_OP, OPTS(isa_op), 0, 0, 0 },
  { "threads", F_INT,  OPTS(threads), 0, 0, MOST_INT },
  { "borders", F_INT,  OPTS(nborders), 0, 0, MAX_PARTS },
};
#undef OPTS
#define OPT(field) offsetof(Opt, field)
static const Field opt_fields[] = {
  { "range",   F_NODE, OPT(range),   0, 0, 0 },
  { "unroll",  F_INT,  OPT(unroll),  1, 1, MOST_TILE },
  { "lanes",   F_INT,  OPT(lanes),   1, 1, MOST_TILE },
  { "partial", F_FLAG, OPT(partial), 0, 0, 1 },
  { "rows",    F_FLAG, OPT(rows),    0, 0, 1 },
};
#undef OPT
#define MOVE_(field) offsetof(Move, field)
static const Field move_fields[] = {
  { "range", F_NODE, MOVE_(range), 0, 0, 0 },
  { "block", F_INT,  MOVE_(block), 0, 0, MOST_TILE },
};
#undef MOVE_
static const Field peel_fields[] = { { "range", F_NODE, 0, 0, 0, 0 } };
static const Field part_fields[] = { { "opts", F_TEXT, 0, 0, 0, 0 } };
#define MEMORY(field) offsetof(StatePlace, field)
static const Field memory_fields[] = {
  { "at",    F_LONG, MEMORY(at),     0, 0, MOST_ELEMS },
  { "outer", F_LONG, MEMORY(outer),  0, 0, MOST_ELEMS },
  { "block", F_LONG, MEMORY(block),  0, 0, MOST_ELEMS },
  { "keep",  F_LONG, MEMORY(keep),   0, 0, MOST_ELEMS },
  { "step",  F_LONG, MEMORY(step),   0, 0, MOST_ELEMS },
  { "slots", F_LONG, MEMORY(slots),  0, 0, MOST_ELEMS },
};
#undef MEMORY
#define PLAN(field) offsetof(Plan, field)
static const Field arena_fields[] = {
  { "bytes",    F_LONG, PLAN(memory.arena_bytes), 0, 0, MOST_ELEMS },
  { "bound",    F_LONG, PLAN(memory.arena_bound), 0, 0, MOST_ELEMS },
  { "state_at", F_LONG, PLAN(memory.state_at),    0, 0, MOST_ELEMS },
  { "state",    F_LONG, PLAN(memory.state_bytes), 0, 0, MOST_ELEMS },
  { "guard_at", F_LONG, PLAN(memory.guard_at),    0, 0, MOST_ELEMS },
};
static const Field cost_fields[] = {
  { "alone",  F_REAL, PLAN(layouts.cost[0]), 0, 0, 0 },
  { "chosen", F_REAL, PLAN(layouts.cost[1]), 0, 0, 0 },
};
#undef PLAN
/* clang-format on */

/* ---- writing ---- */
typedef struct Writer {
  Printer graph, inner;    /* names of the graph; of a kernel, one after another */
  const Sched *s;
  const Plan *p;
  int pass;
  const CompileOptions *o;
  Sb *out;
  uint32_t ntensors;       /* written so far */
  RefMap tensor;           /* a tensor's number + 1 to that in the text + 1 */
} Writer;

static int axes_of(const IR *ir, Ref value) { return value ? node(ir, value)->rank : 0; }

static bool all_are(const int64_t *v, int n, int64_t x) {
  for (int i = 0; i < n; i++)
    if (v[i] != x) return false;
  return true;
}

/* A field that is not written; rank: how many axes F_AXES are about */
static bool is_absent(const Field *f, const void *at, int rank) {
  switch (f->kind) {
  case F_FLAG: return !*(const bool *)at;
  case F_INT: return *(const int *)at == f->absent;
  case F_LONG: return *(const int64_t *)at == f->absent;
  case F_TEXT: return !*(const char *const *)at;
  case F_KEY: return !*(const char *)at;
  case F_AXES: return all_are(at, rank, f->absent);
  case F_FILL: case F_VALUE: case F_NODE: return !*(const Ref *)at;
  case F_ISA_OP: return !*(const IsaOp *const *)at;
  case F_REAL: case F_LIST: case F_TENSOR: return false;
  }
  return false;
}

/* value: whose axes F_AXES are about; n: of F_LIST */
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
  case F_ISA_OP: put_string(out, (*(const IsaOp *const *)at)->name); return;
  case F_TENSOR: sb_printf(out, "%u", refmap_get(&w->tensor, (Ref)*list + 1) - 1); return;
  }
}

static void put_fields(Writer *w, const Field *f, int nfields, const void *record, Ref value, int n) {
  for (int i = 0; i < nfields; i++) put_field(w, &f[i], record, value, n);
}

/* A line: its word and its fields */
static void put_record(Writer *w, const char *word, const Field *f, int n, const void *record) {
  sb_puts(w->out, word);
  put_fields(w, f, n, record, 0, 0);
  sb_puts(w->out, "\n");
}

static void put_after(Writer *w) { sb_printf(w->out, "after %s\n", pass_info(w->pass).name); }

static void put_settings(Writer *w) {
  for (int i = 0; i < w->o->nsettings; i++) {
    sb_printf(w->out, "option %s ", w->o->settings[i].name);
    put_string(w->out, w->o->settings[i].value);
    sb_puts(w->out, "\n");
  }
}

static void put_sources(Writer *w) {
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

static void put_origins(Writer *w) {
  const IR *ir = w->s->ir;
  sb_printf(w->out, "ranges %lld\n", (long long)ir->next_range);
  for (size_t i = 1; i < ir->origins.n; i++) {
    sb_printf(w->out, "origin %u ", ir->origins.p[i].index);
    put_string(w->out, ir->origins.p[i].text ? ir->origins.p[i].text : "");
    sb_puts(w->out, ir->origins.p[i].is_line ? " line\n" : "\n");
  }
}

static bool is_placed(Ref r, void *arg) {
  const Sched *s = ((const Writer *)arg)->s;
  const Place *p = s->place && r < s->nplace ? &s->place[r] : NULL;
  return p && (p->materialized || p->select || p->reads_halo || p->buf >= 0 || p->inside || p->state);
}

static void put_place(const Printer *p, Ref r, void *arg) {
  Writer *w = arg;
  if (p->level != L_GRAPH || !is_placed(r, w)) return;
  sb_puts(w->out, " ;");
  put_fields(w, FIELDS(place_fields), &w->s->place[r], r, 0);
}

static void put_tensor(Writer *w, int64_t id) {
  if (!refmap_get(&w->tensor, (Ref)id + 1)) refmap_set(&w->tensor, (Ref)id + 1, ++w->ntensors);
}

static void put_graph(Writer *w) {
  const Graph *g = w->s->g;
  print_graph(&w->graph, g, w->o->blob, w->o->blobname);
  for (size_t i = 0; i < w->graph.order.n; i++) {
    const Node *x = node(g->ir, w->graph.order.p[i]);
    if (x->op == OP_WEIGHT) put_tensor(w, x->arg[0]);
  }
  w->inner.row = w->graph.row;
}

static void put_states(Writer *w) {
  const Graph *g = w->s->g;
  for (size_t k = 0; k < g->states.n; k++) {
    const GState *st = &g->states.p[k];
    if (st->init) {
      print_weight(&w->graph, w->ntensors, st->init, w->o->blob, w->o->blobname);
      sb_puts(w->out, "\n");
    }
    sb_puts(w->out, "state");
    put_fields(w, FIELDS(state_fields), st, 0, 0);
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

static void put_sample(Writer *w) {
  const Sample *s = w->o->sample;
  if (!s) return;
  put_samples(w, "input", s->in, w->s->g->inputs.n);
  put_samples(w, "output", s->exact, graph_nout(w->s->g));
}

static void put_cost(Writer *w) {
  if (w->p->layouts.cost[0] > 0) put_record(w, "cost", FIELDS(cost_fields), w->p);
}

static void put_buffers(Writer *w) {
  const IR *ir = w->s->ir;
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    print_buffer(w->out, ir, (int64_t)i, b->kind == BUF_WEIGHT ? refmap_get(&w->tensor, (Ref)b->slot + 1) - 1 : b->slot);
    put_fields(w, FIELDS(buffer_fields), b, 0, 0);
    sb_puts(w->out, "\n");
  }
}

static void put_packed(Writer *w) {
  for (size_t i = 0; i < w->p->weights.packed.n; i++) {
    sb_puts(w->out, "packed");
    put_fields(w, FIELDS(packed_fields), &w->p->weights.packed.p[i], 0, w->p->weights.packed.p[i].n);
    sb_puts(w->out, "\n");
  }
}

static void put_nests(Writer *w, const Kernel *k) {
  for (size_t i = 0; i < k->nests.n; i++) {
    sb_puts(w->out, "nest ");
    put_name(&w->inner, k->nests.p[i].nest);
    put_fields(w, FIELDS(nest_fields), &k->nests.p[i], 0, 0);
    sb_puts(w->out, "\n");
  }
}

/* All nodes that a nest's state names */
static void add_pending(const NestState *s, Refs *roots) {
  const Opts *o = s->opts;
  VEC_PUSH(roots, s->nest);
  for (int i = 0; i < 3; i++) VEC_PUSH(roots, s->panel[i]);
  for (int i = 0; o && i < o->n; i++) VEC_PUSH(roots, o->opt[i].range);
  for (int i = 0; o && i < o->nmoved; i++) VEC_PUSH(roots, o->moved[i].range);
  for (int i = 0; o && i < o->npeeled; i++) VEC_PUSH(roots, o->peeled[i]);
  if (o) VEC_PUSH(roots, o->staged);
  if (o) VEC_PUSH(roots, o->grouped);
}

static void put_pending(Writer *w, const NestState *s) {
  const Opts *o = s->opts;
  sb_puts(w->out, "pending ");
  put_name(&w->inner, s->nest);
  put_fields(w, FIELDS(pending_fields), s, 0, 0);
  sb_puts(w->out, "\n");
  if (!o) return;
  put_record(w, "opts", FIELDS(opts_fields), o);
  for (int i = 0; i < o->n; i++) put_record(w, "opt", FIELDS(opt_fields), &o->opt[i]);
  for (int i = 0; i < o->nmoved; i++) put_record(w, "move", FIELDS(move_fields), &o->moved[i]);
  for (int i = 0; i < o->npeeled; i++) put_record(w, "peel", FIELDS(peel_fields), &o->peeled[i]);
  for (int i = 0; i < o->nparts; i++) put_record(w, "part", FIELDS(part_fields), &o->part[i]);
}

/* Buffers in the order in which the kernel and that of which it is a copy have them */
static void put_isomorphic(Writer *w, const Kernel *k) {
  if (!k->nbuffers) return;
  sb_puts(w->out, "isomorphic");
  for (int i = 0; i < k->nbuffers; i++)
    sb_printf(w->out, "%s b%lld", i ? "," : "", (long long)node(w->s->ir, k->buffers[i])->arg[0]);
  sb_puts(w->out, "\n");
}

/* Of each buffer that the program names, in the order in which it does */
static void put_shift(Writer *w, const Kernel *k) {
  if (!k->shift) return;
  sb_puts(w->out, "shift");
  for (size_t i = 0; i < k->bufs.n; i++) sb_printf(w->out, "%s %lld", i ? "," : "", (long long)k->shift[i]);
  sb_puts(w->out, "\n");
}

static void put_kernel(Writer *w, const Kernel *k) {
  Refs roots = { 0 };
  put_record(w, "kernel", FIELDS(kernel_fields), k);
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

static void put_kernels(Writer *w) {
  for (size_t k = 0; k < w->p->kernels.n; k++) put_kernel(w, &w->p->kernels.p[k]);
  for (size_t v = 0; v < w->p->variants.n; v++) {
    const Plan *p = w->p->variants.p[v];
    sb_puts(w->out, "variant ");
    put_string(w->out, p->in->target->isa);
    sb_puts(w->out, "\n");
    for (size_t k = 0; k < p->kernels.n; k++) put_kernel(w, &p->kernels.p[k]);
  }
}

static void put_memory(Writer *w) {
  put_record(w, "arena", FIELDS(arena_fields), w->p);
  for (size_t i = 0; i < w->p->memory.states.n; i++) put_record(w, "memory", FIELDS(memory_fields), &w->p->memory.states.p[i]);
}

/* ---- reading ---- */

/* A name that stands before its line */
typedef struct Later { Ref owner; size_t at; const char *name; size_t n; } Later;
typedef struct Placed { Ref value; Place place; Pos pos; } Placed;

typedef struct Reader {
  Resumed *r;
  Plan *into;              /* whose kernels are read: the plan, or a variant of it */
  Kernel *kernel;          /* the last one; NULL: none yet */
  VEC(Placed) placed;
  VEC(Later) later;        /* owner: place in placed */
  VEC(Packed) packed;
  VEC(SourceFile) sources;
  VEC(int64_t) shift;      /* of the last kernel's buffers, whose program follows */
  bool arena;
} Reader;

static Reader *reader_of(Parser *p) { return p->plan->arg; }

static int64_t ranged(Parser *p, const Field *f) {
  const char *at = (scan_peek(p), p->at);
  const int64_t v = scan_integer(p, "an integer");
  if (v < f->least || v > f->most)
    scan_bad(p, at, "%s=%lld; it is from %lld to %lld", f->name, (long long)v, (long long)f->least, (long long)f->most);
  return v;
}

/* [1,2,3] with at most so many; how many there are */
static int ranged_list(Parser *p, const Field *f, int most, int64_t *v) {
  int n = 0;
  scan_expect(p, '[', "before the list");
  if (scan_accept(p, ']')) return 0;
  do {
    if (n == most) scan_bad(p, p->at, "%s has more than %d integers", f->name, most);
    v[n++] = ranged(p, f);
  } while (scan_accept(p, ','));
  scan_expect(p, ']', "after the list");
  return n;
}

static const char *wanted_string(Parser *p, const char *what) {
  const char *s = scan_string(p);
  if (!s) scan_bad(p, p->at, "expected %s as a string, found %s", what, scan_found(p));
  return s;
}

/* The value of a field, behind its '='. n: gets the length of an F_LIST */
static void read_field(Parser *p, const Field *f, void *record, Ref value, int *n) {
  Reader *rd = reader_of(p);
  char *at = (char *)record + f->at;
  int64_t *list = (int64_t *)(void *)at;
  const int rank = axes_of(p->ir, value);
  const char *s;
  size_t len;
  switch (f->kind) {
  case F_FLAG: *(bool *)at = true; return;
  case F_INT: *(int *)(void *)at = (int)ranged(p, f); return;
  case F_LONG: *list = ranged(p, f); return;
  case F_REAL:
    if (!(len = scan_literal(p, &s))) scan_bad(p, p->at, "expected a number, found %s", scan_found(p));
    *list = scan_bits(p, s, len, DT_F64);
    return;
  case F_TEXT: *(const char **)(void *)at = wanted_string(p, f->name); return;
  case F_KEY:
    s = wanted_string(p, f->name);
    if (strlen(s) != 64) scan_bad(p, p->at, "a key has 64 digits");
    memcpy(at, s, 65);
    return;
  case F_AXES:
    if (ranged_list(p, f, rank, list) != rank) scan_bad(p, p->at, "%s wants %d integers", f->name, rank);
    return;
  case F_LIST: {
    const int got = ranged_list(p, f, 24, list);
    if (*n >= 0 && got != *n) scan_bad(p, p->at, "%s wants %d integers, as the lists before it", f->name, *n);
    *n = got;
    return;
  }
  case F_FILL: {
    const DType d = (DType)node(p->ir, value)->dt;
    if (!(len = scan_literal(p, &s))) scan_bad(p, p->at, "expected a literal, found %s", scan_found(p));
    *(Ref *)(void *)at = c_bits(p->ir, d, scan_bits(p, s, len, d));
    return;
  }
  case F_VALUE:
    if (!(len = scan_word(p, &s))) scan_bad(p, p->at, "expected the name of a value, found %s", scan_found(p));
    if (p->level == L_GRAPH) VEC_PUSH(&rd->later, ((Later){ (Ref)rd->placed.n, f->at, s, len })); /* maybe of a later line */
    else *(Ref *)(void *)at = parse_graph_name(p, s, len);
    return;
  case F_NODE:
    if (!(len = scan_word(p, &s))) scan_bad(p, p->at, "expected the name of a range, found %s", scan_found(p));
    *(Ref *)(void *)at = parse_lookup(p, s, len);
    if (node(p->ir, *(Ref *)(void *)at)->op != OP_RANGE && node(p->ir, *(Ref *)(void *)at)->op != OP_CONST)
      scan_bad(p, s, "'%.*s' is no range", shown(len), s);
    return;
  case F_ISA_OP:
    s = wanted_string(p, f->name);
    if (!(*(const IsaOp **)(void *)at = isa_op_named(s, strlen(s)))) scan_bad(p, p->at, "there is no instruction '%s'", s);
    return;
  case F_TENSOR:
    *list = ranged(p, f);
    if (*list >= (int64_t)p->ir->tensors.n) scan_bad(p, p->at, "there is no weight %lld", (long long)*list);
    return;
  }
}

static const Field *find_field(const Field *f, int n, const char *s, size_t len) {
  for (int i = 0; i < n; i++)
    if (is_word(s, len, f[i].name)) return &f[i];
  return NULL;
}

static void set_absent(const Field *f, int n, void *record) {
  for (int i = 0; i < n; i++) {
    char *at = (char *)record + f[i].at;
    if (f[i].kind == F_INT) *(int *)(void *)at = (int)f[i].absent;
    if (f[i].kind == F_LONG) *(int64_t *)(void *)at = f[i].absent;
  }
}

/* The rest of the line. Returns the length of its lists */
static int read_fields(Parser *p, const Field *f, int nfields, void *record, Ref value) {
  uint64_t seen = 0;
  const char *s;
  int n = -1;
  set_absent(f, nfields, record);
  for (size_t len; (len = scan_word(p, &s));) {
    const Field *x = find_field(f, nfields, s, len);
    if (!x) scan_bad(p, s, "unknown attribute '%.*s'", shown(len), s);
    if (seen >> (x - f) & 1) scan_bad(p, s, "'%.*s' is given twice", shown(len), s);
    seen |= UINT64_C(1) << (x - f);
    if (x->kind != F_FLAG) scan_expect(p, '=', "after the name of an attribute");
    read_field(p, x, record, value, &n);
  }
  return n < 0 ? 0 : n;
}

static void read_after(Parser *p) {
  Resumed *r = reader_of(p)->r;
  const char *s;
  const size_t n = scan_word(p, &s);
  if (!n) scan_bad(p, p->at, "expected a pass, found %s", scan_found(p));
  r->after = arena_str(&p->c->model, s, n);
  r->pass = pass_named(r->after);
  if (r->pass == pass_count()) scan_bad(p, s, "there is no pass '%.*s'; `tgc ops` lists them", shown(n), s);
}

static void read_setting(Parser *p) {
  const char *s;
  size_t n = 0;
  for (scan_peek(p), s = p->at; p->at < p->end && (is_start(*p->at) || *p->at == '-'); p->at++) n++;
  if (!n) scan_bad(p, p->at, "expected an option, found %s", scan_found(p));
  const char *name = arena_str(&p->c->model, s, n);
  VEC_PUSH(&reader_of(p)->r->settings, ((Setting){ name, wanted_string(p, "its value") }));
}

static void read_source(Parser *p) {
  const char *at = (scan_peek(p), p->at), *digest;
  const int64_t bytes = scan_integer(p, "the size of a file");
  SourceFile f = { .all = { NULL, (size_t)bytes } };
  if (bytes < 0) scan_bad(p, at, "a size of %lld", (long long)bytes);
  digest = wanted_string(p, "its SHA-256");
  if (strlen(digest) != 64) scan_bad(p, p->at, "a SHA-256 has 64 digits");
  memcpy(f.sha256, digest, 65);
  f.location = scan_string(p);
  VEC_PUSH(&reader_of(p)->sources, f);
}

static void read_ranges(Parser *p) {
  const char *at = (scan_peek(p), p->at);
  const int64_t n = scan_integer(p, "a number");
  if (n < 0 || n > MOST_ELEMS) scan_bad(p, at, "%lld ranges", (long long)n);
  if (n > p->ir->next_range) p->ir->next_range = n;
}

static void read_origin(Parser *p) {
  const char *at = (scan_peek(p), p->at), *s;
  const int64_t index = scan_integer(p, "an ordinal");
  if (index < 0 || index > UINT32_MAX) scan_bad(p, at, "ordinal %lld", (long long)index);
  const uint32_t row = ir_origin(p->ir, wanted_string(p, "what it is"), (uint32_t)index);
  const size_t n = scan_word(p, &s);
  if (n && !is_word(s, n, "line")) scan_bad(p, s, "expected 'line' or nothing");
  p->ir->origins.p[row].is_line = n > 0;
}

static void read_place(Parser *p, Ref value) {
  Reader *rd = reader_of(p);
  Placed x = { .value = value, .pos = *p->where };
  read_fields(p, FIELDS(place_fields), &x.place, value);
  VEC_PUSH(&rd->placed, x);
}

static void read_state(Parser *p) {
  static const Field init = { "init", F_TENSOR, 0, 0, 0, MOST_INT };
  GState st = { 0 };
  const char *s, *at = p->at;
  int64_t tensor = -1;
  int n = 0;
  set_absent(FIELDS(state_fields), &st);
  for (size_t len; (len = scan_word(p, &s));) {
    const Field *f = is_word(s, len, "init") ? &init : find_field(FIELDS(state_fields), s, len);
    if (!f) scan_bad(p, s, "unknown attribute '%.*s'", shown(len), s);
    scan_expect(p, '=', "after the name of an attribute");
    read_field(p, f, f == &init ? (void *)&tensor : (void *)&st, 0, &n);
  }
  if (tensor >= 0) st.init = arena_dup(&p->c->model, &p->ir->tensors.p[tensor], sizeof *p->ir->tensors.p);
  if (st.axis >= 0 && (st.taken < 1 || st.capacity < 1)) scan_bad(p, at, "a window wants taken= and capacity=");
  VEC_PUSH(&p->g->states, st);
}

static void read_grows(Parser *p) { p->g->grows = true; }

static void read_sample(Parser *p) {
  static const Field fields[] = { { "input", F_TENSOR, 0, -1, 0, MOST_INT }, { "output", F_TENSOR, 8, -1, 0, MOST_INT } };
  int64_t tensor[2] = { -1, -1 };
  Resumed *r = reader_of(p)->r;
  const char *at = p->at;
  read_fields(p, FIELDS(fields), tensor, 0);
  if ((tensor[0] < 0) == (tensor[1] < 0)) scan_bad(p, at, "a sample is of an input or of an output");
  const int64_t id = tensor[0] < 0 ? tensor[1] : tensor[0];
  if (tensor[0] < 0) VEC_PUSH(&r->exact, p->ir->tensors.p[id]);
  else VEC_PUSH(&r->in, p->ir->tensors.p[id]);
}

static void read_cost(Parser *p) { read_fields(p, FIELDS(cost_fields), reader_of(p)->r->plan, 0); }

static bool read_buffer_key(Parser *p, Buf *b, const char *s, size_t n) {
  const Field *f = find_field(FIELDS(buffer_fields), s, n);
  int none = 0;
  if (f) read_field(p, f, b, 0, &none);
  return f != NULL;
}

static void read_packed(Parser *p) {
  Packed k;
  const char *at = p->at;
  memset(&k, 0, sizeof k); /* rows are compared as bytes */
  k.n = read_fields(p, FIELDS(packed_fields), &k, 0);
  if (k.buf < 0 || k.buf >= (int)p->ir->bufs.n) scan_bad(p, at, "there is no buffer %d", k.buf);
  const Buf *b = &p->ir->bufs.p[k.buf];
  const Tensor *t = &p->ir->tensors.p[k.tensor];
  if (b->kind != BUF_WEIGHT || b->packed != (int)reader_of(p)->packed.n + 1 || b->slot != k.tensor)
    scan_bad(p, at, "buffer %d is no packed weight of this row", k.buf);
  if (b->dt != t->dt || dims_elems(k.extent, k.n) != b->elems)
    scan_bad(p, at, "buffer %d has %lld elements of %s", k.buf, (long long)b->elems, dtype_info[b->dt].text);
  if (!t->data || !packed_fits(p->ir, &k)) scan_bad(p, at, "it reads elements that the weight does not have");
  VEC_PUSH(&reader_of(p)->packed, k);
}

/* Backends number what a program lists: all that it uses stands there, leaves too. */
static void check_listed(Parser *p, const Refs *prog) {
  RefMap listed = { 0 };
  bool all = true;
  for (size_t i = 0; i < prog->n && all; i++) {
    const Node *x = node(p->ir, prog->p[i]);
    for (int k = 0; k < x->nsrc && x->op != OP_LOOP && x->op != OP_END; k++) all &= refmap_get(&listed, x->src[k]) != 0;
    refmap_set(&listed, prog->p[i], 1);
  }
  refmap_free(&listed);
  if (!all) scan_bad(p, p->at, "the program before this line uses what it does not list");
}

/* What calls move its pointers by, now that its program says which buffers it has */
static void end_shift(Parser *p) {
  Reader *rd = reader_of(p);
  Kernel *k = rd->kernel;
  if (!rd->shift.n) return;
  kernel_buffers(p->ir, k);
  if (rd->shift.n != k->bufs.n)
    scan_bad(p, p->at, "the kernel before this line has %zu buffers, and shift %zu", k->bufs.n, rd->shift.n);
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->bufs.p[i]];
    const bool aligned = b->kind == BUF_ARENA || b->kind == BUF_WEIGHT;
    const int64_t by = rd->shift.p[i];
    if (by < 0 || by >= b->elems || (aligned && by * dt_bytes(b->dt) % REBASE_ALIGN))
      scan_bad(p, p->at, "the kernel before this line moves buffer %d by %lld elements", k->bufs.p[i], (long long)by);
  }
  k->shift = arena_dup(&p->c->model, rd->shift.p, rd->shift.n * sizeof *rd->shift.p);
  rd->shift.n = 0;
}

/* The verifier's word on the kernel before this line, which is all there now. */
static void end_kernel(Parser *p) {
  Reader *rd = reader_of(p);
  if (p->level == L_KERNEL && rd->kernel && !rd->kernel->sink) {
    if (!p->sink) scan_bad(p, p->at, "the kernel before this line has no sink");
    rd->kernel->sink = p->sink;
    ir_verify_kernel(p->ir, p->sink);
  }
  if (p->level != L_PROG || !rd->kernel) return;
  check_listed(p, &rd->kernel->prog);
  ir_verify_program(p->ir, rd->kernel->prog.p, rd->kernel->prog.n);
  end_shift(p);
}

static void read_kernel(Parser *p) {
  Reader *rd = reader_of(p);
  Kernel k = { 0 };
  end_kernel(p);
  read_fields(p, FIELDS(kernel_fields), &k, 0);
  VEC_PUSH(&rd->into->kernels, k);
  rd->kernel = &rd->into->kernels.p[rd->into->kernels.n - 1];
  parse_scope(p, L_KERNEL, NULL);
}

/* The kernel whose lines are read, before its program */
static Kernel *open_kernel(Parser *p) {
  Reader *rd = reader_of(p);
  if (p->level != L_KERNEL || !rd->kernel) scan_bad(p, p->at, "this stands in a kernel, before its program");
  return rd->kernel;
}

static Ref read_nest_name(Parser *p) {
  const char *s;
  const size_t len = scan_word(p, &s);
  if (!len) scan_bad(p, p->at, "expected a nest, found %s", scan_found(p));
  const Ref nest = parse_lookup(p, s, len);
  ir_verify_nest(p->ir, nest);
  return nest;
}

static void read_nest(Parser *p) {
  Kernel *k = open_kernel(p);
  NestSchedule n = { .nest = read_nest_name(p) };
  read_fields(p, FIELDS(nest_fields), &n, 0);
  VEC_PUSH(&k->nests, n);
}

static void read_pending(Parser *p) {
  Kernel *k = open_kernel(p);
  const char *at = p->at;
  NestState s = { .nest = read_nest_name(p) };
  read_fields(p, FIELDS(pending_fields), &s, 0);
  const int before = k->states.n ? k->states.p[k->states.n - 1].depth : -1;
  if (s.depth > before + 1) scan_bad(p, at, "depth=%d behind a nest of depth %d", s.depth, before);
  VEC_PUSH(&k->states, s);
}

static Opts *open_opts(Parser *p) {
  Kernel *k = open_kernel(p);
  if (!k->states.n || !k->states.p[k->states.n - 1].opts) scan_bad(p, p->at, "this stands behind 'opts'");
  return k->states.p[k->states.n - 1].opts;
}

static void read_opts(Parser *p) {
  Kernel *k = open_kernel(p);
  Opts *o = ARENA_NEW(&p->c->model, Opts, 1);
  if (!k->states.n) scan_bad(p, p->at, "opts stand behind a pending nest");
  read_fields(p, FIELDS(opts_fields), o, 0);
  k->states.p[k->states.n - 1].opts = o;
}

static void read_opt(Parser *p) {
  Opts *o = open_opts(p);
  if (o->n == MAX_RANGES) scan_bad(p, p->at, "more than %d opts", MAX_RANGES);
  read_fields(p, FIELDS(opt_fields), &o->opt[o->n], 0);
  if (!o->opt[o->n++].range) scan_bad(p, p->at, "an opt wants range=");
}

static void read_move(Parser *p) {
  Opts *o = open_opts(p);
  if (o->nmoved == MAX_MOVES) scan_bad(p, p->at, "more than %d moves", MAX_MOVES);
  read_fields(p, FIELDS(move_fields), &o->moved[o->nmoved], 0);
  if (!o->moved[o->nmoved++].range) scan_bad(p, p->at, "a move wants range=");
}

static void read_peel(Parser *p) {
  Opts *o = open_opts(p);
  if (o->npeeled == MAX_PEELED) scan_bad(p, p->at, "more than %d peeled ranges", MAX_PEELED);
  read_fields(p, FIELDS(peel_fields), &o->peeled[o->npeeled], 0);
  if (!o->peeled[o->npeeled++]) scan_bad(p, p->at, "peel wants range=");
}

static void read_part(Parser *p) {
  Opts *o = open_opts(p);
  if (o->nparts == MAX_PARTS) scan_bad(p, p->at, "more than %d parts", MAX_PARTS);
  read_fields(p, FIELDS(part_fields), &o->part[o->nparts], 0);
  if (!o->part[o->nparts++]) scan_bad(p, p->at, "part wants opts=");
}

static void read_isomorphic(Parser *p) {
  Kernel *k = open_kernel(p);
  Refs list = { 0 };
  do {
    const char *s;
    const size_t n = scan_word(p, &s);
    const Ref r = n ? parse_lookup(p, s, n) : 0;
    if (!r || node(p->ir, r)->op != OP_BUFFER) scan_bad(p, p->at, "expected a buffer");
    VEC_PUSH(&list, r);
  } while (scan_accept(p, ','));
  k->nbuffers = (int)list.n;
  k->buffers = arena_dup(&p->c->model, list.p, list.n * sizeof *list.p);
  VEC_FREE(&list);
}

static void read_shift(Parser *p) {
  open_kernel(p);
  do VEC_PUSH(&reader_of(p)->shift, scan_integer(p, "a number of elements"));
  while (scan_accept(p, ','));
}

static void read_program(Parser *p) {
  Reader *rd = reader_of(p);
  if (p->level != L_KERNEL || !rd->kernel) scan_bad(p, p->at, "a program stands in a kernel");
  end_kernel(p);
  parse_scope(p, L_PROG, &rd->kernel->prog);
}

static void read_variant(Parser *p) {
  Reader *rd = reader_of(p);
  end_kernel(p);
  Plan *v = ARENA_NEW(&p->c->model, Plan, 1);
  v->base = rd->r->plan;
  wanted_string(p, "its machine"); /* that of the target; for readers */
  VEC_PUSH(&rd->r->plan->variants, v);
  rd->into = v;
  rd->kernel = NULL;
  parse_scope(p, L_KERNEL, NULL);
}

static void read_arena(Parser *p) {
  end_kernel(p);
  reader_of(p)->kernel = NULL;
  reader_of(p)->arena = true;
  parse_scope(p, L_KERNEL, NULL);
  read_fields(p, FIELDS(arena_fields), reader_of(p)->r->plan, 0);
}

static void read_memory(Parser *p) {
  StatePlace s = { .init = -1 };
  read_fields(p, FIELDS(memory_fields), &s, 0);
  VEC_PUSH(&reader_of(p)->r->plan->memory.states, s);
}

/* ---- statements ---- */
typedef struct Statement {
  const char *word;        /* NULL: lines of IR */
  const char *since;       /* the first pass after which there are such; NULL: all */
  void (*put)(Writer *);   /* all of them; NULL: another row's does it */
  void (*read)(Parser *);
} Statement;

/* clang-format off */
static const Statement statements[] = { /* in the order of the text */
  { "after",   NULL,       put_after,    read_after },
  { "option",  NULL,       put_settings, read_setting },
  { "source",  NULL,       put_sources,  read_source },
  { "ranges",  NULL,       NULL,         read_ranges },
  { "origin",  NULL,       put_origins,  read_origin },
  { NULL,      NULL,       put_graph,    NULL },
  { "state",   NULL,       put_states,   read_state },
  { "grows",   NULL,       NULL,         read_grows },
  { "sample",  NULL,       put_sample,   read_sample },
  { "cost",    "layout",   put_cost,     read_cost },
  { NULL,      "layout",   put_buffers,  NULL },
  { "packed",  "pack",     put_packed,   read_packed },
  { "kernel",  "kernels",  put_kernels,  read_kernel },
  { "nest",    "even",     NULL,         read_nest },
  { "pending", "schedule", NULL,         read_pending },
  { "opts",    "schedule", NULL,         read_opts },
  { "opt",     "schedule", NULL,         read_opt },
  { "move",    "schedule", NULL,         read_move },
  { "peel",    "schedule", NULL,         read_peel },
  { "part",    "schedule", NULL,         read_part },
  { "isomorphic", "match", NULL,         read_isomorphic },
  { "shift",   "rebase",   NULL,         read_shift },
  { "program", "programs", NULL,         read_program },
  { "variant", "variants", NULL,         read_variant },
  { "arena",   "memplan",  put_memory,   read_arena },
  { "memory",  "memplan",  NULL,         read_memory },
};
/* clang-format on */
enum { STATEMENTS = sizeof statements / sizeof *statements };

static bool is_given(const Statement *s, int pass) { return !s->since || pass >= pass_named(s->since); }

void plan_print_graph(const Sched *s, const Plan *p, Sb *out) {
  Writer w = { .s = s, .p = p, .out = out };
  printer_init(&w.graph, s->ir, L_GRAPH, out);
  w.graph.attributes = put_place;
  w.graph.attributed = is_placed;
  w.graph.arg = &w;
  print_header("graph", s->g->name, out);
  if (p->layouts.cost[0] > 0)
    sb_printf(out, "# layout: cost %.4g, %.4g with what each value wants by itself\n", p->layouts.cost[1],
              p->layouts.cost[0]);
  print_graph(&w.graph, s->g, NULL, NULL);
  printer_free(&w.graph);
}

void plan_print(const Sched *s, const Plan *p, int pass, const CompileOptions *o, Sb *out) {
  Writer w = { .s = s, .p = p, .pass = pass, .o = o, .out = out };
  printer_init(&w.graph, s->ir, L_GRAPH, out);
  printer_init(&w.inner, s->ir, L_KERNEL, out);
  w.graph.table = w.inner.table = true;
  w.graph.attributes = put_place;
  w.graph.attributed = is_placed;
  w.graph.arg = &w;
  print_header("plan", s->g->name, out);
  for (int i = 0; i < STATEMENTS; i++)
    if (statements[i].put && is_given(&statements[i], pass)) statements[i].put(&w);
  printer_free(&w.graph);
  printer_free(&w.inner);
  refmap_free(&w.tensor);
}

/* ---- reading, the rest ---- */
static void resolve_names(Parser *p) {
  Reader *rd = reader_of(p);
  for (size_t i = 0; i < rd->later.n; i++) {
    const Later *l = &rd->later.p[i];
    *(Ref *)(void *)((char *)&rd->placed.p[l->owner].place + l->at) = parse_graph_name(p, l->name, l->n);
  }
}

static void keep_places(Parser *p) {
  Reader *rd = reader_of(p);
  Resumed *r = rd->r;
  r->nplace = p->ir->n;
  r->place = ARENA_NEW(&p->c->model, Place, r->nplace);
  for (uint32_t i = 0; i < r->nplace; i++) r->place[i].buf = r->place[i].inner = -1;
  for (size_t i = 0; i < rd->placed.n; i++) r->place[rd->placed.p[i].value] = rd->placed.p[i].place;
}

static void read_end(Parser *p) {
  Reader *rd = reader_of(p);
  end_kernel(p);
  if (!rd->r->after) fail(p->c, EX_BADMODEL, "the dump does not say after which pass it was made");
  if (rd->placed.n && rd->r->pass < pass_named("materialize"))
    fail(p->c, EX_BADMODEL, "before materialize no value is materialized");
  if (!rd->arena && rd->r->pass >= pass_named("memplan")) fail(p->c, EX_BADMODEL, "the memory plan is missing");
  resolve_names(p);
  *p->where = (Pos){ 0 }; /* from here on it is no line's alone */
  if (rd->r->pass >= pass_named("materialize")) keep_places(p);
  for (size_t i = 0; i < rd->packed.n; i++) VEC_PUSH(&rd->r->plan->weights.packed, rd->packed.p[i]);
}

static bool read_statement(Parser *p, const char *at, size_t n) {
  Reader *rd = reader_of(p);
  if (!n) {
    read_end(p);
    return true;
  }
  for (int i = 0; i < STATEMENTS; i++) {
    const Statement *s = &statements[i];
    if (!s->read || !is_word(at, n, s->word)) continue;
    if ((s->read == read_after) == (rd->r->after != NULL))
      scan_bad(p, at, rd->r->after ? "the pass is given already" : "expected 'after PASS' before all else");
    if (rd->r->after && !is_given(s, rd->r->pass))
      scan_bad(p, at, "'%s' is not known after %s, only after %s", s->word, rd->r->after, s->since);
    s->read(p);
    return true;
  }
  return false;
}

typedef struct Reading {
  Reader rd;
  const char *text, *path;
  size_t n;
  const TextHooks *hooks;
} Reading;

static void read_text(Ctx *c, void *arg) {
  Reading *x = arg;
  const PlanReader plan = { &x->rd, read_statement, read_place, read_buffer_key };
  Graph *g = parse_plan(c, x->text, x->n, x->path, x->hooks, &plan);
  x->rd.r->g = g;
}

Resumed *plan_read(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks) {
  Resumed *r = ARENA_NEW(&c->model, Resumed, 1);
  r->plan = ARENA_NEW(&c->model, Plan, 1);
  Reading x = { .rd = { .r = r, .into = r->plan }, .text = text, .path = path, .n = n, .hooks = hooks };
  const int code = ctx_try(c, read_text, &x);
  c->sources.n = 0; /* those of the model, in place of the dump's own */
  for (size_t i = 0; i < x.rd.sources.n; i++) VEC_PUSH(&c->sources, x.rd.sources.p[i]);
  VEC_FREE(&x.rd.sources);
  VEC_FREE(&x.rd.placed);
  VEC_FREE(&x.rd.later);
  VEC_FREE(&x.rd.packed);
  VEC_FREE(&x.rd.shift);
  if (code) fail_silent(c, code);
  return r;
}

const char *resumed_after(const Resumed *r) { return r->after; }
Graph *resumed_graph(const Resumed *r) { return r->g; }

bool resumed_sample(const Resumed *r, Sample *s) {
  const size_t nin = r->g->inputs.n, nout = graph_nout(r->g);
  if (!r->in.n && !r->exact.n) return false;
  bool fits = r->in.n == nin && r->exact.n == nout;
  for (size_t i = 0; fits && i < nin; i++) {
    const GIO *io = &r->g->inputs.p[i];
    fits = r->in.p[i].dt == io->dt && r->in.p[i].elems == dims_elems(io->dims, io->rank);
  }
  for (size_t i = 0; fits && i < nout; i++) {
    const GIO *io = &r->g->outputs.p[i];
    fits = r->exact.p[i].elems == dims_elems(io->dims, io->rank);
  }
  if (!fits) fail(r->g->ir->ctx, EX_BADMODEL, "the sample is not one of each input and output");
  *s = (Sample){ r->in.p, r->exact.p };
  return true;
}

const Setting *resumed_settings(const Resumed *r, size_t *n) {
  *n = r->settings.n;
  return r->settings.p;
}

const char *resumed_setting(const Resumed *r, const char *name) {
  for (size_t i = 0; i < r->settings.n; i++)
    if (!strcmp(r->settings.p[i].name, name)) return r->settings.p[i].value;
  return NULL;
}

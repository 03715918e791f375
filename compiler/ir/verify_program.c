/* SPDX-License-Identifier: MIT */
/* verify_program.c: rules of programs. A program is a list of nodes. Each node comes after its sources, and inside of the loops
 * whose ranges it uses. Only variables carry a value out of the loop that computes it.
 *
 * needs: a program    gives: nothing; a node that breaks a rule is a bug (verify.h)    breaks: nothing */
#include "ir.h"
#include "refmap.h"
#include "verify.h"

static void verify_variable(const IR *ir, Ref r, const Node *x) {
  const Node *acc = x->op == OP_ACC ? x : node(ir, variable_of(x)), *value = x;
  if (x->op == OP_ACC) {
    NEED(x->nsrc == 1, "it needs one initial value");
    value = node(ir, acc_init(x));
  } else if (x->op == OP_SET) {
    value = node(ir, set_value(x));
  }
  NEED(acc->op == OP_ACC, "the first source is not a variable");
  NEED(value->dt == acc->dt && value->lanes == acc->lanes, "another type than the variable");
  for (int i = 1; x->op == OP_GET && i < x->nsrc; i++) {
    const Node *set = node(ir, x->src[i]);
    NEED(set->op == OP_SET && set_acc(set) == get_acc(x), "not a set of the variable");
  }
}

/* ---- the list ---- */
typedef struct Scope { Ref range; bool open; } Scope; /* a loop, or the part of a launch outside of loops (range 0) */

typedef struct Walk {      /* state before a node of the list */
  const IR *ir;
  VEC(Scope) scopes;       /* all scopes so far */
  VEC(Ref) nest;           /* numbers of the open scopes, the outermost first */
  Ref in_threads;          /* 1 + the number of the open scope that threads share; 0: none */
  RefMap where;            /* a node listed so far: 1 + the number of its scope */
  RefMap listed;           /* such a node: number of barriers before it */
  Ref barriers;            /* number of barriers so far */
  Ref alone;               /* a store outside of all thread ranges */
  bool threads, device;    /* there are loops that threads share; there are loops over blocks, or over threads of a block */
} Walk;

static Ref scope_range(const Walk *w, size_t depth) { return w->scopes.p[w->nest.p[depth]].range; }

static bool inside_loop(const Walk *w, Ref range) {
  for (size_t d = 1; d < w->nest.n; d++)
    if (scope_range(w, d) == range) return true;
  return false;
}

static Ref thread_scope(const Walk *w) {
  Ref in_threads = 0;
  for (size_t d = 1; d < w->nest.n; d++)
    if (node(w->ir, scope_range(w, d))->arg[2] == RK_THREAD) in_threads = w->nest.p[d] + 1;
  return in_threads;
}

static void open_scope(Walk *w, Ref range) {
  VEC_PUSH(&w->nest, (Ref)w->scopes.n);
  VEC_PUSH(&w->scopes, ((Scope){ range, true }));
}

/* Source k of node r of the list */
static void verify_source(const Walk *w, Ref r, int k) {
  const IR *ir = w->ir;
  const Node *x = node(ir, r), *s = node(ir, x->src[k]);
  if (s->op == OP_CONST || s->op == OP_BUFFER) return; /* valid anywhere */
  if (s->op == OP_RANGE) {
    NEED(x->op == OP_LOOP || x->op == OP_END || inside_loop(w, x->src[k]), "a range is used outside of its loop");
    return;
  }
  const Ref scope = refmap_get(&w->where, x->src[k]);
  NEED(scope, "a source comes later or never");
  NEED(w->scopes.p[scope - 1].open || (x->op == OP_GET && k), "a source is inside a loop that has ended");
  NEED(s->op != OP_STORE && s->op != OP_PREFETCH && s->op != OP_LOOP && s->op != OP_END && s->op != OP_BARRIER,
       "a source has no value");
  NEED(s->op != OP_ACC || ((x->op == OP_SET || x->op == OP_GET) && !k), "a variable is read by get");
  NEED(x->op != OP_SET || k || scope >= w->in_threads, "a reduction that threads would share");
}

static void begin_loop(Walk *w, Ref r) {
  const IR *ir = w->ir;
  const Node *x = node(ir, r), *range = node(ir, loop_range(x)), *gate = loop_gate(x) ? node(ir, loop_gate(x)) : NULL;
  NEED(range->op == OP_RANGE, "loops over no range");
  verify_inner(ir, loop_range(x));
  const RangeKind kind = range_kind(range);
  NEED(x->nsrc <= 2 && (!gate || (gate->dt == DT_BOOL && gate->lanes == 1)), "the gate is not one bool");
  NEED(kind != RK_VEC && kind != RK_UNROLL && kind != RK_DOT && kind != RK_DEPTH && kind != RK_FRAG,
       "a range that was to be replicated");
  NEED(kind != RK_THREAD || !w->in_threads, "a range of threads inside another one");
  w->threads |= kind == RK_THREAD;
  w->device |= range_is_place(kind);
  NEED(!inside_loop(w, loop_range(x)), "a loop inside itself");
  open_scope(w, loop_range(x));
}

static void end_loop(Walk *w, Ref r) {
  const IR *ir = w->ir;
  NEED(w->nest.n > 1 && scope_range(w, w->nest.n - 1) == end_range(node(ir, r)), "ends another loop than the innermost");
  w->scopes.p[w->nest.p[--w->nest.n]].open = false;
}

/* A node that is neither the beginning nor the end of a loop. It may stand again in another scope, or after a barrier. */
static void list_node(Walk *w, Ref r) {
  const IR *ir = w->ir;
  const Ref before = refmap_get(&w->where, r);
  const bool barrier = node(ir, r)->op == OP_BARRIER;
  NEED(!before || !w->scopes.p[before - 1].open || refmap_get(&w->listed, r) != w->barriers, "twice in one scope");
  refmap_set(&w->where, r, w->nest.p[w->nest.n - 1] + 1);
  w->barriers += barrier;
  if (barrier && w->nest.n == 1) { /* a new launch begins; no value passes into it */
    w->scopes.p[w->nest.p[0]].open = false;
    w->nest.n = 0;
    open_scope(w, 0);
  }
  if (w->barriers) refmap_set(&w->listed, r, w->barriers);
}

static void verify_listed(Walk *w, Ref r) {
  const IR *ir = w->ir;
  const Node *x = node(ir, r);
  w->in_threads = thread_scope(w);
  verify_inner(ir, r);
  NEED(op_info[x->op].level != L_GRAPH && x->op != OP_RED && x->op != OP_NEST && x->op != OP_SINK && x->op != OP_HELD &&
         x->op != OP_REPEAT,
       "not an op of programs");
  const bool own = x->op == OP_STORE && buf_is_own(ir->bufs.p[node(ir, store_buffer(x))->arg[0]].kind);
  if (x->op == OP_STORE && !w->in_threads && !own) w->alone = r;
  verify_lanes(ir, r, x);
  for (int k = 0; k < x->nsrc; k++) verify_source(w, r, k);
  if (x->op == OP_ACC || x->op == OP_SET || x->op == OP_GET) verify_variable(ir, r, x);
  if (x->op == OP_LOOP) begin_loop(w, r);
  else if (x->op == OP_END) end_loop(w, r);
  else list_node(w, r);
}

void ir_verify_program(const IR *ir, const Ref *list, size_t n) {
  Walk w = { .ir = ir };
  open_scope(&w, 0);
  for (size_t i = 0; i < n; i++) verify_listed(&w, list[i]);
  if (w.nest.n > 1) verify_broken(ir, scope_range(&w, w.nest.n - 1), "its loop has no end");
  if (w.threads && w.alone) verify_broken(ir, w.alone, "a store that every thread would do");
  if (w.threads && w.device) verify_broken(ir, list[0], "ranges of threads in a program of blocks");
  verify_device(ir, list, n, w.device);
  refmap_free(&w.where);
  refmap_free(&w.listed);
  VEC_FREE(&w.scopes);
  VEC_FREE(&w.nest);
}

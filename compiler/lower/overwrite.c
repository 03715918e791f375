/* SPDX-License-Identifier: MIT */
/* overwrite.c: lets kernels with reductions store over a value that they are the last to read.
 *
 * memplan.c computes element by element in place. A kernel with a reduction, such as a softmax, reads a row several times. Here
 * its program is asked: in_place.c proves that no load comes after a store to its element. Only kernels at the peak of live bytes
 * are asked, and only where the peak falls, so other plans stay as they are.
 *
 * The last vector of a row may be moved back to end with the row. Then it reads elements that the vector before it has stored. In
 * such a loop each vector is loaded one iteration ahead, before the store of the vector before it. This takes a register, and no
 * further instruction.
 *
 * needs: programs
 * gives: Kernel.overwrites, programs with loads one iteration ahead
 * keeps: the value of every element   breaks: nothing */
#include "listing.h"
#include "lower.h"
#include "../schedule/sched.h"
#include <stdlib.h>

/* ---- loads one iteration ahead ---- */
typedef struct Ahead {
  IR *ir;
  int in, out;
  Listing list;
  Refs loads, accs;          /* loads of the current loop, and the variables that take their place */
  RefMap now;                /* nodes of the new program by those of the old one */
  bool any;
} Ahead;

static size_t end_of_body(const IR *ir, const Refs *prog, size_t at) {
  while (node(ir, prog->p[at])->op != OP_END && node(ir, prog->p[at])->op != OP_LOOP) at++;
  return at;
}

static bool is_clamped(const IR *ir, Ref index, Ref range) {
  const Node *x = node(ir, index);
  bool any = x->op == OP_MIN && ix_uses(ir, index, range);
  for (int k = 0; k < x->nsrc && !any; k++) any = is_clamped(ir, x->src[k], range);
  return any;
}

static bool of_buffer(const IR *ir, const Node *access, int buf) { return buffer_id(node(ir, access_buffer(access))) == buf; }

/* The loop at `at` has no loop inside, loads vectors of `in` that are moved back, and stores them to `out`. Finds these loads. */
static bool moves_back(Ahead *a, const Refs *prog, size_t at) {
  const IR *ir = a->ir;
  const Ref range = loop_range(node(ir, prog->p[at]));
  const size_t end = end_of_body(ir, prog, at + 1);
  bool stores = false;
  a->loads.n = 0;
  if (node(ir, prog->p[end])->op != OP_END || range_kind(node(ir, range)) != RK_LOOP) return false;
  for (size_t i = at + 1; i < end; i++) {
    const Node *x = node(ir, prog->p[i]);
    if (x->op == OP_STORE) stores |= of_buffer(ir, x, a->out);
    if (x->op == OP_LOAD && of_buffer(ir, x, a->in) && !load_gate(x) && is_clamped(ir, load_index(x), range))
      VEC_PUSH(&a->loads, prog->p[i]);
  }
  return stores && a->loads.n;
}

/* Lists r with `to` in place of the range; returns the new node. */
static Ref list_at(Ahead *a, Ref r, Ref range, Ref to) {
  IR *ir = a->ir;
  const Node *x = node(ir, r);
  Refs src = { 0 };
  if (r == range) return to;
  for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, list_at(a, x->src[k], range, to));
  const Ref is = x->nsrc ? node_with_src(ir, r, src.p) : r;
  listing_once(&a->list, is);
  VEC_FREE(&src);
  return is;
}

/* Lists a variable for each load, with what the first iteration loads. */
static void begin_ahead(Ahead *a, Ref range) {
  IR *ir = a->ir;
  const Ref first = ix_const(ir, 0);
  listing_once(&a->list, first);
  a->accs.n = 0;
  for (size_t i = 0; i < a->loads.n; i++) {
    const Node *x = node(ir, a->loads.p[i]);
    const int64_t id = ir->next_range++;
    const Ref value = list_at(a, a->loads.p[i], range, first);
    const Ref acc = node_make(ir, OP_ACC, (DType)x->dt, x->lanes, 1, &value, 1, &id, 0, NULL);
    listing_put(&a->list, acc);
    VEC_PUSH(&a->accs, acc);
  }
}

/* Lists the body: each of the loads is that for the next iteration, and its users take the variable. */
static void list_body(Ahead *a, const Refs *prog, size_t from, size_t end, Ref range) {
  IR *ir = a->ir;
  Refs next = { 0 }, src = { 0 };
  const Ref one = ix_const(ir, 1);
  const Ref later = node_make(ir, OP_ADD, DT_I64, 1, 2, (Ref[]){ range, one }, 0, NULL, 0, NULL);
  for (size_t i = from; i < end; i++) {
    const Ref r = prog->p[i];
    const Node *x = node(ir, r);
    size_t k = 0;
    while (k < a->loads.n && a->loads.p[k] != r) k++;
    if (k < a->loads.n) {
      const Ref get = node_make(ir, OP_GET, (DType)x->dt, x->lanes, 1, &a->accs.p[k], 0, NULL, 0, NULL);
      listing_once(&a->list, get);
      listing_once(&a->list, one);
      listing_once(&a->list, later);
      VEC_PUSH(&next, list_at(a, r, range, later));
      refmap_set(&a->now, r, get);
      continue;
    }
    src.n = 0;
    for (int j = 0; j < x->nsrc; j++) {
      const Ref to = refmap_get(&a->now, x->src[j]);
      VEC_PUSH(&src, to ? to : x->src[j]);
    }
    const Ref is = x->nsrc ? node_with_src(ir, r, src.p) : r;
    if (is != r) refmap_set(&a->now, r, is);
    if (x->op == OP_STORE || x->op == OP_SET) listing_put(&a->list, is);
    else listing_once(&a->list, is);
  }
  for (size_t k = 0; k < a->loads.n; k++) {
    const Node *x = node(ir, next.p[k]);
    const Ref both[] = { a->accs.p[k], next.p[k] };
    listing_put(&a->list, node_make(ir, OP_SET, (DType)x->dt, x->lanes, 2, both, 0, NULL, 0, NULL));
  }
  VEC_FREE(&next);
  VEC_FREE(&src);
}

/* Ops that stand in a program as often as they happen */
static bool is_repeated(Op op) {
  return op == OP_LOOP || op == OP_END || op == OP_STORE || op == OP_SET || op == OP_ACC || op == OP_GET;
}

bool program_load_ahead(IR *ir, const Refs *prog, int in, int out, Refs *made) {
  Ahead a = { .ir = ir, .in = in, .out = out, .list = { .ir = ir, .out = made } };
  for (size_t i = 0; i < prog->n; i++) {
    const Ref r = prog->p[i];
    const Node *x = node(ir, r);
    ir->origin = x->origin;
    if (x->op == OP_LOOP && moves_back(&a, prog, i)) {
      const size_t end = end_of_body(ir, prog, i + 1);
      begin_ahead(&a, loop_range(x));
      listing_put(&a.list, r);
      list_body(&a, prog, i + 1, end, loop_range(x));
      a.any = true;
      i = end - 1;
    } else if (is_repeated((Op)x->op)) {
      listing_put(&a.list, r);
    } else {
      listing_once(&a.list, r);
    }
  }
  listing_free(&a.list);
  refmap_free(&a.now);
  VEC_FREE(&a.loads);
  VEC_FREE(&a.accs);
  return a.any;
}

/* ---- the choice ---- */
static bool has_reduction(const IR *ir, const Kernel *k) {
  bool any = false;
  for (size_t i = 0; i < k->prog.n && !any; i++) any = node(ir, k->prog.p[i])->op == OP_SET;
  return any;
}

/* Kernel k stores over `in`, if that is proved. before: gets the program as it was, if loads come one iteration ahead now. */
static bool overwrite(Plan *p, Kernel *k, int in, Refs *before) {
  IR *ir = p->ir;
  const int out = k->written.p[0];
  Refs ahead = { 0 };
  if (program_in_place(ir, &k->prog, k->chunks, in, out)) return true;
  if (program_load_ahead(ir, &k->prog, in, out, &ahead) && program_in_place(ir, &ahead, k->chunks, in, out)) {
    *before = k->prog;
    k->prog = ahead;
    kernel_buffers(ir, k); /* listed in the order of the program */
    return true;
  }
  VEC_FREE(&ahead);
  return false;
}

/* Finds a value that kernel k may store over, so that fewer bytes are live while it runs. C lets a compiler move accesses of
 * different types past each other, so both values have one type. */
static bool find_overwritten(Plan *p, int k, int64_t live, Refs *before) {
  Kernel *kn = &p->kernels.p[k];
  bool found = false;
  if (kn->group_size != 1 || kn->chunks_per_task || kn->written.n != 1) return false;
  if (kn->overwrites || !has_reduction(p->ir, kn)) return false;
  for (size_t i = 0; i < kn->bufs.n && !found; i++) {
    const int in = kn->bufs.p[i], out = kn->written.p[0];
    if (in == out || p->ir->bufs.p[in].kind != BUF_ARENA || p->ir->bufs.p[in].dt != p->ir->bufs.p[out].dt) continue;
    kn->overwrites = 1 + in;
    int64_t *now = sched_live_bytes(p);
    found = now[k] < live && overwrite(p, kn, in, before);
    free(now);
    if (!found) kn->overwrites = 0;
  }
  return found;
}

typedef struct Changed { int kernel; Refs before; } Changed; /* before: the program; empty: it is the same */

static void change_back(Plan *p, Changed *x) {
  Kernel *k = &p->kernels.p[x->kernel];
  k->overwrites = 0;
  if (!x->before.n) return;
  VEC_FREE(&k->prog);
  k->prog = x->before;
  x->before = (Refs){ 0 };
  kernel_buffers(p->ir, k);
}

/* The first kernel with the most live bytes. -1: no kernel has any */
static int busiest(const Plan *p, int64_t *most) {
  int64_t *live = sched_live_bytes(p);
  int at = -1;
  *most = 0;
  for (int k = 0; k < (int)p->kernels.n; k++)
    if (live[k] > *most) *most = live[k], at = k;
  free(live);
  return at;
}

/* Lowers the greatest number of live bytes; false: some kernel with that many cannot. Then the kernels are as before. */
static bool lower_peak(Plan *p) {
  VEC(Changed) changed = { 0 };
  int64_t peak, now;
  int k = busiest(p, &peak);
  bool ok = k >= 0;
  for (now = peak; ok && now == peak; k = busiest(p, &now)) {
    Changed x = { .kernel = k };
    ok = find_overwritten(p, k, peak, &x.before);
    if (ok) VEC_PUSH(&changed, x);
  }
  ok &= now < peak;
  for (size_t i = 0; i < changed.n; i++) {
    if (!ok) change_back(p, &changed.p[i]);
    VEC_FREE(&changed.p[i].before);
  }
  VEC_FREE(&changed);
  return ok;
}

void step_overwrite(Plan *p, Kernel *unused) {
  (void)unused;
  if (p->base || p->in->target->variants) return; /* other programs run on the same memory */
  if (!p->ir->symbols.n) return; /* a bundle for one size stays as it is: its gains were not measured on every machine */
  if (!tunable(p->ir->ctx, overwrite)) return;
  while (lower_peak(p)) continue;
}

/* SPDX-License-Identifier: MIT */
/* rebase.c: the pass that moves buffer pointers to the first element that a program touches.
 *
 * The steps of a loop read row 0, row 1, row 2 of an input and write rows of an output. Their programs differ in a constant of
 * an index. The common part of all indices of a buffer goes to the caller, who adds it to the pointer. Such programs become
 * equal. If pointers to the memory are known to be aligned, the part is a multiple of the alignment. Where no two kernels
 * become equal, pointers stay at the first element of the buffer.
 *
 * needs: programs, the memory plan    gives: Kernel.shift, programs with moved indices    breaks: nothing */
#include "listing.h"
#include "lower.h"
#include <stdlib.h>

static bool names_element(const Node *x) { return is_access(x) || x->op == OP_PREFETCH; }

static int64_t constant_of(const IR *ir, Ref index) {
  const Node *x = node(ir, index);
  int64_t n;
  if (x->lanes == 1 && (node_is_const(ir, index, &n) || (x->op == OP_ADD && node_is_const(ir, rhs(x), &n)))) return n;
  return 0;
}

static int parameter_of(const IR *ir, const Kernel *k, const Node *access) {
  const int64_t buf = buffer_id(node(ir, access_buffer(access)));
  for (size_t i = 0; i < k->bufs.n; i++)
    if (k->bufs.p[i] == buf) return (int)i;
  return -1; /* a buffer of the kernel itself */
}

/* Sets shift[] to the common part of each buffer's indices, in elements; false: all are 0. */
static bool find_shifts(const IR *ir, const Kernel *k, int64_t *shift) {
  bool any = false;
  for (size_t i = 0; i < k->bufs.n; i++) shift[i] = INT64_MAX;
  for (size_t i = 0; i < k->prog.n; i++) {
    const Node *x = node(ir, k->prog.p[i]);
    const int at = names_element(x) ? parameter_of(ir, k, x) : -1;
    if (at >= 0 && constant_of(ir, access_index(x)) < shift[at]) shift[at] = constant_of(ir, access_index(x));
  }
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[k->bufs.p[i]];
    const bool aligned = b->kind == BUF_ARENA || b->kind == BUF_WEIGHT;
    if (shift[i] < 0 || shift[i] >= b->elems) shift[i] = 0; /* a gate that is never open may have any index */
    if (aligned) shift[i] -= shift[i] % (REBASE_ALIGN / dt_bytes(b->dt));
    any |= shift[i] != 0;
  }
  return any;
}

typedef struct Shifted {
  IR *ir;
  const Kernel *k;
  const int64_t *shift;
  RefMap used;             /* nodes that are still needed with moved pointers */
  RefMap now;              /* new nodes of the moved program */
  Listing list;
} Shifted;

/* Elements by which the pointer of source i of x moves, if the source is an index; else 0. */
static int64_t shift_of(const Shifted *s, const Node *x, int i) {
  const int at = i == 1 && names_element(x) ? parameter_of(s->ir, s->k, x) : -1;
  return at < 0 ? 0 : s->shift[at];
}

static bool only_index(const Node *x) { return x->op == OP_CONST || (x->op == OP_ADD && (x->dt == DT_I64 || x->dt == DT_I32)); }

static void find_used(Shifted *s) {
  for (size_t i = s->k->prog.n; i-- > 0;) {
    const Node *x = node(s->ir, s->k->prog.p[i]);
    if (only_index(x) && !refmap_get(&s->used, s->k->prog.p[i])) continue;
    for (int j = 0; j < x->nsrc; j++) {
      const Node *from = node(s->ir, x->src[j]);
      if (!shift_of(s, x, j)) refmap_set(&s->used, x->src[j], 1);
      else if (from->op == OP_ADD) refmap_set(&s->used, lhs(from), 1);
    }
  }
}

static Ref now(const Shifted *s, Ref r) {
  const Ref to = refmap_get(&s->now, r);
  return to ? to : r;
}

static Ref moved_index(Shifted *s, Ref index, int64_t by) {
  const Node *x = node(s->ir, index);
  const Ref rest = c_int(s->ir, (DType)x->dt, constant_of(s->ir, index) - by);
  if (x->op == OP_CONST || constant_of(s->ir, index) != by) listing_once(&s->list, rest);
  if (x->op == OP_CONST) return rest;
  const Ref sum = now(s, lhs(x));
  if (constant_of(s->ir, index) == by) return sum;
  const Ref src[] = { sum, rest }, to = node_with_src(s->ir, index, src);
  listing_once(&s->list, to);
  return to;
}

/* The program with moved pointers, and their shifts in elements; false: no pointer moves */
static bool rebase(IR *ir, const Kernel *k, Refs *prog, int64_t *shift) {
  Shifted s = { .ir = ir, .k = k, .shift = shift, .list = { .ir = ir, .out = prog } };
  Refs src = { 0 };
  if (!find_shifts(ir, k, shift)) return false;
  find_used(&s);
  for (size_t i = 0; i < k->prog.n; i++) {
    const Ref r = k->prog.p[i];
    const Node *x = node(ir, r);
    if (only_index(x) && !refmap_get(&s.used, r)) continue;
    src.n = 0;
    for (int j = 0; j < x->nsrc; j++) {
      const int64_t by = shift_of(&s, x, j);
      VEC_PUSH(&src, by ? moved_index(&s, x->src[j], by) : now(&s, x->src[j]));
    }
    const Ref to = x->nsrc ? node_with_src(ir, r, src.p) : r;
    refmap_set(&s.now, r, to);
    if (only_index(x) || (!x->nsrc && x->op != OP_BARRIER)) listing_once(&s.list, to);
    else listing_put(&s.list, to);
  }
  VEC_FREE(&src);
  listing_free(&s.list);
  refmap_free(&s.used);
  refmap_free(&s.now);
  return true;
}

/* A kernel with moved pointers, and the identity of its function without */
typedef struct Form {
  Kernel moved;            /* without a shift: the same kernel */
  uint32_t plain;          /* signature of the unmoved kernel */
} Form;

static Form form_of(Plan *p, size_t k, Bounds *bounds) {
  Kernel *kn = &p->kernels.p[k];
  int64_t *shift = ARENA_NEW(&p->ir->ctx->model, int64_t, kn->bufs.n + 1);
  Refs prog = { 0 };
  bounds_note(bounds, kn);
  Form f = { .plain = kernel_signature(p, k) };
  f.moved = *kn;
  if (!rebase(p->ir, kn, &prog, shift)) return f;
  if (bounds_moved(bounds, kn, &prog, shift)) {
    const Kernel plain = *kn;
    kn->prog = prog;
    kn->shift = shift;
    kn->head = NULL;
    kernel_signature(p, k);
    f.moved = *kn;
    *kn = plain;
  } else VEC_FREE(&prog);
  return f;
}

typedef VEC(uint32_t) Table; /* by signature */

static uint32_t *row_of(Table *by, uint32_t id) {
  while (by->n <= id) VEC_PUSH(by, 0);
  return &by->p[id];
}

void plan_rebase(Plan *p) {
  Form *form = xcalloc(p->kernels.n + 1, sizeof *form);
  Bounds *bounds = bounds_open(p);
  /* by signature of a moved kernel: the signature of an unmoved one; whether another one differs */
  Table plain = { 0 }, several = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    if (!p->kernels.p[k].prog.n && p->base) continue;
    form[k] = form_of(p, k, bounds);
    uint32_t *only = row_of(&plain, form[k].moved.signature);
    if (*only && *only != form[k].plain) *row_of(&several, form[k].moved.signature) = 1;
    *only = form[k].plain;
  }
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    if (!form[k].moved.shift) continue;
    Refs *other = *row_of(&several, form[k].moved.signature) ? &kn->prog : &form[k].moved.prog;
    VEC_FREE(other);
    if (other == &kn->prog) *kn = form[k].moved;
  }
  bounds_close(bounds);
  free(form);
  VEC_FREE(&plain);
  VEC_FREE(&several);
}

/* kernel/lower.c: one kernel from scalar expressions to its program, through the files that
 * kernel.h lists, and what is known of it then. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

static bool absent(int *p, size_t n, int x) {
  for (size_t i = 0; i < n; i++)
    if (p[i] == x) return false;
  return true;
}

/* Operations on floats; choosing an element by its place is none. */
static bool is_arithmetic(const IR *ir, const Node *x, bool data) {
  if (op_info[x->op].level != L_EXPR || x->op == OP_CAST || x->op == OP_BITCAST || (x->op == OP_WHERE && !data)) return false;
  return dt_float((DType)x->dt) || (x->nsrc > 1 && dt_float((DType)node(ir, x->src[1])->dt));
}

static double values_of(const IR *ir, const Refs *ranges, uint64_t set) {
  double n = 1;
  for (size_t i = 0; i < ranges->n; i++) n *= set >> i & 1 ? (double)range_extent(ir, ranges->p[i]) : 1;
  return n;
}

/* Arithmetic of a nest as written, before tiling: every op once per value of the ranges it varies with, so that what results
 * have in common counts once. */
static double count_flops(const IR *ir, Ref nest) {
  Varying v;
  double flops = 0;
  varying_open(ir, nest, &v);
  for (size_t i = 0; i < v.nodes.n; i++) {
    const Node *x = node(ir, v.nodes.p[i]);
    const bool data = x->op == OP_WHERE && varying_of(&v, x->src[0]) & VARIES_DATA;
    if (is_arithmetic(ir, x, data)) flops += values_of(ir, &v.ranges, v.by[i]);
    if (x->op != OP_RED || !dt_float((DType)x->dt)) continue;
    uint64_t terms = varying_of(&v, x->src[0]);
    for (int k = 1; k < x->nsrc; k++) terms |= varying_of(&v, x->src[k]);
    flops += values_of(ir, &v.ranges, terms);
  }
  varying_free(&v);
  return flops;
}

/* Nests run one after the other: the copies of operands that they make share memory. */
static void share_locals(IR *ir, Refs *nests) {
  Refs all = { 0 };
  VEC(Ref) kept = { 0 };
  for (size_t i = 0; i < nests->n; i++) {
    Ref from[MAX_RANGES], to[MAX_RANGES];
    int n = 0;
    all.n = 0;
    ir_toposort(ir, &nests->p[i], 1, &all);
    for (size_t j = 0; j < all.n && n < MAX_RANGES; j++) {
      const Node *x = node(ir, all.p[j]);
      if (x->op != OP_BUFFER || ir->bufs.p[x->arg[0]].kind != BUF_LOCAL) continue;
      if (n == (int)kept.n) VEC_PUSH(&kept, all.p[j]);
      Buf *b = &ir->bufs.p[node(ir, kept.p[n])->arg[0]];
      if (b->dt != (DType)x->dt) break; /* it keeps its own */
      if (b->elems < ir->bufs.p[x->arg[0]].elems) b->elems = ir->bufs.p[x->arg[0]].elems;
      from[n] = all.p[j];
      to[n] = kept.p[n];
      n++;
    }
    if (n) nests->p[i] = ix_subst(ir, nests->p[i], n, from, to);
  }
  VEC_FREE(&all);
  VEC_FREE(&kept);
}

static void name_buffers(const IR *ir, Kernel *k) {
  k->bufs.n = k->written.n = k->locals.n = 0;
  for (size_t i = 0; i < k->prog.n; i++) {
    const Node *x = node(ir, k->prog.p[i]);
    if (x->op != OP_LOAD && x->op != OP_TILE && x->op != OP_STORE) continue;
    const int buf = (int)node(ir, x->src[0])->arg[0];
    if (ir->bufs.p[buf].kind == BUF_LOCAL) {
      if (absent(k->locals.p, k->locals.n, buf)) VEC_PUSH(&k->locals, buf);
      continue;
    }
    if (absent(k->bufs.p, k->bufs.n, buf)) VEC_PUSH(&k->bufs, buf);
    if (x->op == OP_STORE && absent(k->written.p, k->written.n, buf)) VEC_PUSH(&k->written, buf);
  }
}

/* Is a value an element of memory or a constant, whichever of them a comparison of indices names? */
static bool only_moved(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  switch ((Op)x->op) {
  case OP_LOAD: case OP_CONST: return true;
  case OP_CAST: return only_moved(ir, x->src[0]);
  case OP_WHERE: return only_moved(ir, x->src[1]) && only_moved(ir, x->src[2]);
  default: return false;
  }
}

/* Elements of its buffer that a load or a store touches. */
static int64_t touched(const IR *ir, const Node *x) {
  const int64_t elems = ir->bufs.p[node(ir, x->src[0])->arg[0]].elems;
  Refs r = { 0 };
  int64_t n = 1;
  collect_ranges(ir, x->src[1], &r);
  for (size_t i = 0; i < r.n; i++)
    if (!i64_mul(n, node(ir, r.p[i])->arg[0], &n)) n = elems;
  VEC_FREE(&r);
  return n < elems ? n : elems;
}

/* What a kernel costs as written, before opts: arithmetic of its nests, and the bytes it touches in each buffer, no more than
 * the buffer has: loads of one buffer may be of the same elements. */
void kernel_cost(const IR *ir, Kernel *k) {
  Refs all = { 0 };
  RefMap at[2] = { { 0 } }; /* a buffer that is loaded, stored: its place in left + 1 */
  VEC(int64_t) left = { 0 }; /* elements that are not counted yet */
  k->bytes_read = k->bytes_written = 0;
  k->moves = true;
  ir_toposort(ir, &k->sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD && x->op != OP_STORE) continue;
    const bool store = x->op == OP_STORE;
    const Buf *b = &ir->bufs.p[node(ir, x->src[0])->arg[0]];
    if (store) k->moves &= only_moved(ir, x->src[2]);
    if (!refmap_get(&at[store], x->src[0])) {
      VEC_PUSH(&left, b->elems);
      refmap_set(&at[store], x->src[0], (Ref)left.n);
    }
    int64_t *rest = &left.p[refmap_get(&at[store], x->src[0]) - 1], n = touched(ir, x);
    if (n > *rest) n = *rest;
    *rest -= n;
    *(store ? &k->bytes_written : &k->bytes_read) += n * dt_bytes(b->dt);
  }
  double flops = 0;
  for (size_t i = 0; i < k->nests.n; i++) flops += count_flops(ir, k->nests.p[i].nest);
  k->flops = (int64_t)flops;
  for (int i = 0; i < 2; i++) refmap_free(&at[i]);
  VEC_FREE(&left);
  VEC_FREE(&all);
}

void kernel_nests(IR *ir, Kernel *k) {
  const Node *sink = node(ir, k->sink);
  Refs parts = { 0 };
  for (int i = 0; i < sink->nsrc && !k->nests.n; i++) even_nests(ir, sink->src[i], &parts);
  for (size_t i = 0; i < parts.n; i++) {
    ir->origin = node(ir, parts.p[i])->origin;
    VEC_PUSH(&k->nests, ((NestSchedule){ .nest = canon_nest(ir, parts.p[i]) }));
  }
  VEC_FREE(&parts);
}

/* A variant's: the base's, retiled. */
static bool follow_base(Plan *p, const NestSchedule *b, Opts *o, NestSchedule *s) {
  s->from = b->from;
  s->partial = b->partial;
  return !opts_parse(p->ir, s->nest, p->base->target, b->opts, strlen(b->opts), o) &&
         opts_retile(p->ir, s->nest, p->base->target, p->target, o);
}

/* The first schedule that is given for the nest and legal, else the heuristic's. base: the nest's of the plan that p is a
 * variant of, for which q asks */
static Opts choose_opts(Plan *p, const NestSchedule *base, const Question *q, NestSchedule *s) {
  IR *ir = p->ir;
  const Ref nest = s->nest;
  Opts o;
  if (base && q->given) {
    const char *wrong = opts_parse(ir, nest, p->target, q->given, strlen(q->given), &o);
    s->from = base->from;
    s->partial = base->partial;
    if (!wrong) return o;
    answer_refused(ir, q, wrong);
  }
  if (base && follow_base(p, base, &o, s)) return o;
  for (ScheduleSource *from = p->schedules; from; from = from->next) {
    const char *text = from->find(from, s->key, &s->partial), *wrong;
    if (!text) continue;
    s->from = from->name;
    if (!(wrong = opts_parse(ir, nest, p->target, text, strlen(text), &o))) return o;
    warn_at(ir->ctx, ir_pos(ir, node(ir, nest)->src[0]), "the schedule '%s' of nest %.16s from the %s is not used: %s", text,
            s->key, from->name, wrong);
  }
  Nest n = nest_open(ir, nest);
  s->from = "heuristic";
  s->partial = false;
  return heuristic_opts(ir, &n, p->target);
}

/* The nest's schedule is kept and applied; the chunks it wants, or 0. */
static int schedule(Plan *p, const NestSchedule *base, NestSchedule *s, Refs *nests, Sb *text) {
  IR *ir = p->ir;
  ir->origin = node(ir, s->nest)->origin;
  nest_key(ir, s->nest, p->target, p->backend, s->key);
  const Question q = base ? ask_key(ir, "variant", s->key, s->nest) : (Question){ 0 };
  Opts o = choose_opts(p, base, &q, s);
  size_t at = text->n;
  opts_complete(ir, s->nest, p->target, &o);
  opts_print(ir, s->nest, &o, text);
  s->opts = arena_str(&ir->ctx->model, text->p + at, text->n - at);
  if (base) answer_with(ir, &q, s->opts);
  opts_apply(ir, s->nest, &o, nests);
  return o.threads;
}

void kernel_lower(Plan *p, int index) {
  IR *ir = p->ir;
  Kernel *k = &p->kernels.p[index];
  Refs nests = { 0 };
  Sb text = { 0 };
  int wanted = 0; /* chunks, at most, by the nests' schedules */
  kernel_nests(ir, k);
  for (size_t i = 0; i < k->nests.n; i++) {
    const int want = schedule(p, p->base ? &p->base->kernels.p[index].nests.p[i] : NULL, &k->nests.p[i], &nests, &text);
    if (want > wanted) wanted = want;
  }
  for (size_t i = 0; i < nests.n; i++) {
    pack_weights(p, &nests.p[i]);
    nests.p[i] = number_ranges(ir, nests.p[i]);
  }
  alike_expand(p, k, &nests);
  share_locals(ir, &nests);
  if (!k->each) kernel_cost(ir, k);
  k->chunks = threads_given(p, &nests);
  if (!k->chunks) {
    const Question q = ask_kernel(p, "chunks", k);
    k->chunks = threads_apply(p, &nests, k->bytes_read + k->bytes_written, wanted, &q);
  }
  if (k->chunks > 1) sb_printf(&text, " threads(%d)", k->chunks);
  linearize(ir, nests.p, nests.n, &k->prog);
  k->schedule = sb_keep(&text, &ir->ctx->model);
  name_buffers(ir, k);
  VEC_FREE(&nests);
}

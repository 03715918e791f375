/* SPDX-License-Identifier: MIT */
/* plan_read.c: reads statements of a dump into the state between two passes. A dump may be hostile, as any model. Each line is
 * checked as it is read, by the tables of plan_fields.c and by the verifier; plan_check.c checks the rest.
 *
 * needs: lines of a dump   gives: Resumed, or a message with line, column and caret   breaks: nothing */
#include "plan_parts.h"
#include "lower/lower.h"
#include "opt/opts.h"
#include <stdlib.h>

static int64_t ranged(Parser *p, const Field *f) {
  const char *at = (scan_peek(p), p->at);
  const int64_t v = scan_integer(p, "an integer");
  if (v < f->least || v > f->most)
    scan_bad(p, at, "%s=%lld is outside of %lld to %lld", f->name, (long long)v, (long long)f->least, (long long)f->most);
  return v;
}

/* [1,2,3] with at most `most` integers; returns their number */
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

/* ---- fields that name something ---- */
static void read_key(Parser *p, const Field *f, char *key) {
  const char *s = wanted_string(p, f->name);
  if (strlen(s) != 64) scan_bad(p, p->at, "expected a key of 64 digits");
  memcpy(key, s, 65);
}

static void read_value_name(Parser *p, const Field *f, Ref *value) {
  Reader *rd = reader_of(p);
  const char *s;
  const size_t len = scan_word(p, &s);
  if (!len) scan_bad(p, p->at, "expected the name of a value, found %s", scan_found(p));
  if (p->level == L_GRAPH) VEC_PUSH(&rd->later, ((Later){ (Ref)rd->placed.n, f->at, s, len })); /* a later line may define it */
  else *value = parse_graph_name(p, s, len);
}

static Ref read_range_name(Parser *p) {
  const char *s;
  const size_t len = scan_word(p, &s);
  if (!len) scan_bad(p, p->at, "expected the name of a range, found %s", scan_found(p));
  const Ref r = parse_lookup(p, s, len);
  if (node(p->ir, r)->op != OP_RANGE && node(p->ir, r)->op != OP_CONST)
    scan_bad(p, s, "'%.*s' is not a range", shown(len), s);
  return r;
}

static const IsaOp *read_isa_op(Parser *p, const Field *f) {
  const char *s = wanted_string(p, f->name);
  const IsaOp *u = isa_op_named(s, strlen(s));
  if (!u) scan_bad(p, p->at, "there is no instruction '%s'", s);
  return u;
}

static const MatrixUnit *read_unit(Parser *p, const Field *f) {
  const char *s = wanted_string(p, f->name);
  const MatrixUnit *u = matrix_unit_named(s, strlen(s));
  if (!u) scan_bad(p, p->at, "there is no matrix instruction '%s'", s);
  return u;
}

/* Returns the bits of a literal of type d. wanted: as the message calls it */
static int64_t read_literal(Parser *p, DType d, const char *wanted) {
  const char *s;
  const size_t len = scan_literal(p, &s);
  if (!len) scan_bad(p, p->at, "expected %s, found %s", wanted, scan_found(p));
  return scan_bits(p, s, len, d);
}

/* Reads the value of a field, behind its '='. n: gets the length of an F_LIST */
static void read_field(Parser *p, const Field *f, void *record, Ref value, int *n) {
  void *at = (char *)record + f->at;
  int64_t *list = at;
  const int rank = axes_of(p->ir, value);
  switch (f->kind) {
  case F_FLAG: *(bool *)at = true; return;
  case F_INT: *(int *)at = (int)ranged(p, f); return;
  case F_LONG: *list = ranged(p, f); return;
  case F_REAL: *list = read_literal(p, DT_F64, "a number"); return;
  case F_TEXT: *(const char **)at = wanted_string(p, f->name); return;
  case F_KEY: read_key(p, f, at); return;
  case F_AXES:
    if (ranged_list(p, f, rank, list) != rank) scan_bad(p, p->at, "%s needs %d integers", f->name, rank);
    return;
  case F_LIST: {
    const int got = ranged_list(p, f, 24, list);
    if (*n >= 0 && got != *n) scan_bad(p, p->at, "%s needs %d integers, like the lists before it", f->name, *n);
    *n = got;
    return;
  }
  case F_FILL: {
    const DType d = (DType)node(p->ir, value)->dt;
    *(Ref *)at = c_bits(p->ir, d, read_literal(p, d, "a literal"));
    return;
  }
  case F_VALUE: read_value_name(p, f, at); return;
  case F_NODE: *(Ref *)at = read_range_name(p); return;
  case F_ISA_OP: *(const IsaOp **)at = read_isa_op(p, f); return;
  case F_UNIT: *(const MatrixUnit **)at = read_unit(p, f); return;
  case F_TENSOR:
    *list = ranged(p, f);
    if (*list >= (int64_t)p->ir->tensors.n) scan_bad(p, p->at, "there is no weight %lld", (long long)*list);
    return;
  }
}

static const Field *find_field(Fields f, const char *s, size_t len) {
  for (int i = 0; i < f.n; i++)
    if (is_word(s, len, f.p[i].name)) return &f.p[i];
  return NULL;
}

static void set_absent(Fields f, void *record) {
  for (int i = 0; i < f.n; i++) {
    char *at = (char *)record + f.p[i].at;
    if (f.p[i].kind == F_INT) *(int *)(void *)at = (int)f.p[i].absent;
    if (f.p[i].kind == F_LONG) *(int64_t *)(void *)at = f.p[i].absent;
  }
}

/* Reads the rest of the line. Returns the length of its lists */
static int read_fields(Parser *p, Fields f, void *record, Ref value) {
  uint64_t seen = 0;
  const char *s;
  int n = -1;
  set_absent(f, record);
  for (size_t len; (len = scan_word(p, &s));) {
    const Field *x = find_field(f, s, len);
    if (!x) scan_bad(p, s, "unknown attribute '%.*s'", shown(len), s);
    if (seen >> (x - f.p) & 1) scan_bad(p, s, "'%.*s' is given twice", shown(len), s);
    seen |= UINT64_C(1) << (x - f.p);
    if (x->kind != F_FLAG) scan_expect(p, '=', "after the name of an attribute");
    read_field(p, x, record, value, &n);
  }
  return n < 0 ? 0 : n;
}

void read_after(Parser *p) {
  Resumed *r = reader_of(p)->r;
  const char *s;
  const size_t n = scan_word(p, &s);
  if (!n) scan_bad(p, p->at, "expected a pass, found %s", scan_found(p));
  r->after = arena_str(&p->c->model, s, n);
  r->pass = pass_named(r->after);
  if (r->pass == pass_count()) scan_bad(p, s, "there is no pass '%.*s'; `tgc ops` lists them", shown(n), s);
}

void read_setting(Parser *p) {
  const char *s;
  size_t n = 0;
  for (scan_peek(p), s = p->at; p->at < p->end && (is_start(*p->at) || *p->at == '-'); p->at++) n++;
  if (!n) scan_bad(p, p->at, "expected an option, found %s", scan_found(p));
  const char *name = arena_str(&p->c->model, s, n);
  VEC_PUSH(&reader_of(p)->r->settings, ((Setting){ name, wanted_string(p, "its value") }));
}

void read_source(Parser *p) {
  const char *at = (scan_peek(p), p->at), *digest;
  const int64_t bytes = scan_integer(p, "the size of a file");
  SourceFile f = { .all = { NULL, (size_t)bytes } };
  if (bytes < 0) scan_bad(p, at, "size %lld is negative", (long long)bytes);
  digest = wanted_string(p, "its SHA-256");
  if (strlen(digest) != 64) scan_bad(p, p->at, "expected a SHA-256 of 64 digits");
  memcpy(f.sha256, digest, 65);
  f.location = scan_string(p);
  VEC_PUSH(&reader_of(p)->sources, f);
}

void read_ranges(Parser *p) {
  const char *at = (scan_peek(p), p->at);
  const int64_t n = scan_integer(p, "a number");
  if (n < 0 || n > MOST_ELEMS) scan_bad(p, at, "%lld ranges are not possible", (long long)n);
  if (n > p->ir->next_range) p->ir->next_range = n;
}

void read_origin(Parser *p) {
  const char *at = (scan_peek(p), p->at), *s;
  const int64_t index = scan_integer(p, "an ordinal");
  if (index < 0 || index > UINT32_MAX) scan_bad(p, at, "ordinal %lld is out of range", (long long)index);
  const uint32_t row = ir_origin(p->ir, wanted_string(p, "what it is"), (uint32_t)index);
  const size_t n = scan_word(p, &s);
  if (n && !is_word(s, n, "line")) scan_bad(p, s, "expected 'line' or nothing");
  p->ir->origins.p[row].is_line = n > 0;
}

void read_place(Parser *p, Ref value) {
  Reader *rd = reader_of(p);
  Placed x = { .value = value, .pos = *p->where };
  read_fields(p, place_fields, &x.place, value);
  VEC_PUSH(&rd->placed, x);
}

void read_state(Parser *p) {
  static const Field init = { "init", F_TENSOR, 0, 0, 0, MOST_INT };
  GState st = { 0 };
  const char *s, *at = p->at;
  int64_t tensor = -1;
  int n = 0;
  set_absent(state_fields, &st);
  for (size_t len; (len = scan_word(p, &s));) {
    const Field *f = is_word(s, len, "init") ? &init : find_field(state_fields, s, len);
    if (!f) scan_bad(p, s, "unknown attribute '%.*s'", shown(len), s);
    scan_expect(p, '=', "after the name of an attribute");
    read_field(p, f, f == &init ? (void *)&tensor : (void *)&st, 0, &n);
  }
  if (tensor >= 0) st.init = arena_dup(&p->c->model, &p->ir->tensors.p[tensor], sizeof *p->ir->tensors.p);
  if (st.axis >= 0 && (st.taken < 1 || st.capacity < 1)) scan_bad(p, at, "a window needs taken= and capacity=");
  st.step = st.most = st.taken; /* a dump is of one entry */
  VEC_PUSH(&p->g->states, st);
}

void read_grows(Parser *p) { p->g->grows = true; }

void read_sample(Parser *p) {
  static const Field fields[] = { { "input", F_TENSOR, 0, -1, 0, MOST_INT }, { "output", F_TENSOR, 8, -1, 0, MOST_INT } };
  int64_t tensor[2] = { -1, -1 };
  Resumed *r = reader_of(p)->r;
  const char *at = p->at;
  read_fields(p, ((Fields){ fields, (int)(sizeof fields / sizeof *fields) }), tensor, 0);
  if ((tensor[0] < 0) == (tensor[1] < 0)) scan_bad(p, at, "a sample belongs to an input or to an output");
  const int64_t id = tensor[0] < 0 ? tensor[1] : tensor[0];
  if (tensor[0] < 0) VEC_PUSH(&r->exact, p->ir->tensors.p[id]);
  else VEC_PUSH(&r->in, p->ir->tensors.p[id]);
}

void read_cost(Parser *p) { read_fields(p, cost_fields, reader_of(p)->r->plan, 0); }

bool read_buffer_key(Parser *p, Buf *b, const char *s, size_t n) {
  const Field *f = find_field(buffer_fields, s, n);
  int none = 0;
  if (f) read_field(p, f, b, 0, &none);
  return f != NULL;
}

void read_packed(Parser *p) {
  Packed k;
  const char *at = p->at;
  memset(&k, 0, sizeof k); /* zeroed padding, since rows are compared as bytes */
  k.n = read_fields(p, packed_fields, &k, 0);
  if (k.buf < 0 || k.buf >= (int)p->ir->bufs.n) scan_bad(p, at, "there is no buffer %d", k.buf);
  const Buf *b = &p->ir->bufs.p[k.buf];
  const Tensor *t = &p->ir->tensors.p[k.tensor];
  if (b->kind != BUF_WEIGHT || b->packed != (int)reader_of(p)->packed.n + 1 || b->slot != k.tensor)
    scan_bad(p, at, "buffer %d is not the packed weight of this row", k.buf);
  if (b->dt != t->dt || dims_elems(k.extent, k.n) != b->elems)
    scan_bad(p, at, "buffer %d has %lld elements of %s, but this row has %lld of %s", k.buf, (long long)b->elems,
             dtype_info[b->dt].text, (long long)dims_elems(k.extent, k.n), dtype_info[t->dt].text);
  if (!t->data || !packed_fits(p->ir, &k)) scan_bad(p, at, "it reads elements that the weight does not have");
  VEC_PUSH(&reader_of(p)->packed, k);
}

/* Backends number the listed nodes, so everything that a program uses must be listed, leaves too. */
static void check_listed(Parser *p, const Refs *prog) {
  RefMap listed = { 0 };
  bool all = true;
  for (size_t i = 0; i < prog->n && all; i++) {
    const Node *x = node(p->ir, prog->p[i]);
    for (int k = x->op == OP_LOOP; k < x->nsrc && x->op != OP_END; k++) all &= refmap_get(&listed, x->src[k]) != 0;
    refmap_set(&listed, prog->p[i], 1);
  }
  refmap_free(&listed);
  if (!all) scan_bad(p, p->at, "the program before this line uses a node that it does not list");
}

/* Sets by how much calls move the pointers, now that the program tells the buffers */
static void end_shift(Parser *p) {
  Reader *rd = reader_of(p);
  Kernel *k = rd->kernel;
  if (!rd->shift.n) return;
  kernel_buffers(p->ir, k);
  if (rd->shift.n != k->bufs.n)
    scan_bad(p, p->at, "the kernel before this line has %zu buffers, but its shift has %zu integers", k->bufs.n, rd->shift.n);
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->bufs.p[i]];
    const bool aligned = b->kind == BUF_ARENA || b->kind == BUF_WEIGHT;
    const int64_t by = rd->shift.p[i];
    if (by < 0 || by >= b->elems || (aligned && by * dt_bytes(b->dt) % REBASE_ALIGN))
      scan_bad(p, p->at, "the kernel before this line moves buffer %d by %lld elements, to a place outside of it or not aligned",
               k->bufs.p[i], (long long)by);
  }
  k->shift = arena_dup(&p->c->model, rd->shift.p, rd->shift.n * sizeof *rd->shift.p);
  rd->shift.n = 0;
}

/* Verifies the kernel before this line, which is now complete. */
void end_kernel(Parser *p) {
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

void read_kernel(Parser *p) {
  Reader *rd = reader_of(p);
  Kernel k = { 0 };
  end_kernel(p);
  read_fields(p, kernel_fields, &k, 0);
  VEC_PUSH(&rd->into->kernels, k);
  rd->kernel = &rd->into->kernels.p[rd->into->kernels.n - 1];
  parse_scope(p, L_KERNEL, NULL);
}

/* The kernel whose lines are read, before its program */
static Kernel *open_kernel(Parser *p) {
  Reader *rd = reader_of(p);
  if (p->level != L_KERNEL || !rd->kernel) scan_bad(p, p->at, "this line must be in a kernel, before its program");
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

void read_nest(Parser *p) {
  Kernel *k = open_kernel(p);
  NestSchedule n = { .nest = read_nest_name(p) };
  read_fields(p, nest_fields, &n, 0);
  VEC_PUSH(&k->nests, n);
}

void read_pending(Parser *p) {
  Kernel *k = open_kernel(p);
  const char *at = p->at;
  NestState s = { .nest = read_nest_name(p) };
  read_fields(p, pending_fields, &s, 0);
  const int before = k->states.n ? k->states.p[k->states.n - 1].depth : -1;
  if (s.depth > before + 1) scan_bad(p, at, "depth=%d is not possible after a nest of depth %d", s.depth, before);
  VEC_PUSH(&k->states, s);
}

static Opts *open_opts(Parser *p) {
  Kernel *k = open_kernel(p);
  if (!k->states.n || !k->states.p[k->states.n - 1].opts) scan_bad(p, p->at, "this line must follow 'opts'");
  return k->states.p[k->states.n - 1].opts;
}

void read_opts(Parser *p) {
  Kernel *k = open_kernel(p);
  Opts *o = ARENA_NEW(&p->c->model, Opts, 1);
  if (!k->states.n) scan_bad(p, p->at, "opts must follow a pending nest");
  read_fields(p, opts_fields, o, 0);
  k->states.p[k->states.n - 1].opts = o;
}

void read_opt(Parser *p) {
  Opts *o = open_opts(p);
  if (o->n == MAX_RANGES) scan_bad(p, p->at, "more than %d opts", MAX_RANGES);
  read_fields(p, opt_fields, &o->opt[o->n], 0);
  if (!o->opt[o->n++].range) scan_bad(p, p->at, "an opt needs range=");
}

void read_move(Parser *p) {
  Opts *o = open_opts(p);
  if (o->nmoved == MAX_MOVES) scan_bad(p, p->at, "more than %d moves", MAX_MOVES);
  read_fields(p, move_fields, &o->moved[o->nmoved], 0);
  if (!o->moved[o->nmoved++].range) scan_bad(p, p->at, "a move needs range=");
}

void read_peel(Parser *p) {
  Opts *o = open_opts(p);
  if (o->npeeled == MAX_PEELED) scan_bad(p, p->at, "more than %d peeled ranges", MAX_PEELED);
  read_fields(p, peel_fields, &o->peeled[o->npeeled], 0);
  if (!o->peeled[o->npeeled++]) scan_bad(p, p->at, "peel needs range=");
}

void read_part(Parser *p) {
  Opts *o = open_opts(p);
  if (o->nparts == MAX_PARTS) scan_bad(p, p->at, "more than %d parts", MAX_PARTS);
  read_fields(p, part_fields, &o->part[o->nparts], 0);
  if (!o->part[o->nparts++]) scan_bad(p, p->at, "part needs opts=");
}

void read_isomorphic(Parser *p) {
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

void read_shift(Parser *p) {
  open_kernel(p);
  do VEC_PUSH(&reader_of(p)->shift, scan_integer(p, "a number of elements"));
  while (scan_accept(p, ','));
}

void read_program(Parser *p) {
  Reader *rd = reader_of(p);
  if (p->level != L_KERNEL || !rd->kernel) scan_bad(p, p->at, "a program must be in a kernel");
  end_kernel(p);
  parse_scope(p, L_PROG, &rd->kernel->prog);
}

void read_variant(Parser *p) {
  Reader *rd = reader_of(p);
  end_kernel(p);
  Plan *v = ARENA_NEW(&p->c->model, Plan, 1);
  v->base = rd->r->plan;
  wanted_string(p, "its machine"); /* the target's machine, as information for readers */
  VEC_PUSH(&rd->r->plan->variants, v);
  rd->into = v;
  rd->kernel = NULL;
  parse_scope(p, L_KERNEL, NULL);
}

void read_arena(Parser *p) {
  end_kernel(p);
  reader_of(p)->kernel = NULL;
  reader_of(p)->arena = true;
  parse_scope(p, L_KERNEL, NULL);
  read_fields(p, arena_fields, reader_of(p)->r->plan, 0);
}

void read_memory(Parser *p) {
  StatePlace s = { .init = -1 };
  read_fields(p, memory_fields, &s, 0);
  VEC_PUSH(&reader_of(p)->r->plan->memory.states, s);
}

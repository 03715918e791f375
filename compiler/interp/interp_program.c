/* SPDX-License-Identifier: MIT */
/* interp_program.c: runs programs one micro-op at a time.
 *
 * The list is first turned into steps. Every node with a value gets a place in one array of CONST bits, an entry per lane. A
 * loop's end knows where the loop begins. A node may be listed more than once: the GET of a variable before and after a loop is
 * one node. It is evaluated each time.
 *
 * needs: a program without blocks that the verifier accepts, memory of its buffers
 * gives: its stores; an access outside is a bug */
#include "machine.h"

/* ---- steps ---- */
static uint32_t place_of(Machine *m, Ref r) {
  uint32_t at = refmap_get(&m->place, r);
  if (at) return at - 1;
  at = m->places;
  m->places += node(m->ir, r)->lanes;
  refmap_set(&m->place, r, at + 1);
  return at;
}

static void make_steps(Machine *m, const Ref *list, size_t n) {
  VEC(uint32_t) open = { 0 };
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(m->ir, list[i]);
    Step s = { .x = x, .r = list[i], .to = place_of(m, list[i]), .first = (uint32_t)m->from.n };
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&m->from, place_of(m, x->src[k]));
    VEC_PUSH(&m->step, s);
    if (x->op == OP_LOOP) VEC_PUSH(&open, (uint32_t)i);
    if (x->op != OP_END) continue;
    CHECK(open.n);
    uint32_t loop = open.p[--open.n];
    m->step.p[loop].match = (uint32_t)i;
    m->step.p[i].match = loop;
  }
  CHECK(!open.n);
  VEC_FREE(&open);
}

static void set_constants(Machine *m) {
  m->v = xmalloc(size_mul(m->places + 1, sizeof *m->v));
  memset(m->v, 0, (m->places + 1) * sizeof *m->v);
  for (uint32_t i = 0; i < m->place.cap; i++) {
    const RefPair *e = &m->place.p[i];
    if (e->key && node(m->ir, e->key)->op == OP_CONST) m->v[e->val - 1] = const_value(node(m->ir, e->key));
  }
}

void machine_open(Machine *m, const Ref *list, size_t n) {
  make_steps(m, list, n);
  set_constants(m);
}

void machine_close(Machine *m) {
  refmap_free(&m->place);
  VEC_FREE(&m->step);
  VEC_FREE(&m->from);
  free(m->v);
}

/* ---- memory ---- */
static const int64_t *source(const Machine *m, const Step *s, int k) { return machine_source(m, s, k); }

/* source k in lane l; a scalar serves all lanes */
static int64_t lane_of(const Machine *m, const Step *s, int k, int l) {
  return source(m, s, k)[node(m->ir, s->x->src[k])->lanes > 1 ? l : 0];
}

/* address of lane l of an access; a single index is that of lane 0; NULL: no access */
static char *address(Machine *m, const Step *s, int64_t l) {
  const Node *b = node(m->ir, access_buffer(s->x)), *index = node(m->ir, access_index(s->x));
  const Buf *buf = &m->ir->bufs.p[buffer_id(b)];
  const int64_t from = m->shift ? m->shift[buffer_id(b)] : 0;
  const int64_t at = from + (index->lanes > 1 ? source(m, s, 1)[l] : *source(m, s, 1) + l);
  if (m->touch) return m->touch(m, s, buffer_id(b), at, s->x->op == OP_STORE);
  if (at < 0 || at >= buf->elems)
    BUG("%s %u: element %lld of buffer %lld, which has %lld", op_info[s->x->op].name, s->r, (long long)at,
        (long long)buffer_id(b), (long long)buf->elems);
  return (char *)m->mem[buffer_id(b)] + at * dt_bytes(buf->dt);
}

static uint64_t element(Machine *m, const Step *s, int64_t l, DType d) {
  const char *at = address(m, s, l);
  uint64_t bits = 0;
  if (at) memcpy(&bits, at, (size_t)dt_bytes(d));
  return dt_wrap(d, bits);
}

static void run_load(Machine *m, const Step *s, int64_t *to) {
  DType d = (DType)s->x->dt;
  for (int l = 0; l < s->x->lanes; l++) {
    const bool closed = load_gate(s->x) && !lane_of(m, s, 2, l);
    to[l] = closed ? lane_of(m, s, 3, l) : (int64_t)element(m, s, l, d);
  }
}

static void run_tile(Machine *m, const Step *s, int64_t *to) {
  const Node *x = s->x;
  const int width = x->lanes / (int)tile_rows(x);
  for (int l = 0; l < x->lanes; l++)
    to[l] = (int64_t)element(m, s, l / width * tile_stride(x) + l % width, (DType)x->dt);
}

static void run_store(Machine *m, const Step *s) {
  const Node *value = node(m->ir, store_value(s->x));
  for (int l = 0; l < value->lanes; l++) {
    if (store_gate(s->x) && !lane_of(m, s, 3, l)) continue;
    char *at = address(m, s, l);
    if (at) memcpy(at, &source(m, s, 2)[l], (size_t)dt_bytes((DType)value->dt));
  }
}

/* ---- values ---- */
static void run_expr(const Machine *m, const Step *s, int64_t *to) {
  const Node *x = s->x;
  DType operand = (DType)node(m->ir, x->src[x->nsrc - 1])->dt;
  for (int l = 0; l < x->lanes; l++) {
    int64_t v[3] = { 0 };
    for (int k = 0; k < x->nsrc; k++) v[k] = lane_of(m, s, k, l);
    to[l] = interp_scalar((Op)x->op, (DType)x->dt, operand, v);
  }
}

/* combines the upper half with the lower half until one lane is left */
static int64_t across(const Machine *m, const Step *s) {
  const Node *v = node(m->ir, operand(s->x));
  DType d = (DType)v->dt;
  int64_t lane[UINT8_MAX + 1];
  CHECK(v->lanes <= UINT8_MAX + 1);
  memcpy(lane, source(m, s, 0), v->lanes * sizeof *lane);
  for (int n = v->lanes; n > 1;) {
    int half = (n + 1) / 2;
    for (int l = 0; l + half < n; l++) lane[l] = interp_scalar(hred_op(s->x), d, d, (int64_t[]){ lane[l], lane[l + half] });
    n = half;
  }
  return lane[0];
}

int64_t machine_product(DType d, DType ta, const int64_t *a, DType tb, const int64_t *b) {
  return interp_scalar(OP_MUL, d, d, (int64_t[]){ interp_scalar(OP_CAST, d, ta, a), interp_scalar(OP_CAST, d, tb, b) });
}

/* products in the sum's type, added one after another */
static void run_dot(const Machine *m, const Step *s, int64_t *to) {
  const Node *x = s->x, *a = node(m->ir, dot_x(x)), *b = node(m->ir, dot_y(x));
  DType d = (DType)x->dt;
  const int group = b->lanes / x->lanes;
  for (int l = 0; l < x->lanes; l++) {
    int64_t sum = source(m, s, 0)[l];
    for (int k = 0; k < group; k++) {
      const int64_t *va = &source(m, s, 1)[a->lanes == group ? k : l * group + k], *vb = &source(m, s, 2)[l * group + k];
      sum = interp_scalar(OP_ADD, d, d, (int64_t[]){ sum, machine_product(d, (DType)a->dt, va, (DType)b->dt, vb) });
    }
    to[l] = sum;
  }
}

/* a matrix of sums: each adds the products of its row of x and its column of y, one after another */
static void run_mma(const Machine *m, const Step *s, int64_t *to) {
  const Node *x = s->x, *a = node(m->ir, mma_x(x)), *b = node(m->ir, mma_y(x));
  const DType d = (DType)x->dt;
  const int rows = (int)mma_rows(x), depth = (int)mma_depth(x), columns = x->lanes / rows, group = a->lanes / rows / depth;
  for (int l = 0; l < x->lanes; l++) {
    const int64_t *row = source(m, s, 1) + l / columns * depth * group, *column = source(m, s, 2) + l % columns * group;
    to[l] = source(m, s, 0)[l];
    for (int k = 0; k < depth * group; k++) {
      int64_t p = machine_product(d, (DType)a->dt, row + k, (DType)b->dt, column + k / group * columns * group + k % group);
      to[l] = interp_scalar(OP_ADD, d, d, (int64_t[]){ to[l], p });
    }
  }
}

void machine_step(Machine *m, const Step *s) {
  const Node *x = s->x;
  int64_t *to = &m->v[s->to];
  switch ((Op)x->op) {
  case OP_CONST: case OP_BUFFER: case OP_RANGE: case OP_TILES: case OP_PREFETCH: break;
  case OP_SIZE: *to = size_in_run(m->ir, (int)size_id(x), m->run); break;
  case OP_LOAD: run_load(m, s, to); break;
  case OP_STORE: run_store(m, s); break;
  case OP_BCAST:
    for (int l = 0; l < x->lanes; l++) to[l] = *source(m, s, 0);
    break;
  case OP_VEC:
    for (int l = 0; l < x->lanes; l++) to[l] = *source(m, s, l);
    break;
  case OP_LANE: *to = source(m, s, 0)[lane_lane(x)]; break;
  case OP_SHUFFLE:
    for (int l = 0; l < x->lanes; l++) {
      const int n = node(m->ir, lhs(x))->lanes, from = (int)shuffle_lanes(x, l);
      to[l] = source(m, s, from >= n)[from % n];
    }
    break;
  case OP_LOOKUP:
    for (int l = 0; l < x->lanes; l++) to[l] = source(m, s, 0)[source(m, s, 1)[l] & (node(m->ir, lookup_table(x))->lanes - 1)];
    break;
  case OP_HRED: *to = across(m, s); break;
  case OP_DOT: run_dot(m, s, to); break;
  case OP_TILE: run_tile(m, s, to); break;
  case OP_MMA: run_mma(m, s, to); break;
  case OP_PART: memcpy(to, source(m, s, 0) + *source(m, s, 1), x->lanes * sizeof *to); break;
  case OP_SPILL: case OP_ACC: case OP_GET: memmove(to, source(m, s, 0), x->lanes * sizeof *to); break;
  case OP_SET: memmove(&m->v[m->from.p[s->first]], source(m, s, 1), x->lanes * sizeof *to); break;
  default:
    CHECK(op_by_lane((Op)x->op));
    run_expr(m, s, to);
    break;
  }
}

static int64_t values_of(const Machine *m, const Node *range) {
  return range_limit(range) ? size_in_run(m->ir, (int)range_limit(range) - 1, m->run) : range_extent(range);
}
/* First value of a range in its loop; limit_of: the end. */
static int64_t first_of(const Machine *m, const Node *range) {
  return range_kind(range) == RK_THREAD ? m->begin * values_of(m, range) / m->chunks : 0;
}
static int64_t limit_of(const Machine *m, const Node *range) {
  return range_kind(range) == RK_THREAD ? m->end * values_of(m, range) / m->chunks : values_of(m, range);
}

static void run(Machine *m) {
  for (uint32_t pc = 0; pc < m->step.n; pc++) {
    const Step *s = &m->step.p[pc];
    int64_t *var = s->x->op == OP_LOOP || s->x->op == OP_END ? &m->v[m->from.p[s->first]] : NULL;
    if (!var) {
      machine_step(m, s);
    } else if (s->x->op == OP_LOOP) {
      *var = first_of(m, node(m->ir, loop_range(s->x)));
      const bool closed = loop_gate(s->x) && !*source(m, s, 1);
      if (closed || *var >= limit_of(m, node(m->ir, loop_range(s->x)))) pc = s->match;
    } else if (++*var < limit_of(m, node(m->ir, end_range(s->x)))) {
      pc = s->match;
    }
  }
}

void interp_chunks(const IR *ir, const Ref *list, size_t n, void *const *mem, const int64_t *shift, int64_t begin, int64_t end,
                   int64_t chunks) {
  RunSizes sizes = { 0 };
  greatest_sizes(&ir->symbols, sizes);
  interp_run(ir, list, n, sizes, mem, shift, begin, end, chunks);
}

void interp_run(const IR *ir, const Ref *list, size_t n, const int64_t *sizes, void *const *mem, const int64_t *shift,
                int64_t begin, int64_t end, int64_t chunks) {
  CHECK(0 <= begin && begin < end && end <= chunks);
  Machine m = { .ir = ir, .mem = mem, .shift = shift, .run = sizes, .begin = begin, .end = end, .chunks = chunks };
  machine_open(&m, list, n);
  run(&m);
  machine_close(&m);
}

void interp_program(const IR *ir, const Ref *list, size_t n, void *const *mem) { interp_chunks(ir, list, n, mem, NULL, 0, 1, 1); }

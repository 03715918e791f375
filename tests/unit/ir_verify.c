/* SPDX-License-Identifier: MIT */
/* ir_verify.c (unit test): correct IR passes at each level, and each rule reports its violation with its reason. There is one
 * case a rule, each in a process of its own because a report ends the process. */
#include "../../compiler/driver.h"
#include "../../compiler/opt/opts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "fixture.h"

/* The reason that fn(ir) is reported for; "" when it is not. */
static void reason(IR *ir, void (*fn)(IR *), char out[512]) {
  int fd[2], status;
  assert_int_equal(pipe(fd), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (!pid) {
    dup2(fd[1], 2);
    fn(ir);
    _exit(0);
  }
  close(fd[1]);
  size_t n = 0;
  for (ssize_t k; n < 511 && (k = read(fd[0], out + n, 511 - n)) > 0;) n += (size_t)k;
  out[n] = 0;
  close(fd[0]);
  waitpid(pid, &status, 0);
}

#define BREAKS(fn, why)                                                        \
  do {                                                                         \
    char text[512];                                                            \
    reason(*state, fn, text);                                                  \
    if (!strstr(text, why)) fail_msg("%s: want '%s', got '%s'", #fn, why, text); \
  } while (0)

/* ---- makers that check nothing ---- */
static Ref make(IR *ir, Op op, DType d, int nsrc, const Ref *src, int narg, const int64_t *arg) {
  return node_make(ir, op, d, 1, nsrc, src, narg, arg, 0, NULL);
}
#define MAKE(op, d, ...) make(ir, op, d, sizeof((Ref[]){ __VA_ARGS__ }) / sizeof(Ref), (Ref[]){ __VA_ARGS__ }, 0, NULL)
#define WITH(op, d, a, ...)                                                                                                      \
  make(ir, op, d, sizeof((Ref[]){ __VA_ARGS__ }) / sizeof(Ref), (Ref[]){ __VA_ARGS__ }, 1, (int64_t[]){ a })
#define ARG(...) sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ }
typedef struct List { int n; const int64_t *p; } List;
#define L(...) ((List){ ARG(__VA_ARGS__) })
static Ref shaped(IR *ir, Op op, DType d, int nsrc, const Ref *src, List arg, List dims) {
  return node_make(ir, op, d, 1, nsrc, src, arg.n, arg.p, dims.n, dims.p);
}
#define SHAPED(op, d, nsrc, src, arg, ...) shaped(ir, op, d, nsrc, src, arg, L(__VA_ARGS__))
#define NO_ARG ((List){ 0, NULL })

static Ref input(IR *ir) { return g_param(ir, DT_F32, 2, (int64_t[]){ 3, 4 }, 0); }

static void check_graph(IR *ir, Ref out) {
  Graph g = { .ir = ir };
  const Node *x = node(ir, out), *in = node(ir, input(ir));
  GIO o = { .ref = out, .dt = (DType)x->dt, .rank = x->rank }, i = { .ref = input(ir), .dt = DT_F32, .rank = 2 };
  if (x->rank) memcpy(o.dims, x->dims, x->rank * sizeof *x->dims);
  memcpy(i.dims, in->dims, 2 * sizeof *in->dims);
  VEC_PUSH(&g.inputs, i);
  VEC_PUSH(&g.outputs, o);
  ir_verify_graph(&g);
  VEC_FREE(&g.inputs);
  VEC_FREE(&g.outputs);
}

static Ref zero2(IR *ir) { return g_expand(ir, c_float(ir, DT_F32, 0), 2, (int64_t[]){ 1, 1 }); }

static void good_graphs(void **state) {
  IR *ir = *state;
  Ref x = input(ir), zero = c_float(ir, DT_F32, 0);
  Ref w = g_window(ir, g_pad(ir, x, (int64_t[]){ 1, 0 }, (int64_t[]){ 0, 2 }, zero), 1, 3, 2, 2, 1);
  Ref y = g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, w, g_expand(ir, c_float(ir, DT_F32, 2), 3, (int64_t[]){ 4, 3, 2 })), 4);
  y = g_cat(ir, 2, (Ref[]){ g_reshape(ir, y, 2, (int64_t[]){ 3, 4 }), g_flip(ir, x, 3) }, 1);
  y = g_scatter(ir, OP_ADD, y, g_cast(ir, g_shrink(ir, y, (int64_t[]){ 0, 0 }, NULL, (int64_t[]){ 3, 2 }), DT_I64), zero2(ir), 1);
  y = g_gather(ir, g_permute(ir, y, (int64_t[]){ 1, 0 }), g_reshape(ir, g_iota(ir, DT_I64, 3), 2, (int64_t[]){ 3, 1 }), 0);
  check_graph(ir, g_where(ir, g_binary(ir, OP_CMPLT, y, zero), y, g_unary(ir, OP_SQRT, y)));
}

#define BAD_GRAPH(name, expr) static void name(IR *ir) { Ref x = input(ir); (void)x; check_graph(ir, expr); }
BAD_GRAPH(mixed_types, SHAPED(OP_ADD, DT_F32, 2, ((Ref[]){ x, g_cast(ir, x, DT_F16) }), NO_ARG, 3, 4))
BAD_GRAPH(compare_not_bool, SHAPED(OP_CMPLT, DT_F32, 2, ((Ref[]){ x, x }), NO_ARG, 3, 4))
BAD_GRAPH(where_not_bool, SHAPED(OP_WHERE, DT_F32, 3, ((Ref[]){ x, x, x }), NO_ARG, 3, 4))
BAD_GRAPH(float_xor, SHAPED(OP_XOR, DT_F32, 2, ((Ref[]){ x, x }), NO_ARG, 3, 4))
BAD_GRAPH(bitcast_width, SHAPED(OP_BITCAST, DT_I64, 1, &x, NO_ARG, 3, 4))
BAD_GRAPH(one_source, SHAPED(OP_ADD, DT_F32, 1, &x, NO_ARG, 3, 4))
BAD_GRAPH(no_argument, SHAPED(OP_REDUCE, DT_F32, 1, &x, NO_ARG, 3, 1))
BAD_GRAPH(shapes_differ, SHAPED(OP_NEG, DT_F32, 1, &x, NO_ARG, 4, 3))
BAD_GRAPH(elements_change, SHAPED(OP_RESHAPE, DT_F32, 1, &x, NO_ARG, 13))
BAD_GRAPH(expand_three, SHAPED(OP_EXPAND, DT_F32, 1, &x, NO_ARG, 6, 4))
BAD_GRAPH(permute_twice, SHAPED(OP_PERMUTE, DT_F32, 1, &x, L(0, 0), 3, 3))
BAD_GRAPH(shrink_outside, SHAPED(OP_SHRINK, DT_F32, 1, &x, L(0, 1, 1, 1), 3, 4))
BAD_GRAPH(window_outside, SHAPED(OP_WINDOW, DT_F32, 1, &x, L(1, 2, 1), 3, 3, 2))
BAD_GRAPH(pad_shape, SHAPED(OP_PAD, DT_F32, 2, ((Ref[]){ x, c_float(ir, DT_F32, 0) }), L(0, 1, 0, 0), 3, 4))
BAD_GRAPH(pad_vector_fill, SHAPED(OP_PAD, DT_F32, 2, ((Ref[]){ x, x }), L(0, 1, 0, 0), 3, 5))
BAD_GRAPH(cat_shape, SHAPED(OP_CAT, DT_F32, 2, ((Ref[]){ x, x }), L(0), 6, 5))
BAD_GRAPH(gather_float, SHAPED(OP_GATHER, DT_F32, 2, ((Ref[]){ x, x }), L(0), 3, 4))
BAD_GRAPH(scatter_shape, SHAPED(OP_SCATTER, DT_F32, 3, ((Ref[]){ x, g_cast(ir, x, DT_I64), x }), L(OP_ADD, 0), 4, 3))
BAD_GRAPH(op_of_scatter, SHAPED(OP_SCATTER, DT_F32, 3, ((Ref[]){ x, g_cast(ir, x, DT_I64), x }), L(OP_SUB, 0), 3, 4))
BAD_GRAPH(scatter_i32_index, SHAPED(OP_SCATTER, DT_F32, 3, ((Ref[]){ x, g_cast(ir, x, DT_I32), x }), L(OP_NONE, 0), 3, 4))
BAD_GRAPH(axis_of_scatter, SHAPED(OP_SCATTER, DT_F32, 3, ((Ref[]){ x, g_cast(ir, x, DT_I64), x }), L(OP_NONE, 2), 3, 4))
BAD_GRAPH(reduce_axis, SHAPED(OP_REDUCE, DT_F32, 1, &x, L(OP_ADD, 4), 3, 4))
BAD_GRAPH(op_of_reduce, SHAPED(OP_REDUCE, DT_F32, 1, &x, L(OP_SUB, 2), 3, 1))
BAD_GRAPH(other_slot, g_param(ir, DT_F32, 2, (int64_t[]){ 3, 4 }, 5))
BAD_GRAPH(no_tensor, SHAPED(OP_WEIGHT, DT_F32, 0, NULL, L(99), 3, 4))
BAD_GRAPH(range_in_graph, SHAPED(OP_RANGE, DT_I64, 0, NULL, L(4, 0, 0), 3, 4))

static void bad_graphs(void **state) {
  BREAKS(mixed_types, "types of sources differ");
  BREAKS(compare_not_bool, "the result is not bool");
  BREAKS(where_not_bool, "a source is not bool");
  BREAKS(float_xor, "not defined on this type");
  BREAKS(bitcast_width, "the widths differ");
  BREAKS(one_source, "wrong number of sources");
  BREAKS(no_argument, "wrong number of arguments");
  BREAKS(shapes_differ, "shapes of sources differ");
  BREAKS(elements_change, "the number of elements changes");
  BREAKS(expand_three, "an axis that is not 1 is repeated");
  BREAKS(permute_twice, "not a permutation");
  BREAKS(shrink_outside, "reaches outside of its source");
  BREAKS(window_outside, "reaches outside of its source");
  BREAKS(pad_shape, "wrong shape");
  BREAKS(pad_vector_fill, "the fill is not a scalar");
  BREAKS(cat_shape, "shapes of sources differ");
  BREAKS(gather_float, "a source is not i64");
  BREAKS(scatter_shape, "wrong shape");
  BREAKS(op_of_scatter, "cannot join by this op");
  BREAKS(scatter_i32_index, "a source is not i64");
  BREAKS(axis_of_scatter, "no such axis");
  BREAKS(reduce_axis, "no such axis");
  BREAKS(op_of_reduce, "cannot reduce by this op");
  BREAKS(other_slot, "not the input of its slot");
  BREAKS(no_tensor, "no such tensor");
  BREAKS(range_in_graph, "not an op of graphs");
}

/* ---- kernels ---- */
static Ref range(IR *ir, int id) { return make(ir, OP_RANGE, DT_I64, 0, NULL, ARG(8, id, RK_LOOP)); }

static Ref buffer(IR *ir, DType d) {
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = d, .elems = 64, .offset = -1 }));
  return make(ir, OP_BUFFER, d, 0, NULL, ARG((int64_t)ir->bufs.n - 1));
}

static void check_store(IR *ir, Ref index, Ref value, Ref bound) {
  Ref store = MAKE(OP_STORE, DT_NONE, buffer(ir, DT_F32), index, value), nest = MAKE(OP_NEST, DT_NONE, store, bound);
  ir_verify_kernel(ir, MAKE(OP_SINK, DT_NONE, nest));
}

static Ref sum_of(IR *ir, Ref value, Ref over) { return WITH(OP_RED, (DType)node(ir, value)->dt, OP_ADD, value, over); }

static void good_kernels(void **state) {
  IR *ir = *state;
  Ref r = range(ir, 0), k = range(ir, 1), in = buffer(ir, DT_F32), gate = ix_lt(ir, k, ix_const(ir, 5));
  Ref load = MAKE(OP_LOAD, DT_F32, in, ix_add(ir, ix_mul(ir, r, 8), k), gate, c_float(ir, DT_F32, 0));
  check_store(ir, r, sum_of(ir, load, k), r);
}

#define BAD_KERNEL(name, index, value)                                                                       \
  static void name(IR *ir) {                                                                                 \
    Ref r = range(ir, 0), k = range(ir, 1), in = buffer(ir, DT_F32), load = MAKE(OP_LOAD, DT_F32, in, r);    \
    (void)k, (void)load;                                                                                     \
    check_store(ir, index, value, r);                                                                        \
  }
BAD_KERNEL(range_not_bound, r, MAKE(OP_LOAD, DT_F32, in, k))
BAD_KERNEL(range_of_inner_sum, k, sum_of(ir, MAKE(OP_LOAD, DT_F32, in, k), k))
BAD_KERNEL(index_i32, c_int(ir, DT_I32, 0), load)
BAD_KERNEL(element_type, r, c_float(ir, DT_F64, 0))
BAD_KERNEL(load_of_no_buffer, r, MAKE(OP_LOAD, DT_F32, load, r))
BAD_KERNEL(gate_not_bool, r, MAKE(OP_LOAD, DT_F32, in, r, r, load))
BAD_KERNEL(one_id, r, sum_of(ir, load, make(ir, OP_RANGE, DT_I64, 0, NULL, ARG(7, 0, RK_LOOP))))
BAD_KERNEL(sum_over_nothing, r, WITH(OP_RED, DT_F32, OP_ADD, load))
BAD_KERNEL(sum_over_value, r, sum_of(ir, load, ix_add(ir, k, ix_const(ir, 1))))
BAD_KERNEL(tensor_in_kernel, r, SHAPED(OP_NEG, DT_F32, 1, &load, NO_ARG, 4))
BAD_KERNEL(bare_buffer, r, MAKE(OP_NEG, DT_F32, in))
BAD_KERNEL(vector_in_kernel, r, node_make(ir, OP_BCAST, DT_F32, 4, 1, &load, 0, NULL, 0, NULL))

static Ref serial_range(IR *ir) { return make(ir, OP_RANGE, DT_I64, 0, NULL, ARG(7, 2, RK_SERIAL)); }
BAD_KERNEL(serial_sum, r, sum_of(ir, load, serial_range(ir)))
static void sum_in_serial_loop(IR *ir) {
  Ref r = serial_range(ir), k = range(ir, 1), load = MAKE(OP_LOAD, DT_F32, buffer(ir, DT_F32), k);
  check_store(ir, r, sum_of(ir, load, k), r);
}

static void bad_kernels(void **state) {
  BREAKS(range_not_bound, "a range is used outside of its nest");
  BREAKS(range_of_inner_sum, "a range is used outside of its nest");
  BREAKS(index_i32, "the index is not i64");
  BREAKS(element_type, "another type than the buffer");
  BREAKS(load_of_no_buffer, "not a buffer");
  BREAKS(gate_not_bool, "the gate is not bool");
  BREAKS(one_id, "two ranges of one number");
  BREAKS(sum_over_nothing, "the op cannot reduce, or there is no range");
  BREAKS(serial_sum, "only loops of a nest are serial");
  BREAKS(sum_in_serial_loop, "a reduction in a serial loop");
  BREAKS(sum_over_value, "a source is not a range");
  BREAKS(tensor_in_kernel, "a shape below the graph level");
  BREAKS(bare_buffer, "a buffer is loaded from or stored to");
  BREAKS(vector_in_kernel, "not an op of kernels");
}

/* ---- nests between two steps of a kernel ---- */
typedef struct Parts { Ref r, k, in, out, load, store, sum; } Parts;

static Ref lanes(IR *ir, Ref r, int n) { return node_make(ir, OP_BCAST, DT_F32, n, 1, &r, 0, NULL, 0, NULL); }
static Ref store_at(IR *ir, const Parts *p, Ref value) { return MAKE(OP_STORE, DT_NONE, p->out, p->r, value); }
static Ref hint(IR *ir, const Parts *p, Ref at) { return WITH(OP_PREFETCH, DT_NONE, 1, p->in, at); }

static Parts parts(IR *ir) {
  Parts p = { .r = range(ir, 0), .k = range(ir, 1), .in = buffer(ir, DT_F32), .out = buffer(ir, DT_F32) };
  p.load = MAKE(OP_LOAD, DT_F32, p.in, p.k);
  p.sum = sum_of(ir, p.load, p.k);
  p.store = store_at(ir, &p, p.sum);
  return p;
}

static void good_nests(void **state) {
  IR *ir = *state;
  const Parts p = parts(ir);
  const Ref own = range(ir, 2), at = ix_add(ir, p.r, own);
  const Ref copy = MAKE(OP_NEST, DT_NONE, MAKE(OP_STORE, DT_NONE, p.out, at, MAKE(OP_LOAD, DT_F32, p.in, at)), own);
  ir_verify_nest(ir, MAKE(OP_NEST, DT_NONE, p.store, p.r));
  ir_verify_nest(ir, MAKE(OP_NEST, DT_NONE, store_at(ir, &p, lanes(ir, p.sum, 4)), p.r)); /* vectors */
  ir_verify_nest(ir, MAKE(OP_NEST, DT_NONE, MAKE(OP_SINK, DT_NONE, copy, p.store), p.r)); /* copies by a range of the nest */
  ir_verify_nest(ir, MAKE(OP_NEST, DT_NONE, MAKE(OP_SINK, DT_NONE, p.store, hint(ir, &p, p.k)), p.r)); /* in the reduction */
  const Ref shared = buffer(ir, DT_F32), panel = MAKE(OP_NEST, DT_NONE, MAKE(OP_STORE, DT_NONE, shared, at, p.load), own);
  ir->bufs.p[ir->bufs.n - 1].kind = BUF_SHARED; /* copies to it may be there, too */
  ir_verify_nest(ir, MAKE(OP_NEST, DT_NONE, MAKE(OP_SINK, DT_NONE, panel, p.store), p.r));
}

#define BAD_NEST(name, ...) \
  static void name(IR *ir) { const Parts p = parts(ir); ir_verify_nest(ir, MAKE(OP_NEST, DT_NONE, __VA_ARGS__)); }
BAD_NEST(free_range, store_at(ir, &p, p.load), p.r)
BAD_NEST(free_in_copy, MAKE(OP_SINK, DT_NONE, MAKE(OP_NEST, DT_NONE, store_at(ir, &p, p.load), p.r),
                            store_at(ir, &p, c_float(ir, DT_F32, 0))), p.r)
BAD_NEST(range_twice, p.store, p.r, p.r)
BAD_NEST(nest_lanes, store_at(ir, &p, node_make(ir, OP_ADD, DT_F32, 4, 2, (Ref[]){ lanes(ir, p.sum, 4), lanes(ir, p.sum, 2) },
                                               0, NULL, 0, NULL)), p.r)
BAD_NEST(sum_lanes,
         store_at(ir, &p, node_make(ir, OP_RED, DT_F32, 4, 2, (Ref[]){ p.load, p.k }, 1, (int64_t[]){ OP_ADD }, 0, NULL)), p.r)
BAD_NEST(hint_elsewhere, MAKE(OP_SINK, DT_NONE, p.store, hint(ir, &p, range(ir, 5))), p.r)
BAD_NEST(variable_in_nest, store_at(ir, &p, MAKE(OP_GET, DT_F32, WITH(OP_ACC, DT_F32, 0, c_float(ir, DT_F32, 0)))), p.r)
BAD_NEST(value_in_sink, MAKE(OP_SINK, DT_NONE, p.sum), p.r)
BAD_NEST(value_in_nest, p.sum, p.r)
static void no_nest(IR *ir) { ir_verify_nest(ir, parts(ir).store); }

static void step_of(IR *ir, Opts o, int depth) {
  const Parts p = parts(ir);
  Plan plan = { .ir = ir };
  RefMap known = { 0 };
  Kernel k = { .sink = 0 };
  VEC_PUSH(&k.states, ((NestState){ .nest = MAKE(OP_NEST, DT_NONE, p.store, p.r), .opts = &o, .depth = depth }));
  step_verify(&plan, &step_table[STEP_schedule], &k, &known);
  VEC_FREE(&k.states);
  refmap_free(&known);
}
static void other_range(IR *ir) {
  step_of(ir, (Opts){ .n = 1, .opt = { { .range = range(ir, 5), .unroll = 2, .lanes = 1 } } }, 0);
}
static void other_loop(IR *ir) { step_of(ir, (Opts){ .nmoved = 1, .moved = { { range(ir, 5), 0 } } }, 0); }
static void rest_of_nothing(IR *ir) { step_of(ir, (Opts){ .n = 0 }, 1); }

static void bad_nests(void **state) {
  IR *ir = *state;
  BREAKS(free_range, "a range is used outside of its nest");
  BREAKS(free_in_copy, "a range is used outside of its nest");
  BREAKS(range_twice, "a range is given twice");
  BREAKS(nest_lanes, "lanes of sources differ");
  BREAKS(sum_lanes, "lanes of sources differ");
  BREAKS(hint_elsewhere, "a prefetch by a range that no loop of its nest has");
  BREAKS(variable_in_nest, "not an op of nests");
  BREAKS(value_in_sink, "a sink has stores, prefetches and nests");
  BREAKS(value_in_nest, "a nest has a store or a sink");
  BREAKS(no_nest, "not a nest");
  step_of(ir, (Opts){ .n = 1, .opt = { { .range = range(ir, 0), .unroll = 2, .lanes = 1 } } }, 0);
  BREAKS(other_range, "an opt names a range that the nest does not have");
  BREAKS(other_loop, "an opt names a range that the nest does not have");
  BREAKS(rest_of_nothing, "a rest follows no nest that leaves it");
}

/* ---- programs: acc = 0; for r { acc = acc + in[r] }; out[0] = acc, and what can go wrong with it ---- */
typedef struct Prog { Ref r, in, out, zero, acc, loop, load, get, add, set, end, last, store; } Prog;

static Prog program(IR *ir) {
  Prog p = { .r = range(ir, 0), .in = buffer(ir, DT_F32), .out = buffer(ir, DT_F32), .zero = c_float(ir, DT_F32, 0) };
  p.acc = WITH(OP_ACC, DT_F32, 0, p.zero);
  p.loop = MAKE(OP_LOOP, DT_NONE, p.r);
  p.load = MAKE(OP_LOAD, DT_F32, p.in, p.r);
  p.get = MAKE(OP_GET, DT_F32, p.acc);
  p.add = MAKE(OP_ADD, DT_F32, p.get, p.load);
  p.set = MAKE(OP_SET, DT_NONE, p.acc, p.add);
  p.end = MAKE(OP_END, DT_NONE, p.r);
  p.last = MAKE(OP_GET, DT_F32, p.acc, p.set);
  p.store = MAKE(OP_STORE, DT_NONE, p.out, ix_const(ir, 0), p.last);
  return p;
}
#define RUN(...) ir_verify_program(ir, (Ref[]){ __VA_ARGS__ }, sizeof((Ref[]){ __VA_ARGS__ }) / sizeof(Ref))

static void good_programs(void **state) {
  IR *ir = *state;
  Prog p = program(ir);
  RUN(p.acc, p.loop, p.load, p.get, p.add, p.set, p.end, p.last, p.store);
  Ref index = ix_const(ir, 0), vload = node_make(ir, OP_LOAD, DT_F32, 8, 2, (Ref[]){ p.in, index }, 0, NULL, 0, NULL);
  Ref two = node_make(ir, OP_BCAST, DT_F32, 8, 1, &p.zero, 0, NULL, 0, NULL);
  Ref mul = node_make(ir, OP_MUL, DT_F32, 8, 2, (Ref[]){ vload, two }, 0, NULL, 0, NULL);
  Ref lane = WITH(OP_LANE, DT_F32, 7, mul), all = WITH(OP_HRED, DT_F32, OP_ADD, mul), sum = MAKE(OP_ADD, DT_F32, lane, all);
  RUN(vload, two, mul, lane, all, sum, MAKE(OP_STORE, DT_NONE, p.out, index, sum));
  RUN(p.loop, p.load, p.end, p.loop, p.load, p.end); /* one body in two loops */
}

#define BAD_PROGRAM(name, ...) static void name(IR *ir) { Prog p = program(ir); RUN(__VA_ARGS__); }
BAD_PROGRAM(used_before, p.acc, p.loop, p.get, p.add, p.load, p.end)
BAD_PROGRAM(outside_of_loop, p.load)
BAD_PROGRAM(never_ends, p.loop, p.load)
BAD_PROGRAM(ends_twice, p.loop, p.end, p.end)
BAD_PROGRAM(loop_in_itself, p.loop, p.loop, p.end, p.end)
BAD_PROGRAM(value_after_loop, p.loop, p.load, p.end, MAKE(OP_STORE, DT_NONE, p.out, ix_const(ir, 0), p.load))
BAD_PROGRAM(bare_variable, p.acc, MAKE(OP_NEG, DT_F32, p.acc))
BAD_PROGRAM(set_of_value, p.loop, p.load, MAKE(OP_SET, DT_NONE, p.load, p.zero), p.end)
BAD_PROGRAM(set_type, p.acc, MAKE(OP_SET, DT_NONE, p.acc, ix_const(ir, 0)))
BAD_PROGRAM(lanes_mixed, node_make(ir, OP_ADD, DT_F32, 4, 2, (Ref[]){ p.zero, p.zero }, 0, NULL, 0, NULL))
BAD_PROGRAM(no_lane, p.loop, p.load, WITH(OP_LANE, DT_F32, 1, p.load), p.end)
BAD_PROGRAM(no_lane_of_two, node_make(ir, OP_SHUFFLE, DT_F32, 2, 2, (Ref[]){ p.zero, p.zero }, 2, (int64_t[]){ 1, 2 }, 0, NULL))
BAD_PROGRAM(index_of_float, node_make(ir, OP_LOOKUP, DT_F32, 1, 2, (Ref[]){ p.zero, p.zero }, 0, NULL, 0, NULL))
BAD_PROGRAM(table_of_one, MAKE(OP_LOOKUP, DT_F32, p.zero, c_bits(ir, DT_U32, 0)))
BAD_PROGRAM(vec_count, node_make(ir, OP_VEC, DT_F32, 4, 2, (Ref[]){ p.zero, p.zero }, 0, NULL, 0, NULL))
BAD_PROGRAM(sum_in_program, p.loop, p.load, sum_of(ir, p.load, p.r), p.end)
BAD_PROGRAM(twice, p.loop, p.load, p.load, p.end)
#define THREADS(name, id) Ref name = make(ir, OP_RANGE, DT_I64, 0, NULL, ARG(8, id, RK_THREAD))
static void shared_sum(IR *ir) {
  Prog p = program(ir);
  THREADS(t, 1);
  RUN(p.acc, MAKE(OP_LOOP, DT_NONE, t), p.get, MAKE(OP_SET, DT_NONE, p.acc, p.get), MAKE(OP_END, DT_NONE, t));
}
static void threads_inside(IR *ir) {
  Prog p = program(ir);
  THREADS(t, 1);
  THREADS(u, 2);
  RUN(p.loop, MAKE(OP_LOOP, DT_NONE, t), MAKE(OP_LOOP, DT_NONE, u), MAKE(OP_END, DT_NONE, u), MAKE(OP_END, DT_NONE, t), p.end);
}
static void store_by_all(IR *ir) {
  Prog p = program(ir);
  THREADS(t, 1);
  RUN(MAKE(OP_STORE, DT_NONE, p.out, ix_const(ir, 0), p.zero), MAKE(OP_LOOP, DT_NONE, t), MAKE(OP_END, DT_NONE, t));
}

static void bad_programs(void **state) {
  BREAKS(used_before, "a source comes later or never");
  BREAKS(outside_of_loop, "a range is used outside of its loop");
  BREAKS(never_ends, "its loop has no end");
  BREAKS(ends_twice, "ends another loop than the innermost");
  BREAKS(loop_in_itself, "a loop inside itself");
  BREAKS(value_after_loop, "a source is inside a loop that has ended");
  BREAKS(bare_variable, "a variable is read by get");
  BREAKS(set_of_value, "the first source is not a variable");
  BREAKS(set_type, "another type than the variable");
  BREAKS(lanes_mixed, "lanes of sources differ");
  BREAKS(no_lane, "the source has no such lane");
  BREAKS(no_lane_of_two, "the source has no such lane");
  BREAKS(index_of_float, "not one index of type u32 for each lane");
  BREAKS(table_of_one, "the lanes of the table are not a power of two");
  BREAKS(vec_count, "the number of sources is not that of the lanes");
  BREAKS(sum_in_program, "not an op of programs");
  BREAKS(twice, "twice in one scope");
  BREAKS(shared_sum, "a reduction that threads would share");
  BREAKS(threads_inside, "a range of threads inside another one");
  BREAKS(store_by_all, "a store that every thread would do");
}

static void reports_name_the_node(void **state) {
  IR *ir = *state;
  ir->origin = ir_origin(ir, "node 17 'conv1' (Conv, opset 11)", 17);
  BREAKS(mixed_types, "ADD of node 17 'conv1' (Conv, opset 11): types of sources differ");
  ir->origin = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(good_graphs),
    cmocka_unit_test(bad_graphs),
    cmocka_unit_test(good_kernels),
    cmocka_unit_test(bad_kernels),
    cmocka_unit_test(good_nests),
    cmocka_unit_test(bad_nests),
    cmocka_unit_test(good_programs),
    cmocka_unit_test(bad_programs),
    cmocka_unit_test(reports_name_the_node),
  };
  return cmocka_run_group_tests_name("verify", tests, setup, teardown);
}

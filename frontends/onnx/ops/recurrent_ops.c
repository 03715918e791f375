/* SPDX-License-Identifier: MIT */
/* recurrent_ops.c: RNN, GRU, LSTM. The sequence length is constant. A network becomes a loop over its cell; passes unroll short
 * ones. Products
 * of inputs and weights do not need the state, so they are one product over all steps. The operators' documentation has the
 * equations. Sequences shorter than the longest keep their state in the missing steps, and their results there are 0. */
#include "../core/build.h"
#include <string.h>
#include <strings.h>

enum { X, W, R, B, LENGTHS, H0, C0, P, WS, WZ, RS, RZ }; /* inputs; WS to RZ: scales and zero points of integer weights */
enum { RNN = 1, GRU = 3, LSTM = 4 };               /* number of gates; the row's argument */
enum { ACTIVATIONS = 3 };

typedef struct Activation {
  const char *op;      /* name of an operator */
  AttrVal attr[2];     /* alpha and beta if given; else the operator's defaults apply */
} Activation;

/* One direction of the network */
typedef struct Cell {
  int64_t steps, batch, hidden;
  Ref xw;              /* [steps, batch, gates * hidden]: inputs times weights, plus biases */
  Ref recur;           /* [hidden, gates * hidden] */
  Ref scale, zero;     /* scale and zero point of integer weights recur; each step then quantises the state. scale 0: recur is
                          float */
  Ref reset_bias;      /* [hidden]: GRU's bias of the new state, if it is added before the reset; 0: none */
  Ref peephole;        /* [3 * hidden]; 0: none */
  Activation f[ACTIVATIONS];
  double clip;         /* 0: none */
  bool late_reset, coupled;
  Ref h, c;            /* [batch, hidden]: state */
  Ref live;            /* bool[batch, 1]: sequences that have this step; 0: all */
  Ref recent;          /* the same for the previous step; the states of these sequences are quantised together */
} Cell;

static Ref one_less(Build *b, Ref x) { return sub(b, num(b, x, 1), x); }

/* n parts of the last axis from part k on; a part is one gate with H elements */
static Ref gates(Build *b, Ref x, const Cell *c, int64_t k, int64_t n) {
  return shrink_axis(b->ir, x, node(b->ir, x)->rank - 1, k * c->hidden, 1, n * c->hidden);
}

static Ref activate(Build *b, const Cell *c, int k, Ref x) {
  if (c->clip > 0) x = clamped(b, x, -c->clip, c->clip);
  return apply_op(b, c->f[k].op, 1, &x, 2, c->f[k].attr);
}

/* ---- one step; x: the inputs' contribution to all gates ---- */
static Ref next_state(Build *b, const Cell *c, Ref next, Ref now) { return c->live ? g_where(b->ir, c->live, next, now) : next; }

static void rnn_step(Build *b, Cell *c, Ref x) {
  c->h = next_state(b, c, activate(b, c, 0, add(b, x, matmul(b, c->h, c->recur))), c->h);
}

/* gates z (update), r (reset), h (new state) */
static void gru_step(Build *b, Cell *c, Ref x) {
  Ref early = add(b, gates(b, x, c, 0, 2), matmul(b, c->h, gates(b, c->recur, c, 0, 2)));
  Ref z = activate(b, c, 0, gates(b, early, c, 0, 1)), r = activate(b, c, 0, gates(b, early, c, 1, 1));
  Ref w = gates(b, c->recur, c, 2, 1), past;
  if (c->late_reset) {
    past = matmul(b, c->h, w);
    past = mul(b, r, c->reset_bias ? add(b, past, c->reset_bias) : past);
  } else {
    past = matmul(b, mul(b, r, c->h), w);
  }
  Ref h = activate(b, c, 1, add(b, gates(b, x, c, 2, 1), past));
  c->h = next_state(b, c, add(b, mul(b, one_less(b, z), h), mul(b, z, c->h)), c->h);
}

/* gates i (input), o (output), f (forget), c (cell); peepholes i, o, f */
static void lstm_step(Build *b, Cell *c, Ref x) {
  Ref h = c->recent ? g_where(b->ir, c->recent, c->h, num(b, c->h, 0)) : c->h;
  Ref past = c->scale ? dynamic_product(b, h, c->recur, c->scale, c->zero) : matmul(b, h, c->recur);
  Ref sum = add(b, x, past), gate[LSTM];
  for (int k = 0; k < LSTM; k++) gate[k] = gates(b, sum, c, k, 1);
  for (int k = 0; k < 3 && c->peephole; k += 2) gate[k] = add(b, gate[k], mul(b, gates(b, c->peephole, c, k, 1), c->c));
  Ref in = activate(b, c, 0, gate[0]), forget = c->coupled ? one_less(b, in) : activate(b, c, 0, gate[2]);
  c->c = next_state(b, c, add(b, mul(b, forget, c->c), mul(b, in, activate(b, c, 1, gate[3]))), c->c);
  if (c->peephole) gate[1] = add(b, gate[1], mul(b, gates(b, c->peephole, c, 1, 1), c->c));
  Ref out = apply_op(b, c->f[2].op, 1, &c->c, 2, c->f[2].attr);
  c->h = next_state(b, c, mul(b, activate(b, c, 0, gate[1]), out), c->h);
}

static void step(Build *b, Cell *c, Ref x) {
  if (b->row->arg == RNN) rnn_step(b, c, x);
  else if (b->row->arg == GRU) gru_step(b, c, x);
  else lstm_step(b, c, x);
}

/* ---- the sequence ---- */
/* The values of c that the loop carries */
static int carried_of(Cell *c, Ref **value) {
  value[0] = &c->h;
  value[1] = &c->c;
  return c->c ? 2 : 1;
}

/* All steps as a loop. A step's number is a slice of 0, 1, 2, ... */
static Ref run_loop(Build *b, Cell *c, Ref lengths, bool backwards, int loop) {
  IR *ir = b->ir;
  const bool turned = backwards && b->sized; /* a run may omit the last iterations of a loop only */
  const bool reverse = backwards && !turned;
  Ref *value[2], yield[3];
  const int n = carried_of(c, value);
  for (int k = 0; k < n; k++) *value[k] = g_carried(ir, loop, k, *value[k]);
  Ref t = lengths ? g_slice(ir, loop, g_stored(ir, g_iota(ir, DT_I64, c->steps)), 0, reverse) : 0;
  if (t && turned) t = sub(b, integer(b, c->steps - 1), t);
  c->live = lengths ? g_binary(ir, OP_CMPLT, t, lengths) : 0;
  c->recent = lengths && c->scale ? g_binary(ir, OP_CMPLE, t, lengths) : 0;
  step(b, c, g_slice(ir, loop, g_stored(ir, turned ? g_flip(ir, c->xw, 1u) : c->xw), 0, reverse));
  for (int k = 0; k < n; k++) yield[k] = g_yield(ir, loop, k, *value[k]);
  yield[n] = g_yield_slice(ir, loop, c->h, 0, reverse, c->steps);
  loop_spend(b, c->steps);
  const Ref all = g_iterate(ir, loop, c->steps, 0, n + 1, yield);
  for (int k = 0; k < n; k++) *value[k] = g_result(ir, all, k);
  return turned ? g_flip(ir, g_result(ir, all, n), 1u) : g_result(ir, all, n);
}

static Ref run_steps(Build *b, Cell *c, Ref lengths, bool reverse) {
  IR *ir = b->ir;
  int64_t dims[3] = { c->steps, c->batch, c->hidden };
  Ref *y = ARENA_NEW(&b->c->model, Ref, c->steps + 1);
  for (int64_t i = 0; i < c->steps; i++) {
    int64_t t = reverse ? c->steps - 1 - i : i;
    spend(b, 0);
    c->live = lengths ? g_binary(ir, OP_CMPLT, c_int(ir, DT_I64, t), lengths) : 0;
    c->recent = lengths && c->scale ? g_binary(ir, OP_CMPLE, c_int(ir, DT_I64, t), lengths) : 0;
    step(b, c, without_axes(ir, shrink_axis(ir, c->xw, 0, t, 1, 1), 1u));
    y[t] = g_reshape(ir, c->h, 3, (int64_t[]){ 1, c->batch, c->hidden });
  }
  return c->steps ? cat_all(b, c->steps, y, 0) : g_expand(ir, c_float(ir, (DType)node(ir, c->h)->dt, 0), 3, dims);
}

/* Runs all steps; returns the results, [steps, batch, hidden]. lengths: i64[batch, 1]; 0: all sequences have all steps. Results
 * of missing steps are zeroed for all steps at the end: until then one value serves as result and as state. */
static Ref run(Build *b, Cell *c, Ref lengths, bool reverse) {
  IR *ir = b->ir;
  spend(b, c->steps);
  const int loop = loop_begin(b, c->steps);
  const Ref none = c_float(ir, (DType)node(ir, c->h)->dt, 0);
  const Ref all = loop < 0 ? run_steps(b, c, lengths, reverse) : run_loop(b, c, lengths, reverse, loop);
  if (loop >= 0) loop_end(b);
  if (!lengths) return all;
  Ref last = g_reshape(ir, lengths, 3, (int64_t[]){ 1, c->batch, 1 });
  return g_where(ir, g_binary(ir, OP_CMPLT, iota_axis(ir, DT_I64, c->steps, 0, 3), last), all, none);
}

/* ---- arguments ---- */
/* Row d of the first axis, without that axis */
static Ref of_direction(Build *b, Ref x, int64_t d) { return without_axes(b->ir, shrink_axis(b->ir, x, 0, d, 1, 1), 1); }

static void need_shape(Build *b, int k, const char *name, int rank, const int64_t *dims) {
  const Node *x = in_node(b, k);
  bool fits = x->rank == rank;
  for (int i = 0; fits && i < rank; i++) fits = x->dims[i] == dims[i];
  if (!fits) bad(b, "input '%s' has shape %s, expected %s", name, dims_text(b, x->dims, x->rank), dims_text(b, dims, rank));
}

/* Activations are listed by direction. alpha and beta hold values for those activations that have such an attribute, in order */
static void read_activations(Build *b, int64_t dirs, Activation *f) {
  static const char *const usual[][ACTIVATIONS] = {
    [RNN] = { "Tanh" }, [GRU] = { "Sigmoid", "Tanh" }, [LSTM] = { "Sigmoid", "Tanh", "Tanh" }
  };
  static const struct { const char *op; bool alpha, beta; } known[] = {
    { "Relu", 0, 0 },     { "Tanh", 0, 0 },   { "Sigmoid", 0, 0 },   { "Softsign", 0, 0 },
    { "Softplus", 0, 0 }, { "Affine", 1, 1 }, { "LeakyRelu", 1, 0 }, { "Elu", 1, 0 },
    { "ThresholdedRelu", 1, 0 }, { "HardSigmoid", 1, 1 }, { "ScaledTanh", 1, 1 },
  };
  const AttrVal *names = attr_find(b, "activations"),
                *param[2] = { attr_find(b, "activation_alpha"), attr_find(b, "activation_beta") };
  int each = b->row->arg == LSTM ? 3 : b->row->arg == GRU ? 2 : 1;
  size_t used[2] = { 0 };
  if (names->set && names->n != (size_t)(each * dirs))
    bad(b, "attribute 'activations' has %zu entries, expected %d", names->n, (int)(each * dirs));
  for (int i = 0; i < each * dirs; i++) {
    const char *op = names->set ? (const char *)names->strings[i].p : usual[b->row->arg][i % each];
    size_t k = 0, n = sizeof known / sizeof *known;
    while (k < n && strcasecmp(known[k].op, op)) k++;
    if (k == n) bad(b, "the activation '%s' is not supported", op);
    f[i / each * ACTIVATIONS + i % each] = (Activation){ .op = known[k].op };
    for (int a = 0; a < 2; a++) {
      if (!(a ? known[k].beta : known[k].alpha) || used[a] >= param[a]->n) continue;
      f[i / each * ACTIVATIONS + i % each].attr[a] = float_attr(a ? "beta" : "alpha", (double)param[a]->floats[used[a]++]);
    }
  }
}

/* The lengths as i64[batch, 1]; 0 if all sequences have the full length */
static Ref read_lengths(Build *b, int64_t steps, int64_t batch) {
  Tensor t;
  bool whole = true;
  if (!has_in(b, LENGTHS)) return 0;
  need_shape(b, LENGTHS, "sequence_lens", 1, &batch);
  if (const_tensor(b, b->in[LENGTHS], &t)) {
    for (int64_t i = 0; i < (t.data ? batch : batch > 0); i++) whole &= tensor_int(&t, i) >= steps;
    if (whole) return 0;
  }
  return g_reshape(b->ir, g_cast(b->ir, b->in[LENGTHS], DT_I64), 2, (int64_t[]){ batch, 1 });
}

/* x with each sequence reversed; elements behind its end stay in place */
static Ref reversed(Build *b, Ref x, Ref lengths, int64_t batch) {
  const AttrVal axes[] = { int_attr("batch_axis", 1), int_attr("time_axis", 0) };
  return apply_op(b, "ReverseSequence", 2, (Ref[]){ x, g_reshape(b->ir, lengths, 1, &batch) }, 2, axes);
}

/* The inputs for quantisation, with zeros in steps behind the end of all sequences, which must not influence the range */
static Ref within_lengths(Build *b, Ref lengths) {
  IR *ir = b->ir;
  Ref step = iota_axis(ir, DT_I64, in_node(b, X)->dims[0], 0, 3);
  return g_where(ir, g_binary(ir, OP_CMPLT, step, g_reduce(ir, OP_MAX, lengths, 3u)), b->in[X], num(b, b->in[X], 0));
}

/* An operator's sizes, and how its inputs are to be read */
typedef struct Network {
  int64_t gates, directions, steps, batch, width, hidden;
  bool batch_first, integers; /* integers: weights are integers, which are transposed */
} Network;

static const int64_t swap_first[] = { 1, 0, 2 };

static Network read_network(Build *b) {
  Network w = { .gates = b->row->arg,
                .directions = attr_is(b, "direction", "bidirectional") ? 2 : 1,
                .batch_first = attr_int(b, "layout") != 0,
                .integers = b->row->in_max > WS };
  for (int k = X; k <= R; k++)
    if (in_node(b, k)->rank != 3) bad(b, "input %d has rank %d, expected 3", k, in_node(b, k)->rank);
  for (int k = X; k <= C0 && w.batch_first; k++)
    if (has_in(b, k) && in_node(b, k)->rank == 3 && (k == X || k >= H0)) b->in[k] = g_permute(b->ir, b->in[k], swap_first);
  const Node *x = in_node(b, X);
  w.steps = x->dims[0], w.batch = x->dims[1], w.width = x->dims[2];
  w.hidden = in_node(b, R)->dims[w.integers ? 1 : 2];
  return w;
}

static void check_shapes(Build *b, const Network *w) {
  const int64_t dirs = w->directions, hidden = w->hidden, all = w->gates * hidden;
  if (attr_set(b, "hidden_size") && attr_int(b, "hidden_size") != hidden)
    bad(b, "attribute 'hidden_size' is %lld, but 'R' has %lld columns", (long long)attr_int(b, "hidden_size"), (long long)hidden);
  need_shape(b, W, "W", 3, w->integers ? (int64_t[]){ dirs, w->width, all } : (int64_t[]){ dirs, all, w->width });
  need_shape(b, R, "R", 3, w->integers ? (int64_t[]){ dirs, hidden, all } : (int64_t[]){ dirs, all, hidden });
  for (int k = WS; k <= RZ && w->integers; k++)
    if (!has_in(b, k)) bad(b, "input %d is required, but omitted", k);
    else need_shape(b, k, "scale or zero point", in_node(b, k)->rank == 2 ? 2 : 1, (int64_t[]){ dirs, all });
  if (has_in(b, B)) need_shape(b, B, "B", 2, (int64_t[]){ dirs, 2 * all });
  for (int k = H0; k <= C0; k++)
    if (has_in(b, k)) need_shape(b, k, k == H0 ? "initial_h" : "initial_c", 3, (int64_t[]){ dirs, w->batch, hidden });
  if (has_in(b, P)) need_shape(b, P, "P", 2, (int64_t[]){ dirs, 3 * hidden });
}

/* The weights of direction d, and their product with the inputs. turned: the steps are in each sequence's reverse order */
static void multiply_inputs(Build *b, const Network *w, Cell *c, int64_t d, Ref lengths, bool turned) {
  static const int64_t transpose[] = { 1, 0 };
  if (!w->integers) {
    c->recur = g_permute(b->ir, of_direction(b, b->in[R], d), transpose);
    c->xw = matmul(b, b->in[X], g_permute(b->ir, of_direction(b, b->in[W], d), transpose));
    return;
  }
  c->recur = of_direction(b, b->in[R], d);
  c->scale = of_direction(b, b->in[RS], d);
  c->zero = of_direction(b, b->in[RZ], d);
  Ref in = lengths ? within_lengths(b, lengths) : b->in[X];
  if (turned) in = reversed(b, in, lengths, w->batch);
  c->xw = dynamic_product(b, in, of_direction(b, b->in[W], d), of_direction(b, b->in[WS], d), of_direction(b, b->in[WZ], d));
}

/* The biases of inputs and states do not depend on the step. A late reset multiplies its part, so that part stays apart. */
static void add_biases(Build *b, const Network *w, Cell *c, int64_t d, Ref none) {
  const int64_t n = w->gates;
  Ref bias = of_direction(b, b->in[B], d), wb = gates(b, bias, c, 0, n), rb = gates(b, bias, c, n, n);
  if (c->late_reset) {
    c->reset_bias = gates(b, rb, c, 2, 1);
    rb = pad_axes(b->ir, gates(b, rb, c, 0, 2), 0, 1, (int64_t[]){ 0 }, &w->hidden, none);
  }
  c->xw = add(b, c->xw, add(b, wb, rb));
}

/* -> the outputs of all steps, [steps, 1, batch, hidden]. *c ends with the last states. */
static Ref run_direction(Build *b, const Network *w, Cell *c, int64_t d, Ref lengths) {
  const Ref none = c_float(b->ir, (DType)in_node(b, X)->dt, 0);
  const bool reverse = d == 1 || attr_is(b, "direction", "reverse");
  const bool turn = w->integers && lengths && reverse; /* steps that are quantised together count from each sequence's end */
  const int64_t state[2] = { w->batch, w->hidden };
  multiply_inputs(b, w, c, d, lengths, turn);
  if (has_in(b, B)) add_biases(b, w, c, d, none);
  if (has_in(b, P)) c->peephole = of_direction(b, b->in[P], d);
  c->h = has_in(b, H0) ? of_direction(b, b->in[H0], d) : g_expand(b->ir, none, 2, state);
  if (w->gates == LSTM) c->c = has_in(b, C0) ? of_direction(b, b->in[C0], d) : g_expand(b->ir, none, 2, state);
  Ref y = run(b, c, lengths, reverse && !turn);
  if (turn) y = reversed(b, y, lengths, w->batch);
  return g_reshape(b->ir, y, 4, (int64_t[]){ w->steps, 1, w->batch, w->hidden });
}

void op_recurrent(Build *b) {
  IR *ir = b->ir;
  const Network w = read_network(b);
  check_shapes(b, &w);
  Activation f[2 * ACTIVATIONS];
  Ref y[2], h[2], c[2], lengths = read_lengths(b, w.steps, w.batch);
  const int64_t state[] = { 1, w.batch, w.hidden };
  read_activations(b, w.directions, f);
  for (int64_t d = 0; d < w.directions; d++) {
    Cell cell = { .steps = w.steps, .batch = w.batch, .hidden = w.hidden, .clip = attr_float(b, "clip"),
                  .late_reset = w.gates == GRU && attr_int(b, "linear_before_reset"),
                  .coupled = w.gates == LSTM && attr_int(b, "input_forget") };
    memcpy(cell.f, f + d * ACTIVATIONS, sizeof cell.f);
    y[d] = run_direction(b, &w, &cell, d, lengths);
    h[d] = g_reshape(ir, cell.h, 3, state);
    c[d] = cell.c ? g_reshape(ir, cell.c, 3, state) : 0;
  }
  const bool both = w.directions > 1;
  const Ref out[3] = { both ? g_cat(ir, 2, y, 1) : y[0], both ? g_cat(ir, 2, h, 0) : h[0],
                       both && c[0] ? g_cat(ir, 2, c, 0) : c[0] };
  for (int k = 0; k < b->nout; k++) {
    static const int64_t to_front[] = { 2, 0, 1, 3 };
    b->out[k] = w.batch_first ? g_permute(ir, out[k], k ? swap_first : to_front) : out[k];
  }
}

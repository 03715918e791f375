/* SPDX-License-Identifier: MIT */
/* parse.c: reads the text form of graphs, kernels and programs (docs/text-format.md).
 *
 * Each line is one definition, and a name is known from its line on. So there are no cycles and no nesting. A line is read into
 * operands, arguments and a type; then the op's row in ops.h gives their meaning. Time is linear in the text.
 *
 * needs: any text    gives: a graph, kernels or a program that the verifier accepts, or a message with line and caret */
#include "parse.h"

enum { MAX_LIST = 64, MAX_BUFFERS = 1000000 }; /* limits of a text: integers of a list, buffers */
enum { MAX_PICKED = MAX_LIST }; /* most lanes that a shuffle names; at least 2 * MAX_RANK */

/* ---- names ---- */
Ref parse_lookup(Parser *p, const char *s, size_t n) {
  uint32_t id = intern(p->c, s, n);
  Ref r = id < p->symbol.n ? p->symbol.p[id] : 0;
  if (!r) scan_bad(p, s, "'%.*s' is not defined", shown(n), s);
  return r;
}

void parse_define(Parser *p, const char *s, size_t n, Ref r) {
  uint32_t id = intern(p->c, s, n);
  while (p->symbol.n <= id) VEC_PUSH(&p->symbol, 0);
  p->symbol.p[id] = r;
  if (p->scoped) VEC_PUSH(&p->local, id);
}

Ref parse_graph_name(Parser *p, const char *s, size_t n) {
  const uint32_t id = intern(p->c, s, n);
  const bool left = p->graph.n > 0;
  const Ref r = left ? (id < p->graph.n ? p->graph.p[id] : 0) : id < p->symbol.n ? p->symbol.p[id] : 0;
  if (!r) scan_bad(p, s, "the graph has no value '%.*s'", shown(n), s);
  return r;
}

void parse_leave_graph(Parser *p) {
  if (p->level != L_GRAPH) return;
  for (size_t i = 0; i < p->symbol.n; i++) {
    VEC_PUSH(&p->graph, p->symbol.p[i]);
    p->symbol.p[i] = 0;
  }
  if (!p->graph.n) VEC_PUSH(&p->graph, 0);
  p->level = L_KERNEL;
}

void parse_scope(Parser *p, Level level, Refs *list) {
  parse_leave_graph(p);
  for (size_t i = 0; i < p->local.n; i++) p->symbol.p[p->local.p[i]] = 0;
  p->local.n = 0;
  p->scoped = true;
  p->level = level;
  p->list = list;
  p->sink = 0;
}

static void check_new(Parser *p, const char *s, size_t n) {
  uint32_t id = intern(p->c, s, n);
  if (scan_is_literal(s, n)) scan_bad(p, s, "'%.*s' is a literal, not a name", shown(n), s);
  if (id < p->symbol.n && p->symbol.p[id]) scan_bad(p, s, "'%.*s' is already defined", shown(n), s);
}

/* ---- parts of a line ---- */
static void list(Parser *p, Arg *a) {
  a->kind = ARG_LIST;
  a->first = p->nums.n;
  if (scan_accept(p, ']')) return;
  do {
    if (a->n++ == MAX_LIST) scan_bad(p, a->at, "list of more than %d integers", MAX_LIST);
    VEC_PUSH(&p->nums, scan_integer(p, "an integer"));
  } while (scan_accept(p, ','));
  scan_expect(p, ']', "after the list");
}

static void argument(Parser *p, const char *key, size_t n) { /* follows "key=" */
  if (p->narg == ARGS_MAX) scan_bad(p, key, "more than %d arguments", ARGS_MAX);
  for (int i = 0; i < p->narg; i++)
    if (p->args[i].nkey == n && !memcmp(p->args[i].key, key, n)) scan_bad(p, key, "'%.*s' is given twice", shown(n), key);
  Arg *a = &p->args[p->narg++];
  char ch = scan_peek(p);
  *a = (Arg){ .key = key, .nkey = n, .at = p->at };
  if (scan_accept(p, '[')) list(p, a);
  else if (ch == '"') {
    const char *s = scan_string(p);
    a->kind = ARG_STRING;
    a->v = intern(p->c, s, strlen(s));
  } else if (is_start(ch)) {
    a->kind = ARG_WORD;
    a->n = scan_word(p, &a->at);
  } else a->v = scan_integer(p, "a value");
}

/* Reads the rest of a line after its op: operands, arguments and type. */
static void parts(Parser *p) {
  p->operands.n = p->nums.n = p->src.n = 0;
  p->narg = 0;
  p->type = (Type){ .rank = -1 };
  for (bool more = scan_peek(p) != ':' && scan_peek(p) != '\n', comma = false; more;) {
    Operand o = { 0 };
    if (!(o.n = scan_literal(p, &o.at))) {
      if (!(o.n = scan_word(p, &o.at))) scan_bad(p, p->at, "expected a name or a literal, found %s", scan_found(p));
      if (!comma && scan_accept(p, '=')) { /* the arguments begin */
        argument(p, o.at, o.n);
        break;
      }
      o.ref = parse_lookup(p, o.at, o.n);
    }
    if (p->operands.n == UINT16_MAX) scan_bad(p, o.at, "more than %d operands", UINT16_MAX);
    VEC_PUSH(&p->operands, o);
    comma = scan_accept(p, ',');
    more = comma || is_start(scan_peek(p));
    if (more && !comma) break;
  }
  for (const char *s; is_start(scan_peek(p));) {
    size_t n = scan_word(p, &s);
    scan_expect(p, '=', "after the name of an argument");
    argument(p, s, n);
  }
  const bool symbols = p->level == L_GRAPH && p->hooks && p->hooks->dim;
  if (scan_accept(p, ':') && !scan_type(p, &p->type, symbols)) scan_bad(p, p->at, "expected a type, found %s", scan_found(p));
}

/* ---- arguments, by the op's row ---- */
static Arg *find_arg(Parser *p, const char *key, size_t n) {
  for (int i = 0; i < p->narg; i++)
    if (p->args[i].nkey == n && !memcmp(p->args[i].key, key, n)) return &p->args[i];
  return NULL;
}

static void want_kind(Parser *p, const Arg *a, ArgKind kind, const char *what) {
  if (a->kind != kind) scan_bad(p, a->at, "'%.*s' must be %s", shown(a->nkey), a->key, what);
}

static int64_t arg_word(Parser *p, const Arg *a, char kind) {
  want_kind(p, a, ARG_WORD, kind == 'k' ? "a kind of range" : "an op");
  if (kind != 'k') {
    Op o = op_from_text(a->at, a->n);
    const bool none = kind == 'O' && is_word(a->at, a->n, "none");
    if (!none && o != OP_ADD && o != OP_MUL && o != OP_MAX && o != OP_MIN)
      scan_bad(p, a->at, "'%.*s' is not one of %sadd mul max min", shown(a->n), a->at, kind == 'O' ? "none " : "");
    return o;
  }
  for (int k = 0; k < RK_COUNT; k++)
    if (is_word(a->at, a->n, range_kind_name[k])) return k;
  scan_bad(p, a->at, "unknown kind of range '%.*s'", shown(a->n), a->at);
}

/* Default of an absent argument; false: it has none. */
static bool default_arg(Parser *p, Op op, const char *key, size_t n, int64_t *v) {
  bool step = (op == OP_SHRINK && is_word(key, n, "step")) ||
              (op == OP_WINDOW && (is_word(key, n, "stride") || is_word(key, n, "dilation")));
  bool id = (op == OP_RANGE || op == OP_ACC || op == OP_BARRIER) && is_word(key, n, "id");
  *v = step ? 1 : id ? p->ir->next_range++ : 0;
  return step || id;
}

int parse_args(Parser *p, const char *at, Op op, int64_t *v) {
  int rank = p->src.n ? node(p->ir, p->src.p[0])->rank : 0, nv = 0;
  for (const char *s = op_info[op].args; *s;) {
    size_t n = (size_t)(strchr(s, ':') - s);
    char kind = s[n + 1];
    int width = kind == 'l' ? rank : kind == 'v' ? p->type.lanes : 1;
    Arg *a = find_arg(p, s, n);
    if (!a && kind == 'u') break; /* the last one */
    if (a) {
      a->used = true;
      switch (kind) {
      case 'i': case 'u':
        want_kind(p, a, ARG_INT, "an integer");
        v[nv] = a->v;
        break;
      case 'l':
        want_kind(p, a, ARG_LIST, "a list");
        if (a->n != (size_t)rank) scan_bad(p, a->at, "%zu integers for %d dimensions", a->n, rank);
        if (rank) memcpy(v + nv, p->nums.p + a->first, (size_t)rank * sizeof *v);
        break;
      case 'v':
        want_kind(p, a, ARG_LIST, "a list");
        if (a->n != (size_t)width || width > MAX_PICKED)
          scan_bad(p, a->at, "%zu integers for %d lanes; the limit is %d lanes", a->n, width, MAX_PICKED);
        memcpy(v + nv, p->nums.p + a->first, (size_t)width * sizeof *v);
        break;
      case 'm':
        want_kind(p, a, ARG_LIST, "a list of axes");
        v[nv] = 0;
        for (size_t i = 0; i < a->n; i++) {
          int64_t axis = p->nums.p[a->first + i];
          if (axis < 0 || axis >= rank)
            scan_bad(p, a->at, "there is no axis %lld in %s", (long long)axis, scan_dims_of(p, p->src.p[0]));
          if (v[nv] >> axis & 1) scan_bad(p, a->at, "axis %lld is given twice", (long long)axis);
          v[nv] |= (int64_t)1 << axis;
        }
        break;
      case 's':
        want_kind(p, a, ARG_STRING, "a string");
        v[nv] = a->v;
        break;
      default: v[nv] = arg_word(p, a, kind);
      }
    } else {
      int64_t value;
      if (!default_arg(p, op, s, n, &value)) scan_bad(p, at, "missing '%.*s='", (int)n, s);
      for (int i = 0; i < width; i++) v[nv + i] = value;
    }
    nv += width;
    s += n + 2;
    while (*s == ' ') s++;
  }
  for (int i = 0; i < p->narg; i++)
    if (!p->args[i].used) scan_bad(p, p->args[i].key, "unknown argument '%.*s'", shown(p->args[i].nkey), p->args[i].key);
  return nv;
}

/* ---- operands ---- */
/* Type that an elementwise op's literals share: that of the first operand with a name among the peers, or the one of the line. */
DType parse_shared_type(Parser *p, Op op) {
  DType d = op_info[op].type[0] == 'T' ? p->type.dt : DT_NONE;
  for (size_t i = 0; i < p->operands.n; i++) {
    LiteralType t = literal_type(op, (int)i);
    if (p->operands.p[i].ref && (t == LIT_RESULT || t == LIT_PEER)) return (DType)node(p->ir, p->operands.p[i].ref)->dt;
  }
  return d;
}

static Ref literal_node(Parser *p, const Operand *o, DType d) {
  if (!d) scan_bad(p, o->at, "nothing gives the literal '%.*s' a type; write one after ':'", shown(o->n), o->at);
  return c_bits(p->ir, d, scan_bits(p, o->at, o->n, d));
}

static DType wanted_type(LiteralType t, DType shared) { return t == LIT_BOOL ? DT_BOOL : t == LIT_I64 ? DT_I64 : shared; }

Ref parse_operand(Parser *p, Op op, size_t i, DType shared) {
  const Operand *o = &p->operands.p[i];
  LiteralType t = literal_type(op, (int)i);
  DType want = wanted_type(t, shared);
  if (!o->ref) {
    if (t == LIT_NONE) scan_bad(p, o->at, "expected a name, found a literal");
    return literal_node(p, o, want);
  }
  DType has = (DType)node(p->ir, o->ref)->dt;
  const bool narrow = p->level == L_PROG && t == LIT_I64 && has == DT_I32;
  if (t != LIT_NONE && want && has != want && !narrow)
    scan_bad(p, o->at, "'%.*s' is %s, expected %s", shown(o->n), o->at, dt_text(has), dt_text(want));
  return o->ref;
}

void parse_arity(Parser *p, const char *at, Op op) {
  int n = op_info[op].arity;
  if (n >= 0 && p->operands.n != (size_t)n)
    scan_bad(p, at, "'%.*s' takes %d operand%s, found %zu", shown(strlen(op_info[op].name)), at, n, n == 1 ? "" : "s",
             p->operands.n);
  if (n == ARITY_SOME && !p->operands.n) scan_bad(p, at, "missing operands");
}

/* from 17 "node 17 'conv1' (Conv, opset 11)": origin of the following lines; "": none */
static void from_line(Parser *p) {
  const char *at = (scan_peek(p), p->at);
  int64_t index = scan_integer(p, "an ordinal");
  if (p->plan) { /* a row of the table of origins */
    if (index < 0 || index >= (int64_t)p->ir->origins.n) scan_bad(p, at, "there is no origin %lld", (long long)index);
    p->from = (uint32_t)index;
    return;
  }
  const char *text = scan_string(p);
  if (index < 0 || index > UINT32_MAX) scan_bad(p, at, "ordinal %lld is out of range", (long long)index);
  if (!text) scan_bad(p, p->at, "expected a string, found %s", scan_found(p));
  p->has_from = true;
  p->from = *text ? ir_origin(p->ir, text, (uint32_t)index) : 0;
}

static void line_origin(Parser *p) {
  p->ir->origin = p->from;
  if (p->has_from) return;
  p->ir->origin = ir_origin(p->ir, arena_printf(&p->c->model, "%s:%d", p->path ? p->path : "line", p->line), (uint32_t)p->line);
  p->ir->origins.p[p->ir->origin].is_line = true;
}

/* ---- kernel and program level ---- */
static void buffer_line(Parser *p, const char *name, size_t n) {
  const char *s;
  Type t;
  Buf b = { .offset = -1 };
  int64_t id = (int64_t)p->ir->bufs.n;
  size_t k = 0, len = scan_word(p, &s);
  while (k < BUF_KINDS && !(len && is_word(s, len, buf_kind_name[k]))) k++;
  if (k == BUF_KINDS) scan_bad(p, len ? s : p->at, "expected one of input output weight arena state next guard local shared");
  if (!scan_type(p, &t, false) || !t.dt || t.rank != 1) scan_bad(p, t.at, "expected the buffer's type, as f32[64]");
  b.kind = (BufKind)k;
  b.dt = t.dt;
  b.elems = t.dims[0];
  while ((len = scan_word(p, &s))) {
    int64_t *v = is_word(s, len, "id") ? &id : is_word(s, len, "slot") ? &b.slot : is_word(s, len, "offset") ? &b.offset : NULL;
    scan_expect(p, '=', "after the name of an argument");
    if (!v && p->plan && p->plan->buffer_key(p, &b, s, len)) continue;
    if (!v) scan_bad(p, s, "unknown argument '%.*s'; there are id, slot and offset", shown(len), s);
    *v = scan_integer(p, "an integer");
    const bool slotless = b.kind == BUF_ARENA || buf_is_own(b.kind);
    const int64_t least = v == &b.slot && slotless ? -1 : 0;
    if (*v < least || *v > ((int64_t)1 << 50)) scan_bad(p, s, "%.*s=%lld is out of range", shown(len), s, (long long)*v);
  }
  if (id >= MAX_BUFFERS) scan_bad(p, s, "buffer %lld; the limit is %d", (long long)id, MAX_BUFFERS);
  while (p->ir->bufs.n <= (size_t)id) VEC_PUSH(&p->ir->bufs, ((Buf){ .kind = BUF_ARENA, .offset = -1 }));
  Buf *row = &p->ir->bufs.p[id];
  if (row->dt && (row->dt != b.dt || row->elems != b.elems || row->kind != b.kind))
    scan_bad(p, name, "buffer %lld is already defined with another kind, type or size", (long long)id);
  if (!row->dt) *row = b;
  parse_define(p, name, n, node_make(p->ir, OP_BUFFER, b.dt, 1, 0, NULL, 1, &id, 0, NULL));
}

static Op op_of(const Parser *p, size_t i) { return (Op)node(p->ir, p->src.p[i])->op; }

/* Checks the kinds of operands: first the buffer, ranges from the second on. */
static void check_sources(Parser *p, const char *at, Op op) {
  size_t n = p->src.n, ranges = n;
  switch (op) {
  case OP_LOAD:
    if ((n != 2 && n != 4) || op_of(p, 0) != OP_BUFFER)
      scan_bad(p, at, "load takes a buffer, an index, and optionally a gate with the value for a closed gate");
    break;
  case OP_STORE:
    if ((n != 3 && n != 4) || op_of(p, 0) != OP_BUFFER)
      scan_bad(p, at, "store takes a buffer, an index, a value and optionally a gate");
    break;
  case OP_RED:
  case OP_NEST: ranges = 1; break;
  case OP_LOOP:
    if (!n || n > 2 || op_of(p, 0) != OP_RANGE || (n == 2 && node(p->ir, p->src.p[1])->dt != DT_BOOL))
      scan_bad(p, at, "loop takes a range and optionally a gate");
    break;
  case OP_END: ranges = 0; break;
  case OP_ACC:
  case OP_GET:
  case OP_VEC:
    if (!n) scan_bad(p, at, "missing operands");
    break;
  default: break;
  }
  if (ranges < n || op == OP_RED || op == OP_NEST) {
    if (n < ranges || !n) scan_bad(p, at, "missing operands");
    for (size_t i = ranges; i < n; i++)
      if (op_of(p, i) != OP_RANGE) scan_bad(p, p->operands.p[i].at, "expected a range");
  }
}

static Ref kernel_op(Parser *p, const char *at, Op op) {
  const OpInfo *info = &op_info[op];
  int64_t arg[MAX_PICKED];
  if (info->level == L_GRAPH || (info->level == L_VALUE && op != OP_SIZE) || op == OP_BUFFER)
    scan_bad(p, at, "'%.*s' does not belong here", shown(strlen(info->name)), at);
  parse_arity(p, at, op);
  DType shared = op == OP_LOAD ? p->type.dt : parse_shared_type(p, op), dt = p->type.dt;
  if ((op == OP_LOAD || op == OP_STORE || op == OP_SET) && !shared && p->operands.n && p->operands.p[0].ref)
    shared = (DType)node(p->ir, p->operands.p[0].ref)->dt;
  if (op == OP_ACC && !shared) shared = dt;
  int lanes = 1;
  for (size_t i = 0; i < p->operands.n; i++) {
    VEC_PUSH(&p->src, parse_operand(p, op, i, shared));
    const Node *x = node(p->ir, p->src.p[i]);
    if (info->level == L_EXPR && x->lanes > lanes) lanes = x->lanes;
  }
  check_sources(p, at, op);
  int narg = parse_args(p, at, op, arg);
  switch (op) {
  case OP_RANGE:
    if (arg[0] < 0 || arg[1] < 0 || arg[1] == INT64_MAX) scan_bad(p, at, "extent and id must not be negative");
    if (narg > 3 && (arg[3] < 1 || arg[3] > SIZES_MOST)) scan_bad(p, at, "limit must be in 1..%d", SIZES_MOST);
    dt = dt ? dt : DT_I64;
    break;
  case OP_SIZE:
    if (arg[0] < 0 || arg[0] >= SIZES_MOST || arg[1] < 0)
      scan_bad(p, at, "id must be in 0..%d, and most not negative", SIZES_MOST - 1);
    dt = dt ? dt : DT_I64;
    break;
  case OP_LOAD: dt = dt ? dt : shared; break;
  case OP_ACC:
  case OP_GET: dt = dt ? dt : (DType)node(p->ir, p->src.p[0])->dt; break;
  default: break;
  }
  if (op == OP_RANGE || op == OP_ACC || op == OP_BARRIER) {
    int64_t id = arg[op == OP_RANGE];
    if (id >= p->ir->next_range) p->ir->next_range = id + 1;
  }
  if (op == OP_VEC) lanes = (int)p->src.n;
  if (info->type[0] == 'b') dt = DT_BOOL;
  else if (info->type[0] == 'T') dt = (DType)node(p->ir, p->src.p[info->type[2] == 'b'])->dt;
  if (p->type.lanes) lanes = p->type.lanes;
  if (info->level == L_EXPR) {
    DType from = info->type[0] == '*' ? (DType)node(p->ir, p->src.p[0])->dt : shared;
    if (!dt || !op_takes(op, from)) scan_bad(p, at, "'%.*s' does not take %s", shown(strlen(info->name)), at, dt_text(from));
  }
  return node_make(p->ir, op, dt, lanes, (int)p->src.n, p->src.p, narg, arg, 0, NULL);
}

static void check_result(Parser *p, Ref r) {
  const Node *x = node(p->ir, r);
  const Type *t = &p->type;
  if (!t->at) return;
  bool same = (!t->dt || t->dt == x->dt) && (!t->lanes || t->lanes == x->lanes);
  if (p->level == L_GRAPH && t->rank >= 0)
    same &= t->rank == x->rank && (!t->rank || !memcmp(t->dims, x->dims, (size_t)t->rank * sizeof *t->dims));
  if (!same)
    scan_bad(p, t->at, "the result is %s%s, not the type after ':'", dt_text((DType)x->dt),
             p->level == L_GRAPH ? scan_dims_of(p, r) : "");
}

/* ---- lines ---- */
static Ref constant(Parser *p, const char *at) {
  if (p->operands.n != 1 || p->operands.p[0].ref) scan_bad(p, at, "expected one literal");
  Ref r = literal_node(p, &p->operands.p[0], p->type.dt);
  return p->level == L_GRAPH && p->type.rank > 0 ? g_expand(p->ir, r, p->type.rank, p->type.dims) : r;
}

/* A program lists each leaf where a block first uses it; backends number their output by this list. */
static void listed_buffer(Parser *p) {
  const char *s;
  const size_t n = scan_word(p, &s);
  if (!n) scan_bad(p, p->at, "expected a buffer, found %s", scan_found(p));
  const Ref r = parse_lookup(p, s, n);
  if (node(p->ir, r)->op != OP_BUFFER) scan_bad(p, s, "'%.*s' is not a buffer", shown(n), s);
  VEC_PUSH(p->list, r);
}

/* Attributes: decisions of passes about a value. Readers of models skip them; they are no part of the graph. */
static void attributes(Parser *p, Ref r) {
  if (p->plan) p->plan->attributes(p, r);
  else
    while (p->at < p->end && *p->at != '\n') p->at++;
}

static void statement(Parser *p) {
  const char *name, *op;
  size_t nname = scan_word(p, &name), nop;
  if (!nname) scan_bad(p, p->at, "expected a name, found %s", scan_found(p));
  bool defines = scan_accept(p, '=');
  if (defines) {
    check_new(p, name, nname);
    nop = scan_word(p, &op);
    if (!nop) scan_bad(p, p->at, "expected an op, found %s", scan_found(p));
  } else {
    op = name;
    nop = nname;
  }
  line_origin(p);
  if (p->plan) *p->where = scan_pos(p, name);
  if (p->plan && !defines && p->plan->statement(p, op, nop)) return;
  if (p->plan && !defines && is_word(op, nop, "from")) {
    from_line(p);
    return;
  }
  if (p->list && p->plan && !defines && is_word(op, nop, "buffer")) {
    listed_buffer(p);
    return;
  }
  if (p->level == L_GRAPH && !defines) {
    bool output = is_word(op, nop, "output"), guard = is_word(op, nop, "guard");
    if (!output && !guard && !is_word(op, nop, "from")) scan_bad(p, p->at, "expected '=', found %s", scan_found(p));
    (output ? parse_output : guard ? parse_guard : from_line)(p);
    return;
  }
  void (*line)(Parser *, const char *, size_t) = NULL;
  if (p->plan && defines && is_word(op, nop, "buffer")) {
    if (p->scoped) scan_bad(p, op, "buffers must come before kernels");
    parse_leave_graph(p);
  }
  if (p->level == L_GRAPH && is_word(op, nop, "input")) line = parse_input;
  if (p->level == L_GRAPH && is_word(op, nop, "weight")) line = parse_weight;
  if (p->level != L_GRAPH && defines && is_word(op, nop, "buffer")) line = buffer_line;
  if (line) {
    line(p, name, nname);
    if (p->level == L_GRAPH && scan_accept(p, ';')) attributes(p, parse_lookup(p, name, nname));
    return;
  }
  Op code = op_from_text(op, nop);
  if (!code) scan_bad(p, op, "unknown op '%.*s'", shown(nop), op);
  parts(p);
  Ref r = code == OP_CONST          ? constant(p, op)
          : p->level != L_GRAPH     ? kernel_op(p, op, code)
          : p->plan                 ? parse_exact_op(p, op, code)
                                    : parse_graph_op(p, op, code);
  check_result(p, r);
  if (defines) parse_define(p, name, nname, r);
  if (p->level == L_GRAPH && scan_accept(p, ';')) attributes(p, r);
  const bool leaf = (code == OP_CONST && (defines || !p->plan)) || (code == OP_RANGE && !p->plan);
  if (p->list && !leaf) VEC_PUSH(p->list, r);
  if (code == OP_SINK && !(p->plan && p->sink)) p->sink = r; /* in a dump the first: nests have sinks of stores, too */
}

/* "tgc 1 graph "name"": optional for a graph */
static void header(Parser *p) {
  static const char *const level_name[] = { [L_GRAPH] = "graph", [L_KERNEL] = "kernel", [L_PROG] = "program" };
  const char *start, *s;
  while (p->at < p->end && scan_peek(p) == '\n') scan_end_line(p);
  start = p->at;
  size_t n = scan_word(p, &s);
  if (!n || !is_word(s, n, "tgc") || scan_peek(p) == '=') {
    if (p->level != L_GRAPH || p->plan) scan_bad(p, start, "expected 'tgc 1 %s'", p->plan ? "plan" : level_name[p->level]);
    p->at = start;
    return;
  }
  const char *at = (scan_peek(p), p->at);
  int64_t version = scan_integer(p, "the format's version");
  if (version != 1) scan_bad(p, at, "this tgc reads version 1 of the format, not version %lld", (long long)version);
  n = scan_word(p, &s);
  const char *level = p->plan ? "plan" : level_name[p->level];
  if (n && !p->plan && is_word(s, n, "plan"))
    scan_bad(p, s, "this is a dump, not a model; `tgc compile --start-after` goes on from it");
  if (!n || !is_word(s, n, level)) scan_bad(p, n ? s : p->at, "expected '%s'", level);
  const char *name = p->level == L_GRAPH ? scan_string(p) : NULL;
  if (name) p->g->name = name;
  scan_end_line(p);
}

static void parse(Ctx *c, void *arg) {
  Parser *p = arg;
  (void)c;
  if (p->end - p->at >= 3 && !memcmp(p->at, "\xef\xbb\xbf", 3)) p->text = p->at += 3; /* byte order mark */
  scan_characters(p);
  p->line = 1;
  header(p);
  while (p->at < p->end) {
    if (scan_peek(p) != '\n') statement(p);
    scan_end_line(p);
  }
  p->ir->origin = 0;
  if (p->g && p->g->outputs.n == p->g->guarded) fail(p->c, EX_BADMODEL, "the graph has no output");
  if (p->plan) p->plan->statement(p, "", 0); /* end of the text */
  else if (p->level == L_KERNEL && !p->sink) fail(p->c, EX_BADMODEL, "the kernel has no sink");
}

/* Returns the exit code of a failure, after freeing the heap. */
static int parse_text(Parser *p, const char *text, size_t n) {
  p->text = p->at = text;
  p->end = text + n;
  int code = ctx_try(p->c, parse, p);
  VEC_FREE(&p->symbol);
  VEC_FREE(&p->taken);
  VEC_FREE(&p->operands);
  VEC_FREE(&p->nums);
  VEC_FREE(&p->src);
  VEC_FREE(&p->local);
  VEC_FREE(&p->graph);
  return code;
}

Graph *parse_plan(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks, const PlanReader *plan) {
  Parser p = { .c = c, .ir = ir_new(c), .g = ARENA_NEW(&c->model, Graph, 1), .hooks = hooks, .path = path, .level = L_GRAPH,
               .plan = plan, .has_from = plan != NULL };
  p.g->ir = p.ir;
  if (plan) p.ir->dump = p.where = ARENA_NEW(&c->model, Pos, 1);
  if (path) c->file = path;
  int code = parse_text(&p, text, n);
  if (code) {
    VEC_FREE(&p.g->inputs);
    VEC_FREE(&p.g->outputs);
    ir_free(p.ir);
    fail_silent(c, code);
  }
  return p.g;
}

Graph *ir_parse_graph_with(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks) {
  return parse_plan(c, text, n, path, hooks, NULL);
}

Graph *ir_parse_graph(Ctx *c, const char *text, size_t n, const char *path) {
  return ir_parse_graph_with(c, text, n, path, NULL);
}

Ref ir_parse_kernel(IR *ir, const char *text, size_t n) {
  Parser p = { .c = ir->ctx, .ir = ir, .level = L_KERNEL };
  int code = parse_text(&p, text, n);
  if (code) fail_silent(ir->ctx, code);
  return p.sink;
}

void ir_parse_program(IR *ir, const char *text, size_t n, Refs *out) {
  Parser p = { .c = ir->ctx, .ir = ir, .level = L_PROG, .list = out };
  int code = parse_text(&p, text, n);
  if (code) fail_silent(ir->ctx, code);
}

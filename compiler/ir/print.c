/* SPDX-License-Identifier: MIT */
/* print.c: prints graphs, kernels and programs as text (docs/text-format.md).
 *
 * The order of lines depends only on the structure: inputs first, then every node after its sources, as the outputs reach them.
 * A scalar constant whose type follows from its user is written in the user's line. At graph level this includes its broadcast,
 * which the reader repeats. ir_compact numbers nodes as the reader of the text would, so a graph and its text compile to the
 * same bytes.
 *
 * needs: nodes that the verifier accepts    gives: text that parse.c reads back    breaks: nothing */
#include "print.h"
#include "refmap.h"
#include <stdlib.h>
#include <string.h>

enum { BLOB_ALIGN = 64, BLOB_MIN_ELEMS = 17 }; /* BLOB_ALIGN: bytes. BLOB_MIN_ELEMS: elements; shorter weights stay readable in
                                                  the text */

/* The CONST that r broadcasts, as g_expand does; 0: none. At other levels: r, if it is a CONST. */
static Ref splat_const(const IR *ir, Ref r, bool graph) {
  const Node *x = node(ir, r);
  if (graph && x->op == OP_EXPAND) {
    r = operand(x);
    if (node(ir, r)->op != OP_RESHAPE) return 0;
    x = node(ir, r);
  }
  if (graph && x->op == OP_RESHAPE) {
    for (int i = 0; i < x->rank; i++)
      if (x->dims[i] != 1) return 0;
    r = operand(x);
  }
  return node(ir, r)->op == OP_CONST ? r : 0;
}

/* The constant to write for source i of x; 0: write the source's name. */
static Ref inline_const(const IR *ir, const Node *x, int i, bool graph) {
  LiteralType t = literal_type((Op)x->op, i);
  Ref r = t == LIT_NONE ? 0 : splat_const(ir, x->src[i], graph && x->op != OP_PAD);
  if (r && t == LIT_PEER && x->op != OP_STORE && x->op != OP_SET && splat_const(ir, x->src[!i], graph)) return 0;
  return r;
}

void printer_init(Printer *p, const IR *ir, Level level, Sb *out) {
  *p = (Printer){ .ir = ir, .out = out, .level = level, .from = { .is_line = true } };
  p->named = xmalloc(ir->n);
  p->number = xmalloc(ir->n * sizeof *p->number);
  memset(p->named, 0, ir->n);
}

void printer_free(Printer *p) {
  free(p->named);
  free(p->number);
  VEC_FREE(&p->order);
}

/* Marks the nodes of p->order that need a name, users first. The caller marks the roots. */
static void mark_named(Printer *p) {
  for (size_t k = p->order.n; k--;) {
    const Node *x = node(p->ir, p->order.p[k]);
    if (!p->named[p->order.p[k]]) continue;
    for (int i = 0; i < x->nsrc; i++)
      if (!inline_const(p->ir, x, i, p->level == L_GRAPH)) p->named[x->src[i]] = 1;
  }
}

static char name_letter(const Node *x) {
  switch (x->op) {
  case OP_PARAM: return 'x';
  case OP_WEIGHT: return 'w';
  case OP_CONST: return 'c';
  case OP_BUFFER: return 'b';
  case OP_RANGE: return 'r';
  case OP_NEST: return 'n';
  case OP_SINK: return 'k';
  default: return 'v';
  }
}

static void give_name(Printer *p, Ref r) {
  const Node *x = node(p->ir, r);
  p->number[r] = x->op == OP_BUFFER ? (uint32_t)x->arg[0] : p->count[(int)name_letter(x)]++;
}

void put_name(const Printer *p, Ref r) {
  /* a program under debugging may use a value that it never computes */
  if (!p->named[r]) sb_printf(p->out, "?%u", r);
  else sb_printf(p->out, "%c%u", name_letter(node(p->ir, r)), p->number[r]);
}

static void put_lower(Sb *out, const char *s) {
  for (; *s; s++) {
    char ch = *s >= 'A' && *s <= 'Z' ? (char)(*s | 0x20) : *s;
    sb_put(out, &ch, 1);
  }
}

/* Escapes control characters of any kind; other UTF-8 stays. */
void put_string(Sb *out, const char *s) {
  sb_puts(out, "\"");
  for (; *s; s++) {
    unsigned char a = (unsigned char)s[0], b = (unsigned char)s[1], c = b ? (unsigned char)s[2] : 0;
    /* U+0080..9F; and within U+200x..206x, line separators and characters that change the text direction */
    bool c1 = a == 0xc2 && b >= 0x80 && b < 0xa0;
    bool format = a == 0xe2 &&
                  ((b == 0x80 && (c == 0x8e || c == 0x8f || (c >= 0xa8 && c <= 0xae))) || (b == 0x81 && c >= 0xa6 && c <= 0xa9));
    if (a == '"' || a == '\\') sb_printf(out, "\\%c", a);
    else if (a == '\n' || a == '\t') sb_puts(out, a == '\n' ? "\\n" : "\\t");
    else if (a < 0x20 || a == 0x7f) sb_printf(out, "\\x%02x", a);
    else if (c1 || format) {
      sb_printf(out, "\\x%02x\\x%02x", a, b);
      if (format) sb_printf(out, "\\x%02x", c);
      s += format ? 2 : 1;
    } else sb_put(out, s, 1);
  }
  sb_puts(out, "\"");
}

void put_list(Sb *out, const int64_t *v, int n) {
  sb_puts(out, "[");
  for (int i = 0; i < n; i++) sb_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
  sb_puts(out, "]");
}

static void put_type(Printer *p, DType d, int lanes, int rank, const int64_t *dims) {
  if (d) sb_puts(p->out, dtype_info[d].text);
  if (lanes > 1) sb_printf(p->out, "x%d", lanes);
  if (p->level == L_GRAPH) put_list(p->out, dims, rank);
}

static void put_mask(Sb *out, uint64_t mask) {
  int64_t axes[64];
  int n = 0;
  for (int i = 0; i < 64; i++)
    if (mask >> i & 1) axes[n++] = i;
  put_list(out, axes, n);
}

/* Integer arguments, as in ops.h: "name:kind name:kind". */
static void put_args(Printer *p, const Node *x) {
  int rank = x->nsrc ? node(p->ir, x->src[0])->rank : 0, at = 0;
  for (const char *s = op_info[x->op].args; *s;) {
    const char *colon = strchr(s, ':');
    const int64_t *v = x->arg + at;
    if (colon[1] == 'u' && at == x->narg) return;
    sb_puts(p->out, " ");
    if (colon[1] != 'c') {
      sb_put(p->out, s, (size_t)(colon - s));
      sb_puts(p->out, "=");
    }
    at += colon[1] == 'l' ? rank : colon[1] == 'v' ? x->lanes : 1;
    switch (colon[1]) {
    case 'i': case 'u': sb_printf(p->out, "%lld", (long long)v[0]); break;
    case 'l': put_list(p->out, v, rank); break;
    case 'v': put_list(p->out, v, x->lanes); break;
    case 'm': put_mask(p->out, (uint64_t)v[0]); break;
    case 'c': literal_put(p->out, (DType)x->dt, v[0]); break;
    case 'o': case 'O': put_lower(p->out, op_info[v[0]].name); break;
    case 's': put_string(p->out, intern_text(p->ir->ctx, (uint32_t)v[0])); break;
    case 'k': sb_puts(p->out, range_kind_name[v[0]]); break;
    default: BUG("argument kind '%c' of %s", colon[1], op_info[x->op].name);
    }
    s = colon + 2 + (colon[2] == ' ');
  }
}

/* "name = op sources key=value : type" without the name, which not every line has */
static void put_operation(Printer *p, const Node *x) {
  put_lower(p->out, op_info[x->op].name);
  for (int i = 0; i < x->nsrc; i++) {
    Ref c = inline_const(p->ir, x, i, p->level == L_GRAPH);
    sb_puts(p->out, i ? ", " : " ");
    if (c) literal_put(p->out, (DType)node(p->ir, c)->dt, node(p->ir, c)->arg[0]);
    else put_name(p, x->src[i]);
  }
  put_args(p, x);
  if (p->level == L_GRAPH || x->dt || x->lanes > 1) {
    sb_puts(p->out, " : ");
    put_type(p, (DType)x->dt, x->lanes, x->rank, x->dims);
  }
}

static void end_line(const Printer *p, Ref r) {
  if (p->attributes) p->attributes(p, r, p->arg);
  sb_puts(p->out, "\n");
}

/* The origin of the next line, unless it equals the previous one or is a line of text. */
static void put_from(Printer *p, const Node *x) {
  if (p->table) {
    if (p->row != x->origin) sb_printf(p->out, "from %u\n", x->origin);
    p->row = x->origin;
    return;
  }
  Origin o = p->ir->origins.p[x->origin];
  if (o.is_line && p->from.is_line) return;
  if (o.is_line) o = (Origin){ 0 }; /* after the first origin, each line has one or none */
  bool same = !p->from.is_line && o.index == p->from.index && !strcmp(o.text ? o.text : "", p->from.text ? p->from.text : "");
  p->from = o;
  if (same) return;
  sb_printf(p->out, "from %u ", o.index);
  put_string(p->out, o.text ? o.text : "");
  sb_puts(p->out, "\n");
}

static void put_line(Printer *p, Ref r) {
  put_name(p, r);
  sb_puts(p->out, " = ");
  put_operation(p, node(p->ir, r));
  end_line(p, r);
}

/* ---- graphs ---- */

void print_weight(Printer *p, uint32_t number, const Tensor *t, Sb *blob, const char *blobname) {
  sb_printf(p->out, "w%u = weight ", number);
  put_type(p, t->dt, 1, t->rank, t->dims);
  if (t->name) {
    sb_puts(p->out, " ");
    put_string(p->out, t->name);
  }
  if (blob && t->data && t->elems >= BLOB_MIN_ELEMS) {
    static const char zeros[BLOB_ALIGN];
    size_t bytes = (size_t)(t->elems * dt_bytes(t->dt));
    char digest[65];
    sb_put(blob, zeros, -blob->n % BLOB_ALIGN);
    sha256_hex(t->data, bytes, digest);
    sb_puts(p->out, " @");
    put_string(p->out, blobname);
    sb_printf(p->out, " offset=%zu sha256=%s", blob->n, digest);
    sb_put(blob, t->data, bytes);
    return;
  }
  sb_puts(p->out, " {");
  for (int64_t i = 0; i < t->elems; i++) {
    if (i) sb_puts(p->out, ", ");
    literal_put(p->out, t->dt, tensor_bits(t, i));
  }
  sb_puts(p->out, "}");
}

/* Fills p->order with all nodes of g in the order in which reading the text creates them. A source written inside a line comes
 * just before that line. */
static void order_graph(Printer *p, const Graph *g) {
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) {
    VEC_PUSH(&roots, g->outputs.p[i].ref);
    p->named[g->outputs.p[i].ref] = 1;
  }
  ir_toposort(p->ir, roots.p, roots.n, &p->order);
  for (size_t k = 0; k < p->order.n && p->attributed; k++) p->named[p->order.p[k]] |= p->attributed(p->order.p[k], p->arg);
  mark_named(p);
  uint8_t *done = xmalloc(p->ir->n);
  memset(done, 0, p->ir->n);
  for (size_t i = 0; i < g->inputs.n; i++) {
    Ref r = g->inputs.p[i].ref;
    if (!done[r]) VEC_PUSH(&order, r);
    done[r] = p->named[r] = 1;
  }
  for (size_t k = 0; k < p->order.n; k++) {
    Ref r = p->order.p[k], chain[3];
    const Node *x = node(p->ir, r);
    if (!p->named[r] || done[r]) continue;
    for (int i = 0; i < x->nsrc; i++) {
      if (!inline_const(p->ir, x, i, true)) continue;
      int n = 0;
      for (Ref s = x->src[i]; s; s = node(p->ir, s)->nsrc ? node(p->ir, s)->src[0] : 0) chain[n++] = s;
      while (n--) {
        if (!done[chain[n]]) VEC_PUSH(&order, chain[n]);
        done[chain[n]] = 1;
      }
    }
    VEC_PUSH(&order, r);
    done[r] = 1;
  }
  VEC_FREE(&p->order);
  p->order = order;
  VEC_FREE(&roots);
  free(done);
}

static void put_holds(Printer *p, const GIO *v) {
  if (v->narrow) sb_printf(p->out, " holds=%s", small_type(v->narrow)->name);
}

void print_graph(Printer *p, const Graph *g, Sb *blob, const char *blobname) {
  order_graph(p, g);
  for (size_t i = 0; i < g->inputs.n; i++) give_name(p, g->inputs.p[i].ref);
  for (size_t k = 0; k < p->order.n; k++) /* before the first line, since attributes may name a later one */
    if (p->named[p->order.p[k]] && node(g->ir, p->order.p[k])->op != OP_PARAM) give_name(p, p->order.p[k]);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *in = &g->inputs.p[i];
    if (p->table) put_from(p, node(g->ir, in->ref));
    put_name(p, in->ref);
    sb_puts(p->out, " = input ");
    put_type(p, in->dt, 1, in->rank, in->dims);
    sb_puts(p->out, " ");
    put_string(p->out, in->name);
    put_holds(p, in);
    end_line(p, in->ref);
  }
  for (size_t k = 0; k < p->order.n; k++) {
    const Ref r = p->order.p[k];
    const Node *x = node(g->ir, r);
    if (!p->named[r] || x->op == OP_PARAM) continue;
    put_from(p, x);
    if (x->op != OP_WEIGHT) {
      put_line(p, r);
      continue;
    }
    print_weight(p, p->number[r], &g->ir->tensors.p[x->arg[0]], blob, blobname);
    end_line(p, r);
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    sb_puts(p->out, g->guarded && i + 1 == g->outputs.n ? "guard " : "output ");
    put_name(p, g->outputs.p[i].ref);
    sb_puts(p->out, " ");
    put_string(p->out, g->outputs.p[i].name);
    put_holds(p, &g->outputs.p[i]);
    sb_puts(p->out, "\n");
  }
}

void print_header(const char *level, const char *name, Sb *out) {
  sb_printf(out, "tgc 1 %s", level);
  if (name && *name) {
    sb_puts(out, " ");
    put_string(out, name);
  }
  sb_puts(out, "\n");
}

void ir_print_graph_blob(const Graph *g, Sb *out, Sb *blob, const char *blobname) {
  Printer p;
  printer_init(&p, g->ir, L_GRAPH, out);
  print_header("graph", g->name, out);
  print_graph(&p, g, blob, blobname);
  printer_free(&p);
}

void ir_print_graph(const Graph *g, Sb *out) { ir_print_graph_blob(g, out, NULL, NULL); }

typedef struct Kept {
  Origin o;
  uint32_t old;
} Kept;
static int by_ordinal(const void *a, const void *b) {
  const Kept *x = a, *y = b;
  if (x->o.index != y->o.index) return x->o.index < y->o.index ? -1 : 1;
  return strcmp(x->o.text ? x->o.text : "", y->o.text ? y->o.text : "");
}

/* Copies the origins of p->order's nodes to ir, sorted by ordinal; to[old] is the new number. */
static uint32_t *keep_origins(const Printer *p, IR *ir) {
  size_t n = p->ir->origins.n;
  uint32_t *to = ARENA_NEW(&ir->ctx->model, uint32_t, n);
  VEC(Kept) kept = { 0 };
  for (size_t k = 0; k < p->order.n; k++) {
    uint32_t old = node(p->ir, p->order.p[k])->origin;
    if (!old || to[old]) continue;
    to[old] = 1;
    VEC_PUSH(&kept, ((Kept){ p->ir->origins.p[old], old }));
  }
  VEC_SORT(&kept, by_ordinal);
  for (size_t i = 0; i < kept.n; i++) {
    if (!i || by_ordinal(&kept.p[i - 1], &kept.p[i])) VEC_PUSH(&ir->origins, kept.p[i].o);
    to[kept.p[i].old] = (uint32_t)ir->origins.n - 1;
  }
  VEC_FREE(&kept);
  return to;
}

Graph *ir_compact(const Graph *g) {
  const IR *old = g->ir;
  Graph *h = ARENA_NEW(&old->ctx->model, Graph, 1);
  IR *ir = h->ir = ir_new(old->ctx);
  Printer p;
  printer_init(&p, old, L_GRAPH, NULL);
  order_graph(&p, g);
  uint32_t *to = p.number, *origin = keep_origins(&p, ir); /* old to new */
  size_t line = 0;                                         /* by index in order: the node in whose line it is written */
  for (size_t k = 0; k < p.order.n; k++) {
    Ref r = p.order.p[k];
    const Node *x = node(old, r);
    Ref *src = ARENA_NEW(&old->ctx->model, Ref, x->nsrc);
    int64_t id;
    for (int i = 0; i < x->nsrc; i++) src[i] = to[x->src[i]];
    if (x->op == OP_WEIGHT) id = ir_tensor(ir, &old->tensors.p[x->arg[0]]);
    for (line = line < k ? k : line; !p.named[p.order.p[line]]; line++) continue;
    ir->origin = origin[node(old, p.order.p[line])->origin];
    to[r] = node_make(ir, (Op)x->op, (DType)x->dt, x->lanes, x->nsrc, src, x->narg, x->op == OP_WEIGHT ? &id : x->arg, x->rank,
                      x->dims);
  }
  ir->origin = 0;
  h->name = g->name;
  for (size_t i = 0; i < g->inputs.n; i++) {
    VEC_PUSH(&h->inputs, g->inputs.p[i]);
    h->inputs.p[i].ref = to[g->inputs.p[i].ref];
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    VEC_PUSH(&h->outputs, g->outputs.p[i]);
    h->outputs.p[i].ref = to[g->outputs.p[i].ref];
  }
  h->guarded = g->guarded;
  printer_free(&p);
  return h;
}

/* ---- kernels and programs ---- */
static int by_buffer_id(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (x[0] > y[0]) - (x[0] < y[0]);
}

void print_buffer(Sb *out, const IR *ir, int64_t id, int64_t slot) {
  const Buf *b = &ir->bufs.p[id];
  sb_printf(out, "b%lld = buffer %s %s[%lld] id=%lld slot=%lld", (long long)id, buf_kind_name[b->kind], dtype_info[b->dt].text,
            (long long)b->elems, (long long)id, (long long)slot);
  if (b->offset >= 0) sb_printf(out, " offset=%lld", (long long)b->offset);
}

/* Names and prints the buffers among refs, by id. */
static void put_buffers(Printer *p, const Refs *refs) {
  VEC(int64_t) bufs = { 0 }; /* pairs of id and Ref */
  for (size_t i = 0; i < refs->n; i++) {
    const Node *x = node(p->ir, refs->p[i]);
    if (x->op != OP_BUFFER) continue;
    CHECK((size_t)x->arg[0] < p->ir->bufs.n);
    VEC_PUSH(&bufs, x->arg[0]);
    VEC_PUSH(&bufs, refs->p[i]);
  }
  if (bufs.n) qsort(bufs.p, bufs.n / 2, 2 * sizeof *bufs.p, by_buffer_id);
  for (size_t i = 0; i < bufs.n && !p->table; i += 2) {
    print_buffer(p->out, p->ir, bufs.p[i], p->ir->bufs.p[bufs.p[i]].slot);
    sb_puts(p->out, "\n");
  }
  for (size_t i = 0; i < bufs.n; i += 2) give_name(p, (Ref)bufs.p[i + 1]);
  VEC_FREE(&bufs);
}

void print_kernel(Printer *p, const Ref *roots, size_t n) {
  p->order.n = 0;
  ir_toposort(p->ir, roots, n, &p->order);
  for (size_t i = 0; i < n; i++) p->named[roots[i]] = 1;
  mark_named(p);
  put_buffers(p, &p->order);
  for (size_t k = 0; k < p->order.n; k++) {
    const Ref r = p->order.p[k];
    if (!p->named[r] || node(p->ir, r)->op == OP_BUFFER) continue;
    const bool names_nothing = node(p->ir, r)->op == OP_CONST || node(p->ir, r)->op == OP_RANGE;
    if (p->table && !names_nothing) put_from(p, node(p->ir, r));
    give_name(p, r);
    put_line(p, r);
  }
}

void print_end(Printer *p) {
  for (size_t k = 0; k < p->order.n; k++) p->named[p->order.p[k]] = 0;
  memset(p->count, 0, sizeof p->count);
  p->order.n = 0;
}

void ir_print_nodes(const IR *ir, const Ref *roots, size_t n, Sb *out) {
  Printer p;
  printer_init(&p, ir, L_KERNEL, out);
  print_header("kernel", NULL, out);
  print_kernel(&p, roots, n);
  printer_free(&p);
}

static bool program_leaf(const Node *x) { return x->op == OP_CONST || x->op == OP_BUFFER || x->op == OP_RANGE; }

void print_program(Printer *p, const Ref *list, size_t n) {
  const IR *ir = p->ir;
  RefMap used = { 0 }; /* nodes that a later line names */
  p->order.n = 0;
  for (size_t k = 0; k < n; k++) {
    const Node *x = node(ir, list[k]);
    for (int i = 0; i < x->nsrc; i++) {
      const Ref s = x->src[i];
      if (inline_const(ir, x, i, false)) continue;
      const bool listed = p->table && node(ir, s)->op == OP_RANGE; /* it has a line where it is listed */
      if (program_leaf(node(ir, s)) && !p->named[s] && !listed) {
        p->named[s] = 1;
        VEC_PUSH(&p->order, s);
      }
      refmap_set(&used, s, 1);
    }
  }
  put_buffers(p, &p->order);
  for (size_t k = 0; k < p->order.n; k++)
    if (node(ir, p->order.p[k])->op != OP_BUFFER) {
      give_name(p, p->order.p[k]);
      put_line(p, p->order.p[k]);
    }
  int depth = 0;
  for (size_t k = 0; k < n; k++) {
    const Node *x = node(ir, list[k]);
    if (program_leaf(x) && !p->table) continue;
    if (x->op == OP_END && depth) depth--;
    sb_printf(p->out, "%*s", 2 * depth, "");
    if (x->op == OP_LOOP) depth++;
    if (x->op == OP_BUFFER) {
      sb_printf(p->out, "buffer b%lld\n", (long long)x->arg[0]);
      continue;
    }
    const bool again = program_leaf(x) && p->named[list[k]]; /* already printed in another block */
    if (refmap_get(&used, list[k]) && x->op != OP_CONST && !again) {
      give_name(p, list[k]);
      if (!p->named[list[k]]) VEC_PUSH(&p->order, list[k]);
      p->named[list[k]] = 1;
      put_name(p, list[k]);
      sb_puts(p->out, " = ");
    }
    put_operation(p, x);
    sb_puts(p->out, "\n");
  }
  refmap_free(&used);
}

void ir_print_program(const IR *ir, const Ref *list, size_t n, Sb *out) {
  Printer p;
  printer_init(&p, ir, L_PROG, out);
  print_header("program", NULL, out);
  print_program(&p, list, n);
  printer_free(&p);
}

void ir_print_op(const IR *ir, const Ref *list, size_t n, size_t at, Sb *out) {
  Sb text = { 0 };
  size_t lines = 0;        /* how many lines to go back */
  if (program_leaf(node(ir, list[at]))) return;
  ir_print_program(ir, list, n, &text);
  for (size_t k = at; k < n; k++) lines += !program_leaf(node(ir, list[k]));
  const char *line = text.p + text.n; /* the ops are the last lines */
  while (lines && line > text.p)
    if (*--line == '\n' && line + 1 < text.p + text.n) lines--;
  line += strspn(line, " \n");
  sb_put(out, line, strcspn(line, "\n"));
  sb_free(&text);
}

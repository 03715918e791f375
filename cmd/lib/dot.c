/* SPDX-License-Identifier: MIT */
/* dot.c: a plan as text for Graphviz: its kernels, and the values that pass between them. The nodes of the model that a kernel
 * was fused from may be drawn inside of it.
 *
 * needs: the edges between nodes of the model, taken before passes change the graph */
#include "../cmd.h"
#include <string.h>

/* ---- edges between the model's nodes ---- */
static int by_edge(const void *a, const void *b) {
  const NodeEdge *x = a, *y = b;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

void node_edges(const Graph *g, NodeEdges *out) {
  const IR *ir = g->ir;
  Refs order = { 0 }, roots = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    for (int k = 0; k < x->nsrc; k++) {
      const uint32_t from = node(ir, x->src[k])->origin;
      if (from && x->origin && from != x->origin) VEC_PUSH(out, ((NodeEdge){ from, x->origin }));
    }
  }
  VEC_SORT(out, by_edge);
  size_t n = 0;
  for (size_t i = 0; i < out->n; i++)
    if (!n || by_edge(&out->p[n - 1], &out->p[i])) out->p[n++] = out->p[i];
  out->n = n;
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* ---- text ---- */

/* A text in quotes. Names may hold any bytes. */
static void put_quoted(Sb *s, const char *text, size_t n) {
  sb_puts(s, "\"");
  for (size_t i = 0, bytes; i < n && text[i]; i += bytes ? bytes : 1) {
    bytes = (size_t)utf8_length(text + i);
    if (text[i] == '"' || text[i] == '\\') sb_puts(s, "\\");
    if (!bytes || i + bytes > n || (bytes == 1 && ((unsigned char)text[i] < 0x20 || text[i] == 0x7f))) sb_puts(s, "?");
    else sb_put(s, text + i, bytes);
  }
  sb_puts(s, "\"");
}

/* "conv1 (Conv)" of "node 17 'conv1' (Conv, opset 11)" */
static const char *short_origin(Ctx *c, const char *text) {
  const char *quote = strchr(text, '\''), *end = quote ? strrchr(text, '\'') : NULL, *paren = end ? strchr(end, '(') : NULL;
  if (!quote || end == quote) return text;
  return arena_printf(&c->model, "%.*s%s%.*s%s", (int)(end - quote - 1), quote + 1, paren ? " (" : "",
                      paren ? (int)strcspn(paren + 1, ",)") : 0, paren ? paren + 1 : "", paren ? ")" : "");
}

typedef struct Dot {
  const Plan *p;
  Ctx *c;
  const KernelOrigins *from;
  const NodeEdges *edges;
  const double *ms; /* time by kernel; NULL: not measured */
  bool nodes;       /* with the model's nodes */
  Sb *out;
} Dot;

/* The box where edges of kernel k end: with nodes, the first or the last of them */
static const char *kernel_end(const Dot *d, size_t k, bool last) {
  const int n = d->from[k].n;
  if (!d->nodes || !n) return arena_printf(&d->c->model, "k%zu", k);
  return arena_printf(&d->c->model, "k%zu_%u", k, (unsigned)d->from[k].origin[last ? n - 1 : 0]);
}

static bool in_kernel(const KernelOrigins *k, uint32_t origin) {
  for (int i = 0; i < k->n; i++)
    if (k->origin[i] == origin) return true;
  return false;
}

static const char *kernel_title(const Dot *d, size_t k) {
  return arena_printf(&d->c->model, "k%zu%s%s", k, d->ms ? "  " : "", d->ms ? time_text(d->c, d->ms[k]) : "");
}

/* A kernel as a frame around its nodes */
static void put_cluster(const Dot *d, size_t k) {
  Sb *s = d->out;
  const KernelOrigins *from = &d->from[k];
  sb_printf(s, "  subgraph cluster_k%zu {\n    label=", k);
  const char *title = kernel_title(d, k);
  put_quoted(s, title, strlen(title));
  sb_printf(s, "; id=\"cluster_k%zu\"; style=\"rounded,filled\"; fillcolor=\"#ddf4ff\"; URL=\"#k%zu\";\n", k, k);
  if (!from->n) sb_printf(s, "    k%zu [label=\"\" shape=point];\n", k);
  for (int i = 0; i < from->n; i++) {
    const char *text = short_origin(d->c, d->p->ir->origins.p[from->origin[i]].text);
    sb_printf(s, "    k%zu_%u [fillcolor=white label=", k, (unsigned)from->origin[i]);
    put_quoted(s, text, 60);
    sb_puts(s, "];\n");
  }
  for (size_t e = 0; e < d->edges->n; e++)
    if (in_kernel(from, d->edges->p[e].from) && in_kernel(from, d->edges->p[e].to))
      sb_printf(s, "    k%zu_%u -> k%zu_%u [color=\"#8c959f\"];\n", k, (unsigned)d->edges->p[e].from, k,
                (unsigned)d->edges->p[e].to);
  sb_puts(s, "  }\n");
}

static void put_kernel(const Dot *d, size_t k) {
  enum { NAMES = 3 };
  Sb label = { 0 };
  if (d->nodes) {
    put_cluster(d, k);
    return;
  }
  sb_puts(&label, kernel_title(d, k));
  sb_printf(d->out, "  k%zu [id=\"box_k%zu\" URL=\"#k%zu\" label=", k, k, k);
  for (int i = 0; i < d->from[k].n && i < NAMES; i++)
    sb_printf(&label, "\n%.60s", short_origin(d->c, d->p->ir->origins.p[d->from[k].origin[i]].text));
  if (d->from[k].n > NAMES) sb_printf(&label, "\nand %d more", d->from[k].n - NAMES);
  Sb quoted = { 0 };
  for (char *line = label.p, *end; line; line = end ? end + 1 : NULL) { /* lines apart, since control characters are escaped */
    end = strchr(line, '\n');
    Sb part = { 0 };
    put_quoted(&part, line, end ? (size_t)(end - line) : strlen(line));
    sb_put(&quoted, part.p + 1, part.n - 2);
    if (end) sb_puts(&quoted, "\\n");
    sb_free(&part);
  }
  sb_printf(d->out, "\"%s\"];\n", quoted.p);
  sb_free(&quoted);
  sb_free(&label);
}

/* The buffer that holds the memory of b */
static int root_of(const IR *ir, int b) {
  while (ir->bufs.p[b].of) b = ir->bufs.p[b].of - 1;
  return b;
}

static void put_value(const Dot *d, const char *kind, const GIO *v, size_t i) {
  const char *text = arena_printf(&d->c->model, "%s %s %s", kind, v->name, type_text(d->c, v->dt, v->rank, v->dims));
  sb_printf(d->out, "  %s%zu [shape=ellipse fillcolor=\"#fff8c5\" label=", kind, i);
  put_quoted(d->out, text, 80);
  sb_puts(d->out, "];\n");
}

static void put_edge(const Dot *d, const char *from, const char *to, const Buf *b) {
  sb_printf(d->out, "  %s -> %s [label=\"%s\"];\n", from, to, bytes_text(d->c, b->elems * dt_bytes(b->dt)));
}

/* Edges from the last kernel that wrote a buffer, or from an input, to each kernel that reads it, and to outputs */
static void put_edges(const Dot *d) {
  const Plan *p = d->p;
  int *writer = ARENA_NEW(&d->c->model, int, p->ir->bufs.n + 1);
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    for (size_t i = 0; i < x->bufs.n; i++) {
      const int b = x->bufs.p[i], r = root_of(p->ir, b);
      const Buf *buf = &p->ir->bufs.p[b];
      bool writes = false;
      for (size_t j = 0; j < x->written.n; j++) writes |= x->written.p[j] == b;
      if (writes) continue;
      if (buf->kind == BUF_INPUT && (size_t)buf->slot < graph_nin(p->g))
        put_edge(d, arena_printf(&d->c->model, "input%lld", (long long)buf->slot), kernel_end(d, k, false), buf);
      else if (writer[r] && (size_t)writer[r] - 1 != k)
        put_edge(d, kernel_end(d, (size_t)writer[r] - 1, true), kernel_end(d, k, false), buf);
    }
    for (size_t j = 0; j < x->written.n; j++) {
      const Buf *buf = &p->ir->bufs.p[x->written.p[j]];
      writer[root_of(p->ir, x->written.p[j])] = (int)k + 1;
      if (buf->kind == BUF_OUTPUT && (size_t)buf->slot < graph_nout(p->g))
        put_edge(d, kernel_end(d, k, true), arena_printf(&d->c->model, "output%lld", (long long)buf->slot), buf);
    }
  }
}

void dot_print(const Plan *p, const NodeEdges *edges, const double *ms, bool nodes, Sb *out) {
  Dot d = { p, p->ir->ctx, kernel_origins(p), edges, ms, nodes, out };
  sb_puts(
      out,
      "digraph model {\n  graph [rankdir=TB fontname=\"sans-serif\" fontsize=11];\n  node [shape=box style=\"rounded,filled\" "
      "fillcolor=\"#ddf4ff\" fontname=\"sans-serif\" fontsize=11];\n  edge [fontname=\"sans-serif\" fontsize=9];\n");
  for (size_t i = 0; i < graph_nin(p->g); i++) put_value(&d, "input", &p->g->inputs.p[i], i);
  for (size_t i = 0; i < graph_nout(p->g); i++) put_value(&d, "output", &p->g->outputs.p[i], i);
  for (size_t k = 0; k < p->kernels.n; k++) put_kernel(&d, k);
  put_edges(&d);
  sb_puts(out, "}\n");
}

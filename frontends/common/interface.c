/* SPDX-License-Identifier: MIT */
/* interface.c: changes of a model's interface: inputs bound to constants, new names, prologues and epilogues from files, and the
 * conversions of convert.c. Each change joins a graph to the model (compose.c). */
#include "interface.h"
#include "compose.h"
#include "names.h"

/* ---- constants ---- */
const ConstInput *const_find(const IoOptions *f, const char *name) {
  for (size_t i = 0; f && i < f->nconsts; i++)
    if (!strcmp(f->consts[i].name, name)) return &f->consts[i];
  return NULL;
}

void consts_check(Ctx *c, const IoOptions *f, const GIO *inputs, size_t n) {
  for (size_t i = 0; f && i < f->nconsts; i++) {
    bool found = false;
    for (size_t k = 0; k < n && !found; k++) found = !strcmp(inputs[k].name, f->consts[i].name);
    if (!found)
      fail(c, EX_USAGE_, "--const: the model has no input '%s'; there are%s", f->consts[i].name,
           graph_names(c, inputs, n, f->consts[i].name));
  }
}

/* The next of several numbers; *at moves behind it */
static int64_t next_bits(Ctx *c, const ConstInput *k, DType d, const char **at) {
  const size_t n = strcspn(*at, ",");
  int64_t bits = 0;
  const char *wrong = n ? literal_parse(d, *at, n, &bits) : "is missing";
  if (wrong) fail(c, EX_USAGE_, "--const %s: '%.*s' %s as %s", k->name, (int)n, *at, wrong, dtype_info[d].text);
  *at += n + ((*at)[n] == ',');
  return bits;
}

Tensor const_input(Ctx *c, const ConstInput *k, const GIO *input) {
  Tensor t = { .dt = input->dt, .rank = input->rank, .elems = dims_elems(input->dims, input->rank), .name = input->name };
  memcpy(t.dims, input->dims, sizeof t.dims);
  if (input->narrow) fail(c, EX_USAGE_, "--const %s: an input of %s cannot be bound", k->name, graph_type(c, input));
  if (k->file) {
    GIO has = { .name = k->name, .dt = k->file->dt, .rank = k->file->rank };
    memcpy(has.dims, k->file->dims, sizeof has.dims);
    if (has.dt != t.dt || has.rank != t.rank || memcmp(has.dims, t.dims, (size_t)t.rank * sizeof *t.dims))
      fail(c, EX_USAGE_, "--const %s: the file has %s, but the input is %s", k->name, graph_type(c, &has), graph_type(c, input));
    t.data = k->file->data;
    t.splat = k->file->splat;
    return t;
  }
  int64_t n = 1, size = dt_bytes(t.dt);
  for (const char *s = k->value; *s; s++) n += *s == ',';
  if (n != 1 && n != t.elems)
    fail(c, EX_USAGE_, "--const %s: %lld values for %s; give one for all elements or one for each", k->name, (long long)n,
         graph_type(c, input));
  const char *at = k->value;
  if (n == 1) {
    t.splat = next_bits(c, k, t.dt, &at);
    return t;
  }
  char *data = ARENA_NEW(&c->model, char, t.elems * size);
  for (int64_t i = 0; i < n; i++) {
    const int64_t bits = next_bits(c, k, t.dt, &at);
    memcpy(data + i * size, &bits, (size_t)size); /* the host is little-endian, as tensors are */
  }
  t.data = data;
  return t;
}

Graph *consts_bind(Ctx *c, const IoOptions *f, Graph *g) {
  consts_check(c, f, g->inputs.p, g->inputs.n);
  for (size_t i = 0; f && i < f->nconsts; i++) {
    Graph *first = graph_new(c, "");
    const GIO *input = graph_find(g->inputs.p, g->inputs.n, f->consts[i].name);
    const Tensor t = const_input(c, &f->consts[i], input);
    graph_output(first, g_weight(first->ir, ir_tensor(first->ir, &t)), input->name);
    Graph *whole = graph_before(c, first, g, "--const");
    graph_free(first);
    graph_free(g);
    g = whole;
  }
  return g;
}

/* ---- names ---- */
static _Noreturn void fail_unknown(Ctx *c, const Graph *g, const char *option, const char *name) {
  Names all = { 0 };
  for (size_t i = 0; i < g->inputs.n; i++) names_add(c, &all, g->inputs.p[i].name);
  for (size_t i = 0; i < graph_nout(g); i++) names_add(c, &all, g->outputs.p[i].name);
  const char *near = names_near(c, &all, name);
  VEC_FREE(&all.p);
  fail(c, EX_USAGE_, "--%s: the model has no input or output '%s'; the inputs are%s, and the outputs are%s%s", option, name,
       graph_names(c, g->inputs.p, g->inputs.n, ""), graph_names(c, g->outputs.p, graph_nout(g), ""), near);
}

static void rename_one(Ctx *c, Graph *g, const char *text) {
  const char *eq = strrchr(text, '=');
  if (!eq || eq == text || !eq[1]) fail(c, EX_USAGE_, "--rename needs OLD=NEW, not '%s'", text);
  const char *old = arena_str(&c->model, text, (size_t)(eq - text)), *new = eq + 1;
  GIO *in = graph_find(g->inputs.p, g->inputs.n, old), *out = graph_find(g->outputs.p, graph_nout(g), old);
  if (!in && !out) fail_unknown(c, g, "rename", old);
  if ((in && graph_find(g->inputs.p, g->inputs.n, new)) || (out && graph_find(g->outputs.p, graph_nout(g), new)))
    fail(c, EX_USAGE_, "--rename %s: the model has another %s '%s'", text, in ? "input" : "output", new);
  if (in) in->name = new;
  if (out) out->name = new;
}

/* ---- all of them ---- */
typedef Graph *Join(Ctx *c, const Graph *a, const Graph *b, const char *what);

static Graph *after(Ctx *c, const Graph *last, const Graph *g, const char *what) { return graph_after(c, g, last, what); }

/* Joins `part` to g, and frees both. */
static Graph *joined(Ctx *c, Join *join, Graph *part, Graph *g, const char *what) {
  Graph *whole = join(c, part, g, what);
  graph_free(part);
  graph_free(g);
  return whole;
}

static Graph *convert(Ctx *c, Graph *g, const char *text) {
  const GIO *best = NULL;
  bool is_input = false;
  size_t n = 0;
  for (size_t i = 0; i < g->inputs.n + graph_nout(g); i++) { /* a name may contain '=': the longest counts */
    const bool in = i < g->inputs.n;
    const GIO *v = in ? &g->inputs.p[i] : &g->outputs.p[i - g->inputs.n];
    const size_t len = strlen(v->name);
    if (strncmp(text, v->name, len) || text[len] != '=' || (best && len <= n)) continue;
    best = v;
    n = len;
    is_input = in;
  }
  const char *name = arena_str(&c->model, text, strcspn(text, "="));
  if (!strchr(text, '=')) fail(c, EX_USAGE_, "--convert needs NAME=FORM, not '%s'", text);
  if (!best) fail_unknown(c, g, "convert", name);
  const char *what = arena_printf(&c->model, "--convert %s", text);
  return is_input ? joined(c, graph_before, convert_input(c, best, text + n + 1, what), g, what)
                  : joined(c, after, convert_output(c, best, text + n + 1, what), g, what);
}

Graph *interface_apply(Ctx *c, const IoOptions *f, Graph *g, Graph *(*load)(Ctx *c, const char *path)) {
  for (size_t i = 0; f && i < f->renames.n; i++) rename_one(c, g, f->renames.p[i]);
  for (size_t i = 0; f && i < f->prologues.n; i++)
    g = joined(c, graph_before, load(c, f->prologues.p[i]), g, f->prologues.p[i]);
  for (size_t i = 0; f && i < f->epilogues.n; i++) g = joined(c, after, load(c, f->epilogues.p[i]), g, f->epilogues.p[i]);
  for (size_t i = 0; f && i < f->converts.n; i++) g = convert(c, g, f->converts.p[i]);
  return g;
}

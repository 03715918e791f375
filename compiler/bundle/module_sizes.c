/* SPDX-License-Identifier: MIT */
/* module_sizes.c: the functions and tables of a range of sizes as LLVM IR, from runtime_stub/sizes.ll.in. The tables are those of
 * size_texts.c.
 *
 * needs: a plan with symbols    gives: texts    breaks: nothing */
#include "bundle.h"

/* A constant of a structure whose first members are i64 and whose other ones are i32 */
static void put_row(Sb *s, const char *type, int wide, int n, const int64_t *member) {
  sb_printf(s, "%s  %%%s { ", s->n ? ",\n" : "", type);
  for (int i = 0; i < n; i++) sb_printf(s, "%si%d %lld", i ? ", " : "", i < wide ? 64 : 32, (long long)member[i]);
  sb_puts(s, " }");
}

static const char *rows_of_sizes(const IR *ir, const int *number) {
  Sb s = { 0 };
  for (size_t i = 0; i < ir->sizes.n || !i; i++) {
    const tgcrt_size none = { 1, 1, 1, TGCRT_SIZE_ALL, 0 }, *x = ir->sizes.n ? &ir->sizes.p[i] : &none;
    put_row(&s, "size", 1, 5, (const int64_t[]){ x->times, x->tile, x->height, x->rule, number[x->of] });
  }
  return sb_keep(&s, &ir->ctx->model);
}

static const char *rows_of_extents(const IR *ir, const int *number) {
  Sb s = { 0 };
  for (size_t i = (size_t)ir->symbols.n; i < ir->extents.n; i++) {
    const Extent *e = &ir->extents.p[i];
    const int64_t row[] = { e->times, e->plus, e->over, e->most, number[e->of], other_extent(e, number) };
    if (number[i]) put_row(&s, "extent", 4, 6, row);
  }
  return sb_keep(&s, &ir->ctx->model);
}

static const char *rows_of_bounds(const IR *ir) {
  Sb s = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) {
    const Symbol *x = &ir->symbols.p[k];
    sb_printf(&s, "%s[3 x i64] [i64 %lld, i64 %lld, i64 %lld]", k ? ", " : "", (long long)x->low, (long long)x->high,
              (long long)x->step);
  }
  return sb_keep(&s, &ir->ctx->model);
}

/* By symbol, its greatest size, or what a run appends to windows that it counts */
static const char *number_of_each(const IR *ir, bool appended) {
  Sb s = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) {
    const Symbol *x = &ir->symbols.p[k];
    sb_printf(&s, "%si64 %lld", k ? ", " : "", (long long)(appended ? x->appended : x->high));
  }
  return sb_keep(&s, &ir->ctx->model);
}

/* By value and axis, 1 + the number of its extent */
static const char *rows_of_axes(const Rendering *r, const GIO *v, size_t n, const int *number) {
  const int axes = size_most_axes(r->p->g);
  Sb s = { 0 };
  for (size_t i = 0; i < n; i++) {
    sb_printf(&s, "  [%d x i16] [", axes);
    for (int a = 0; a < axes; a++)
      sb_printf(&s, "%si16 %d", a ? ", " : "", a < v[i].rank && v[i].open[a] ? 1 + number[v[i].open[a] - 1] : 0);
    sb_puts(&s, "],\n");
  }
  return sb_keep(&s, &r->p->ir->ctx->model);
}

const char *module_sizes(const Rendering *r) {
  const IR *ir = r->p->ir;
  const Graph *g = r->p->g;
  Arena *m = &ir->ctx->model;
  const size_t nin = graph_nin(g), nout = graph_nout(g);
  int derived;
  const int *number = extents_used(ir, g, &derived);
  const Word words[] = {
    { "net", r->o->name },
    { "interface", r->interface },
    { "ir_size", module_size(r->p) },
    { "size_count", size_count(r) },
    { "size_axes", size_axes(r) },
    { "nsizes", size_table(r) },
    { "nderived", arena_printf(m, "%d", derived) },
    { "nextents", arena_printf(m, "%d", ir->symbols.n + derived) },
    { "ir_size_rows", rows_of_sizes(ir, number) },
    { "ir_extent_rows", rows_of_extents(ir, number) },
    { "ir_bounds", rows_of_bounds(ir) },
    { "ir_greatest", number_of_each(ir, false) },
    { "appends", word_if(size_appends(&ir->symbols)) },
    { "ir_appended", number_of_each(ir, true) },
    { "ir_input_rows", arena_printf(m, "%zu", nin + 1) },
    { "ir_output_rows", arena_printf(m, "%zu", nout + 1) },
    { "ir_open_inputs", rows_of_axes(r, g->inputs.p, nin, number) },
    { "ir_open_outputs", rows_of_axes(r, g->outputs.p, nout, number) },
    { NULL, NULL },
  };
  Sb out = { 0 };
  template_expand("sizes.ll.in", words, &out);
  return sb_keep(&out, m);
}

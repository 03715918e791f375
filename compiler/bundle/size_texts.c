/* SPDX-License-Identifier: MIT */
/* size_texts.c: texts in C of a bundle for ranges of sizes. Each symbol has a field and macros. The table of sizes follows, and
 * rows that say which symbol is the extent of an axis.
 *
 * needs: a plan with symbols    gives: texts    breaks: nothing */
#include "bundle.h"

const char **size_fields(const IR *ir) {
  GIO named[SYMBOLS_MOST] = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) named[k].name = ir->symbols.p[k].name;
  return bundle_fields(ir->ctx, named, ir->symbols.n, "size");
}

/* Each name between two texts, with separators */
static const char *listed(const Rendering *r, const char *before, const char *after, const char *between) {
  const IR *ir = r->p->ir;
  const char **name = size_fields(ir);
  Sb s = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) sb_printf(&s, "%s%s%s%s", k ? between : "", before, name[k], after);
  return sb_keep(&s, &ir->ctx->model);
}

const char *size_names(const Rendering *r) { return listed(r, "", "", ", "); }
const char *size_strings(const Rendering *r) { return listed(r, "\"", "\"", ", "); }
const char *size_members(const Rendering *r) { return listed(r, "s->", "", ", "); }

const char *size_count(const Rendering *r) {
  const int n = r->p->ir->symbols.n;
  return arena_printf(&r->p->ir->ctx->model, "%d", n ? n : 1);
}

int64_t size_share(const Rendering *r) {
  const Plan *p = r->p;
  const double alone = tunable(p->ir->ctx, sized_alone);
  double most = 0, entries = 1;
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    const double cycles = kernel_cycles(p->in->target, BY_SIZES, (double)x->flops, (double)(x->bytes_read + x->bytes_written));
    if (x->chunks > 1 && cycles > most) most = cycles;
  }
  for (int k = 0; k < p->ir->symbols.n; k++) entries *= (double)p->ir->symbols.p[k].high;
  return most > alone ? (int64_t)(entries * alone / most) : 1;
}

const char *size_share_text(const Rendering *r) {
  return arena_printf(&r->p->ir->ctx->model, "%lld", (long long)size_share(r));
}

const char *size_sets(const Rendering *r) {
  const IR *ir = r->p->ir;
  const char **name = size_fields(ir);
  Sb s = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) sb_printf(&s, "  s->%s = ctx->size[%d];\n", name[k], k);
  return sb_keep(&s, &ir->ctx->model);
}

const char *size_macros(const Rendering *r) {
  const IR *ir = r->p->ir;
  const char **name = size_fields(ir);
  Sb s = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) {
    const Symbol *x = &ir->symbols.p[k];
    const char *NAME = text_upper(ir->ctx, name[k]);
    sb_printf(&s, "#define %s_%s_LOW %lld\n#define %s_%s_HIGH %lld\n", r->NET, NAME, (long long)x->low, r->NET, NAME,
              (long long)x->high);
    if (x->step > 1) sb_printf(&s, "#define %s_%s_STEP %lld\n", r->NET, NAME, (long long)x->step);
  }
  return sb_keep(&s, &ir->ctx->model);
}

const char *size_bounds(const Rendering *r) {
  const IR *ir = r->p->ir;
  const char **name = size_fields(ir);
  Sb s = { 0 };
  for (int k = 0; k < ir->symbols.n; k++) {
    const char *NAME = text_upper(ir->ctx, name[k]);
    sb_printf(&s, "%s{ %s_%s_LOW, %s_%s_HIGH, %lld }", k ? ", " : "", r->NET, NAME, r->NET, NAME,
              (long long)ir->symbols.p[k].step);
  }
  return sb_keep(&s, &ir->ctx->model);
}

bool size_appends(const Symbols *all) {
  bool any = false;
  for (int k = 0; k < all->n; k++) any |= all->p[k].appended > 0;
  return any;
}

const char *size_appended(const Rendering *r) {
  Sb s = { 0 };
  for (int k = 0; k < r->p->ir->symbols.n; k++)
    sb_printf(&s, "%s%lld", k ? ", " : "", (long long)r->p->ir->symbols.p[k].appended);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

const char *size_rows(const Rendering *r) {
  static const char *const rule[TGCRT_SIZE_RULES] = { "ALL",   "TILES", "LOWER", "ANY",   "START", "HIGH",  "SOME",
                                                      "FIRST", "WHOLE", "BEGIN", "PARTS", "COVER", "SHARE", "LEFT" };
  const IR *ir = r->p->ir;
  Sb s = { 0 };
  int count;
  const int *number = extents_used(ir, r->p->g, &count);
  for (size_t i = 0; i < ir->sizes.n; i++) {
    const tgcrt_size *x = &ir->sizes.p[i];
    sb_printf(&s, "%s  { %lld, %d, %d, TGCRT_SIZE_%s, %d },", i ? "\n" : "", (long long)x->times, (int)x->tile, (int)x->height,
              rule[x->rule], number[x->of]);
  }
  if (!ir->sizes.n) sb_puts(&s, "  { 1, 1, 1, TGCRT_SIZE_ALL, 0 },");
  return sb_keep(&s, &ir->ctx->model);
}

int64_t size_rows_count(const IR *ir) { return (int64_t)(ir->sizes.n + !ir->sizes.n); }

const char *size_table(const Rendering *r) {
  return arena_printf(&r->p->ir->ctx->model, "%lld", (long long)size_rows_count(r->p->ir));
}

/* A template with the functions of sizes: in bundles for CPUs and for devices */
static const char *functions_of(const Rendering *r, const char *name) {
  const bool device = r->o->backend->device != NULL;
  Arena *m = &r->p->ir->ctx->model;
  const Word words[] = {
    { "net", r->o->name },
    { "NET", r->NET },
    { "device", word_if(device) },
    { "size_rows", size_rows(r) },
    { "size_bounds", size_bounds(r) },
    { "size_count", size_count(r) },
    { "size_members", size_members(r) },
    { "size_sets", size_sets(r) },
    { "size_appended", size_appended(r) },
    { "size_axes", size_axes(r) },
    { "appends", word_if(size_appends(&r->p->ir->symbols)) },
    { "derived", word_if(size_extents(r)) },
    { "nextents", arena_printf(m, "%d", r->p->ir->symbols.n + size_extents(r)) },
    { "extent_rows", size_extent_rows(r) },
    { "open_inputs", size_inputs(r) },
    { "open_outputs", size_outputs(r) },
    { NULL, NULL },
  };
  Sb out = { 0 };
  template_expand(name, words, &out);
  return sb_keep(&out, m);
}

const char *size_functions(const Rendering *r) { return functions_of(r, "sizes.c.in"); }
const char *size_dims_functions(const Rendering *r) { return functions_of(r, "dims.c.in"); }

int size_extents(const Rendering *r) {
  int count = 0;
  extents_used(r->p->ir, r->p->g, &count);
  return count;
}

int other_extent(const Extent *e, const int *number) {
  const int row = e->by ? 1 + number[extent_other(e)] : 0;
  return e->by < 0 ? -row : row;
}

const char *size_extent_rows(const Rendering *r) {
  const IR *ir = r->p->ir;
  Sb s = { 0 };
  int count;
  const int *number = extents_used(ir, r->p->g, &count);
  for (size_t i = (size_t)ir->symbols.n; i < ir->extents.n; i++) {
    const Extent *e = &ir->extents.p[i];
    if (number[i])
      sb_printf(&s, "%s  { %lld, %lld, %lld, %lld, %d, %d },", s.n ? "\n" : "", (long long)e->times, (long long)e->plus,
                (long long)e->over, (long long)e->most, number[e->of], other_extent(e, number));
  }
  return sb_keep(&s, &ir->ctx->model);
}

int size_most_axes(const Graph *g) {
  int most = 1;
  for (size_t i = 0; i < g->inputs.n; i++) most = g->inputs.p[i].rank > most ? g->inputs.p[i].rank : most;
  for (size_t i = 0; i < g->outputs.n; i++) most = g->outputs.p[i].rank > most ? g->outputs.p[i].rank : most;
  return most;
}

const char *size_axes(const Rendering *r) { return arena_printf(&r->p->ir->ctx->model, "%d", size_most_axes(r->p->g)); }

/* A row for each value: by axis, 1 + the number of its extent */
static const char *open_text(const Rendering *r, const GIO *v, size_t n) {
  Sb s = { 0 };
  int count;
  const int *number = extents_used(r->p->ir, r->p->g, &count);
  for (size_t i = 0; i < n; i++) {
    sb_puts(&s, "{ ");
    for (int a = 0; a < v[i].rank || !a; a++)
      sb_printf(&s, "%s%d", a ? ", " : "", a < v[i].rank && v[i].open[a] ? 1 + number[v[i].open[a] - 1] : 0);
    sb_puts(&s, " }, ");
  }
  return sb_keep(&s, &r->p->ir->ctx->model);
}

const char *size_inputs(const Rendering *r) { return open_text(r, r->p->g->inputs.p, graph_nin(r->p->g)); }
const char *size_outputs(const Rendering *r) { return open_text(r, r->p->g->outputs.p, graph_nout(r->p->g)); }

/* For the program that checks a bundle: elements of a value besides those along symbols, and how often each symbol is an axis */
void size_slot(Sb *s, const IR *ir, const GIO *v) {
  long long elems = (long long)dims_elems(v->dims, v->rank);
  int times[SYMBOLS_MOST] = { 0 };
  for (int a = 0; a < v->rank; a++) {
    if (!v->open[a] || v->open[a] > ir->symbols.n) continue; /* check.c asks for extents that follow from sizes */
    times[v->open[a] - 1]++;
    elems /= (long long)v->dims[a];
  }
  sb_printf(s, ", %lld, { ", elems);
  for (int k = 0; k < ir->symbols.n; k++) sb_printf(s, "%s%d", k ? ", " : "", times[k]);
  sb_puts(s, " }");
}

/* SPDX-License-Identifier: MIT */
/* inspect.c: tgc inspect: a model's interface, operators, cost, kernels and memory. The pieces also serve --explain and --json
 * of other verbs. */
#include "../cmd.h"
#include "../../compiler/graph/contraction.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/lower/lower.h"
#include <string.h>

/* ---- the graph ---- */
static void print_values(Ctx *c, const Options *o, const char *kind, const GIO *v, size_t n) {
  for (size_t i = 0; i < n; i++)
    print_cut(o, arena_printf(&c->model, "%-7s %s %s", kind, v[i].name, type_text(c, v[i].dt, v[i].rank, v[i].dims)));
}

void print_interface(Ctx *c, const Options *o, const Graph *g) {
  print_values(c, o, "input", g->inputs.p, graph_nin(g));
  print_values(c, o, "output", g->outputs.p, graph_nout(g));
  print_values(c, o, "state", g->inputs.p + graph_nin(g), g->states.n);
}

/* counts the nodes of each op below the outputs; returns their sum */
static size_t count_ops(const Graph *g, int count[OP_COUNT]) {
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  memset(count, 0, OP_COUNT * sizeof *count);
  for (size_t i = 0; i < order.n; i++) count[node(g->ir, order.p[i])->op]++;
  size_t n = order.n;
  VEC_FREE(&roots);
  VEC_FREE(&order);
  return n;
}

static json_t *values_json(const GIO *v, size_t n) {
  json_t *j = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(j, json_pack("{s:o, s:s, s:o}", "name", json_text(v[i].name), "type", dtype_info[v[i].dt].text, "shape",
                                       json_dims(v[i].rank, v[i].dims)));
  return j;
}

json_t *graph_json(const Graph *g) {
  int count[OP_COUNT];
  json_t *ops = json_object();
  size_t n = count_ops(g, count);
  for (int i = 0; i < OP_COUNT; i++)
    if (count[i]) json_object_set_new(ops, op_info[i].name, json_integer(count[i]));
  return json_pack("{s:o, s:o, s:o, s:o, s:I}", "inputs", values_json(g->inputs.p, graph_nin(g)), "outputs",
                   values_json(g->outputs.p, graph_nout(g)), "states", values_json(g->inputs.p + graph_nin(g), g->states.n),
                   "ops", ops, "nodes", (json_int_t)n);
}

/* how the accesses of a kernel were proved to be inside their buffers */
static void print_bounds(const KernelBounds *b) {
  const int64_t proved = b->accesses - b->clamped;
  printf("  bounds: %lld access%s proved", (long long)proved, proved == 1 ? "" : "es");
  if (b->by_ranges) printf(", %lld of them by evaluating the values of loops", (long long)b->by_ranges);
  if (b->clamped) printf("; %lld clamped", (long long)b->clamped);
  putchar('\n');
}

/* ---- launches of a device ---- */
/* Variables that hold partial sums in each thread: a lower limit of its registers */
static int64_t accumulators(const IR *ir, const Launch *l) {
  int64_t n = 0;
  for (size_t i = 0; i < l->prog.n; i++)
    if (node(ir, l->prog.p[i])->op == OP_ACC) n += node(ir, l->prog.p[i])->lanes;
  return n;
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static void print_extents(const int64_t *v, const char *unit) {
  printf("%lld", (long long)v[0]);
  for (int k = 1; k < 3; k++)
    if (v[1] > 1 || v[2] > 1) printf(" x %lld", (long long)v[k]);
  printf(" %s%s", unit, v[0] * v[1] * v[2] == 1 ? "" : "s");
}

/* Registers and local memory of a launch's compiled function, by architecture, as the manifest has them */
static void print_uses(Ctx *c, const json_t *launch) {
  const char *arch;
  const json_t *u;
  json_object_foreach(json_object_get(launch, "uses"), arch, u) {
    printf("    %s: %s a thread", arch, count_noun(&c->model, json_integer_value(json_object_get(u, "registers")), "register"));
    const int64_t local = json_integer_value(json_object_get(u, "local_bytes"));
    if (local) printf(", %s of local memory, for spills and arrays", bytes_text(c, local));
    putchar('\n');
  }
}

static void print_launches(const Plan *p, const Kernel *x, const json_t *launches) {
  const Device *d = p->in->target->dev;
  Launches all = { 0 };
  kernel_launches(p, x, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Launch *l = &all.p[i];
    const LaunchTraffic t = interp_traffic(p->ir, l, d);
    const int64_t sums = accumulators(p->ir, l);
    printf("  launch %zu: ", i);
    print_extents(l->grid, "block");
    printf(" of ");
    print_extents(l->block, "thread");
    if (sums) printf(", accumulators: %lld", (long long)sums);
    if (l->shared_bytes) printf(", %s of shared memory", bytes_text(p->ir->ctx, l->shared_bytes));
    printf("\n    %s by %.1f sectors a request of %d threads", bytes_text(p->ir->ctx, (int64_t)t.bytes),
           ratio(t.sectors, t.requests), t.warp);
    if (t.shared > 0) printf("; shared memory: %.2f conflicts a request", ratio(t.conflicts, t.shared));
    putchar('\n');
    print_uses(p->ir->ctx, json_array_get(launches, i));
  }
  launches_free(&all);
}

/* Adds the cost of accesses to each launch, in the manifest's order. */
static void add_traffic(const Plan *p, json_t *kernels) {
  for (size_t k = 0; k < p->kernels.n && target_has_threads(p->in->target); k++) {
    json_t *list = json_object_get(json_array_get(kernels, k), "launches");
    Launches all = { 0 };
    kernel_launches(p, &p->kernels.p[k], &all);
    for (size_t i = 0; i < all.n; i++) {
      const LaunchTraffic t = interp_traffic(p->ir, &all.p[i], p->in->target->dev);
      json_t *more = json_pack("{s:I, s:i, s:f, s:f, s:f}", "accumulators", (json_int_t)accumulators(p->ir, &all.p[i]), "warp",
                               t.warp, "bytes_moved", t.bytes, "sectors_per_request", ratio(t.sectors, t.requests),
                               "conflicts_per_request", ratio(t.conflicts, t.shared));
      json_object_update_new(json_array_get(list, i), more);
    }
    launches_free(&all);
  }
}

/* ---- the plan ---- */
void print_kernels(const Options *o, const Plan *p, const json_t *kernels) {
  const KernelOrigins *from = kernel_origins(p);
  Ctx *c = p->ir->ctx;
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    if (x->group_size > 1)
      printf("k%zu to k%zu run together: %d chunks; a thread takes %d at a time\n", k, k + (size_t)x->group_size - 1, x->chunks,
             x->chunks_per_task);
    printf("k%zu: %lld flops, reads %s, writes %s\n", k, (long long)x->flops, bytes_text(p->ir->ctx, x->bytes_read),
           bytes_text(c, x->bytes_written));
    for (int i = 0; i < from[k].n; i++)
      print_cut(o, arena_printf(&c->model, "  from %s", p->ir->origins.p[from[k].origin[i]].text));
    if (x->schedule && *x->schedule)
      print_cut(o, arena_printf(&c->model, "  schedule%s%s", *x->schedule == ' ' ? "" : " ", x->schedule));
    for (size_t i = 0; i < x->nests.n; i++)
      if (x->nests.p[i].measured) print_cut(o, arena_printf(&c->model, "  measured %s", x->nests.p[i].measured));
    if (x->bounds.accesses) print_bounds(&x->bounds);
    if (target_has_threads(p->in->target)) print_launches(p, x, json_object_get(json_array_get(kernels, k), "launches"));
  }
}

/* ---- layouts, and data that is only moved ---- */
static void print_layouts(const Options *o, const Plan *p) {
  const IR *ir = p->ir;
  puts("layouts:");
  for (size_t i = 0; i < p->layouts.n; i++) {
    const Layout *l = &p->layouts.p[i];
    const Node *x = node(ir, l->value);
    Sb where = { 0 };
    layout_print(ir, l, &where);
    const char *from = ir->origins.p[x->origin].text;
    print_cut(o, arena_printf(&ir->ctx->model, "  %s%s%s%s", type_text(ir->ctx, (DType)x->dt, x->rank, x->dims), where.p,
                              from ? " from " : "", from ? from : ""));
    sb_free(&where);
  }
  if (p->layouts.cost[0] > 0)
    print_words(arena_printf(&ir->ctx->model, "cost %.4g instructions, %.4g if layouts were chosen value by value",
                             p->layouts.cost[1], p->layouts.cost[0]), 2, 0, terminal_room(o));
}

/* bytes that kernels without arithmetic read and write */
static int64_t moved_bytes(const Plan *p) {
  int64_t bytes = 0;
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].moves) bytes += p->kernels.p[k].bytes_read + p->kernels.p[k].bytes_written;
  return bytes;
}

static void print_moves(const Plan *p, int64_t all) {
  int n = 0;
  puts("kernels that only copy, select or convert elements, or fill memory:");
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    if (!x->moves) continue;
    printf("  k%zu reads %s, writes %s\n", k, bytes_text(p->ir->ctx, x->bytes_read), bytes_text(p->ir->ctx, x->bytes_written));
    n++;
  }
  int64_t bytes = moved_bytes(p);
  printf("  %d of %s, %s, %.1f %% of what all kernels read and write\n", n,
         count_noun(&p->ir->ctx->model, (int64_t)p->kernels.n, "kernel"), bytes_text(p->ir->ctx, bytes),
         all ? 100.0 * (double)bytes / (double)all : 0.0);
}

static void print_memory(const Options *o, const Plan *p) {
  const Life *l = buffer_lives(p);
  Ctx *c = p->ir->ctx;
  Table t = { .c = c, .o = o, .format = ">><" };
  puts("memory plan (arena):");
  for (size_t i = 0; i < p->ir->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[i];
    if (b->kind != BUF_ARENA || l[i].first < 0) continue;
    table_row(&t, arena_printf(&c->model, "  %lld", (long long)b->offset),
              arena_printf(&c->model, "%lld bytes", (long long)b->elems * dt_bytes(b->dt)),
              arena_printf(&c->model, "k%d to k%d", l[i].first, l[i].last));
  }
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const StatePlace *s = &p->memory.states.p[k];
    const char *how = p->g->states.p[k].axis >= 0 ? "a window" : s->slots > 1 ? "alternating" : "in place";
    table_row(&t, arena_printf(&c->model, "  %lld", (long long)(p->memory.state_at + s->at)),
              arena_printf(&c->model, "%lld bytes", (long long)(s->outer * s->block)), arena_printf(&c->model, "state %s, %s",
              p->g->inputs.p[graph_nin(p->g) + k].name, how));
  }
  table_print(&t);
}

static json_t *memory_json(const Plan *p) {
  const Life *l = buffer_lives(p);
  json_t *j = json_array();
  for (size_t i = 0; i < p->ir->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[i];
    if (l[i].first < 0) continue;
    json_array_append_new(j, json_pack("{s:s, s:s, s:I, s:I, s:i, s:i}", "kind", buf_kind_name[b->kind], "type",
                                       dtype_info[b->dt].text, "bytes", (json_int_t)b->elems * dt_bytes(b->dt), "offset",
                                       (json_int_t)b->offset, "first_kernel", l[i].first, "last_kernel", l[i].last));
  }
  return j;
}

static json_t *layouts_json(const Plan *p) {
  json_t *list = json_array();
  for (size_t i = 0; i < p->layouts.n; i++) {
    const Layout *l = &p->layouts.p[i];
    const Node *x = node(p->ir, l->value);
    const char *from = p->ir->origins.p[x->origin].text;
    json_array_append_new(list, json_pack("{s:o, s:s, s:o, s:i, s:I, s:o}", "node", json_text(from ? from : ""), "type",
                                          dtype_info[x->dt].text, "shape", json_dims(x->rank, x->dims), "buffer", l->buf,
                                          "offset", (json_int_t)l->offset, "strides", json_dims(x->rank, l->stride)));
  }
  return list;
}

/* On a device, some multiply-adds read a factor from a panel in shared memory. */
static void print_products(const Plan *p) {
  if (!p->in->target->dev) return;
  const Products sum = plan_products(p);
  if (sum.all > 0)
    printf("products %.3f million multiply-adds, %.1f %% of them in tiles with panels in shared memory", sum.all / 1e6,
           100 * sum.staged / sum.all);
  if (sum.matrix > 0) printf(", %.1f %% by matrix instructions", 100 * sum.matrix / sum.all);
  if (sum.all > 0) puts("");
}

static json_t *products_json(const Plan *p) {
  const Products sum = plan_products(p);
  return json_pack("{s:f, s:f, s:f}", "all", sum.all, "staged", sum.staged, "matrix", sum.matrix);
}

typedef struct Cost {
  int64_t flops, read, written;
} Cost;
static Cost cost_of(const Plan *p) {
  Cost s = { 0, 0, 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    s.flops += p->kernels.p[k].flops;
    s.read += p->kernels.p[k].bytes_read;
    s.written += p->kernels.p[k].bytes_written;
  }
  return s;
}

/* No run takes less: each kernel waits for its bytes or for its arithmetic. 0: the machine's speed is not known */
static double least_seconds(const Plan *p) {
  const Device *d = p->in->target->dev;
  double sum = 0;
  for (size_t k = 0; d && d->gigabytes && k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    const double memory = (double)(x->bytes_read + x->bytes_written) / d->gigabytes, flops = (double)x->flops / d->gigaflops;
    sum += (memory > flops ? memory : flops) / 1e9;
  }
  return sum;
}

/* The sums of products, as the front end made them. */
static json_t *find_contractions(const Graph *g) {
  Refs order = { 0 }, roots = { 0 };
  json_t *list = json_array();
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    Contraction x;
    Sb text = { 0 };
    if (!contraction_find(g->ir, order.p[i], &x)) continue;
    contraction_print(g->ir, &x, &text);
    Pos at = ir_pos(g->ir, order.p[i]);
    json_array_append_new(list, json_pack("{s:o, s:o}", "node", json_text(at.node ? at.node : "reduce"), "ranges",
                                          json_text(text.p ? text.p : "")));
    sb_free(&text);
  }
  VEC_FREE(&order);
  VEC_FREE(&roots);
  return list;
}

static void print_contractions(Ctx *c, const Options *o, json_t *list) {
  size_t i;
  json_t *x;
  if (json_array_size(list)) puts("contractions:");
  json_array_foreach(list, i, x)
    print_cut(o, arena_printf(&c->model, "  %s: %s", json_string_value(json_object_get(x, "node")),
                              json_string_value(json_object_get(x, "ranges"))));
}

/* ---- budgets ---- */

/* Compares what a command knows without running the model with --limit and --baseline. Returns the exit code. */
static int check_limits(Ctx *c, const Options *o, int64_t arena, int64_t weights, size_t kernels, json_t *report) {
  Checks k = { 0 };
  Measures m = { .value = { [LIMIT_ARENA] = (double)arena, [LIMIT_WEIGHTS] = (double)weights, [LIMIT_KERNELS] = (double)kernels },
                 .known = { [LIMIT_ARENA] = true, [LIMIT_WEIGHTS] = true, [LIMIT_KERNELS] = true },
                 .note = "" },
           limits, old;
  const char *machine;
  if (limits_read(c, o, &limits, &old, &machine)) limits_check(c, o, &m, &limits, &old, &k);
  if (report) json_object_set_new(report, "checks", checks_json(&k));
  else checks_print(c, o, &k, 0);
  checks_write(c, o, &k, 0);
  const int code = k.failed ? EX_FAILED : EX_DONE;
  checks_free(&k);
  return code;
}

/* ---- a bundle ---- */
/* The facts that the manifest of a bundle has */
static int inspect_bundle(Ctx *c, const Options *o) {
  Interface f = interface_read(c, o, o->model);
  json_t *manifest = manifest_read(c, o->model), *report = o->json ? json_report("inspect", o->model) : NULL;
  const Layers l = layers_of_manifest(c, manifest);
  Cost cost = { 0, 0, 0 };
  for (size_t k = 0; k < l.n; k++) {
    cost.flops += l.p[k].flops;
    cost.read += l.p[k].read;
    cost.written += l.p[k].written;
  }
  if (report) {
    static const char *const copied[] = { "inputs", "outputs", "states", "kernels",   "arena_bytes", "weight_bytes", "options",
                                          "errors", "source",  "files",  "schedules", "bounds",      "version", "sizes" };
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
      if (json_object_get(manifest, copied[i])) json_object_set(report, copied[i], json_object_get(manifest, copied[i]));
    json_object_update_new(report, json_pack("{s:s, s:I, s:I, s:I}", "isa", f.target->isa, "flops", (json_int_t)cost.flops,
                                             "bytes_read", (json_int_t)cost.read, "bytes_written", (json_int_t)cost.written));
  } else {
    print_values(c, o, "input", f.inputs.p, f.inputs.n);
    print_values(c, o, "output", f.outputs.p, f.outputs.n);
    for (int k = 0; k < f.symbols.n; k++) {
      const Symbol *s = &f.symbols.p[k];
      print_cut(o, arena_printf(&c->model, "sizes   %s from %lld to %lld%s; shapes above are those of %lld", s->name,
                                (long long)s->low, (long long)s->high,
                                s->step > 1 ? arena_printf(&c->model, " in steps of %lld", (long long)s->step) : "",
                                (long long)f.sizes[k]));
    }
    printf("kernels %zu for %s\ncost    %s, reads %s, writes %s\narena   %s\nweights %s\n", l.n, f.target->isa,
           count_text(c, (double)cost.flops, "flop"), bytes_text(c, cost.read), bytes_text(c, cost.written),
           bytes_text(c, f.arena_bytes), bytes_text(c, f.weight_bytes));
    for (size_t k = 0; o->explain && k < l.n; k++) {
      printf("k%zu: %lld flops, reads %s, writes %s\n", k, (long long)l.p[k].flops, bytes_text(c, l.p[k].read),
             bytes_text(c, l.p[k].written));
      for (size_t i = 0; i < l.p[k].nnodes; i++) print_cut(o, arena_printf(&c->model, "  from %s", l.p[k].nodes[i]));
      if (*l.p[k].schedule) print_cut(o, arena_printf(&c->model, "  schedule %s", l.p[k].schedule));
    }
  }
  const int code = check_limits(c, o, f.arena_bytes, f.weight_bytes, l.n, report);
  if (report) json_print(report);
  json_decref(manifest);
  interface_free(&f);
  return code;
}

static double sum_of(const Plan *p, const ProgramTime *ms) {
  double sum = 0;
  for (size_t k = 0; k < p->kernels.n; k++) sum += ms[k].total;
  return sum;
}

static void add_predicted(Ctx *c, const Plan *p, const ProgramTime *ms, json_t *report) {
  for (size_t k = 0; k < p->kernels.n; k++)
    json_object_set_new(json_array_get(json_object_get(report, "kernels"), k), "predicted", predicted_json(&ms[k]));
  json_object_set_new(report, "predicted", json_pack("{s:s, s:f}", "machine", predict_facts(c, p->in->target)->name, "ms",
                                                     sum_of(p, ms)));
}

/* Multiplications of runs with the least and the greatest sizes */
static void multiplications_of(const Plan *p, double n[2]) {
  RunSizes run[2] = { 0 };
  greatest_sizes(&p->ir->symbols, run[1]);
  for (int i = 0; i < p->ir->symbols.n; i++) run[0][i] = p->ir->symbols.p[i].low;
  for (int i = 0; i < 2; i++) n[i] = plan_multiplications(p, run[i]);
}

typedef struct Inspected {   /* the contents of the report */
  const Plan *p;
  Cost cost;
  double products[2];        /* multiplications at the least sizes and at the greatest */
  const ProgramTime *predicted; /* NULL: not asked for */
  json_t *contractions;
  json_t *kernels;           /* NULL: only text is printed, without compiled kernels */
} Inspected;

static int inspect_json(Ctx *c, const Options *o, const Inspected *x, json_t *report) {
  const Plan *p = x->p;
  const Cost *cost = &x->cost;
  json_object_update_new(
      report, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "isa", p->in->target->isa, "optimize",
                        optimize_name[p->in->optimize], "flops", (json_int_t)cost->flops, "bytes_read", (json_int_t)cost->read,
                        "bytes_written", (json_int_t)cost->written, "arena_bytes", (json_int_t)p->memory.arena_bytes,
                        "arena_bound", (json_int_t)p->memory.arena_bound, "weight_bytes", (json_int_t)p->weights.bytes,
                        "kernels", x->kernels, "buffers", memory_json(p)));
  add_traffic(p, json_object_get(report, "kernels"));
  if (x->predicted) add_predicted(c, p, x->predicted, report);
  json_object_set_new(report, "contractions", x->contractions);
  json_object_set_new(report, "layouts", layouts_json(p));
  json_object_set_new(report, "moved_bytes", json_integer(moved_bytes(p)));
  json_object_set_new(report, "multiplications",
                      json_pack("{s:f, s:f}", "least", x->products[0], "greatest", x->products[1]));
  if (p->in->target->dev) json_object_set_new(report, "products", products_json(p));
  if (least_seconds(p) > 0) json_object_set_new(report, "least_seconds", json_real(least_seconds(p)));
  const int code = check_limits(c, o, p->memory.arena_bytes, p->weights.bytes, p->kernels.n, report);
  json_print(report);
  return code;
}

/* n: number of nodes before any pass, and by op */
static void print_ops(const Options *o, size_t n, const int count[OP_COUNT]) {
  Sb ops = { 0 };
  for (int i = 0; i < OP_COUNT; i++)
    if (count[i]) sb_printf(&ops, "%s%s\t%d", ops.n ? " " : "", op_info[i].name, count[i]);
  print_words(ops.n ? ops.p : "", 8, printf("nodes   %zu: ", n), terminal_room(o));
  sb_free(&ops);
}

static void print_plan(Ctx *c, const Options *o, const Inspected *x) {
  const Plan *p = x->p;
  const Target *t = p->in->target;
  const Cost *cost = &x->cost;
  printf("kernels %zu for %s\ncost    %s, reads %s, writes %s\narena   %s (at least %s)\nweights %s\n", p->kernels.n, t->isa,
         count_text(c, (double)cost->flops, "flop"), bytes_text(c, cost->read), bytes_text(c, cost->written),
         bytes_text(c, p->memory.arena_bytes), bytes_text(c, p->memory.arena_bound), bytes_text(c, p->weights.bytes));
  print_products(p);
  if (p->ir->symbols.n)
    printf("sizes   %s at the least sizes, %s at the greatest\n", count_text(c, x->products[0], "multiplication"),
           count_text(c, x->products[1], "multiplication"));
  if (x->predicted)
    printf("time    %s predicted for one core of the machine '%s'\n", time_text(c, sum_of(p, x->predicted)),
           predict_facts(c, t)->name);
  if (least_seconds(p) > 0)
    printf("bound   %s by %d GB/s and %d GFLOP/s\n", time_text(c, least_seconds(p) * 1e3), t->dev->gigabytes, t->dev->gigaflops);
  if (!o->explain) return;
  print_contractions(c, o, x->contractions);
  print_kernels(o, p, x->kernels);
  print_layouts(o, p);
  print_moves(p, cost->read + cost->written);
  print_memory(o, p);
}

int verb_inspect(Ctx *c, const Options *o) {
  if (o->tunables) return tunables_list(c, o);
  if (is_bundle(o->model)) return inspect_bundle(c, o);
  const Target *t = target_of(c, o);
  Graph *g = load_graph(c, o, NULL);
  int count[OP_COUNT];
  size_t n = count_ops(g, count); /* before any pass */
  Inspected x = { .contractions = find_contractions(g) };
  json_t *report = o->json ? json_report("inspect", o->model) : NULL;
  if (report) json_object_update_new(report, graph_json(g));
  const Plan *p = x.p = plan_of(o, g, t, NULL);
  x.cost = cost_of(p);
  multiplications_of(p, x.products);
  if (o->predict) x.predicted = predict_ms(c, p);
  x.kernels = o->archs ? compiled_kernels(c, o, p) : report ? json_kernels(p) : NULL;
  if (report) return inspect_json(c, o, &x, report);
  print_interface(c, o, p->g);
  print_ops(o, n, count);
  print_plan(c, o, &x);
  json_decref(x.contractions);
  json_decref(x.kernels);
  return check_limits(c, o, p->memory.arena_bytes, p->weights.bytes, p->kernels.n, NULL);
}

/* SPDX-License-Identifier: MIT */
/* job_nest.c: the candidates of a nest as files of a job: a C file and the weights that the nest reads. For a device the C file
 * has the text of the kernels, and tables of their launches. A batch writes the files, because lowering a candidate may end the
 * process. runtime_stub/tune_job.h describes the tables.
 *
 * needs: programs of candidates    gives: a C file, a file of weights, a file for the device's compiler where it has one */
#include "../bundle/bundle.h"
#include "../lower/lower.h"
#include "batch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Held {
  int64_t tensor;
  size_t at;
} Held; /* a tensor in the file of weights */
typedef struct JobNest {
  Batch *b;
  const char *name; /* "nest3" */
  VEC(int) bufs;    /* the IR's numbers of the nest's buffers */
  VEC(Held) held;
  Sb weights, code, tables, rows; /* code: of the backend; rows: of candidates */
} JobNest;

static uint32_t buffer_number(JobNest *n, int buf) {
  for (size_t i = 0; i < n->bufs.n; i++)
    if (n->bufs.p[i] == buf) return (uint32_t)i;
  VEC_PUSH(&n->bufs, buf);
  return (uint32_t)n->bufs.n - 1;
}

/* The schedule's text; the last kernel is the reference. */
static const char *opts_at(const JobNest *n, size_t i) {
  const Batch *b = n->b;
  return i < b->kept.n ? b->task->cand.p[place_in_task(b, (int)i)].opts : "{ }";
}

/* ---- weights: each tensor once, as it is in the model ---- */
static int64_t hold(JobNest *n, int64_t tensor) {
  const Tensor *t = &n->b->lab->ir->tensors.p[tensor];
  for (size_t i = 0; i < n->held.n; i++)
    if (n->held.p[i].tensor == tensor) return (int64_t)n->held.p[i].at;
  if (!t->data) return -1;
  VEC_PUSH(&n->held, ((Held){ tensor, n->weights.n }));
  sb_put(&n->weights, t->data, (size_t)(t->elems * dt_bytes(t->dt)));
  return (int64_t)n->held.p[n->held.n - 1].at;
}

static void put_list(Sb *o, const char *name, const int64_t *v, int n) {
  sb_printf(o, ", .%s = {", name);
  for (int i = 0; i < n; i++) sb_printf(o, "%s%lld", i ? ", " : " ", (long long)v[i]);
  sb_puts(o, n ? " }" : "0}");
}

static void put_packed(JobNest *n, size_t number, const Packed *k) {
  Sb *o = &n->tables;
  sb_printf(o, "static const tune_packed packed%zu = { .base = %lld, .closed = %lld, .n = %d", number, (long long)k->base,
            (long long)k->closed, k->n);
  put_list(o, "extent", k->extent, k->n);
  put_list(o, "coef", k->coef, k->n);
  put_list(o, "gate", k->gate, k->n);
  sb_puts(o, " };\n");
}

static int exponent_bits(DType d) { return d == DT_F64 ? 11 : d == DT_F16 ? 5 : dt_float(d) ? 8 : 0; }

static bool is_written(const JobNest *n, int buf) {
  const Kernel *reference = &n->b->plan.kernels.p[n->b->plan.kernels.n - 1];
  bool any = false;
  for (size_t i = 0; i < reference->written.n; i++) any |= reference->written.p[i] == buf;
  return any;
}

static void put_buffers(JobNest *n) {
  const IR *ir = n->b->lab->ir;
  Sb rows = { 0 };
  for (size_t i = 0; i < n->bufs.n; i++) {
    const Buf *x = &ir->bufs.p[n->bufs.p[i]];
    const bool weight = x->kind == BUF_WEIGHT;
    const int64_t from = weight ? hold(n, x->slot) : -1;
    const Packed *packed = x->packed && from >= 0 ? &n->b->plan.weights.packed.p[x->packed - 1] : NULL;
    if (packed) put_packed(n, i, packed);
    sb_printf(&rows, "  { '%c', %d, %d, %d, %d, %lld, %lld, %s },\n", dtype_info[x->dt].cls, dt_bytes(x->dt),
              exponent_bits(x->dt), weight, is_written(n, n->bufs.p[i]), (long long)x->elems, (long long)from,
              packed ? arena_printf(&n->b->lab->ctx->model, "&packed%zu", i) : "NULL");
  }
  sb_printf(&n->tables,
            "static const tune_buffer buffers[] = { /* type, bytes, exponent, weight, written, elements, from, packed */\n%s};\n",
            rows.p ? rows.p : "");
  sb_free(&rows);
}

/* ---- candidates on a CPU ---- */
static void put_host(JobNest *n) {
  const Plan *p = &n->b->plan;
  write_source(n->b, 0, (int)p->kernels.n, &n->code);
  for (size_t i = 0; i < p->kernels.n; i++) {
    const Kernel *k = &p->kernels.p[i];
    sb_printf(&n->tables, "static const uint32_t memory%zu[] = { ", i);
    for (size_t j = 0; j < k->bufs.n; j++) sb_printf(&n->tables, "%u, ", buffer_number(n, k->bufs.p[j]));
    sb_puts(&n->tables, "0 };\n");
    sb_printf(&n->rows, "  { .opts = \"%s\", .run = c%zu, .buffers = memory%zu, .nbuffers = %zu },\n", opts_at(n, i), i, i,
              k->bufs.n);
  }
}

/* ---- candidates on a device ---- */
static void add_launch(JobNest *n, const Kernel *k, size_t index, const Launch *l, DeviceTables *t) {
  const IR *ir = n->b->lab->ir;
  uint8_t *use = buffer_uses(ir, l->prog.p, l->prog.n);
  tgcrt_launch row = { .function = (uint32_t)t->functions.n, .first = (uint32_t)t->places.n };
  VEC_PUSH(&t->functions, device_function(ir->ctx, k->code, index, launch_exchange(ir, &l->prog)));
  for (size_t i = 0; i < k->bufs.n; i++) {
    if (!use[k->bufs.p[i]]) continue;
    const bool weight = ir->bufs.p[k->bufs.p[i]].kind == BUF_WEIGHT;
    VEC_PUSH(&t->places, ((tgcrt_place){ weight ? TGCRT_PLACE_WEIGHTS : TGCRT_PLACE_WORK, buffer_number(n, k->bufs.p[i]), 0 }));
  }
  row.n = (uint32_t)t->places.n - row.first;
  for (int i = 0; i < 3; i++) row.grid[i] = (uint32_t)l->grid[i], row.block[i] = (uint32_t)l->block[i];
  VEC_PUSH(&t->launches, row);
  note_needs(&n->b->plan, l, t);
  free(use);
}

static void put_candidate(JobNest *n, size_t i, const Kernel *k, uint32_t *needs) {
  Ctx *c = n->b->lab->ctx;
  DeviceTables t = { 0 };
  Launches launches = { 0 };
  Sb *o = &n->tables;
  kernel_launches(&n->b->plan, k, &launches);
  for (size_t l = 0; l < launches.n; l++) add_launch(n, k, l, &launches.p[l], &t);
  launches_free(&launches);
  sb_printf(o, "static const char *const functions%zu[] = {\n%s  NULL };\n", i, device_functions(c, &t));
  sb_printf(o, "static const tgcrt_launch launches%zu[] = {\n%s  { 0, 0, 0, { 0, 0, 0 }, { 0, 0, 0 } } };\n", i,
            device_launches(c, &t));
  sb_printf(o, "static const tgcrt_place places%zu[] = {\n%s  { 0, 0, 0 } };\n", i, device_places(c, &t));
  if (!n->b->plan.in->backend->images)
    sb_printf(o, "static const char *const text%zu[] = {\n%s  NULL };\n", i, string_literals(c, k->text));
  sb_printf(&n->rows,
            "  { .opts = \"%s\", .functions = functions%zu, .nfunctions = %zu, .launches = launches%zu, .nlaunches = %zu,\n"
            "    .places = places%zu, .nplaces = %zu, .needs = %s, .block = %lld, .shared_bytes = %lld",
            opts_at(n, i), i, t.functions.n, i, t.launches.n, i, t.places.n, device_needs(c, &t), (long long)t.block,
            (long long)t.shared_bytes);
  if (!n->b->plan.in->backend->images)
    sb_printf(&n->rows, ",\n    .text = text%zu, .ntext = sizeof text%zu / sizeof *text%zu - 1", i, i, i);
  sb_puts(&n->rows, " },\n");
  *needs |= t.needs;
  device_tables_free(&t);
}

/* Each kernel has a text of its own, also where it equals another one, because the driver may refuse either. */
static void put_device(JobNest *n) {
  Ctx *c = n->b->lab->ctx;
  Plan *p = &n->b->plan;
  uint32_t needs = 0;
  Sb head = { 0 };
  for (size_t i = 0; i < p->kernels.n; i++) p->kernels.p[i].code = (int)i, p->kernels.p[i].head = NULL;
  plan_render(p);
  for (size_t i = 0; i < p->kernels.n; i++) put_candidate(n, i, &p->kernels.p[i], &needs);
  sb_puts(&head, device_pragmas(p, needs));
  p->in->backend->prelude(p, p->in->target, &head);
  sb_puts(&n->code, head.p ? head.p : "");
  for (size_t i = 0; i < p->kernels.n; i++) sb_puts(&n->code, p->kernels.p[i].text);
  sb_printf(&n->tables, "static const char *const head[] = {\n%s  NULL };\n", string_literals(c, head.p ? head.p : ""));
  sb_free(&head);
}

/* ---- files ---- */
static void put_file(const JobNest *n, const char *end, const Sb *s) {
  const char *path = arena_printf(&n->b->lab->ctx->model, "%s/%s%s", n->b->lab->scratch, n->name, end);
  if (s->n && file_write(path, s->p, s->n)) fprintf(stderr, "cannot write '%s': %s\n", path, strerror(errno)), exit(1);
}

void job_put(Batch *b, int number) {
  Ctx *c = b->lab->ctx;
  const Backend *backend = b->plan.in->backend;
  JobNest n = { .b = b, .name = arena_printf(&c->model, "nest%d", number) };
  Sb all = { 0 };
  plan_add(&b->plan, b->task->nest, "{ }");
  b->plan.kernels.p[b->plan.kernels.n - 1].code = (int)b->plan.kernels.n - 1;
  if (backend->device) put_device(&n);
  else put_host(&n);
  put_buffers(&n);
  sb_printf(&all,
            "/* %s.c: made by tgc %s for %s; do not edit. Candidates for a nest; the last one is the reference. */\n"
            "#include \"tune_job.h\"\n#include <stddef.h>\n#ifndef TUNE_EMPTY\n",
            n.name, TGC_VERSION, b->lab->target->isa);
  if (!backend->device) sb_printf(&all, "#define tgc_candidates %s_code\n%s", n.name, n.code.p);
  sb_puts(&all, n.tables.p);
  sb_printf(&all, "static const tune_candidate candidates[] = {\n%s};\n#endif\n", n.rows.p);
  if (backend->images)
    sb_printf(&all, "extern const tgcrt_image *const %s_images;\nextern const uint32_t %s_nimages;\n", n.name, n.name);
  sb_printf(&all, "extern const tune_nest %s;\nconst tune_nest %s = {\n  .key = \"%s\",\n#ifndef TUNE_EMPTY\n", n.name, n.name,
            b->task->key);
  sb_printf(&all, "  .known = %.4f, .buffers = buffers, .nbuffers = %zu, .candidates = candidates, .n = %zu,\n", b->task->best,
            n.bufs.n, b->plan.kernels.n - 1);
  if (n.weights.n) sb_printf(&all, "  .file = \"%s.bin\",\n", n.name);
  if (backend->device)
    sb_printf(&all, "  .head = head, .nhead = sizeof head / sizeof *head - 1, .options = \"%s\",\n",
              device_options(&b->plan, b->lab->keep_denormals));
  if (backend->images) sb_printf(&all, "  .images = &%s_images, .nimages = &%s_nimages,\n", n.name, n.name);
  sb_puts(&all, "#endif\n};\n");
  put_file(&n, ".c", &all);
  put_file(&n, ".bin", &n.weights);
  if (backend->images) put_file(&n, ".text", &n.code);
  sb_free(&all);
}

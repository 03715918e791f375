/* SPDX-License-Identifier: MIT */
/* device_tables.c: the host's work for a device bundle, as C tables: launches, their memory, names of functions, text of the
 * kernels. runtime_stub/tgcrt_device.h describes the rows.
 *
 * needs: functions of kernels, all buffers placed, places checked (places.c)    gives: words of runtime_stub/device.c.in
 * breaks: nothing */
#include "bundle.h"
#include "../lower/lower.h"
#include <stdlib.h>

/* ---- functions: launch `index` of kernel `code` ---- */
typedef struct Function { int code; size_t index; } Function;
typedef struct Tables {
  DeviceTables *out;
  VEC(Function) functions;
} Tables;

const char *device_function(Ctx *c, int code, size_t launch, int exchange) {
  const char *name = launch ? arena_printf(&c->model, "k%d_%zu", code, launch) : arena_printf(&c->model, "k%d", code);
  return exchange ? arena_printf(&c->model, "%s_w%d", name, exchange) : name;
}

static uint32_t function_number(const Plan *p, Tables *t, int code, size_t index, int exchange) {
  for (size_t i = 0; i < t->functions.n; i++)
    if (t->functions.p[i].code == code && t->functions.p[i].index == index) return (uint32_t)i;
  VEC_PUSH(&t->functions, ((Function){ code, index }));
  VEC_PUSH(&t->out->functions, device_function(p->ir->ctx, code, index, exchange));
  return (uint32_t)t->functions.n - 1;
}

/* ---- rows ---- */
static uint8_t memory_of(BufKind kind) {
  switch (kind) {
  case BUF_WEIGHT: return TGCRT_PLACE_WEIGHTS;
  case BUF_INPUT: return TGCRT_PLACE_INPUT;
  case BUF_OUTPUT: return TGCRT_PLACE_OUTPUT;
  case BUF_ARENA: case BUF_GUARD: return TGCRT_PLACE_WORK;
  case BUF_STATE: return TGCRT_PLACE_STATE;
  case BUF_NEXT: return TGCRT_PLACE_NEXT;
  case BUF_LOCAL: case BUF_SHARED: case BUF_KINDS: break;
  }
  BUG("a kernel is given what is its own");
}

static tgcrt_place place_of(const Plan *p, size_t kernel, size_t buffer) {
  const Buf *b = &p->ir->bufs.p[p->kernels.p[kernel].bufs.p[buffer]];
  const CallPlace at = call_place(p, kernel, buffer);
  const bool state = b->kind == BUF_STATE || b->kind == BUF_NEXT;
  const bool numbered = state || b->kind == BUF_INPUT || b->kind == BUF_OUTPUT;
  return (tgcrt_place){ memory_of(b->kind), numbered ? (uint32_t)at.slot : 0,
                        (uint64_t)(at.at + (state ? p->memory.state_at : 0)) };
}

void note_needs(const Plan *p, const Launch *l, DeviceTables *t) {
  const bool halves = target_converts_halves(p->in->target);
  for (size_t i = 0; i < l->prog.n; i++) {
    const Node *x = node(p->ir, l->prog.p[i]);
    if (x->dt == DT_F64) t->needs |= TGCRT_NEEDS_F64;
    if (x->op == OP_DOT) t->needs |= TGCRT_NEEDS_INT_DOT;
    if (halves && x->op == OP_CAST && (x->dt == DT_F16 || node(p->ir, operand(x))->dt == DT_F16)) t->needs |= TGCRT_NEEDS_F16;
  }
  if (launch_exchange(p->ir, &l->prog)) t->needs |= TGCRT_NEEDS_SUBGROUPS;
  if (launch_threads(l) > t->block) t->block = launch_threads(l);
  if (l->shared_bytes > t->shared_bytes) t->shared_bytes = l->shared_bytes;
}

int64_t device_sizes_at(const Plan *p) { return (p->memory.arena_bytes + 7) / 8 * 8; }

int64_t device_work(const Plan *p) {
  return p->ir->symbols.n ? device_sizes_at(p) + 8 * size_rows_count(p->ir) : p->memory.arena_bytes;
}

static void add_launch(const Plan *p, Tables *t, size_t k, size_t index, const Launch *l) {
  const Kernel *kernel = &p->kernels.p[k];
  uint8_t *use = buffer_uses(p->ir, l->prog.p, l->prog.n);
  const int exchange = launch_exchange(p->ir, &l->prog);
  tgcrt_launch row = { .function = function_number(p, t, kernel->code, index, exchange), .first = (uint32_t)t->out->places.n };
  for (size_t i = 0; i < kernel->bufs.n; i++)
    if (use[kernel->bufs.p[i]]) VEC_PUSH(&t->out->places, place_of(p, k, i));
  Kernel own = *kernel;
  own.prog = l->prog;
  if (kernel_sized(p->ir, &own))
    VEC_PUSH(&t->out->places, ((tgcrt_place){ TGCRT_PLACE_WORK, 0, (uint64_t)device_sizes_at(p) }));
  row.n = (uint32_t)t->out->places.n - row.first;
  for (int i = 0; i < 3; i++) row.grid[i] = (uint32_t)l->grid[i], row.block[i] = (uint32_t)l->block[i];
  VEC_PUSH(&t->out->launches, row);
  note_needs(p, l, t->out);
  free(use);
}

static int64_t values_bytes(const GIO *v, size_t n) {
  int64_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += gio_bytes(&v[i]);
  return bytes;
}

DeviceTables device_tables(const Plan *p) {
  DeviceTables out = { 0 };
  Tables t = { .out = &out };
  for (size_t k = 0; k < p->kernels.n; k++) {
    Launches launches = { 0 };
    kernel_launches(p, &p->kernels.p[k], &launches);
    for (size_t i = 0; i < launches.n; i++) add_launch(p, &t, k, i, &launches.p[i]);
    launches_free(&launches);
  }
  out.bytes = values_bytes(p->g->inputs.p, graph_nin(p->g)) + values_bytes(p->g->outputs.p, graph_nout(p->g)) +
              device_work(p) + p->weights.bytes;
  VEC_FREE(&t.functions);
  return out;
}

void device_tables_free(DeviceTables *t) {
  VEC_FREE(&t->launches);
  VEC_FREE(&t->places);
  VEC_FREE(&t->functions);
}

/* ---- as text ---- */
const char *device_launches(Ctx *c, const DeviceTables *t) {
  Sb s = { 0 };
  for (size_t i = 0; i < t->launches.n; i++) {
    const tgcrt_launch *l = &t->launches.p[i];
    sb_printf(&s, "  { %u, %u, %u, { %u, %u, %u }, { %u, %u, %u } },\n", l->function, l->first, l->n, l->grid[0], l->grid[1],
              l->grid[2], l->block[0], l->block[1], l->block[2]);
  }
  return sb_keep(&s, &c->model);
}

const char *device_places(Ctx *c, const DeviceTables *t) {
  static const char *const name[] = { "WORK", "WEIGHTS", "INPUT", "OUTPUT", "STATE", "NEXT" }; /* by TGCRT_PLACE_ */
  Sb s = { 0 };
  for (size_t i = 0; i < t->places.n; i++)
    sb_printf(&s, "  { TGCRT_PLACE_%s, %u, %llu },\n", name[t->places.p[i].memory], t->places.p[i].number,
              (unsigned long long)t->places.p[i].at);
  return sb_keep(&s, &c->model);
}

const char *device_functions(Ctx *c, const DeviceTables *t) {
  Sb s = { 0 };
  for (size_t i = 0; i < t->functions.n; i++) sb_printf(&s, "  \"%s\",\n", t->functions.p[i]);
  return sb_keep(&s, &c->model);
}

static const struct { uint32_t bit; const char *name; } needs[] = {
  { TGCRT_NEEDS_F64, "F64" },
  { TGCRT_NEEDS_F16, "F16" },
  { TGCRT_NEEDS_SUBGROUPS, "SUBGROUPS" },
  { TGCRT_NEEDS_INT_DOT, "INT_DOT" },
};
enum { NEEDS = sizeof needs / sizeof *needs };

const char *device_needs(Ctx *c, const DeviceTables *t) {
  Sb s = { 0 };
  for (int i = 0; i < NEEDS; i++)
    if (t->needs & needs[i].bit) sb_printf(&s, "%sTGCRT_NEEDS_%s", s.n ? " | " : "", needs[i].name);
  return s.n ? sb_keep(&s, &c->model) : "0";
}

/* Compiler options for the arithmetic of --precision and --denormals */
const char *device_options(const Plan *p, bool keep_denormals) {
  Sb s = { 0 };
  if (p->in->backend->options) p->in->backend->options(p->in->target, keep_denormals, &s);
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *device_pragmas(const Plan *p, uint32_t wanted) {
  Sb s = { 0 };
  if (p->in->backend->pragmas) p->in->backend->pragmas(p->in->target, wanted, &s);
  return sb_keep(&s, &p->ir->ctx->model);
}

const char *string_literals(Ctx *c, const char *text) {
  Sb s = { 0 };
  for (const char *at = text; *at;) {
    sb_puts(&s, "  \"");
    for (; *at && *at != '\n'; at++) {
      if (*at == '"' || *at == '\\') sb_puts(&s, "\\");
      sb_put(&s, at, 1);
    }
    if (*at) sb_puts(&s, "\\n"), at++;
    sb_puts(&s, "\",\n");
  }
  return sb_keep(&s, &c->model);
}

/* ---- images ---- */
const char *image_names(Ctx *c, const Images *images, const char *name) {
  Sb s = { 0 };
  for (size_t i = 0; i < images->list.n; i++) sb_printf(&s, "extern const unsigned char %s_image%zu[];\n", name, i);
  return s.n ? sb_keep(&s, &c->model) : "";
}

const char *image_rows(Ctx *c, const Images *images, const char *name) {
  static const char *const kind[] = { [TGCRT_IMAGE_CUBIN] = "CUBIN", [TGCRT_IMAGE_PTX] = "PTX", [TGCRT_IMAGE_FATBIN] = "FATBIN" };
  Sb s = { 0 };
  for (size_t i = 0; i < images->list.n; i++) {
    const Image *m = &images->list.p[i];
    sb_printf(&s, "  { TGCRT_IMAGE_%s, %u, %s_image%zu, %zu },\n", kind[m->kind], m->arch, name, i, m->bytes.n);
  }
  return s.n ? sb_keep(&s, &c->model) : "";
}

const char *image_symbols(Ctx *c, const Images *images, const char *name) {
  Sb s = { 0 };
  for (size_t i = 0; i < images->list.n; i++)
    sb_printf(&s, "  .balign 64\n  .globl %s_image%zu\n%s_image%zu:\n  .incbin \"%s%s\"\n  .byte 0\n", name, i, name, i, name,
              images->list.p[i].end);
  return s.n ? sb_keep(&s, &c->model) : "";
}

/* device_tables.c: what the host does for a bundle of a device, as tables of C: launches, the memory that each is given, names of
 * functions, the text of the kernels. runtime_stub/tgcrt_device.h says what the rows are.
 *
 * needs: kernels' functions, all buffers placed, places checked (places.c)    gives: words of runtime_stub/device.c.in
 * breaks: nothing */
#include "bundle.h"
#include "../lower/lower.h"
#include <stdlib.h>

/* Each launch of the plan, in order; index: of the launch among those of its kernel. */
typedef void EachLaunch(const Plan *p, size_t kernel, size_t index, const Launch *l, void *arg);

static void each_launch(const Plan *p, EachLaunch *f, void *arg) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    Launches launches = { 0 };
    kernel_launches(p, &p->kernels.p[k], &launches);
    for (size_t i = 0; i < launches.n; i++) f(p, k, i, &launches.p[i], arg);
    launches_free(&launches);
  }
}

/* ---- functions: launch i of kernel `code` ---- */
typedef struct Function { int code; size_t index; } Function;
typedef struct Tables {
  VEC(Function) functions;
  Sb launches, places, names;
  size_t nlaunches, nplaces;
  DeviceNeeds needs;
} Tables;

static size_t function_number(Tables *t, int code, size_t index) {
  for (size_t i = 0; i < t->functions.n; i++)
    if (t->functions.p[i].code == code && t->functions.p[i].index == index) return i;
  VEC_PUSH(&t->functions, ((Function){ code, index }));
  if (index) sb_printf(&t->names, "  \"k%d_%zu\",\n", code, index);
  else sb_printf(&t->names, "  \"k%d\",\n", code);
  return t->functions.n - 1;
}

/* ---- rows ---- */
static const char *memory_name(BufKind kind) {
  switch (kind) {
  case BUF_WEIGHT: return "TGCRT_PLACE_WEIGHTS";
  case BUF_INPUT: return "TGCRT_PLACE_INPUT";
  case BUF_OUTPUT: return "TGCRT_PLACE_OUTPUT";
  case BUF_ARENA: case BUF_GUARD: return "TGCRT_PLACE_WORK";
  case BUF_STATE: return "TGCRT_PLACE_STATE";
  case BUF_NEXT: return "TGCRT_PLACE_NEXT";
  case BUF_LOCAL: case BUF_SHARED: case BUF_KINDS: break;
  }
  BUG("a kernel is given what is its own");
}

static void put_place(const Plan *p, size_t kernel, size_t buffer, Tables *t) {
  const Buf *b = &p->ir->bufs.p[p->kernels.p[kernel].bufs.p[buffer]];
  const CallPlace at = call_place(p, kernel, buffer);
  const bool state = b->kind == BUF_STATE || b->kind == BUF_NEXT;
  const int64_t bytes = at.at + (state ? p->memory.state_at : 0);
  const bool numbered = state || b->kind == BUF_INPUT || b->kind == BUF_OUTPUT;
  sb_printf(&t->places, "  { %s, %lld, %lld },\n", memory_name(b->kind), numbered ? (long long)at.slot : 0, (long long)bytes);
  t->nplaces++;
}

static void note_needs(const Plan *p, const Launch *l, DeviceNeeds *needs) {
  for (size_t i = 0; i < l->prog.n; i++) needs->f64 |= node(p->ir, l->prog.p[i])->dt == DT_F64;
  if (launch_threads(l) > needs->block) needs->block = launch_threads(l);
  if (l->shared_bytes > needs->shared_bytes) needs->shared_bytes = l->shared_bytes;
}

static void put_launch(const Plan *p, size_t k, size_t index, const Launch *l, void *arg) {
  Tables *t = arg;
  const Kernel *kernel = &p->kernels.p[k];
  uint8_t *use = buffer_uses(p->ir, l->prog.p, l->prog.n);
  const size_t first = t->nplaces, function = function_number(t, kernel->code, index);
  for (size_t i = 0; i < kernel->bufs.n; i++)
    if (use[kernel->bufs.p[i]]) put_place(p, k, i, t);
  sb_printf(&t->launches, "  { %zu, %zu, %zu, { %lld, %lld, %lld }, { %lld, %lld, %lld } },\n", function, first,
            t->nplaces - first, (long long)l->grid[0], (long long)l->grid[1], (long long)l->grid[2], (long long)l->block[0],
            (long long)l->block[1], (long long)l->block[2]);
  t->nlaunches++;
  note_needs(p, l, &t->needs);
  free(use);
}

static int64_t values_bytes(const GIO *v, size_t n) {
  int64_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += dims_elems(v[i].dims, v[i].rank) * dt_bytes(v[i].dt);
  return bytes;
}

DeviceTables device_tables(const Plan *p) {
  Arena *m = &p->ir->ctx->model;
  Tables t = { 0 };
  each_launch(p, put_launch, &t);
  const int64_t values = values_bytes(p->g->inputs.p, graph_nin(p->g)) + values_bytes(p->g->outputs.p, graph_nout(p->g));
  const DeviceTables out = { sb_keep(&t.launches, m), sb_keep(&t.places, m), sb_keep(&t.names, m), t.nlaunches,
                             p->memory.arena_bytes + p->weights.bytes + values, t.needs };
  VEC_FREE(&t.functions);
  return out;
}

/* ---- the text of kernels ---- */
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

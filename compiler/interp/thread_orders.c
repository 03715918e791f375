/* SPDX-License-Identifier: MIT */
/* thread_orders.c: runs a launch in several orders of its threads, which must all leave the same bits.
 *
 * needs: a launch, and memory    gives: memory as the first order leaves it, all faults, and where two orders differ    breaks:
 * nothing */
#include "interp_threads.h"
#include <stdlib.h>

static const ThreadOrder others[] = { /* the first order is ascending, in warps of the device */
  { ORDER_ASCENDING, 0, 1 },  { ORDER_DESCENDING, 0, 1 }, { ORDER_SHUFFLED, 1, 1 }, { ORDER_SHUFFLED, 2, 8 },
  { ORDER_DESCENDING, 0, 32 }, { ORDER_SHUFFLED, 3, 64 },
};
enum { OTHERS = sizeof others / sizeof *others, FOR_LONG = 2 }; /* FOR_LONG: index of the only other order for a sampled launch */

static const char *order_name(OrderKind k) {
  return k == ORDER_ASCENDING ? "ascending" : k == ORDER_DESCENDING ? "descending" : "shuffled";
}

/* Memory that a launch stores to: before it, and after the first order. */
typedef struct Saved { int64_t buffer; size_t bytes; char *before, *after; } Saved;
typedef VEC(Saved) Memory;

static void save_memory(const IR *ir, const Launch *l, void *const *mem, Memory *out) {
  uint8_t *use = buffer_uses(ir, l->prog.p, l->prog.n);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    Saved s = { .buffer = (int64_t)i, .bytes = (size_t)(b->elems * dt_bytes(b->dt)) };
    if (!(use[i] & 2) || buf_is_own(b->kind)) continue;
    s.before = xmalloc(s.bytes + 1);
    s.after = xmalloc(s.bytes + 1);
    memcpy(s.before, mem[i], s.bytes);
    VEC_PUSH(out, s);
  }
  free(use);
}

static bool same_bits(const IR *ir, const Memory *m, void *const *mem, ThreadOrder o, LaunchReport *r) {
  for (size_t k = 0; k < m->n; k++) {
    const Saved *s = &m->p[k];
    const char *is = mem[s->buffer];
    size_t i = 0;
    while (i < s->bytes && is[i] == s->after[i]) i++;
    if (i == s->bytes) continue;
    sb_printf(&r->text, "the order of threads matters: b%lld[%zu] differs between ascending and %s threads in warps of %d\n",
              (long long)s->buffer, i / (size_t)dt_bytes(ir->bufs.p[s->buffer].dt), order_name(o.kind), o.warp);
    return false;
  }
  return true;
}

bool interp_launch_orders(const IR *ir, const Launch *l, const Device *d, void *const *mem, int64_t most, LaunchReport *r) {
  Memory saved = { 0 };
  bool same = true;
  save_memory(ir, l, mem, &saved);
  interp_launch(ir, l, d, mem, (ThreadOrder){ .warp = d->warp }, most, r);
  for (size_t k = 0; k < saved.n; k++) memcpy(saved.p[k].after, mem[saved.p[k].buffer], saved.p[k].bytes);
  for (int i = 0; i < OTHERS && same && !launch_faults(r); i++) {
    if (r->sampled && i != FOR_LONG) continue;
    LaunchReport other = { 0 };
    for (size_t k = 0; k < saved.n; k++) memcpy(mem[saved.p[k].buffer], saved.p[k].before, saved.p[k].bytes);
    interp_launch(ir, l, d, mem, others[i], most, &other);
    for (int k = 0; k < FAULT_KINDS; k++) r->fault[k] += other.fault[k];
    if (other.text.n) sb_put(&r->text, other.text.p, other.text.n);
    same = same_bits(ir, &saved, mem, others[i], r);
    launch_report_free(&other);
  }
  for (size_t k = 0; k < saved.n; k++) {
    memcpy(mem[saved.p[k].buffer], saved.p[k].after, saved.p[k].bytes);
    free(saved.p[k].before);
    free(saved.p[k].after);
  }
  VEC_FREE(&saved);
  return same && !launch_faults(r);
}

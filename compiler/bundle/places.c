/* SPDX-License-Identifier: MIT */
/* places.c: proves that calls pass kernels memory that holds their buffers.
 *
 * bounds.c has proved that each kernel's program accesses only its buffers, counted from their first elements. This file
 * computes the pointers that calls pass, as the text of the calls does. A pointer is the place in the first iteration, plus a
 * step per iteration or a row of a table; pointers moved to a kernel's first element; the piece of a share of chunks; the
 * cursor of a state. From each pointer the buffer must be inside its region: an input, an output, the weights, the intermediate
 * values, or a state.
 *
 * needs: functions of kernels, all buffers placed, repeats    gives: nothing; a call that fails is a bug    breaks: nothing */
#include "bundle.h"

typedef struct Region { int64_t begin, end; } Region; /* bytes, relative to the base of this kind of pointer */


static Region region_of(const Plan *p, const Buf *b, int64_t weight_bytes) {
  switch (b->kind) {
  case BUF_INPUT: return (Region){ 0, gio_bytes(&p->g->inputs.p[b->slot]) };
  case BUF_OUTPUT: return (Region){ 0, gio_bytes(&p->g->outputs.p[b->slot]) };
  case BUF_WEIGHT: return (Region){ 0, weight_bytes };
  case BUF_ARENA: return (Region){ 0, p->memory.state_at };
  case BUF_GUARD: return (Region){ p->memory.guard_at, p->memory.guard_at + 1 };
  case BUF_STATE: case BUF_NEXT: {
    const StatePlace *s = &p->memory.states.p[b->slot];
    return (Region){ s->at, s->at + s->outer * s->block };
  }
  case BUF_LOCAL: case BUF_SHARED: case BUF_KINDS: break;
  }
  BUG("a kernel is given what is its own");
}

/* Offset that the call passes in this iteration; kernel: the one of the first iteration. */
static int64_t pointer_of(const Plan *p, const Repeat *s, const CallMoves *m, size_t kernel, size_t iteration, size_t buffer) {
  if (m->table) return call_place(p, kernel + iteration * s->period, buffer).at;
  if (m->turns) return call_place(p, kernel, buffer).at + (int64_t)(iteration & 1) * m->by.at;
  return call_place(p, kernel, buffer).at + (int64_t)iteration * m->by.at;
}

/* first: the kernel whose call, `iteration` iterations earlier, stands for this one; m: how that call moves the buffer */
static void check_buffer(const Plan *p, const Repeat *s, const CallMoves *m, size_t k, size_t first, size_t iteration,
                         size_t buffer, int64_t weight_bytes) {
  const Kernel *kernel = &p->kernels.p[k];
  const Buf *b = &p->ir->bufs.p[kernel->bufs.p[buffer]];
  const int64_t bytes = b->elems * dt_bytes(b->dt), moved = kernel->shift ? kernel->shift[buffer] * dt_bytes(b->dt) : 0;
  const int64_t begin = pointer_of(p, s, m, first, iteration, buffer) - moved;
  const StatePlace *state = b->kind == BUF_STATE || b->kind == BUF_NEXT ? &p->memory.states.p[b->slot] : NULL;
  /* a value with two places; a window's room is part of its buffer */
  const int64_t cursor = state && p->g->states.p[b->slot].axis < 0 ? (state->slots - 1) * state->step : 0;
  const Region in = region_of(p, b, weight_bytes);
  if (call_place(p, first, buffer).slot + (int64_t)iteration * m->by.slot != call_place(p, k, buffer).slot)
    BUG("kernel %zu is given another input, output or state", k);
  if (begin < in.begin || begin + cursor + bytes > in.end)
    BUG("kernel %zu is given bytes %lld to %lld for a buffer of a region from %lld to %lld", k, (long long)begin,
        (long long)(begin + cursor + bytes), (long long)in.begin, (long long)in.end);
  if (b->piece && (!kernel->chunks_per_task || b->piece * (kernel->chunks / kernel->chunks_per_task) > bytes))
    BUG("kernel %zu is given pieces of %lld bytes of a buffer of %lld", k, (long long)b->piece, (long long)bytes);
}

void check_places(const Plan *p, const Repeats *repeats, int64_t weight_bytes) {
  CallMoves **moves = ARENA_NEW(&p->ir->ctx->model, CallMoves *, p->kernels.n + 1); /* by first kernel, by buffer */
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Repeat *s = repeat_of(repeats, k);
    const size_t iteration = s ? (k - s->first) / s->period : 0, first = s ? k - iteration * s->period : k;
    if (!p->kernels.p[k].text) continue; /* a variant's baseline has it */
    if (p->kernels.p[k].code != p->kernels.p[first].code) BUG("kernels %zu and %zu are one call of two functions", first, k);
    const size_t nbufs = p->kernels.p[k].bufs.n;
    if (!moves[first]) { /* computed once for all iterations, since it visits each of them */
      moves[first] = ARENA_NEW(&p->ir->ctx->model, CallMoves, nbufs + 1);
      for (size_t i = 0; i < nbufs; i++) moves[first][i] = call_moves(p, s, first, i);
    }
    for (size_t i = 0; i < nbufs; i++) check_buffer(p, s, &moves[first][i], k, first, iteration, i, weight_bytes);
  }
}

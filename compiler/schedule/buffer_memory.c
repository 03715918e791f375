/* SPDX-License-Identifier: MIT */
/* buffer_memory.c: the memory of a plan's buffers, for programs that run its kernels without a bundle. */
#include "schedule.h"
#include <string.h>

tgcrt_state state_row(const StatePlace *s) {
  return (tgcrt_state){ (size_t)s->at,   (size_t)s->outer, (size_t)s->block, (size_t)s->keep,
                        (size_t)s->step, (size_t)s->slots, s->init < 0 ? (size_t)-1 : (size_t)s->init };
}

/* The state's place, or the other one of two where the run writes the next value. A window moves on by a step a run. */
static void *state_memory(const Plan *p, const Buf *b, char *arena) {
  const StatePlace *s = &p->memory.states.p[b->slot];
  char *memory = arena + p->memory.state_at;
  uint64_t cursor;
  memcpy(&cursor, memory + 8 * b->slot, 8);
  const uint64_t slot = s->slots < 2 ? 0 : b->kind == BUF_NEXT ? 1 - cursor : cursor;
  return memory + s->at + (int64_t)slot * s->step;
}

void *buffer_memory(const Plan *p, const Buf *b, const Tensor *in, void *const *out, char *arena) {
  switch (b->kind) {
  case BUF_INPUT: return (void *)(uintptr_t)in[b->slot].data;
  case BUF_OUTPUT: return out[b->slot];
  case BUF_WEIGHT: return p->weights.p + b->offset;
  case BUF_STATE:
  case BUF_NEXT: return state_memory(p, b, arena);
  default: return buf_is_own(b->kind) ? NULL : arena + (b->offset < 0 ? 0 : b->offset);
  }
}

/* SPDX-License-Identifier: MIT */
/* kernel_functions.c: the backend's text of every function.
 *
 * needs: programs, Kernel.code    gives: Kernel.text    breaks: nothing */
#include "lower.h"
#include <string.h>

uint32_t kernel_signature(const Plan *p, size_t k) {
  Kernel *kn = &p->kernels.p[k];
  Sb s = { 0 };
  if (kn->head) return kn->signature;
  p->in->backend->kernel(p, (int)k, p->in->target, &s);
  const size_t at = p->in->backend->device ? 0 : (size_t)(strchr(s.p, '(') - s.p);
  kn->signature = intern(p->ir->ctx, s.p + at, s.n - at);
  kn->head = arena_str(&p->ir->ctx->model, s.p, at);
  sb_free(&s);
  return kn->signature;
}

bool kernel_sized(const IR *ir, const Kernel *k) { return program_sized(ir, &k->prog); }

void kernel_launches(const Plan *p, const Kernel *k, Launches *out) {
  Launch tasks = { .grid = { k->chunks, 1, 1 }, .block = { 1, 1, 1 } };
  if (target_has_threads(p->in->target)) {
    launches_of(p->ir, k->prog.p, k->prog.n, out);
    return;
  }
  for (size_t i = 0; i < k->prog.n; i++) VEC_PUSH(&tasks.prog, k->prog.p[i]);
  VEC_PUSH(out, tasks);
}

/* Functions of a device's kernel are several. Their names have a mark where the kernel's number belongs. */
static const char *numbered(Ctx *c, const char *text, int number) {
  Sb s = { 0 };
  for (const char *at; (at = strchr(text, KERNEL_NUMBER)); text = at + 1) {
    sb_put(&s, text, (size_t)(at - text));
    sb_printf(&s, "%d", number);
  }
  sb_puts(&s, text);
  return sb_keep(&s, &c->model);
}

/* The start of the function, with the number of the call that runs it first in place of the kernel's (loop_calls.c) */
static const char *named_after_call(Ctx *c, const char *head, size_t kernel, size_t call) {
  size_t n = strlen(head);
  if (call == kernel) return head;
  while (head[n - 1] >= '0' && head[n - 1] <= '9') n--;
  return arena_printf(&c->model, "%.*s%zu", (int)n, head, call);
}

void plan_render(Plan *p) {
  int *call = plan_first_calls(p);
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    if (kn->code < 0) continue;
    const uint32_t id = kernel_signature(p, k);
    if (kn->code != (int)k) kn->text = p->kernels.p[kn->code].text;
    else
      kn->text = arena_printf(&p->ir->ctx->model, "%s%s", named_after_call(p->ir->ctx, kn->head, k, (size_t)call[k]),
                              intern_text(p->ir->ctx, id));
    if (kn->code == (int)k && p->in->backend->device) kn->text = numbered(p->ir->ctx, kn->text, (int)k);
  }
  free(call);
}

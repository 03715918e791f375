/* SPDX-License-Identifier: MIT */
/* choose.c: each nest's schedule: one that is given (locks, stores), or the one that the model of cost finds.
 *
 * schedule: needs: canonical nests   gives: Kernel.nests with schedules, Kernel.states with opts to apply   keeps: all else
 * breaks: nothing */
#include "opts.h"
#include <string.h>

/* A variant's: the base's, retiled. */
static bool follow_base(Plan *p, const NestSchedule *b, Opts *o, NestSchedule *s) {
  s->from = b->from;
  s->partial = b->partial;
  return !opts_parse(p->ir, s->nest, p->base->in->target, b->opts, strlen(b->opts), o) &&
         opts_retile(p->ir, s->nest, p->base->in->target, p->in->target, o);
}

/* The first schedule that is given for the nest and legal, else the heuristic's. base: the nest's of the plan that p is a
 * variant of, for which q asks */
static Opts choose_opts(Plan *p, const NestSchedule *base, const Question *q, NestSchedule *s) {
  IR *ir = p->ir;
  const Ref nest = s->nest;
  Opts o;
  if (base && q->given) {
    const char *wrong = opts_parse(ir, nest, p->in->target, q->given, strlen(q->given), &o);
    s->from = base->from;
    s->partial = base->partial;
    if (!wrong) return o;
    answer_refused(ir, q, wrong);
  }
  if (base && follow_base(p, base, &o, s)) return o;
  for (ScheduleSource *from = p->in->schedules; from; from = from->next) {
    const char *text = from->find(from, s->key, &s->partial), *wrong;
    if (!text) continue;
    s->from = from->name;
    s->measured = from->measured ? from->measured(from, s->key) : NULL;
    if (!(wrong = opts_parse(ir, nest, p->in->target, text, strlen(text), &o))) return o;
    warn_at(ir->ctx, ir_pos(ir, nest_body(node(ir, nest))), "the schedule '%s' of nest %.16s from the %s is not used: %s", text,
            s->key, from->name, wrong);
  }
  s->partial = false;
  s->measured = NULL;
  s->from = "heuristic";
  return default_opts(ir, sized_scheduled(ir, nest), p->in->target);
}

void step_schedule(Plan *p, Kernel *k) {
  IR *ir = p->ir;
  const Kernel *base = p->base ? &p->base->kernels.p[k - p->kernels.p] : NULL;
  k->states.n = 0;
  for (size_t i = 0; i < k->nests.n; i++) {
    NestSchedule *s = &k->nests.p[i];
    Sb text = { 0 };
    ir->origin = node(ir, s->nest)->origin;
    nest_key(ir, s->nest, p->in->target, p->in->backend, s->key);
    const Question q = base ? ask_key(ir, "variant", s->key, s->nest) : (Question){ 0 };
    Opts o = choose_opts(p, base ? &base->nests.p[i] : NULL, &q, s);
    opts_complete(ir, s->nest, p->in->target, &o);
    opts_print(ir, s->nest, &o, &text);
    s->opts = sb_keep(&text, &ir->ctx->model);
    if (base) answer_with(ir, &q, s->opts);
    VEC_PUSH(&k->states, ((NestState){ .nest = s->nest, .opts = arena_dup(&ir->ctx->model, &o, sizeof o) }));
  }
}

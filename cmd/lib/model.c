/* SPDX-License-Identifier: MIT */
/* model.c: from the command line and a graph to a plan. */
#include "../cmd.h"
#include "../../compiler/cost/tunable.h"
#include "../../compiler/target/cpu_facts.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- compiling ---- */

/* The target with costs of f, else of this CPU where the target is native, else of the table; --tunable counts more. */
static const Target *with_costs(Ctx *c, const Options *o, const Target *t, const CpuFacts *f, const char *isa) {
  const char *why;
  if (f && t->variants) fail(c, EX_USAGE_, "--machine has no effect with --isa '%s', which is several machines", isa);
  if (f && target_find(&c->model, f->isa, &why)->arch != t->arch)
    fail(c, EX_USAGE_, "--machine '%s' is a CPU of another architecture than --isa '%s'", f->name, isa);
  if (!f && !t->dev && starts_with(isa, "native")) f = machine_stored(c, o);
  if (f) return target_for_cpu(&c->model, t, f, &tunables_of(c)->rates);
  return c->tunables ? target_with_rates(&c->model, t, &c->tunables->rates) : t;
}

unsigned bindings_of(const Options *o) {
  unsigned bits = 0;
  const char *word;
  int n;
  if (o->bindings) bindings_parse(o->bindings, &bits, &word, &n);
  return bits;
}

/* The device as the backend's language can use it. gpu-any belongs to every language, and threads of some have no vectors. */
static const Target *within_language(Ctx *c, const Target *t, const Backend *b) {
  if (!t->dev->load_bytes || b->supports(t, OP_LOAD, DT_F32, DT_F32, t->dev->load_bytes / dt_bytes(DT_F32))) return t;
  Target *own = arena_dup(&c->model, t, sizeof *t);
  Device *d = arena_dup(&c->model, t->dev, sizeof *d);
  d->load_bytes = 0;
  own->dev = d;
  return own;
}

const Target *target_of(Ctx *c, const Options *o) {
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  const char *isa = emit == EMIT_WASM ? "wasm-simd" : b && b->isa ? b->isa : DEFAULT_ISA, *why;
  Arch arch = o->target ? triple_arch(o->target, &isa) : ARCH_ANY;
  if (o->target && arch == ARCH_ANY)
    fail(c, EX_USAGE_, "--target '%s' has an unknown architecture (tgc devices lists the known ones)%s", o->target,
         choice_near(&c->model, "target", o->target));
  const CpuFacts *f = machine_given(c, o);
  if (f) isa = f->isa;
  if (o->isa) isa = o->isa;
  const Target *t = target_find(&c->model, isa, &why);
  if (!t)
    fail(c, EX_USAGE_, "unknown --isa '%s': %s (tgc devices lists the machines)%s", isa, why, choice_near(&c->model, "isa", isa));
  const char *device = t->dev && t->dev->interface ? t->dev->interface : "opencl";
  if (b && t->dev && (!b->device || (t->dev->interface && strcmp(b->device, device))))
    fail(c, EX_USAGE_, "--isa '%s' is a device; compile for it with --backend=%s", isa, device);
  if (b && b->device && !t->dev)
    fail(c, EX_USAGE_, "--isa '%s' is not a machine of --backend '%s' (tgc devices lists both)", isa, b->name);
  if (b && t->dev) t = within_language(c, t, b);
  if (emit == EMIT_WASM && t->arch != ARCH_WASM)
    fail(c, EX_USAGE_, "--emit=wasm is for WebAssembly, and --isa '%s' is another machine (wasm-simd and wasm32 are right)", isa);
  if (target_is_bare(t) && binding_named(bindings_of(o), "python"))
    fail(c, EX_USAGE_, "--bindings=python loads a shared library, and --isa '%s' has no operating system", isa);
  if (t->variants && b && !b->variant)
    fail(c, EX_USAGE_, "--isa '%s' is several machines; only --backend=c makes one bundle for them", isa);
  if (o->target && t->arch != arch)
    fail(c, EX_USAGE_, "--isa '%s' does not belong to the architecture of --target '%s'", isa, o->target);
  t = with_costs(c, o, t, f, isa);
  return o->target || o->cpu ? target_tuned(&c->model, t, o->target, o->cpu) : t;
}

/* --emit decides, else --backend, else the first in the list. */
const Backend *backend_of(const Options *o, Emit *emit) {
  for (const Backend *const *b = backends; *b; b++) {
    *emit = (*b)->makes;
    if (!o->emit && (!o->backend || !strcmp(o->backend, (*b)->name))) return *b;
    for (const CodeForm *f = (*b)->forms; o->emit && f->word; f++) {
      *emit = f->emit;
      if (!strcmp(o->emit, f->word)) return *b;
    }
  }
  return NULL;
}

Groups groups_named(const char *s) { return s ? (Groups)word_index(groups_name, GROUPS_COUNT, s) : GROUPS_FASTER; }

bool keeps_denormals(const Options *o) {
  return o->denormals ? !strcmp(o->denormals, "keep") : o->precision && precision_named(o->precision) == PREC_STRICT;
}

const char *decisions_wanted(Ctx *c, const Options *o, const Target *t) {
  const char *const more[] = { o->precision, o->optimize, o->weights, o->denormals, o->max_arena, o->max_weights, o->groups };
  Sb s = { 0 };
  sb_puts(&s, t->isa);
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) sb_printf(&s, " %s", more[i] ? more[i] : "-");
  return sb_keep(&s, &c->model);
}

/* The lock file given by --schedule, or the one beside the model. */
static Lock *lock_of(Ctx *c, const Options *o) {
  const char *path = o->schedule ? o->schedule : arena_printf(&c->model, "%s.tgc-lock", o->model);
  if (o->schedule && !strcmp(o->schedule, "none")) return NULL;
  return o->schedule || !access(path, F_OK) ? lock_read(c, path) : NULL;
}

/* Writes the lines of `from` that were used, then all other decisions of the plan. */
static void write_lock(Ctx *c, const Options *o, const Lock *from, Decisions *decisions, const Plan *p) {
  Lock l = { .source.name = "lock", .decisions = decisions };
  for (size_t i = 0; from && i < from->lines.n; i++)
    if (from->lines.p[i].used) VEC_PUSH(&l.lines, from->lines.p[i]);
  lock_complete(c, &l, p);
  c->file = NULL; /* later errors are not about the model */
  lock_write(c, &l, o->lock);
  c->file = o->model;
  VEC_FREE(&l.lines);
}

Plan *plan_of(const Options *o, Graph *g, const Target *t, Sb *stopped) {
  return plan_from(o, g, t, NULL, stopped, NULL);
}

/* Forms of code and verbs that know one entry only */
static void check_entries(const Options *o, const Graph *g, const Target *t, const Lock *lock) {
  Ctx *c = g->ir->ctx;
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  const bool rust = binding_named(bindings_of(o), "rust");
  bool overflows = false;
  for (size_t e = 0; e < g->entries.n; e++) overflows |= graph_may_overflow(g->entries.p[e].g);
  const char *what = overflows                       ? "a result whose size depends on data"
                     : !b->is_c || emit != EMIT_TEXT ? "code other than C"
                     : t->variants                   ? "--isa=fat"
                     : lock || o->lock               ? "a lock file"
                     : o->stop_after                 ? "--stop-after"
                     : rust                          ? "--bindings=rust"
                     : o->run_step                   ? "--run-step"
                     : o->verb == VERB_tune          ? "tune"
                                                     : NULL;
  if (g->entries.n && what)
    fail(c, EX_USAGE_, "%s is for one entry, and this pipeline has %zu; choose one by --entry", what, g->entries.n);
}

Plan *plan_from(const Options *o, Graph *g, const Target *t, Resumed *from, Sb *stopped, const DumpTo *to) {
  Ctx *c = g->ir->ctx;
  Emit emit;
  Lock *lock = lock_of(c, o);
  check_entries(o, g, t, lock);
  Store *store = o->no_store ? NULL : store_open(c, store_path(c, o->tune_db), false);
  ScheduleSource *schedules = store ? store_source(store, backend_of(o, &emit), o->device) : NULL;
  DecisionSource *measured = lock ? NULL : store_decisions(c, store, backend_of(o, &emit), decisions_wanted(c, o, t));
  Decisions *decisions = lock ? lock->decisions : o->lock || measured ? decisions_new(c) : NULL;
  if (measured) decisions_from(decisions, measured);
  if (lock) lock->source.next = schedules, schedules = &lock->source;
  int nsettings = 0;
  int64_t max_arena, max_weights;
  if (!parse_limit(o->max_arena, &max_arena) || !parse_limit(o->max_weights, &max_weights)) BUG("a limit was not checked");
  const Setting *settings = to ? settings_of(c, o, t, lock ? lock->path : NULL, &nsettings) : NULL;
  work_begin(c, o, "compiling");
  Plan *p = compile_graph(g, &(CompileOptions){ .target = t,
                                                .backend = backend_of(o, &emit),
                                                .groups = groups_named(o->groups),
                                                .precision = o->precision ? precision_named(o->precision) : PREC_FP32,
                                                .optimize = optimize_named(o->optimize),
                                                .max_arena = max_arena,
                                                .max_weights = max_weights,
                                                .tell_growth = o->verb == VERB_compile && !o->quiet,
                                                .stepped = o->run_step,
                                                .keep_denormals = keeps_denormals(o),
                                                .weights = o->weights ? storage_named(o->weights) : STORE_FP32,
                                                .schedules = schedules,
                                                .decisions = decisions,
                                                .dump = o->dump,
                                                .kernel = o->kernel < INT64_MAX ? o->kernel + 1 : INT64_MAX,
                                                .time_passes = o->time_passes,
                                                .stop_after = o->stop_after,
                                                .stopped = stopped,
                                                .blob = to ? to->blob : NULL,
                                                .blobname = to ? to->blobname : NULL,
                                                .sample = to ? to->sample : NULL,
                                                .settings = settings,
                                                .nsettings = nsettings,
                                                .resumed = from });
  work_end(c);
  if (lock && p && !from) lock_report(c, lock); /* a compilation from a dump uses only part of it */
  if (o->lock && p) write_lock(c, o, lock, decisions, p);
  decisions_free(decisions);
  store_close(store);
  if (p && p->in->precision == PREC_BF16 && bf16_rate(t) > 0 && !narrow_pairs(PREC_BF16, t) && !o->quiet)
    note(c,
         "--precision=bf16 multiplies in fp32 for %s: its bf16 instructions make %.2g times as many products; "
         "large weights of few products are rounded all the same",
         t->facts ? t->facts->name : t->isa, bf16_rate(t));
  if (p && p->in->precision == PREC_FP16_ARITH && !half_sums(PREC_FP16_ARITH, t) && !o->quiet)
    note(c,
         "--precision=fp16-arith is fp32 for %s: %s", t->facts ? t->facts->name : t->isa,
         halves_rate(t) > 0 ? arena_printf(&c->model, "it adds only %.2g times as many products of halves", halves_rate(t))
                            : "it has no arithmetic for vectors of halves");
  if (p && p->in->precision == PREC_FAST && !split_faster(PREC_FAST, t) && !o->quiet)
    note(c, "fp32-fast is fp32 for %s: three products of bf16 take at least as long there as one of fp32", p->in->target->isa);
  return p;
}

/* SPDX-License-Identifier: MIT */
/* machine_measure.c: measures this CPU by cmd/probe/facts.c, built with the flags of --isa=native. The facts are kept in the
 * tuner's store. Also what this CPU has beyond the default machine. */
#include "../cmd.h"
#include "../../compiler/target/cpu_facts.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 3 };

typedef struct Probe { const char *so; double *fact; int cores; } Probe;

static _Noreturn void probe(const Probe *p) {
  void (*measure)(double *, int, double);
  void *so = dlopen(p->so, RTLD_NOW | RTLD_LOCAL);
  if (!so) _exit(1);
  *(void **)&measure = dlsym(so, "facts_measure");
  if (!measure) _exit(1);
  measure(p->fact, p->cores, SECONDS);
  _exit(0);
}

static const char *build_probe(Ctx *c, const Options *o, const char *scratch, const Target *t) {
  Texts none = { 0 };
  Sb names = { 0 };
  sb_puts(&names, "enum { ");
  for (int i = 0; i < FACT_COUNT; i++) sb_printf(&names, "FACT_%s, ", fact_info[i].name);
  sb_puts(&names, "FACT_COUNT };\n");
  return probe_build(c, o, scratch, "facts", sb_keep(&names, &c->model), t, &none);
}

typedef struct Measuring { const Options *o; const Target *t; const char *scratch; double *fact; } Measuring;

static void measure(Ctx *c, void *arg) {
  Measuring *m = arg;
  Probe p = { build_probe(c, m->o, m->scratch, m->t), m->fact, m->t->cores };
  work_begin(c, m->o, "measuring this CPU");
  pid_t pid = child_start(c);
  if (!pid) probe(&p);
  const int ended = child_wait(c, m->o, pid, "measuring this CPU");
  work_end(c);
  if (WIFSIGNALED(ended)) child_died(c, ended, "the measurement of this CPU");
  if (ended || !(p.fact[FACT_FMA] > 0)) fail(c, EX_FAILED, "this CPU cannot be measured");
}

/* Sizes of the first two levels are the CPU's own; each other measured fact has two digits. */
static CpuFacts *facts_of(Ctx *c, const Target *t, const double *fact) {
  CpuFacts *f = ARENA_NEW(&c->model, CpuFacts, 1);
  *f = (CpuFacts){ .name = "measured", .isa = t->isa };
  for (int i = 0; i < FACT_COUNT; i++) {
    if (!(fact[i] > 0) && i != FACT_L3) continue;
    f->at[i] = fact_is_size((Fact)i) ? fact[i] : two_digits(fact[i]);
    f->source[i] = i == FACT_L1 || i == FACT_L2 ? "reported" : "measured";
  }
  cpu_assume(f, t);
  return f;
}

const CpuFacts *machine_measure(Ctx *c, const Options *o) {
  const char *why;
  const Target *t = target_find(&c->model, "native", &why);
  if (t->arch == ARCH_ANY) fail(c, EX_MISSING, "--measure: tgc has no row for the architecture of this CPU");
  Measuring m = { o, t, scratch_new(c), shared_memory(c, FACT_COUNT * sizeof(double)) };
  m.fact[FACT_L1] = t->l1_bytes / 1024.0;
  m.fact[FACT_L2] = t->l2_bytes / 1024.0;
  const int code = ctx_try(c, measure, &m);
  scratch_remove(m.scratch);
  if (code) fail_silent(c, code);
  const CpuFacts *f = facts_of(c, t, m.fact);
  const char *path = store_path(c, o->tune_db);
  Sb text = { 0 };
  cpu_print(f, &text);
  const bool kept = store_put_machine(c, path, cpu_identity(&c->model), text.p);
  sb_free(&text);
  if (!kept) fail(c, EX_NOWRITE, "the facts cannot be kept in '%s'", path ? path : "the tuner's store");
  note(c, "kept in '%s': --isa=native uses these facts from now on", path);
  return f;
}

/* ---- the default machine ---- */
static bool is_default(const Options *o) {
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  return !o->isa && !o->machine && !o->target && b && !b->isa && emit != EMIT_WASM;
}

static const char *features_text(Ctx *c, Arch arch, uint32_t set) {
  Sb s = { 0 };
  for (const Feature *f = features; f->name; f++)
    if (f->arch == arch && f->bit & set) sb_printf(&s, "%s%s", s.n ? ", " : "", f->name);
  return sb_keep(&s, &c->model);
}

void machine_tell_default(Ctx *c, const Options *o) {
  const char *why;
  if (o->quiet || !is_default(o)) return;
  const Target *t = target_find(&c->model, DEFAULT_ISA, &why);
  const uint32_t have = host_features(), lacks = t->features & ~have, more = have & ~t->features;
  if (t->arch != host_arch()) return;
  const bool fast = o->verb != VERB_run; /* for the others, speed matters */
  const char *text = features_text(c, t->arch, lacks ? lacks : more);
  if (lacks) note(c, DEFAULT_ISA " by default; this CPU lacks %s: use --isa=native", text);
  else if (more && fast) note(c, DEFAULT_ISA " by default; this CPU also has %s: --isa=native uses them", text);
}

void machine_prepare(Ctx *c, const Options *o) {
  machine_tell_default(c, o);
  const bool wanted = o->isa && starts_with(o->isa, "native") && !o->machine && !o->no_store && host_arch() != ARCH_ANY;
  if (wanted && !machine_stored(c, o)) machine_measure(c, o);
}

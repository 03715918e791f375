/* SPDX-License-Identifier: MIT */
/* resume.c: --start-after: reads the graph and the passes' decisions from a dump, to be compiled with the options of the dump. */
#include "../cmd.h"
#include "../../frontends/common/external.h"
#include <limits.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 1 << 30 };

/* Options that passes follow. A dump records them. If the command line repeats one, it must be equal. */
typedef struct Followed {
  const char *name;
  size_t field;
  const char *otherwise;   /* value when it is not given; NULL: none */
} Followed;

static const Followed followed[] = {
  { "isa", offsetof(Options, isa), NULL },             { "target", offsetof(Options, target), NULL },
  { "cpu", offsetof(Options, cpu), NULL },             { "precision", offsetof(Options, precision), "fp32" },
  { "weights", offsetof(Options, weights), "fp32" },   { "denormals", offsetof(Options, denormals), NULL },
  { "kernel-groups", offsetof(Options, groups), "faster" }, { "optimize", offsetof(Options, optimize), NULL },
  { "max-arena", offsetof(Options, max_arena), NULL }, { "max-weights", offsetof(Options, max_weights), NULL },
  { "machine", offsetof(Options, machine), NULL },
};
enum { FOLLOWED = sizeof followed / sizeof *followed };

static const char **field_of(Options *o, const Followed *f) { return (const char **)(void *)((char *)o + f->field); }

static const char *value_of(const Options *o, const Followed *f) {
  return *(const char *const *)(const void *)((const char *)o + f->field);
}

const Setting *settings_of(Ctx *c, const Options *o, const Target *t, const char *lock, int *n) {
  int nchanges;
  const Setting *changes = changes_of(c, o, &nchanges);
  Setting *s = ARENA_NEW(&c->model, Setting, FOLLOWED + 2 + o->settings.n + (size_t)nchanges);
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  *n = 0;
  for (int i = 0; i < FOLLOWED; i++) {
    const char *v = value_of(o, &followed[i]);
    if (!v && !strcmp(followed[i].name, "isa") && !o->target) v = o->machine ? t->isa : b->isa ? b->isa : DEFAULT_ISA;
    if (!strcmp(followed[i].name, "machine")) v = machine_line(c, t->facts); /* also what the store gave */
    if (v) s[(*n)++] = (Setting){ followed[i].name, v };
  }
  s[(*n)++] = (Setting){ "backend", b->name };
  for (size_t i = 0; i < o->settings.n; i++) s[(*n)++] = (Setting){ "tunable", o->settings.p[i] };
  for (int i = 0; i < nchanges; i++) s[(*n)++] = changes[i];
  if (lock) s[(*n)++] = (Setting){ "schedule", lock };
  return s;
}

/* Tunables come from the dump. The command line may repeat them, in the same order. */
static void follow_tunables(Ctx *c, Options *o, const Resumed *r) {
  size_t n, found = 0;
  const Setting *s = resumed_settings(r, &n);
  Texts then = { .p = ARENA_NEW(&c->model, const char *, n + 1) };
  for (size_t i = 0; i < n; i++) {
    if (strcmp(s[i].name, "tunable")) continue;
    then.p[then.n++] = s[i].value;
    found += then.n <= o->settings.n && !strcmp(o->settings.p[then.n - 1], s[i].value);
  }
  if (o->settings.n && (found != then.n || found != o->settings.n))
    fail(c, EX_USAGE_, "the dump was made with other tunables than --tunable=%s; leave out --tunable", o->settings.p[0]);
  o->settings = then; /* the command line's own belong to the options that o was copied from */
  tunables_apply(c, o);
}

/* A lock file is not part of a dump, and later steps may need it. */
static void follow_lock(Ctx *c, const Options *o, const Resumed *r) {
  const char *lock = resumed_setting(r, "schedule");
  const bool asked = pass_named(resumed_after(r)) < pass_named("programs");
  if (lock && asked && !o->schedule)
    fail(c, EX_USAGE_, "the dump was made with the lock file '%s'; give it by --schedule, or give --schedule=none", lock);
  if (o->schedule && !asked)
    fail(c, EX_USAGE_, "--schedule has no effect after %s: schedules are chosen already", resumed_after(r));
}

static int shown(const char *s) { return (int)strcspn(s, ";"); } /* the facts of a machine would be a long line */

static void follow(Ctx *c, Options *o, const Resumed *r) {
  for (int i = 0; i < FOLLOWED; i++) {
    const char *given = resumed_setting(r, followed[i].name), *now = *field_of(o, &followed[i]);
    const char *then = given ? given : followed[i].otherwise;
    if (now && !strcmp(followed[i].name, "machine")) now = machine_line(c, machine_given(c, o));
    if (now && (!then || strcmp(now, then)))
      fail(c, EX_USAGE_, "--%s=%.*s differs from what the dump was made with: %.*s", followed[i].name, shown(now), now,
           then ? shown(then) : INT_MAX, then ? then : "it was not given");
    *field_of(o, &followed[i]) = given;
  }
  const char *then = resumed_setting(r, "backend");
  Emit emit;
  if (!o->emit && !o->backend) o->backend = then;
  const Backend *b = backend_of(o, &emit);
  if (!b || !then || strcmp(b->name, then))
    fail(c, EX_USAGE_, "the backend %s differs from that of the dump: %s", b ? b->name : o->backend,
         then ? then : "it names none");
  const bool known = (!o->precision || precision_named(o->precision) < PREC_COUNT) &&
                     (!o->weights || storage_named(o->weights) < STORAGE_COUNT) &&
                     groups_named(o->groups) < GROUPS_COUNT &&
                     (!o->denormals || !strcmp(o->denormals, "keep") || !strcmp(o->denormals, "flush"));
  if (!known) fail(c, EX_BADMODEL, "the dump names an unknown precision, weights, kernel groups or denormals");
  int64_t limit;
  if (optimize_named(o->optimize) == OPTIMIZE_COUNT || !parse_limit(o->max_arena, &limit) || !parse_limit(o->max_weights, &limit))
    fail(c, EX_BADMODEL, "the dump names an unknown optimize, or no size as max-arena or max-weights");
}

/* ---- the file ---- */
typedef struct DumpFile {
  External external;
  const Options *o;
  Resumed *r;
} DumpFile;

static Bytes weight_bytes(Ctx *c, void *arg, Pos at, const char *file, int64_t offset, int64_t bytes, const char *sha256) {
  DumpFile *l = arg;
  char digest[65];
  const Bytes b = external_range(c, &l->external, file, (uint64_t)offset, (size_t)bytes, at, "the weight");
  sha256_hex(b.p, b.n, digest);
  if (!sha256 || strcasecmp(digest, sha256))
    fail_at(c, EX_BADMODEL, at, "these bytes of '%.200s' have SHA-256 %s, but the line says %s", file, digest,
            sha256 ? sha256 : "nothing");
  return b;
}

static void load(Ctx *c, void *arg) {
  DumpFile *l = arg;
  const TextHooks hooks = { .arg = l, .blob = weight_bytes };
  const Bytes text = file_read(c, l->o->model, TEXT_MAX);
  l->r = plan_read(c, (const char *)text.p, text.n, l->o->model, &hooks);
  files_check(c);
}

static void check_pass(Ctx *c, const Options *o, const Resumed *r) {
  const char *after = resumed_after(r), *last = pass_info(pass_count() - 1).name;
  if (strcmp(o->start_after, "yes") && strcmp(o->start_after, after))
    fail(c, EX_USAGE_, "--start-after=%s: the dump was made after %s", o->start_after, after);
  if (!strcmp(after, last))
    fail(c, EX_USAGE_, "--start-after=%s: no pass is left to run after it", last);
  if (o->stop_after && pass_named(o->stop_after) < pass_named(after))
    fail(c, EX_USAGE_, "--stop-after=%s: the dump was made after %s, which comes later", o->stop_after, after);
}

Resumed *resume_read(Ctx *c, Options *o) {
  if (strcmp(o->start_after, "yes") && pass_named(o->start_after) == pass_count())
    fail(c, EX_USAGE_, "unknown --start-after '%s' (tgc ops lists the passes)%s", o->start_after,
         choice_near(&c->model, "start-after", o->start_after));
  DumpFile l = { .external = { .model = o->model, .allow_hardlinks = o->hardlinks }, .o = o };
  const int code = ctx_try(c, load, &l);
  VEC_FREE(&l.external.files);
  if (code) fail_silent(c, code);
  check_pass(c, o, l.r);
  follow(c, o, l.r);
  follow_tunables(c, o, l.r);
  follow_lock(c, o, l.r);
  size_t n;
  const Setting *s = resumed_settings(l.r, &n);
  changes_resume(c, o, s, n);
  return l.r;
}

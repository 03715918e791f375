/* SPDX-License-Identifier: MIT */
/* devices.c: tgc devices: this machine, every machine that tgc compiles for, and the installed tools that build for each and
 * run the result. */
#include "../cmd.h"
#include "../../compiler/target/cpu_facts.h"
#include <string.h>

enum { LEFT = 14 }; /* column of the facts behind their names */

typedef struct Devices {
  const Options *o;
  const char *scratch;
  const char *own_why; /* why the C compiler cannot build for this machine; NULL: it can */
  json_t *machines;
} Devices;

static void add_if_there(Ctx *c, json_t *list, const char *program) {
  if (installed(c, program)) json_array_append_new(list, json_text(program));
}

static const char *own_compiler(Ctx *c) { /* the first word of CC, as run and verify use it */
  Words words = { 0 };
  compiler_words(c, &words);
  const char *first = words.p[0];
  VEC_FREE(&words);
  return first;
}

/* A compiler is listed for a machine if it can build a few lines: an installed one may lack headers, libraries or an assembler.
 * compiler NULL: the one of run and verify, which make a library. */
static const char *add_if_builds(Ctx *c, const Devices *d, json_t *list, const char *compiler, const char *words,
                                 const Target *t) {
  const char *why = NULL;
  if (compiler && !installed(c, compiler)) return NULL;
  if (!compiler_probe(c, d->o, d->scratch, words, compiler ? "-c -O1" : "-shared -fPIC -O1", t->cflags, t, &why))
    json_array_append_new(list, json_text(compiler ? compiler : own_compiler(c)));
  else if (d->o->verbose) fprintf(stderr, "%s: %s\n", t->isa, why);
  return why;
}

static json_t *feature_names(Arch arch, uint32_t set) {
  json_t *list = json_array();
  for (const Feature *f = features; f->name; f++)
    if (f->arch == arch && set & f->bit) json_array_append_new(list, json_string(f->name));
  return list;
}

static json_t *machine_json(Ctx *c, Devices *d, const Target *row) {
  json_t *compilers = json_array(), *runs = json_array();
  const bool here = !is_foreign(row);
  uint32_t lacking = here ? row->features & ~host_features() : 0;
  const char *why = here ? add_if_builds(c, d, compilers, NULL, NULL, row) : NULL;
  if (row->arch == ARCH_ANY) d->own_why = why;
  if (here && !lacking) json_array_append_new(runs, json_string("here"));
  for (const Toolchain *x = toolchains; x->compiler; x++) {
    if (row->arch != x->arch || x->bare != target_is_bare(row)) continue;
    if (!here) add_if_builds(c, d, compilers, x->compiler, x->compiler, row);
    if ((!here || lacking) && !(row->features & ~x->played)) add_if_there(c, runs, x->emulator);
  }
  if (!here) add_if_builds(c, d, compilers, "clang", arena_printf(&c->model, "clang --target=%s", row->triple), row);
  return json_pack("{s:s, s:s, s:o, s:i, s:i, s:b, s:s, s:o, s:o, s:o}", "isa", row->isa, "architecture", arch_name(row->arch),
                   "features", feature_names(row->arch, row->features), "vector_bytes", row->vector_bytes, "vector_registers",
                   row->vector_regs, "fma", row->fma, "cflags", row->cflags, "lacking", feature_names(row->arch, lacking),
                   "compilers", compilers, "runs", runs);
}

static const char *words(Ctx *c, const json_t *list, const char *none) {
  Sb s = { 0 };
  const json_t *j;
  size_t i;
  json_array_foreach(list, i, j) sb_printf(&s, "%s%s", i ? " " : "", json_string_value(j));
  return s.n ? sb_keep(&s, &c->model) : none;
}

static void add_machine(Ctx *c, Table *t, const json_t *m) {
  const int bytes = (int)json_integer_value(json_object_get(m, "vector_bytes"));
  table_row(t, json_string_value(json_object_get(m, "isa")), json_string_value(json_object_get(m, "architecture")),
            bytes ? arena_printf(&c->model, "%d bit", 8 * bytes) : "scalar", words(c, json_object_get(m, "compilers"), "-"),
            words(c, json_object_get(m, "runs"), "-"));
}

/* The compiler of a device's kernels */
static const char *device_compilers(const Target *t) {
  for (const Backend *const *b = backends; *b; b++)
    if ((*b)->compilers && t->dev->interface && !strcmp((*b)->device, t->dev->interface)) return (*b)->compilers;
  return "the device's driver";
}

static void probe_machines(Ctx *c, void *arg) {
  Devices *d = arg;
  const char *why;
  const double start = clock_ms();
  double n = 0, done = 0;
  for (const Target *t = targets; t->isa; t++) n++;
  for (const Target *t = targets; t->isa; t++, done++) {
    const int64_t seconds = (int64_t)((clock_ms() - start) / 1e3);
    if (seconds) progress_show(d->o, "trying compilers", done / n, seconds);
    json_array_append_new(d->machines, machine_json(c, d, target_find(&c->model, t->isa, &why)));
  }
  progress_show(d->o, NULL, -1, 0);
}

static int list_cpus(Ctx *c, const Options *o) {
  Table t = { c, o, "<<<", .headed = true };
  table_row(&t, "--machine", "--isa", "CPU");
  for (const CpuRow *r = cpu_rows; r->name; r++) table_row(&t, r->name, r->isa, r->gloss);
  table_print(&t);
  return EX_DONE;
}

int verb_devices(Ctx *c, const Options *o) {
  const char *why;
  if (o->measure) return machine_print(o, machine_measure(c, o));
  if (o->machine && !strcmp(o->machine, "list")) return list_cpus(c, o);
  if (o->machine) return machine_print(o, machine_given(c, o));
  const Target *native = target_find(&c->model, "native", &why);
  Arch arch = host_arch();
  json_t *back = json_array();
  Devices d = { .o = o, .machines = json_array() };
  d.scratch = scratch_new(c);
  int code = ctx_try(c, probe_machines, &d);
  scratch_remove(d.scratch);
  if (code) fail_silent(c, code);
  for (const Backend *const *b = backends; *b; b++)
    json_array_append_new(back, json_pack("{s:s, s:s}", "name", (*b)->name, "gloss", (*b)->gloss));
  json_t *host = json_pack("{s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:s, s:b, s:b}", "architecture", arch_name(arch), "isa",
                           native->isa, "features", feature_names(arch, host_features()), "lacking",
                           feature_names(arch, ~host_features()), "l1_bytes", native->l1_bytes, "l2_bytes", native->l2_bytes,
                           "l3_bytes", native->l3_bytes, "cores", native->cores, "compiler", own_compiler(c),
                           "compiler_installed", installed(c, own_compiler(c)), "compiler_works", !d.own_why);
  json_t *j = json_report("devices", NULL), *m;
  json_t *no_device, *devices = drivers_json(c, o, &no_device);
  json_object_update_new(j, json_pack("{s:o, s:o, s:o, s:o}", "host", host, "machines", d.machines, "backends", back, "devices",
                                      devices));
  if (o->json) {
    json_decref(no_device);
    json_print(j);
    return EX_DONE;
  }
  const int room = terminal_room(o);
  Table t = { c, o, "<<<<<", .headed = true };
  printf("this machine  %s, %s\n", arch_name(arch), count_noun(&c->model, native->cores, "core"));
  printf("caches        L1 %s, L2 %s, L3 %s\n", bytes_text(c, native->l1_bytes), bytes_text(c, native->l2_bytes),
         native->l3_bytes ? bytes_text(c, native->l3_bytes) : "none or unknown");
  print_words(words(c, json_object_get(host, "features"), "the baseline"), LEFT, printf("has"), room);
  print_words(words(c, json_object_get(host, "lacking"), "nothing that tgc uses"), LEFT, printf("lacks"), room);
  printf("native is     %s\n", native->isa);
  if (d.own_why) printf("C compiler    none that works: %s\n", d.own_why);
  else printf("C compiler    %s\n", own_compiler(c));
  drivers_print(c, o, devices, no_device);
  for (const Backend *const *b = backends; *b; b++) {
    const int at = printf("%s%-8s", b == backends ? "backends      " : "              ", (*b)->name);
    print_words((*b)->gloss, at, at, room);
    if ((*b)->types) print_words((*b)->types, at, 0, room);
  }
  putchar('\n');
  table_row(&t, "--isa", "for", "vectors", "builds with", "runs");
  size_t i;
  json_array_foreach(d.machines, i, m) add_machine(c, &t, m);
  for (const Target *x = device_targets; x->isa; x++)
    table_row(&t, x->isa, "device", target_has_threads(x) ? "threads" : arena_printf(&c->model, "%d bit", 8 * x->vector_bytes),
              device_compilers(x), x->source);
  table_print(&t);
  json_decref(no_device);
  json_decref(j);
  return EX_DONE;
}

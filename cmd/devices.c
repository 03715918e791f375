/* devices.c: tgc devices: the machine at hand, every machine tgc compiles for, and what is installed here to
 * build for each and to run what was built. */
#include "cmd.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Programs that build and run for an architecture that is not this machine's, besides clang, which builds for all;
 * and what of it QEMU 7.2 plays. */
static const struct { Arch arch; const char *compiler, *emulator; uint32_t played; } foreign[] = {
  { ARCH_X86_64, "x86_64-linux-gnu-gcc", "qemu-x86_64", FEAT_AVX2 },
  { ARCH_AARCH64, "aarch64-linux-gnu-gcc", "qemu-aarch64", ~0u },
  { ARCH_RISCV64, "riscv64-linux-gnu-gcc", "qemu-riscv64", ~0u },
  { ARCH_ARM, "arm-none-eabi-gcc", "qemu-system-arm", ~0u },
};

static bool installed(Ctx *c, const char *program) { /* in the PATH, or a path itself */
  const char *path = getenv("PATH");
  if (strchr(program, '/')) return !access(program, X_OK);
  for (const char *at = path ? path : ""; *at;) {
    size_t n = strcspn(at, ":");
    if (n && !access(arena_printf(&c->model, "%.*s/%s", (int)n, at, program), X_OK)) return true;
    at += n + (at[n] == ':');
  }
  return false;
}

static void add_if_there(Ctx *c, json_t *list, const char *program) {
  if (installed(c, program)) json_array_append_new(list, json_text(program));
}

static const char *own_compiler(Ctx *c) { /* the first word of CC, as run and verify take it */
  const char *cc = getenv("CC");
  while (cc && *cc == ' ') cc++;
  return cc && *cc ? arena_str(&c->model, cc, strcspn(cc, " ")) : "cc";
}

static json_t *feature_names(Arch arch, uint32_t set) {
  json_t *list = json_array();
  for (const Feature *f = features; f->name; f++)
    if (f->arch == arch && set & f->bit) json_array_append_new(list, json_string(f->name));
  return list;
}

static json_t *machine_json(Ctx *c, const Target *row) {
  json_t *compilers = json_array(), *runs = json_array();
  bool here = row->arch == ARCH_ANY || row->arch == host_arch();
  uint32_t lacking = here ? row->features & ~host_features() : 0;
  if (here) add_if_there(c, compilers, own_compiler(c));
  if (here && !lacking) json_array_append_new(runs, json_string("here"));
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    if (row->arch != foreign[i].arch) continue;
    if (!here) add_if_there(c, compilers, foreign[i].compiler);
    if ((!here || lacking) && !(row->features & ~foreign[i].played)) add_if_there(c, runs, foreign[i].emulator);
  }
  if (!here) add_if_there(c, compilers, "clang");
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

static void print_machine(Ctx *c, const json_t *m) {
  int bytes = (int)json_integer_value(json_object_get(m, "vector_bytes"));
  printf("%-12s%-9s%-10s%-28s%s\n", json_string_value(json_object_get(m, "isa")),
         json_string_value(json_object_get(m, "architecture")), bytes ? arena_printf(&c->model, "%d bit", 8 * bytes) : "scalar",
         words(c, json_object_get(m, "compilers"), "-"), words(c, json_object_get(m, "runs"), "-"));
}

int verb_devices(Ctx *c, const Options *o) {
  const char *why;
  const Target *native = target_find(&c->model, "native", &why);
  Arch arch = host_arch();
  json_t *machines = json_array(), *back = json_array();
  for (const Target *t = targets; t->isa; t++)
    json_array_append_new(machines, machine_json(c, target_find(&c->model, t->isa, &why)));
  for (const Backend *const *b = backends; *b; b++)
    json_array_append_new(back, json_pack("{s:s, s:s}", "name", (*b)->name, "gloss", (*b)->gloss));
  json_t *host = json_pack("{s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:s, s:b}", "architecture", arch_name(arch), "isa",
                           native->isa, "features", feature_names(arch, host_features()), "lacking",
                           feature_names(arch, ~host_features()), "l1_bytes", native->l1_bytes, "l2_bytes", native->l2_bytes,
                           "l3_bytes", native->l3_bytes, "cores", native->cores, "compiler", own_compiler(c),
                           "compiler_installed", installed(c, own_compiler(c)));
  json_t *j = json_report("devices", NULL), *m;
  json_object_update_new(j, json_pack("{s:o, s:o, s:o}", "host", host, "machines", machines, "backends", back));
  if (o->json) {
    json_print(j);
    return EX_DONE;
  }
  printf("this machine  %s, %d cores\n", arch_name(arch), native->cores);
  printf("caches        L1 %s, L2 %s, L3 %s\n", bytes_text(c, native->l1_bytes), bytes_text(c, native->l2_bytes),
         native->l3_bytes ? bytes_text(c, native->l3_bytes) : "none or unknown");
  printf("has           %s\n", words(c, json_object_get(host, "features"), "the baseline"));
  printf("lacks         %s\n", words(c, json_object_get(host, "lacking"), "nothing that tgc uses"));
  printf("native is     %s\n", native->isa);
  printf("C compiler    %s%s\n", own_compiler(c), installed(c, own_compiler(c)) ? "" : ", which is not installed");
  for (const Backend *const *b = backends; *b; b++)
    printf("%s%-8s%s\n", b == backends ? "backends      " : "              ", (*b)->name, (*b)->gloss);
  printf("\n%-12s%-9s%-10s%-28s%s\n", "--isa", "for", "vectors", "builds with", "runs");
  size_t i;
  json_array_foreach(machines, i, m) print_machine(c, m);
  json_decref(j);
  return EX_DONE;
}

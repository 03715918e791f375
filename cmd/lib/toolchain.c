/* SPDX-License-Identifier: MIT */
/* toolchain.c: compilers and emulators for other machines, and which are installed. */
#include "../cmd.h"
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const Toolchain toolchains[] = {
  { ARCH_X86_64, false, "x86_64-linux-gnu-gcc", "qemu-x86_64", FEAT_AVX2 },
  { ARCH_AARCH64, false, "aarch64-linux-gnu-gcc", "qemu-aarch64", ~0u },
  { ARCH_RISCV64, false, "riscv64-linux-gnu-gcc", "qemu-riscv64", ~0u },
  { ARCH_ARM, false, "arm-linux-gnueabihf-gcc", "qemu-arm", ~0u },
  { ARCH_ARM, true, "arm-none-eabi-gcc", "qemu-system-arm", ~0u },
  { ARCH_ANY, false, NULL, NULL, 0 },
};

bool installed(Ctx *c, const char *program) {
  const char *path = getenv("PATH");
  if (strchr(program, '/')) return !access(program, X_OK);
  for (const char *at = path ? path : ""; *at;) {
    size_t n = strcspn(at, ":");
    if (n && !access(arena_printf(&c->model, "%.*s/%s", (int)n, at, program), X_OK)) return true;
    at += n + (at[n] == ':');
  }
  return false;
}

bool is_foreign(const Target *t) { return t->arch != ARCH_ANY && t->arch != host_arch(); }

const char *compiler_for(Ctx *c, const Target *t) {
  const char *cc = getenv("CC"), *names = "";
  if (!is_foreign(t) || (cc && strspn(cc, " \t\n") < strlen(cc))) return NULL;
  for (const Toolchain *x = toolchains; x->compiler; x++) {
    if (x->arch != t->arch || x->bare != target_is_bare(t)) continue;
    if (installed(c, x->compiler)) return x->compiler;
    names = arena_printf(&c->model, "; %s is one", x->compiler);
  }
  c->file = NULL;
  fail(c, EX_MISSING, "no C compiler for %s is installed: set CC to one%s", t->isa, names);
}

Arch elf_arch(const char *path) {
  static const struct {
    uint16_t machine;
    Arch arch;
  } known[] = { { EM_X86_64, ARCH_X86_64 }, { EM_AARCH64, ARCH_AARCH64 }, { EM_RISCV, ARCH_RISCV64 }, { EM_ARM, ARCH_ARM } };
  Elf64_Ehdr h = { 0 }; /* up to e_machine equal to Elf32_Ehdr */
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, &h, sizeof h);
  if (fd >= 0) close(fd);
  for (size_t i = 0; i < sizeof known / sizeof *known && n == sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG); i++)
    if (h.e_machine == known[i].machine) return known[i].arch;
  return ARCH_ANY;
}

void native_only(Ctx *c, const Target *t) {
  if (!is_foreign(t)) return;
  fail(c, EX_MISSING, "code for %s cannot be timed here: this machine is %s (tgc devices says what can be run)", t->isa,
       arch_name(host_arch()));
}

/* SPDX-License-Identifier: MIT */
/* emulate.c: runs bundles for other machines here, by an emulator. */
#include "../cmd.h"
#include <string.h>

_Noreturn static void cannot_run(Ctx *c, const Interface *f, Arch arch, const char *because) {
  c->file = NULL;
  fail(c, EX_MISSING,
       "code for %s cannot be run here: this machine is %s, and %s; `tgc compile --self-test` makes a bundle that tests "
       "itself there, and `tgc verify --outputs` checks what it saves",
       f->target->arch == ARCH_ANY ? arch_name(arch) : f->target->isa, arch_name(host_arch()), because);
}

static const Toolchain *emulator_for(Ctx *c, const Interface *f, Arch arch) {
  if (target_is_bare(f->target))
    cannot_run(c, f, arch, "it has no operating system (examples/cortex-m uses a board that QEMU plays)");
  const char *name = NULL;
  for (const Toolchain *x = toolchains; x->compiler; x++) {
    if (x->arch != arch || x->bare) continue;
    if (installed(c, x->emulator)) return x;
    name = x->emulator;
  }
  cannot_run(c, f, arch, name ? arena_printf(&c->model, "no %s is installed", name) : "there is no emulator for that");
}

/* An emulator runs the bundle's own example, linked statically; inputs and outputs are files. */
void bundle_emulate(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, Arch arch, size_t steps,
                    const Tensor *in, Tensor *out) {
  const Toolchain *x = emulator_for(c, f, arch);
  if (strcmp(f->run, "_run_v")) cannot_run(c, f, arch, "emulators run all entries together");
  if (steps > 1) cannot_run(c, f, arch, "emulators run one step only");
  const char *program = example_build(c, o, dir, scratch, f), *saved = arena_printf(&c->model, "%s/outputs", scratch), *why;
  note(c, "running in %s, since this machine is %s", x->emulator, arch_name(host_arch()));
  Texts argv = { 0 };
  VEC_PUSH(&argv, x->emulator);
  if (f->target->features & FEAT_RVV) VEC_PUSH(&argv, "-cpu"), VEC_PUSH(&argv, "rv64,v=true,vlen=128");
  const char *const more[] = { program, "--weights", arena_printf(&c->model, "%s/%s_weights.bin", dir, f->name),     "--save",
                               saved,   "--threads", arena_printf(&c->model, "%d", o->threads ? (int)o->threads : 1) };
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) VEC_PUSH(&argv, more[i]);
  for (size_t i = 0; i < f->inputs.n; i++) {
    const char *path = arena_printf(&c->model, "%s/input_%zu", scratch, i);
    file_put(c, path, in[i].data, (size_t)(in[i].elems * dt_bytes(in[i].dt)));
    VEC_PUSH(&argv, path);
  }
  const int code = example_run(c, o, scratch, x->emulator, &argv, saved, &why);
  VEC_FREE(&argv);
  if (code) {
    c->file = NULL;
    fail(c, code, "%s", why);
  }
  const Bytes b = file_read(c, saved, 0);
  size_t at = 0;
  for (size_t i = 0; i < f->outputs.n; i++) {
    const GIO *v = &f->outputs.p[i];
    out[i] = tensor_like(v);
    const size_t n = (size_t)out[i].elems * (size_t)dt_bytes(out[i].dt);
    if (n > b.n - at) fail(c, EX_MISSING, "%s ended before it had written all outputs", x->emulator);
    out[i].data = b.p + at;
    at += n;
  }
}

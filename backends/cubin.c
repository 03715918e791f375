/* SPDX-License-Identifier: MIT */
/* cubin.c: what functions take of the machine, as the compiled code says it. A cubin is an ELF file. Its section ".nv.info" has
 * a record for each function and fact; NVIDIA documents neither, so a test compares the values with those of `ptxas -v`.
 *
 * needs: a cubin    gives: registers and memory of its functions, or nothing where it is not as expected    breaks: nothing */
#include "nvrtc.h"
#include <elf.h>
#include <string.h>

enum { RECORD_BYTES = 4, HAS_BYTES = 4, FRAME_SIZE = 0x11, REGISTERS = 0x2f }; /* a record; a form of records; two facts */

typedef struct Cubin {
  Bytes file;
  Elf64_Ehdr head;
  Bytes names, symbols, symbol_names; /* sections have names, symbols are functions */
} Cubin;

static bool section(const Cubin *f, size_t i, Elf64_Shdr *out) {
  const size_t at = f->head.e_shoff + i * sizeof *out;
  if (i >= f->head.e_shnum || f->head.e_shoff > f->file.n) return false;
  if (f->file.n - f->head.e_shoff < (i + 1) * sizeof *out) return false;
  memcpy(out, f->file.p + at, sizeof *out);
  return out->sh_type == SHT_NOBITS || (out->sh_offset <= f->file.n && out->sh_size <= f->file.n - out->sh_offset);
}

static Bytes contents(const Cubin *f, const Elf64_Shdr *s) { return (Bytes){ f->file.p + s->sh_offset, (size_t)s->sh_size }; }

static const char *text_at(Bytes names, uint64_t at) { /* "" where there is none */
  return at < names.n && memchr(names.p + at, 0, names.n - at) ? (const char *)names.p + at : "";
}

static const char *symbol_name(const Cubin *f, uint32_t i) {
  Elf64_Sym s;
  if (f->symbols.n / sizeof s <= i) return "";
  memcpy(&s, f->symbols.p + i * sizeof s, sizeof s);
  return text_at(f->symbol_names, s.st_name);
}

static bool open_cubin(Bytes file, Cubin *f) {
  Elf64_Shdr s, names;
  *f = (Cubin){ .file = file };
  if (file.n < sizeof f->head || memcmp(file.p, ELFMAG, SELFMAG)) return false;
  memcpy(&f->head, file.p, sizeof f->head);
  if (f->head.e_shentsize != sizeof s || !section(f, f->head.e_shstrndx, &names)) return false;
  f->names = contents(f, &names);
  for (size_t i = 0; section(f, i, &s); i++) {
    if (s.sh_type != SHT_SYMTAB || !section(f, s.sh_link, &names)) continue;
    f->symbols = contents(f, &s);
    f->symbol_names = contents(f, &names);
  }
  return f->symbols.n != 0;
}

static FunctionUse *use_of(Ctx *c, Images *out, size_t first, const char *function, uint32_t arch) {
  for (size_t i = first; i < out->uses.n; i++)
    if (!strcmp(out->uses.p[i].function, function)) return &out->uses.p[i];
  VEC_PUSH(&out->uses, ((FunctionUse){ .function = arena_str(&c->model, function, strlen(function)), .arch = arch }));
  return &out->uses.p[out->uses.n - 1];
}

/* A record is a form, a fact, and a number of 16 bits. In records of the form HAS_BYTES the number says how many bytes follow. A
 * fact of a function has two numbers there: the function's symbol and a value. */
static void read_facts(Ctx *c, const Cubin *f, Bytes info, uint32_t arch, size_t first, Images *out) {
  for (size_t at = 0; at + RECORD_BYTES <= info.n;) {
    const uint8_t form = info.p[at], fact = info.p[at + 1];
    const size_t n = form == HAS_BYTES ? (size_t)(info.p[at + 2] | info.p[at + 3] << 8) : 0;
    uint32_t value[2];
    at += RECORD_BYTES;
    if (n > info.n - at) return;
    if (n == sizeof value && (fact == REGISTERS || fact == FRAME_SIZE)) {
      memcpy(value, info.p + at, sizeof value);
      FunctionUse *u = use_of(c, out, first, symbol_name(f, value[0]), arch);
      *(fact == REGISTERS ? &u->registers : &u->local_bytes) = value[1];
    }
    at += n;
  }
}

void cubin_uses(Ctx *c, Bytes cubin, uint32_t arch, Images *out) {
  static const char shared[] = ".nv.shared.";
  const size_t first = out->uses.n;
  Cubin f;
  Elf64_Shdr s;
  if (!open_cubin(cubin, &f)) return;
  for (size_t i = 0; section(&f, i, &s); i++)
    if (s.sh_type != SHT_NOBITS && !strcmp(text_at(f.names, s.sh_name), ".nv.info"))
      read_facts(c, &f, contents(&f, &s), arch, first, out);
  for (size_t i = 0; section(&f, i, &s); i++) {
    const char *name = text_at(f.names, s.sh_name);
    for (size_t k = first; k < out->uses.n && starts_with(name, shared); k++)
      if (!strcmp(out->uses.p[k].function, name + sizeof shared - 1)) out->uses.p[k].shared_bytes = (int64_t)s.sh_size;
  }
}

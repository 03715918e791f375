/* SPDX-License-Identifier: MIT */
/* target.c: finds machines. A row of machines.h is a set of features with the facts that follow from them. For another set, the
 * first row of the architecture counts whose features the set includes. The other features are added to its name and flags. So
 * a machine is found by its instruction sets, and may be used without some of them. CPU model numbers are never asked, because
 * hypervisors mask them. */
#include "target.h"
#include <string.h>

/* clang-format off */
const Target targets[] = {
#define MACHINE(name, of, pointer, set, vector, regs, ints, has_fma, f16, l1, l2, l3, n, flags, llvm_triple, llvm_features, sizes) \
  { .isa = name, .arch = ARCH_##of, .pointer_bits = pointer, .features = set, .vector_bytes = vector, .vector_regs = regs, \
    .int_regs = ints, \
    .fma = has_fma, .f16_convert = f16, .l1_bytes = l1, .l2_bytes = l2, .l3_bytes = l3, .cores = n, .cflags = flags, \
    .triple = llvm_triple, .llvm = llvm_features, .source = sizes },
#include "machines.h"
#undef MACHINE
  { .isa = NULL },
};
/* clang-format on */

const char *arch_name(Arch a) {
  static const char *const name[] = { [ARCH_ANY] = "any",         [ARCH_X86_64] = "x86-64", [ARCH_AARCH64] = "aarch64",
                                      [ARCH_RISCV64] = "riscv64", [ARCH_ARM] = "arm",       [ARCH_WASM] = "wasm32" };
  return name[a];
}

/* ---- sets of features ---- */

/* Features of an architecture by name; "amx" stands for all that begin with "amx_". 0: there is none. */
static uint32_t features_named(Arch arch, const char *s, size_t n) {
  uint32_t found = 0;
  for (const Feature *f = features; f->name; f++)
    if (f->arch == arch && !strncmp(f->name, s, n) && (!f->name[n] || f->name[n] == '_')) found |= f->bit;
  return found;
}

static uint32_t with(uint32_t set, uint32_t more) {
  set |= more;
  for (int i = feature_count; i-- > 0;)
    if (set & features[i].bit) set |= features[i].needs;
  return set;
}

static uint32_t without(uint32_t set, uint32_t less) {
  set &= ~less;
  for (const Feature *f = features; f->name; f++)
    if (f->needs & ~set) set &= ~f->bit;
  return set;
}

/* ---- finding ---- */
static const Target *best_row(Arch arch, uint32_t set) {
  const Target *t = targets;
  while (t->isa && (t->arch != arch || t->features & ~set)) t++;
  return t->isa ? t : targets;
}

/* The row with the longest name that begins the text, up to a '+' or '-'; *n: length of the name. */
static const Target *row_named(const char *text, size_t *n) {
  const Target *best = NULL;
  *n = 0;
  for (int devices = 0; devices < 2; devices++)
    for (const Target *t = devices ? device_targets : targets; t->isa; t++) {
      const size_t k = strlen(t->isa);
      if (k > *n && !strncmp(text, t->isa, k) && (!text[k] || strchr("+-", text[k]))) best = t, *n = k;
    }
  return best;
}

static const char *known_rows(Arena *a) {
  Sb s = { 0 };
  for (const Target *t = targets; t->isa; t++) sb_printf(&s, ", %s", t->isa);
  sb_puts(&s, "; for devices");
  for (const Target *t = device_targets; t->isa; t++) sb_printf(&s, "%s%s", t == device_targets ? " " : ", ", t->isa);
  const char *text = arena_printf(a, "for CPUs there are fat, native%s; +FEATURE and -FEATURE may follow each name but fat", s.p);
  sb_free(&s);
  return text;
}

static const char *known_features(Arena *a, Arch arch, const char *word, size_t n) {
  Sb s = { 0 };
  VEC(const char *) names = { 0 };
  for (const Feature *f = features; f->name; f++) {
    if (f->arch != arch) continue;
    sb_printf(&s, "%s%s", s.n ? ", " : "", f->name);
    VEC_PUSH(&names, f->name);
  }
  const char *near = did_you_mean(a, arena_str(a, word, n), names.p, names.n);
  const char *text = arch == ARCH_ANY ? arena_printf(a, "no feature '%.*s': this machine has no optional features", (int)n, word)
                                      : arena_printf(a, "no feature '%.*s' of %s; there %s%s%s", (int)n, word, arch_name(arch),
                                                     s.n ? "are " : "is none", s.n ? s.p : "", near);
  VEC_FREE(&names);
  sb_free(&s);
  return text;
}

/* A row with exactly these features, which include the row's. */
static Target *complete(Arena *a, const Target *row, uint32_t set) {
  Target *t = arena_dup(a, row, sizeof *row);
  Sb isa = { 0 }, cflags = { 0 }, llvm = { 0 };
  sb_puts(&isa, row->isa);
  sb_puts(&cflags, row->cflags);
  sb_puts(&llvm, row->llvm);
  for (const Feature *f = features; f->name; f++) {
    if (!(set & f->bit)) continue;
    if (!(row->features & f->bit)) sb_printf(&isa, "+%s", f->name);
    sb_puts(&cflags, f->cflags);
    sb_printf(&llvm, "%s%s", llvm.n ? "," : "", f->llvm);
  }
  t->features = set;
  t->isa = sb_keep(&isa, a);
  t->cflags = sb_keep(&cflags, a);
  t->llvm = sb_keep(&llvm, a);
  return t;
}

/* One bundle for every x86-64, planned for the richest machine: narrower vectors can make up the same tiles. */
static const Target *fat(Arena *a) {
  static const char *const rows[] = { "x86-64-v4", "x86-64-v3", "x86-64" };
  enum { N = sizeof rows / sizeof *rows };
  const Target **all = ARENA_NEW(a, const Target *, N + 1);
  size_t n;
  for (int i = 0; i < N; i++) {
    const Target *row = row_named(rows[i], &n);
    all[i] = complete(a, row, row->features);
  }
  Target *t = arena_dup(a, all[0], sizeof *t);
  t->isa = "fat";
  t->variants = all;
  t->features = all[N - 1]->features; /* the baseline: some of the code always runs */
  t->cflags = all[N - 1]->cflags;
  t->llvm = all[N - 1]->llvm;
  return t;
}

const Target *target_find(Arena *a, const char *text, const char **why) {
  static const char native_word[] = "native";
  size_t n = sizeof native_word - 1;
  if (!strcmp(text, "fat")) return fat(a);
  bool native = !strncmp(text, native_word, n) && (!text[n] || strchr("+-", text[n]));
  const Target *row = native ? best_row(host_arch(), host_features()) : row_named(text, &n);
  if (!row) {
    *why = known_rows(a);
    return NULL;
  }
  if (row->dev) return device_named(a, row, text + n, why);
  uint32_t set = native && row->arch != ARCH_ANY ? host_features() : row->features, asked = set;
  for (const char *s = text + n; *s;) {
    const char sign = *s++;
    size_t len = strcspn(s, "+-");
    uint32_t named = len ? features_named(row->arch, s, len) : 0;
    if (!named) {
      *why = known_features(a, row->arch, s, len);
      return NULL;
    }
    set = sign == '+' ? with(set, named) : without(set, named);
    s += len;
  }
  Target *t = complete(a, set == asked ? row : best_row(row->arch, set), set);
  if (native) host_sizes(t);
  return t;
}

/* ---- triples ---- */
Arch triple_arch(const char *triple, const char **isa) {
  static const struct { const char *begins; Arch arch; const char *isa; } known[] = {
    { "x86_64-", ARCH_X86_64, "x86-64-v3" }, { "aarch64-", ARCH_AARCH64, "neon" }, { "riscv64-", ARCH_RISCV64, "rv64gc" },
    { "thumbv7em-", ARCH_ARM, "cortex-m4" }, { "armv7", ARCH_ARM, "armv7" },        { "wasm32-", ARCH_WASM, "wasm32" },
    { "thumbv8m.main-", ARCH_ARM, "cortex-m33" }, { "thumbv8.1m.main-", ARCH_ARM, "cortex-m55" },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!starts_with(triple, known[i].begins)) continue;
    *isa = known[i].isa;
    return known[i].arch;
  }
  return ARCH_ANY;
}

const Target *target_tuned(Arena *a, const Target *t, const char *triple, const char *cpu) {
  Target *copy = arena_dup(a, t, sizeof *t);
  if (triple) copy->triple = triple;
  copy->cpu = cpu;
  return copy;
}

const Target *target_in_order(Arena *a, const Target *t) {
  static const char loose[] = "-ffp-contract=fast";
  Target *o = arena_dup(a, t, sizeof *t);
  const char *at = strstr(t->cflags, loose);
  o->in_order = true;
  if (at) o->cflags = arena_printf(a, "%.*s-ffp-contract=off%s", (int)(at - t->cflags), t->cflags, at + sizeof loose - 1);
  return o;
}

const Target *target_flushing(Arena *a, const Target *t) {
  Target *o = arena_dup(a, t, sizeof *t);
  o->flushes = true;
  return o;
}

int target_least_vector(const Target *t) { return t->features & FEAT_MVE ? t->vector_bytes : 2 * dt_bytes(DT_F32); }

bool target_is_bare(const Target *t) { return strstr(t->triple, "-none-") != NULL; }

const char *target_tools(const Target *t) { return target_is_bare(t) && t->arch == ARCH_ARM ? "arm-none-eabi-" : ""; }

const char *target_machine_flags(Arena *a, const Target *t) {
  Sb s = { 0 };
  for (const char *at = t->cflags + strspn(t->cflags, " "); *at; at += strspn(at, " ")) {
    const size_t n = strcspn(at, " ");
    if (starts_with(at, "-m")) sb_printf(&s, "%s%.*s", s.n ? " " : "", (int)n, at);
    at += n;
  }
  return sb_keep(&s, a);
}

bool target_rounds(const Target *t, int lanes) { return t->flushes && t->features & FEAT_AVX512BF16 && lanes == 16; }

bool target_counts_in_32(const Target *t) { return target_has_threads(t) || t->pointer_bits == 32; }

DType target_count(const Target *t) { return t->pointer_bits == 32 ? DT_I32 : DT_I64; }

bool target_rounds_to_int(const Target *t, DType from, DType to) { /* vcvtr: all rows have a floating-point unit */
  return t->arch == ARCH_ARM && from == DT_F32 && dt_int(to) && (to == DT_I32 || dtype_info[to].bits < 32);
}

bool target_packs(const Target *t, int lanes) {
  return (t->features & FEAT_AVX512 && lanes == 16) || (t->features & FEAT_AVX2 && lanes == 8);
}

bool target_adds_words(const Target *t, int lanes) { return target_packs(t, lanes); }

bool target_scales(const Target *t, DType d, int lanes) { return t->features & FEAT_AVX512 && d == DT_F32 && lanes == 16; }

bool target_looks_up(const Target *t, DType d, int lanes) { return target_scales(t, d, lanes) && !t->in_order; }

/* The preprocessor condition for an architecture with the floating-point instructions of all its rows. */
static const char *arch_macros(Arch a) {
  static const char *const macros[] = {
    [ARCH_ANY] = "1",
    [ARCH_X86_64] = "defined __x86_64__",
    [ARCH_AARCH64] = "defined __aarch64__",
    [ARCH_RISCV64] = "defined __riscv && __riscv_xlen == 64 && defined __riscv_flen && __riscv_flen >= 64",
    [ARCH_ARM] = "defined __arm__ && defined __ARM_FEATURE_FMA",
    [ARCH_WASM] = "defined __wasm__",
  };
  return macros[a];
}

void target_guard(const Target *t, const char *file, Sb *o) {
  sb_printf(o, "/* Under other flags it would compute something else, or not compile. */\n#if !(%s", arch_macros(t->arch));
  for (const Feature *f = features; f->name; f++)
    if (t->features & f->bit) sb_printf(o, " && \\\n      %s", f->macros);
  sb_printf(o, ")\n#error %s is made for %s: compile it with %s\n#endif\n", file, t->isa, t->cflags);
  sb_printf(o,
            "#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__) || \\\n"
            "    defined __ASSOCIATIVE_MATH__ || defined __RECIPROCAL_MATH__ || defined __NO_SIGNED_ZEROS__\n"
            "#error \"%s needs the arithmetic of IEEE 754: compile it without -ffast-math, -Ofast and their parts\"\n#endif\n",
            file);
  if (t->arch == ARCH_ANY || t->arch == ARCH_X86_64)
    sb_printf(o,
              "#if defined __FLT_EVAL_METHOD__ && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)\n"
              "#error \"%s needs floats that are computed as floats: on x86 compile it with -msse2 -mfpmath=sse\"\n#endif\n",
              file);
}

void target_facts(const Target *t, Sb *o) {
  sb_printf(o, "%s vector %d x %d fma %d f16 %d%s", t->isa, t->vector_bytes, t->vector_regs, t->fma, t->f16_convert,
            t->in_order ? " in order" : "");
  if (t->dev) device_facts(t->dev, o);
}
bool target_sums_halves(const Target *t, int lanes) {
  const bool arm = t->arch == ARCH_AARCH64;
  if (t->dev || !t->vector_bytes || !(t->features & (arm ? FEAT_FP16 : FEAT_AVX512FP16))) return false;
  return !lanes || (lanes >= (arm ? 4 : 8) && 2 * lanes <= t->vector_bytes);
}


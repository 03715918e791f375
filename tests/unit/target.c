/* SPDX-License-Identifier: MIT */
/* machines by name: rows, features with and without, and what the CPU at hand says of itself */
#include "../../compiler/target/target.h"
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

static const Target *find(Arena *a, const char *text) {
  const char *why = NULL;
  const Target *t = target_find(a, text, &why);
  if (!t) fail_msg("%s: %s", text, why);
  return t;
}

static void every_row_is_found_by_its_name(void **state) {
  (void)state;
  Arena a = { 0 };
  for (const Target *row = targets; row->isa; row++) {
    const Target *t = find(&a, row->isa);
    assert_string_equal(t->isa, row->isa);
    assert_int_equal(t->features, row->features);
    assert_int_equal(t->vector_bytes, row->vector_bytes);
    assert_int_equal(t->l1_bytes, row->l1_bytes);
    /* rows with the same features are different cores, with flags of their own */
    if (row > targets && row[-1].arch == row->arch && row->features && row[-1].features == row->features)
      assert_string_not_equal(row[-1].cflags, row->cflags);
  }
  arena_free(&a);
}

static void features_choose_the_row(void **state) {
  (void)state;
  static const struct { const char *text, *isa; } pair[] = {
    { "x86-64-v4+vnni", "x86-64-v4+vnni" },
    { "x86-64-v4+bf16+vnni", "x86-64-v4+vnni+bf16" },              /* one name for one set */
    { "x86-64-amx-amx", "x86-64-v4+vnni+bf16" },                   /* a word for several features */
    { "x86-64-amx-amx_int8", "x86-64-v4+vnni+bf16+amx_bf16" },
    { "x86-64-v4-avx512", "x86-64-v3" },                           /* the row whose features are left */
    { "x86-64-amx+avxvnni-avx512", "x86-64-v3+avxvnni" },          /* features that need it go, too */
    { "x86-64+vnni", "x86-64-v4+vnni" },                           /* and comes */
    { "x86-64-v3-avx2", "x86-64" },
    { "cortex-m4+dsp", "cortex-m4" },                              /* the row has it already */
    { "cortex-m33+dsp", "cortex-m33" },
    { "cortex-m55-mve", "cortex-m33" },
    { "cortex-m4-dsp", "portable" },                               /* no row of the architecture is left */
    { "neon+dotprod", "neon+dotprod" },
    { "neon+dotprod+fp16", "armv8.2" },
    { "armv8.6-i8mm", "armv8.2+bf16" },
    { "rv64gc+v", "rv64gcv" },
  };
  Arena a = { 0 };
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) assert_string_equal(find(&a, pair[i].text)->isa, pair[i].isa);
  arena_free(&a);
}

static void devices_have_features_of_their_own(void **state) {
  (void)state;
  static const struct { const char *text, *isa; uint32_t set; } pair[] = {
    { "opencl", "opencl", 0 },
    { "opencl+f16", "opencl+f16", DEVF_F16 },
    { "opencl-cpu+f16", "opencl-cpu+f16", DEVF_F16 },
    { "opencl+f16-f16", "opencl", 0 },
    { "opencl+subgroups+f16", "opencl+f16+subgroups", DEVF_F16 | DEVF_SUBGROUPS },
    { "opencl-f16", "opencl", 0 },
  };
  Arena a = { 0 };
  Sb with = { 0 }, without = { 0 };
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
    const Target *t = find(&a, pair[i].text);
    assert_string_equal(t->isa, pair[i].isa);
    assert_int_equal(t->dev->features, pair[i].set);
    assert_int_equal(t->features, 0); /* features of CPUs */
  }
  for (const Target *row = device_targets; row->isa; row++) /* bits of drivers that are no feature are left out */
    for (const DeviceFeature *f = device_features; f->name; f++) {
      const Target *t = device_with(&a, row, f->bit | TGCRT_NEEDS_F64);
      if (!(row->dev->may_have & f->bit)) continue;
      assert_string_equal(find(&a, t->isa)->isa, t->isa);
      assert_int_equal(t->dev->features, f->bit);
    }
  target_facts(find(&a, "opencl"), &without);
  target_facts(find(&a, "opencl+f16"), &with); /* a schedule for the one is none for the other */
  assert_string_not_equal(with.p, without.p);
  sb_free(&with);
  sb_free(&without);
  arena_free(&a);
}

static void flags_say_every_feature(void **state) {
  (void)state;
  Arena a = { 0 };
  const Target *t = find(&a, "x86-64-v4+vnni");
  assert_non_null(strstr(t->cflags, " -march=x86-64-v3 -mavx512f "));
  assert_non_null(strstr(t->cflags, " -mprefer-vector-width=512"));
  assert_non_null(strstr(t->cflags, " -mavx512vnni"));
  assert_null(strstr(t->cflags, "bf16"));
  assert_non_null(strstr(t->llvm, "+avx512vnni"));
  assert_non_null(strstr(find(&a, "armv8.6")->cflags, " -march=armv8.2-a+fp16+dotprod+i8mm+bf16"));
  assert_non_null(strstr(find(&a, "rv64gcv")->cflags, " -march=rv64gcv"));
  assert_string_equal(find(&a, "portable")->llvm, "");
  arena_free(&a);
}

static void wrong_names_are_explained(void **state) {
  (void)state;
  static const struct { const char *text, *why; } pair[] = {
    { "vax", "for CPUs there are fat, native, portable, " },
    { "", "for CPUs there are fat, native, portable, " },
    { "nativ", "for CPUs there are fat, native" },
    { "x86-64-v4+foo", "no feature 'foo' of x86-64; there are avx2, avx512" },
    { "x86-64-v4+", "no feature '' of x86-64" },
    { "neon+avx2", "no feature 'avx2' of aarch64; there are fp16" },
    { "x86-64+amx_", "no feature 'amx_' of x86-64" },
    { "portable+avx2", "no feature 'avx2': this machine has no optional features" },
    { "cuda-sm_80+f16", "no feature 'f16' of cuda-sm_80: this machine has no optional features" },
    { "opencl-cpu+subgroups", "no feature 'subgroups' of opencl-cpu; there are f16" },
    { "opencl+avx2", "no feature 'avx2' of opencl; there are f16, subgroups, dotprod" },
    { "opencl+f16+", "no feature '' of opencl" },
    { "opencl-f", "no feature 'f' of opencl" },
    { "opencl-cpu+subgroups", "no feature 'subgroups' of opencl-cpu; there are f16" }, /* it has no warps */
  };
  Arena a = { 0 };
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
    const char *why = NULL;
    assert_null(target_find(&a, pair[i].text, &why));
    if (!strstr(why, pair[i].why)) fail_msg("%s: %s", pair[i].text, why);
  }
  arena_free(&a);
}

static void the_compiler_sees_the_same_cpu(void **state) {
  (void)state;
#ifdef __x86_64__
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  uint32_t have = host_features();
  assert_int_equal(!!(have & FEAT_AVX2), v3);
  assert_int_equal(!!(have & FEAT_AVX512), v4);
  assert_int_equal(!!(have & FEAT_AVX512VNNI), v4 && __builtin_cpu_supports("avx512vnni"));
  assert_int_equal(!!(have & FEAT_AVX512VBMI), v4 && __builtin_cpu_supports("avx512vbmi"));
#ifndef __clang__ /* clang 14 does not know it */
  assert_int_equal(!!(have & FEAT_AVX512BF16), v4 && __builtin_cpu_supports("avx512bf16"));
#endif
  assert_int_equal(tgcrt_cpu_check(have), TGCRT_OK);
  for (const Feature *f = features; f->name; f++)
    if (f->arch == ARCH_X86_64 && !(tgcrt_cpu() & f->bit)) assert_int_equal(tgcrt_cpu_check(have | f->bit), TGCRT_CPU);
#else
  skip();
#endif
}

static void native_is_what_the_cpu_has(void **state) {
  (void)state;
  Arena a = { 0 };
  const Target *t = find(&a, "native");
  assert_int_equal(t->arch == ARCH_ANY ? 0 : host_features(), t->features);
  assert_true(t->l1_bytes >= 4096 && t->l2_bytes >= t->l1_bytes && t->cores >= 1);
  if (t->features & FEAT_AVX512) assert_false(find(&a, "native-avx512")->features & FEAT_AVX512);
  Sb s = { 0 }, again = { 0 };
  target_facts(t, &s);
  target_facts(find(&a, t->isa), &again);
  assert_memory_equal(s.p, again.p, strlen(t->isa)); /* the name says all but the sizes */
  sb_free(&s);
  sb_free(&again);
  arena_free(&a);
}

static void the_page_names_all(void **state) {
  (void)state;
  Ctx c;
  ctx_init(&c);
  const char *page = arena_printf(&c.model, "%s", (const char *)file_read(&c, "docs/targets.md", 1 << 20).p);
  for (const Target *t = targets; t->isa; t++)
    if (!strstr(page, arena_printf(&c.model, "\n%s ", t->isa))) fail_msg("docs/targets.md lacks %s", t->isa);
  for (const Feature *f = features; f->name; f++)
    if (!strstr(page, arena_printf(&c.model, "`%s`", f->name))) fail_msg("docs/targets.md lacks %s", f->name);
  ctx_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_row_is_found_by_its_name),
    cmocka_unit_test(features_choose_the_row),
    cmocka_unit_test(devices_have_features_of_their_own),
    cmocka_unit_test(flags_say_every_feature),
    cmocka_unit_test(wrong_names_are_explained),
    cmocka_unit_test(the_compiler_sees_the_same_cpu),
    cmocka_unit_test(native_is_what_the_cpu_has),
    cmocka_unit_test(the_page_names_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* facts of CPUs: every row can be printed and read back; cells that nobody measured or read are counted */
#include "../../compiler/target/cpu_facts.h"
#include "../../compiler/cost/cost.h"
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

enum { KNOWN_CELLS = 213, CPUS = 24 };

static const CpuFacts *parse(Arena *a, const char *text) {
  const char *why = NULL;
  const CpuFacts *f = cpu_parse(a, text, &why);
  if (!f) fail_msg("%s: %s", text, why);
  return f;
}

static void assumed_cells_are_counted(void **state) {
  (void)state;
  Arena a = { 0 };
  int assumed = 0, rows = 0;
  for (const CpuRow *row = cpu_rows; row->name; row++, rows++) {
    const CpuFacts *f = cpu_named(&a, row->name);
    for (int i = 0; i < FACT_COUNT; i++) {
      assert_non_null(f->source[i]);
      assumed += f->source[i] == fact_assumed;
    }
  }
  assert_int_equal(rows, CPUS);
  assert_int_equal(rows * FACT_COUNT - assumed, KNOWN_CELLS); /* more only with a source */
  arena_free(&a);
}

static void values_have_two_digits(void **state) {
  (void)state;
  Arena a = { 0 };
  for (const CpuRow *row = cpu_rows; row->name; row++) {
    const CpuFacts *f = cpu_named(&a, row->name);
    for (int i = 0; i < FACT_COUNT; i++)
      if (i < FACT_L1 || i > FACT_L3) {
        const double v = f->at[i];
        if (f->source[i] == fact_assumed && v != two_digits(v)) fail_msg("%s %s %.17g", row->name, fact_info[i].name, v);
      }
  }
  assert_true(two_digits(1234) == 1200 && two_digits(0.0996) == 0.1 && two_digits(27.49) == 27 && two_digits(0) == 0);
  arena_free(&a);
}

static void text_is_read_back(void **state) {
  (void)state;
  Arena a = { 0 };
  for (const CpuRow *row = cpu_rows; row->name; row++) {
    const CpuFacts *f = cpu_named(&a, row->name);
    Sb once = { 0 }, twice = { 0 };
    cpu_print(f, &once);
    const CpuFacts *g = parse(&a, once.p);
    cpu_print(g, &twice);
    assert_string_equal(once.p, twice.p);
    for (int i = 0; i < FACT_COUNT; i++) assert_true(f->at[i] == g->at[i]);
    for (char *p = once.p; *p; p++)
      if (*p == '\n') *p = ';';
    assert_true(parse(&a, once.p)->at[FACT_FMA] == f->at[FACT_FMA]); /* on one line */
    sb_free(&once);
    sb_free(&twice);
  }
  arena_free(&a);
}

static void texts_may_be_short_or_wrong(void **state) {
  (void)state;
  static const char *const pair[][2] = {
    { "fma 16", "the line 'isa NAME' is missing" },
    { "isa x86-64-v3\nfmma 16", "did you mean 'fma'" },
    { "isa x86-64-v3\nfma", "needs a number" },
    { "isa x86-64-v3\nfma 0", "needs a number" },
    { "isa x86-64-v9", "unknown isa 'x86-64-v9'" },
    { "isa native", "but not native" },
    { "isa fat", "is not one CPU" },
    { "machine a b\nisa neon", "letters, digits" },
  };
  Arena a = { 0 };
  const CpuFacts *f = parse(&a, "# mine; really\nisa x86-64-v3 # 256 bits; wide\n"
                               " fma 32 per cycle guessed ; l2_read 20\r\n\nclock 4 GHz");
  assert_true(f->at[FACT_FMA] == 32 && f->at[FACT_L2_READ] == 20 && f->at[FACT_CLOCK] == 4 && f->at[FACT_L1] == 32);
  assert_string_equal(f->source[FACT_FMA], "guessed");
  assert_string_equal(f->source[FACT_CLOCK], "given");
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
    const char *why = "";
    assert_null(cpu_parse(&a, pair[i][0], &why));
    if (!strstr(why, pair[i][1])) fail_msg("%s: %s", pair[i][0], why);
  }
  arena_free(&a);
}

/* The rates that facts replace, one by one */
static void rates_follow_facts(void **state) {
  (void)state;
  Arena a = { 0 };
  const char *why;
  const CpuFacts *xeon = cpu_named(&a, "sapphire-rapids-no-amx"), *zen = cpu_named(&a, "zen4");
  const Target *tx = target_for_cpu(&a, target_find(&a, xeon->isa, &why), xeon, &rates_default),
               *tz = target_for_cpu(&a, target_find(&a, zen->isa, &why), zen, &rates_default),
               *narrow = target_for_cpu(&a, target_find(&a, "x86-64-v3", &why), xeon, &rates_default);
  assert_true(multiply_adds(tx, BY_WINOGRAD) == 32 && multiply_adds(tz, BY_WINOGRAD) == 16);
  assert_true(multiply_adds(narrow, BY_WINOGRAD) == 16); /* two vectors of 256 bits */
  assert_true(multiply_adds(tx, BY_MMA) == 32 && multiply_adds(tz, BY_PADDING) == 16);
  assert_true(bf16_rate(tx) == 0.5 && bf16_rate(tz) == 2);
  assert_true(rate(tx, L2_BYTES, TILE) == 53 && rate(tx, L2_BYTES, WINOGRAD) < 25); /* written as well */
  assert_true(rate(tx, MEMORY_BYTES, WINOGRAD) == 5.5);
  assert_true(rate(tx, HIDING_ROWS, WINOGRAD) == 4 * 32 / rates_default.at[R_STREAMED][BY_WINOGRAD]); /* 32 multiply-adds a cycle */
  assert_true(rate(tx, FAR_BYTES, TILE) == 10);
  assert_true(rate(tx, LOOP_TURN, TILE) == rates_default.at[R_LOOP_TURN][BY_TILE]); /* ranked */
  assert_int_equal(tx->l2_bytes, 2 << 20);
  Rates set = rates_default;
  set.at[R_L2_BYTES][BY_TILE] = 7;
  assert_true(rate(target_for_cpu(&a, tx, xeon, &set), L2_BYTES, TILE) == 7); /* --tunable counts more */
  arena_free(&a);
}

static void old_cores_multiply_in_two_steps(void **state) {
  (void)state;
  Arena a = { 0 };
  const char *why;
  const CpuFacts *slow = parse(&a, "isa x86-64\nfma 2"), *fast = parse(&a, "isa x86-64\nfma 4");
  const Target *t = target_find(&a, "x86-64", &why);
  assert_true(multiply_adds(target_for_cpu(&a, t, slow, &rates_default), BY_MMA) == 2);
  assert_true(multiply_adds(target_for_cpu(&a, t, fast, &rates_default), BY_MMA) == 4);
  arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(assumed_cells_are_counted), cmocka_unit_test(values_have_two_digits),
    cmocka_unit_test(text_is_read_back),         cmocka_unit_test(texts_may_be_short_or_wrong),
    cmocka_unit_test(rates_follow_facts),        cmocka_unit_test(old_cores_multiply_in_two_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

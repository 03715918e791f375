/* SPDX-License-Identifier: MIT */
/* arenas, growable text, interning and checked sizes of compiler/support */
#include "../../compiler/support/support.h"
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void arena_hands_out_zeroed_aligned_memory(void **state) {
  (void)state;
  Arena a = { 0 };
  for (size_t n = 1; n < 100000; n = n * 3 + 1) {
    unsigned char *p = arena_alloc(&a, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
    memset(p, 0xff, n);
  }
  arena_free(&a);
  assert_non_null(arena_alloc(&a, 1)); /* usable again */
  arena_free(&a);
}

static void arena_strings_are_copies(void **state) {
  (void)state;
  Arena a = { 0 };
  char text[] = "abcdef";
  char *s = arena_str(&a, text, 3);
  text[0] = 'x';
  assert_string_equal(s, "abc");
  assert_string_equal(arena_printf(&a, "%s-%d", s, 7), "abc-7");
  arena_free(&a);
}

static void text_grows(void **state) {
  (void)state;
  Sb s = { 0 };
  for (int i = 0; i < 1000; i++) sb_printf(&s, "%d,", i);
  assert_int_equal(s.n, 10 * 2 + 90 * 3 + 900 * 4);
  assert_memory_equal(s.p, "0,1,2,", 6);
  sb_free(&s);
}

static void equal_text_has_equal_id(void **state) {
  (void)state;
  Ctx c;
  ctx_init(&c);
  uint32_t ids[3000];
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < 3000; i++) {
      char name[16];
      int n = snprintf(name, sizeof name, "name%d", i);
      uint32_t id = intern(&c, name, (size_t)n);
      if (pass) assert_int_equal(id, ids[i]);
      ids[i] = id;
      assert_string_equal(intern_text(&c, id), name);
    }
  assert_int_equal(intern(&c, "", 0), 0);
  ctx_free(&c);
}

static void sizes_saturate(void **state) {
  (void)state;
  int64_t r;
  assert_true(size_mul(SIZE_MAX / 2, 3) == SIZE_MAX);
  assert_true(size_mul(6, 7) == 42);
  assert_false(i64_mul(INT64_MAX, 2, &r));
  assert_false(i64_add(INT64_MAX, 1, &r));
  assert_true(i64_mul(-3, 5, &r) && r == -15);
}

static void fails(Ctx *c, void *arg) {
  (void)arg;
  (fail)(c, EX_BADMODEL, "on purpose"); /* cmocka has a macro of that name */
}
static void failure_lands_in_the_nearest_try(void **state) {
  (void)state;
  Ctx c;
  ctx_init(&c);
  c.err = fopen("/dev/null", "w");
  assert_int_equal(ctx_try(&c, fails, NULL), EX_BADMODEL);
  fclose(c.err);
  ctx_free(&c);
}

static void a_near_name_is_suggested(void **state) {
  (void)state;
  static const char *const names[] = { "compile", "check", "run", "inspect", "profile", "fp32", "fp32-fast", "x86-64-v3" };
  static const char *const pairs[][2] = {
    { "complie", "compile" }, { "chekc", "check" },  { "rnu", "run" },  { "prof", "profile" }, { "INSPECT", "inspect" },
    { "fp32fast", "fp32-fast" }, { "x86-64-v33", "x86-64-v3" }, { "fp23", "fp32" }, { "zebra", NULL }, { "x", NULL },
    { "", NULL }, { "qqq", NULL },
  };
  const size_t n = sizeof names / sizeof *names;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *name = nearest_name(pairs[i][0], names, n);
    if (!pairs[i][1]) assert_null(name);
    else assert_string_equal(name, pairs[i][1]);
  }
  char longest[100] = { 0 };
  memset(longest, 'c', sizeof longest - 1);
  assert_null(nearest_name(longest, names, n));
  Arena a = { 0 };
  assert_string_equal(did_you_mean(&a, "rn", names, n), "; did you mean 'run'?");
  assert_string_equal(did_you_mean(&a, "zebra", names, n), "");
  arena_free(&a);
}

static void a_warning_is_printed_once(void **state) {
  (void)state;
  Ctx c;
  char *text = NULL;
  size_t n = 0;
  ctx_init(&c);
  c.err = open_memstream(&text, &n);
  for (int i = 0; i < 3; i++) warn_at(&c, (Pos){ 0 }, "dimension '%s'", i == 2 ? "b" : "a");
  warn_at(&c, (Pos){ .line = 3, .col = 1 }, "dimension 'a'");
  c.colored = true;
  (error_at)(&c, (Pos){ 0 }, "no");
  fclose(c.err);
  assert_string_equal(text, "tgc: warning: dimension 'a'\ntgc: warning: dimension 'b'\n:3:1: warning: dimension 'a'\n"
                            "\033[1;31mtgc:\033[0m no\n");
  free(text);
  ctx_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(arena_hands_out_zeroed_aligned_memory), cmocka_unit_test(arena_strings_are_copies),
    cmocka_unit_test(text_grows), cmocka_unit_test(equal_text_has_equal_id),
    cmocka_unit_test(sizes_saturate), cmocka_unit_test(failure_lands_in_the_nearest_try),
    cmocka_unit_test(a_near_name_is_suggested), cmocka_unit_test(a_warning_is_printed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

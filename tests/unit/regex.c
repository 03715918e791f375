/* SPDX-License-Identifier: MIT */
/* regular expressions as automata: which texts match as a whole, as RE2 has it, and which expressions are refused */
#include "../../frontends/common/regex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

typedef struct Case { const char *pattern, *yes[4], *no[4]; } Case; /* NULL ends a list */

static const Case cases[] = {
  { "", { "", NULL }, { "a", NULL } },
  { "abc", { "abc", NULL }, { "ab", "abcd", "", NULL } },
  { "a|bc|", { "a", "bc", "", NULL }, { "b", "abc", NULL } },
  { "(a|b)*abb", { "abb", "babaabb", NULL }, { "ab", "abba", NULL } },
  { "a{2,3}b{0}c{2,}", { "aacc", "aaaccc", NULL }, { "acc", "aac", "aabcc", NULL } },
  { "a{,2}", { "a{,2}", NULL }, { "aa", "", NULL } },
  { "x*?y+?", { "y", "xxyy", NULL }, { "x", NULL } },
  { ".", { "a", "\xc3\xa9", "\xe4\xb8\xad", NULL }, { "\n", "ab", "\xc3", NULL } },
  { "(?s).", { "\n", NULL }, { "", NULL } },
  { "[^a]", { "b", "\n", "\xf0\x9f\x98\x80", NULL }, { "a", "", NULL } },
  { "[]a-c-]+", { "]", "-b", NULL }, { "d", NULL } },
  { "[\xc3\xa0-\xc3\xbc]", { "\xc3\xa9", NULL }, { "a", "\xc3\xbd", NULL } },
  { "\\d+\\.\\D\\w\\W\\s\\S", { "12.x_- z", NULL }, { "12.3_- z", NULL } },
  { "[[:alpha:][:^space:]]", { "a", "1", NULL }, { " ", NULL } },
  { "\\x41\\x{e9}\\101\\t\\.", { "A\xc3\xa9" "A\t.", NULL }, { "A", NULL } },
  { "\\Qa.b\\Ec", { "a.bc", NULL }, { "axbc", NULL } },
  { "(?i)k[a-c]", { "KB", "kb", "\xe2\x84\xaa" "a", NULL }, { "kd", NULL } },
  { "(?i:a)b", { "Ab", NULL }, { "AB", NULL } },
  { "\\bfoo\\b.*", { "foo", "foo bar", NULL }, { "food", NULL } },
  { "a\\Bb", { "ab", NULL }, { "a b", NULL } },
  { "^a$", { "a", NULL }, { "a\n", NULL } },
  { "(?m)a$\n^b", { "a\nb", NULL }, { "ab", NULL } },
  { "a^b", { NULL }, { "ab", "a^b", NULL } },
  { "(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)", { "account@gmail.com", "@yahoo.com!", NULL }, { "account@hotmail.com", NULL } },
};

static bool matches(const Dfa *d, const char *text) {
  int s = 0;
  for (; *text; text++) s = d->next[s * d->classes + d->class_of[(uint8_t)*text]];
  return d->accepts[s];
}

static void texts_match(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Case *k = &cases[i];
    Arena a = { 0 };
    Dfa d;
    const char *why = regex_compile(&a, k->pattern, strlen(k->pattern), &d);
    if (why) fail_msg("%s is refused: %s", k->pattern, why);
    for (int j = 0; j < 4 && k->yes[j]; j++)
      if (!matches(&d, k->yes[j])) fail_msg("%s does not match '%s'", k->pattern, k->yes[j]);
    for (int j = 0; j < 4 && k->no[j]; j++)
      if (matches(&d, k->no[j])) fail_msg("%s matches '%s'", k->pattern, k->no[j]);
    arena_free(&a);
  }
}

static void wrong_ones_are_refused(void **state) {
  static const struct { const char *pattern, *why; } bad[] = {
    { "(a", "a parenthesis has no end" },   { "a)", "a parenthesis has no begin" },   { "*a", "a repetition repeats nothing" },
    { "a**", "a repetition repeats another one" }, { "[a", "a class of characters has no end" }, { "[z-a]", "a range of characters is empty" },
    { "a{3,2}", "a repetition has wrong counts" }, { "a{1001}", "a repetition has wrong counts" }, { "\\", "it ends with a backslash" },
    { "\\1", "it has an unknown escape" },  { "\\pL", "classes of Unicode are not supported" }, { "(?=a)", "it has an unknown group (?" },
    { "(?i)\xc3\xa9", "letters beyond ASCII cannot be compared without their case" }, { "\\x{110000}", "a character has too large a number" },
    { "(?P<n", "the name of a group has no end" }, { "((a{1000}){1000}){1000}", "it has too many steps" },
    { "(((){1000}){1000}){1000}", "it has too many steps" }, { "(a|b)*a(a|b){12}", "its automaton has more than 4096 states" },
  };
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    Arena a = { 0 };
    Dfa d;
    const char *why = regex_compile(&a, bad[i].pattern, strlen(bad[i].pattern), &d);
    if (!why || strcmp(why, bad[i].why)) fail_msg("%s: %s, expected: %s", bad[i].pattern, why ? why : "is taken", bad[i].why);
    arena_free(&a);
  }
  char deep[2001];
  memset(deep, '(', 2000);
  Arena a = { 0 };
  Dfa d;
  assert_string_equal(regex_compile(&a, deep, 2000, &d), "parentheses are nested too deeply");
  arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(texts_match), cmocka_unit_test(wrong_ones_are_refused) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

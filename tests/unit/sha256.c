/* SPDX-License-Identifier: MIT */
/* SHA-256 of the runtime: the vectors of FIPS 180-2 and of its successors, and nettle's answer for many lengths */
#include "../../compiler/support/support.h"
#include "../../runtime_stub/tgcrt.h"
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void standard_vectors(void **state) {
  (void)state;
  static const struct { const char *text, *digest;
  } vectors[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
  };
  char hex[65];
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    tgcrt_sha256(vectors[i].text, strlen(vectors[i].text), hex);
    assert_string_equal(hex, vectors[i].digest);
    assert_int_equal(tgcrt_check_sha256(vectors[i].text, strlen(vectors[i].text), vectors[i].digest), TGCRT_OK);
  }
  char *a = xmalloc(1000000);
  memset(a, 'a', 1000000);
  tgcrt_sha256(a, 1000000, hex);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  free(a);
  tgcrt_sha256(NULL, 0, hex);
  assert_string_equal(hex, vectors[0].digest);
}

/* Every length of the last block, at every alignment, and long ones. */
static void as_nettle(void **state) {
  (void)state;
  enum { MOST = 200000 };
  uint8_t *p = xmalloc(MOST);
  uint32_t r = 1;
  for (size_t i = 0; i < MOST; i++) p[i] = (uint8_t)((r = r * 1664525 + 1013904223) >> 24);
  for (size_t n = 0; n < MOST; n += n < 600 ? 1 : n / 3 + 1) {
    char ours[65], theirs[65];
    const uint8_t *at = p + (MOST - n < n % 13 ? 0 : n % 13);
    tgcrt_sha256(at, n, ours);
    sha256_hex(at, n, theirs);
    assert_string_equal(ours, theirs);
    if (!n) continue;
    p[at - p + (ptrdiff_t)(n / 2)] ^= 1; /* another bit is another digest */
    assert_int_equal(tgcrt_check_sha256(at, n, theirs), TGCRT_DIGEST);
  }
  free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(standard_vectors), cmocka_unit_test(as_nettle) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* the proof that blocks of a launch do not conflict: proved cases, its message for conflicts, and for unknown cases */
#include "device_fixture.h"

/* 100 values in blocks of 32 threads: the last block is incomplete. b0 and b1 do not overlap; b3 is b1 from element 1 on. */
#define HEAD                                             \
  "tgc 1 program\n"                                      \
  "b0 = buffer input f32[128] id=0 slot=0\n"             \
  "b1 = buffer arena f32[128] id=1 slot=-1 offset=0\n"   \
  "b2 = buffer input i64[128] id=2 slot=1\n"             \
  "b3 = buffer arena f32[128] id=3 slot=-1 offset=4\n"   \
  "b4 = buffer shared f32[32] id=4 slot=0\n"             \
  "b5 = buffer input i32[128] id=5 slot=2\n"             \
  "g = range extent=4 id=0 kind=grid\n"                  \
  "t = range extent=32 id=1 kind=local\n"                \
  "i = range extent=4 id=2 kind=loop\n"                  \
  "c = range extent=1 id=3 kind=loop\n"                  \
  "h = range extent=2 id=4 kind=grid\n"                  \
  "d = range extent=2 id=5 kind=grid\n"
#define AT "loop g\nloop t\nv = mul g, 32\nw = add v, t\n"
#define ENDS "end t\nend g\n"
#define FLAT "loop g\nloop t\nv = mul g, 32\nw = add v, t\nz = cmplt w, 100\nloop c, z\n"
#define FLAT_ENDS "end c\nend t\nend g\n"

/* says: a part of the message; NULL: it is proved. The interpreter agrees where it can know: it runs all blocks. */
static void judge(IR *ir, const char *text, const char *says) {
  static float x[128], y[160];
  static int64_t at[128];
  static int32_t at32[128];
  Refs list = { 0 };
  Sb why = { 0 };
  LaunchReport r = { 0 };
  void *mem[] = { x, y, at, y + 1, NULL, at32 };
  const Launch l = device_launch(ir, text, &list);
  for (int k = 0; k < 128; k++) at[k] = k, at32[k] = k;
  const bool apart = blocks_apart(ir, &l, mem, 1 << 20, &why);
  if (says && apart) fail_msg("proved, in place of '%s'\n%s", says, text);
  if (says && !strstr(why.p, says)) fail_msg("%s in place of '%s'\n%s", why.p, says, text);
  if (!says && !apart) fail_msg("%s\n%s", why.p, text);
  interp_launch(ir, &l, device_of_tests(), mem, (ThreadOrder){ .warp = 32 }, 0, &r);
  if (apart && r.fault[FAULT_BLOCKS]) fail_msg("proved, and yet %s\n%s", r.text.p, text);
  if (says && strstr(says, "meet") && !strstr(says, "data") && !r.fault[FAULT_BLOCKS]) fail_msg("nobody meets\n%s", text);
  launch_report_free(&r);
  sb_free(&why);
  VEC_FREE(&list);
}

static void proved(void **state) {
  IR *ir = *state;
  judge(ir, HEAD AT "x = load b0, w\nstore b1, w, x\n" ENDS, NULL);
  judge(ir, HEAD FLAT "q = fldiv w, 20\nr = flmod w, 20\nm = mul r, 5\ns = add m, q\nx = load b0, w\nstore b1, s, x\n" FLAT_ENDS,
        NULL); /* transposed */
  judge(ir, HEAD AT "x = load b1, w\ny = neg x\nstore b1, w, y\n" ENDS, NULL); /* in place */
  judge(ir, HEAD AT "x = load b0, w\nstore b4, t, x\n" ENDS, NULL);            /* memory of the block */
  judge(ir, HEAD AT "u = flmod w, 8\nx = load b0, u\nstore b1, w, x\n" ENDS, NULL); /* nobody stores to b0 */
  judge(ir, HEAD AT "z = cmplt t, 1\nstore b1, g, 1.0, z\n" ENDS, NULL);
  judge(ir, HEAD AT "store b3, w, 1.0\n" ENDS, NULL);
  judge(ir, HEAD "loop h\nloop d\nloop t\nm = mul h, 64\nn = mul d, 32\nk = add m, n\nw = add k, t\n"
        "store b1, w, 1.0\nend t\nend d\nend h\n",
        NULL);
}

static void meetings(void **state) {
  IR *ir = *state;
  judge(ir, HEAD AT "store b1, t, 1.0\n" ENDS, "store of b1 at step 4: blocks 0 and 1 meet at element 0");
  judge(ir, HEAD "loop g\nloop t\nv = mul g, 31\nw = add v, t\nstore b1, w, 1.0\n" ENDS, "blocks 0 and 1 meet at element 31");
  judge(ir, HEAD FLAT "q = fldiv w, 20\nr = flmod w, 20\nm = mul r, 4\ns = add m, q\nstore b1, s, 1.0\n" FLAT_ENDS,
        "meet at element");
  judge(ir, HEAD AT "u = add w, 1\nz = cmplt u, 128\nx = load b1, u, z, 0.0\nstore b1, w, x\n" ENDS,
        "load of b1 at step 6: blocks 1 and 0 meet at element 32");
  judge(ir, HEAD AT "x = load b3, w\nstore b1, w, x\n" ENDS, "load of b3"); /* they share memory */
  judge(ir, HEAD AT "store b1, w, 1.0\n" ENDS "loop h\nloop t\nstore b1, t, 2.0\nend t\nend h\n",
        "meet at element 0"); /* two parts */
  judge(ir, HEAD AT "loop i\nu = add w, i\nz = cmplt u, 128\nstore b1, u, 1.0, z\nend i\n" ENDS, "meet at element 32");
  judge(ir, HEAD "loop h\nloop d\nloop t\nm = mul h, 32\nn = mul d, 32\nk = add m, n\nw = add k, t\n"
        "store b1, w, 1.0\nend t\nend d\nend h\n",
        "blocks 1 and 2 meet at element 32");
}

/* A place from data may have any value within its bounds. */
static void data(void **state) {
  IR *ir = *state;
  judge(ir, HEAD AT "e = load b2, w\nstore b1, e, 1.0\n" ENDS, "its place comes from data without bounds");
  judge(ir, HEAD AT "e = load b5, w\nk = cast e : i64\nstore b1, k, 1.0\n" ENDS, "data");
  judge(ir, HEAD AT "e = load b2, t\nj = max e, 0\nk = min j, 127\nstore b1, k, 1.0\n" ENDS, "meet at element 0");
  judge(ir, HEAD AT "e = load b2, t\nj = max e, 0\nk = min j, 31\nu = add v, k\nz = cmplt t, 1\n"
        "store b1, u, 1.0, z\n" ENDS, NULL);
  judge(ir, HEAD AT "e = load b2, t\nlo = cmple 0, e\nhi = cmplt e, 32\nz1 = and lo, hi\nz2 = cmplt t, 1\nz = and z1, z2\n"
        "u = add v, e\nstore b1, u, 1.0, z\n" ENDS, NULL);
  judge(ir, HEAD AT "e = load b2, t\nlo = cmple 0, e\nhi = cmplt e, 34\nz1 = and lo, hi\nz2 = cmplt t, 1\nz = and z1, z2\n"
        "u = add v, e\nstore b1, u, 1.0, z\n" ENDS, "blocks 0 and 1 meet at element 32 for some data");
}

static void budgets(void **state) {
  IR *ir = *state;
  Refs list = { 0 };
  Sb why = { 0 };
  float y[128];
  const char *text = HEAD AT "store b1, w, 1.0\n" ENDS;
  const Launch l = device_launch(ir, text, &list);
  void *mem[] = { y, y, y, y, y, y };
  assert_false(blocks_apart(ir, &l, mem, 100, &why));
  assert_non_null(strstr(why.p, "too many elements to go through"));
  assert_true(blocks_apart(ir, &l, mem, 129, NULL));
  sb_free(&why);
  VEC_FREE(&list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(proved, setup, teardown),
    cmocka_unit_test_setup_teardown(meetings, setup, teardown),
    cmocka_unit_test_setup_teardown(data, setup, teardown),
    cmocka_unit_test_setup_teardown(budgets, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

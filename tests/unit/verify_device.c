/* SPDX-License-Identifier: MIT */
/* device programs: some that the verifier accepts, and one for each rule */
#include "../../compiler/ir/ir.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

/* All texts begin with memory, blocks, threads, and a loop with a condition. */
#define HEAD                                     \
  "tgc 1 program\n"                              \
  "b0 = buffer input f32[256] id=0 slot=0\n"     \
  "b1 = buffer output f32[256] id=1 slot=0\n"    \
  "b2 = buffer shared f32[64] id=2 slot=0\n"     \
  "b3 = buffer local f32[1] id=3 slot=0\n"       \
  "g = range extent=4 id=0 kind=grid\n"          \
  "t = range extent=64 id=1 kind=local\n"        \
  "u = range extent=2 id=2 kind=group\n"         \
  "i = range extent=3 id=3 kind=loop\n"          \
  "h = range extent=4 id=4 kind=grid\n"          \
  "s = range extent=32 id=5 kind=local\n"        \
  "c = range extent=1 id=6 kind=loop\n"          \
  "p = range extent=8 id=7 kind=thread\n"

typedef struct Job { IR *ir; const char *text; Refs list; } Job;

static void check(Ctx *c, void *arg) {
  Job *j = arg;
  (void)c;
  ir_parse_program(j->ir, j->text, strlen(j->text), &j->list);
  ir_verify_program(j->ir, j->list.p, j->list.n);
}

/* The verifier's message contains `what`; NULL: there is none */
static void judge(const char *text, const char *what) {
  Ctx c;
  ctx_init(&c);
  const Pos line = { 0 };
  Job j = { .ir = ir_new(&c), .text = text };
  char *said = NULL;
  size_t n;
  c.err = open_memstream(&said, &n);
  j.ir->dump = &line; /* a message instead of a bug */
  const int code = ctx_try(&c, check, &j);
  fclose(c.err);
  if (what && !code) fail_msg("no message about: %s\n%s", what, text);
  if (what && !strstr(said, what)) fail_msg("%s in place of '%s'\n%s", said, what, text);
  if (!what && code) fail_msg("%s\n%s", said, text);
  free(said);
  VEC_FREE(&j.list);
  ir_free(j.ir);
  ctx_free(&c);
}

#define AT "loop g\nloop t\nv = mul g, 64\nw = add v, t\n"
#define ENDS "end t\nend g\n"
#define STAGED AT "x = load b0, w\nstore b2, t, x\nbarrier id=8\n"

static void good(void **state) {
  (void)state;
  judge(HEAD AT "x = load b0, w\nstore b1, w, x\n" ENDS, NULL);
  judge(HEAD STAGED "y = load b2, 0\nz = cmplt t, 1\nstore b1, g, y, z\n" ENDS, NULL);
  judge(HEAD STAGED "y = load b2, t\nstore b1, w, y\nbarrier id=9\ny2 = load b2, t\nstore b1, w, y2\n" ENDS,
        NULL); /* listed again */
  /* memory of the block */
  judge(HEAD "loop g\nv = mul g, 64\nx = load b0, g\nloop t\nw = add v, t\nstore b1, w, x\n" ENDS, NULL);
  /* the condition selects one thread */
  judge(HEAD STAGED "z = cmplt t, 1\nloop c, z\ny = load b2, 0\nstore b1, g, y\nend c\n" ENDS, NULL);
  judge(HEAD STAGED "z = cmplt g, 2\nloop c, z\nbarrier id=9\nend c\n" ENDS, NULL); /* equal for all threads of a block */
  judge(HEAD AT "store b1, w, 1.0\n" ENDS "loop h\nloop t\nstore b1, t, 2.0, true\n" "end t\nend h\n",
        "blocks store to one element");
  judge(HEAD AT "store b3, 0, 1.0\n" ENDS "loop h\nloop t\nv2 = mul h, 64\nw2 = add v2, t\nstore b1, w2, 2.0\nend t\nend h\n",
        NULL);
}

static void exchanges(void **state) {
  (void)state;
  judge(HEAD AT "x = load b0, w\ny = shflxor x mask=16\nstore b1, w, y\n" ENDS, NULL);
  /* all threads of a block take part */
  judge(HEAD AT "x = load b0, w\nz = cmplt g, 2\nloop c, z\ny = shflxor x mask=1\nend c\n" ENDS, NULL);
  judge(HEAD AT "x = load b0, w\ny = shflxor x mask=3\n" ENDS, "a mask of not one bit");
  judge(HEAD AT "x = load b0, w\ny = shflxor x mask=0\n" ENDS, "a mask of not one bit");
  judge(HEAD AT "x = load b0, w\nz = cmplt t, 8\nloop c, z\ny = shflxor x mask=1\nend c\n" ENDS,
        "that not all threads of the block");
  judge(HEAD AT "x = load b0, w\nz = cmplt x, 1.0\nloop c, z\ny = shflxor x mask=1\nend c\n" ENDS,
        "that not all threads of the block");
  judge(HEAD AT "x = load b0, w\ny = shflxor x mask=64\n" ENDS, "with a thread that is not there");
  judge(HEAD "loop g\nx = load b0, g\ny = shflxor x mask=1\nloop t\nend t\nend g\n",
        "an effect outside of the threads of a block");
  judge(HEAD "x = load b0, 0\ny = shflxor x mask=1\n", "an exchange of values in a program of no blocks");
}

static void launches(void **state) {
  (void)state;
  judge(HEAD AT "store b1, w, 1.0\n" ENDS "barrier id=8\nloop h\nloop s\nv2 = mul h, 32\nw2 = add v2, s\nstore b1, w2, 2.0\n"
        "end s\nend h\n", NULL); /* another number of threads */
  judge(HEAD "barrier id=8\nloop g\nloop t\nend t\nend g\n", "a barrier before all blocks");
  judge(HEAD "x = load b0, 0\nloop g\nloop t\nend t\nend g\nbarrier id=8\ny = neg x\nloop h\nloop t\nend t\nend h\n",
        "a source is inside a loop that has ended");
}

static void narrow(void **state) {
  (void)state;
  judge(HEAD "e = range extent=4 id=9 kind=grid : i32\nf = range extent=64 id=10 kind=local : i32\nloop e\nloop f\n"
        "v = mul e, 64\nw = add v, f\nx = load b0, w\nstore b1, w, x\nend f\nend e\n", NULL);
  judge(HEAD "e = range extent=3 id=9 kind=loop : i32\nloop e\nx = load b0, e\nend e\n", NULL); /* a program of no blocks */
  judge(HEAD "loop i\nv = cast i : i32\nx = load b0, v\nprefetch b0, v near=1\nend i\n", NULL);
  judge(HEAD "loop i\nv = cast i : i16\nx = load b0, v\nend i\n", "expected i64");
  judge(HEAD "e = range extent=3000000000 id=9 kind=grid : i32\nloop e\nloop t\nend t\nend e\n", "too long for i32");
}

static void bad(void **state) {
  (void)state;
  judge(HEAD AT "y = load b2, t\nstore b1, w, y\n" ENDS, "shared memory is read before anything is stored there");
  judge(HEAD AT "store b1, g, 1.0\n" ENDS, "threads of a block store to one element");
  judge(HEAD AT "store b2, g, 1.0\n" ENDS, "threads of a block store to one element");
  judge(HEAD AT "store b1, t, 1.0\n" ENDS, "blocks store to one element");
  judge(HEAD STAGED "z = cmplt t, 1\nloop c, z\nbarrier id=9\nend c\n" ENDS, "a barrier that not all threads of the block reach");
  judge(HEAD STAGED "y = load b0, 0\nz = cmplt y, 1.0\nloop c, z\nbarrier id=9\nend c\n" ENDS, "a barrier that not all threads");
  judge(HEAD "loop g\nbarrier id=8\nloop t\nend t\nend g\n", "an effect outside of the threads of a block");
  judge(HEAD "loop g\nloop t\nend t\nbarrier id=8\nend g\n", "an effect outside of the threads of a block");
  judge(HEAD "loop g\nloop t\nloop u\nend u\nbarrier id=8\nend t\nend g\n", "an effect outside of the threads of a block");
  judge(HEAD "loop g\nstore b1, g, 1.0\nloop t\nend t\nend g\n", "an effect outside of the threads of a block");
  judge(HEAD "a = acc 0.0 id=8 : f32\nloop g\nloop t\nend t\nend g\n", "an effect outside of the threads of a block");
  judge(HEAD "loop g\nloop t\nloop i\nloop u\nend u\nend i\nend t\nend g\n", "inside what a thread does");
  judge(HEAD "loop g\nloop t\nend t\nloop u\nend u\nend g\n", "inside what a thread does");
  judge(HEAD "loop g\nloop t\nloop h\nend h\nend t\nend g\n", "a loop over blocks inside one over threads");
  judge(HEAD "loop t\nend t\n", "threads of no block");
  judge(HEAD "loop g\nz = cmplt g, 2\nloop t, z\nend t\nend g\n", "a loop over blocks or threads with a gate");
  judge(HEAD "loop i\nloop g\nloop t\nend t\nend g\nend i\n", "a loop outside of all blocks");
  judge(HEAD "loop g\nloop t\nend t\nend g\nloop h\nloop s\nend s\nend h\n",
        "blocks of one launch with different numbers of threads");
  judge(HEAD "loop p\nend p\nloop g\nloop t\nend t\nend g\n", "ranges of threads in a program of blocks");
  judge(HEAD "barrier id=8\n", "a barrier in a program of no blocks");
  judge(HEAD "x = load b2, 0\n", "shared memory in a program of no blocks");
  judge(HEAD "loop i, true\nend i\n", "expected a name, found a literal");
  judge(HEAD "loop i, i\nend i\n", "loop takes a range and optionally a gate");
  judge(HEAD STAGED "y = load b2, t\ny2 = load b2, t\n" ENDS, "twice in one scope");
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(good), cmocka_unit_test(exchanges), cmocka_unit_test(launches),
                                     cmocka_unit_test(narrow), cmocka_unit_test(bad) };
  return cmocka_run_group_tests_name("verify_device", tests, NULL, NULL);
}

/* bundle.c (unit test): files, forms and comments of a bundle are those of the backend's row, whatever functions it has. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/tune/tune.h"
#include "../../compiler/bundle/bundle.h"
#include "../../frontends/frontends.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const CodeForm forms[] = {
  { "binary", EMIT_OBJ, "%.bin", "", "", "", "", "", "", "", "" },
  { "text", EMIT_TEXT, "%.cl", "RULE", "OBJECT", "", "", "SOURCE", "", "", "" },
  { .word = NULL },
};
static const FileRow files[] = {
  { FILE_COPIED, "tgcrt.h", NULL },
  { FILE_CODE, NULL, NULL },
  { FILE_TEMPLATE, "Makefile.in", "make-%.mk" },
  { FILE_END, NULL, NULL },
};

static Bytes no_build(Ctx *c, const Target *t, const Code *code, bool assembly) {
  (void)c, (void)t, (void)code, (void)assembly;
  fail_msg("text needs no build");
  return (Bytes){ NULL, 0 };
}

/* C in files of other names, with comments of another form, from a backend that could build objects. */
static void row_decides(void **state) {
  const IR *ir = *state;
  Ctx *c = ir->ctx;
  const char *why;
  Backend row = c_backend;
  Bundle b = { 0 };
  row.comment[0] = "// ", row.comment[1] = "";
  row.forms = forms, row.files = files, row.build = no_build;
  c->quiet = true;
  Graph *g = model_load(c, "examples/digits/digits.onnx", &(LoadOptions){ .ndims = 0 });
  Plan *p = compile_graph(g, &(CompileOptions){ .target = target_find(&c->model, "portable", &why), .backend = &row });
  bundle_render(p, &(BundleOptions){ .backend = &row, .name = "x", .emit = EMIT_TEXT }, &b);
  assert_int_equal(b.files.n, 4);
  assert_string_equal(b.files.p[0].name, "tgcrt.h");
  assert_string_equal(b.files.p[1].name, "x.cl");
  assert_string_equal(b.files.p[2].name, "make-x.mk");
  assert_string_equal(b.files.p[3].name, "manifest.json");
  assert_non_null(memmem(b.files.p[1].p, b.files.p[1].n, "\n// kernel 0: ", 14));
  assert_null(memmem(b.files.p[1].p, b.files.p[1].n, "/* kernel 0", 11));
  assert_non_null(memmem(b.files.p[2].p, b.files.p[2].n, "RULE", 4));
  assert_non_null(memmem(b.files.p[2].p, b.files.p[2].n, "OBJECT", 6));
  assert_non_null(memmem(b.files.p[3].p, b.files.p[3].n, "\"code\": \"x.cl\"", 14));
  bundle_free(&b);
  ir_free(p->ir);
}

/* The choices of --backend and --emit are complete, and each form of a backend has its own word. */
static void rows_are_complete(void **state) {
  (void)state;
  for (const Backend *const *b = backends; *b; b++) {
    bool makes = false, code = false;
    for (const CodeForm *f = (*b)->forms; f->word; f++) {
      makes |= f->emit == (*b)->makes;
      assert_true(f->emit == EMIT_TEXT || (*b)->build || (*b)->images);
      for (const CodeForm *o = (*b)->forms; o < f; o++) assert_true(strcmp(o->word, f->word) && o->emit != f->emit);
    }
    for (const FileRow *f = (*b)->files; f->kind != FILE_END; f++) {
      code |= f->kind == FILE_CODE;
      if (f->kind == FILE_COPIED || f->kind == FILE_TEMPLATE) assert_non_null(embedded_file(f->from));
    }
    assert_true(makes && code);
    Ctx c;
    Place p;
    ctx_init(&c);
    if ((*b)->device) assert_false(place_find(&c, *b, "no such device", &p)); /* it has no schedules of this machine, and says so */
    assert_true((*b)->device || !(*b)->driver);
    ctx_free(&c);
    assert_true((*b)->is_c || (*b)->load || (*b)->device); /* the tuner makes code by one of the first two */
    assert_true(!(*b)->device == !(*b)->isa && !(*b)->device == !(*b)->handle && !(*b)->device == !(*b)->host_bytes);
    assert_true(!(*b)->load == !(*b)->symbol && !(*b)->load == !(*b)->version);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(row_decides, setup, teardown),
                                      cmocka_unit_test(rows_are_complete) };
  return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
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
  { FILE_COPIED, "tgcrt.h", NULL, ANYWHERE },
  { FILE_CODE, NULL, NULL, ANYWHERE },
  { FILE_TEMPLATE, "Makefile.in", "make-%.mk", ANYWHERE },
  { FILE_END, NULL, NULL, ANYWHERE },
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
  assert_int_equal(b.files.n, 5);
  assert_string_equal(b.files.p[0].name, "tgcrt.h");
  assert_string_equal(b.files.p[1].name, "x.cl");
  assert_string_equal(b.files.p[2].name, "make-x.mk");
  assert_string_equal(b.files.p[3].name, "sbom.cdx.json");
  assert_string_equal(b.files.p[4].name, "manifest.json");
  assert_non_null(memmem(b.files.p[1].p, b.files.p[1].n, "\n// kernel 0: ", 14));
  assert_null(memmem(b.files.p[1].p, b.files.p[1].n, "/* kernel 0", 11));
  assert_non_null(memmem(b.files.p[2].p, b.files.p[2].n, "RULE", 4));
  assert_non_null(memmem(b.files.p[2].p, b.files.p[2].n, "OBJECT", 6));
  assert_non_null(memmem(b.files.p[4].p, b.files.p[4].n, "\"code\": \"x.cl\"", 14));
  bundle_free(&b);
  ir_free(p->ir);
}

/* ---- the rows of the list ---- */
static void need(const Backend *b, bool whole, const char *field, const char *why) {
  if (!whole) fail_msg("the row of the backend '%s': .%s: %s", b->name ? b->name : "without a name", field, why);
}

/* Each form of a backend has a word of its own. No other backend has the word: --emit names them all. */
static void forms_are_complete(const Backend *b) {
  bool makes = false;
  for (const CodeForm *f = b->forms; f->word; f++) {
    makes |= f->emit == b->makes;
    need(b, f->emit == EMIT_TEXT || b->build || b->images, "forms", "a form that is not text needs .build or .images");
    for (const CodeForm *o = b->forms; o < f; o++) need(b, o->emit != f->emit, "forms", "two forms are made in the same way");
    for (const Backend *const *other = backends; *other; other++)
      for (const CodeForm *o = (*other)->forms; o->word; o++)
        need(b, o == f || strcmp(o->word, f->word), "forms", "another backend has a form with this word");
  }
  need(b, makes, "makes", "none of .forms is made so");
}

static void files_are_complete(const Backend *b) {
  int code = 0;
  for (const FileRow *f = b->files; f->kind != FILE_END; f++) {
    code += f->kind == FILE_CODE;
    if (f->kind == FILE_COPIED || f->kind == FILE_TEMPLATE) assert_non_null(embedded_file(f->from));
    need(b, f->kind != FILE_RUNTIME || b->device, "device", "FILE_RUNTIME is the file of .device");
  }
  need(b, code == 1, "files", "one FILE_CODE is needed");
}

static void rows_are_complete(void **state) {
  (void)state;
  for (const Backend *const *b = backends; *b; b++) {
    const Backend *r = *b;
    static const char device[] = "a backend with .device has it, and no other";
    need(r, r->name, "name", "it is the word of --backend");
    need(r, r->gloss, "gloss", "tgc devices prints it");
    need(r, r->comment[0] && r->comment[1], "comment", "comments begin and end");
    need(r, r->model && embedded_file(r->model), "model", "it is a file of runtime_stub");
    need(r, r->supports, "supports", "legalize.c asks it");
    need(r, r->kernel, "kernel", "it prints kernels");
    need(r, r->prelude, "prelude", "it prints helpers");
    need(r, r->forms, "forms", "--emit takes their words");
    need(r, r->files, "files", "a bundle is these files");
    forms_are_complete(r);
    files_are_complete(r);
    need(r, !r->device == !r->isa, "isa", device);
    need(r, !r->device == !r->handle, "handle", device);
    need(r, !r->device == !r->host_bytes, "host_bytes", device);
    need(r, !r->device == !r->types, "types", device);
    need(r, r->device || !r->driver, "driver", "it needs .device");
    Ctx c;
    Place p;
    ctx_init(&c);
    if (r->device) assert_false(place_find(&c, r, "no such device", &p)); /* it has no schedules of this machine, and says so */
    need(r, !r->device || !strcmp(r->device, r->name), "device", "it is .name: tgc devices and messages give it as --backend");
    const Target *t = r->isa ? device_target(r->isa) : NULL;
    need(r, !r->isa || t, "isa", "a row of compiler/target/device.c has this name");
    need(r, !t || (t->dev->interface && !strcmp(t->dev->interface, r->device)), "isa", "the .interface of this row is .device");
    ctx_free(&c);
    need(r, r->is_c || r->load || r->device, "load", "the tuner makes code by .load, or by a C compiler where .is_c");
    need(r, !r->load == !r->symbol, "load", ".load and .symbol come together");
    need(r, !(r->load || r->images) == !r->version, "version", "the store names the compiler behind .load or .images by it");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(row_decides, setup, teardown),
                                      cmocka_unit_test(rows_are_complete) };
  return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}

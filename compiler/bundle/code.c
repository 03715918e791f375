/* SPDX-License-Identifier: MIT */
/* code.c: the file with a bundle's code: its row in the backend's table, its bytes, and what it needs from compiler and
 * machine. */
#include "bundle.h"
#include <string.h>

const char *code_named(Ctx *c, const char *pattern, const char *name) {
  Sb s = { 0 };
  for (; *pattern; pattern++) {
    if (*pattern == '%') sb_puts(&s, name);
    else sb_put(&s, pattern, 1);
  }
  return sb_keep(&s, &c->model);
}

const CodeForm *code_form(const BundleOptions *o) {
  const CodeForm *f = o->backend->forms;
  while (f->word && f->emit != o->emit) f++;
  if (!f->word) BUG("the backend %s does not make code of form %d", o->backend->name, (int)o->emit);
  return f;
}

const char *code_file(Ctx *c, const BundleOptions *o) { return code_named(c, code_form(o)->file, o->name); }

ImageOrder code_order(const Plan *p, const BundleOptions *o, Bytes text) {
  return (ImageOrder){ .target = p->in->target,
                       .file = code_file(p->ir->ctx, o),
                       .text = text,
                       .emit = o->emit,
                       .archs = o->archs,
                       .keep_denormals = o->keep_denormals,
                       .compiler = o->compiler };
}

Bytes code_make(const Plan *p, const BundleOptions *o, const WordSet *words) {
  Ctx *c = p->ir->ctx;
  Sb s = { 0 };
  template_fill(o->backend->model, words, &s);
  if (o->backend->comment[1][0]) break_lines(&s, o->backend->device ? DEVICE_COLUMNS : MOST_COLUMNS); /* not LLVM IR */
  Code code = { .n = s.n };
  code.text = sb_keep(&s, &c->model);
  if (o->weights == WEIGHTS_OBJECT) {
    code.weights_name = arena_printf(&c->model, "%s_weights", o->name);
    code.weights = p->weights.p;
    code.weight_bytes = (size_t)p->weights.bytes;
  }
  if (o->emit == EMIT_TEXT || o->backend->images) return (Bytes){ (const uint8_t *)code.text, code.n };
  c->file = NULL; /* later errors are not about the model */
  Bytes object = o->backend->build(c, p->in->target, &code, o->emit == EMIT_ASM);
  if (o->emit == EMIT_SO || o->emit == EMIT_WASM) return o->link(c, o->link_arg, object);
  if (o->emit != EMIT_LIB) return object;
  static const char *const functions[] = {
    "%_arena_bytes", "%_weights_bytes", "%_interface", "%_strerror", "%_init", "%_set_executor", "%_run", "%_run_v",
    "%_ctx_bytes", "%_check_weights", "%_close", "%_input_count", "%_input_name", "%_input_type", "%_input_rank",
    "%_input_shape", "%_input_bytes", "%_output_count", "%_output_name", "%_output_type", "%_output_rank", "%_output_shape",
    "%_output_bytes", "tgcrt_strerror", "%_weights"
  };
  static const char *const of_sizes[] = { "%_set_sizes", "%_bad_size", "%_get_sizes", "%_input_dims", "%_output_dims" };
  enum { FUNCTIONS = sizeof functions / sizeof *functions, OF_SIZES = sizeof of_sizes / sizeof *of_sizes };
  const char *symbols[FUNCTIONS + OF_SIZES];
  int n = 0;
  for (; n < FUNCTIONS - !code.weights_name; n++) symbols[n] = code_named(c, functions[n], o->name);
  for (int i = 0; i < OF_SIZES && p->ir->symbols.n; i++) symbols[n++] = code_named(c, of_sizes[i], o->name);
  Sb archive = { 0 };
  archive_put(&archive, "model.o/", symbols, n, object);
  Bytes out = { arena_dup(&c->model, archive.p, archive.n), archive.n };
  sb_free(&archive);
  return out;
}

const char *device_api(const Plan *p) { return p->in->backend->device ? p->in->backend->device : ""; }

const char *guard_text(const Plan *p, const char *file) {
  Sb s = { 0 };
  target_guard(p->in->target, file, &s);
  return sb_keep(&s, &p->ir->ctx->model);
}

bool bundle_is_bare(const Plan *p, const BundleOptions *o) {
  return target_is_bare(p->in->target) || (o->package && o->package->bare);
}

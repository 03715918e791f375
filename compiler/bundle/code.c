/* code.c: what file holds a bundle's code, how it is made, and how the bundle's build files come from it to a library and a
 * program. */
#include "bundle.h"
#include <string.h>

/* clang-format off */
static const CodeForm forms[] = {
  { "%.c",  "$(B)/%.o: %.c %.h tgcrt.h\n\t@mkdir -p $(B)\n\t$(CC) $(CFLAGS) $(NETFLAGS) $(WARN) $(PIC) -c -o $@ %.c\n",
    "$(B)/%.o ", "rm -f $@", "", "%.c ", "COMPILE_FLAGS \"-O3 ${NETFLAGS}\"", "", "" },
  { "%.ll", "LLC ?= llc\n$(B)/%.o: %.ll\n\t@mkdir -p $(B)\n\t$(LLC) -O2 -filetype=obj -relocation-model=pic -o $@ %.ll\n",
    "$(B)/%.o ", "rm -f $@", "", "${CMAKE_CURRENT_BINARY_DIR}/%.o ", "EXTERNAL_OBJECT ON", "",
    "find_program(LLC NAMES llc-19 llc)\n"
    "add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/%.o DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/%.ll\n"
    "  COMMAND ${LLC} -O2 -filetype=obj -relocation-model=pic -o ${CMAKE_CURRENT_BINARY_DIR}/%.o ${CMAKE_CURRENT_SOURCE_DIR}/%.ll)\n"
    "set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/%.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)\n" },
  { "%.s",  "$(B)/%.o: %.s\n\t@mkdir -p $(B)\n\t$(CC) -c -o $@ %.s\n",
    "$(B)/%.o ", "rm -f $@", "", "%.s ", "LANGUAGE C", "", "" },
  { "%.o",      "", "%.o ", "rm -f $@",    "", "%.o ", "EXTERNAL_OBJECT ON", "", "" },
  { "lib%.a",   "", "",     "cp lib%.a $@", "", "",    "EXTERNAL_OBJECT ON", " ${CMAKE_CURRENT_SOURCE_DIR}/lib%.a", "" },
  { "lib%.so",  "", "",     "rm -f $@", "lib%.so -Wl,-rpath,'$$ORIGIN/..' ", "", "EXTERNAL_OBJECT ON", " ${CMAKE_CURRENT_SOURCE_DIR}/lib%.so", "" },
};
/* clang-format on */

const char *code_named(Ctx *c, const char *pattern, const char *name) {
  Sb s = { 0 };
  for (; *pattern; pattern++) {
    if (*pattern == '%') sb_puts(&s, name);
    else sb_put(&s, pattern, 1);
  }
  return sb_keep(&s, &c->model);
}

const CodeForm *code_form(const BundleOptions *o) {
  static const char *const ending[] = { [EMIT_ASM] = ".s", [EMIT_OBJ] = ".o", [EMIT_LIB] = ".a", [EMIT_SO] = ".so" };
  const char *end = o->emit == EMIT_TEXT ? strchr(o->backend->model, '.') : ending[o->emit];
  const size_t n = o->emit == EMIT_TEXT ? strlen(end) - strlen(".in") : strlen(end); /* ".c.in" */
  const CodeForm *f = forms;
  while (strncmp(strrchr(f->file, '.'), end, n) || strlen(strrchr(f->file, '.')) != n) f++;
  return f;
}

const char *code_file(Ctx *c, const BundleOptions *o) { return code_named(c, code_form(o)->file, o->name); }

Bytes code_make(const Plan *p, const BundleOptions *o, const Word *words) {
  Ctx *c = p->ir->ctx;
  Sb s = { 0 };
  template_expand(o->backend->model, words, &s);
  Code code = { .n = s.n };
  code.text = sb_keep(&s, &c->model);
  if (o->weights == WEIGHTS_OBJECT) {
    code.weights_name = arena_printf(&c->model, "%s_weights", o->name);
    code.weights = p->weights;
    code.weight_bytes = (size_t)p->weight_bytes;
  }
  if (o->emit == EMIT_TEXT) return (Bytes){ (const uint8_t *)code.text, code.n };
  c->file = NULL; /* what goes wrong from here on is not the model's */
  Bytes object = o->backend->build(c, p->target, &code, o->emit == EMIT_ASM);
  if (o->emit == EMIT_SO) return o->link(c, o->link_arg, object);
  if (o->emit != EMIT_LIB) return object;
  static const char *const functions[] = {
    "%_arena_bytes", "%_weights_bytes", "%_interface", "%_strerror", "%_init", "%_set_executor", "%_run", "%_run_v", "%_ctx_bytes",
    "%_check_weights", "%_input_count", "%_input_name", "%_input_type", "%_input_rank", "%_input_shape", "%_input_bytes",
    "%_output_count", "%_output_name", "%_output_type", "%_output_rank", "%_output_shape", "%_output_bytes", "tgcrt_strerror",
    "%_weights"
  };
  const char *symbols[sizeof functions / sizeof *functions];
  int n = (int)(sizeof functions / sizeof *functions) - !code.weights_name;
  for (int i = 0; i < n; i++) symbols[i] = code_named(c, functions[i], o->name);
  Sb archive = { 0 };
  archive_put(&archive, "model.o/", symbols, n, object);
  Bytes out = { arena_dup(&c->model, archive.p, archive.n), archive.n };
  sb_free(&archive);
  return out;
}

/* SPDX-License-Identifier: MIT */
/* llvm_prelude.c: prints the prelude of kernels in LLVM's IR: the helpers that they call, from runtime_stub/helpers.ll.in,
 * declarations of libm functions, and attributes of functions. */
#include "llvm.h"
#include "parts.h"
#include "../compiler/ir/refmap.h"
#include <stdlib.h>
#include <string.h>

static bool word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* "v8f32" or "i64": the element, lanes */
static DType parse_suffix(const char *s, int *lanes) {
  static const DType of_bits[2][65] = { { [1] = DT_BOOL, [8] = DT_I8, [16] = DT_I16, [32] = DT_I32, [64] = DT_I64 },
                                        { [32] = DT_F32, [64] = DT_F64 } };
  *lanes = 1;
  if (*s == 'v') *lanes = (int)strtol(s + 1, (char **)(uintptr_t)&s, 10);
  return of_bits[*s == 'f'][atoi(s + 1) & 127];
}

/* Prints a function of helpers.ll.in, which explains the $ words. */
static void put_function(Sb *o, const Part *p, DType d, int lanes) {
  const char *element = llvm_scalar[d];
  bool constant_of = false; /* in $(...), the element type is that of the operation around it */
  for (const char *s = p->text; s < p->end; s++) {
    if (*s == ')' && constant_of) {
      sb_puts(o, lanes > 1 ? ")" : "");
      constant_of = false;
    } else if (*s != '$') {
      sb_put(o, s, 1);
    } else {
      switch (*++s) {
      case 'T': element = llvm_scalar[d], sb_puts(o, llvm_value(d, lanes).s); break;
      case 'H': element = "i16", sb_puts(o, llvm_type(element, lanes).s); break;
      case 'W': element = "i32", sb_puts(o, llvm_type(element, lanes).s); break;
      case 'F': element = "float", sb_puts(o, llvm_type(element, lanes).s); break;
      case 'M': sb_puts(o, llvm_type("i1", lanes).s); break;
      case 'S': sb_puts(o, llvm_suffix(d, lanes).s); break;
      case 'B': sb_printf(o, "%d", dtype_info[d].bits); break;
      case '(': constant_of = true, lanes > 1 ? sb_printf(o, "splat (%s ", element) : (void)0; break;
      default: BUG("helpers.ll.in: $%c", *s);
      }
    }
  }
}

typedef struct Prelude { Ctx *c; RefMap seen; Sb text; } Prelude;
static void want_names(Prelude *p, const char *s);

static void want_name(Prelude *p, const char *s, size_t n) {
  char name[64];
  if (n >= sizeof name || (n > 5 && !memcmp(s, "llvm.", 5))) return;
  const uint32_t id = intern(p->c, s, n);
  if (refmap_get(&p->seen, id)) return;
  refmap_set(&p->seen, id, 1);
  memcpy(name, s, n);
  name[n] = 0;
  if (starts_with(name, "tgc.")) {
    char *dot = strrchr(name, '.');
    int lanes;
    DType d = parse_suffix(dot + 1, &lanes);
    *dot = 0;
    Sb out = { 0 };
    Part part;
    CHECK(part_find(part_file("helpers.ll.in"), "@function ", name + 4, strlen(name + 4), &part));
    put_function(&out, &part, d, lanes);
    want_names(p, out.p);
    sb_printf(&p->text, "define internal %s", out.p);
    sb_free(&out);
    return;
  }
  for (int op = 1; op < OP_COUNT; op++) {
    const char *f = llvm_libm((Op)op);
    if (!f || !starts_with(name, f)) continue;
    const char *rest = name + strlen(f), *type = *rest ? "float" : "double";
    if (*rest && strcmp(rest, "f")) continue; /* another function, such as exp2 for exp */
    sb_printf(&p->text, "declare %s @%s(%s%s%s) #2\n", type, name, type, op_info[op].arity > 1 ? ", " : "",
              op_info[op].arity > 1 ? type : "");
    return;
  }
}

static void want_names(Prelude *p, const char *s) { /* called functions, except kernels */
  while ((s = strstr(s, "call "))) {
    s = strchr(s, '@') + 1;
    size_t n = 0;
    while (word(s[n])) n++;
    if (s[0] != 'k') want_name(p, s, n);
  }
}

static void put_prelude(Prelude *p, const Target *t, Sb *o) {
  if (p->text.p) sb_puts(o, p->text.p);
  /* a kernel that is inlined into net_run would share registers with its neighbours */
  static const char *const role[] = { "noinline nounwind", "alwaysinline nounwind", "nobuiltin nounwind willreturn memory(none)",
                                      "nounwind" };
  for (int i = 0; i < 4; i++) {
    sb_printf(o, "attributes #%d = { %s", i, role[i]);
    if (*t->llvm) sb_printf(o, " \"target-features\"=\"%s\"", t->llvm);
    if (t->vector_bytes) sb_printf(o, " \"prefer-vector-width\"=\"%d\"", t->vector_bytes * 8);
    sb_puts(o, " }\n");
  }
  refmap_free(&p->seen);
  sb_free(&p->text);
}

void llvm_prelude_of(Ctx *c, const char *text, const Target *t, Sb *o) {
  Prelude pre = { .c = c };
  want_names(&pre, text);
  put_prelude(&pre, t, o);
}

void llvm_prelude(const Plan *p, const Target *t, Sb *o) {
  Prelude pre = { .c = p->ir->ctx };
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].code == (int)k) want_names(&pre, p->kernels.p[k].text);
  put_prelude(&pre, t, o);
}

/* SPDX-License-Identifier: MIT */
/* c.c: the backend for C. Scalars are plain C99; vectors are GNU vector types, which gcc and clang both compile for any
 * instruction set. */
#include "dialect.h"
#include "../compiler/lower/lower.h"

static const Dialect c_dialect = {
  .type = {
#define DTYPE(id, bits, cls, onnx, ctype, text) [DT_##id] = ctype,
#include "../compiler/ir/dtypes.h"
#undef DTYPE
  },
  .truth = "int",
  .vector = "$Dx$N",
  .i64 = "INT64_C($a)",
  .u64 = "UINT64_C($a)",
  .least32 = "INT32_MIN",
  .least64 = "INT64_MIN",
  .nearest = "nearbyint",
  .single = "f",
  .kernel = "TGC_KERNEL void ",
  .helper = "TGC_HELPER ",
  .global = "",
  .restricted = "TGC_RESTRICT ",
  .local = "TGC_ALIGNED ",
  .loop = "for ($T $0 = $a; $0 < $b; $0++)",
  .load = "*($q$mu *)$0",
  .store = "*($q$mu *)$0 = $c",
  .loaded = "($T)", /* both sides of ?: are of one type: not the unaligned one */
  .truth_from = "__builtin_convertvector($a != 0, $T)",
  .truth_to = "__builtin_convertvector($0 & 1, u8x$N)",
  .truth_splat = "(($T){ 0 } - (int32_t)($a))",
  .mask = "i32x$N_of$B($a)",
  .zero = "($T){ 0 }",
  .list = { "($T){ ", " }" },
  .lane = "$0[$k]",
  .convert = "__builtin_convertvector($a, $T)",
  .bits = "($T)$0",
  .pick = { "TGC_PICK($I, $a, $b, ", ")" },
  .fence = "TGC_FENCE",
  .rolled = "TGC_ROLLED",
  .few = "TGC_FEW",
  .apart = "TGC_APART",
  .keep = "TGC_KEEP($0)",
  .prefetch = "TGC_PREFETCH($0, $b, $k)",
  .parts = "helpers.c.in",
};

/* ---- what has a vector form ---- */
static bool c_supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const bool dot = (d == DT_I32 && (from == DT_U8 || from == DT_I8 || from == DT_I16)) || (d == DT_F32 && from == DT_BF16);
  if (op == OP_SHFLXOR) return false;
  if (op == OP_SCALB) return target_scales(t, from, lanes);
  if (op == OP_LOOKUP) return target_looks_up(t, from, lanes);
  if (lanes == 1) return op != OP_DOT || dot;
  if (from == DT_F16 && (op == OP_ADD || op == OP_MUL || op == OP_MULACC)) return target_sums_halves(t, lanes);
  bool f = from == DT_F32 || from == DT_F64, i = from == DT_I32 || from == DT_U32 || from == DT_I64 || from == DT_U64,
       b = from == DT_BOOL;
  switch (op) {
  case OP_ADD: case OP_SUB: case OP_NEG: return f || i;
  case OP_MAX: case OP_MIN: return f || dt_int(from) || b;
  case OP_MUL: case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: return f || i || b;
  case OP_DOT: return dot;
  case OP_MULACC: return f || (from == DT_I32 && target_adds_words(t, lanes)); /* legalize.c makes only those of words */
  case OP_DIV: case OP_RECIP: case OP_SQRT: case OP_ABS: return f;
  case OP_AND: case OP_OR: case OP_XOR: case OP_NOT: return i || b;
  case OP_WHERE: case OP_LOAD: return true;
  case OP_ROUND: case OP_FLOOR: case OP_CEIL: case OP_TRUNC: return from == DT_F32;
  case OP_BITCAST: return from == DT_F32 || from == DT_I32 || from == DT_U32;
  case OP_SHL: case OP_SHR: return i;
  case OP_CAST:
    if (from == DT_F16 || d == DT_F16) return from == DT_F32 || d == DT_F32;
    if (from == DT_BF16 || d == DT_BF16) return from == DT_F32 || d == DT_F32;
    return !(dt_float(from) && dt_int(d)) || (from == DT_F32 && d == DT_I32);
  default: return libm_has(op, from);
  }
}

/* clang-format off */
static const CodeForm forms[] = {
  { "c", EMIT_TEXT, "%.c",  "$(B)/%.o: %.c %.h tgcrt.h\n\t@mkdir -p $(B)\n\t$(CC) $(CFLAGS) $(NETFLAGS) $(WARN) $(PIC) -c -o $@ %.c\n",
    "$(B)/%.o ", "rm -f $@", "", "%.c ", "COMPILE_FLAGS \"${OPTIMIZE} ${NETFLAGS}\"", "", "" },
  { .word = NULL },
};
/* clang-format on */

const Backend c_backend = { .name = "c",
                            .gloss = "C99 with GNU vector types, or plain C99",
                            .comment = { "/* ", " */" },
                            .model = "net.c.in",
                            .forms = forms,
                            .makes = EMIT_TEXT,
                            .files = host_files,
                            .variant = "variant.c.in",
                            .is_c = true,
                            .sizes = true,
                            .dialect = &c_dialect,
                            .supports = c_supports,
                            .kernel = clike_kernel,
                            .prelude = clike_prelude };

/* SPDX-License-Identifier: MIT */
/* isa_ops.c: the table of dot-product and matrix instructions. */
#include "isa_ops.h"
#include <string.h>

/* clang-format off */
const IsaOp isa_op_table[] = {
  /* name         needs            x      y      sum     group lanes rows depth */
  { "tdpbusd",    FEAT_AMX_INT8,   DT_U8, DT_I8, DT_I32, 4,    16,   16,  16 },
  { "tdpbuud",    FEAT_AMX_INT8,   DT_U8, DT_U8, DT_I32, 4,    16,   16,  16 },
  { "tdpbsud",    FEAT_AMX_INT8,   DT_I8, DT_U8, DT_I32, 4,    16,   16,  16 },
  { "tdpbf16ps",  FEAT_AMX_BF16,   DT_BF16, DT_BF16, DT_F32, 2, 16,  16,  16 },
  { "vpdpbusd",   FEAT_AVX512VNNI, DT_U8, DT_I8, DT_I32, 4,    16,   1,   1 },
  { "vpdpbusd256", FEAT_AVXVNNI,   DT_U8, DT_I8, DT_I32, 4,    8,    1,   1 },
  { "vpmaddwd512", FEAT_AVX512,    DT_U8, DT_I8, DT_I32, 4,    16,   1,   1 }, /* on words: vpmaddubsw saturates */
  { "vpmaddwd",   FEAT_AVX2,       DT_U8, DT_I8, DT_I32, 4,    8,    1,   1 },
  { "vpdpwssd",   FEAT_AVX512VNNI, DT_I16, DT_I16, DT_I32, 2,  16,   1,   1 },
  { "vpdpwssd256", FEAT_AVXVNNI,   DT_I16, DT_I16, DT_I32, 2,  8,    1,   1 },
  { "words512",   FEAT_AVX512,     DT_I16, DT_I16, DT_I32, 2,  16,   1,   1 }, /* vpmaddwd */
  { "words256",   FEAT_AVX2,       DT_I16, DT_I16, DT_I32, 2,  8,    1,   1 },
  { "usdot",      FEAT_I8MM,       DT_U8, DT_I8, DT_I32, 4,    4,    1,   1 },
  { "sdot",       FEAT_DOTPROD,    DT_I8, DT_I8, DT_I32, 4,    4,    1,   1 },
  { "vmladava",   FEAT_MVE,        DT_I8, DT_I8, DT_I32, 16,   1,    1,   1 }, /* a vector of bytes, one sum */
  { "smlads",     FEAT_MVE,        DT_I8, DT_I8, DT_I32, 4,    1,    1,   1 }, /* smlad on signed bytes */
  { "smlad",      FEAT_DSP,        DT_U8, DT_I8, DT_I32, 4,    1,    1,   1 }, /* on halves: two of them for four bytes */
  { "vdpbf16ps",  FEAT_AVX512BF16, DT_BF16, DT_BF16, DT_F32, 2, 16,  1,   1 },
  { NULL,         0,               0,     0,     0,      0,    0,    0,   0 },
};
/* clang-format on */

const IsaOp *isa_op_named(const char *s, size_t n) {
  for (const IsaOp *u = isa_op_table; u->name; u++)
    if (strlen(u->name) == n && !memcmp(u->name, s, n)) return u;
  return NULL;
}

int isa_op_depth(const IsaOp *u, int64_t groups) {
  int64_t depth = u->depth;
  while (groups % depth) depth--;
  return (int)depth;
}

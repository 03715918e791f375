/* SPDX-License-Identifier: MIT */
/* features.c: the table of what CPUs have above the baseline of their architecture. */
#include "target.h"

/* clang-format off */
const Feature features[] = {
#define FEATURE(id, arch, name, needs, cflags, llvm, macros) { FEAT_##id, ARCH_##arch, name, needs, cflags, llvm, macros },
#include "features.h"
#undef FEATURE
  { 0, ARCH_ANY, NULL, 0, NULL, NULL, NULL },
};
/* clang-format on */
const int feature_count = sizeof features / sizeof *features - 1;

/* SPDX-License-Identifier: MIT */
/* nvrtc.h: compiles CUDA C++ to the images that NVIDIA's driver loads. */
#ifndef TGC_NVRTC_H
#define TGC_NVRTC_H
#include "backends.h"

/* ---- nvrtc.c ---- */
enum { MOST_ARCHS = 16 };
typedef struct Archs { int n, arch[MOST_ARCHS]; } Archs; /* ascending: 75, 90 */
Archs cuda_archs(Ctx *c, const ImageOrder *order);
void cuda_arithmetic(const Target *t, bool keep_denormals, Sb *out); /* puts options of NVIDIA's compilers, separated by blanks */
const char *cuda_images(Ctx *c, const ImageOrder *order, Images *out);
const char *cuda_version(Ctx *c); /* "NVRTC 13.0", or the name of the compiler that tgc uses without NVRTC */

/* ---- cubin.c ---- */
void cubin_uses(Ctx *c, Bytes cubin, uint32_t arch, Images *out); /* adds the resources that a cubin records for its functions */
#endif

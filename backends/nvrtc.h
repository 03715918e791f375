/* SPDX-License-Identifier: MIT */
/* nvrtc.h: compiles CUDA C++ to the images that NVIDIA's driver loads. */
#ifndef TGC_NVRTC_H
#define TGC_NVRTC_H
#include "backends.h"

/* ---- nvrtc.c ---- */
enum { MOST_ARCHS = 16 };  /* most architectures of a bundle */
typedef struct Archs { int n, arch[MOST_ARCHS]; } Archs; /* compute capabilities times 10, ascending: 75, 90 */
Archs cuda_archs(Ctx *c, const ImageOrder *order); /* the architectures that --arch names, or else the target's architecture */
/* Appends the options for arithmetic that NVIDIA's compilers take, separated by blanks */
void cuda_arithmetic(const Target *t, bool keep_denormals, Sb *out);
/* Backend.images for CUDA: adds a cubin for each of cuda_archs, and PTX for the least one. Without NVRTC, clang makes the PTX,
 * and there are no cubins; for EMIT_OBJ, the function then fails. EMIT_ASM: only the PTX. EMIT_LIB: one fatbin in place of all
 * images, if nvFatbin is installed. EMIT_TEXT: a fatbin without bytes, which the bundle's own build makes. Returns NULL, or why
 * the compiler refuses the text. */
const char *cuda_images(Ctx *c, const ImageOrder *order, Images *out);
const char *cuda_version(Ctx *c); /* "NVRTC 13.0", or the name of the compiler that tgc uses without NVRTC */

/* ---- cubin.c ---- */
/* Adds to out->uses the registers and the bytes of memory that a cubin records for each of its functions. arch: the cubin's
 * architecture, such as 90 */
void cubin_uses(Ctx *c, Bytes cubin, uint32_t arch, Images *out);
#endif

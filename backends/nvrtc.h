/* SPDX-License-Identifier: MIT */
/* nvrtc.h: compiles CUDA C++ to the images that NVIDIA's driver loads. */
#ifndef TGC_NVRTC_H
#define TGC_NVRTC_H
#include "backends.h"

/* ---- nvrtc.c ---- */
enum { MOST_ARCHS = 16 };  /* most architectures of a bundle */
typedef struct Archs { int n, arch[MOST_ARCHS]; } Archs; /* compute capabilities times 10, ascending: 75, 90 */
Archs cuda_archs(Ctx *c, const ImageOrder *order); /* returns the architectures that --arch names; without --arch, only the
                                                      architecture of the target */
/* Appends options for NVIDIA's compilers, separated by blanks. The options say how arithmetic may round, and whether denormals
 * become zero. */
void cuda_arithmetic(const Target *t, bool keep_denormals, Sb *out);
/* Backend.images (target/backend.h) for CUDA. Adds a cubin for each architecture of cuda_archs, and PTX for the least one.
 * Without NVRTC, clang makes the PTX, and there are no cubins. For some values of order->emit, the function does something
 * else:
 *   EMIT_TEXT  adds only an empty fatbin, because the build of the bundle makes the fatbin.
 *   EMIT_ASM   adds only the PTX.
 *   EMIT_OBJ   calls fail() if NVRTC is not installed.
 *   EMIT_LIB   packs all images into one fatbin, if nvFatbin is installed and order->candidates is false.
 * Returns NULL, or the reason why the compiler refuses the text. */
const char *cuda_images(Ctx *c, const ImageOrder *order, Images *out);
const char *cuda_version(Ctx *c); /* "NVRTC 13.0"; without NVRTC, the name of the clang that tgc uses */

/* ---- cubin.c ---- */
/* A cubin records how many registers and how much memory each of its functions uses. Adds these records to out->uses. arch: the
 * cubin's architecture, such as 90 */
void cubin_uses(Ctx *c, Bytes cubin, uint32_t arch, Images *out);
#endif

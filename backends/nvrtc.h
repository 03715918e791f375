/* SPDX-License-Identifier: MIT */
/* nvrtc.h: compiles CUDA C++ to the images that NVIDIA's driver loads. */
#ifndef TGC_NVRTC_H
#define TGC_NVRTC_H
#include "backends.h"

/* ---- nvrtc.c ---- */
enum { MOST_ARCHS = 16 };  /* most architectures of a bundle */
typedef struct Archs { int n, arch[MOST_ARCHS]; } Archs; /* compute capabilities times 10, ascending: 75, 90 */
Archs cuda_archs(Ctx *c, const ImageOrder *order); /* the architectures of --arch; without --arch, only the target's
                                                      architecture */
/* Appends options of NVIDIA's compilers that decide about arithmetic, separated by blanks */
void cuda_arithmetic(const Target *t, bool keep_denormals, Sb *out);
/* Backend.images (target/backend.h) for CUDA. Adds a cubin for each architecture of cuda_archs, and PTX for the least one.
 * Without NVRTC, clang makes the PTX, and there are no cubins. Some values of order->emit change this:
 *   EMIT_TEXT  only an empty fatbin, because the bundle's own build makes the fatbin.
 *   EMIT_ASM   only the PTX.
 *   EMIT_OBJ   without NVRTC, the function calls fail(), which does not return.
 *   EMIT_LIB   if nvFatbin is installed, one fatbin replaces all images, and contains them.
 * Returns NULL, or the reason why the compiler refuses the text. */
const char *cuda_images(Ctx *c, const ImageOrder *order, Images *out);
const char *cuda_version(Ctx *c); /* "NVRTC 13.0"; without NVRTC, the name of the clang that tgc uses */

/* ---- cubin.c ---- */
/* A cubin records how many registers and how much memory each of its functions uses. Adds these records to out->uses. arch: the
 * cubin's architecture, such as 90 */
void cubin_uses(Ctx *c, Bytes cubin, uint32_t arch, Images *out);
#endif

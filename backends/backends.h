/* SPDX-License-Identifier: MIT */
/* backends.h: declares all backends (target/backend.h). A new backend needs a file of its own, its name in the declaration below,
 * and its name in the list in backends.c. */
#ifndef TGC_BACKENDS_H
#define TGC_BACKENDS_H
#include "../compiler/schedule/schedule.h"
extern const Backend c_backend, llvm_backend, opencl_backend, cuda_backend, metal_backend;
extern const FileRow host_files[]; /* files.c: files of a bundle for a CPU */
extern const FileRow device_files[]; /* files.c: files of a bundle for a device */
extern const FileRow web_files[];    /* files.c: files of a bundle for JavaScript */
/* child.c: calls run(arg, fd) in a child process. Appends to `out` all that `run` writes to the file descriptor fd. Returns the
 * child's wait status. Fails with EX_RETRY if the system cannot make another process or pipe. */
int child_output(Ctx *c, void (*run)(void *arg, int fd), void *arg, Sb *out);
/* exprs.c: whether x is min(max(v, c), d) of floats with constants c and d within i32, or that rounded. x may be NaN. */
bool fits_i32(const IR *ir, const Node *x);
/* exprs.c: x may be a cast of rounded floats to 8 bits. One instruction rounds them to i32 and another one narrows (in C: the
 * helper tgc_pack). Then returns the node that rounds (ROUND); else NULL. */
const Node *packed_rounding(const IR *ir, const Target *t, const Node *x);
/* Two rules for the Makefile of a device bundle. The first rule compiles %.c, the bundle's code for the host; % stands for the
 * bundle's name. The second rule compiles the runtime for an interface, such as tgcrt_opencl.c. api: the name of this interface
 * as a string literal: "opencl", "cuda" or "metal" */
#define DEVICE_OBJECTS(api) \
  "$(B)/%.o: %.c %.h tgcrt_device.h tgcrt.h\n\t@mkdir -p $(B)\n\t$(CC) $(CFLAGS) -std=c99 $(WARN) $(PIC) -c -o $@ %.c\n" \
  "$(B)/tgcrt_" api ".o: tgcrt_" api ".c tgcrt_session.h tgcrt_device.h tgcrt.h\n\t@mkdir -p $(B)\n" \
  "\t$(CC) $(CFLAGS) -std=c99 $(WARN) $(PIC) -c -o $@ tgcrt_" api ".c\n"
#endif

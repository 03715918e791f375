/* SPDX-License-Identifier: MIT */
/* backends.h: the list of backends. A new backend needs a file, a line here, and a line in backends.c. */
#ifndef TGC_BACKENDS_H
#define TGC_BACKENDS_H
#include "../compiler/schedule/schedule.h"
extern const Backend c_backend, llvm_backend, opencl_backend, cuda_backend, metal_backend;
extern const FileRow host_files[]; /* files.c: files of a bundle for a CPU */
extern const FileRow device_files[]; /* files.c: files of a bundle for a device */
extern const FileRow web_files[];    /* files.c: files of a bundle for JavaScript */
/* Rules of a device bundle's Makefile. They compile %.c, the bundle's code for the host, and tgcrt_API.c, the runtime for a
 * device interface. % stands for the bundle's name. api: the interface as a string literal: "opencl", "cuda" or "metal" */
#define DEVICE_OBJECTS(api) \
  "$(B)/%.o: %.c %.h tgcrt_device.h tgcrt.h\n\t@mkdir -p $(B)\n\t$(CC) $(CFLAGS) -std=c99 $(WARN) $(PIC) -c -o $@ %.c\n" \
  "$(B)/tgcrt_" api ".o: tgcrt_" api ".c tgcrt_session.h tgcrt_device.h tgcrt.h\n\t@mkdir -p $(B)\n" \
  "\t$(CC) $(CFLAGS) -std=c99 $(WARN) $(PIC) -c -o $@ tgcrt_" api ".c\n"
#endif

/* backends.h: the list of backends. Adding one: a file, a line here, a line in backends.c. */
#ifndef TGC_BACKENDS_H
#define TGC_BACKENDS_H
#include "../compiler/schedule/schedule.h"
extern const Backend c_backend, llvm_backend, opencl_backend, cuda_backend, metal_backend;
extern const FileRow host_files[]; /* files.c: of a bundle whose code runs on the CPU that calls it */
#endif

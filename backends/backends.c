/* SPDX-License-Identifier: MIT */
/* backends.c: the list of backends. */
#include "backends.h"

const Backend *const backends[] = { &c_backend, &llvm_backend, &opencl_backend, &cuda_backend, &metal_backend, NULL };

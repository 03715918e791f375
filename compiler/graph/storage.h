/* SPDX-License-Identifier: MIT */
/* storage.h: number formats in which weights are stored (weight-only quantisation). Columns of the macro STORAGE: id, name of the
 * format in --weights, description of how a weight is stored. */
#ifndef STORAGE
#ifndef TGC_STORAGE_H
#define TGC_STORAGE_H
typedef enum Storage {
#define STORAGE(id, name, gloss) STORE_##id,
#include "storage.h"
  STORAGE_COUNT
} Storage;
extern const char *const storage_name[];
Storage storage_named(const char *s); /* returns the format with the name s; STORAGE_COUNT if there is none */
#endif
#else
STORAGE(FP32, "fp32", "unchanged")
STORAGE(BF16, "bf16", "two bytes")
STORAGE(FP16, "fp16", "two bytes, unless a weight would become infinite")
STORAGE(INT8, "int8", "one byte each, with a scale for each output channel")
STORAGE(INT4, "int4", "half a byte each, with a scale for every 32 weights along the sum")
#undef STORAGE
#endif

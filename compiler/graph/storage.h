/* storage.h: how weights are stored that a run reads a few times only. A row: id, the word for it, what it is. */
#ifndef STORAGE
#ifndef TGC_STORAGE_H
#define TGC_STORAGE_H
typedef enum Storage {
#define STORAGE(id, name, gloss) STORE_##id,
#include "storage.h"
  STORAGE_COUNT
} Storage;
extern const char *const storage_name[];
Storage storage_named(const char *s); /* STORAGE_COUNT: there is none */
#endif
#else
STORAGE(FP32, "fp32", "as they are")
STORAGE(BF16, "bf16", "two bytes")
STORAGE(FP16, "fp16", "two bytes, where none becomes infinite")
STORAGE(INT8, "int8", "a byte, and a scale for each output channel")
STORAGE(INT4, "int4", "half a byte, and a scale for each 32 along the sum")
#undef STORAGE
#endif

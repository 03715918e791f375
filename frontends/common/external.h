/* SPDX-License-Identifier: MIT */
/* external.h: weights in files beside the model, shared by all front ends. */
#ifndef TGC_EXTERNAL_H
#define TGC_EXTERNAL_H
#include "../../compiler/support/support.h"

typedef struct ExternalFile {
  uint32_t location;            /* interned */
  Bytes all;                    /* mapped when large, copied when small */
  char sha1[41];                /* "": not computed yet */
} ExternalFile;

typedef struct External {
  const char *model;            /* path of the model, whose directory holds the files; NULL: refuse external data */
  bool allow_hardlinks;
  Bytes self;                   /* bytes of the model file; they live as long as the compilation */
  bool warned;                  /* a warning about unknown keys was printed */
  VEC(ExternalFile) files;      /* heap; freed by the owner with VEC_FREE */
  size_t file_bytes, used;      /* total bytes of the opened files, and of the tensors that lie in them */
} External;

/* The file at location, a relative path strictly beneath the model's directory. It is opened once. Failures go through fail_at.
 * subject: the value that refers to the file, as messages name it: "the weight" or "tensor 'w'". */
ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject);

/* The bytes [offset, offset + need) of the file. Fails if they exceed the file, or if all tensors together use more than
 * 4 times the bytes of the opened files, plus 64 MiB. */
Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject);
#endif

/* SPDX-License-Identifier: MIT */
/* external.h: weights in files beside the model, shared by all front ends. */
#ifndef TGC_EXTERNAL_H
#define TGC_EXTERNAL_H
#include "../../compiler/support/support.h"

typedef struct ExternalFile {
  uint32_t location;            /* the path in the model, interned */
  Bytes all;                    /* mapped when large, copied when small */
  char sha1[41];                /* "": not computed yet */
} ExternalFile;

typedef struct External {
  const char *model;            /* path of the model, whose directory holds the files; NULL: refuse external data */
  bool allow_hardlinks;         /* the option --allow-hardlinks: accept files with more than one hard link */
  Bytes self;                   /* bytes of the model file; they live as long as the compilation */
  bool warned;                  /* a warning about unknown keys was printed */
  VEC(ExternalFile) files;      /* heap; freed by the owner with VEC_FREE */
  size_t file_bytes, used;      /* total bytes of the opened files, and of the tensors that lie in them */
} External;

/* Opens the file at `location`, a relative path to a file in the model's directory or below it; each file is opened once. Fails
 * through fail_at. at: the position of the value that refers to the file. subject: the value's name in messages, such as
 * "the weight" or "tensor 'w'". */
ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject);

/* The `need` bytes of the file from `offset` on. Fails if the file has fewer bytes. Also fails if all tensors together use more
 * than 4 times the bytes of the opened files, plus 64 MiB. */
Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject);
#endif

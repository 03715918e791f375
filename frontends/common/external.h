/* SPDX-License-Identifier: MIT */
/* external.h: weights in files beside the model, shared by all front ends. */
#ifndef TGC_EXTERNAL_H
#define TGC_EXTERNAL_H
#include "../../compiler/support/support.h"

typedef struct ExternalFile {
  uint32_t location;            /* the path in the model, interned */
  Bytes all;                    /* the file's bytes, mapped or copied */
  char sha1[41];                /* "": not computed yet */
} ExternalFile;

typedef struct External {
  const char *model;            /* path of the model. The files are in the model's directory, or below. NULL: files are refused */
  bool allow_hardlinks;         /* the option --allow-hardlinks: files may have more than one hard link */
  Bytes self;                   /* bytes of the model file, valid until the compilation ends */
  bool warned;                  /* a warning about unknown keys was printed */
  VEC(ExternalFile) files;      /* the opened files; the owner of the struct frees them by VEC_FREE */
  size_t file_bytes, used;      /* file_bytes: bytes of all opened files; used: bytes of all tensors in these files */
} External;

/* Opens the file at `location`, a relative path from the model's directory to a file in or below it. Opens each file once.
 * Fails if the file cannot be used. at: position of the value that refers to the file. subject: the value's name in messages,
 * such as "the weight" or "tensor 'w'". The result is valid until the next file is opened. */
ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject);

/* The `need` bytes of the file from `offset` on. Fails if the file has fewer bytes. Also fails if x->used becomes greater than
 * 4 * x->file_bytes plus 64 MiB. */
Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject);
#endif

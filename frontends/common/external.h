/* SPDX-License-Identifier: MIT */
/* external.h: weights in files beside the model file, for all front ends. */
#ifndef TGC_EXTERNAL_H
#define TGC_EXTERNAL_H
#include "../../compiler/support/support.h"

typedef struct ExternalFile {
  uint32_t location;            /* the path as the model gives it, interned */
  Bytes all;                    /* the file's bytes, mapped or copied */
  char sha1[41];                /* "": not computed yet */
} ExternalFile;

typedef struct External {
  const char *model;            /* path of the model file. Other files must be in its directory, or below. NULL: there may be no
                                   other files */
  bool allow_hardlinks;         /* --allow-hardlinks is given: files may have more than one hard link */
  Bytes self;                   /* bytes of the model file, valid until the compilation ends */
  bool warned;                  /* a warning about unknown keys was printed */
  VEC(ExternalFile) files;      /* the opened files; the owner of the External frees the list (VEC_FREE) */
  size_t file_bytes, used;      /* file_bytes: sum of the sizes of the opened files; used: sum of the sizes of tensors in them */
} External;

/* Opens a file, unless it is in x->files already. location: path of the file, relative to the model's directory. Fails if the
 * file cannot be used. at: position of the value that refers to the file. subject: the value's name in messages, such as "the
 * weight" or "tensor 'w'". The result is valid until the next file is opened. */
ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject);

/* Returns the `need` bytes of the file from `offset` on, and adds `need` to x->used. Fails if the file has fewer bytes, or if
 * x->used becomes greater than 4 * x->file_bytes + 64 MiB. The other arguments are those of external_file. */
Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject);
#endif

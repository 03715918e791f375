/* SPDX-License-Identifier: MIT */
/* external.h: external files, which are files beside the model file that contain weights. All front ends use this header. */
#ifndef TGC_EXTERNAL_H
#define TGC_EXTERNAL_H
#include "../../compiler/support/support.h"

typedef struct ExternalFile {
  uint32_t location;            /* the interned path that the model gives for the file */
  Bytes all;                    /* the file's bytes, mapped or copied */
  char sha1[41];                /* the digest SHA-1 of the file; "": not computed yet */
} ExternalFile;

typedef struct External {
  const char *model;            /* path of the model file. External files must be in the directory of the model file, or below
                                   this directory. NULL: all external files are refused */
  bool allow_hardlinks;         /* --allow-hardlinks is given: files may have more than one hard link */
  Bytes self;                   /* bytes of the model file, to which tensors may point. The bytes are valid until the compilation
                                   ends. n 0: no tensor points to the model file */
  bool warned;                  /* a warning about unknown keys was printed */
  VEC(ExternalFile) files;      /* the opened files; the owner of the External frees the list (VEC_FREE) */
  size_t file_bytes, used;      /* file_bytes: sum of the sizes of the opened files. used: sum of the sizes of the tensors that
                                   external_range has returned */
} External;

/* Returns the file at `location`, a path relative to the directory of the model file. Opens the file if x->files lacks it. Fails
 * if the file cannot be used. The result is valid until the next file is opened. at: the place in the model that refers to the
 * file. subject: the tensor's name in messages, such as "the weight" or "tensor 'w'" */
ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject);

/* Returns the `need` bytes of the file that begin at `offset`, and adds `need` to x->used. Fails if the file is too short, or if
 * x->used becomes greater than 4 * x->file_bytes + 64 MiB. Other arguments: as in external_file */
Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject);
#endif

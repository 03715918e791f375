/* external.h: weights in files beside the model, for every front end. */
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
  Bytes self;                   /* the model's own bytes, as long as the compilation */
  bool warned;                  /* about unknown keys */
  VEC(ExternalFile) files;      /* heap; freed by the owner with VEC_FREE */
  size_t file_bytes, used;      /* sums over the files, and over the tensors that lie in them */
} External;

/* The file at location, a relative path strictly beneath the model's directory; opened once. Failures
 * go through fail_at; subject names in messages what the file is for. */
ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject);

/* need bytes of it from offset on, within the file and within the budget of the model */
Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject);
#endif

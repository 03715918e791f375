/* tgcrt.c: see tgcrt.h. The first half imports nothing; the second maps files by POSIX calls. */
#define _POSIX_C_SOURCE 200809L
#include "tgcrt.h"

const char *tgcrt_strerror(int status) {
  switch (status) { /* a table of pointers would be data to relocate */
  case TGCRT_OK: return "done";
  case TGCRT_ARGUMENT: return "a pointer is null";
  case TGCRT_ARENA: return "the arena is too small or not aligned to 64 bytes";
  case TGCRT_WEIGHTS: return "the weights have the wrong size or are not aligned to 64 bytes";
  case TGCRT_UNREADY: return "the context was not initialised by this model";
  case TGCRT_INDEX: return "an index in the data was out of range and has been clamped";
  case TGCRT_FILE: return "a file cannot be read, or is not what was expected";
  }
  return "unknown status";
}

#ifndef TGCRT_FREESTANDING
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int tgcrt_map(const char *path, size_t bytes, const void **data) {
  struct stat st;
  void *p = MAP_FAILED;
  int fd;
  if (!path || !data) return TGCRT_ARGUMENT;
  *data = NULL;
  fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return TGCRT_FILE;
  if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= 0 && (size_t)st.st_size == bytes && bytes)
    p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (p == MAP_FAILED) return bytes ? TGCRT_FILE : TGCRT_OK;
  *data = p;
  return TGCRT_OK;
}

void tgcrt_unmap(const void *data, size_t bytes) {
  if (data) munmap((void *)(uintptr_t)data, bytes);
}
#endif

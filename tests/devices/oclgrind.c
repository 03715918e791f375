/* SPDX-License-Identifier: MIT */
/* oclgrind.c: the library that a bundle opens as libOpenCL.so.1 when it runs under Oclgrind, linked with Oclgrind's own. It has
 * one function of its own, for two reasons:
 *
 * - A buffer that clEnqueueFillBuffer has filled counts as uninitialised for ever, whatever kernels write (Oclgrind 21.10).
 * - The runtime fills all memory with zeros when a model begins. A value that no kernel wrote is to be found all the same.
 *
 * So a fill of a whole buffer does nothing here, and a part of one, a state, is written. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS uint32_t events, void *const *list, void **event
int32_t clGetMemObjectInfo(void *buffer, uint32_t what, size_t n, void *value, size_t *size);
int32_t clEnqueueWriteBuffer(void *queue, void *buffer, uint32_t wait, size_t at, size_t n, const void *p, EVENTS);
int32_t clEnqueueMarkerWithWaitList(void *queue, EVENTS);
int32_t clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t unit, size_t at, size_t n, EVENTS);

enum { OUT_OF_HOST_MEMORY = -6, MEM_SIZE = 0x1102 };

int32_t clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t unit, size_t at, size_t n, EVENTS) {
  size_t size = 0;
  char *p;
  int32_t result = clGetMemObjectInfo(buffer, MEM_SIZE, sizeof size, &size, NULL);
  if (result) return result;
  if (!at && n == size) return clEnqueueMarkerWithWaitList(queue, events, list, event);
  p = malloc(n);
  if (!p) return OUT_OF_HOST_MEMORY;
  for (size_t i = 0; i < n; i += unit) memcpy(p + i, pattern, unit);
  result = clEnqueueWriteBuffer(queue, buffer, 1, at, n, p, events, list, event);
  free(p);
  return result;
}

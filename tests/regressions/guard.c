/* SPDX-License-Identifier: MIT */
/* guard.c: runs a bundle with every buffer between two guard pages. In one run all of them end where a page begins, in the
 * other they begin where a page ends. Inputs, outputs and the context touch the page to the byte. Arena and weights are
 * aligned; the bytes between them and the page must not change. Outputs of both runs must be the same. usage: guard WEIGHTS */
#define _GNU_SOURCE /* MAP_ANONYMOUS, whatever standard the flags name */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)
enum { FILL = 0xa5, MOST = 256 };

typedef struct Block { unsigned char *p, *rest; size_t bytes, left; } Block; /* rest: behind p, up to the page; left: bytes */
static Block block[MOST];
static int nblocks;

/* bytes between two guard pages: at the end of what lies between them, or at its begin */
static void *guarded(size_t bytes, size_t align, int at_end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page + (bytes == 0) * page;
  unsigned char *all = (unsigned char *)mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(all != MAP_FAILED && !mprotect(all + page, room, PROT_READ | PROT_WRITE) && nblocks < MOST);
  memset(all + page, FILL, room);
  Block b = { all + page, NULL, bytes, 0 };
  if (at_end) b.p += (room - bytes) / align * align;
  b.rest = b.p + bytes;
  b.left = (size_t)(all + page + room - b.rest);
  block[nblocks++] = b;
  return b.p;
}

static void check_rests(void) {
  for (int i = 0; i < nblocks; i++)
    for (size_t k = 0; k < block[i].left; k++) CHECK(block[i].rest[k] == FILL);
}

static size_t element(int type) {
  return type == TGCRT_F64 || type == TGCRT_I64 || type == TGCRT_U64                            ? 8
         : type == TGCRT_F32 || type == TGCRT_I32 || type == TGCRT_U32                          ? 4
         : type == TGCRT_F16 || type == TGCRT_BF16 || type == TGCRT_I16 || type == TGCRT_U16    ? 2
                                                                                                : 1;
}

/* Small values of any type; integers also far out of range, as indices may be: what -1 or 127 in every byte is. */
static void fill(unsigned char *p, size_t bytes, int type, unsigned seed) {
  for (size_t i = 0; i < bytes / element(type); i++) {
    const unsigned r = (seed = seed * 1103515245u + 12345u) >> 16;
    if (type == TGCRT_F32) ((float *)(void *)p)[i] = (float)(r % 17) / 8 - 1;
    else if (type == TGCRT_F64) ((double *)(void *)p)[i] = (double)(r % 17) / 8 - 1;
    else if (type == TGCRT_BOOL) p[i] = r & 1;
    else {
      memset(p + i * element(type), r % 5 ? 0 : r % 2 ? 0xff : 0x3f, element(type));
      if (r % 5) p[i * element(type)] = (unsigned char)(r % 3);
    }
  }
}

/* -> the outputs one after another */
static unsigned char *run(const unsigned char *weights, int at_end, size_t *all) {
  const size_t nin = net_input_count(), nout = net_output_count();
  const void *in[MOST];
  void *out[MOST];
  void *ctx = guarded(net_ctx_bytes(), sizeof(void *), at_end), *arena = guarded(net_arena_bytes(), TGCRT_ALIGN, at_end);
  unsigned char *w = (unsigned char *)guarded(net_weights_bytes(), TGCRT_ALIGN, at_end), *result;
  CHECK(nin < MOST && nout < MOST);
  if (net_weights_bytes()) memcpy(w, weights, net_weights_bytes());
  for (size_t i = 0; i < nin; i++) {
    unsigned char *p = (unsigned char *)guarded(net_input_bytes(i), element(net_input_type(i)), at_end);
    fill(p, net_input_bytes(i), net_input_type(i), (unsigned)i);
    in[i] = p;
  }
  *all = 0;
  for (size_t i = 0; i < nout; i++) {
    out[i] = guarded(net_output_bytes(i), element(net_output_type(i)), at_end);
    *all += net_output_bytes(i);
  }
  CHECK(net_init((net_ctx *)ctx, arena, net_arena_bytes(), w, net_weights_bytes()) == TGCRT_OK);
  const int status = net_run_v((net_ctx *)ctx, in, out);
  CHECK(status == TGCRT_OK || status == TGCRT_INDEX);
  check_rests();
  CHECK(result = (unsigned char *)malloc(*all + 1));
  for (size_t i = 0, at = 0; i < nout; at += net_output_bytes(i++)) memcpy(result + at, out[i], net_output_bytes(i));
  return result;
}

int main(int argc, char **argv) {
  unsigned char *weights = (unsigned char *)malloc(net_weights_bytes() + 1);
  size_t n;
  FILE *f = fopen(argv[1], "rb");
  CHECK(argc == 2 && weights && f && fread(weights, 1, net_weights_bytes(), f) == net_weights_bytes());
  fclose(f);
  unsigned char *a = run(weights, 1, &n), *b = run(weights, 0, &n);
  CHECK(!memcmp(a, b, n));
  free(a);
  free(b);
  free(weights);
  return 0;
}

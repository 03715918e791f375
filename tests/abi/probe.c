/* SPDX-License-Identifier: MIT */
/* probe.c: the questions of tests/abi/run to a bundle, as a program in C and in C++. It calls every function that a caller in
 * another language uses, with canaries around every buffer. It prints what the interface says, then the bytes of the outputs.
 * usage: probe WEIGHTS|- OTHER|-: the weights' file and one of another model, "-": they are embedded */
#include "net.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 192, FILL = 0xa5 }; /* bytes of a canary on each side, at least */

#define CHECK(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)

typedef struct Guarded { unsigned char *all, *p; size_t bytes; } Guarded;
static Guarded guarded[64];
static int nguarded;

/* bytes at an address that is a multiple of `align` and of no more, between canaries without a gap */
static void *guard(size_t bytes, size_t align) {
  Guarded g;
  g.bytes = bytes;
  g.all = (unsigned char *)malloc(bytes + 3 * ROOM);
  CHECK(g.all);
  memset(g.all, FILL, bytes + 3 * ROOM);
  g.p = g.all + ROOM;
  g.p += (2 * align - (uintptr_t)g.p % (2 * align)) % (2 * align) + align;
  CHECK(nguarded < 64 && (uintptr_t)g.p % align == 0);
  guarded[nguarded++] = g;
  return g.p;
}

static void check_guards(void) {
  for (int i = 0; i < nguarded; i++) {
    const Guarded *g = &guarded[i];
    for (const unsigned char *p = g->all; p < g->all + g->bytes + 3 * ROOM; p++)
      CHECK((p >= g->p && p < g->p + g->bytes) || *p == FILL);
  }
}

static const unsigned char *file_at(const char *path, size_t bytes) {
  unsigned char *p = (unsigned char *)guard(bytes, TGCRT_ALIGN);
  FILE *f = fopen(path, "rb");
  CHECK(f && fread(p, 1, bytes, f) == bytes);
  fclose(f);
  return p;
}

static size_t element(int type) {
  switch (type) {
  case TGCRT_F64: case TGCRT_I64: case TGCRT_U64: return 8;
  case TGCRT_F32: case TGCRT_I32: case TGCRT_U32: return 4;
  case TGCRT_F16: case TGCRT_BF16: case TGCRT_I16: case TGCRT_U16: return 2;
  case TGCRT_BOOL: case TGCRT_I8: case TGCRT_U8: return 1;
  }
  CHECK(!"a type of tgcrt.h");
  return 0;
}

static void describe(const char *kind, size_t i, const char *name, int type, int rank, const int64_t *shape, size_t bytes) {
  size_t elements = 1;
  printf("%s %lu %d %lu [", kind, (unsigned long)i, type, (unsigned long)bytes);
  for (int k = 0; k < rank; k++) printf("%s%" PRId64, k ? "," : "", shape[k]), elements *= (size_t)shape[k];
  printf("] %s\n", name);
  CHECK(bytes == elements * element(type));
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  const size_t nin = net_input_count(), nout = net_output_count();
  const void **in = (const void **)guard(nin * sizeof *in + 1, sizeof(void *));
  void **out = (void **)guard(nout * sizeof *out + 1, sizeof(void *));
  net_ctx *ctx = (net_ctx *)guard(net_ctx_bytes(), sizeof(void *));
  void *arena = guard(net_arena_bytes(), TGCRT_ALIGN);
  const unsigned char *weights = NULL;
  CHECK(net_ctx_bytes() == NET_CTX_BYTES && net_ctx_bytes() == sizeof(net_ctx) && nin == NET_INPUTS && nout == NET_OUTPUTS);
  CHECK(net_interface() == NET_INTERFACE && strlen(NET_WEIGHTS_SHA256) == 64);
  for (size_t i = 0; i < nin; i++) {
    describe("input", i, net_input_name(i), net_input_type(i), net_input_rank(i), net_input_shape(i), net_input_bytes(i));
    unsigned char *p = (unsigned char *)guard(net_input_bytes(i), element(net_input_type(i)));
    for (size_t k = 0; k < net_input_bytes(i); k++) p[k] = (unsigned char)(k % 3 == 0); /* small values of any type */
    in[i] = p;
  }
  for (size_t i = 0; i < nout; i++) {
    describe("output", i, net_output_name(i), net_output_type(i), net_output_rank(i), net_output_shape(i), net_output_bytes(i));
    out[i] = guard(net_output_bytes(i), element(net_output_type(i)));
  }
  CHECK(!net_input_type(nin) && !*net_input_name(nin) && !net_input_rank(nin) && !net_input_bytes((size_t)-1) &&
        net_input_shape(nin));
  CHECK(!net_output_type(nout) && !*net_output_name((size_t)-1) && !net_output_rank(nout) && !net_output_bytes(nout));
  CHECK(net_run_v(ctx, in, out) == TGCRT_UNREADY);
  if (strcmp(argv[1], "-")) {
    weights = file_at(argv[1], net_weights_bytes());
    const unsigned char *other = file_at(argv[2], net_weights_bytes());
    const int wrong = net_init(ctx, arena, net_arena_bytes(), other, net_weights_bytes());
#ifdef TGCRT_DEBUG
    CHECK(wrong == TGCRT_DIGEST && net_run_v(ctx, in, out) == TGCRT_UNREADY);
#else
    CHECK(wrong == TGCRT_OK);
#endif
    CHECK(net_check_weights(other, net_weights_bytes()) == TGCRT_DIGEST);
    CHECK(net_check_weights(weights, net_weights_bytes() - 1) == TGCRT_WEIGHTS);
    CHECK(net_check_weights(NULL, net_weights_bytes()) == TGCRT_WEIGHTS);
  }
  CHECK(net_check_weights(weights, weights ? net_weights_bytes() : 0) == TGCRT_OK);
  CHECK(net_init(ctx, arena, net_arena_bytes(), weights, weights ? net_weights_bytes() : 0) == TGCRT_OK);
  CHECK(net_run_v(NULL, in, out) == TGCRT_ARGUMENT);
  CHECK(!nin || net_run_v(ctx, NULL, out) == TGCRT_ARGUMENT);
  CHECK(!nout || net_run_v(ctx, in, NULL) == TGCRT_ARGUMENT);
#ifdef NET_STATES
  CHECK(net_state_count() == NET_STATES && !net_state_type(NET_STATES) && net_saved_bytes() == NET_STATE_BYTES);
  void *saved = guard(net_saved_bytes(), 1);
  CHECK(net_state_save(ctx, saved) == TGCRT_OK);
  for (size_t i = 0; i < NET_STATES; i++) {
    void *value = guard(net_state_bytes(i), 1);
    describe("state", i, net_state_name(i), net_state_type(i), net_state_rank(i), net_state_shape(i), net_state_bytes(i));
    CHECK(net_state_get(ctx, i, value) == TGCRT_OK && net_state_put(ctx, i, value) == TGCRT_OK);
  }
  CHECK(net_run_v(ctx, in, out) == TGCRT_OK && net_state_load(ctx, saved) == TGCRT_OK);
#endif
  CHECK(net_run_v(ctx, in, out) == TGCRT_OK);
  check_guards();
  for (size_t i = 0; i < nout; i++) {
    for (size_t k = 0; k < net_output_bytes(i); k++) printf("%02x", ((unsigned char *)out[i])[k]);
    printf("\n");
  }
  CHECK(net_close(NULL) == TGCRT_ARGUMENT && net_close(ctx) == TGCRT_OK && net_close(ctx) == TGCRT_OK);
  CHECK(net_run_v(ctx, in, out) == TGCRT_UNREADY);
  CHECK(net_init(ctx, arena, net_arena_bytes(), weights, weights ? net_weights_bytes() : 0) == TGCRT_OK);
  return 0;
}

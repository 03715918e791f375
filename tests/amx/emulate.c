/* SPDX-License-Identifier: MIT */
/* emulate.c: AMX on a CPU without it. Linked into a program with -Wl,--wrap=tgcrt_cpu_check, it lets models start that need
 * the matrix unit. It executes the unit's instructions when they trap, tile by tile as Intel's manual defines them, with the
 * same faults. A fault, or another illegal instruction, ends the program with a line on stderr. On a CPU with AMX it
 * does nothing. With AMX_COUNT set, the number of executed instructions is printed at the end. */
#define _GNU_SOURCE
#include "tgcrt.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <xmmintrin.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, PALETTE = 1 };
enum { AMX = TGCRT_CPU_AMX_INT8 | TGCRT_CPU_AMX_BF16 };
enum { NONE, P66, PF3, PF2 }; /* the prefix in a VEX */

typedef struct Tile { unsigned rows, bytes; uint8_t row[ROWS][ROW_BYTES]; } Tile;
static _Thread_local struct { int palette; Tile t[TILES]; } unit;
static uint64_t done;

int __real_tgcrt_cpu_check(uint32_t wanted);
int __wrap_tgcrt_cpu_check(uint32_t wanted);
int __wrap_tgcrt_cpu_check(uint32_t wanted) {
  return tgcrt_cpu() & TGCRT_CPU_AMX_INT8 ? __real_tgcrt_cpu_check(wanted) : __real_tgcrt_cpu_check(wanted & ~(uint32_t)AMX);
}

static void fault(const char *what) {
  fprintf(stderr, "amx: %s\n", what);
  _exit(3);
}

/* ---- instructions ---- */
static void release(void) { memset(&unit, 0, sizeof unit); }

static void configure(const uint8_t *c) {
  if (c[0] > PALETTE) fault("ldtilecfg: no such palette");
  for (int i = 1; i < 16; i++)
    if (c[i]) fault("ldtilecfg: a reserved byte, or a start row, is not 0");
  for (int i = TILES; i < 16; i++)
    if (c[16 + 2 * i] || c[17 + 2 * i] || c[48 + i]) fault("ldtilecfg: a shape for no tile");
  release();
  if (!c[0]) return;
  for (int i = 0; i < TILES; i++) {
    Tile *t = &unit.t[i];
    t->bytes = (unsigned)(c[16 + 2 * i] | c[17 + 2 * i] << 8);
    t->rows = c[48 + i];
    if (t->bytes > ROW_BYTES || t->rows > ROWS || !t->bytes != !t->rows) fault("ldtilecfg: no such shape");
  }
  unit.palette = c[0];
}

static void store_config(uint8_t *c) {
  memset(c, 0, 64);
  c[0] = (uint8_t)unit.palette;
  for (int i = 0; i < TILES; i++) c[16 + 2 * i] = (uint8_t)unit.t[i].bytes, c[48 + i] = (uint8_t)unit.t[i].rows;
}

static Tile *tile(unsigned n) {
  if (!unit.palette) fault("tiles are not configured");
  if (n >= TILES || !unit.t[n].rows) fault("a tile without a shape");
  return &unit.t[n];
}

static void zero(Tile *t) { memset(t->row, 0, sizeof t->row); }

static void load(Tile *t, const uint8_t *p, int64_t stride) {
  if (t->bytes % 4) fault("tileloadd: rows of no whole doublewords");
  zero(t);
  for (unsigned i = 0; i < t->rows; i++) memcpy(t->row[i], p + (int64_t)i * stride, t->bytes);
}

static void store(const Tile *t, uint8_t *p, int64_t stride) {
  for (unsigned i = 0; i < t->rows; i++) memcpy(p + (int64_t)i * stride, t->row[i], t->bytes);
}

static void check_product(const Tile *s, const Tile *x, const Tile *y) {
  if (s == x || s == y || x == y) fault("a product of a tile with itself");
  if (s->bytes % 4 || x->bytes % 4 || y->bytes % 4) fault("a product of rows of no whole doublewords");
  if (s->rows != x->rows || x->bytes / 4 != y->rows || s->bytes != y->bytes) fault("a product of tiles that do not fit");
}

static void products_i8(Tile *s, const Tile *x, const Tile *y, int xs, int ys) {
  for (unsigned m = 0; m < s->rows; m++) {
    uint32_t sum[ROW_BYTES / 4];
    memcpy(sum, s->row[m], sizeof sum);
    for (unsigned k = 0; k < x->bytes; k++) {
      const int a = xs ? (int8_t)x->row[m][k] : x->row[m][k];
      const uint8_t *b = y->row[k / 4] + k % 4;
      for (unsigned n = 0; n < s->bytes / 4; n++) sum[n] += (uint32_t)(a * (ys ? (int8_t)b[4 * n] : b[4 * n]));
    }
    memcpy(s->row[m], sum, s->bytes);
  }
}

static float from_bf16(const uint8_t *p) {
  const uint32_t u = (uint32_t)(p[0] | p[1] << 8) << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}

static void products_bf16(Tile *s, const Tile *x, const Tile *y) { /* denormals are zero, whatever MXCSR says */
  const unsigned mode = _mm_getcsr(), n = s->bytes / 4;
  _mm_setcsr(0x9fc0);
  for (unsigned m = 0; m < s->rows; m++) {
    float sum[ROW_BYTES / 4], part[2][ROW_BYTES / 4] = { { 0 } };
    memcpy(sum, s->row[m], sizeof sum);
    for (unsigned k = 0; k < x->bytes / 2; k++) {
      const float a = from_bf16(x->row[m] + 2 * k);
      for (unsigned i = 0; i < n; i++) part[k % 2][i] = fmaf(a, from_bf16(y->row[k / 2] + 4 * i + k % 2 * 2), part[k % 2][i]);
    }
    for (unsigned i = 0; i < n; i++) sum[i] += part[0][i] + part[1][i];
    memcpy(s->row[m], sum, s->bytes);
  }
  _mm_setcsr(mode);
}

/* ---- decoding ---- */
typedef struct Insn {
  const uint8_t *at;       /* ModRM */
  unsigned rex_x, rex_b, reg, rm, mod, v, prefix, opcode;
  size_t bytes;            /* up to the end */
  uint8_t *base;           /* the memory operand, without its index */
  int64_t stride;          /* the index, scaled */
} Insn;

static int64_t general(const ucontext_t *u, unsigned n) {
  static const int reg[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
  return u->uc_mcontext.gregs[reg[n]];
}

static void decode_memory(const ucontext_t *u, const uint8_t *start, Insn *i) {
  const uint8_t *p = i->at + 1;
  unsigned base = i->rm;
  int64_t at, displacement = 0;
  i->stride = 0;
  if (i->rm == 4) {
    const unsigned sib = *p++, index = (sib >> 3 & 7) | i->rex_x << 3;
    base = sib & 7;
    if (index != 4) i->stride = (int64_t)((uint64_t)general(u, index) << (sib >> 6));
  }
  if (base == 5 && i->mod == 0) {
    int32_t d;
    memcpy(&d, p, 4);
    p += 4;
    at = i->rm == 4 ? 0 : (int64_t)(uintptr_t)p; /* no base, or the end of the instruction */
    displacement = d;
  } else {
    at = general(u, base | i->rex_b << 3);
    if (i->mod == 1) displacement = (int8_t)*p++;
    if (i->mod == 2) {
      int32_t d;
      memcpy(&d, p, 4);
      p += 4;
      displacement = d;
    }
  }
  i->base = (uint8_t *)(uintptr_t)(at + displacement);
  i->bytes = (size_t)(p - start);
}

static int decode(const ucontext_t *u, const uint8_t *p, Insn *i) { /* a VEX of three bytes: 128 bits, 0F38, W0 */
  if (p[0] != 0xc4 || (p[1] & 0x1f) != 2 || p[2] & 0x84) return 0;
  *i = (Insn){ .at = p + 4, .rex_x = !(p[1] & 0x40), .rex_b = !(p[1] & 0x20), .v = ~p[2] >> 3 & 15, .prefix = p[2] & 3,
               .opcode = p[3] };
  i->mod = *i->at >> 6;
  i->reg = (*i->at >> 3 & 7) | (p[1] & 0x80 ? 0 : 8);
  i->rm = *i->at & 7;
  i->bytes = 5;
  if (i->mod != 3) decode_memory(u, p, i);
  return 1;
}

static int step(const Insn *i) {
  const int memory = i->mod != 3;
  switch (i->opcode) {
  case 0x49:
    if (memory && !i->reg && i->prefix == NONE) return configure(i->base + i->stride), 1;
    if (memory && !i->reg && i->prefix == P66) return store_config(i->base + i->stride), 1;
    if (!memory && *i->at == 0xc0 && i->prefix == NONE) return release(), 1;
    if (!memory && !i->rm && i->prefix == PF2) return zero(tile(i->reg)), 1;
    return 0;
  case 0x4b:
    if (!memory || i->rm != 4) return 0; /* the stride is an index */
    if (i->prefix == PF2 || i->prefix == P66) return load(tile(i->reg), i->base, i->stride), 1;
    if (i->prefix == PF3) return store(tile(i->reg), i->base, i->stride), 1;
    return 0;
  case 0x5e: case 0x5c: {
    if (memory || (i->opcode == 0x5c && i->prefix != PF3)) return 0;
    Tile *s = tile(i->reg), *x = tile(i->rm | i->rex_b << 3), *y = tile(i->v);
    check_product(s, x, y);
    if (i->opcode == 0x5c) products_bf16(s, x, y);
    else products_i8(s, x, y, i->prefix == PF2 || i->prefix == PF3, i->prefix == PF2 || i->prefix == P66);
    return 1;
  }
  default: return 0;
  }
}

static void illegal(int sig, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  const uint8_t *p = (const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
  Insn i;
  (void)sig, (void)info;
  if (!decode(u, p, &i) || !step(&i)) fault("an illegal instruction that is none of AMX");
  __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  u->uc_mcontext.gregs[REG_RIP] += (int64_t)i.bytes;
}

static void report(void) { fprintf(stderr, "amx: %llu instructions\n", (unsigned long long)done); }

__attribute__((constructor)) static void start(void) {
  struct sigaction a = { .sa_sigaction = illegal, .sa_flags = SA_SIGINFO };
  if (tgcrt_cpu() & TGCRT_CPU_AMX_INT8) return;
  sigaction(SIGILL, &a, NULL);
  if (getenv("AMX_COUNT")) atexit(report);
}

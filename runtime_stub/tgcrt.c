/* SPDX-License-Identifier: 0BSD */
/* tgcrt.c: see tgcrt.h. With TGCRT_FREESTANDING it imports nothing; the last part maps files, by calls of POSIX or of Windows. */
#define _POSIX_C_SOURCE 200809L
#include "tgcrt.h"
#include <string.h>

const char *tgcrt_strerror(int status) {
  switch (status) { /* a table of pointers would be data to relocate */
  case TGCRT_OK: return "done";
  case TGCRT_ARGUMENT: return "a pointer is null, or a number is out of range";
  case TGCRT_ARENA: return "the arena (or the memory for a pool) is too small, or not aligned to 64 bytes";
  case TGCRT_WEIGHTS: return "the weights have the wrong size or are not aligned to 64 bytes";
  case TGCRT_UNREADY: return "the context was not initialised by this model";
  case TGCRT_INDEX: return "a value used as an index was out of range and has been clamped";
  case TGCRT_FILE: return "a file cannot be read, or is not what was expected";
  case TGCRT_CPU: return "this CPU, or its operating system, lacks instructions that the model was compiled for";
  case TGCRT_STATE: return "there is no state of that number, or the saved state is not of this model";
  case TGCRT_THREADS: return "a thread cannot be started";
  case TGCRT_DIGEST: return "the weights have another SHA-256";
  case TGCRT_DRIVER: return "the driver's library is missing, or lacks a function that is needed";
  case TGCRT_DEVICE: return "there is no such device, or it lacks what the model needs";
  case TGCRT_MEMORY: return "the device has not enough memory";
  case TGCRT_BUILD: return "the driver's compiler refuses the kernels";
  case TGCRT_LOST: return "the device or its queue failed; close the context and initialise it again";
  case TGCRT_BUSY: return "the time limit has passed, and the work goes on";
  case TGCRT_SIZE: return "a size is outside of the range that the model was compiled for";
  case TGCRT_CAPACITY: return "a result has more rows than the model was compiled for; the outputs have the first ones";
  }
  return "unknown status";
}

/* ---- SHA-256: FIPS 180-4, section 6.2; names are those of the standard ---- */
static const uint32_t sha_k[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* H after one block of 64 bytes. w holds the last 16 words of the message schedule. */
static void sha_block(uint32_t h[8], const unsigned char *p) {
  uint32_t w[16], v[8]; /* v: a, b, c, d, e, f, g, h */
  int t, i;
  for (i = 0; i < 8; i++) v[i] = h[i];
  for (t = 0; t < 64; t++) {
    uint32_t *wt = &w[t & 15], t1, t2;
    if (t < 16) {
      *wt = (uint32_t)p[4 * t] << 24 | (uint32_t)p[4 * t + 1] << 16 | (uint32_t)p[4 * t + 2] << 8 | p[4 * t + 3];
    } else {
      const uint32_t x = w[(t + 1) & 15], y = w[(t + 14) & 15];
      *wt += (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[(t + 9) & 15] + (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    t1 = v[7] + (rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[t] + *wt;
    t2 = (rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    for (i = 7; i > 0; i--) v[i] = v[i - 1];
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (i = 0; i < 8; i++) h[i] += v[i];
}

void tgcrt_sha256(const void *data, size_t bytes, char hex[65]) {
  uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
  const unsigned char *p = (const unsigned char *)data;
  const uint64_t bits = (uint64_t)bytes * 8;
  unsigned char last[128] = { 0 }; /* the remaining bytes, a bit 1, zeros, and the number of bits: one block or two */
  size_t rest = bytes % 64, end = rest < 56 ? 64 : 128, i;
  for (i = 0; i < bytes / 64; i++) sha_block(h, p + i * 64);
  if (rest) memcpy(last, p + (bytes - rest), rest);
  last[rest] = 0x80;
  for (i = 0; i < 8; i++) last[end - 1 - i] = (unsigned char)(bits >> 8 * i);
  for (i = 0; i < end; i += 64) sha_block(h, last + i);
  for (i = 0; i < 64; i++) {
    const unsigned digit = h[i / 8] >> (28 - 4 * (i % 8)) & 15;
    hex[i] = (char)(digit < 10 ? '0' + digit : 'a' + (digit - 10));
  }
  hex[64] = 0;
}

int tgcrt_check_sha256(const void *data, size_t bytes, const char *hex) {
  char is[65];
  int i, differ = 0;
  tgcrt_sha256(data, bytes, is);
  for (i = 0; i < 64; i++) differ |= is[i] ^ hex[i]; /* clang would call bcmp for memcmp */
  return differ ? TGCRT_DIGEST : TGCRT_OK;
}

#ifdef TGCRT_DEBUG
int tgcrt_debug_weights(const void *data, size_t bytes, const char *hex) { return tgcrt_check_sha256(data, bytes, hex); }
#endif

/* ---- features of the CPU ---- */
#if defined __x86_64__ && defined __GNUC__
enum { EAX, EBX, ECX, EDX };

/* Conditions of a feature: bits of a CPUID leaf, and registers that the operating system saves (XCR0). A feature of several
 * rows needs all of them. */
static const struct {
  uint32_t feature, leaf, subleaf;
  int reg;
  uint32_t bits, state;
} cpuid_bits[] = {
  { TGCRT_CPU_AVX2, 1, 0, ECX, 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 | 1u << 28 | 1u << 29, 0x6 },
  { TGCRT_CPU_AVX2, 7, 0, EBX, 1u << 3 | 1u << 5 | 1u << 8, 0x6 },
  { TGCRT_CPU_AVX2, 0x80000001u, 0, ECX, 1u << 0 | 1u << 5, 0x6 },
  { TGCRT_CPU_AVX512, 7, 0, EBX, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31, 0xe6 },
  { TGCRT_CPU_AVX512VBMI, 7, 0, ECX, 1u << 1, 0xe6 },
  { TGCRT_CPU_AVX512VNNI, 7, 0, ECX, 1u << 11, 0xe6 },
  { TGCRT_CPU_AVX512BF16, 7, 1, EAX, 1u << 5, 0xe6 },
  { TGCRT_CPU_AVX512FP16, 7, 0, EDX, 1u << 23, 0xe6 },
  { TGCRT_CPU_AVXVNNI, 7, 1, EAX, 1u << 4, 0x6 },
  { TGCRT_CPU_AMX_INT8, 7, 0, EDX, 1u << 24 | 1u << 25, 0x60000 },
  { TGCRT_CPU_AMX_BF16, 7, 0, EDX, 1u << 24 | 1u << 22, 0x60000 },
};

static void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t r[4]) {
  __asm__ volatile("cpuid" : "=a"(r[EAX]), "=b"(r[EBX]), "=c"(r[ECX]), "=d"(r[EDX]) : "a"(leaf), "c"(subleaf));
}

static int has_leaf(uint32_t leaf, uint32_t subleaf) {
  uint32_t r[4];
  cpuid(leaf & 0x80000000u, 0, r);
  if (r[EAX] < leaf) return 0;
  if (!subleaf) return 1;
  cpuid(leaf, 0, r);
  return r[EAX] >= subleaf;
}

uint32_t tgcrt_cpu(void) {
  uint32_t r[4], have = ~0u, named = 0, state = 0;
  cpuid(1, 0, r);
  if (r[ECX] >> 27 & 1) { /* the operating system has set XCR0 */
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  }
  for (size_t i = 0; i < sizeof cpuid_bits / sizeof *cpuid_bits; i++) {
    named |= cpuid_bits[i].feature;
    if (has_leaf(cpuid_bits[i].leaf, cpuid_bits[i].subleaf)) {
      cpuid(cpuid_bits[i].leaf, cpuid_bits[i].subleaf, r);
      if (!(cpuid_bits[i].bits & ~r[cpuid_bits[i].reg]) && !(cpuid_bits[i].state & ~state)) continue;
    }
    have &= ~cpuid_bits[i].feature;
  }
  return (have & named) | TGCRT_CPU_KNOWN;
}
#elif defined __linux__ && !defined TGCRT_FREESTANDING && (defined __aarch64__ || defined __riscv)
#include <sys/auxv.h>

uint32_t tgcrt_cpu(void) {
  uint32_t have = TGCRT_CPU_KNOWN;
  unsigned long cap = getauxval(AT_HWCAP);
#ifdef __aarch64__
  unsigned long cap2 = getauxval(AT_HWCAP2);
  if ((cap >> 9 & 3) == 3) have |= TGCRT_CPU_FP16; /* scalar and vector */
  if (cap >> 20 & 1) have |= TGCRT_CPU_DOTPROD;
  if (cap2 >> 13 & 1) have |= TGCRT_CPU_I8MM;
  if (cap2 >> 14 & 1) have |= TGCRT_CPU_BF16;
#else
  if (cap >> ('V' - 'A') & 1) have |= TGCRT_CPU_RVV;
#endif
  return have;
}
#else
uint32_t tgcrt_cpu(void) { return 0; }
#endif

/* Linux saves the registers of the matrix unit only for processes that ask for it; one request is for all threads. */
static int tiles_permitted(void) {
#if defined __x86_64__ && defined __GNUC__ && defined __linux__ && !defined TGCRT_FREESTANDING
  long status = 158; /* arch_prctl */
  __asm__ volatile("syscall" : "+a"(status) : "D"(0x1023L /* ARCH_REQ_XCOMP_PERM */), "S"(18L /* XTILEDATA */) : "rcx", "r11", "memory");
  return !status;
#else
  return 1;
#endif
}

int tgcrt_cpu_check(uint32_t wanted) {
  uint32_t have = tgcrt_cpu();
  if (!(have & TGCRT_CPU_KNOWN)) return TGCRT_OK;
  if (wanted & ~have) return TGCRT_CPU;
  return wanted & (TGCRT_CPU_AMX_INT8 | TGCRT_CPU_AMX_BF16) && !tiles_permitted() ? TGCRT_CPU : TGCRT_OK;
}

/* ---- state ---- */
static uint64_t cursor(const unsigned char *s, size_t k) {
  uint64_t c;
  memcpy(&c, s + 8 * k, 8);
  return c;
}

static void set_cursor(unsigned char *s, size_t k, uint64_t c) { memcpy(s + 8 * k, &c, 8); }

void tgcrt_state_reset(const tgcrt_state *t, size_t n, unsigned char *s, const unsigned char *weights) {
  size_t k, i;
  for (k = 0; k < n; k++, t++) {
    set_cursor(s, k, 0);
    memset(s + t->at, 0, t->outer * t->block);
    for (i = 0; i < t->outer && t->init != (size_t)-1; i++) memcpy(s + t->at + i * t->block, weights + t->init + i * t->keep, t->keep);
  }
}

/* Only a window has room behind its last slot for values that are kept. */
void tgcrt_state_advance(const tgcrt_state *t, size_t n, unsigned char *s) {
  size_t k, i;
  for (k = 0; k < n; k++, t++) {
    size_t end = t->slots * t->step;
    uint64_t next = cursor(s, k) + 1;
    if (next == t->slots) {
      next = 0;
      for (i = 0; i < t->outer && end + t->keep <= t->block; i++) memmove(s + t->at + i * t->block, s + t->at + i * t->block + end, t->keep);
    }
    set_cursor(s, k, next);
  }
}

int tgcrt_state_load(const tgcrt_state *t, size_t n, unsigned char *s, const void *saved, size_t bytes) {
  size_t k;
  for (k = 0; k < n; k++)
    if (cursor((const unsigned char *)saved, k) >= t[k].slots) return TGCRT_STATE;
  memcpy(s, saved, bytes);
  return TGCRT_OK;
}

int tgcrt_state_get(const tgcrt_state *t, size_t n, const unsigned char *s, size_t k, void *value) {
  size_t i;
  if (k >= n) return TGCRT_STATE;
  t += k;
  s += t->at + cursor(s, k) * t->step;
  for (i = 0; i < t->outer; i++) memcpy((unsigned char *)value + i * t->keep, s + i * t->block, t->keep);
  return TGCRT_OK;
}

int tgcrt_state_put(const tgcrt_state *t, size_t n, unsigned char *s, size_t k, const void *value) {
  size_t i;
  if (k >= n) return TGCRT_STATE;
  t += k;
  s += t->at + cursor(s, k) * t->step;
  for (i = 0; i < t->outer; i++) memcpy(s + i * t->block, (const unsigned char *)value + i * t->keep, t->keep);
  return TGCRT_OK;
}

/* ---- files ---- */
#if defined _WIN32 && !defined TGCRT_FREESTANDING
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

int tgcrt_map(const char *path, size_t bytes, const void **data) {
  HANDLE file, mapping = NULL;
  LARGE_INTEGER size;
  if (!path || !data) return TGCRT_ARGUMENT;
  *data = NULL;
  file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (file == INVALID_HANDLE_VALUE) return TGCRT_FILE;
  if (GetFileType(file) == FILE_TYPE_DISK && GetFileSizeEx(file, &size) && (uint64_t)size.QuadPart == bytes && bytes)
    mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
  if (mapping) *data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  if (mapping) CloseHandle(mapping); /* the view keeps both */
  CloseHandle(file);
  return *data || !bytes ? TGCRT_OK : TGCRT_FILE;
}

static size_t program_path(char *path, size_t size) {
  const DWORD n = GetModuleFileNameA(NULL, path, (DWORD)size);
  return n < size ? n : 0;
}

static int is_there(const char *path) { return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES; }
static int separates(char c) { return c == '/' || c == '\\'; }
static int is_absolute(const char *name) { return separates(name[0]) || (name[0] && name[1] == ':'); }

void tgcrt_unmap(const void *data, size_t bytes) {
  (void)bytes;
  if (data) UnmapViewOfFile(data);
}
#elif !defined TGCRT_FREESTANDING
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined __APPLE__
#include <mach-o/dyld.h>
#endif

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

/* Writes the path of the running program. 0: the system does not tell, or it is too long */
static size_t program_path(char *path, size_t size) {
#if defined __linux__
  const ssize_t n = readlink("/proc/self/exe", path, size);
  return n > 0 && (size_t)n < size ? (size_t)n : 0;
#elif defined __APPLE__
  uint32_t n = (uint32_t)size;
  return _NSGetExecutablePath(path, &n) ? 0 : strlen(path);
#else
  (void)path;
  (void)size;
  return 0;
#endif
}

static int is_there(const char *path) { return !access(path, F_OK); }
static int separates(char c) { return c == '/'; }
static int is_absolute(const char *name) { return separates(*name); }

void tgcrt_unmap(const void *data, size_t bytes) {
  if (data) munmap((void *)(uintptr_t)data, bytes);
}
#endif

#ifndef TGCRT_FREESTANDING
int tgcrt_map_beside(const char *name, size_t bytes, const void **data) {
  char path[4096];
  size_t n, length;
  if (!name || !data) return TGCRT_ARGUMENT;
  length = strlen(name);
  n = is_absolute(name) ? 0 : program_path(path, sizeof path);
  while (n && !separates(path[n - 1])) n--;
  if (!n || length >= sizeof path - n) return tgcrt_map(name, bytes, data);
  memcpy(path + n, name, length + 1);
  return tgcrt_map(is_there(path) ? path : name, bytes, data);
}
#endif

/* SPDX-License-Identifier: MIT */
/* memory.c: the time of bytes at a working-set size, and the part of it that arithmetic hides. */
#include "cost.h"
#include <math.h>

/* Callers also disagree whether data that exactly fills its share stays. */
static bool fills(Caller by) { return by == BY_PARALLEL || by == BY_GROUP || by == BY_MMA; }

bool stays(const Target *t, Caller by, int level, double bytes) {
  const double part = rate_for(t, level == 1 ? R_L1_PART : R_L2_PART, by) * (level == 1 ? t->l1_bytes : t->l2_bytes);
  return fills(by) ? bytes <= part : bytes < part;
}

double memory_rate(const Target *t, Caller by, double set) {
  if (stays(t, by, 2, set)) return rate_for(t, R_L2_BYTES, by);
  const bool beyond = rate_asked(R_MEMORY_BYTES, by) && set >= t->l3_bytes;
  return rate_for(t, beyond ? R_MEMORY_BYTES : R_FAR_BYTES, by);
}

double memory_cycles(const Target *t, Caller by, double bytes, double set) { return bytes / memory_rate(t, by, set); }

double overlapped(const Target *t, Caller by, double memory, double arithmetic) {
  return fmax(memory, arithmetic) + rate_for(t, R_EXPOSED, by) * fmin(memory, arithmetic);
}

/* SPDX-License-Identifier: MIT */
/* parallel.c: the cost of starting work, of dividing it among threads, and of passing results between them. */
#include "cost.h"

double start_cycles(const Target *t, Caller by, double times) { return times * rate_for(t, R_START, by); }

double meeting_cycles(const Target *t, Caller by, double times) { return times * rate_for(t, R_BARRIER, by); }

double lines_cycles(const Target *t, Caller by, double lines) { return lines * rate_for(t, R_SHARED_LINE, by); }

double kernel_cycles(const Target *t, Caller by, double flops, double bytes) {
  const int lanes = t->vector_bytes / 4;
  return flops / (lanes ? 2 * lanes : 1) + bytes / rate_for(t, R_KERNEL_BYTES, by);
}

bool worth_sharing(const Target *t, Caller by, double cycles) { return cycles >= rate_for(t, R_SERIAL, by); }

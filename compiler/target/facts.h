/* SPDX-License-Identifier: MIT */
/* facts.h: facts about a CPU's speed and caches, one row each. The columns of FACT are: id; name in the text of cpu_print; unit;
 * rule; meaning. If a fact is not known, its rule estimates the fact. In a rule, at(ID) is the fact with the id ID, from a row
 * above. t is the target, and `lanes` is the number of floats in a vector. A fact whose unit has the word "cycle" or "cycles" is
 * for one core. */
/* clang-format off */
FACT(CLOCK,        "clock",        "GHz",           t->pointer_bits == 32 ? 0.2 : 2.5, "cycles per nanosecond in vector code")
FACT(FMA,          "fma",          "per cycle",     2 * lanes, "multiply-adds of floats, with the widest vectors")
FACT(LATENCY,      "latency",      "cycles",        4, "from a multiply-add until its result can be used")
FACT(ADD_LATENCY,  "add_latency",  "cycles",        at(LATENCY), "from an addition until its result can be used")
FACT(WIDTH,        "width",         "per cycle",     t->pointer_bits == 32 ? 1 : 6, "instructions of all kinds started")
FACT(WINDOW,       "window",        "instructions",  t->pointer_bits == 32 ? 4 : 200,
      "an instruction on vectors starts only while at most this many earlier ones are not done")
FACT(JUMP,         "jump",          "cycles",        t->pointer_bits == 32 ? 3 : 16, "time lost at the end of a loop that the core did not foresee")
FACT(BF16,         "bf16",         "per cycle",     has_bf16(t) ? at(FMA) : 0, "multiply-adds of bf16 by dot instructions; 0: none")
FACT(BF16_TILES,   "bf16_tiles",   "per cycle",     has_amx(t) ? 12 * at(FMA) : 0, "multiply-adds of bf16 by tiles that are loaded from the first level; 0: none")
FACT(FP16,         "fp16",         "per cycle",     target_sums_halves(t, 0) ? 2 * at(FMA) : 0, "multiply-adds of halves, with sums in halves and one factor spread to all lanes; 0: none")
FACT(INT8,         "int8",         "per cycle",     has_int8(t) ? 4 * at(FMA) : at(FMA),
      "multiply-adds of bytes by the best instruction")
FACT(DIVIDE,       "divide",       "per cycle",     at(FMA) / 10, "quotients of floats, with the widest vectors")
FACT(SHUFFLE,      "shuffle",      "per cycle",     lanes, "floats moved between lanes")
FACT(L1,           "l1",           "KB",            t->l1_bytes / 1024.0, "first-level data cache; 1 KB = 1024 bytes")
FACT(L2,           "l2",           "KB",            t->l2_bytes / 1024.0, "second-level cache, as far as one core can use it")
FACT(L3,           "l3",           "KB",            t->l3_bytes / 1024.0,
      "third-level cache, as far as one core can use it; 0: none")
FACT(L1_READ,      "l1_read",      "bytes/cycle",   8 * lanes, "reading from the first-level cache")
FACT(L1_WRITE,     "l1_write",     "bytes/cycle",   4 * lanes, "writing to the first-level cache")
FACT(L2_READ,      "l2_read",      "bytes/cycle",   at(L1_READ) / 3, "reading from the second-level cache")
FACT(L2_WRITE,     "l2_write",     "bytes/cycle",   0.8 * at(L2_READ), "writing to the second-level cache")
FACT(MEMORY_READ,  "memory_read",  "bytes/cycle",   fmin(at(L2_READ), t->pointer_bits == 32 ? 4 : 12 / at(CLOCK)),
      "one core reading memory")
FACT(MEMORY_WRITE, "memory_write", "bytes/cycle",   at(MEMORY_READ) / 2, "one core writing memory")
FACT(L3_READ,      "l3_read",      "bytes/cycle",   at(L3) > 0 ? fmax(at(L2_READ) / 4, at(MEMORY_READ)) : at(MEMORY_READ),
      "reading from the third-level cache, or from memory if there is none")
FACT(L3_WRITE,     "l3_write",     "bytes/cycle",   at(L3) > 0 ? 0.8 * at(L3_READ) : at(MEMORY_WRITE),
     "writing to the third-level cache, or to memory if there is none")
FACT(ALL_READ,     "all_read",     "bytes/cycle",   at(MEMORY_READ), "one core's share, while all cores read memory")
FACT(BARRIER,      "barrier",      "microseconds",  1500 / (1000 * at(CLOCK)), "a barrier of two spinning threads")
/* clang-format on */

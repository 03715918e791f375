/* SPDX-License-Identifier: MIT */
/* device_features.h: a row for each feature that a device may have beyond the minimum of its interface. The columns of
 * DEVICE_FEATURE are: the id in TGCRT_NEEDS_id and DEVF_id; the name in --isa; the meaning. Features of CPUs are in
 * features.h. */
/* clang-format off */
DEVICE_FEATURE(F16,       "f16",       "instructions that convert halves")
DEVICE_FEATURE(SUBGROUPS, "subgroups", "threads of a warp exchange values without shared memory")
DEVICE_FEATURE(INT_DOT,   "dotprod",   "products of four bytes, added up in 32 bits")
/* clang-format on */

/* SPDX-License-Identifier: MIT */
/* device_features.h: features of devices beyond the minimum of their interface, a row each. DEVICE_FEATURE(id of TGCRT_NEEDS_id
 * and DEVF_id, name in --isa, meaning). The bits are not those of CPUs (features.h). */
/* clang-format off */
DEVICE_FEATURE(F16,       "f16",       "instructions that convert halves")
DEVICE_FEATURE(SUBGROUPS, "subgroups", "threads of a warp exchange values without shared memory")
DEVICE_FEATURE(INT_DOT,   "dotprod",   "products of four bytes, added up in 32 bits")
/* clang-format on */

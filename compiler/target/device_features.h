/* SPDX-License-Identifier: MIT */
/* device_features.h: what devices may have above the least of their interface, a row each. DEVICE_FEATURE(id of TGCRT_NEEDS_id
 * and DEVF_id, name in --isa, what it is). Their bits are not those of CPUs (features.h). */
/* clang-format off */
DEVICE_FEATURE(F16,       "f16",       "instructions that convert halves")
DEVICE_FEATURE(SUBGROUPS, "subgroups", "threads of a warp exchange values without shared memory")
DEVICE_FEATURE(INT_DOT,   "dotprod",   "products of four bytes, added up in 32 bits")
/* clang-format on */

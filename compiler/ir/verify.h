/* SPDX-License-Identifier: MIT */
/* verify.h: internal to the verifier. ir_verify.c has the rules of all levels, verify_device.c those of device programs,
 * wrong.c the message. */
#ifndef TGC_VERIFY_H
#define TGC_VERIFY_H
#include "ir.h"

_Noreturn void verify_broken(const IR *ir, Ref r, const char *what); /* r breaks the rule `what`: fails as ir_wrong does, and
                                                                        names r */
/* The node `r` of the caller must satisfy the rule `what`, which is the condition `cond` */
#define NEED(cond, what) ((cond) ? (void)0 : verify_broken(ir, r, what))

/* Checks a program that obeys all other rules. blocks: it has loops over blocks or threads */
void verify_device(const IR *ir, const Ref *list, size_t n, bool blocks);
#endif

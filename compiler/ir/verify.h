/* SPDX-License-Identifier: MIT */
/* verify.h: what the files of the verifier share. ir_verify.c has the rules of all levels. verify_device.c has further rules of
 * device programs. wrong.c prints the message. */
#ifndef TGC_VERIFY_H
#define TGC_VERIFY_H
#include "ir.h"

/* Fails as ir_wrong does, with a message that node r breaks the rule `what` */
_Noreturn void verify_broken(const IR *ir, Ref r, const char *what);
/* Checks a rule about node r: calls verify_broken if `cond` is false. The text `what` is the rule in words. The macro uses the
 * variables ir and r of its caller. */
#define NEED(cond, what) ((cond) ? (void)0 : verify_broken(ir, r, what))

/* `blocks` says whether the program has loops over blocks or over threads of a block. If it is true, checks the rules that hold
 * only for device programs. If it is false, checks the rules that hold only for other programs. The caller has already checked
 * the rules that hold for all programs. */
void verify_device(const IR *ir, const Ref *list, size_t n, bool blocks);
#endif

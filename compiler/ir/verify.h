/* SPDX-License-Identifier: MIT */
/* verify.h: internal to the verifier. ir_verify.c has the rules of all levels. verify_device.c has further rules of device
 * programs. wrong.c has the message. */
#ifndef TGC_VERIFY_H
#define TGC_VERIFY_H
#include "ir.h"

/* Fails as ir_wrong does. The message says that r breaks the rule `what` */
_Noreturn void verify_broken(const IR *ir, Ref r, const char *what);
/* Fails unless cond holds. The text `what` is the rule in words. The caller has variables ir and r; the rule is about node r */
#define NEED(cond, what) ((cond) ? (void)0 : verify_broken(ir, r, what))

/* Checks the rules that hold only for device programs (blocks true), or only for other programs (blocks false). The caller has
 * checked the rules of all programs. blocks: the program has loops over blocks or threads of a block */
void verify_device(const IR *ir, const Ref *list, size_t n, bool blocks);
#endif

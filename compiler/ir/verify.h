/* SPDX-License-Identifier: MIT */
/* verify.h: what the files of the verifier share. ir_verify.c has rules of single nodes. verify_graph.c, verify_kernel.c and
 * verify_program.c have the rules of their levels, and the functions of ir.h. verify_device.c has further rules of device
 * programs. wrong.c prints the message. */
#ifndef TGC_VERIFY_H
#define TGC_VERIFY_H
#include "ir.h"

/* Fails as ir_wrong does. The message names node r. The text `what` says what is wrong with the node. */
_Noreturn void verify_broken(const IR *ir, Ref r, const char *what);
/* Checks a rule about node r: calls verify_broken if `cond` is false. The macro uses the variables ir and r of the function that
 * contains it. */
#define NEED(cond, what) ((cond) ? (void)0 : verify_broken(ir, r, what))

bool op_reduces(int64_t op); /* whether an operand of reduce, red or hred may name this op */
void verify_node(const IR *ir, Ref r); /* rules of the op table: number and types of sources, number of arguments */
void verify_inner(const IR *ir, Ref r); /* verify_node, and the rules of buffers and accesses below the graph level */
/* The numbers of lanes of x, which is node r, and of its sources. Ops of nests (red, nest, sink) have their own rules. */
void verify_lanes(const IR *ir, Ref r, const Node *x);

/* `blocks` says whether the program has loops over blocks or over threads of a block. If it does, checks the rules that hold
 * only for device programs. Otherwise checks the rules that hold only for other programs. The caller must have checked the rules
 * that hold for all programs. */
void verify_device(const IR *ir, const Ref *list, size_t n, bool blocks);
#endif

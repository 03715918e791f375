/* SPDX-License-Identifier: MIT */
/* wrong.c: reports a broken promise of a pass: as a bug, or in a dump as an error of that line.
 *
 * needs: a message    gives: nothing; it does not return    breaks: nothing */
#include "verify.h"

void ir_wrong(const IR *ir, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char text[600];
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (ir->dump) fail_at(ir->ctx, EX_BADMODEL, *ir->dump, "%s", text);
  BUG("%s", text);
}

void verify_broken(const IR *ir, Ref r, const char *what) {
  const char *at = ir_pos(ir, r).node;
  ir_wrong(ir, "%%%u = %s%s%s: %s", r, op_info[node(ir, r)->op].name, at ? " of " : "", at ? at : "", what);
}

/* decomp.c: functions as arithmetic, for targets whose vectors have no such function. None is
 * decomposed yet: all stay calls of libm, one lane at a time. */
#include "kernel.h"

Ref decomp_expr(IR *ir, Ref r) {
  (void)ir;
  (void)r;
  return 0;
}

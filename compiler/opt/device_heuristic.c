/* device_heuristic.c: the schedule of a nest on a device, by the facts of the device alone.
 *
 * needs: a canonical nest   gives: opts that device_refuses lets pass; none: each element is a thread's
 * keeps: nests   breaks: nothing */
#include "opts.h"

Opts device_opts(IR *ir, Ref nest, const Target *t) {
  (void)ir, (void)nest, (void)t;
  return (Opts){ .n = 0 };
}

/* units.h: dot-product instructions as data. A unit adds to each lane of a sum the products of a group of
 * elements that lie side by side: OP_DOT. */
#ifndef TGC_UNITS_H
#define TGC_UNITS_H
#include "kernel.h"

typedef struct Unit {
  const char *name;        /* the instruction's: the word in schedules */
  uint32_t needs;          /* FEAT_ bits */
  DType x, y, sum;         /* x: what all lanes may share; y: what lanes have their own of */
  int group;               /* products a lane adds */
  int lanes;               /* of the widest form */
} Unit;

extern const Unit units[];                         /* .name NULL ends it; in each architecture, better ones first */
const Unit *unit_named(const char *s, size_t n);   /* NULL: there is none */

/* NULL when the reduction over r can take groups of its values to the unit, else why not */
const char *unit_refuses(IR *ir, Ref nest, const Target *t, const Unit *u, Ref r);
const Unit *unit_choose(IR *ir, Ref nest, const Target *t, Ref *r); /* NULL: none fits */

/* r becomes *rest * group + a range of kind dot; what the extent lacks to whole groups is multiplied by 0 */
Ref unit_group(IR *ir, Ref nest, const Unit *u, Ref r, Ref *rest);
Ref units_apply(IR *ir, Ref nest, Opts *o);        /* groups the range that o gives to a unit */
#endif

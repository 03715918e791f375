/* precision.c: the words for precisions. */
#include "precision.h"
#include <string.h>

const char *const precision_name[PREC_COUNT] = {
#define PRECISION(id, name, gloss) [PREC_##id] = name,
#include "precision.h"
};

Precision precision_named(const char *s) {
  int p = 0;
  while (p < PREC_COUNT && strcmp(precision_name[p], s)) p++;
  return (Precision)p;
}

/* SPDX-License-Identifier: MIT */
/* option_errors.c: tells what is wrong with the command line: on stderr, to a client of libtgc, or as a record of JSON. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

static bool as_records(const Options *o) { return o->messages && !strcmp(o->messages, "json"); }

static void say_wrong(const Options *o, const char *near, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  const int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  Arena a = { 0 };
  char *text = arena_alloc(&a, (size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, fmt, ap);
  if (as_records(o)) message_record(stderr, EX_USAGE_, NULL, (Pos){ 0 }, fmt, arena_printf(&a, "%s%s", text, near));
  else if (o->say) o->say(o->say_arg, arena_printf(&a, "%s%s", text, near));
  else
    fprintf(stderr, "%s %s%s (tgc help%s%s)\n", paint(o, stderr, PAINT_ERROR, "tgc:", &a), text, near,
            o->verb == VERB_COUNT ? "" : " ", o->verb == VERB_COUNT ? "" : verb_rows[o->verb].name);
  arena_free(&a);
}

int option_wrong(const Options *o, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say_wrong(o, "", fmt, ap);
  va_end(ap);
  return EX_USAGE_;
}

int option_wrong_value(const Options *o, const char *option, const char *value, const char *fmt, ...) {
  Arena a = { 0 };
  va_list ap;
  va_start(ap, fmt);
  say_wrong(o, choice_near(&a, option, value), fmt, ap);
  va_end(ap);
  arena_free(&a);
  return EX_USAGE_;
}

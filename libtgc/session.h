/* SPDX-License-Identifier: MIT */
/* session.h: a compilation step by step, as the functions of tgc.h make it. The program tgc is a client. Its verbs make a session
 * over their own context and options, and call the functions of tgc.h. They print facts that they find here. */
#ifndef TGC_SESSION_H
#define TGC_SESSION_H
#include "../cmd/cmd.h"
#include "tgc.h"

struct tgc {
  Ctx *c;                  /* &own, or the program's */
  Ctx own;
  Arena texts;             /* values of options, until tgc_free */
  Options set;             /* options that were set; its lists are owned unless `guest` */
  Options o;               /* the same for the work at hand: a dump changes some */
  bool guest;              /* over the program's context, whose messages go their usual way */
  bool loaded, used;       /* g is a graph; it was compiled, which may have changed it */
  bool stale;              /* options were set since the model was loaded */
  tgc_listener *listener;
  void *listener_arg;
  const char *path;
  /* ---- from session_load ---- */
  Resumed *from;           /* the dump that the model is; NULL: it is no dump */
  const Target *target;
  Feed feed;
  Graph *g;
  /* ---- from session_sample ---- */
  Sample sample;
  bool sampled;            /* the error of the precision can be measured */
  /* ---- from session_plan and tgc_compile ---- */
  Tensor *test_in, *test_out, *test_room; /* data of --self-test, and how far each element may be off */
  Plan *p;
  const OutputError *errors;
  Bundle bundle;
};

void session_over(tgc *t, Ctx *c, const Options *o); /* t is a session of the program; o.model is what tgc_load reads */
void session_end(tgc *t);                            /* releases what a session of the program has */
/* Steps of tgc_compile, which fail() in the session's context */
void session_sample(tgc *t);                         /* the exact outputs, where the error of a precision is to be measured */
int session_plan(tgc *t);                            /* compiles; a status */
#endif

/* SPDX-License-Identifier: MIT */
/* session.h: the state of a compilation that the functions of tgc.h make step by step. The program tgc uses sessions, too. A verb
 * opens one with its own context and options, calls the functions of tgc.h, and prints facts of the session. */
#ifndef TGC_SESSION_H
#define TGC_SESSION_H
#include "../cmd/cmd.h"
#include "tgc.h"

struct tgc {
  Ctx *c;                  /* &own, or the program's */
  Ctx own;
  Arena texts;             /* values of options, until tgc_free */
  Options set;             /* options that were set; its lists are owned unless `guest` */
  Options o;               /* copy of `set`; the model's dump changes some options in it */
  bool guest;              /* c is the program's context, whose messages are printed as usual */
  bool loaded, used;       /* loaded: g is a graph; used: g was compiled, and may have changed */
  bool stale;              /* options were set since the model was loaded */
  tgc_listener *listener;
  void *listener_arg;
  const char *path;
  /* ---- from tgc_load ---- */
  Resumed *from;           /* the model, if it is a dump; else NULL */
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

void session_over(tgc *t, Ctx *c, const Options *o); /* opens a session of the program, with these options */
void session_end(tgc *t);                            /* frees memory of a session of the program */
/* Steps of tgc_compile */
void session_sample(tgc *t); /* the exact outputs, if the error of a precision is to be measured. May fail() in the session's context */
int session_plan(tgc *t);                            /* compiles; a status */
#endif

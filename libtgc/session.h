/* SPDX-License-Identifier: MIT */
/* session.h: a session is a struct tgc, the state of one compilation. The functions of tgc.h fill it in step by step. The
 * program tgc uses sessions, too. Its commands, such as `compile`, open a session with the program's context and options. Then
 * they call the functions of tgc.h, and print what the session contains. */
#ifndef TGC_SESSION_H
#define TGC_SESSION_H
#include "../cmd/cmd.h"
#include "tgc.h"

struct tgc {
  Ctx *c;                  /* &own; if `guest` is true, the context of the program tgc */
  Ctx own;
  Arena texts;             /* owns the values of options, until tgc_free */
  Options set;             /* options that were set. The session owns the lists in them, unless `guest` is true */
  Options o;               /* copy of `set`; if the model is a dump, with the options of the dump */
  bool guest;              /* the session belongs to the program tgc, and messages are printed as usual */
  bool loaded, used;       /* loaded: g is a graph; used: g was compiled, which may have changed it */
  bool stale;              /* options were set since the model was loaded */
  tgc_listener *listener;  /* from tgc_listen */
  void *listener_arg;
  const char *path;        /* path of the model */
  /* ---- from tgc_load ---- */
  Resumed *from;           /* the dump, if the model is one; else NULL */
  const Target *target;
  Feed feed;               /* data of the options input and data */
  Graph *g;
  /* ---- from session_sample ---- */
  Sample sample;           /* inputs, and the exact outputs for them */
  bool sampled;            /* sample is filled in, so the error of the precision can be measured */
  /* ---- from session_plan and tgc_compile ---- */
  Tensor *test_in, *test_out, *test_room; /* inputs and outputs for --self-test, and the tolerance of each element of outputs */
  Plan *p;
  const OutputError *errors; /* by output, the error that the precision causes; NULL: not measured */
  Bundle bundle;
};

void session_over(tgc *t, Ctx *c, const Options *o); /* opens a session of the program, with this context and these options */
void session_end(tgc *t);                            /* frees the memory of a session of the program */
/* Steps of tgc_compile */
/* Fills in `sample` if the error of a precision is to be measured: by the interpreter, or from the dump. May call fail(), so the
 * caller needs ctx_try. */
void session_sample(tgc *t);
int session_plan(tgc *t);                            /* compiles the graph; returns a status of tgc.h */
#endif

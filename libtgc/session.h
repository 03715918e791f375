/* SPDX-License-Identifier: MIT */
/* session.h: a session is a struct tgc, the state of one compilation. The functions of tgc.h fill in a session step by step. The
 * program tgc uses sessions, too. A command of the program, such as `compile`, opens a session with the program's context and
 * options. Then the command calls functions of tgc.h, and prints what the session contains. */
#ifndef TGC_SESSION_H
#define TGC_SESSION_H
#include "../cmd/cmd.h"
#include "tgc.h"

struct tgc {
  Ctx *c;                  /* &own; if `guest` is true, the context of the program tgc. During tgc_verify: another context */
  Ctx own;
  Arena texts;             /* owns values of options, the path and reports until tgc_free */
  Options set;             /* the options that were set. The session owns the lists in `set`, unless `guest` is true */
  Options o;               /* the options in use: those of `set` and, if the model is a dump, those of the dump */
  bool guest;              /* the session belongs to the program tgc, and messages are printed as usual */
  bool loaded, used;       /* loaded: g is the model's graph. used: g was compiled, so passes may have changed g */
  bool stale;              /* true: since the model was loaded, options were set, or tgc_verify has changed `o`. Then tgc_compile
                              loads the model again */
  tgc_listener *listener;  /* from tgc_listen */
  void *listener_arg;
  const char *path;        /* path of the model */
  /* ---- from tgc_load ---- */
  Resumed *from;           /* the dump from which the compilation continues; NULL: the model is not a dump */
  const Target *target;
  Feed feed;               /* the tensors in the files that the options `input` and `data` name */
  Graph *g;
  /* ---- from session_sample ---- */
  Sample sample;           /* inputs, and the exact outputs for them */
  bool sampled;            /* `sample` is filled in, so errors can be measured */
  /* ---- from session_plan and tgc_compile ---- */
  Tensor *test_in, *test_out, *test_room; /* for --self-test: inputs, expected outputs, tolerances of the outputs' elements */
  Plan *p;
  const OutputError *errors; /* by output, the error that `precision` and `weights` cause; NULL: errors were not measured */
  Bundle bundle;
};

void session_over(tgc *t, Ctx *c, const Options *o); /* opens a session of the program, with this context and these options */
void session_end(tgc *t);                            /* frees the memory of a session of the program */
/* A step of tgc_compile. If the option `precision` or `weights` is set, takes `sample` from the dump, or computes `sample` with
 * the interpreter. May call fail(), so the caller needs ctx_try. */
void session_sample(tgc *t);
int session_plan(tgc *t);                            /* a step of tgc_compile: makes the plan; returns a status of tgc.h */
#endif

/* SPDX-License-Identifier: MIT */
/* tuning.h: the state of `tgc tune`, which the verb, its lock file (tune_keep.c) and its report (tune_report.c) share. */
#ifndef TGC_TUNING_H
#define TGC_TUNING_H
#include "final_check.h"
#include "graph_choices.h"
#include <signal.h>

typedef struct Tuning {
  Tuner t;
  const Options *o, *plain; /* plain: for plans without schedules and decisions of the store or of a lock file */
  const Plan *plan;        /* with the heuristic's schedules */
  double start;
  Races races;             /* common data of the runs of the whole model */
  double planned;          /* CPU seconds of the plan */
  double searched, worked; /* seconds of the search; CPU seconds of all its processes */
  bool untested;           /* there is no time to test schedules in the whole model */
  int signal; /* the signal that asked to stop; 0: none */
  sigset_t signals; /* signal mask without tune, which handles the first signal itself */
  bool shown;
  GraphChoices choices;    /* decisions of passes */
  Lock chosen;             /* for lock files: the decisions */
  Validation *validation; /* NULL: not requested */
  Validated model;
  double end;              /* when --time is over, in ms by clock_ms. races.end is earlier: the last comparison follows it */
  FinalCheck final;
  const char *kept_lock;   /* path of the lock file that tune_check has made; NULL: none, or its decisions are not kept */
  const Plan *kept_plan;   /* the plan that this lock file gives */
} Tuning;

/* ---- tune_keep.c ---- */
/* Writes the best schedule of every measured nest and the decisions that are kept into the model's lock file, and returns its path;
 * NULL: there is no lock file. If the model's folder is not writable, warns that schedules are in the store only. complete: adds
 * all other schedules and decisions of the model. */
const char *tune_write_lock(Tuning *u, bool complete);
/* Compares the bundle of all that is kept with the untuned one. If it is not surely faster, drops all schedules and decisions, also
 * from the store. Must be called after validate_survey. Returns an exit code. */
int tune_check(Ctx *c, Tuning *u);
/* Stores the decisions with which the schedules were validated, where passes would decide otherwise */
void tune_store_validated(Ctx *c, Tuning *u);

/* ---- tune_report.c ---- */
void tune_report(Tuning *u, const char *lock);       /* prints the result. lock: path of the lock file; NULL: there is none */
/* Prints the result of --job or --import. m: what was imported; size: of the job that was written */
void tune_report_job(Ctx *c, const Tuning *u, const Imported *m, const JobSize *size, const char *lock);
#endif

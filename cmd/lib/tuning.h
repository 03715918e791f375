/* SPDX-License-Identifier: MIT */
/* tuning.h: the state of `tgc tune`, which the verb, its lock file (tune_lock.c) and its report (tune_report.c) share. */
#ifndef TGC_TUNING_H
#define TGC_TUNING_H
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
} Tuning;

/* ---- tune_lock.c ---- */
/* Writes the best schedule of every measured nest and the decisions that are kept into the model's lock file, and returns its path;
 * NULL: there is no lock file. If the model's folder is not writable, warns that schedules are in the store only. complete: adds
 * all other schedules and decisions of the model. */
const char *tune_write_lock(Tuning *u, bool complete);
/* Stores the decisions with which the schedules were validated, where passes would decide otherwise */
void tune_store_validated(Ctx *c, const Tuning *u);

/* ---- tune_report.c ---- */
void tune_report(Tuning *u, const char *lock);       /* prints the result. lock: path of the lock file; NULL: there is none */
/* Prints the result of --job or --import. m: what was imported; size: of the job that was written */
void tune_report_job(Ctx *c, const Tuning *u, const Imported *m, const JobSize *size, const char *lock);
#endif

/* SPDX-License-Identifier: MIT */
/* leftover.h: a list of files, folders and process groups that must not outlive the program, and signals that end the program. */
#ifndef TGC_LEFTOVER_H
#define TGC_LEFTOVER_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Called by main. Afterwards exit() kills the process groups in the list, and removes the files and folders in the list. The
 * signals INT, TERM and HUP do this, too, and end the program. If the program ignored one of these signals before, the program
 * still ignores this signal. Without this call, the list stays empty. */
void leftovers_watch(void);
/* Calls mkdtemp with this pattern, and adds the folder to the list. Returns `pattern`, or NULL if mkdtemp has failed and set
 * errno. */
char *leftover_folder(char *pattern);
bool leftover_add(const char *path);                     /* adds a file, or a folder with its contents; returns false if the list
                                                            has no room */
void leftover_forget(const char *path);                  /* removes the path from the list; the file or folder stays on disk */
void leftover_group(pid_t group, bool lives);            /* lives true: adds the process group to the list. lives false: removes
                                                            the group from the list */
void group_end(pid_t group);                             /* kills the process group, and waits for its end, at most about 80 ms */
void path_remove(const char *path);                      /* removes a file, or a folder with its contents */
/* signals_that_end returns the set of the signals INT, TERM and HUP. signals_hold blocks these signals and returns the previous
 * mask. signals_restore sets the mask to *was. */
sigset_t signals_that_end(void);
sigset_t signals_hold(void);
void signals_restore(const sigset_t *was);
#endif

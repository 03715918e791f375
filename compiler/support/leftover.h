/* SPDX-License-Identifier: MIT */
/* leftover.h: files and processes that must not outlive the program, and the signals that end it. */
#ifndef TGC_LEFTOVER_H
#define TGC_LEFTOVER_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Installs handlers: exit(), and INT, TERM and HUP if they are not ignored, remove everything in the list. Called by main. */
void leftovers_watch(void);
char *leftover_folder(char *pattern);                    /* mkdtemp, and adds it to the list; NULL with errno */
bool leftover_add(const char *path);                     /* adds a file, or a folder with its contents; false: the list is full */
void leftover_forget(const char *path);                  /* removes the path from the list, but no file */
void leftover_group(pid_t group, bool lives);            /* adds a process group to the list, or removes it */
void group_end(pid_t group);                             /* kills the group, and waits briefly until it is gone */
void path_remove(const char *path);                      /* removes a file, or a folder with its contents */
/* Signals in this set are blocked by signals_hold, until signals_restore gets the mask that it returned. */
sigset_t signals_that_end(void);
sigset_t signals_hold(void);
void signals_restore(const sigset_t *was);
#endif

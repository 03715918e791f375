/* SPDX-License-Identifier: MIT */
/* leftover.h: files and processes that must not outlive the program, and the signals that end it. */
#ifndef TGC_LEFTOVER_H
#define TGC_LEFTOVER_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Called by main. Afterwards exit() kills the process groups in the list, and removes its files and folders. The signals INT,
 * TERM and HUP do the same before they end the program, unless they are ignored. */
void leftovers_watch(void);
char *leftover_folder(char *pattern);                    /* mkdtemp, and adds the folder to the list; NULL with errno */
bool leftover_add(const char *path);                     /* adds a file, or a folder and its contents; false: the list is full */
void leftover_forget(const char *path);                  /* removes the path from the list, but not the file */
void leftover_group(pid_t group, bool lives);            /* lives: adds a process group to the list; else removes it from there */
void group_end(pid_t group);                             /* kills the group, and waits briefly until it is gone */
void path_remove(const char *path);                      /* removes a file, or a folder with its contents */
/* The signals that end the program. signals_hold blocks them and returns the previous mask; signals_restore sets this mask
 * again. */
sigset_t signals_that_end(void);
sigset_t signals_hold(void);
void signals_restore(const sigset_t *was);
#endif

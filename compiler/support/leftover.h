/* leftover.h: what must not outlive the program, and the signals that end it. */
#ifndef TGC_LEFTOVER_H
#define TGC_LEFTOVER_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* From now on INT, TERM and HUP, where they are not ignored, and exit() remove what is in the list. For main. */
void leftovers_watch(void);
char *leftover_folder(char *pattern);                    /* mkdtemp, and in the list; NULL with errno */
bool leftover_add(const char *path);                     /* a file or a folder with all that is in it; false: the list is full */
void leftover_forget(const char *path);                  /* it is gone, or stays */
void leftover_group(pid_t group, bool lives);            /* of processes */
void group_end(pid_t group);                             /* kills it, and waits a little until it is gone */
void path_remove(const char *path);                      /* a file, or a folder and all that is in it */
/* While these signals are held back, they wait until signals_restore gets what signals_hold gave. */
sigset_t signals_that_end(void);
sigset_t signals_hold(void);
void signals_restore(const sigset_t *was);
#endif

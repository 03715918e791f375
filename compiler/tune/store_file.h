/* SPDX-License-Identifier: MIT */
/* store_file.h: the SQLite file of the tuner's store. store_machine.c and store_decision.c keep tables of their own in this
 * file. */
#ifndef TGC_STORE_FILE_H
#define TGC_STORE_FILE_H
#include "tune.h"
#include <sqlite3.h>

#define STORE_BUSY 1.0 /* seconds to wait if another process has locked the file */

/* Opens an SQLite file. Other programs may have written the file, so this function makes SQLite limit lengths, and distrust the
 * file's schema. flags: as for sqlite3_open_v2. Returns an SQLite status. The caller closes *db, also after a failure. */
int store_file_open(const char *path, int flags, sqlite3 **db);
sqlite3 *store_file(const Store *s); /* returns the open file of s; NULL if s is only in memory */
#endif

/* SPDX-License-Identifier: MIT */
/* store_file.h: the SQLite file below the tuner's store, for the tables that store.c does not know. */
#ifndef TGC_STORE_FILE_H
#define TGC_STORE_FILE_H
#include "tune.h"
#include <sqlite3.h>

#define STORE_BUSY 1.0 /* seconds that another process may keep the file locked */

/* Opens a file that others may have written: lengths are limited, and its schema is not trusted. Returns an SQLite status; the
 * caller closes *db. */
int store_file_open(const char *path, int flags, sqlite3 **db);
sqlite3 *store_file(const Store *s); /* the store's file; NULL: the store keeps rows in memory only */
#endif

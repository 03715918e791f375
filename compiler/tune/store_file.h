/* SPDX-License-Identifier: MIT */
/* store_file.h: the SQLite file that holds the tuner's store, for source files with tables of their own. */
#ifndef TGC_STORE_FILE_H
#define TGC_STORE_FILE_H
#include "tune.h"
#include <sqlite3.h>

#define STORE_BUSY 1.0 /* seconds to wait while another process keeps the file locked */

/* Opens a file that other programs may have written, so lengths are limited and the file's schema is not trusted. flags: as for
 * sqlite3_open_v2. Returns an SQLite status; the caller closes *db, also after a failure. */
int store_file_open(const char *path, int flags, sqlite3 **db);
sqlite3 *store_file(const Store *s); /* the store's database; NULL: the store is only in memory */
#endif

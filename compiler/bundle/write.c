/* SPDX-License-Identifier: MIT */
/* write.c: writes bundles to disk. A bundle is written to a new folder beside the old one, synced, and takes its place in one
 * step. After any failure the name shows the complete old bundle or the complete new one. Files in the old folder that do not
 * belong to the old bundle move to the new one.
 *
 * needs: the files of a bundle    gives: a folder with all of them, or the folder as it was */
#include "bundle.h"
#include "../support/leftover.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Calls `visit` for each folder of a path's name below dir, the outermost one first. */
static void each_folder(Ctx *c, const char *dir, const char *name, void (*visit)(Ctx *c, const char *path)) {
  for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
    visit(c, arena_printf(&c->model, "%s/%.*s", dir, (int)(slash - name), name));
}

static void make_folder(Ctx *c, const char *path) {
  if (mkdir(path, 0777) && errno != EEXIST) fail(c, EX_NOWRITE, "cannot create the folder '%s': %s", path, strerror(errno));
}

void bundle_put(Ctx *c, const Bundle *b, const char *dir, bool durable) {
  for (size_t i = 0; i < b->files.n; i++) {
    const char *path = arena_printf(&c->model, "%s/%s", dir, b->files.p[i].name);
    each_folder(c, dir, b->files.p[i].name, make_folder);
    if ((durable ? file_write : file_write_briefly)(path, b->files.p[i].p, b->files.p[i].n))
      fail(c, EX_NOWRITE, "cannot write '%s': %s", path, strerror(errno));
  }
}

static void sync_dir(Ctx *c, const char *dir) {
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int bad = fd < 0 || fsync(fd);
  int e = errno;
  if (fd >= 0) close(fd);
  if (bad && e != EINVAL)
    fail(c, EX_NOWRITE, "cannot make '%s' durable: %s", dir, strerror(e)); /* EINVAL: the file system cannot sync */
}

/* The file names of the bundle in dir; NULL: it is no bundle. */
static json_t *bundle_files(const char *dir) {
  char *path = xmalloc(strlen(dir) + sizeof "/manifest.json");
  strcat(strcpy(path, dir), "/manifest.json");
  json_t *j = json_load_file(path, 0, NULL), *files = json_object_get(j, "files");
  const char *generator = json_string_value(json_object_get(j, "generator"));
  if (!generator || strcmp(generator, "tgc") || !json_is_object(files)) files = NULL;
  json_incref(files);
  json_decref(j);
  free(path);
  if (files) json_object_set_new(files, "manifest.json", json_true());
  return files;
}

static bool dir_empty(const char *dir) {
  DIR *d = opendir(dir);
  bool empty = d != NULL;
  for (struct dirent *e; d && (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) empty = false;
  if (d) closedir(d);
  return empty;
}

/* The name is a folder of the bundle's files. */
static bool has_folder(json_t *files, const char *name) {
  const char *key;
  json_t *value;
  const size_t n = strlen(name);
  json_object_foreach(files, key, value)
    if (!strncmp(key, name, n) && key[n] == '/') return true;
  return false;
}

enum { MOST_FOLDERS = 4 }; /* depth of folders in packages */

/* Removes the bundle's files from dir, whose names in the bundle begin with `prefix`. keep: first moves other files there. If a
 * file cannot move, it stays, and dir stays. */
static void retire(Ctx *c, const char *dir, json_t *files, const char *prefix, const char *keep, int depth) {
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    const char *path = arena_printf(&c->model, "%s/%s", dir, e->d_name);
    const char *name = arena_printf(&c->model, "%s%s", prefix, e->d_name);
    const char *place = keep ? arena_printf(&c->model, "%s/%s", keep, e->d_name) : NULL;
    if (json_object_get(files, name)) unlink(path);
    else if (depth < MOST_FOLDERS && has_folder(files, name) && (!keep || !mkdir(place, 0777) || errno == EEXIST)) {
      retire(c, path, files, arena_printf(&c->model, "%s/", name), place, depth + 1);
      if (place) rmdir(place); /* if nothing has moved there */
    } else if (keep && renameat2(AT_FDCWD, path, AT_FDCWD, place, RENAME_NOREPLACE))
      warn_at(c, (Pos){ 0 }, "'%s' is not part of the bundle and cannot be moved to the new one: %s", path, strerror(errno));
  }
  if (d) closedir(d);
  rmdir(dir);
}

static void remove_folder(Ctx *c, const char *path) {
  (void)c;
  rmdir(path);
}

static void discard(Ctx *c, const Bundle *b, const char *dir) {
  for (size_t i = 0; i < b->files.n; i++) unlink(arena_printf(&c->model, "%s/%s", dir, b->files.p[i].name));
  for (int depth = 0; depth < MOST_FOLDERS; depth++) /* inner folders go before outer ones */
    for (size_t i = 0; i < b->files.n; i++) each_folder(c, dir, b->files.p[i].name, remove_folder);
  rmdir(dir);
}

typedef struct Writing {
  const Bundle *b;
  const char *temp, *dir; /* temp: the new folder; after success, where the old one went */
  sigset_t signals;       /* signal mask before signals were blocked */
  bool exists;            /* dir exists already */
  json_t *old;            /* its files, if it is a bundle */
} Writing;

/* For file systems that cannot exchange two names: moves the old folder aside between two renames. */
static bool swap_in_steps(Ctx *c, Writing *w) {
  const char *aside = arena_printf(&c->model, "%s-old", w->temp);
  if (w->exists && rename(w->dir, aside)) return false;
  if (rename(w->temp, w->dir)) {
    int e = errno;
    if (w->exists) rename(aside, w->dir);
    errno = e;
    return false;
  }
  if (w->exists) w->temp = aside;
  return true;
}

static void write_and_swap(Ctx *c, void *arg) {
  Writing *w = arg;
  mode_t mask = umask(0);
  umask(mask);
  if (chmod(w->temp, 0777 & ~mask)) fail(c, EX_NOWRITE, "cannot write '%s': %s", w->temp, strerror(errno));
  bundle_put(c, w->b, w->temp, true);
  files_check(c);
  for (size_t i = 0; i < w->b->files.n; i++) each_folder(c, w->temp, w->b->files.p[i].name, sync_dir);
  sync_dir(c, w->temp);
  w->signals = signals_hold(); /* from here on temp may hold the user's files, until retire has moved those to keep */
  leftover_forget(w->temp);
  if (!renameat2(AT_FDCWD, w->temp, AT_FDCWD, w->dir, w->exists ? RENAME_EXCHANGE : RENAME_NOREPLACE)) return;
  if ((errno != EINVAL && errno != ENOSYS) || !swap_in_steps(c, w))
    fail(c, EX_NOWRITE, "cannot put '%s' in place: %s", w->dir, strerror(errno));
}

void bundle_write(Ctx *c, const Bundle *b, const char *out) {
  struct stat st;
  size_t n = strlen(out);
  while (n > 1 && out[n - 1] == '/') n--;
  const char *dir = arena_str(&c->model, out, n), *slash = strrchr(dir, '/');
  const char *parent = !slash ? "." : slash == dir ? "/" : arena_str(&c->model, dir, (size_t)(slash - dir));
  Writing w = { .b = b, .dir = dir, .exists = !lstat(dir, &st) };
  if (!*dir) fail(c, EX_NOWRITE, "the name of the output folder is empty");
  if (w.exists && !S_ISDIR(st.st_mode)) fail(c, EX_NOWRITE, "'%s' exists and is not a folder", dir);
  if (w.exists) w.old = bundle_files(dir);
  if (w.exists && !w.old && !dir_empty(dir))
    fail(c, EX_NOWRITE, "'%s' is a folder but no bundle (it has no manifest.json of tgc); not replacing it", dir);
  char *temp = arena_printf(&c->model, "%s/.tgc-XXXXXX", parent);
  if (!leftover_folder(temp)) {
    json_decref(w.old);
    fail(c, EX_NOWRITE, "cannot create a folder in '%s': %s", parent, strerror(errno));
  }
  w.temp = temp;
  pthread_sigmask(SIG_SETMASK, NULL, &w.signals);
  int code = ctx_try(c, write_and_swap, &w);
  if (code) discard(c, b, temp);
  else if (w.exists) retire(c, w.temp, w.old, "", dir, 0);
  leftover_forget(temp);
  signals_restore(&w.signals);
  json_decref(w.old);
  if (code) fail_silent(c, code);
  sync_dir(c, parent);
}

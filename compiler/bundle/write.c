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

void bundle_put(Ctx *c, const Bundle *b, const char *dir) {
  for (size_t i = 0; i < b->files.n; i++) {
    const char *path = arena_printf(&c->model, "%s/%s", dir, b->files.p[i].name);
    file_put(c, path, b->files.p[i].p, b->files.p[i].n);
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

/* Removes the bundle's files from dir. keep: first moves other files there. If a file cannot move, it stays, and dir stays. */
static void retire(Ctx *c, const char *dir, json_t *files, const char *keep) {
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    const char *path = arena_printf(&c->model, "%s/%s", dir, e->d_name);
    if (json_object_get(files, e->d_name)) unlink(path);
    else if (keep && renameat2(AT_FDCWD, path, AT_FDCWD, arena_printf(&c->model, "%s/%s", keep, e->d_name), RENAME_NOREPLACE))
      warn_at(c, (Pos){ 0 }, "'%s' is not part of the bundle and cannot be moved to the new one: %s", path, strerror(errno));
  }
  if (d) closedir(d);
  rmdir(dir);
}

static void discard(Ctx *c, const Bundle *b, const char *dir) {
  for (size_t i = 0; i < b->files.n; i++) unlink(arena_printf(&c->model, "%s/%s", dir, b->files.p[i].name));
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
  bundle_put(c, w->b, w->temp);
  files_check(c);
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
  else if (w.exists) retire(c, w.temp, w.old, dir);
  leftover_forget(temp);
  signals_restore(&w.signals);
  json_decref(w.old);
  if (code) fail_silent(c, code);
  sync_dir(c, parent);
}

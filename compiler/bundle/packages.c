/* SPDX-License-Identifier: MIT */
/* packages.c: the table of packages, and which files of a bundle each has.
 *
 * needs: a row of packages.h and the backend's list of files    gives: the list of the package's files */
#include "bundle.h"
#include <string.h>

const Package packages[] = {
#define PACKAGE(word, bare, weights, stays, files, next) { word, bare, weights, stays, files, next },
#include "packages.h"
  { .word = NULL },
};

const Package *package_named(const char *word) {
  const Package *k = packages;
  while (k->word && strcmp(k->word, word)) k++;
  return k->word ? k : NULL;
}

/* The template is one of the words of a text. */
static bool is_kept(const Package *k, const char *from) {
  const char *at = strstr(k->stays, from);
  const size_t n = strlen(from);
  return at && (at == k->stays || at[-1] == ' ') && (!at[n] || at[n] == ' ');
}

bool package_has(const Package *k, const FileRow *f) {
  if (f->kind != FILE_TEMPLATE || !strcmp(f->from, "net.h.in") || !strcmp(f->from, "LICENSE.0BSD")) return true;
  return is_kept(k, f->from) || is_kept(k, f->name);
}

/* "'a', 'b'" from "a b" */
const char *package_list(Ctx *c, const char *words) {
  Sb s = { 0 };
  for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
    const size_t n = strcspn(words, " ");
    sb_printf(&s, "%s'%.*s'", s.n ? ", " : "", (int)n, words);
    words += n;
  }
  return sb_keep(&s, &c->model);
}

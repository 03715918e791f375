/* SPDX-License-Identifier: MIT */
/* cc.c: a C compiler for the tests, which compiles equal sources once.
 *
 * Tests build hundreds of bundles, and all of them contain the same runtime. tests/run puts links to this program into PATH,
 * under the names of compilers. The program runs the real compiler for each source and keeps the object in the folder
 * TGC_OBJECTS. A later command takes the object if the compiler, its options, and the texts of the source and of all headers
 * outside /usr are equal. So every different text is compiled. tests/run removes the folder at the end.
 *
 * All other commands go to the compiler unchanged. So do commands whose sources have errors or warnings. TGC_COMPILERS_PATH has
 * the folders of the real compilers. If TGC_OBJECTS is empty, every command goes to the compiler; tests that kill compilers or
 * take memory from them need that. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SOURCES = 64, MOST_ENTRIES = 8, DIGITS = 2 * SHA256_DIGEST_SIZE + 1 };

typedef struct Text {
  char *p;
  size_t n;
} Text;

static char **args; /* the command, as it came */
static int nargs;
static char compiler[PATH_MAX];                     /* the real one */
static const char *objects;                         /* the folder */
static int sources[MOST_SOURCES], nsources, out_at; /* places in args; out_at: the name after -o, 0: none */
static const char *only;                            /* -c or -S; NULL: the objects are linked */
static bool debug;                                  /* the objects have paths of files, for debuggers */
static bool reports;                                /* the objects name their sources as the command does, for sanitizers */

/* ---- small helpers ---- */

static void pass_on(void) {
  args[0] = compiler; /* gcc looks for its parts beside itself */
  execv(compiler, args);
  perror(compiler);
  exit(127);
}

static char *format(const char *fmt, ...) {
  char *text;
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&text, fmt, ap) < 0) abort();
  va_end(ap);
  return text;
}

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static bool in(const char *word, const char *const *list) {
  for (; *list; list++)
    if (!strcmp(word, *list)) return true;
  return false;
}

/* The text ends with a 0 that n doesn't count. */
static bool slurp(const char *path, Text *t) {
  struct stat s;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool good = fd >= 0 && !fstat(fd, &s) && S_ISREG(s.st_mode);
  if (good) {
    t->n = (size_t)s.st_size;
    t->p = malloc(t->n + 1);
    good = t->p && read(fd, t->p, t->n) == (ssize_t)t->n;
    if (good) t->p[t->n] = 0;
  }
  if (fd >= 0) close(fd);
  return good;
}

static bool spill(const char *path, const void *p, size_t n) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool good = fd >= 0 && write(fd, p, n) == (ssize_t)n;
  return fd >= 0 && !close(fd) && good;
}

static void digits(struct sha256_ctx *h, char *to) {
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(h, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++) sprintf(to + 2 * i, "%02x", digest[i]);
}

static void add(struct sha256_ctx *h, const char *word) { sha256_update(h, strlen(word) + 1, (const uint8_t *)word); }

static bool digits_of_file(const char *path, char *to) {
  struct sha256_ctx h;
  Text t;
  if (!slurp(path, &t)) return false;
  sha256_init(&h);
  sha256_update(&h, t.n, (const uint8_t *)t.p);
  digits(&h, to);
  free(t.p);
  return true;
}

/* ---- the command ---- */

static bool find_compiler(const char *name) {
  const char *path = getenv("TGC_COMPILERS_PATH");
  struct stat self, s;
  if (stat("/proc/self/exe", &self)) return false;
  for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
    const size_t n = strcspn(p, ":");
    snprintf(compiler, sizeof compiler, "%.*s/%s", (int)n, p, name);
    if (!stat(compiler, &s) && (s.st_dev != self.st_dev || s.st_ino != self.st_ino) && !access(compiler, X_OK)) return true;
    p += n + (p[n] == ':');
  }
  return false;
}

static bool is_source(const char *word) {
  const char *dot = strrchr(word, '.');
  static const char *const ends[] = { ".c", ".cc", ".cpp", NULL };
  return word[0] != '-' && dot && in(dot, ends);
}

/* options with a value as the next word */
static const char *const with_value[] = { "-o",       "-I",      "-D",     "-U", "-L", "-l", "-T", "-u", "-z", "-include",
                                          "-Xlinker", "-mllvm", "-target", "--param", NULL };
/* options that only the linker takes */
static const char *const of_linker[] = { "-shared", "-static", "-rdynamic", "-s", "-nostdlib", NULL };
static const char *const of_linker_with_value[] = { "-o", "-L", "-l", "-T", "-u", "-z", "-Xlinker", NULL };
static const char *const of_linker_begin[] = { "-l", "-L", "-Wl,", "-fuse-ld", NULL };
/* options of commands that do more than make objects and link them */
static const char *const others[] = { "-E",      "-M",         "-x",         "-f-",      "-###", "-v",
                                      "--version", "-dump",    "-print",     "-save-temps", "-fsyntax", "-flto", "-fprofile",
                                      "--coverage", "-i",      "-Xclang",    "-emit",    "@",
                                      "-fcallgraph-info", "-fstack-usage", NULL };

static bool begins_one(const char *word, const char *const *list) {
  for (; *list; list++)
    if (begins(word, *list)) return true;
  return false;
}

/* Notes sources and the output. -> whether the command makes objects or links them, by options that are known here. */
static bool read_command(void) {
  for (int i = 1; i < nargs; i++) {
    const char *a = args[i];
    const bool value = in(a, with_value);
    if (!strcmp(a, "-") || (strcmp(a, "-include") && begins_one(a, others)) || (value && i + 1 == nargs)) return false;
    if (!strcmp(a, "-o")) out_at = i + 1;
    if (!strcmp(a, "-o") && !strcmp(args[i + 1], "-")) return false; /* to standard output */
    if (!strcmp(a, "-c") || !strcmp(a, "-S")) {
      if (only && strcmp(only, a)) return false;
      only = a;
    }
    if (begins(a, "-g")) debug = true;
    if (begins(a, "-fsanitize")) reports = true;
    if (is_source(a)) {
      if (nsources == MOST_SOURCES) return false;
      sources[nsources++] = i;
    }
    i += value;
  }
  return nsources && (!only || nsources == 1);
}

/* a folder that a source lies in, with the / at its end */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Writes the options for the compiler of one source. The source's own folder has no name in h unless `named`. */
static int options(const char *source, bool named, char **to, struct sha256_ctx *h) {
  const size_t folder = folder_length(source);
  int n = 0;
  for (int i = 1; args[i]; i++) {
    const char *a = args[i], *path = !strcmp(a, "-I") ? args[i + 1] : begins(a, "-I") ? a + 2 : NULL;
    const bool value = in(a, with_value);
    const bool linker = in(a, of_linker) || in(a, of_linker_with_value) || begins_one(a, of_linker_begin);
    const bool own = !named && path && folder && (!strncmp(path, source, folder) || !strncmp(path, source, folder - 1)) &&
                     strspn(path + folder - 1, "/") == strlen(path + folder - 1);
    if (a[0] == '-' && !linker && strcmp(a, "-c") && strcmp(a, "-S")) {
      to[n++] = args[i];
      if (value) to[n++] = args[i + 1];
      add(h, own ? "-I the source's" : a);
      if (value && !own) add(h, args[i + 1]);
    }
    i += value;
  }
  return n;
}

/* ---- the folder of objects ---- */

/* lines of "DIGITS PATH"; a path that begins with . is one beside the source */
static bool headers_equal(const char *list, const char *source) {
  char now[DIGITS];
  Text t;
  bool equal = slurp(list, &t);
  for (char *line = equal ? strtok(t.p, "\n") : NULL; line && equal; line = strtok(NULL, "\n")) {
    const char *path = line + DIGITS;
    char *beside = *path == '.' ? format("%.*s%s", (int)folder_length(source), source, path + 2) : NULL;
    equal = digits_of_file(beside ? beside : path, now) && !strncmp(now, line, DIGITS - 1);
    free(beside);
  }
  return equal;
}

/* -> the object that an earlier command made */
static const char *find(const char *key, const char *source) {
  for (int i = 0; i < MOST_ENTRIES; i++)
    if (headers_equal(format("%s/%s.%d.d", objects, key, i), source)) return format("%s/%s.%d.o", objects, key, i);
  return NULL;
}

/* A rule of make becomes lines as above. NULL: a file that cannot be read */
static char *headers(const char *rule, const char *source) {
  const size_t folder = folder_length(source);
  char *list = format("%s", ""), digest[DIGITS], *all, *p;
  Text t;
  if (!slurp(rule, &t) || !(p = strchr(t.p, ':'))) return NULL;
  for (p++; *(p += strspn(p, " \\\n"));) {
    char path[PATH_MAX];
    size_t n = 0;
    for (; *p && !strchr(" \n", *p) && n + 1 < sizeof path; p++) {
      if (*p == '\\' && p[1] == ' ') p++;
      path[n++] = *p;
    }
    path[n] = 0;
    if (begins(path, "/usr/") || !strcmp(path, source)) continue;
    if (!digits_of_file(path, digest)) return NULL;
    const bool beside = folder ? !strncmp(path, source, folder) : path[0] != '/';
    all = format("%s%s %s%s\n", list, digest, beside ? "./" : "", path + (beside ? folder : 0));
    free(list);
    list = all;
  }
  return list;
}

static int run(char **words, const char *log) {
  int status = -1;
  const pid_t child = fork();
  if (!child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* some tests kill a build at any moment */
    const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(fd, 1);
    dup2(fd, 2);
    execv(compiler, words);
    _exit(127);
  }
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/* -> the new object; NULL: the source has errors or warnings */
static const char *make(const char *key, char *source, char **words, int n) {
  char *made = format("%s/%d.o", objects, (int)getpid()), *rule = format("%s/%d.d", objects, (int)getpid());
  char *log = format("%s/%d.log", objects, (int)getpid()), *list;
  const char *kept = NULL;
  struct stat said;
  char *const more[] = { (char *)(only ? only : "-c"), source, "-o", made, "-MD", "-MF", rule, NULL };
  memcpy(words + n, more, sizeof more);
  if (!run(words, log) && !stat(log, &said) && !said.st_size && (list = headers(rule, source)) && spill(rule, list, strlen(list)))
    for (int i = 0; i < MOST_ENTRIES && !kept; i++) {
      const char *o = format("%s/%s.%d.o", objects, key, i);
      if (!link(made, o) && !rename(rule, format("%s/%s.%d.d", objects, key, i))) kept = o;
      else if (errno != EEXIST) break;
    }
  unlink(made);
  unlink(rule);
  unlink(log);
  return kept;
}

static const char *object(char *source) {
  static const char *const naming[] = { "__FILE__", "assert", "__DATE__", "__TIME__", NULL };
  char key[DIGITS], cwd[PATH_MAX], resolved[PATH_MAX], **words = calloc((size_t)nargs + 16, sizeof *words);
  struct sha256_ctx h;
  Text t;
  if (!words || !slurp(source, &t) || !getcwd(cwd, sizeof cwd) || !realpath(compiler, resolved)) return NULL;
  bool named = debug; /* whether the object depends on the source's path */
  for (int i = 0; naming[i]; i++) named |= strstr(t.p, naming[i]) != NULL;
  sha256_init(&h);
  add(&h, resolved); /* cc is gcc on many machines */
  add(&h, named ? cwd : "anywhere");
  add(&h, named || reports ? source : source + folder_length(source));
  add(&h, only ? only : "-c");
  words[0] = compiler;
  const int n = 1 + options(source, named, words + 1, &h);
  sha256_update(&h, t.n, (const uint8_t *)t.p);
  digits(&h, key);
  const char *found = find(key, source);
  return found ? found : make(key, source, words, n);
}

static bool copy(const char *from, const char *to) {
  Text t;
  return slurp(from, &t) && spill(to, t.p, t.n);
}

int main(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
  args = argv;
  nargs = argc;
  objects = getenv("TGC_OBJECTS");
  if (!find_compiler(name)) {
    fprintf(stderr, "%s: no such compiler in TGC_COMPILERS_PATH\n", name);
    return 127;
  }
  if (!objects || !*objects || getenv("CPATH") || getenv("C_INCLUDE_PATH") || !read_command()) pass_on();
  const char *made[MOST_SOURCES];
  for (int i = 0; i < nsources; i++)
    if (!(made[i] = object(argv[sources[i]]))) pass_on();
  if (only) {
    const char *source = argv[sources[0]], *base = source + folder_length(source);
    const char *to = out_at ? argv[out_at]
                   : format("%.*s.%c", (int)(strrchr(base, '.') - base), base, strcmp(only, "-c") ? 's' : 'o');
    if (!copy(made[0], to)) pass_on();
    return 0;
  }
  args = malloc(((size_t)argc + 1) * sizeof *args);
  memcpy(args, argv, ((size_t)argc + 1) * sizeof *args);
  for (int i = 0; i < nsources; i++) args[sources[i]] = format("%s", made[i]);
  pass_on();
}

/* cases.c: models from files through case.c. Reads lines from standard input, fields parted by tabs:
 *   MODEL FLAGS SAVE INPUT...
 * FLAGS, or - for none: l runs the code that LLVM makes; c runs the code of the C compiler for the first machine; h draws hard
 * inputs; s compiles with fp32-strict; j says that the graph has jumps. SAVE: prefix of the files in which inputs and outputs are
 * left, or -. INPUT: a file of a value, or - for a drawn one.
 * Options: --isa=A,B  --seconds=N (CPU time of a model)  --memory=MB  --most=OPERATIONS  --shard=I/N.
 * Prints "N STATUS MODEL|COUNTS|WHY" for line N; COUNTS are those of case.h, in order. */
#include "../case/case.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Input {
  char *text;
  char *field[64];
  int n;
} Input;
typedef struct List {
  VEC(Input) lines;
  const char *isa[16];
  const char *scratch;
  double most;
} List;

static const char *label(Cases *s, int64_t i) { return ((List *)s->arg)->lines.p[i].field[0]; }

static void run(Cases *s, int64_t i, int skip, Sb *line) {
  const List *l = s->arg;
  const Input *x = &l->lines.p[i];
  const char *flags = x->field[1], *data[64] = { 0 };
  Case k = { .path = x->field[0],
             .isa = l->isa,
             .data = data,
             .ndata = x->n - 3,
             .seed = (uint64_t)i,
             .hard = strchr(flags, 'h') ? 64 : 0,
             .strict = strchr(flags, 's') != NULL,
             .steady = !strchr(flags, 'j'),
             .c = strchr(flags, 'c') ? 1 : 0,
             .llvm = strchr(flags, 'l') != NULL,
             .save = strcmp(x->field[2], "-") ? x->field[2] : NULL,
             .scratch = l->scratch,
             .most = l->most,
             .skip = skip };
  for (int d = 3; d < x->n; d++) data[d - 3] = strcmp(x->field[d], "-") ? x->field[d] : NULL;
  case_run(&k);
  case_report(&k, x->field[0], line);
  case_free(&k);
}

static void read_list(List *l) {
  char *line = NULL;
  size_t cap = 0;
  while (getline(&line, &cap, stdin) > 0) {
    Input x = { .text = strdup(line) };
    line[strcspn(line, "\n")] = 0;
    x.text[strcspn(x.text, "\n")] = 0;
    for (char *at = x.text, *next; at && x.n < 64; at = next) {
      next = strchr(at, '\t');
      if (next) *next++ = 0;
      x.field[x.n++] = at;
    }
    if (x.n >= 3) VEC_PUSH(&l->lines, x);
  }
  free(line);
}

int main(int argc, char **argv) {
  List l = { .isa = { "portable", "x86-64-v3" } };
  char scratch[] = "/tmp/tgc-cases-XXXXXX", command[64];
  Cases s = { .run = run, .label = label, .step = 1, .seconds = 10, .arg = &l };
  for (int i = 1; i < argc; i++) {
    const char *value = strchr(argv[i], '=');
    if (!value++) return 64;
    long long a, b;
    if (starts_with(argv[i], "--seconds=")) s.seconds = atoi(value);
    else if (starts_with(argv[i], "--memory=")) s.memory = strtoll(value, NULL, 10) << 20;
    else if (starts_with(argv[i], "--most=")) l.most = strtod(value, NULL);
    else if (starts_with(argv[i], "--shard=") && sscanf(value, "%lld/%lld", &a, &b) == 2) s.first = a, s.step = b;
    else if (starts_with(argv[i], "--isa=")) {
      int n = 0;
      for (char *at = strtok(strdup(value), ","); at && n < 15; at = strtok(NULL, ",")) l.isa[n++] = at;
      l.isa[n] = NULL;
    } else return 64;
  }
  read_list(&l);
  s.end = (int64_t)l.lines.n;
  if (!mkdtemp(scratch)) return 73;
  l.scratch = scratch;
  const bool good = cases_run(&s);
  snprintf(command, sizeof command, "rm -rf %s", scratch);
  return system(command) ? 73 : !good;
}

/* SPDX-License-Identifier: MIT */
/* help.c: the help and the manual page, made from the rows of options.h. The help is laid out for the width of the terminal, or
 * for 80 columns. */
#include "../cmd.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  int code;
  const char *gloss;
} exit_rows[] = {
  { EX_DONE, "everything asked for was done" },
  { EX_FAILED, "it ran, but the check failed" },
  { EX_USAGE_, "the command line is wrong" },
  { EX_BADMODEL, "the model is invalid, unsupported, or over a limit" },
  { EX_NOINPUT_, "an input file cannot be read" },
  { EX_MISSING, "a device or tool is missing" },
  { EX_BUG, "a bug in tgc" },
  { EX_NOWRITE, "output cannot be written" },
  { EX_RETRY, "a temporary failure: a file or a device is in use" },
  { EX_SIGNAL + SIGINT, "interrupted" },
};
enum { EXITS = sizeof exit_rows / sizeof *exit_rows };

/* ---- help ---- */
typedef struct Page {
  const Options *o;
  Arena *a;
  int width; /* columns */
} Page;

static Page page_open(const Options *o, Arena *a) {
  enum { LEAST = 40, MOST = 110, USUAL = 80 }; /* longer lines are hard to read */
  const int width = terminal_width(stdout);
  return (Page){ o, a, !width ? USUAL : width < LEAST ? LEAST : width > MOST ? MOST : width };
}

/* A text behind a name that ends at column `at`; a long name has a line of its own. */
static void put_text(const Page *p, const char *text, int left, int at) {
  if (at + 2 > left) putchar('\n');
  print_words(text, left, at + 2 > left ? 0 : at, p->width);
}

static void print_title(const Page *p, const char *title) { printf("\n%s\n", paint(p->o, stdout, PAINT_TITLE, title, p->a)); }

static void print_option(const Page *p, const OptionRow *r) {
  const char *eq = r->kind == MAYBE ? "[=" : r->arg ? "=" : "", letter[] = { '-', r->letter, ',', 0 };
  const int left = p->width < 64 ? 8 : 28;
  const int at = printf("  %-4s--%s%s%s%s", r->letter ? letter : "", r->name, eq, r->arg ? r->arg : "",
                        r->kind == MAYBE ? "]" : "");
  put_text(p, r->help, left, at);
}

/* The options of a verb by groups. VERB_COUNT: the group that all verbs have */
static void print_options(const Page *p, Verb v) {
  for (int g = 0; g < GROUP_COUNT; g++) {
    bool any = false;
    for (const OptionRow *r = option_rows; r->name; r++) {
      if ((int)r->group != g || (v == VERB_COUNT ? *r->verbs != '*' : !option_of(r, v))) continue;
      if (!any) print_title(p, arena_printf(p->a, "%s:", group_titles[g]));
      any = true;
      print_option(p, r);
    }
  }
}

static void print_examples(const Page *p, const char *examples) {
  print_title(p, strchr(examples, '\n') ? "Examples:" : "Example:");
  for (size_t n; *examples; examples += n + (examples[n] == '\n')) {
    n = strcspn(examples, "\n");
    printf("  %.*s\n", (int)n, examples);
  }
}

static void print_program(const Page *p) {
  puts("usage: tgc VERB INPUT [-o OUT] [options]\n");
  print_words("Compiles ONNX and .tg models ahead of time to self-contained C.", 0, 0, p->width);
  print_title(p, "Verbs:");
  for (int i = 0; i < VERB_COUNT; i++)
    put_text(p, verb_rows[i].gloss, p->width < 64 ? 8 : 28, printf("  %-12s%s", verb_rows[i].name, verb_rows[i].args));
  print_examples(p, "tgc compile net.onnx -o net_c\ntgc help compile");
  putchar('\n');
  print_words("`tgc help VERB` lists the options of a verb. All verbs take these:", 0, 0, p->width);
  print_options(p, VERB_COUNT);
  print_title(p, "Exit codes:");
  for (int i = 0; i < EXITS; i++) put_text(p, exit_rows[i].gloss, 7, printf("  %3d", exit_rows[i].code));
}

static void print_verb(const Page *p, Verb v) {
  const VerbRow *r = &verb_rows[v];
  printf("usage: tgc %s%s%s [options]\n\n", r->name, *r->args ? " " : "", r->args);
  print_words(r->gloss, 0, 0, p->width);
  print_examples(p, r->examples);
  print_options(p, v);
}

void print_help(const Options *o) {
  Arena a = { 0 };
  const Page p = page_open(o, &a);
  if (o->verb == VERB_COUNT) print_program(&p);
  else print_verb(&p, o->verb);
  arena_free(&a);
}

/* ---- the manual page ---- */
/* Text for troff: hyphens that can be copied, and no accidental request or escape. */
static void put_troff(const char *s) {
  for (; *s; s++) {
    if (*s == '-') fputs("\\-", stdout);
    else if (*s == '\\') fputs("\\e", stdout);
    else if (*s == '`') fputs("\\(ga", stdout);
    else putchar(*s);
  }
}

static void print_man_option(const OptionRow *r) {
  printf(".TP\n.B ");
  if (r->letter) printf("\\-%c, ", r->letter);
  fputs("\\-\\-", stdout);
  put_troff(r->name);
  if (r->arg) printf("%s\\fI%s\\fR%s", r->kind == MAYBE ? "[=" : "=", r->arg, r->kind == MAYBE ? "]" : "");
  fputs("\n", stdout);
  put_troff(r->help);
  if (*r->verbs != '*') {
    fputs(" (", stdout);
    for (int v = 0, n = 0; v < VERB_COUNT; v++)
      if (option_of(r, (Verb)v)) printf("%s%s", n++ ? ", " : "", verb_rows[v].name);
    putchar(')');
  }
  puts(".");
}

void print_man(void) {
  puts(".TH TGC 1 \"\" \"tgc " TGC_VERSION
       "\"\n.SH NAME\ntgc \\- compile ONNX models ahead of time to self\\-contained C\n.SH SYNOPSIS\n"
       ".B tgc\n.I VERB INPUT\n[\\fB\\-o\\fR \\fIOUT\\fR] [\\fIoptions\\fR]\n.SH DESCRIPTION\n"
       "Turns a model, in ONNX or in tgc\\(aqs own text format, into a bundle of C source that needs nothing but a C compiler.\n"
       "Results go to standard output, diagnostics to standard error. A bundle is complete or absent.\n.SH VERBS");
  for (int i = 0; i < VERB_COUNT; i++) {
    printf(".TP\n.B %s ", verb_rows[i].name);
    put_troff(verb_rows[i].args);
    putchar('\n');
    put_troff(verb_rows[i].gloss);
    puts(".\n.sp\n.nf");
    put_troff(verb_rows[i].examples);
    puts("\n.fi");
  }
  puts(".SH OPTIONS\nIn parentheses the verbs that take an option; without any, all do.\n"
       "Where an option that may not be repeated is given twice, the last value counts.");
  for (int g = 0; g < GROUP_COUNT; g++) {
    printf(".SS %s\n", group_titles[g]);
    for (const OptionRow *r = option_rows; r->name; r++)
      if ((int)r->group == g) print_man_option(r);
  }
  puts(".SH EXIT STATUS");
  for (int i = 0; i < EXITS; i++) printf(".TP\n.B %d\n%s.\n", exit_rows[i].code, exit_rows[i].gloss);
  puts(".SH ENVIRONMENT\n.TP\n.B CC\nThe C compiler of run, verify, bench, profile and tune, with arguments after blanks "
       "(cc).\n.TP\n.B TGC_CFLAGS\n"
       "More arguments for it.\n.TP\n.B TGC_PYTHON\nA Python with onnxruntime and numpy, for bench \\-\\-vs\\-ort (python3).\n"
       ".TP\n.B TMPDIR\nFolder for temporary files (/tmp).\n"
       ".TP\n.B XDG_CACHE_HOME\nFolder that holds the store of tune, as tgc/tune.db (~/.cache).\n"
       ".TP\n.B NO_COLOR\nNo colours, unless \\-\\-color says so.\n"
       ".TP\n.B COLUMNS\nThe width of the terminal, in place of the one that it reports.");
}


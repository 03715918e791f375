/* SPDX-License-Identifier: MIT */
/* completions.c: tgc completions: a script for a shell that completes verbs, options and values of options. It is made from the
 * rows of options.h, so it needs no tgc while it completes. */
#include "../cmd.h"
#include <string.h>

#define SHELLS "bash fish zsh" /* the words that the verb takes */

/* ---- values ---- */
typedef enum { VALUE_NONE, VALUE_WORDS, VALUE_NAMES, VALUE_FILE, VALUE_FOLDER, VALUE_FREE } Value;

/* The kind of the option's value: none, a word, a name before '=', a file, a folder, or something else */
static Value value_of(Ctx *c, const OptionRow *r, Texts *words) {
  words->n = 0;
  if (r->kind == FLAG) return VALUE_NONE;
  option_choices(&c->model, r->name, words);
  if (words->n) return strchr(r->arg, '=') ? VALUE_NAMES : VALUE_WORDS;
  if (!strcmp(r->arg, "DIR")) return VALUE_FOLDER;
  return strstr(r->arg, "FILE") || !strcmp(r->arg, "PATH") ? VALUE_FILE : VALUE_FREE;
}

static const char *joined(Ctx *c, const Texts *words, const char *behind) {
  Sb s = { 0 };
  for (size_t i = 0; i < words->n; i++) sb_printf(&s, "%s%s%s", i ? " " : "", words->p[i], behind);
  return s.n ? sb_keep(&s, &c->model) : "";
}

/* Verbs that take a model or a bundle, which is a path. */
static bool takes_path(Verb v) { return strstr(verb_rows[v].args, "MODEL") != NULL; }

static const char *verb_names(Ctx *c) {
  Sb s = { 0 };
  for (int v = 0; v < VERB_COUNT; v++) sb_printf(&s, "%s ", verb_rows[v].name);
  sb_puts(&s, "help");
  return sb_keep(&s, &c->model);
}

/* ---- bash ---- */
static const char bash_head[] =
    "# bash completion for tgc, written by `tgc completions bash`\n"
    "_tgc() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= option= words= i\n"
    "  COMPREPLY=()\n"
    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "    case ${COMP_WORDS[i]} in -*|=|help) ;; *) verb=${COMP_WORDS[i]}; break ;; esac\n"
    "  done\n"
    "  # bash takes --isa=native apart at the '='\n"
    "  if [[ $cur == = ]]; then option=$prev= cur=\n"
    "  elif [[ $prev == = ]]; then option=${COMP_WORDS[COMP_CWORD-2]}=\n"
    "  elif [[ $cur != -* && $prev == -* ]]; then option=$prev\n"
    "  fi\n";

static bool is_first(const OptionRow *r) { /* some options have several rows */
  const OptionRow *first = option_rows;
  while (strcmp(first->name, r->name)) first++;
  return first == r;
}

/* A pattern for the option before its value: --NAME, --NAME= and -X */
static void bash_pattern(const OptionRow *r, int *n) {
  printf("%s--%s=", (*n)++ ? "|" : "    ", r->name);
  if (r->kind != MAYBE) printf("|--%s", r->name);
  if (r->letter) printf("|-%c", r->letter);
}

static void bash_values(Ctx *c, Texts *words) {
  int files = 0, others = 0;
  puts("  case $option in");
  for (const OptionRow *r = option_rows; r->name; r++) {
    const Value value = value_of(c, r, words);
    const bool names = value == VALUE_NAMES;
    int n = 0;
    if (!is_first(r) || (value != VALUE_WORDS && !names)) continue;
    bash_pattern(r, &n);
    printf(") words='%s'%s ;;\n", joined(c, words, names ? "=" : ""), names ? "; compopt -o nospace 2>/dev/null" : "");
  }
  for (const OptionRow *r = option_rows; r->name; r++) {
    const Value value = value_of(c, r, words);
    if (is_first(r) && (value == VALUE_FILE || value == VALUE_FOLDER)) bash_pattern(r, &files);
  }
  puts(") return ;;");
  for (const OptionRow *r = option_rows; r->name; r++)
    if (is_first(r) && value_of(c, r, words) == VALUE_FREE) bash_pattern(r, &others);
  puts(") compopt +o default +o bashdefault 2>/dev/null; return ;;\n    *) option= ;;\n  esac");
}

static void print_bash(Ctx *c, Texts *words) {
  fputs(bash_head, stdout);
  bash_values(c, words);
  printf("  if [[ -n $option ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return; fi\n"
         "  case $verb in\n    '') words='%s --help --version --man' ;;\n", verb_names(c));
  for (int v = 0; v < VERB_COUNT; v++) {
    printf("    %s)\n      words='", verb_rows[v].name);
    for (const OptionRow *r = option_rows; r->name; r++)
      if (option_of(r, (Verb)v)) printf("--%s%s ", r->name, r->kind == FLAG || r->kind == MAYBE ? "" : "=");
    puts("'");
    if ((Verb)v == VERB_completions) puts("      [[ $cur == -* ]] || words='" SHELLS "'");
    else if (takes_path((Verb)v)) puts("      [[ $cur == -* ]] || return");
    puts("      ;;");
  }
  puts("    *) return ;;\n  esac\n"
       "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
       "  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
       "}\n"
       "complete -o bashdefault -o default -F _tgc tgc");
}

/* ---- zsh ---- */
/* Text inside of '...[TEXT]' of _arguments */
static void put_zsh(const char *s) {
  for (; *s; s++) {
    if (*s == '\'') fputs("'\\''", stdout);
    else if (strchr("[]:\\", *s)) printf("\\%c", *s);
    else putchar(*s);
  }
}

static void zsh_option(Ctx *c, const OptionRow *r, Texts *words) {
  const Value value = value_of(c, r, words);
  const char *list = r->kind == LIST ? "*" : "", *eq = value == VALUE_NONE ? "" : r->kind == MAYBE ? "=-" : "=";
  for (int form = r->letter ? 0 : 1; form < 2; form++) {
    if (form) printf("    '%s--%s%s[", list, r->name, eq);
    else printf("    '%s-%c%s[", list, r->letter, value == VALUE_NONE ? "" : "+");
    put_zsh(r->help);
    putchar(']');
    if (value != VALUE_NONE) printf("%s:", r->kind == MAYBE ? ":" : "");
    if (value != VALUE_NONE) put_zsh(r->arg);
    if (value == VALUE_WORDS) printf(":(%s)", joined(c, words, ""));
    if (value == VALUE_NAMES) printf(":(%s)", joined(c, words, "="));
    if (value == VALUE_FILE) fputs(":_files", stdout);
    if (value == VALUE_FOLDER) fputs(":_files -/", stdout);
    if (value == VALUE_FREE) fputs(": ", stdout);
    puts("'");
  }
}

static void print_zsh(Ctx *c, Texts *words) {
  puts("#compdef tgc\n# zsh completion for tgc, written by `tgc completions zsh`\n_tgc() {\n  local -a verbs options\n  verbs=(");
  for (int v = 0; v < VERB_COUNT; v++) {
    printf("    '%s:", verb_rows[v].name);
    put_zsh(verb_rows[v].gloss);
    puts("'");
  }
  puts("    'help:show the help of a verb'\n  )\n"
       "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
       "  case ${words[2]} in");
  for (int v = 0; v < VERB_COUNT; v++) {
    printf("  %s) options=(\n", verb_rows[v].name);
    for (const OptionRow *r = option_rows; r->name; r++)
      if (option_of(r, (Verb)v)) zsh_option(c, r, words);
    if (takes_path((Verb)v)) puts("    '*:model:_files'");
    if ((Verb)v == VERB_completions) puts("    '1:shell:(" SHELLS ")'");
    puts("  ) ;;");
  }
  puts("  help) _describe verb verbs; return ;;\n  *) return 1 ;;\n  esac\n  shift words\n  (( CURRENT-- ))\n"
       "  _arguments -s -S $options\n}\n"
       "if [ \"$funcstack[1]\" = _tgc ]; then _tgc \"$@\"; else compdef _tgc tgc; fi");
}

/* ---- fish ---- */
static void put_fish(const char *s) { /* inside of '...' */
  for (; *s; s++) printf(*s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void fish_option(Ctx *c, const OptionRow *r, Texts *words) {
  const Value value = value_of(c, r, words);
  printf("complete -c tgc");
  if (*r->verbs != '*') {
    printf(" -n '__fish_seen_subcommand_from");
    for (int v = 0; v < VERB_COUNT; v++)
      if (option_of(r, (Verb)v)) printf(" %s", verb_rows[v].name);
    putchar('\'');
  }
  printf(" -l %s", r->name);
  if (r->letter) printf(" -s %c", r->letter);
  if (value == VALUE_WORDS || value == VALUE_NAMES)
    printf(" %s -a '%s'", r->kind == MAYBE ? "-f" : "-x", joined(c, words, value == VALUE_NAMES ? "=" : ""));
  if (value == VALUE_FREE) printf(" -x");
  if (value == VALUE_FILE || value == VALUE_FOLDER)
    printf(value == VALUE_FILE ? " -r -F" : " -x -a '(__fish_complete_directories)'");
  printf(" -d '");
  put_fish(r->help);
  puts("'");
}

static void print_fish(Ctx *c, Texts *words) {
  puts("# fish completion for tgc, written by `tgc completions fish`");
  for (int v = 0; v < VERB_COUNT; v++) {
    printf("complete -c tgc -n __fish_use_subcommand -f -a %s -d '", verb_rows[v].name);
    put_fish(verb_rows[v].gloss);
    puts("'");
    if (!takes_path((Verb)v)) printf("complete -c tgc -n '__fish_seen_subcommand_from %s' -f\n", verb_rows[v].name);
  }
  printf("complete -c tgc -n __fish_use_subcommand -f -a help -d 'show the help of a verb'\n"
         "complete -c tgc -n '__fish_seen_subcommand_from help' -f -a '%s'\n"
         "complete -c tgc -n '__fish_seen_subcommand_from completions' -f -a '" SHELLS "'\n", verb_names(c));
  for (const OptionRow *r = option_rows; r->name; r++) fish_option(c, r, words);
}

int verb_completions(Ctx *c, const Options *o) {
  static const char *const names[] = { "bash", "fish", "zsh" };
  static void (*const print[])(Ctx *c, Texts *words) = { print_bash, print_fish, print_zsh };
  const int i = word_index(names, 3, o->model);
  Texts words = { 0 };
  if (i < 3) {
    print[i](c, &words);
    VEC_FREE(&words);
    return EX_DONE;
  }
  fail(c, EX_USAGE_, "no completions for '%s'; there are bash, fish and zsh%s", o->model,
       did_you_mean(&c->model, o->model, names, 3));
}

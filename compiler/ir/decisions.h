/* decisions.h: decisions of passes by node or kernel, which a lock file can give again.
 *
 * A pass that would ask a model of cost opens a question first. It takes the given value where that is legal, and says else why
 * not; without a given value it asks its model. In both cases it says what was decided. So a pass needs no code of its own
 * for lock files, and what a model's rates are makes no difference to a graph whose decisions are all given. */
#ifndef TGC_DECISIONS_H
#define TGC_DECISIONS_H
#include "ir.h"

typedef struct Decision {
  const char *pass, *key;  /* key: of the node or kernel, and its number among equal ones */
  const char *value;       /* a word, or a schedule in braces */
  const char *about;       /* where it comes from, in words; may be NULL */
  bool used;               /* a given one was asked for */
} Decision;

typedef struct Decisions Decisions;
Decisions *decisions_new(Ctx *c);                    /* lives in c->model; decisions_free releases its tables */
void decisions_free(Decisions *d);
bool decisions_give(Decisions *d, const Decision *x);  /* false: it has one with that pass and key */
void decisions_begin(Decisions *d);                  /* of a compilation: nothing was asked yet */
const Decision *decisions_given(const Decisions *d, size_t *n);
const Decision *decisions_made(const Decisions *d, size_t *n); /* in the order in which they were made */

/* A question without an IR's decisions is given nothing, and keeps nothing. */
typedef struct Question {
  const char *pass;
  char key[32];
  const char *given;       /* NULL: nothing */
  const char *about;
  Pos at;                  /* for messages */
} Question;
/* About a node: equal nodes are told apart by the order in which they are first asked about. The same node is the same
 * question. */
Question ask_node(const IR *ir, const char *pass, Ref r);
/* About what a key names, such as a kernel; each call is a further question. r: for messages */
Question ask_key(const IR *ir, const char *pass, const char *key, Ref r);
void answer_with(const IR *ir, const Question *q, const char *value);
/* To a question that takes yes or no: the given answer, else the model's, which is kept and returned */
bool answer_yes(const IR *ir, const Question *q, bool model);
void answer_refused(const IR *ir, const Question *q, const char *why); /* a warning: the given value is not used */
#endif

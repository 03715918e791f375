/* SPDX-License-Identifier: MIT */
/* decisions.h: decisions of passes about nodes or kernels. A lock file can hold them and give them to a later compilation.
 *
 * A pass opens a question before it would ask the cost model. If a legal value is given, the pass takes this value. Otherwise the
 * pass asks the cost model; if the given value is not legal, the pass also warns, with the reason. In both cases the pass records
 * the decision. If all decisions are given, the rates of the cost model have no influence. */
#ifndef TGC_DECISIONS_H
#define TGC_DECISIONS_H
#include "ir.h"

typedef struct Decision {
  const char *pass, *key;  /* name of the pass; key of the node or kernel. Among equal keys, the second and further ones end with
                              a number */
  const char *value;       /* a word, or a schedule in braces */
  const char *about;       /* readable name of the node or kernel that the decision is about; may be NULL */
  bool used;               /* for a given decision: a pass asked for it */
} Decision;

typedef struct Decisions Decisions;
Decisions *decisions_new(Ctx *c);                    /* in the arena c->model */
void decisions_free(Decisions *d);                   /* frees the tables, which are outside of the arena; d may be NULL */
bool decisions_give(Decisions *d, const Decision *x);  /* adds a given decision; false: d has one for this pass and key */
/* A source of values for questions without a given decision: the tuner's store */
typedef struct DecisionSource {
  const char *(*find)(struct DecisionSource *s, const char *pass, const char *key); /* the value; NULL: the source has none */
} DecisionSource;
void decisions_from(Decisions *d, DecisionSource *s); /* sets the source; NULL: none */
void decisions_begin(Decisions *d);                  /* starts a compilation: forgets earlier questions and decisions made */
const Decision *decisions_given(const Decisions *d, size_t *n); /* the *n given decisions */
const Decision *decisions_made(const Decisions *d, size_t *n); /* the *n decisions made, in the order in which they
                                                                  were made */

/* A question of a pass, with the given answer. If IR.decisions is NULL, nothing is given and nothing is recorded. */
typedef struct Question {
  const char *pass;
  char key[32];
  const char *given;       /* value of the given decision, or else the value of the source; NULL: none */
  const char *about;       /* as in Decision */
  Pos at;                  /* for messages */
} Question;
/* A question about a node. Nodes with the same key are numbered in the order of their first question. If the pass asks about a
 * node again, it gets the same question. */
Question ask_node(const IR *ir, const char *pass, Ref r);
/* A question about something that has the key `key`, such as a kernel. Each call is a further question. r: for messages */
Question ask_key(const IR *ir, const char *pass, const char *key, Ref r);
void answer_with(const IR *ir, const Question *q, const char *value); /* records the decision, if it is the question's first */
/* Answers a yes-no question with the given answer. Without a legal given answer: with `model`, the cost model's answer. Records
 * and returns the answer. */
bool answer_yes(const IR *ir, const Question *q, bool model);
void answer_refused(const IR *ir, const Question *q, const char *why); /* warns that the given value is not used */
#endif

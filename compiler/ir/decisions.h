/* SPDX-License-Identifier: MIT */
/* decisions.h: decisions of passes about nodes or kernels. A lock file can hold decisions and give them to a later compilation.
 *
 * Before a pass asks the cost model for a choice, the pass opens a question. The question may have a given value. If this value
 * is legal, the pass takes the value. If the value is not legal, the pass warns with the reason. Without a legal value, the pass
 * asks the cost model. In all cases the pass records the decision. If all decisions are given, the rates of the cost model have
 * no influence. */
#ifndef TGC_DECISIONS_H
#define TGC_DECISIONS_H
#include "ir.h"

typedef struct Decision {
  const char *pass, *key;  /* pass: name of the pass. key: key of the node or kernel. If several nodes or kernels have equal
                              keys, a number is appended to each of these keys except the first */
  const char *value;       /* a word, or a schedule in braces */
  const char *about;       /* readable name of the node or kernel that the decision is about; may be NULL */
  bool used;               /* for a given decision: true after a pass has opened the question with this pass and key */
} Decision;

typedef struct Decisions Decisions;
Decisions *decisions_new(Ctx *c);                    /* in the arena c->model */
void decisions_free(Decisions *d);                   /* frees the tables, which are outside of the arena; d may be NULL */
bool decisions_give(Decisions *d, const Decision *x);  /* adds *x to the given decisions, and does not copy the strings. Returns
                                                          false, and adds nothing, if d has a given decision with the pass
                                                          and the key of *x */
/* A source of values for questions without a given decision, such as the tuner's store */
typedef struct DecisionSource {
  const char *(*find)(struct DecisionSource *s, const char *pass, const char *key); /* returns the value; NULL if there is none */
} DecisionSource;
void decisions_from(Decisions *d, DecisionSource *s); /* sets the source; s NULL: no source */
void decisions_begin(Decisions *d);                  /* starts a compilation: forgets the questions, and the decisions of passes.
                                                        The given decisions stay */
/* decisions_given returns the given decisions. decisions_made returns the decisions that passes made, earliest first. Both
 * functions set *n to the number of these decisions. */
const Decision *decisions_given(const Decisions *d, size_t *n);
const Decision *decisions_made(const Decisions *d, size_t *n);

/* A question of a pass, with the given value. If IR.decisions is NULL, no values are given and no decisions are recorded. */
typedef struct Question {
  const char *pass;
  char key[32];
  const char *given;       /* value of the given decision or, if there is none, of the DecisionSource; NULL: no value */
  const char *about;       /* as in Decision */
  Pos at;                  /* for messages */
} Question;
/* Opens a question about node r. If a pass asks about one node twice, the two questions have one key, and so one decision. */
Question ask_node(const IR *ir, const char *pass, Ref r);
/* Opens a question about something that has the key `key`, such as a kernel. Each call opens a question of its own. r: node that
 * messages name */
Question ask_key(const IR *ir, const char *pass, const char *key, Ref r);
void answer_with(const IR *ir, const Question *q, const char *value); /* records `value` as the decision, unless the question
                                                                         already has a decision */
/* Answers a question with yes or no, and records and returns the answer. If the given value is "yes" or "no", this value is the
 * answer. Otherwise the answer is `model`, the answer of the cost model. */
bool answer_yes(const IR *ir, const Question *q, bool model);
void answer_refused(const IR *ir, const Question *q, const char *why); /* warns that the given value is not used, and why */
#endif

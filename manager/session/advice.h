/* Sentences for the reader of a result that did not end well: what is left, and what to do next. */
#ifndef HUSK_MANAGER_SESSION_ADVICE_H
#define HUSK_MANAGER_SESSION_ADVICE_H

#include "manager/model/result.h"

/* How long the session still has, where that is not long: a sentence on the heap, or NULL. */
char *advice_notice(uint64_t left_ms, uint64_t lifetime_seconds, uint64_t idle_ttl_seconds);
/* Fills r->hint (and r->detail where it is empty) by how the run ended. terminal: it was a command. */
void advice_add(struct run_result *r, bool terminal, uint64_t timeout_seconds);
/* The next step after a session has died; static. */
const char *advice_after_death(void);

#endif

/* Pure: turns what the API server, or kubectl's proxy in front of it, answers to a failed request into a failure with
 * its cause and the command that shows or fixes it. The text is hostile input: it is bounded and cleaned. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_STATUS_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_STATUS_H

#include "base/fail.h"

struct status_place {
	const char *doing;     /* completes "cannot …" */
	const char *verb;      /* the right that the request needs: "create" */
	const char *resource;  /* "pods", "pods/exec" */
	const char *namespace; /* where */
};

/* status: of HTTP. text: the body, a Status object as JSON or plain text. Returns -1. A pod that does not exist is
 * FAIL_DIED with CAUSE_NO_CONTAINER. */
int status_fail(struct fail *f, const struct status_place *place, int status, const void *text, size_t n);
/* Fills f for a request without an answer; error is a sentence. Returns -1. */
int status_no_answer(struct fail *f, const struct status_place *place, const char *error);
/* Fills f for a request that was not answered within this time. Returns -1. */
int status_silence(struct fail *f, const struct status_place *place, uint64_t ms);

#endif

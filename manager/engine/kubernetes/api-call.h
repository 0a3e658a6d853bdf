/* One request to the API server through kubectl's proxy: JSON in, JSON out, with a deadline and a bounded answer. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_API_CALL_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_API_CALL_H

#include <jansson.h>

#include "manager/engine/kubernetes/proxy.h"
#include "manager/engine/kubernetes/status.h"

struct api_call;

struct api_call_spec {
	struct loop *loop;
	struct proxy *proxy;
	const char *method, *target; /* copied */
	const json_t *body;	     /* NULL = none; printed at once */
	struct status_place place;   /* its strings must stay valid */
	uint64_t deadline_ms;
	/* Called once from the loop, which may free the call. status: of HTTP; 0 = there was no answer; -1 = the
	 * request was not sent. answer is the
	 * body of a success, NULL if f is set. */
	void (*done)(void *ctx, int status, const json_t *answer, const struct fail *f);
	void *ctx;
};

struct api_call *api_call_new(const struct api_call_spec *spec);
/* Cancels it without calling done. Accepts NULL, returns NULL. */
struct api_call *api_call_free(struct api_call *c);

#endif

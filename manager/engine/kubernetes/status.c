#include "manager/engine/kubernetes/status.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/model/cause.h"

#define MESSAGE_CHARS 500

/* The message of a Status object, or the text itself, as one clean line. The caller owns it. */
static char *message_of(const void *text, size_t n)
{
	json_auto_t *object = json_loadb(text, n, 0, NULL);
	const char *message = json_string_value(json_object_get(object, "message"));
	AUTO(buf_release) struct buf clean = { 0 };
	if (message)
		utf8_clean(&clean, message, strlen(message));
	else
		utf8_clean(&clean, text, n);
	const char *s = buf_str(&clean);
	char *line = xstrndup(s, utf8_head(s, clean.len, MESSAGE_CHARS));
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return line;
}

static int no_rights(struct fail *f, const struct status_place *p, const char *message)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: no right to %s %s in the namespace '%s' (%s)",
		  p->doing, p->verb, p->resource, p->namespace, message);
	return fail_hint(f, "`kubectl auth can-i %s %s -n %s` shows it; deploy/kubernetes/rbac.yaml grants it", p->verb,
			 p->resource, p->namespace);
}

static int quota_is_full(struct fail *f, const struct status_place *p, const char *message)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: the quota of the namespace '%s' is full (%s)",
		  p->doing, p->namespace, message);
	return fail_hint(f, "stop sessions that are not needed; `kubectl describe quota -n %s` shows it", p->namespace);
}

static int forbidden(struct fail *f, const struct status_place *p, const char *message)
{
	if (strstr(message, "exceeded quota") || strstr(message, "failed quota"))
		return quota_is_full(f, p, message);
	if (strstr(message, "violates PodSecurity")) {
		cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: %s", p->doing, message);
		return fail_hint(f, "`kubectl get namespace %s --show-labels` shows the level that it enforces",
				 p->namespace);
	}
	return no_rights(f, p, message);
}

static int refused(struct fail *f, const struct status_place *p, int status, const char *message)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: the API server answered %d (%s)", p->doing, status,
		  message);
	return fail_hint(f, "`kubectl get events -n %s` shows more", p->namespace);
}

static int not_found(struct fail *f, const struct status_place *p, const char *message)
{
	if (strstr(message, "namespaces \"")) {
		cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: there is no namespace '%s'", p->doing,
			  p->namespace);
		return fail_hint(f, "`kubectl apply -k deploy/kubernetes` creates it, or set KUBERNETES_NAMESPACE");
	}
	/* A kubelet that was just started does not know its pods yet. Only the API server knows whether a pod exists. */
	if (streq(p->resource, "pods/exec") && !strstr(message, "pods \""))
		return refused(f, p, 404, message);
	return cause_set(f, FAIL_DIED, CAUSE_NO_CONTAINER, "cannot %s: %s", p->doing, message);
}

/* An exec into a pod that is over: 400, "cannot exec into a container in a completed pod". */
static bool is_completed(int status, const char *message)
{
	return status == 400 && strstr(message, "completed pod");
}

int status_fail(struct fail *f, const struct status_place *place, int status, const void *text, size_t n)
{
	AUTO(freep) char *message = message_of(text, n);
	if (is_completed(status, message))
		return cause_set(f, FAIL_DIED, CAUSE_NO_CONTAINER, "cannot %s: %s", place->doing, message);
	switch (status) {
	case 401:
		cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: the cluster does not accept the login (%s)",
			  place->doing, message);
		return fail_hint(f, "`kubectl auth whoami` shows it; renew the login or its certificate");
	case 403:
		return forbidden(f, place, message);
	case 404:
		return not_found(f, place, message);
	case 429:
		cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_SILENT, "cannot %s: the API server is overloaded (%s)",
			  place->doing, message);
		return fail_hint(f, "try again in a moment");
	case 502:
	case 503:
	case 504:
		return status_no_answer(f, place, message);
	default:
		return refused(f, place, status, message);
	}
}

int status_no_answer(struct fail *f, const struct status_place *place, const char *error)
{
	cause_set(f, FAIL_ENGINE, CAUSE_NO_ENGINE, "cannot %s: the cluster's API server does not answer (%s)",
		  place->doing, error);
	return fail_hint(f, "`kubectl get pods -n %s` shows it; check KUBECONFIG and the network", place->namespace);
}

int status_silence(struct fail *f, const struct status_place *place, uint64_t ms)
{
	cause_set(f, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT, "cannot %s: no answer within %llu s", place->doing,
		  (unsigned long long)ms / 1000);
	return fail_hint(f, "check that `kubectl get pods -n %s` answers", place->namespace);
}

#include "manager/engine/docker/inspect.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"
#include "base/utf8.h"

#define ERROR_TEXT_MAX 500
#define NO_ENGINE "no Docker engine answers"
#define NO_IMAGE "the runtime's image does not exist"
#define NO_CONTAINER "container no longer exists (removed externally)"
#define NO_RUNTIME "the engine does not have the runtime that CONTAINER_RUNTIME names"
#define HINT_RUNTIME                                                                                                   \
	"register it in the engine's daemon.json and restart the engine, or unset CONTAINER_RUNTIME; `husk doctor` lists its runtimes"
#define HINT_START                                                                                                     \
	"start Docker (`husk setup` installs and starts an engine), or set DOCKER_HOST or the docker context to one that runs; then try again"
#define HINT_IMAGES "run `husk setup` to build the images, then try again"

struct known_error {
	const char *words;
	enum fail_kind kind;
	enum cause cause;
	const char *message; /* NULL = the engine's own text */
	const char *hint;
};

#define HINT_TLS                                                                                                       \
	"put ca.pem, cert.pem and key.pem for this engine into DOCKER_CERT_PATH or ~/.docker, or use a docker context that has them"

static const struct known_error known_errors[] = {
	{ "context not found", FAIL_ENGINE, CAUSE_NO_ENGINE, "the docker context does not exist",
	  "`docker context ls` lists the contexts of this user" },
	{ "ca.pem: no such file", FAIL_ENGINE, CAUSE_NO_ENGINE, "the TLS certificates are missing", HINT_TLS },
	{ "cert.pem: no such file", FAIL_ENGINE, CAUSE_NO_ENGINE, "the TLS certificates are missing", HINT_TLS },
	{ "could not read CA certificate", FAIL_ENGINE, CAUSE_NO_ENGINE, "the TLS certificates are missing", HINT_TLS },
	{ "could not load X509 key pair", FAIL_ENGINE, CAUSE_NO_ENGINE, "the TLS certificates are missing", HINT_TLS },
	{ "x509: ", FAIL_ENGINE, CAUSE_NO_ENGINE, "TLS has failed", HINT_TLS },
	{ "remote error: tls:", FAIL_ENGINE, CAUSE_NO_ENGINE, "TLS has failed", HINT_TLS },
	{ "tls: failed to", FAIL_ENGINE, CAUSE_NO_ENGINE, "TLS has failed", HINT_TLS },
	{ "HTTP response to HTTPS client", FAIL_ENGINE, CAUSE_NO_ENGINE, "the engine does not use TLS", HINT_TLS },
	{ "permission denied while trying to connect", FAIL_ENGINE, CAUSE_ENGINE_REFUSED,
	  "the Docker engine refuses this user",
	  "add the user to the group 'docker' (sudo usermod -aG docker $USER, then log in again), or set DOCKER_HOST to your own engine" },
	{ "Cannot connect to the Docker daemon", FAIL_ENGINE, CAUSE_NO_ENGINE, NO_ENGINE, HINT_START },
	{ "failed to connect to the docker API", FAIL_ENGINE, CAUSE_NO_ENGINE, NO_ENGINE, HINT_START },
	{ "error during connect", FAIL_ENGINE, CAUSE_NO_ENGINE, NO_ENGINE, HINT_START },
	{ "nvalid runtime name", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, NO_RUNTIME, HINT_RUNTIME },
	{ "nknown runtime specified", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, NO_RUNTIME, HINT_RUNTIME },
	{ "No such image", FAIL_IMAGE, CAUSE_NO_IMAGE, NO_IMAGE, HINT_IMAGES },
	{ "image not known", FAIL_IMAGE, CAUSE_NO_IMAGE, NO_IMAGE, HINT_IMAGES },
	{ "Unable to find image", FAIL_IMAGE, CAUSE_NO_IMAGE, NO_IMAGE, HINT_IMAGES },
	{ "is using its referenced image", FAIL_BUSY, CAUSE_ENGINE_REFUSED, "a container uses it", NULL },
	{ "No such container", FAIL_DIED, CAUSE_NO_CONTAINER, NO_CONTAINER, NULL },
	{ "is not running", FAIL_DIED, CAUSE_NO_CONTAINER, NO_CONTAINER, NULL },
	{ "unknown mount option", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, NULL,
	  "if the engine is Podman, set CONTAINER_ENGINE=podman" },
	{ "no space left on device", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, NULL,
	  "free disk space where the engine keeps its data, then try again" },
};

/* The engine's text in one bounded line, without prefixes that carry no information. */
static char *essence(const char *text, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, text, n);
	const char *s = buf_str(&clean);
	static const char *const noise[] = { "docker: ", "Error response from daemon: ", "Error: " };
	for (size_t i = 0; i < ARRAY_LEN(noise); i++) {
		const char *at = strstr(s, noise[i]);
		if (at)
			s = at + strlen(noise[i]);
	}
	char *line = xstrndup(s, utf8_head(s, strlen(s), ERROR_TEXT_MAX));
	char *usage = strstr(line, "See 'docker");
	if (!usage)
		usage = strstr(line, "Run 'docker");
	if (usage)
		*usage = '\0';
	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r' || *p == '\t')
			*p = ' ';
	for (size_t len = strlen(line); len && line[len - 1] == ' ';)
		line[--len] = '\0';
	return line;
}

int inspect_error(struct fail *f, const char *doing, const char *text, size_t n)
{
	AUTO(freep) char *line = essence(text, n);
	for (size_t i = 0; i < ARRAY_LEN(known_errors); i++) {
		const struct known_error *e = &known_errors[i];
		if (!strcasestr(line, e->words) && !strcasestr(text, e->words))
			continue;
		if (e->kind == FAIL_DIED)
			cause_set(f, e->kind, e->cause, "%s", e->message);
		else
			cause_set(f, e->kind, e->cause, "cannot %s: %s%s%s%s", doing, e->message ? e->message : line,
				  e->message ? " (" : "", e->message ? line : "", e->message ? ")" : "");
		return e->hint ? fail_hint(f, "%s", e->hint) : -1;
	}
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: %s", doing,
		  *line ? line : "docker failed without a message");
	return fail_hint(f, "check that `docker ps` works for this user; `docker info` shows what the engine lacks");
}

int inspect_silence(struct fail *f, const char *doing)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_SILENT, "cannot %s: the Docker engine did not answer in time", doing);
	return fail_hint(f, "check that `docker ps` answers; restart the engine if it hangs");
}

bool inspect_is_missing(const char *text)
{
	return strcasestr(text, "no such") || strcasestr(text, "image not known");
}

bool inspect_container_is_gone(const char *text)
{
	return strcasestr(text, "no such container") || strstr(text, "marked for removal");
}

bool inspect_removal_in_progress(const char *text)
{
	return strstr(text, "is already in progress") != NULL;
}

bool inspect_lost_network(const char *text)
{
	return strstr(text, "network") && (strstr(text, "not found") || strstr(text, "is ambiguous"));
}

bool inspect_refused_mount(const char *text)
{
	static const char *const words[] = { "bind source path", "invalid mount", "error mounting", "mounts denied",
					     "not shared",	 "bind mount",	  "statfs " };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

bool inspect_refused_devpts(const char *text)
{
	return strstr(text, "devpts") || strstr(text, "mount local volume");
}

bool inspect_refused_quota(const char *text)
{
	return strcasestr(text, "quota");
}

void inspect_container_id(const char *text, char ret[65])
{
	size_t n = strcspn(text, "\r\n");
	bool is_id = n == 64 && strspn(text, "0123456789abcdef") == 64;
	snprintf(ret, 65, "%.*s", is_id ? 64 : 0, text);
}

bool inspect_network_in_use(const char *text)
{
	return strstr(text, "active endpoints") != NULL;
}

static const char *attribute(json_t *event, const char *name)
{
	return json_string_value(json_object_get(json_object_get(json_object_get(event, "Actor"), "Attributes"), name));
}

bool inspect_event(const char *line, size_t n, struct event_text *storage, struct engine_event *ret)
{
	static const struct {
		const char *action;
		enum engine_event_kind kind;
	} kinds[] = {
		{ "die", EVENT_DIE }, { "oom", EVENT_OOM }, { "destroy", EVENT_DESTROY }, { "remove", EVENT_DESTROY }
	}; /* Podman's word */
	json_auto_t *event = json_loadb(line, n, 0, NULL);
	const char *action = json_string_value(json_object_get(event, "Action"));
	const char *name = attribute(event, "name"), *code = attribute(event, "exitCode");
	const char *id = json_string_value(json_object_get(json_object_get(event, "Actor"), "ID"));
	if (!action || !name || strlen(name) >= sizeof(storage->container))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!streq(action, kinds[i].action))
			continue;
		uint64_t number = 0;
		if (code && parse_u64(code, &number) < 0)
			number = 0;
		memcpy(storage->container, name, strlen(name) + 1);
		snprintf(storage->id, sizeof(storage->id), "%s", id && strlen(id) < sizeof(storage->id) ? id : "");
		*ret = (struct engine_event){ .kind = kinds[i].kind,
					      .container = storage->container,
					      .id = storage->id,
					      .exit_code = (int)MIN(number, 255) };
		return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void inspect_network_ids(const char *text, struct strv *ret)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\r\n");
		if (strspn(p, "0123456789abcdef") == 64 && (n == 64 || p[64] == ' '))
			strv_addf(ret, "%.64s", p);
		p += n;
		p += strspn(p, "\r\n");
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare);
}

bool inspect_network_has_bridge(const char *text, const char *id, const char *bridge)
{
	const char *line = strstr(text, id);
	if (!line || line[strlen(id)] != ' ')
		return false;
	const char *name = line + strlen(id) + 1;
	return strcspn(name, " \r\n") == strlen(bridge) && strncmp(name, bridge, strlen(bridge)) == 0;
}

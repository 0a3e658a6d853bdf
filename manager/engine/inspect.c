#include "manager/engine/inspect.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"
#include "base/utf8.h"

#define ERROR_TEXT_MAX 500
#define NO_ENGINE "no Docker engine answers"

struct known_error {
	const char *words;
	enum fail_kind kind;
	const char *message; /* NULL = the engine's own words */
	const char *hint;
};

static const struct known_error known_errors[] = {
	{ "permission denied while trying to connect", FAIL_ENGINE, "the Docker engine refuses this user",
	  "add the user to the group 'docker' (sudo usermod -aG docker $USER, then log in again), or point DOCKER_HOST at an engine of yours" },
	{ "Cannot connect to the Docker daemon", FAIL_ENGINE, NO_ENGINE, NULL },
	{ "failed to connect to the docker API", FAIL_ENGINE, NO_ENGINE, NULL },
	{ "error during connect", FAIL_ENGINE, NO_ENGINE, NULL },
	{ "No such image", FAIL_IMAGE, "the runtime's image is not there", NULL },
	{ "Unable to find image", FAIL_IMAGE, "the runtime's image is not there", NULL },
	{ "No such container", FAIL_DIED, "container no longer exists (removed externally)", NULL },
	{ "is not running", FAIL_DIED, "container no longer exists (removed externally)", NULL },
	{ "no space left on device", FAIL_ENGINE, NULL,
	  "free disk space where the engine keeps its data, then try again" },
};

static const char *default_hint(enum fail_kind kind)
{
	switch (kind) {
	case FAIL_ENGINE:
		return "start Docker (./setup-docker.sh installs and starts an engine), or set DOCKER_HOST or the docker context to one that runs; then call create_session again";
	case FAIL_IMAGE:
		return "run ./setup-docker.sh in the Husk folder to build the images, then call create_session again";
	default:
		return NULL;
	}
}

/* The engine's words in one bounded line, without the prefixes that say nothing. */
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
		if (!strstr(line, e->words) && !strstr(text, e->words))
			continue;
		if (e->kind == FAIL_DIED)
			fail_set(f, e->kind, "%s", e->message);
		else
			fail_set(f, e->kind, "cannot %s: %s%s%s%s", doing, e->message ? e->message : line,
				 e->message ? " (" : "", e->message ? line : "", e->message ? ")" : "");
		const char *hint = e->hint ? e->hint : default_hint(e->kind);
		return hint ? fail_hint(f, "%s", hint) : -1;
	}
	fail_set(f, FAIL_ENGINE, "cannot %s: %s", doing, *line ? line : "docker failed without a word");
	return fail_hint(f,
			 "check that `docker ps` works for this user; `docker info` tells what the engine is missing");
}

bool inspect_no_engine(const struct fail *f)
{
	return f->kind == FAIL_ENGINE && strstr(f->message, NO_ENGINE);
}

bool inspect_removal_in_progress(const char *text)
{
	return strstr(text, "is already in progress") != NULL;
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
	} kinds[] = { { "die", EVENT_DIE }, { "oom", EVENT_OOM }, { "destroy", EVENT_DESTROY } };
	json_auto_t *event = json_loadb(line, n, 0, NULL);
	const char *action = json_string_value(json_object_get(event, "Action"));
	const char *name = attribute(event, "name"), *code = attribute(event, "exitCode");
	if (!action || !name || strlen(name) >= sizeof(storage->container))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!streq(action, kinds[i].action))
			continue;
		uint64_t number = 0;
		if (code && parse_u64(code, &number) < 0)
			number = 0;
		memcpy(storage->container, name, strlen(name) + 1);
		*ret = (struct engine_event){ .kind = kinds[i].kind,
					      .container = storage->container,
					      .exit_code = (int)MIN(number, 255) };
		return true;
	}
	return false;
}

int inspect_network_id(const char *text, char ret[65])
{
	char best[65] = "";
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\r\n");
		if (n == 64 && strspn(p, "0123456789abcdef") >= 64 && (!*best || strncmp(p, best, 64) < 0))
			memcpy(best, p, 64);
		p += n;
		p += strspn(p, "\r\n");
	}
	if (!*best)
		return -1;
	memcpy(ret, best, sizeof(best));
	return 0;
}

char *inspect_death_reason(bool oom, int exit_code)
{
	if (oom)
		return xstrdup("OOM-killed — the code exhausted the container memory limit");
	switch (exit_code) {
	case 137:
		return xstrdup("killed by signal 9 (SIGKILL) — likely OOM or external kill");
	case 139:
		return xstrdup("segmentation fault (SIGSEGV)");
	case 143:
		return xstrdup("terminated by SIGTERM");
	default:
		return xasprintf("exited with status %d (container status: exited)", exit_code);
	}
}

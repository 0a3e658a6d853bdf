/* manager/engine/docker/inspect: any output of an engine becomes a short clean sentence, an event or nothing. */
#include "manager/engine/docker/inspect.h"

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

static void check_sentence(const char *s)
{
	CHECK(s && *s && utf8_valid(s, strlen(s)));
	CHECK(!strpbrk(s, "\n\r\t\x1b") && utf8_count(s, strlen(s)) < 800);
}

static void check_error(const char *text, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	CHECK(inspect_error(&f, "start the container", text, n) == -1);
	CHECK(f.kind == FAIL_ENGINE || f.kind == FAIL_IMAGE || f.kind == FAIL_DIED);
	check_sentence(f.message);
	if (f.kind != FAIL_DIED)
		check_sentence(f.hint);
}

static void check_event(const char *line, size_t n)
{
	struct event_text storage;
	struct engine_event event;
	if (!inspect_event(line, n, &storage, &event))
		return;
	CHECK(event.container == storage.container && memchr(storage.container, '\0', sizeof(storage.container)));
	CHECK(event.kind <= EVENT_DESTROY && event.exit_code >= 0 && event.exit_code <= 255);
}

static void check_network(const char *text)
{
	AUTO(strv_release) struct strv ids = { 0 };
	inspect_network_ids(text, &ids);
	for (size_t i = 0; i < ids.n; i++)
		CHECK(strlen(ids.v[i]) == 64 && strspn(ids.v[i], "0123456789abcdef") == 64 && strstr(text, ids.v[i]));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	/* In the form of a child's captured output: with a NUL after it, and perhaps some inside. */
	AUTO(freep) char *text = xmalloc(n + 1);
	if (n)
		memcpy(text, data, n);
	text[n] = '\0';
	check_error(text, n);
	check_event(text, n);
	check_network(text);
	(void)inspect_removal_in_progress(text);
	return 0;
}

#include "manager/engine/kubernetes/feed.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/percent.h"
#include "manager/engine/kubernetes/api-call.h"
#include "manager/model/cause.h"

#define PAGE 100
#define LIST_DEADLINE_MS 30000
/* The server ends the watch after this time. */
#define WATCH_SECONDS 300
/* The server sends a bookmark about every minute; if none comes, the connection is dead. */
#define QUIET_MS 150000
#define LINE_MAX_BYTES (1u << 20)
#define RETRY_MS 100
#define RETRY_MAX_MS 5000

struct known {
	struct list node;
	struct pod pod;
	bool listed; /* by the list under way */
};

struct feed {
	struct feed_spec spec;
	char version[64]; /* "" = list first */
	struct list pods; /* of struct known */
	struct list listeners;
	struct api_call *list;
	struct buf next_page; /* token of the next page; empty = none */
	struct proxy_wait wait;
	struct http_call *watch;
	int status;
	struct buf line;
	bool skipping, progress; /* drops the rest of a line; something arrived on this watch */
	struct timer *retry, *quiet;
	unsigned failures;
};

static void start_list(struct feed *f);
static void start_watch(struct feed *f);

/* --- pods ---------------------------------------------------------------------------------------------------------- */

static struct known *find(const struct feed *f, const char *word)
{
	list_for_each(k, &f->pods, struct known, node)
		if (streq(k->pod.name, word) || streq(k->pod.uid, word))
			return k;
	return NULL;
}

const struct pod *feed_find(const struct feed *f, const char *word)
{
	const struct known *k = find(f, word);
	return k ? &k->pod : NULL;
}

/* Moves the listeners to another list, from which they are taken one by one: a callback may remove any of them. */
static void take_listeners(struct feed *f, struct list *ret)
{
	list_init(ret);
	list_for_each(l, &f->listeners, struct feed_listener, node) {
		list_remove(&l->node);
		list_append(ret, &l->node);
	}
}

static struct feed_listener *next_listener(struct feed *f, struct list *taken)
{
	struct feed_listener *l = list_first(taken, struct feed_listener, node);
	if (l) {
		list_remove(&l->node);
		list_append(&f->listeners, &l->node);
	}
	return l;
}

static void report(struct feed *f, const struct pod *pod, bool deleted)
{
	struct list taken;
	take_listeners(f, &taken);
	for (struct feed_listener *l; (l = next_listener(f, &taken));)
		l->on_pod(l->ctx, pod, deleted);
}

static void forget(struct feed *f, struct known *k)
{
	struct pod pod = k->pod;
	list_remove(&k->node);
	free(k);
	report(f, &pod, /* deleted= */ true);
}

static void note(struct feed *f, const struct pod *pod)
{
	struct known *k = find(f, pod->name);
	/* Another pod of the same name: the earlier one is gone. */
	if (k && !streq(k->pod.uid, pod->uid)) {
		forget(f, k);
		k = NULL;
	}
	if (!k) {
		k = new0(struct known);
		list_append(&f->pods, &k->node);
	}
	k->pod = *pod;
	k->listed = true;
	report(f, pod, /* deleted= */ false);
}

static void drop_unlisted(struct feed *f)
{
	list_for_each(k, &f->pods, struct known, node)
		if (!k->listed)
			forget(f, k);
}

/* --- failures ------------------------------------------------------------------------------------------------------ */

static void on_retry(void *ctx)
{
	struct feed *f = ctx;
	if (*f->version)
		start_watch(f);
	else
		start_list(f);
}

static void again(struct feed *f, const struct fail *why)
{
	uint64_t delay = f->failures ? MIN((uint64_t)RETRY_MS << MIN(f->failures - 1, 6u), (uint64_t)RETRY_MAX_MS) : 0;
	f->failures++;
	timer_stop(f->quiet);
	timer_start(f->retry, delay, 0);
	if (!why)
		return;
	struct list taken;
	log_debug("kubernetes: %s", why->message);
	take_listeners(f, &taken);
	for (struct feed_listener *l; (l = next_listener(f, &taken));)
		if (l->on_trouble)
			l->on_trouble(l->ctx, why);
}

static void list_again(struct feed *f, const struct fail *why)
{
	*f->version = '\0';
	buf_reset(&f->next_page);
	again(f, why);
}

/* --- the list ------------------------------------------------------------------------------------------------------ */

static void on_list(void *ctx, int status, const json_t *answer, const struct fail *why)
{
	struct feed *f = ctx;
	const json_t *meta = json_object_get(answer, "metadata");
	const char *version = json_string_value(json_object_get(meta, "resourceVersion"));
	const char *next = json_string_value(json_object_get(meta, "continue"));
	size_t i;
	json_t *item;
	f->list = api_call_free(f->list);
	if (why || !version) {
		/* 410: the pages were too old to continue; this does not count as a failure. */
		f->failures = status == 410 && buf_str(&f->next_page)[0] ? 0 : f->failures;
		list_again(f, why);
		return;
	}
	buf_reset(&f->next_page);
	if (next)
		buf_add_str(&f->next_page, next);
	json_array_foreach(json_object_get(answer, "items"), i, item) {
		struct pod pod;
		if (pod_read(item, &pod))
			note(f, &pod);
	}
	if (f->next_page.len) {
		start_list(f);
		return;
	}
	snprintf(f->version, sizeof(f->version), "%s", version);
	f->failures = 0;
	drop_unlisted(f);
	start_watch(f);
}

static struct status_place place_of(const struct feed *f, const char *doing, const char *verb)
{
	return (struct status_place){ doing, verb, "pods", f->spec.namespace };
}

static void start_list(struct feed *f)
{
	AUTO(buf_release) struct buf target = { 0 };
	if (!f->next_page.len) {
		list_for_each(k, &f->pods, struct known, node)
			k->listed = false;
	}
	buf_printf(&target, "/api/v1/namespaces/%s/pods?labelSelector=husk%%3Dtrue&limit=%d", f->spec.namespace, PAGE);
	if (f->next_page.len) {
		buf_add_str(&target, "&continue=");
		percent_encode(&target, buf_str(&f->next_page), /* keep_slash= */ false);
	}
	f->list = api_call_new(&(struct api_call_spec){ .loop = f->spec.loop,
							.proxy = f->spec.proxy,
							.method = "GET",
							.target = buf_str(&target),
							.place = place_of(f, "list the pods", "list"),
							.deadline_ms = LIST_DEADLINE_MS,
							.done = on_list,
							.ctx = f });
}

/* --- the watch ----------------------------------------------------------------------------------------------------- */

static void take_version(const json_t *object, char version[64])
{
	const char *text = json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
	if (text && strlen(text) < 64 && strspn(text, "0123456789") == strlen(text))
		snprintf(version, 64, "%s", text);
}

enum feed_line feed_read_line(const void *line, size_t n, struct pod *pod, char version[64])
{
	json_auto_t *event = json_loadb(line, n, 0, NULL);
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *object = json_object_get(event, "object");
	if (!type)
		return FEED_UNKNOWN;
	if (streq(type, "ERROR"))
		return json_integer_value(json_object_get(object, "code")) == 410 ? FEED_OUTDATED : FEED_ERROR;
	bool bookmark = streq(type, "BOOKMARK"), gone = streq(type, "DELETED");
	if (!bookmark && !gone && !streq(type, "ADDED") && !streq(type, "MODIFIED"))
		return FEED_UNKNOWN;
	if (!bookmark && !pod_read(object, pod))
		return FEED_UNKNOWN;
	take_version(object, version);
	return bookmark ? FEED_BOOKMARK : gone ? FEED_GONE : FEED_POD;
}

static void end_watch(struct feed *f)
{
	f->watch = http_call_free(f->watch);
	buf_reset(&f->line);
	f->skipping = false;
}

static void on_line(struct feed *f)
{
	struct pod pod;
	struct known *k;
	f->progress = true;
	f->failures = 0;
	switch (feed_read_line(f->line.data, f->line.len, &pod, f->version)) {
	case FEED_POD:
		note(f, &pod);
		break;
	case FEED_GONE:
		k = find(f, pod.name);
		if (k)
			k->pod = pod;
		if (k)
			forget(f, k);
		break;
	case FEED_OUTDATED:
	case FEED_ERROR:
		f->failures = 1;
		end_watch(f);
		list_again(f, NULL);
		break;
	case FEED_BOOKMARK:
	case FEED_UNKNOWN:
		break;
	}
}

static void on_watch_head(void *ctx, const struct http_head *head)
{
	struct feed *f = ctx;
	f->status = head->status;
}

static void on_watch_data(void *ctx, const void *data, size_t n)
{
	struct feed *f = ctx;
	const char *p = data, *end = p + n;
	timer_start(f->quiet, QUIET_MS, 0);
	while (p < end && f->watch) {
		const char *newline = f->status == 200 ? memchr(p, '\n', (size_t)(end - p)) : NULL;
		size_t some = (size_t)((newline ? newline : end) - p);
		f->skipping |= buf_add(&f->line, p, some) < 0;
		p += some;
		if (!newline)
			break;
		p++;
		if (!f->skipping)
			on_line(f);
		f->skipping = false;
		buf_reset(&f->line);
	}
}

static void on_watch_end(void *ctx, const char *error)
{
	struct feed *f = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	struct status_place place = place_of(f, "watch the pods", "watch");
	f->watch = NULL;
	if (f->status >= 300)
		(void)status_fail(&why, &place, f->status, f->line.data, f->line.len);
	else if (error && !f->progress)
		(void)status_no_answer(&why, &place, error);
	bool outdated = f->status == 410;
	end_watch(f);
	if (outdated)
		list_again(f, NULL);
	else
		again(f, why.kind ? &why : NULL);
}

static void on_quiet(void *ctx)
{
	struct feed *f = ctx;
	end_watch(f);
	again(f, NULL);
}

static void on_proxy(void *ctx, const struct fail *why)
{
	struct feed *f = ctx;
	AUTO(freep) char *target = xasprintf("/api/v1/namespaces/%s/pods?watch=1&allowWatchBookmarks=true"
					     "&labelSelector=husk%%3Dtrue&resourceVersion=%s&timeoutSeconds=%d",
					     f->spec.namespace, f->version, WATCH_SECONDS);
	if (why) {
		again(f, why);
		return;
	}
	f->status = 0;
	f->progress = false;
	timer_start(f->quiet, QUIET_MS, 0);
	f->watch = http_call_new(proxy_client(f->spec.proxy), &(struct http_call_spec){ .method = "GET",
											.target = target,
											.on_head = on_watch_head,
											.on_data = on_watch_data,
											.on_end = on_watch_end,
											.ctx = f });
}

static void start_watch(struct feed *f)
{
	f->wait = (struct proxy_wait){ .fn = on_proxy, .ctx = f };
	proxy_get(f->spec.proxy, &f->wait);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

void feed_listen(struct feed *f, struct feed_listener *listener)
{
	list_append(&f->listeners, &listener->node);
}

void feed_ignore(struct feed_listener *listener)
{
	list_remove(&listener->node);
}

struct feed *feed_new(const struct feed_spec *spec)
{
	struct feed *f = new0(struct feed);
	f->spec = *spec;
	f->line.max = LINE_MAX_BYTES;
	list_init(&f->pods);
	list_init(&f->listeners);
	list_init(&f->wait.node);
	f->retry = timer_new(spec->loop, on_retry, f);
	f->quiet = timer_new(spec->loop, on_quiet, f);
	start_list(f);
	return f;
}

struct feed *feed_free(struct feed *f)
{
	if (!f)
		return NULL;
	api_call_free(f->list);
	proxy_forget(&f->wait);
	http_call_free(f->watch);
	timer_free(f->retry);
	timer_free(f->quiet);
	list_for_each(k, &f->pods, struct known, node)
		free(k);
	buf_release(&f->line);
	buf_release(&f->next_page);
	free(f);
	return NULL;
}

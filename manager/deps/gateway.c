#include "manager/deps/gateway.h"

#include <errno.h>
#include <search.h>

#include "base/alloc.h"
#include "base/fetch.h"
#include "base/log.h"
#include "manager/deps/links.h"

#define HOPS_MAX 10u
/* Limit for all links that this install's pages contain. */
#define LINK_BYTES_MAX (16u << 20)
/* Downloads are limited to this many times DEPENDENCY_MAX_SIZE. An installer unpacks them into two places, one
 * limited to that size and the other to twice that size. */
#define SIZES_MAX 4u
/* Suffix of the metadata beside an index's files (PEP 658). */
#define METADATA_SUFFIX ".metadata"

struct gateway {
	struct gateway_spec spec;
	struct fetcher *fetcher;
	struct fetcher
		*outside; /* for redirects that must lead to public addresses; shares no connections with `fetcher` */
	struct list requests;
	size_t n_requests;
	void *links; /* a tree of paths that indexes link to, each prefixed with its port */
	size_t link_bytes;
	uint64_t bytes; /* received in all answers */
	char *trouble;
};

struct request {
	struct list node;
	struct gateway *gateway;
	uint32_t number;
	const struct upstream *upstream;
	struct wire_relay_get get;
	struct fetch *fetch;
	unsigned hops;
	char *next; /* target of a redirect, fetched after this answer */
	struct links *rewrite;
	struct buf pending; /* data that waits for credit */
	uint32_t uncredited;
	bool paused, ended;
	bool is_public; /* the index seems to be public, so its redirects must lead to public addresses */
};

static int start_hop(struct request *q, const char *url, bool own);

/* --- links on fetched pages -------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static char *link_key(const struct upstream *u, const char *path)
{
	return xasprintf("%u%s", u->port, path);
}

static void on_link(void *ctx, const char *path)
{
	struct request *q = ctx;
	struct gateway *r = q->gateway;
	AUTO(freep) char *key = link_key(q->upstream, path);
	size_t n = strlen(key);
	if (upstream_covers(q->upstream, path) || r->link_bytes + n > LINK_BYTES_MAX)
		return;
	char **found = tsearch(key, &r->links, compare);
	if (!found || *found != key)
		return;
	r->link_bytes += n;
	key = NULL;
}

static bool was_shown(struct gateway *r, const struct upstream *u, const char *path)
{
	AUTO(freep) char *key = link_key(u, path);
	size_t n = strlen(key), suffix = strlen(METADATA_SUFFIX);
	if (tfind(key, &r->links, compare))
		return true;
	if (n <= suffix || !streq(key + n - suffix, METADATA_SUFFIX))
		return false;
	key[n - suffix] = '\0';
	return tfind(key, &r->links, compare);
}

/* --- the end of a request ---------------------------------------------------------------------------------------- */

static void request_free(struct request *q)
{
	list_remove(&q->node);
	q->gateway->n_requests--;
	fetch_free(q->fetch);
	links_free(q->rewrite);
	wire_relay_get_release(&q->get);
	buf_release(&q->pending);
	free(q->next);
	free(q);
}

static void send(struct gateway *r, const struct buf *frames)
{
	dispatch_send(r->spec.dispatch, frames);
}

static void finish(struct request *q, int status, const char *error)
{
	AUTO(buf_release) struct buf frame = { 0 };
	wire_put_relay_end(&frame, q->number, status, error);
	send(q->gateway, &frame);
	request_free(q);
}

static void note(struct gateway *r, char *trouble)
{
	log_debug("gateway: %s", trouble);
	free(r->trouble);
	r->trouble = trouble;
}

/* Takes ownership of the sentence. */
static void fail(struct request *q, int status, char *trouble)
{
	note(q->gateway, trouble);
	finish(q, status, trouble);
}

/* --- an answer --------------------------------------------------------------------------------------------------- */

static const char *field(const struct strv *fields, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < fields->n; i++)
		if (strncmp(fields->v[i], name, n) == 0 && fields->v[i][n] == ':')
			return fields->v[i] + n + 1 + strspn(fields->v[i] + n + 1, " \t");
	return NULL;
}

/* Cookies and requests for a login are not passed on. */
static void choose_fields(struct strv *ret, const struct fetch_head *head)
{
	static const char *const passed[] = { "content-type",  "etag",		"last-modified", "content-range",
					      "accept-ranges", "cache-control", "retry-after" };
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const char *value = field(head->fields, passed[i]);
		if (value)
			strv_addf(ret, "%s: %s", passed[i], value);
	}
	const char *encoding = head->decoded ? NULL : field(head->fields, "content-encoding");
	if (encoding)
		strv_addf(ret, "content-encoding: %s", encoding);
}

static void answer(struct request *q, int status, int64_t length, const struct strv *fields)
{
	AUTO(buf_release) struct buf frame = { 0 };
	wire_put_relay_answer(&frame, q->number, status, length, fields);
	send(q->gateway, &frame);
}

/* True if the answer is a redirect that was handled, or will be when this answer ends. */
static bool redirected(struct request *q, const struct fetch_head *head)
{
	if (head->status < 300 || head->status > 399 || head->status == 304 || !head->location)
		return false;
	const char *rest = q->hops == 0 ? upstream_rest(q->upstream, head->location) : NULL;
	if (!rest) {
		q->next = xstrdup(head->location);
		return true;
	}
	/* The installer follows this redirect itself, so that it resolves the page's links correctly. */
	AUTO(strv_release) struct strv fields = { 0 };
	AUTO(freep) char *local = upstream_local(q->upstream);
	AUTO(freep) char *path = upstream_path(q->upstream, *rest ? rest : "/");
	if (path)
		on_link(q, path);
	strv_addf(&fields, "location: %s%s", local, rest);
	answer(q, head->status, 0, &fields);
	return true;
}

static void on_head(void *ctx, const struct fetch_head *head)
{
	struct request *q = ctx;
	AUTO(strv_release) struct strv fields = { 0 };
	if (q->hops == 0)
		q->is_public = head->is_public;
	if (redirected(q, head))
		return;
	if (q->hops == 0 && (head->status == 401 || head->status == 403))
		note(q->gateway, xasprintf("the package index %s rejects the login from the settings (HTTP %d)",
					   q->upstream->origin, head->status));
	choose_fields(&fields, head);
	/* A page from another host is not rewritten. */
	enum links_kind kind = q->hops || q->get.head ? LINKS_NONE : links_kind_of(field(&fields, "content-type"));
	if (field(&fields, "content-encoding") || head->status == 206)
		kind = LINKS_NONE;
	if (kind)
		q->rewrite = links_new(kind, q->upstream, q->get.target, on_link, q);
	bool known = !kind && !head->decoded;
	answer(q, head->status, known ? head->length : -1, &fields);
}

/* Sends as much as the window allows. */
static void send_pending(struct request *q)
{
	AUTO(buf_release) struct buf frames = { 0 };
	size_t at = 0;
	while (at < q->pending.len && q->uncredited < RELAY_WINDOW) {
		size_t n =
			MIN(MIN(q->pending.len - at, (size_t)RELAY_DATA_MAX), (size_t)(RELAY_WINDOW - q->uncredited));
		wire_put(&frames, FRAME_RELAY_DATA, q->number, q->pending.data + at, n);
		q->uncredited += (uint32_t)n;
		at += n;
	}
	buf_consume(&q->pending, at);
	if (frames.len)
		send(q->gateway, &frames);
	if (q->ended && !q->pending.len) {
		finish(q, 0, NULL);
		return;
	}
	bool full = q->pending.len;
	if (q->fetch && !q->ended && full != q->paused) {
		q->paused = full;
		fetch_pause(q->fetch, full);
	}
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct request *q = ctx;
	struct gateway *r = q->gateway;
	uint64_t limit = r->spec.config->dependency_max_size;
	r->bytes += n;
	if (r->bytes / SIZES_MAX > limit) {
		fail(q, 502, xasprintf("the fetched packages exceed %u times DEPENDENCY_MAX_SIZE", SIZES_MAX));
		return;
	}
	if (q->rewrite)
		links_feed(q->rewrite, data, n, &q->pending);
	else
		buf_add(&q->pending, data, n);
	send_pending(q);
}

static void follow(struct request *q)
{
	AUTO(freep) char *url = take_ptr(q->next);
	q->fetch = fetch_free(q->fetch);
	if (++q->hops > HOPS_MAX)
		fail(q, 502, xasprintf("the package index %s redirects in a loop", q->upstream->origin));
	else if (strncmp(q->upstream->origin, "https:", 6) == 0 && strncmp(url, "https:", 6) != 0)
		fail(q, 502,
		     xasprintf("the package index %s redirects to an address without encryption", q->upstream->origin));
	else
		(void)start_hop(q, url, /* own= */ false);
}

static void on_end(void *ctx, const char *error)
{
	struct request *q = ctx;
	if (q->next && !error) {
		follow(q);
		return;
	}
	if (error) {
		fail(q, 502,
		     xasprintf("the package index %s could not be read%s: %s", q->upstream->origin,
			       q->hops ? " at the address that it redirects to" : "", error));
		return;
	}
	q->ended = true;
	q->fetch = fetch_free(q->fetch);
	if (q->rewrite)
		links_finish(q->rewrite, &q->pending);
	send_pending(q);
}

/* --- a request --------------------------------------------------------------------------------------------------- */

/* Returns 0, or -1 if it has ended the request. */
static int start_hop(struct request *q, const char *url, bool own)
{
	struct gateway *r = q->gateway;
	AUTO(fail_release) struct fail f = { 0 };
	struct fetcher **fetcher = !own && q->is_public ? &r->outside : &r->fetcher;
	if (!*fetcher)
		*fetcher = fetcher_new(r->spec.loop, &f);
	q->fetch = !*fetcher ? NULL :
			       fetch_new(*fetcher,
					 &(struct fetch_spec){
						 .url = url,
						 .head = q->get.head,
						 .user = own ? q->upstream->user : NULL,
						 .password = own ? q->upstream->password : NULL,
						 .fields = &q->get.fields,
						 .compressed = q->get.compressed,
						 .ca_file = r->spec.config->ca_bundle,
						 .no_local = !own,
						 .only_public = !own && q->is_public,
						 .on_head = on_head,
						 .on_data = on_data,
						 .on_end = on_end,
						 .ctx = q,
					 },
					 &f);
	if (q->fetch)
		return 0;
	fail(q, 502,
	     own ? xstrdup(f.message) :
		   xasprintf("the package index %s redirects to an address that is not allowed: %s",
			     q->upstream->origin, f.message));
	return -1;
}

static void start(struct request *q)
{
	struct gateway *r = q->gateway;
	q->upstream = upstreams_find(r->spec.upstreams, q->get.port);
	AUTO(freep) char *path = upstream_path(q->upstream, q->get.target);
	if (!q->upstream) {
		finish(q, 404, "There is no package index here.\n");
	} else if (!path || (!upstream_covers(q->upstream, path) && !was_shown(r, q->upstream, path))) {
		/* Not a failure of the install: any program inside may have sent the request. */
		finish(q, 403, "This address is not below a package index from the settings.\n");
	} else {
		size_t n = strcspn(q->get.target, "#");
		AUTO(freep) char *url = xasprintf("%s%.*s", q->upstream->origin, (int)n, q->get.target);
		(void)start_hop(q, url, /* own= */ true);
	}
}

static struct request *find(struct gateway *r, uint32_t number)
{
	list_for_each(q, &r->requests, struct request, node)
		if (q->number == number)
			return q;
	return NULL;
}

static int on_get(struct gateway *r, const struct wire_frame *frame)
{
	if (frame->call < RELAY_NUMBER_FIRST || find(r, frame->call) || r->n_requests >= RELAY_REQUESTS_MAX)
		return -EPROTO;
	struct request *q = new0(struct request);
	q->gateway = r;
	q->number = frame->call;
	list_append(&r->requests, &q->node);
	r->n_requests++;
	if (wire_read_relay_get(frame, &q->get) < 0) {
		request_free(q);
		return -EPROTO;
	}
	start(q);
	return 0;
}

static int on_credit(struct gateway *r, const struct wire_frame *frame)
{
	struct request *q = find(r, frame->call);
	uint32_t n;
	if (wire_read_credit(frame, &n) < 0)
		return -EPROTO;
	/* The request may have ended in the meantime. */
	if (!q)
		return 0;
	if (n > q->uncredited)
		return -EPROTO;
	q->uncredited -= n;
	send_pending(q);
	return 0;
}

int gateway_frame(struct gateway *r, const struct wire_frame *frame)
{
	struct request *q;
	switch (frame->type) {
	case FRAME_RELAY_GET:
		return on_get(r, frame);
	case FRAME_RELAY_CREDIT:
		return on_credit(r, frame);
	default:
		q = find(r, frame->call);
		if (q)
			request_free(q);
		return 0;
	}
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct gateway *gateway_new(const struct gateway_spec *spec)
{
	struct gateway *r = new0(struct gateway);
	r->spec = *spec;
	list_init(&r->requests);
	return r;
}

void gateway_reset(struct gateway *r)
{
	list_for_each(q, &r->requests, struct request, node)
		request_free(q);
}

const char *gateway_trouble(const struct gateway *r)
{
	return r->trouble;
}

struct gateway *gateway_free(struct gateway *r)
{
	if (!r)
		return NULL;
	gateway_reset(r);
	fetcher_free(r->fetcher);
	fetcher_free(r->outside);
	tdestroy(r->links, free);
	free(r->trouble);
	free(r);
	return NULL;
}

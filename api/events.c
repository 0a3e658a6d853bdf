/* Routes of events: the journal of one session or of all, as a stream or by long polling. */
#include "api/host.h"
#include "api/route.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"

#define WAIT_MAX 60
#define EVENTS_MAX 500
/* A session whose events are all hidden from the reader must not delay the answer for ever. */
#define TURNS_MAX 1000
/* An answer without a stream ends with the event that exceeds this. The client asks for the rest. */
#define ANSWER_BYTES (1u << 20)

struct events_query {
	const char *after, *only;
	int64_t wait;
	int64_t limit;
	int64_t run;
	bool all, quiet;
};

static const struct arg events_table[] = {
	{ "after", ARG_STRING, offsetof(struct events_query, after), .max = 20,
	  .description = "Only events after this number: the id of an event, 0 for all, or \"now\". The field "
			 "Last-Event-ID takes precedence.",
	  .example = "\"17\"" },
	{ "only", ARG_STRING, offsetof(struct events_query, only), ARG_NONEMPTY, .max = 32,
	  .description = "Only events of this kind, or of kinds that begin with this word: session, run, files,"
			 " checkpoint, network, limit.",
	  .example = "\"session\"" },
	{ "wait", ARG_INT, offsetof(struct events_query, wait), .min = 0, .max = WAIT_MAX,
	  .description = "Without a stream: answer after at most this many seconds, or as soon as there is an event.",
	  .example = "30" },
	{ "limit", ARG_INT, offsetof(struct events_query, limit), .min = 1, .max = EVENTS_MAX,
	  .description = "Without a stream: at most this many events; default: 500.", .example = "100" },
	{ "run", ARG_INT, offsetof(struct events_query, run), .min = 0, .max = UINT32_MAX,
	  .description = "Only events of this run of the session.", .example = "3" },
	{ "quiet", ARG_BOOL, offsetof(struct events_query, quiet),
	  .description = "Leave out the output and the displays of runs.", .example = "true" },
	{ "all", ARG_BOOL, offsetof(struct events_query, all),
	  .description = "Events of the sessions of all conversations of the tenant, not only of this one. Only for "
			 "/v1/events.",
	  .example = "true" },
	{ 0 },
};

/* --- long polling -------------------------------------------------------------------------------------------------- */

struct poll {
	struct exchange *exchange;
	struct journal_reader *reader;
	struct timer *timer;
	json_t *events;
	size_t limit, bytes;
	unsigned turns; /* turns of the loop in which the reader was behind */
	bool soon;
};

static void poll_free(struct exchange *x)
{
	struct poll *p = take_ptr(x->data);
	journal_reader_free(p->reader);
	timer_free(p->timer);
	json_decref(p->events);
	free(p);
}

static void answer(void *ctx)
{
	struct poll *p = ctx;
	if (journal_reader_is_behind(p->reader) && p->turns++ < TURNS_MAX) {
		timer_start(p->timer, 0, 0);
		return;
	}
	json_t *out = json_pack("{s:O}", "events", p->events);
	json_object_set_new(out, "next", json_integer((json_int_t)journal_reader_place(p->reader)));
	exchange_reply(p->exchange, 200, out);
}

/* Takes the event. Answers as soon as all events that are there have been read, or as many as fit. */
static void keep(struct poll *p, size_t bytes, json_t *event)
{
	json_array_append_new(p->events, event);
	p->bytes += bytes;
	if (json_array_size(p->events) >= p->limit || p->bytes >= ANSWER_BYTES)
		journal_reader_pause(p->reader, true);
	if (!p->soon)
		timer_start(p->timer, 0, 0);
	p->soon = true;
}

static size_t bundle_bytes(const struct mime_bundle *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		n += b->parts[i].len;
	return n;
}

static size_t event_bytes(const struct journal_event *e)
{
	return e->len + (e->display ? bundle_bytes(e->display->bundle) : 0) +
	       (e->result ? bundle_bytes(&e->result->result) : 0);
}

static void on_event(void *ctx, const struct journal_event *e)
{
	struct poll *p = ctx;
	const struct events_query *query = p->exchange->query;
	if (!stream_shows(query->only, query->quiet, e->kind))
		return;
	keep(p, event_bytes(e), journal_event_encode(e));
}

static void on_gap(void *ctx, const struct journal_gap *gap)
{
	struct poll *p = ctx;
	keep(p, 0, journal_gap_encode(gap));
}

static void poll_begin(struct exchange *x, struct journal_request journal)
{
	const struct events_query *query = x->query;
	AUTO(fail_release) struct fail f = { 0 };
	struct poll *p = new0(struct poll);
	p->exchange = x;
	p->limit = (size_t)query->limit;
	p->events = json_array();
	journal.on_event = on_event;
	journal.on_gap = on_gap;
	journal.ctx = p;
	x->data = p;
	x->closed = poll_free;
	p->reader = manager_read_journal(x->api->spec.manager, &journal, &f);
	if (!p->reader) {
		exchange_fail(x, &f);
		return;
	}
	p->timer = timer_new(x->api->spec.loop, answer, p);
	/* Events that are there already arrive in the next turns of the loop. */
	timer_start(p->timer, (uint64_t)query->wait * 1000, 0);
}

/* --- the routes ---------------------------------------------------------------------------------------------------- */

static void events_defaults(const struct exchange *x UNUSED, void *query, void *args UNUSED)
{
	struct events_query *q = query;
	q->limit = EVENTS_MAX;
}

static bool check_only(struct exchange *x, const char *only)
{
	bool known = !only;
	for (int kind = JOURNAL_SESSION_CREATED; kind < JOURNAL_GAP; kind++)
		known |= stream_shows(only, /* quiet= */ false, (enum journal_kind)kind);
	if (!known)
		exchange_problem(
			x, 400, "The query: only is neither an event nor the first word of one.",
			"Use session, run, files, checkpoint, network or limit, or one event such as run.ended.");
	return known;
}

static void read_events(struct exchange *x, struct journal_request journal, bool ended)
{
	const struct events_query *query = x->query;
	if (!check_only(x, query->only) || stream_after(x, query->after, &journal.after) < 0)
		return;
	if (!exchange_accepts(x, "text/event-stream")) {
		poll_begin(x, journal);
		return;
	}
	stream_begin(x, &(struct stream_spec){ .journal = journal,
					       .by_position = !journal.session_id,
					       .ended = ended,
					       .only = query->only,
					       .quiet = query->quiet });
}

static void read_session(struct exchange *x, bool ended)
{
	const struct events_query *query = x->query;
	read_events(x,
		    (struct journal_request){
			    .conversation = x->conversation, .session_id = x->session, .run = (uint64_t)query->run },
		    ended);
}

/* The session is here now, even if another server had it before. */
static void session_is_here(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct exchange *x = ctx;
	x->op = NULL;
	/* The journal of a session that has ended here can still be read, so that readers that connect again learn the end. */
	if (f && f->kind != FAIL_DIED && f->kind != FAIL_NOT_FOUND) {
		exchange_fail(x, f);
		return;
	}
	if (details) {
		free(x->session);
		x->session = xstrdup(details->session.id);
	}
	read_session(x, /* ended= */ f);
}

static void get_session_events(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct session_place place;
	if (manager_find_session(x->conversation, x->session, &place)) {
		read_session(x, /* ended= */ false);
		return;
	}
	struct info_request request = { .session_id = x->session, .on_done = session_is_here, .ctx = x };
	exchange_await(x, manager_info(x->conversation, &request, &f), &f);
}

static void get_all_events(struct exchange *x)
{
	const struct events_query *query = x->query;
	struct journal_request journal = { .conversation = x->conversation };
	if (query->all)
		journal = (struct journal_request){ .tenant = x->caller.tenant };
	conversation_wake(x->conversation);
	read_events(x, journal, /* ended= */ false);
}

static const struct route_answer answers[] = {
	{ 200, "Events", NULL, "The events, oldest first, and the number to continue after." },
	{ 200, NULL, "text/event-stream", "The same as a stream: the id of each event is its number." },
	{ 0 },
};

const struct route routes_events[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/events",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "readEvents",
	  .tag = "events",
	  .summary = "Read the events of a session",
	  .text = "Any number of readers can read, each from any number. If events are missing, the reader gets one "
		  "event `gap` with the number to continue from and the current state. The stream ends after `session.ended`, "
		  "which can still be read after the end, up to a restart of the server.",
	  .query = events_table,
	  .query_size = sizeof(struct events_query),
	  .defaults = events_defaults,
	  .answers = answers,
	  .example = "?after=0&limit=20",
	  .handle = get_session_events },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/events",
	  .scope = SCOPE_SESSIONS_READ,
	  .name = "readAllEvents",
	  .tag = "events",
	  .summary = "Read the events of all sessions of the conversation, or of the tenant",
	  .text = "Numbers are positions in this server's journal of all sessions.",
	  .query = events_table,
	  .query_size = sizeof(struct events_query),
	  .defaults = events_defaults,
	  .answers = answers,
	  .example = "?after=0&wait=30",
	  .handle = get_all_events },
	{ 0 },
};

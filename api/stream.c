#include "api/stream.h"

#include "api/host.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/parse.h"
#include "http/events.h"
#include "manager/json/codec.h"

/* Above this, the reader is paused until the client has read everything. */
#define UNSENT_MAX (256u << 10)
/* Clients of MCP accept streams in every request, and few answers are one. */
#define MCP_PATH "/mcp"

struct stream {
	struct exchange *exchange;
	struct stream_spec spec;
	struct journal_reader *reader;
	struct timer *timer;
	char *only;
	bool paused;
};

static void stream_free(struct exchange *x)
{
	struct stream *s = x->data;
	x->data = NULL;
	journal_reader_free(s->reader);
	timer_free(s->timer);
	free(s->only);
	free(s);
}

static void end(struct stream *s)
{
	struct exchange *x = s->exchange;
	struct http_request *r = take_ptr(x->request);
	exchange_end(x);
	http_reply_end(r);
}

static void on_comment(void *ctx)
{
	struct stream *s = ctx;
	AUTO(buf_release) struct buf text = { 0 };
	http_event_add_comment(&text, "alive");
	(void)http_reply_write(s->exchange->request, text.data, text.len);
}

static void pause_reader(struct stream *s, bool pause)
{
	if (s->paused != pause)
		journal_reader_pause(s->reader, pause);
	s->paused = pause;
}

static void on_drained(void *ctx)
{
	pause_reader(ctx, /* pause= */ false);
}

/* Takes the event. */
static void write_event(struct stream *s, uint64_t id, const char *name, json_t *event)
{
	AUTO(buf_release) struct buf data = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *json = event;
	char number[24];
	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	json_print(&data, json);
	http_event_add(&text, number, name, data.data, data.len);
	(void)http_reply_write(s->exchange->request, text.data, text.len);
	timer_start(s->timer, STREAM_COMMENT_MS, STREAM_COMMENT_MS);
	if (http_reply_queued(s->exchange->request) > UNSENT_MAX)
		pause_reader(s, /* pause= */ true);
}

bool stream_shows(const char *only, bool quiet, enum journal_kind kind)
{
	if (quiet && (kind == JOURNAL_RUN_OUTPUT || kind == JOURNAL_RUN_DISPLAY || kind == JOURNAL_RUN_CLEARED))
		return false;
	const char *name = journal_kind_name(kind);
	size_t n = only ? strlen(only) : 0;
	return !only || (strncmp(name, only, n) == 0 && (name[n] == '.' || !name[n]));
}

static void on_event(void *ctx, const struct journal_event *e)
{
	struct stream *s = ctx;
	if (stream_shows(s->only, s->spec.quiet, e->kind) && e->number > s->spec.known)
		write_event(s, s->spec.by_position ? e->position : e->number, journal_kind_name(e->kind),
			    journal_event_encode(e));
	bool run_ended = s->spec.until_end && e->kind == JOURNAL_RUN_ENDED;
	bool session_ended = s->spec.journal.session_id && e->kind == JOURNAL_SESSION_ENDED;
	if (run_ended || session_ended)
		end(s);
}

bool stream_gap_is_last(const struct journal_gap *gap, uint64_t run)
{
	for (size_t i = 0; i < gap->n_sessions; i++) {
		const struct journal_session *s = &gap->sessions[i];
		for (size_t k = 0; run && k < s->n_runs; k++)
			if (s->runs[k].number == run)
				return false;
		if (!run && !streq(s->status, "ended"))
			return false;
	}
	return true;
}

static void on_gap(void *ctx, const struct journal_gap *gap)
{
	struct stream *s = ctx;
	write_event(s, s->spec.by_position ? gap->position : gap->number, journal_kind_name(JOURNAL_GAP),
		    journal_gap_encode(gap));
	if (s->spec.journal.session_id && stream_gap_is_last(gap, s->spec.journal.run))
		end(s);
}

/* --- limits -------------------------------------------------------------------------------------------------------- */

bool stream_is_wanted(const struct exchange *x)
{
	return http_request_head(x->request)->upgrade || exchange_accepts(x, "text/event-stream");
}

static void on_counted(void *ctx, const char *id, const struct fail *f)
{
	struct exchange *x = ctx;
	x->op = NULL;
	if (f) {
		exchange_fail(x, f);
		return;
	}
	x->slot = xstrdup(id);
	x->next(x);
}

void stream_count(struct exchange *x, void (*next)(struct exchange *x))
{
	if (!x->caller.max_streams || !stream_is_wanted(x) || streq(x->path, MCP_PATH)) {
		next(x);
		return;
	}
	struct claim_stream_request request = { .tenant = x->caller.tenant, .on_done = on_counted, .ctx = x };
	x->next = next;
	x->op = manager_claim_stream(x->api->spec.manager, &request);
}

static int check_limit(const struct exchange *x, struct fail *f)
{
	uint64_t n = 0, most = x->api->spec.config->serve_max_streams_per_key;
	list_for_each(other, &x->api->exchanges, struct exchange, node)
		if (other->is_stream && other->caller.key && x->caller.key)
			n += streq(other->caller.key, x->caller.key);
	if (n < most)
		return 0;
	fail_set(f, FAIL_LIMIT, "This key has %llu open streams, the maximum.", (unsigned long long)most);
	return fail_hint(f, "Close one, or use another key.");
}

bool stream_admit(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (check_limit(x, &f) < 0) {
		exchange_fail(x, &f);
		return false;
	}
	x->is_stream = true;
	x->api->n_streams++;
	return true;
}

/* --- events -------------------------------------------------------------------------------------------------------- */

void stream_begin(struct exchange *x, const struct stream_spec *spec)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (!stream_admit(x))
		return;
	struct stream *s = new0(struct stream);
	s->exchange = x;
	s->spec = *spec;
	s->only = spec->only ? xstrdup(spec->only) : NULL;
	s->spec.journal.on_event = on_event;
	s->spec.journal.on_gap = on_gap;
	s->spec.journal.ctx = s;
	s->reader = manager_read_journal(x->api->spec.manager, &s->spec.journal, &f);
	if (s->reader && spec->ended && !journal_reader_is_behind(s->reader)) {
		s->reader = journal_reader_free(s->reader);
		cause_no_session(&f, x->session);
	}
	if (!s->reader) {
		free(s->only);
		free(s);
		exchange_fail(x, &f);
		return;
	}
	s->timer = timer_new(x->api->spec.loop, on_comment, s);
	timer_start(s->timer, STREAM_COMMENT_MS, STREAM_COMMENT_MS);
	x->data = s;
	x->closed = stream_free;
	http_fields_add(&fields, "Content-Type", "text/event-stream");
	http_fields_add(&fields, "Cache-Control", "no-store");
	http_fields_add(&fields, "X-Accel-Buffering", "no");
	http_reply_on_drained(x->request, on_drained, s);
	if (!exchange_begin(x, 200, &fields, /* length= */ -1))
		end(s);
}

int stream_after(struct exchange *x, const char *after, uint64_t *ret)
{
	const char *last = exchange_field(x, "last-event-id");
	const char *text = last ? last : after;
	*ret = 0;
	if (!text)
		return 0;
	if (streq(text, "now")) {
		*ret = JOURNAL_NOW;
		return 0;
	}
	if (parse_u64(text, ret) == 0 && *ret < (1ull << 53))
		return 0;
	exchange_problem(x, 400, "The number to continue after is not valid.",
			 "Use the id of an event, 0 for all events, or \"now\".");
	return -1;
}

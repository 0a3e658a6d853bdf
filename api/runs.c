/* Routes of runs: start, read, interrupt, answer. A run is recorded from its start on, so a client can leave and read
 * its result later. */
#include "api/runs.h"
#include "api/attached.h"
#include "api/host.h"
#include "api/lookup.h"
#include "api/problem.h"
#include "api/replay.h"
#include "api/route.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/parse.h"
#include "http/server.h"
#include "manager/json/codec.h"

#define WAIT_MAX 300
#define TIMEOUT_MAX 604800
#define PAGE_DEFAULT 50
#define RESTART_WAIT_MS 60000
#define RESTART_TIMEOUT 300

struct run_body {
	const char *kind, *text, *cwd, *by, *branch;
	int64_t timeout, rows, cols;
	json_t *env;
	bool interactive, restart, attached;
};

struct input_body {
	const char *text;
};

struct list_query {
	int64_t before, limit;
};

static const char *kind_choice(size_t i)
{
	static const char *const kinds[] = { "cell", "command" };
	return i < ARRAY_LEN(kinds) ? kinds[i] : NULL;
}

static const struct arg run_table[] = {
	{ "kind", ARG_STRING, offsetof(struct run_body, kind), .max = 16,
	  .description = "A cell for the interpreter (default), or a bash command.", .example = "\"cell\"",
	  .choice = kind_choice },
	{ "text", ARG_STRING, offsetof(struct run_body, text), ARG_REQUIRED, .description = "The code.",
	  .example = "\"1 + 1\"" },
	{ "timeout", ARG_INT, offsetof(struct run_body, timeout), .min = 0, .max = TIMEOUT_MAX,
	  .description = "Seconds after which the run is interrupted; 0 = as long as the session lives. Default: "
			 "CONTAINER_EXECUTION_TIMEOUT_SECONDS.",
	  .example = "60" },
	{ "env", ARG_TEXTS, offsetof(struct run_body, env), .description = "Environment variables for this run alone.",
	  .example = "{\"DEBUG\": \"1\"}" },
	{ "cwd", ARG_STRING, offsetof(struct run_body, cwd), ARG_NONEMPTY, .max = 4095,
	  .description = "Working directory of a command.", .example = "\"/tmp\"" },
	{ "interactive", ARG_BOOL, offsetof(struct run_body, interactive),
	  .description = "The run may prompt for input; a command gets a terminal.", .example = "true" },
	{ "rows", ARG_INT, offsetof(struct run_body, rows), .min = 0, .max = RUN_ROWS_MAX,
	  .description = "Rows of that terminal.", .example = "24" },
	{ "cols", ARG_INT, offsetof(struct run_body, cols), .min = 0, .max = RUN_COLS_MAX,
	  .description = "Columns of that terminal.", .example = "80" },
	{ "branch", ARG_STRING, offsetof(struct run_body, branch), ARG_NONEMPTY, .max = 64,
	  .description = "Run the cell in this branch of the interpreter, which is made if there is none.",
	  .example = "\"fill_gaps\"" },
	{ "restart", ARG_BOOL, offsetof(struct run_body, restart), .description = "Run the cell on a new interpreter.",
	  .example = "true" },
	{ "attached", ARG_BOOL, offsetof(struct run_body, attached),
	  .description = "Interrupt the run if the client disconnects before its end. Needs a wait or a stream. A "
			 "stream has everything that the run shows and stays open at prompts.",
	  .example = "true" },
	{ "by", ARG_STRING, offsetof(struct run_body, by), ARG_NONEMPTY, .max = 64,
	  .description = "The program that starts the run, as text for people.", .example = "\"my script\"" },
	{ 0 },
};

static const struct arg input_table[] = {
	{ "text", ARG_STRING, offsetof(struct input_body, text), ARG_REQUIRED, .max = RUN_INPUT_MAX,
	  .description = "The input, with named keys in < >, such as <Ctrl-C> or <Tab>.", .example = "\"yes\"" },
	{ 0 },
};

static const struct arg list_table[] = {
	{ "before", ARG_INT, offsetof(struct list_query, before), .min = 0, .max = UINT32_MAX,
	  .description = "Only runs with a lower number.", .example = "20" },
	{ "limit", ARG_INT, offsetof(struct list_query, limit), .min = 1, .max = RUNS_PAGE_MAX,
	  .description = "At most this many runs; default: 50.", .example = "50" },
	{ 0 },
};

/* --- a run that is waited for -------------------------------------------------------------------------------------- */

/* A run that this exchange has started. */
struct started {
	uint64_t number;
	bool attached, stream;
	uint64_t wait_ms; /* Prefer: wait; 0 = answer at once */
	struct journal_reader *reader;
	struct timer *timer;
	bool over; /* its end was seen */
};

static void ignore(void *ctx UNUSED, const struct run_result *result UNUSED, const struct fail *f UNUSED)
{
}

/* The client of an attached run has disconnected. */
static void interrupt_left(struct exchange *x, uint64_t number)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct run_request request = {
		.session_id = x->session, .run = number, .interrupt = true, .detached = true, .on_done = ignore
	};
	if (!x->api->closing)
		(void)manager_run(x->conversation, &request, &f);
}

static void started_free(struct exchange *x)
{
	struct started *s = take_ptr(x->data);
	journal_reader_free(s->reader);
	timer_free(s->timer);
	if (s->attached && s->number && !s->over)
		interrupt_left(x, s->number);
	free(s);
}

static void reply_accepted(struct exchange *x, uint64_t number)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_addf(&fields, "Location", "/v1/sessions/%s/runs/%llu", x->session, (unsigned long long)number);
	exchange_reply_fields(x, 202, &fields, json_pack("{s:I, s:s}", "run", (json_int_t)number, "state", "running"));
}

/* A repeated request names the run again, and its client then reads the end, perhaps from another server. */
static bool may_repeat(const struct exchange *x)
{
	return x->replay != NULL;
}

/* known: the number of the last event that the client has. */
static void begin_stream(struct exchange *x, uint64_t number, uint64_t known)
{
	stream_begin(x, &(struct stream_spec){ .journal = { .conversation = x->conversation,
							    .session_id = x->session,
							    .run = number,
							    .peek = may_repeat(x) },
					       .until_end = true,
					       .known = known });
}

/* A long record is not sent while clients have not read this much: each answer is a copy. */
#define LONG_RECORD (256u << 10)
#define UNREAD_MAX (32u << 20)

static size_t record_size(const struct run_record *r)
{
	size_t n = r->len;
	for (size_t i = 0; i < r->n_parts; i++) {
		n += r->parts[i].len;
		for (size_t k = 0; r->parts[i].bundle && k < r->parts[i].bundle->n; k++)
			n += r->parts[i].bundle->parts[k].len;
	}
	return n;
}

static void reply_record(struct exchange *x, const struct run_record *record)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	size_t unread = http_server_queued(x->api->server) + http_server_queued(x->api->local_server);
	if (record_size(record) <= LONG_RECORD || unread <= UNREAD_MAX) {
		exchange_reply(x, 200, run_record_encode(record, /* parts= */ true));
		return;
	}
	http_fields_add(&fields, "Retry-After", "5");
	exchange_reply_problem(x, 503, &fields,
			       problem_plain(503, "Clients of this server have not read more than 32 MiB of answers.",
					     "Read the answers of other requests first, then try again."));
}

static void reply_run(struct exchange *x, const struct run_record *record)
{
	uint64_t known;
	if (!x->streams)
		reply_record(x, record);
	else if (stream_after(x, NULL, &known) == 0)
		begin_stream(x, record->number, known);
}

static void fetch_again(struct exchange *x);

static void on_taken_over(void *ctx, const struct session_details *details UNUSED, const struct fail *f UNUSED)
{
	struct exchange *x = ctx;
	x->op = NULL;
	x->taken_over = true;
	fetch_again(x);
}

/* The session may have come from a server that ended. PID 1 answers after it has repeated what it knows of runs. */
static void take_over(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct info_request request = { .session_id = x->session, .on_done = on_taken_over, .ctx = x };
	x->op = manager_info(x->conversation, &request, &f);
	if (!x->op)
		on_taken_over(x, NULL, &f);
}

static void on_record(void *ctx, const struct run_record *record, const struct fail *f)
{
	struct exchange *x = ctx;
	/* The store may know less of the run than PID 1, or nothing. */
	bool unsure = f ? cause_of(f) == CAUSE_NO_RUN : !record->journal;
	if (unsure && !x->taken_over) {
		x->op = NULL;
		take_over(x);
	} else if (exchange_resume(x, f)) {
		x->on_run(x, record);
	}
}

static void fetch_again(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct run_record_request request = {
		.session_id = x->session, .number = x->run, .peek = may_repeat(x), .on_done = on_record, .ctx = x
	};
	exchange_await(x, manager_run_record(x->conversation, &request, &f), &f);
}

void runs_fetch(struct exchange *x, uint64_t number, void (*fn)(struct exchange *x, const struct run_record *record))
{
	x->run = number;
	x->on_run = fn;
	fetch_again(x);
}

static void on_wait_over(void *ctx)
{
	struct exchange *x = ctx;
	struct started *s = x->data;
	uint64_t number = s->number;
	if (s->over) {
		s->timer = timer_free(s->timer);
		s->reader = journal_reader_free(s->reader);
		runs_fetch(x, number, reply_run);
		return;
	}
	reply_accepted(x, number);
}

static void see_end(struct started *s)
{
	s->over = true;
	timer_start(s->timer, 0, 0);
}

static void on_event(void *ctx, const struct journal_event *e)
{
	struct exchange *x = ctx;
	if (e->kind == JOURNAL_RUN_ENDED)
		see_end(x->data);
}

static void on_gap(void *ctx, const struct journal_gap *gap)
{
	struct exchange *x = ctx;
	struct started *s = x->data;
	if (stream_gap_is_last(gap, s->number))
		see_end(s);
}

static void wait_for_end(struct exchange *x, struct started *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct journal_request journal = { .conversation = x->conversation,
					   .session_id = x->session,
					   .run = s->number,
					   .peek = true, /* the record is read next */
					   .on_event = on_event,
					   .on_gap = on_gap,
					   .ctx = x };
	s->reader = manager_read_journal(x->api->spec.manager, &journal, &f);
	if (!s->reader) {
		exchange_fail(x, &f);
		return;
	}
	s->timer = timer_new(x->api->spec.loop, on_wait_over, x);
	timer_start(s->timer, s->wait_ms, 0);
}

/* If the client disconnects while it waits, a repeated request gets this answer. */
static void note_accepted(struct exchange *x, uint64_t number)
{
	AUTO(freep) char *location = xasprintf("/v1/sessions/%s/runs/%llu", x->session, (unsigned long long)number);
	AUTO(freep) char *body = xasprintf("{\"run\":%llu,\"state\":\"running\"}", (unsigned long long)number);
	replay_note(x, 202, location, body);
}

/* The client may leave before on_started() is called. */
static void on_number(void *ctx, uint64_t number)
{
	struct exchange *x = ctx;
	struct started *s = x->data;
	s->number = number;
	note_accepted(x, number);
}

static void on_started(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct exchange *x = ctx;
	struct started *s = x->data;
	if (!exchange_resume(x, f))
		return;
	s->number = result->run;
	lookup_learn(x);
	if (s->stream) {
		uint64_t number = s->number;
		started_free(x);
		x->closed = NULL;
		begin_stream(x, number, /* known= */ 0);
	} else if (s->wait_ms) {
		wait_for_end(x, s);
	} else {
		reply_accepted(x, s->number);
	}
}

/* The seconds of `Prefer: wait=N`; 0 = none. */
static uint64_t preferred_wait(const struct exchange *x)
{
	struct http_members m = { 0 };
	size_t n;
	uint64_t seconds;
	for (const char *p; (p = http_fields_member(&http_request_head(x->request)->fields, "prefer", &m, &n));) {
		AUTO(freep) char *one = xstrndup(p, n);
		if (strncmp(one, "wait=", 5) == 0 && parse_u64(one + 5, &seconds) == 0)
			return MIN(seconds, (uint64_t)WAIT_MAX);
	}
	return 0;
}

static void send_run(struct exchange *x, struct run_request *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	request->session_id = x->session;
	request->detached = true;
	request->has_wait = true;
	request->on_started = on_number;
	request->on_done = on_started;
	request->ctx = x;
	exchange_await(x, manager_run(x->conversation, request, &f), &f);
}

/* Reads from the request how long its answer waits. */
static struct started *new_started(struct exchange *x)
{
	struct started *s = new0(struct started);
	s->stream = exchange_accepts(x, "text/event-stream");
	s->wait_ms = preferred_wait(x) * 1000;
	x->data = s;
	x->closed = started_free;
	return s;
}

/* The program that starts a run, for people. */
static const char *by_of(const struct exchange *x, const char *wanted)
{
	if (wanted)
		return wanted;
	return x->caller.key ? "rest" : "socket";
}

void runs_start(struct exchange *x, struct run_request *request)
{
	request->by = by_of(x, NULL);
	new_started(x);
	send_run(x, request);
}

static void post_run(struct exchange *x)
{
	const struct run_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) struct env_var *env = NULL;
	bool stream = exchange_accepts(x, "text/event-stream");
	uint64_t wait_ms = preferred_wait(x) * 1000;
	struct run_request request = { .kind = streq(body->kind, "command") ? RUN_TERMINAL : RUN_CODE,
				       .text = body->text,
				       .len = strlen(body->text),
				       .timeout_seconds = (uint64_t)body->timeout,
				       .cwd = body->cwd,
				       .interactive = body->interactive,
				       .rows = (int)body->rows,
				       .cols = (int)body->cols,
				       .branch = body->branch,
				       .restart = body->restart,
				       .by = by_of(x, body->by) };
	if (!streq(body->kind, "cell") && !streq(body->kind, "command"))
		fail_set(&f, FAIL_INVALID, "kind: '%.16s' is neither \"cell\" nor \"command\"", body->kind);
	else if (body->attached && !stream && !wait_ms)
		fail_set(&f, FAIL_INVALID, "an attached run needs `Prefer: wait=N` or a stream of events");
	else if (request.restart && request.kind != RUN_CODE)
		fail_set(&f, FAIL_INVALID, "restart is only for cells");
	else
		env_decode(body->env, &env, &request.n_env, &f);
	if (f.kind) {
		exchange_fail(x, &f);
		return;
	}
	request.env = env;
	if (body->attached && stream) {
		attached_begin(x, &request);
		return;
	}
	new_started(x)->attached = body->attached;
	send_run(x, &request);
}

/* An empty cell on a new interpreter. The answer waits for it unless the client prefers otherwise. */
static void post_restart(struct exchange *x)
{
	struct started *s = new_started(x);
	if (!s->wait_ms)
		s->wait_ms = RESTART_WAIT_MS;
	send_run(x, &(struct run_request){ .kind = RUN_CODE,
					   .text = "",
					   .restart = true,
					   .timeout_seconds = RESTART_TIMEOUT,
					   .by = by_of(x, NULL) });
}

/* --- existing runs ------------------------------------------------------------------------------------------------- */

bool runs_take_number(struct exchange *x, uint64_t *ret)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (parse_u64(x->captures[1], ret) == 0 && *ret > 0 && *ret <= UINT32_MAX)
		return true;
	cause_set(&f, FAIL_NOT_FOUND, CAUSE_NO_RUN, "There is no run '%.32s'.", x->captures[1]);
	exchange_fail(x, &f);
	return false;
}

static void on_runs(void *ctx, const struct run_record *v, size_t n, bool more, const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, run_record_encode(&v[i], /* parts= */ false));
	exchange_reply(x, 200, json_pack("{s:o, s:b}", "runs", list, "more", more));
}

static void list_defaults(const struct exchange *x UNUSED, void *query, void *args UNUSED)
{
	struct list_query *q = query;
	q->limit = PAGE_DEFAULT;
}

static void get_runs(struct exchange *x)
{
	const struct list_query *query = x->query;
	AUTO(fail_release) struct fail f = { 0 };
	struct runs_request request = { .session_id = x->session,
					.before = (uint64_t)query->before,
					.limit = (size_t)query->limit,
					.on_done = on_runs,
					.ctx = x };
	exchange_await(x, manager_runs(x->conversation, &request, &f), &f);
}

static void get_run(struct exchange *x)
{
	uint64_t number;
	if (!runs_take_number(x, &number))
		return;
	/* A stream of a run that does not exist would never end, so its record is read first. */
	x->streams = exchange_accepts(x, "text/event-stream");
	runs_fetch(x, number, reply_run);
}

static void on_run_controlled(void *ctx, const struct run_result *result UNUSED, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply_empty(x, 204);
}

static void control_run(struct exchange *x, struct run_request request)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (!runs_take_number(x, &request.run))
		return;
	if (request.interrupt && attached_interrupt(x, request.run)) {
		exchange_reply_empty(x, 204);
		return;
	}
	request.client = attached_client(x, request.run);
	request.session_id = x->session;
	request.detached = true;
	request.has_wait = true;
	request.on_done = on_run_controlled;
	request.ctx = x;
	exchange_await(x, manager_run(x->conversation, &request, &f), &f);
}

static void post_interrupt(struct exchange *x)
{
	control_run(x, (struct run_request){ .interrupt = true });
}

static void post_input(struct exchange *x)
{
	const struct input_body *body = x->args;
	control_run(x, (struct run_request){ .input = body->text, .input_len = strlen(body->text) });
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static void run_defaults(const struct exchange *x, void *query UNUSED, void *args)
{
	struct run_body *body = args;
	body->kind = "cell";
	body->timeout = (int64_t)x->api->spec.config->execution_timeout;
}

static const struct route_answer post_answers[] = {
	{ 200, "Run", NULL, "The run has ended within the preferred wait." },
	{ 200, NULL, "text/event-stream", "The events of the run, up to its end." },
	{ 202, "Run", NULL, "The run was started; its record is at Location." },
	{ 0 },
};
static const struct route_answer list_answers[] = { { 200, "Runs", NULL, "The runs, newest first." }, { 0 } };
static const struct route_answer run_answers[] = {
	{ 200, "Run", NULL, "The run, with everything it has shown." },
	{ 200, NULL, "text/event-stream", "The events of the run, up to its end." },
	{ 0 },
};
static const struct route_answer control_answers[] = { { 204, NULL, NULL, "Sent." }, { 0 } };

const struct route routes_runs[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/runs",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "startRun",
	  .tag = "runs",
	  .summary = "Run a cell or a command",
	  .text = "With `Prefer: wait=N`, the answer waits up to N seconds for the end. With `Accept: text/event-stream`, "
		  "it is the stream of the run's events, and the last one, `run.ended`, has its value as `result`. Otherwise it "
		  "comes at once, and GET on Location reads the run.",
	  .body = run_table,
	  .body_size = sizeof(struct run_body),
	  .defaults = run_defaults,
	  .answers = post_answers,
	  .example = "-H 'Prefer: wait=30' --json '{\"text\": \"1 + 1\"}'",
	  .handle = post_run },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/restart",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "restartInterpreter",
	  .tag = "runs",
	  .summary = "Start a new interpreter, without the variables of the old one",
	  .text = "Cells that run are interrupted. The answer waits up to 60 seconds, or as `Prefer: wait=N` says.",
	  .answers = post_answers,
	  .example = "-X POST",
	  .handle = post_restart },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/runs",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "listRuns",
	  .tag = "runs",
	  .summary = "List the runs of a session",
	  .query = list_table,
	  .query_size = sizeof(struct list_query),
	  .defaults = list_defaults,
	  .answers = list_answers,
	  .example = "?limit=10",
	  .handle = get_runs },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/runs/{run}",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "getRun",
	  .tag = "runs",
	  .summary = "Read a run, as often as wanted",
	  .answers = run_answers,
	  .example = "-N -H 'Accept: text/event-stream'",
	  .handle = get_run },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/runs/{run}/interrupt",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "interruptRun",
	  .tag = "runs",
	  .summary = "Interrupt a run, as Ctrl-C does",
	  .answers = control_answers,
	  .example = "-X POST",
	  .handle = post_interrupt },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/runs/{run}/input",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "answerRun",
	  .tag = "runs",
	  .summary = "Send input to an interactive run",
	  .body = input_table,
	  .body_size = sizeof(struct input_body),
	  .answers = control_answers,
	  .handle = post_input },
	{ 0 },
};

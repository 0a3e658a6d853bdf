/* Records of runs: the recorder of a line, and views of what it has recorded. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/run.h"
#include "manager/registry/journal-private.h"
#include "manager/store/store.h"

/* Output that arrives in small pieces is gathered in events of this size, as long as nobody has read them. */
#define GATHER_BYTES (16u << 10)
/* A display, a value or a text that would take more than this share of a session's memory is not kept. */
#define SHARE 4
/* Ends of detached runs that PID 1 keeps for a session until they are fetched. */
#define DETACHED_MAX 64

static size_t share_of(const struct journal *j)
{
	return (size_t)(j->journals->config->record_max_size_per_session / SHARE);
}

static size_t weight(const struct mime_bundle *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		n += b->parts[i].len;
	return n;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* --- what stays -------------------------------------------------------------------------------------------------- */

static void charge(struct record *r)
{
	const struct run_result *e = &r->result;
	size_t n = sizeof(*r) + r->len + (r->by ? strlen(r->by) : 0) + (r->detail ? strlen(r->detail) : 0) +
		   weight(&e->result);
	const char *const texts[] = { e->error_type, e->error_message, e->error_traceback, e->detail, e->lost };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		n += texts[i] ? strlen(texts[i]) : 0;
	for (size_t i = 0; i < r->n_answers; i++)
		n += strlen(r->answers[i].content);
	journal_charge(r->journal, &r->charged, n);
}

static void forget_answers(struct record *r)
{
	while (r->n_answers)
		free((char *)r->answers[--r->n_answers].content);
}

static void forget_value(struct record *r)
{
	r->dropped += weight(&r->result.result);
	mime_bundle_release(&r->result.result);
	r->result.result = (struct mime_bundle){ 0 };
	r->value_at = 0;
}

/* Everything except number, times and ending. */
static void forget_texts(struct record *r)
{
	free(take_ptr(r->text));
	r->len = 0;
	forget_value(r);
	free(take_ptr(r->result.error_traceback));
	free(take_ptr(r->result.lost));
	r->result.restored = restored_free(r->result.restored);
	forget_answers(r);
	charge(r);
}

void record_lost(struct record *r, const struct event *e)
{
	r->dropped += e->kind == JOURNAL_RUN_OUTPUT ? e->text.len : weight(&e->bundle);
	if (r->state != RECORD_ENDED || !list_empty(&r->events))
		return;
	forget_texts(r);
	list_append(&r->journal->bare, &r->in_bare);
}

void record_free(struct record *r)
{
	list_remove(&r->node);
	list_remove(&r->in_bare);
	r->journal->n_records--;
	r->journal->n_unfetched -= r->state == RECORD_ENDED && !r->fetched;
	journal_charge(r->journal, &r->charged, 0);
	live_release(&r->live);
	run_result_release(&r->result);
	forget_answers(r);
	free(r->by);
	free(r->branch);
	free(r->text);
	free(r->detail);
	free(r);
}

/* The last record with at most this number, or the head. Records are sorted by number, and the newest are wanted most
 * often. */
static struct list *place_of(struct journal *j, uint64_t number)
{
	struct list *at = j->records.prev;
	while (at != &j->records && list_entry(at, struct record, node)->number > number)
		at = at->prev;
	return at;
}

struct record *record_find(struct journal *j, uint64_t number)
{
	struct list *at = place_of(j, number);
	struct record *r = at == &j->records ? NULL : list_entry(at, struct record, node);
	return r && r->number == number ? r : NULL;
}

/* --- the recorder ------------------------------------------------------------------------------------------------ */

static void show_output(void *ctx, int stream, const char *text, size_t n)
{
	struct record *r = ctx;
	struct journal *j = r->journal;
	struct event *last = list_empty(&j->events) ? NULL : list_entry(j->events.prev, struct event, in_journal);
	bool joins = last && last->record == r && last->kind == JOURNAL_RUN_OUTPUT && last->stream == stream &&
		     !last->sealed && last->text.len + n <= GATHER_BYTES;
	struct event *e = joins ? last : event_new(j, JOURNAL_RUN_OUTPUT, r);
	e->stream = stream;
	buf_add(&e->text, text, n);
	if (!joins) {
		event_publish(e);
		return;
	}
	journal_charge(j, &e->charged, e->charged + n);
	journals_bound(j->journals, j);
}

static void show_display(void *ctx, const struct shown_display *display)
{
	struct record *r = ctx;
	struct event *e = event_new(r->journal, display->clear ? JOURNAL_RUN_CLEARED : JOURNAL_RUN_DISPLAY, r);
	if (!display->clear) {
		e->display_id = copy(display->id);
		e->update = display->update;
		if (weight(display->bundle) <= share_of(r->journal))
			mime_bundle_copy(&e->bundle, display->bundle);
		else
			r->dropped += weight(display->bundle);
	}
	event_publish(e);
}

static void set_state(struct record *r, enum record_state state)
{
	r->state = state;
	if (state == RECORD_RUNNING && !r->started_ms) {
		r->started_ms = store_now_ms();
		event_publish(event_new(r->journal, JOURNAL_RUN_STARTED, r));
	}
}

/* Output proves that a run has started, even if the line counted it as queued. */
static void note_start(struct record *r)
{
	if (!r->started_ms)
		set_state(r, RECORD_RUNNING);
}

static struct record *on_queued(void *ctx, const struct recorded_run *run)
{
	struct journal *j = ctx;
	/* PID 1 replays a run whose end is already recorded. */
	if (record_find(j, run->number))
		return NULL;
	struct record *r = new0(struct record);
	r->journal = j;
	r->number = run->number;
	r->kind = run->kind;
	r->client = run->client;
	r->detached = run->detached;
	r->by = copy(run->by);
	r->branch = copy(run->branch);
	r->queued_ms = store_now_ms();
	if (run->text && run->len <= share_of(j)) {
		r->text = xstrndup(run->text, run->len);
		r->len = run->len;
	}
	r->live = (struct live){ .viewer = { show_output, show_display, r }, .began = true };
	list_init(&r->events);
	list_init(&r->in_bare);
	list_append(place_of(j, r->number)->next, &r->node);
	j->n_records++;
	charge(r);
	event_publish(event_new(j, JOURNAL_RUN_QUEUED, r));
	return r;
}

static void on_known(struct record *r, const struct recorded_run *run)
{
	free(r->by);
	free(r->branch);
	r->by = copy(run->by);
	r->branch = copy(run->branch);
	r->client = run->client;
	r->detached = run->detached;
}

static void on_started(struct record *r)
{
	note_start(r);
}

static void on_output(struct record *r, int stream, const void *data, size_t n)
{
	note_start(r);
	if (!r->skip_until)
		live_output(&r->live, stream, data, n);
}

static void on_tail(struct record *r, int stream, const void *data, size_t n)
{
	if (r->skip_until)
		return;
	live_tail(&r->live, stream, data, n);
	live_cut_tail(&r->live);
}

static void on_display(struct record *r, const struct shown_display *display)
{
	note_start(r);
	if (!r->skip_until)
		live_display(&r->live, display);
}

static void on_value(struct record *r, const struct run_result *partial)
{
	struct run_result *e = &r->result;
	note_start(r);
	if (partial->error_type) {
		free(e->error_type);
		free(e->error_message);
		free(e->error_traceback);
		e->error_type = copy(partial->error_type);
		e->error_message = copy(partial->error_message);
		e->error_traceback = copy(partial->error_traceback);
		r->error_at = r->error_at ? r->error_at : r->journal->last;
	}
	if (partial->result.n) {
		mime_bundle_release(&e->result);
		e->result = (struct mime_bundle){ 0 };
		if (weight(&partial->result) <= share_of(r->journal))
			mime_bundle_copy(&e->result, &partial->result);
		else
			r->dropped += weight(&partial->result);
		r->value_at = r->value_at ? r->value_at : r->journal->last;
	}
	charge(r);
}

static void on_piece(struct record *r, uint64_t stdout_bytes, uint64_t stderr_bytes)
{
	if (!r->skip_until)
		live_mark(&r->live, stdout_bytes, stderr_bytes);
}

static void on_mark(struct record *r, uint32_t mark)
{
	r->mark = MAX(r->mark, mark);
	if (mark >= r->skip_until)
		r->skip_until = 0;
}

static void on_replay(struct record *r, uint32_t told, size_t displays)
{
	r->skip_until = told < r->mark ? r->mark : 0;
	r->mark = MAX(r->mark, told);
	live_replay(&r->live, displays);
}

static void on_prompt(struct record *r, const char *prompt, bool password)
{
	note_start(r);
	r->state = RECORD_WAITING;
	struct event *e = event_new(r->journal, JOURNAL_RUN_PROMPT, r);
	buf_add_str(&e->text, prompt ? prompt : "");
	e->password = password;
	event_publish(e);
}

static void on_answered(struct record *r)
{
	r->state = RECORD_RUNNING;
	event_publish(event_new(r->journal, JOURNAL_RUN_ANSWERED, r));
}

/* Everything but texts and displays, which the events have. */
static void take_result(struct record *r, const struct run_result *from)
{
	struct run_result known = r->result;
	r->has_result = true;
	r->result = *from;
	r->result.prompt = r->result.raw = r->result.notice = NULL;
	r->result.raw_len = 0;
	r->result.parts = NULL;
	r->result.n_parts = 0;
	r->result.displays = NULL;
	r->result.n_displays = 0;
	r->result.earlier = NULL;
	r->result.n_earlier = 0;
	r->result.run = r->number;
	r->result.stdout_text = xstrdup("");
	r->result.stderr_text = xstrdup("");
	r->result.detail = copy(from->detail);
	r->result.lost = copy(from->lost);
	r->result.restored = restored_copy(from->restored);
	/* A timeout may have given the error another name. */
	r->result.error_type = copy(from->error_type ? from->error_type : known.error_type);
	r->result.error_message = copy(from->error_type ? from->error_message : known.error_message);
	r->result.error_traceback = copy(from->error_type ? from->error_traceback : known.error_traceback);
	r->result.result = known.result;
	known.result = (struct mime_bundle){ 0 };
	run_result_release(&known);
	if (r->result.error_type && !r->error_at)
		r->error_at = r->journal->last;
}

static void add_limit(struct record *r, const char *limit)
{
	struct event *e = event_new(r->journal, JOURNAL_LIMIT_REACHED, r);
	buf_add_str(&e->text, limit);
	event_publish(e);
}

static void add_limits(struct record *r)
{
	const struct run_result *e = &r->result;
	if (e->ending == ENDING_OOM || e->oom_kills)
		add_limit(r, "memory");
	if (e->ending == ENDING_TIMEOUT)
		add_limit(r, "time");
	if (e->cause == CAUSE_DISK)
		add_limit(r, "disk");
}

static void on_ended(struct record *r, const struct run_result *result, const struct fail *f)
{
	struct journal *j = r->journal;
	if (r->state == RECORD_ENDED)
		return;
	if (result) {
		note_start(r);
		/* All pieces were recorded. Only an incomplete UTF-8 character may be left. */
		live_end(&r->live, &(struct run_result){ 0 });
		take_result(r, result);
		add_limits(r);
	}
	live_release(&r->live);
	r->live = (struct live){ .viewer = r->live.viewer };
	r->state = RECORD_ENDED;
	r->ended_ms = store_now_ms();
	r->ending = result ? ending_name(result->ending) : f ? "not_run" : "cancelled";
	r->cause = result ? result->cause : f ? cause_of(f) : CAUSE_NONE;
	r->detail = copy(result ? result->detail : f ? f->message : NULL);
	r->fetched = !r->detached || !result;
	j->n_unfetched += !r->fetched;
	charge(r);
	struct event *e = event_new(j, JOURNAL_RUN_ENDED, r);
	e->cause = r->cause;
	event_publish(e);
	if (r->detached && j->dispatch)
		j->spec.on_detached_end(j->spec.ctx, &(struct detached_end){ .number = r->number,
									     .kind = r->kind,
									     .started = r->queued_ms,
									     .ending = r->ending,
									     .result = result });
}

const struct recorder journal_recorder = {
	.queued = on_queued,
	.known = on_known,
	.started = on_started,
	.output = on_output,
	.tail = on_tail,
	.display = on_display,
	.value = on_value,
	.piece = on_piece,
	.mark = on_mark,
	.replay = on_replay,
	.prompt = on_prompt,
	.answered = on_answered,
	.ended = on_ended,
};

/* Runs with a waiter have ended before. The others end with their session. */
void records_end(struct journal *j, const struct fail *why)
{
	AUTO(fail_release) struct fail stopped = { 0 };
	cause_set(&stopped, FAIL_DIED, CAUSE_STOPPED, "the session was stopped");
	const struct fail *f = why ? why : &stopped;
	list_for_each(r, &j->records, struct record, node) {
		if (r->state == RECORD_ENDED)
			continue;
		bool lost = cause_of(f) == CAUSE_TAKEN_OVER;
		struct run_result end = { .ending = lost ? ENDING_SESSION_LOST : ENDING_CONTAINER_DIED,
					  .cause = cause_of(f),
					  .detail = f->message };
		on_ended(r, r->started_ms ? &end : NULL, f);
	}
}

/* --- detached runs ----------------------------------------------------------------------------------------------- */

void record_fetched(struct record *r)
{
	if (r->fetched || r->state != RECORD_ENDED)
		return;
	r->fetched = true;
	r->journal->n_unfetched--;
	if (r->journal->dispatch)
		run_acknowledge(r->journal->dispatch, r->number);
}

void journal_make_room(struct journal *j)
{
	if (j->n_unfetched < DETACHED_MAX)
		return;
	list_for_each(r, &j->records, struct record, node) {
		record_fetched(r);
		if (j->n_unfetched < DETACHED_MAX)
			break;
	}
}

void journal_stored(struct journal *j, uint64_t number)
{
	struct record *r = record_find(j, number);
	if (r)
		record_fetched(r);
}

void journal_note_shown(struct journal *j, uint64_t number, const char *content)
{
	struct record *r = record_find(j, number);
	if (!r || strlen(content) > SHOWN_BYTES_MAX)
		return;
	if (r->n_answers == SHOWN_MAX) {
		free((char *)r->answers[0].content);
		memmove(r->answers, r->answers + 1, --r->n_answers * sizeof(*r->answers));
	}
	r->answers[r->n_answers++] = (struct record_answer){ store_now_ms(), xstrdup(content) };
	charge(r);
	journals_bound(j->journals, j);
}

/* --- views ------------------------------------------------------------------------------------------------------- */

struct run_record record_view(const struct record *r)
{
	bool ended = r->state == RECORD_ENDED;
	return (struct run_record){ .number = r->number,
				    .kind = r->kind,
				    .text = r->text,
				    .len = r->len,
				    .by = r->by,
				    .branch = r->branch,
				    .client = r->client,
				    .detached = r->detached,
				    .state = r->state,
				    .queued_ms = r->queued_ms,
				    .started_ms = r->started_ms,
				    .ended_ms = r->ended_ms,
				    .ending = r->ending,
				    .cause = r->cause,
				    .detail = r->detail,
				    .result = ended && r->has_result ? &r->result : NULL,
				    .dropped = r->dropped };
}

struct view {
	struct record_part *parts;
	size_t n_parts;
	struct record_prompt *prompts;
	size_t n_prompts;
};

static void add_part(struct view *v, struct record_part part)
{
	v->parts[v->n_parts++] = part;
}

/* An update of a display of this run replaces its content. */
static void add_display(struct view *v, const struct event *e)
{
	struct record_part part = { .kind = PART_DISPLAY,
				    .bundle = &e->bundle,
				    .display_id = e->display_id,
				    .update = e->update,
				    .time_ms = e->time_ms,
				    .event = e->number };
	for (size_t i = 0; e->update && i < v->n_parts; i++) {
		if (!v->parts[i].display_id || !streq(v->parts[i].display_id, e->display_id))
			continue;
		v->parts[i].bundle = &e->bundle;
		v->parts[i].event = e->number;
		return;
	}
	add_part(v, part);
}

static void add_event(struct view *v, struct event *e)
{
	switch (e->kind) {
	case JOURNAL_RUN_OUTPUT:
		add_part(v, (struct record_part){ .kind = e->stream == 1 ? PART_STDOUT : PART_STDERR,
						  .text = buf_str(&e->text),
						  .len = e->text.len,
						  .time_ms = e->time_ms,
						  .event = e->number });
		break;
	case JOURNAL_RUN_DISPLAY:
		add_display(v, e);
		break;
	case JOURNAL_RUN_CLEARED:
		v->n_parts = 0;
		for (size_t i = 0; i < v->n_prompts; i++)
			v->prompts[i].at = 0;
		break;
	case JOURNAL_RUN_PROMPT:
		v->prompts[v->n_prompts++] = (struct record_prompt){
			.at = v->n_parts, .text = buf_str(&e->text), .password = e->password, .time_ms = e->time_ms
		};
		break;
	case JOURNAL_RUN_ANSWERED:
		if (v->n_prompts)
			v->prompts[v->n_prompts - 1].answered = true;
		break;
	default:
		break;
	}
}

static void add_values(struct view *v, const struct record *r, uint64_t after, uint64_t up_to)
{
	if (r->value_at > after && r->value_at <= up_to)
		add_part(v, (struct record_part){ .kind = PART_RESULT, .bundle = &r->result.result });
	if (r->error_at > after && r->error_at <= up_to)
		add_part(v, (struct record_part){ .kind = PART_ERROR });
}

static void build(struct view *v, const struct record *r)
{
	uint64_t at = 0;
	size_t n = list_length(&r->events);
	v->parts = xcalloc(n + 2, sizeof(*v->parts));
	v->prompts = xcalloc(n + 1, sizeof(*v->prompts));
	list_for_each(e, &r->events, struct event, in_record) {
		add_values(v, r, at, e->number - 1);
		at = e->number - 1;
		add_event(v, e);
	}
	add_values(v, r, at, UINT64_MAX);
}

bool journal_show_record(struct journal *j, uint64_t number, bool peek,
			 void (*fn)(void *ctx, const struct run_record *record), void *ctx)
{
	struct record *r = record_find(j, number);
	struct view v = { 0 };
	if (!r)
		return false;
	struct run_record record = record_view(r);
	build(&v, r);
	record.parts = v.parts;
	record.n_parts = v.n_parts;
	record.prompts = v.prompts;
	record.n_prompts = v.n_prompts;
	record.answers = r->answers;
	record.n_answers = r->n_answers;
	record.journal = j->last;
	journal_seal(j);
	j->journals->reading++;
	fn(ctx, &record);
	j->journals->reading--;
	if (!peek)
		record_fetched(r);
	free(v.parts);
	free(v.prompts);
	journals_bound(j->journals, j);
	return true;
}

size_t journal_list_records(struct journal *j, uint64_t before, struct run_record *v, size_t n)
{
	size_t at = 0;
	for (struct list *node = j->records.prev; node != &j->records && at < n; node = node->prev) {
		const struct record *r = list_entry(node, struct record, node);
		if (!before || r->number < before)
			v[at++] = record_view(r);
	}
	return at;
}

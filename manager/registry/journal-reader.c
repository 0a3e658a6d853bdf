/* Readers of journals. A reader is a place in the journal of a session, or in the sequence of all events. It costs no
 * memory for events, and a slow one is overtaken by the limits of the journals. */
#include "base/alloc.h"
#include "manager/registry/journal-private.h"
#include "manager/store/store.h"

/* Events that one reader gets before the next one has its turn, and all readers before the loop has its turn. */
#define TURN_EVENTS 64
#define TURN_READERS 64

/* --- places ------------------------------------------------------------------------------------------------------ */

static struct event *after(const struct journal_reader *r, const struct event *e)
{
	const struct list *next = r->journal ? e->in_journal.next : e->in_order.next;
	if (next == (r->journal ? &r->journal->events : &r->journals->events))
		return NULL;
	return r->journal ? list_entry(next, struct event, in_journal) : list_entry(next, struct event, in_order);
}

static struct event *first(const struct journal_reader *r)
{
	return r->journal ? list_first(&r->journal->events, struct event, in_journal) :
			    list_first(&r->journals->events, struct event, in_order);
}

/* Whether the reader may see sessions of this conversation. */
static bool sees(const struct journal_reader *r, const char *conversation)
{
	if (r->tenant && !tenant_owns(r->tenant, conversation))
		return false;
	return !r->may_see || r->may_see(r->request.conversation, conversation);
}

static bool is_shown(const struct journal_reader *r, const struct event *e)
{
	const struct journal_request *request = &r->request;
	if (!sees(r, e->journal->conversation))
		return false;
	return !request->run || (e->record && e->record->number == request->run);
}

/* If the first event of the run is still here, nothing of the run was dropped, and the reader starts there. Dropped
 * events of other runs do not matter. */
static bool find_run(struct journal_reader *r)
{
	uint64_t place = r->request.after;
	const struct record *record = r->journal && r->request.run ? record_find(r->journal, r->request.run) : NULL;
	struct event *e = record && record->text ? list_first(&record->events, struct event, in_record) : NULL;
	if (!e || e->kind != JOURNAL_RUN_QUEUED || place >= e->number || (place && place < r->journal->floor))
		return false;
	r->next = e;
	r->place = e->number - 1;
	return true;
}

static void find_place(struct journal_reader *r)
{
	const struct journal *j = r->journal;
	const struct journals *js = r->journals;
	uint64_t place = r->request.after, floor = j ? j->floor : js->floor, last = j ? j->last : js->last;
	bool whole = j ? j->whole : js->floor == js->first_position;
	r->place = MIN(place, last);
	if (place == JOURNAL_NOW || place == last || find_run(r))
		return;
	if (place > last || (place < floor && !(place == 0 && whole))) {
		r->gap = true;
		return;
	}
	r->next = first(r);
	while (r->next && (j ? r->next->number : r->next->position) <= place)
		r->next = after(r, r->next);
}

/* --- turns ------------------------------------------------------------------------------------------------------- */

static void get_ready(struct journal_reader *r)
{
	struct journals *js = r->journals;
	if (r->paused || r->closed || !(r->next || r->gap) || !list_empty(&r->in_ready))
		return;
	list_append(&js->ready, &r->in_ready);
	if (!timer_active(js->pump))
		timer_start(js->pump, 0, 0);
}

void readers_wake(struct journals *js, struct event *e)
{
	list_for_each(r, &js->readers, struct journal_reader, node) {
		if (r->next || r->gap || (r->journal && r->journal != e->journal))
			continue;
		r->next = e;
		get_ready(r);
	}
}

/* Events are dropped by age in their session, so a reader of all sessions may be before this event. */
void readers_lose(struct journals *js, const struct event *e)
{
	list_for_each(r, &js->readers, struct journal_reader, node) {
		bool before = r->journal ? r->next == e : r->next && r->next->position <= e->position;
		if (!before)
			continue;
		if (!is_shown(r, e)) {
			r->next = r->next == e ? after(r, e) : r->next;
			continue;
		}
		r->next = NULL;
		r->gap = true;
		get_ready(r);
	}
}

/* --- callbacks --------------------------------------------------------------------------------------------------- */

static size_t active_runs(const struct journal *j, struct run_record **ret)
{
	size_t n = 0;
	*ret = xcalloc(j->n_records + 1, sizeof(**ret));
	list_for_each(r, &j->records, struct record, node)
		if (r->state != RECORD_ENDED)
			(*ret)[n++] = record_view(r);
	return n;
}

static void tell_gap(struct journal_reader *r)
{
	struct journals *js = r->journals;
	AUTO(freep) struct journal_session *v = xcalloc(list_length(&js->all) + 1, sizeof(*v));
	size_t n = 0;
	list_for_each(j, &js->all, struct journal, node) {
		if (r->journal ? r->journal != j : !sees(r, j->conversation))
			continue;
		struct run_record *runs;
		size_t n_runs = active_runs(j, &runs);
		journal_seal(j);
		v[n++] = (struct journal_session){ .session_id = j->session,
						   .conversation = j->conversation,
						   .status = j->status,
						   .number = j->last,
						   .runs = runs,
						   .n_runs = n_runs };
	}
	struct journal_gap gap = { .number = r->journal ? r->journal->last : 0,
				   .position = js->last,
				   .time_ms = store_now_ms(),
				   .sessions = v,
				   .n_sessions = n };
	r->request.on_gap(r->request.ctx, &gap);
	for (size_t i = 0; i < n; i++)
		free((void *)v[i].runs);
}

static void tell_event(struct journal_reader *r, struct event *e)
{
	const struct record *record = e->record;
	bool ends = e->kind == JOURNAL_RUN_ENDED, queued = e->kind == JOURNAL_RUN_QUEUED;
	struct shown_display shown = { .bundle = &e->bundle, .id = e->display_id, .update = e->update };
	struct journal_event event = { .number = e->number,
				       .position = e->position,
				       .time_ms = e->time_ms,
				       .kind = e->kind,
				       .session_id = e->journal->session,
				       .conversation = e->journal->conversation,
				       .text = e->text.len || e->kind == JOURNAL_RUN_PROMPT ? buf_str(&e->text) : NULL,
				       .len = e->text.len,
				       .stream = e->stream,
				       .display = e->kind == JOURNAL_RUN_DISPLAY ? &shown : NULL,
				       .password = e->password,
				       .bytes = e->bytes,
				       .after_run = e->after_run,
				       .cause = e->cause,
				       .network = e->network };
	if (record) {
		event.run = record->number;
		event.run_kind = record->kind;
		event.by = record->by;
		event.branch = record->branch;
		event.detached = record->detached;
	}
	if (queued) {
		event.text = record->text;
		event.len = record->len;
	}
	if (ends) {
		event.ending = record->ending;
		event.detail = record->detail;
		event.result = record->has_result ? &record->result : NULL;
	}
	r->request.on_event(r->request.ctx, &event);
}

/* One event or gap. False if the reader was freed. */
static bool tell(struct journal_reader *r)
{
	bool freed = false;
	struct event *e = r->next;
	r->freed = &freed;
	if (r->gap) {
		r->gap = false;
		r->place = r->journal ? r->journal->last : r->journals->last;
		tell_gap(r);
	} else {
		r->next = after(r, e);
		r->place = r->journal ? e->number : e->position;
		e->sealed = true;
		bool fetched = r->request.run && !r->request.peek && e->kind == JOURNAL_RUN_ENDED;
		if (is_shown(r, e)) {
			tell_event(r, e);
			if (fetched)
				record_fetched(e->record);
		}
	}
	if (!freed)
		r->freed = NULL;
	return !freed;
}

static void give_turn(struct journal_reader *r)
{
	for (int i = 0; i < TURN_EVENTS && (r->next || r->gap) && !r->paused && !r->closed; i++)
		if (!tell(r))
			return;
	get_ready(r);
}

static void pump(void *ctx)
{
	struct journals *js = ctx;
	js->reading++;
	for (int i = 0; i < TURN_READERS; i++) {
		struct journal_reader *r = list_first(&js->ready, struct journal_reader, in_ready);
		if (!r)
			break;
		list_remove(&r->in_ready);
		give_turn(r);
	}
	js->reading--;
	if (!list_empty(&js->ready))
		timer_start(js->pump, 0, 0);
	list_for_each(j, &js->all, struct journal, node)
		journals_bound(js, j);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct journal_reader *journal_reader_new(const struct reader_spec *spec)
{
	struct journals *js = spec->journals;
	struct journal_reader *r = new0(struct journal_reader);
	r->journals = js;
	r->journal = spec->journal;
	r->may_see = spec->may_see;
	r->request = *spec->request;
	r->request.session_id = r->request.tenant = NULL;
	r->tenant = spec->request->tenant ? xstrdup(spec->request->tenant) : NULL;
	list_init(&r->in_ready);
	list_append(&js->readers, &r->node);
	if (!js->pump)
		js->pump = timer_new(js->loop, pump, js);
	/* Output that arrives later must be a new event for this reader, and not part of an event before it. */
	if (r->request.after == JOURNAL_NOW)
		list_for_each(j, &js->all, struct journal, node)
			journal_seal(j);
	find_place(r);
	get_ready(r);
	return r;
}

void journal_reader_pause(struct journal_reader *reader, bool pause)
{
	reader->paused = pause;
	if (pause)
		list_remove(&reader->in_ready);
	else if (!reader->freed)
		get_ready(reader);
}

uint64_t journal_reader_place(const struct journal_reader *reader)
{
	return reader->place;
}

bool journal_reader_is_behind(const struct journal_reader *reader)
{
	return !list_empty(&reader->in_ready);
}

struct journal_reader *journal_reader_free(struct journal_reader *reader)
{
	if (!reader)
		return NULL;
	if (reader->freed)
		*reader->freed = true;
	list_remove(&reader->in_ready);
	list_remove(&reader->node);
	free(reader->tenant);
	free(reader);
	return NULL;
}

void reader_close(struct journal_reader *r)
{
	r->closed = true;
	r->next = NULL;
	list_remove(&r->in_ready);
	list_remove(&r->node);
}

void journals_forget_conversation(struct journals *js, const struct conversation *c)
{
	list_for_each(r, &js->readers, struct journal_reader, node)
		if (r->request.conversation == c)
			reader_close(r);
}

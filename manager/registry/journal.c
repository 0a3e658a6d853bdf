#include "manager/registry/journal-private.h"

#include "base/alloc.h"
#include "manager/registry/metrics.h"
#include "manager/store/store.h"

/* Bits of an event's number below the epoch. Numbers stay below 2^53, so that JSON readers can hold them. */
#define EPOCH_SHIFT 32
/* Journals of ended sessions that are kept. */
#define ENDED_MAX 64
/* Records of one session; the oldest ones that have ended are forgotten, so that a server stays small after many
 * short runs. */
#define RECORDS_MAX 1000

static size_t bundle_bytes(const struct mime_bundle *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		n += sizeof(b->parts[i]) + strlen(b->parts[i].type) + b->parts[i].len;
	return n;
}

void journal_charge(struct journal *j, size_t *charged, size_t now)
{
	j->charged += now - *charged;
	j->journals->charged += now - *charged;
	*charged = now;
}

void journal_seal(struct journal *j)
{
	if (!list_empty(&j->events))
		list_entry(j->events.prev, struct event, in_journal)->sealed = true;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

struct event *event_new(struct journal *j, enum journal_kind kind, struct record *record)
{
	struct event *e = new0(struct event);
	e->journal = j;
	e->record = record;
	e->kind = kind;
	e->number = ++j->last;
	e->position = ++j->journals->last;
	e->time_ms = store_now_ms();
	list_append(&j->events, &e->in_journal);
	list_append(&j->journals->events, &e->in_order);
	if (record)
		list_append(&record->events, &e->in_record);
	else
		list_init(&e->in_record);
	return e;
}

/* Updates the counters of /metrics. */
static void count(struct metrics *m, const struct event *e)
{
	const struct record *r = e->record;
	switch (e->kind) {
	case JOURNAL_RUN_ENDED:
		metrics_add_run(m, e->journal->spec.language, r->kind, r->ending,
				r->started_ms ? r->ended_ms - MIN(r->started_ms, r->ended_ms) : 0);
		m->printed += r->result.stdout_bytes + r->result.stderr_bytes;
		break;
	case JOURNAL_SESSION_ENDED:
		m->ended[e->cause]++;
		break;
	case JOURNAL_NETWORK:
		m->connections[e->cause] += e->network.count;
		m->sent += e->network.up;
		m->received += e->network.down;
		break;
	case JOURNAL_FILES_IMPORTED:
		m->imported += e->bytes;
		break;
	case JOURNAL_FILES_EXPORTED:
		m->exported += e->bytes;
		break;
	default:
		break;
	}
}

void event_publish(struct event *e)
{
	struct journal *j = e->journal;
	count(j->journals->metrics, e);
	journal_charge(j, &e->charged, sizeof(*e) + e->text.len + bundle_bytes(&e->bundle));
	readers_wake(j->journals, e);
	journals_bound(j->journals, j);
}

static void event_free(struct event *e)
{
	list_remove(&e->in_journal);
	list_remove(&e->in_order);
	list_remove(&e->in_record);
	journal_charge(e->journal, &e->charged, 0);
	buf_release(&e->text);
	mime_bundle_release(&e->bundle);
	free(e->display_id);
	free(e);
}

static void drop(struct event *e)
{
	struct journal *j = e->journal;
	struct record *record = e->record;
	readers_lose(j->journals, e);
	j->whole = false;
	j->floor = e->number;
	j->journals->floor = MAX(j->journals->floor, e->position);
	list_remove(&e->in_record);
	if (record)
		record_lost(record, e);
	event_free(e);
}

void journals_bound(struct journals *js, struct journal *j)
{
	struct event *e;
	struct record *r;
	if (js->reading)
		return;
	while (j->charged > js->config->record_max_size_per_session &&
	       (e = list_first(&j->events, struct event, in_journal)))
		drop(e);
	while (js->charged > js->config->record_max_size && (e = list_first(&js->events, struct event, in_order)))
		drop(e);
	while (j->n_records > RECORDS_MAX) {
		if ((r = list_first(&j->bare, struct record, in_bare)))
			record_free(r);
		else if ((e = list_first(&j->events, struct event, in_journal)))
			drop(e);
		else
			break;
	}
}

/* --- journals ---------------------------------------------------------------------------------------------------- */

static void journal_free(struct journal *j)
{
	for (struct event *e; (e = list_first(&j->events, struct event, in_journal));)
		event_free(e);
	for (struct record *r; (r = list_first(&j->records, struct record, node));)
		record_free(r);
	list_remove(&j->node);
	free(j->conversation);
	free(j);
}

static bool is_read(const struct journal *j)
{
	list_for_each(reader, &j->journals->readers, struct journal_reader, node)
		if (reader->journal == j)
			return true;
	return false;
}

/* Forgets the journals of sessions that ended long ago, and earlier ones of this session. */
static void forget_ended(struct journals *js, const char *session)
{
	size_t n = 0;
	if (js->reading)
		return;
	list_for_each(j, &js->all, struct journal, node)
		n += !j->dispatch;
	list_for_each(j, &js->all, struct journal, node) {
		if (j->dispatch || is_read(j) || (n <= ENDED_MAX && !(session && streq(j->session, session))))
			continue;
		for (struct event *e; (e = list_first(&j->events, struct event, in_journal));)
			drop(e);
		journal_free(j);
		n--;
	}
}

struct journals *journals_new(struct loop *loop, const struct config *config, struct metrics *metrics)
{
	struct journals *js = new0(struct journals);
	js->loop = loop;
	js->config = config;
	js->metrics = metrics;
	/* Positions of two servers differ, so that a reader of one does not take events of the other for known. */
	js->first_position = js->floor = js->last = store_now_ms() * 1000;
	list_init(&js->all);
	list_init(&js->events);
	list_init(&js->readers);
	list_init(&js->ready);
	return js;
}

struct journals *journals_free(struct journals *js)
{
	if (!js)
		return NULL;
	list_for_each(r, &js->readers, struct journal_reader, node)
		reader_close(r);
	list_for_each(j, &js->all, struct journal, node)
		journal_free(j);
	timer_free(js->pump);
	free(js);
	return NULL;
}

/* If another server took a session over and this server took it back, the session has two journals for a while. */
struct journal *journals_find(struct journals *js, const char *session)
{
	struct journal *found = NULL;
	list_for_each(j, &js->all, struct journal, node)
		if (streq(j->session, session))
			found = j;
	return found;
}

struct journal *journal_new(const struct journal_spec *spec)
{
	struct journals *js = spec->journals;
	struct journal *j = new0(struct journal);
	forget_ended(js, spec->session);
	j->journals = js;
	j->spec = *spec;
	snprintf(j->session, sizeof(j->session), "%s", spec->session);
	j->conversation = xstrdup(spec->conversation);
	j->status = spec->adopted ? "adopting" : "starting";
	j->whole = !spec->adopted;
	j->floor = j->last = spec->epoch << EPOCH_SHIFT;
	list_init(&j->events);
	list_init(&j->records);
	list_init(&j->bare);
	list_append(&js->all, &j->node);
	j->dispatch = spec->dispatch;
	j->recorder = journal_recorder;
	j->recorder.ctx = j;
	j->dispatch->recorder = &j->recorder;
	if (!spec->adopted)
		event_publish(event_new(j, JOURNAL_SESSION_CREATED, /* record= */ NULL));
	return j;
}

void journal_leave(struct journal *j)
{
	if (!j)
		return;
	j->dispatch->recorder = NULL;
	j->dispatch = NULL;
	forget_ended(j->journals, /* session= */ NULL);
}

const char *journal_conversation(const struct journal *j)
{
	return j->conversation;
}

void journal_ready(struct journal *j)
{
	j->status = "running";
	event_publish(event_new(j, j->spec.adopted ? JOURNAL_SESSION_ADOPTED : JOURNAL_SESSION_CLAIMED,
				/* record= */ NULL));
}

static void add_limit(struct journal *j, const char *limit)
{
	struct event *e = event_new(j, JOURNAL_LIMIT_REACHED, /* record= */ NULL);
	buf_add_str(&e->text, limit);
	event_publish(e);
}

void journal_ended(struct journal *j, const struct fail *why)
{
	enum cause cause = why ? cause_of(why) : CAUSE_STOPPED;
	if (j->has_ended)
		return;
	j->has_ended = true;
	records_end(j, why);
	if (cause == CAUSE_OOM || cause == CAUSE_DISK || cause == CAUSE_IDLE || cause == CAUSE_LIFETIME)
		add_limit(j, cause == CAUSE_OOM ? "memory" : cause_name(cause));
	j->status = "ended";
	struct event *e = event_new(j, JOURNAL_SESSION_ENDED, /* record= */ NULL);
	e->cause = cause;
	if (why)
		buf_add_str(&e->text, why->message);
	event_publish(e);
}

void journal_file(struct journal *j, bool imported, const char *path, uint64_t size)
{
	struct event *e = event_new(j, imported ? JOURNAL_FILES_IMPORTED : JOURNAL_FILES_EXPORTED, /* record= */ NULL);
	buf_add_str(&e->text, path);
	e->bytes = size;
	event_publish(e);
}

void journal_checkpoint(struct journal *j, enum checkpoint_action action, const char *name, uint64_t run)
{
	static const enum journal_kind kinds[] = {
		[CHECKPOINT_SAVE] = JOURNAL_CHECKPOINT_SAVED,	[CHECKPOINT_UNDO] = JOURNAL_CHECKPOINT_RESTORED,
		[CHECKPOINT_DROP] = JOURNAL_CHECKPOINT_DROPPED, [CHECKPOINT_BRANCH] = JOURNAL_BRANCH_MADE,
		[CHECKPOINT_KEEP] = JOURNAL_BRANCH_KEPT,
	};
	struct event *e = event_new(j, kinds[action], /* record= */ NULL);
	if (name)
		buf_add_str(&e->text, name);
	e->after_run = run;
	event_publish(e);
}

void journal_network(struct journal *j, const char *name, uint16_t port, enum cause cause,
		     const struct journal_network *network)
{
	struct event *e = event_new(j, JOURNAL_NETWORK, /* record= */ NULL);
	buf_add_str(&e->text, name);
	if (port)
		buf_printf(&e->text, ":%u", port);
	e->cause = cause;
	e->network = *network;
	event_publish(e);
}

void journals_count_runs(const struct journals *js, size_t *ret_queued, size_t *ret_active)
{
	*ret_queued = *ret_active = 0;
	list_for_each(j, &js->all, struct journal, node) {
		list_for_each(r, &j->records, struct record, node) {
			*ret_queued += r->state == RECORD_QUEUED;
			*ret_active += r->state == RECORD_RUNNING || r->state == RECORD_WAITING;
		}
	}
}

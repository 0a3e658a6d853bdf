/* Journals of sessions and records of runs: what happened, for any number of readers.
 *
 * Each event is stored once. It is part of up to three sequences: its session's journal, all events of this server, and
 * the record of its run. Memory is bounded by dropping the oldest events, so each journal is always a complete sequence
 * from some number on. A reader that needs a dropped event gets one gap.
 *
 * The number of an event has the session's epoch in its upper bits. The epoch rises with every take-over, which the
 * store decides, so numbers rise across servers without a write per event.
 *
 * A journal outlives its session for a while, so that its end can still be read. */
#ifndef HUSK_MANAGER_REGISTRY_JOURNAL_H
#define HUSK_MANAGER_REGISTRY_JOURNAL_H

#include "manager/line/dispatch.h"
#include "manager/line/recorder.h"
#include "manager/manager.h"

struct journals;
struct metrics;
struct journal;

/* Nothing is allocated for readers before the first one. loop and config must outlive the journals. */
struct journals *journals_new(struct loop *loop, const struct config *config, struct metrics *metrics);
/* Numbers of runs that wait for their turn, and of runs that are active. */
void journals_count_runs(const struct journals *js, size_t *ret_queued, size_t *ret_active);
/* Readers that are still open are not called any more. Accepts NULL, returns NULL. */
struct journals *journals_free(struct journals *js);
/* Finds the journal of a session, also of one that has ended; NULL if there is none. */
struct journal *journals_find(struct journals *js, const char *session);

/* The end of a detached run, for the log. */
struct detached_end {
	uint32_t number;
	enum run_kind kind;
	uint64_t started; /* wall clock */
	const char *ending;
	const struct run_result *result; /* NULL = nothing ran */
};
struct journal_spec {
	struct journals *journals;
	const char *session, *conversation;
	const char *language; /* static */
	uint64_t epoch;
	bool adopted;
	struct dispatch *dispatch; /* its runs are recorded from now on */
	void (*on_detached_end)(void *ctx, const struct detached_end *end);
	void *ctx;
};
/* Adds session.created, or nothing yet for an adopted session. */
struct journal *journal_new(const struct journal_spec *spec);
/* The session is being freed. Accepts NULL. */
void journal_leave(struct journal *j);
const char *journal_conversation(const struct journal *j);

/* Adds session.claimed or session.adopted. */
void journal_ready(struct journal *j);
/* Adds session.ended, once. Runs that have not ended are recorded as ended with their session. why NULL = stopped on
 * request. */
void journal_ended(struct journal *j, const struct fail *why);
/* Adds files.imported or files.exported. */
void journal_file(struct journal *j, bool imported, const char *path, uint64_t size);

/* Adds checkpoint.saved, checkpoint.restored or checkpoint.dropped. name NULL = an automatic checkpoint; run: after which
 * it was made, 0 = unknown. */
void journal_checkpoint(struct journal *j, enum checkpoint_action action, const char *name, uint64_t run);

/* Adds network.connection: `network` says what passed, cause CAUSE_NONE that it worked. */
void journal_network(struct journal *j, const char *name, uint16_t port, enum cause cause,
		     const struct journal_network *network);

/* --- records ----------------------------------------------------------------------------------------------------- */
/* Calls fn with the record; false if there is none. The end of a detached run then counts as fetched, unless `peek`. */
bool journal_show_record(struct journal *j, uint64_t number, bool peek,
			 void (*fn)(void *ctx, const struct run_record *record), void *ctx);
/* Fills v with at most n records that have a lower number than `before` (0 = all), newest first and without parts, and
 * returns how many. They are valid until the loop's next turn. */
size_t journal_list_records(struct journal *j, uint64_t before, struct run_record *v, size_t n);
/* Keeps the content of an answer, as manager_note_shown() does. */
void journal_note_shown(struct journal *j, uint64_t number, const char *content);
/* PID 1 keeps only a limited number of detached runs that were not fetched. Call it before another one is started. */
void journal_make_room(struct journal *j);
/* The store has the output of a detached run. */
void journal_stored(struct journal *j, uint64_t number);

/* --- readers ----------------------------------------------------------------------------------------------------- */
struct reader_spec {
	struct journals *journals;
	struct journal *journal; /* NULL = all sessions */
	/* Whether events of this conversation are shown; NULL = those of all conversations. */
	bool (*may_see)(const struct conversation *c, const char *conversation);
	const struct journal_request *request; /* its strings are not used */
};
struct journal_reader *journal_reader_new(const struct reader_spec *spec);
/* The conversation is being closed: its readers are not called any more. */
void journals_forget_conversation(struct journals *js, const struct conversation *c);

#endif

/* Shared by journal.c, journal-record.c and journal-reader.c. */
#ifndef HUSK_MANAGER_REGISTRY_JOURNAL_PRIVATE_H
#define HUSK_MANAGER_REGISTRY_JOURNAL_PRIVATE_H

#include "base/buf.h"
#include "base/list.h"
#include "manager/model/token.h"
#include "manager/registry/journal.h"
#include "manager/registry/live.h"

struct event {
	struct list in_journal, in_order, in_record;
	struct journal *journal;
	struct record *record; /* NULL = it does not concern a run */
	uint64_t number, position, time_ms;
	enum journal_kind kind;
	bool sealed;	 /* a reader may know its number, so it does not change any more */
	struct buf text; /* as in journal_event */
	int stream;
	struct mime_bundle bundle;
	char *display_id;
	bool update, password;
	uint64_t bytes, after_run;
	enum cause cause;
	struct journal_network network;
	size_t charged; /* bytes of memory, as counted against the limits */
};

/* Answers that are kept of a run, and the size up to which each is. */
#define SHOWN_MAX 4
#define SHOWN_BYTES_MAX (768u << 10)

/* A run, with everything that stays after its events were dropped. */
struct record {
	struct list node;
	struct list in_bare; /* has ended, and all its events were dropped */
	struct journal *journal;
	uint32_t number;
	enum run_kind kind;
	uint64_t client;
	bool detached;
	bool fetched; /* PID 1 may forget the run, or has */
	enum record_state state;
	uint64_t queued_ms, started_ms, ended_ms;
	const char *ending; /* NULL = not ended */
	enum cause cause;
	char *by, *branch, *text, *detail;
	size_t len;
	struct run_result result; /* without texts and displays */
	bool has_result;
	uint64_t value_at, error_at;		 /* number of the last event before them; 0 = there is none */
	struct record_answer answers[SHOWN_MAX]; /* it owns their texts */
	size_t n_answers;
	uint64_t dropped;
	struct list events;
	size_t charged;
	/* While it is active: */
	struct live live;
	uint32_t mark;	     /* all output up to this mark is recorded */
	uint32_t skip_until; /* a replay has not reached new output before this mark; 0 = it has */
};

struct journal {
	struct list node;
	struct journals *journals;
	char session[TOKEN_SIZE];
	char *conversation;
	const char *status;
	bool whole; /* it starts with session.created, and nothing was dropped */
	bool has_ended;
	uint64_t floor;		   /* events up to this number are not here */
	uint64_t last;		   /* number of the last event */
	struct dispatch *dispatch; /* NULL = the session was freed */
	struct recorder recorder;
	struct journal_spec spec;
	struct list events, records;
	struct list bare; /* records without events, the oldest first */
	size_t n_records, charged;
	size_t n_unfetched; /* ended runs that PID 1 has to keep */
};

struct journals {
	struct loop *loop;
	const struct config *config;
	struct metrics *metrics;
	struct list all;    /* of struct journal, oldest first */
	struct list events; /* of all journals, in order */
	size_t charged;
	uint64_t first_position, floor, last; /* positions, as in struct journal */
	struct list readers;
	struct list ready; /* readers that have something to read */
	struct timer *pump;
	unsigned reading; /* > 0: a callback uses events, so none may be dropped */
};

struct journal_reader {
	struct list node, in_ready;
	struct journals *journals;
	struct journal *journal; /* NULL = all */
	bool (*may_see)(const struct conversation *c, const char *conversation);
	struct journal_request request;
	char *tenant;	    /* as in the request */
	struct event *next; /* NULL = it has read everything, or there is a gap */
	uint64_t place;	    /* number or position of the last event before `next` */
	bool gap, paused, closed;
	bool *freed; /* set to true if the reader is freed during its callback; NULL = no callback */
};

/* Adds an event, which event_publish() makes visible once it is filled in. */
struct event *event_new(struct journal *j, enum journal_kind kind, struct record *record);
void event_publish(struct event *e);
/* Counts memory against the limits; `n` may be negative. */
void journal_charge(struct journal *j, size_t *charged, size_t now);
/* A reader may continue after the last event, so nothing is added to that event any more. */
void journal_seal(struct journal *j);
/* Drops what is over the limits, unless a callback uses events. */
void journals_bound(struct journals *js, struct journal *j);

extern const struct recorder journal_recorder;
/* An event of the record was dropped. */
void record_lost(struct record *r, const struct event *e);
void record_free(struct record *r);
/* NULL = there is none. */
struct record *record_find(struct journal *j, uint64_t number);
struct run_record record_view(const struct record *r);
/* The end of a detached run was fetched: PID 1 may forget it. */
void record_fetched(struct record *r);
/* Ends the runs of a session that has ended. */
void records_end(struct journal *j, const struct fail *why);

/* The reader is not called any more; its owner frees it. */
void reader_close(struct journal_reader *r);
/* Readers that have read everything continue with this event. */
void readers_wake(struct journals *js, struct event *e);
/* Readers that would read this event next get a gap. */
void readers_lose(struct journals *js, const struct event *e);

#endif

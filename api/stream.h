/* A stream of server-sent events as the answer to a request: the events of a journal, until the stream's end or the
 * client's disconnect.
 *
 * A client that reads slowly pauses its reader. If it falls too far behind, the journal answers with one `gap`. A
 * comment every 15 s shows proxies that the stream is alive. */
#ifndef HUSK_API_STREAM_H
#define HUSK_API_STREAM_H

#include "api/exchange.h"

/* A comment is sent this often while there is nothing else to send. */
#define STREAM_COMMENT_MS 15000

struct stream;

struct stream_spec {
	struct journal_request journal; /* callbacks are set by the stream */
	bool by_position;		/* ids of events are positions: the stream has several sessions */
	bool until_end;			/* the stream ends with the event run.ended */
	bool ended;			/* the session has ended: 404 if there is nothing left to read */
	uint64_t known;			/* the client knows the events up to this number */
	const char *only;		/* as in stream_shows(); borrowed during the call */
	bool quiet;			/* likewise */
};

/* True if the client asks for a stream of events or another protocol. */
bool stream_is_wanted(const struct exchange *x);
/* Counts a request for a stream among those of its tenant at all servers, if that number is limited, then calls next.
 * Answers with 429 if the tenant has too many. */
void stream_count(struct exchange *x, void (*next)(struct exchange *x));
/* Counts the exchange as a stream of its key. Answers with 429 and returns false if the key has too many. */
bool stream_admit(struct exchange *x);
/* True if nothing more follows for a reader of one run (0 = of the whole session) that has got this gap: the end is among
 * the events that are missing. */
bool stream_gap_is_last(const struct journal_gap *gap, uint64_t run);
/* Answers the exchange with the stream, or with a failure: FAIL_LIMIT if the key has too many. */
void stream_begin(struct exchange *x, const struct stream_spec *spec);
/* Whether `only` selects the kind: its name is `only` or begins with `only` and a dot. NULL selects all. quiet: without
 * what runs print and display. */
bool stream_shows(const char *only, bool quiet, enum journal_kind kind);
/* The number after which a client wants to continue: the field Last-Event-ID, or `after`. -1 if it is not valid; the
 * exchange is answered then. */
int stream_after(struct exchange *x, const char *after, uint64_t *ret);

#endif

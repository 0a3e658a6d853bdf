/* The entries of one import or export, one after the other. An entry that fails does not stop the others. */
#ifndef HUSK_MANAGER_FILES_ENTRIES_H
#define HUSK_MANAGER_FILES_ENTRIES_H

#include "manager/line/transfer.h"
#include "manager/model/files.h"
#include "manager/model/limits.h"
#include "manager/store/store.h"

struct entries;

struct entries_spec {
	struct loop *loop;
	const struct config *config;
	struct store *store;
	/* The n items to copy: set one of the two. Borrowed for entries_new(). */
	const struct import_item *imports;
	const char *const *exports;
	size_t n;
	bool temporary; /* as in copy_request */
	const struct strv
		*allowed; /* folders of the host in addition to those in the settings; NULL = none; also borrowed */
	/* One line of progress; may be NULL. */
	void (*on_progress)(void *ctx, const char *line);
	void *progress_ctx;
	/* Called exactly once unless freed. Free the entries there or later. */
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n);
	void *ctx;
};

/* Copies what it needs. Nothing happens before entries_start(). */
struct entries *entries_new(const struct entries_spec *spec);
/* The session to copy to or from. Everything but the dispatch is copied. */
struct entries_place {
	const char *session_id;
	struct dispatch *dispatch;
	const char *conversation;
	const struct limits *limits; /* limits of the session: no export can be larger than what it can hold */
};
void entries_start(struct entries *e, const struct entries_place *place);
/* Cancels the current entry and cleans up. Accepts NULL, returns NULL. */
struct entries *entries_free(struct entries *e);

#endif

/* Reads rows of sessions. A worker job finds out which owners are dead, so the rows are copies that outlive the store's
 * callback. */
#ifndef HUSK_MANAGER_REGISTRY_ROWS_H
#define HUSK_MANAGER_REGISTRY_ROWS_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/engine/engine.h"
#include "manager/store/store.h"

struct rows {
	struct session_record *v;
	bool *owner_dead; /* for each row of v */
	size_t n;
	struct strv strings; /* owns the strings of v */
};

/* Exactly one of rows and f is set; both are valid during the call. */
typedef void (*rows_fn)(void *ctx, const struct rows *rows, const struct fail *f);

struct rows_spec {
	struct loop *loop;
	const struct config *config;
	struct store *store;
	const char *id;		  /* only the session with this full id: one row, or none; NULL = all */
	const char *conversation; /* only the sessions of this conversation; NULL = all */
	rows_fn fn;
	void *ctx;
};

struct rows_load;
/* Reads the rows, including those of ended sessions, and judges each owner with owner_is_dead(). The strings of the
 * spec are copied. fn is called once, from the loop, unless cancelled; the handle is invalid from then on. */
struct rows_load *rows_load(const struct rows_spec *spec);
/* Accepts NULL, returns NULL. */
struct rows_load *rows_load_cancel(struct rows_load *l);
/* True if the session's container is on this engine. Nothing is known about containers of other engines. */
bool rows_on_engine(const struct session_record *row, const struct engine *engine);
/* Replaces *word, which the caller owns, with the full id of the row that it refers to (handle.h). -1 with f if there
 * is no such row or several match. */
int rows_resolve(const struct rows *rows, char **word, struct fail *f);

#endif

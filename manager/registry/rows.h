/* Copies of rows that outlive the store's callback, with each owner judged by a worker job. */
#ifndef HUSK_MANAGER_REGISTRY_ROWS_H
#define HUSK_MANAGER_REGISTRY_ROWS_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/store/store.h"

struct rows {
	struct session_record *v;
	bool *owner_dead; /* for each row of v */
	size_t n;
	struct strv strings; /* owns the strings of v */
};

struct judging;
/* Valid during the call. */
typedef void (*judged_fn)(void *ctx, const struct rows *rows);
/* Copies the rows and finds out which owners are dead: by locks, by processes, and otherwise by the lease. fn is
 * called once, from the loop, unless cancelled. */
struct judging *rows_judge(struct loop *loop, const struct config *config, const struct session_list *list,
			   judged_fn fn, void *ctx);
/* Accepts NULL, returns NULL. */
struct judging *judging_cancel(struct judging *j);
/* Replaces *word, which is owned, with the full id of the row that it refers to (handle.h). */
int rows_resolve(const struct session_list *list, char **word, struct fail *f);

#endif

/* Rows of the store that outlive the callback that brought them, and whose owners have been judged off the loop. */
#ifndef HUSK_MANAGER_REGISTRY_ROWS_H
#define HUSK_MANAGER_REGISTRY_ROWS_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/store/store.h"

struct rows {
	struct session_record *v;
	bool *owner_dead; /* beside v */
	size_t n;
	struct strv strings; /* what v points to */
};

struct judging;
/* Valid during the call. */
typedef void (*judged_fn)(void *ctx, const struct rows *rows);
/* Copies the rows and finds out which owners are dead: by locks, processes and, where nothing better is known, the lease. fn is
 * called once, from the loop, unless cancelled. */
struct judging *rows_judge(struct loop *loop, const struct config *config, const struct session_list *list,
			   judged_fn fn, void *ctx);
/* Accepts NULL, returns NULL. */
struct judging *judging_cancel(struct judging *j);
/* *word, an owned string, becomes the whole id of the row that it means (handle.h). */
int rows_resolve(const struct session_list *list, char **word, struct fail *f);

#endif

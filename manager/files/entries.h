/* The entries of one import_files or export_files, one after the other; one that fails does not stop the others. */
#ifndef HUSK_MANAGER_FILES_ENTRIES_H
#define HUSK_MANAGER_FILES_ENTRIES_H

#include "manager/registry/copy.h"
#include "manager/session/session.h"
#include "manager/store/store.h"

struct batch;

struct batch_spec {
	struct loop *loop;
	const struct config *config;
	struct store *store;
	const char *thread; /* must outlive the batch */
	const struct copy_request *request;
	/* Exactly once unless freed; the batch is to be freed by then or later. */
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n);
	void *ctx;
};

/* Copies what it needs of the request. Does nothing before it is started. */
struct batch *batch_new(const struct batch_spec *spec);
void batch_start(struct batch *b, struct session *s);
/* What is under way is cancelled and cleaned up. Accepts NULL, returns NULL. */
struct batch *batch_free(struct batch *b);

#endif

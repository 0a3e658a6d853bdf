/* One request about files in a session, whose answer is short: a list, a description, a delete, a new directory. */
#ifndef HUSK_MANAGER_FILES_FILE_QUERY_H
#define HUSK_MANAGER_FILES_FILE_QUERY_H

#include "base/loop.h"
#include "manager/line/transfer.h"
#include "manager/model/files.h"

struct item;

struct file_answer {
	struct file_page page; /* LIST. All other requests have at most one item, in page.directory */
	bool created;
};

/* Embedded in its owner, which zeroes it before use. */
struct file_query {
	/* Called once, from the loop: the answer, valid during the call, or f. */
	void (*on_done)(struct file_query *q, const struct file_answer *answer, const struct fail *f);

	/* Private. */
	struct transfer transfer;
	struct timer *limit;
	enum frame_type type;
	char *after;
	size_t most; /* items in the answer */
	size_t bytes;
	struct file_answer answer;
};

/* The path is normalized. 0, or -1 with f; then on_done is not called. */
int file_query_start(struct file_query *q, struct dispatch *d, const struct wire_file_request *req, struct fail *f);
/* No callback follows. Idempotent; accepts a zeroed query. */
void file_query_stop(struct file_query *q);

/* Copies an item that was checked. The caller releases it. */
void file_info_read(struct file_info *ret, const struct item *item);

#endif

/* One export: data from PID 1 becomes a file in the vault. Worker jobs feed the sink. PID 1 gets credit for what
 * the sink has taken, so that at most one window of data waits here. */
#ifndef HUSK_MANAGER_FILES_DOWNLOAD_H
#define HUSK_MANAGER_FILES_DOWNLOAD_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/files/sink.h"
#include "manager/line/transfer.h"

struct download;

struct download_spec {
	struct loop *loop;
	struct transfer *transfer; /* already joined; the download uses its callbacks until on_done */
	struct sink *sink;	   /* owned by the download */
	const char *path;	   /* absolute and normalized */
	void (*on_progress)(void *ctx, uint64_t bytes);
	/* Called exactly once unless cancelled, never from inside download_start(). The download is gone
	 * afterwards. result NULL = it failed. A kept file is synced. */
	void (*on_done)(void *ctx, const struct sink_result *result, const struct strv *notices, const struct fail *f);
	void *ctx;
};

/* Returns NULL with f if it cannot start; the sink is freed then too. */
struct download *download_start(const struct download_spec *spec, struct fail *f);
/* Nothing is called back, and nothing is kept. */
void download_cancel(struct download *g);

#endif

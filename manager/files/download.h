/* One export: what PID 1 sends becomes a file in the vault. The sink works off the loop, and PID 1 gets credit for what it has
 * taken, so that no more than a window waits here. */
#ifndef HUSK_MANAGER_FILES_DOWNLOAD_H
#define HUSK_MANAGER_FILES_DOWNLOAD_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/files/sink.h"
#include "manager/line/transfer.h"

struct download;

struct download_spec {
	struct loop *loop;
	struct transfer *transfer; /* joined; its callbacks are the download's from here to on_done */
	struct sink *sink;	   /* taken */
	const char *path;	   /* absolute and normal */
	void (*on_progress)(void *ctx, uint64_t bytes);
	/* Exactly once unless cancelled, never from inside download_start(); the download is gone afterwards. result NULL = it
	 * failed. What was kept is synced. */
	void (*on_done)(void *ctx, const struct sink_result *result, const struct strv *notices, const struct fail *f);
	void *ctx;
};

/* NULL with f filled, and the sink freed, if it cannot begin. */
struct download *download_start(const struct download_spec *spec, struct fail *f);
/* Nothing is called back and nothing is kept. */
void download_cancel(struct download *g);

#endif

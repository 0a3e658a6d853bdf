/* Writes one file of a session, piece by piece. PID 1 stages it, and moves it into place when everything has arrived.
 * Data that PID 1 has not given credit for waits here, up to a limit. */
#ifndef HUSK_MANAGER_FILES_FILE_WRITER_H
#define HUSK_MANAGER_FILES_FILE_WRITER_H

#include "base/loop.h"
#include "manager/line/transfer.h"
#include "manager/model/files.h"

#define FILE_WRITER_QUEUE_MAX (4u << 20)

/* Embedded in its owner, which zeroes it before use. Any callback may stop the writer. */
struct file_writer {
	/* The data that had to wait has been sent. */
	void (*on_drained)(struct file_writer *w);
	/* The last callback: the file is in its place, or f says what failed and nothing was kept. */
	void (*on_done)(struct file_writer *w, const struct file_info *info, bool created, const struct fail *f);

	/* Private. */
	struct transfer transfer;
	struct timer *stall;
	struct buf queue;
	uint64_t at, credit;
	bool early; /* nothing was sent yet */
	bool ended, sent_all;
	struct file_info info;
};

/* The path is normalized. 0, or -1 with f; then there are no callbacks. Data may be written before. */
int file_writer_start(struct file_writer *w, struct dispatch *d, const struct wire_file_request *req, struct fail *f);
/* 0, 1 if a part has to wait (on_drained follows), or -1 if too much waits already; then nothing was written. */
int file_writer_write(struct file_writer *w, const void *data, size_t n);
/* The file is complete. on_done follows. */
void file_writer_end(struct file_writer *w);
/* Nothing is kept, and no callback follows. Idempotent; accepts a zeroed writer. */
void file_writer_stop(struct file_writer *w);

#endif

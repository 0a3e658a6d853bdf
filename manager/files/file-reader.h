/* Reads one file of a session, or a part of it. A large file comes as a descriptor if the line can pass one; otherwise
 * PID 1 sends data, no more than one window ahead of its reader. */
#ifndef HUSK_MANAGER_FILES_FILE_READER_H
#define HUSK_MANAGER_FILES_FILE_READER_H

#include "base/loop.h"
#include "manager/line/transfer.h"
#include "manager/model/files.h"

/* Embedded in its owner, which zeroes it before use. Any callback may stop the reader. */
struct file_reader {
	/* The file is open. fd -1: call file_reader_fetch() once, now or later. Otherwise the callee owns the
	 * descriptor, and this is the last callback. */
	void (*on_open)(struct file_reader *r, const struct file_info *info, int fd);
	/* The next bytes, in order. */
	void (*on_data)(struct file_reader *r, const void *data, size_t n);
	/* The last callback: everything was delivered, or f says what failed. */
	void (*on_end)(struct file_reader *r, const struct fail *f);

	/* Private. */
	struct transfer transfer;
	struct timer *stall;
	enum { READER_OPENING, READER_OPEN, READER_READING, READER_COMPLETE } state;
	struct file_info info;
	int file;	  /* -1 = none */
	uint64_t at, end; /* what PID 1 sends next, and where it stops */
	bool paused;
	struct buf waiting;  /* data that came while it was paused */
	size_t held, handed; /* bytes of frames: not delivered yet; delivered, but not credited */
	bool *stopped;	     /* set if a callback stops the reader; NULL = no callback runs */
};

/* The path is normalized. 0, or -1 with f; then there are no callbacks. */
int file_reader_start(struct file_reader *r, struct dispatch *d, const char *path, struct fail *f);
/* Starts to read. The part must be within the file. */
void file_reader_fetch(struct file_reader *r, uint64_t offset, uint64_t length);
/* While it is paused, on_data is not called. */
void file_reader_pause(struct file_reader *r, bool paused);
/* No callback follows. Idempotent; accepts a zeroed reader. */
void file_reader_stop(struct file_reader *r);

#endif

/* One message per line over a byte stream: bounded lines in, a bounded queue out. Does not interpret the lines.
 *
 * A line ends with \n; a \r before it is dropped, and blank lines are skipped. A line over the limit is reported
 * once and skipped up to its newline, so that the next one is read correctly. Text after the last newline at EOF
 * counts as a line. */
#ifndef HUSK_BASE_LINES_H
#define HUSK_BASE_LINES_H

#include "base/buf.h"
#include "base/loop.h"

/* --- the splitter: pure, bytes in and lines out --------------------------------------------------------- */
struct line_splitter {
	size_t max; /* bytes in a line, without its line ending */
	struct buf held;
	size_t at;	/* where the next line starts in held */
	size_t scanned; /* searched up to here without finding a newline */
	bool skipping;	/* inside a line that was too long */
};

enum line_status { LINE_NONE, LINE_READY, LINE_TOO_LONG };

void line_splitter_release(struct line_splitter *s);
void line_splitter_feed(struct line_splitter *s, const void *data, size_t n);
/* The next complete line (valid until the next feed), or LINE_NONE if more input is needed. With at_end the rest
 * counts as a line too. */
enum line_status line_splitter_next(struct line_splitter *s, bool at_end, const char **ret_line, size_t *ret_n);

/* --- the connection ------------------------------------------------------------------------------------- */
struct lines;

struct lines_ops {
	/* line is valid during the call and not NUL-terminated. None of these callbacks may free the connection. */
	void (*on_line)(void *ctx, const char *line, size_t n);
	void (*on_too_long)(void *ctx);
	/* There are no more lines: error 0 at EOF, else -errno. Called once. A peer that closes its side while we
	 * read nothing from it, and then reads nothing itself for a second, counts as gone: its unread lines are
	 * dropped. */
	void (*on_eof)(void *ctx, int error);
	/* The reader has disconnected. Called once. */
	void (*on_write_error)(void *ctx, int error);
	/* The queue is empty. May be NULL. */
	void (*on_drained)(void *ctx);
};

struct lines_limits {
	size_t line_max;
	/* Reading pauses while more than this is queued for a peer that does not read. */
	size_t pause_above;
	/* lines_write() fails past this. */
	size_t queue_max;
};

/* Takes ownership of both descriptors, on success and on failure. Returns NULL and sets errno on failure. */
struct lines *lines_new(struct loop *loop, int in_fd, int out_fd, const struct lines_limits *limits,
			const struct lines_ops *ops, void *ctx);
/* Closes at once and drops what is queued. Accepts NULL, returns NULL. */
struct lines *lines_free(struct lines *l);
/* Queues the bytes, which contain no newline, and a newline. 0, -ENOBUFS (nothing was queued), or -EPIPE. */
int lines_write(struct lines *l, const char *line, size_t n);
size_t lines_queued(const struct lines *l);
/* True while reading is paused because the peer is too far behind. */
bool lines_stalled(const struct lines *l);
/* Writes as much as the descriptor accepts without blocking. */
void lines_flush_now(struct lines *l);

#endif

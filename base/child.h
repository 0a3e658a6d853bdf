/* One child process on the loop. It is done once it has been reaped and both its stdout and its stderr have ended.
 * If a grandchild holds a pipe open, the pipe is closed after a short time. Children run in a process group of
 * their own, which is killed as a whole. Their stdin is /dev/null unless a pipe is requested. */
#ifndef HUSK_BASE_CHILD_H
#define HUSK_BASE_CHILD_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/loop.h"

struct child;

struct child_result {
	int exit_status; /* -1 if it was killed by a signal */
	int signal;	 /* 0 if it exited */
	bool timed_out;	 /* the deadline passed and we killed it */
	bool truncated;	 /* output exceeded out_max; the rest was read and dropped */
	const char *out; /* captured stdout, NUL-terminated, "" if it was streamed */
	size_t out_len;
	const char *err; /* captured stderr */
	size_t err_len;
};

struct child_spec {
	char *const *argv;    /* argv[0] is looked up in PATH */
	char *const *env;     /* NULL = ours */
	uint64_t deadline_ms; /* 0 = none; the group is killed when it passes */
	size_t out_max;	      /* bytes captured from each of stdout and stderr; 0 = 64 KiB */
	bool stdin_pipe;      /* child_write() feeds it */
	/* Alternatively, descriptors of the caller, so that one child's output can be another's input. They are
	 * duplicated. 0 = none. */
	int stdin_fd, stdout_fd;
	/* If set, stdout is passed on as it arrives instead of being captured. */
	void (*on_stdout)(void *ctx, const void *data, size_t n);
	/* Called exactly once, unless child_free() is called first. The result is valid during the call; free the child
	 * there or later. */
	void (*on_done)(void *ctx, const struct child_result *result);
	void *ctx;
};

/* 0 and *ret owned by the caller, or -1 with f filled and nothing started. Does not block. */
int child_start(struct loop *loop, const struct child_spec *spec, struct child **ret, struct fail *f);
/* Queues bytes for its stdin. -ENOBUFS if more than 64 MiB would be waiting, -EPIPE once stdin is closed. */
int child_write(struct child *c, const void *data, size_t n);
void child_close_stdin(struct child *c);
/* Stops and resumes reading its stdout. */
void child_pause(struct child *c, bool paused);
size_t child_write_queued(const struct child *c);
void child_kill(struct child *c, int signo);
/* Kills the group if it still runs. The child is reaped in the background and on_done is not called. Accepts NULL,
 * returns NULL. */
struct child *child_free(struct child *c);
/* The same for a child that ends at the end of its stdin: it may first use what was written to it. It is killed after
 * CHILD_LEAVE_MS, and loop_free() waits for it that long at most. */
#define CHILD_LEAVE_MS 500
struct child *child_leave(struct child *c);
/* Starts argv, with this environment (NULL = ours), in a session of its own, with /dev/null on all three descriptors. It
 * outlives this process and is not tracked. */
int child_spawn_forgotten(struct loop *loop, char *const *argv, char *const *env, struct fail *f);

#endif

/* A part of manager.h: files of a session in place, and files that come from outside. Include manager.h instead.
 *
 * Paths are absolute, below ~ or $HOME, or relative to /workspace, as bytes. They lead to files below /workspace, /tmp
 * and /home/sandbox only. Symbolic links are not followed; they are files themselves. Everything is done with the
 * rights of the session's user.
 *
 * Failures: FAIL_NOT_FOUND with CAUSE_NO_FILE; FAIL_INVALID or FAIL_LIMIT with a cause from CAUSE_PATH_OUTSIDE on;
 * CAUSE_OLD_SESSION (FAIL_INVALID) if the session's PID 1 does not support it; CAUSE_QUEUE_FULL (FAIL_BUSY) if too many
 * files of the session are in use; those that also prevent a copy. Requests are not logged. They count as use. */
#ifndef HUSK_MANAGER_SESSION_FILES_H
#define HUSK_MANAGER_SESSION_FILES_H

#include "base/fail.h"
#include "manager/model/files.h"

struct conversation;
struct manager;
struct op;

#define FILES_PAGE_MAX 4096
struct list_files_request {
	const char *session_id;
	const char *path;
	const char *after; /* the page starts after this name; NULL = the first page */
	size_t limit;	   /* names of a page, 1 to FILES_PAGE_MAX; a page with long names may have fewer */
	void (*on_done)(void *ctx, const struct file_page *page, const struct fail *f);
	void *ctx;
};
/* CAUSE_NOT_DIRECTORY: the path is not a directory. CAUSE_FILE_LIMIT: it has more than four million names. */
struct op *manager_list_files(struct conversation *c, const struct list_files_request *req, struct fail *f);

struct stat_file_request {
	const char *session_id;
	const char *path;
	void (*on_done)(void *ctx, const struct file_info *info, const struct fail *f);
	void *ctx;
};
struct op *manager_stat_file(struct conversation *c, const struct stat_file_request *req, struct fail *f);

struct delete_file_request {
	const char *session_id;
	const char *path;
	bool recursive;	  /* also deletes a directory with content; otherwise CAUSE_NOT_EMPTY */
	const char *etag; /* deletes only this version, otherwise CAUSE_FILE_CHANGED; NULL = any */
	/* f NULL: the name is gone. If a recursive delete fails or is cancelled, a part may be gone. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_delete_file(struct conversation *c, const struct delete_file_request *req, struct fail *f);

struct make_directory_request {
	const char *session_id;
	const char *path; /* missing parents are made too */
	/* created: false if the directory existed. CAUSE_FILE_EXISTS: the name is taken by something else. */
	void (*on_done)(void *ctx, const struct file_info *info, bool created, const struct fail *f);
	void *ctx;
};
struct op *manager_make_directory(struct conversation *c, const struct make_directory_request *req, struct fail *f);

/* --- reading ------------------------------------------------------------------------------------------------------- */
struct open_file_request {
	const char *session_id;
	const char *path; /* of a file; otherwise CAUSE_IS_DIRECTORY, CAUSE_NOT_FILE */
	/* The file is open, and stays the same one even if its name leads elsewhere meanwhile. If fd is -1, call
	 * file_read() once, now or later, or op_cancel(). Otherwise the callee owns the descriptor, which is a file of
	 * at least info->size bytes, open for reading. The op is over then, and no callback follows. Reads of the
	 * descriptor may block: use worker jobs. A session with a connection by socket passes large files like this. */
	void (*on_open)(void *ctx, const struct file_info *info, int fd);
	/* The next bytes of the part, in order. The callee may call file_pause() or op_cancel(). */
	void (*on_data)(void *ctx, const void *data, size_t n);
	/* Called once, unless on_open got a descriptor: the part is complete, or f says what failed (before or after
	 * on_open). CAUSE_FILE_CHANGED: the file became shorter while it was read. */
	void (*on_end)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_open_file(struct conversation *c, const struct open_file_request *req, struct fail *f);
/* Reads a part of an open file; what is not within the file is left out. on_data is never called from inside. */
void file_read(struct op *op, uint64_t offset, uint64_t length);
/* While it is paused, neither on_data nor a successful on_end is called, and at most 1 MiB is buffered. Both may be
 * called from inside file_pause(op, false), but not if that is called from inside on_data. */
void file_pause(struct op *op, bool paused);

/* --- writing ------------------------------------------------------------------------------------------------------- */
struct write_file_request {
	const char *session_id;
	const char *path; /* missing parents are made too; a file keeps its permissions; a link is replaced */
	const char *etag; /* replaces only this version, otherwise CAUSE_FILE_CHANGED; NULL = any, or none */
	bool create_only; /* CAUSE_FILE_EXISTS if there is something of that name */
	bool has_size;	  /* `size` bytes will follow: refused at once if there is no room for them */
	uint64_t size;
	/* Everything that had to wait was sent: more may be written. */
	void (*on_drained)(void *ctx);
	/* Called once: the file is complete in its place, or f says what failed. It may fail at any time, for example
	 * because the disk is full. Nothing is left of a write that failed or was cancelled, except if the connection to
	 * the session broke after file_write_end(). */
	void (*on_done)(void *ctx, const struct file_info *info, bool created, const struct fail *f);
	void *ctx;
};
struct op *manager_write_file(struct conversation *c, const struct write_file_request *req, struct fail *f);
/* Both may be called as soon as there is an op. 0; 1 if a part has to wait, so that the caller should wait for
 * on_drained; -1 if more than 4 MiB would wait: nothing was written. */
int file_write(struct op *op, const void *data, size_t n);
/* The file is complete: on_done follows. */
void file_write_end(struct op *op);

/* --- files from outside ------------------------------------------------------------------------------------------- */
/* They become exports of this session, which does not exist: import them like those of a session. */
#define RECEIVED_SESSION "@uploads"
struct received_file {
	const char *name; /* relative path; the export is below /workspace */
	uint64_t at, size;
};
struct receive_request {
	const char *conversation; /* full id */
	int fd;			  /* has the files; duplicated */
	const struct received_file *v;
	size_t n; /* at least 1 */
	/* The exports that were added; with f, others were not. */
	void (*on_done)(void *ctx, const struct export_info *v, size_t n, const struct fail *f);
	void *ctx;
};
/* FAIL_LIMIT: a limit of exports is reached. FAIL_INVALID: a name is not valid. */
struct op *manager_receive_files(struct manager *m, const struct receive_request *req, struct fail *f);

#endif

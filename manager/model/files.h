/* Requests for imports and exports, and their results: plain data. */
#ifndef HUSK_MANAGER_MODEL_FILES_H
#define HUSK_MANAGER_MODEL_FILES_H

#include "base/fail.h"
#include "base/strv.h"

/* Limits for a program's folder. .git and files named in .gitignore are left out. A larger folder is refused
 * (CAUSE_FOLDER_TOO_LARGE). */
#define PROJECT_BYTES_MAX (64u << 20)
#define PROJECT_FILES_MAX 1000u

/* One import; exactly one of the four sources is set. Strings are borrowed for the call. */
struct import_item {
	const char *content; /* inline content */
	size_t content_len;
	bool base64;
	const char *source; /* a path on the host, below the allowed folders unless `own` is set */
	bool own;	    /* the caller's own file: IMPORT_ALLOWED_DIRS does not apply, and `source` is absolute */
	int fd;		    /* if own: the file or folder, open for reading; 0 = `source` is opened */
	bool project;	    /* if own: a program's folder, with the limits above */
	const char *session_id, *path; /* an export of another session, or a member of an exported directory */
	/* With session_id: a variable of that live session. It becomes the variable `destination`, or one of the same
	 * name. The copy's result has the name of the new variable as its path. */
	const char *variable;
	const char *destination; /* NULL = "/workspace/"; if it ends with "/", the source's name is added */
	const char *into;	 /* name to use below `destination` if that is a folder in the session; may be NULL */
};

/* An export as recorded in the store. */
struct export_info {
	char *id, *conversation, *session_id, *path, *name, *hash;
	char *hash_kind; /* hash algorithm: blake2b-256 or sha256-4m; NULL in lists of exports */
	char *mime;	 /* NULL = unknown */
	char *host_path; /* path of the file, or of a tar of the directory */
	char *uri;	 /* husk://exports/ID/NAME */
	bool directory;
	uint64_t size, stored, created_ms;
	uint64_t mode, mtime_ms; /* of a file; 0 = unknown */
};

/* The result of one entry of an import or export. */
struct copy_result {
	char *source; /* imports: as requested */
	char *path;   /* absolute path in the session; NULL if the request was not a path */
	bool success;
	uint64_t size;
	struct fail failure;	   /* why it failed; its kind is not set if it succeeded */
	struct strv notices;	   /* what was left out, and why */
	struct export_info export; /* set for a successful export */
	int content; /* of an export that is not kept: an open file, which the receiver duplicates; 0 = none */
};

enum file_type {
	FILE_REGULAR,
	FILE_DIRECTORY,
	FILE_SYMLINK,
	FILE_OTHER, /* a pipe, a socket or a device */
	FILE_TYPES
};

/* A file, directory or link in a session. Names and targets are bytes, and need not be valid UTF-8. */
struct file_info {
	char *name; /* without its directory; "" in an answer about one path */
	enum file_type type;
	uint32_t mode;	   /* permission bits */
	uint64_t size;	   /* of a file; else 0 */
	uint64_t mtime_ms; /* wall clock; 0 = before 1970 */
	char *target;	   /* of a symbolic link; NULL = none */
	char *etag;	   /* changes whenever the file does; without quotes */
};
void file_info_release(struct file_info *info);

/* A page of a directory. */
struct file_page {
	struct file_info directory; /* the directory itself */
	struct file_info *v;	    /* its names, sorted by their bytes */
	size_t n;
	uint64_t total; /* names in the directory, on all pages */
	bool more;	/* another page follows, after the last name of this one */
};

void export_info_release(struct export_info *info);
void copy_result_release(struct copy_result *r);

#endif

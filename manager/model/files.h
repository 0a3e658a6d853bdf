/* Requests for imports and exports, and their results: plain data. */
#ifndef HUSK_MANAGER_MODEL_FILES_H
#define HUSK_MANAGER_MODEL_FILES_H

#include "base/fail.h"
#include "base/strv.h"

/* Limits for a program's folder. .git and files named in .gitignore are left out. A larger folder is refused
 * (CAUSE_FOLDER_TOO_LARGE). */
#define PROJECT_BYTES_MAX (64u << 20)
#define PROJECT_FILES_MAX 1000u

/* One import; exactly one of the three sources is set. Strings are borrowed for the call. */
struct import_item {
	const char *content; /* inline content */
	size_t content_len;
	bool base64;
	const char *source; /* a host path below the allowed folders, or, with */
	bool own;	    /* the caller's own file: IMPORT_ALLOWED_DIRS does not apply. `source` is absolute */
	int fd;		    /* own: the file or folder, open for reading; 0 = it is opened by its path */
	bool project;	    /* own: a program's folder, see above */
	const char *session_id, *path; /* an export of another session, or a member of an exported directory */
	const char *destination;       /* NULL = /workspace plus the name of the source; ending in "/" = below it */
};

/* An export as recorded in the store. */
struct export_info {
	char *id, *thread, *session_id, *path, *name, *hash;
	char *hash_kind; /* hash algorithm: blake2b-256 or sha256-4m; NULL in lists, which include exports of earlier versions */
	char *mime;	 /* NULL = unknown */
	char *host_path; /* of the file, or of a tar of the directory */
	char *uri;	 /* husk://exports/ID/NAME */
	bool directory;
	uint64_t size, stored, created_ms;
};

/* The result of one entry of an import or export. */
struct copy_result {
	char *source; /* imports: as requested */
	char *path;   /* absolute path in the session; NULL if the request was not a path */
	bool success;
	uint64_t size;
	struct fail failure;	   /* why it failed; no kind if it succeeded */
	struct strv notices;	   /* what was left out, and why */
	struct export_info export; /* set for a successful export */
};

void export_info_release(struct export_info *info);
void copy_result_release(struct copy_result *r);

#endif

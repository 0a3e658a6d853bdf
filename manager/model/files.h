/* Requests for imports and exports, and their results: plain data. */
#ifndef HUSK_MANAGER_MODEL_FILES_H
#define HUSK_MANAGER_MODEL_FILES_H

#include "base/fail.h"
#include "base/strv.h"

/* Of a program's folder .git and what its .gitignore files name are left out; one that is larger than this is refused
 * (CAUSE_FOLDER_TOO_LARGE). */
#define PROJECT_BYTES_MAX (64u << 20)
#define PROJECT_FILES_MAX 1000u

/* One thing to import; exactly one of the three sources is set. Strings are borrowed for the call. */
struct import_item {
	const char *content; /* inline */
	size_t content_len;
	bool base64;
	const char *source; /* a path of the host, below the folders that are allowed; or, with */
	bool own;	    /* the caller's own file: IMPORT_ALLOWED_DIRS does not apply. `source` is absolute */
	int fd;		    /* own: the file or folder, open for reading; 0 = it is opened by its path */
	bool project;	    /* own: a program's folder, see above */
	const char *session_id, *path; /* an export of another session, or something in an exported directory */
	const char *destination;       /* NULL = /workspace and the name of the source; ending in "/" = below it */
};

/* An export, as it stands in the store. */
struct export_info {
	char *id, *thread, *session_id, *path, *name, *hash;
	char *hash_kind; /* how the hash was made: blake2b-256 or sha256-4m; NULL in lists, which have exports of earlier versions too */
	char *mime;	 /* NULL = not known */
	char *host_path; /* of the file, or of a tar of the directory */
	char *uri;	 /* husk://exports/ID/NAME */
	bool directory;
	uint64_t size, stored, created_ms;
};

/* What became of one entry of an import or export. */
struct copy_result {
	char *source; /* imports: as it was asked for */
	char *path;   /* in the sandbox, absolute; NULL if what was asked for is not a path */
	bool success;
	uint64_t size;
	struct fail failure;	   /* why not; no kind if it succeeded */
	struct strv notices;	   /* what was left out, and why */
	struct export_info export; /* of an export that succeeded */
};

void export_info_release(struct export_info *info);
void copy_result_release(struct copy_result *r);

#endif

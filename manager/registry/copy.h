/* Files between sandboxes, the host and the vault of exports, as calls of the manager (see manager.h for what an op is). */
#ifndef HUSK_MANAGER_REGISTRY_COPY_H
#define HUSK_MANAGER_REGISTRY_COPY_H

#include "base/strv.h"
#include "manager/manager.h"

/* One thing to import; exactly one of the three sources is set. Strings are borrowed for the call. */
struct import_item {
	const char *content; /* inline */
	size_t content_len;
	bool base64;
	const char *source;	       /* a path of the host */
	const char *session_id, *path; /* an export of another session, or something in an exported directory */
	const char *destination;       /* NULL = /workspace and the name of the source; ending in "/" = below it */
};

/* An export, as it stands in the store. */
struct export_info {
	char *id, *session_id, *path, *name, *mime, *hash;
	char *host_path; /* of the file, or of a tar of the directory */
	char *uri;	 /* husk://exports/ID/NAME */
	bool directory;
	uint64_t size, stored, created_ms;
};

/* What became of one entry. */
struct copy_result {
	char *source; /* imports: as it was asked for */
	char *path;   /* in the sandbox, absolute; NULL if what was asked for is none */
	bool success;
	uint64_t size;
	char *error, *hint;	   /* NULL if there is none */
	struct strv notices;	   /* what was left out, and why */
	struct export_info export; /* of an export that succeeded */
};

struct copy_request {
	const char *session_id;
	const struct import_item *imports; /* or NULL, and */
	const char *const *exports;
	size_t n;
	/* One line on how far it is; may be NULL. */
	void (*on_progress)(void *ctx, const char *line);
	/* All entries were tried, one after the other; or f says why none was. Valid during the call. */
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_copy(struct manager *m, const struct copy_request *req, struct fail *f);

/* --- what is kept of this thread ----------------------------------------------------------------------------------- */
struct exports_request {
	/* Newest first, after this one: both 0 and NULL for the first page. */
	uint64_t before_ms;
	const char *before_id;
	size_t limit;
	void (*on_done)(void *ctx, const struct export_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_exports(struct manager *m, const struct exports_request *req, struct fail *f);

struct read_request {
	const char *id;
	size_t max; /* a larger one is not read: data is NULL then */
	/* info NULL and f NULL: there is none of this id in this thread. */
	void (*on_done)(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_read_export(struct manager *m, const struct read_request *req, struct fail *f);

#endif

#include "manager/files/entries.h"

#include <fcntl.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "manager/files/download.h"
#include "manager/files/exports.h"
#include "manager/files/names.h"
#include "manager/files/upload.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/model/tenant.h"
#include "manager/model/token.h"

/* An export may have this many times the bytes that a session can hold. This leaves room for holes, and for hard
 * links, which the PID 1 of an older Husk sends as files. */
#define SINK_BYTES_FACTOR 6
#define SINK_APPARENT_FACTOR 8
#define PROGRESS_MS 500

struct item {
	struct buf content;
	bool is_inline, base64, own, project;
	int fd; /* for `own`; 0 = not open, negative = it could not be duplicated */
	char *source, *session_id, *path, *destination, *into;
};

struct entries {
	struct entries_spec spec;
	bool export;
	struct item *items;
	struct copy_result *results;
	size_t n, at;
	struct strv allowed; /* folders of the host, in addition to those of the settings */
	struct transfer transfer;
	struct timer *turn; /* starts the next entry from the loop, never from inside a callback of the previous one */
	struct fail gone;   /* why the session is gone */
	uint64_t shown_ms;
	char session_id[TOKEN_SIZE];
	char *conversation;
	struct limits limits;

	/* State of the current entry. */
	uint64_t started;
	struct upload *upload;
	struct download *download;
	struct store_job *job;
	struct export_record record; /* its strings belong to the results and to this struct */
	struct sink_result kept;
	char id[TOKEN_SIZE];
	char *name;
	char *file; /* its file name in the vault */
};

static char *copied(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static uint32_t take_number(uint32_t *number)
{
	uint32_t taken = *number;
	*number = 0;
	return taken;
}

static void idle(struct entries *b);

/* ---- one entry ends */

/* Only a transfer that reached the session has a number. ending NULL = not known yet: each number is recorded when
 * it is assigned, so that the log has no gap if this server is killed. */
static void record(struct entries *b, uint32_t seq, const char *ending)
{
	const struct copy_result *r = &b->results[b->at];
	if (!seq)
		return;
	store_execution_put(b->spec.store,
			    &(struct execution_record){ .session = b->session_id,
							.seq = seq,
							.tool = b->export ? "export_files" : "import_files",
							.started = b->started,
							.ended = ending ? store_now_ms() : 0,
							.ending = ending,
							.in_bytes = b->export ? 0 : r->size,
							.out_bytes = b->export ? r->size : 0,
							.at_once = ending != NULL });
}

static void on_begun(struct transfer *t)
{
	record(container_of(t, struct entries, transfer), t->last, NULL);
}

static void item_end(struct entries *b, const struct fail *f)
{
	struct copy_result *r = &b->results[b->at];
	record(b, take_number(&b->transfer.last), f ? "error" : "ok");
	r->success = !f;
	if (f)
		fail_copy(&r->failure, f);
	b->upload = NULL;
	b->download = NULL;
	b->job = NULL;
	free(take_ptr(b->name));
	b->at++;
	idle(b);
	timer_start(b->turn, 0, 0);
}

static void item_fail(struct entries *b, enum fail_kind kind, const char *message)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, kind, "%s", message);
	item_end(b, &f);
}

static void show(struct entries *b, uint64_t done, uint64_t all)
{
	uint64_t now = loop_now_ms();
	if (!b->spec.on_progress || now - b->shown_ms < PROGRESS_MS)
		return;
	b->shown_ms = now;
	const struct copy_result *r = &b->results[b->at];
	AUTO(freep) char *of = all ? xasprintf(" of %.1f", (double)all / 1048576) : xstrdup("");
	AUTO(freep) char *line = xasprintf("%s %s (%zu of %zu): %.1f%s MB\n", b->export ? "exporting" : "importing",
					   r->path ? r->path : r->source, b->at + 1, b->n, (double)done / 1048576, of);
	b->spec.on_progress(b->spec.progress_ctx, line);
}

static void take_notices(struct entries *b, const struct strv *notices)
{
	for (size_t i = 0; i < notices->n; i++)
		strv_add(&b->results[b->at].notices, notices->v[i]);
}

/* ---- imports */

static void on_uploading(void *ctx, uint64_t sent, const struct measure *all)
{
	show(ctx, MIN(sent, all->size), all->size);
}

static void on_uploaded(void *ctx, const struct upload_result *result, const struct fail *f)
{
	struct entries *b = ctx;
	struct copy_result *r = &b->results[b->at];
	take_notices(b, result->notices);
	free(r->path);
	r->path = xstrdup(result->destination);
	r->size = f ? 0 : result->all->size;
	item_end(b, f);
}

/* True if the caller wrote it as a directory. */
static bool is_directory_name(const char *s)
{
	return s && *s && (s[strlen(s) - 1] == '/' || streq(s, "~"));
}

static void put(struct entries *b, struct source *source)
{
	const struct item *i = &b->items[b->at];
	const char *from = i->source ? i->source : i->path;
	/* As with cp, the file goes into a destination that is written as a directory. */
	AUTO(freep) char *base = from && is_directory_name(i->destination) ? names_base(from) : NULL;
	b->upload = upload_start(&(struct upload_spec){
		.loop = b->spec.loop,
		.transfer = &b->transfer,
		.source = source,
		.destination = b->results[b->at].path,
		.base = base,
		.into = i->into,
		.on_progress = on_uploading,
		.on_done = on_uploaded,
		.ctx = b,
	});
}

static void on_source_session(void *ctx, const struct session_record *found, const struct fail *f)
{
	struct entries *b = ctx;
	const char *id = b->items[b->at].session_id;
	AUTO(fail_release) struct fail why = { 0 };
	b->job = NULL;
	/* A session of another tenant does not exist for this one. */
	if (found && !tenant_is_same(found->thread, b->conversation))
		found = NULL;
	if (f)
		fail_copy(&why, f);
	else if (!found && !streq(id, b->session_id))
		fail_set(&why, FAIL_NOT_FOUND, "Source session '%.64s' not found", id);
	else if (found && !streq(found->thread, b->conversation))
		cause_set(&why, FAIL_FOREIGN, CAUSE_OTHER_CONVERSATION,
			  "Source session belongs to another conversation");
	else
		cause_set(&why, FAIL_NOT_FOUND, CAUSE_NOT_EXPORTED, "File not exported from source session");
	item_end(b, &why);
}

static void on_found(void *ctx, const struct export_record *found, const struct fail *f)
{
	struct entries *b = ctx;
	struct item *i = &b->items[b->at];
	b->job = NULL;
	if (f) {
		item_end(b, f);
		return;
	}
	if (!found) {
		b->job = store_session_get(b->spec.store, i->session_id, on_source_session, b);
		return;
	}
	AUTO(freep) char *file = export_file(b->spec.config, found);
	const char *below = names_below(i->path, found->path);
	put(b, source_export(&(struct source_export){ .file = file,
						      .directory = found->directory,
						      .below = below ? below : "",
						      .mode = found->mode,
						      .mtime_ms = found->mtime_ms,
						      .links = b->transfer.dispatch && b->transfer.dispatch->links }));
}

static void find_export(struct entries *b)
{
	const struct item *i = &b->items[b->at];
	b->job = store_export_find(b->spec.store, b->conversation, i->session_id, i->path, on_found, b);
}

/* Resolves a name or the beginning of an id, also of a session that has ended. */
static void on_sessions(void *ctx, const struct session_list *list, const struct fail *f)
{
	struct entries *b = ctx;
	struct item *i = &b->items[b->at];
	AUTO(fail_release) struct fail why = { 0 };
	AUTO(freep) struct handle *handles = f ? NULL : xcalloc(list->n + 1, sizeof(*handles));
	size_t at = 0;
	b->job = NULL;
	for (size_t k = 0; !f && k < list->n; k++)
		handles[k] = (struct handle){ list->v[k].id, list->v[k].name, list->v[k].state != ROW_ENDED };
	if (f || handle_find(handles, list->n, i->session_id, &at, &why) < 0) {
		item_end(b, f ? f : &why);
		return;
	}
	free(i->session_id);
	i->session_id = xstrdup(handles[at].id);
	find_export(b);
}

static void import_export(struct entries *b)
{
	struct item *i = &b->items[b->at];
	AUTO(fail_release) struct fail f = { 0 };
	char *path = names_session_path(i->path, &f);
	if (!path) {
		item_end(b, &f);
		return;
	}
	free(i->path);
	i->path = path;
	if (token_is_valid(i->session_id) || !handle_is_word(i->session_id))
		find_export(b);
	else
		b->job = store_sessions(b->spec.store, b->conversation, /* all= */ true, on_sessions, b);
}

static void import_host(struct entries *b)
{
	const struct config *c = b->spec.config;
	struct item *i = &b->items[b->at];
	if (i->fd < 0) {
		item_fail(b, FAIL_LIMIT, "too many files are open");
		return;
	}
	struct host_rules rules = {
		.storage_dir = xstrdup(c->storage_dir),
		.state_dir = xstrdup(c->state_dir),
		.settings_file = copied(c->settings_file),
		.own = i->own,
		.project = i->project,
		.fd = i->fd,
	};
	i->fd = 0; /* now owned by the rules */
	for (size_t k = 0; k < c->import_allowed_dirs.n; k++)
		strv_add(&rules.allowed, c->import_allowed_dirs.v[k]);
	for (size_t k = 0; k < b->allowed.n; k++)
		strv_add(&rules.allowed, b->allowed.v[k]);
	put(b, source_host(&rules, i->source));
}

static void import_inline(struct entries *b)
{
	struct item *i = &b->items[b->at];
	AUTO(buf_release) struct buf raw = { 0 };
	if (!i->base64) {
		put(b, source_inline(&i->content));
	} else if (base64_decode((const char *)i->content.data, i->content.len, &raw) == 0) {
		buf_release(&i->content);
		put(b, source_inline(&raw));
	} else {
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_INVALID, "file_content is not valid base64");
		fail_hint(&f, "Send the alphabet with + and /, padded with =, or leave encoding out if it is text.");
		item_end(b, &f);
	}
}

/* The absolute destination; NULL with f. */
static char *destination_of(const struct item *i, struct fail *f)
{
	AUTO(freep) char *base = i->source || i->path ? names_base(i->source ? i->source : i->path) : xstrdup("");
	const char *wanted = i->destination;
	if ((!wanted || !*wanted) && !*base) {
		fail_set(f, FAIL_INVALID, "destination is required with file_content");
		return NULL;
	}
	AUTO(freep) char *below = xasprintf("./%s", base); /* a file may be called "~" */
	return names_session_path(wanted && *wanted ? wanted : below, f);
}

static void start_import(struct entries *b)
{
	struct item *i = &b->items[b->at];
	struct copy_result *r = &b->results[b->at];
	AUTO(fail_release) struct fail f = { 0 };
	if (!i->is_inline && !i->session_id && !i->source) {
		item_fail(
			b, FAIL_INVALID,
			"Each file entry must provide \"file_content\" and \"destination\" (inline), \"source\" (host mode) or both \"session_id\" and \"path\" (cross-session mode).");
		return;
	}
	AUTO(freep) char *destination = destination_of(i, &f);
	/* A refused destination is reported as it was given. */
	r->path = destination || !i->destination ? take_ptr(destination) : xstrdup(i->destination);
	if (f.kind)
		item_end(b, &f);
	else if (i->is_inline)
		import_inline(b);
	else if (i->session_id)
		import_export(b);
	else
		import_host(b);
}

/* ---- exports */

static void on_recorded(void *ctx, const struct fail *f)
{
	struct entries *b = ctx;
	struct copy_result *r = &b->results[b->at];
	b->job = NULL;
	if (!f) {
		export_info_fill(&r->export, b->spec.config, &b->record);
		r->export.hash_kind = xstrdup(digest_kind(b->record.stored));
		r->size = b->record.size;
	}
	item_end(b, f);
}

static void on_downloading(void *ctx, uint64_t bytes)
{
	show(ctx, bytes, 0);
}

/* An export that is not kept. */
static void take_content(struct entries *b)
{
	struct copy_result *r = &b->results[b->at];
	r->content = b->kept.content;
	r->size = b->kept.size;
	r->export.name = xstrdup(b->name);
	r->export.directory = b->kept.directory;
	r->export.stored = b->kept.stored;
	r->export.hash = xstrdup(b->kept.hash);
	item_end(b, NULL);
}

static void on_downloaded(void *ctx, const struct sink_result *kept, const struct strv *notices, const struct fail *f)
{
	struct entries *b = ctx;
	b->download = NULL;
	take_notices(b, notices);
	if (!kept) {
		item_end(b, f);
		return;
	}
	b->kept = *kept;
	if (b->spec.temporary) {
		take_content(b);
		return;
	}
	token_make(b->id);
	free(b->file);
	b->file = names_host_file(b->name, kept->directory);
	b->record = (struct export_record){
		.id = b->id,
		.thread = b->conversation,
		.session = b->session_id,
		.path = b->results[b->at].path,
		.name = b->name,
		.directory = kept->directory,
		.size = kept->size,
		.stored = kept->stored,
		.hash = b->kept.hash,
		.file = b->file,
		.mime = kept->directory ? "application/x-tar" : names_mime(b->name),
		.mode = kept->mode,
		.mtime_ms = kept->mtime_ms,
		.created = store_now_ms(),
	};
	idle(b);
	const struct config *c = b->spec.config;
	AUTO(freep) char *content = export_file(c, &b->record);
	b->job = store_export_add(b->spec.store, &b->record, content,
				  &(struct export_limits){ .conversation = c->exports_max_size_per_conversation,
							   .total = c->exports_max_size,
							   .count = c->exports_max_count_per_conversation },
				  on_recorded, b);
}

static void start_export(struct entries *b)
{
	const struct limits *l = &b->limits;
	struct copy_result *r = &b->results[b->at];
	AUTO(fail_release) struct fail f = { 0 };
	const struct config *c = b->spec.config;
	struct sink_limits limits = {
		.bytes = SINK_BYTES_FACTOR * MAX(l->tmpfs, l->home),
		.apparent = SINK_APPARENT_FACTOR * l->memory,
		.most = MIN(c->exports_max_size, c->exports_max_size_per_conversation),
		.floor = c->disk_floor,
		.temporary = b->spec.temporary,
	};
	r->path = names_session_path(r->source, &f);
	if (!r->path) {
		item_end(b, &f);
		return;
	}
	b->name = names_base(r->path);
	b->download = download_start(
		&(struct download_spec){
			.loop = b->spec.loop,
			.transfer = &b->transfer,
			.sink = sink_new(c->storage_dir, b->name, &limits),
			.path = r->path,
			.on_progress = on_downloading,
			.on_done = on_downloaded,
			.ctx = b,
		},
		&f);
	if (!b->download)
		item_end(b, &f);
}

/* ---- life */

static void on_gone(void *ctx, const struct fail *f)
{
	struct entries *b = ctx;
	fail_copy(&b->gone, f);
}

/* Between two transfers the entries themselves handle the end of the session. */
static void idle(struct entries *b)
{
	b->transfer.on_frame = NULL;
	b->transfer.on_lost = on_gone;
	b->transfer.ctx = b;
}

static void item_without_session(struct entries *b)
{
	if (!b->gone.kind)
		cause_set(&b->gone, FAIL_DIED, CAUSE_STOPPED, "the session has ended");
	item_end(b, &b->gone);
}

static void on_turn(void *ctx)
{
	struct entries *b = ctx;
	b->started = store_now_ms();
	if (b->at == b->n)
		b->spec.on_done(b->spec.ctx, b->results, b->n);
	else if (!b->transfer.dispatch)
		item_without_session(b);
	else if (b->export)
		start_export(b);
	else
		start_import(b);
}

static char *source_of(const struct import_item *i)
{
	if (i->content)
		return xstrdup("inline");
	if (i->session_id && i->path)
		return xasprintf("%s:%s", i->session_id, i->path);
	return xstrdup(i->source ? i->source : "");
}

/* Results have their source from the start, since an entry may end with the session before its turn. */
static void take_items(struct entries *b, const struct entries_spec *req)
{
	b->export = !req->imports;
	b->n = req->n;
	b->items = xcalloc(req->n, sizeof(*b->items));
	b->results = xcalloc(req->n, sizeof(*b->results));
	for (size_t k = 0; k < req->n; k++) {
		struct item *to = &b->items[k];
		if (b->export) {
			to->source = xstrdup(req->exports[k]);
			b->results[k].source = xstrdup(req->exports[k]);
			continue;
		}
		const struct import_item *from = &req->imports[k];
		b->results[k].source = source_of(from);
		to->is_inline = from->content;
		to->base64 = from->base64;
		if (from->content)
			buf_add(&to->content, from->content, from->content_len);
		to->own = from->own;
		to->project = from->own && from->project;
		to->fd = from->own && from->fd > 0 ? fcntl(from->fd, F_DUPFD_CLOEXEC, 3) : 0;
		to->source = copied(from->source);
		to->session_id = copied(from->session_id);
		to->path = copied(from->path);
		to->destination = copied(from->destination);
		to->into = copied(from->into);
	}
}

struct entries *entries_new(const struct entries_spec *spec)
{
	struct entries *b = new0(struct entries);
	b->spec = *spec;
	take_items(b, spec);
	for (size_t k = 0; spec->allowed && k < spec->allowed->n; k++)
		strv_add(&b->allowed, spec->allowed->v[k]);
	b->spec.allowed = NULL;
	b->spec.imports = NULL;
	b->spec.exports = NULL;
	b->turn = timer_new(spec->loop, on_turn, b);
	list_init(&b->transfer.node);
	idle(b);
	return b;
}

void entries_start(struct entries *b, const struct entries_place *place)
{
	snprintf(b->session_id, sizeof(b->session_id), "%s", place->session_id);
	b->conversation = xstrdup(place->conversation);
	b->limits = *place->limits;
	b->transfer.on_begun = on_begun;
	transfer_join(&b->transfer, place->dispatch);
	timer_start(b->turn, 0, 0);
}

struct entries *entries_free(struct entries *b)
{
	if (!b)
		return NULL;
	if (b->upload)
		upload_cancel(b->upload);
	if (b->download)
		download_cancel(b->download);
	store_cancel(b->job);
	record(b, take_number(&b->transfer.last), "cancelled");
	transfer_leave(&b->transfer);
	timer_free(b->turn);
	for (size_t k = 0; k < b->n; k++) {
		buf_release(&b->items[k].content);
		if (b->items[k].fd > 0)
			close(b->items[k].fd);
		free(b->items[k].source);
		free(b->items[k].session_id);
		free(b->items[k].path);
		free(b->items[k].destination);
		free(b->items[k].into);
		copy_result_release(&b->results[k]);
	}
	strv_release(&b->allowed);
	free(b->items);
	free(b->results);
	free(b->conversation);
	free(b->name);
	free(b->file);
	fail_release(&b->gone);
	free(b);
	return NULL;
}

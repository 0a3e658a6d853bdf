#include "manager/files/exports.h"

#include "base/alloc.h"
#include "base/percent.h"
#include "manager/files/names.h"
#include "manager/files/vault.h"

char *export_file(const struct config *config, const struct export_record *record)
{
	if (record->file)
		return vault_path(config->storage_dir, record->hash, record->file);
	return vault_old_path(config->storage_dir, record->hash,
			      record->directory ? ".tar" : names_extension(record->name));
}

void export_info_fill(struct export_info *info, const struct config *config, const struct export_record *record)
{
	AUTO(buf_release) struct buf segment = { 0 };
	percent_encode(&segment, record->name, /* keep_slash= */ false);
	*info = (struct export_info){
		.id = xstrdup(record->id),
		.conversation = xstrdup(record->thread),
		.session_id = xstrdup(record->session),
		.path = xstrdup(record->path),
		.name = xstrdup(record->name),
		.mime = record->mime ? xstrdup(record->mime) : NULL,
		.hash = xstrdup(record->hash),
		.host_path = export_file(config, record),
		.uri = xasprintf("husk://exports/%s/%s%s", record->id, buf_str(&segment),
				 record->directory ? ".tar" : ""),
		.directory = record->directory,
		.size = record->size,
		.stored = record->stored,
		.created_ms = record->created,
		.mode = record->mode & 07777,
		.mtime_ms = record->mtime_ms,
	};
}

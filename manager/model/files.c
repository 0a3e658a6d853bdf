#include "manager/model/files.h"

#include "base/alloc.h"

void export_info_release(struct export_info *info)
{
	free(info->id);
	free(info->conversation);
	free(info->session_id);
	free(info->path);
	free(info->name);
	free(info->mime);
	free(info->hash);
	free(info->hash_kind);
	free(info->host_path);
	free(info->uri);
	*info = (struct export_info){ 0 };
}

void file_info_release(struct file_info *info)
{
	free(info->name);
	free(info->target);
	free(info->etag);
	*info = (struct file_info){ 0 };
}

void copy_result_release(struct copy_result *r)
{
	free(r->source);
	free(r->path);
	fail_release(&r->failure);
	strv_release(&r->notices);
	export_info_release(&r->export);
	if (r->content > 0)
		close(r->content);
	*r = (struct copy_result){ 0 };
}

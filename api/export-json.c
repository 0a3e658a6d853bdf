#include "api/export-json.h"

#include "api/host.h"
#include "api/links.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"

json_t *export_json(const struct exchange *x, const struct export_info *info)
{
	json_t *out = export_info_encode(info);
	json_object_set_new(out, "conversation", json_text(tenant_inner_id(info->conversation)));
	if (!x->caller.remote)
		return out;
	AUTO(freep) char *base = links_base(x);
	AUTO(freep) char *link = api_export_link(x->api, base, info->id);
	json_object_del(out, "host_path");
	json_object_set_new(out, "download_url", json_text(link));
	return out;
}

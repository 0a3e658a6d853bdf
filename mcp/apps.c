#include "mcp/apps.h"

#include "base/alloc.h"
#include "mcp/call.h"

/* The document changes only with the program, but another version may answer the next request. */
#define READ_TTL_MS 300000

bool apps_declared(const json_t *capabilities)
{
	const json_t *settings = json_object_get(json_object_get(capabilities, "extensions"), APPS_EXTENSION);
	const json_t *types = json_object_get(settings, "mimeTypes");
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *type = json_string_value(json_array_get(types, i));
		if (type && streq(type, APPS_TYPE))
			return true;
	}
	return false;
}

bool apps_known(const char *app, const struct call *call)
{
	return app && apps_declared(call->capabilities);
}

json_t *apps_capability(void)
{
	return json_pack("{s:{s:[s]}}", APPS_EXTENSION, "mimeTypes", APPS_TYPE);
}

void apps_refer(json_t *o, bool app_only)
{
	json_t *meta = json_object_get(o, "_meta");
	if (!meta) {
		meta = json_object();
		json_object_set_new(o, "_meta", meta);
	}
	json_t *ui = json_pack("{s:s}", "resourceUri", APPS_URI);
	if (app_only)
		json_object_set_new(ui, "visibility", json_pack("[s]", "app"));
	json_object_set_new(meta, "ui", ui);
	/* Older hosts read only this key. */
	json_object_set_new(meta, "ui/resourceUri", json_string(APPS_URI));
}

/* Charts and widgets have types of their own, such as application/vnd.plotly.v1+json. */
static bool is_interactive(const struct mime_bundle *b)
{
	static const char *const types[] = { "text/html", "application/vnd.plotly", "application/vnd.vega",
					     "application/vnd.bokeh", "application/vnd.jupyter.widget" };
	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < ARRAY_LEN(types); k++)
			if (strncmp(b->parts[i].type, types[k], strlen(types[k])) == 0)
				return true;
	return false;
}

bool apps_show_more(const struct run_result *run)
{
	for (size_t i = 0; i < run->n_displays; i++)
		if (is_interactive(&run->displays[i]))
			return true;
	return is_interactive(&run->result);
}

json_t *apps_describe(void)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "uri", APPS_URI, "name", "output", "description",
			 "Shows what a run does, with its HTML and charts.", "mimeType", APPS_TYPE);
}

/* The document needs nothing from any network: hosts allow no domains if none are listed. */
void apps_read(struct call *call, const char *app)
{
	json_t *result = json_pack("{s:[{s:s, s:s, s:s, s:{s:{s:b}}}]}", "contents", "uri", APPS_URI, "mimeType",
				   APPS_TYPE, "text", app, "_meta", "ui", "prefersBorder", 1);
	call_set_cache_hints(call->revision, result, READ_TTL_MS, "private");
	call_reply(call, result);
}

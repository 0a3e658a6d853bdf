#include "api/schemas.h"

#include "base/defs.h"

/* Written as JSON text, since that is what readers of the description see. */
static const struct {
	const char *name, *json;
} schemas[] = {
	{ "Problem",
	  "{\"type\":\"object\",\"description\":\"RFC 9457 problem details.\",\"required\":[\"type\",\"title\",\"status\",\"detail\"],"
	  "\"properties\":{\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
	  "\"detail\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},\"cause\":{\"type\":\"string\"},\"hint\":{\"type\":\"string\"},"
	  "\"active_sessions\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"errors\":{\"type\":\"array\"}}}" },
	{ "Session",
	  "{\"type\":\"object\",\"required\":[\"id\",\"language\",\"status\"],\"properties\":{\"id\":{\"type\":\"string\"},"
	  "\"name\":{\"type\":\"string\"},\"language\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},"
	  "\"conversation\":{\"type\":\"string\"},\"age_seconds\":{\"type\":\"integer\"},\"idle_seconds\":{\"type\":\"integer\"},"
	  "\"seconds_left\":{\"type\":\"integer\"},\"idle_seconds_left\":{\"type\":\"integer\"},\"transport\":{\"type\":\"string\"},"
	  "\"labels\":{\"type\":\"object\"},\"dependencies\":{\"type\":\"object\"},\"limits\":{\"type\":\"object\"},\"runs\":{\"type\":\"array\"},"
	  "\"usage\":{\"type\":\"object\"},\"pod\":{\"type\":\"object\"},\"note\":{\"type\":\"string\"}}}" },
	{ "Sessions",
	  "{\"type\":\"object\",\"required\":[\"sessions\"],\"properties\":{\"sessions\":{\"type\":\"array\","
	  "\"items\":{\"$ref\":\"#/components/schemas/Session\"}},\"note\":{\"type\":\"string\"}}}" },
	{ "Run",
	  "{\"type\":\"object\",\"required\":[\"run\",\"state\"],\"properties\":{\"run\":{\"type\":\"integer\"},"
	  "\"kind\":{\"enum\":[\"cell\",\"command\"]},\"state\":{\"enum\":[\"queued\",\"running\",\"waiting\",\"ended\"]},"
	  "\"text\":{\"type\":\"string\"},\"by\":{\"type\":\"string\"},\"queued_ms\":{\"type\":\"integer\"},"
	  "\"started_ms\":{\"type\":\"integer\"},\"ended_ms\":{\"type\":\"integer\"},\"ending\":{\"type\":\"string\"},"
	  "\"cause\":{\"type\":\"string\"},\"detail\":{\"type\":\"string\"},\"stdout\":{\"type\":\"string\"},"
	  "\"stderr\":{\"type\":\"string\"},\"result\":{\"type\":\"object\"},\"error\":{\"type\":\"object\"},"
	  "\"exit_code\":{\"type\":\"integer\"},\"parts\":{\"type\":\"array\"},\"prompts\":{\"type\":\"array\"},"
	  "\"journal\":{\"type\":\"integer\"}}}" },
	{ "Runs", "{\"type\":\"object\",\"required\":[\"runs\",\"more\"],\"properties\":{\"runs\":{\"type\":\"array\","
		  "\"items\":{\"$ref\":\"#/components/schemas/Run\"}},\"more\":{\"type\":\"boolean\"}}}" },
	{ "Events",
	  "{\"type\":\"object\",\"required\":[\"events\",\"next\"],\"properties\":{\"events\":{\"type\":\"array\","
	  "\"items\":{\"type\":\"object\",\"required\":[\"event\",\"time_ms\"]}},\"next\":{\"type\":\"integer\"}}}" },
	{ "File",
	  "{\"type\":\"object\",\"required\":[\"type\"],\"properties\":{\"name\":{\"type\":\"string\"},"
	  "\"name_encoded\":{\"type\":\"string\"},\"type\":{\"enum\":[\"file\",\"directory\",\"symlink\",\"other\"]},"
	  "\"size\":{\"type\":\"integer\"},\"mode\":{\"type\":\"integer\"},\"mtime_ms\":{\"type\":\"integer\"},"
	  "\"target\":{\"type\":\"string\"},\"etag\":{\"type\":\"string\"},\"entries\":{\"type\":\"array\","
	  "\"items\":{\"$ref\":\"#/components/schemas/File\"}},\"total\":{\"type\":\"integer\"},\"more\":{\"type\":\"boolean\"}}}" },
	{ "Caller",
	  "{\"type\":\"object\",\"required\":[\"tenant\",\"scopes\"],\"properties\":{\"tenant\":{\"type\":\"string\"},"
	  "\"key\":{\"type\":\"string\"},\"scopes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}" },
	{ "Health", "{\"type\":\"object\",\"required\":[\"status\"],\"properties\":{\"status\":{\"type\":\"string\"},"
		    "\"version\":{\"type\":\"string\"}}}" },
	{ "Checkpoints",
	  "{\"type\":\"object\",\"required\":[\"checkpoints\"],\"properties\":{\"checkpoints\":{\"type\":\"array\","
	  "\"items\":{\"type\":\"object\",\"required\":[\"run\"]}},\"saved\":{\"type\":\"object\"},"
	  "\"restored\":{\"type\":\"object\"},\"note\":{\"type\":\"string\"}}}" },
	{ "Query",
	  "{\"type\":\"object\",\"required\":[\"kind\"],\"properties\":{\"kind\":{\"type\":\"string\"},"
	  "\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"more\":{\"type\":\"boolean\"},"
	  "\"start\":{\"type\":\"integer\"},\"end\":{\"type\":\"integer\"},\"found\":{\"type\":\"boolean\"},"
	  "\"text\":{\"type\":\"string\"},\"html\":{\"type\":\"string\"},\"completeness\":{\"type\":\"string\"},"
	  "\"indent\":{\"type\":\"string\"}}}" },
	{ "Export",
	  "{\"type\":\"object\",\"required\":[\"id\",\"session\",\"path\",\"name\",\"hash\"],\"properties\":{\"id\":{\"type\":\"string\"},"
	  "\"conversation\":{\"type\":\"string\"},\"session\":{\"type\":\"string\"},\"path\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},"
	  "\"hash\":{\"type\":\"string\"},\"hash_kind\":{\"type\":\"string\"},\"mime\":{\"type\":\"string\"},\"uri\":{\"type\":\"string\"},"
	  "\"directory\":{\"type\":\"boolean\"},\"size\":{\"type\":\"integer\"},\"stored\":{\"type\":\"integer\"},"
	  "\"created_ms\":{\"type\":\"integer\"},\"mode\":{\"type\":\"integer\"},\"mtime_ms\":{\"type\":\"integer\"},"
	  "\"host_path\":{\"type\":\"string\"},\"download_url\":{\"type\":\"string\"}}}" },
	{ "Exports", "{\"type\":\"object\",\"required\":[\"exports\"],\"properties\":{\"exports\":{\"type\":\"array\","
		     "\"items\":{\"$ref\":\"#/components/schemas/Export\"}},\"next\":{\"type\":\"string\"}}}" },
	{ "Uploads", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Export\"}}" },
	{ "Copies",
	  "{\"type\":\"object\",\"required\":[\"success\",\"files\"],\"properties\":{\"success\":{\"type\":\"boolean\"},"
	  "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"success\"],\"properties\":{\"success\":{\"type\":\"boolean\"},"
	  "\"source\":{\"type\":\"string\"},\"path\":{\"type\":\"string\"},\"size\":{\"type\":\"integer\"},"
	  "\"problem\":{\"$ref\":\"#/components/schemas/Problem\"},\"notices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	  "\"export\":{\"$ref\":\"#/components/schemas/Export\"}}}}}}" },
	{ "Key",
	  "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"tenant\",\"scopes\"],\"properties\":{\"id\":{\"type\":\"string\"},"
	  "\"name\":{\"type\":\"string\"},\"tenant\":{\"type\":\"string\"},\"scopes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	  "\"created_ms\":{\"type\":\"integer\"},\"used_ms\":{\"type\":\"integer\"},\"key\":{\"type\":\"string\"}}}" },
	{ "Keys", "{\"type\":\"object\",\"required\":[\"keys\"],\"properties\":{\"keys\":{\"type\":\"array\","
		  "\"items\":{\"$ref\":\"#/components/schemas/Key\"}}}}" },
	{ "Secret",
	  "{\"type\":\"object\",\"required\":[\"name\",\"tenant\",\"hosts\"],\"properties\":{\"name\":{\"type\":\"string\"},"
	  "\"tenant\":{\"type\":\"string\"},\"hosts\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	  "\"header\":{\"type\":\"string\"},\"query\":{\"type\":\"string\"},\"basic\":{\"type\":\"string\"},"
	  "\"created_ms\":{\"type\":\"integer\"},\"changed_ms\":{\"type\":\"integer\"}}}" },
	{ "Secrets", "{\"type\":\"object\",\"required\":[\"secrets\"],\"properties\":{\"secrets\":{\"type\":\"array\","
		     "\"items\":{\"$ref\":\"#/components/schemas/Secret\"}}}}" },
	{ "Settings",
	  "{\"type\":\"object\",\"required\":[\"settings\"],\"properties\":{\"settings\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	  "\"required\":[\"name\",\"from\",\"secret\"],\"properties\":{\"name\":{\"type\":\"string\"},\"value\":{\"type\":[\"string\",\"null\"]},"
	  "\"from\":{\"type\":\"string\"},\"secret\":{\"type\":\"boolean\"},\"set\":{\"type\":\"boolean\"}}}}}}" },
	{ "Doctor",
	  "{\"type\":\"object\",\"required\":[\"ok\",\"checks\"],\"properties\":{\"ok\":{\"type\":\"boolean\"},\"version\":{\"type\":\"string\"},"
	  "\"checks\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"status\",\"detail\"],"
	  "\"properties\":{\"name\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},\"detail\":{\"type\":\"string\"},"
	  "\"fix\":{\"type\":\"string\"}}}}}}" },
	{ "Usage",
	  "{\"type\":\"object\",\"required\":[\"limits\"],\"properties\":{\"limits\":{\"type\":\"object\"},\"usage\":{\"type\":\"object\"},"
	  "\"age_seconds\":{\"type\":\"integer\"},\"idle_seconds\":{\"type\":\"integer\"},"
	  "\"samples\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}" },
	{ "Network",
	  "{\"type\":\"object\",\"required\":[\"kind\",\"connections\",\"failed\"],\"properties\":{\"kind\":{\"type\":\"string\","
	  "\"enum\":[\"none\",\"list\",\"public\"]},\"rules\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	  "\"connections\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"port\"],\"properties\":{"
	  "\"name\":{\"type\":\"string\"},\"port\":{\"type\":\"integer\"},\"up\":{\"type\":\"integer\"},\"down\":{\"type\":\"integer\"},"
	  "\"age_ms\":{\"type\":\"integer\"},\"secret\":{\"type\":\"string\"}}}},"
	  "\"failed\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"cause\",\"count\"],\"properties\":{"
	  "\"name\":{\"type\":\"string\"},\"port\":{\"type\":\"integer\"},\"cause\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\"}}}},"
	  "\"allowed\":{\"type\":\"boolean\"},\"decides\":{\"type\":\"string\"}}}" },
	{ "Anything", "{\"type\":\"object\"}" },
};

json_t *schemas_all(void)
{
	json_t *out = json_object();
	for (size_t i = 0; i < ARRAY_LEN(schemas); i++)
		json_object_set_new(out, schemas[i].name, json_loads(schemas[i].json, 0, NULL));
	return out;
}

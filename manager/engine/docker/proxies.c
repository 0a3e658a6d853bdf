/* The proxies that the docker client gives to every container: `proxies` in its config.json, for any engine. */
#include <jansson.h>

#include "base/alloc.h"
#include "manager/engine/docker/docker.h"

static json_t *load_config(void)
{
	const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	AUTO(freep) char *path = folder && *folder ? xasprintf("%s/config.json", folder) :
						     xasprintf("%s/.docker/config.json", home ? home : "");
	return json_load_file(path, 0, NULL);
}

void docker_proxies(struct engine *e UNUSED, struct strv *ret)
{
	static const char *const names[] = { "httpProxy", "httpsProxy", "ftpProxy", "allProxy" };
	json_auto_t *config = load_config();
	const char *engine;
	json_t *entry;
	json_object_foreach(json_object_get(config, "proxies"), engine, entry) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			const char *url = json_string_value(json_object_get(entry, names[i]));
			if (url && *url)
				strv_add(ret, url);
		}
	}
}

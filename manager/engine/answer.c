#include "manager/engine/answer.h"

#include "base/alloc.h"
#include "manager/model/pool.h"

static void release_info(struct engine_info *info)
{
	free(info->version);
	free(info->os);
	free(info->os_type);
	free(info->arch);
	free(info->kernel);
	free(info->storage);
	free(info->cgroup_version);
	free(info->cgroup_driver);
	free(info->seccomp);
	free(info->runtime);
	strv_release(&info->runtimes);
}

static void release_containers(struct engine_containers *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->v[i].name);
		free(list->v[i].owner);
		free(list->v[i].node);
		free(list->v[i].phase);
		free(list->v[i].reason);
	}
	free(list->v);
	strv_release(&list->away);
}

static void release_images(struct engine_images *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i].name);
	free(list->v);
}

static void release_stats(struct engine_stats *stats)
{
	for (size_t i = 0; i < stats->n; i++)
		free(stats->v[i].name);
	free(stats->v);
}

static void release_hosts(struct engine_hosts *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->v[i].name);
		free(list->v[i].failure);
	}
	free(list->v);
}

void engine_answer_release(struct engine_answer *a)
{
	switch (a->kind) {
	case ENGINE_QUERY_CLIENT:
		free(a->client.name);
		free(a->client.version);
		break;
	case ENGINE_QUERY_PLACE:
		free(a->place.context);
		free(a->place.host);
		break;
	case ENGINE_QUERY_VERSION:
		free(a->version.name);
		free(a->version.version);
		free(a->version.api);
		free(a->version.containerd.version);
		free(a->version.containerd.build);
		free(a->version.runc.version);
		free(a->version.runc.build);
		break;
	case ENGINE_QUERY_INFO:
		release_info(&a->info);
		break;
	case ENGINE_QUERY_IMAGE:
		free(a->image.id);
		free(a->image.arch);
		strv_release(&a->image.labels);
		strv_release(&a->image.volumes);
		break;
	case ENGINE_QUERY_IMAGES:
		release_images(&a->images);
		break;
	case ENGINE_QUERY_NETWORK:
		free(a->network.driver);
		break;
	case ENGINE_QUERY_CONTAINERS:
		release_containers(&a->containers);
		break;
	case ENGINE_QUERY_HOSTS:
		release_hosts(&a->hosts);
		break;
	case ENGINE_QUERY_CONTAINER:
	case ENGINE_QUERY_FENCE:
	case ENGINE_QUERY_HOST:
		break;
	case ENGINE_QUERY_STATS:
		release_stats(&a->stats);
		break;
	}
	*a = (struct engine_answer){ .kind = a->kind };
}

void engine_containers_add(struct engine_containers *list, const char *name, const char *owner, bool running,
			   uint64_t created)
{
	list->v = xrealloc(list->v, (list->n + 1) * sizeof(*list->v));
	list->v[list->n++] = (struct engine_container){
		.name = xstrdup(name), .owner = xstrdup(owner), .running = running, .created = created
	};
}

bool engine_containers_have(const struct engine_containers *list, const char *name)
{
	const char *host = list->away.n ? pool_host_of(name) : NULL;
	if (host && strv_find(&list->away, host) != SIZE_MAX)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (streq(list->v[i].name, name))
			return true;
	return false;
}

void engine_images_add(struct engine_images *list, const char *name, uint64_t size, uint64_t created)
{
	list->v = xrealloc(list->v, (list->n + 1) * sizeof(*list->v));
	list->v[list->n++] = (struct engine_listed_image){ .name = xstrdup(name), .size = size, .created = created };
}

void engine_stats_add(struct engine_stats *stats, const char *name, uint64_t memory)
{
	stats->v = xrealloc(stats->v, (stats->n + 1) * sizeof(*stats->v));
	stats->v[stats->n++] = (struct engine_usage){ .name = xstrdup(name), .memory = memory };
}

bool engine_is_gvisor(const char *runtime)
{
	return runtime && strstr(runtime, "runsc");
}

bool engine_same_arch(const char *a, const char *b)
{
	static const char *const same[][2] = { { "amd64", "x86_64" }, { "arm64", "aarch64" }, { "386", "i686" } };
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		if (streq(a, same[i][0]))
			a = same[i][1];
		if (streq(b, same[i][0]))
			b = same[i][1];
	}
	return streq(a, b);
}

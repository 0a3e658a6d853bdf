#include "manager/engine/info.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "manager/engine/argv.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

void info_argv(struct strv *argv, const char *docker, enum engine_question question, const char *subject)
{
	if (question == ASK_NETWORKS) {
		argv_network_list(argv, docker);
		return;
	}
	strv_add(argv, docker);
	switch (question) {
	case ASK_NETWORKS:
		break;
	case ASK_CLIENT:
		strv_add(argv, "--version");
		break;
	case ASK_PLACE:
		strv_add_all(argv, "context", "inspect", "--format", "[{{json .Name}},{{json .Endpoints.docker.Host}}]",
			     NULL);
		break;
	case ASK_ENGINE:
		strv_add_all(argv, "version", "--format", "{{json .}}", NULL);
		break;
	case ASK_INFO:
		strv_add_all(argv, "info", "--format", "{{json .}}", NULL);
		break;
	case ASK_IMAGE:
		strv_add_all(argv, "image", "inspect", "--format", "[{{json .Size}},{{json .Architecture}}]", "--",
			     subject, NULL);
		break;
	case ASK_LABELS:
		strv_add_all(argv, "image", "inspect", "--format", "{{json .Config.Labels}}", "--", subject, NULL);
		break;
	case ASK_NETWORK:
		strv_add_all(argv, "network", "inspect", "--format", "{{json .}}", "--", subject, NULL);
		break;
	case ASK_CONTAINERS:
		strv_add_all(argv, "ps", "--all", "--no-trunc", "--format", "{{.Names}}\t{{.Status}}\t{{.CreatedAt}}",
			     "--filter", NULL);
		strv_addf(argv, "label=" STORE_LABEL "=%s", subject);
		break;
	case ASK_STATS:
		strv_add_all(argv, "stats", "--no-stream", "--no-trunc", "--format", "{{.Name}}\t{{.MemUsage}}", NULL);
		break;
	}
}

const char *info_doing(enum engine_question question)
{
	static const char *const words[] = {
		[ASK_CLIENT] = "ask the client for its version",
		[ASK_PLACE] = "ask the client for its context",
		[ASK_ENGINE] = "reach the engine",
		[ASK_INFO] = "ask the engine what it can do",
		[ASK_IMAGE] = "look for the image",
		[ASK_LABELS] = "look for the image",
		[ASK_NETWORKS] = "list the networks",
		[ASK_NETWORK] = "look at the network",
		[ASK_CONTAINERS] = "list the containers",
		[ASK_STATS] = "ask what the containers use",
	};
	return words[question];
}

int info_not_understood(struct fail *f, enum engine_question question)
{
	fail_set(f, FAIL_ENGINE, "cannot %s: the answer is not what a docker client prints", info_doing(question));
	return fail_hint(f, INFO_HINT_CLIENT);
}

static const char *field(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));
	return value && *value ? value : NULL;
}

static char *field_copy(const json_t *object, const char *key)
{
	const char *value = field(object, key);
	return value ? xstrdup(value) : NULL;
}

static enum info_answer field_answer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_boolean(value))
		return INFO_UNKNOWN;
	return json_is_true(value) ? INFO_YES : INFO_NO;
}

static uint64_t field_number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));
	return value > 0 ? (uint64_t)value : 0;
}

/* --- docker info ------------------------------------------------------------------------------------------------- */

/* "name=seccomp,profile=builtin"; very old engines say only "seccomp". */
static void read_security_option(struct info *ret, const char *option)
{
	const char *name = strncmp(option, "name=", 5) == 0 ? option + 5 : option;
	size_t n = strcspn(name, ",");
	if (n == 7 && strncmp(name, "seccomp", n) == 0 && !ret->seccomp) {
		const char *profile = strstr(name + n, "profile=");
		ret->seccomp = profile ? xstrndup(profile + 8, strcspn(profile + 8, ",")) : xstrdup("");
	}
	ret->apparmor |= n == 8 && strncmp(name, "apparmor", n) == 0;
	ret->selinux |= n == 7 && strncmp(name, "selinux", n) == 0;
	ret->rootless |= n == 8 && strncmp(name, "rootless", n) == 0;
	ret->userns |= n == 6 && strncmp(name, "userns", n) == 0;
}

int info_read(struct info *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *info = json_loadb(text, n, 0, NULL);
	const char *error = json_string_value(json_array_get(json_object_get(info, "ServerErrors"), 0));
	if (error) {
		fail_set(f, FAIL_ENGINE, "the engine does not answer: %.300s", error);
		return -1;
	}
	if (!field(info, "ServerVersion") || !field(info, "OSType"))
		return info_not_understood(f, ASK_INFO);
	*ret = (struct info){
		.version = field_copy(info, "ServerVersion"),
		.os = field_copy(info, "OperatingSystem"),
		.os_type = field_copy(info, "OSType"),
		.arch = field_copy(info, "Architecture"),
		.kernel = field_copy(info, "KernelVersion"),
		.storage = field_copy(info, "Driver"),
		.cgroup_version = field_copy(info, "CgroupVersion"),
		.cgroup_driver = field_copy(info, "CgroupDriver"),
		.memory_limit = field_answer(info, "MemoryLimit"),
		.swap_limit = field_answer(info, "SwapLimit"),
		.pids_limit = field_answer(info, "PidsLimit"),
		.cpu_quota = field_answer(info, "CpuCfsQuota"),
		.memory = field_number(info, "MemTotal"),
		.cpus = field_number(info, "NCPU"),
	};
	size_t i;
	json_t *option;
	json_array_foreach(json_object_get(info, "SecurityOptions"), i, option) {
		if (json_is_string(option))
			read_security_option(ret, json_string_value(option));
	}
	return 0;
}

void info_release(struct info *info)
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
	*info = (struct info){ 0 };
}

/* --- the smaller answers ----------------------------------------------------------------------------------------- */

int info_read_client(struct info_client *ret, const char *text, size_t n, struct fail *f)
{
	AUTO(freep) char *line = xstrndup(text, strcspn(text, "\r\n"));
	char *version = strstr(line, " version ");
	if (strlen(text) != n || !version)
		return info_not_understood(f, ASK_CLIENT);
	*version = '\0';
	version += strlen(" version ");
	version[strcspn(version, ", ")] = '\0';
	AUTO(freep) char *digits = xstrdup(version);
	char *rest = digits, *major = strsep(&rest, "."), *minor = rest ? strsep(&rest, ".-+~") : NULL;
	struct info_client client = { 0 };
	if (!*line || !minor || parse_u64(major, &client.major) < 0 || parse_u64(minor, &client.minor) < 0)
		return info_not_understood(f, ASK_CLIENT);
	client.name = xstrdup(line);
	client.version = xstrdup(version);
	*ret = client;
	return 0;
}

void info_client_release(struct info_client *client)
{
	free(client->name);
	free(client->version);
	*client = (struct info_client){ 0 };
}

int info_read_place(struct info_place *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *place = json_loadb(text, n, 0, NULL);
	const char *context = json_string_value(json_array_get(place, 0));
	const char *host = json_string_value(json_array_get(place, 1));
	if (!context || !host || !*host)
		return info_not_understood(f, ASK_PLACE);
	*ret = (struct info_place){
		.context = xstrdup(context),
		.host = xstrdup(host),
		.is_local = strncmp(host, "unix://", 7) == 0 || strncmp(host, "npipe://", 8) == 0,
	};
	return 0;
}

void info_place_release(struct info_place *place)
{
	free(place->context);
	free(place->host);
	*place = (struct info_place){ 0 };
}

int info_read_engine(struct info_engine *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *answer = json_loadb(text, n, 0, NULL);
	const json_t *server = json_object_get(answer, "Server");
	const char *api = field(server, "ApiVersion"), *version = field(server, "Version");
	const char *name = field(json_array_get(json_object_get(server, "Components"), 0), "Name");
	if (!api)
		api = field(server, "APIVersion");
	if (!version || !api)
		return info_not_understood(f, ASK_ENGINE);
	*ret = (struct info_engine){
		.name = xstrdup(name ? name : ""),
		.version = xstrdup(version),
		.api = xstrdup(api),
	};
	return 0;
}

void info_engine_release(struct info_engine *engine)
{
	free(engine->name);
	free(engine->version);
	free(engine->api);
	*engine = (struct info_engine){ 0 };
}

int info_read_image(struct info_image *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *image = json_loadb(text, n, 0, NULL);
	const json_t *size = json_array_get(image, 0);
	const char *arch = json_string_value(json_array_get(image, 1));
	if (!json_is_integer(size) || json_integer_value(size) < 0 || !arch)
		return info_not_understood(f, ASK_IMAGE);
	*ret = (struct info_image){ .size = (uint64_t)json_integer_value(size), .arch = xstrdup(arch) };
	return 0;
}

void info_image_release(struct info_image *image)
{
	free(image->arch);
	*image = (struct info_image){ 0 };
}

int info_read_network(struct info_network *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *network = json_loadb(text, n, 0, NULL);
	const char *driver = field(network, "Driver");
	const char *icc = field(json_object_get(network, "Options"), "com.docker.network.bridge.enable_icc");
	if (!driver)
		return info_not_understood(f, ASK_NETWORK);
	*ret = (struct info_network){
		.driver = xstrdup(driver),
		.isolated = icc && streq(icc, "false"),
		.internal = json_is_true(json_object_get(network, "Internal")),
	};
	return 0;
}

void info_network_release(struct info_network *network)
{
	free(network->driver);
	*network = (struct info_network){ 0 };
}

/* --- docker ps --------------------------------------------------------------------------------------------------- */

/* "2026-11-16 01:44:01 +0000 UTC"; 0 if it is not a time. */
static uint64_t created_at(const char *text)
{
	struct tm tm = { 0 };
	if (!strptime(text, "%Y-%m-%d %H:%M:%S %z", &tm))
		return 0;
	long east = tm.tm_gmtoff; /* timegm() resets it */
	time_t seconds = timegm(&tm) - east;
	return seconds > 0 ? (uint64_t)seconds : 0;
}

static int read_container(struct info_containers *ret, char *line, const struct info_ages *ages)
{
	char *rest = line, *name = strsep(&rest, "\t"), *status = strsep(&rest, "\t");
	char *created = strsep(&rest, "\t");
	uint64_t born;
	if (!created || rest || !*name || strspn(name, NAME_CHARS) != strlen(name))
		return -1;
	if (!(born = created_at(created)))
		return -1;
	bool runs = strncmp(status, "Up", 2) == 0;
	uint64_t age = ages->now - MIN(born, ages->now);
	bool overdue = age > ages->overdue;
	bool ended = !runs && born <= ages->now && age >= ages->orphan;
	ret->running += runs;
	strv_add(&ret->present, name);
	if (ended)
		strv_add(&ret->ended, name);
	if (overdue || ended)
		strv_add(&ret->leftovers, name);
	return 0;
}

int info_read_containers(struct info_containers *ret, const char *text, size_t n, const struct info_ages *ages,
			 struct fail *f)
{
	struct info_containers found = { 0 };
	AUTO(freep) char *copy = xstrndup(text, n);
	bool bad = strlen(copy) != n;
	for (char *rest = copy, *line; !bad && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		bad = *line && read_container(&found, line, ages) < 0;
	}
	if (bad) {
		info_containers_release(&found);
		return info_not_understood(f, ASK_CONTAINERS);
	}
	*ret = found;
	return 0;
}

void info_containers_release(struct info_containers *containers)
{
	strv_release(&containers->present);
	strv_release(&containers->ended);
	strv_release(&containers->leftovers);
	*containers = (struct info_containers){ 0 };
}

/* --- docker stats ------------------------------------------------------------------------------------------------ */

/* "43.16MiB / 2GiB"; false if it is something else. */
static bool read_amount(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = { { "B", 1 },     { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 },
		      { "kB", 1000 }, { "KB", 1000 },  { "MB", 1000000 },  { "GB", 1000000000 } };
	char *end;
	double number = strtod(text, &end);
	size_t len = strcspn(end, " ");
	for (size_t i = 0; end != text && number >= 0 && number < 1e6 && i < ARRAY_LEN(units); i++) {
		if (strlen(units[i].name) == len && strncmp(end, units[i].name, len) == 0) {
			*ret = (uint64_t)(number * units[i].bytes);
			return true;
		}
	}
	return false;
}

void info_read_stats(struct info_stats *ret, const char *text, size_t n)
{
	AUTO(freep) char *copy = xstrndup(text, n);
	*ret = (struct info_stats){ 0 };
	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
		char *amount = line, *name = strsep(&amount, "\t");
		uint64_t memory;
		if (!amount || !*name || strspn(name, NAME_CHARS) != strlen(name) || !read_amount(amount, &memory))
			continue;
		ret->v = xrealloc(ret->v, (ret->n + 1) * sizeof(*ret->v));
		ret->v[ret->n++] = (struct info_usage){ .name = xstrdup(name), .memory = memory };
	}
}

void info_stats_release(struct info_stats *stats)
{
	for (size_t i = 0; i < stats->n; i++)
		free(stats->v[i].name);
	free(stats->v);
	*stats = (struct info_stats){ 0 };
}

bool info_same_arch(const char *a, const char *b)
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

#include "manager/engine/docker/info.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/proc.h"
#include "kernels/protocol.h"
#include "manager/engine/docker/argv.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

void info_argv(struct strv *argv, const char *docker, enum engine_query_kind kind, const char *subject)
{
	strv_add(argv, docker);
	switch (kind) {
	case ENGINE_QUERY_CLIENT:
		strv_add(argv, "--version");
		break;
	case ENGINE_QUERY_PLACE:
		strv_add_all(argv, "context", "inspect", "--format", "[{{json .Name}},{{json .Endpoints.docker.Host}}]",
			     NULL);
		break;
	case ENGINE_QUERY_VERSION:
		strv_add_all(argv, "version", "--format", "{{json .}}", NULL);
		break;
	case ENGINE_QUERY_INFO:
		strv_add_all(argv, "info", "--format", "{{json .}}", NULL);
		break;
	case ENGINE_QUERY_IMAGE:
		strv_add_all(
			argv, "image", "inspect", "--format",
			"[{{json .Size}},{{json .Architecture}},{{json .Config.Labels}},{{json .Id}},{{json .Config.Volumes}}]",
			"--", subject, NULL);
		break;
	case ENGINE_QUERY_IMAGES:
		strv_add_all(argv, "image", "ls", "--filter", "reference=husk-*", "--format",
			     "{{.Repository}}:{{.Tag}}\t{{.CreatedAt}}\t{{.Size}}", NULL);
		break;
	case ENGINE_QUERY_NETWORK:
		strv_add_all(argv, "network", "inspect", "--format", "{{json .}}", "--", subject, NULL);
		break;
	case ENGINE_QUERY_CONTAINERS:
		strv_add_all(argv, "ps", "--all", "--no-trunc", "--format",
			     "{{.Names}}\t{{.Status}}\t{{.CreatedAt}}\t{{.Label \"" OWNER_LABEL "\"}}", "--filter",
			     NULL);
		strv_addf(argv, "label=" STORE_LABEL "=%s", subject);
		break;
	case ENGINE_QUERY_CONTAINER:
		strv_add_all(
			argv, "container", "inspect", "--format",
			"[{{json .State.Running}},{{json .State.ExitCode}},{{json .State.OOMKilled}},{{json .State.Pid}},{{json .Id}},{{json .Config.Labels}}]",
			"--", subject, NULL);
		break;
	case ENGINE_QUERY_STATS:
		strv_add_all(argv, "stats", "--no-stream", "--no-trunc", "--format", "{{.Name}}\t{{.MemUsage}}", NULL);
		break;
	case ENGINE_QUERY_FENCE: /* see argv_fence() */
	case ENGINE_QUERY_HOST:	 /* only pools have hosts */
	case ENGINE_QUERY_HOSTS:
		break;
	}
}

const char *info_doing(enum engine_query_kind kind)
{
	static const char *const words[] = {
		[ENGINE_QUERY_CLIENT] = "ask the client for its version",
		[ENGINE_QUERY_PLACE] = "ask the client for its context",
		[ENGINE_QUERY_VERSION] = "reach the engine",
		[ENGINE_QUERY_INFO] = "read the engine's features",
		[ENGINE_QUERY_IMAGE] = "look for the image",
		[ENGINE_QUERY_IMAGES] = "list the images",
		[ENGINE_QUERY_NETWORK] = "inspect the network",
		[ENGINE_QUERY_CONTAINERS] = "list the containers",
		[ENGINE_QUERY_CONTAINER] = "inspect the container",
		[ENGINE_QUERY_STATS] = "read the containers' resource use",
		[ENGINE_QUERY_HOST] = "choose a host",
		[ENGINE_QUERY_HOSTS] = "list the hosts",
		[ENGINE_QUERY_FENCE] = "set the firewall rules around sessions",
	};
	return words[kind];
}

int info_not_understood(struct fail *f, enum engine_query_kind kind)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s: the answer is not what a docker client prints",
		  info_doing(kind));
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

static enum support field_answer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_boolean(value))
		return SUPPORT_UNKNOWN;
	return json_is_true(value) ? SUPPORT_YES : SUPPORT_NO;
}

static uint64_t field_number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));
	return value > 0 ? (uint64_t)value : 0;
}

/* --- docker info ------------------------------------------------------------------------------------------------- */

/* "name=seccomp,profile=builtin"; very old engines report only "seccomp". */
static void read_security_option(struct engine_info *ret, const char *option)
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

static int read_info(struct engine_info *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *info = json_loadb(text, n, 0, NULL);
	const char *error = json_string_value(json_array_get(json_object_get(info, "ServerErrors"), 0));
	if (error)
		return cause_set(f, FAIL_ENGINE, CAUSE_NO_ENGINE, "the engine does not answer: %.300s", error);
	if (!field(info, "ServerVersion") || !field(info, "OSType"))
		return info_not_understood(f, ENGINE_QUERY_INFO);
	*ret = (struct engine_info){
		.version = field_copy(info, "ServerVersion"),
		.os = field_copy(info, "OperatingSystem"),
		.os_type = field_copy(info, "OSType"),
		.arch = field_copy(info, "Architecture"),
		.kernel = field_copy(info, "KernelVersion"),
		.storage = field_copy(info, "Driver"),
		.cgroup_version = field_copy(info, "CgroupVersion"),
		.cgroup_driver = field_copy(info, "CgroupDriver"),
		.runtime = field_copy(info, "DefaultRuntime"),
		.memory_limit = field_answer(info, "MemoryLimit"),
		.swap_limit = field_answer(info, "SwapLimit"),
		.pids_limit = field_answer(info, "PidsLimit"),
		.cpu_quota = field_answer(info, "CpuCfsQuota"),
		.memory = field_number(info, "MemTotal"),
		.cpus = field_number(info, "NCPU"),
	};
	const char *runtime;
	json_t *details UNUSED;
	json_object_foreach(json_object_get(info, "Runtimes"), runtime, details)
		strv_add(&ret->runtimes, runtime);
	size_t i;
	json_t *option;
	json_array_foreach(json_object_get(info, "SecurityOptions"), i, option) {
		if (json_is_string(option))
			read_security_option(ret, json_string_value(option));
	}
	return 0;
}

/* --- the smaller answers ----------------------------------------------------------------------------------------- */

static int read_client(struct engine_client *ret, const char *text, size_t n, struct fail *f)
{
	AUTO(freep) char *line = xstrndup(text, strcspn(text, "\r\n"));
	char *version = strstr(line, " version ");
	if (strlen(text) != n || !version)
		return info_not_understood(f, ENGINE_QUERY_CLIENT);
	*version = '\0';
	version += strlen(" version ");
	version[strcspn(version, ", ")] = '\0';
	AUTO(freep) char *digits = xstrdup(version);
	char *rest = digits, *major = strsep(&rest, "."), *minor = rest ? strsep(&rest, ".-+~") : NULL;
	struct engine_client client = { 0 };
	if (!*line || !minor || parse_u64(major, &client.major) < 0 || parse_u64(minor, &client.minor) < 0)
		return info_not_understood(f, ENGINE_QUERY_CLIENT);
	client.name = xstrdup(line);
	client.version = xstrdup(version);
	*ret = client;
	return 0;
}

bool info_is_local(const char *host)
{
	return strncmp(host, "unix://", 7) == 0 || strncmp(host, "npipe://", 8) == 0;
}

static int read_place(struct engine_place *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *place = json_loadb(text, n, 0, NULL);
	const char *context = json_string_value(json_array_get(place, 0));
	const char *host = json_string_value(json_array_get(place, 1));
	if (!context || !host || !*host)
		return info_not_understood(f, ENGINE_QUERY_PLACE);
	*ret = (struct engine_place){
		.context = xstrdup(context),
		.host = xstrdup(host),
		.is_local = info_is_local(host),
	};
	return 0;
}

static struct engine_component read_component(const json_t *server, const char *wanted)
{
	const json_t *components = json_object_get(server, "Components");
	for (size_t i = 0; i < json_array_size(components); i++) {
		const json_t *component = json_array_get(components, i);
		const char *name = field(component, "Name");
		if (name && streq(name, wanted))
			return (struct engine_component){ .version = field_copy(component, "Version"),
							  .build = field_copy(json_object_get(component, "Details"),
									      "GitCommit") };
	}
	return (struct engine_component){ 0 };
}

static int read_engine(struct engine_version *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *answer = json_loadb(text, n, 0, NULL);
	const json_t *server = json_object_get(answer, "Server");
	const char *api = field(server, "ApiVersion"), *version = field(server, "Version");
	const char *name = field(json_array_get(json_object_get(server, "Components"), 0), "Name");
	if (!api)
		api = field(server, "APIVersion");
	if (!version || !api)
		return info_not_understood(f, ENGINE_QUERY_VERSION);
	*ret = (struct engine_version){
		.name = xstrdup(name ? name : ""),
		.version = xstrdup(version),
		.api = xstrdup(api),
		.containerd = read_component(server, "containerd"),
		.runc = read_component(server, "runc"),
	};
	return 0;
}

static int read_image(struct engine_image *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *image = json_loadb(text, n, 0, NULL);
	const json_t *size = json_array_get(image, 0);
	const char *arch = json_string_value(json_array_get(image, 1));
	if (!json_is_integer(size) || json_integer_value(size) < 0 || !arch)
		return info_not_understood(f, ENGINE_QUERY_IMAGE);
	const char *id = json_string_value(json_array_get(image, 3));
	*ret = (struct engine_image){ .id = xstrdup(id ? id : ""),
				      .size = (uint64_t)json_integer_value(size),
				      .arch = xstrdup(arch) };
	const char *name;
	json_t *value;
	json_object_foreach(json_array_get(image, 2), name, value) {
		if (json_is_string(value))
			strv_addf(&ret->labels, "%s=%s", name, json_string_value(value));
	}
	json_object_foreach(json_array_get(image, 4), name, value)
		strv_add(&ret->volumes, name);
	return 0;
}

static int read_network(struct engine_network *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *network = json_loadb(text, n, 0, NULL);
	const char *driver = field(network, "Driver");
	const char *icc = field(json_object_get(network, "Options"), "com.docker.network.bridge.enable_icc");
	const char *bridge = field(json_object_get(network, "Options"), "com.docker.network.bridge.name");
	/* Podman applies the options without reporting them. */
	const char *label = field(json_object_get(network, "Labels"), BRIDGE_LABEL);
	bool silent = label && json_object_size(json_object_get(network, "Options")) == 0;
	if (!driver)
		return info_not_understood(f, ENGINE_QUERY_NETWORK);
	*ret = (struct engine_network){
		.is_there = true,
		.driver = xstrdup(driver),
		.isolated = silent || (icc && streq(icc, "false")),
		.internal = json_is_true(json_object_get(network, "Internal")),
		.fenceable = silent ? streq(label, BRIDGE_NAME) : bridge && streq(bridge, BRIDGE_NAME),
	};
	return 0;
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

static int read_line(struct engine_containers *ret, char *line)
{
	char *rest = line, *name = strsep(&rest, "\t"), *status = strsep(&rest, "\t");
	char *created = strsep(&rest, "\t"), *owner = strsep(&rest, "\t");
	if (!owner || rest || !*name || strspn(name, NAME_CHARS) != strlen(name))
		return -1;
	uint64_t born = created_at(created);
	if (!born)
		return -1;
	engine_containers_add(ret, name, owner, strncmp(status, "Up", 2) == 0, born);
	return 0;
}

static int read_containers(struct engine_containers *ret, const char *text, size_t n, struct fail *f)
{
	struct engine_answer found = { .kind = ENGINE_QUERY_CONTAINERS };
	AUTO(freep) char *copy = xstrndup(text, n);
	bool bad = strlen(copy) != n;
	for (char *rest = copy, *line; !bad && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		bad = *line && read_line(&found.containers, line) < 0;
	}
	if (bad) {
		engine_answer_release(&found);
		return info_not_understood(f, ENGINE_QUERY_CONTAINERS);
	}
	*ret = found.containers;
	return 0;
}

static void copy_text(char *ret, size_t n, const json_t *text)
{
	snprintf(ret, n, "%s", json_is_string(text) ? json_string_value(text) : "");
}

static int read_container(struct engine_state *ret, const char *text, size_t n, struct fail *f)
{
	json_auto_t *state = json_loadb(text, n, 0, NULL);
	const json_t *code = json_array_get(state, 1);
	if (!json_is_boolean(json_array_get(state, 0)) || !json_is_integer(code))
		return info_not_understood(f, ENGINE_QUERY_CONTAINER);
	*ret = (struct engine_state){
		.is_there = true,
		.running = json_is_true(json_array_get(state, 0)),
		.exit_code = (int)(json_integer_value(code) & 255),
		.oom = json_is_true(json_array_get(state, 2)),
		.pid = MAX(json_integer_value(json_array_get(state, 3)), (json_int_t)0),
	};
	const json_t *labels = json_array_get(state, 5);
	copy_text(ret->id, sizeof(ret->id), json_array_get(state, 4));
	copy_text(ret->store, sizeof(ret->store), json_object_get(labels, STORE_LABEL));
	copy_text(ret->mark, sizeof(ret->mark), json_object_get(labels, MARK_LABEL));
	return 0;
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

/* Values that cannot be parsed are skipped. */
static void read_stats(struct engine_stats *ret, const char *text, size_t n)
{
	AUTO(freep) char *copy = xstrndup(text, n);
	*ret = (struct engine_stats){ 0 };
	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
		char *amount = line, *name = strsep(&amount, "\t");
		uint64_t memory;
		/* The client cuts the first character, which is a slash in Docker's answers only. */
		AUTO(freep) char *whole = strncmp(name, "usk-", 4) == 0 ? xasprintf("h%s", name) : NULL;
		name = whole ? whole : name;
		if (!amount || !*name || strspn(name, NAME_CHARS) != strlen(name) || !read_amount(amount, &memory))
			continue;
		engine_stats_add(ret, name, memory);
	}
}

/* --- docker image ls --------------------------------------------------------------------------------------------- */

/* Skips lines that it cannot parse: images that are not listed are never removed. */
static void read_images(struct engine_images *ret, const char *text, size_t n)
{
	AUTO(freep) char *copy = xstrndup(text, n);
	*ret = (struct engine_images){ 0 };
	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		char *words = line, *name = strsep(&words, "\t"), *created = strsep(&words, "\t"), *size = words;
		uint64_t born = created ? created_at(created) : 0, bytes;
		if (size && born && *name && strspn(name, NAME_CHARS ":/") == strlen(name) && read_amount(size, &bytes))
			engine_images_add(ret, name, bytes, born);
	}
}

static int read_fence(enum engine_fence *ret, const char *text, struct fail *f)
{
	static const struct {
		const char *word;
		enum engine_fence fence;
	} words[] = { { FENCE_KEPT, FENCE_STOOD },
		      { FENCE_SET, FENCE_WAS_SET },
		      { FENCE_RESET, FENCE_WAS_SET },
		      { FENCE_MISSING, FENCE_NOT_SET },
		      { FENCE_CHANGED, FENCE_NOT_OURS } };
	size_t n = strcspn(text, "\r\n");
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (n != strlen(words[i].word) || strncmp(text, words[i].word, n) != 0)
			continue;
		*ret = words[i].fence;
		return 0;
	}
	return info_not_understood(f, ENGINE_QUERY_FENCE);
}

/* The second line has the boot id of the kernel that the program ran on. */
static bool is_our_kernel(const char *text)
{
	char ours[PROC_BOOT_ID_SIZE];
	const char *line = text + strcspn(text, "\n");
	line += *line == '\n';
	if (!proc_boot_id(ours) || strncmp(line, FENCE_KERNEL, strlen(FENCE_KERNEL)) != 0)
		return false;
	line += strlen(FENCE_KERNEL);
	size_t n = strcspn(line, "\r\n");
	return n == strlen(ours) && strncmp(line, ours, n) == 0;
}

int info_read(struct engine_answer *ret, const char *text, size_t n, struct fail *f)
{
	switch (ret->kind) {
	case ENGINE_QUERY_CLIENT:
		return read_client(&ret->client, text, n, f);
	case ENGINE_QUERY_PLACE:
		return read_place(&ret->place, text, n, f);
	case ENGINE_QUERY_VERSION:
		return read_engine(&ret->version, text, n, f);
	case ENGINE_QUERY_INFO:
		return read_info(&ret->info, text, n, f);
	case ENGINE_QUERY_IMAGE:
		return read_image(&ret->image, text, n, f);
	case ENGINE_QUERY_IMAGES:
		read_images(&ret->images, text, n);
		return 0;
	case ENGINE_QUERY_NETWORK:
		return read_network(&ret->network, text, n, f);
	case ENGINE_QUERY_CONTAINERS:
		return read_containers(&ret->containers, text, n, f);
	case ENGINE_QUERY_CONTAINER:
		return read_container(&ret->container, text, n, f);
	case ENGINE_QUERY_STATS:
		read_stats(&ret->stats, text, n);
		return 0;
	case ENGINE_QUERY_FENCE:
		ret->our_kernel = is_our_kernel(text);
		return read_fence(&ret->fence, text, f);
	case ENGINE_QUERY_HOST:
	case ENGINE_QUERY_HOSTS:
		break;
	}
	return info_not_understood(f, ret->kind);
}

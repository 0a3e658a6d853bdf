#include "manager/engine/kubernetes/pod.h"

#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "kernels/protocol.h"
#include "manager/model/limits.h"

/* The file for last words is in a folder that no user of the container can write to. Sessions could write to the usual
 * file, which is on the node's disk and has no limit. */
#define PRIVATE_FOLDER "/root"
#define LAST_WORDS PRIVATE_FOLDER "/.termination"
#define MIB (1ull << 20)
/* Reservations on the node. The limits are higher, because most sessions are idle most of the time. */
#define RESERVED_CPU "50m"
#define RESERVED_MEMORY "64Mi"
#define FIRST_LEASE_SECONDS 120ull

/* --- the pod of a session ------------------------------------------------------------------------------------------ */

static json_t *size_text(uint64_t bytes)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	return json_string(text);
}

static void add_text(json_t *array, const char *text)
{
	json_array_append_new(array, json_text(text));
}

static void add_number(json_t *array, const char *option, uint64_t value)
{
	add_text(array, option);
	json_array_append_new(array, size_text(value));
}

static json_t *security(unsigned uid)
{
	return json_pack("{s:i, s:i, s:b, s:b, s:b, s:{s:[s]}, s:{s:s}}", "runAsUser", (int)uid, "runAsGroup",
			 SANDBOX_GID, "runAsNonRoot", 1, "allowPrivilegeEscalation", 0, "readOnlyRootFilesystem", 1,
			 "capabilities", "drop", "ALL", "seccompProfile", "type", "RuntimeDefault");
}

static json_t *arguments(const struct container_spec *spec)
{
	json_t *args = json_pack("[s]", "init");
	if (spec->install)
		add_text(args, "--install");
	add_number(args, "--lease", spec->lease);
	add_number(args, "--first-lease", MAX((unsigned long long)spec->lease, FIRST_LEASE_SECONDS));
	add_number(args, "--home-size", spec->install ? 0 : spec->home);
	add_number(args, "--disk-floor", spec->disk_floor);
	if (spec->checkpoints) {
		add_text(args, "--checkpoints");
		add_text(args, spec->checkpoints);
	}
	add_number(args, "--pids", spec->pids);
	add_number(args, "--file-size", MAX(spec->memory, spec->home));
	return args;
}

static void add_variable(json_t *env, const char *name, size_t n, const char *value)
{
	AUTO(freep) char *copy = xstrndup(name, n);
	json_array_append_new(env, json_pack("{s:o, s:o}", "name", json_text(copy), "value", json_text(value)));
}

static json_t *environment(const struct container_spec *spec)
{
	static const char *const threads[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
					       "NUMEXPR_NUM_THREADS", "PYTHON_CPU_COUNT" };
	json_t *env = json_array();
	char cpus[24];
	/* As for docker: a library that starts a thread for each core of the node wastes its CPU quota. */
	snprintf(cpus, sizeof(cpus), "%llu",
		 MAX(1ull, (unsigned long long)(spec->cpu_quota + CPU_PERIOD - 1) / CPU_PERIOD));
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		add_variable(env, threads[i], strlen(threads[i]), cpus);
	for (size_t i = 0; spec->env && i < spec->env->n; i++) {
		const char *equals = strchr(spec->env->v[i], '=');
		if (equals)
			add_variable(env, spec->env->v[i], (size_t)(equals - spec->env->v[i]), equals + 1);
	}
	return env;
}

struct volume {
	const char *name, *path;
	bool in_memory;
	uint64_t size;
};

/* The volumes of a session or an install; ends with a name of NULL. */
static void choose_volumes(const struct container_spec *spec, struct volume ret[4])
{
	uint64_t home = spec->home + spec->home / 8;
	const struct volume session[] = { { "workspace", "/workspace", true, spec->tmpfs },
					  { "tmp", "/tmp", true, spec->tmpfs },
					  { "home", HOME_VOLUME, false, home },
					  { 0 } };
	/* An installer writes to disk, because packages can be larger than the memory. */
	const struct volume install[] = { { "workspace", "/workspace", true, spec->tmpfs },
					  { "tmp", "/tmp", false, 0 },
					  { "packages", DEPENDENCIES_PATH, false, 0 },
					  { 0 } };
	memcpy(ret, spec->install ? install : session, sizeof(session));
}

static json_t *mounts_of(const struct volume *v)
{
	json_t *mounts = json_array();
	for (; v->name; v++)
		json_array_append_new(mounts, json_pack("{s:s, s:s}", "name", v->name, "mountPath", v->path));
	return mounts;
}

static json_t *volumes_of(const struct volume *v)
{
	json_t *volumes = json_array();
	for (; v->name; v++) {
		json_t *kind = json_object();
		if (v->in_memory)
			json_object_set_new(kind, "medium", json_string("Memory"));
		if (v->size)
			json_object_set_new(kind, "sizeLimit", size_text(v->size));
		json_array_append_new(volumes, json_pack("{s:s, s:o}", "name", v->name, "emptyDir", kind));
	}
	return volumes;
}

static json_t *container(const char *name, const char *image, unsigned uid)
{
	return json_pack("{s:s, s:o, s:s, s:s, s:o}", "name", name, "image", json_text(image), "imagePullPolicy",
			 "IfNotPresent", "terminationMessagePath", LAST_WORDS, "securityContext", security(uid));
}

static json_t *main_container(const struct container_spec *spec, const char *image, const struct volume *volumes)
{
	json_t *c = container(POD_MAIN, image, spec->uid ? spec->uid : SANDBOX_UID);
	char cpu[32];
	snprintf(cpu, sizeof(cpu), "%llum", (unsigned long long)MAX(1, spec->cpu_quota * 1000 / CPU_PERIOD));
	json_object_set_new(c, "command", json_pack("[s]", CLIENT_PATH));
	json_object_set_new(c, "args", arguments(spec));
	json_object_set_new(c, "workingDir", json_string("/workspace"));
	json_object_set_new(c, "env", environment(spec));
	json_object_set_new(c, "volumeMounts", mounts_of(volumes));
	json_t *limits = json_pack("{s:s, s:o}", "cpu", cpu, "memory", size_text(spec->memory));
	if (spec->home && !spec->install)
		json_object_set_new(limits, "ephemeral-storage", size_text(spec->home + spec->home / 4 + 64 * MIB));
	json_object_set_new(c, "resources",
			    json_pack("{s:o, s:{s:s, s:s}}", "limits", limits, "requests", "cpu", RESERVED_CPU,
				      "memory", RESERVED_MEMORY));
	return c;
}

static json_t *attach_container(const char *image)
{
	json_t *c = container(POD_ATTACH, image, CONTROLLER_UID);
	json_object_set_new(c, "command", json_pack("[s, s]", CLIENT_PATH, "wait"));
	json_object_set_new(c, "workingDir", json_string("/"));
	json_object_set_new(c, "resources",
			    json_pack("{s:{s:s, s:s, s:s}, s:{s:s, s:s}}", "limits", "cpu", "1", "memory", "64Mi",
				      "ephemeral-storage", "16Mi", "requests", "cpu", "10m", "memory", "8Mi"));
	return c;
}

static json_t *tolerations(uint64_t seconds)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable" };
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I}", "key", keys[i], "operator", "Exists",
						      "effect", "NoExecute", "tolerationSeconds", (json_int_t)seconds));
	return list;
}

static json_t *labels_of(const struct container_spec *spec)
{
	json_t *labels = json_pack("{s:s}", "husk", "true");
	json_object_set_new(labels, POD_STORE, json_text(spec->store ? spec->store : ""));
	json_object_set_new(labels, POD_OWNER, json_text(spec->owner ? spec->owner : ""));
	json_object_set_new(labels, POD_MARK, json_text(spec->mark ? spec->mark : spec->name));
	json_object_set_new(labels, POD_NETWORK, json_string(spec->network ? "on" : "off"));
	return labels;
}

/* Takes the references. */
static json_t *pod_around(const struct container_spec *spec, json_t *containers, json_t *volumes)
{
	json_t *pod = json_pack("{s:s, s:s, s:{s:o, s:o}}", "apiVersion", "v1", "kind", "Pod", "metadata", "name",
				json_text(spec->name), "labels", labels_of(spec));
	json_t *inside = json_pack("{s:s, s:i, s:b, s:b, s:s, s:o, s:o, s:o}", "restartPolicy", "Never",
				   "terminationGracePeriodSeconds", 1, "automountServiceAccountToken", 0,
				   "enableServiceLinks", 0, "hostname", "husk", "tolerations", tolerations(spec->lease),
				   "containers", containers, "volumes", volumes);
	/* PID 1 answers the names that the session's gate lets through. Pod Security allows this setting of the kernel. */
	if (!spec->network) {
		json_object_set_new(inside, "dnsPolicy", json_string("None"));
		json_object_set_new(inside, "dnsConfig", json_pack("{s:[s]}", "nameservers", "127.0.0.1"));
		json_object_set_new(inside, "securityContext",
				    json_pack("{s:[{s:s, s:s}]}", "sysctls", "name",
					      "net.ipv4.ip_unprivileged_port_start", "value", "0"));
	}
	for (size_t i = 0; spec->hosts && i < spec->hosts->n; i++) {
		const char *host = spec->hosts->v[i], *colon = strrchr(host, ':');
		json_t *alias = json_pack("{s:s, s:[s#]}", "ip", colon + 1, "hostnames", host, (size_t)(colon - host));
		if (!i)
			json_object_set_new(inside, "hostAliases", json_array());
		json_array_append_new(json_object_get(inside, "hostAliases"), alias);
	}
	if (spec->runtime)
		json_object_set_new(inside, "runtimeClassName", json_text(spec->runtime));
	json_object_set_new(pod, "spec", inside);
	return pod;
}

json_t *pod_make(const struct container_spec *spec, const char *image)
{
	struct volume volumes[4];
	choose_volumes(spec, volumes);
	return pod_around(spec, json_pack("[o, o]", main_container(spec, image, volumes), attach_container(image)),
			  volumes_of(volumes));
}

json_t *pod_make_trial(const struct container_spec *spec, const char *image, const char *script)
{
	json_t *c = container(POD_MAIN, image, SANDBOX_UID);
	json_object_set_new(c, "command", json_pack("[s, s, s]", "/bin/bash", "-c", script));
	json_object_set_new(c, "env",
			    json_pack("[{s:s, s:{s:{s:s}}}]", "name", "NODE", "valueFrom", "fieldRef", "fieldPath",
				      "status.hostIP"));
	json_object_set_new(c, "resources",
			    json_pack("{s:{s:s, s:s, s:s}, s:{s:s, s:s}}", "limits", "cpu", "1", "memory", "64Mi",
				      "ephemeral-storage", "16Mi", "requests", "cpu", "10m", "memory", "8Mi"));
	return pod_around(spec, json_pack("[o]", c), json_array());
}

/* --- reports ------------------------------------------------------------------------------------------------------- */

static void take(char *to, size_t size, const json_t *value)
{
	AUTO(buf_release) struct buf clean = { 0 };
	const char *text = json_string_value(value);
	*to = '\0';
	if (!text || !*text)
		return;
	utf8_clean(&clean, text, strnlen(text, 4 * size));
	const char *s = buf_str(&clean);
	size_t n = MIN(clean.len, size - 1);
	while (n && n < clean.len && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)s[i] < ' ' ? ' ' : s[i];
	to[n] = '\0';
}

#define TAKE(to, value) take(to, sizeof(to), value)

static uint64_t seconds_of(const json_t *value)
{
	struct tm tm = { 0 };
	const char *text = json_string_value(value);
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	time_t t = end ? timegm(&tm) : 0;
	return t > 0 ? (uint64_t)t : 0;
}

static enum pod_phase phase_of(const json_t *value)
{
	const char *text = json_string_value(value);
	for (int i = POD_PENDING; text && i < POD_UNKNOWN; i++)
		if (streq(text, pod_phase_name((enum pod_phase)i)))
			return (enum pod_phase)i;
	return POD_UNKNOWN;
}

const char *pod_phase_name(enum pod_phase phase)
{
	static const char *const names[] = { [POD_PENDING] = "Pending",
					     [POD_RUNNING] = "Running",
					     [POD_SUCCEEDED] = "Succeeded",
					     [POD_FAILED] = "Failed",
					     [POD_UNKNOWN] = "Unknown" };
	return names[phase];
}

/* Reasons for which a container waits that do not pass by themselves. */
static bool is_stuck(const char *reason, bool *ret_image)
{
	static const char *const image[] = { "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
					     "ErrImageNeverPull", "RegistryUnavailable" };
	static const char *const other[] = { "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
					     "CrashLoopBackOff" };
	for (size_t i = 0; i < ARRAY_LEN(image); i++)
		if (streq(reason, image[i]))
			return *ret_image = true;
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		if (streq(reason, other[i]))
			return true;
	return false;
}

static void read_container(struct pod *p, const json_t *status, size_t *running)
{
	const char *name = json_string_value(json_object_get(status, "name"));
	const json_t *state = json_object_get(status, "state");
	const json_t *waiting = json_object_get(state, "waiting"), *ended = json_object_get(state, "terminated");
	const char *reason = json_string_value(json_object_get(waiting ? waiting : ended, "reason"));
	bool is_main = name && streq(name, POD_MAIN);
	*running += json_object_get(state, "running") != NULL;
	if (waiting && reason && is_stuck(reason, &p->no_image)) {
		p->stuck = true;
		TAKE(p->reason, json_object_get(waiting, "reason"));
		TAKE(p->message, json_object_get(waiting, "message"));
	}
	if (!ended || !is_main)
		return;
	p->ended = true;
	p->exit_code = (int)json_integer_value(json_object_get(ended, "exitCode"));
	p->oom = reason && streq(reason, "OOMKilled");
	if (*p->message || *p->reason)
		return;
	TAKE(p->reason, json_object_get(ended, "reason"));
	TAKE(p->message, json_object_get(ended, "message"));
}

static bool is_true(const json_t *condition)
{
	const char *status = json_string_value(json_object_get(condition, "status"));
	return status && streq(status, "True");
}

static void read_condition(struct pod *p, const json_t *condition)
{
	const char *type = json_string_value(json_object_get(condition, "type"));
	const char *reason = json_string_value(json_object_get(condition, "reason"));
	bool disrupted = type && streq(type, "DisruptionTarget") && is_true(condition);
	bool no_node =
		type && streq(type, "PodScheduled") && !is_true(condition) && reason && streq(reason, "Unschedulable");
	if (!disrupted && !no_node)
		return;
	p->disrupted |= disrupted;
	p->unschedulable |= no_node;
	TAKE(p->reason, json_object_get(condition, "reason"));
	TAKE(p->message, json_object_get(condition, "message"));
}

static void read_status(struct pod *p, const json_t *status)
{
	size_t i, running = 0;
	json_t *entry;
	p->phase = phase_of(json_object_get(status, "phase"));
	TAKE(p->reason, json_object_get(status, "reason"));
	TAKE(p->message, json_object_get(status, "message"));
	/* A kubelet that evicts a pod gives the reason here, and may report no container. */
	p->disrupted = p->phase == POD_FAILED && *p->reason;
	json_array_foreach(json_object_get(status, "conditions"), i, entry)
		read_condition(p, entry);
	json_array_foreach(json_object_get(status, "containerStatuses"), i, entry)
		read_container(p, entry, &running);
	p->started = running >= 2;
	p->ended |= p->phase == POD_FAILED || p->phase == POD_SUCCEEDED;
}

bool pod_read(const json_t *object, struct pod *ret)
{
	const json_t *meta = json_object_get(object, "metadata"), *labels = json_object_get(meta, "labels");
	*ret = (struct pod){ 0 };
	TAKE(ret->name, json_object_get(meta, "name"));
	TAKE(ret->uid, json_object_get(meta, "uid"));
	TAKE(ret->store, json_object_get(labels, POD_STORE));
	TAKE(ret->owner, json_object_get(labels, POD_OWNER));
	TAKE(ret->mark, json_object_get(labels, POD_MARK));
	TAKE(ret->node, json_object_get(json_object_get(object, "spec"), "nodeName"));
	ret->created = seconds_of(json_object_get(meta, "creationTimestamp"));
	ret->deleting = json_is_string(json_object_get(meta, "deletionTimestamp"));
	read_status(ret, json_object_get(object, "status"));
	return *ret->name && *ret->uid;
}

bool pod_is_over(const struct pod *p)
{
	return p->ended || p->disrupted;
}

int pod_death(const struct pod *p, struct fail *f)
{
	const char *node = *p->node ? p->node : "unknown";
	if (p->disrupted && !p->oom)
		return cause_set(f, FAIL_DIED, CAUSE_NODE, "the cluster ended the pod on the node '%s': %s%s%s", node,
				 *p->reason ? p->reason : "no reason given", *p->message ? ": " : "", p->message);
	(void)engine_death(f, p->oom, p->exit_code);
	AUTO(freep) char *message = xasprintf("%s (node '%s')", f->message, node);
	return cause_set(f, FAIL_DIED, cause_of(f), "%s", message);
}

int pod_trouble(const struct pod *p, const char *namespace, struct fail *f)
{
	if (p->no_image) {
		cause_set(f, FAIL_IMAGE, CAUSE_NO_IMAGE, "the node '%s' cannot pull the image: %s: %s", p->node,
			  p->reason, p->message);
		return fail_hint(f,
				 "`husk setup` pushes the images to CONTAINER_REGISTRY; `kubectl describe pod %s "
				 "-n %s` shows the reference",
				 p->name, namespace);
	}
	if (p->unschedulable)
		cause_set(f, FAIL_ENGINE, CAUSE_NO_NODE, "no node has room for the session: %s", p->message);
	else if (p->stuck)
		cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the node '%s' cannot start the pod: %s: %s", p->node,
			  p->reason, p->message);
	else if (!*p->node)
		cause_set(f, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT,
			  "no node was chosen for the pod (is a scheduler running?)");
	else
		cause_set(f, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT,
			  "the node '%s' did not start the pod in time (phase %s%s%s)", p->node,
			  pod_phase_name(p->phase), *p->reason ? ", " : "", p->reason);
	if (p->unschedulable)
		return fail_hint(f, "stop sessions or add nodes; `kubectl describe nodes` shows what is in use");
	return fail_hint(f, "`kubectl describe pod %s -n %s` shows more while it exists", p->name, namespace);
}

#include "tests/unit/kubernetes-rig.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/json.h"
#include "tests/unit/scratch.h"

#define PATIENCE_MS 5000
#define PODS "/api/v1/namespaces/husk/pods"

/* --- the watch ----------------------------------------------------------------------------------------------------- */

void kube_rig_line(struct kube_rig *rig, const char *line)
{
	kube_rig_until_request(rig, "watch=1", 1);
	for (int i = 0; i < 1000 && !rig->watch; i++)
		loop_turn(rig->loop);
	assert_non_null(rig->watch);
	AUTO(freep) char *text = xasprintf("%s\n", line);
	http_reply_write(rig->watch, text, strlen(text));
}

static void tell(struct kube_rig *rig, const char *type, json_t *pod)
{
	if (!rig->watch)
		return;
	json_auto_t *event = json_pack("{s:s, s:O}", "type", type, "object", pod);
	AUTO(buf_release) struct buf line = { 0 };
	json_print(&line, event);
	buf_add_str(&line, "\n");
	http_reply_write(rig->watch, line.data, line.len);
}

static void bump(struct kube_rig *rig, json_t *pod)
{
	json_object_set_new(json_object_get(pod, "metadata"), "resourceVersion", json_sprintf("%u", ++rig->version));
}

void kube_rig_status(struct kube_rig *rig, const char *name, const char *node, const char *status)
{
	json_t *pod = json_object_get(rig->pods, name);
	assert_non_null(pod);
	if (node)
		json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string(node));
	json_t *value = json_loads(status, 0, NULL);
	assert_non_null(value);
	json_object_set_new(pod, "status", value);
	bump(rig, pod);
	tell(rig, "MODIFIED", pod);
}

void kube_rig_remove(struct kube_rig *rig, const char *name, bool told)
{
	json_t *pod = json_object_get(rig->pods, name);
	assert_non_null(pod);
	bump(rig, pod);
	if (told)
		tell(rig, "DELETED", pod);
	json_object_del(rig->pods, name);
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

static void answer(struct http_request *r, int status, const json_t *body)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, body);
	http_reply(r, status, NULL, text.data, text.len);
}

static void not_found(struct http_request *r, const char *name)
{
	json_auto_t *body = json_pack("{s:s, s:o, s:i}", "kind", "Status", "message",
				      json_sprintf("pods \"%s\" not found", name), "code", 404);
	answer(r, 404, body);
}

static void create(struct kube_rig *rig, struct http_request *r, const void *data, size_t n)
{
	json_t *pod = json_loadb(data, n, 0, NULL);
	assert_non_null(pod);
	json_t *meta = json_object_get(pod, "metadata");
	const char *name = json_string_value(json_object_get(meta, "name"));
	json_object_set_new(meta, "uid", json_sprintf("uid-%s", name));
	json_object_set_new(meta, "creationTimestamp", json_string("2026-01-02T03:04:05Z"));
	json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Pending"));
	bump(rig, pod);
	json_object_set_new(rig->pods, name, pod);
	tell(rig, "ADDED", pod);
	answer(r, 201, pod);
	if (rig->answer_node)
		kube_rig_status(rig, name, rig->answer_node, "{\"phase\": \"Pending\"}");
}

static void delete (struct kube_rig *rig, struct http_request *r, const char *name)
{
	json_t *pod = json_object_get(rig->pods, name);
	if (!pod) {
		not_found(r, name);
		return;
	}
	answer(r, 200, pod);
	if (!rig->keep_deleted)
		kube_rig_remove(rig, name, true);
}

static void on_watch_closed(void *ctx)
{
	struct kube_rig *rig = ctx;
	rig->watch = NULL;
}

/* Sends what has changed since the version that the watch begins with. */
static void start_watch(struct kube_rig *rig, struct http_request *r, const char *target)
{
	const char *version = strstr(target, "resourceVersion="), *name;
	json_t *pod;
	assert_non_null(version);
	unsigned long since = strtoul(version + strlen("resourceVersion="), NULL, 10);
	http_reply_begin(r, 200, NULL, -1);
	http_request_on_closed(r, on_watch_closed, rig);
	rig->watch = r;
	json_object_foreach(rig->pods, name, pod) {
		const json_t *meta = json_object_get(pod, "metadata");
		if (strtoul(json_string_value(json_object_get(meta, "resourceVersion")), NULL, 10) > since)
			tell(rig, "MODIFIED", pod);
	}
}

static void list(struct kube_rig *rig, struct http_request *r)
{
	json_auto_t *body =
		json_pack("{s:{s:o}, s:[]}", "metadata", "resourceVersion", json_sprintf("%u", rig->version), "items");
	const char *name;
	json_t *pod;
	json_object_foreach(rig->pods, name, pod)
		json_array_append(json_object_get(body, "items"), pod);
	answer(r, 200, body);
}

static void on_exec_message(void *ctx, bool text UNUSED, const void *data, size_t n)
{
	struct kube_rig *rig = ctx;
	assert_true(n > 0 && *(const char *)data == 0);
	buf_add(&rig->exec_got, (const char *)data + 1, n - 1);
}

static void on_exec_closed(void *ctx, int code UNUSED)
{
	struct kube_rig *rig = ctx;
	rig->execs_open--;
	rig->exec = websocket_free(rig->exec);
}

static void exec(struct kube_rig *rig, struct http_request *r)
{
	static const struct websocket_ops ops = { on_exec_message, on_exec_closed, NULL };
	const char *wanted = http_fields_get(&http_request_head(r)->fields, "sec-websocket-protocol");
	assert_string_equal(wanted, "v4.channel.k8s.io");
	rig->exec = websocket_free(rig->exec);
	rig->execs++;
	rig->execs_open++;
	rig->execs_most = MAX(rig->execs_most, rig->execs_open);
	rig->exec = websocket_accept(r, rig->protocol, &(struct websocket_spec){ rig->loop, 1 << 20, &ops, rig });
	assert_non_null(rig->exec);
}

/* --- requests ------------------------------------------------------------------------------------------------------ */

struct pending {
	struct kube_rig *rig;
	struct http_request *request;
};

static struct kube_rule *rule_for(struct kube_rig *rig, const char *method, const char *target)
{
	for (size_t i = 0; i < ARRAY_LEN(rig->rules); i++) {
		struct kube_rule *rule = &rig->rules[i];
		if (!rule->method || !streq(rule->method, method) || (rule->part && !strstr(target, rule->part)))
			continue;
		if (rule->times && --rule->times == 0)
			rule->method = NULL;
		return rule;
	}
	return NULL;
}

static void obey(struct kube_rig *rig, struct http_request *r, const struct kube_rule *rule)
{
	if (rule->status > 0) {
		http_reply(r, rule->status, NULL, rule->body, strlen(rule->body));
	} else if (rule->status == 0) {
		http_reply_begin(r, 200, NULL, 1000);
		http_reply_write(r, "{\"kind\":", 8);
		http_reply_abort(r);
	} else {
		assert_true(rig->n_held < ARRAY_LEN(rig->held));
		rig->held[rig->n_held++] = r;
	}
}

static void handle(struct kube_rig *rig, struct http_request *r, const void *data, size_t n)
{
	const struct http_head *head = http_request_head(r);
	const char *target = (const char *)head->target.data, *name = target + strlen(PODS);
	AUTO(freep) char *line = xasprintf("%s %s", head->method_name, target);
	AUTO(freep) char *body = xstrndup(n ? data : "", n);
	AUTO(freep) char *pod = xstrdup(*name == '/' ? name + 1 : "");
	pod[strcspn(pod, "/?")] = '\0';
	strv_add(&rig->requests, line);
	strv_add(&rig->bodies, body);
	const struct kube_rule *rule = rule_for(rig, head->method_name, target);
	if (rule) {
		obey(rig, r, rule);
	} else if (streq(target, "/version")) {
		json_auto_t *version = json_pack("{s:s}", "gitVersion", "v1.34.4");
		answer(r, 200, version);
	} else if (strstr(target, "/exec?")) {
		exec(rig, r);
	} else if (strstr(target, "watch=1")) {
		start_watch(rig, r, target);
	} else if (streq(head->method_name, "POST")) {
		create(rig, r, data, n);
	} else if (streq(head->method_name, "DELETE")) {
		delete (rig, r, pod);
	} else if (!*pod) {
		list(rig, r);
	} else if (json_object_get(rig->pods, pod)) {
		answer(r, 200, json_object_get(rig->pods, pod));
	} else {
		not_found(r, pod);
	}
}

static void on_body(void *ctx, const void *data, size_t n)
{
	struct pending *p = ctx;
	struct http_request *r = p->request;
	struct kube_rig *rig = p->rig;
	free(p);
	http_request_on_closed(r, NULL, NULL);
	handle(rig, r, data, n);
}

static void on_gone(void *ctx)
{
	free(ctx);
}

static void on_request(void *ctx, struct http_request *r)
{
	if (http_request_head(r)->upgrade) {
		handle(ctx, r, NULL, 0);
		return;
	}
	struct pending *p = new0(struct pending);
	*p = (struct pending){ ctx, r };
	http_request_on_closed(r, on_gone, p);
	http_request_collect(r, 1 << 20, on_body, p);
}

/* --- time ---------------------------------------------------------------------------------------------------------- */

static void stop(void *ctx)
{
	loop_stop(ctx, 0);
}

/* loop_turn() waits for an event, so there is always one. */
static void turn(struct kube_rig *rig)
{
	struct timer *t = timer_new(rig->loop, stop, rig->loop);
	timer_start(t, 1, 0);
	loop_run(rig->loop);
	timer_free(t);
}

void kube_rig_until(struct kube_rig *rig, const int *flag)
{
	uint64_t end = loop_now_ms() + PATIENCE_MS;
	while (!*flag && loop_now_ms() < end)
		turn(rig);
	assert_true(*flag);
}

unsigned kube_rig_requests(const struct kube_rig *rig, const char *text)
{
	unsigned n = 0;
	for (size_t i = 0; i < rig->requests.n; i++)
		n += strstr(rig->requests.v[i], text) != NULL;
	return n;
}

void kube_rig_until_request(struct kube_rig *rig, const char *text, unsigned n)
{
	uint64_t end = loop_now_ms() + PATIENCE_MS;
	while (kube_rig_requests(rig, text) < n && loop_now_ms() < end)
		turn(rig);
	if (kube_rig_requests(rig, text) < n)
		fail_msg("no request with '%s'", text);
}

void kube_rig_settle(struct kube_rig *rig)
{
	for (int i = 0; i < 20; i++)
		turn(rig);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void write_script(const struct kube_rig *rig, const char *script)
{
	FILE *f = fopen(rig->helper, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nfor a; do case $a in --unix-socket=*) ln -s %s \"${a#*=}\";; esac; done\n%s\n",
		rig->socket, script ? script : "echo Starting to serve on x; exec sleep 600");
	fchmod(fileno(f), 0700);
	fclose(f);
}

void kube_rig_init(struct kube_rig *rig, const char *script)
{
	AUTO(fail_release) struct fail f = { 0 };
	*rig = (struct kube_rig){ .loop = loop_new(), .protocol = "v4.channel.k8s.io", .pods = json_object() };
	snprintf(rig->folder, sizeof(rig->folder), "/tmp/husk-kube-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	snprintf(rig->socket, sizeof(rig->socket), "%s/api", rig->folder);
	snprintf(rig->helper, sizeof(rig->helper), "%s/helper", rig->folder);
	write_script(rig, script);
	rig->server = http_server_new(rig->loop, &(struct http_server_spec){ http_limits_default, on_request, rig });
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", rig->socket);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(http_server_listen(rig->server, fd, NULL, NULL), 0);
	rig->config.state_dir = rig->folder;
	rig->config.registry = (char *)"registry.test/husk";
	rig->engine = engine_open(
		"kubernetes",
		&(struct engine_options){
			.loop = rig->loop, .program = "kubectl", .helper = rig->helper, .config = &rig->config },
		&f);
	assert_non_null(rig->engine);
}

void kube_rig_release(struct kube_rig *rig)
{
	if (rig->engine)
		rig->engine->ops->free(rig->engine);
	rig->exec = websocket_free(rig->exec);
	http_server_free(rig->server);
	loop_drain(rig->loop, 1000);
	loop_free(rig->loop);
	json_decref(rig->pods);
	strv_release(&rig->requests);
	strv_release(&rig->bodies);
	strv_release(&rig->events);
	buf_release(&rig->exec_got);
	buf_release(&rig->got);
	fail_release(&rig->fail);
	assert_int_equal(scratch_remove(rig->folder), 0);
}

/* --- the engine's callbacks ---------------------------------------------------------------------------------------- */

static void on_created(void *ctx, const struct engine_created *created, const struct fail *f)
{
	struct kube_rig *rig = ctx;
	rig->created++;
	fail_release(&rig->fail);
	if (f)
		fail_copy(&rig->fail, f);
	snprintf(rig->id, sizeof(rig->id), "%s", created ? created->id : "");
}

struct engine_task *kube_rig_create(struct kube_rig *rig, const char *name, bool network)
{
	struct container_spec spec = { .name = name,
				       .image = "husk-python:1",
				       .store = "s1",
				       .owner = "o1",
				       .mark = "m1",
				       .uid = 60710,
				       .memory = 1 << 30,
				       .cpu_quota = 150000,
				       .pids = 100,
				       .tmpfs = 1 << 20,
				       .home = 1 << 28,
				       .lease = 300,
				       .network = network };
	return rig->engine->ops->create(rig->engine, &spec, on_created, rig);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct kube_rig *rig = ctx;
	rig->removed++;
	fail_release(&rig->fail);
	if (f)
		fail_copy(&rig->fail, f);
}

struct engine_task *kube_rig_delete(struct kube_rig *rig, const char *name, const char *store, const char *mark)
{
	return rig->engine->ops->remove(rig->engine, &(struct container_ref){ name, store, mark }, on_removed, rig);
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct kube_rig *rig = ctx;
	buf_add(&rig->got, data, n);
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct kube_rig *rig = ctx;
	rig->closed++;
	fail_release(&rig->fail);
	fail_copy(&rig->fail, f);
}

struct stream_handler kube_rig_stream(struct kube_rig *rig)
{
	return (struct stream_handler){ on_bytes, on_closed, rig };
}

static void on_event(void *ctx, const struct engine_event *event)
{
	struct kube_rig *rig = ctx;
	if (event->kind == EVENT_DIE)
		strv_addf(&rig->events, "die %s %s: %s", event->container, cause_name(cause_of(event->why)),
			  event->why->message);
	else
		strv_addf(&rig->events, "destroy %s", event->container);
}

static void on_feed_closed(void *ctx UNUSED)
{
	fail_msg("the engine's events must not end");
}

struct watch_handler kube_rig_events(struct kube_rig *rig)
{
	return (struct watch_handler){ on_event, on_feed_closed, rig };
}

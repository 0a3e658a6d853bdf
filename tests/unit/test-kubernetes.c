/* The Kubernetes engine over an API server that the test scripts (kubernetes-rig.h). */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "tests/unit/kubernetes-rig.h"
#include "tests/unit/unit.h"

#define POD "husk-a"
#define RUNNING                                                                                                        \
	"{\"phase\": \"Running\", \"containerStatuses\": [{\"name\": \"main\", \"state\": {\"running\": {}}},"         \
	" {\"name\": \"attach\", \"state\": {\"running\": {}}}]}"

static int setup(void **state)
{
	struct kube_rig *rig = new0(struct kube_rig);
	kube_rig_init(rig, NULL);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct kube_rig *rig = *state;
	kube_rig_release(rig);
	free(rig);
	return 0;
}

static void rule(struct kube_rig *rig, const char *method, const char *part, int status, const char *body,
		 unsigned times)
{
	for (size_t i = 0; i < ARRAY_LEN(rig->rules); i++) {
		if (rig->rules[i].method)
			continue;
		rig->rules[i] = (struct kube_rule){ method, part, status, body, times };
		return;
	}
	fail_msg("too many rules");
}

/* A failure is reported before the pod is gone. */
static void until_empty(struct kube_rig *rig)
{
	uint64_t end = loop_now_ms() + 5000;
	while (json_object_size(rig->pods) && loop_now_ms() < end)
		kube_rig_settle(rig);
	assert_int_equal(json_object_size(rig->pods), 0);
}

/* A pod that is there and whose stream was opened. */
static void make(struct kube_rig *rig)
{
	rig->answer_node = "n1";
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(rig->fail.kind, FAIL_NONE);
}

static struct engine_stream *attach(struct kube_rig *rig)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct stream_handler handler = kube_rig_stream(rig);
	return rig->engine->ops->attach(rig->engine, POD, &handler, &f);
}

static void until_got(struct kube_rig *rig, const struct buf *b, size_t n)
{
	uint64_t end = loop_now_ms() + 5000;
	while (b->len < n && loop_now_ms() < end)
		kube_rig_settle(rig);
	assert_int_equal(b->len, n);
}

/* --- creating ------------------------------------------------------------------------------------------------------ */

static void a_create_opens_the_stream_of_the_attach_that_follows(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "/exec?", 500, "{\"message\": \"container not found (\\\"attach\\\")\"}", 3);
	make(rig);
	assert_string_equal(rig->id, "uid-" POD);
	assert_int_equal(kube_rig_requests(rig, "/exec?"), 4);
	/* Sent before anybody attaches. */
	websocket_send(rig->exec, false, "\1hello", 6);
	struct engine_stream *s = attach(rig);
	until_got(rig, &rig->got, 5);
	assert_memory_equal(rig->got.data, "hello", 5);
	assert_int_equal(rig->engine->ops->stream_write(s, "there", 5), 0);
	until_got(rig, &rig->exec_got, 5);
	assert_int_equal(rig->execs, 1);
	/* The next attach opens a stream of its own. Bytes that are written before it is open arrive. */
	rig->engine->ops->stream_free(s);
	kube_rig_settle(rig);
	buf_reset(&rig->exec_got);
	s = attach(rig);
	assert_int_equal(rig->engine->ops->stream_write(s, "again", 5), 0);
	until_got(rig, &rig->exec_got, 5);
	assert_int_equal(rig->execs, 2);
	assert_int_equal(rig->execs_most, 1);
	rig->engine->ops->stream_free(s);
}

static void large_writes_arrive_in_order(void **state)
{
	struct kube_rig *rig = *state;
	AUTO(freep) uint8_t *data = xmalloc(300000);
	for (size_t i = 0; i < 300000; i++)
		data[i] = (uint8_t)(i / 7);
	make(rig);
	struct engine_stream *s = attach(rig);
	assert_int_equal(rig->engine->ops->stream_write(s, data, 300000), 0);
	until_got(rig, &rig->exec_got, 300000);
	assert_memory_equal(rig->exec_got.data, data, 300000);
	rig->engine->ops->stream_free(s);
}

static void only_one_attempt_at_a_time_is_under_way(void **state)
{
	struct kube_rig *rig = *state;
	rig->answer_node = "n1";
	rule(rig, "GET", "/exec?", -1, "", 0);
	struct engine_task *t = kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until_request(rig, "/exec?", 1);
	for (int i = 0; i < 5; i++) {
		kube_rig_status(rig, POD, "n1", RUNNING);
		kube_rig_settle(rig);
	}
	assert_int_equal(kube_rig_requests(rig, "/exec?"), 1);
	/* A cancelled create does not abandon the attempt, but removes the pod when it ends. */
	rig->engine->ops->task_cancel(t);
	kube_rig_settle(rig);
	assert_int_equal(kube_rig_requests(rig, "DELETE"), 0);
	loop_skip(rig->loop, 16000);
	kube_rig_until_request(rig, "DELETE", 1);
	assert_int_equal(rig->created, 0);
}

static void a_refused_create_reports_the_status(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum cause cause;
		const char *hints;
	} cases[] = {
		{ 403, "{\"message\": \"forbidden: exceeded quota\"}", CAUSE_ENGINE_REFUSED, "quota" },
		{ 403, "{\"message\": \"forbidden\"}", CAUSE_ENGINE_REFUSED, "can-i create pods" },
		{ 422, "{\"message\": \"invalid\"}", CAUSE_ENGINE_REFUSED, "events" },
		{ 503, "", CAUSE_NO_ENGINE, "get pods" },
		{ 201, "{\"kind\": \"Pod\"", CAUSE_NO_ENGINE, "get pods" },
		{ 0, "", CAUSE_NO_ENGINE, "get pods" },
	};
	struct kube_rig *rig = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		rig->created = 0;
		rule(rig, "POST", NULL, cases[i].status, cases[i].body, 1);
		(void)kube_rig_create(rig, POD, /* network= */ true);
		kube_rig_until(rig, &rig->created);
		assert_int_equal(cause_of(&rig->fail), cases[i].cause);
		assert_non_null(strstr(rig->fail.hint, cases[i].hints));
		assert_string_equal(rig->id, "");
	}
	/* Where the outcome is not known, the pod is removed in case it exists. */
	kube_rig_until_request(rig, "DELETE", 3);
	kube_rig_settle(rig);
	assert_int_equal(kube_rig_requests(rig, "DELETE"), 3);
}

static void a_create_that_is_not_answered_ends(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "POST", NULL, -1, "", 1);
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until_request(rig, "POST", 1);
	loop_skip(rig->loop, 16000);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_SILENT);
	kube_rig_until_request(rig, "DELETE", 1);
}

static void an_image_that_cannot_be_pulled_ends_the_create(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "/exec?", 500, "{}", 0);
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until_request(rig, "POST", 1);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_settle(rig);
	kube_rig_status(rig, POD, "n1",
			"{\"phase\": \"Pending\", \"containerStatuses\": [{\"name\": \"main\", \"state\": {\"waiting\":"
			" {\"reason\": \"ErrImagePull\", \"message\": \"manifest unknown\"}}}]}");
	kube_rig_until(rig, &rig->created);
	assert_int_equal(rig->fail.kind, FAIL_IMAGE);
	assert_non_null(strstr(rig->fail.message, "registry.test/husk/husk-python:1"));
	assert_non_null(strstr(rig->fail.message, "manifest unknown"));
	until_empty(rig);
}

static void a_full_cluster_is_reported_after_a_while(void **state)
{
	struct kube_rig *rig = *state;
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until_request(rig, "POST", 1);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_settle(rig);
	kube_rig_status(rig, POD, NULL,
			"{\"phase\": \"Pending\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": \"False\","
			" \"reason\": \"Unschedulable\", \"message\": \"0/2 nodes are available\"}]}");
	kube_rig_settle(rig);
	assert_int_equal(rig->created, 0);
	loop_skip(rig->loop, 21000);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_NO_NODE);
	until_empty(rig);
}

static void a_pod_that_ends_or_is_removed_ends_its_create(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "/exec?", 500, "{}", 0);
	rig->answer_node = "n1";
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until_request(rig, "/exec?", 1);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_status(rig, POD, "n1", "{\"phase\": \"Failed\", \"reason\": \"OutOfcpu\"}");
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_NODE);
	(void)kube_rig_create(rig, "husk-b", /* network= */ true);
	kube_rig_until_request(rig, "husk-b/exec?", 1);
	rig->created = 0;
	kube_rig_remove(rig, "husk-b", true);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_REMOVED);
}

static void without_the_right_to_watch_a_create_ends(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "limit=", 403, "{\"message\": \"forbidden\"}", 0);
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until(rig, &rig->created);
	assert_non_null(strstr(rig->fail.message, "no right to list pods"));
	until_empty(rig);
}

static void without_the_right_to_exec_a_create_ends(void **state)
{
	struct kube_rig *rig = *state;
	rig->answer_node = "n1";
	rule(rig, "GET", "/exec?", 403, "{\"message\": \"forbidden\"}", 1);
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_REFUSED);
	assert_non_null(strstr(rig->fail.hint, "kubectl auth can-i create pods/exec -n husk"));
	until_empty(rig);
}

/* --- the network --------------------------------------------------------------------------------------------------- */

/* The pod that tries the network: its name. */
static const char *trial_pod(struct kube_rig *rig)
{
	kube_rig_until_request(rig, "POST", 1);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_settle(rig);
	void *first = json_object_iter(rig->pods);
	assert_non_null(first);
	return json_object_iter_key(first);
}

static void end_trial(struct kube_rig *rig, int exit_code)
{
	AUTO(freep) char *status =
		xasprintf("{\"phase\": \"%s\", \"containerStatuses\": [{\"name\": \"main\", \"state\": {\"terminated\":"
			  " {\"exitCode\": %d}}}]}",
			  exit_code ? "Failed" : "Succeeded", exit_code);
	kube_rig_status(rig, trial_pod(rig), "n1", status);
}

/* evidence: kubernetes-network-off */
static void a_session_without_a_network_is_refused_if_a_pod_reaches_something(void **state)
{
	struct kube_rig *rig = *state;
	assert_true(engine_capabilities(rig->engine).cuts_network);
	(void)kube_rig_create(rig, POD, /* network= */ false);
	end_trial(rig, 11);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_NOT_SUPPORTED);
	assert_non_null(strstr(rig->fail.message, "kubelet"));
	assert_false(engine_capabilities(rig->engine).cuts_network);
	/* The verdict stays. */
	rig->created = 0;
	(void)kube_rig_create(rig, "husk-b", /* network= */ false);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_NOT_SUPPORTED);
	assert_int_equal(kube_rig_requests(rig, "POST"), 1);
}

static void a_session_without_a_network_starts_if_a_pod_reaches_nothing(void **state)
{
	struct kube_rig *rig = *state;
	(void)kube_rig_create(rig, POD, /* network= */ false);
	end_trial(rig, 0);
	kube_rig_until_request(rig, "POST", 2);
	kube_rig_settle(rig);
	kube_rig_status(rig, POD, "n1", RUNNING);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(rig->fail.kind, FAIL_NONE);
	/* Only the session's own pod is left. */
	assert_int_equal(json_object_size(rig->pods), 1);
}

static void a_trial_that_cannot_run_is_not_a_verdict(void **state)
{
	struct kube_rig *rig = *state;
	(void)kube_rig_create(rig, POD, /* network= */ false);
	end_trial(rig, 9);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_NOT_SUPPORTED);
	assert_true(engine_capabilities(rig->engine).cuts_network);
	rig->created = 0;
	rule(rig, "POST", NULL, 403, "{\"message\": \"forbidden\"}", 1);
	(void)kube_rig_create(rig, POD, /* network= */ false);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_REFUSED);
}

/* The trial's pod runs, but its end would not be seen. */
static void without_the_right_to_watch_a_trial_ends(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "limit=", 403, "{\"message\": \"forbidden\"}", 0);
	(void)kube_rig_create(rig, POD, /* network= */ false);
	kube_rig_until(rig, &rig->created);
	assert_non_null(strstr(rig->fail.message, "no right to list pods"));
	until_empty(rig);
}

/* --- removing ------------------------------------------------------------------------------------------------------ */

static void a_removal_waits_until_the_pod_is_gone(void **state)
{
	struct kube_rig *rig = *state;
	make(rig);
	rig->keep_deleted = true;
	(void)kube_rig_delete(rig, POD, "s1", "m1");
	kube_rig_until_request(rig, "DELETE", 1);
	kube_rig_settle(rig);
	assert_int_equal(rig->removed, 0);
	const char *body = rig->bodies.v[strv_find(&rig->requests, "DELETE /api/v1/namespaces/husk/pods/" POD)];
	assert_non_null(strstr(body, "\"preconditions\":{\"uid\":\"uid-" POD "\"}"));
	kube_rig_remove(rig, POD, true);
	kube_rig_until(rig, &rig->removed);
	assert_int_equal(rig->fail.kind, FAIL_NONE);
	/* A missing pod is success. */
	rig->removed = 0;
	(void)kube_rig_delete(rig, POD, "s1", "m1");
	kube_rig_until(rig, &rig->removed);
	assert_int_equal(rig->fail.kind, FAIL_NONE);
}

static void a_removal_is_repeated_if_the_api_server_fails(void **state)
{
	static const char *const methods[] = { "GET", "GET", "DELETE", "DELETE", "DELETE" };
	static const int statuses[] = { 0, 503, 0, 500, 429 };
	struct kube_rig *rig = *state;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		make(rig);
		rig->removed = 0;
		rule(rig, methods[i], "pods/" POD, statuses[i], "{}", 1);
		(void)kube_rig_delete(rig, POD, "s1", "m1");
		kube_rig_settle(rig);
		loop_skip(rig->loop, 2000);
		kube_rig_until(rig, &rig->removed);
		assert_int_equal(rig->fail.kind, FAIL_NONE);
		assert_null(json_object_get(rig->pods, POD));
	}
}

static void a_pod_with_other_labels_is_not_touched(void **state)
{
	struct kube_rig *rig = *state;
	make(rig);
	(void)kube_rig_delete(rig, POD, "s1", "other");
	kube_rig_until(rig, &rig->removed);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_REFUSED);
	assert_int_equal(kube_rig_requests(rig, "DELETE"), 0);
}

static void another_pod_of_the_same_name_counts_as_gone(void **state)
{
	struct kube_rig *rig = *state;
	make(rig);
	rule(rig, "DELETE", NULL, 409, "{\"message\": \"the UID in the precondition does not match\"}", 1);
	(void)kube_rig_delete(rig, POD, "s1", "m1");
	kube_rig_until(rig, &rig->removed);
	assert_int_equal(rig->fail.kind, FAIL_NONE);
}

static void a_node_that_does_not_confirm_is_named(void **state)
{
	struct kube_rig *rig = *state;
	make(rig);
	rig->keep_deleted = true;
	(void)kube_rig_delete(rig, POD, "s1", "m1");
	kube_rig_until_request(rig, "DELETE", 1);
	kube_rig_settle(rig);
	loop_skip(rig->loop, 31000);
	kube_rig_until(rig, &rig->removed);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_SILENT);
	assert_non_null(strstr(rig->fail.message, "'n1'"));
}

/* --- events -------------------------------------------------------------------------------------------------------- */

static struct engine_watch *watch(struct kube_rig *rig)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct watch_handler handler = kube_rig_events(rig);
	return rig->engine->ops->watch(rig->engine, "s1", &handler, &f);
}

static void until_events(struct kube_rig *rig, size_t n)
{
	uint64_t end = loop_now_ms() + 5000;
	while (rig->events.n < n && loop_now_ms() < end)
		kube_rig_settle(rig);
	assert_int_equal(rig->events.n, n);
}

static void a_death_is_reported_once_with_its_node(void **state)
{
	static const char dead[] = "{\"phase\": \"Failed\", \"reason\": \"Evicted\", \"message\": \"low on memory\"}";
	struct kube_rig *rig = *state;
	struct engine_watch *w = watch(rig);
	make(rig);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_status(rig, POD, "n1", dead);
	kube_rig_status(rig, POD, "n1", dead);
	until_events(rig, 1);
	assert_string_equal(rig->events.v[0],
			    "die " POD " node: the cluster ended the pod on the node 'n1': Evicted: low on memory");
	kube_rig_remove(rig, POD, true);
	until_events(rig, 2);
	assert_string_equal(rig->events.v[1], "destroy " POD);
	rig->engine->ops->watch_free(w);
}

static void a_watch_that_ends_is_continued(void **state)
{
	struct kube_rig *rig = *state;
	struct engine_watch *w = watch(rig);
	make(rig);
	kube_rig_line(rig, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"77\"}}}");
	kube_rig_settle(rig);
	/* The API server ends it in the middle of a line. */
	http_reply_write(rig->watch, "{\"type\":\"ADD", 12);
	struct http_request *r = take_ptr(rig->watch);
	http_reply_end(r);
	kube_rig_until_request(rig, "watch=1", 2);
	assert_int_equal(kube_rig_requests(rig, "resourceVersion=77"), 1);
	/* A broken line is skipped. */
	kube_rig_settle(rig);
	kube_rig_line(rig, "{\"type\":");
	kube_rig_status(rig, POD, "n1", "{\"phase\": \"Succeeded\"}");
	until_events(rig, 1);
	assert_int_equal(kube_rig_requests(rig, "limit="), 1);
	rig->engine->ops->watch_free(w);
}

static void a_watch_without_a_sign_of_life_is_replaced(void **state)
{
	struct kube_rig *rig = *state;
	struct engine_watch *w = watch(rig);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_settle(rig);
	loop_skip(rig->loop, 151000);
	kube_rig_until_request(rig, "watch=1", 2);
	rig->engine->ops->watch_free(w);
}

/* Both forms of 410: an event, and a status. Pods that are gone by the next list are reported. */
static void an_outdated_watch_lists_again(void **state)
{
	struct kube_rig *rig = *state;
	struct engine_watch *w = watch(rig);
	make(rig);
	kube_rig_until_request(rig, "watch=1", 1);
	kube_rig_settle(rig);
	kube_rig_remove(rig, POD, false);
	kube_rig_line(rig, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}");
	kube_rig_until_request(rig, "limit=", 2);
	until_events(rig, 1);
	assert_string_equal(rig->events.v[0], "destroy " POD);
	kube_rig_until_request(rig, "watch=1", 2);
	kube_rig_settle(rig);
	rule(rig, "GET", "watch=1", 410, "{\"code\": 410}", 1);
	struct http_request *r = take_ptr(rig->watch);
	http_reply_abort(r);
	kube_rig_until_request(rig, "limit=", 3);
	rig->engine->ops->watch_free(w);
}

static void a_list_comes_in_pages(void **state)
{
	static const char page[] =
		"{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"a&b\"},\"items\":["
		"{\"metadata\":{\"name\":\"husk-p\",\"uid\":\"u\",\"labels\":{\"husk.store\":\"s1\"}},\"status\":"
		"{\"phase\":\"Succeeded\"}}]}";
	struct kube_rig *rig = *state;
	rule(rig, "GET", "limit=100", 200, page, 1);
	rule(rig, "GET", "continue=a%26b", 410, "{\"code\":410}", 1);
	struct engine_watch *w = watch(rig);
	until_events(rig, 2);
	/* The second page was too old, and the list from the beginning did not have the pod. */
	assert_int_equal(strncmp(rig->events.v[0], "die husk-p", 10), 0);
	assert_string_equal(rig->events.v[1], "destroy husk-p");
	rig->engine->ops->watch_free(w);
}

/* --- streams ------------------------------------------------------------------------------------------------------- */

static void a_stream_that_breaks_says_why(void **state)
{
	struct kube_rig *rig = *state;
	make(rig);
	struct engine_stream *s = attach(rig);
	kube_rig_settle(rig);
	websocket_send(rig->exec, false, "\2husk-client attach: refused\n", 29);
	websocket_send(rig->exec, false, "\3", 1);
	websocket_close(take_ptr(rig->exec), 1000, "");
	rig->execs_open--;
	kube_rig_until(rig, &rig->closed);
	assert_int_equal(rig->fail.kind, FAIL_ENGINE);
	assert_non_null(strstr(rig->fail.message, "husk-client attach: refused"));
	assert_non_null(strstr(rig->fail.message, "(node 'n1')"));
	assert_int_equal(rig->engine->ops->stream_write(s, "x", 1), -EPIPE);
	rig->engine->ops->stream_free(s);
}

static void a_stream_to_a_pod_that_is_gone_is_a_death(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "/exec?", 404, "{\"message\": \"pods \\\"husk-a\\\" not found\"}", 1);
	struct engine_stream *s = attach(rig);
	kube_rig_until(rig, &rig->closed);
	assert_int_equal(rig->fail.kind, FAIL_DIED);
	rig->engine->ops->stream_free(s);
	/* Every other status may pass. */
	static const int others[] = { 400, 403, 500, 503, 0 };
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		rig->closed = 0;
		rule(rig, "GET", "/exec?", others[i], "{\"message\": \"no\"}", 1);
		s = attach(rig);
		kube_rig_until(rig, &rig->closed);
		assert_int_equal(rig->fail.kind, FAIL_ENGINE);
		rig->engine->ops->stream_free(s);
	}
	/* A kubelet that was just started does not know its pods. */
	rig->closed = 0;
	rule(rig, "GET", "/exec?", 404, "pod does not exist", 1);
	s = attach(rig);
	kube_rig_until(rig, &rig->closed);
	assert_int_equal(rig->fail.kind, FAIL_ENGINE);
	rig->engine->ops->stream_free(s);
}

static void another_subprotocol_is_rejected(void **state)
{
	static const char *const protocols[] = { NULL, "v5.channel.k8s.io" };
	struct kube_rig *rig = *state;
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		rig->closed = 0;
		rig->protocol = protocols[i];
		struct engine_stream *s = attach(rig);
		kube_rig_until(rig, &rig->closed);
		assert_int_equal(cause_of(&rig->fail), CAUSE_NOT_SUPPORTED);
		rig->engine->ops->stream_free(s);
	}
}

static void a_stream_that_is_not_answered_ends(void **state)
{
	struct kube_rig *rig = *state;
	rule(rig, "GET", "/exec?", -1, "", 1);
	struct engine_stream *s = attach(rig);
	kube_rig_until_request(rig, "/exec?", 1);
	loop_skip(rig->loop, 16000);
	kube_rig_until(rig, &rig->closed);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_SILENT);
	rig->engine->ops->stream_free(s);
}

/* --- kubectl ------------------------------------------------------------------------------------------------------- */

static void restart(struct kube_rig *rig, const char *script)
{
	kube_rig_release(rig);
	kube_rig_init(rig, script);
}

static void a_client_that_cannot_run_is_reported(void **state)
{
	static const struct {
		const char *script, *says, *hints;
	} cases[] = {
		{ "echo No such file or directory >&2; exit 127", "cannot run 'kubectl'", "HUSK_KUBECTL" },
		{ "echo 'error: context \"x\" does not exist' >&2; exit 1", "context \"x\" does not exist",
		  "KUBECONFIG" },
		{ "exit 1", "no reason given", "KUBECONFIG" },
	};
	struct kube_rig *rig = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		restart(rig, cases[i].script);
		(void)kube_rig_create(rig, POD, /* network= */ true);
		kube_rig_until(rig, &rig->created);
		assert_int_equal(cause_of(&rig->fail), CAUSE_NO_CLIENT);
		assert_non_null(strstr(rig->fail.message, cases[i].says));
		assert_non_null(strstr(rig->fail.hint, cases[i].hints));
	}
}

static void a_client_that_never_serves_is_given_up(void **state)
{
	struct kube_rig *rig = *state;
	restart(rig, "exec sleep 600");
	(void)kube_rig_create(rig, POD, /* network= */ true);
	kube_rig_settle(rig);
	loop_skip(rig->loop, 21000);
	kube_rig_until(rig, &rig->created);
	assert_int_equal(cause_of(&rig->fail), CAUSE_ENGINE_SILENT);
}

/* The proxy ends after each second: what was asked is asked of the next one. */
static void a_proxy_that_ends_is_started_again(void **state)
{
	struct kube_rig *rig = *state;
	restart(rig, "echo Starting to serve on x; exec sleep 0.3");
	make(rig);
	struct engine_watch *w = watch(rig);
	for (int i = 0; i < 30; i++)
		kube_rig_settle(rig);
	kube_rig_status(rig, POD, "n1", "{\"phase\": \"Succeeded\"}");
	until_events(rig, 1);
	rig->removed = 0;
	(void)kube_rig_delete(rig, POD, "s1", "m1");
	kube_rig_until(rig, &rig->removed);
	assert_int_equal(rig->fail.kind, FAIL_NONE);
	rig->engine->ops->watch_free(w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_create_opens_the_stream_of_the_attach_that_follows),
		TEST(large_writes_arrive_in_order),
		TEST(only_one_attempt_at_a_time_is_under_way),
		TEST(a_refused_create_reports_the_status),
		TEST(a_create_that_is_not_answered_ends),
		TEST(an_image_that_cannot_be_pulled_ends_the_create),
		TEST(a_full_cluster_is_reported_after_a_while),
		TEST(a_pod_that_ends_or_is_removed_ends_its_create),
		TEST(without_the_right_to_watch_a_create_ends),
		TEST(without_the_right_to_exec_a_create_ends),
		TEST(a_session_without_a_network_is_refused_if_a_pod_reaches_something),
		TEST(a_session_without_a_network_starts_if_a_pod_reaches_nothing),
		TEST(a_trial_that_cannot_run_is_not_a_verdict),
		TEST(without_the_right_to_watch_a_trial_ends),
		TEST(a_removal_waits_until_the_pod_is_gone),
		TEST(a_removal_is_repeated_if_the_api_server_fails),
		TEST(a_pod_with_other_labels_is_not_touched),
		TEST(another_pod_of_the_same_name_counts_as_gone),
		TEST(a_node_that_does_not_confirm_is_named),
		TEST(a_death_is_reported_once_with_its_node),
		TEST(a_watch_that_ends_is_continued),
		TEST(a_watch_without_a_sign_of_life_is_replaced),
		TEST(an_outdated_watch_lists_again),
		TEST(a_list_comes_in_pages),
		TEST(a_stream_that_breaks_says_why),
		TEST(a_stream_to_a_pod_that_is_gone_is_a_death),
		TEST(another_subprotocol_is_rejected),
		TEST(a_stream_that_is_not_answered_ends),
		TEST(a_client_that_cannot_run_is_reported),
		TEST(a_client_that_never_serves_is_given_up),
		TEST(a_proxy_that_ends_is_started_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* manager/engine/docker with a shell script as client: its arguments, and its answers. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/listener.h"
#include "base/stream.h"
#include "manager/engine/docker/quota.h"
#include "manager/engine/open.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#define FIRST "a000000000000000000000000000000000000000000000000000000000000000"
#define SECOND "b000000000000000000000000000000000000000000000000000000000000000"

struct bench {
	char dir[64];
	struct loop *loop;
	struct engine *engine;
	struct engine_query *query;
	bool done;
	struct fail fail;
	struct engine_network network;
	struct engine_state container;
	bool wants_line_dir, wants_quota, wants_network_late;
	char id[65]; /* of the created object */
	bool line_dir, again;
	/* An engine's socket, and the data on it. */
	const char *answer;
	struct listener *listener;
	struct stream *stream;
	struct buf request;
	struct engine_watch *watch;
	char event[64];
	bool closed;
};

static struct bench b;

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", b.dir, name);
}

/* The script's folder is $d; the log has a line with the arguments of each call. */
static void start(const char *body)
{
	AUTO(freep) char *program = path_of("docker");
	FILE *f = fopen(program, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nd=%s\necho \"$*\" >> $d/log\n%s\n", b.dir, body);
	fclose(f);
	assert_int_equal(chmod(program, 0755), 0);
	b.engine = engine_open(NULL, &(struct engine_options){ .loop = b.loop, .program = program }, &b.fail);
	assert_non_null(b.engine);
}

static int setup(void **state)
{
	b = (struct bench){ .dir = "/tmp/husk-test-docker-XXXXXX", .loop = loop_new() };
	return mkdtemp(b.dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = { "docker", "log", "networks", "tries", "socket", "mounts" };
	listener_free(b.listener);
	stream_free(b.stream);
	buf_release(&b.request);
	if (b.engine) {
		b.engine->ops->watch_free(b.watch);
		b.engine->ops->query_free(b.query);
		b.engine->ops->free(b.engine);
	}
	loop_run(b.loop);
	loop_free(b.loop);
	fail_release(&b.fail);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(freep) char *path = path_of(names[i]);
		unlink(path);
	}
	return rmdir(b.dir);
}

static bool logged(const char *words)
{
	AUTO(freep) char *path = path_of("log");
	AUTO(buf_release) struct buf text = { 0 };
	scratch_read(path, &text);
	return strstr(buf_str(&text), words) != NULL;
}

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	assert_false(b.done);
	b.done = true;
	if (f)
		fail_copy(&b.fail, f);
	loop_stop(b.loop, 0);
}

static void on_created(void *ctx, const struct engine_created *created, const struct fail *f)
{
	snprintf(b.id, sizeof(b.id), "%s", created ? created->id : "");
	b.line_dir = created && created->line_dir;
	b.again = created && created->again;
	on_done(ctx, f);
}

static void create(void)
{
	struct container_spec spec = {
		.name = "husk-c", .image = "i", .store = "s", .owner = "o", .memory = 1 << 20, .network = true
	};
	spec.line_dir = b.wants_line_dir ? "/lines/c" : NULL;
	spec.network_late = b.wants_network_late;
	spec.quota = b.wants_quota ? 5 << 20 : 0;
	b.engine->ops->create(b.engine, &spec, on_created, NULL);
	assert_false(b.done);
	loop_run(b.loop);
	assert_true(b.done);
}

static void on_answer(void *ctx UNUSED, const struct engine_answer *answer, const struct fail *f)
{
	b.network = answer && answer->kind == ENGINE_QUERY_NETWORK ? answer->network : b.network;
	b.container = answer && answer->kind == ENGINE_QUERY_CONTAINER ? answer->container : b.container;
	on_done(NULL, f);
}

static void query(enum engine_query_kind kind, const char *subject)
{
	b.query = b.engine->ops->query(
		b.engine, &(struct query_spec){ .kind = kind, .subject = subject, .done = on_answer }, &b.fail);
	if (!b.query)
		return;
	loop_run(b.loop);
	assert_true(b.done);
}

/* --- the network ------------------------------------------------------------------------------------------------- */

/* An engine that has two networks with the same name, as after a race. */
#define TWO_NETWORKS(remove)                                                                                           \
	"[ -e $d/networks ] || printf '" SECOND " husk0\\n" FIRST " husk0\\n' > $d/networks\n"                         \
	"case \"$1 $2\" in\n"                                                                                          \
	"'context inspect') echo unix:///x ;;\n"                                                                       \
	"'network ls') cat $d/networks ;;\n"                                                                           \
	"'network rm') " remove " ;;\n"                                                                                \
	"run*) [ $(wc -l < $d/networks) = 1 ] || { echo 'network husk is ambiguous' >&2; exit 125; } ;;\n"             \
	"*) exit 1 ;;\n"                                                                                               \
	"esac"

static void a_network_that_exists_twice_is_reduced_to_one(void **state)
{
	start(TWO_NETWORKS("grep -v $4 $d/networks > $d/tries; mv $d/tries $d/networks"));
	create();
	assert_false(b.fail.kind);
	assert_true(logged("network rm -- " SECOND));
	assert_true(logged("--network " FIRST));
}

static void a_second_network_in_use_is_kept(void **state)
{
	start(TWO_NETWORKS(
		"[ $4 != " SECOND
		" ] || { echo 'has active endpoints' >&2; exit 1; }; grep -v $4 $d/networks > $d/tries; mv $d/tries $d/networks"));
	create();
	assert_false(b.fail.kind);
	assert_true(logged("network rm -- " FIRST));
	assert_true(logged("--network " SECOND));
}

/* An engine with the network of an older Husk. */
#define OLD_NETWORK(remove)                                                                                            \
	"[ -e $d/networks ] || echo '" FIRST " ' > $d/networks\n"                                                      \
	"case \"$1 $2\" in\n"                                                                                          \
	"'context inspect') echo unix:///x ;;\n"                                                                       \
	"'network ls') cat $d/networks ;;\n"                                                                           \
	"'network rm') " remove " ;;\n"                                                                                \
	"'network create') echo '" SECOND " husk0' > $d/networks ;;\n"                                                 \
	"run*) ;;\n"                                                                                                   \
	"*) exit 1 ;;\n"                                                                                               \
	"esac"

static void an_older_network_is_replaced(void **state)
{
	start(OLD_NETWORK(": > $d/networks"));
	create();
	assert_false(b.fail.kind);
	assert_true(logged("network rm -- " FIRST));
	assert_true(logged("--network " SECOND));
	assert_false(engine_capabilities(b.engine).outside_fence);
}

static void an_older_network_stays_while_it_is_in_use(void **state)
{
	start(OLD_NETWORK("echo 'has active endpoints' >&2; exit 1"));
	create();
	assert_false(b.fail.kind);
	assert_true(logged("--network " FIRST));
	assert_true(engine_capabilities(b.engine).outside_fence);
}

/* A bridge of that name may belong to another program. */
static void a_network_that_cannot_be_made_says_why(void **state)
{
	start("case \"$1 $2\" in\n"
	      "'context inspect') echo unix:///x ;;\n"
	      "'network ls') ;;\n"
	      "'network create') echo 'Error response from daemon: bridge name husk0 is taken' >&2; exit 1 ;;\n"
	      "esac");
	create();
	assert_non_null(strstr(b.fail.message, "husk0 is taken"));
}

static void the_network_is_found_and_inspected(void **state)
{
	start("case \"$1 $2\" in\n"
	      "'network ls') printf '" SECOND "\\n" FIRST "\\n' ;;\n"
	      "'network inspect') echo '{\"Driver\":\"bridge\",\"Internal\":true}' ;;\n"
	      "esac");
	query(ENGINE_QUERY_NETWORK, NULL);
	assert_false(b.fail.kind);
	assert_true(b.network.is_there && b.network.internal && !b.network.isolated);
	assert_true(logged("-- " FIRST));
}

static void a_missing_network_is_not_an_error(void **state)
{
	start(":");
	query(ENGINE_QUERY_NETWORK, NULL);
	assert_false(b.fail.kind);
	assert_false(b.network.is_there);
}

/* --- other answers ----------------------------------------------------------------------------------------------- */

static void a_missing_container_is_not_an_error(void **state)
{
	start("echo 'Error: No such container: husk-c' >&2; exit 1");
	b.container.is_there = true;
	query(ENGINE_QUERY_CONTAINER, "husk-c");
	assert_false(b.fail.kind);
	assert_false(b.container.is_there);
}

static void the_end_of_a_container_is_read(void **state)
{
	start("echo '[false,137,true]'");
	query(ENGINE_QUERY_CONTAINER, "husk-c");
	assert_false(b.fail.kind);
	assert_true(b.container.is_there && !b.container.running && b.container.oom);
	assert_int_equal(b.container.exit_code, 137);
}

static void an_engine_behind_ssh_does_not_share_our_kernel(void **state)
{
	start("echo '[\"lab\",\"ssh://lab\"]'");
	assert_int_equal(engine_capabilities(b.engine).shares_kernel, SUPPORT_UNKNOWN);
	assert_true(engine_capabilities(b.engine).bakes_images);
	query(ENGINE_QUERY_PLACE, NULL);
	assert_int_equal(engine_capabilities(b.engine).shares_kernel, SUPPORT_NO);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

#define OK "HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\n\r\n"
#define DEATH                                                                                                          \
	"{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"Attributes\":{\"exitCode\":\"137\",\"name\":\"husk-c\"}}}\n"

static void on_request(void *ctx UNUSED, const void *data, size_t n)
{
	buf_add(&b.request, data, n);
	if (strstr(buf_str(&b.request), "\r\n\r\n"))
		(void)stream_write(b.stream, b.answer, strlen(b.answer));
}

static void on_request_end(void *ctx UNUSED, int error UNUSED)
{
	b.stream = stream_free(b.stream);
}

static void on_connection(void *ctx UNUSED, int fd)
{
	static const struct stream_ops ops = { .on_data = on_request, .on_eof = on_request_end };
	b.stream = stream_new(b.loop, fd, fd, &ops, NULL);
	assert_non_null(b.stream);
}

static void on_event(void *ctx UNUSED, const struct engine_event *event)
{
	snprintf(b.event, sizeof(b.event), "%d %d %s", event->kind, event->exit_code, event->container);
	loop_stop(b.loop, 0);
}

static void on_feed_closed(void *ctx UNUSED)
{
	b.closed = true;
	loop_stop(b.loop, 0);
}

/* Watches an engine that answers with `answer` at $d/socket. The docker client itself would report another event. */
static void watch_engine(const char *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct watch_handler handler = { .on_event = on_event, .on_closed = on_feed_closed };
	start("case $1 in\n"
	      "context) echo \"[\\\"default\\\",\\\"unix://$d/socket\\\"]\" ;;\n"
	      "events) echo '{\"Action\":\"oom\",\"Actor\":{\"Attributes\":{\"name\":\"husk-d\"}}}'; exec sleep 60 ;;\n"
	      "esac");
	if (answer) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", b.dir);
		assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		assert_int_equal(listen(fd, 1), 0);
		b.answer = answer;
		b.listener = listener_new(b.loop, fd, on_connection, NULL);
	}
	b.watch = b.engine->ops->watch(b.engine, "store0", &handler, &b.fail);
	assert_non_null(b.watch);
	loop_run(b.loop);
}

static void events_come_from_the_engine_s_socket(void **state)
{
	watch_engine(OK DEATH);
	assert_string_equal(b.event, "0 137 husk-c");
	assert_non_null(strstr(buf_str(&b.request), "%22label%22:%5B%22husk.store%3Dstore0%22%5D%7D HTTP/1.0\r\n"));
	assert_false(logged("events"));
	b.stream = stream_free(b.stream);
	loop_run(b.loop);
	assert_true(b.closed);
}

static void a_silent_socket_falls_back_to_the_client(void **state)
{
	watch_engine("HTTP/1.0 404 Not Found\r\n\r\n");
	assert_string_equal(b.event, "1 0 husk-d");
	assert_true(logged("events --filter type=container"));
}

static void an_engine_without_a_socket_uses_the_client(void **state)
{
	watch_engine(NULL);
	assert_string_equal(b.event, "1 0 husk-d");
}

/* --- failures have causes ---------------------------------------------------------------------------------------- */

static void a_missing_client_is_reported(void **state)
{
	b.engine =
		engine_open("docker", &(struct engine_options){ .loop = b.loop, .program = "/none/docker" }, &b.fail);
	query(ENGINE_QUERY_VERSION, NULL);
	assert_int_equal(cause_of(&b.fail), CAUSE_NO_CLIENT);
	assert_non_null(strstr(b.fail.hint, "HUSK_DOCKER"));
}

static void a_missing_engine_is_reported(void **state)
{
	start("echo 'Cannot connect to the Docker daemon at unix:///x.' >&2; exit 1");
	create();
	assert_int_equal(b.fail.kind, FAIL_ENGINE);
	assert_int_equal(cause_of(&b.fail), CAUSE_NO_ENGINE);
	assert_non_null(strstr(b.fail.hint, "then try again"));
}

static void a_missing_image_is_reported(void **state)
{
	start("case \"$1 $2\" in\n"
	      "'context inspect') echo unix:///x ;;\n"
	      "'network ls') echo " FIRST " ;;\n"
	      "run*) echo \"Unable to find image 'i' locally\" >&2; exit 125 ;;\n"
	      "esac");
	create();
	assert_int_equal(b.fail.kind, FAIL_IMAGE);
	assert_int_equal(cause_of(&b.fail), CAUSE_NO_IMAGE);
	assert_true(logged("rm --force --volumes husk-c"));
}

/* Like an engine that does not see this machine's files. */
static void a_refused_mount_is_left_out_and_remembered(void **state)
{
	start("case \"$*\" in\n"
	      "'context inspect'*) echo unix:///x ;;\n"
	      "'network ls'*) echo " FIRST " ;;\n"
	      "run*/run/husk*) echo 'invalid mount config for type \"bind\": bind source path does not exist: /lines/c' >&2; exit 125 ;;\n"
	      "run*) echo run >> $d/tries; echo " SECOND " ;;\n"
	      "esac");
	b.wants_line_dir = true;
	for (int i = 0; i < 2; i++) {
		b.done = false;
		create();
		assert_int_equal(b.fail.kind, 0);
		assert_false(b.line_dir);
		assert_string_equal(b.id, SECOND);
	}
	AUTO(freep) char *log = path_of("log");
	unsigned mounts = 0;
	char line[4096];
	FILE *f = fopen(log, "re");
	while (fgets(line, sizeof(line), f))
		mounts += strstr(line, "target=/run/husk") != NULL;
	fclose(f);
	assert_int_equal(mounts, 1);
}

static unsigned count_logged(const char *words)
{
	AUTO(freep) char *log = path_of("log");
	unsigned n = 0;
	char line[4096];
	FILE *f = fopen(log, "re");
	while (fgets(line, sizeof(line), f))
		n += strstr(line, words) != NULL;
	fclose(f);
	return n;
}

#define SIZE "type=volume,target=/home,volume-opt=size=5242880"
#define ON_XFS "36 28 8:2 / /var/lib/docker rw,relatime shared:1 - xfs /dev/sdb1 rw,attr2,inode64,prjquota\n"

/* Two sessions on a machine with these mounts. The engine refuses a run with these words; NULL = it runs it. */
static void create_two(const char *mounts, const char *words, const char *refusal)
{
	AUTO(freep) char *path = path_of("mounts");
	FILE *f = fopen(path, "we");
	fputs(mounts, f);
	fclose(f);
	const char *usual = quota_mounts;
	quota_mounts = path;
	AUTO(freep) char *body = xasprintf("case \"$*\" in\n"
					   "'context inspect'*) echo unix:///x ;;\n"
					   "'network ls'*) echo " FIRST " ;;\n"
					   "run%s) %s echo " SECOND " ;;\n"
					   "run*) echo " SECOND " ;;\n"
					   "esac",
					   words, refusal ? refusal : "");
	start(body);
	b.wants_quota = true;
	for (int i = 0; i < 2; i++) {
		b.done = false;
		create();
		assert_int_equal(b.fail.kind, 0);
	}
	quota_mounts = usual;
}

static void a_volume_has_a_size_where_the_disk_has_quotas(void **state)
{
	create_two("24 1 8:1 / / rw - ext4 /dev/sda1 rw\n" ON_XFS, "*", NULL);
	assert_int_equal(count_logged(SIZE), 2);
}

static void a_refused_size_is_left_out_and_remembered(void **state)
{
	create_two(ON_XFS, "*volume-opt=size*",
		   "echo 'create x: quota size requested but no quota support' >&2; exit 125;");
	assert_int_equal(count_logged(SIZE), 1);
	assert_int_equal(count_logged("type=volume,target=/home"), 3);
}

static void a_refused_devpts_is_left_out_and_remembered(void **state)
{
	create_two(ON_XFS, "*devpts*",
		   "echo 'failed to mount local volume: mount devpts: permission denied' >&2; exit 125;");
	assert_int_equal(count_logged("type=devpts"), 1);
}

static void a_create_returns_id_and_line_folder(void **state)
{
	start("case \"$*\" in\n"
	      "'context inspect'*) echo unix:///x ;;\n"
	      "'network ls'*) echo " FIRST " ;;\n"
	      "run*) echo " SECOND " ;;\n"
	      "esac");
	b.wants_line_dir = true;
	create();
	assert_true(b.line_dir);
	assert_string_equal(b.id, SECOND);
}

/* --- a network that is joined late */

#define LATE(leave, join, remove)                                                                                      \
	"case \"$*\" in\n"                                                                                             \
	"'context inspect'*) echo unix:///x ;;\n"                                                                      \
	"'network ls'*) echo " FIRST " husk0 ;;\n"                                                                     \
	"'network disconnect none husk-c') " leave " ;;\n"                                                             \
	"'network connect " FIRST " husk-c') " join " ;;\n"                                                            \
	"run*) echo " SECOND " ;;\n"                                                                                   \
	"rm*) " remove " ;;\n"                                                                                         \
	"*) exit 1 ;;\n"                                                                                               \
	"esac"

static void try_late(const char *script)
{
	start(script);
	b.wants_network_late = true;
	create();
}

static void create_late(const char *script)
{
	try_late(script);
	assert_int_equal(b.fail.kind, 0);
	assert_string_equal(b.id, SECOND);
}

static void a_running_container_is_put_on_the_network(void **state)
{
	create_late(LATE("", "", ""));
	assert_false(b.again);
	assert_int_equal(count_logged("--network none"), 1);
	assert_int_equal(count_logged("network connect"), 1);
}

static void a_container_that_ends_before_its_network_counts_as_made(void **state)
{
	create_late(LATE("", "echo 'Error response from daemon: No such container: husk-c' >&2; exit 1", ""));
	assert_false(b.again);
	assert_int_equal(count_logged("rm --force"), 0);
}

static void a_refused_late_network_starts_it_again_and_is_remembered(void **state)
{
	create_late(LATE("echo 'not possible' >&2; exit 125", "", ""));
	assert_true(b.again);
	assert_true(logged("rm --force --volumes husk-c"));
	assert_int_equal(count_logged("--network " FIRST), 1);
	b.done = false;
	create();
	assert_false(b.again);
	assert_int_equal(count_logged("--network none"), 1);
	assert_int_equal(count_logged("--network " FIRST), 2);
}

static void an_unreachable_engine_does_not_count_as_a_refusal(void **state)
{
	try_late(LATE(
		"[ -e $d/tries ] || { touch $d/tries; echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1; }",
		"", ""));
	assert_int_equal(cause_of(&b.fail), CAUSE_NO_ENGINE);
	assert_true(logged("rm --force --volumes husk-c"));
	fail_release(&b.fail);
	b.done = false;
	create();
	assert_int_equal(b.fail.kind, 0);
	assert_int_equal(count_logged("--network none"), 2);
}

static void a_container_that_cannot_be_removed_is_not_run_again(void **state)
{
	try_late(LATE("exit 1", "", "echo 'not possible' >&2; exit 1"));
	assert_int_not_equal(b.fail.kind, 0);
	assert_non_null(strstr(b.fail.message, "remove the container"));
	assert_int_equal(count_logged("run "), 1);
}

static void a_lost_network_does_not_count_as_a_refusal(void **state)
{
	create_late(
		LATE("", "[ -e $d/tries ] || { touch $d/tries; echo 'network " FIRST " not found' >&2; exit 1; }", ""));
	assert_true(b.again);
	assert_int_equal(count_logged("--network " FIRST), 1);
	b.done = false;
	create();
	assert_int_equal(count_logged("--network none"), 2);
}

static struct engine_task *under_way;
static struct timer *poll_timer;

/* The FIFO can be opened for writing once a process waits at its other end. Closing it lets that process continue. */
static void cancel_when_it_waits(void *ctx)
{
	AUTO(closep) int fd = open(ctx, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	b.engine->ops->task_cancel(under_way);
	poll_timer = timer_free(poll_timer);
}

static void a_cancelled_create_removes_its_container(void **state)
{
	AUTO(freep) char *fifo = path_of("tries");
	struct container_spec spec = { .name = "husk-c", .image = "i", .store = "s", .owner = "o", .network = true };
	spec.network_late = true;
	start(LATE("cat $d/tries", "", ""));
	assert_int_equal(mkfifo(fifo, 0600), 0);
	under_way = b.engine->ops->create(b.engine, &spec, on_created, NULL);
	poll_timer = timer_new(b.loop, cancel_when_it_waits, fifo);
	timer_start(poll_timer, 1, 1);
	loop_run(b.loop);
	assert_false(b.done);
	assert_int_equal(count_logged("network connect"), 0);
	assert_true(logged("rm --force --volumes husk-c"));
}

static void an_unknown_engine_is_rejected(void **state)
{
	assert_null(engine_open("none", &(struct engine_options){ .loop = b.loop, .program = "x" }, &b.fail));
	assert_int_equal(b.fail.kind, FAIL_INVALID);
}

/* --- removing ---------------------------------------------------------------------------------------------------- */

#define LABELLED(store, mark)                                                                                          \
	"[ $1 = rm ] || echo '[true,0,false,1,\"" FIRST "\",{\"husk.store\":\"" store "\",\"husk.id\":\"" mark "\"}]'"

static void remove_it(struct container_ref ref)
{
	b.engine->ops->remove(b.engine, &ref, on_done, NULL);
	assert_false(b.done);
	loop_run(b.loop);
	assert_true(b.done);
}

static void a_container_is_removed_by_id_if_its_labels_agree(void **state)
{
	start(LABELLED("s", "m"));
	remove_it((struct container_ref){ .name = "husk-c", .store = "s", .mark = "m" });
	assert_false(b.fail.kind);
	assert_true(logged("rm --force --volumes " FIRST));
}

static void a_container_whose_labels_differ_is_left_alone(void **state) /* evidence: rows-containers */
{
	static const struct container_ref refs[] = { { "husk-c", "other", "m" },
						     { "husk-c", "s", "other" },
						     { "husk-c", "s" } };
	start(LABELLED("s", "m"));
	for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
		b.done = false;
		remove_it(refs[i]);
		assert_int_equal(b.fail.kind, FAIL_ENGINE);
		assert_false(logged("rm --force"));
		fail_release(&b.fail);
	}
}

/* This process chose the name a moment ago, so no other container can have it. */
static void removal_by_our_own_name_skips_the_inspection(void **state)
{
	start(LABELLED("s", "m"));
	remove_it((struct container_ref){ .name = "husk-c" });
	assert_false(b.fail.kind);
	assert_true(logged("rm --force --volumes husk-c"));
	assert_false(logged("inspect"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_is_removed_by_id_if_its_labels_agree),
		TEST(a_container_whose_labels_differ_is_left_alone),
		TEST(removal_by_our_own_name_skips_the_inspection),
		TEST(a_network_that_exists_twice_is_reduced_to_one),
		TEST(a_second_network_in_use_is_kept),
		TEST(an_older_network_is_replaced),
		TEST(an_older_network_stays_while_it_is_in_use),
		TEST(a_network_that_cannot_be_made_says_why),
		TEST(the_network_is_found_and_inspected),
		TEST(a_missing_network_is_not_an_error),
		TEST(a_missing_container_is_not_an_error),
		TEST(the_end_of_a_container_is_read),
		TEST(an_engine_behind_ssh_does_not_share_our_kernel),
		TEST(events_come_from_the_engine_s_socket),
		TEST(a_silent_socket_falls_back_to_the_client),
		TEST(an_engine_without_a_socket_uses_the_client),
		TEST(a_missing_client_is_reported),
		TEST(a_missing_engine_is_reported),
		TEST(a_missing_image_is_reported),
		TEST(a_refused_mount_is_left_out_and_remembered),
		TEST(a_volume_has_a_size_where_the_disk_has_quotas),
		TEST(a_refused_size_is_left_out_and_remembered),
		TEST(a_refused_devpts_is_left_out_and_remembered),
		TEST(a_create_returns_id_and_line_folder),
		TEST(a_running_container_is_put_on_the_network),
		TEST(a_container_that_ends_before_its_network_counts_as_made),
		TEST(a_refused_late_network_starts_it_again_and_is_remembered),
		TEST(an_unreachable_engine_does_not_count_as_a_refusal),
		TEST(a_container_that_cannot_be_removed_is_not_run_again),
		TEST(a_lost_network_does_not_count_as_a_refusal),
		TEST(a_cancelled_create_removes_its_container),
		TEST(an_unknown_engine_is_rejected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

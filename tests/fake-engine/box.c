#include "tests/fake-engine/box.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/log.h"
#include "base/parse.h"
#include "kernels/protocol.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

/* An exec causes no event. */
#define LOOK_MS 2

static const char manifest[] =
	"{\"name\":\"fake\",\"kernel\":[\"/usr/bin/python3\",\"-S\",\"/opt/husk/kernel.py\"],\"link\":\"unix\",\"interrupt\":\"SIGINT\","
	"\"env\":{}}";
/* Prints the shell's pid as the host sees it, which it can read while /proc is still the host's. */
static const char starter[] = "read pid rest < /proc/self/stat; echo \"$pid\"; exec /bin/sh \"$@\" >&2";

struct box {
	struct box_spec spec;
	struct child *child;
	struct timer *look;
	char manifest[32];
	uint64_t pid; /* of PID 1; 0 = not known yet */
	int pidfd;
	bool up;
};

static const char *source_root(void)
{
	const char *root = getenv("HUSK_SOURCE_ROOT");
	return root ? root : ".";
}

static bool is_client(uint64_t pid)
{
	AUTO(freep) char *path = xasprintf("/proc/%llu/comm", (unsigned long long)pid);
	char name[32] = "";
	FILE *f = fopen(path, "re");
	bool read = f && fgets(name, sizeof(name), f);
	if (f)
		fclose(f);
	return read && streq(name, "husk-client\n");
}

static void on_look(void *ctx)
{
	struct box *b = ctx;
	if (!b->pid || !is_client(b->pid))
		return;
	timer_stop(b->look);
	b->up = true;
	b->spec.on_up(b->spec.up_ctx, NULL);
}

static void on_output(void *ctx, const void *data, size_t n)
{
	struct box *b = ctx;
	AUTO(freep) char *text = xstrndup(data, n);
	text[strcspn(text, "\n")] = '\0';
	if (b->pid || parse_u64(text, &b->pid) < 0)
		return;
	b->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)b->pid, 0);
	timer_start(b->look, LOOK_MS, LOOK_MS);
}

static void on_done(void *ctx, const struct child_result *r)
{
	struct box *b = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	timer_stop(b->look);
	if (b->up) {
		b->up = false;
		log_debug("PID 1 ended: status %d, %s", r->exit_status, r->err);
		b->spec.on_ended(b->spec.ended_ctx, r->signal ? 128 + r->signal : r->exit_status);
		return;
	}
	cause_set(&f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED,
		  "a real PID 1 cannot be started here (run this test as root): status %d, %.300s", r->exit_status,
		  r->err);
	b->spec.on_up(b->spec.up_ctx, &f);
}

static void on_start_failed(void *ctx)
{
	struct box *b = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_NO_CLIENT, "a real PID 1 needs unshare and nsenter (util-linux)");
	b->spec.on_up(b->spec.up_ctx, &f);
}

static void write_manifest(struct box *b)
{
	snprintf(b->manifest, sizeof(b->manifest), "/tmp/husk-test-box-XXXXXX");
	int fd = mkstemp(b->manifest);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, manifest, strlen(manifest)), strlen(manifest));
	assert_int_equal(fchmod(fd, 0644), 0); /* PID 1, which runs as another user, reads it */
	close(fd);
}

static void box_argv(const struct box *b, struct strv *argv)
{
	const char *client = getenv("HUSK_CLIENT"), *root = source_root();
	strv_add_all(argv, "unshare", "--pid", "--mount", "--net", "--ipc", "--fork", "--kill-child", "/bin/sh", "-c",
		     starter, "sh", NULL);
	strv_addf(argv, "%s/tests/pid1/box.sh", root);
	if (client)
		strv_add(argv, client);
	else
		strv_addf(argv, "%s/build/husk-client", root);
	strv_addf(argv, "%s/tests/pid1/fake_kernel.py", root);
	strv_addf(argv, "%s/tests/pid1/cgroup/v2", root);
	strv_add_all(argv, b->manifest, "--lease", NULL);
	strv_addf(argv, "%llu", (unsigned long long)MAX(b->spec.lease, 1));
	if (b->spec.install)
		strv_add(argv, "--install");
}

struct box *box_start(const struct box_spec *spec)
{
	struct box *b = new0(struct box);
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	b->spec = *spec;
	b->pidfd = -1;
	write_manifest(b);
	box_argv(b, &argv);
	struct child_spec child = {
		.argv = strv_argv(&argv),
		.on_stdout = on_output,
		.on_done = on_done,
		.ctx = b,
	};
	if (child_start(spec->loop, &child, &b->child, &f) == 0) {
		b->look = timer_new(spec->loop, on_look, b);
	} else {
		b->look = timer_new(spec->loop, on_start_failed, b);
		timer_start(b->look, 0, 0);
	}
	return b;
}

bool box_is_up(const struct box *b)
{
	return b && b->up;
}

struct box *box_free(struct box *b)
{
	if (!b)
		return NULL;
	/* The process has changed its user, so it does not die with unshare. */
	if (b->pidfd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0);
		close(b->pidfd);
	}
	child_free(b->child);
	timer_free(b->look);
	unlink(b->manifest);
	free(b);
	return NULL;
}

void box_attach_argv(const struct box *b, struct strv *argv)
{
	strv_add_all(argv, "nsenter", "-t", NULL);
	strv_addf(argv, "%llu", (unsigned long long)b->pid);
	strv_add_all(argv, "-p", "-m", "-n", "-i", "-r", "-w", "/usr/bin/setpriv", "--reuid", NULL);
	strv_addf(argv, "%d", CONTROLLER_UID);
	strv_add(argv, "--regid");
	strv_addf(argv, "%d", SANDBOX_GID);
	strv_add_all(argv, "--clear-groups", "--inh-caps=-all", "--no-new-privs", CLIENT_PATH, "attach", NULL);
}

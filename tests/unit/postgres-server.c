#include "tests/unit/postgres-server.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/loop.h"
#include "base/strv.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#define READY_MS 120000

static char *bin, *dir, *data, *url;
static pid_t server = -1;

/* Postgres refuses to run as root. */
static const struct passwd *server_user(void)
{
	const struct passwd *user = getpwnam("postgres");
	return user ? user : getpwnam("nobody");
}

static void become_user(void)
{
	const struct passwd *user = server_user();
	if (geteuid() == 0 && (!user || setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0))
		_exit(126);
	/* The server ends with the test, however the test ends. */
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
}

static pid_t spawn(struct strv *argv)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	become_user();
	AUTO(freep) char *log = xasprintf("%s/log", dir);
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), in = open("/dev/null", O_RDONLY);
	if (chdir(dir) < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	execv(argv->v[0], argv->v);
	_exit(127);
}

static void print_log(void)
{
	AUTO(freep) char *path = xasprintf("%s/log", dir);
	FILE *log = fopen(path, "re");
	for (int c; log && (c = fgetc(log)) != EOF;)
		fputc(c, stderr);
	if (log)
		fclose(log);
}

static void find_programs(void)
{
	glob_t found = { 0 };
	if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) != 0)
		fail_msg("no Postgres server: tools/install-deps.sh test installs it (Debian package postgresql)");
	const char *last = found.gl_pathv[found.gl_pathc - 1];
	bin = xstrndup(last, (size_t)(strrchr(last, '/') - last));
	globfree(&found);
}

static void make_cluster(void)
{
	char scratch[] = "/tmp/husk-test-postgres-XXXXXX";
	assert_non_null(mkdtemp(scratch));
	dir = xstrdup(scratch);
	data = xasprintf("%s/data", dir);
	url = xasprintf("postgresql:///postgres?host=%s&user=husk", dir);
	const struct passwd *user = server_user();
	if (geteuid() == 0 && (!user || chown(dir, user->pw_uid, user->pw_gid) < 0))
		fail_msg("no unprivileged user for Postgres to run as");
	AUTO(strv_release) struct strv argv = { 0 };
	strv_addf(&argv, "%s/initdb", bin);
	strv_add_all(&argv, "-D", data, "-U", "husk", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", NULL);
	int status = 0;
	assert_true(waitpid(spawn(&argv), &status, 0) > 0);
	if (status) {
		print_log();
		fail_msg("initdb failed");
	}
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

void postgres_restart(void)
{
	AUTO(strv_release) struct strv argv = { 0 };
	strv_addf(&argv, "%s/postgres", bin);
	/* -F: no data here has to survive a crash of the machine. */
	strv_add_all(&argv, "-D", data, "-k", dir, "-c", "listen_addresses=", "-F", NULL);
	server = spawn(&argv);
	uint64_t until = loop_now_ms() + READY_MS;
	while (PQping(url) != PQPING_OK) {
		int status;
		if (loop_now_ms() > until || waitpid(server, &status, WNOHANG) == server) {
			print_log();
			fail_msg("Postgres does not start");
		}
		pause_ms(20);
	}
}

const char *postgres_start(void)
{
	find_programs();
	make_cluster();
	postgres_restart();
	return url;
}

static void end_with(int signo)
{
	int status;
	if (server > 0) {
		kill(server, signo);
		waitpid(server, &status, 0);
	}
	server = -1;
}

void postgres_kill(void)
{
	postgres_signal_all(SIGKILL);
	end_with(SIGKILL);
}

void postgres_signal_all(int signo)
{
	AUTO(freep) char *path = xasprintf("/proc/%d/task/%d/children", (int)server, (int)server);
	/* The parent first, because it would restart the others. */
	kill(server, signo);
	FILE *children = fopen(path, "re");
	for (int pid; children && fscanf(children, "%d", &pid) == 1;) /* NOLINT */
		kill(pid, signo);
	if (children)
		fclose(children);
}

void postgres_end(void)
{
	/* The next server removes the shared memory of a killed one. */
	if (server < 0)
		postgres_restart();
	end_with(SIGQUIT);
	scratch_remove(dir);
	free(bin);
	free(dir);
	free(data);
	free(url);
}

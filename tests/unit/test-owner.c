/* manager/registry/owner: how a server detects whether another one is alive. */
#include "manager/registry/owner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <utime.h>

#include "base/alloc.h"
#include "tests/unit/unit.h"

#define NOW 1000000000000ull

static char folder[] = "/tmp/husk-owner-XXXXXX";
static struct config config = { .lease = 100 };

static int set_up(void **state)
{
	config.state_dir = mkdtemp(folder);
	return config.state_dir ? 0 : -1;
}

static int tear_down(void **state)
{
	AUTO(freep) char *servers = xasprintf("%s/servers", folder);
	rmdir(servers);
	return rmdir(folder);
}

static struct owner_claim claim_of(const struct owner *o, uint64_t lease_until)
{
	return (struct owner_claim){ .id = o->id, .place = o->place, .pid = o->pid, .lease_until = lease_until };
}

static void announce(struct owner *o)
{
	char *path;
	int fd = owner_lock(&config, o->id, &path);
	owner_announce(o, path, fd);
}

static void a_held_lock_means_alive(void **state)
{
	struct owner o;
	owner_init(&o, NULL);
	assert_null(o.lock_path);
	announce(&o);
	struct owner_claim claim = claim_of(&o, 0);
	/* Even if its lease ended long ago. */
	assert_int_equal(owner_life(&config, &claim), OWNER_ALIVE);
	assert_false(owner_is_dead(&config, &claim, NOW));

	AUTO(freep) char *path = xstrdup(o.lock_path);
	char id[TOKEN_SIZE];
	memcpy(id, o.id, sizeof(id));
	owner_release(&o, /* keep= */ true);
	/* This process is alive, but its server is not. The lock takes precedence over the pid. */
	claim = (struct owner_claim){ .id = id, .place = NULL, .pid = (uint64_t)getpid(), .lease_until = UINT64_MAX };
	assert_int_equal(owner_life(&config, &claim), OWNER_DEAD);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(owner_life(&config, &claim), OWNER_UNKNOWN);
}

static void without_a_lock_the_process_is_checked(void **state)
{
	struct owner o;
	owner_init(&o, NULL);
	struct owner_claim claim = claim_of(&o, 0);
	assert_int_equal(owner_life(&config, &claim), OWNER_ALIVE);
	/* The pid was reused. */
	AUTO(freep) char *earlier = xstrdup(o.place);
	*strrchr(earlier, ' ') = '\0';
	AUTO(freep) char *other_start = xasprintf("%s 1", earlier);
	claim.place = other_start;
	assert_int_equal(owner_life(&config, &claim), OWNER_DEAD);
	claim.place = o.place;
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	claim.pid = (uint64_t)child;
	assert_int_equal(owner_life(&config, &claim), OWNER_DEAD);
	claim.place = "elsewhere 1 2 3";
	assert_int_equal(owner_life(&config, &claim), OWNER_UNKNOWN);
	owner_release(&o, /* keep= */ false);
}

/* Announces a server, forks a child that inherits its lock, and exits. The child ends when `until` is closed. */
static _Noreturn void die_with_a_child(struct owner *o, int until)
{
	char byte;
	announce(o);
	if (fork() == 0)
		(void)!read(until, &byte, 1);
	_exit(0);
}

/* A server that is killed while it starts a program leaves a child that has not yet called exec(). */
static void a_lock_in_a_child_of_a_dead_server_is_ignored(void **state)
{
	struct owner o;
	int until[2];
	owner_init(&o, NULL);
	assert_int_equal(pipe(until), 0);
	pid_t server = fork();
	if (server == 0) {
		close(until[1]);
		die_with_a_child(&o, until[0]);
	}
	close(until[0]);
	assert_int_equal(waitpid(server, NULL, 0), server);
	struct owner_claim claim = claim_of(&o, UINT64_MAX);
	claim.place = NULL;
	assert_int_equal(owner_life(&config, &claim), OWNER_ALIVE);
	claim.place = o.place;
	claim.pid = (uint64_t)server;
	assert_int_equal(owner_life(&config, &claim), OWNER_DEAD);
	close(until[1]);
	AUTO(freep) char *path = xasprintf("%s/servers/%s.lock", folder, o.id);
	assert_int_equal(unlink(path), 0);
	owner_release(&o, /* keep= */ true);
}

static void on_another_machine_three_missed_renewals_mean_dead(void **state)
{
	struct owner_claim claim = { .id = "abcdefghijklmnopqrstuvwxyz", .place = "elsewhere boot ns 1", .pid = 1 };
	claim.lease_until = NOW + 100000;
	assert_false(owner_is_dead(&config, &claim, NOW));
	claim.lease_until = NOW + 26000;
	assert_false(owner_is_dead(&config, &claim, NOW));
	claim.lease_until = NOW + 24000;
	assert_true(owner_is_dead(&config, &claim, NOW));
	/* An invalid id must not become a path. */
	claim.id = "../../../../../etc/passwd";
	assert_int_equal(owner_life(&config, &claim), OWNER_UNKNOWN);
	AUTO(freep) char *words = owner_words(&claim);
	assert_string_equal(words, "process 1 on elsewhere");
}

static void old_locks_are_removed(void **state)
{
	struct owner dead, fresh, alive;
	owner_init(&dead, NULL);
	owner_init(&fresh, NULL);
	owner_init(&alive, NULL);
	announce(&dead);
	announce(&fresh);
	announce(&alive);
	AUTO(freep) char *dead_path = xstrdup(dead.lock_path);
	AUTO(freep) char *fresh_path = xstrdup(fresh.lock_path);
	AUTO(freep) char *alive_path = xstrdup(alive.lock_path);
	owner_release(&dead, /* keep= */ true);
	owner_release(&fresh, /* keep= */ true);
	assert_int_equal(utime(dead_path, &(struct utimbuf){ 1, 1 }), 0);
	assert_int_equal(utime(alive_path, &(struct utimbuf){ 1, 1 }), 0);
	owner_sweep(&config);
	assert_int_equal(access(dead_path, F_OK), -1);
	assert_int_equal(access(fresh_path, F_OK), 0);
	assert_int_equal(access(alive_path, F_OK), 0);
	owner_release(&alive, /* keep= */ false);
	assert_int_equal(access(alive_path, F_OK), -1);
	assert_int_equal(unlink(fresh_path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_held_lock_means_alive),
		cmocka_unit_test(without_a_lock_the_process_is_checked),
		cmocka_unit_test(a_lock_in_a_child_of_a_dead_server_is_ignored),
		cmocka_unit_test(on_another_machine_three_missed_renewals_mean_dead),
		cmocka_unit_test(old_locks_are_removed),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

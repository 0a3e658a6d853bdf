/* Lookups of the docker adapter that save time in a later create: the network, and which kernel containers use. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/engine/open.h"
#include "tests/unit/unit.h"

#define FIRST "1111111111111111111111111111111111111111111111111111111111111111"
#define SECOND "2222222222222222222222222222222222222222222222222222222222222222"

struct bench {
	char dir[64];
	struct loop *loop;
	struct engine *engine;
	struct engine_query *query;
	struct fail fail;
	bool done, our_kernel;
};

static struct bench b;

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", b.dir, name);
}

static int setup(void **state)
{
	b = (struct bench){ .dir = "/tmp/husk-test-docker-XXXXXX", .loop = loop_new() };
	return mkdtemp(b.dir) ? 0 : -1;
}

static void close_engine(void)
{
	b.query = b.engine->ops->query_free(b.query);
	b.engine = b.engine->ops->free(b.engine);
	loop_run(b.loop);
}

static int teardown(void **state)
{
	AUTO(freep) char *program = path_of("docker"), *log = path_of("log");
	close_engine();
	loop_free(b.loop);
	fail_release(&b.fail);
	unlink(program);
	unlink(log);
	return rmdir(b.dir);
}

/* The log has a line with the arguments of each call. */
static void start(const char *body)
{
	AUTO(freep) char *program = path_of("docker");
	FILE *f = fopen(program, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\necho \"$*\" >> %s/log\n%s\n", b.dir, body);
	fclose(f);
	assert_int_equal(chmod(program, 0755), 0);
	b.engine = engine_open(NULL, &(struct engine_options){ .loop = b.loop, .program = program }, &b.fail);
	assert_non_null(b.engine);
}

static unsigned count_logged(const char *words)
{
	AUTO(freep) char *log = path_of("log");
	unsigned n = 0;
	char line[4096];
	FILE *f = fopen(log, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, words) != NULL;
	fclose(f);
	return n;
}

/* --- the network ------------------------------------------------------------------------------------------------- */

#define NETWORKS(list)                                                                                                 \
	"case \"$1 $2\" in\n"                                                                                          \
	"'context inspect') echo unix:///x ;;\n"                                                                       \
	"'network ls') printf '" list "' ;;\n"                                                                         \
	"run*) echo " SECOND " ;;\n"                                                                                   \
	"*) exit 1 ;;\n"                                                                                               \
	"esac"

/* Runs the lookups to their end: the loop ends when it has nothing to do. */
static void foresee(const char *script)
{
	start(script);
	b.engine->ops->foresee(b.engine);
	loop_run(b.loop);
	assert_int_equal(count_logged("network ls"), 1);
	assert_int_equal(count_logged("run "), 0);
}

static void on_created(void *ctx UNUSED, const struct engine_created *created UNUSED, const struct fail *f)
{
	assert_null(f);
	b.done = true;
}

static void a_create_uses_the_network_that_was_foreseen(void **state)
{
	struct container_spec spec = { .name = "husk-c", .image = "i", .store = "s", .owner = "o", .network = true };
	foresee(NETWORKS(FIRST " husk0\\n"));
	b.engine->ops->create(b.engine, &spec, on_created, NULL);
	loop_run(b.loop);
	assert_true(b.done);
	assert_int_equal(count_logged("--network " FIRST), 1);
	assert_int_equal(count_logged("context inspect"), 1);
	assert_int_equal(count_logged("network ls"), 1);
}

static void check_untouched(const char *script)
{
	foresee(script);
	assert_int_equal(count_logged("network create"), 0);
	assert_int_equal(count_logged("network rm"), 0);
}

static void foresight_makes_no_network(void **state)
{
	check_untouched(NETWORKS(""));
}

static void foresight_removes_no_older_network(void **state)
{
	check_untouched(NETWORKS(FIRST "\\n"));
}

static void foresight_removes_no_second_network(void **state)
{
	check_untouched(NETWORKS(FIRST " husk0\\n" SECOND " husk0\\n"));
}

/* --- the kernel -------------------------------------------------------------------------------------------------- */

static void on_answer(void *ctx UNUSED, const struct engine_answer *answer, const struct fail *f)
{
	assert_null(f);
	b.done = true;
	b.our_kernel = answer->our_kernel;
}

static bool fence_shows_our_kernel(const char *script)
{
	struct strv none = { 0 };
	struct fence_spec fence = { .image = "i", .owner = "o", .openings = &none };
	struct query_spec query = { .kind = ENGINE_QUERY_FENCE, .fence = &fence, .done = on_answer };
	start(script);
	b.query = b.engine->ops->query(b.engine, &query, &b.fail);
	assert_non_null(b.query);
	loop_run(b.loop);
	assert_true(b.done);
	return b.our_kernel;
}

static void the_fence_shows_that_containers_share_our_kernel(void **state)
{
	assert_true(fence_shows_our_kernel("echo kept; echo \"kernel $(cat /proc/sys/kernel/random/boot_id)\""));
}

static void the_fence_shows_another_kernel(void **state)
{
	assert_false(fence_shows_our_kernel("echo kept; echo kernel 1b4e28ba-2fa1-11d2-883f-0016d3cca427"));
}

static void an_older_fence_does_not_show_its_kernel(void **state)
{
	assert_false(fence_shows_our_kernel("echo kept"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_create_uses_the_network_that_was_foreseen),
		TEST(foresight_makes_no_network),
		TEST(foresight_removes_no_older_network),
		TEST(foresight_removes_no_second_network),
		TEST(the_fence_shows_that_containers_share_our_kernel),
		TEST(the_fence_shows_another_kernel),
		TEST(an_older_fence_does_not_show_its_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

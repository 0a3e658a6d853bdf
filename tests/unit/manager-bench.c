#include "tests/unit/manager-bench.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

struct fake *manager_bench_begin(struct bench *b)
{
	bench_init(b);
	free(take_ptr(b->config.state_dir));
	setenv("XDG_STATE_HOME", b->dir, 1);
	setenv("XDG_CONFIG_HOME", b->dir, 1);
	setenv("XDG_DATA_HOME", b->dir, 1);
	setenv("WARM_POOL", "off", 1);
	fake_on_call = NULL;
	fake_on_interrupt = NULL;
	fake_kernel_at_start = "ready";
	return fake_new(b->loop, &fake_pid1_script);
}

void manager_bench_load(struct bench *b)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (config_load(&b->config, /* env_file= */ NULL, &f) < 0)
		fail_msg("%s", f.message);
	free(b->config.engine);
	b->config.engine = xstrdup(FAKE_NAME);
}

void manager_bench_end(struct bench *b, struct fake *fake)
{
	fake_free(fake);
	struct config config = b->config;
	b->config = (struct config){ 0 };
	bench_release(b);
	config_release(&config);
}

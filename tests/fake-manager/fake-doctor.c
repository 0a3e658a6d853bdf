/* A doctor that finds one thing of each kind, for what cli/doctor makes of them. */
#include "base/alloc.h"
#include "manager/manager.h"

struct doctor {
	struct doctor_request request;
	struct timer *timer;
};

static void on_timer(void *ctx)
{
	static const struct check checks[] = {
		{ (char *)"one", CHECK_OK, (char *)"is well", NULL },
		{ (char *)"two", CHECK_WARN, (char *)"could be better", (char *)"better it" },
		{ (char *)"three", CHECK_FAIL, (char *)"is broken: \xe2\x82\xac \"x\"", (char *)"mend it" },
	};
	struct doctor *d = ctx;
	/* Two of them unless sessions are to be tried. */
	for (size_t i = 0; i < (d->request.try_sessions ? 3 : 2); i++)
		d->request.on_check(d->request.ctx, &checks[i]);
	d->request.on_done(d->request.ctx);
}

struct doctor *doctor_new(struct loop *loop, const struct doctor_request *request)
{
	struct doctor *d = new0(struct doctor);
	d->request = *request;
	d->timer = timer_new(loop, on_timer, d);
	timer_start(d->timer, 0, 0);
	return d;
}

struct doctor *doctor_free(struct doctor *d)
{
	timer_free(d->timer);
	free(d);
	return NULL;
}

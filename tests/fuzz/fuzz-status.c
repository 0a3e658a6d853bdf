/* manager/line/status: the status from a hostile PID 1 is bounded, clean, and delivered once to each waiter. */
#include "manager/line/status.h"

#include "tests/fuzz/fuzz.h"

#define ASKING 2
#define TEXT_CHARS 120

static size_t told;

static void check_text(const char *s)
{
	CHECK(s && utf8_valid(s, strlen(s)) && !strchr(s, 0x1b) && utf8_count(s, strlen(s)) <= TEXT_CHARS);
}

static void on_status(struct status_waiter *w, const struct session_status *status)
{
	told++;
	CHECK(!w->dispatch && status->answered);
	CHECK(status->n_disks <= STATUS_DISKS_MAX && status->n_variables <= VARIABLES_MAX);
	CHECK(status->has_variables || !status->n_variables);
	for (size_t i = 0; i < status->n_disks; i++)
		check_text(status->disks[i].path);
	for (size_t i = 0; i < status->n_variables; i++) {
		check_text(status->variables[i].name);
		check_text(status->variables[i].type);
		check_text(status->variables[i].shape);
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct dispatch c = { 0 };
	struct status_waiter waiters[ASKING] = { 0 };
	list_init(&c.status_waiters);
	for (size_t i = 0; i < ASKING; i++) {
		waiters[i] = (struct status_waiter){ .on_status = on_status, .dispatch = &c };
		list_append(&c.status_waiters, &waiters[i].node);
	}
	told = 0;
	int r = status_frame(&c, &(struct wire_frame){ .type = FRAME_INFO, .call = 1, .payload = data, .n = n });
	CHECK(told == (r == 0 ? ASKING : 0));
	for (size_t i = 0; i < ASKING; i++)
		status_stop(&waiters[i]);
	return 0;
}

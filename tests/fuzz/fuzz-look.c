/* manager/line/looks: what a hostile PID 1 says of its session is bounded, clean, and told once to each who asked. */
#include "manager/line/looks.h"

#include "tests/fuzz/fuzz.h"

#define ASKING 2
#define TEXT_CHARS 120

static size_t told;

static void check_text(const char *s)
{
	CHECK(s && utf8_valid(s, strlen(s)) && !strchr(s, 0x1b) && utf8_count(s, strlen(s)) <= TEXT_CHARS);
}

static void on_look(struct looker *l, const struct look *look)
{
	told++;
	CHECK(!l->dispatch && look->answered);
	CHECK(look->n_disks <= LOOK_DISKS_MAX && look->n_variables <= VARIABLES_MAX);
	CHECK(look->has_variables || !look->n_variables);
	for (size_t i = 0; i < look->n_disks; i++)
		check_text(look->disks[i].path);
	for (size_t i = 0; i < look->n_variables; i++) {
		check_text(look->variables[i].name);
		check_text(look->variables[i].type);
		check_text(look->variables[i].shape);
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct dispatch c = { 0 };
	struct looker lookers[ASKING] = { 0 };
	list_init(&c.looks);
	for (size_t i = 0; i < ASKING; i++) {
		lookers[i] = (struct looker){ .on_look = on_look, .dispatch = &c };
		list_append(&c.looks, &lookers[i].node);
	}
	told = 0;
	int r = looks_frame(&c, &(struct wire_frame){ .type = FRAME_INFO, .call = 1, .payload = data, .n = n });
	CHECK(told == (r == 0 ? ASKING : 0));
	for (size_t i = 0; i < ASKING; i++)
		look_stop(&lookers[i]);
	return 0;
}

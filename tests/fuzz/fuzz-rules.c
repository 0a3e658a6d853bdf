/* manager/model/rules: lists of names, from an operator and from a call. The first line is the operator's list, the
 * second that of the call, and the third a name with a port as code in a session asks for it. */
#include "base/alloc.h"
#include "manager/model/rules.h"
#include "tests/fuzz/fuzz.h"

static bool parse(struct rules *r, const char *list)
{
	AUTO(fail_release) struct fail f = { 0 };
	bool ok = rules_parse(r, list, &f) == 0;
	CHECK(ok || (f.message && *f.message));
	for (size_t i = 0; i < r->n; i++) {
		AUTO(rules_release) struct rules again = { 0 };
		AUTO(freep) char *text = rule_text(&r->v[i]);
		CHECK(rules_add(&again, text, &f) == 0 && again.n == 1);
		AUTO(freep) char *same = rule_text(&again.v[0]);
		CHECK(streq(same, text));
	}
	return ok;
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	AUTO(rules_release) struct rules ceiling = { 0 };
	AUTO(rules_release) struct rules wanted = { 0 };
	AUTO(rules_release) struct rules both = { 0 };
	AUTO(strv_release) struct strv left_out = { 0 };
	char name[RULE_NAME_MAX + 1], *rest = text, *top = strsep(&rest, "\n"), *list = strsep(&rest, "\n");
	parse(&ceiling, top);
	parse(&wanted, list ? list : "");
	if (!rest || !host_name(name, rest, strcspn(rest, ":")))
		return 0;
	char again[RULE_NAME_MAX + 1];
	CHECK(host_name(again, name, strlen(name)) && streq(name, again));
	static const uint16_t ports[] = { 1, 22, 80, 443, 5432, 8000, 65535 };
	if (ceiling.n > 64 || wanted.n > 64 || rules_narrow(&both, &ceiling, &wanted, &left_out, &f) < 0)
		return 0;
	/* Nothing is allowed that the operator's list does not allow. */
	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		const struct rule *found = rules_find(&both, name, ports[i]);
		if (!found)
			continue;
		const struct rule *above = rules_find(&ceiling, name, ports[i]);
		CHECK(above && rules_know(&both, name));
		CHECK(!found->address || found->tcp);
	}
	return 0;
}

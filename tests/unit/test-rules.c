/* manager/model/rules: the names that a session may connect to. */
#include "manager/model/rules.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "tests/unit/unit.h"

static struct rules parsed(const char *list)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct rules r = { 0 };
	if (rules_parse(&r, list, &f) < 0)
		fail_msg("%s: %s", list, f.message);
	return r;
}

static void entries_are_parsed(void **state)
{
	static const struct {
		const char *entry, *text;
	} good[] = { { "api.example.com", "api.example.com" },
		     { "API.Example.COM.", "api.example.com" },
		     { "*.example.com", "*.example.com" },
		     { "db.internal:5432", "db.internal:5432" },
		     { "*.a.example:8000-8015", "*.a.example:8000-8015" },
		     { "a.example:443/tcp", "a.example:443/tcp" },
		     { "intranet", "intranet" },
		     { "my_bucket.s3.example", "my_bucket.s3.example" },
		     { "xn--bcher-kva.example", "xn--bcher-kva.example" },
		     { "1and1.example", "1and1.example" },
		     { "model=10.1.2.3:8000", "model=10.1.2.3:8000" },
		     { "Llm=127.0.0.1:11434", "llm=127.0.0.1:11434" },
		     { "db.local=[fd00::1]:5432", "db.local=[fd00::1]:5432" } };
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(rules_release) struct rules r = parsed(good[i].entry);
		assert_int_equal(r.n, 1);
		AUTO(freep) char *text = rule_text(&r.v[0]);
		assert_string_equal(text, good[i].text);
		AUTO(rules_release) struct rules again = parsed(text);
		AUTO(freep) char *same = rule_text(&again.v[0]);
		assert_string_equal(same, text);
	}
}

/* Each message quotes the entry and says what is wrong. */
static void bad_entries_are_explained(void **state)
{
	static const struct {
		const char *entry, *why;
	} bad[] = { { "*", "first part of a name" },
		    { "*.", "labels" },
		    { "a.*.example", "first part of a name" },
		    { "*a.example", "first part of a name" },
		    { "a..example", "single dots" },
		    { "-a.example", "letters" },
		    { "a.example..", "single dots" },
		    { "https://a.example/", "without a scheme" },
		    { "a.example/x", "without a scheme" },
		    { "b\xc3\xbc"
		      "cher.example",
		      "xn--" },
		    { "10.1.2.3", "an address has no name" },
		    { "10.1.2.3:80", "an address has no name" },
		    { "[fd00::1]:80", "an address has no name" },
		    { "fd00::1", "an address has no name" },
		    { "127.1", "is not an address" },
		    { "0x7f.0x1", "is not an address" },
		    { "2130706433", "is not an address" },
		    { "a.1", "is not an address" },
		    { "localhost", "the session itself" },
		    { "x.localhost:80", "the session itself" },
		    { "a.example:", "1 to 65535" },
		    { "a.example:0", "1 to 65535" },
		    { "a.example:65536", "1 to 65535" },
		    { "a.example:http", "1 to 65535" },
		    { "a.example:80-", "the last port" },
		    { "a.example:90-80", "before the first" },
		    { "a.example:8000-8016", "at most 16 ports" },
		    { "a.example:53/udp", "only /tcp" },
		    { "@nothing", "no such set" },
		    { "@", "no such set" },
		    { "=10.1.2.3:80", "name of an endpoint" },
		    { "model=host.example:80", "numeric address" },
		    { "model=10.1.2.3", "NAME=ADDRESS:PORT" },
		    { "model=fd00::1:80", "NAME=ADDRESS:PORT" },
		    { "model=10.1.2.3:0", "1 to 65535" },
		    { "localhost=10.1.2.3:80", "name of an endpoint" } };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(rules_release) struct rules r = { 0 };
		if (rules_add(&r, bad[i].entry, &f) == 0)
			fail_msg("%s was accepted", bad[i].entry);
		assert_int_equal(r.n, 0);
		if (!strstr(f.message, bad[i].entry) ||
		    (!streq(bad[i].why, "labels") && !strstr(f.message, bad[i].why)))
			fail_msg("%s: %s", bad[i].entry, f.message);
	}
}

static void long_entries_are_refused(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(rules_release) struct rules r = { 0 };
	char label[65], name[400];
	memset(label, 'a', 64);
	label[64] = '\0';
	assert_int_equal(rules_add(&r, label, &f), -1);
	assert_int_equal(rules_add(&r, label + 1, &f), 0);
	snprintf(name, sizeof(name), "%s.%s.%s.%s", label + 1, label + 1, label + 1, label + 3);
	assert_int_equal(strlen(name), RULE_NAME_MAX);
	assert_int_equal(rules_add(&r, name, &f), 0);
	snprintf(name, sizeof(name), "%s.%s.%s.%s", label + 1, label + 1, label + 1, label + 2);
	assert_int_equal(rules_add(&r, name, &f), -1);
	for (size_t i = r.n; i < RULES_MAX; i++)
		assert_int_equal(rules_add(&r, "a", &f), 0);
	assert_int_equal(rules_add(&r, "a", &f), -1);
	assert_non_null(strstr(f.message, "more than 256"));
	assert_int_equal(r.n, RULES_MAX);
}

static void rules_match_names_and_ports(void **state)
{
	AUTO(rules_release)
	struct rules r = parsed("a.example, *.b.example db.example:5432-5433\tg.example:443/tcp model=10.1.2.3:8000");
	static const struct {
		const char *name;
		uint16_t port;
		bool allowed;
	} asked[] = { { "a.example", 443, true },	{ "a.example", 80, true },	 { "a.example", 22, false },
		      { "x.a.example", 443, false },	{ "b.example", 443, false },	 { "x.b.example", 443, true },
		      { "x.y.b.example", 80, true },	{ "xb.example", 443, false },	 { "db.example", 443, false },
		      { "db.example", 5432, true },	{ "db.example", 5433, true },	 { "db.example", 5434, false },
		      { "g.example", 443, true },	{ "g.example", 80, false },	 { "model", 8000, true },
		      { "model", 80, false },		{ "10.1.2.3", 8000, false },	 { "example", 443, false },
		      { "evil-a.example", 443, false }, { "a.example.evil", 443, false } };
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		if ((rules_find(&r, asked[i].name, asked[i].port) != NULL) != asked[i].allowed)
			fail_msg("%s:%u", asked[i].name, asked[i].port);
	assert_true(rules_find(&r, "g.example", 443)->tcp);
	assert_string_equal(rules_find(&r, "model", 8000)->address, "10.1.2.3");
	assert_true(rules_know(&r, "db.example") && rules_know(&r, "x.b.example") && !rules_know(&r, "b.example"));
}

static void sets_expand_to_their_hosts(void **state)
{
	size_t n;
	const struct rule_set *sets = rules_sets(&n);
	for (size_t i = 0; i < n; i++) {
		AUTO(freep) char *entry = xasprintf("@%s", sets[i].name);
		AUTO(rules_release) struct rules r = parsed(entry);
		AUTO(rules_release) struct rules hosts = parsed(sets[i].hosts);
		assert_int_equal(r.n, hosts.n);
		AUTO(strv_release) struct strv entries = { 0 };
		rules_entries(&r, &entries);
		assert_int_equal(entries.n, 1);
		assert_string_equal(entries.v[0], entry);
	}
}

static void narrow_to(const char *ceiling, const char *wanted, const char *want, const char *left)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(rules_release) struct rules top = parsed(ceiling);
	AUTO(rules_release) struct rules list = parsed(wanted);
	AUTO(rules_release) struct rules got = { 0 };
	AUTO(strv_release) struct strv left_out = { 0 };
	assert_int_equal(rules_narrow(&got, &top, &list, &left_out, &f), 0);
	struct buf texts = { 0 }, lefts = { 0 };
	for (size_t i = 0; i < got.n; i++) {
		AUTO(freep) char *text = rule_text(&got.v[i]);
		buf_printf(&texts, "%s%s", i ? " " : "", text);
	}
	for (size_t i = 0; i < left_out.n; i++)
		buf_printf(&lefts, "%s%s", i ? " " : "", left_out.v[i]);
	assert_string_equal(buf_str(&texts), want);
	assert_string_equal(buf_str(&lefts), left);
	buf_release(&texts);
	buf_release(&lefts);
}

static void a_list_can_only_narrow_the_ceiling(void **state)
{
	narrow_to("a.example b.example", "a.example c.example", "a.example", "c.example");
	narrow_to("*.example", "x.example *.y.example", "x.example *.y.example", "");
	narrow_to("x.y.example", "*.y.example", "x.y.example", "*.y.example");
	narrow_to("*.y.example", "y.example", "", "y.example");
	narrow_to("*.y.example", "*.example", "*.y.example", "*.example");
	narrow_to("db:5432", "db", "db:5432", "");
	narrow_to("db:5432", "db:5430-5433", "db:5432", "db:5430-5433");
	narrow_to("db:5432 db:5433", "db:5432-5433", "db:5432 db:5433", "");
	narrow_to("a.example", "a.example:443", "a.example:443", "");
	narrow_to("a.example", "a.example:8443", "", "a.example:8443");
	narrow_to("a.example", "a.example:443/tcp", "a.example:443", "a.example:443/tcp");
	narrow_to("a.example:443/tcp", "a.example:443/tcp", "a.example:443/tcp", "");
	narrow_to("a.example:443/tcp", "a.example:443", "a.example:443", "");
	narrow_to("model=10.1.2.3:8000", "model", "model=10.1.2.3:8000", "");
	narrow_to("model=10.1.2.3:8000", "model:8000", "model=10.1.2.3:8000", "");
	narrow_to("model=10.1.2.3:8000", "model:80", "", "model:80");
	narrow_to("model=10.1.2.3:8000", "model=10.9.9.9:22", "", "model=10.9.9.9:22");
	narrow_to("a.example", "@npm", "", "@npm");
	narrow_to(
		"github.com", "@github", "github.com",
		"github.com:22 api.github.com codeload.github.com *.githubusercontent.com github-cloud.s3.amazonaws.com");
	narrow_to("", "a.example", "", "a.example");
	narrow_to("model=10.1.2.3:8000", "model=10.9.9.9:8000", "", "model=10.9.9.9:8000");
}

static void denials_of_either_list_allow_nothing(void **state)
{
	for (int i = 0; i < 2; i++) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(rules_release) struct rules ceiling = parsed("*.example"), wanted = parsed("a.example");
		AUTO(rules_release) struct rules got = { 0 };
		AUTO(strv_release) struct strv left_out = { 0 };
		(i ? &ceiling : &wanted)->v[0].deny = true;
		assert_int_equal(rules_narrow(&got, &ceiling, &wanted, &left_out, &f), 0);
		assert_int_equal(got.n, 0);
	}
}

static void lower_to(const char *ceiling, const char *rules, const char *want)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(rules_release) struct rules top = parsed(ceiling);
	AUTO(rules_release) struct rules r = { 0 };
	assert_int_equal(rules_from_text(&r, rules, &f), 0);
	assert_int_equal(rules_lower(&r, &top, &f), 0);
	AUTO(freep) char *got = rules_to_text(&r);
	assert_string_equal(got, want);
}

/* evidence: gate-ceiling */
static void rules_of_a_session_follow_a_lower_ceiling(void **state)
{
	lower_to("a.example", "a.example b.example", "a.example");
	lower_to("", "a.example *.b.example model=10.1.2.3:8000", "");
	lower_to("x.b.example", "*.b.example", "x.b.example");
	lower_to("db:5433-5440", "db:5430-5435", "db:5433-5435");
	lower_to("a.example:443", "a.example", "a.example:443");
	lower_to("a.example", "a.example:443/tcp", "a.example:443");
	lower_to("model=10.1.2.3:8000", "model=10.1.2.3:8000", "model=10.1.2.3:8000");
	lower_to("model=10.9.9.9:8000", "model=10.1.2.3:8000", "");
	lower_to("model:8000", "model=10.1.2.3:8000", "");
	/* A rule without ports does not get those of the ceiling. */
	lower_to("a.example:8443 model=10.1.2.3:8000", "a.example model", "");
	/* Rules that the ceiling allows stay as they are, in their order, however often they are lowered. */
	lower_to("*.example a.example a.example:443", "a.example !a.example x.example:80",
		 "a.example !a.example x.example:80");
	/* A person may allow more than the ceiling. */
	lower_to("a.example", "!a.example +b.example:1-2 +model=[::1]:9 c.example",
		 "!a.example +b.example:1-2 +model=[::1]:9");
}

static void a_lowered_list_has_a_limit(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(rules_release) struct rules r = parsed("*.example"), top = { 0 };
	for (int i = 0; i < RULES_MAX; i++) {
		AUTO(freep) char *entry = xasprintf("n%d.example", i);
		assert_int_equal(rules_add(&top, entry, &f), 0);
	}
	assert_int_equal(rules_lower(&r, &top, &f), 0);
	assert_int_equal(r.n, RULES_MAX);
	AUTO(rules_release) struct rules two = parsed("*.example x.other *.example");
	assert_int_equal(rules_lower(&two, &top, &f), -1);
	assert_int_equal(two.n, 3);
}

static void changes_decide_from_then_on(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(rules_release) struct rules r = parsed("*.example.org model=10.1.2.3:8000");
	assert_int_equal(rules_deny(&r, "files.example.org", &f), 0);
	assert_null(rules_find(&r, "files.example.org", 443));
	assert_true(rules_deciding(&r, "files.example.org", 443)->deny);
	assert_non_null(rules_find(&r, "api.example.org", 443));
	assert_false(rules_know(&r, "files.example.org"));
	assert_int_equal(rules_allow(&r, "files.example.org:443", &f), 0);
	assert_non_null(rules_find(&r, "files.example.org", 443));
	assert_null(rules_find(&r, "files.example.org", 80));
	size_t n = r.n;
	assert_int_equal(rules_allow(&r, "files.example.org:443", &f), 0);
	assert_int_equal(r.n, n);
	assert_int_equal(rules_deny(&r, "model", &f), 0);
	assert_null(rules_find(&r, "model", 8000));
	assert_int_equal(rules_allow(&r, "model", &f), 0);
	assert_non_null(rules_find(&r, "model", 8000));
	assert_int_equal(rules_deny(&r, "*.org.", &f), 0);
	assert_null(rules_find(&r, "files.example.org", 443));
	AUTO(freep) char *text = rules_to_text(&r);
	assert_string_equal(
		text, "*.example.org model=10.1.2.3:8000 !files.example.org +files.example.org:443 +model !*.org");
	assert_int_equal(rules_allow(&r, "10.0.0.1", &f), -1);
	assert_int_equal(rules_deny(&r, "nope nope", &f), -1);
}

static void copies_are_equal(void **state)
{
	AUTO(rules_release) struct rules r = parsed("@python a.example:1-3/tcp model=[::1]:9");
	AUTO(rules_release) struct rules copy = { 0 };
	rules_copy(&copy, &r);
	assert_true(rules_equal(&copy, &r));
	copy.v[0].deny = true;
	assert_false(rules_equal(&copy, &r));
	rules_copy(&copy, &r);
	copy.v[0].personal = true;
	assert_false(rules_equal(&copy, &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_parsed),
		cmocka_unit_test(bad_entries_are_explained),
		cmocka_unit_test(long_entries_are_refused),
		cmocka_unit_test(rules_match_names_and_ports),
		cmocka_unit_test(sets_expand_to_their_hosts),
		cmocka_unit_test(a_list_can_only_narrow_the_ceiling),
		cmocka_unit_test(changes_decide_from_then_on),
		cmocka_unit_test(copies_are_equal),
		cmocka_unit_test(rules_of_a_session_follow_a_lower_ceiling),
		cmocka_unit_test(a_lowered_list_has_a_limit),
		cmocka_unit_test(denials_of_either_list_allow_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

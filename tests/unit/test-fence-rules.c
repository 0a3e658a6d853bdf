/* kernels/fence: openings as text, and the table of rules, set in a network namespace of the test. An unchanged table
 * passes the check, and every change is noticed. */
/* evidence: network-fence */
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <sched.h>

#include "kernels/fence/message.h"
#include "kernels/fence/rules.h"
#include "kernels/fence/table.h"
#include "tests/unit/unit.h"

static void openings_are_parsed(void **state)
{
	static const char *const good[] = {
		"10.0.0.0/8", "10.1.2.3/32,443",      "0.0.0.0/0",	  "fd00::/8",
		"::/0",	      "2001:db8::1/128,8080", "192.168.1.0/24,1", "172.18.0.1/32,65535"
	};
	static const char *const bad[] = { "",
					   "10.0.0.0",
					   "10.0.0.0/33",
					   "10.0.0/8",
					   "10.0.0.0/8,",
					   "10.0.0.0/8,0",
					   "10.0.0.0/8,65536",
					   "fd00::/129",
					   "host/32",
					   "10.0.0.0/8,80 ",
					   "10.0.0.0/-1",
					   "10.0.0.0/8/8" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct opening o = { .owner = "me", .until = 7 }, back = { 0 };
		char text[OPENING_TEXT_MAX], want[OPENING_TEXT_MAX];
		assert_int_equal(opening_parse(&o, good[i]), 0);
		opening_write(&o, text);
		snprintf(want, sizeof(want), "husk me 7 %s", good[i]);
		assert_string_equal(text, want);
		assert_int_equal(opening_read(&back, text), 0);
		assert_true(opening_same(&o, &back));
		assert_int_equal(back.until, 7);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct opening o = { 0 };
		assert_int_equal(opening_parse(&o, bad[i]), -EINVAL);
	}
}

static void ask_for(struct openings *list, const char *owner, const char *text)
{
	struct opening o = { 0 };
	snprintf(o.owner, sizeof(o.owner), "%s", owner);
	assert_int_equal(opening_parse(&o, text), 0);
	assert_int_equal(openings_add(list, &o), 0);
}

/* Servers with the same settings share each opening, however many start and end. */
static void an_opening_is_listed_once(void **state)
{
	static struct openings fence, next;
	for (unsigned i = 0; i < 1000; i++) {
		struct openings mine = { 0 };
		char owner[32];
		snprintf(owner, sizeof(owner), "server-%u", i);
		ask_for(&mine, owner, "10.1.2.3/32,443");
		ask_for(&mine, owner, "10.1.2.3/32,443");
		ask_for(&mine, owner, "fd00::/8");
		assert_int_equal(mine.n, 2);
		assert_int_equal(openings_merge(&next, &fence, &mine, 100 + i, 240), 0);
		fence = next;
		assert_int_equal(fence.n, 2);
		assert_true(fence.v[0].until >= 100 + i + 180);
	}
}

static void an_opening_lasts_while_a_server_needs_it(void **state)
{
	static struct openings fence, next;
	struct openings first = { 0 }, second = { 0 }, none = { 0 };
	ask_for(&first, "first", "10.1.2.3/32,443");
	ask_for(&second, "second", "10.1.2.3/32,443");
	ask_for(&second, "second", "10.1.2.4/32,443");
	assert_int_equal(openings_merge(&fence, &none, &first, 100, 240), 0);
	/* Nothing changes while the opening lasts long enough. */
	assert_int_equal(openings_merge(&next, &fence, &first, 160, 240), 0);
	assert_int_equal(next.v[0].until, 340);
	assert_int_equal(openings_merge(&next, &fence, &second, 161, 240), 0);
	assert_int_equal(next.n, 2);
	assert_int_equal(next.v[0].until, 401);
	assert_string_equal(next.v[0].owner, "second");
	/* The first server no longer needs the opening, but it stays as long as the second one needs it. */
	fence = next;
	assert_int_equal(openings_merge(&next, &fence, &none, 400, 240), 0);
	assert_int_equal(next.n, 2);
	assert_int_equal(openings_merge(&next, &fence, &none, 401, 240), 0);
	assert_int_equal(next.n, 0);
}

static void too_many_openings_are_rejected(void **state)
{
	static struct openings fence, mine;
	char text[32];
	mine.n = 0;
	for (unsigned i = 0; i < OPENINGS_MAX; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u/32", i / 256, i % 256);
		ask_for(&mine, "me", text);
	}
	struct openings more = { 0 };
	static struct openings next;
	ask_for(&more, "other", "10.9.9.9/32");
	assert_int_equal(openings_merge(&fence, &(struct openings){ 0 }, &mine, 100, 240), 0);
	assert_int_equal(openings_merge(&next, &fence, &more, 101, 240), -ENOSPC);
	assert_int_equal(openings_merge(&next, &fence, &more, 340, 240), 0);
	assert_int_equal(next.n, 1);
}

static void bits_after_the_prefix_are_cleared(void **state)
{
	struct opening o = { .owner = "me" };
	char text[OPENING_TEXT_MAX];
	assert_int_equal(opening_parse(&o, "10.255.255.255/12"), 0);
	opening_write(&o, text);
	assert_string_equal(text, "husk me 0 10.240.0.0/12");
}

static void foreign_texts_are_rejected(void **state)
{
	static const char *const bad[] = {
		"", "husk", "husk me", "husk me 7", "husk me x 10.0.0.0/8", "hulk me 7 10.0.0.0/8", "husk  7 10.0.0.0/8"
	};
	struct opening o = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(opening_read(&o, bad[i]), -EINVAL);
	assert_null(rules_comment((const uint8_t *)"\0\2a", 3));
	assert_null(rules_comment((const uint8_t *)"\0\3a\0\0", 5));
	assert_string_equal(rules_comment((const uint8_t *)"\0\2a", 4), "a");
}

/* --- with the kernel --------------------------------------------------------------------------------------------- */

struct fence {
	int fd;
	struct openings openings;
	struct buf wanted;
};

static int in_a_network_of_its_own(void **state)
{
	struct fence *f = calloc(1, sizeof(*f));
	struct opening o = { .owner = "me", .until = 1000 };
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	f->fd = table_open();
	assert_true(f->fd >= 0);
	assert_int_equal(opening_parse(&o, "10.1.2.3/32,8080"), 0);
	assert_int_equal(openings_add(&f->openings, &o), 0);
	assert_int_equal(opening_parse(&o, "fd00::/8"), 0);
	assert_int_equal(openings_add(&f->openings, &o), 0);
	rules_write(&f->wanted, &f->openings, REFUSE_REJECT);
	*state = f;
	return 0;
}

static int leave(void **state)
{
	struct fence *f = *state;
	close(f->fd);
	buf_release(&f->wanted);
	free(f);
	return 0;
}

static void replace(struct fence *f)
{
	AUTO(table_release) struct table t = { 0 };
	assert_int_equal(table_read(f->fd, &t), 0);
	assert_int_equal(table_replace(f->fd, &t, &f->wanted), 0);
}

static bool is_kept(struct fence *f)
{
	AUTO(table_release) struct table t = { 0 };
	assert_int_equal(table_read(f->fd, &t), 0);
	return table_is(&t, &f->wanted);
}

static void rules_are_found_after_they_are_set(void **state)
{
	struct fence *f = *state;
	AUTO(table_release) struct table t = { 0 };
	struct openings found;
	assert_false(is_kept(f));
	replace(f);
	assert_true(is_kept(f));
	replace(f); /* replacing the rules by the same rules */
	assert_true(is_kept(f));
	assert_int_equal(table_read(f->fd, &t), 0);
	assert_int_equal(table_openings(&t, &found), 0);
	assert_int_equal(found.n, 2);
	assert_true(opening_same(&found.v[0], &f->openings.v[0]) && opening_same(&found.v[1], &f->openings.v[1]));
	assert_int_equal(found.v[1].until, 1000);
}

/* evidence: network-fence-kept */
/* A rule of the fence is removed, gets another rule beside it or is replaced; the table is made dormant. */
static void changed_rules_are_noticed(void **state)
{
	struct fence *f = *state;
	static const char *const commands[] = {
		"delete", "accept", "dormant", "policy", "gone",
	};
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		AUTO(table_release) struct table t = { 0 };
		AUTO(buf_release) struct buf change = { 0 };
		replace(f);
		assert_int_equal(table_read(f->fd, &t), 0);
		size_t m = 0;
		switch (i) {
		case 0: /* every rule of a chain */
			m = message_begin(&change, NFT_MSG_DELRULE, 0);
			attr_add_str(&change, NFTA_RULE_TABLE, FENCE_TABLE);
			attr_add_str(&change, NFTA_RULE_CHAIN, "refuse");
			break;
		case 1: /* an additional empty rule */
			m = message_begin(&change, NFT_MSG_NEWRULE, NLM_F_CREATE);
			attr_add_str(&change, NFTA_RULE_TABLE, FENCE_TABLE);
			attr_add_str(&change, NFTA_RULE_CHAIN, "session");
			attr_nest_end(&change, attr_nest(&change, NFTA_RULE_EXPRESSIONS));
			break;
		case 2:
			m = message_begin(&change, NFT_MSG_NEWTABLE, 0);
			attr_add_str(&change, NFTA_TABLE_NAME, FENCE_TABLE);
			attr_add_u32(&change, NFTA_TABLE_FLAGS, NFT_TABLE_F_DORMANT);
			break;
		case 3: /* an additional chain */
			m = message_begin(&change, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
			attr_add_str(&change, NFTA_CHAIN_TABLE, FENCE_TABLE);
			attr_add_str(&change, NFTA_CHAIN_NAME, "more");
			break;
		default:
			m = message_begin(&change, NFT_MSG_DELTABLE, 0);
			attr_add_str(&change, NFTA_TABLE_NAME, FENCE_TABLE);
		}
		message_end(&change, m);
		t.is_there = false; /* only the change itself, with nothing removed before it */
		assert_int_equal(table_replace(f->fd, &t, &change), 0);
		if (is_kept(f))
			fail_msg("not noticed: %s", commands[i]);
		replace(f);
		assert_true(is_kept(f));
	}
}

static void a_change_between_two_reads_is_noticed(void **state)
{
	struct fence *f = *state;
	AUTO(table_release) struct table t = { 0 };
	assert_int_equal(table_read(f->fd, &t), 0);
	replace(f);
	assert_int_equal(table_replace(f->fd, &t, &f->wanted), -ERESTART);
	assert_true(is_kept(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openings_are_parsed),
		cmocka_unit_test(an_opening_is_listed_once),
		cmocka_unit_test(an_opening_lasts_while_a_server_needs_it),
		cmocka_unit_test(too_many_openings_are_rejected),
		cmocka_unit_test(bits_after_the_prefix_are_cleared),
		cmocka_unit_test(foreign_texts_are_rejected),
		cmocka_unit_test_setup_teardown(rules_are_found_after_they_are_set, in_a_network_of_its_own, leave),
		cmocka_unit_test_setup_teardown(changed_rules_are_noticed, in_a_network_of_its_own, leave),
		cmocka_unit_test_setup_teardown(a_change_between_two_reads_is_noticed, in_a_network_of_its_own, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

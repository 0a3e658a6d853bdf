/* kernels/gate/dns: queries of programs are hostile. Each ends right before a page that cannot be read. */
#include "kernels/gate/dns.h"

#include <sys/mman.h>

#include "tests/unit/unit.h"

#define PAGE 4096u
#define HEADER 12u

static uint8_t *page;

static int setup(void **state UNUSED)
{
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? -1 : mprotect(page + PAGE, PAGE, PROT_NONE);
}

static int teardown(void **state UNUSED)
{
	return munmap(page, 2 * PAGE);
}

/* A query with these bytes after its header. */
static int read_query(const void *question, size_t n, struct dns_query *ret)
{
	static const uint8_t header[HEADER] = { 0, 7, 1, 0, 0, 1 };
	struct {
		struct dns_query q;
		uint8_t after[PAGE];
	} out;
	uint8_t *at = page + PAGE - HEADER - n;
	memcpy(at, header, HEADER);
	memcpy(at + HEADER, question, n);
	memset(out.after, 0x5a, sizeof(out.after));
	int r = dns_read(at, HEADER + n, &out.q);
	for (size_t i = 0; i < sizeof(out.after); i++)
		assert_int_equal(out.after[i], 0x5a);
	*ret = out.q;
	return r;
}

static void expect_unreadable(const void *question, size_t n)
{
	struct dns_query q;
	assert_int_equal(read_query(question, n, &q), 0);
	assert_int_equal(q.code, DNS_FORMAT);
	assert_int_equal(q.question, 0);
	assert_string_equal(q.name, "");
}

/* Labels of these sizes and the end of a question for an address. */
static size_t put_labels(uint8_t *to, const uint8_t *sizes, size_t n)
{
	static const uint8_t end[] = { 0, 0, 1, 0, 1 };
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		to[at++] = sizes[i];
		memset(to + at, 'a', sizes[i]);
		at += sizes[i];
	}
	memcpy(to + at, end, sizeof(end));
	return at + sizeof(end);
}

static void names_are_read_in_lower_case(void **state UNUSED)
{
	struct dns_query q;
	assert_int_equal(read_query("\3Api\7Example\3com\0\0\1\0\1", 21, &q), 0);
	assert_int_equal(q.code, DNS_OK);
	assert_string_equal(q.name, "api.example.com");
	assert_int_equal(q.question, HEADER + 21);
	assert_true(q.wants_address);
	assert_int_equal(read_query("\1a\0\0\x1c\0\1", 7, &q), 0);
	assert_false(q.wants_address);
	/* It cannot be the name of a host. */
	assert_int_equal(read_query("\3a b\0\0\1\0\1", 9, &q), 0);
	assert_int_equal(q.code, DNS_OK);
	assert_string_equal(q.name, "");
}

static void names_have_a_limit(void **state UNUSED)
{
	static const uint8_t longest[] = { 63, 63, 63, 61 }, longer[] = { 63, 63, 63, 62 };
	static const uint8_t all[] = { 63, 63, 63, 63, 63, 63, 63 };
	uint8_t question[DNS_QUERY_MAX];
	struct dns_query q;
	assert_int_equal(read_query(question, put_labels(question, longest, 4), &q), 0);
	assert_int_equal(strlen(q.name), HOST_NAME_MAX_LEN);
	expect_unreadable(question, put_labels(question, longer, 4));
	expect_unreadable(question, put_labels(question, all, 7));
}

static void truncated_questions_are_not_read(void **state UNUSED)
{
	static const uint8_t pointer[300] = { 0xc0, 0x0c };
	expect_unreadable("", 0);
	expect_unreadable("\x3f"
			  "a",
			  2);
	expect_unreadable("\1a", 2);
	expect_unreadable("\1a\0", 3);
	expect_unreadable("\1a\0\0\1\0", 6);
	expect_unreadable(pointer, sizeof(pointer));
}

static void other_messages_get_no_answer(void **state UNUSED)
{
	static const uint8_t zeroes[DNS_QUERY_MAX];
	uint8_t *end = page + PAGE;
	struct dns_query q;
	assert_int_equal(dns_read(end - HEADER + 1, HEADER - 1, &q), -1);
	assert_int_equal(dns_read(end, 0, &q), -1);
	assert_int_equal(read_query(zeroes, DNS_QUERY_MAX - HEADER, &q), 0);
	assert_int_equal(read_query(zeroes, DNS_QUERY_MAX - HEADER + 1, &q), -1);
	/* An answer, and a message with another operation. */
	memset(end - HEADER, 0, HEADER);
	end[-(int)HEADER + 2] = 0x80;
	assert_int_equal(dns_read(end - HEADER, HEADER, &q), -1);
	end[-(int)HEADER + 2] = 0x28;
	assert_int_equal(dns_read(end - HEADER, HEADER, &q), 0);
	assert_int_equal(q.code, DNS_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_in_lower_case),
		cmocka_unit_test(names_have_a_limit),
		cmocka_unit_test(truncated_questions_are_not_read),
		cmocka_unit_test(other_messages_get_no_answer),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

/* kernels/gate/dns: a query of a program of the session. Answers repeat the question and nothing else of the message. */
#include "kernels/gate/dns.h"
#include "tests/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t n)
{
	uint8_t answer[DNS_ANSWER_MAX];
	struct dns_query q;
	if (dns_read(data, n, &q) < 0)
		return 0;
	CHECK(q.question <= n && !(data[2] & 0x80));
	CHECK(!*q.name || (q.question && host_name_valid(q.name, strlen(q.name))));
	size_t size = dns_answer(data, &q, q.code, q.wants_address && *q.name ? 0x7f400002 : 0, answer);
	CHECK(size <= n + 16 && size <= sizeof(answer) && (answer[2] & 0x80) && memcmp(answer, data, 2) == 0);
	struct dns_query again;
	CHECK(dns_read(answer, size, &again) < 0);
	/* As a query, the answer's question reads the same. */
	answer[2] &= 0x79;
	CHECK(!q.question || (dns_read(answer, size, &again) == 0 && streq(again.name, q.name)));
	return 0;
}

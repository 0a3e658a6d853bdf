/* Queries of the session's resolvers, and answers to them. Nothing here knows which names exist. */
#ifndef HUSK_KERNELS_GATE_DNS_H
#define HUSK_KERNELS_GATE_DNS_H

#include "kernels/host-name.h"

/* The longest query that is answered; a query has one name and perhaps an option. */
#define DNS_QUERY_MAX 512
/* A query's question and one address. */
#define DNS_ANSWER_MAX (DNS_QUERY_MAX + 16)

enum dns_code { DNS_OK = 0, DNS_FORMAT = 1, DNS_NO_NAME = 3, DNS_UNSUPPORTED = 4 };

struct dns_query {
	char name[HOST_NAME_SIZE]; /* in lower case; "" = it cannot be the name of a host */
	bool wants_address;	   /* an IPv4 address */
	size_t question;	   /* size of the header and the question; 0 = the question cannot be read */
	enum dns_code code;	   /* DNS_OK, or how to answer a query that cannot be read */
};

/* -1 if the message must not be answered at all. */
int dns_read(const uint8_t *message, size_t n, struct dns_query *ret);
/* Answers the message with this address, or without one if it is 0 (host order). Returns the size of the answer. */
size_t dns_answer(const uint8_t *message, const struct dns_query *q, enum dns_code code, uint32_t address,
		  uint8_t out[DNS_ANSWER_MAX]);

#endif

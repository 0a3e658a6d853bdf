#include "kernels/gate/dns.h"

#include <ctype.h>

#define HEADER 12u
#define TYPE_A 1
#define CLASS_IN 1
/* An address can be given to another name after a while, so nobody should keep it for long. */
#define TTL_SECONDS 10

static unsigned number_at(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static void put_number(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Reads the labels of the question. Returns the offset after them, or 0 if they are not valid. */
static size_t read_labels(const uint8_t *message, size_t n, char name[HOST_NAME_SIZE])
{
	size_t at = HEADER, length = 0;
	bool fits = true;
	while (at < n && message[at]) {
		size_t label = message[at++];
		/* A question has nothing before it that a pointer could lead to. */
		if (label > HOST_LABEL_MAX || label > n - at)
			return 0;
		fits = fits && length + label + 1 <= HOST_NAME_SIZE;
		for (size_t i = 0; fits && i < label; i++)
			name[length++] = (char)tolower(message[at + i]);
		if (fits)
			name[length++] = '.';
		at += label;
	}
	if (at >= n || at - HEADER > 254)
		return 0;
	length = fits && length ? length - 1 : 0;
	if (!host_name_valid(name, length))
		length = 0;
	name[length] = '\0';
	return at + 1;
}

int dns_read(const uint8_t *message, size_t n, struct dns_query *ret)
{
	*ret = (struct dns_query){ .code = DNS_FORMAT };
	/* An answer to an answer could be answered again. */
	if (n < HEADER || n > DNS_QUERY_MAX || message[2] & 0x80)
		return -1;
	if ((message[2] & 0x78) != 0) {
		ret->code = DNS_UNSUPPORTED;
		return 0;
	}
	size_t end = number_at(message + 4) == 1 ? read_labels(message, n, ret->name) : 0;
	if (!end || n - end < 4) {
		ret->name[0] = '\0';
		return 0;
	}
	ret->question = end + 4;
	ret->wants_address = number_at(message + end) == TYPE_A && number_at(message + end + 2) == CLASS_IN;
	ret->code = DNS_OK;
	return 0;
}

size_t dns_answer(const uint8_t *message, const struct dns_query *q, enum dns_code code, uint32_t address,
		  uint8_t out[DNS_ANSWER_MAX])
{
	size_t size = q->question ? q->question : HEADER;
	memcpy(out, message, size);
	/* An answer, with the flag for recursion as it was asked, and recursion available. */
	out[2] = (uint8_t)(0x80 | (message[2] & 0x79));
	out[3] = (uint8_t)(0x80 | code);
	put_number(out + 4, q->question ? 1 : 0);
	put_number(out + 6, address ? 1 : 0);
	put_number(out + 8, 0);
	put_number(out + 10, 0);
	if (!address)
		return size;
	put_number(out + size, 0xc000 | HEADER);
	put_number(out + size + 2, TYPE_A);
	put_number(out + size + 4, CLASS_IN);
	put_number(out + size + 6, 0);
	put_number(out + size + 8, TTL_SECONDS);
	put_number(out + size + 10, 4);
	put_number(out + size + 12, address >> 16);
	put_number(out + size + 14, address & 0xffff);
	return size + 16;
}

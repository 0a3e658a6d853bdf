/* Messages of a hostile Jupyter kernel that knows the key, from their frames to the messages on the kernel link,
 * which PID 1 must accept. An input is a list of records: a byte (0 iopub, 1 shell, 2 an unsigned one) and five
 * parts, each with a length of four bytes: header, parent, metadata, content, a buffer. */
#include <sodium.h>

#include "jupyter/message.h"
#include "kernels/cells/link.h"
#include "kernels/jupyter/outputs.h"
#include "tests/fuzz/fuzz.h"

#define KEY "key"
#define PARTS 5
#define REQUEST "now"
#define CALL 5

struct probe {
	struct outputs outputs;
	bool done, has_result, has_error;
};

static void on_write(struct outputs *o, int fd, const void *data, size_t n)
{
	CHECK((fd == STDOUT_FILENO || fd == STDERR_FILENO) && n > 0);
}

static bool on_send(struct outputs *o, const json_t *message)
{
	struct probe *p = container_of(o, struct probe, outputs);
	char *text = json_dumps(message, JSON_COMPACT);
	CHECK(text);
	size_t n = strlen(text);
	struct link_message m;
	const char *why = "";
	int r = n <= LINK_MESSAGE_MAX ? link_parse(text, n, &m, &why) : -1;
	if (n <= LINK_MESSAGE_MAX) {
		CHECK(r == 0 && !m.unusable && m.id == CALL && !p->done);
		CHECK(m.op == LINK_DISPLAY || m.op == LINK_RESULT || m.op == LINK_ERROR || m.op == LINK_DONE);
		CHECK(!(m.op == LINK_RESULT && p->has_result) && !(m.op == LINK_ERROR && p->has_error));
		p->has_result |= m.op == LINK_RESULT;
		p->has_error |= m.op == LINK_ERROR;
		p->done |= m.op == LINK_DONE;
		link_message_release(&m);
	}
	free(text);
	return n <= LINK_MESSAGE_MAX;
}

static bool take_part(const uint8_t **data, size_t *n, struct part *ret)
{
	if (*n < 4)
		return false;
	size_t length = (size_t)(*data)[0] << 24 | (size_t)(*data)[1] << 16 | (size_t)(*data)[2] << 8 | (*data)[3];
	*data += 4;
	*n -= 4;
	*ret = (struct part){ *data, MIN(length, *n) };
	*data += ret->n;
	*n -= ret->n;
	return true;
}

static void sign(char hex[2 * crypto_auth_hmacsha256_BYTES + 1], const struct part *parts)
{
	crypto_auth_hmacsha256_state state;
	uint8_t mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_init(&state, (const uint8_t *)KEY, strlen(KEY));
	for (size_t i = 0; i < MESSAGE_PARTS; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].data, parts[i].n);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_bin2hex(hex, 2 * sizeof(mac) + 1, mac, sizeof(mac));
}

static void one_message(struct probe *p, uint8_t kind, const struct part *parts)
{
	char signature[2 * crypto_auth_hmacsha256_BYTES + 1] = "";
	if (kind != 2)
		sign(signature, parts);
	const struct part frames[] = { { "topic", 5 },
				       { "<IDS|MSG>", 9 },
				       { signature, strlen(signature) },
				       parts[0],
				       parts[1],
				       parts[2],
				       parts[3],
				       parts[4] };
	struct message m;
	const char *why = NULL;
	int r = message_decode(&m, KEY, frames, ARRAY_LEN(frames), &why);
	CHECK(r == 0 || why);
	CHECK(r < 0 || kind != 2);
	if (r < 0)
		return;
	CHECK(json_is_object(m.content) && *m.type && *m.id);
	if (kind == 1)
		outputs_replied(&p->outputs, &m);
	else
		outputs_published(&p->outputs, &m);
	message_release(&m);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct probe p = { .outputs = { .write = on_write, .send = on_send } };
	CHECK(sodium_init() >= 0);
	p.outputs.displays_values = n && data[0] & 0x80;
	outputs_init(&p.outputs);
	outputs_begin(&p.outputs, CALL, REQUEST);
	while (n) {
		uint8_t kind = (data[0] & 0x7f) % 3;
		struct part parts[PARTS];
		size_t i = 0;
		data++;
		n--;
		while (i < PARTS && take_part(&data, &n, &parts[i]))
			i++;
		if (i < PARTS)
			break;
		one_message(&p, kind, parts);
	}
	outputs_finish(&p.outputs);
	CHECK(p.done);
	outputs_release(&p.outputs);
	return 0;
}

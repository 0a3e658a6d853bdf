#include "jupyter/message.h"

#include <errno.h>
#include <sodium.h>
#include <time.h>

#include "base/json.h"
#include "jupyter/load.h"

#define DELIMITER "<IDS|MSG>"
#define SIGNATURE_HEX (2 * crypto_auth_hmacsha256_BYTES)

_Static_assert(MESSAGE_SIGNATURE_SIZE == crypto_auth_hmacsha256_BYTES, "a signature is a MAC");

static void sign(char out[SIGNATURE_HEX + 1], const char *key, const struct part parts[MESSAGE_PARTS])
{
	crypto_auth_hmacsha256_state state;
	uint8_t mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_init(&state, (const uint8_t *)key, strlen(key));
	for (size_t i = 0; i < MESSAGE_PARTS; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].data, parts[i].n);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_bin2hex(out, SIGNATURE_HEX + 1, mac, sizeof(mac));
}

/* Upper-case digits are accepted, too. */
static bool signature_matches(const struct part *claimed, const char *key, const struct part parts[MESSAGE_PARTS])
{
	char right[SIGNATURE_HEX + 1], theirs[SIGNATURE_HEX];
	if (claimed->n != SIGNATURE_HEX)
		return false;
	memcpy(theirs, claimed->data, SIGNATURE_HEX);
	for (size_t i = 0; i < SIGNATURE_HEX; i++)
		if (theirs[i] >= 'A' && theirs[i] <= 'F')
			theirs[i] = (char)(theirs[i] | 0x20);
	sign(right, key, parts);
	return sodium_memcmp(right, theirs, SIGNATURE_HEX) == 0;
}

static const char *string_of(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));
	return value ? value : "";
}

static const char *read_parts(struct message *m, const struct part parts[MESSAGE_PARTS])
{
	json_t **into[MESSAGE_PARTS] = { &m->header, &m->parent, &m->metadata, &m->content };
	for (size_t i = 0; i < MESSAGE_PARTS; i++) {
		*into[i] = load_object(parts[i].data, parts[i].n);
		if (!*into[i])
			return "has a part that is not a JSON object or is too large";
	}
	m->type = string_of(m->header, "msg_type");
	m->id = string_of(m->header, "msg_id");
	m->parent_id = string_of(m->parent, "msg_id");
	return *m->type && *m->id ? NULL : "has a header without a type or an id";
}

int message_decode(struct message *ret, const char *key, const struct part *frames, size_t n, const char **ret_why)
{
	size_t at = 0;
	while (at < n && !(frames[at].n == strlen(DELIMITER) && memcmp(frames[at].data, DELIMITER, frames[at].n) == 0))
		if (++at > MESSAGE_IDENTS_MAX)
			break;
	if (at > MESSAGE_IDENTS_MAX || n > MESSAGE_FRAMES_MAX || n - at < 2 + MESSAGE_PARTS)
		return *ret_why = "does not have the frames of a message", -EPROTO;
	const struct part *parts = frames + at + 2;
	if (!signature_matches(&frames[at + 1], key, parts))
		return *ret_why = "has a wrong signature", -EPROTO;
	struct message m = { .idents = frames,
			     .n_idents = at,
			     .buffers = parts + MESSAGE_PARTS,
			     .n_buffers = n - at - 2 - MESSAGE_PARTS };
	/* Stored as bytes, because a copy with upper-case digits is still the same message. */
	(void)sodium_hex2bin(m.signature, sizeof(m.signature), frames[at + 1].data, SIGNATURE_HEX, NULL, NULL, NULL);
	const char *why = read_parts(&m, parts);
	if (why) {
		message_release(&m);
		return *ret_why = why, -EPROTO;
	}
	*ret = m;
	return 0;
}

void message_release(struct message *m)
{
	json_decref(m->header);
	json_decref(m->parent);
	json_decref(m->metadata);
	json_decref(m->content);
	*m = (struct message){ 0 };
}

static void random_hex(char *out, size_t digits)
{
	uint8_t bytes[MESSAGE_KEY_HEX / 2];
	randombytes_buf(bytes, digits / 2);
	sodium_bin2hex(out, digits + 1, bytes, digits / 2);
	sodium_memzero(bytes, sizeof(bytes));
}

int sender_id_make(struct sender_id *ret)
{
	if (sodium_init() < 0)
		return -EIO;
	random_hex(ret->session, MESSAGE_ID_LEN);
	if (!*ret->key)
		random_hex(ret->key, MESSAGE_KEY_HEX);
	return 0;
}

static json_t *make_header(const struct sender_id *from, const char *type, const char *id)
{
	struct timespec now;
	struct tm tm;
	char day[32], date[64];
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(date, sizeof(date), "%s.%06ldZ", day, now.tv_nsec / 1000 % 1000000);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "msg_id", id, "session", from->session, "username", "husk",
			 "date", date, "msg_type", type, "version", MESSAGE_VERSION);
}

void envelope_make(struct envelope *ret, const struct sender_id *from, const char *type, const json_t *parent,
		   const json_t *content, char ret_id[MESSAGE_ID_LEN + 1])
{
	*ret = (struct envelope){ 0 };
	random_hex(ret_id, MESSAGE_ID_LEN);
	json_auto_t *header = make_header(from, type, ret_id);
	struct buf *parts = ret->frames + 2;
	const json_t *values[MESSAGE_PARTS] = { header, parent, NULL, content };
	struct part signs[MESSAGE_PARTS];
	for (size_t i = 0; i < MESSAGE_PARTS; i++) {
		if (values[i])
			json_print(&parts[i], values[i]);
		else
			(void)buf_add_str(&parts[i], "{}");
		signs[i] = (struct part){ parts[i].data, parts[i].len };
	}
	char signature[SIGNATURE_HEX + 1];
	sign(signature, from->key, signs);
	(void)buf_add_str(&ret->frames[0], DELIMITER);
	(void)buf_add_str(&ret->frames[1], signature);
}

void envelope_release(struct envelope *e)
{
	for (size_t i = 0; i < ARRAY_LEN(e->frames); i++)
		buf_release(&e->frames[i]);
}

/* jupyter/message: frames, signatures, and rejected messages. */
#include "jupyter/message.h"

#include <ctype.h>
#include <errno.h>

#include "tests/unit/unit.h"

#define KEY "a0436f6c-1916-498b-8eb9-e81ab9368e84"
#define HEADER "{\"msg_id\":\"m1\",\"msg_type\":\"status\",\"version\":\"5.3\"}"
#define PARENT "{\"msg_id\":\"p1\",\"msg_type\":\"execute_request\"}"
#define CONTENT "{\"execution_state\":\"idle\"}"
/* Python: hmac.new(KEY, HEADER + PARENT + "{}" + CONTENT, "sha256").hexdigest() */
#define SIGNATURE "e2429966e337dd66514cdcb6650b91101efa7ada97ee4ad57246bf65032b2801"

static struct part part(const char *text)
{
	return (struct part){ text, strlen(text) };
}

static const char *decode(struct message *m, const struct part *frames, size_t n)
{
	const char *why = NULL;
	int r = message_decode(m, KEY, frames, n, &why);
	assert_int_equal(r, why ? -EPROTO : 0);
	return why;
}

/* Changes one frame of a good message. */
static const char *refused_with(size_t at, const char *instead)
{
	struct part frames[] = { part("topic"), part("<IDS|MSG>"), part(SIGNATURE), part(HEADER),
				 part(PARENT),	part("{}"),	   part(CONTENT) };
	struct message m;
	frames[at] = part(instead);
	const char *why = decode(&m, frames, ARRAY_LEN(frames));
	if (!why)
		message_release(&m);
	return why;
}

static void a_kernels_message_is_read(void **state)
{
	const struct part frames[] = { part("an"),   part("identity"), part("<IDS|MSG>"), part(SIGNATURE), part(HEADER),
				       part(PARENT), part("{}"),       part(CONTENT),	  part("buffer"),  part("") };
	struct message m;
	assert_null(decode(&m, frames, ARRAY_LEN(frames)));
	assert_string_equal(m.type, "status");
	assert_string_equal(m.id, "m1");
	assert_string_equal(m.parent_id, "p1");
	assert_string_equal(json_string_value(json_object_get(m.content, "execution_state")), "idle");
	assert_int_equal(m.n_idents, 2);
	assert_memory_equal(m.idents[1].data, "identity", m.idents[1].n);
	assert_int_equal(m.n_buffers, 2);
	assert_memory_equal(m.buffers[0].data, "buffer", 6);
	assert_int_equal(m.buffers[1].n, 0);
	message_release(&m);
}

/* evidence: jupyter-face */
static void wrong_signatures_are_rejected(void **state)
{
	char upper[] = SIGNATURE, changed[] = SIGNATURE;
	for (size_t i = 0; i < sizeof(upper) - 1; i++)
		upper[i] = (char)toupper(upper[i]);
	assert_null(refused_with(2, upper));
	for (size_t i = 0; i < sizeof(changed) - 1; i++) {
		changed[i] ^= 1;
		assert_string_equal(refused_with(2, changed), "has a wrong signature");
		changed[i] ^= 1;
	}
	assert_string_equal(refused_with(2, ""), "has a wrong signature");
	assert_string_equal(refused_with(2, SIGNATURE "0"), "has a wrong signature");
	/* Each of the four frames is signed, and so is their order. */
	assert_string_equal(refused_with(3, "{\"msg_id\":\"m2\",\"msg_type\":\"status\",\"version\":\"5.3\"}"),
			    "has a wrong signature");
	assert_string_equal(refused_with(4, HEADER), "has a wrong signature");
	assert_string_equal(refused_with(5, "{ }"), "has a wrong signature");
	assert_string_equal(refused_with(6, "{\"execution_state\":\"busy\"}"), "has a wrong signature");
}

static void invalid_frames_are_rejected(void **state)
{
	struct part many[MESSAGE_FRAMES_MAX + 1];
	struct message m;
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = part("x");
	assert_string_equal(decode(&m, many, 0), "does not have the frames of a message");
	assert_string_equal(decode(&m, many, ARRAY_LEN(many)), "does not have the frames of a message");
	assert_string_equal(refused_with(1, "<IDS|MSG"), "does not have the frames of a message");
	many[MESSAGE_IDENTS_MAX + 1] = part("<IDS|MSG>");
	assert_string_equal(decode(&m, many, 100), "does not have the frames of a message");
	many[0] = part("<IDS|MSG>");
	for (size_t n = 1; n < 6; n++)
		assert_string_equal(decode(&m, many, n), "does not have the frames of a message");
	assert_string_equal(decode(&m, many, 6), "has a wrong signature");
}

static void our_messages_can_be_read(void **state)
{
	struct sender_id id = { 0 }, other = { 0 };
	char first[MESSAGE_ID_LEN + 1], second[MESSAGE_ID_LEN + 1];
	assert_int_equal(sender_id_make(&id), 0);
	assert_int_equal(sender_id_make(&other), 0);
	assert_string_not_equal(id.key, other.key);
	assert_int_equal(strlen(id.key), MESSAGE_KEY_HEX);
	json_auto_t *content = json_pack("{s:s}", "code", "größe = '🎈'");
	json_auto_t *parent = json_pack("{s:s}", "msg_id", "asked");
	struct envelope e AUTO(envelope_release);
	struct envelope next AUTO(envelope_release);
	envelope_make(&e, &id, "execute_request", parent, content, first);
	envelope_make(&next, &id, "execute_request", /* parent= */ NULL, content, second);
	assert_string_not_equal(first, second);

	struct part frames[ARRAY_LEN(e.frames)];
	for (size_t i = 0; i < ARRAY_LEN(frames); i++)
		frames[i] = (struct part){ e.frames[i].data, e.frames[i].len };
	struct message m;
	const char *why;
	assert_int_equal(message_decode(&m, other.key, frames, ARRAY_LEN(frames), &why), -EPROTO);
	assert_int_equal(message_decode(&m, id.key, frames, ARRAY_LEN(frames), &why), 0);
	assert_string_equal(m.type, "execute_request");
	assert_string_equal(m.id, first);
	assert_string_equal(m.parent_id, "asked");
	assert_true(json_equal(m.content, content));
	assert_string_equal(json_string_value(json_object_get(m.header, "session")), id.session);
	assert_string_equal(json_string_value(json_object_get(m.header, "version")), MESSAGE_VERSION);
	message_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernels_message_is_read),
		cmocka_unit_test(wrong_signatures_are_rejected),
		cmocka_unit_test(invalid_frames_are_rejected),
		cmocka_unit_test(our_messages_can_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

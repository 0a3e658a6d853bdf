/* mcp/rpc and mcp/version: every line has one kind, and every answer to it can be written. */
#include "base/alloc.h"
#include "mcp/methods.h"
#include "mcp/rpc.h"
#include "tests/fuzz/fuzz.h"

static void check_version(const struct rpc_message *m)
{
	struct meta_verdict v = revision_of_request(m->params);
	/* Exactly one of the three. */
	CHECK((v.revision != NULL) + v.legacy + (v.code != 0) == 1);
	CHECK(!v.revision || v.revision->modern);
	if (v.code) {
		CHECK(v.message && (v.code == RPC_INVALID_PARAMS || v.code == RPC_UNSUPPORTED_VERSION));
		check_sendable(rpc_error(m->id, v.code, v.message, v.data));
	} else {
		CHECK(!v.data);
	}
	CHECK(revision_negotiate(m->method));
	(void)method_find(m->method, /* modern= */ false);
	(void)method_find(m->method, /* modern= */ true);
}

static void check_request(const struct rpc_message *m)
{
	CHECK(rpc_id_valid(m->id) && m->method);
	AUTO(freep) char *key = rpc_id_key(m->id);
	AUTO(freep) char *shown = rpc_excerpt(m->method);
	CHECK(*key && utf8_count(shown, strlen(shown)) <= 81);
	check_sendable(rpc_error(m->id, RPC_METHOD_NOT_FOUND, shown, NULL));
	check_sendable(rpc_result(m->id, json_object()));
	check_version(m);
}

static void check_message(const struct rpc_message *m)
{
	switch (m->kind) {
	case RPC_INVALID:
		CHECK(m->code < 0 && m->error);
		CHECK(!m->id || rpc_id_valid(m->id));
		check_sendable(rpc_error(m->id, m->code, m->error, NULL));
		break;
	case RPC_REQUEST:
		check_request(m);
		break;
	case RPC_NOTIFICATION:
		CHECK(m->method && !json_object_get(m->root, "id"));
		break;
	case RPC_RESPONSE:
		CHECK(!json_object_get(m->root, "method"));
		break;
	case RPC_BATCH:
		CHECK(json_array_size(m->root) > 0);
		break;
	}
	CHECK(!m->params || json_is_object(m->params));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct rpc_message m;
	rpc_parse(&m, (const char *)data, n);
	check_message(&m);
	CHECK((utf8_valid(data, n) && !memchr(data, '\0', n)) || m.kind == RPC_INVALID);
	for (size_t i = 0; m.kind == RPC_BATCH && i < json_array_size(m.root); i++) {
		struct rpc_message entry;
		rpc_classify(&entry, json_array_get(m.root, i));
		check_message(&entry);
		rpc_message_release(&entry);
	}
	rpc_message_release(&m);
	return 0;
}

/* manager/engine/kubernetes/: sets of packages as layers, with a registry inside the test. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/json.h"
#include "manager/engine/kubernetes/layer.h"
#include "manager/engine/kubernetes/registry.h"
#include "manager/model/sha256.h"
#include "tests/unit/kubernetes-rig.h"
#include "tests/unit/unit.h"

#define FOLDER "opt/husk/deps"

/* --- archives ------------------------------------------------------------------------------------------------------ */

struct member {
	const char *name;
	char type;
	const char *link, *content;
	unsigned mode;
};

static void put_octal(char *at, size_t digits, unsigned long value)
{
	char text[32];
	snprintf(text, sizeof(text), "%0*lo", (int)digits, value);
	memcpy(at, text, digits);
}

static void add_header(struct buf *out, const struct member *m, size_t size)
{
	char block[512] = { 0 };
	unsigned sum = 0;
	memcpy(block, m->name, strlen(m->name));
	put_octal(block + 100, 7, m->mode ? m->mode : 0644);
	put_octal(block + 108, 7, 60710);
	put_octal(block + 116, 7, 60710);
	put_octal(block + 124, 11, size);
	put_octal(block + 136, 11, 1);
	block[156] = m->type;
	memcpy(block + 157, m->link ? m->link : "", m->link ? strlen(m->link) : 0);
	memcpy(block + 257, "ustar  ", 8);
	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (uint8_t)block[i];
	put_octal(block + 148, 6, sum);
	buf_add(out, block, sizeof(block));
}

static void add_member(struct buf *out, const struct member *m)
{
	static const uint8_t zeros[512];
	size_t n = m->content ? strlen(m->content) : 0;
	add_header(out, m, n);
	buf_add(out, m->content, n);
	buf_add(out, zeros, (512 - n % 512) % 512);
}

static void add_end(struct buf *out)
{
	static const uint8_t zeros[10240];
	buf_add(out, zeros, sizeof(zeros));
}

static int keep(void *ctx, const void *data, size_t n)
{
	return buf_add(ctx, data, n);
}

/* Passes the archive in pieces of this size. The result is the layer, or the failure. */
static bool convert(const struct buf *archive, size_t piece, struct buf *ret, struct fail *f)
{
	struct layer *l =
		layer_new(&(struct layer_spec){ .folder = FOLDER, .max = 1 << 20, .write = keep, .ctx = ret });
	int r = 0;
	for (size_t at = 0; at < archive->len && r == 0; at += piece)
		r = layer_add(l, archive->data + at, MIN(piece, archive->len - at), f);
	bool complete = r == 0 && layer_is_complete(l);
	layer_free(l);
	return complete;
}

static void files_folders_and_links_become_a_layer(void **state)
{
	AUTO(buf_release) struct buf archive = { 0 }, whole = { 0 }, pieces = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	static const struct member members[] = {
		{ FOLDER "/", '5', NULL, NULL, 0700 },	      { FOLDER "/a", '5', NULL, NULL, 0700 },
		{ FOLDER "/a/x", '0', NULL, "hello", 04600 }, { FOLDER "/a/y", '1', FOLDER "/a/x", NULL, 0 },
		{ FOLDER "/b", '2', "/etc/passwd", NULL, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		add_member(&archive, &members[i]);
	add_end(&archive);
	assert_true(convert(&archive, archive.len, &whole, &f));
	assert_true(convert(&archive, 7, &pieces, &f));
	assert_int_equal(whole.len, pieces.len);
	assert_memory_equal(whole.data, pieces.data, whole.len);
	/* Five headers, a block of data, and two at the end. */
	assert_int_equal(whole.len, 8 * 512);
	const char *file = (const char *)whole.data + 2 * 512;
	assert_string_equal(file, FOLDER "/a/x");
	assert_string_equal(file + 100, "0000644"); /* readable for all, and no set-user-ID */
	assert_string_equal(file + 108, "0000000");
	assert_memory_equal(file + 512, "hello", 6);
}

static void long_names_are_kept(void **state)
{
	AUTO(buf_release) struct buf archive = { 0 }, layer = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	char name[301] = FOLDER "/", target[301];
	memset(name + strlen(name), 'n', 300 - strlen(name));
	name[300] = '\0';
	memset(target, 't', 300);
	target[300] = '\0';
	add_member(&archive, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
	add_member(&archive, &(struct member){ "././@LongLink", 'K', NULL, target, 0 });
	add_member(&archive, &(struct member){ "././@LongLink", 'L', NULL, name, 0 });
	add_member(&archive, &(struct member){ FOLDER "/nnn", '2', "ttt", NULL, 0 });
	add_end(&archive);
	assert_true(convert(&archive, 100, &layer, &f));
	assert_non_null(memmem(layer.data, layer.len, name, 300));
	assert_non_null(memmem(layer.data, layer.len, target, 300));
}

static void nothing_outside_the_folder_gets_into_a_layer(void **state)
{
	static const struct {
		struct member members[3];
		const char *words;
	} cases[] = {
		{ { { "usr/bin/python3", '0', NULL, "evil", 0 } }, "outside the folder" },
		{ { { FOLDER, '5', NULL, NULL, 0 }, { FOLDER "/../../bin/sh", '0', NULL, "evil", 0 } }, "outside" },
		{ { { FOLDER, '5', NULL, NULL, 0 }, { FOLDER "/./x", '0', NULL, "evil", 0 } }, "outside" },
		{ { { FOLDER, '5', NULL, NULL, 0 }, { FOLDER "//x", '0', NULL, "evil", 0 } }, "outside" },
		{ { { FOLDER "x", '0', NULL, "evil", 0 } }, "outside the folder" },
		{ { { FOLDER, '5', NULL, NULL, 0 }, { FOLDER "/.wh.husk", '0', NULL, NULL, 0 } }, "outside" },
		{ { { FOLDER, '5', NULL, NULL, 0 }, { FOLDER "/x", '1', "bin/sh", NULL, 0 } },
		  "link to a file outside" },
		{ { { FOLDER, '5', NULL, NULL, 0 }, { FOLDER "/x", '3', NULL, NULL, 0 } }, "not a regular one" },
		/* Through a link. */
		{ { { FOLDER, '2', "/", NULL, 0 } }, "not in a folder" },
		{ { { FOLDER, '5', NULL, NULL, 0 },
		    { FOLDER "/l", '2', "/usr/bin", NULL, 0 },
		    { FOLDER "/l/sh", '0', NULL, "e", 0 } },
		  "not in a folder" },
		{ { { FOLDER, '5', NULL, NULL, 0 },
		    { FOLDER "/l", '5', NULL, NULL, 0 },
		    { FOLDER "/l", '2', "/usr/bin", NULL, 0 } },
		  "not in a folder" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf_release) struct buf archive = { 0 }, layer = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		for (size_t k = 0; k < 3 && cases[i].members[k].name; k++)
			add_member(&archive, &cases[i].members[k]);
		add_end(&archive);
		assert_false(convert(&archive, archive.len, &layer, &f));
		if (!f.message || !strstr(f.message, cases[i].words))
			fail_msg("case %zu: %s", i, f.message);
	}
}

static void a_damaged_or_endless_archive_is_refused(void **state)
{
	AUTO(buf_release) struct buf archive = { 0 }, layer = { 0 }, large = { 0 };
	AUTO(fail_release) struct fail f = { 0 }, too_large = { 0 };
	static char content[2 << 20];
	add_member(&archive, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
	/* It is cut off. */
	assert_false(convert(&archive, 512, &layer, &f));
	assert_int_equal(f.kind, FAIL_NONE);
	archive.data[3] ^= 1;
	add_end(&archive);
	assert_false(convert(&archive, 512, &layer, &f));
	assert_non_null(strstr(f.message, "damaged"));
	memset(content, 'x', sizeof(content) - 1);
	add_member(&large, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
	add_member(&large, &(struct member){ FOLDER "/x", '0', NULL, content, 0 });
	add_end(&large);
	assert_false(convert(&large, 32768, &layer, &too_large));
	assert_int_equal(cause_of(&too_large), CAUSE_INSTALL_SIZE);
}

static int drop(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
	return 0;
}

/* The layer keeps the names of folders. */
static void folders_with_long_names_are_bounded(void **state)
{
	enum { LENGTH = 4000 };
	AUTO(fail_release) struct fail f = { 0 };
	char name[LENGTH + 1];
	struct layer *l = layer_new(&(struct layer_spec){ .folder = FOLDER, .max = 1 << 30, .write = drop });
	memset(name, 'x', LENGTH);
	memcpy(name, FOLDER "/", strlen(FOLDER "/"));
	name[LENGTH] = '\0';
	int r = 0;
	for (size_t i = 0; r == 0 && i <= LAYER_FOLDERS_MAX / LENGTH; i++) {
		AUTO(buf_release) struct buf archive = { 0 };
		if (i == 0)
			add_member(&archive, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
		snprintf(name + LENGTH - 8, 9, "%08zu", i);
		add_member(&archive, &(struct member){ "long", 'L', NULL, name, 0 });
		add_member(&archive, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
		r = layer_add(l, archive.data, archive.len, &f);
	}
	assert_int_equal(r, -1);
	assert_non_null(strstr(f.message, "too many folders"));
	layer_free(l);
}

/* --- references and manifests -------------------------------------------------------------------------------------- */

static void references_are_split(void **state)
{
	static const struct {
		const char *reference, *origin, *repository, *tag;
	} cases[] = {
		{ "localhost:5000/husk/husk-deps:1", "http://localhost:5000", "husk/husk-deps", "1" },
		{ "127.0.0.1:5/a:1", "http://127.0.0.1:5", "a", "1" },
		{ "registry.test/husk/python:abc", "https://registry.test", "husk/python", "abc" },
		{ "localhost.evil.test/a:1", "https://localhost.evil.test", "a", "1" },
		{ "husk-python:1", NULL, NULL, NULL },
		{ "library/python:1", NULL, NULL, NULL },
		{ "registry.test/python", NULL, NULL, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct registry_place p = { 0 };
		int r = registry_place_of(&p, cases[i].reference);
		assert_int_equal(r, cases[i].origin ? 0 : -1);
		if (r == 0) {
			assert_string_equal(p.origin, cases[i].origin);
			assert_string_equal(p.repository, cases[i].repository);
			assert_string_equal(p.tag, cases[i].tag);
		}
		registry_place_release(&p);
	}
}

/* --- a registry ---------------------------------------------------------------------------------------------------- */

struct shop {
	struct kube_rig *rig;
	struct http_server *server;
	json_t *blobs, *manifests; /* digest -> content; "REPOSITORY:TAG" -> content */
	char host[64];
	const char *refuse; /* a part of the target that is answered with 403 */
	const char *away;   /* where uploads are sent instead */
	struct strv requests;
} shop;

static void put_field(struct http_fields *fields, const char *name, const char *value)
{
	http_fields_add(fields, name, value);
}

static void reply(struct http_request *r, int status, const char *field, const char *value, const char *body)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (field)
		put_field(&fields, field, value);
	http_reply(r, status, &fields, body, strlen(body));
}

static const char *digest_in(const char *target)
{
	const char *at = strstr(target, "sha256:");
	return at ? at : "";
}

static void take_blob(const char *digest, const void *data, size_t n)
{
	char sum[SHA256_SIZE];
	sha256_of(data, n, sum);
	assert_string_equal(digest + strlen("sha256:"), sum);
	json_object_set_new(shop.blobs, digest, json_integer((json_int_t)n));
}

static void serve(struct http_request *r, const char *method, const char *target, const void *data, size_t n)
{
	AUTO(freep) char *line = xasprintf("%s %s", method, target);
	const char *manifest = strstr(target, "/manifests/");
	strv_add(&shop.requests, line);
	if (shop.refuse && strstr(line, shop.refuse)) {
		reply(r, 403, NULL, NULL, "{\"errors\":[{\"code\":\"DENIED\"}]}");
	} else if (streq(method, "GET") && manifest) {
		const char *found = json_string_value(json_object_get(shop.manifests, target));
		reply(r, found ? 200 : 404, "Docker-Content-Digest",
		      "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", found ? found : "{}");
	} else if (streq(method, "GET")) {
		const char *found = json_string_value(json_object_get(shop.blobs, digest_in(target)));
		reply(r, found ? 200 : 404, NULL, NULL, found ? found : "{}");
	} else if (streq(method, "POST") && strstr(target, "mount=")) {
		reply(r, 201, NULL, NULL, "");
	} else if (streq(method, "POST")) {
		reply(r, 202, "Location", shop.away ? shop.away : "/v2/upload?state=1", "");
	} else if (streq(method, "PUT") && manifest) {
		AUTO(freep) char *text = xstrndup(data, n);
		json_object_set_new(shop.manifests, target, json_string(text));
		reply(r, 201, NULL, NULL, "");
	} else if (streq(method, "PUT")) {
		take_blob(digest_in(target), data, n);
		if (n < 4096)
			json_object_set_new(shop.blobs, digest_in(target), json_stringn_nocheck(data, n));
		reply(r, 201, NULL, NULL, "");
	} else {
		reply(r, 202, NULL, NULL, "");
	}
}

static void on_body(void *ctx, const void *data, size_t n)
{
	struct http_request *r = ctx;
	const struct http_head *head = http_request_head(r);
	serve(r, head->method_name, (const char *)head->target.data, n ? data : "", n);
}

static void on_request(void *ctx UNUSED, struct http_request *r)
{
	http_request_collect(r, 4 << 20, on_body, r);
}

static void open_shop(struct kube_rig *rig)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(to);
	shop = (struct shop){ .rig = rig, .blobs = json_object(), .manifests = json_object() };
	shop.server = http_server_new(rig->loop, &(struct http_server_spec){ http_limits_default, on_request, NULL });
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&to, &size), 0);
	assert_int_equal(http_server_listen(shop.server, fd, NULL, NULL), 0);
	snprintf(shop.host, sizeof(shop.host), "127.0.0.1:%d", ntohs(to.sin_port));
}

static void close_shop(void)
{
	http_server_free(shop.server);
	json_decref(shop.blobs);
	json_decref(shop.manifests);
	strv_release(&shop.requests);
}

#define CONFIG                                                                                                         \
	"{\"architecture\":\"amd64\",\"config\":{\"Labels\":{\"a\":\"1\"}},\"rootfs\":{\"diff_ids\":[\"sha256:x\"]}}"
#define LAYER "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void stock(const char *config)
{
	char sum[SHA256_SIZE];
	sha256_of(config, strlen(config), sum);
	AUTO(freep) char *digest = xasprintf("sha256:%s", sum);
	AUTO(freep) char *manifest = xasprintf(
		"{\"mediaType\":\"application/vnd.docker.distribution.manifest.v2+json\",\"config\":{\"digest\":\"%s\",\"size\":%zu},"
		"\"layers\":[{\"digest\":\"" LAYER "\",\"size\":5}]}",
		digest, strlen(config));
	json_object_set_new(shop.blobs, digest, json_string(config));
	json_object_set_new(shop.manifests, "/v2/husk/husk-python/manifests/1", json_string(manifest));
}

/* --- the engine ---------------------------------------------------------------------------------------------------- */

static struct kube_rig rig_memory;
static char registry_setting[96];

static int setup(void **state)
{
	kube_rig_init(&rig_memory, NULL);
	open_shop(&rig_memory);
	/* The engine knows the registry from its start. */
	AUTO(fail_release) struct fail f = { 0 };
	rig_memory.engine->ops->free(rig_memory.engine);
	snprintf(registry_setting, sizeof(registry_setting), "%s/husk", shop.host);
	rig_memory.config.registry = registry_setting;
	rig_memory.engine = engine_open("kubernetes",
					&(struct engine_options){ .loop = rig_memory.loop,
								  .program = "kubectl",
								  .helper = rig_memory.helper,
								  .config = &rig_memory.config },
					&f);
	assert_non_null(rig_memory.engine);
	*state = &rig_memory;
	return 0;
}

static int teardown(void **state)
{
	struct kube_rig *rig = *state;
	rig->engine = rig->engine->ops->free(rig->engine);
	close_shop();
	kube_rig_release(rig);
	return 0;
}

static int done;
static struct fail outcome;

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	fail_release(&outcome);
	if (f)
		fail_copy(&outcome, f);
	done++;
}

static void start_bake(struct kube_rig *rig)
{
	AUTO(strv_release) struct strv labels = { 0 };
	strv_add_all(&labels, "husk.deps=key", "husk.size=7", NULL);
	done = 0;
	(void)rig->engine->ops->bake(rig->engine,
				     &(struct bake_spec){ .container = "husk-a",
							  .path = "/" FOLDER,
							  .base = "husk-python:1",
							  .image = "husk-deps:2",
							  .labels = &labels },
				     on_done, NULL);
}

/* Output of the command in the pod, as a kubelet sends it. */
static void send_output(struct kube_rig *rig, const struct buf *data)
{
	AUTO(buf_release) struct buf message = { 0 };
	kube_rig_until_request(rig, "/exec?container=main&command=tar", 1);
	buf_add(&message, "\1", 1);
	buf_add(&message, data->data, data->len);
	assert_non_null(rig->exec);
	websocket_send(rig->exec, /* text= */ false, message.data, message.len);
}

static void send_archive(struct kube_rig *rig)
{
	AUTO(buf_release) struct buf archive = { 0 };
	add_member(&archive, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
	add_member(&archive, &(struct member){ FOLDER "/demo.py", '0', NULL, "x = 1\n", 0 });
	add_end(&archive);
	send_output(rig, &archive);
}

static struct engine_answer got_image;
static int answered;

static struct engine_query *query;

/* As callers do, it frees the query first. */
static void on_image(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct kube_rig *rig = ctx;
	query = rig->engine->ops->query_free(query);
	fail_release(&outcome);
	if (f)
		fail_copy(&outcome, f);
	for (size_t i = 0; answer && i < answer->image.labels.n; i++)
		strv_add(&got_image.image.labels, answer->image.labels.v[i]);
	answered++;
}

static void look(struct kube_rig *rig, const char *image)
{
	AUTO(fail_release) struct fail f = { 0 };
	answered = 0;
	strv_release(&got_image.image.labels);
	query = rig->engine->ops->query(
		rig->engine,
		&(struct query_spec){ .kind = ENGINE_QUERY_IMAGE, .subject = image, .done = on_image, .ctx = rig }, &f);
	kube_rig_until(rig, &answered);
}

static void packages_become_an_image_in_the_registry(void **state)
{
	struct kube_rig *rig = *state;
	stock(CONFIG);
	assert_true(rig->engine->ops->capabilities(rig->engine).bakes_images);
	look(rig, "husk-deps:2");
	assert_int_equal(outcome.kind, FAIL_IMAGE);
	assert_non_null(strstr(outcome.message, "husk/husk-deps:2"));
	start_bake(rig);
	send_archive(rig);
	kube_rig_until(rig, &done);
	if (outcome.kind)
		fail_msg("%s", outcome.message);
	look(rig, "husk-deps:2");
	assert_int_equal(outcome.kind, FAIL_NONE);
	assert_true(strv_find(&got_image.image.labels, "a=1") != SIZE_MAX);
	assert_true(strv_find(&got_image.image.labels, "husk.deps=key") != SIZE_MAX);
	strv_release(&got_image.image.labels);
	/* Its layers are those of the base, and one more that was uploaded. */
	json_auto_t *manifest = json_loads(
		json_string_value(json_object_get(shop.manifests, "/v2/husk/husk-deps/manifests/2")), 0, NULL);
	const json_t *layers = json_object_get(manifest, "layers");
	assert_int_equal(json_array_size(layers), 2);
	const char *digest = json_string_value(json_object_get(json_array_get(layers, 1), "digest"));
	assert_non_null(json_object_get(shop.blobs, digest));
	assert_true(strv_find(&shop.requests, "POST /v2/husk/husk-deps/blobs/uploads/?mount=" LAYER
					      "&from=husk%2Fhusk-python") != SIZE_MAX);
}

static void a_registry_that_refuses_is_named(void **state)
{
	static const char *const parts[] = { "manifests/1", "blobs/sha256", "mount=", "PUT /v2/upload", "manifests/2" };
	struct kube_rig *rig = *state;
	stock(CONFIG);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		shop.refuse = parts[i];
		strv_release(&rig->requests);
		start_bake(rig);
		send_archive(rig);
		kube_rig_until(rig, &done);
		assert_int_equal(outcome.kind, FAIL_ENGINE);
		assert_non_null(strstr(outcome.message, "answered 403"));
		assert_non_null(strstr(outcome.message, shop.host));
		assert_null(json_object_get(shop.manifests, "/v2/husk/husk-deps/manifests/2"));
	}
}

static void an_upload_goes_to_no_other_server(void **state)
{
	struct kube_rig *rig = *state;
	stock(CONFIG);
	shop.away = "http://127.0.0.1:1/v2/upload";
	start_bake(rig);
	send_archive(rig);
	kube_rig_until(rig, &done);
	assert_int_equal(outcome.kind, FAIL_ENGINE);
	assert_non_null(strstr(outcome.message, "answered 202"));
}

static void an_image_that_does_not_match_itself_is_refused(void **state)
{
	static const char *const configs[] = {
		"{\"rootfs\":{\"diff_ids\":[]}}",
		"[]",
		"{\"rootfs\":5}",
	};
	struct kube_rig *rig = *state;
	for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
		stock(configs[i]);
		strv_release(&rig->requests);
		start_bake(rig);
		send_archive(rig);
		kube_rig_until(rig, &done);
		assert_int_equal(outcome.kind, FAIL_ENGINE);
	}
}

static void packages_that_are_not_sent_completely_are_lost(void **state)
{
	struct kube_rig *rig = *state;
	AUTO(buf_release) struct buf archive = { 0 };
	stock(CONFIG);
	add_member(&archive, &(struct member){ FOLDER, '5', NULL, NULL, 0 });
	start_bake(rig);
	send_output(rig, &archive);
	kube_rig_settle(rig);
	websocket_close(take_ptr(rig->exec), 1000, "");
	kube_rig_until(rig, &done);
	assert_int_equal(cause_of(&outcome), CAUSE_INSTALL_LOST);
}

static void an_image_is_removed_by_its_digest(void **state)
{
	struct kube_rig *rig = *state;
	stock(CONFIG);
	done = 0;
	(void)rig->engine->ops->remove_image(rig->engine, "husk-python:1", on_done, NULL);
	kube_rig_until(rig, &done);
	assert_int_equal(outcome.kind, FAIL_NONE);
	assert_non_null(
		strstr(shop.requests.v[shop.requests.n - 1], "DELETE /v2/husk/husk-python/manifests/sha256:aaaa"));
	/* A missing image is success. */
	done = 0;
	(void)rig->engine->ops->remove_image(rig->engine, "husk-deps:9", on_done, NULL);
	kube_rig_until(rig, &done);
	assert_int_equal(outcome.kind, FAIL_NONE);
}

static void a_cancelled_bake_leaves_nothing(void **state)
{
	struct kube_rig *rig = *state;
	AUTO(strv_release) struct strv labels = { 0 };
	stock(CONFIG);
	struct engine_bake *b = rig->engine->ops->bake(rig->engine,
						       &(struct bake_spec){ .container = "husk-a",
									    .path = "/" FOLDER,
									    .base = "husk-python:1",
									    .image = "husk-deps:2",
									    .labels = &labels },
						       on_done, NULL);
	done = 0;
	send_archive(rig);
	rig->engine->ops->bake_cancel(b);
	kube_rig_settle(rig);
	assert_int_equal(done, 0);
	assert_null(json_object_get(shop.manifests, "/v2/husk/husk-deps/manifests/2"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_folders_and_links_become_a_layer),
		cmocka_unit_test(long_names_are_kept),
		cmocka_unit_test(nothing_outside_the_folder_gets_into_a_layer),
		cmocka_unit_test(a_damaged_or_endless_archive_is_refused),
		cmocka_unit_test(folders_with_long_names_are_bounded),
		cmocka_unit_test(references_are_split),
		TEST(packages_become_an_image_in_the_registry),
		TEST(a_registry_that_refuses_is_named),
		TEST(an_upload_goes_to_no_other_server),
		TEST(an_image_that_does_not_match_itself_is_refused),
		TEST(packages_that_are_not_sent_completely_are_lost),
		TEST(an_image_is_removed_by_its_digest),
		TEST(a_cancelled_bake_leaves_nothing),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	fail_release(&outcome);
	return failed;
}

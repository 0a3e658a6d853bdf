#include "tests/unit/api-bench.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>

#include "api/page.h"
#include "base/alloc.h"
#include "manager/files/digest.h"
#include "manager/files/vault.h"
#include "manager/registry/registry.h"
#include "tests/unit/unit.h"

struct bench b;
struct fake *fake;
struct manager *manager;
struct conversation *conversation;
struct api *api;
static struct sockaddr_in listening; /* port 0 = not yet */

void reply_release(struct reply *r)
{
	buf_release(&r->raw);
	json_decref(r->json);
	*r = (struct reply){ 0 };
}

char *reply_field(const struct reply *r, const char *name)
{
	const char *line = strstr((const char *)r->raw.data, "\r\n");
	size_t n = strlen(name);
	for (; line && line < r->body - 2; line = strstr(line + 2, "\r\n"))
		if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':')
			return xstrndup(line + 4 + n, strcspn(line + 4 + n, "\r"));
	return NULL;
}

static const struct page_file page[] = {
	{ "index.html", "text/html", "\"i\"", "document", 8 },
	{ "terminal.html", "text/html", "\"t\"", "terminal", 8 },
	{ "a/app.0123.js", "text/javascript", "\"a\"", "script", 6 },
	{ 0 },
};

static void start(void)
{
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	api = api_new(&(struct api_spec){
		.loop = b.loop, .config = &b.config, .manager = manager, .conversation = conversation, .page = page });
}

static void stop(void)
{
	manager = manager_free(manager);
	api = api_free(api);
	listening.sin_port = 0;
}

int api_bench_begin(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	start();
	return 0;
}

int api_bench_end(void **state)
{
	stop();
	manager_bench_end(&b, fake);
	return 0;
}

void api_bench_restart(void)
{
	stop();
	start();
}

int api_connect(void)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	api_serve(api, pair[0]);
	return pair[1];
}

static bool write_some(int fd, const char **text)
{
	ssize_t n = write(fd, *text, strlen(*text));
	if (n > 0)
		*text += n;
	return !**text || (n < 0 && errno != EAGAIN);
}

void api_send(int fd, const char *text)
{
	FAKE_UNTIL(fake, write_some(fd, &text));
}

/* False once the connection has ended. */
static bool read_some(int fd, struct buf *got)
{
	char chunk[4096];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(got, chunk, (size_t)n);
	return n < 0 && errno == EAGAIN;
}

static bool arrived(int fd, struct buf *got, const char *text)
{
	bool open = read_some(fd, got);
	return strstr(buf_str(got), text) || !open;
}

void api_read_until(int fd, struct buf *got, const char *text)
{
	FAKE_UNTIL(fake, arrived(fd, got, text));
}

/* Sends one request on the connection, which it closes, and waits for the whole answer. */
static struct reply call(int connection, const char *host, const char *method, const char *target, const char *fields,
			 const char *body)
{
	struct reply r = { 0 };
	AUTO(closep) int fd = connection;
	AUTO(buf_release) struct buf request = { 0 };
	buf_printf(&request, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s", method, target, host,
		   fields ? fields : "");
	if (body)
		buf_printf(&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
	buf_printf(&request, "\r\n%s", body ? body : "");
	api_send(fd, buf_str(&request));
	FAKE_UNTIL(fake, !read_some(fd, &r.raw));
	const char *text = buf_str(&r.raw);
	assert_int_equal(sscanf(text, "HTTP/1.1 %d", &r.status), 1);
	r.body = strstr(text, "\r\n\r\n");
	assert_non_null(r.body);
	r.body += 4;
	r.json = json_loads(r.body, JSON_DECODE_ANY, NULL);
	return r;
}

struct reply api_call(const char *method, const char *target, const char *fields, const char *body)
{
	return call(api_connect(), "husk", method, target, fields, body);
}

/* --- over TCP ------------------------------------------------------------------------------------------------------ */

static void listen_remote(void)
{
	socklen_t len = sizeof(listening);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	listening = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)&listening, sizeof(listening)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&listening, &len), 0);
	assert_int_equal(listen(fd, 8), 0);
	AUTO(freep) char *origin = xasprintf("http://127.0.0.1:%u", ntohs(listening.sin_port));
	assert_int_equal(api_listen_tcp(api, fd, NULL, origin, NULL), 0);
}

int api_connect_remote(void)
{
	if (!listening.sin_port)
		listen_remote();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&listening, sizeof(listening)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

struct reply api_call_remote(const char *method, const char *target, const char *fields, const char *body)
{
	int fd = api_connect_remote();
	AUTO(freep) char *host = xasprintf("127.0.0.1:%u", ntohs(listening.sin_port));
	return call(fd, host, method, target, fields, body);
}

struct made_key {
	char *text;
	bool done;
};

static void on_key(void *ctx, const char *key, const struct key_info *info, const struct fail *f)
{
	struct made_key *made = ctx;
	made->text = key ? xasprintf("Authorization: Bearer %s\r\n", key) : NULL;
	made->done = true;
}

char *api_key(const char *name, const char *tenant, unsigned scopes)
{
	struct made_key made = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct add_key_request request = {
		.name = name, .tenant = tenant, .scopes = scopes, .on_done = on_key, .ctx = &made
	};
	assert_non_null(manager_add_key(manager, &request, &f));
	FAKE_UNTIL(fake, made.done);
	assert_non_null(made.text);
	return made.text;
}

/* --- objects ------------------------------------------------------------------------------------------------------- */

static void on_added(void *ctx, const struct fail *f)
{
	assert_null(f);
	*(bool *)ctx = true;
}

char *api_add_export(const char *conversation_id, const char *name, const char *content)
{
	AUTO(fail_release) struct fail f = { 0 };
	char id[TOKEN_SIZE], hash[DIGEST_SIZE];
	bool done = false;
	struct digest *digest = digest_new(strlen(content));
	digest_add(digest, content, strlen(content));
	digest_end(digest, hash);
	digest_free(digest);
	struct vault_file *file = vault_new(b.config.storage_dir, &f);
	assert_true(write(vault_fd(file), content, strlen(content)) == (ssize_t)strlen(content));
	assert_int_equal(vault_keep(file, hash, name, &f), 0);
	vault_free(file);
	token_make(id);
	AUTO(freep) char *path = xasprintf("/workspace/%s", name);
	AUTO(freep) char *place = vault_path(b.config.storage_dir, hash, name);
	struct export_record row = { .id = id,
				     .thread = conversation_id,
				     .session = "s",
				     .path = path,
				     .name = name,
				     .size = strlen(content),
				     .stored = strlen(content),
				     .hash = hash,
				     .file = name,
				     .mime = "text/plain",
				     .created = store_now_ms() };
	store_export_add(manager->registry.store, &row, place, NULL, on_added, &done);
	FAKE_UNTIL(fake, done);
	return xstrdup(id);
}

char *api_create(void)
{
	AUTO(reply_release) struct reply r = api_call("POST", "/v1/sessions", NULL, "{\"language\": \"python\"}");
	assert_int_equal(r.status, 201);
	return xstrdup(json_string_value(json_object_get(r.json, "id")));
}

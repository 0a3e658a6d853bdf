#include "kernels/control/controller.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/json.h"
#include "kernels/runs/requests.h"
#include "kernels/system/clock.h"
#include "kernels/system/creds.h"

#define BACKLOG 128
#define ACCEPTS_A_TURN 32
/* Fits, together with an incomplete frame of a file, into the buffer that a frame reader keeps. */
#define READ_BYTES (128u << 10)
/* Each flush makes room for one more step of the file transfers; after this many, other work gets its turn. */
#define FLUSHES_A_TURN 8

static void dismiss(struct client *client)
{
	watch_stop(&client->watch);
	timeout_stop(&client->patience);
	closep(&client->fd);
	frame_reader_release(&client->reader);
	if (client->controller && client->controller->present == client) {
		client->controller->present = NULL;
		/* Nothing will read the queue any more: a new controller gets a replay of the runs and the
		 * kernel's state. */
		sender_reset(&client->controller->sender);
		files_orphan(&client->controller->files);
		consoles_orphan(client->controller->consoles);
		streams_orphan(&client->controller->streams);
		gate_orphan(&client->controller->gate);
	}
}

static void on_patience(struct timeout *t)
{
	dismiss(container_of(t, struct client, patience));
}

/* ---- hello */

/* The highest common version, or 0. */
static json_int_t choose_version(json_int_t theirs, json_int_t their_min)
{
	json_int_t version = MIN(theirs, (json_int_t)PROTOCOL_VERSION);
	return version >= their_min && version >= PROTOCOL_VERSION_MIN ? version : 0;
}

static void refuse_old_epoch(struct client *client, uint64_t epoch)
{
	AUTO(buf_release) struct buf out = { 0 };
	json_auto_t *event = json_pack("{s:s, s:I}", "event", "fenced", "fence", (json_int_t)epoch);
	(void)frame_append_json(&out, FRAME_EVENT, 0, event);
	(void)send(client->fd, out.data, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	dismiss(client);
}

/* The runs that will be replayed, so that a new controller knows them at once. */
static json_t *unacknowledged(const struct runs *runs)
{
	json_t *calls = json_array();
	list_for_each(run, &runs->list, struct run, node)
		if (!run->acked)
			json_array_append_new(calls, json_pack("{s:I, s:s}", "call", (json_int_t)run->number, "kind",
							       run_kind_name(run->kind)));
	return calls;
}

static void admit(struct client *client, uint64_t epoch, json_int_t version)
{
	struct controller *c = client->controller;
	if (c->present)
		dismiss(c->present);
	c->epoch = epoch;
	c->present = client;
	c->files.descriptors = client->dialled;
	timeout_stop(&client->patience);
	sender_reset(&c->sender);
	json_auto_t *hello = json_pack("{s:I, s:I}", "version", version, "last_call", (json_int_t)c->runs->last_number);
	json_object_set_new(hello, "calls", unacknowledged(c->runs));
	c->on_hello(c, hello);
	(void)sender_json(&c->sender, FRAME_HELLO, 0, hello);
}

static void handle_hello(struct client *client, const struct frame *f)
{
	json_auto_t *hello = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	json_int_t version, min_version, epoch;
	if (json_unpack(hello, "{s:I, s:I, s:I}", "version", &version, "min_version", &min_version, "fence", &epoch) <
		    0 ||
	    epoch < 0 || !choose_version(version, min_version)) {
		dismiss(client);
		return;
	}
	if ((uint64_t)epoch < client->controller->epoch)
		refuse_old_epoch(client, client->controller->epoch);
	else
		admit(client, (uint64_t)epoch, choose_version(version, min_version));
}

/* ---- frames */

/* A refused run is not kept, since the list would grow past its limit. Therefore its END is sent only once. */
static void refuse_call(struct controller *c, uint32_t number)
{
	json_auto_t *end = json_pack("{s:s, s:i, s:i, s:i, s:s}", "ending", "refused", "duration_ms", 0, "stdout_bytes",
				     0, "stderr_bytes", 0, "detail", "Too many runs are waiting in this session.");
	(void)sender_json(&c->sender, FRAME_END, number, end);
}

static int start_run(struct controller *c, const struct frame *f, enum run_kind kind)
{
	struct run *run;
	int r = runs_add(c->runs, f->header.call, kind, f->payload, f->header.length, &run);
	if (r == -EPROTO)
		return r;
	if (r == -EBUSY)
		refuse_call(c, f->header.call);
	else if (r == 0)
		c->on_run(c, run);
	return 0;
}

static int on_execute(struct controller *c, const struct frame *f)
{
	return start_run(c, f, RUN_EXECUTE);
}

static int on_terminal(struct controller *c, const struct frame *f)
{
	return start_run(c, f, RUN_TERMINAL);
}

static int on_install(struct controller *c, const struct frame *f)
{
	return start_run(c, f, RUN_INSTALL);
}

static int on_ping(struct controller *c, const struct frame *f)
{
	(void)sender_raw(&c->sender, FRAME_PONG, 0, f->payload, f->header.length);
	return 0;
}

static int on_claim(struct controller *c, const struct frame *f)
{
	AUTO(claim_release) struct claim claim = { 0 };
	bool fine = f->header.call == 0 && claim_parse(&claim, f->payload, f->header.length) == 0;
	json_auto_t *answer = fine ? c->on_claim(c, &claim) : NULL;
	if (!answer)
		return -EPROTO;
	(void)sender_json(&c->sender, FRAME_EVENT, 0, answer);
	return 0;
}

static int on_interrupt(struct controller *c, const struct frame *f)
{
	if (files_interrupt(&c->files, f->header.call) || consoles_interrupt(c->consoles, f->header.call))
		return 0;
	struct run *run = runs_find(c->runs, f->header.call);
	if (run && run->state != RUN_ENDED)
		c->on_interrupt(c, run);
	return 0;
}

/* An ACK with a payload acknowledges a mark, and one without a payload the end of a run. */
static int on_ack(struct controller *c, const struct frame *f)
{
	if (!f->header.length) {
		runs_ack(c->runs, f->header.call);
		return 0;
	}
	json_auto_t *ack = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	json_int_t mark = json_integer_value(json_object_get(ack, "mark"));
	struct run *run = runs_find(c->runs, f->header.call);
	if (!json_is_object(ack) || mark < 1 || mark > UINT32_MAX)
		return -EPROTO;
	if (run)
		run_ack_mark(run, (uint32_t)mark);
	return 0;
}

static int on_take(struct controller *c, const struct frame *f)
{
	json_auto_t *take = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	struct run *run = runs_find(c->runs, f->header.call);
	if (!json_is_object(take))
		return -EPROTO;
	if (!run || run->state == RUN_ENDED)
		return 0; /* its END was sent, or was acknowledged */
	run->aside |= json_is_true(json_object_get(take, "aside"));
	c->on_take(c, run);
	return 0;
}

static int on_input(struct controller *c, const struct frame *f)
{
	struct run_input input;
	int r = runs_input(c->runs, f->header.call, f->payload, f->header.length, &input);
	if (r != 0)
		return MIN(r, 0);
	if (input.run->state == RUN_RUNNING)
		c->on_input(c, input.run, input.text, input.len);
	json_decref(input.fields);
	return 0;
}

static int on_status(struct controller *c, const struct frame *f)
{
	c->on_status(c, f->header.call);
	return 0;
}

static int on_query(struct controller *c, const struct frame *f)
{
	json_auto_t *query = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	if (!json_is_object(query))
		return -EPROTO;
	c->on_query(c, f->header.call, query);
	return 0;
}

static int on_checkpoint(struct controller *c, const struct frame *f)
{
	json_auto_t *request = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	if (!json_is_object(request))
		return -EPROTO;
	c->on_checkpoint(c, f->header.call, request);
	return 0;
}

static int on_stop(struct controller *c, const struct frame *f)
{
	c->on_stop(c);
	return 0;
}

static int to_consoles(struct controller *c, const struct frame *f)
{
	return consoles_frame(c->consoles, f);
}

static int to_files(struct controller *c, const struct frame *f)
{
	return files_frame(&c->files, f);
}

static int to_streams(struct controller *c, const struct frame *f)
{
	return streams_frame(&c->streams, f);
}

static int to_gate(struct controller *c, const struct frame *f)
{
	return gate_frame(&c->gate, f);
}

static int on_credit(struct controller *c, const struct frame *f)
{
	return consoles_have(c->consoles, f->header.call) ? to_consoles(c, f) : to_files(c, f);
}

/* Frames that a controller may send after its HELLO. controller_payload_max() has rejected all other types but
 * HELLO. */
static const struct route {
	int (*handle)(struct controller *c, const struct frame *f); /* 0, or -EPROTO: the client is disconnected */
	bool is_numbered; /* it starts a run with the next number; a known number is a resend */
} routes[] = {
	[FRAME_PING] = { on_ping },
	[FRAME_CLAIM] = { on_claim },
	[FRAME_STOP] = { on_stop },

	[FRAME_EXECUTE] = { on_execute },
	[FRAME_TERMINAL] = { on_terminal },
	[FRAME_INSTALL] = { on_install },
	[FRAME_INTERRUPT] = { on_interrupt },
	[FRAME_ACK] = { on_ack },
	[FRAME_TAKE] = { on_take },
	[FRAME_INPUT] = { on_input },
	[FRAME_STATUS] = { on_status },
	[FRAME_QUERY] = { on_query },
	[FRAME_CHECKPOINT] = { on_checkpoint },

	[FRAME_IMPORT] = { to_files, true },
	[FRAME_EXPORT] = { to_files, true },
	[FRAME_ENTRY] = { to_files },
	[FRAME_DATA] = { to_files },
	[FRAME_DONE] = { to_files },
	[FRAME_CREDIT] = { on_credit },

	[FRAME_FILES_LIST] = { to_files, true },
	[FRAME_FILES_STAT] = { to_files, true },
	[FRAME_FILES_DELETE] = { to_files, true },
	[FRAME_FILES_MAKE] = { to_files, true },
	[FRAME_FILES_READ] = { to_files, true },
	[FRAME_FILES_FETCH] = { to_files },
	[FRAME_FILES_WRITE] = { to_files, true },

	[FRAME_CONSOLE] = { to_consoles, true },
	[FRAME_CONSOLE_SIZE] = { to_consoles },
	[FRAME_CONSOLE_DATA] = { to_consoles },
	[FRAME_CONSOLE_SIGNAL] = { to_consoles },

	[FRAME_STREAM_OPEN] = { to_streams, true },
	[FRAME_STREAM_ACCEPT] = { to_streams },
	[FRAME_STREAM_REFUSE] = { to_streams },
	[FRAME_STREAM_DATA] = { to_streams },
	[FRAME_STREAM_CREDIT] = { to_streams },
	[FRAME_STREAM_END] = { to_streams },

	[FRAME_GATE] = { to_gate },

};

static bool takes_number(struct controller *c, uint32_t number)
{
	if (number <= c->runs->last_number)
		return false;
	c->runs->last_number = number;
	return true;
}

static void handle_frame(struct client *client, const struct frame *f)
{
	struct controller *c = client->controller;
	const struct route *route = f->header.type < ARRAY_LEN(routes) ? &routes[f->header.type] : NULL;
	c->on_frame(c);
	if (!route || !route->handle) { /* a second HELLO */
		dismiss(client);
		return;
	}
	if (route->is_numbered && !takes_number(c, f->header.call))
		return;
	if (route->handle(c, f) < 0)
		dismiss(client);
}

static void handle_frames(struct client *client)
{
	struct frame f;
	int r = 0;
	while (client->fd >= 0 && (r = frame_reader_next(&client->reader, controller_payload_max, &f)) > 0) {
		if (client->controller->present == client)
			handle_frame(client, &f);
		else if (f.header.type == FRAME_HELLO)
			handle_hello(client, &f);
		else
			dismiss(client);
	}
	if (client->fd >= 0 && r < 0)
		dismiss(client);
}

/* The first message carries the sender's credentials. */
static void identify(struct client *client)
{
	struct ucred peer;
	int r = creds_receive(client->fd, &peer);
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r < 0 || peer.uid != CONTROLLER_UID)
		dismiss(client);
	else
		client->unknown = false;
}

static void on_client(struct watch *w, short revents)
{
	struct client *client = container_of(w, struct client, watch);
	if (client->unknown) {
		identify(client);
		return;
	}
	/* While a client has unread output, nothing is read from it (see controller_flush), unless it has hung up. */
	if (!(revents & (POLLIN | POLLHUP | POLLERR)))
		return;
	ssize_t n = recv(client->fd, frame_reader_room(&client->reader, READ_BYTES), READ_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		dismiss(client);
		return;
	}
	frame_reader_fed(&client->reader, (size_t)n);
	handle_frames(client);
}

/* ---- the socket */

/* False if the client does not run as the controller's user. */
static bool may_be_controller(int fd, bool *ret_unknown)
{
	struct ucred peer;
	int r = creds_of_peer(fd, &peer);
	*ret_unknown = r == -ENOTSUP;
	/* PID 1 sends its credentials first. The other end waits for them, and sends its own when the system is ready
	 * to add the sender. */
	if (*ret_unknown)
		return creds_expect(fd) == 0 && creds_send(fd) == 0;
	return r == 0 && peer.uid == CONTROLLER_UID;
}

static struct client *free_place(struct controller *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->clients); i++)
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	return NULL;
}

static void on_connect(struct watch *w, short revents)
{
	struct controller *c = container_of(w, struct controller, listen_watch);
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		struct client *client = free_place(c);
		bool unknown;
		if (!client || !may_be_controller(fd, &unknown)) {
			close(fd);
			continue;
		}
		*client = (struct client){ .controller = c, .fd = fd, .unknown = unknown };
		watch_start(c->poller, &client->watch, fd, POLLIN, on_client);
		timeout_start(c->poller, &client->patience, CONTROLLER_PATIENCE_MS, on_patience);
	}
}

int controller_take(struct controller *c, int fd)
{
	struct client *client = free_place(c);
	if (!client) {
		close(fd);
		return -EBUSY;
	}
	*client = (struct client){ .controller = c, .fd = fd, .dialled = true };
	watch_start(c->poller, &client->watch, fd, POLLIN, on_client);
	return 0;
}

bool controller_has_dialled(const struct controller *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->clients); i++)
		if (c->clients[i].fd >= 0 && c->clients[i].dialled)
			return true;
	return false;
}

int controller_init(struct controller *c)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	sender_init(&c->sender, c->runs);
	files_init(&c->files, &c->sender, c->home);
	streams_init(&c->streams, c->poller, &c->sender);
	c->streams.refuses = c->consoles->refuses;
	gate_init(&c->gate, c->poller, &c->sender, &c->streams);
	for (size_t i = 0; i < ARRAY_LEN(c->clients); i++)
		c->clients[i] = (struct client){ .fd = -1 };
	memcpy(sa.sun_path + 1, CONTROL_SOCKET, strlen(CONTROL_SOCKET));
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(CONTROL_SOCKET));
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd < 0 || bind(c->listen_fd, (struct sockaddr *)&sa, len) < 0 ||
	    listen(c->listen_fd, BACKLOG) < 0)
		return -errno;
	watch_start(c->poller, &c->listen_watch, c->listen_fd, POLLIN, on_connect);
	return 0;
}

void controller_event(struct controller *c, const json_t *event)
{
	if (c->present && !sender_full(&c->sender))
		(void)sender_json(&c->sender, FRAME_EVENT, 0, event);
}

void controller_info(struct controller *c, uint32_t call, const json_t *info)
{
	if (c->present && !sender_full(&c->sender))
		(void)sender_json(&c->sender, FRAME_INFO, call, info);
}

void controller_answer(struct controller *c, uint32_t call, const void *json, size_t n)
{
	if (c->present && !sender_full(&c->sender))
		(void)sender_raw(&c->sender, FRAME_ANSWER, call, json, n);
}

/* Produces frames that are created only when there is room for them. Files, consoles and streams take turns to be
 * first, since the first may use up the room. */
static bool produce(struct controller *c, unsigned turn)
{
	bool more = false;
	for (unsigned i = 0; i < 3; i++) {
		unsigned which = (turn + i) % 3;
		more |= which == 0 ? streams_step(&c->streams) :
			which == 1 ? files_step(&c->files) :
				     consoles_step(c->consoles);
	}
	return more;
}

/* 0 if everything is sent, 1 if the socket is full, -errno. */
static int send_with_files(struct controller *c, int fd, bool *ret_more)
{
	int r = 0;
	for (unsigned i = 0; i < FLUSHES_A_TURN && r == 0; i++) {
		r = sender_flush(&c->sender, fd);
		*ret_more = r >= 0 && produce(c, i);
		if (!sender_pending(&c->sender))
			break;
	}
	return r;
}

bool controller_flush(struct controller *c)
{
	struct client *client = c->present;
	bool more = false;
	if (!client)
		return files_step(&c->files);
	sender_progress(&c->sender, clock_now_ms());
	int r = send_with_files(c, client->fd, &more);
	if (r < 0) {
		dismiss(client);
		return true;
	}
	bool full = sender_full(&c->sender), pending = sender_pending(&c->sender);
	/* PID 1 stops reading from a controller that sends requests but does not read the answers. */
	client->watch.events = (short)((full ? 0 : POLLIN) | (pending ? POLLOUT : 0));
	return more && !pending;
}

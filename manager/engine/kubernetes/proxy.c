#include "manager/engine/kubernetes/proxy.h"

#include <dirent.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/dirs.h"
#include "base/log.h"
#include "base/strv.h"
#include "base/tether.h"
#include "base/utf8.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"

#define START_MS 20000
#define WORDS_MAX 4096u
#define FOLDER_PREFIX "kubectl-"
#define SOCKET_NAME "/s"
/* kubectl prints this once it listens. */
#define READY "Starting to serve on"

struct proxy {
	struct loop *loop;
	char *program, *helper, *context, *namespace, *parent;
	char *folder, *path; /* of the socket; NULL until the first start */
	struct child *child;
	struct http_client *client;
	struct timer *tell, *late;
	struct buf words; /* its standard output until it is ready */
	bool ready;
	struct fail failure; /* to report to those who wait */
	struct list waits;
};

static void start(struct proxy *p);

/* --- the folder ---------------------------------------------------------------------------------------------------- */

static int address_of(struct sockaddr_un *to, const char *path)
{
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(to->sun_path, sizeof(to->sun_path), "%s", path);
	return n < (int)sizeof(to->sun_path) ? 0 : -ENAMETOOLONG;
}

static bool answers(const char *path)
{
	struct sockaddr_un to;
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && address_of(&to, path) == 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

static void remove_folder(const char *folder)
{
	AUTO(freep) char *path = xasprintf("%s" SOCKET_NAME, folder);
	(void)unlink(path);
	(void)rmdir(folder);
}

/* Folders of servers that were killed: nothing answers in them. A folder that is a minute young may belong to a proxy
 * that is starting. */
static void sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		AUTO(freep) char *folder = xasprintf("%s/%s", parent, entry->d_name);
		AUTO(freep) char *path = xasprintf("%s" SOCKET_NAME, folder);
		struct stat st;
		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) == 0 && lstat(folder, &st) == 0 &&
		    S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > 60 && !answers(path))
			remove_folder(folder);
	}
	if (dir)
		closedir(dir);
}

static int make_folder(struct proxy *p, struct fail *f)
{
	char token[TOKEN_SIZE];
	struct sockaddr_un to;
	if (p->folder)
		return 0;
	token_make(token);
	int r = dirs_make(p->parent);
	sweep(p->parent);
	AUTO(freep) char *folder = xasprintf("%s/" FOLDER_PREFIX "%.10s", p->parent, token);
	AUTO(freep) char *path = xasprintf("%s" SOCKET_NAME, folder);
	if (r == 0)
		r = address_of(&to, path);
	if (r == 0 && mkdir(folder, 0700) < 0)
		r = -errno;
	if (r < 0)
		return fail_set(f, FAIL_ENGINE, "cannot create the folder '%s' for kubectl's socket: %s", folder,
				strerror(-r));
	p->client = http_client_new(&(struct http_client_spec){ .loop = p->loop, .path = path }, f);
	p->folder = take_ptr(folder);
	p->path = take_ptr(path);
	return p->client ? 0 : -1;
}

/* --- those who wait ------------------------------------------------------------------------------------------------ */

/* A callback may free other waits, so the list is taken one by one; those who wait again are called another time. */
static void on_tell(void *ctx)
{
	struct proxy *p = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct list waits;
	/* It has ended since: those who wait get a new one. */
	if (!p->ready && !p->failure.kind) {
		if (!p->child && !list_empty(&p->waits))
			start(p);
		return;
	}
	fail_move(&f, &p->failure);
	list_init(&waits);
	list_for_each(w, &p->waits, struct proxy_wait, node) {
		list_remove(&w->node);
		list_append(&waits, &w->node);
	}
	while (!list_empty(&waits)) {
		struct proxy_wait *w = list_entry(waits.next, struct proxy_wait, node);
		list_remove(&w->node);
		w->fn(w->ctx, f.kind ? &f : NULL);
	}
}

static void tell(struct proxy *p)
{
	timer_stop(p->late);
	timer_start(p->tell, 0, 0);
}

/* --- the child ----------------------------------------------------------------------------------------------------- */

static int no_client(struct proxy *p, struct fail *f, const char *why)
{
	cause_set(f, FAIL_ENGINE, CAUSE_NO_CLIENT, "cannot run '%s': %s", p->program, why);
	return fail_hint(f, "install kubectl, or set HUSK_KUBECTL to its path");
}

static void explain_end(struct proxy *p, const struct child_result *r)
{
	AUTO(buf_release) struct buf clean = { 0 };
	struct fail *f = &p->failure;
	utf8_clean(&clean, r->err, MIN(r->err_len, (size_t)WORDS_MAX));
	while (clean.len && clean.data[clean.len - 1] == '\n')
		clean.len--;
	if (r->exit_status == TETHER_NO_PROGRAM) {
		(void)no_client(p, f, clean.len ? buf_str(&clean) : "not found");
		return;
	}
	cause_set(f, FAIL_ENGINE, CAUSE_NO_CLIENT, "`kubectl proxy` ended at once: %s",
		  clean.len ? buf_str(&clean) : "no reason given");
	fail_hint(f, "check that `kubectl get pods -n %s` works; KUBECONFIG and KUBERNETES_CONTEXT choose the cluster",
		  p->namespace);
}

static void on_ended(void *ctx, const struct child_result *r)
{
	struct proxy *p = ctx;
	if (p->ready)
		log_warning("kubectl proxy has ended (status %d): %.300s", r->exit_status, r->err);
	else
		explain_end(p, r);
	child_free(take_ptr(p->child));
	p->ready = false;
	tell(p);
}

static void on_words(void *ctx, const void *data, size_t n)
{
	struct proxy *p = ctx;
	if (p->ready)
		return;
	(void)buf_add(&p->words, data, MIN(n, WORDS_MAX - p->words.len));
	p->ready = strstr(buf_str(&p->words), READY) != NULL;
	if (p->ready)
		tell(p);
}

static void on_late(void *ctx)
{
	struct proxy *p = ctx;
	cause_set(&p->failure, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT, "`kubectl proxy` did not start within %d s",
		  START_MS / 1000);
	p->child = child_free(p->child);
	tell(p);
}

static void make_argv(const struct proxy *p, struct strv *argv)
{
	strv_add_all(argv, p->helper ? p->helper : "/proc/self/exe", "tether", NULL);
	strv_addf(argv, "%d", (int)getpid());
	strv_add_all(argv, "--", p->program, NULL);
	if (p->context)
		strv_addf(argv, "--context=%s", p->context);
	strv_add_all(argv, "proxy", "--reject-paths=^$", NULL);
	strv_addf(argv, "--unix-socket=%s", p->path);
	strv_addf(argv,
		  "--accept-paths=^/api/v1/namespaces/%s/pods(/husk-[a-z0-9-]+(/exec)?)?$,^/version$,"
		  "^/apis/authorization.k8s.io/v1/selfsubjectaccessreviews$",
		  p->namespace);
}

static void start(struct proxy *p)
{
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	fail_release(&p->failure);
	buf_reset(&p->words);
	if (make_folder(p, &f) < 0) {
		fail_move(&p->failure, &f);
		tell(p);
		return;
	}
	make_argv(p, &argv);
	struct child_spec child = { .argv = strv_argv(&argv), .on_stdout = on_words, .on_done = on_ended, .ctx = p };
	if (child_start(p->loop, &child, &p->child, &f) < 0) {
		(void)no_client(p, &p->failure, f.message);
		tell(p);
		return;
	}
	timer_start(p->late, START_MS, 0);
}

void proxy_get(struct proxy *p, struct proxy_wait *wait)
{
	list_append(&p->waits, &wait->node);
	if (p->ready)
		tell(p);
	else if (!p->child && !timer_active(p->tell))
		start(p);
}

void proxy_forget(struct proxy_wait *wait)
{
	list_remove(&wait->node);
}

struct http_client *proxy_client(const struct proxy *p)
{
	return p->client;
}

struct proxy *proxy_new(const struct proxy_spec *spec)
{
	struct proxy *p = new0(struct proxy);
	p->loop = spec->loop;
	p->program = xstrdup(spec->program);
	p->helper = spec->helper ? xstrdup(spec->helper) : NULL;
	p->context = spec->context ? xstrdup(spec->context) : NULL;
	p->namespace = xstrdup(spec->namespace);
	p->parent = xstrdup(spec->folder);
	p->words.max = WORDS_MAX;
	p->tell = timer_new(p->loop, on_tell, p);
	p->late = timer_new(p->loop, on_late, p);
	list_init(&p->waits);
	return p;
}

struct proxy *proxy_free(struct proxy *p)
{
	if (!p)
		return NULL;
	child_free(p->child);
	http_client_free(p->client);
	if (p->folder)
		remove_folder(p->folder);
	timer_free(p->tell);
	timer_free(p->late);
	buf_release(&p->words);
	fail_release(&p->failure);
	free(p->program);
	free(p->helper);
	free(p->context);
	free(p->namespace);
	free(p->parent);
	free(p->folder);
	free(p->path);
	free(p);
	return NULL;
}

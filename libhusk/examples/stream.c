/* Shows live output, a time limit, and a call that another thread cancels.
 * cc stream.c $(pkg-config --cflags --libs libhusk) -pthread && ./a.out */
#include <husk.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct husk_cancel *cancel;

static void *cancel_it(void *unused)
{
	husk_cancel(cancel);
	return unused;
}

/* Called in the calling thread while it waits. */
static void show(void *ctx, int stream, const char *text, size_t n)
{
	pthread_t *canceller = ctx;
	fwrite(text, 1, n, stream == 1 ? stdout : stderr);
	if (canceller && memchr(text, '\n', n)) /* the line is complete */
		pthread_create(canceller, NULL, cancel_it, NULL);
}

static struct husk_error *demonstrate(struct husk_conversation *c, const char *session)
{
	struct husk_result *r = NULL;
	struct husk_run limited = { .size = sizeof(limited), .timeout = 1, .on_output = show };
	struct husk_error *e =
		husk_execute(c, session, "x = 1\nprint('a second')\nwhile True: pass", &limited, NULL, &r);
	if (e)
		return e;
	printf("ended: %s\n", r->ending);
	husk_result_free(r);

	pthread_t canceller;
	struct husk_run run = { .size = sizeof(run), .timeout = 300, .on_output = show, .ctx = &canceller };
	struct husk_wait wait = { .size = sizeof(wait), .cancel = cancel };
	e = husk_execute(c, session, "print('for ever', flush=True)\nwhile True: pass", &run, &wait, &r);
	if (!e)
		return husk_result_free(r), NULL;
	printf("%s\n", e->cause);
	husk_error_free(e);
	pthread_join(canceller, NULL);

	e = husk_execute(c, session, "print('x is still', x)",
			 &(struct husk_run){ .size = sizeof(run), .on_output = show }, NULL, &r);
	if (!e)
		husk_result_free(r);
	return e;
}

int main(void)
{
	struct husk *h = NULL;
	struct husk_conversation *c = NULL;
	struct husk_session *s = NULL;
	struct husk_error *e = husk_cancel_new(&cancel);
	if (!e)
		e = husk_open(NULL, &h);
	if (!e)
		e = husk_conversation_open(h, NULL, &c);
	if (!e)
		e = husk_create(c, NULL, NULL, &s);
	if (!e)
		e = demonstrate(c, s->id);
	int failed = e != NULL;
	if (e)
		fprintf(stderr, "%s: %s\n%s\n", e->cause, e->message, e->hint);
	husk_error_free(e);
	husk_session_free(s);
	husk_error_free(h ? husk_close(h) : NULL);
	husk_cancel_free(cancel);
	return failed;
}

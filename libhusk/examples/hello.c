/* The shortest program: a session, a cell and its value. cc hello.c $(pkg-config --cflags --libs libhusk) &&
 * ./a.out */
#include <husk.h>
#include <stdio.h>

int main(void)
{
	struct husk *h = NULL;
	struct husk_conversation *c = NULL;
	struct husk_session *s = NULL;
	struct husk_result *r = NULL;
	struct husk_error *e = husk_open(NULL, &h);
	if (!e)
		e = husk_conversation_open(h, NULL, &c);
	if (!e)
		e = husk_create(c, NULL, NULL, &s);
	if (!e)
		e = husk_execute(c, s->id, "6 * 7", NULL, NULL, &r);
	int failed = e != NULL;
	if (e)
		fprintf(stderr, "%s: %s\n%s\n", e->cause, e->message, e->hint);
	else
		puts(husk_text(r));
	husk_error_free(e);
	husk_result_free(r);
	husk_session_free(s);
	husk_error_free(h ? husk_close(h) : NULL);
	return failed;
}

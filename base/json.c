#include "base/json.h"

#include "base/utf8.h"

json_t *json_text(const char *s)
{
	json_t *v = json_string(s);
	if (v)
		return v;
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, s, strlen(s));
	v = json_string(buf_str(&clean));
	return v ? v : json_string("");
}

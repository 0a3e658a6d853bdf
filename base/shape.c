#include "base/shape.h"

struct shape shape_of(const void *json, size_t n)
{
	const char *s = json;
	struct shape shape = { .values = 1 };
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < n; i++) {
		if (in_string && s[i] == '\\')
			i++;
		else if (s[i] == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if (s[i] == '{' || s[i] == '[') {
			shape.containers++;
			depth++;
			shape.depth = MAX(shape.depth, depth);
		} else if (s[i] == '}' || s[i] == ']')
			depth -= depth > 0;
		else if (s[i] == ',')
			shape.values++;
	}
	return shape;
}

/* Names that nobody can guess. */
#ifndef HUSK_MCP_RANDOM_NAME_H
#define HUSK_MCP_RANDOM_NAME_H

/* 32 hexadecimal digits and a NUL. */
#define RANDOM_NAME_SIZE 33

void random_name(char name[RANDOM_NAME_SIZE]);

#endif

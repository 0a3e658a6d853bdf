\\ Runs after a program. Without this, gp would go on to read its standard input.
quit

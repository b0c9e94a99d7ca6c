/* completion.h - our commands for other programs: bash, zsh and man. */
#pragma once

struct invocation;

/* Prints a script that lets bash or zsh complete commands, options and files. */
int completion_run(struct invocation *in);

/* Prints the manual page muster(1), in roff. */
int man_run(struct invocation *in);

/* main.c - prepares the process, then runs the command line. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "app/commands.h"
#include "base/digest.h"
#include "cli/command.h"
#include "features/vault/keyring.h"

/* Secrets pass through this process: no other process may read its memory, nor a core dump. Where
 * the system does not allow that, the program runs anyway. */
static void hide_memory(void)
{
    const struct rlimit none = { 0, 0 };

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
}

int main(int argc, char **argv)
{
    struct error err = { 0 };

    hide_memory();
    digest_init();
    if (keyring_take_variable(&err) != 0)
        return command_fail(&err);
    return cli_run(&app_program, argc, argv);
}

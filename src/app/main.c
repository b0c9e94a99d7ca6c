/* main.c - prepares the process, then runs the command line. */
#include "app/assemble.h"
#include "app/confine.h"
#include "base/digest.h"
#include "cli/command.h"
#include "features/vault/keyring.h"

int main(int argc, char **argv)
{
    struct error err = { 0 };

    confine_memory();
    digest_init();
    if (keyring_take_variable(&err) != 0)
        return command_fail(&err);
    return cli_run(&app_program, argc, argv);
}

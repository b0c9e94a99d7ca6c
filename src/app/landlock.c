/* landlock.c - the three system calls of Landlock, by number: the C library has no functions for
 * them. */
#include "app/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the oldest headers that muster is built with. */
#define ACCESS_TRUNCATE  (UINT64_C(1) << 14) /* ABI 3 */
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5 */
#define SCOPE_SIGNAL     (UINT64_C(1) << 1)  /* ABI 6 */

/* The kernel takes a longer struct than it knows if the rest is zero. */
struct ruleset {
    uint64_t fs, net, scoped;
};

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_RIGHTS                                                                               \
    (READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |                \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | ACCESS_TRUNCATE)
#define FILE_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

/* Everything that this version of Landlock can refuse. Moving files between directories is refused
 * by every version. */
static uint64_t handled(int abi)
{
    uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

    if (abi >= 2)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        rights |= ACCESS_TRUNCATE;
    if (abi >= 5)
        rights |= ACCESS_IOCTL_DEV;
    return rights;
}

void landlock_init(struct landlock *l)
{
    struct ruleset ruleset = { 0 };
    long abi =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);

    *l = (struct landlock){ .ruleset = -1, .abi = abi > 0 ? (int)abi : 0 };
    if (l->abi == 0)
        return;
    ruleset.fs = handled(l->abi);
    ruleset.scoped = l->abi >= 6 ? SCOPE_SIGNAL : 0;
    l->ruleset = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
    if (l->ruleset < 0)
        l->abi = 0;
}

int landlock_allow(struct landlock *l, const char *path, enum landlock_access access,
                   struct error *err)
{
    uint64_t rights = access == LANDLOCK_WRITE ? WRITE_RIGHTS : READ_RIGHTS;
    struct landlock_path_beneath_attr rule = { .parent_fd = open(path, O_PATH | O_CLOEXEC) };
    struct stat status;
    int r = 0;

    if (rule.parent_fd < 0 || l->abi == 0) {
        if (rule.parent_fd >= 0)
            (void)close(rule.parent_fd);
        return 0;
    }
    if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rights &= FILE_RIGHTS;
    rule.allowed_access = rights & handled(l->abi);
    if (syscall(SYS_landlock_add_rule, l->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        r = err_set(err, ERR_UNAVAILABLE, "Landlock: cannot allow '%s': %s", path, strerror(errno));
    (void)close(rule.parent_fd);
    return r;
}

int landlock_enforce(struct landlock *l, struct error *err)
{
    if (l->abi == 0)
        return 0;
    if (syscall(SYS_landlock_restrict_self, l->ruleset, 0) != 0)
        return err_set(err, ERR_UNAVAILABLE, "Landlock: cannot restrict the process: %s",
                       strerror(errno));
    return 0;
}

void landlock_done(struct landlock *l)
{
    if (l->ruleset >= 0)
        (void)close(l->ruleset);
    *l = (struct landlock){ .ruleset = -1 };
}

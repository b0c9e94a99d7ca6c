/* confine.c - what a process of ours may not do: be root, be read, start programs.
 *
 * The filter is a small program that the kernel runs on every system call. It lists what is
 * refused, not what is allowed: the libraries' needs differ between their versions and machines,
 * and a server that stops working after an upgrade will have its protection turned off. Refused
 * are: programs and other processes, other users' rights, the system's configuration, and memory
 * that is written and then executed.
 */
#include "app/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"

void confine_memory(void)
{
    const struct rlimit none = { 0, 0 };

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* In a container, root is bounded by the container. Without systemd as its first process this may
 * be a container without a mark, or a machine whose owner starts services another way. */
static bool may_be_container(void)
{
    return getenv("container") != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL ||
           access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
           access("/run/systemd/container", F_OK) == 0 || access("/run/systemd/system", F_OK) != 0;
}

int confine_check_user(const struct settings *settings, struct error *err)
{
    if (geteuid() == 0 && settings->allow_root == 0 && !may_be_container())
        return err_set(
            err, ERR_FORBIDDEN,
            "refusing to run as root: start it as another user, in a data directory that "
            "belongs to that user, or add --allow-root 1");
    return 0;
}

void confine_warn_user(const struct settings *settings)
{
    if (geteuid() == 0 && settings->allow_root == 0)
        log_write(LOG_WARNING, "start", "running as root: another user is safer");
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

/* A call, and the error that it gets. */
struct refusal {
    int call, error;
};

/* clang-format off */
static const struct refusal refusals[] = {
    /* programs and other processes */
    { SYS_execve, EPERM }, { SYS_execveat, EPERM }, { SYS_ptrace, EPERM },
    { SYS_process_vm_readv, EPERM }, { SYS_process_vm_writev, EPERM }, { SYS_kcmp, EPERM },
    { SYS_pidfd_getfd, EPERM }, { SYS_process_madvise, EPERM },
    { SYS_clone3, ENOSYS }, /* its flags are out of reach here; the C library falls back to clone */
    /* rights and namespaces */
    { SYS_setuid, EPERM }, { SYS_setgid, EPERM }, { SYS_setreuid, EPERM }, { SYS_setregid, EPERM },
    { SYS_setresuid, EPERM }, { SYS_setresgid, EPERM }, { SYS_setfsuid, EPERM },
    { SYS_setfsgid, EPERM }, { SYS_setgroups, EPERM }, { SYS_capset, EPERM },
    { SYS_unshare, EPERM }, { SYS_setns, EPERM }, { SYS_chroot, EPERM }, { SYS_personality, EPERM },
    /* mounts and devices */
    { SYS_mount, EPERM }, { SYS_umount2, EPERM }, { SYS_pivot_root, EPERM },
    { SYS_move_mount, EPERM }, { SYS_open_tree, EPERM }, { SYS_fsopen, EPERM },
    { SYS_fsconfig, EPERM }, { SYS_fsmount, EPERM }, { SYS_fspick, EPERM },
    { SYS_mount_setattr, EPERM }, { SYS_open_by_handle_at, EPERM },
    { SYS_quotactl, EPERM }, { SYS_swapon, EPERM }, { SYS_swapoff, EPERM },
    /* the kernel and its clock */
    { SYS_init_module, EPERM }, { SYS_finit_module, EPERM }, { SYS_delete_module, EPERM },
    { SYS_kexec_load, EPERM }, { SYS_reboot, EPERM }, { SYS_syslog, EPERM }, { SYS_acct, EPERM },
    { SYS_sethostname, EPERM }, { SYS_setdomainname, EPERM }, { SYS_settimeofday, EPERM },
    { SYS_clock_settime, EPERM }, { SYS_adjtimex, EPERM }, { SYS_clock_adjtime, EPERM },
    { SYS_vhangup, EPERM }, { SYS_bpf, EPERM }, { SYS_perf_event_open, EPERM },
    { SYS_userfaultfd, EPERM }, { SYS_add_key, EPERM }, { SYS_request_key, EPERM },
    { SYS_keyctl, EPERM },
    { SYS_io_uring_setup, ENOSYS }, { SYS_io_uring_enter, ENOSYS }, { SYS_io_uring_register, ENOSYS },
#ifdef __x86_64__
    { SYS_fork, EPERM }, { SYS_vfork, EPERM }, { SYS_kexec_file_load, EPERM },
    { SYS_iopl, EPERM }, { SYS_ioperm, EPERM }, { SYS_modify_ldt, EPERM },
#endif
};

/* Where the kernel puts the call; of an argument its lower half, which holds all flags. */
#define CALL         offsetof(struct seccomp_data, nr)
#define ARCH         offsetof(struct seccomp_data, arch)
#define ARGUMENT(n)  (offsetof(struct seccomp_data, args) + (size_t)8 * (n)) /* both are little-endian */
#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(field))
#define MASK(bits)   BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (unsigned)(bits))
/* Goes on with the next instruction if true, else skips `n` of them; SKIP_IF is the opposite. */
#define UNLESS_SKIP(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, (n))
#define SKIP_IF(value, n)     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), (n), 0)
#define REFUSE(error)         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static const struct sock_filter head[] = {
    LOAD(ARCH),
    SKIP_IF(ARCHITECTURE, 1),
    REFUSE(ENOSYS), /* calls of another kind than the program's own */
    LOAD(CALL),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the 32-bit pointers of x32 */
    REFUSE(ENOSYS),
#endif
};

/* What depends on the arguments: a thread is no process, the network no other kind of socket, and
 * no memory is both written and executed. */
static const struct sock_filter tail[] = {
    UNLESS_SKIP(SYS_clone, 5),
    LOAD(ARGUMENT(0)), MASK(CLONE_THREAD), SKIP_IF(CLONE_THREAD, 1), REFUSE(EPERM), ALLOW,
    UNLESS_SKIP(SYS_socket, 7),
    LOAD(ARGUMENT(0)), SKIP_IF(AF_UNIX, 4), SKIP_IF(AF_INET, 3), SKIP_IF(AF_INET6, 2),
    SKIP_IF(AF_NETLINK, 1), REFUSE(EAFNOSUPPORT), ALLOW,
    UNLESS_SKIP(SYS_mmap, 5),
    LOAD(ARGUMENT(2)), MASK(PROT_WRITE | PROT_EXEC), UNLESS_SKIP(PROT_WRITE | PROT_EXEC, 1), REFUSE(EPERM), ALLOW,
    SKIP_IF(SYS_mprotect, 1), UNLESS_SKIP(SYS_pkey_mprotect, 4),
    LOAD(ARGUMENT(2)), MASK(PROT_EXEC), UNLESS_SKIP(PROT_EXEC, 1), REFUSE(EPERM),
    ALLOW,
};
/* clang-format on */

/* False: the kernel or the processor has no such filter. */
static bool restrict_calls(void)
{
    struct sock_filter all[COUNT_OF(head) + 2 * COUNT_OF(refusals) + COUNT_OF(tail)];
    struct sock_fprog program = { .len = COUNT_OF(all), .filter = all };
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(head); i++)
        all[n++] = head[i];
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        all[n++] = (struct sock_filter)UNLESS_SKIP(refusals[i].call, 1);
        all[n++] = (struct sock_filter)REFUSE((unsigned)refusals[i].error);
    }
    for (size_t i = 0; i < COUNT_OF(tail); i++)
        all[n++] = tail[i];
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

static bool restrict_calls(void)
{
    return false;
}

#endif

void confine_server(const struct settings *settings)
{
    if (settings->confine != 0 && !restrict_calls())
        log_write(LOG_WARNING, "start", "system calls are not restricted: no seccomp here");
}

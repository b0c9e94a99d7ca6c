/* confine_probe.c - on SIGUSR2 the program tries what a server must not be able to do, and writes a
 * line for each attempt on standard error. With MUSTER_TEST_MACHINE=1 it takes its user for root
 * and the machine for one without containers. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_machine(void)
{
    const char *set = getenv("MUSTER_TEST_MACHINE");

    return set != NULL && strcmp(set, "1") == 0;
}

/* In place of the C library's. */
int access(const char *path, int mode)
{
    if (is_machine() && (strstr(path, "container") != NULL || strcmp(path, "/.dockerenv") == 0)) {
        errno = ENOENT;
        return -1;
    }
    if (is_machine() && strcmp(path, "/run/systemd/system") == 0)
        return 0;
    return faccessat(AT_FDCWD, path, mode, 0);
}

uid_t geteuid(void)
{
    return is_machine() ? 0 : (uid_t)syscall(SYS_geteuid);
}

static void say(const char *what, long result)
{
    (void)fprintf(stderr, "probe %s: %s\n", what, result >= 0 ? "done" : strerrorname_np(errno));
}

static long try_fork(void)
{
    long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

    if (child == 0)
        _exit(0);
    if (child > 0)
        (void)waitpid((pid_t)child, NULL, 0);
    return child;
}

static long try_executable_memory(int first)
{
    void *page = mmap(NULL, 4096, first, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long r = page == MAP_FAILED ? -1 : mprotect(page, 4096, PROT_READ | PROT_EXEC);

    if (page != MAP_FAILED) {
        int error = errno;

        (void)munmap(page, 4096);
        errno = error;
    }
    return r;
}

static void probe(int signal_number)
{
    char *const none[] = { NULL };

    (void)signal_number;
    say("fork", try_fork());
    say("trace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    say("packet_socket", socket(AF_PACKET, SOCK_RAW, 0));
    say("network_socket", socket(AF_INET6, SOCK_STREAM, 0));
    say("namespace", unshare(CLONE_NEWUSER));
    say("become", setuid(getuid()));
    say("written_and_executed", try_executable_memory(PROT_READ | PROT_WRITE | PROT_EXEC));
    say("written_then_executed", try_executable_memory(PROT_READ | PROT_WRITE));
    say("execute", execve("/bin/true", none, none)); /* last: the process ends if it can */
    (void)fprintf(stderr, "probe end\n");
}

__attribute__((constructor)) static void hook_probe(void)
{
    (void)signal(SIGUSR2, probe);
}

/* What surrounds a process, changed while it runs: whoever is started with this in LD_PRELOAD reads from the file
   SURROUNDINGS how many seconds its time of day is ahead, and whether names of hosts are found. Two numbers of 64 bits.
   Clocks that nobody can set go on as they are. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t calm[2] = {0, 0};
static const volatile int64_t *now_set = calm;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SURROUNDINGS");
    int file = path ? open(path, O_RDONLY) : -1;
    void *shared = file < 0 ? MAP_FAILED : mmap(NULL, sizeof calm, PROT_READ, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) now_set = shared;
    if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long answer = syscall(SYS_clock_gettime, clock, now);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += now_set[0];
    return (int)answer;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) real = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    int is_number = hints && (hints->ai_flags & AI_NUMERICHOST);
    int is_name = name && (name[0] < '0' || name[0] > '9') && name[0] != ':';
    return now_set[1] && is_name && !is_number ? EAI_AGAIN : real(name, service, hints, found);
}

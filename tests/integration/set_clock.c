/* Another time of day for whoever is started with this in LD_PRELOAD, CLOCK_SET seconds ahead. Clocks that
   nobody can set go on as they are: faketime, which many know, cannot keep them from breaking Python's sleep. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    long answer = syscall(SYS_clock_gettime, clock, now);
    const char *ahead = getenv("CLOCK_SET");
    if (answer == 0 && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += atol(ahead);
    return (int)answer;
}

// The parts that Glibc's Swift module leaves out: epoll, eventfd, timerfd, TCP's options, accept4 and the names of threads.
#pragma once

#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

// Declared for _GNU_SOURCE only, which would make the headers' types differ from Glibc's module.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);

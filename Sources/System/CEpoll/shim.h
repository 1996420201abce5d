// What Glibc's Swift module leaves out: epoll, timerfd, TCP's options and accept4.
#pragma once

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

// Declared by <sys/socket.h> for _GNU_SOURCE only, which would make its types differ from Glibc's module.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// What Glibc's Swift module leaves out: epoll, eventfd and accept4.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

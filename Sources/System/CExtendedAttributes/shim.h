// What Glibc's Swift module leaves out: extended attributes, and the form of access control lists in them.
#pragma once

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

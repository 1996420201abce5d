// A file that imports this module sees `EventLoop` and `MonotonicTime` too: both are part of its interface.

@_exported public import EventLoops

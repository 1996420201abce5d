"""What the tests of high availability share: hosts that fail, their cluster, and phones that log in meanwhile."""

"""Memory through CALLS=1000000 calls of a channel, and what the channel adds to a call (rpc/pool)."""

import subprocess

from service import built


def main():
    subprocess.run([built("rpc-pool")], check=True)


if __name__ == "__main__":
    main()

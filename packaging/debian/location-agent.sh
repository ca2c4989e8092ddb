#!/bin/sh
# The command of the package private-location-agent. npm, which installs runtimes, comes with the package's Node.
home=/usr/lib/private-location-agent
PATH=${PATH:-/usr/bin:/bin}:$home/node/bin
export PATH
exec "$home/node/bin/node" "$home/dist/main.js" "$@"

#!/bin/sh
# Start a kernel in a container without network. It sees the library, the sockets that lead to nbgrader, and, as its
# folder, what the student handed in: no source, no hidden test, no gradebook, no other student.
# nbgrader runs this in autograded/STUDENT/LAB, with the path of the connection file.
set -eu
run="docker run"  # with Podman: run="podman run --userns keep-id"
connection=$1
shift
sockets=$(dirname "$connection")
handed_in=$(pwd | sed 's,/autograded/\([^/]*/[^/]*\)$,/submitted/\1,')
exec $run --user "$(id -u):$(id -g)" --rm --network none --read-only --tmpfs /tmp \
    --cap-drop ALL --security-opt no-new-privileges --memory 2g --pids-limit 256 --env HOME=/tmp \
    --volume "$sockets:$sockets" --volume "$handed_in:/lab:ro" --workdir /lab \
    fairlab-labs timeout --kill-after 5 900 python -m ipykernel_launcher -f "$connection" "$@"

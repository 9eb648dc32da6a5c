#!/bin/sh
# Start a kernel in a container without network. It sees the library, the sockets that lead to nbgrader, and, as its
# folder, what the student handed in: no source, no hidden test, no gradebook, no other student.
# nbgrader runs this in autograded/STUDENT/LAB, with the path of the connection file.
set -eu
engine=${LABS_ENGINE:-docker}
keep=
[ "$engine" = docker ] || keep="--userns keep-id"  # or Podman's user is not the owner of what was handed in
course=$(cd "$(dirname "$0")/../../.." && pwd)
"$engine" image inspect fairlab-labs > /dev/null 2>&1 ||
    "$engine" build --tag fairlab-labs --file "$course/container/Dockerfile" "$course/../students" >&2
connection=$1
shift
sockets=$(dirname "$connection")
handed_in=$(pwd | sed 's,/autograded/\([^/]*/[^/]*\)$,/submitted/\1,')
exec "$engine" run $keep --user "$(id -u):$(id -g)" --rm --network none --read-only --tmpfs /tmp \
    --cap-drop ALL --security-opt no-new-privileges --memory 2g --pids-limit 256 --env HOME=/tmp \
    --volume "$sockets:$sockets" --volume "$handed_in:/lab:ro" --workdir /lab \
    fairlab-labs timeout --kill-after 5 900 python -m ipykernel_launcher -f "$connection" "$@"

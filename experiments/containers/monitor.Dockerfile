# The monitor in a container, with SQLite in the volume, or by the option --database on PostgreSQL:
# docker build -t fairlab-monitor -f experiments/containers/monitor.Dockerfile .
# docker run --name monitor -p 127.0.0.1:8300:8300 -v monitor:/srv/monitor fairlab-monitor
# docker exec monitor fairlab monitor token create --role admin
# The digest is that of experiments/containers/Dockerfile.
FROM python:3.11-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b
WORKDIR /opt/fairlab
COPY experiments/containers/monitor.lock ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r monitor.lock
COPY pyproject.toml README.md LICENSE ./
COPY notebooks/labs notebooks/labs
COPY src src
RUN python -m pip install --no-cache-dir --disable-pip-version-check --no-deps . \
    && useradd --uid 1000 --no-create-home --home-dir /srv/monitor monitor \
    && install --directory --owner monitor --mode 700 /srv/monitor
WORKDIR /srv/monitor
USER monitor
VOLUME /srv/monitor
EXPOSE 8300
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8300/readyz', timeout=5)"]
# docker stop sends SIGTERM: requests under way are answered first.
CMD ["fairlab", "monitor", "serve", "--host", "0.0.0.0"]

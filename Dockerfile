# The web, the worker, the scheduler and the migrations run from this one image; compose.yaml says which is which.
FROM node:22-bookworm-slim AS assets
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --omit=dev --no-audit --no-fund
COPY static ./static
RUN npm run build

FROM python:3.11-slim-bookworm AS packages
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev libmariadb-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
# More packages: --build-arg REQUIREMENTS=requirements-tracing.txt
ARG REQUIREMENTS=
COPY requirements-*.txt ./
RUN if [ -n "$REQUIREMENTS" ]; then /venv/bin/pip install --no-cache-dir -r "$REQUIREMENTS"; fi
# What they bring and nothing here opens goes, a third of it all
COPY deploy/trim.py ./
RUN python trim.py /venv

FROM python:3.11-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends libmariadb3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /app commonplace
WORKDIR /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MALLOC_ARENA_MAX=2 HOST=0.0.0.0
COPY --from=packages /venv /venv
COPY . .
COPY --from=assets /app/static/vendor ./static/vendor
RUN python -m compileall -q webapp jobs migrations wsgi.py && install -d -o commonplace /app/var
USER 10001
EXPOSE 8000
CMD ["gunicorn", "-c", "webapp/cli/gunicorn.conf.py"]

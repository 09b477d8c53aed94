# An image of the packed Mayfly. Build it in a checkout after `npm ci && npm pack`:
#   docker build --build-arg PACKAGE=mayfly-0.1.0.tgz -t mayfly .
FROM node:24-slim
ARG PACKAGE
COPY ${PACKAGE} /tmp/mayfly.tgz
RUN npm install --global --omit=dev --no-audit --no-fund /tmp/mayfly.tgz && rm /tmp/mayfly.tgz && npm cache clean --force
# The data belongs to the user `node`, as Mayfly refuses directories that others may write to.
RUN install -d -m 700 -o node -g node /data
USER node
VOLUME /data
EXPOSE 8081 10255
# Inside of a container the port must be open to the outside. With the well-known key, publish it to 127.0.0.1 only.
ENV MAYFLY_HOST=0.0.0.0 MAYFLY_DATA=/data MAYFLY_INSECURE_ALLOW_WELL_KNOWN_KEY=on MAYFLY_ALLOWED_HOSTS=*
HEALTHCHECK --interval=5s --timeout=3s --start-period=2s \
  CMD node -e "fetch('http://127.0.0.1:8081/ready').then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"
CMD ["mayfly"]

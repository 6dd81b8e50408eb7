# syntax=docker/dockerfile:1
# One broker, or the tools: `make wheel && docker build -t kafkastore .`, then
#   docker run -p 9092:9092 kafkastore
#   docker run --rm kafkastore topics list -b host.docker.internal:9092
# Keys of the broker are variables of the environment as in Apache Kafka's image (KAFKA_NUM_PARTITIONS=3), or a file:
#   docker run -v ./server.properties:/etc/kafkastore/server.properties kafkastore broker /etc/kafkastore/server.properties
ARG PYTHON=3.13-slim-trixie

FROM python:${PYTHON} AS install
COPY dist/*.whl /tmp/wheels/
RUN python -m venv --without-pip /opt/kafkastore \
 && pip --python /opt/kafkastore install --no-cache-dir --find-links /tmp/wheels kafkastore \
 && /opt/kafkastore/bin/python -m compileall -q /opt/kafkastore/lib

FROM python:${PYTHON}
LABEL org.opencontainers.image.title="kafkastore" \
      org.opencontainers.image.description="A Kafka-compatible broker and its tools" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=install /opt/kafkastore /opt/kafkastore
RUN useradd --system --uid 1000 --home-dir /var/lib/kafkastore --create-home kafkastore
ENV PATH=/opt/kafkastore/bin:$PATH \
    KAFKA_LOG_DIRS=/var/lib/kafkastore/data \
    KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9092 \
    KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092
USER 1000
WORKDIR /var/lib/kafkastore
VOLUME /var/lib/kafkastore
EXPOSE 9092
STOPSIGNAL SIGTERM
# It asks this broker alone, before any proof. A recovery after a crash may take minutes: failures count after the first
# success, or after half an hour. Another port: KAFKASTORE_BOOTSTRAP_SERVERS; TLS: a profile in /var/lib/kafkastore.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30m \
  CMD ["kafkastore", "features", "list", "--format", "tsv"]
ENTRYPOINT ["kafkastore"]
CMD ["broker", "--environment"]

package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a task's share batch by batch, in the task's own thread. The rows of a batch stay in native memory until the
 * next batch is asked for, or the reader is closed: then the batch has no rows, and its columns point to nothing.
 */
final class ShareReader implements PartitionReader<ColumnarBatch> {
    private static final Logger LOG = LoggerFactory.getLogger(ShareReader.class);

    private final long handle;
    private final NativeVector[] vectors;
    private final long[] places;
    private final ColumnarBatch batch;
    private final int limit;
    private final String lease;
    private long given;
    private boolean isClosed;

    ShareReader(StructType columns, long handle, int limit, String lease) {
        this.lease = lease;
        this.handle = handle;
        this.limit = limit;
        vectors = new NativeVector[columns.size()];
        int count = 0;
        for (int i = 0; i < vectors.length; i++) {
            vectors[i] = NativeVector.of(columns.apply(i).dataType());
            count += vectors[i].placeCount();
        }
        places = new long[count];
        batch = new ColumnarBatch(vectors.clone());
    }

    /** Each column of the batch that was read last. */
    NativeVector[] columns() {
        return vectors;
    }

    @Override
    public boolean next() {
        if (limit != KafkastoreScanBuilder.NO_LIMIT && given >= limit) {
            return false;
        }
        forget();
        int rows = Native.next(handle, places);
        if (rows < 0) {
            return false;
        }
        int at = 0;
        for (NativeVector vector : vectors) {
            at = vector.point(places, at);
        }
        batch.setNumRows(rows);
        given += rows;
        return true;
    }

    /** The memory of the batch is freed; Spark may still hold the batch. */
    private void forget() {
        batch.setNumRows(0);
        for (NativeVector vector : vectors) {
            vector.forget();
        }
    }

    @Override
    public ColumnarBatch get() {
        if (isClosed) {
            throw new KafkastoreException("the batch of a closed reader is freed; read it before close");
        }
        return batch;
    }

    @Override
    public void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        forget();
        try {
            warnOfLosses();
        } finally {
            Native.close(handle);
        }
        if (lease != null) {
            Native.release(lease);
        }
    }

    private void warnOfLosses() {
        for (JsonNode range : Json.parse(Native.lost(handle))) {
            LOG.warn("{}-{}: offsets {} to {} are gone, by retention or with their topic, or cannot be read; some data"
                    + " may have been lost (the options \"failOnDataLoss\" and \"ignoreCorruptBatches\" make this fail)",
                range.get("topic").asText(), range.get("partition").asInt(), range.get("startOffset").asLong(),
                range.get("endOffset").asLong());
        }
    }
}

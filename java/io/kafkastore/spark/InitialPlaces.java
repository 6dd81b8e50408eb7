package io.kafkastore.spark;

import java.io.BufferedWriter;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * Where a stream has begun, kept in the query's checkpoint: a stream that is stopped within its first batch begins at
 * the same place again. The file is that of Spark's Kafka source.
 *
 * <pre>
 * sources/0/0 := a byte 0, "v1", a line feed, the offsets as JSON
 * </pre>
 */
final class InitialPlaces {
    private static final String VERSION = "v1\n";

    private final Path file;

    InitialPlaces(String checkpoint) {
        file = new Path(checkpoint, "0");
    }

    Places get(Supplier<Places> otherwise) {
        try {
            FileSystem system = file.getFileSystem(SparkSession.active().sparkContext().hadoopConfiguration());
            try (InputStream input = system.open(file)) {
                return parse(new String(input.readAllBytes(), StandardCharsets.UTF_8));
            } catch (FileNotFoundException error) {
                Places found = otherwise.get();
                write(system, found);
                return found;
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private Places parse(String text) {
        int begin = text.indexOf(VERSION);
        if (begin < 0 || begin > 1) {
            throw new KafkastoreException(file + " does not begin with v1: it is of a newer Spark; go on with that, or"
                + " begin with another checkpointLocation");
        }
        return Places.parse(text.substring(begin + VERSION.length()));
    }

    private void write(FileSystem system, Places places) throws IOException {
        Path unfinished = new Path(file.getParent(), ".0." + System.nanoTime() + ".tmp");
        try (OutputStream output = system.create(unfinished, false);
            BufferedWriter writer = new BufferedWriter(new OutputStreamWriter(output, StandardCharsets.UTF_8))) {
            writer.write(0);
            writer.write(VERSION);
            writer.write(places.json());
        }
        if (!system.rename(unfinished, file)) {
            throw new IOException(unfinished + " cannot be renamed to " + file);
        }
    }
}

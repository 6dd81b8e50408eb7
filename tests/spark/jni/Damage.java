package io.kafkastore.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** Copies of log directories, and damage to their files. Files are written in place, as a broken disk would. */
final class Damage {
    private static final int HEADER_BYTES = 61;
    private static final int LENGTH = 8;
    private static final int MAGIC = 16;
    private static final int CRC = 17;
    private static final int ATTRIBUTES = 21;
    /** Where the fields of a batch's header begin, of Kafka's message format version 2. */
    private static final int[] FIELDS = {0, LENGTH, 12, MAGIC, CRC, ATTRIBUTES, 23, 27, 35, 43, 51, 53, 57};
    private static final long[] ODD = {0, 1, -1, 2, 127, 128, 255, Short.MAX_VALUE, Short.MIN_VALUE, 1 << 20,
        Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE};

    private Damage() { }

    static void copy(Path from, Path to) throws IOException {
        remove(to);
        for (Path path : files(from, "")) {
            Path copy = to.resolve(from.relativize(path));
            Files.createDirectories(copy.getParent());
            Files.copy(path, copy, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    static void remove(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, IOException error) throws IOException {
                Files.deleteIfExists(dir);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** In the order of their names. */
    static List<Path> files(Path folder, String suffix) throws IOException {
        try (Stream<Path> found = Files.walk(folder)) {
            return new ArrayList<>(found
                .filter(path -> path.toString().endsWith(suffix) && Files.isRegularFile(path)).sorted().toList());
        } catch (UncheckedIOException error) { // another thread has removed a folder
            return new ArrayList<>();
        }
    }

    /** Damages one file below the folder, mostly a segment, and mostly one that has bytes; returns it, or null. */
    static Path once(Path folder, Random random) throws IOException {
        List<Path> found = files(folder, random.nextInt(12) == 0 ? "" : ".log");
        found.removeIf(path -> random.nextInt(8) != 0 && path.toFile().length() == 0);
        if (found.isEmpty()) {
            return null;
        }
        Path path = found.get(random.nextInt(found.size()));
        try {
            if (random.nextInt(20) == 0) {
                Files.delete(path);
            } else {
                byte[] damaged = damaged(Files.readAllBytes(path), path.toString().endsWith(".log"), random);
                Files.write(path, damaged);
            }
        } catch (NoSuchFileException error) {
            // another thread has deleted it
        }
        return path;
    }

    private static byte[] damaged(byte[] bytes, boolean isLog, Random random) {
        if (isLog && bytes.length > HEADER_BYTES && random.nextInt(10) < 6) {
            inBatch(bytes, random);
            return bytes;
        }
        int at = bytes.length == 0 ? 0 : random.nextInt(bytes.length);
        int count = Math.min(bytes.length - at, 1 + random.nextInt(200));
        switch (random.nextInt(6)) {
            case 0 -> {
                return Arrays.copyOf(bytes, at); // truncated
            }
            case 1 -> {
                byte[] longer = Arrays.copyOf(bytes, bytes.length + 1 + random.nextInt(5000));
                if (random.nextBoolean()) {
                    System.arraycopy(random(random, longer.length - bytes.length), 0, longer, bytes.length,
                        longer.length - bytes.length);
                }
                return longer;
            }
            case 2 -> Arrays.fill(bytes, at, at + count, (byte) 0);
            case 3 -> System.arraycopy(random(random, count), 0, bytes, at, count);
            case 4 -> System.arraycopy(bytes, at, bytes, random.nextInt(bytes.length - count + 1), count);
            default -> {
                if (bytes.length > 0) {
                    bytes[at] ^= (byte) (1 << random.nextInt(8));
                }
            }
        }
        return bytes;
    }

    private static byte[] random(Random random, int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Damages the header or the records of one batch, mostly with a checksum that is right again. */
    private static void inBatch(byte[] bytes, Random random) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        List<Integer> starts = new ArrayList<>();
        int at = 0;
        while (at + HEADER_BYTES <= bytes.length) {
            int length = buffer.getInt(at + LENGTH);
            if (length < HEADER_BYTES - MAGIC + 4 || at + 12L + length > bytes.length) {
                break;
            }
            starts.add(at);
            at += 12 + length;
        }
        if (starts.isEmpty()) {
            bytes[random.nextInt(bytes.length)] ^= (byte) (1 + random.nextInt(255));
            return;
        }
        int start = starts.get(random.nextInt(starts.size()));
        int end = start + 12 + buffer.getInt(start + LENGTH);
        for (int i = random.nextInt(4); i >= 0; i--) {
            if (random.nextInt(3) == 0) {
                int field = random.nextInt(FIELDS.length);
                int next = field + 1 < FIELDS.length ? FIELDS[field + 1] : HEADER_BYTES;
                long value = random.nextBoolean() ? ODD[random.nextInt(ODD.length)] : random.nextLong();
                for (int place = start + next - 1; place >= start + FIELDS[field]; place--) {
                    bytes[place] = (byte) value;
                    value >>= 8;
                }
            } else if (end > start + HEADER_BYTES) {
                // mostly soon after the header, where lengths of records are, and of codecs' frames
                int all = end - start - HEADER_BYTES;
                int span = random.nextInt(3) == 0 ? all : Math.min(40, all);
                bytes[start + HEADER_BYTES + random.nextInt(span)] = (byte) random.nextInt();
            }
        }
        if (random.nextInt(4) != 0) {
            CRC32C crc = new CRC32C();
            crc.update(bytes, start + ATTRIBUTES, end - start - ATTRIBUTES);
            buffer.putInt(start + CRC, (int) crc.getValue());
        }
    }
}

package io.kafkastore.spark;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;

/** A thread that damages, shortens and restores the log directories "live" while others read them. */
final class Damager implements AutoCloseable {
    private static final int PAUSE_MS = 2;

    private final Path from;
    private final Path folder;
    private final Random random;
    private final Thread thread;
    private volatile boolean isOver;

    private Damager(Path root, long seed) throws IOException {
        from = root.resolve("logs");
        folder = root.resolve("live");
        random = new Random(seed);
        Damage.copy(from, folder);
        thread = new Thread(this::run, "damager");
    }

    static Damager start(Path root, long seed) throws IOException {
        Damager damager = new Damager(root, seed);
        damager.thread.start();
        return damager;
    }

    private void run() {
        while (!isOver) {
            try {
                switch (random.nextInt(8)) {
                    case 0, 1, 2 -> restore();
                    case 3, 4, 5 -> shorten();
                    default -> Damage.once(folder, random);
                }
                Thread.sleep(PAUSE_MS);
            } catch (IOException | InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** One file, byte by byte in place, so that readers see a part of it. */
    private void restore() throws IOException {
        List<Path> all = Damage.files(from, "");
        Path path = all.get(random.nextInt(all.size()));
        byte[] bytes = Files.readAllBytes(path);
        Files.write(folder.resolve(from.relativize(path)), bytes);
    }

    private void shorten() throws IOException {
        List<Path> found = Damage.files(folder, random.nextInt(3) == 0 ? "index" : ".log");
        Path path = found.get(random.nextInt(found.size()));
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE)) {
            file.truncate((long) (file.size() * random.nextDouble()));
        } catch (NoSuchFileException error) {
            // it was deleted before
        }
    }

    @Override
    public void close() throws InterruptedException {
        isOver = true;
        thread.join();
    }
}

package io.kafkastore.spark;

/** A read that cannot go on; the message is a sentence that says why and what to do. */
public class KafkastoreException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public KafkastoreException(String message) {
        super(message);
    }
}

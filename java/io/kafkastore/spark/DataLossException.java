package io.kafkastore.spark;

/** Records of the planned range are gone, and the option failOnDataLoss is true. */
public class DataLossException extends KafkastoreException {
    private static final long serialVersionUID = 1;

    public DataLossException(String message) {
        super(message);
    }
}

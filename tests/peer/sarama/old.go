package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"
)

// oldConfig is sarama's configuration for brokers of Kafka 0.10.0.
func oldConfig() *sarama.Config {
	config := newConfig()
	config.Version = sarama.V0_10_0_0
	return config
}

// oldProduce sends the values to partition 0, and answers their offsets.
func oldProduce(_ context.Context, r request) (any, error) {
	config := oldConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Flush.Frequency = 50 * time.Millisecond
	if err := config.Producer.Compression.UnmarshalText([]byte(r.Codec)); err != nil {
		return nil, err
	}
	producer, err := sarama.NewSyncProducer(r.brokers(), config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := []*sarama.ProducerMessage{}
	for _, value := range r.Values {
		messages = append(messages, &sarama.ProducerMessage{Topic: r.Topic, Value: sarama.StringEncoder(value)})
	}
	if err := producer.SendMessages(messages); err != nil {
		return nil, err
	}
	offsets := []int64{}
	for _, message := range messages {
		offsets = append(offsets, message.Offset)
	}
	return offsets, nil
}

// oldRead answers offset and value of `count` records of partition 0 behind the group's commit, and commits them.
func oldRead(ctx context.Context, r request) (any, error) {
	client, err := sarama.NewClient(r.brokers(), oldConfig())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	offsets, err := sarama.NewOffsetManagerFromClient(r.Group, client)
	if err != nil {
		return nil, err
	}
	defer offsets.Close()
	managed, err := offsets.ManagePartition(r.Topic, 0)
	if err != nil {
		return nil, err
	}
	defer managed.Close()
	next, _ := managed.NextOffset()
	if next < 0 {
		next = sarama.OffsetOldest
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	claim, err := consumer.ConsumePartition(r.Topic, 0, next)
	if err != nil {
		return nil, err
	}
	found := [][]any{}
	for len(found) < r.Count {
		select {
		case one := <-claim.Messages():
			found = append(found, []any{one.Offset, string(one.Value)})
			managed.MarkOffset(one.Offset+1, "")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	offsets.Commit()
	return found, nil
}

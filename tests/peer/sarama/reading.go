package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// rest is how long a reader that has all its records waits for one that should not be there.
const rest = 300 * time.Millisecond

// member is the only member of a group; its claims hand all records to `records` until `done` is closed.
type member struct {
	session sarama.ConsumerGroupSession
	records chan *sarama.ConsumerMessage
	done    chan struct{}
}

func newMember() *member {
	return &member{records: make(chan *sarama.ConsumerMessage), done: make(chan struct{})}
}

// Setup runs before any claim is consumed.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.session = session
	return nil
}

// Cleanup has nothing to do: the transaction commits the offsets.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	return nil
}

// ConsumeClaim hands over the records of one partition.
func (m *member) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-m.done:
			return nil
		case read, open := <-claim.Messages():
			if !open {
				return nil
			}
			select {
			case m.records <- read:
			case <-m.done:
				return nil
			}
		}
	}
}

// take answers the first `count` records, of whichever partitions; `ended` has the error of a session that ended.
func (m *member) take(ctx context.Context, ended chan error, count int) ([]*sarama.ConsumerMessage, error) {
	var read []*sarama.ConsumerMessage
	for len(read) < count {
		select {
		case one := <-m.records:
			read = append(read, one)
		case err := <-ended:
			return nil, fmt.Errorf("the session ended at %d of %d records: %w", len(read), count, err)
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d records: %w", len(read), count, ctx.Err())
		}
	}
	return read, nil
}

// read answers partition, offset and value of the records of a topic. sarama does not tell where it is behind records
// that it filters, so it reads `count` of them, and any more that come soon after.
func read(ctx context.Context, r request) (any, error) {
	config := newConfig()
	if r.Committed {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	consumer, err := sarama.NewConsumer(r.brokers(), config)
	if err != nil {
		return nil, err
	}
	partitions, err := consumer.Partitions(r.Topic)
	if err != nil {
		return nil, err
	}
	records := make(chan *sarama.ConsumerMessage)
	for _, number := range partitions {
		claim, err := consumer.ConsumePartition(r.Topic, number, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		go func() {
			for one := range claim.Messages() {
				records <- one
			}
		}()
	}
	found := [][]any{}
	for {
		waiting, cancel := ctx, func() {}
		if len(found) >= r.Count {
			waiting, cancel = context.WithTimeout(ctx, rest)
		}
		select {
		case one := <-records:
			found = append(found, []any{one.Partition, one.Offset, string(one.Value)})
		case <-waiting.Done():
			cancel()
			if len(found) < r.Count {
				return nil, fmt.Errorf("%d of %d records: %w", len(found), r.Count, ctx.Err())
			}
			return found, nil
		}
		cancel()
	}
}

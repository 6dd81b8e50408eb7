package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

const pause = 100 * time.Millisecond

// step is one step of a script of transactions.
type step struct {
	Verb     string       `json:"verb"`
	Producer string       `json:"producer"`
	Topic    string       `json:"topic"`
	Target   string       `json:"target"`
	Group    string       `json:"group"`
	Count    int          `json:"count"`
	Commits  bool         `json:"commits"`
	Records  []stepRecord `json:"records"`
}

// stepRecord is a partition and a value.
type stepRecord [2]any

func (r stepRecord) toSend(topic string) *sarama.ProducerMessage {
	partition, _ := r[0].(float64)
	value, _ := r[1].(string)
	return &sarama.ProducerMessage{Topic: topic, Partition: int32(partition), Value: sarama.StringEncoder(value)}
}

// script holds the producers of the steps that were run.
type script struct {
	request   request
	producers map[string]sarama.SyncProducer
}

// transactions runs the steps in their order and answers a text for each, empty or the error.
func transactions(ctx context.Context, r request) (any, error) {
	s := script{r, map[string]sarama.SyncProducer{}}
	outcomes := make([]string, 0, len(r.Steps))
	for _, one := range r.Steps {
		outcome := ""
		if err := s.run(ctx, one); err != nil {
			outcome = reason(err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func (s script) newProducer() (sarama.SyncProducer, error) {
	config := newConfig()
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = s.request.TransactionalID
	config.Producer.Transaction.Timeout = time.Duration(s.request.TimeoutMs) * time.Millisecond
	return sarama.NewSyncProducer(s.request.brokers(), config)
}

func (s script) run(ctx context.Context, one step) error {
	producer := s.producers[one.Producer]
	switch one.Verb {
	case "init":
		made, err := s.newProducer()
		s.producers[one.Producer] = made
		return err
	case "begin":
		return producer.BeginTxn()
	case "send":
		return send(producer, one)
	case "send_until_refused":
		for ctx.Err() == nil {
			if err := send(producer, one); err != nil {
				return err
			}
			time.Sleep(pause)
		}
		return nil
	case "commit":
		return producer.CommitTxn()
	case "abort":
		return producer.AbortTxn()
	case "copy":
		return s.copy(ctx, producer, one)
	}
	return fmt.Errorf("no verb %q", one.Verb)
}

func send(producer sarama.SyncProducer, one step) error {
	var sent []*sarama.ProducerMessage
	for _, r := range one.Records {
		sent = append(sent, r.toSend(one.Topic))
	}
	return producer.SendMessages(sent)
}

// copy reads records of a topic as a member of a group and writes them to another topic in one transaction.
func (s script) copy(ctx context.Context, producer sarama.SyncProducer, one step) error {
	config := newConfig()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	group, err := sarama.NewConsumerGroup(s.request.brokers(), one.Group, config)
	if err != nil {
		return err
	}
	defer func() { _ = group.Close() }()
	member := newMember()
	ended := make(chan error, 1)
	go func() { ended <- group.Consume(ctx, []string{one.Topic}, member) }()
	defer close(member.done)
	read, err := member.take(ctx, ended, one.Count)
	if err != nil {
		return err
	}
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	metadata := sarama.NewConsumerGroupMetadataFromSession(member.session, one.Group, nil)
	for _, r := range read {
		copied := &sarama.ProducerMessage{
			Topic: one.Target, Partition: r.Partition, Value: sarama.ByteEncoder(r.Value),
		}
		if _, _, err := producer.SendMessage(copied); err != nil {
			return err
		}
		if err := producer.AddMessageToTxnWithGroupMetadata(r, metadata, nil); err != nil {
			return err
		}
	}
	if one.Commits {
		return producer.CommitTxn()
	}
	return producer.AbortTxn()
}

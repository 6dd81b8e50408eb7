package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	stepLimit = 30 * time.Second
	pause     = 100 * time.Millisecond
)

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

// script holds the clients of the steps that were run.
type script struct {
	request request
	clients map[string]*kgo.Client
}

// transactions runs the steps in their order and answers a text for each, empty or the error.
func transactions(ctx context.Context, r request) (any, error) {
	s := script{r, map[string]*kgo.Client{}}
	outcomes := make([]string, 0, len(r.Steps))
	for _, one := range r.Steps {
		limited, cancel := context.WithTimeout(ctx, stepLimit)
		outcome := ""
		if err := s.run(limited, one); err != nil {
			outcome = err.Error()
		}
		cancel()
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func (s script) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.TransactionalID(s.request.TransactionalID), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionTimeout(time.Duration(s.request.TimeoutMs) * time.Millisecond),
	}
}

func (s script) run(ctx context.Context, one step) error {
	client := s.clients[one.Producer]
	switch one.Verb {
	case "init":
		made, err := newClient(s.request, s.options()...)
		if err != nil {
			return err
		}
		s.clients[one.Producer] = made
		_, _, err = made.ProducerID(ctx)
		return err
	case "begin":
		return client.BeginTransaction()
	case "send":
		return send(ctx, client, one)
	case "send_until_refused":
		for ctx.Err() == nil {
			if err := send(ctx, client, one); err != nil {
				return err
			}
			time.Sleep(pause)
		}
		return nil
	case "commit":
		return client.EndTransaction(ctx, kgo.TryCommit)
	case "abort":
		return client.EndTransaction(ctx, kgo.TryAbort)
	case "copy":
		return s.copy(ctx, one)
	}
	return fmt.Errorf("no verb %q", one.Verb)
}

func send(ctx context.Context, client *kgo.Client, one step) error {
	var sent []*kgo.Record
	for _, r := range one.Records {
		partition, _ := r[0].(float64)
		value, _ := r[1].(string)
		sent = append(sent, &kgo.Record{Topic: one.Topic, Partition: int32(partition), Value: []byte(value)})
	}
	return client.ProduceSync(ctx, sent...).FirstErr()
}

// copy reads records of a topic as a member of a group and writes them to another topic in one transaction.
func (s script) copy(ctx context.Context, one step) error {
	options := append(s.options(), kgo.SeedBrokers(s.request.Bootstrap), kgo.ConsumerGroup(one.Group),
		kgo.ConsumeTopics(one.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets())
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	defer session.Close()
	var read []*kgo.Record
	for len(read) < one.Count {
		fetches := session.PollRecords(ctx, one.Count-len(read))
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%d of %d records: %w", len(read), one.Count, err)
		}
		read = append(read, fetches.Records()...)
	}
	if err := session.Begin(); err != nil {
		return err
	}
	for _, r := range read {
		copied := &kgo.Record{Topic: one.Target, Partition: r.Partition, Key: r.Key, Value: r.Value}
		if err := session.ProduceSync(ctx, copied).FirstErr(); err != nil {
			return err
		}
	}
	committed, err := session.End(ctx, kgo.TransactionEndTry(one.Commits))
	if err == nil && committed != one.Commits {
		return fmt.Errorf("committed: %t", committed)
	}
	return err
}

// One transactional producer, as requests: InitProducerId, then Produce to the leaders and EndTxn in turns.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	pauseBeforeRepeat    = 2 * time.Millisecond
	produceTimeoutMs     = 30_000
	noLeaderEpoch        = -1
	magic                = 2
	isTransactional      = 0x10
	crcAt, crcFrom       = 17, 21 // places in a batch
	lengthAt, lengthFrom = 8, 12
)

// failed counts commits that were refused with INVALID_TXN_STATE, which Apache Kafka 4.3 does at times when several
// leaders add their partitions at once; the producer begins again with its next epoch.
var failed atomic.Int64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// producer has at most one transaction at a time.
type producer struct {
	client  *kgo.Client
	name    string
	topic   kmsg.MetadataResponseTopic
	leaders map[int32][]int32 // of the partitions
	counts  map[int32]int     // the records of a transaction for each partition
	id      int64
	epoch   int16
	repeats atomic.Int64
}

// produce commits transactions until the end; returned are those that began after start, and how many requests were
// sent again.
func produce(topic string, number int, start, end time.Time) ([]sample, int, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(*bootstrap, ",")...))
	if err != nil {
		return nil, 0, err
	}
	defer client.Close()
	one := &producer{client: client, name: fmt.Sprintf("%s-%d", topic, number)}
	ctx := context.Background()
	if err := one.begin(ctx, topic); err != nil {
		return nil, 0, err
	}
	var found []sample
	due, between := time.Now(), time.Duration(0)
	if *rate > 0 {
		between = time.Duration(float64(*producers) / *rate * float64(time.Second))
		due = due.Add(between * time.Duration(number) / time.Duration(*producers))
	}
	for time.Now().Before(end) {
		time.Sleep(time.Until(due))
		begun := time.Now()
		due = due.Add(between)
		if err := one.send(ctx); err != nil {
			return nil, 0, err
		}
		produced := time.Now()
		if err := one.commit(ctx); errors.Is(err, kerr.InvalidTxnState) {
			failed.Add(1)
			for err = one.initialize(ctx); err != nil && isPassing(err); err = one.initialize(ctx) {
				time.Sleep(pauseBeforeRepeat)
			}
			if err != nil {
				return nil, 0, err
			}
			continue
		} else if err != nil {
			return nil, 0, err
		}
		if done := time.Now(); begun.After(start) && done.Before(end) {
			found = append(found, sample{done.Sub(begun), done.Sub(produced)})
		}
	}
	return found, int(one.repeats.Load()), nil
}

// begin looks up the leaders and gets a producer id.
func (p *producer) begin(ctx context.Context, topic string) error {
	asked := kmsg.NewPtrMetadataRequest()
	row := kmsg.NewMetadataRequestTopic()
	row.Topic = kmsg.StringPtr(topic)
	asked.Topics = append(asked.Topics, row)
	told, err := asked.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	p.topic = told.Topics[0]
	p.leaders, p.counts = map[int32][]int32{}, map[int32]int{}
	for _, partition := range p.topic.Partitions {
		p.leaders[partition.Leader] = append(p.leaders[partition.Leader], partition.Partition)
	}
	for i := range *records {
		p.counts[int32(i%*partitions)]++
	}
	return p.initialize(ctx)
}

// initialize gets the producer id, or its next epoch; an open transaction is aborted.
func (p *producer) initialize(ctx context.Context) error {
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID = &p.name
	init.TransactionTimeoutMillis = int32(txnTimeout.Milliseconds())
	init.ProducerID, init.ProducerEpoch = -1, -1
	given, err := init.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	p.id, p.epoch = given.ProducerID, given.ProducerEpoch
	return kerr.ErrorForCode(given.ErrorCode)
}

// send writes the records of a transaction, to all leaders at once; returns when all are acknowledged.
func (p *producer) send(ctx context.Context) error {
	answers := make(chan error, len(p.leaders))
	for leader, numbers := range p.leaders {
		go func() { answers <- p.sendTo(ctx, leader, numbers) }()
	}
	var first error
	for range p.leaders {
		if err := <-answers; err != nil {
			first = err
		}
	}
	return first
}

func (p *producer) sendTo(ctx context.Context, leader int32, numbers []int32) error {
	for {
		request := kmsg.NewPtrProduceRequest()
		request.TransactionID = &p.name
		request.Acks, request.TimeoutMillis = -1, produceTimeoutMs
		rows := kmsg.NewProduceRequestTopic()
		rows.Topic, rows.TopicID = *p.topic.Topic, p.topic.TopicID
		for _, number := range numbers {
			if p.counts[number] > 0 {
				row := kmsg.NewProduceRequestTopicPartition()
				row.Partition, row.Records = number, p.batch(p.counts[number])
				rows.Partitions = append(rows.Partitions, row)
			}
		}
		if len(rows.Partitions) == 0 {
			return nil
		}
		request.Topics = append(request.Topics, rows)
		told, err := p.client.Broker(int(leader)).Request(ctx, request)
		if err != nil {
			return err
		}
		answer := told.(*kmsg.ProduceResponse)
		numbers = nil
		for _, topic := range answer.Topics {
			for _, row := range topic.Partitions {
				switch err := kerr.ErrorForCode(row.ErrorCode); {
				case isPassing(err):
					numbers = append(numbers, row.Partition)
				case err != nil:
					return fmt.Errorf("Produce to partition %d: %w", row.Partition, err)
				}
			}
		}
		if len(numbers) == 0 {
			return nil
		}
		p.repeats.Add(1)
		time.Sleep(pauseBeforeRepeat)
	}
}

func (p *producer) commit(ctx context.Context) error {
	for {
		request := kmsg.NewPtrEndTxnRequest()
		request.TransactionalID, request.ProducerID, request.ProducerEpoch = p.name, p.id, p.epoch
		request.Commit = true
		answer, err := request.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		err = kerr.ErrorForCode(answer.ErrorCode)
		if err == nil {
			if answer.Version < 5 {
				return errors.New("the brokers have no transaction version 2")
			}
			p.id, p.epoch = answer.ProducerID, answer.ProducerEpoch
			return nil
		}
		if !isPassing(err) {
			return fmt.Errorf("EndTxn: %w", err)
		}
		p.repeats.Add(1)
		time.Sleep(pauseBeforeRepeat)
	}
}

// isPassing says whether to send the request again: the last transaction is not complete, or a leader is not ready.
func isPassing(err error) bool {
	return errors.Is(err, kerr.ConcurrentTransactions) || kerr.IsRetriable(err)
}

// batch is a batch of count records without keys, the first ones of the producer's epoch.
func (p *producer) batch(count int) []byte {
	now := time.Now().UnixMilli()
	var out []byte
	out = binary.BigEndian.AppendUint64(out, 0) // base offset
	out = binary.BigEndian.AppendUint32(out, 0) // length, below
	leaderEpoch := int32(noLeaderEpoch)
	out = binary.BigEndian.AppendUint32(out, uint32(leaderEpoch))
	out = append(out, magic)
	out = binary.BigEndian.AppendUint32(out, 0) // CRC, below
	out = binary.BigEndian.AppendUint16(out, isTransactional)
	out = binary.BigEndian.AppendUint32(out, uint32(count-1))
	out = binary.BigEndian.AppendUint64(out, uint64(now))
	out = binary.BigEndian.AppendUint64(out, uint64(now))
	out = binary.BigEndian.AppendUint64(out, uint64(p.id))
	out = binary.BigEndian.AppendUint16(out, uint16(p.epoch))
	out = binary.BigEndian.AppendUint32(out, 0) // base sequence
	out = binary.BigEndian.AppendUint32(out, uint32(count))
	for i := range count {
		body := []byte{0, 0}                          // attributes, timestamp delta
		body = binary.AppendVarint(body, int64(i))    // offset delta
		body = binary.AppendVarint(body, -1)          // no key
		body = binary.AppendVarint(body, recordBytes) // value
		body = append(body, make([]byte, recordBytes)...)
		body = append(body, 0) // no headers
		out = binary.AppendVarint(out, int64(len(body)))
		out = append(out, body...)
	}
	binary.BigEndian.PutUint32(out[lengthAt:], uint32(len(out)-lengthFrom))
	binary.BigEndian.PutUint32(out[crcAt:], crc32.Checksum(out[crcFrom:], castagnoli))
	return out
}

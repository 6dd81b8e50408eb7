package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// record is one record as it was sent or read; bytes are base64 in JSON, and null is not the empty string.
type record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []header `json:"headers"`
}

type header struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

func (r record) toSend(topic string) *kgo.Record {
	at := time.UnixMilli(r.Timestamp)
	sent := &kgo.Record{Topic: topic, Partition: r.Partition, Timestamp: at, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
	}
	return sent
}

func asRead(read *kgo.Record) record {
	headers := make([]header, 0, len(read.Headers))
	for _, h := range read.Headers {
		headers = append(headers, header{h.Key, h.Value})
	}
	return record{read.Partition, read.Offset, read.Timestamp.UnixMilli(), read.Key, read.Value, headers}
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// produce sends the records with acks=all as an idempotent producer and answers the offset of each.
func produce(ctx context.Context, r request) (any, error) {
	client, err := newClient(r, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(codecs[r.Codec]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if id, _, err := client.ProducerID(ctx); err != nil || id < 0 {
		return nil, fmt.Errorf("no producer id (%d): %w", id, err)
	}
	var sent []*kgo.Record
	for _, one := range r.Records {
		sent = append(sent, one.toSend(r.Topic))
	}
	var offsets []int64
	for _, result := range client.ProduceSync(ctx, sent...) {
		if result.Err != nil {
			return nil, result.Err
		}
		offsets = append(offsets, result.Record.Offset)
	}
	return offsets, nil
}

// consume reads partition 0 to its end, from its beginning or from the first record at a timestamp.
func consume(ctx context.Context, r request) (any, error) {
	start := kgo.NewOffset().AtStart()
	if r.Timestamp != nil {
		start = kgo.NewOffset().AfterMilli(*r.Timestamp)
	}
	isolation := kgo.ReadUncommitted()
	if r.Committed {
		isolation = kgo.ReadCommitted()
	}
	client, err := newClient(r, kgo.FetchIsolationLevel(isolation),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.Topic: {0: start}}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, r.Topic)
	if err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(r.Topic, 0)
	var read []record
	for len(read) == 0 || read[len(read)-1].Offset+1 < end.Offset {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(one *kgo.Record) { read = append(read, asRead(one)) })
	}
	return read, nil
}

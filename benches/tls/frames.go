// Batches and requests, built once.
package main

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	produceVersion = 12 // topics by name
	fetchVersion   = 12
	batchHead      = 61
	firstCRC       = 21 // what the checksum of a batch covers begins here
	correlationAt  = 8  // in a frame with its size
)

var (
	be        = binary.BigEndian
	formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("load"))
)

// batch is a record batch without a codec, and how many records it has.
type batch struct {
	raw   []byte
	count int
}

// newBatch has -records records, or as many as fit -batch-bytes.
func newBatch() batch {
	random := rand.New(rand.NewSource(1))
	raw := make([]byte, batchHead)
	count := 0
	for *records == 0 || count < *records {
		value := make([]byte, *recordSize)
		for at := range value {
			value[at] = byte('a' + random.Intn(26))
		}
		body := []byte{0, 0} // attributes, timestamp delta
		body = binary.AppendVarint(body, int64(count))
		body = binary.AppendVarint(body, -1) // no key
		body = binary.AppendVarint(body, int64(len(value)))
		body = append(append(body, value...), 0) // no headers
		next := append(binary.AppendVarint(nil, int64(len(body))), body...)
		if *records == 0 && count > 0 && len(raw)+len(next) > *batchBytes {
			break
		}
		raw = append(raw, next...)
		count++
	}
	now := uint64(time.Now().UnixMilli())
	be.PutUint32(raw[8:], uint32(len(raw)-12))
	be.PutUint32(raw[12:], 0xffffffff) // leader epoch
	raw[16] = 2                        // magic
	be.PutUint32(raw[23:], uint32(count-1))
	be.PutUint64(raw[27:], now)
	be.PutUint64(raw[35:], now)
	be.PutUint64(raw[43:], 0xffffffffffffffff) // producer id
	be.PutUint16(raw[51:], 0xffff)             // producer epoch
	be.PutUint32(raw[53:], 0xffffffff)         // sequence
	be.PutUint32(raw[57:], uint32(count))
	be.PutUint32(raw[17:], crc32.Checksum(raw[firstCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return batch{raw, count}
}

// produceFrame is a Produce request of one batch with acks=1, its size in front.
func produceFrame(partition int32, one batch) []byte {
	request := kmsg.NewPtrProduceRequest()
	request.SetVersion(produceVersion)
	request.Acks, request.TimeoutMillis = 1, 30_000
	wanted := kmsg.NewProduceRequestTopic()
	wanted.Topic = *topic
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, one.raw
	wanted.Partitions = append(wanted.Partitions, part)
	request.Topics = append(request.Topics, wanted)
	return formatter.AppendRequest(nil, request, 0)
}

// fetchFrame is a Fetch request of one partition, with a consumer's limits: 1 MiB of a partition.
func fetchFrame(out []byte, partition int32, offset int64, correlation int32) []byte {
	request := kmsg.NewPtrFetchRequest()
	request.SetVersion(fetchVersion)
	request.ReplicaID, request.SessionEpoch = -1, -1
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 500, 1, 50<<20
	wanted := kmsg.NewFetchRequestTopic()
	wanted.Topic = *topic
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = partition, offset, 1<<20
	part.CurrentLeaderEpoch, part.LastFetchedEpoch, part.LogStartOffset = -1, -1, -1
	wanted.Partitions = append(wanted.Partitions, part)
	request.Topics = append(request.Topics, wanted)
	return formatter.AppendRequest(out, request, correlation)
}

// shares deals the partitions out to the connections.
func shares() [][]int32 {
	dealt := make([][]int32, *conns)
	for n := range max(*partitions, *conns) {
		dealt[n%*conns] = append(dealt[n%*conns], int32(n%*partitions))
	}
	return dealt
}

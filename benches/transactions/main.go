// Transactions against a running broker, Apache Kafka or kafkastore: producers that each commit one transaction after
// the other. Prints one line of JSON: commits per second, the latency of a transaction and of its commit, the CPU of
// the brokers.
//
// Each producer has a transactional id and a connection of its own (franz-go). A transaction has a number of records,
// spread over the first partitions of the topic; the commit begins when all of them are acknowledged.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	recordBytes  = 100
	warmUp       = 2 * time.Second
	ticksPerS    = 100 // USER_HZ of Linux
	txnTimeout   = 60 * time.Second
	createWithin = 60 * time.Second
)

var (
	bootstrap  = flag.String("bootstrap", "127.0.0.1:9092", "brokers")
	pids       = flag.String("broker-pid", "", "process ids of the brokers, whose CPU is counted")
	producers  = flag.Int("producers", 1, "transactional producers")
	records    = flag.Int("records", 1, "records of a transaction")
	partitions = flag.Int("partitions", 1, "partitions of a transaction")
	replicas   = flag.Int("replication-factor", 1, "of the topic")
	seconds    = flag.Float64("seconds", 5, "how long is measured")
	label      = flag.String("label", "", "printed with the figures")
)

// sample is one transaction: its length, and that of its commit.
type sample struct{ whole, commit time.Duration }

func main() {
	flag.Parse()
	topic := fmt.Sprintf("txn-%d-%d-%d", *partitions, *replicas, time.Now().UnixNano())
	createTopic(topic)
	var (
		wait    sync.WaitGroup
		lock    sync.Mutex
		all     []sample
		failed  error
		start   = time.Now().Add(warmUp)
		end     = start.Add(time.Duration(*seconds * float64(time.Second)))
		before  float64
		counted = make(chan struct{})
	)
	go func() {
		time.Sleep(time.Until(start))
		before = cpuSeconds()
		close(counted)
	}()
	for n := range *producers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			found, err := produce(topic, n, start, end)
			lock.Lock()
			defer lock.Unlock()
			all = append(all, found...)
			if err != nil {
				failed = err
			}
		}()
	}
	wait.Wait()
	<-counted
	cpu := cpuSeconds() - before
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
	report(all, cpu)
}

func createTopic(topic string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(*bootstrap, ",")...))
	must(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), createWithin)
	defer cancel()
	_, err = kadm.NewClient(client).CreateTopic(ctx, int32(*partitions), int16(*replicas), nil, topic)
	must(err)
}

// produce commits transactions until the end; those that began after start are returned.
func produce(topic string, number int, start, end time.Time) ([]sample, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(*bootstrap, ",")...),
		kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, number)),
		kgo.TransactionTimeout(txnTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.DefaultProduceTopic(topic),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx := context.Background()
	value := make([]byte, recordBytes)
	var found []sample
	for time.Now().Before(end) {
		begun := time.Now()
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		for i := range *records {
			record := &kgo.Record{Value: value, Partition: int32(i % *partitions)}
			client.Produce(ctx, record, nil)
		}
		if err := client.Flush(ctx); err != nil {
			return nil, err
		}
		produced := time.Now()
		if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return nil, err
		}
		if done := time.Now(); begun.After(start) && done.Before(end) {
			found = append(found, sample{done.Sub(begun), done.Sub(produced)})
		}
	}
	return found, nil
}

func report(all []sample, cpu float64) {
	quantile := func(of func(sample) time.Duration, q float64) float64 {
		if len(all) == 0 {
			return 0
		}
		sort.Slice(all, func(a, b int) bool { return of(all[a]) < of(all[b]) })
		at := min(int(q*float64(len(all))), len(all)-1)
		return float64(of(all[at]).Microseconds()) / 1000
	}
	whole := func(one sample) time.Duration { return one.whole }
	commit := func(one sample) time.Duration { return one.commit }
	figures := map[string]any{
		"label": *label, "producers": *producers, "records": *records, "partitions": *partitions,
		"replication_factor": *replicas, "commits": len(all),
		"commits_per_s":      float64(len(all)) / *seconds,
		"transaction_ms_p50": quantile(whole, 0.5), "transaction_ms_p99": quantile(whole, 0.99),
		"commit_ms_p50": quantile(commit, 0.5), "commit_ms_p99": quantile(commit, 0.99),
	}
	if *pids != "" && len(all) > 0 {
		figures["broker_cpu_ms_per_commit"] = cpu * 1000 / float64(len(all))
	}
	must(json.NewEncoder(os.Stdout).Encode(figures))
}

// cpuSeconds is the CPU time of all brokers so far.
func cpuSeconds() float64 {
	total := 0.0
	for _, pid := range strings.FieldsFunc(*pids, func(c rune) bool { return c == ',' }) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		must(err)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		user, err := strconv.ParseFloat(fields[11], 64)
		must(err)
		system, err := strconv.ParseFloat(fields[12], 64)
		must(err)
		total += (user + system) / ticksPerS
	}
	return total
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
